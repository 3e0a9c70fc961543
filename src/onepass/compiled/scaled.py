"""Weights with a common factor, w = scale u, for rules that shrink all weights at once: one multiplication instead of d.

Their average (see `average`) is kept as share u - c q. A step w += d is u += d/scale; the average stays where it is if
q += share d / (scale c). With keep = k, taking w into the average is share <- k share + (1 - k) scale and c <- k c. Where scale is
always 1, so is share, and this is `Averaged`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numba.core.extending import register_jitable

from onepass.compiled.average import FACTOR, at, height, keep, show, tick, workspace
from onepass.compiled.compiler import routine
from onepass.compiled.rows import DenseRow, SparseRow, add, dot
from onepass.compiled.rules import score, scratch
from onepass.compiled.verb import verb

Scaled = namedtuple("Scaled", "u scale")
AveragedScaled = namedtuple("AveragedScaled", "u scale gap share clock")
LazyScaled = namedtuple("LazyScaled", "lag weights")  # lag: the learner's record with the gap in place of its weights


@verb(0)
def shrink(w: Any, factor: Any) -> None:
    """w *= factor"""


@shrink.form(Scaled)
def _(w: Any, factor: Any) -> Any:
    w.scale[0] *= factor
    if not 1e-12 < abs(w.scale[0]) < 1e12:  # before entries of u leave the range of float32
        scale_entries(w.u, w.scale[0])
        w.scale[0] = 1


@shrink.form(AveragedScaled)
def _(w: Any, factor: Any) -> Any:
    w.scale[0] *= factor
    if not 1e-3 < abs(w.scale[0]) < 1e3:  # far from 1, share u and c q become large numbers with a small difference
        rebase(w)


@verb(0)
def resize(w: Any, factor: Any) -> None:
    """w *= factor, and with it all that its average is made of."""


@resize.form(Scaled)
def _(w: Any, factor: Any) -> Any:
    shrink(w, factor)


@resize.form(AveragedScaled)
def _(w: Any, factor: Any) -> Any:
    w.scale[0] *= factor
    w.share[0] *= factor
    w.clock[FACTOR] *= factor
    rebase(w)


@routine
def rebase(w: Any) -> Any:
    """Bring scale, share and c back to 1 without changing the weights or their average."""
    scale, share, factor = w.scale[0], w.share[0], w.clock[FACTOR]
    if factor > 0:
        u, gap = w.u.reshape(-1), w.gap.reshape(-1)
        for i in range(len(u)):
            gap[i] = (scale - share) * u[i] + factor * gap[i]
        w.clock[FACTOR] = 1
    scale_entries(w.u, scale)
    w.scale[0] = w.share[0] = 1


@routine
def scale_entries(u: Any, factor: Any) -> Any:
    flat, factor = u.reshape(-1), u.dtype.type(factor)
    for i in range(len(flat)):
        flat[i] *= factor


@verb(0)
def centre(w: Any) -> None:
    """Take what all rows of a matrix of weights have in common away, and from its average, too; a vector stays as it is."""


@centre.form(Scaled)
def _(w: Any) -> Any:
    centre_rows(w.u)


@centre.form(AveragedScaled)
def _(w: Any) -> Any:
    centre_rows(w.u)
    centre_rows(w.gap)


@routine
def centre_rows(u: Any) -> Any:
    if u.ndim == 2:
        for j in range(u.shape[1]):
            total = 0.0
            for k in range(u.shape[0]):
                total += u[k, j]
            mean = u.dtype.type(total / u.shape[0])
            for k in range(u.shape[0]):
                u[k, j] -= mean


@verb(0)
def length2(w: Any) -> Any:
    """|w|^2, of all rows as one vector, in float64."""


@length2.form(Scaled)
@length2.form(AveragedScaled)
def _(w: Any) -> Any:
    return sum_of_squares(w.u, w.scale[0])


@register_jitable(nogil=True, error_model="numpy", fastmath=False, forceinline=True)  # an entry's own would go over to it
def sum_of_squares(u: Any, scale: Any) -> Any:
    """Entry by entry, so that spare room, which is zeros at the end of a row, does not change the last bit."""
    flat, total = u.reshape(-1), 0.0
    for i in range(len(flat)):
        total += np.float64(flat[i]) * np.float64(flat[i])
    return scale * scale * total


@workspace.form(Scaled)
@workspace.form(AveragedScaled)
def _(w: Any, n: Any) -> Any:
    return np.empty(n, w.u.dtype)


@height.form(Scaled)
@height.form(AveragedScaled)
def _(W: Any) -> Any:
    return W.u.shape[0]


@at.form(Scaled)
def _(W: Any, k: Any) -> Any:
    return Scaled(W.u[k], W.scale)


@at.form(AveragedScaled)
def _(W: Any, k: Any) -> Any:
    return AveragedScaled(W.u[k], W.scale, W.gap[k], W.share, W.clock)


for Row in (DenseRow, SparseRow):

    @dot.form(Scaled, Row)
    @dot.form(AveragedScaled, Row)
    def _(w: Any, x: Any) -> Any:
        return w.u.dtype.type(w.scale[0]) * dot(w.u, x)

    @add.form(Scaled, Row)
    def _(w: Any, a: Any, x: Any) -> Any:
        add(w.u, a / w.scale[0], x)

    @add.form(AveragedScaled, Row)
    def _(w: Any, a: Any, x: Any) -> Any:
        add(w.u, a / w.scale[0], x)
        if w.clock[FACTOR] > 0:
            add(w.gap, w.share[0] * a / (w.scale[0] * w.clock[FACTOR]), x)


@scratch.form(LazyScaled)
def _(average: Any) -> Any:
    return scratch(average.lag)


@show.form(LazyScaled)
def _(average: Any, s: Any, spare: Any, x: Any, out: Any) -> Any:
    score(average.lag, x, spare)
    w = average.weights
    ratio, factor = out.dtype.type(w.share[0] / w.scale[0]), out.dtype.type(w.clock[FACTOR])
    if factor == 0:  # nothing has been learned yet
        ratio = out.dtype.type(1)
    for k in range(len(out)):
        out[k] = ratio * s.scores[k] - factor * spare.scores[k]


@tick.form(LazyScaled)
def _(average: Any, model: Any, t: Any, moved: Any) -> Any:
    w = average.weights
    if t == 1:
        w.clock[FACTOR], w.share[0] = 1, w.scale[0]
        return
    rest = keep(w.clock, t - 1, t)
    w.clock[FACTOR] *= rest
    w.share[0] = rest * w.share[0] + (1 - rest) * w.scale[0]
    if w.clock[FACTOR] < 1e-12:
        rebase(w)
