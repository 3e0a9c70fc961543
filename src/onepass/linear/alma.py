"""The approximate maximal margin algorithm for p-norms.

C. Gentile: A new approximate maximal margin classification algorithm. JMLR 2 (2001), 213-242.
"""

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
from onepass.compiled.average import workspace
from onepass.compiled.compiler import routine
from onepass.compiled.linear import Judged, vector, width
from onepass.compiled.losses import judge
from onepass.compiled.pnorm import link_dot, power_sum, push, row_power_sum
from onepass.compiled.rows import sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, blend, learn, score, scratch
from onepass.compiled.scaled import scale_entries
from onepass.linear.model import LinearModel

# theta = scale u; power is sum_j |u_j|^p, and k counts the updates from 1.
LargeMargin = namedtuple("LargeMargin", "u task scale power k alpha p C normalize")


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
def finish(m: Any, change: Any) -> Any:
    """Project to the unit ball: of w in the q-norm, which is theta in the p-norm. Then count the update."""
    m.power[0] = max(m.power[0] + change, 0.0)
    m.scale[0] /= max(1.0, m.scale[0] * m.power[0] ** (1 / m.p))
    if m.scale[0] < 1e-3:  # before powers of u leave the range of numbers
        scale_entries(m.u, m.scale[0])
        m.scale[0], m.power[0] = 1, power_sum(m.u, m.p)
    m.k[0] += 1


@scratch.form(LargeMargin)
def _(m: Any) -> Any:
    n = width(m.task, m.u)
    return Judged(workspace(m.u, n), workspace(m.u, n))


@score.form(LargeMargin)
def _(m: Any, x: Any, s: Any) -> Any:
    for k in range(len(s.scores)):
        s.scores[k] = factor(m) * link_dot(vector(m.task, m.u, k), x, m.p)


@learn.form(LargeMargin)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Many classes are one long vector, and the example is (x, -x), in the places of the label and its rival."""
    margin, _ = judge(m.task, s.scores, y, s.step)
    norm = length(m, x, m.task.length2)
    if norm == 0 or passive(m, margin / norm):
        return PASSIVE
    if not norm < np.inf or not sqnorm(x) < np.inf:
        return TOO_LARGE
    rate, change = m.C / np.sqrt((m.p - 1) * m.k[0]) / (norm * m.scale[0]), 0.0
    for k in range(len(s.step)):
        if s.step[k] != 0:
            change += push(vector(m.task, m.u, k), rate * s.step[k], x, m.p)
    finish(m, change)
    return UPDATED


@blend.form(LargeMargin)
def _(m: Any, other: Any, share: Any) -> Any:
    """The averaged model has the scale 1."""
    mine, theirs, rho = m.u.reshape(-1), other.u.reshape(-1), m.u.dtype.type(share)
    scale = m.u.dtype.type(other.scale[0])
    for i in range(len(mine)):
        mine[i] += rho * (scale * theirs[i] - mine[i])
    m.scale[0], m.power[0] = 1, power_sum(m.u, m.p)


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
        matters=True,
        text="The margin aimed at is 1 - alpha of the largest possible one. With 1 this is a perceptron.",
    )
    p: float = parameter(2, Interval(Real, 2, None, closed="left"), matters=True, text="The norm, 2 or more.")
    C: float = parameter(
        math.sqrt(2), POSITIVE, cautious="smaller", text="How long steps are: the first one has the length C / sqrt(p - 1)."
    )
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

    def _weights_of(self, state: State, places: Any) -> Array:
        theta = self._averaged(state, "U" if state.form == "multiclass" else "u").astype(np.float64)
        theta = theta[..., : state.n_features + 1] * self._averaged(state, "scale")
        norm = np.linalg.norm(theta.ravel(), self.p)
        theta = theta[..., places]
        w = np.sign(theta) * np.abs(theta) ** (self.p - 1) / (norm ** (self.p - 2) or 1.0)
        return w.astype(state.dtype)

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        settings = (float(self.alpha), float(self.p), float(self.C), bool(self.normalize))
        u = arrays["U" if state.form == "multiclass" else "u"]
        return LargeMargin(u, self._task(state), arrays["scale"], arrays["power"], arrays["k"], *settings)
