"""Order within lists, by pairs.

R. Herbrich, T. Graepel, K. Obermayer: Large margin rank boundaries for ordinal regression. In: Advances in large margin classifiers
(2000), 115-132.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.base.parameters import parametric
from onepass.base.state import Array, State
from onepass.structured.lists import Pairwise
from onepass.structured.listwise import ListLearner, as_lists
from onepass.structured.outputs import RuleLearner


@parametric
class Ranker(ListLearner, RuleLearner):
    r"""The order of the rows of each list, learned from pairs.

    For each pair of rows of a list of which the first is preferred, D = x_i - x_j is an example for two classes:

        loss = max(0, 1 - w.D),        w += tau D,        tau = loss / |D|^2  (or as C says).

    Lists are those of :class:`Reranker`, or the rows of a table with `qid`, the number of a query for each row, as other rankers have
    them. Only which of two numbers of y is larger counts, within a list. Pairs of your own are lists of two rows, with [1, 0] for y.
    What is predicted of a list are the places of its rows, the best first; `decision_function` gives their scores.

    References
    ----------
    R. Herbrich, T. Graepel, K. Obermayer: Large margin rank boundaries for ordinal regression. In: Advances in large margin
    classifiers (2000), 115-132.
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    >>> from onepass import Ranker
    >>> X, relevance, qid = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [2.0, 0.0], [1.0, 1.0]], [2, 0, 1, 1, 0], [1, 1, 1, 2, 2]
    >>> model = Ranker().fit(X, relevance, qid=qid)
    >>> model.predict_one([[0.2, 0.9], [0.9, 0.2]])
    [1, 0]
    >>> model.score(X, relevance, qid=qid)
    1.0
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> float:
        """The share of the pairs that differ in y in which the preferred row has the larger score; equal scores count half."""
        X, y = as_lists(X, y, qid)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        right = pairs = 0.0
        for scores, mu, weight in zip(self.decision_function(X), y, weights, strict=True):
            preferred = np.subtract.outer(mu, mu) > 0
            lead = np.sign(np.subtract.outer(scores, scores))[preferred]
            right, pairs = right + weight * (lead + 1).sum() / 2, pairs + weight * len(lead)
        return float(right / pairs) if pairs else float("nan")

    def _structured(self, state: State, W: Array, averaged: Any) -> Pairwise:
        return Pairwise(self._problem(state, W), self._rule(W.reshape(-1) if averaged is None else averaged, state))
