"""Perceptrons that look for a large margin: ROMMA, ALMA and MIRA."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Classifier, Field, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.base.state import SCALE, Array
from onepass.compiled.average import at, height, workspace
from onepass.compiled.compiler import routine
from onepass.compiled.linear import linear
from onepass.compiled.pnorm import link_dot, power_sum, push, row_power_sum
from onepass.compiled.rows import add, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, Scores, blend, learn, mistaken, outdone, rival, score, scratch
from onepass.compiled.scaled import centre, length2, resize, scale_entries, shrink
from onepass.linear.model import LinearModel

# --- ROMMA ---


# norm2 is |w|^2, kept from step to step, and doubt a bound of what rounding has done to it; infinity: it is not known yet.
ROMMABinary = namedtuple("ROMMABinary", "w norm2 doubt aggressive")
ROMMAMulticlass = namedtuple("ROMMAMulticlass", "W norm2 doubt aggressive")

# So many units in the last place may be in doubt, 2e-11 of |w|^2 in float64 and 1e-2 in float32; what is wrong is a tenth of that at
# most, and mostly a thousandth. Where nothing cancels, a step adds some ten, so that O(d) once in some thousand steps does not count.
TRUSTED = 1e5

linear(ROMMABinary, ROMMAMulticlass)


@routine
def relaxed(n: Any, m: Any, norm2: Any, eps: Any) -> Any:
    """keep and step: keep w + step y x is the shortest vector of margin 1 or more with w.w_t >= |w_t|^2, of which n = |w_t|^2.

    Li and Long's update. Where the shortest vector of margin 1 alone, y x / |x|^2, meets the second condition, that is the
    answer. No vector meets both where w and x are parallel and point apart.
    """
    if norm2 == 0:
        return 1.0, 0.0
    if m >= norm2 * n:
        return 0.0, 1 / norm2
    rest = norm2 * n - m * m
    if rest <= 64 * eps * norm2 * n:
        return 1.0, 0.0
    return (norm2 * n - m) / rest, n * (1 - m) / rest


@routine
def measure(m: Any, w: Any, eps: Any) -> Any:
    """Work |w|^2 out anew where too much of what is kept may be rounding. The rows of many classes sum to 0: what rounding has added to
    all of them is in no margin, so that no step corrects it, and each makes it longer."""
    if not m.doubt[0] <= TRUSTED * eps * m.norm2[0]:
        if m.doubt[0] < np.inf:
            centre(w)
        m.norm2[0], m.doubt[0] = length2(w), 0


@routine
def follow(m: Any, w: Any, x: Any, keep: Any, step: Any, margin: Any, norm2: Any, eps: Any) -> Any:
    """|w|^2 after w has become keep w + step y x. Where the two nearly cancel, the little that is left has the rounding of both, and
    the doubt of before. The rounding of a sum is about the root of the number of its terms, that of all else a few units."""
    reach = keep * np.sqrt(m.norm2[0]) + step * np.sqrt(norm2)
    m.norm2[0] = keep * keep * m.norm2[0] + 2 * keep * step * margin + step * step * norm2
    m.doubt[0] = keep * keep * m.doubt[0] + (8 + np.sqrt(len(x.values))) * eps * reach * reach
    measure(m, w, eps)
    if m.norm2[0] * norm2 > eps**-4:  # the margin's 1 is lost in the rounding of scores like this, and of 1/eps, too
        resize(w, eps)
        m.norm2[0] *= eps * eps
        m.doubt[0] *= eps * eps


@learn.form(ROMMABinary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    margin = np.float64(y * s.scores[0])
    if margin >= 1 if m.aggressive else not mistaken(s.scores[0], y):
        return PASSIVE
    norm2 = np.float64(sqnorm(x))
    if not norm2 < np.inf:
        return TOO_LARGE
    eps = np.float64(np.finfo(s.scores.dtype).eps)
    measure(m, m.w, eps)
    keep, step = relaxed(m.norm2[0], margin, norm2, eps)
    if step == 0:
        return PASSIVE
    shrink(m.w, keep)
    add(m.w, step * y, x)
    follow(m, m.w, x, keep, step, margin, norm2, eps)
    return UPDATED


@learn.form(ROMMAMulticlass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """The same for all weights as one vector and the example (x, -x), in the places of the label and its rival."""
    r = rival(s.scores, y)
    if r < 0:
        return PASSIVE
    margin = np.float64(s.scores[y]) - np.float64(s.scores[r])
    if margin >= 1 if m.aggressive else not outdone(s.scores, y, r):
        return PASSIVE
    norm2 = 2 * np.float64(sqnorm(x))
    if not norm2 < np.inf:
        return TOO_LARGE
    eps = np.float64(np.finfo(s.scores.dtype).eps)
    measure(m, m.W, eps)
    keep, step = relaxed(m.norm2[0], margin, norm2, eps)
    if step == 0:
        return PASSIVE
    shrink(m.W, keep)
    add(at(m.W, y), step, x)
    add(at(m.W, r), -step, x)
    follow(m, m.W, x, keep, step, margin, norm2, eps)
    return UPDATED


@parametric
class ROMMA(Classifier, LinearModel):
    r"""The relaxed online maximum margin algorithm.

    On a mistake, w becomes the shortest vector with y w.x >= 1 and w.w_t >= |w_t|^2. The second condition is the half-space that
    stands for all conditions so far. Both hold with equality:

        w = ((|x|^2 |w_t|^2 - y w_t.x) w_t + |w_t|^2 (y - w_t.x) x) / (|x|^2 |w_t|^2 - (w_t.x)^2),

    and the first w is y x / |x|^2. With more than two classes, W is one long vector, and the example is x in the place of the label
    and -x in that of its strongest rival. There is no loss to weigh, so sample weights may only be 0 or 1.

    Each step is the one above for the weights at hand: |w|^2 is known to 1e-8 of itself, in float32 to 1e-3, however long the stream.
    The weights in the end are another matter where labels are noisy: every mistake makes |w| longer, and one on an x that nearly
    points against w many times longer, and so the last bits too. Sums in another order (dense or sparse rows) may then lead elsewhere.
    Before |w| leaves the range of floating point, w and its average are divided by 2^52 (2^23 in float32), which changes no decision.

    References
    ----------
    Y. Li, P. M. Long: The relaxed online maximum margin algorithm. Machine Learning 46 (2002), 361-387.

    Examples
    --------
    >>> from onepass import ROMMA
    >>> model = ROMMA(aggressive=True, fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0]], [1, 0])
    >>> model.coef_
    array([[ 0.5, -1. ]])
    """

    aggressive: bool = parameter(
        False, "boolean", text="Whether to learn from every margin below 1, and not only from mistakes."
    )

    _sums: ClassVar[dict[str, Field]] = {
        "scale": SCALE,
        "norm2": Field("one", exact=True, turn="halve"),
        "doubt": Field("one", exact=True, start=np.inf, turn="halve"),
    }
    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {"w": Field("features", additive=True), **_sums},
        "multiclass": {"W": Field("classes features", additive=True), **_sums},
    }

    def _weights_are_switches(self) -> bool:
        return True

    @classmethod
    def _upgrade(cls, form: str, arrays: dict[str, Array]) -> None:
        arrays["doubt"] = np.full(1, np.inf)  # so that |w|^2 is worked out anew

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        rest = (arrays["norm2"], arrays["doubt"], bool(self.aggressive))
        return ROMMABinary(arrays["w"], *rest) if state.form == "binary" else ROMMAMulticlass(arrays["W"], *rest)


# --- ALMA ---


# theta = scale u; power is sum_j |u_j|^p, and k counts the updates from 1.
ALMABinary = namedtuple("ALMABinary", "u scale power k alpha p C normalize")
ALMAMulticlass = namedtuple("ALMAMulticlass", "U scale power k alpha p C normalize")


@routine
def factor(m: Any) -> Any:
    """What the dot product with the powers of u is to be multiplied with."""
    return m.scale[0] / m.power[0] ** (1 - 2 / m.p) if m.p != 2 and m.power[0] > 0 else m.scale[0]


@routine
def length(m: Any, x: Any, rows: Any) -> Any:
    """The p-norm of the example, if it is to be divided by it; 1 if not."""
    return (rows * row_power_sum(x, m.p)) ** (1 / m.p) if m.normalize else 1.0


@routine
def passive(m: Any, margin: Any) -> Any:
    """Gentile's condition: whether the margin is large enough for the k-th update."""
    return margin > (1 - m.alpha) / m.alpha * np.sqrt((m.p - 1) / m.k[0])


