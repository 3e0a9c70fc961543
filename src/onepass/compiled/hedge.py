"""Candidates side by side in one pass, weighted by their losses so far (hedge).

Candidates are one learner with several values of a parameter. All of them learn from every example, and the score is the sum of theirs,
weighted by shares: p_i <- p_i exp(-eta loss_i), loss_i in [0, 1] being that of its prediction, made before it learned. A part of all
shares is spread evenly again, so that a candidate that was bad for long can come back soon when the stream drifts.

A value of the parameter may be relative to the size of the rows: then it is divided by their mean |x|^2 so far.

Y. Freund, R. Schapire: A decision-theoretic generalization of on-line learning and an application to boosting. Journal of Computer and
System Sciences 55 (1997), 119-139. M. Herbster, M. Warmuth: Tracking the best expert. Machine Learning 32 (1998), 151-178.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.average import at
from onepass.compiled.compiler import routine, to_the_letter
from onepass.compiled.losses import judge
from onepass.compiled.rows import sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, blend, combine, learn, refuses, score, scratch, seat
from onepass.compiled.verb import verb

ETA, SPREAD = 0.5, 1e-4

# model: the record of the learner, of which all arrays have one axis more, the first, for the candidates; stakes: what a prediction
# costs; shares: the weights of the candidates; size: the sum of |x|^2 and the number of examples, or nothing if size does not matter.
Hedged = namedtuple("Hedged", "model stakes shares size")

# Stakes: margins, or the price of each label in place of each, at most 1.
Margins = namedtuple("Margins", "task")
Prices = namedtuple("Prices", "prices")

# scores: those of all candidates, one after the other; shown: those that the outside would see of each; parts: the work space of each,
# with an axis more; losses, step: work space of the shares.
SideBySide = namedtuple("SideBySide", "scores shown parts losses step")


@verb(0)
def candidate(model: Any, i: int) -> Any:
    """The record of candidate i."""


def candidates(Record: Any, varying: str) -> None:
    """Give a record candidates, which differ in these of its fields: arrays with an axis for them, in front of all others."""
    fields = ", ".join(f"at(m.{name}, i)" if name in varying.split() else f"m.{name}" for name in Record._fields)
    # Numba knows neither `_replace` nor keywords that are made up at run time.
    candidate.form(Record)(eval(f"lambda m, i: Record({fields})", {"Record": Record, "at": at}))


@verb(0)
def side_by_side(s: Any, n: int) -> Any:
    """Work space for n candidates, where s is that of one."""


@verb(0)
def part(s: Any, i: int) -> Any:
    """The work space of candidate i."""


@verb(0)
def loss_of(stakes: Any, scores: Any, y: Any, step: Any) -> Any:
    """The loss of a prediction, from 0 to 1; `step` is work space."""


@loss_of.form(Margins)
def _(stakes: Any, scores: Any, y: Any, step: Any) -> Any:
    """(1 - margin) / 2, at least 0 and at most 1: half of it for a margin of 0."""
    margin, _ = judge(stakes.task, scores, y, step)
    return min(max((1 - margin) / 2, 0.0), 1.0)


@loss_of.form(Prices)
def _(stakes: Any, scores: Any, y: Any, step: Any) -> Any:
    if len(scores) == 1:
        return stakes.prices[np.int64(y > 0), np.int64(scores[0] >= 0)]
    best = 0
    for k in range(1, len(scores)):
        if scores[k] > scores[best]:
            best = k
    return stakes.prices[np.int64(y), best]


@scratch.form(Hedged)
def _(m: Any) -> Any:
    parts = side_by_side(scratch(candidate(m.model, 0)), len(m.shares))
    flat = parts.scores.reshape(-1)
    return SideBySide(flat, np.empty_like(flat), parts, np.empty(len(m.shares)), np.empty_like(parts.scores[0]))


@score.form(Hedged)
def _(m: Any, x: Any, s: Any) -> Any:
    for i in range(len(m.shares)):
        score(candidate(m.model, i), x, part(s.parts, i))


@seat.form(Hedged)
def _(m: Any, s: Any, out: Any) -> Any:
    return s.shown


@combine.form(Hedged)
def _(m: Any, s: Any, out: Any) -> Any:
    add_up(m.shares, s.shown, out)


@to_the_letter
def add_up(shares: Any, shown: Any, out: Any) -> Any:
    """Candidate by candidate: the form for many classes, of which the scores lie apart, has the bits of that for two."""
    width = len(out)
    for k in range(width):
        total = out.dtype.type(0)
        for i in range(len(shares)):
            total += out.dtype.type(shares[i]) * shown[i * width + k]
        out[k] = total


@learn.form(Hedged)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    pace, norm2 = 1.0, 0.0
    if len(m.size) > 0:
        norm2 = np.float64(sqnorm(x))
        if not m.size[0] + norm2 < np.inf:
            return TOO_LARGE
        if m.size[0] + norm2 > 0:
            pace = (m.size[1] + 1) / (m.size[0] + norm2)
    for i in range(len(m.shares)):
        if refuses(candidate(m.model, i), x, y, part(s.parts, i)):
            return TOO_LARGE
    moved = PASSIVE
    for i in range(len(m.shares)):
        step = learn(candidate(m.model, i), x, y, weight * pace, part(s.parts, i))
        if step < PASSIVE:  # which x alone decides from here on: no candidate before has moved
            return step
        moved = max(moved, step)
    if len(m.size) > 0:
        m.size[0] += norm2
        m.size[1] += 1
    weigh(m, y, weight, s)
    return moved


@routine
def weigh(m: Any, y: Any, weight: Any, s: Any) -> Any:
    """The shares after an example. They are written when all are known: a reader meanwhile sees old ones and new ones, never half-made
    ones."""
    n, width = len(m.shares), len(s.step)
    least, most = np.inf, -np.inf
    for i in range(n):
        s.losses[i] = loss_of(m.stakes, s.shown[i * width : (i + 1) * width], y, s.step)
        least, most = min(least, s.losses[i]), max(most, s.losses[i])
    if least == most:
        return
    total = 0.0
    for i in range(n):
        s.losses[i] = m.shares[i] * np.exp(-ETA * weight * (s.losses[i] - least))
        total += s.losses[i]
    for i in range(n):
        m.shares[i] = (1 - SPREAD) * s.losses[i] / total + SPREAD / n


@blend.form(Hedged)
def _(m: Any, other: Any, share: Any) -> Any:
    blend(m.model, other.model, share)
