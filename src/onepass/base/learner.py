"""The contract of every learner: parameters, a state, and one loop behind every door."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from numbers import Integral, Real
from struct import error as StructError
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy import frombuffer, ndarray
from sklearn.utils._param_validation import Interval, StrOptions

from onepass.base.estimator import Estimator, are_named
from onepass.base.inputs import Places, Rows, check_name, named_values, names_of, one_row, places, readonly, rows_of
from onepass.base.state import Array, State
from onepass.compiled.average import DECAY, HALF_LIFE, UNIFORM, Averaged, Lazy, NoAverage, Strided
from onepass.compiled.gates import Active
from onepass.compiled.kernel import machine_code
from onepass.compiled.loop import Weights, run, run_dense, run_sparse
from onepass.compiled.pocket import Pocket
from onepass.compiled.scaled import AveragedScaled, LazyScaled, Scaled

_publishing = threading.Lock()

Piece = tuple[Any, Array]  # the classes known at the time, and scores

# A state of so many bytes is copied before a pass, whatever the size of the data.
COPIED_ALWAYS = 1 << 20

# An average that is blended as a whole is blended so often: a fraction of the cost of the step itself.
BLEND_EVERY = 16

# What parameter selection tries for C and its like, as LIBOL does.
POWERS_OF_TWO = tuple(2.0**k for k in range(-4, 5))


@dataclass(eq=False, repr=False)
class Learner(Estimator):
    """Base of all learners. A subclass declares its forms and makes records for the loop; see CONTRIBUTING.md.

    The doors `learn_one`, `partial_fit`, `test_then_train` and `predict` all run the same compiled loop, so the same examples in the
    same order give the same model to the bit, however they are cut into calls.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "average": ["boolean", None, StrOptions({"uniform"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "grow": ["boolean", None],
    }

    # Parameters that every learner has. A learner is a dataclass: its fields are its parameters.
    _: KW_ONLY
    fit_intercept: bool = True
    average: bool | str | float | None = None
    max_iter: int = 1
    grow: bool | None = None

    # --- what a subclass says ---

    def _record(self, form: str, arrays: Mapping[str, Any]) -> Any:
        """The record that the learner's rules are written for, from arrays by name."""
        raise NotImplementedError

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        """What parameter selection tries if it is told nothing else: name -> values, in the order of the search."""
        return {}

    def _weights_are_switches(self) -> bool:
        """Whether the optimisation problem has no loss term to weigh, so that only the weights 0 and 1 mean anything."""
        return False

    def _needs_whole_data(self) -> bool:
        """Whether the learner can only be taught by `fit`, with all of the data at hand."""
        return False

    def _fails_late(self) -> bool:
        """Whether a row may be refused that looks sound, so that only a copy of the state, however large, can undo a pass."""
        return False

    def _make_room(self, state: State) -> bool:
        """Make room for what the rule could not take in, if that is why it ended the loop; whether there is any now."""
        return False

    def _begin_pass(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """The data of one pass of `fit`, in the order in which it is learned from."""
        return X, y, sample_weight

    def _end_pass(self) -> None:
        """What follows a pass of `fit`."""

    def _targets(self, y: Any, n: int) -> Any:
        raise NotImplementedError

    def _codes(self, state: State, y: Any) -> tuple[Array, int]:
        """Targets as the loop takes them, and how many of them could be had before an unknown one."""
        raise NotImplementedError

    def _no_codes(self, state: State) -> Array:
        """Codes of no examples, of the type that `_codes` gives."""
        return np.empty(0, np.int64 if state.form == "multiclass" else state.dtype)

    def _admit(self, state: State, target: Any) -> Any:
        """Take in what is new in one target; the places of its scores."""
        return state.add_class(target)

    def _coder(self, state: State) -> Callable[[Any], Array | None]:
        """A quick function from one target to an array of its code; None for a target that needs a closer look."""
        raise NotImplementedError

    def _width(self, state: State) -> int:
        """How many scores an example has."""
        return 1

    @property
    def n_iter_(self) -> int:
        """The number of passes of the last `fit`, or 1."""
        return max(1, self._attribute("n_iter_").n_iter)

    @property
    def updates_(self) -> int:
        """How many examples had loss, so that the weights moved; all of them for a rule that always moves."""
        return self._attribute("updates_").updates

    def _new_state(self, form: str, dtype: Any, n_features: int, names: list[str] | None, **about: Any) -> State:
        state = super()._new_state(form, dtype, n_features, names, **about)
        if self._averages():
            state.average(self._clock())
        return state

    def _companions(self) -> set[str]:
        return {"clock"} if self._averages() else set()

    def _averages(self) -> bool:
        return bool(self.average) if isinstance(self.average, bool | np.bool_) else self.average is not None

    def _clock(self) -> Array:
        if self.average == "uniform":
            kind, life = UNIFORM, 0.0
        elif isinstance(self.average, bool | np.bool_):
            kind, life = DECAY, 0.0
        else:
            kind, life = HALF_LIFE, float(self.average)  # type: ignore[arg-type]
        return np.array([0.0, 0.0, kind, life])

    def _averaged(self, state: State, name: str) -> Array:
        """An array of the state as predictions see it: its average, where there is one."""
        arrays = state.arrays
        if f"pocket.{name}" in arrays:
            return arrays[f"pocket.{name}"]
        scaled = state.fields[name].additive and "scale" in state.fields
        scale = state.dtype.type(arrays["scale"][0]) if scaled else 1
        if f"gap.{name}" in arrays and state.t > 0:
            share = state.dtype.type(arrays["mean.scale"][0]) if scaled else 1
            return share * arrays[name] - state.dtype.type(arrays["clock"][0]) * arrays[f"gap.{name}"]
        return arrays.get(f"mean.{name}", scale * arrays[name])

    def _bind(self) -> _Bound:
        """State and parameters as the records that the loop takes; kept until one of them changes."""
        bound = self._bound  # read once: a writer may make it void at any moment
        while bound is None:
            self._check_parameters()
            state = self._fitted()
            self._check_settled(state)
            version = state.version
            bound = _Bound(self, state)
            with _publishing:  # a reader must not put back what a writer has just made void
                if self._state is state and state.version == version:
                    self._bound = bound
                elif state.version != version:  # some of the arrays may be longer than others
                    bound = None
        return bound

    def _check_settled(self, state: State) -> None:
        """Refuse parameters that were changed after they had shaped the state."""
        resized = any(state.sizes.get(name) != size for name, size in self._sizes().items())
        companions = {name for name in ("clock", "pocket", "class_counts", "platt") if name in state.arrays}
        averaged = "clock" in state.arrays and "clock" in self._companions()
        reshaped = state.fields != self._fields(state.form)
        retimed = averaged and (state.arrays["clock"] != self._clock())[2:].any()
        if resized or reshaped or retimed or companions != self._companions():
            raise ValueError(
                f"The parameters of this {type(self).__name__} no longer fit what it has learned: `average`, `class_weight`,"
                " `calibrate` and what decides on the arrays of a model can't change once learning has begun. Call fit to start anew."
            )

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        if self._state is not None:
            self._check_settled(self._state)
        return super()._pack()

    # --- the doors for tables ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew, and learn from the rows in their order, `max_iter` times or until a pass changes nothing."""
        self._check_parameters()
        if sample_weight is not None and not np.any(np.asarray(sample_weight)):
            raise ValueError("All sample weights are zero: there is nothing to learn from.")
        before, self._state, self._bound = self._state, None, None
        try:
            for passes in range(1, self.max_iter + 1):
                updates = 0 if self._state is None else self._state.updates
                self._learn(*self._begin_pass(X, y, sample_weight), whole=True)
                self._end_pass()
                state = self._fitted()
                state.n_iter = passes
                if state.updates == updates:
                    break
        except BaseException:
            self._state, self._bound = before, None
            raise
        return self

    def _scores(self, X: Any) -> Array:
        """The scores of each row: (n,), or (n, K) in the form for many classes."""
        state = self._fitted()
        rows = self._rows(X, state)
        scores = np.empty((rows.n, self._width(state)), state.dtype)
        bound = self._bind_for(rows.width)
        for start, stop in rows.blocks():
            block = rows.block(start, stop, state.dtype, bound.bias)
            done = bound.run(block, bound.no_targets, bound.predict_only, scores[start:stop])
            if done < stop - start:
                self._refuse(rows, start + done)
        return scores if state.form == "multiclass" else scores[:, 0]

    # --- the doors for one example ---

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row. `w` is its weight."""
        one = self._bound
        if one is not None and one.quick and w == 1.0:
            code = one.code(y)
            if code is not None:
                answer = one.run_one(x, code, one.full)
                if answer is None and isinstance(x, Mapping) and one.state.columns is not None:
                    answer = self._learn_named(x, code)
                if answer is not None and answer == answer:
                    return
        self._learn(one_row(x), [y], None if w == 1.0 else [w], one=True)
        self._bind()

    def _learn_named(self, x: Mapping[str, Any], code: Array) -> float | None:
        """Learn from a dict that holds text, or features that are new to a growing model."""
        state, named = self._fitted(), named_values(x)
        self._check_named(named)
        columns = self._columns(state)
        before, newcomers = state.n_features, []
        if state.grow_features:
            newcomers = [name for name in named if name not in columns]
            for name in newcomers:
                check_name(name)
            for name in newcomers:
                columns[name] = len(columns)
            if newcomers:
                self._widen(len(columns))
        one = self._bind()
        answer = one.run_one(named, code, one.full)
        if answer is None or answer != answer:
            for name in newcomers:
                del columns[name]
            state.n_features = before
            self._bound = None
        return answer

    def _scores_one(self, x: Any) -> Array | None:
        """All scores of one example; None if nothing has been learned yet."""
        if self._state is None:
            return None
        rows = self._rows(one_row(x), self._state)
        one = self._bind_for(rows.width)
        scores = np.empty((1, one.width), one.dtype)
        if one.run(rows.block(0, 1, one.dtype, one.bias), one.no_targets, one.predict_only, scores) != 1:
            self._refuse_one(x)
        return scores

    def _bind_for(self, width: int) -> _Bound:
        """The binding for a prediction on so many features, of which a growing model may not have seen all."""
        if width <= self._fitted().room:
            return self._bind()
        wider = self.copy()
        wider._fitted().widen(width)
        return wider._bind()

    # --- the pass ---

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any = None,
        pieces: list[Piece] | None = None,
        *,
        whole: bool = False,
        one: bool = False,
    ) -> None:
        """Learn from a table. Either all of it is learned from, or an error is raised and the model is as it was before."""
        if self._needs_whole_data() and not whole:
            raise ValueError(f"This {type(self).__name__} looks at all of its data before each step: teach it with `fit` only.")
        named = are_named(X)
        fresh = self._state is None
        rows = None if named else rows_of(X, self, fitted=not fresh)
        target = self._targets(y, len(X) if rows is None else rows.n)
        if fresh:
            grow = self.grow if self.grow is not None else (named or one)
            names = [] if rows is None else names_of(rows)
            self._state = self._first_state(rows, names, target, classes, grow, whole)
            self._bound = None
        try:
            state = self._fitted()
            if not fresh:
                self._check_classes(state, classes)
            weights = self._weights(sample_weight, len(target))
            if weights is not None and state.grow_features and not weights.all():
                self._learn_runs(X if rows is None else rows, target, weights, pieces)
                return
            newcomers: dict[str, int] = {}
            if rows is None:
                rows, newcomers = self._named_rows(X, state, grow=state.grow_features)
            self._check_width(rows.width, state, named=named)
            self._guarded_pass(state, rows, target, weights, pieces)
            if newcomers:
                self._columns(self._fitted()).update(newcomers)
        except BaseException:
            if fresh:
                self._state, self._bound = None, None
            raise

    def _widen(self, n_features: int) -> None:
        with _publishing:
            if self._fitted().widen(n_features):
                self._bound = None
        if self._bound is not None:
            self._bound.forget_places()

    def _learn_runs(self, X: Any, target: Any, weights: Array, pieces: list[Piece] | None) -> None:
        """Learn from the rows of a growing model that have a weight; the others bring neither features nor labels."""
        edges = np.flatnonzero(np.diff(weights > 0)) + 1
        with self._undone_on_error():
            for start, stop in pairwise([0, *edges.tolist(), len(weights)]):
                part = X.part(start, stop) if isinstance(X, Rows) else X[start:stop]
                if weights[start] > 0:
                    self._learn(part, target[start:stop], weights[start:stop], None, pieces)
                elif pieces is not None:
                    pieces.append((self._fitted().classes, self._scores(part).reshape(stop - start, -1)))

    def _guarded_pass(self, state: State, rows: Rows, target: Any, weights: Array | None, pieces: Any) -> None:
        """Run the pass so that an error leaves no trace: by a copy of the state where that is small or smaller than the data, else
        by looking at the data first."""
        saved = state.copy() if state.nbytes <= max(rows.nbytes, COPIED_ALWAYS) or self._fails_late() else None
        try:
            if saved is None:
                self._check_first(state, rows, target)
            if rows.width > state.n_features:
                self._widen(rows.width)
            self._run_pass(rows, target, weights, pieces)
        except BaseException:
            if saved is not None:
                self._state, self._bound = saved, None
            raise

    def _check_first(self, state: State, rows: Rows, target: Any) -> None:
        self._check_finite(rows, state.dtype)
        self._check_targets(state, target)

    def _check_targets(self, state: State, target: Any) -> None:
        if state.grow_classes:
            for label in np.unique(target):
                state.check_label(label)
        else:
            _, known = self._codes(state, target)
            if known < len(target):
                self._refuse_label(target[known], known)

    def _run_pass(self, rows: Rows, target: Any, weights: Array | None, pieces: list[Piece] | None) -> None:
        start, scores = 0, np.empty((0, 0))
        for _, stop in rows.blocks():
            while start < stop:
                state, newcomer = self._fitted(), None
                codes, known = self._codes(state, target[start:stop])
                if known == 0:
                    if not state.grow_classes:
                        self._refuse_label(target[start], start)
                    with _publishing:
                        newcomer = self._admit(state, target[start])
                        self._bound = None
                    codes, known = self._codes(state, target[start:stop])
                bound = self._bind()
                end = start + known
                gate = self._gate(state, bound, codes[:known], None if weights is None else weights[start:end])
                if pieces is not None or scores.shape < (known, bound.width) or scores.shape[1] != bound.width:
                    scores = np.empty((known, bound.width), state.dtype)
                self._run_block(rows, start, codes[:known], gate, scores[:known])
                self._after(state, scores[:known], codes[:known], gate)
                if pieces is not None:
                    if newcomer is not None:
                        scores[0, newcomer] = np.nan
                    pieces.append((state.classes, scores))
                start = end

    def _run_block(self, rows: Rows, start: int, codes: Array, gate: Any, scores: Array) -> None:
        """The loop over as many rows from `start` on as there are codes. Where it ends for want of room, room is made."""
        state, done, n = self._fitted(), 0, len(codes)
        while done < n:
            bound = self._bind()
            block = rows.block(start + done, start + n, state.dtype, bound.bias)
            done += bound.run(block, codes[done:], rest(gate, done), scores[done:])
            if done < n:
                with _publishing:
                    if not self._make_room(state):
                        self._refuse(rows, start + done)
                    self._bound = None

    def _joined(self, pieces: list[Piece]) -> Array:
        state = self._fitted()
        if state.form != "multiclass":
            return np.concatenate([scores[:, 0] for _, scores in pieces])
        assert state.classes is not None
        joined = np.full((sum(len(scores) for _, scores in pieces), len(state.classes)), np.nan, state.dtype)
        start = 0
        for classes, scores in pieces:
            joined[start : start + len(scores), np.searchsorted(state.classes, classes)] = scores
            start += len(scores)
        return joined

    def _after(self, state: State, scores: Array, codes: Array, gate: Any) -> None:
        """What follows a block, given the scores from before it was learned from."""

    def _gate(self, state: State, bound: _Bound, codes: Array, weights: Array | None) -> Any:
        if weights is None:
            return bound.learn_all
        return Weights(np.ascontiguousarray(weights, state.dtype), state.dtype.type(1))

    def _weights(self, sample_weight: Any, n: int) -> Array | None:
        if sample_weight is None:
            return None
        weights = np.asarray(sample_weight, np.float64)
        if weights.ndim == 0:
            weights = np.full(n, float(weights))
        if weights.shape != (n,):
            raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("sample_weight must be finite and not negative.")
        if self._weights_are_switches() and not np.isin(weights, (0, 1)).all():
            raise ValueError(
                f"{type(self).__name__} with these parameters has no loss term to weigh: sample_weight may only be 0 or 1."
            )
        return weights

    def _refuse_label(self, label: Any, t: int) -> NoReturn:
        classes = self._fitted().classes
        raise ValueError(
            f"classes should include all valid labels that can be in y: {np.asarray(label).item()!r} (row {t}) is none of"
            f" {[] if classes is None else classes.tolist()}"
        )

    def _check_classes(self, state: State, classes: Any) -> None:
        """Refuse `classes` that differ from those of an earlier call."""

    def _first_state(
        self, rows: Rows | None, names: list[str] | None, target: Any, classes: Any, grow: bool, whole: bool
    ) -> State:
        raise NotImplementedError


def rest(gate: Any, start: int) -> Any:
    """The gate for the rows from `start` on."""
    if start == 0:
        return gate
    if isinstance(gate, Active):
        return Active(gate.reach[start:], gate.asked[start:], gate.values[start:], rest(gate.given, start))
    return Weights(gate.values[start:], gate.every)


class _Bound:
    """A learner's state bound to the compiled loop: records, entry points and the work space of its single writer."""

    def __init__(self, learner: Learner, state: State) -> None:
        dtype = state.dtype
        arrays: dict[str, Any] = dict(state.arrays)
        self.average: Any = NoAverage(0)
        if state.additive():
            (name,) = state.additive()
            now = arrays[name]
            if "scale" in state.fields:
                now = arrays[name] = Scaled(now, arrays["scale"])
            if "pocket" in arrays:
                best = arrays[f"pocket.{name}"]
                self.average = Pocket(learner._record(state.form, {**arrays, name: best}), best, now, arrays["pocket"])
            elif "clock" in arrays:
                clock, gap = arrays["clock"], arrays[f"gap.{name}"]
                lag = learner._record(state.form, {**arrays, name: gap})
                if "scale" in state.fields:
                    arrays[name] = AveragedScaled(now.u, now.scale, gap, arrays["mean.scale"], clock)
                    self.average = LazyScaled(lag, arrays[name])
                else:
                    arrays[name] = Averaged(now, gap, clock)
                    self.average = Lazy(lag, gap, clock)
        elif "clock" in arrays:
            means = {name: arrays[f"mean.{name}"] for name in state.fields}
            self.average = Strided(learner._record(state.form, means), arrays["clock"], BLEND_EVERY)
        self.model = learner._record(state.form, arrays)
        self.state, self.dtype, self.count = state, dtype, state.arrays["count"]
        self.bias = dtype.type(1 if learner.fit_intercept else 0)
        self.no_targets = learner._no_codes(state)
        self.full, self.none = dtype.type(1), dtype.type(0)
        self.learn_all = Weights(np.empty(0, dtype), self.full)
        self.predict_only = Weights(np.empty(0, dtype), self.none)
        self.width = learner._width(state)
        self.quick = (
            getattr(learner, "class_weight", None) is None and "platt" not in state.arrays and not learner._needs_whole_data()
        )
        labels = [] if state.classes is None else state.classes.tolist()
        self.labels = 2 * labels if len(labels) == 1 else labels  # one label so far: it is the answer whatever the score
        self.code = learner._coder(state)
        self._entries: dict[Any, Callable[..., int]] = {}
        self._strides = (dtype.itemsize,)
        self._ignores_new = not state.foresees
        self._shape = (state.n_features,)
        self._last: Places | None = None
        self._dense: Callable[..., float] | None = None
        self._sparse: Callable[..., float] | None = None

        if self.width == 0:  # no label is known yet: every example needs a closer look
            self.run_one = lambda x, targets, share: None  # type: ignore[method-assign]

    def run(self, rows: Any, targets: Array, gate: Any, scores: Array) -> int:
        """The loop over a block of rows."""
        kind = (type(rows), rows[0].dtype, type(gate))
        entry = self._entries.get(kind)
        if entry is None:
            typed = type(rows)(*map(readonly, rows[:-1]), rows[-1])  # one type for all doors
            entry = self._entries[kind] = machine_code(run, self.model, self.average, typed, targets, gate, scores, self.count)
        return entry(self.model, self.average, rows, targets, gate, scores, self.count)

    def run_one(self, x: Any, targets: Array, share: Any) -> float | None:
        """The loop over one example, for the common cases; None for those that need a closer look."""
        if type(x) is ndarray:
            if x.shape != self._shape or x.dtype is not self.dtype or x.strides != self._strides:
                return None
            dense = self._dense or self._compile_dense(x, targets, share)
            return dense(self.model, self.average, x, self.bias, targets, share, self.width, self.count)
        if type(x) is not dict:
            return None
        last = self._last
        if last is None or last[0] != [*x]:
            ignore_new = self._ignores_new if share is self.none else not self.state.grow_features
            last = places(self.state.columns, x, ignore_new, self.dtype)
            if last is None:
                return None
            if len(last[2]) == len(x):  # a dict with features that are not known is not worth remembering
                self._last = last
        _, indptr, indices, order, pack = last
        try:
            values = frombuffer(pack(*x.values()), self.dtype)
        except (StructError, OverflowError):  # text, None, numbers that are too large
            return None
        if order is not None:
            values = values[order]
        sparse = self._sparse or self._compile_sparse(indptr, indices, values, targets, share)
        return sparse(self.model, self.average, indptr, indices, values, self.bias, targets, share, self.width, self.count)

    def forget_places(self) -> None:
        """Features have come: rows are longer, and a dict's values may have other places."""
        self._last, self._shape = None, (self.state.n_features,)

    def _compile_dense(self, x: Array, targets: Array, share: Any) -> Callable[..., float]:
        flat = (self.model, self.average, readonly(x), self.bias, targets, share, self.width, self.count)
        self._dense = machine_code(run_dense, *flat)
        return self._dense

    def _compile_sparse(self, indptr: Array, indices: Array, values: Array, targets: Array, share: Any) -> Callable[..., float]:
        row = map(readonly, (indptr, indices, values))
        self._sparse = machine_code(
            run_sparse, self.model, self.average, *row, self.bias, targets, share, self.width, self.count
        )
        return self._sparse
