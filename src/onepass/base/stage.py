"""Stages: what comes before a learner in a pipeline. They see each row once, too, and change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from onepass.base.binding import ReadRaw
from onepass.base.conventions import TransformerMixin
from onepass.base.estimator import Estimator, are_named
from onepass.base.inputs import Rows, readonly, rows_of
from onepass.base.knowledge import WHOLE, Door
from onepass.base.parameters import among, parameter
from onepass.base.state import Array, State
from onepass.base.writing import guarded
from onepass.compiled.chain import run_stage
from onepass.compiled.compiler import machine_code

FLOAT64 = np.dtype(np.float64)

_entries: dict[Any, Callable[..., Any]] = {}


class Stage(TransformerMixin, Estimator):
    """Base of all stages.

    `transform` changes nothing in the stage. `learn_transform` handles each row with what was known before it, then learns from it:
    what a learner behind the stage gets in a stream. `fit` and `partial_fit` only learn.
    """

    _known_forms: ClassVar[tuple[str, ...]] = ("stage",)
    _offers: ClassVar[dict[str, Any]] = {
        "grow": parameter(
            None,
            "boolean",
            among("features"),
            None,
            text="Whether new features may turn up at any time. None: they may in dicts and LIBSVM text.",
        )
    }

    _takes_raw: ClassVar[bool] = False  # whether it wants dicts, frames or texts as they come
    _fixes_width: ClassVar[bool] = False  # whether its rows have as many columns as it says, whatever features come
    _brings_features: ClassVar[bool] = False  # whether features may come up behind it, whatever is known before
    _gives_objects: ClassVar[bool] = False  # whether its rows are objects for a kernel, and no features
    _learns_targets: ClassVar[bool] = False  # whether it wants the targets of the rows that it learns from

    # --- what a subclass says ---

    def _record(self, state: State) -> Any:
        """A state and the parameters as the record that machine code takes, of types that are always the same (`compiled/chain.py`)."""
        raise NotImplementedError

    def _reader(self, state: State) -> ReadRaw | None:
        """Of a stage that takes raw examples: what makes of a single one what its record takes; None if each needs a closer look."""
        return None

    def _width(self, state: State) -> int:
        """How many columns rows have after the stage."""
        return state.n_features

    def _names_after(self, names: Sequence[Any]) -> Sequence[Any]:
        """What features are called after the stage, given what they are called before."""
        return names

    def _called(self, state: State, X: Any, names: Any) -> Any:
        """What the columns of one example are called after the stage, by their numbers, given what they are called before; None for
        its own names."""
        return self._names_after(self._names_for(X, state) if names is None else names)

    def _name_of(self, column: int) -> str:
        """What one column is called after the stage."""
        return str(self.get_feature_names_out()[column])

    def _sign_of(self, name: str, entry: float) -> float | None:
        """Of a stage that hashes: the sign of what is called so, given its entry in a row; None if that does not tell."""
        return float(np.sign(entry))

    def _out(self, state: State, rows: Rows) -> Any:
        """An array for the numbers of rows after the stage."""
        return rows.blank()

    def _span(self, rows: Rows, start: int, stop: int) -> slice:
        """Where the numbers of some rows are in that array."""
        return slice(start, stop) if self._fixes_width else rows.span(start, stop)

    def _result(self, rows: Rows, out: Any) -> Rows:
        """The rows after the stage, whose numbers are in that array."""
        return Rows(out) if self._fixes_width else rows.with_values(out)

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        """The rows after the stage."""
        out, record = self._out(state, rows), self._record(state)
        for start, stop in rows.blocks():
            block = rows.block(start, stop, rows.dtype, rows.dtype.type(0))
            _run(record, block, taught[start:stop], out[self._span(rows, start, stop)])
        return self._result(rows, out)

    # --- the methods ---

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
            guarded(lambda: self._learn_transform(self._one_row(x), None, Door(features_come=isinstance(x, Mapping))), self)

    def transform_one(self, x: Any) -> Any:
        """One example after the stage, as it came: a dict for a dict, else a 1-d array. Unknown features are left out."""
        state = self._readable()
        data = self._seen_by(state, self._one_row(x), foreseen=False).data
        if not isinstance(x, Mapping):
            return data[0] if isinstance(data, np.ndarray) else data.toarray()[0]
        names = self._names_after(self._check_named_features(state).first(state.n_features))
        return {names[j]: value for j, value in zip(data.indices.tolist(), data.data.tolist(), strict=True)}

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features after the stage."""
        state = self._readable()
        names = [f"x{j}" for j in range(state.n_features)] if state.names is None else state.names.first(state.n_features)
        return np.array(self._names_after(names if input_features is None else list(input_features)), dtype=object)

    # --- for pipelines ---

    def _seen_by(self, state: State, X: Any, *, foreseen: bool = True) -> Rows:
        """Rows after the stage in one of its states, which stays as it is. In a pipeline, features that are still unknown pass, for
        the learner to judge, as they will when learned."""
        rows = (self._foreseen(X, state) if foreseen else self._rows(X, state)).checked()
        self._check_finite(rows, rows.dtype)
        return self._transformed(state, rows, np.zeros(rows.n, bool))

    def _foreseen(self, X: Any, state: State) -> Rows:
        if state.grow_features and isinstance(X, Rows):
            return X
        return self._named_rows(X, state, grow=state.grow_features)[0] if are_named(X) else self._rows(X, state)

    def _learn_transform(self, X: Any, weights: Array | None, door: Door, targets: Any = None) -> Rows:
        """Rows after the stage, which then learns from those that have a weight. For a stage that wants them there are the targets of
        these, as the learner tells them (`Learner._for_stages`)."""
        rows = self._enter(X, weights, door).checked()
        self._check_finite(rows, rows.dtype)
        return self._transformed(self._writable(), rows, np.ones(rows.n, bool) if weights is None else weights > 0)

    def _enter(self, X: Any, weights: Array | None, door: Door) -> Rows:
        """Rows to learn from, in a state that has place for their features."""
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


def _run(record: Any, block: Any, taught: Array, out: Array) -> None:
    """Take rows through a stage, by the machine code for stages and rows of their kinds."""
    kind = (type(record), type(block), block.values.dtype.num, block[0].dtype.num)
    entry = _entries.get(kind)
    if entry is None:
        typed = type(block)(*map(readonly, block[:-1]), block[-1])
        entry = _entries[kind] = machine_code(run_stage, record, typed, taught, out)
    entry(record, block, taught, out)
