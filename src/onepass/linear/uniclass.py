"""Passive-aggressive learning of one class.

K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. Journal of Machine Learning
Research 7 (2006), 551-585; uniclass prediction.

The class is a ball with centre w. An example outside it has the loss |w - x| - epsilon, and the centre moves towards it:
w += tau (x - w)/|x - w|.

To learn the radius as well, the paper fixes its upper bound B and gives w one more coordinate h, which is 0 in every x. A ball of
radius B around (w, h) meets h = 0 in a ball around w of radius sqrt(B^2 - h^2). The rule of a fixed radius B in d + 1 dimensions
then moves both; h starts at B, which is the radius 0, and falls towards 0, which is the radius B. We keep `drop` = 1 - h/B instead,
from which small radii come without cancellation: the radius is B sqrt(drop (2 - drop)). A fixed radius is the case drop = 1.

The paper leaves open what the radius is when nobody says it, and no number suits all data. Ours is then 1.5 times the root mean square
of the distances so far: by Markov's inequality less than half of them were larger, and of most data far fewer. The first example is
the first centre, or its distance from the origin would count for the class.

A step is a convex combination, w <- (1 - share) w + share x, in O(nnz): `Scaled` weights shrink at once. For |w - x| on sparse rows
|w|^2 is kept too. Of |w|^2 - 2 w.x + |x|^2 nothing may be left but rounding; so what x touches is summed as (w_j - x_j)^2, and only the
rest, |w|^2 less the w_j^2 that x touches, is a difference, which can't go below 0.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from onepass.base import Field, State, Uniclass
from onepass.base.aggressive import PassiveAggressive
from onepass.base.parameters import NOT_NEGATIVE, parameter, parametric
from onepass.base.state import SCALE, Array
from onepass.compiled.compiler import entry_point
from onepass.compiled.passive_aggressive import VARIANTS, tau
from onepass.compiled.rows import DenseRow, SparseRow, add
from onepass.compiled.rules import PASSIVE, UPDATED, blend, learn, score, scratch
from onepass.compiled.scaled import Scaled, shrink
from onepass.compiled.verb import verb

# spread: the sum of the weights and that of the squared distances so far, of which B is made; or nothing, if B is given.
Ball = namedtuple("Ball", "w norm2 drop spread B C variant")
Distance = namedtuple("Distance", "scores parts")


@verb(2)
def squares(w: Any, norm2: Any, x: Any) -> Any:
    """|w - x|^2 in two parts: where x has entries, and elsewhere. In double precision, whatever the weights."""


@verb(1)
def touched(w: Any, x: Any) -> Any:
    """The sum of w_j^2 where x has entries."""


@squares.form(DenseRow)
def _(w: Any, norm2: Any, x: Any) -> Any:
    scale, u, d = w.scale[0], w.u, len(x.values)
    inside, outside = 0.0, 0.0
    for j in range(d):
        difference = scale * u[j + 1] - x.scale * x.values[j]
        inside += difference * difference
    for j in range(d + 1, len(u)):  # features that a growing model has and this row has not
        outside += (scale * u[j]) * (scale * u[j])
    return inside, outside


@touched.form(DenseRow)
def _(w: Any, x: Any) -> Any:
    scale, u, total = w.scale[0], w.u, 0.0
    for j in range(len(x.values)):
        total += (scale * u[j + 1]) * (scale * u[j + 1])
    return total


@squares.form(SparseRow)
def _(w: Any, norm2: Any, x: Any) -> Any:
    scale, u = w.scale[0], w.u
    inside = 0.0
    for i in range(len(x.values)):
        difference = scale * u[x.indices[i] + 1] - x.scale * x.values[i]
        inside += difference * difference
    return inside, max(0.0, norm2 - touched(w, x))


@touched.form(SparseRow)
def _(w: Any, x: Any) -> Any:
    scale, u, total = w.scale[0], w.u, 0.0
    for i in range(len(x.values)):
        entry = scale * u[x.indices[i] + 1]
        total += entry * entry
    return total


@entry_point
def radius(B: Any, drop: Any) -> Any:
    # All under the root: a product less a distance would be fused into one operation, and differ from radius_ in the last bit.
    return np.sqrt((B * drop) * (B * (2 - drop)))


@entry_point
def bound(B: Any, spread: Any) -> Any:
    """B, or what stands for it."""
    if len(spread) == 0:
        return B
    return 1.5 * np.sqrt(spread[1] / spread[0]) if spread[0] > 0 else 0.0


@scratch.form(Ball)
def _(m: Any) -> Any:
    return Distance(np.empty(1, m.w.u.dtype), np.empty(2))


@score.form(Ball)
def _(m: Any, x: Any, s: Any) -> Any:
    inside, outside = squares(m.w, m.norm2[0], x)
    s.parts[0], s.parts[1] = inside, outside
    s.scores[0] = radius(bound(m.B, m.spread), m.drop[0]) - np.sqrt(inside + outside)


@learn.form(Ball)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """loss = max(0, |(w, h) - (x, 0)| - B); (w, h) += tau ((x, 0) - (w, h)) / |(w, h) - (x, 0)|."""
    outside, drop, B = s.parts[1], m.drop[0], bound(m.B, m.spread)
    distance, own = np.sqrt(s.parts[0] + outside), radius(B, drop)
    first = len(m.spread) > 0 and m.spread[0] == 0
    if len(m.spread) > 0:
        m.spread[0] += weight
        m.spread[1] += 0.0 if first else weight * (s.parts[0] + outside)
    if distance <= own:
        return PASSIVE
    lifted = np.hypot(distance, B * (1 - drop))
    loss = (distance - own) * ((distance + own) / (lifted + B))  # lifted - B, without cancellation
    share = 1.0 if first else min(1.0, tau(m.variant, weight * m.C, loss, 1.0) / lifted)
    shrink(m.w, 1 - share)
    add(m.w, share, x)
    m.norm2[0] = (1 - share) * (1 - share) * outside + touched(m.w, x)
    m.drop[0] = drop + share * (1 - drop)
    return UPDATED


@blend.form(Ball)
def _(m: Any, other: Any, share: Any) -> Any:
    """The average is not kept with a factor."""
    u, now, scale = m.w.u, other.w.u, other.w.scale[0]
    total = 0.0
    for j in range(len(u)):
        u[j] += share * (scale * now[j] - u[j])
        total += np.float64(u[j]) * np.float64(u[j])
    m.norm2[0] = total
    m.drop[0] += share * (other.drop[0] - m.drop[0])


@parametric
class PAUniclass(Uniclass, PassiveAggressive):
    r"""Passive-aggressive learning of one class: a ball that follows the examples, for telling the usual from the unusual.

    With loss = max(0, |w - x| - epsilon), the centre moves by w += tau (x - w)/|x - w|, where tau is

    * loss for the variant "hard" (PA),
    * min(C, loss) for "I" (PA-I),
    * loss / (1 + 1/(2C)) for "II" (PA-II).

    Without an epsilon the first example is the first centre, and the radius is 1.5 times the root mean square of the distances so far,
    each from before the example was learned from: most of them were within it, whatever the unit of the features.

    With `learn_radius` the radius is learned together with the centre, from 0 up to epsilon, which is then the paper's B: the rule
    runs with radius B on one more coordinate, which is 0 in every x and h in the centre, at first B. The radius is sqrt(B^2 - h^2).

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    >>> from onepass import PAUniclass
    >>> model = PAUniclass(epsilon=1.0).fit([[3.0, 4.0], [3.0, 4.0], [3.0, 4.0], [3.0, 4.0]])
    >>> model.center_
    array([2.4, 3.2])
    >>> model.predict([[3.0, 3.0], [0.0, 0.0]])
    array([ 1, -1])

    >>> model = PAUniclass().fit([[3.0, 4.0], [3.0, 5.0], [4.0, 4.0], [4.0, 5.0]])
    >>> model.predict([[3.5, 4.5], [0.0, 0.0]])
    array([ 1, -1])

    >>> model = PAUniclass(epsilon=5.0, learn_radius=True, variant="hard", max_iter=99).fit([[-1.0], [1.0]])
    >>> round(model.radius_, 2)
    1.02
    """

    epsilon: float | None = parameter(
        None,
        NOT_NEGATIVE,
        None,
        matters=True,
        text="The radius; with `learn_radius`, the largest that it may become. None: 1.5 times the root mean square distance so far.",
    )
    learn_radius: bool = parameter(False, "boolean", text="Whether to learn the radius.")
    _: KW_ONLY
    average: bool | str | float | None = parameter(more="The average takes in the centre after every sixteenth example.")

    def _fields(self, form: str) -> dict[str, Field]:
        return {
            "w": Field("features", foreseen=True),
            "scale": SCALE,
            "norm2": Field("one", exact=True),
            "drop": Field("one", start=0.0 if self.learn_radius else 1.0, exact=True),
            **({"spread": Field("2", exact=True, beside=True)} if self.epsilon is None else {}),
        }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.learn_radius and self.epsilon is None:
            raise ValueError("`learn_radius` needs an epsilon, the largest that the radius may become.")

    def _limits(self, state: State) -> tuple[Array, float]:
        """What the radius is made of: the distances so far, or epsilon."""
        return (state.arrays["spread"], 0.0) if self.epsilon is None else (np.empty(0), float(self.epsilon))

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        w = Scaled(arrays["w"], arrays["scale"])
        return Ball(w, arrays["norm2"], arrays["drop"], *self._limits(state), float(self.C), VARIANTS[self.variant])

    @property
    def center_(self) -> Array:
        """The centre of the class, averaged if `average` is set."""
        state = self._attribute("center_")
        scale = state.dtype.type(self._averaged(state, "scale")[0])
        return scale * self._averaged(state, "w")[1 : state.n_features + 1]

    @property
    def radius_(self) -> float:
        """The radius of the class, averaged if `average` is set."""
        state = self._attribute("radius_")
        spread, B = self._limits(state)
        return float(radius(bound(B, spread), self._averaged(state, "drop")[0]))
