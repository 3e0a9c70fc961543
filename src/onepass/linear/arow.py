"""Adaptive regularisation of weights.

K. Crammer, A. Kulesza, M. Dredze: Adaptive regularization of weight vectors. NIPS 22 (2009), 414-422.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from onepass.base import Regressor
from onepass.base.learner import POWERS_OF_TWO
from onepass.linear.second_order import POSITIVE, SecondOrder, SecondOrderClassifier, awake, step

AROW = namedtuple("AROW", "r libol always")  # always: also where there is no loss, as numbers do


@awake.form(AROW)
def _(rule: Any, loss: Any, wrong: Any) -> Any:
    return loss > 0 or rule.always


@step.form(AROW)
def _(rule: Any, margin: Any, loss: Any, v: Any, rows: Any, weight: Any) -> Any:
    """alpha = loss / (variance of the margin + r)."""
    r = rule.r / weight
    return loss / ((1 if rule.libol else rows) * v + r), 1 / r


@dataclass(eq=False, repr=False)
class AROWClassifier(SecondOrderClassifier):
    r"""Adaptive regularisation of weights: a Gaussian over the weights, moved less where it is sure.

    The mean w and the covariance Sigma minimise, for each example,

        KL(N(w, Sigma) || N(w_t, Sigma_t)) + (max(0, 1 - y w.x)^2 + x' Sigma x) / (2 r).

    With v = x' Sigma x: w += y loss / (v + r) Sigma x, and Sigma^-1 += x x' / r, whenever there is loss. One example moves the
    weights less and less as they become certain, so that wrong labels do little harm.

    Parameters
    ----------
    r : float, default=1.0
        How much noise to expect; the larger, the smaller the steps.
    covariance : {"diagonal", "full"}, default="diagonal"
        A variance for each weight, or a covariance for each pair: O(nnz) or O(d^2) a step.
    multiclass : {"exact", "libol"}, default="exact"
        For more than two classes, the margin of the label over its strongest rival has the variance 2 v. LIBOL takes it for v.
    fit_intercept, average, classes, class_weight, calibrate, max_iter, grow
        As in :class:`PAClassifier`.

    Attributes
    ----------
    coef_, intercept_ : arrays
        The means: (1, d) and (1,) for two classes, (K, d) and (K,) for more.
    covariance_ : array
        The covariance, the intercept's first: (d+1,) or (d+1, d+1). All classes share it.
    classes_, n_features_in_, t_, updates_, n_iter_
        As in :class:`PAClassifier`.

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

    r: float = 1.0
    multiclass: str = field(default="exact", kw_only=True)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"r": [POSITIVE], "multiclass": [StrOptions({"exact", "libol"})]}
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"r": POWERS_OF_TWO}

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return AROW(float(self.r), self.multiclass == "libol", False)


@dataclass(eq=False, repr=False)
class AROWRegressor(Regressor, SecondOrder):
    r"""Adaptive regularisation of weights for regression; with a full covariance, recursive least squares.

    With v = x' Sigma x: w += (y - w.x) / (v + r) Sigma x, and Sigma^-1 += x x' / r, for every example. With a full covariance w is,
    after each example, the ridge solution argmin_w sum_s (y_s - w.x_s)^2 + r |w|^2 of all examples so far, intercept included.

    Parameters
    ----------
    r : float, default=1.0
        How much noise to expect; the weight of |w|^2.
    covariance : {"diagonal", "full"}, default="diagonal"
        A variance for each weight, or a covariance for each pair: O(nnz) or O(d^2) a step.
    fit_intercept, average, max_iter, grow
        As in :class:`PARegressor`.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (d,) and (1,)
        The means.
    covariance_ : array
        The covariance, the intercept's first: (d+1,) or (d+1, d+1).
    n_features_in_, t_, updates_, n_iter_
        As in :class:`PARegressor`.

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

    r: float = 1.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"r": [POSITIVE]}
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"r": POWERS_OF_TWO}

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return AROW(float(self.r), False, True)
