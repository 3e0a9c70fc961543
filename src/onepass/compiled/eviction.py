"""Which support vector goes when the budget is used up."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.book import draw
from onepass.compiled.coefficients import now
from onepass.compiled.compiler import routine
from onepass.compiled.losses import standing

STOP, RANDOM, OLDEST, REDUNDANT = 0, 1, 2, 3
POLICIES = {"stop": STOP, "random": RANDOM, "oldest": OLDEST, "redundant": REDUNDANT}


@routine
def oldest(support: Any, n: Any) -> Any:
    """The slot of the vector that came first."""
    first = 0
    for i in range(1, n):
        if support.born[i] < support.born[first]:
            first = i
    return first


@routine
def victim(m: Any, a: Any, s: Any) -> Any:
    """The slot to be used anew; -1 if none is."""
    support, n = m.support, s.taken[0]
    if support.policy == STOP:
        return -1
    if support.policy == RANDOM:
        return np.int64(draw(support) * n)
    if support.policy == OLDEST:
        return oldest(support, n)
    best, A, highest = 0, now(m.A), -np.inf
    for i in range(n):
        for c in range(len(s.scores)):  # the response with x already among them
            s.work[c] = support.response[c, i] + a * s.step[c] * s.k[i]
        value = standing(m.task, A[:, i], s.work, support.itself[i])
        if value > highest:
            best, highest = i, value
    return best
