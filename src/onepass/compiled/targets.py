"""Targets in units of their own: how many deviations they are from their mean, both as they are so far.

A rule whose steps have a length in absolute terms (C, rate, epsilon) can't know whether targets are prices or parts of one. Here it
never sees them: it learns z = (y - mean)/deviation, with the row itself in the mean and the deviation, so that |z| is at most the root
of the number of rows, whatever comes. What it says is shown as mean + deviation * score, by what was known before the row.

B. P. Welford: Note on a method for calculating corrected sums of squares and products. Technometrics 4 (1962), 419-420.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, to_the_letter
from onepass.compiled.rules import PASSIVE, TOO_LARGE, blend, combine, learn, score, score_again, scratch, seat

# moments, float64: the sum of the weights, the mean, and the weighted sum of squares around it; centred: 1, or 0 for a model that goes
# through the origin: then the mean stays 0, and the deviation is that from 0.
Standardised = namedtuple("Standardised", "model moments centred")
TOTAL, MEAN, SQUARES = 0, 1, 2


@entry_point
def deviation(moments: Any) -> Any:
    """0 while all targets are the same, or there are none."""
    return np.sqrt(moments[SQUARES] / moments[TOTAL]) if moments[SQUARES] > 0 else 0.0


# To the letter, or two products and sums might be fused into one operation in one loop and not in another.
@to_the_letter
def with_target(moments: Any, centred: Any, y: Any, weight: Any) -> Any:
    """The moments after one more target."""
    total = moments[TOTAL] + weight
    gap = y - moments[MEAN]
    mean = moments[MEAN] + centred * (gap * (weight / total))
    return total, mean, moments[SQUARES] + weight * (gap * (y - mean))


@to_the_letter
def in_units(mean: Any, unit: Any, value: Any) -> Any:
    return mean + unit * value


@scratch.form(Standardised)
def _(m: Any) -> Any:
    return scratch(m.model)


@score.form(Standardised)
def _(m: Any, x: Any, s: Any) -> Any:
    score(m.model, x, s)


@score_again.form(Standardised)
def _(m: Any, x: Any, s: Any, spare: Any) -> Any:
    score_again(m.model, x, s, spare)


@seat.form(Standardised)
def _(m: Any, s: Any, out: Any) -> Any:
    return seat(m.model, s, out)


@combine.form(Standardised)
def _(m: Any, s: Any, out: Any) -> Any:
    combine(m.model, s, out)
    out[0] = in_units(m.moments[MEAN], deviation(m.moments), np.float64(out[0]))


@learn.form(Standardised)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    total, mean, squares = with_target(m.moments, m.centred, np.float64(y), np.float64(weight))
    unit = np.sqrt(squares / total)
    if not abs(mean) + unit < np.sqrt(np.finfo(s.scores.dtype).max):
        return TOO_LARGE
    z = (y - mean) / unit if unit > 0 else 0.0
    moved = learn(m.model, x, s.scores.dtype.type(z), weight, s)
    if moved >= PASSIVE:
        m.moments[TOTAL], m.moments[MEAN], m.moments[SQUARES] = total, mean, squares
    return moved


@blend.form(Standardised)
def _(m: Any, other: Any, share: Any) -> Any:
    """The moments belong to the targets, not to the weights: predictions always use the latest."""
    blend(m.model, other.model, share)
