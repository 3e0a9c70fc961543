"""Ranks: labels that have an order.

K. Crammer, Y. Singer: Pranking with ranking. NIPS 14 (2001), 641-647.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Field, State
from onepass.base.parameters import parameter, parametric
from onepass.base.state import Array
from onepass.compiled.compiler import routine
from onepass.compiled.rows import add, dot, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, blend, learn, mix, score, scratch

# b: the thresholds between neighbours, that below label r at r; of two labels, the only one. It is infinite for a label that comes up
# beyond all others: while that is not learned from, nothing is said of it.
UNHEARD = 1e9  # so low is its score at least
Ranks = namedtuple("Ranks", "w b")

# value: w.x, one entry.
Scratch = namedtuple("Scratch", "scores value")


@routine
def thresholds(b: Any) -> Any:
    return b[1:] if len(b) > 1 else b


@routine
def rank(b: Any, value: Any) -> Any:
    """The smallest r with w.x < b_r, counted from 0."""
    r = 0
    while r < len(b) and value >= b[r]:
        r += 1
    return r


@scratch.form(Ranks)
def _(m: Any) -> Any:
    K = len(m.b)
    return Scratch(np.empty(K, m.w.dtype), np.empty(1, m.w.dtype))


@score.form(Ranks)
def _(m: Any, x: Any, s: Any) -> Any:
    """Half of how far w.x is from the nearest threshold of each rank: above 0 for the one that is predicted, and for no other. On a
    threshold it is the upper one."""
    b, kind = thresholds(m.b), m.w.dtype.type
    value = s.value[0] = dot(m.w, x)
    if len(s.scores) == 1:
        s.scores[0] = value - kind(b[0])
        return
    for r in range(len(s.scores)):
        below = value - kind(b[r - 1]) if r > 0 else kind(np.inf)
        above = kind(b[r]) - value if r < len(b) else kind(np.inf)
        s.scores[r] = max(min(below, above) / 2, -kind(UNHEARD))
    found = rank(b, value)
    s.scores[found] = max(s.scores[found], kind(np.finfo(m.w.dtype).tiny))


@learn.form(Ranks)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """On a mistake, with y_r = 1 for the thresholds below y and -1 for the others, and tau_r = y_r where y_r (w.x - b_r) <= 0, else 0:
    w += (sum tau_r) x, b_r -= tau_r."""
    b, value = thresholds(m.b), s.value[0]
    true = (1 if y > 0 else 0) if len(s.scores) == 1 else int(y)
    if rank(b, value) == true:
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    settle(b, b)
    total = 0
    for r in range(len(b)):
        side = 1 if r < true else -1
        if side * (value - b[r]) <= 0:
            total += side
            b[r] -= side
    add(m.w, m.w.dtype.type(total), x)
    return UPDATED


@routine
def settle(b: Any, like: Any) -> Any:
    """Thresholds of labels that are new at an end, which are infinite, go where they are in `like`, or where the nearest is."""
    for r in range(1, len(b)):
        if b[r] == np.inf:
            b[r] = max(b[r - 1], like[r]) if like[r] < np.inf else b[r - 1]
    for r in range(len(b) - 2, -1, -1):
        if b[r] == -np.inf:
            b[r] = min(b[r + 1], like[r]) if like[r] > -np.inf else b[r + 1]


@blend.form(Ranks)
def _(m: Any, other: Any, share: Any) -> Any:
    settle(thresholds(m.b), thresholds(other.b))
    mix(m.w, other.w, share)
    mix(m.b, other.b, share)


@parametric
class PRank(Classifier):
    r"""Ranks, labels that have an order: one score w.x, and a threshold between each label and the next.

    With thresholds b_1 <= ... <= b_(K-1), the rank of x is the smallest r with w.x < b_r, and K if there is none. On a mistake, for
    each threshold, y_r is 1 if the rank should be above it and -1 if not, and those on the wrong side of w.x move past it:

        tau_r = y_r  if  y_r (w.x - b_r) <= 0,  else 0;        w += (sum tau_r) x,        b_r -= tau_r.

    So a rank that is far off moves more than a neighbour, and thresholds stay in order by themselves. Labels have the order of their
    values: 1 to 5 stars, not "bad" and "good". The score of a label is how far w.x is from the nearest end of its interval.

    A label that comes later, beyond the others or between, brings a threshold that is where the nearest is. There is no loss to weigh,
    so sample weights may only be 0 or 1.

    References
    ----------
    K. Crammer, Y. Singer: Pranking with ranking. NIPS 14 (2001), 641-647.

    Examples
    --------
    >>> from onepass import PRank
    >>> X, stars = [[0.1], [0.9], [0.5], [0.2], [0.8], [0.6]], [1, 3, 2, 1, 3, 2]
    >>> model = PRank(max_iter=200).fit(X, stars)
    >>> model.predict([[0.0], [0.55], [1.0]])
    array([1, 2, 3])
    >>> bool(model.thresholds_[0] <= model.thresholds_[1])
    True
    """

    _: KW_ONLY
    fit_intercept: bool = parameter(False, more="The thresholds are intercepts already.")

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {"w": Field("features"), "b": Field("one", exact=True)},
        "multiclass": {"w": Field("features"), "b": Field("classes", exact=True, turn="copy")},
    }

    @property
    def coef_(self) -> Array:
        """The weights that predict, which all ranks share."""
        state = self._attribute("coef_")
        return self._averaged(state, "w")[1 : state.n_features + 1].copy()

    @property
    def thresholds_(self) -> Array:
        """The thresholds between each label and the next that predict, in ascending order."""
        b = self._averaged(self._attribute("thresholds_"), "b")
        return b[1:].copy() if len(b) > 1 else b.copy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on labels that have no order
        return tags

    def _weights_are_switches(self) -> bool:
        return True  # steps of other lengths than 1 would put thresholds out of order

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Ranks(arrays["w"], arrays["b"])

    def _admit(self, state: State, target: Any) -> tuple[State, Any]:
        state, k = super()._admit(state, target)
        for name in ("b", "mean.b"):
            if state.form == "multiclass" and name in state.arrays:
                b = state.arrays[name]
                if k == 0:
                    b[:2] = 0, -np.inf
                else:
                    b[k] = b[k + 1] if k + 1 < len(b) else np.inf
        return state, k
