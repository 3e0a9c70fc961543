"""Adaptive regularisation of weights.

K. Crammer, A. Kulesza, M. Dredze: Adaptive regularization of weight vectors. NIPS 22 (2009), 414-422.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from onepass.base import Regressor
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import parameter, parametric
from onepass.linear.second_order import SecondOrder, SecondOrderClassifier, awake, step

AROW = namedtuple("AROW", "r libol always")  # always: also where there is no loss, as numbers do


@awake.form(AROW)
def _(rule: Any, loss: Any, wrong: Any) -> Any:
    return loss > 0 or rule.always


@step.form(AROW)
def _(rule: Any, margin: Any, loss: Any, v: Any, rows: Any, weight: Any) -> Any:
    """alpha = loss / (variance of the margin + r)."""
    r = rule.r / weight
    return loss / ((1 if rule.libol else rows) * v + r), 1 / r


@parametric
class AROWClassifier(SecondOrderClassifier):
    r"""Adaptive regularisation of weights: a Gaussian over the weights, moved less where it is sure.

    The mean w and the covariance Sigma minimise, for each example,

        KL(N(w, Sigma) || N(w_t, Sigma_t)) + (max(0, 1 - y w.x)^2 + x' Sigma x) / (2 r).

    With v = x' Sigma x: w += y loss / (v + r) Sigma x, and Sigma^-1 += x x' / r, whenever there is loss. One example moves the
    weights less and less as they become certain, so that wrong labels do little harm.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze: Adaptive regularization of weight vectors. NIPS 22 (2009), 414-422.

    Examples
    --------
    >>> from onepass import AROWClassifier
    >>> model = AROWClassifier(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> model.coef_
    array([[ 0.4, -0.5]])
    >>> model.covariance_
    array([1. , 0.2, 0.5])
    """

    r: float = parameter()
    _: KW_ONLY
    multiclass: str = parameter()

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"r": POWERS_OF_TWO}

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return AROW(float(self.r), self.multiclass == "libol", False)


@parametric
class AROWRegressor(Regressor, SecondOrder):
    r"""Adaptive regularisation of weights for regression; with a full covariance, recursive least squares.

    With v = x' Sigma x: w += (y - w.x) / (v + r) Sigma x, and Sigma^-1 += x x' / r, for every example. With a full covariance w is,
    after each example, the ridge solution argmin_w sum_s (y_s - w.x_s)^2 + r |w|^2 of all examples so far, intercept included.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze: Adaptive regularization of weight vectors. NIPS 22 (2009), 414-422.
    M. Sugiyama: Introduction to statistical machine learning (2016), section 31.3.

    Examples
    --------
    >>> from onepass import AROWRegressor
    >>> X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]], [2.0, 3.0, 2.0]
    >>> model = AROWRegressor(r=1e-6, covariance="full", fit_intercept=False).fit(X, y)
    >>> model.coef_.round(3)
    array([2., 1.])
    """

    r: float = parameter(more="With a full covariance, r is the weight of |w|^2.")
    _: KW_ONLY
    scale_target: bool = parameter(
        False, more="Steps are as long as the error here, and least squares need the targets as they are."
    )

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"r": POWERS_OF_TWO}

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return AROW(float(self.r), False, True)
