"""Gaussian herding.

K. Crammer, D. D. Lee: Learning via Gaussian herding. NIPS 23 (2010), 451-459.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any, ClassVar

from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.linear.second_order import SecondOrderClassifier, awake, step

NHERD = namedtuple("NHERD", "C")


@awake.form(NHERD)
def _(rule: Any, loss: Any, wrong: Any) -> Any:
    return loss > 0


@step.form(NHERD)
def _(rule: Any, margin: Any, loss: Any, v: Any, rows: Any, weight: Any) -> Any:
    """The mean takes the PA-II step in the metric of Sigma, and the covariance follows."""
    C, spread = weight * rule.C, rows * v
    return loss / (spread + 1 / C), C * C * spread + 2 * C


@parametric
class NHERDClassifier(SecondOrderClassifier):
    r"""Gaussian herding: each weight vector of a normal herd takes the PA-II step, and the herd is made normal again.

    With v = x' Sigma x and loss = max(0, 1 - y w.x): w += y loss / (v + 1/C) Sigma x, and Sigma^-1 += (2C + C^2 v) x x', which is
    Sigma <- (I - x x' Sigma / (v + 1/C))' Sigma (I - x x' Sigma / (v + 1/C)).

    References
    ----------
    K. Crammer, D. D. Lee: Learning via Gaussian herding. NIPS 23 (2010), 451-459.

    Examples
    --------
    >>> from onepass import NHERDClassifier
    >>> model = NHERDClassifier(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> model.coef_
    array([[ 0.4, -0.5]])
    >>> model.covariance_.round(2)
    array([1.  , 0.04, 0.25])
    """

    C: float = parameter(1.0, POSITIVE, cautious="smaller", text="Aggressiveness: how far one example may move the herd.")

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"C": POWERS_OF_TWO}

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return NHERD(float(self.C))
