"""Second-order learning of linear models: a mean w and a covariance Sigma, which says how well each direction is known.

Every rule here looks at the margin m and the variance v = x' Sigma x of an example, and answers with two numbers: w moves by
alpha y Sigma x, and the precision Sigma^-1 grows by c x x'. Two rules (SOP, NAROW) are stated by theta = Sigma^-1 w instead: theta
moves by g y x. With a diagonal covariance the rest of the precision is dropped, as Dredze et al. (2008) do.

More than two classes share one covariance. The label's weights and those of its strongest rival r move apart, so that the variance of
the margin (w_y - w_r).x is 2 v; `rows` is the number of weight vectors that move, 1 or 2.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import erfcinv
from sklearn.utils._param_validation import Interval

from onepass.base import Classifier, Field, Regressor
from onepass.base.knowledge import Start
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.base.state import Array, State
from onepass.compiled.average import at, height, workspace
from onepass.compiled.compiler import routine
from onepass.compiled.covariance import Apart, Diagonal, Full, renew, shift, spread, tighten, unfold, variance
from onepass.compiled.linear import scored
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, mistaken, outdone, rival, scratch
from onepass.compiled.verb import verb
from onepass.linear.model import LinearModel

Binary = namedtuple("Binary", "w cov rule")
Multiclass = namedtuple("Multiclass", "W cov rule")
DualBinary = namedtuple("DualBinary", "w cov rule")
DualMulticlass = namedtuple("DualMulticlass", "W cov rule")
Regression = namedtuple("Regression", "w cov r")

# What LIBOL tries.
CONFIDENCES = tuple(k / 20 for k in range(11, 20))


# --- the loop's side: the same for all rules ---


@verb(0)
def awake(rule: Any, m: Any, wrong: Any) -> Any:
    """Whether an example of margin m is worth a look at its variance."""


@verb(0)
def step(rule: Any, m: Any, v: Any, rows: Any, weight: Any) -> Any:
    """alpha and c for an example of margin m and variance v; alpha is 0 if nothing moves."""


@verb(0)
def dual_step(rule: Any, m: Any, wrong: Any, v: Any, rows: Any) -> Any:
    """g and c for an example of margin m and variance v."""


# Beyond this, c times the square of a large number overflows; a precision that grows by so much is certainty anyway.
@routine
def largest(scores: Any) -> Any:
    return np.sqrt(np.finfo(scores.dtype).max)


scored(Binary, Multiclass, DualBinary, DualMulticlass, Regression)


@scratch.form(Binary)
@scratch.form(DualBinary)
@scratch.form(Regression)
def _(m: Any) -> Any:
    return spread(m.cov, workspace(m.w, 1))


@scratch.form(Multiclass)
@scratch.form(DualMulticlass)
def _(m: Any) -> Any:
    return spread(m.cov, workspace(m.W, height(m.W)))


@learn.form(Binary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    margin = y * s.scores[0]
    if not awake(m.rule, margin, mistaken(s.scores[0], y)):
        return PASSIVE
    v = variance(m.cov, x, s)
    if not v < np.inf:
        return TOO_LARGE
    alpha, c = step(m.rule, margin, v, 1, weight) if v > 0 else (0.0, 0.0)
    if alpha == 0:
        return PASSIVE
    shift(m.cov, m.w, y * alpha, min(c, largest(s.scores)), x, s)
    return UPDATED


@learn.form(Multiclass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    r = rival(s.scores, y)
    if r < 0:
        return PASSIVE
    margin = s.scores[y] - s.scores[r]
    if not awake(m.rule, margin, outdone(s.scores, y, r)):
        return PASSIVE
    v = variance(m.cov, x, s)
    if not 2 * v < np.inf:
        return TOO_LARGE
    alpha, c = step(m.rule, margin, v, 2, weight) if v > 0 else (0.0, 0.0)
    if alpha == 0:
        return PASSIVE
    shift(m.cov, Apart(at(m.W, y), at(m.W, r)), alpha, min(c, largest(s.scores)), x, s)
    return UPDATED


@learn.form(DualBinary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    f = s.scores[0]
    wrong = mistaken(f, y)
    if not awake(m.rule, y * f, wrong):
        return PASSIVE
    v = variance(m.cov, x, s)
    if not v < np.inf:
        return TOO_LARGE
    g, c = dual_step(m.rule, y * f, wrong, v, 1) if v > 0 else (0.0, 0.0)
    if g == 0 and c == 0:
        return PASSIVE
    c = min(c, largest(s.scores))
    unfold(m.cov, s)
    renew(m.cov, m.w, y * g, c, (f, v), x, s)
    tighten(m.cov, c, x, s)
    return UPDATED if g > 0 else PASSIVE


@learn.form(DualMulticlass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """theta_y += g x, theta_r -= g x; all weights follow the covariance."""
    r = rival(s.scores, y)
    if r < 0:
        return PASSIVE
    margin = s.scores[y] - s.scores[r]
    wrong = outdone(s.scores, y, r)
    if not awake(m.rule, margin, wrong):
        return PASSIVE
    v = variance(m.cov, x, s)
    if not 2 * v < np.inf:
        return TOO_LARGE
    g, c = dual_step(m.rule, margin, wrong, v, 2) if v > 0 else (0.0, 0.0)
    if g == 0 and c == 0:
        return PASSIVE
    c = min(c, largest(s.scores))
    unfold(m.cov, s)
    for k in range(len(s.scores)):
        renew(m.cov, at(m.W, k), g if k == y else -g if k == r else 0.0, c, (s.scores[k], v), x, s)
    tighten(m.cov, c, x, s)
    return UPDATED if g > 0 else PASSIVE


# --- the learners' side ---


@parametric
class _SecondOrder(LinearModel):
    _: KW_ONLY
    covariance: str = parameter(
        "diagonal",
        among("diagonal", "full"),
        text="A variance for each weight, or a covariance for each pair of weights: a step takes O(nnz) or O(d^2).",
    )

    _offers: ClassVar[dict[str, Any]] = {
        "r": parameter(1.0, POSITIVE, text="How much noise to expect; the larger, the smaller the steps."),
    }

    def _fields(self, form: str) -> dict[str, Field]:
        weights = (
            {"W": Field("classes features", additive=True)} if form == "multiclass" else {"w": Field("features", additive=True)}
        )
        # Many classes share a covariance, and the margin over the rival has twice the variance of one class's score.
        axes = "features features" if self.covariance == "full" else "features"
        return {**weights, "Sigma": Field(axes, start=1.0, turn="halve")}

    def _new_state(self, form: str, start: Start) -> State:
        try:
            return super()._new_state(form, start)
        except MemoryError:
            raise MemoryError(
                f"A full covariance of {start.n_features:,} features does not fit into memory: use covariance='diagonal'."
            ) from None

    def _covariance(self, arrays: Mapping[str, Any]) -> Any:
        return Full(arrays["Sigma"]) if self.covariance == "full" else Diagonal(arrays["Sigma"])

    @property
    def covariance_(self) -> Array:
        """The covariance of the weights, which all classes share: (d+1,) variances, or (d+1, d+1). The intercept comes first."""
        state = self._attribute("covariance_")
        n = state.n_features + 1
        if self.covariance == "diagonal":
            return state.arrays["Sigma"][:n].copy()
        factor = state.arrays["Sigma"][:n, :n]
        U = np.tril(factor, -1).T + np.eye(n, dtype=factor.dtype)
        root = U * np.sqrt(factor.diagonal())
        return root @ root.T  # symmetric to the bit


@parametric
class _SecondOrderClassifier(Classifier, _SecondOrder):
    _offers: ClassVar[dict[str, Any]] = {
        "confidence": parameter(
            0.7,
            Interval(Real, 0.5, 1, closed="neither"),
            text="The probability with which each example is to be right, above 0.5 and below 1.",
        ),
        "multiclass": parameter(
            "exact",
            among("exact", "libol"),
            text="For more than two classes: the exact solution, for which the margin of the label over its strongest rival has the"
            " variance 2 x' Sigma x, or LIBOL's approximation.",
        ),
    }
    _records: ClassVar[tuple[Any, Any]] = (Binary, Multiclass)

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        one, each = self._records
        covariance, rule = self._covariance(arrays), self._rule(arrays)
        return one(arrays["w"], covariance, rule) if state.form == "binary" else each(arrays["W"], covariance, rule)

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        """The rule's record."""
        raise NotImplementedError


