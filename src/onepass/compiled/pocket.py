"""The pocket: of all weights along the way, those that had the longest run of examples without a step (Gallant 1990)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.average import show, tick
from onepass.compiled.rules import UPDATED, score, scratch
from onepass.compiled.scaled import Scaled
from onepass.compiled.verb import verb

# model: the learner's record with the pocket's weights `best` in place of its own, `now`.
Pocket = namedtuple("Pocket", "model best now runs")

# The present run, the longest one, and whether the present weights are in the pocket.
RUN, LONGEST, KEPT = 0, 1, 2


@verb(0)
def copy_to(w: Any, out: Any) -> None:
    """out = w"""


@copy_to.form(np.ndarray)
def _(w: Any, out: Any) -> Any:
    out[:] = w


@copy_to.form(Scaled)
def _(w: Any, out: Any) -> Any:
    u, flat, scale = w.u.reshape(-1), out.reshape(-1), w.u.dtype.type(w.scale[0])
    for i in range(len(u)):
        flat[i] = scale * u[i]


@scratch.form(Pocket)
def _(average: Any) -> Any:
    return scratch(average.model)


@show.form(Pocket)
def _(average: Any, s: Any, spare: Any, x: Any, out: Any) -> Any:
    score(average.model, x, spare)
    for k in range(len(out)):
        out[k] = spare.scores[k]


@tick.form(Pocket)
def _(average: Any, model: Any, t: Any, moved: Any) -> Any:
    runs = average.runs
    if moved == UPDATED:
        runs[RUN] = runs[KEPT] = 0
        return
    runs[RUN] += 1
    if runs[RUN] > runs[LONGEST]:
        runs[LONGEST] = runs[RUN]
        if not runs[KEPT]:  # weights that have the record already are in the pocket
            copy_to(average.now, average.best)
            runs[KEPT] = 1
