"""A state bound to machine code: records, entry points, and the one place where lengths and types are checked before they are used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from math import nan
from operator import call
from struct import error as StructError
from typing import Any

import numpy as np
from numpy import frombuffer, ndarray

from onepass.base.inputs import Places, places, readonly
from onepass.base.state import Array, State
from onepass.compiled.average import Averaged, Lazy, NoAverage, Strided
from onepass.compiled.chain import TURNS, Before, End, Narrowing, Numbering, run_dense, run_raw, run_sparse
from onepass.compiled.compiler import machine_code
from onepass.compiled.gates import Active, Balanced
from onepass.compiled.kept import Kept
from onepass.compiled.loop import Weights, run
from onepass.compiled.pocket import Pocket
from onepass.compiled.rows import DenseRows
from onepass.compiled.scaled import AveragedScaled, LazyScaled, Scaled

# An average that is blended as a whole is blended so often: a fraction of the cost of the step itself.
BLEND_EVERY = 16

# What makes of a raw example, and whether it is to be learned from, what `run_raw` takes of it; None if it needs a closer look.
ReadRaw = Callable[[Any, bool], tuple[Array, ...] | None]


class Bound:
    """A learner's parameters and one of its states as the records that the loop takes, and the loop's entry points for them.

    Machine code checks nothing. The arrays of the state are checked here when they are bound, and stay as they are; rows, targets and
    scores are checked in `run`, which all tables go through, and in `run_one`, which all single examples do.
    """

    def __init__(self, learner: Any, state: State) -> None:
        if flaw := state.flaw():
            raise RuntimeError(f"This {type(learner).__name__} can't be used any more: {flaw}. Load it again, or call fit.")
        self.edition = learner._edition  # first of all: parameters that change meanwhile make another
        dtype = state.dtype
        self.average: Any = NoAverage(0)
        arrays = self._averaging(learner, state)
        self.model = learner._loop_record(state, arrays)
        self._make_ready = learner._readiness(self.model)
        self.state, self.dtype, self.count, self.pulse = state, dtype, state.arrays["count"], np.asarray(state.pulse)
        self.bias = dtype.type(1 if learner.fit_intercept else 0)
        self.no_targets = learner._no_codes(state)
        self.full, self.none = dtype.type(1), dtype.type(0)
        self.learn_all = Weights(np.empty(0, dtype), self.full)
        self.predict_only = Weights(np.empty(0, dtype), self.none)
        self.width = learner._width(state)
        labels = [] if state.classes is None else state.classes.tolist()
        self.labels = 2 * labels if len(labels) == 1 else labels  # one label so far: it is the answer whatever the score
        self.quick = (
            getattr(learner, "class_weight", None) is None
            and "platt" not in state.arrays
            and not learner._needs_whole_data()
            and not state.undecided
        )
        self._coder = partial(learner._coder, state)
        self._entries: dict[Any, Callable[..., int]] = {}
        self._chain: Any = End(self.bias)
        self._dense: Callable[..., float] | None = None
        self._sparse: Callable[..., float] | None = None
        self._read: ReadRaw | None = None
        self._takes_holes = False
        self._answers = self._takes_dicts = state.classes is None or bool(labels)  # else every example needs a closer look
        self._enter_by(state, "look" if state.foresees else "blank")

    @cached_property
    def code(self) -> Callable[[Any], Array | None]:
        """The target of a single example as the loop takes it, or None if it needs a closer look. Made when it is asked for: where many
        labels come up, each binding would make thousands for nothing."""
        made: Callable[[Any], Array | None] = self._coder()
        return made

    def _averaging(self, learner: Any, state: State) -> dict[str, Any]:
        """The arrays as the rule sees them, where there is an average beside them."""
        arrays: dict[str, Any] = dict(state.arrays)
        if state.additive():
            (name,) = state.additive()
            now = arrays[name]
            if "scale" in state.fields:
                now = arrays[name] = Scaled(now, arrays["scale"])
            if "pocket" in arrays:
                best = arrays[f"pocket.{name}"]
                self.average = Pocket(learner._loop_record(state, {**arrays, name: best}), best, now, arrays["pocket"])
            elif "clock" in arrays:
                clock, gap = arrays["clock"], arrays[f"gap.{name}"]
                lag = learner._loop_record(state, {**arrays, name: gap})
                if "scale" in state.fields:
                    arrays[name] = AveragedScaled(now.u, now.scale, gap, arrays["mean.scale"], clock)
                    self.average = LazyScaled(lag, arrays[name])
                else:
                    arrays[name] = Averaged(now, gap, clock)
                    self.average = Lazy(lag, gap, clock)
        elif "clock" in arrays:
            means = {name: arrays[f"mean.{name}"] for name in state.of_rules()}
            self.average = Strided(learner._loop_record(state, means), arrays["clock"], BLEND_EVERY)
        return arrays

    def _enter_by(self, entrance: State, new: str) -> None:
        """Take single examples with the features of this state; what a prediction does about those that are new (see `places`), if
        they may come: else they are left out."""
        self._entrance, self._new = entrance, new if entrance.grow_features else "drop"
        self._shape = (entrance.n_features if self._answers else -1,)
        self._last: Places | None = None

    def _like(self, **changes: Any) -> Bound:
        other = object.__new__(Bound)
        other.__dict__.update(self.__dict__, **changes)
        return other

    def wider(self, state: State) -> Bound:
        """The binding of a state that has more features in the same arrays."""
        other = self._like(state=state)
        other._enter_by(state, "look" if state.foresees else "blank")
        return other

    def behind(
        self, stages: list[tuple[Any, State, int]], *, read: ReadRaw | None = None, holes: bool = False, brings: bool = False
    ) -> Bound | None:
        """The binding for single examples that come through stages, given by their records, states and widths; None where a stage
        gives rows that the next one does not take. Raw examples are `read` for the first, which may bring features (`brings`); others
        may have `holes`."""
        entrance = stages[0][1]
        chain, wanted, buckets = self._chain, self.state.n_features, self.state.buckets
        if buckets is not None:
            chain, wanted = Numbering(*buckets.table, wanted, self.state.foresees, chain), buckets.width
        for record, state, width in reversed(stages):
            if width != wanted or state.flaw() is not None:
                return None
            if brings and state is entrance:  # stages in between would have to tell what becomes of new features
                chain = Narrowing(wanted, self.state.foresees or len(stages) > 1, chain)
            chain, wanted = Before(record, chain, TURNS), state.n_features
        takes = self._takes_dicts and self.dtype == np.float64  # stages keep to the type of what comes
        if read is not None and not takes:
            return None
        other = self._like(_chain=chain, _dense=None, _sparse=None, _read=read, _takes_holes=holes, _takes_dicts=takes)
        other._enter_by(entrance, "look")
        return other

    def run(self, rows: Any, width: int, targets: Array, gate: Any, scores: Array) -> int:
        """The loop over a block of rows of so many columns; how many were done."""
        return call(*self.call(rows, width, targets, gate, scores))

    def call(self, rows: Any, width: int, targets: Array, gate: Any, scores: Array) -> tuple[Any, ...]:
        """The entry point for a block of rows and its arguments."""
        self._check(rows, width, targets, gate, scores)
        kind = (type(rows), rows[0].dtype.num, type(gate))
        entry = self._entries.get(kind)
        if entry is None:
            typed = type(rows)(*map(readonly, rows[:-1]), rows[-1])  # one type for all ways in
            self._make_ready(typed)
            entry = machine_code(run, self.model, self.average, typed, targets, gate, scores, self.count)
            self._entries[kind] = entry
        return entry, self.model, self.average, rows, targets, gate, scores, self.count

    def _check(self, rows: Any, width: int, targets: Array, gate: Any, scores: Array) -> None:
        """Raise ValueError unless the loop stays within all arrays. That sparse rows lie within their width is seen to where rows are
        made."""
        n, values = len(scores), rows.values
        sound = width <= self.state.capacity and values.dtype == self.dtype
        if type(rows) is DenseRows:
            sound = sound and values.ndim == 2 and values.shape[1] == width and len(values) >= n
        else:
            sound = sound and values.ndim == 1 and len(rows.indices) == len(values) and len(rows.indptr) > n
        if targets is self.no_targets:
            sound = sound and gate is self.predict_only
        else:
            like = self.no_targets
            sound = sound and len(targets) >= n and targets.shape[1:] == like.shape[1:] and targets.dtype == like.dtype
        sound = sound and scores.shape == (n, self.width) and scores.dtype == self.dtype and _as_long(gate, n)
        if not sound or not (values.flags.c_contiguous and targets.flags.c_contiguous and scores.flags.c_contiguous):
            raise ValueError("These rows, targets or weights have other lengths or types than the model.")

    def run_one(self, x: Any, targets: Array, share: Any) -> float | None:
        """The loop over one example, for the common cases; None for those that need a closer look."""
        try:
            row: tuple[Array, ...] | None
            if self._read is not None:
                row = self._read(x, share is not self.none)
            elif type(x) is ndarray:
                if x.shape != self._shape or x.dtype is not self.dtype:
                    return None
                dense = self._dense or self._compile_dense(x, targets, share)
                return dense(x, targets, share)
            else:
                row = self.row(x, share)
            if row is None:
                return None
            sparse = self._sparse or self._compile_sparse(row, targets, share)
            return sparse(*row, targets, share)
        except MemoryError:
            if share is not self.none:
                self.state.pulse[0] += self.state.pulse[0] % 2  # the step is over that had begun
            raise

    def row(self, x: Any, share: Any) -> tuple[Array, Array, Array] | None:
        """A dict as the parts of a sparse row."""
        if type(x) is not dict or not self._takes_dicts:
            return None
        last = self._last
        if last is None or last[0] != [*x]:
            entrance, new = self._entrance, self._new
            if share is not self.none and new != "drop":
                new = "look"
            last = places(entrance.names, entrance.n_features, x, new, self.dtype, self._takes_holes)
            if last is None:
                return None
            if last[0]:  # a dict with features that are not known is not worth remembering
                self._last = last
        _, indptr, indices, order, pack = last
        given = [nan if value is None else value for value in x.values()] if self._takes_holes else x.values()
        try:
            values = frombuffer(pack(*given), self.dtype)
        except (StructError, OverflowError):  # text, None, numbers that are too large
            return None
        return indptr, indices, values if order is None else values[order]

    def _compile_dense(self, x: Array, targets: Array, share: Any) -> Callable[..., float]:
        self._dense = self._entry(run_dense, readonly(x), targets, share)
        return self._dense

    def _compile_sparse(self, row: tuple[Array, ...], targets: Array, share: Any) -> Callable[..., float]:
        self._sparse = self._entry(run_sparse if self._read is None else run_raw, *map(readonly, row), targets, share)
        return self._sparse

    def _entry(self, function: Any, *example: Any) -> Callable[..., float]:
        fixed = Kept((self._chain, self.model, self.average, self.width, self.count, self.pulse))
        return partial(machine_code(function, fixed, *example), fixed)


def _as_long(gate: Any, n: int) -> bool:
    """Whether a gate has what it takes for n rows."""
    if type(gate) is Active:
        return min(len(gate.reach), len(gate.asked), len(gate.values)) >= n and _as_long(gate.given, n)
    if type(gate) is Balanced:
        return min(len(gate.codes), len(gate.values)) >= n
    return len(gate.values) == 0 or len(gate.values) >= n