# --- AROW ---


AROW = namedtuple("AROW", "r libol")


@awake.form(AROW)
def _(rule: Any, m: Any, wrong: Any) -> Any:
    return m < 1


@step.form(AROW)
def _(rule: Any, m: Any, v: Any, rows: Any, weight: Any) -> Any:
    """Crammer, Kulesza and Dredze: alpha = loss / (variance of the margin + r)."""
    r = rule.r / weight
    return (1 - m) / ((1 if rule.libol else rows) * v + r), 1 / r


@learn.form(Regression)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    v, error = variance(m.cov, x, s), y - s.scores[0]
    if not v < np.inf:
        return TOO_LARGE
    r = m.r / weight
    shift(m.cov, m.w, error / (v + r), min(1 / r, largest(s.scores)), x, s)
    return UPDATED if error != 0 else PASSIVE


@parametric
class AROWClassifier(_SecondOrderClassifier):
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
        return AROW(float(self.r), self.multiclass == "libol")


@parametric
class AROWRegressor(Regressor, _SecondOrder):
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

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"r": POWERS_OF_TWO}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Regression(arrays["w"], self._covariance(arrays), float(self.r))


# --- CW and SCW ---


Confidence = namedtuple("Confidence", "phi C soft libol")  # soft: SCW-II
Variance = namedtuple("Variance", "phi")


@awake.form(Confidence)
@awake.form(Variance)
def _(rule: Any, m: Any, wrong: Any) -> Any:
    return True  # how large a margin must be depends on the variance