@routine
def finish(m: Any, u: Any, change: Any) -> Any:
    """Project to the unit ball: of w in the q-norm, which is theta in the p-norm. Then count the update."""
    m.power[0] = max(m.power[0] + change, 0.0)
    m.scale[0] /= max(1.0, m.scale[0] * m.power[0] ** (1 / m.p))
    if m.scale[0] < 1e-3:  # before powers of u leave the range of numbers
        scale_entries(u, m.scale[0])
        m.scale[0], m.power[0] = 1, power_sum(u, m.p)
    m.k[0] += 1


@scratch.form(ALMABinary)
def _(m: Any) -> Any:
    return Scores(workspace(m.u, 1))


@scratch.form(ALMAMulticlass)
def _(m: Any) -> Any:
    return Scores(workspace(m.U, height(m.U)))


@score.form(ALMABinary)
def _(m: Any, x: Any, s: Any) -> Any:
    s.scores[0] = factor(m) * link_dot(m.u, x, m.p)


@score.form(ALMAMulticlass)
def _(m: Any, x: Any, s: Any) -> Any:
    for k in range(len(s.scores)):
        s.scores[k] = factor(m) * link_dot(m.U[k], x, m.p)


@learn.form(ALMABinary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    norm = length(m, x, 1)
    if norm == 0 or passive(m, y * s.scores[0] / norm):
        return PASSIVE
    if not norm < np.inf or not sqnorm(x) < np.inf:
        return TOO_LARGE
    rate = m.C / np.sqrt((m.p - 1) * m.k[0])
    finish(m, m.u, push(m.u, y * rate / (norm * m.scale[0]), x, m.p))
    return UPDATED


@learn.form(ALMAMulticlass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """The same for all weights as one vector and the example (x, -x), in the places of the label and its rival."""
    norm, r = length(m, x, 2), rival(s.scores, y)
    if r < 0 or norm == 0 or passive(m, (s.scores[y] - s.scores[r]) / norm):
        return PASSIVE
    if not norm < np.inf or not sqnorm(x) < np.inf:
        return TOO_LARGE
    step = m.C / np.sqrt((m.p - 1) * m.k[0]) / (norm * m.scale[0])
    finish(m, m.U, push(m.U[y], step, x, m.p) + push(m.U[r], -step, x, m.p))
    return UPDATED


@routine
def blend_theta(m: Any, other: Any, u: Any, theirs: Any, share: Any) -> Any:
    """The averaged model has the scale 1."""
    flat, of_other, rho = u.reshape(-1), theirs.reshape(-1), u.dtype.type(share)
    scale = u.dtype.type(other.scale[0])
    for i in range(len(flat)):
        flat[i] += rho * (scale * of_other[i] - flat[i])
    m.scale[0], m.power[0] = 1, power_sum(u, m.p)


@blend.form(ALMABinary)
def _(m: Any, other: Any, share: Any) -> Any:
    blend_theta(m, other, m.u, other.u, share)


@blend.form(ALMAMulticlass)
def _(m: Any, other: Any, share: Any) -> Any:
    blend_theta(m, other, m.U, other.U, share)


@parametric
class ALMA(Classifier, LinearModel):
    r"""The approximate maximal margin algorithm for p-norms.

    Examples are divided by their p-norm. If y w.x <= (1 - alpha) sqrt(p - 1) / (alpha sqrt(k)) for the k-th update, k from 1:

        theta += C / sqrt((p - 1) k) y x,    theta /= max(1, |theta|_p),    w_j = sign(theta_j) |theta_j|^(p-1) / |theta|_p^(p-2),

    so that w stays in the unit ball of the q-norm, 1/p + 1/q = 1. With p = 2, w is theta; a large p (about 2 ln d) suits problems
    where few of many features matter. With more than two classes, W is one long vector, and the example is x in the place of the
    label and -x in that of its strongest rival. There is no loss to weigh, so sample weights may only be 0 or 1.

    References
    ----------
    C. Gentile: A new approximate maximal margin classification algorithm. JMLR 2 (2001), 213-242.

    Examples
    --------
    >>> from onepass import ALMA
    >>> model = ALMA(fit_intercept=False).fit([[3.0, 4.0], [4.0, 3.0]], [1, 0])
    >>> model.coef_.round(3)
    array([[-0.2,  0.2]])
    """

    alpha: float = parameter(
        0.9,
        Interval(Real, 0, 1, closed="right"),
        text="The margin aimed at is 1 - alpha of the largest possible one. With 1 this is a perceptron.",
    )
    p: float = parameter(2, Interval(Real, 2, None, closed="left"), text="The norm, 2 or more.")
    C: float = parameter(math.sqrt(2), POSITIVE, text="How long steps are: the first one has the length C / sqrt(p - 1).")
    _: KW_ONLY
    average: bool | str | float | None = parameter(more="It is theta that is averaged.")
    normalize: bool = parameter(
        True, "boolean", text="Whether to divide examples by their p-norm, as the paper does. LIBOL takes them as they are."
    )

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {
        "C": POWERS_OF_TWO,
        "alpha": tuple(k / 20 for k in range(11, 20)),
        "p": (2, 4, 6, 8, 10),
    }

    def _fields(self, form: str) -> dict[str, Field]:
        weights = {"U": Field("classes features")} if form == "multiclass" else {"u": Field("features")}
        sums = {"power": Field("one", exact=True), "k": Field("one", start=1.0, exact=True)}
        return {**weights, "scale": SCALE, **sums}

    def _weights_are_switches(self) -> bool:
        return True

    def _turned(self, state: State) -> State:
        """theta of two classes is (-a theta, a theta) of many, with an a for which the weights are half as large: the dual norm of
        the long vector is another one. Its halves are there already."""
        turned = super()._turned(state)
        for kind in ("", "mean.") if "clock" in turned.arrays else ("",):
            turned.arrays[f"{kind}scale"] *= 2 ** (1 - 2 / self.p)
            turned.arrays[f"{kind}power"] *= 2 ** (1 - self.p)
        return turned

    def _weights_now(self) -> Array:
        state = self._attribute("coef_")
        theta = self._averaged(state, "U" if state.form == "multiclass" else "u").astype(np.float64)
        theta = theta[..., : state.n_features + 1] * self._averaged(state, "scale")
        norm = np.linalg.norm(theta.ravel(), self.p)
        w = np.sign(theta) * np.abs(theta) ** (self.p - 1) / (norm ** (self.p - 2) or 1.0)
        return w.astype(state.dtype)

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        settings = (float(self.alpha), float(self.p), float(self.C), bool(self.normalize))
        sums = (arrays["scale"], arrays["power"], arrays["k"])
        if state.form == "binary":
            return ALMABinary(arrays["u"], *sums, *settings)
        return ALMAMulticlass(arrays["U"], *sums, *settings)


# --- MIRA ---


MIRABinary = namedtuple("MIRABinary", "w")
MIRAMulticlass = namedtuple("MIRAMulticlass", "W")

linear(MIRABinary, MIRAMulticlass)


@learn.form(MIRABinary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """w += tau y x, tau = -y w.x / |x|^2 within 0 and 1. Where w.x = 0 that would never start: a mistake there has tau = 1."""
    if not mistaken(s.scores[0], y):
        return PASSIVE
    norm2 = sqnorm(x)
    if not norm2 < np.inf:
        return TOO_LARGE
    if norm2 == 0:
        return PASSIVE
    add(m.w, y * (min(1, abs(s.scores[0]) / norm2) if s.scores[0] != 0 else 1), x)
    return UPDATED


@learn.form(MIRAMulticlass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Crammer and Singer's problem. tau_k = [k = y] - max(0, b_k - theta), where b_k = score_k / |x|^2 + [k = y] and theta is such
    that they sum to 0: b is projected to a simplex, by leaving out what is below theta until nothing is. Scores are taken relative
    to the rival's, so that those of a tiny row do not hide the 1."""
    scores, r = s.scores, rival(s.scores, y)
    if r < 0 or not outdone(scores, y, r):
        return PASSIVE
    norm2 = np.float64(sqnorm(x))
    if not norm2 < np.inf:
        return TOO_LARGE
    if norm2 == 0:
        return PASSIVE
    if scores[y] == scores[r]:  # as for two classes
        add(at(m.W, y), 1, x)
        add(at(m.W, r), -1, x)
        return UPDATED
    theta, count = -np.inf, len(scores) + 1
    while True:
        total, kept = -1.0, 0
        for k in range(len(scores)):
            b = (scores[k] - scores[r]) / norm2 + (k == y)
            if b > theta:
                total += b
                kept += 1
        if kept == 0 or kept >= count:  # rounding must not lead around in a circle
            break
        theta, count = total / kept, kept
    for k in range(len(scores)):
        tau = (k == y) - max(0.0, (scores[k] - scores[r]) / norm2 + (k == y) - theta)
        if tau != 0:
            add(at(m.W, k), tau, x)
    return UPDATED


@parametric
class MIRA(Classifier, LinearModel):
    r"""The margin-infused relaxed algorithm: the ultraconservative step of smallest norm.

    On a mistake, W_k += tau_k x, where tau is the solution of

        minimise |x|^2 sum_k tau_k^2 / 2 + sum_k tau_k W_k.x   such that   sum_k tau_k = 0,  tau_k <= [k = y].

    It is found exactly. For two classes, w += tau y x with tau = -y w.x / |x|^2, at most 1.

    All scores are equal at first, and tau = 0 would be the solution for good; a mistake of equal scores is a perceptron's step.
    There is no loss to weigh, so sample weights may only be 0 or 1.

    References
    ----------
    K. Crammer, Y. Singer: Ultraconservative online algorithms for multiclass problems. JMLR 3 (2003), 951-991.

    Examples
    --------
    >>> from onepass import MIRA
    >>> model = MIRA(fit_intercept=False).fit([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]], ["b", "c", "a"])
    >>> model.coef_
    array([[-2.  ,  0.25],
           [ 1.5 , -0.5 ],
           [ 0.5 ,  0.25]])
    """

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {"w": Field("features", additive=True)},
        "multiclass": {"W": Field("classes features", additive=True)},
    }

    def _weights_are_switches(self) -> bool:
        return True

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return MIRABinary(arrays["w"]) if state.form == "binary" else MIRAMulticlass(arrays["W"])
