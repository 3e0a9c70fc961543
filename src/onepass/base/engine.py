"""One pass over examples, with the way back if it fails: what learners, pipelines and active learners run.

Rows come in with targets and weights. The pass codes the targets, takes in what is new (a label, features), runs the compiled loop a
block at a time, and gathers the scores from before each row was learned. It works on one state after another, each a whole version of
the model; an error or Ctrl-C at any moment leaves the version from before the call, or the one after it (`base/writing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from onepass.base.binding import Bound
from onepass.base.buckets import Buckets
from onepass.base.estimator import Estimator, are_named
from onepass.base.inputs import Rows, rows_of
from onepass.base.knowledge import Door, Start, no_labels
from onepass.base.labels import Coded, check_labels
from onepass.base.state import Array, Kept, State
from onepass.base.writing import guarded, in_place, while_true
from onepass.compiled.gates import Active
from onepass.compiled.loop import Weights


class Piece(NamedTuple):
    """The scores that some rows had before they were learned from."""

    classes: Any  # those known at the time
    scores: Array
    chances: Array | None = None  # the probabilities of these classes, where they are asked for


class Pieces(list[Piece]):
    """What a pass gathers: scores, piece by piece, and probabilities if `chances` is set."""

    def __init__(self, chances: bool = False) -> None:
        super().__init__()
        self.chances = chances


NO_CHANCES = np.empty((0, 0))

# A state of so many bytes is copied before a pass, whatever the size of the data.
COPIED_ALWAYS = 1 << 20

# So many scores are made at once, however many classes there are: they stay in the cache.
SCORES = 1 << 17


class Engine(Estimator):
    """An estimator with a loop. `_learn` is the way to it for all tables, `_scores` for all predictions on them."""

    _normalises: ClassVar[bool] = False  # whether the score of a label depends on which others there are, as a probability does

    # --- what a learner says ---

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        """The record that the learner's rules are written for, from arrays by name."""
        raise NotImplementedError

    def _clock(self) -> tuple[float, ...]:
        """The clock of an average at the start."""
        raise NotImplementedError

    def _loop_record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        """The record that the loop takes: that of the rules, with what options put around it."""
        return self._record(state, arrays)

    def _readiness(self, record: Any) -> Callable[[Any], None]:
        """What makes the record ready for rows of one kind, of which it gets some, before machine code sees the first."""
        return lambda rows: None

    def _weights_are_switches(self) -> bool:
        """Whether the optimisation problem has no loss term to weigh, so that only the weights 0 and 1 mean anything."""
        return False

    def _needs_whole_data(self) -> bool:
        """Whether the learner can only be taught by `fit`, with all of the data at hand."""
        return False

    def _fails_late(self) -> bool:
        """Whether a row may be refused that looks sound, so that only what was set aside can undo the rows before it."""
        return False

    def _keeps_to_features(self) -> bool:
        """Whether a row changes only numbers of features that it has, in all arrays that have an axis for features."""
        return False

    def _enlarged(self, state: State) -> State | None:
        """A state with place for what the rule could not take in, if that is why it ended the loop."""
        return None

    def _targets(self, y: Any, n: int) -> Any:
        raise NotImplementedError

    def _codes(self, state: State, y: Any) -> tuple[Array, int]:
        """Targets as the loop takes them, and how many of them could be had before an unknown one."""
        raise NotImplementedError

    def _no_codes(self, state: State) -> Array:
        """Codes of no examples, of the type that `_codes` gives."""
        return np.empty(0, np.int64 if state.form == "multiclass" else state.dtype)

    def _find_labels(self, target: Any, classes: Any, whole: bool, come: bool) -> Array | None:
        """The labels that a fresh model starts with: none where they `come` up as they may, and None for a learner without labels."""
        return None

    def _first_state(self, start: Start, rows: Rows) -> State:
        raise NotImplementedError

    def _admit(self, state: State, target: Any) -> tuple[State, Any]:
        """A state that takes in what is new in one target, and the places of its scores."""
        raise NotImplementedError

    def _coder(self, state: State) -> Callable[[Any], Array | None]:
        """A quick function from one target to an array of its code; None for a target that needs a closer look."""
        raise NotImplementedError

    def _width(self, state: State) -> int:
        """How many scores an example has."""
        return 1

    def _after(self, state: State, scores: Array, codes: Array, gate: Any, chances: Array) -> None:
        """What follows a block, given the scores from before it was learned from. The probabilities from before go to `chances`, if it
        has rows."""

    def _chances(self, scores: Array, state: State) -> Array:
        """The probability of each class by a state, from scores."""
        raise NotImplementedError

    def _gate(self, state: State, bound: Bound, codes: Array, weights: Array | None) -> Any:
        if weights is None:
            return bound.learn_all
        return Weights(np.ascontiguousarray(weights, state.dtype), state.dtype.type(1))

    def _check_classes(self, state: State, classes: Any) -> None:
        """Refuse `classes` that differ from those of an earlier call."""

    # --- states bound to machine code ---

    def _bind(self, state: State) -> Bound:
        """A state and the parameters as the records that the loop takes; kept with the state until the parameters change."""
        bound: Bound | None = state.bound
        if bound is None or bound.edition is not self._edition:
            self._ensure_parameters()
            self._check_unchanged(state)
            bound = state.bound = Bound(self, state)
        return bound

    def _binding(self) -> Bound | None:
        """The binding of what readers see, if there is anything."""
        state = self._latest()
        return None if state is None else self._bind(state)

    def _keep_bound(self) -> None:
        """Make the binding of the present state the first that single examples look at. For the holder of the lock."""
        if self._shown is None and self._state is not None:
            self._bound = self._bind(self._state)

    def _has_outgrown(self, state: State) -> bool:
        """Whether parameters were changed since, so that they no longer fit the state."""
        resized = any(state.sizes.get(name) != size for name, size in self._sizes().items())
        reshaped = state.fields != self._layout(state.form)
        retimed = "clock" in state.fields and tuple(state.arrays["clock"][2:]) != self._clock()[2:]  # of a file
        return resized or reshaped or retimed

    def _check_unchanged(self, state: State) -> None:
        if self._has_outgrown(state):
            raise ValueError(
                f"The parameters of this {type(self).__name__} no longer fit what it has learned: `average`, `class_weight`,"
                " `calibrate`, `scale_target` and what decides on the arrays of a model can't change once learning has begun. Call fit"
                " to start anew."
            )

    def _packed(self, state: State) -> tuple[dict[str, Any], dict[str, Array]]:
        self._bind(state)  # what can't be bound could be saved, but not loaded again
        return super()._packed(state)

    # --- predictions ---

    def _scores(self, X: Any, state: State) -> Array:
        """The scores of each row by a state, (n, width); NaN while there are no two labels to tell apart."""
        rows = self._rows_to_score(X, state)
        scores = np.empty((rows.n, self._width(state)), state.dtype)
        bound = self._bind_for(rows.width, state)
        for start, stop in rows.blocks():
            block = rows.block(start, stop, state.dtype, bound.bias)
            done = bound.run(block, rows.width, bound.no_targets, bound.predict_only, scores[start:stop])
            if done < stop - start:
                self._refuse(rows, start + done, state.dtype)
        if state.undecided:
            scores[:] = np.nan
        return scores

    def _rows_to_score(self, X: Any, state: State) -> Rows:
        """Rows as they will be learned from, to the bit, though features that are new count for nothing."""
        if not state.grow_features or state.foresees:
            return self._rows(X, state)
        if are_named(X):
            rows = self._named_rows(X, state, grow=True)[0]
        else:
            rows = rows_of(X, self, fitted=True)
            if rows.hashed and state.buckets is not None:
                rows = self._hashed_rows(rows, state, state.buckets, grow=True)[0]
            elif rows.width <= state.n_features:
                return self._rows(rows, state)
        return rows.with_blanks(state.n_features)

    def _bind_for(self, width: int, state: State) -> Bound:
        """The binding for a prediction on so many features, of which a growing model may not have seen all."""
        return self._bind(state if width <= state.capacity else state.foreseeing(width))

    def _scores_now(self, X: Any) -> Array:
        """The scores of rows as the writer of this learner sees them."""
        return self._scores(X, self._writable())

    # --- the pass ---

    def _learn(self, X: Any, y: Any, sample_weight: Any, door: Door, pieces: Pieces | None = None) -> None:
        """Learn from a table. Either all of it is learned from, or an error is raised and the model is as it was before."""
        with self._lock:
            if self._needs_whole_data() and not door.whole:
                raise ValueError(
                    f"This {type(self).__name__} looks at all of its data before each step: teach it with `fit` only."
                )
            rows: Any = X if are_named(X) else rows_of(X, self, fitted=self._state is not None)
            n = len(rows) if isinstance(rows, list) else rows.n
            target, weights = self._targets(y, n), self._weights(sample_weight, n)
            if self._state is None:
                guarded(lambda: self._learn_first(rows, target, weights, door, pieces), self)
            else:
                self._check_classes(self._state, door.classes)
                self._go_on(rows, target, weights, pieces)
            self._keep_bound()

    def _learn_first(self, X: Any, target: Any, weights: Array | None, door: Door, pieces: Pieces | None) -> None:
        """Learn from rows or dicts, without a state."""
        if self._begin(X, target, weights, door):
            self._go_on(X, target, weights, pieces)
        elif pieces is not None:
            pieces.append(self._foretold(np.full((len(target), 1), np.nan), None, pieces.chances))

    def _start(
        self, X: Any, weights: Array | None, door: Door, find_labels: Callable[[bool, bool], Any] = no_labels
    ) -> tuple[Start, Rows]:
        start, rows = super()._start(X, weights, door, find_labels)
        if not (isinstance(X, Rows) and X.hashed) or self.grow in (False, "labels"):
            return start, rows
        first = 0 if weights is None else int(np.argmax(weights > 0))
        rows, columns = Buckets((), X.width).numbered(X.part(first, first + 1), 0, grow=True)
        buckets = Buckets(columns, X.width)
        return replace(start, n_features=len(buckets), names=None, grow_features=True, buckets=buckets), rows

    def _begin(self, X: Any, target: Any, weights: Array | None, door: Door) -> bool:
        """Make the first state, of what the first example that is learned from shows; False if there is none such."""
        start, rows = self._start(X, weights, door, lambda whole, come: self._find_labels(target, door.classes, whole, come))
        if (start.grow_features or isinstance(X, list)) and weights is not None and not weights.any():
            self._check_rows(X)  # a bad row is one whatever it weighs
            return False
        self._state = self._first_state(start, rows)
        return True

    def _go_on(self, X: Any, target: Any, weights: Array | None, pieces: Pieces | None) -> None:
        """Learn from rows or dicts, with a state."""
        state = self._writable()
        if weights is not None:
            self._check_weights(weights, state)
            if not weights.all():
                self._learn_some(X, target, weights, pieces)
                return
        self._go_on_with(X, target, weights, pieces)

    def _go_on_with(self, X: Any, target: Any, weights: Array | None, pieces: Pieces | None) -> None:
        state = self._writable()
        newcomers: Any = ()
        named = isinstance(X, list)
        if named:
            X, newcomers = self._named_rows(X, state, grow=state.grow_features)
        elif X.hashed and state.buckets is not None:
            named = True
            X, newcomers = self._hashed_rows(X, state, state.buckets, grow=True)
        self._check_width(X.width, state, named=named)
        self._guarded_pass(X, newcomers, target, weights, pieces)

    def _learn_some(self, X: Any, target: Any, weights: Array, pieces: Pieces | None) -> None:
        """Learn from the rows that have a weight. The others are only predicted: they bring no features, and nobody looks at their
        labels."""
        state, taught = self._writable(), weights > 0
        edges = np.flatnonzero(np.diff(taught)) + 1
        if not state.grow_features and isinstance(target, np.ndarray | Coded) and taught.any():
            # One pass will do, in which each of them has the label of the last row with a weight. What comes before the first of
            # those would bring its label too early where labels come up.
            self._check_some(X, np.flatnonzero(~taught))
            edges = edges[: state.grow_classes and not taught[0]]
            last, first = np.maximum.accumulate(np.where(taught, np.arange(len(taught)), -1)), int(np.argmax(taught))
            if not state.grow_classes and self._codes(state, target[first : first + 1])[1] == 0:
                self._refuse_label(state, target[first], first)
            target = target[np.where(last < 0, first, last)]

        def learn_in_turn() -> None:
            for start, stop in pairwise([0, *edges.tolist(), len(weights)]):
                part = X.part(start, stop) if isinstance(X, Rows) else X[start:stop]
                if taught[start:stop].any():
                    self._go_on_with(part, target[start:stop], weights[start:stop], pieces)
                else:
                    self._check_rows(part)  # also features that are not known, which a prediction leaves out
                    state = self._writable()
                    scores = self._scores(part, state)
                    if pieces is not None:
                        pieces.append(self._foretold(scores, state, pieces.chances))

        if len(edges):
            guarded(learn_in_turn, self)
        else:
            learn_in_turn()

    def _guarded_pass(self, rows: Rows, newcomers: Any, target: Any, weights: Array | None, pieces: Pieces | None) -> None:
        """Run the pass so that an error leaves no trace: by a copy of the state where that is small or smaller than the data, else
        by looking at the data first. Where that is not enough, what sparse rows may change is set aside."""
        state, kept = self._writable(), Kept()
        copies = state.nbytes <= max(rows.nbytes, COPIED_ALWAYS)
        if not copies and self._shown is None:
            self._check_finite(rows, state.dtype)
            self._check_targets(state, target)
            if rows.n > 1 and self._fails_late():  # one row is refused before it changes anything
                rows = rows.checked()
                copies = not (rows.sparse and self._keeps_to_features())
                kept = Kept() if copies else state.kept(np.unique(rows.parts[1]))

        def learn() -> None:
            wide = state.widened(rows.width, newcomers) if rows.width > state.n_features else state
            self._run_pass(wide, rows, target, weights, pieces)

        if copies or self._shown is not None:
            guarded(learn, self)
        else:
            in_place(learn, self, kept)

    def _check_targets(self, state: State, target: Any) -> None:
        if state.grow_classes:
            check_labels(state.classes, np.unique(target))
        else:
            _, known = self._codes(state, target)
            if known < len(target):
                self._refuse_label(state, target[known], known)

    def _run_pass(self, state: State, rows: Rows, target: Any, weights: Array | None, pieces: Pieces | None) -> None:
        """Learn from rows, with a state that is as wide as they are."""
        start, scores, chances = 0, np.empty((0, 0)), NO_CHANCES
        asked = pieces is not None and pieces.chances
        for _, stop in rows.blocks():
            while start < stop:
                newcomer, before, foretold = None, NO_CHANCES, None
                end = min(stop, start + max(1, SCORES // max(1, self._width(state))))
                codes, known = self._codes(state, target[start:end])
                if known == 0:
                    if not state.grow_classes:
                        self._refuse_label(state, target[start], start)
                    self._bind(state)  # parameters that no longer fit show here, before they shape another form
                    if asked or (pieces is not None and self._normalises):  # of the labels before this one
                        foretold = self._scores(rows.part(start, start + 1), state)
                        before = self._chances(foretold, state)
                    state, newcomer = self._admit(state, target[start])
                    codes, known = self._codes(state, target[start:end])
                bound = self._bind(state)
                end, learns = start + known, not state.undecided  # from one label alone there is nothing to learn
                gate = bound.predict_only
                if learns:
                    gate = self._gate(state, bound, codes[:known], None if weights is None else weights[start:end])
                if pieces is not None or scores.shape < (known, bound.width) or scores.shape[1] != bound.width:
                    scores = np.empty((known, bound.width), state.dtype)
                state = self._run_block(state, rows, start, codes[:known], gate, scores[:known])
                if asked:
                    assert state.classes is not None
                    chances = np.ones((known, len(state.classes)))
                if learns:
                    self._after(state, scores[:known], codes[:known], gate, chances)
                if pieces is not None:
                    if not learns:
                        scores[:] = np.nan
                    if newcomer is not None and bound.width > 1:
                        if foretold is not None:
                            scores[0] = np.insert(halved(foretold)[0], newcomer, 0)
                        scores[0, newcomer] = np.nan
                        if asked:
                            chances[0] = np.insert(before[0], newcomer, 0)
                    elif newcomer is not None and state.classes is not None:  # before this row there were not two labels
                        none = np.full((1, 1), np.nan, state.dtype)
                        pieces.append(Piece(np.delete(state.classes, newcomer), none, before if asked else None))
                        scores, chances = scores[1:], chances[1:]
                    pieces.append(Piece(state.classes, scores, chances if asked else None))
                start = end

    def _foretold(self, scores: Array, state: State | None, chances: bool) -> Piece:
        """The scores of rows that nothing is learned from, and their probabilities, if they are asked for."""
        if state is None:  # nothing is known at all
            return Piece(np.empty(0), scores, np.empty((len(scores), 0)) if chances else None)
        return Piece(state.classes, scores, self._chances(scores, state) if chances else None)

    def _run_block(self, state: State, rows: Rows, start: int, codes: Array, gate: Any, scores: Array) -> State:
        """The loop over as many rows from `start` on as there are codes, in a larger state where one is full. The state that has
        learned becomes the learner's with the first row: Ctrl-C finds no label or feature without its example."""
        done, n = 0, len(codes)
        while done < n:
            bound = self._bind(state)
            block = rows.block(start + done, start + n, state.dtype, bound.bias)
            learn = bound.call(block, rows.width, codes[done:], rest(gate, done), scores[done:])
            if self._shown is None:
                state.pulse[0] |= 1  # see in_place
            self._bound = None
            done += sum(while_true(learn, (object.__setattr__, self, "_state", state))[:1])
            if done < n:
                roomier = self._enlarged(state)
                if roomier is None:
                    self._refuse(rows, start + done, state.dtype)
                state = roomier
        return state

    def _joined(self, pieces: Pieces) -> Array:
        """The scores of all pieces, as users get them."""
        state = self._state
        if state is None or state.form != "multiclass":
            return np.concatenate([piece.scores[:, 0] for piece in pieces])
        assert state.classes is not None
        joined = np.full((sum(len(piece.scores) for piece in pieces), len(state.classes)), np.nan, state.dtype)
        start = 0
        for classes, scores, _ in pieces:
            if len(classes) > 1:
                scores = halved(scores)
            joined[start : start + len(scores), np.searchsorted(state.classes, classes)] = scores[:, : len(classes)]
            start += len(scores)
        return joined

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

    def _check_weights(self, weights: Array, state: State) -> None:
        """Refuse weights beyond the root of what the type holds: one step with them would leave the range of numbers."""
        largest = np.sqrt(np.finfo(state.dtype).max)
        if len(weights) and weights.max() >= largest:
            raise ValueError(f"sample_weight holds {weights.max():g}; with {state.dtype} it must be less than {largest:.3g}.")

    def _refuse_label(self, state: State, label: Any, t: int) -> NoReturn:
        classes = state.classes
        raise ValueError(
            f"classes should include all valid labels that can be in y: {np.asarray(label).item()!r} (row {t}) is none of"
            f" {[] if classes is None else classes.tolist()}"
        )


def halved(scores: Array) -> Array:
    """Scores a class, also of when there were two classes with one score."""
    return scores if scores.shape[1] > 1 else np.hstack([-scores / 2, scores / 2])


def rest(gate: Any, start: int) -> Any:
    """The gate for the rows from `start` on."""
    if start == 0:
        return gate
    if isinstance(gate, Active):
        return Active(gate.reach[start:], gate.asked[start:], gate.values[start:], rest(gate.given, start))
    return Weights(gate.values[start:], gate.every)
