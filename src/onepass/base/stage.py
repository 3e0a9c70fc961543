"""Stages: what comes before a learner in a pipeline. They see each row once, too, and change it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from struct import error as StructError
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import StrOptions

from onepass.base.estimator import Estimator, are_named
from onepass.base.inputs import FLOATS, Places, Rows, one_row, places, readonly, rows_of
from onepass.base.knowledge import WHOLE, Door
from onepass.base.state import Array, State
from onepass.base.writing import guarded
from onepass.compiled.kernel import machine_code
from onepass.compiled.rows import DenseRows, SparseRows

FLOAT64 = np.dtype(np.float64)

ZERO = np.float64(0)
_entries: dict[Any, Callable[..., Any]] = {}


class Stage(TransformerMixin, Estimator):
    """Base of all stages.

    `transform` changes nothing in the stage. `learn_transform` handles each row with what was known before it, then learns from it:
    what a learner behind the stage gets in a stream. `fit` and `partial_fit` only learn.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"grow": ["boolean", None, StrOptions({"features"})]}
    _known_forms: ClassVar[tuple[str, ...]] = ("stage",)

    grow: bool | str | None

    _takes_names_only: ClassVar[bool] = False  # whether it wants dicts or frames as they come
    _fixes_width: ClassVar[bool] = False  # whether its rows have as many columns as it says, whatever features come

    # --- what a subclass says ---

    def _call(self, state: State, block: Any, taught: Array, out: Array) -> tuple[Any, ...]:
        """The call that writes the numbers of a block after the stage to `out`, and then learns from the rows t with taught[t]: a
        kernel, the block, and arguments whose types are always the same. The kernel answers 1."""
        raise NotImplementedError

    def _out(self, state: State, rows: Rows) -> Any:
        """Room for the numbers of rows after the stage."""
        return rows.room()

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        """The rows after the stage."""
        out = self._out(state, rows)
        for start, stop in rows.blocks():
            block = rows.block(start, stop, rows.dtype, rows.dtype.type(0))
            span = slice(start, stop) if self._fixes_width else rows.span(start, stop)
            run(self._call(state, block, taught[start:stop], out[span]))
        return Rows(out) if self._fixes_width else rows.with_values(out)

    # --- the doors ---

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start anew, and learn from the rows."""

        def learn_anew() -> None:
            self._state = None
            self._learn_transform(X, None, WHOLE)

        with self._lock:
            guarded(learn_anew, self)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows in their order, going on from where the stage is."""
        self.learn_transform(X)
        return self

    def transform(self, X: Any) -> Any:
        """The rows after the stage, which stays as it is."""
        return self._seen_by(self._readable(), X, foreseen=False).data

    def learn_transform(self, X: Any) -> Any:
        """Transform each row with what was known before it, then learn from it."""
        with self._lock:
            return guarded(lambda: self._learn_transform(X, None, Door(features_come=are_named(X))), self).data

    def learn_one(self, x: Any) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row."""
        with self._lock:
            guarded(lambda: self._learn_transform(one_row(x), None, Door(features_come=isinstance(x, Mapping))), self)

    def transform_one(self, x: Any) -> Any:
        """One example after the stage, as it came: a dict for a dict, else a 1-d array. Unknown features are left out."""
        state = self._readable()
        data = self._seen_by(state, one_row(x), foreseen=False).data
        if not isinstance(x, Mapping):
            return data[0] if isinstance(data, np.ndarray) else data.toarray()[0]
        names = self._check_named_features(state).first(state.n_features)
        return {names[j]: value for j, value in zip(data.indices.tolist(), data.data.tolist(), strict=True)}

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features after the stage: those before it."""
        state = self._readable()
        names = [f"x{j}" for j in range(state.n_features)] if state.names is None else state.names.first(state.n_features)
        return np.array(names if input_features is None else list(input_features), dtype=object)

    # --- for pipelines ---

    def _seen_by(self, state: State, X: Any, *, foreseen: bool = True) -> Rows:
        """Rows after the stage in one of its states, which stays as it is. In a pipeline, features that are still unknown pass, for
        the learner to judge, as they will when learned."""
        rows = (self._foreseen(X, state) if foreseen else self._rows(X, state)).settled()
        self._check_finite(rows, rows.dtype)
        return self._transformed(state, rows, np.zeros(rows.n, bool))

    def _foreseen(self, X: Any, state: State) -> Rows:
        if state.grow_features and isinstance(X, Rows):
            return X
        return self._named_rows(X, state, grow=state.grow_features)[0] if are_named(X) else self._rows(X, state)

    def _row(self, x: Any, state: State) -> Any:
        """One example as a record, for the common cases; None for those that need a closer look."""
        if type(x) is np.ndarray:
            if x.shape == (state.n_features,) and x.dtype in FLOATS and x.strides == (x.itemsize,):
                return DenseRows(x[None], x.dtype.type(0))
        elif type(x) is dict:
            last: Places | None = state.bound  # the places of the last dict's features; a stage has no records to bind
            if last is None or last[0] != list(x):
                last = state.bound = places(state.names, state.n_features, x, False, FLOAT64)
            if last is not None:
                _, indptr, indices, order, pack = last
                try:
                    values = np.frombuffer(pack(*x.values()), FLOAT64)
                except (StructError, OverflowError):
                    return None
                return SparseRows(indptr, indices, values if order is None else values[order], ZERO)
        return None

    def _one(self, state: State, block: Any, out: Array) -> Any:
        """One row after the stage, whose numbers are in `out`."""
        return block._replace(values=out)

    def _room_for_one(self, state: State, block: Any) -> Array:
        return np.empty_like(block.values)

    def _learn_transform(self, X: Any, weights: Array | None, door: Door) -> Rows:
        rows = self._enter(X, weights, door).settled()
        self._check_finite(rows, rows.dtype)
        return self._transformed(self._writable(), rows, np.ones(rows.n, bool) if weights is None else weights > 0)

    def _enter(self, X: Any, weights: Array | None, door: Door) -> Rows:
        """Rows to learn from, in a state that has room for their features."""
        named = are_named(X)
        rows = None if named else rows_of(X, self, fitted=self._state is not None)
        if self._state is None:
            start, _ = self._start(X if rows is None else rows, weights, door)
            self._state = self._new_state("stage", replace(start, dtype=FLOAT64))
        state, newcomers = self._writable(), list[str]()
        if rows is None:
            rows, newcomers = self._named_rows(X, state, grow=state.grow_features)
        self._check_width(rows.width, state, named=named)
        if rows.width > state.n_features:
            self._set_state(state.widened(rows.width, newcomers))
        return rows


def entry_of(call: tuple[Any, ...]) -> tuple[Any, ...]:
    """A call of a kernel, by its machine code for this kind of block."""
    kernel, block = call[:2]
    key = (kernel, type(block), block.values.dtype.num, block[0].dtype.num)
    entry = _entries.get(key)
    if entry is None:
        typed = type(block)(*map(readonly, block[:-1]), block[-1])
        entry = _entries[key] = machine_code(kernel, typed, *call[2:])
    return entry, *call[1:]


def run(call: tuple[Any, ...]) -> None:
    operator.call(*entry_of(call))