@step.form(Confidence)
def _(rule: Any, m: Any, v: Any, rows: Any, weight: Any) -> Any:
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
def _(rule: Any, m: Any, v: Any, rows: Any, weight: Any) -> Any:
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
class CWClassifier(_SecondOrderClassifier):
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
class SCWClassifier(_SecondOrderClassifier):
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
    C: float = parameter(1.0, POSITIVE, text="Aggressiveness: how much the loss of one example counts.")
    confidence: float = parameter(0.75)
    _: KW_ONLY
    multiclass: str = parameter()

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"C": POWERS_OF_TWO, "confidence": CONFIDENCES}

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return Confidence(quantile(self.confidence), float(self.C), self.variant == "II", self.multiclass == "libol")


# --- NHERD ---


NHERD = namedtuple("NHERD", "C")


@awake.form(NHERD)
def _(rule: Any, m: Any, wrong: Any) -> Any:
    return m < 1


@step.form(NHERD)
def _(rule: Any, m: Any, v: Any, rows: Any, weight: Any) -> Any:
    """Crammer and Lee: the mean takes the PA-II step in the metric of Sigma, and the covariance follows."""
    C, spread = weight * rule.C, rows * v
    return (1 - m) / (spread + 1 / C), C * C * spread + 2 * C


@parametric
class NHERDClassifier(_SecondOrderClassifier):
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

    C: float = parameter(1.0, POSITIVE, text="Aggressiveness: how far one example may move the herd.")

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"C": POWERS_OF_TWO}

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return NHERD(float(self.C))


# --- IELLIP ---


IELLIP = namedtuple("IELLIP", "b c decay")


@awake.form(IELLIP)
def _(rule: Any, m: Any, wrong: Any) -> Any:
    return wrong


@step.form(IELLIP)
def _(rule: Any, m: Any, v: Any, rows: Any, weight: Any) -> Any:
    """Yang, Jin and Ye. The factor 1/(1 - c) of Sigma is left out: neither the scores nor the steps depend on it."""
    spread, c = rows * v, rule.c * rule.decay[0]
    rule.decay[0] *= rule.b
    return (1 - m) / spread, c / ((1 - c) * spread)


@parametric
class IELLIPClassifier(_SecondOrderClassifier):
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
        text="How fast the ellipsoid stops changing: what c is multiplied by after each mistake.",
    )
    c: float = parameter(0.1, Interval(Real, 0, 1, closed="left"), text="How much the first mistake changes the ellipsoid.")

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"b": tuple(k / 10 for k in range(1, 10))}

    def _fields(self, form: str) -> dict[str, Field]:
        return {**super()._fields(form), "decay": Field("one", start=1.0, exact=True)}

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return IELLIP(float(self.b), float(self.c), arrays["decay"])


# --- the rules that are stated by theta ---


SOP = namedtuple("SOP", "a always")
NAROW = namedtuple("NAROW", "b")


@awake.form(SOP)
def _(rule: Any, m: Any, wrong: Any) -> Any:
    return wrong or rule.always


@dual_step.form(SOP)
def _(rule: Any, m: Any, wrong: Any, v: Any, rows: Any) -> Any:
    """Cesa-Bianchi, Conconi and Gentile; Sigma is a times that of the paper, so that it starts at I."""
    return (1 / rule.a if wrong else 0.0), 1 / rule.a


@awake.form(NAROW)
def _(rule: Any, m: Any, wrong: Any) -> Any:
    return True


@dual_step.form(NAROW)
def _(rule: Any, m: Any, wrong: Any, v: Any, rows: Any) -> Any:
    """Orabona and Crammer. 1/r = max(0, b - 1/v); the margin is that of the weights with x in their covariance."""
    spread = rows * v
    if m >= max(1.0, rule.b * spread):
        return 0.0, 0.0
    return 1.0, max(0.0, rule.b - 1 / spread)


@parametric
class SecondOrderPerceptron(_SecondOrderClassifier):
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

    a: float = parameter(1.0, POSITIVE, text="The weight of |w|^2: the larger, the less the first examples count.")
    correlate: str = parameter(
        "mistakes",
        among("mistakes", "all"),
        text="The examples that make up the matrix. The paper takes the mistakes; LIBOL takes all.",
    )
    _: KW_ONLY
    covariance: str = parameter(text="Only the diagonal of the matrix, or all of it: a step takes O(nnz) or O(d^2).")

    _records: ClassVar[tuple[Any, Any]] = (DualBinary, DualMulticlass)

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return SOP(float(self.a), self.correlate == "all")


@parametric
class NAROWClassifier(_SecondOrderClassifier):
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

    b: float = parameter(1.0, POSITIVE, text="Examples with a variance of at most 1/b leave the covariance as it is.")

    _records: ClassVar[tuple[Any, Any]] = (DualBinary, DualMulticlass)
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"b": POWERS_OF_TWO}

    def _weights_are_switches(self) -> bool:
        return True

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        return NAROW(float(self.b))
