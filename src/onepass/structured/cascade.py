"""Two problems, one after the other: trees, and then the relations of their arcs, which depend on the tree.

The second learns on the right output of the first, and is asked about the one that was predicted. Both have the same weights and the
same rule, and an example is one step of the average. An output is two numbers in one: that of the first problem, and SPAN times one
more than that of the second, or nothing more where there is none.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.average import Lazy, NoAverage
from onepass.compiled.compiler import entry_point, spliced
from onepass.compiled.rows import row
from onepass.compiled.rules import TOO_LARGE
from onepass.compiled.verb import verb
from onepass.structured.loop import foretell, prepare
from onepass.structured.relations import tree_of
from onepass.structured.rules import compare, room, step_along, teach

SPAN = 1 << 32

# Of two problems, or of two `Structured`.
Cascade = namedtuple("Cascade", "first second")
Rooms = namedtuple("Rooms", "first second step firsts seconds")


@verb(0)
def first_of(average: Any) -> Any:
    """The average as the first problem sees it."""


@verb(0)
def second_of(average: Any) -> Any:
    """The average as the second problem sees it."""


@first_of.form(NoAverage)
@second_of.form(NoAverage)
def _(average: Any) -> Any:
    return average


@first_of.form(Lazy)
def _(average: Any) -> Any:
    return Lazy(average.lag.first, average.gap, average.clock)


@second_of.form(Lazy)
def _(average: Any) -> Any:
    return Lazy(average.lag.second, average.gap, average.clock)


@room.form(Cascade)
def _(m: Any, X: Any) -> Any:
    first, second = room(m.first, X), room(m.second, X)
    n = first.outputs.shape[1]
    return Rooms(first, second, first.step, np.empty(n, np.int64), np.empty(n, np.int64))


@prepare.form(Cascade)
def _(m: Any, x: Any, s: Any) -> Any:
    return prepare(m.first, x, s.first)


@foretell.form(Cascade)
def _(m: Any, average: Any, x: Any, s: Any, n: Any, z: Any) -> Any:
    if not foretell(m.first, first_of(average), x, s.first, n, z):
        return False
    return m.second.problem.n == 0 or foretell_second(m.second, second_of(average), x, s.second, s.seconds, z)


@spliced
def foretell_second(m: Any, average: Any, x: Any, s: Any, seconds: Any, z: Any) -> Any:
    """Add the output of the second problem to z, which is that of the first; whether its score is a number."""
    tree, found = tree_of(x, z), seconds[: len(z)]
    fine = foretell(m, average, tree, s, prepare(m, tree, s), found)
    for i in range(len(z)):
        z[i] += SPAN * (found[i] + 1)
    return fine


@entry_point
def run_second(m: Any, average: Any, X: Any, outputs: Any, scores: Any) -> None:
    """Add the outputs of the second problem to several of the first, those of an example that have scores."""
    s = room(m, X)
    seconds = np.empty(s.outputs.shape[1], np.int64)
    for t in range(len(scores)):
        x = row(X, t)
        for i in range(scores.shape[1]):
            if scores[t, i] == scores[t, i]:
                foretell_second(m, average, x, s, seconds, outputs[i, X.offsets[t] : X.offsets[t + 1]])


@teach.form(Cascade)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Both are compared before either moves: an example that is refused changes nothing."""
    n = len(y)
    firsts, seconds = s.firsts[:n], s.seconds[:n]
    for i in range(n):
        firsts[i], seconds[i] = y[i] % SPAN, y[i] // SPAN - 1
    found, more = compare(m.first, x, firsts, s.first), 0
    if n > 0 and seconds[0] >= 0:
        tree = tree_of(x, firsts)
        prepare(m.second, tree, s.second)
        more = compare(m.second, tree, seconds, s.second)
    if found < 0 or more < 0:
        return TOO_LARGE
    moved = step_along(m.first.rule, found, weight, s.first)
    return max(moved, step_along(m.second.rule, more, weight, s.second))
