"""The improved ellipsoid method.

L. Yang, R. Jin, J. Ye: Online learning by ellipsoid method. ICML 2009, 1153-1160.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from onepass.base import Field
from onepass.base.parameters import parameter, parametric
from onepass.linear.second_order import SecondOrderClassifier, awake, step

IELLIP = namedtuple("IELLIP", "b c decay")


@awake.form(IELLIP)
def _(rule: Any, loss: Any, wrong: Any) -> Any:
    return wrong


@step.form(IELLIP)
def _(rule: Any, margin: Any, loss: Any, v: Any, rows: Any, weight: Any) -> Any:
    """The factor 1/(1 - c) of Sigma is left out: neither the scores nor the steps depend on it."""
    spread, c = rows * v, rule.c * rule.decay[0]
    rule.decay[0] *= rule.b
    return loss / spread, c / ((1 - c) * spread)


@parametric
class IELLIPClassifier(SecondOrderClassifier):
    r"""The improved ellipsoid method: an ellipsoid around the weights, cut by each mistake.

    On a mistake, with v = x' Sigma x, w moves to the nearest point where y w.x = 1 in the ellipsoid's own metric,
    w += y (1 - y w.x) / v Sigma x, and the precision takes in the direction of x, Sigma^-1 <- (1 - c_k) Sigma^-1 + c_k x x' / v,
    where c_k = c b^k on the k-th mistake, from 0.

    `covariance_` is known up to a factor, on which nothing depends. There is no loss to weigh, so sample weights may only be 0 or 1.

    References
    ----------
    L. Yang, R. Jin, J. Ye: Online learning by ellipsoid method. ICML 2009, 1153-1160.

    Examples
    --------
    >>> from onepass import IELLIPClassifier
    >>> model = IELLIPClassifier(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0]], [0, 1])
    >>> model.coef_
    array([[-0.5,  0. ]])
    """

    b: float = parameter(
        0.3,
        Interval(Real, 0, 1, closed="right"),
        matters=True,
        text="How fast the ellipsoid stops changing: what c is multiplied by after each mistake.",
    )
    c: float = parameter(0.1, Interval(Real, 0, 1, closed="left"), text="How much the first mistake changes the ellipsoid.")

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"b": tuple(k / 10 for k in range(1, 10))}

    def _fields_beside(self, form: str) -> dict[str, Field]:
        return {**super()._fields_beside(form), "decay": Field("one", start=1.0, exact=True, fades=True)}

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return IELLIP(float(self.b), float(self.c), arrays["decay"])
