"""The second-order perceptron.

N. Cesa-Bianchi, A. Conconi, C. Gentile: A second-order perceptron algorithm. SIAM Journal on Computing 34 (2005), 640-668.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.linear.second_order import Dual, SecondOrderClassifier, awake, dual_step

SOP = namedtuple("SOP", "a always")


@awake.form(SOP)
def _(rule: Any, loss: Any, wrong: Any) -> Any:
    return wrong or rule.always


@dual_step.form(SOP)
def _(rule: Any, margin: Any, wrong: Any, v: Any, rows: Any) -> Any:
    """Sigma is a times that of the paper, so that it starts at I."""
    return (1 / rule.a if wrong else 0.0), 1 / rule.a


@parametric
class SecondOrderPerceptron(SecondOrderClassifier):
    r"""The second-order perceptron: a perceptron on whitened examples.

    w = (a I + sum_s x_s x_s')^-1 sum_s y_s x_s, over the examples s that were got wrong. The sign of w.x is the prediction; the
    paper's, which counts the present example among those of the matrix, is the same.

    `covariance_` is a times the inverse of the matrix. There is no loss to weigh, so sample weights may only be 0 or 1.

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

    a: float = parameter(
        1.0, POSITIVE, cautious="larger", text="The weight of |w|^2: the larger, the less the first examples count."
    )
    correlate: str = parameter(
        "mistakes",
        among("mistakes", "all"),
        text="The examples that make up the matrix. The paper takes the mistakes; LIBOL takes all.",
    )
    _: KW_ONLY
    covariance: str = parameter(text="Only the diagonal of the matrix, or all of it: a step takes O(nnz) or O(d^2).")

    _Record: ClassVar[Any] = Dual

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return SOP(float(self.a), self.correlate == "all")
