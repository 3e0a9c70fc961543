"""Learners of one class, which need no targets, and the methods that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np

from onepass.base.binding import Bound
from onepass.base.conventions import OutlierMixin
from onepass.base.engine import Pieces
from onepass.base.inputs import Rows, named_values, one_row
from onepass.base.knowledge import Start
from onepass.base.learner import Learner
from onepass.base.parameters import parametric
from onepass.base.state import Array, State
from onepass.base.tasks import table_door


@parametric
class Uniclass(OutlierMixin, Learner):
    """A learner of one class. The score of an example is its distance from the border: 0 and above inside, below 0 outside.

    There are no targets: `y` is taken, as scikit-learn's habit is, and ignored.
    """

    _known_forms: ClassVar[tuple[str, ...]] = ("uniclass",)

    fit_intercept: bool = field(default=False, init=False)  # a constant feature tells no example from another

    @property
    def radius_(self) -> float:
        """The distance from the centre to the border."""
        raise NotImplementedError

    @property
    def offset_(self) -> float:
        """The radius, negated: `decision_function` is `score_samples` less this."""
        return -self.radius_

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Start anew, and learn from the rows in their order, `max_iter` times or until a pass changes nothing."""
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, once, going on from where the model is."""
        self._learn(X, y, sample_weight, table_door(X))
        return self

    def test_then_train(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """`partial_fit` that returns the decision each row had before it was learned from."""
        pieces = Pieces()
        with self._lock:
            self._learn(X, y, sample_weight, table_door(X), pieces)
            return self._joined(pieces)

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row. `w` is its weight."""
        super().learn_one(x, y, w)

    def decision_function(self, X: Any) -> Array:
        """How far inside the border each row is; negative outside."""
        return self._read(lambda state: self._decisions(X, state))

    def score_samples(self, X: Any) -> Array:
        """The distance of each row from the centre, negated: the larger, the more usual."""
        return self._read(lambda state: self._samples(X, state))

    def _samples(self, X: Any, state: State) -> Array:
        return self._decisions(X, state) + state.dtype.type(self.offset_)

    def predict(self, X: Any) -> Array:
        """1 for each row that belongs to the class, -1 for each that does not."""
        return self._read(lambda state: self._predicted(X, state))

    def _predicted(self, X: Any, state: State) -> Array:
        return np.where(self._decisions(X, state) >= 0, 1, -1)

    def predict_one(self, x: Any) -> int | None:
        """1 for an example that belongs to the class, -1 for one that does not; None before anything was learned."""
        decision = self._decision_one(x)
        return None if decision is None else _side(decision)

    def score_one(self, x: Any) -> float | None:
        """`score_samples` of one example; None before anything was learned."""
        decision = self._decision_one(x)
        return None if decision is None else decision + self.offset_

    def _decision_one(self, x: Any) -> float | None:
        one = self._bound or self._binding()
        if one is None:
            return None
        answer = one.run_one(x, one.no_targets, one.none)
        if answer is None and isinstance(x, Mapping):
            answer = one.run_one(named_values(x), one.no_targets, one.none)
        if answer is None or answer != answer or one.state is not self._latest():  # see Classifier.predict_one
            return self._read(lambda state: float(self._scores(one_row(x), state).item()))
        return float(answer)

    # --- what the base asks ---

    def _decided(self, scores: Array, state: State) -> int:
        return _side(scores.item())

    def _said(self, one: Bound, answer: float) -> int:
        return _side(answer)

    def _targets(self, y: Any, n: int) -> Array:
        return np.zeros(n)

    def _codes(self, state: State, y: Array) -> tuple[Array, int]:
        return y.astype(state.dtype), len(y)

    def _coder(self, state: State) -> Callable[[Any], Array | None]:
        code = np.zeros(1, state.dtype)
        return lambda y: code

    def _first_state(self, start: Start, rows: Rows) -> State:
        return self._new_state("uniclass", start)


def _side(decision: float) -> int:
    return 1 if decision >= 0 else -1
