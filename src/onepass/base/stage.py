"""Stages: what comes before a learner in a pipeline. They see each row once, too, and change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import error as StructError
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin

from onepass.base.estimator import Estimator, are_named
from onepass.base.inputs import FLOATS, Places, Rows, names_of, one_row, places, readonly, rows_of
from onepass.base.state import Array, State
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"grow": ["boolean", None]}

    grow: bool | None

    _takes_names_only: ClassVar[bool] = False  # whether it wants dicts or frames as they come

    # --- what a subclass says ---

    def _apply(self, state: State, block: Any, taught: Array, out: Array) -> None:
        """Write the numbers of a block after the stage to `out`; a row t with taught[t] is then learned from."""
        raise NotImplementedError

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        """The rows after the stage."""
        out = rows.room()
        for start, stop in rows.blocks():
            block = rows.block(start, stop, rows.dtype, rows.dtype.type(0))
            self._apply(state, block, taught[start:stop], out[rows.span(start, stop)])
        return rows.with_values(out)

    # --- the doors ---

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start anew, and learn from the rows."""
        before, self._state = self._state, None
        try:
            return self.partial_fit(X, y)
        except BaseException:
            self._state = before
            raise

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows in their order, going on from where the stage is."""
        self.learn_transform(X)
        return self

    def transform(self, X: Any) -> Any:
        """The rows after the stage, which stays as it is."""
        state = self._fitted()
        rows = self._rows(X, state)
        self._check_finite(rows, rows.dtype)
        return self._transformed(state, rows, np.zeros(rows.n, bool)).data

    def learn_transform(self, X: Any) -> Any:
        """Transform each row with what was known before it, then learn from it."""
        with self._undone_on_error():
            return self._learn_transform(X).data

    def learn_one(self, x: Any) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row."""
        with self._undone_on_error():
            self._learn_transform(one_row(x), one=True)

    def transform_one(self, x: Any) -> Any:
        """One example after the stage, as it came: a dict for a dict, else a 1-d array. Unknown features are left out."""
        state = self._fitted()
        rows = self._rows(one_row(x), state)
        self._check_finite(rows, rows.dtype)
        data = self._transformed(state, rows, np.zeros(rows.n, bool)).data
        if not isinstance(x, Mapping):
            return data[0] if isinstance(data, np.ndarray) else data.toarray()[0]
        names = list(self._columns(state))
        return {names[j]: value for j, value in zip(data.indices.tolist(), data.data.tolist(), strict=True)}

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features after the stage: those before it."""
        state = self._fitted()
        names = state.columns or [f"x{j}" for j in range(state.n_features)]
        return np.array(list(names) if input_features is None else input_features, dtype=object)

    def _call(self, compiled: Any, block: Any, *others: Any) -> None:
        """Call a kernel whose other arguments always have the same types, by the machine code for this kind of block."""
        key = (compiled, type(block), block.values.dtype, block[0].dtype)
        entry = _entries.get(key)
        if entry is None:
            typed = type(block)(*map(readonly, block[:-1]), block[-1])
            entry = _entries[key] = machine_code(compiled, typed, *others)
        entry(block, *others)

    # --- for pipelines ---

    def _foreseen(self, X: Any, state: State) -> Rows:
        """Rows to predict in a pipeline: features that are still unknown pass, for the learner to judge, as they will when learned."""
        if state.grow_features and isinstance(X, Rows):
            return X
        return self._named_rows(X, state, grow=state.grow_features)[0] if are_named(X) else self._rows(X, state)

    def _row(self, x: Any, state: State) -> Any:
        """One example as a record, for the common cases; None for those that need a closer look."""
        if type(x) is np.ndarray:
            if x.shape == (state.n_features,) and x.dtype in FLOATS and x.strides == (x.itemsize,):
                return DenseRows(x[None], x.dtype.type(0))
        elif type(x) is dict:
            last: Places | None = self._bound
            if last is None or last[0] != list(x):
                last = self._bound = places(state.columns, x, False, FLOAT64)
            if last is not None:
                _, indptr, indices, order, pack = last
                try:
                    values = np.frombuffer(pack(*x.values()), FLOAT64)
                except (StructError, OverflowError):
                    return None
                return SparseRows(indptr, indices, values if order is None else values[order], ZERO)
        return None

    def _one(self, state: State, block: Any, taught: Array) -> Any:
        """One row after the stage."""
        out = np.empty_like(block.values)
        self._apply(state, block, taught, out)
        return block._replace(values=out)

    def _learn_transform(self, X: Any, weights: Array | None = None, *, one: bool = False) -> Rows:
        rows = self._enter(X, one=one)
        self._check_finite(rows, rows.dtype)
        return self._transformed(self._fitted(), rows, np.ones(rows.n, bool) if weights is None else weights > 0)

    def _enter(self, X: Any, *, one: bool = False) -> Rows:
        """Rows to learn from, in a state that has room for their features."""
        named, fresh = are_named(X), self._state is None
        rows = None if named else rows_of(X, self, fitted=not fresh)
        if fresh:
            grow = self.grow if self.grow is not None else named or one
            width = 0 if rows is None or grow else rows.width
            self._state = self._new_state("stage", FLOAT64, width, [] if rows is None else names_of(rows), grow_features=grow)
        state = self._fitted()
        if rows is None:
            rows, newcomers = self._named_rows(X, state, grow=state.grow_features)
            self._columns(state).update(newcomers)
        self._check_width(rows.width, state, named=named)
        if rows.width > state.n_features:
            state.widen(rows.width)
            self._bound = None
        return rows
