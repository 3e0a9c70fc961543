"""The margin-infused relaxed algorithm.

K. Crammer, Y. Singer: Ultraconservative online algorithms for multiclass problems. JMLR 3 (2003), 951-991.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepass.base import Classifier
from onepass.base.parameters import parametric
from onepass.compiled.linear import linear, move
from onepass.compiled.losses import ManyClasses, TwoClasses, judge, mistaken
from onepass.compiled.rows import sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, rival
from onepass.compiled.verb import verb
from onepass.linear.model import LinearModel

Ultraconservative = namedtuple("Ultraconservative", "w task")

linear(Ultraconservative)


@verb(0)
def solve(task: Any, scores: Any, y: Any, norm2: Any, step: Any) -> None:
    """step = tau, for a mistake on a row of this squared norm. Where scores are equal that would be 0, and never start: there `step`
    stays as it is, a perceptron's."""


@solve.form(TwoClasses)
def _(task: Any, scores: Any, y: Any, norm2: Any, step: Any) -> Any:
    """tau = -y w.x / |x|^2 within 0 and 1."""
    if scores[0] != 0:
        step[0] = y * min(1, abs(scores[0]) / norm2)


@solve.form(ManyClasses)
def _(task: Any, scores: Any, y: Any, norm2: Any, step: Any) -> Any:
    """Crammer and Singer's problem. tau_k = [k = y] - max(0, b_k - theta), where b_k = score_k / |x|^2 + [k = y] and theta is such
    that they sum to 0: b is projected to a simplex, by leaving out what is below theta until nothing is. Scores are taken relative
    to the rival's, so that those of a tiny row do not hide the 1."""
    r = rival(scores, y)
    if scores[y] == scores[r]:
        return
    theta, count = -np.inf, len(scores) + 1
    while True:
        total, kept = -1.0, 0
        for k in range(len(scores)):
            b = (scores[k] - scores[r]) / norm2 + (k == y)
            if b > theta:
                total += b
                kept += 1
        if kept == 0 or kept >= count:  # rounding must not lead around in a circle
            break
        theta, count = total / kept, kept
    for k in range(len(scores)):
        step[k] = (k == y) - max(0.0, (scores[k] - scores[r]) / norm2 + (k == y) - theta)


@learn.form(Ultraconservative)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    margin, _ = judge(m.task, s.scores, y, s.step)
    if not mistaken(m.task, margin, s.scores, y):
        return PASSIVE
    norm2 = np.float64(sqnorm(x))
    if not norm2 < np.inf:
        return TOO_LARGE
    if norm2 == 0:
        return PASSIVE
    solve(m.task, s.scores, y, norm2, s.step)
    move(m.task, m.w, 1, s.step, x)
    return UPDATED


@parametric
class MIRA(Classifier, LinearModel):
    r"""The margin-infused relaxed algorithm: the ultraconservative step of smallest norm.

    On a mistake, W_k += tau_k x, where tau is the solution of

        minimise |x|^2 sum_k tau_k^2 / 2 + sum_k tau_k W_k.x   such that   sum_k tau_k = 0,  tau_k <= [k = y].

    It is found exactly. For two classes, w += tau y x with tau = -y w.x / |x|^2, at most 1.

    All scores are equal at first, and tau = 0 would be the solution for good; a mistake of equal scores is a perceptron's step.
    There is no loss to weigh, so sample weights may only be 0 or 1.

    References
    ----------
    K. Crammer, Y. Singer: Ultraconservative online algorithms for multiclass problems. JMLR 3 (2003), 951-991.

    Examples
    --------
    >>> from onepass import MIRA
    >>> model = MIRA(fit_intercept=False).fit([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]], ["b", "c", "a"])
    >>> model.coef_
    array([[-2.  ,  0.25],
           [ 1.5 , -0.5 ],
           [ 0.5 ,  0.25]])
    """

    def _weights_are_switches(self) -> bool:
        return True

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return Ultraconservative(w, task)
