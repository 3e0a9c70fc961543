"""Averages of the weights along the way (Polyak-Ruppert and its kin).

An average is known by one function, `keep(clock, s, t)`: the share of the average after s examples that is left in the average
after t. There are three kinds:

* uniform: every weight vector counts the same, keep = s/t (Polyak and Juditsky 1992);
* polynomial decay, eta = 3: forgets the start, keep = s(s+1)(s+2)(s+3) / (t(t+1)(t+2)(t+3)) (Shamir and Zhang 2013);
* half-life H: keep = 2^-((t-s)/H), for streams that drift.

A learner whose only change is `add(w, a, x)` averages after every example in O(nnz). With v = w - average, a step w += d gives
v <- keep (v + d). Written as v = c q with one running factor c, that is q += d/c and then c *= keep: q changes only where x is
not zero. `Averaged` holds w and q (`gap`) behind the verbs that rules use, and the score of the average is w.x - c q.x.

Every other state is blended as a whole, every `stride` examples (`Strided`).
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.rows import DenseRow, SparseRow, add, dot
from onepass.compiled.rules import blend, score, score_again, scratch
from onepass.compiled.verb import verb

UNIFORM, DECAY, HALF_LIFE = 0, 1, 2

# The clock of an average, float64: FACTOR is c (0 before the first example), LAST the t of the last blend.
FACTOR, LAST, KIND, LIFE = 0, 1, 2, 3

Averaged = namedtuple("Averaged", "now gap clock")

NoAverage = namedtuple("NoAverage", "none")
Lazy = namedtuple("Lazy", "lag gap clock")  # lag: the learner's record with `gap` in place of its weights
Strided = namedtuple("Strided", "model clock stride")  # model: the learner's record with averages in place of its arrays


@routine
def keep(clock: Any, s: Any, t: Any) -> Any:
    """The share of the average after s examples that is left after t."""
    if s == 0:
        return 0.0
    if clock[KIND] == UNIFORM:
        return s / t
    if clock[KIND] == DECAY:
        return (s / t) * ((s + 1) / (t + 1)) * ((s + 2) / (t + 2)) * ((s + 3) / (t + 3))
    return 0.5 ** ((t - s) / clock[LIFE])


# --- weights behind the verbs ---


@verb(0)
def at(W: Any, k: int) -> Any:
    """Row k of a matrix of weights, as weights."""


@verb(0)
def height(W: Any) -> int:
    """The number of rows of a matrix of weights."""


@verb(0)
def workspace(w: Any, n: int) -> Any:
    """An array of n entries, of the type of the weights."""


@workspace.form(np.ndarray)
def _(w: Any, n: Any) -> Any:
    return np.empty(n, w.dtype)


@workspace.form(Averaged)
def _(w: Any, n: Any) -> Any:
    return np.empty(n, w.now.dtype)


@at.form(np.ndarray)
def _(W: Any, k: Any) -> Any:
    return W[k]


@at.form(Averaged)
def _(W: Any, k: Any) -> Any:
    return Averaged(W.now[k], W.gap[k], W.clock)


@height.form(np.ndarray)
def _(W: Any) -> Any:
    return W.shape[0]


@height.form(Averaged)
def _(W: Any) -> Any:
    return W.now.shape[0]


for Row in (DenseRow, SparseRow):

    @dot.form(Averaged, Row)
    def _(w: Any, x: Any) -> Any:
        return dot(w.now, x)

    @add.form(Averaged, Row)
    def _(w: Any, a: Any, x: Any) -> Any:
        add(w.now, a, x)
        if w.clock[FACTOR] > 0:  # the average of one weight vector is that vector: nothing to lag behind yet
            add(w.gap, a / w.clock[FACTOR], x)


# --- what the loop asks of an average ---


@verb(0)
def show(average: Any, s: Any, spare: Any, x: Any, out: Any) -> None:
    """out = the scores that the outside sees: the average's, where there is one. `s` holds those of the present weights;
    `spare` is the average's own `scratch`."""


@verb(0)
def tick(average: Any, model: Any, t: int, moved: int) -> None:
    """The t-th example has been learned, and the weights may have moved: take them into the average."""


@scratch.form(NoAverage)
def _(average: Any) -> Any:
    return 0


@show.form(NoAverage)
def _(average: Any, s: Any, spare: Any, x: Any, out: Any) -> Any:
    for k in range(len(out)):
        out[k] = s.scores[k]


@tick.form(NoAverage)
def _(average: Any, model: Any, t: Any, moved: Any) -> Any:
    pass


@scratch.form(Lazy)
def _(average: Any) -> Any:
    return scratch(average.lag)


@show.form(Lazy)
def _(average: Any, s: Any, spare: Any, x: Any, out: Any) -> Any:
    score_again(average.lag, x, s, spare)
    factor = out.dtype.type(average.clock[FACTOR])
    for k in range(len(out)):
        out[k] = s.scores[k] - factor * spare.scores[k]


@tick.form(Lazy)
def _(average: Any, model: Any, t: Any, moved: Any) -> Any:
    clock = average.clock
    clock[FACTOR] = clock[FACTOR] * keep(clock, t - 1, t) if t > 1 else 1.0
    if clock[FACTOR] < 1e-12:  # fold c into q before it underflows: O(d), once in forty half-lives
        gap = average.gap.reshape(-1)
        for i in range(len(gap)):
            gap[i] *= clock[FACTOR]
        clock[FACTOR] = 1.0


@scratch.form(Strided)
def _(average: Any) -> Any:
    return scratch(average.model)


@show.form(Strided)
def _(average: Any, s: Any, spare: Any, x: Any, out: Any) -> Any:
    score(average.model, x, spare)
    for k in range(len(out)):
        out[k] = spare.scores[k]


@tick.form(Strided)
def _(average: Any, model: Any, t: Any, moved: Any) -> Any:
    if t < average.stride or t % average.stride == 0:
        blend(average.model, model, 1.0 - keep(average.clock, average.clock[LAST], t))
        average.clock[LAST] = t
