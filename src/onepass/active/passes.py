"""A pass over examples with labels, of which only those that are asked for are looked at."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from onepass.base import State
from onepass.base.engine import NO_CHANCES, Piece, Pieces
from onepass.base.estimator import are_named
from onepass.base.inputs import FLOATS, Rows, one_row, rows_of
from onepass.base.knowledge import Door
from onepass.base.state import Array
from onepass.compiled.gates import Active, Balanced, margin, margins
from onepass.stages import Pipeline
from onepass.structured.outputs import DecodingLearner

SCORED_AHEAD = 4096  # so many rows at the most are scored in search of the next question


class Pass:
    """Examples on their way through a learner, or through a pipeline: what may be asked, and what was.

    A row is asked about, and learned from, if its margin is within its `reach`; every other row leaves the learner as it is.
    """

    def __init__(self, learner: Any, X: Any, target: Array, weights: Array | None, reach: Array, pieces: Pieces | None) -> None:
        """`X` as `examples` gives it; `pieces` gathers the scores, if it is there."""
        self.learner, self.core, self.stages, self.steps = learner, last_of(learner), stages_of(learner), steps_of(learner)
        self.X, self.target, self.weights, self.reach, self.pieces = X, target, weights, reach, pieces
        self.n = len(target)
        self.asked = np.zeros(self.n, bool)

    def go(self, door: Door) -> None:
        """Learn from all rows that are asked about. Whoever calls it goes back to the learner from before, should it raise."""
        if self.core._state is not None:
            self.core._check_classes(self.core._writable(), door.classes)
        start = 0
        while start < self.n and self.core._state is None:  # rows of weight 0 may not make one
            self._teach(start, door)  # makes the state: the row is asked about whatever the draw
            self.asked[start] = self.reach[start] >= 0
            start += 1
        if start < self.n:
            self._go_on(start)

    def _go_on(self, start: int) -> None:
        """Go from row `start` on, with a learner that has a state."""
        state = self.core._writable()
        if self.weights is not None:
            self.core._check_weights(self.weights, state)
        grows = state.grow_classes or (self.learner._grows() if self.stages else state.grow_features)
        counts_twice = self.core.class_weight == "balanced" and state.capacities  # a row that has to wait for place would be
        if grows or counts_twice or any(stage._fields("stage") for stage in self.stages):
            try:
                self._walk(start)
            except ValueError:
                if isinstance(self.X, Rows):  # here a bad row is told by its number
                    first_of(self.learner)._check_finite(self.X, self.X.dtype)
                raise
            self._check_unasked(start)
            return
        seen = self.learner._seen_now(self.X) if self.stages else self.X
        self._run(state, self.core._rows(seen, state), start)
        self._tell_stages(start + np.flatnonzero(self.asked[start:]))
        self._check_unasked(start)

    def _check_unasked(self, start: int) -> None:
        """Refuse a bad row that nothing was learned from; stages, and what makes rows of dicts, have looked at all rows already."""
        if isinstance(self.X, Rows) and not self.stages:
            self.core._check_some(self.X, start + np.flatnonzero(~self.asked[start:]))

    # --- of a learner of which nothing but the numbers can change ---

    def _run(self, state: State, rows: Rows, start: int) -> None:
        """The compiled pass."""
        width, asked = self.core._width(state), self.pieces is not None and self.pieces.chances
        for _, stop in rows.blocks():
            while start < stop:
                codes, known = self.core._codes(state, self.target[start:stop])
                end = start + max(known, 1)
                codes, reach, scores = codes[:known], self.reach[start:end], np.empty((end - start, width), state.dtype)
                if known:
                    given = self._given(state, codes, None if self.weights is None else self.weights[start:end])
                    gate = Active(reach, self.asked[start:end], np.empty(known, state.dtype), given)
                    state = self.core._run_block(state, rows, start, codes, gate, scores)
                    assert state.classes is not None
                    chances = np.empty((known, len(state.classes))) if asked else NO_CHANCES
                    self.core._after(state, scores, codes, gate, chances)
                    piece = Piece(state.classes, scores, chances if asked else None)
                else:  # a label that is none of the classes matters only if it is asked for
                    scores[0] = self.core._scores(rows.part(start, end), state)[0]
                    if margin(scores[0]) <= reach[0]:
                        self.core._refuse_label(state, self.target[start], start)
                    piece = self.core._foretold(scores, state, asked)
                if self.pieces is not None:
                    self.pieces.append(piece)
                start = end

    def _given(self, state: State, codes: Array, weights: Array | None) -> Any:
        """The gate for the rows that are asked about."""
        if self.core.class_weight != "balanced":
            return self.core._gate(state, self.core._bind(state), codes, weights)
        a, b, _ = self.core._code(state)
        values = np.ones(len(codes), state.dtype) if weights is None else weights.astype(state.dtype)
        return Balanced(codes, a, b, state.arrays["class_counts"], values)

    def _tell_stages(self, taught: Array) -> None:
        """Stages that have nothing to learn still count what they see."""
        if self.stages and len(taught):
            some = self.X.taken(taught) if isinstance(self.X, Rows) else [self.X[t] for t in taught]
            self.learner._through(some, self.target[taught], None, Door())

    # --- of any learner ---

    def _walk(self, start: int) -> None:
        """From one question to the next. Nothing changes in between, so that many rows are scored at a time."""
        ahead = 1
        while start < self.n:
            state = self.core._writable()
            stop = min(start + ahead, self.n)
            scores = self.learner._scores_now(self._part(start, stop))
            asked = np.flatnonzero(margins_of(scores, state) <= self.reach[start:stop])
            end = start + int(asked[0]) if len(asked) else stop
            if self.pieces is not None and end > start:
                self.pieces.append(self.core._foretold(scores[: end - start], state, self.pieces.chances))
            # what is drawn for a feature that is still to come depends on the features before it: no looking ahead then
            ahead = 1 if state.foresees else min(end - start + 1 if len(asked) else 2 * ahead, SCORED_AHEAD)
            start = end
            if len(asked):
                if not state.grow_classes and self.core._codes(state, self.target[start : start + 1])[1] == 0:
                    self.core._refuse_label(state, self.target[start], start)
                self._teach(start, Door())
                self.asked[start] = True
                start += 1

    def _teach(self, t: int, door: Door) -> None:
        """Learn from row t."""
        weight = None if self.weights is None else self.weights[t : t + 1]
        self.learner._learn(self._part(t, t + 1), self.target[t : t + 1], weight, door, self.pieces)

    def _part(self, start: int, stop: int) -> Any:
        return self.X.part(start, stop) if isinstance(self.X, Rows) else self.X[start:stop]


def examples(X: Any, learner: Any) -> Any:
    """Rows, or a list of dicts, that can be cut into parts."""
    first = first_of(learner)
    if getattr(first, "_takes_raw", False):
        return nw.from_native(X, eager_only=True).rows(named=True) if nw.dependencies.is_into_dataframe(X) else X
    return X if are_named(X) else rows_of(X, first, fitted=first.__sklearn_is_fitted__())


def margins_of(scores: Array, state: State) -> Array:
    """How far each row is from another decision; without a rival nothing is sure."""
    if state.classes is None or len(state.classes) < 2:
        return np.zeros(len(scores))
    out = np.empty(len(scores))
    margins(scores, out)
    return out


def leads_of(learner: DecodingLearner, examples: Any, state: State) -> Array:
    """The same of structured outputs: by how much the best one beats the second best."""
    if state.classes is not None and len(state.classes) < 2:
        return np.zeros(len(examples))
    return learner._leads(examples, state)


def margin_of(learner: Any, x: Any) -> float:
    """How far one example is from another decision."""
    if isinstance(learner, DecodingLearner):
        return float(learner._read(lambda state: leads_of(learner, learner._examples([x]), state))[0])
    if isinstance(learner, Pipeline):
        one, score = learner._answer_one(x)
        if score is not None and one.width == 1:
            return abs(score)
        state = learner.learner._readable()
        return float(margins_of(learner._read(lambda states: learner._scores_one(x, states)), state)[0])
    one = learner._bound or learner._binding()
    score = one.run_one(x, one.no_targets, one.none) if one.width == 1 and one.quick else None  # the quick road of one score
    if score is not None and score == score:
        return abs(score)
    return float(margins_of(learner._scores(one_row(x), one.state), one.state)[0])


def check_unasked(learner: Any, x: Any) -> None:
    """Refuse a bad example though nothing is learned from it: a bad row is one whatever becomes of it."""
    if type(x) is np.ndarray and x.ndim == 1 and x.dtype in FLOATS and x.dot(x) < np.inf:
        return  # as nearly all are, in a tenth of the time
    first = first_of(learner)
    if isinstance(first, DecodingLearner):
        first._examples([x])
        return
    X = first._one_row(x)
    first._check_rows(X if isinstance(X, list) else rows_of(X, first, fitted=True))


def steps_of(learner: Any) -> list[Any]:
    """The steps of a pipeline, or the learner alone."""
    return learner._all if isinstance(learner, Pipeline) else [learner]


def stages_of(learner: Any) -> list[Any]:
    """What comes before the learner in a pipeline."""
    return learner.stages if isinstance(learner, Pipeline) else []


def last_of(learner: Any) -> Any:
    """The learner of a pipeline, or the learner itself."""
    return learner.learner if isinstance(learner, Pipeline) else learner


def first_of(learner: Any) -> Any:
    """What the examples come to first."""
    return learner.steps[0][1] if isinstance(learner, Pipeline) else learner
