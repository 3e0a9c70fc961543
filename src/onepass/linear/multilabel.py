"""Passive-aggressive learning of sets of labels.

K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. Journal of Machine Learning
Research 7 (2006), 551-585; multiclass multilabel classification.

The paper ranks the labels: with a weight vector w_k for each label k, every relevant label r has to score higher than every
irrelevant one s by 1, and the loss is that of the pair that fails most,

    loss = max(0, max_{r, s} 1 - (w_r - w_s).x).

A ranking says nothing of how many labels to predict. So one artificial label joins it, the threshold o (Fuernkranz et al. 2008), which
has to stay below every relevant and above every irrelevant label, by 1 as well. One example then asks for

    (w_r - w_s).x >= 1,    (w_r - w_o).x >= 1,    (w_o - w_s).x >= 1    for all relevant r and irrelevant s,

and as in the paper only the pair (a, b) that fails most is mended: W moves as little as it can so that (w_a - w_b).x >= 1, traded
against the loss by the variant. Of each kind the worst pair takes the least-scored relevant label and the best-scored irrelevant one.
With their scores f_r and f_s relative to the threshold's the three losses are 1 - (f_r - f_s), 1 - f_r and 1 + f_s: the labels mend
each other where both are on the wrong side of the threshold, else the worse of the two and the threshold do. Two rows of W move by
+- tau x, so that the step is PA's with 2 |x|^2.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepass.base import Field, Multilabel, State
from onepass.base.aggressive import PassiveAggressive
from onepass.base.parameters import parametric
from onepass.base.state import Array
from onepass.compiled.average import at, height, workspace
from onepass.compiled.compiler import routine
from onepass.compiled.passive_aggressive import VARIANTS, tau
from onepass.compiled.rows import add, dot, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, Scores, learn, score, scratch
from onepass.linear.model import LinearModel

Ranking = namedtuple("Ranking", "W C variant")  # row 0 of W is the threshold, row k + 1 label k


@scratch.form(Ranking)
def _(m: Any) -> Any:
    return Scores(workspace(m.W, height(m.W) - 1))


@score.form(Ranking)
def _(m: Any, x: Any, s: Any) -> Any:
    threshold = dot(at(m.W, 0), x)
    for k in range(len(s.scores)):
        s.scores[k] = dot(at(m.W, k + 1), x) - threshold


@routine
def worst_pair(scores: Any, relevant: Any) -> Any:
    """The rows (a, b) of the pair that fails most, and its loss; the first among equals."""
    r, s = -1, -1
    for k in range(len(scores)):
        if relevant[k]:
            if r < 0 or scores[k] < scores[r]:
                r = k
        elif s < 0 or scores[k] > scores[s]:
            s = k
    a, b, loss = 0, 0, scores.dtype.type(0)
    if r >= 0 and s >= 0:
        a, b, loss = r + 1, s + 1, 1 - (scores[r] - scores[s])
    if r >= 0 and 1 - scores[r] > loss:
        a, b, loss = r + 1, 0, 1 - scores[r]
    if s >= 0 and 1 + scores[s] > loss:
        a, b, loss = 0, s + 1, 1 + scores[s]
    return a, b, loss


@learn.form(Ranking)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """W_a += tau x, W_b -= tau x for the pair that fails most."""
    a, b, loss = worst_pair(s.scores, y)
    if loss <= 0 and len(s.scores) > 0:
        return PASSIVE
    norm2 = 2 * sqnorm(x)
    if not norm2 < np.inf:  # without any label there is no score to show it
        return TOO_LARGE
    if loss <= 0:
        return PASSIVE
    step = tau(m.variant, weight * m.C, loss, norm2)
    add(at(m.W, a), step, x)
    add(at(m.W, b), -step, x)
    return UPDATED


@parametric
class PAMultilabel(Multilabel, PassiveAggressive, LinearModel):
    r"""Passive-aggressive learning of sets of labels: relevant labels above a learned threshold, all others below it.

    Every label k has weights w_k, and so has a threshold o. With r the least-scored label of the example's set, s the best-scored
    label outside it, and

        loss = max(0, 1 - (w_r - w_s).x, 1 - (w_r - w_o).x, 1 - (w_o - w_s).x),

    the two weight vectors (a, b) of the largest term move apart, w_a += tau x and w_b -= tau x, with the tau of
    :class:`PAClassifier` and 2 |x|^2 in place of |x|^2. An example with no label, or with all of them, has but one of the two terms
    with o. A label is predicted if it scores higher than the threshold. `coef_` and `intercept_` have a row for each label, less the
    weights of the threshold.

    Notes
    -----
    Arrays and sparse matrices are indicators, lists hold sets of labels: [[0, 1], [1]] says that the labels of the first row are 0
    and 1.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    J. Fuernkranz, E. Huellermeier, E. Loza Mencia, K. Brinker: Multilabel classification via calibrated label ranking. Machine
    Learning 73 (2008), 133-153.

    Examples
    --------
    >>> from onepass import PAMultilabel
    >>> model = PAMultilabel()
    >>> for _ in range(5):
    ...     model.learn_one({"guitar": 1, "loud": 1}, {"rock", "music"})
    ...     model.learn_one({"violin": 1}, {"music"})
    ...     model.learn_one({"recipe": 1}, set())
    >>> sorted(model.predict_one({"guitar": 1}))
    ['music', 'rock']
    >>> model.predict_one({"recipe": 1})
    set()

    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> PAMultilabel(max_iter=9).fit(X, np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0]])).predict(X)
    array([[1, 0, 0],
           [0, 1, 0],
           [1, 1, 0]])
    """

    def _fields(self, form: str) -> dict[str, Field]:
        return {"W": Field("ranks features", additive=True)}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Ranking(arrays["W"], float(self.C), VARIANTS[self.variant])

    def _weights_of(self, state: State, places: Any) -> Array:
        W = super()._weights_of(state, places)
        return W[1:] - W[0]
