"""The shifting perceptron.

G. Cavallanti, N. Cesa-Bianchi, C. Gentile: Tracking the best hyperplane with a simple budget perceptron. COLT 2006, 483-498.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepass.base import Classifier, Field
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.base.state import SCALE
from onepass.compiled.linear import linear, move
from onepass.compiled.losses import judge, mistaken
from onepass.compiled.rows import sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn
from onepass.compiled.scaled import shrink
from onepass.linear.model import LinearModel

Shifting = namedtuple("Shifting", "w task k lam")

linear(Shifting)


@learn.form(Shifting)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """w <- (1 - lambda_k) w + lambda_k y x, lambda_k = lambda / (lambda + k)."""
    margin, _ = judge(m.task, s.scores, y, s.step)
    if not mistaken(m.task, margin, s.scores, y):
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    rate = m.lam / (m.lam + m.k[0])
    shrink(m.w, 1 - rate)
    move(m.task, m.w, rate, s.step, x)
    m.k[0] += 1
    return UPDATED


@parametric
class ShiftingPerceptron(Classifier, LinearModel):
    r"""The shifting perceptron: it forgets, so that it can follow a concept that moves.

    On the k-th mistake, k from 0: lambda_k = lambda / (lambda + k), w <- (1 - lambda_k) w + lambda_k y x. With more than two classes
    the label's weights gain lambda_k x, and those of its strongest rival lose as much.
    There is no loss to weigh, so sample weights may only be 0 or 1.

    References
    ----------
    G. Cavallanti, N. Cesa-Bianchi, C. Gentile: Tracking the best hyperplane with a simple budget perceptron. COLT 2006, 483-498.

    Examples
    --------
    >>> from onepass import ShiftingPerceptron
    >>> model = ShiftingPerceptron(lam=2.0, fit_intercept=False).fit([[1.0, 0.0], [0.0, 3.0], [0.0, 3.0]], [0, 0, 1])
    >>> model.coef_.round(3)
    array([[-0.167,  0.5  ]])
    """

    lam: float = parameter(
        1.0,
        POSITIVE,
        matters=True,
        text="lambda: the larger, the faster the model forgets. With 1 the weights are the mean of y x over the mistakes.",
    )

    def _weights_are_switches(self) -> bool:
        return True

    def _fields_beside(self, form: str) -> dict[str, Field]:
        return {"scale": SCALE, "k": Field("one", exact=True)}

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return Shifting(w, task, arrays["k"], float(self.lam))
