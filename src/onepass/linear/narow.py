"""Narrow AROW.

F. Orabona, K. Crammer: New adaptive algorithms for online classification. NIPS 23 (2010), 1840-1848.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from onepass.base.learner import POWERS_OF_TWO
from onepass.linear.second_order import POSITIVE, Dual, SecondOrderClassifier, awake, dual_step

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


@dataclass(eq=False, repr=False)
class NAROWClassifier(SecondOrderClassifier):
    r"""Narrow AROW: second-order mirror descent whose covariance learns only from what is still uncertain.

    w = Sigma theta is the minimiser of w' Sigma^-1 w / 2 - theta.w. With v = x' Sigma x, 1/r = max(0, b - 1/v) and the margin
    y w.x r / (r + v) of the weights with x taken into their covariance: if that margin is below 1, theta += y x and
    Sigma^-1 += x x' / r.

    Parameters
    ----------
    b : float, default=1.0
        Examples of a variance up to 1/b leave the covariance as it is.
    covariance : {"diagonal", "full"}, default="diagonal"
        A variance for each weight, or a covariance for each pair: O(nnz) or O(d^2) a step.
    fit_intercept, average, classes, class_weight, calibrate, max_iter, grow
        As in :class:`PAClassifier`; there is no loss term to weigh, so weights may only be 0 or 1.

    Attributes
    ----------
    coef_, intercept_, covariance_
        As in :class:`AROWClassifier`.
    classes_, n_features_in_, t_, updates_, n_iter_
        As in :class:`PAClassifier`.

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

    b: float = 1.0

    _Record: ClassVar[Any] = Dual
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"b": [POSITIVE]}
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"b": POWERS_OF_TWO}

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return NAROW(float(self.b))
