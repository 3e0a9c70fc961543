"""Narrow AROW.

F. Orabona, K. Crammer: New adaptive algorithms for online classification. NIPS 23 (2010), 1840-1848.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any, ClassVar

from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.linear.second_order import Dual, SecondOrderClassifier, awake, dual_step

NAROW = namedtuple("NAROW", "b")


@awake.form(NAROW)
def _(rule: Any, loss: Any, wrong: Any) -> Any:
    return True


@dual_step.form(NAROW)
def _(rule: Any, margin: Any, wrong: Any, v: Any, rows: Any) -> Any:
    """1/r = max(0, b - 1/v); the margin is that of the weights with x in their covariance."""
    spread = rows * v
    if margin >= max(1.0, rule.b * spread):
        return 0.0, 0.0
    return 1.0, max(0.0, rule.b - 1 / spread)


@parametric
class NAROWClassifier(SecondOrderClassifier):
    r"""Narrow AROW: second-order mirror descent whose covariance learns only from what is still uncertain.

    w = Sigma theta is the minimiser of w' Sigma^-1 w / 2 - theta.w. With v = x' Sigma x, 1/r = max(0, b - 1/v) and the margin
    y w.x r / (r + v) of the weights with x taken into their covariance: if that margin is below 1, theta += y x and
    Sigma^-1 += x x' / r. There is no loss to weigh, so sample weights may only be 0 or 1.

    References
    ----------
    F. Orabona, K. Crammer: New adaptive algorithms for online classification. NIPS 23 (2010), 1840-1848.

    Examples
    --------
    >>> from onepass import NAROWClassifier
    >>> model = NAROWClassifier(fit_intercept=False).fit([[1.0, 0.0], [0.0, 2.0]], [1, 0])
    >>> model.coef_, model.covariance_
    (array([[ 1. , -0.5]]), array([1.  , 1.  , 0.25]))
    """

    b: float = parameter(
        1.0, POSITIVE, matters=True, text="Examples with a variance of at most 1/b leave the covariance as it is."
    )

    _Record: ClassVar[Any] = Dual
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"b": POWERS_OF_TWO}

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return NAROW(float(self.b))
