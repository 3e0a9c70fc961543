"""A pass over examples with structured outputs, of which only those that are asked for are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.active.passes import SCORED_AHEAD, leads_of
from onepass.base.knowledge import Door
from onepass.base.labels import Coded
from onepass.base.state import Array
from onepass.structured.outputs import DecodingLearner


class OutputPass:
    """What `Pass` is for rows. The margin of an example is by how much its best output beats the second best.

    What is not asked about brings neither features nor labels, so that there is one way only: from one question to the next.
    """

    def __init__(
        self,
        learner: DecodingLearner,
        examples: Any,
        target: Coded,
        weights: Array | None,
        reach: Array,
        answers: list[Any] | None,
    ) -> None:
        """`answers` gathers what is predicted, if it is there."""
        self.learner, self.steps, self.examples, self.target = learner, [learner], examples, target
        self.weights, self.reach, self.answers = weights, reach, answers
        self.asked = np.zeros(len(examples), bool)

    def go(self, door: Door) -> None:
        """Learn from all examples that are asked about. Whoever calls it goes back to the learner from before, should it raise."""
        learner, start = self.learner, 0
        if learner._state is None:
            taught = np.flatnonzero(self.reach >= 0)
            start = int(taught[0]) if len(taught) else len(self.reach)
            if self.answers is not None:
                self.answers.extend(learner._foretold(self.examples.part(0, start)))
            if start == len(self.reach):
                return
            learner._state = learner._first(self.examples, self.target, self.weights, door.classes, whole=door.whole)
            self._teach(start)  # what knows nothing asks, whatever the draw
            start += 1
        else:
            learner._check_classes(learner._state, door.classes)
        if self.weights is not None:
            learner._check_weights(self.weights, learner._writable())
        self._walk(start)

    def _walk(self, start: int) -> None:
        """From one question to the next. Nothing changes in between, so that many examples are decoded at a time."""
        ahead, n = 1, len(self.reach)
        while start < n:
            state, stop = self.learner._writable(), min(start + ahead, n)
            asked = np.flatnonzero(leads_of(self.learner, self.examples.part(start, stop), state) <= self.reach[start:stop])
            end = start + int(asked[0]) if len(asked) else stop
            if self.answers is not None:
                self.answers.extend(self.learner._told(self.examples.part(start, end), state))
            ahead = min(end - start + 1 if len(asked) else 2 * ahead, SCORED_AHEAD)
            start = end
            if len(asked):
                self._teach(start)
                start += 1

    def _teach(self, t: int) -> None:
        """Learn from example t."""
        ends = self.examples.offsets
        weight = None if self.weights is None else self.weights[t : t + 1]
        mine = self.target[ends[t] : ends[t + 1]]
        self.learner._go_on_with_examples(self.examples.part(t, t + 1), mine, weight, self.answers)
        self.asked[t] = True
