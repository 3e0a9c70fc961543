"""Confidence-weighted learning, exact and soft.

M. Dredze, K. Crammer, F. Pereira: Confidence-weighted linear classification. ICML 2008, 264-271.
J. Wang, P. Zhao, S. C. H. Hoi: Exact soft confidence-weighted learning. ICML 2012, 121-128.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from scipy.special import erfcinv

from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.linear.second_order import SecondOrderClassifier, awake, step

# What LIBOL tries.
CONFIDENCES = tuple(k / 20 for k in range(11, 20))

Confidence = namedtuple("Confidence", "phi C soft libol")  # soft: SCW-II
Variance = namedtuple("Variance", "phi")


@awake.form(Confidence)
@awake.form(Variance)
def _(rule: Any, loss: Any, wrong: Any) -> Any:
    return True  # how large a margin must be depends on the variance


@step.form(Confidence)
def _(rule: Any, m: Any, loss: Any, v: Any, rows: Any, weight: Any) -> Any:
    """Exact convex CW (Crammer, Dredze and Pereira) and SCW (Wang, Zhao and Hoi).

    The constraint m + alpha n = phi sqrt(rows u), where u is the new variance v / (1 + c v), c = alpha phi / sqrt(rows u), and n is
    rows v, plus 1/(2C) for SCW-II, is a quadratic in a = alpha n:  (1 + q) a^2 + m (2 + q) a + m^2 - phi^2 rows v = 0.
    """
    phi, C, spread = rule.phi, weight * rule.C, rows * v
    if m >= phi * np.sqrt(v if rule.libol else spread):
        return 0.0, 0.0
    n = spread + 0.5 / C if rule.soft else spread * 1.0
    q = phi * phi * v / n
    alpha = (-m * (2 + q) + np.sqrt(m * m * q * q + 4 * (1 + q) * phi * phi * spread)) / (2 * (1 + q) * n)
    if rule.libol and rows == 2 and not rule.soft:
        psi = 1 + phi * phi / 2
        alpha = (-m * psi + np.sqrt(m * m * psi * (psi - 1) + spread * phi * phi * psi)) / (spread * psi)
    alpha = max(alpha, 0.0) if rule.soft else min(max(alpha, 0.0), C)
    t = alpha * phi * v
    return alpha, alpha * phi * (t + np.sqrt(t * t + 4 * spread)) / (2 * spread)


@step.form(Variance)
def _(rule: Any, m: Any, loss: Any, v: Any, rows: Any, weight: Any) -> Any:
    """Dredze, Crammer and Pereira: the constraint is m >= phi times the variance."""
    phi, spread = rule.phi, rows * v
    if m >= phi * spread:
        return 0.0, 0.0
    b = rows + 2 * phi * m
    alpha = (-b + np.sqrt(b * b - 8 * phi * rows * (m - phi * spread))) / (4 * phi * spread)
    return max(alpha, 0.0), 2 * max(alpha, 0.0) * phi


def quantile(confidence: float) -> float:
    """phi = Phi^-1(confidence), that of the normal distribution."""
    return -math.sqrt(2) * float(erfcinv(2 * confidence))


@parametric
class CWClassifier(SecondOrderClassifier):
    r"""Confidence-weighted classification: the nearest Gaussian that gets the example right with the given probability.

    N(w, Sigma) minimises KL(N(w, Sigma) || N(w_t, Sigma_t)) under the constraint P(y w.x >= 0) >= confidence, that is, with
    phi = Phi^-1(confidence),

    * y w.x >= phi sqrt(x' Sigma x) for the form "stdev" (exact convex CW),
    * y w.x >= phi x' Sigma x for the form "variance", the first paper's.

    Both have closed forms: w += alpha y Sigma x, Sigma^-1 += c x x'. There is no slack, so one wrong label must be obeyed; for noisy
    labels take :class:`SCWClassifier` or :class:`AROWClassifier`. There is no loss to weigh, so sample weights may only be 0 or 1.

    References
    ----------
    M. Dredze, K. Crammer, F. Pereira: Confidence-weighted linear classification. ICML 2008, 264-271.
    K. Crammer, M. Dredze, F. Pereira: Exact convex confidence-weighted learning. NIPS 21 (2008), 345-352.
    K. Crammer, M. Dredze, A. Kulesza: Multi-class confidence weighted algorithms. EMNLP 2009, 496-504.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from onepass import CWClassifier
    >>> model = CWClassifier(confidence=0.9, covariance="full", fit_intercept=False).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    >>> x = [2.0, 1.0]
    >>> deviation = (x @ model.covariance_[1:, 1:] @ x) ** 0.5
    >>> round(float(norm.cdf(model.decision_function([x])[0] / deviation)), 6)
    0.9
    """

    confidence: float = parameter()
    form: str = parameter(
        "stdev",
        among("stdev", "variance"),
        text="Whether the constraint is on the standard deviation of the margin or on its variance.",
    )
    _: KW_ONLY
    multiclass: str = parameter(more='It is for the form "stdev" only.')

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"confidence": CONFIDENCES}

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        phi = quantile(self.confidence)
        return Confidence(phi, math.inf, False, self.multiclass == "libol") if self.form == "stdev" else Variance(phi)


@parametric
class SCWClassifier(SecondOrderClassifier):
    r"""Soft confidence-weighted classification: CW with slack, so that wrong labels need not be obeyed at any price.

    With phi = Phi^-1(confidence) and the loss max(0, phi sqrt(x' Sigma x) - y w.x), N(w, Sigma) minimises

    * KL(N(w, Sigma) || N(w_t, Sigma_t)) + C loss for the variant "I",
    * KL(N(w, Sigma) || N(w_t, Sigma_t)) + C loss^2 for "II",

    in closed form: w += alpha y Sigma x, Sigma^-1 += c x x'.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi: Exact soft confidence-weighted learning. ICML 2012, 121-128.

    Examples
    --------
    >>> from onepass import SCWClassifier
    >>> model = SCWClassifier(C=0.1).fit([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"])
    >>> model.predict([[2.0, 1.0]])
    array(['yes'], dtype='<U3')
    """

    variant: str = parameter("I", among("I", "II"), text="Whether the loss is taken as it is or squared.")
    C: float = parameter(1.0, POSITIVE, cautious="smaller", text="Aggressiveness: how much the loss of one example counts.")
    confidence: float = parameter(0.75)
    _: KW_ONLY
    multiclass: str = parameter()

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"C": POWERS_OF_TWO, "confidence": CONFIDENCES}

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return Confidence(quantile(self.confidence), float(self.C), self.variant == "II", self.multiclass == "libol")
