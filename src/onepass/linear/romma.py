"""The relaxed online maximum margin algorithm.

Y. Li, P. M. Long: The relaxed online maximum margin algorithm. Machine Learning 46 (2002), 361-387.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from onepass.base import Classifier, Field
from onepass.base.parameters import parameter, parametric
from onepass.base.state import SCALE, Array
from onepass.compiled.compiler import routine
from onepass.compiled.linear import linear, move
from onepass.compiled.losses import judge, mistaken
from onepass.compiled.rows import sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn
from onepass.compiled.scaled import centre, length2, resize, shrink
from onepass.linear.model import LinearModel

# norm2 is |w|^2, kept from step to step, and doubt a bound of what rounding has done to it; infinity: it is not known yet.
Relaxed = namedtuple("Relaxed", "w task norm2 doubt aggressive")

# So many units in the last place may be in doubt, 2e-11 of |w|^2 in float64 and 1e-2 in float32; what is wrong is a tenth of that at
# most, and mostly a thousandth. Where nothing cancels, a step adds some ten, so that O(d) once in some thousand steps does not count.
TRUSTED = 1e5

linear(Relaxed)


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
def measure(m: Any, eps: Any) -> Any:
    """Work |w|^2 out anew where too much of what is kept may be rounding. The rows of many classes sum to 0: what rounding has added to
    all of them is in no margin, so that no step corrects it, and each makes it longer."""
    if not m.doubt[0] <= TRUSTED * eps * m.norm2[0]:
        if m.doubt[0] < np.inf:
            centre(m.w)
        m.norm2[0], m.doubt[0] = length2(m.w), 0


@routine
def follow(m: Any, x: Any, keep: Any, step: Any, margin: Any, norm2: Any, eps: Any) -> Any:
    """|w|^2 after w has become keep w + step y x. Where the two nearly cancel, the little that is left has the rounding of both, and
    the doubt of before. The rounding of a sum is about the root of the number of its terms, that of all else a few units."""
    reach = keep * np.sqrt(m.norm2[0]) + step * np.sqrt(norm2)
    m.norm2[0] = keep * keep * m.norm2[0] + 2 * keep * step * margin + step * (step * norm2)
    m.doubt[0] = keep * keep * m.doubt[0] + (8 + np.sqrt(len(x.values))) * eps * reach * reach
    measure(m, eps)
    if m.norm2[0] * norm2 > eps**-4:  # the margin's 1 is lost in the rounding of scores like this, and of 1/eps, too
        resize(m.w, eps)
        m.norm2[0] *= eps * eps
        m.doubt[0] *= eps * eps


@learn.form(Relaxed)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Many classes are one long vector, and the example is (x, -x), in the places of the label and its rival."""
    margin, _ = judge(m.task, s.scores, y, s.step)
    if margin >= 1 if m.aggressive else not mistaken(m.task, margin, s.scores, y):
        return PASSIVE
    margin, norm2 = np.float64(margin), m.task.length2 * np.float64(sqnorm(x))
    if not norm2 < np.inf:
        return TOO_LARGE
    eps = np.float64(np.finfo(s.scores.dtype).eps)
    measure(m, eps)
    keep, step = relaxed(m.norm2[0], margin, norm2, eps)
    if step == 0:
        return PASSIVE
    shrink(m.w, keep)
    move(m.task, m.w, step, s.step, x)
    follow(m, x, keep, step, margin, norm2, eps)
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
        False, "boolean", matters=True, text="Whether to learn from every margin below 1, and not only from mistakes."
    )

    def _weights_are_switches(self) -> bool:
        return True

    @classmethod
    def _upgrade(cls, form: str, arrays: dict[str, Array]) -> None:
        arrays["doubt"] = np.full(1, np.inf)  # so that |w|^2 is worked out anew

    def _fields_beside(self, form: str) -> dict[str, Field]:
        norm2 = Field("one", exact=True, turn="halve")
        return {"scale": SCALE, "norm2": norm2, "doubt": replace(norm2, start=np.inf)}

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return Relaxed(w, task, arrays["norm2"], arrays["doubt"], bool(self.aggressive))
