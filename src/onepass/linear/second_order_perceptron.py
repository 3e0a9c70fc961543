"""The second-order perceptron.

N. Cesa-Bianchi, A. Conconi, C. Gentile: A second-order perceptron algorithm. SIAM Journal on Computing 34 (2005), 640-668.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from onepass.linear.second_order import POSITIVE, Dual, SecondOrderClassifier, awake, dual_step

SOP = namedtuple("SOP", "a always")


@awake.form(SOP)
def _(rule: Any, loss: Any, wrong: Any) -> Any:
    return wrong or rule.always


@dual_step.form(SOP)
def _(rule: Any, margin: Any, wrong: Any, v: Any, rows: Any) -> Any:
    """Sigma is a times that of the paper, so that it starts at I."""
    return (1 / rule.a if wrong else 0.0), 1 / rule.a


@dataclass(eq=False, repr=False)
class SecondOrderPerceptron(SecondOrderClassifier):
    r"""The second-order perceptron: a perceptron on whitened examples.

    w = (a I + sum_s x_s x_s')^-1 sum_s y_s x_s, over the examples s that were got wrong. The sign of w.x is the prediction; the
    paper's, which counts the present example among those of the matrix, is the same.

    Parameters
    ----------
    a : float, default=1.0
        How much the first examples are trusted: the weight of |w|^2.
    correlate : {"mistakes", "all"}, default="mistakes"
        The examples of the matrix. The paper takes the mistakes; LIBOL takes all.
    covariance : {"diagonal", "full"}, default="diagonal"
        Only the diagonal of the matrix, or all of it: O(nnz) or O(d^2) a step.
    fit_intercept, average, classes, class_weight, calibrate, max_iter, grow
        As in :class:`PAClassifier`; there is no loss to weigh, so weights may only be 0 or 1.

    Attributes
    ----------
    coef_, intercept_ : arrays
        The weights: (1, d) and (1,) for two classes, (K, d) and (K,) for more.
    covariance_ : array
        a times the inverse of the matrix, the intercept's part first: (d+1,) or (d+1, d+1).
    classes_, n_features_in_, t_, updates_, n_iter_
        As in :class:`PAClassifier`; `updates_` counts mistakes.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile: A second-order perceptron algorithm. SIAM Journal on Computing 34 (2005), 640-668.

    Examples
    --------
    >>> from onepass import SecondOrderPerceptron
    >>> model = SecondOrderPerceptron(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 0])
    >>> model.coef_
    array([[-0.4,  0. ]])
    """

    a: float = 1.0
    correlate: str = "mistakes"

    _Record: ClassVar[Any] = Dual
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"a": [POSITIVE], "correlate": [StrOptions({"mistakes", "all"})]}

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return SOP(float(self.a), self.correlate == "all")
