"""Learners of lists of candidates with features, each of which has a quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from onepass.base.knowledge import Start
from onepass.base.parameters import parameter, parametric
from onepass.base.state import Array, State
from onepass.structured.lists import Lists, run_scores
from onepass.structured.nbest import by_query, check_features, lists_of, qualities
from onepass.structured.outputs import OutputLearner, taught
from onepass.structured.words import Words


@parametric
class ListLearner(OutputLearner):
    """Base of the learners of lists. A list is a matrix, a row a candidate, or a list of dicts of features; y is its qualities."""

    _known_forms: ClassVar[tuple[str, ...]] = ("lists",)
    _axes: ClassVar[str] = "features one"
    _no_targets: ClassVar[Array] = np.empty(0)
    _centre: ClassVar[str] = "W"  # the array that the first weights go to

    fit_intercept: bool = field(default=False, init=False)  # a constant feature tells no candidate from another
    _: KW_ONLY
    coef_init: Any = parameter(
        None,
        "array-like",
        dict,
        None,
        kind="array-like of shape (n_features,) or dict",
        text="The weights to begin with, such as those of a trained system; by name where candidates are dicts. None: 0.",
    )

    @property
    def coef_(self) -> Array:
        """The weights that predict, one a feature."""
        state = self._attribute("coef_")
        return self._averaged(state, "W")[1 : state.n_features + 1, 0].copy()

    # --- doors ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> Self:
        """Start anew, and learn from the lists, `max_iter` times or until a pass changes nothing. A weight is that of a list. With
        `qid` X is a table, y has a number a row, and neighbours with the same `qid` are a list."""
        return super().fit(*as_lists(X, y, qid), sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> Self:  # type: ignore[override]
        """Learn from the lists in their order, once, going on from where the model is. `qid` is as in `fit`."""
        self._learn_examples(*as_lists(X, y, qid), None, sample_weight, None)
        return self

    def test_then_train(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> list[Any]:  # type: ignore[override]
        """`partial_fit` that returns what was predicted of each list before it was learned from."""
        answers: list[Any] = []
        self._learn_examples(*as_lists(X, y, qid), None, sample_weight, answers)
        return answers

    def decision_function(self, X: Any) -> list[Array]:
        """The scores of the candidates of each list."""
        return self._read(lambda state: self._rated(self._examples(X), state))

    def predict_n_best(self, X: Any, n: int = 5) -> list[list[tuple[int, float]]]:
        """The n best candidates of each list, by their places, and their scores, the best first; fewer where there are no more."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}.")
        scores = self.decision_function(X)
        return [[(int(i), float(one[i])) for i in np.argsort(-one, kind="stable")[:n]] for one in scores]

    def _rated(self, lists: Words, state: State) -> list[Array]:
        check_features(lists, state)
        bound, scores = self._bind(state), np.empty(int(lists.offsets[-1]), state.dtype)
        run_scores(bound.model.problem, bound.average, lists.known_to(state), scores)
        return [scores[start:end] for start, end in pairwise(lists.offsets.tolist())]

    # --- what the base asks ---

    def _largest(self) -> float:
        return float(np.finfo(self.dtype).max) ** 0.25

    def _examples(self, X: Any) -> Words:
        self._ensure_parameters()
        return lists_of(X, self._largest())

    def _targets(self, y: Any, n: Any) -> Array:
        return qualities(y, n.offsets, self._largest())

    def _first(self, examples: Any, target: Any, weights: Array | None, classes: Any, *, whole: bool = False) -> State:
        given = self.coef_init
        n = 0 if given is None else len(given)
        names: list[str] | None = list(given) if isinstance(given, Mapping) else [] if given is None else None
        grows = self.grow in (None, True, "features")
        state = self._new_state("lists", Start(np.dtype(self.dtype), n, names, None, grows, False))
        return state if grows else taught(examples, target, weights)[0].learned_by(state)[0]

    def _prepare(self, state: State) -> None:
        if self.coef_init is not None:
            first = state.arrays[self._centre].reshape(state.n_features + 1, -1)
            first[1:, 0] = _numbers(self.coef_init)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.coef_init is not None:
            try:
                numbers = _numbers(self.coef_init)
            except (TypeError, ValueError):
                numbers = np.empty((0, 0))
            if numbers.ndim != 1 or not (np.abs(numbers) < self._largest()).all():
                raise ValueError("`coef_init` must be finite numbers, one for each feature.")

    def _go_on_with_examples(self, examples: Any, target: Any, weights: Array | None, answers: list[Any] | None) -> None:
        check_features(examples, self._writable())
        super()._go_on_with_examples(examples, target, weights, answers)

    def _told(self, examples: Any, state: State) -> list[Any]:
        check_features(examples, state)
        return super()._told(examples, state)

    def _spelled(self, out: Array, examples: Any, labels: list[Any]) -> list[Any]:
        return [out[start:end].tolist() for start, end in pairwise(examples.offsets.tolist())]

    def _problem(self, state: State, W: Array) -> Any:
        return Lists(W)


@parametric
class Chooser(ListLearner):
    """A learner that chooses one candidate of each list: what it predicts is the place of that, and None for an empty list."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean quality of the candidates that are chosen. `oracle_score` is the best that it could be."""
        return _mean([float(mu[i]) for mu, i in _chosen(y, self.predict(X))], y, sample_weight)

    def oracle_score(self, y: Any, sample_weight: Any = None) -> float:
        """The mean quality of the best candidate of each list."""
        return _mean([float(np.max(mu)) for mu in y if len(mu)], y, sample_weight)

    def _spelled(self, out: Array, examples: Any, labels: list[Any]) -> list[Any]:
        return [int(out[start]) if end > start else None for start, end in pairwise(examples.offsets.tolist())]


def as_lists(X: Any, y: Any, qid: Any) -> tuple[Any, Any]:
    """Lists and their qualities, of the rows of a table where there is a `qid`."""
    return (X, y) if qid is None else by_query(X, qid, y)


def _numbers(weights: Any) -> Array:
    return np.asarray(list(weights.values()) if isinstance(weights, Mapping) else weights, np.float64)


def _chosen(y: Any, places: list[int | None]) -> list[tuple[Any, int]]:
    return [(mu, i) for mu, i in zip(y, places, strict=True) if i is not None]


def _mean(figures: list[float], y: Any, sample_weight: Any) -> float:
    """The mean of the figures of all lists that are not empty; NaN if all are."""
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    shares = weights[[len(mu) > 0 for mu in y]]
    return float(np.average(figures, weights=shares)) if shares.sum() > 0 else float("nan")
