"""One rule for all outputs: a rival z, the difference D = Phi(x, y) - Phi(x, z), and a step along it.

An example with its rival is to a rule what a row with a label is elsewhere: w.D is its margin, and rho, a cost of the errors in z, is
the margin that is wanted. So the steps are those of linear learners, on one row D (Crammer et al. 2006, sections 8 and 9):

    loss = rho - w.D        w <- w + tau D        PA, PA-I, PA-II: tau as for two classes, with |D|^2 for |x|^2

The rival is the output that is predicted, so that only mistakes have loss ("prediction"), or the one of the largest loss ("max_loss").
Rho is the root of the number of errors, as in the paper, their number, or 1 for any; the largest loss with the number of errors is
margin rescaling (Taskar, Guestrin and Koller 2003). Choice of rival and loss always have the same rho.

With several rivals passive-aggressive steps solve min |w' - w|^2 / 2 such that w'.D_j >= rho_j for all of them (k-best MIRA: McDonald,
Crammer and Pereira 2005); other rules take them one after the other (Mejer and Crammer 2010).
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine, spliced
from onepass.compiled.linear import of_one_score, rule
from onepass.compiled.losses import judge, loses_tie
from onepass.compiled.passive_aggressive import ONE, TWO
from onepass.compiled.rows import add, dot, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, scratch
from onepass.compiled.verb import verb
from onepass.linear.passive_aggressive import PA
from onepass.linear.second_order import along, sign
from onepass.structured.contrast import begin, difference, new_book, products
from onepass.structured.problem import COUNT, cost, decode, decode_costly, decode_several, desk, differ, errors, extent, value

# A problem, the rule's record on its weights as one vector, and how rivals are chosen: which, by what cost, and how many.
Structured = namedtuple("Structured", "problem rule max_loss kind rivals")

# Work space: the scores of the parts, and those that the outside sees; that of the decoder, the rivals, their differences, and what the
# rule needs. A, b, alpha: the problem of several rivals.
Room = namedtuple("Room", "parts spare desk outputs book step A b alpha")

# A row and the margin that it should have, in place of a label.
Ordered = namedtuple("Ordered", "length2")
of_one_score(Ordered)


@judge.form(Ordered)
def _(task: Any, scores: Any, wanted: Any, step: Any) -> Any:
    step[0] = 1
    return scores[0], wanted - scores[0]


@loses_tie.form(Ordered)
def _(task: Any, scores: Any, wanted: Any) -> Any:
    return True


@along.form(Ordered)
def _(task: Any, w: Any, scores: Any, wanted: Any) -> Any:
    return w


@sign.form(Ordered)
def _(task: Any, step: Any) -> Any:
    return 1


# The structured perceptron (Collins 2002).
Collins = namedtuple("Collins", "w task")


@rule(Collins)
def _(m: Any, loss: Any, norm2: Any, weight: Any) -> Any:
    """w += D on a mistake."""
    return 1.0


@verb(0)
def room(m: Any, X: Any) -> Any:
    """Work space for all examples of X, with at least `parts`, `spare`, `desk` and `step`."""


@verb(0)
def teach(m: Any, x: Any, y: Any, weight: Any, s: Any) -> int:
    """One step on (x, y), after `weigh`."""


@room.form(Structured)
def _(m: Any, X: Any) -> Any:
    k = m.rivals
    return new_room(extent(m.problem, X), desk(m.problem, X, k, m.max_loss and m.kind != COUNT), k, scratch(m.rule))


@spliced
def new_room(extent: Any, desk: Any, k: Any, step: Any) -> Any:
    """Work space for examples of some extent, and k rivals of each."""
    height, width, length, entries = extent
    numbers = step.scores.dtype
    return Room(
        np.zeros((height, width), numbers),
        np.zeros((height, width), numbers),
        desk,
        np.empty((k, length), np.int64),
        new_book(k, entries, step.scores),
        step,
        np.empty((k, k)),
        np.empty(k),
        np.empty(k),
    )


@teach.form(Structured)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    found = compare(m, x, y, s)
    return step_along(m.rule, found, weight, s) if found >= 0 else TOO_LARGE


@spliced
def compare(m: Any, x: Any, y: Any, s: Any) -> Any:
    """The differences to all rivals, the margins that are wanted and those that they have; how many there are, -1 if any overflows."""
    n = find_rivals(m, x, y, s)
    found, largest = 0, np.sqrt(np.finfo(s.parts.dtype).max)
    right = value(m.problem, x, s.parts, y)
    if not abs(right) < largest:
        return -1
    for j in range(n):
        z = s.outputs[j, : len(y)]
        e = errors(m.problem, x, y, z)
        if e == 0:
            continue
        begin(s.book, found)
        differ(m.problem, x, y, z, s.book)
        wrong = value(m.problem, x, s.parts, z)
        if not (abs(wrong) < largest and sqnorm(difference(s.book, found)) < np.inf):
            return -1
        s.b[found], s.alpha[found] = cost(m.kind, e), right - wrong
        found += 1
    return found


@spliced
def find_rivals(m: Any, x: Any, y: Any, s: Any) -> Any:
    z = s.outputs[0, : len(y)]
    if m.rivals > 1:
        return decode_several(m.problem, x, s.parts, y, m.max_loss, s.desk, s.outputs[:, : len(y)])
    if m.max_loss:
        decode_costly(m.problem, x, s.parts, y, m.kind, s.desk, z)
    else:
        decode(m.problem, x, s.parts, s.desk, z)
    return 1


def _one_by_one(rule: Any, n: Any, weight: Any, s: Any) -> Any:
    moved = PASSIVE
    for j in range(n):
        x = difference(s.book, j)
        s.step.scores[0] = s.alpha[j] if moved == PASSIVE else dot(rule.w, x)
        moved = max(moved, learn(rule, x, s.step.scores.dtype.type(s.b[j]), weight, s.step))
    return moved


@verb(0, otherwise=_one_by_one)
def step_along(rule: Any, n: int, weight: Any, s: Any) -> int:
    """A step along n differences, of which s.b are the wanted margins and s.alpha those that they have."""


@step_along.form(PA)
def _(rule: Any, n: Any, weight: Any, s: Any) -> Any:
    """With b_j = rho_j - w.D_j, the dual is min alpha'A alpha / 2 - b'alpha, alpha >= 0, and A_ij = D_i.D_j; w += sum alpha_j D_j. One
    slack for all rivals bounds the sum of alpha by C (PA-I), or adds 1/(2C) to all of A (PA-II)."""
    if n < 2:
        return _one_by_one_pa(rule, n, weight, s)
    A, b, alpha, C = s.A[:n, :n], s.b[:n], s.alpha[:n], np.float64(weight * rule.C)
    products(s.book, n, A)
    for j in range(n):
        b[j] -= alpha[j]
        alpha[j] = 0
        if rule.variant == TWO:
            for i in range(n):
                A[i, j] += 0.5 / C
    hildreth(A, b, alpha, C if rule.variant == ONE else np.inf)
    moved = PASSIVE
    for j in range(n):
        if alpha[j] > 0:
            add(rule.w, alpha[j], difference(s.book, j))
            moved = UPDATED
    return moved


_one_by_one_pa = routine(_one_by_one)

CLOSE, PATIENCE = 1e-8, 10_000  # as in MSTParser


@routine
def hildreth(A: Any, b: Any, alpha: Any, C: Any) -> Any:
    """The solution alpha, one entry at a time: that with the largest violation. Where the sum of all has reached C, what one entry
    gains another loses."""
    n = len(b)
    spent = 0.0
    for _ in range(PATIENCE):
        up, down = -1, -1
        rise, fall = -np.inf, np.inf
        for j in range(n):
            slope = b[j]
            for i in range(n):
                slope -= A[i, j] * alpha[i]
            if slope > rise and A[j, j] > 1e-12:
                up, rise = j, slope
            if alpha[j] > 0 and slope < fall:
                down, fall = j, slope
        if up < 0 or (rise <= CLOSE and (down < 0 or fall >= -CLOSE)):
            return
        if down >= 0 and -fall > max(rise, CLOSE):  # better less of this one than more of any
            change = max(fall / A[down, down], -alpha[down])
            alpha[down] += change
            spent += change
        elif spent < C:
            change = min(rise / A[up, up], C - spent)
            alpha[up] += change
            spent = C if change == C - spent else spent + change
        else:
            bend = A[up, up] + A[down, down] - 2 * A[up, down]
            if rise - fall <= CLOSE or bend <= 0:
                return
            change = min((rise - fall) / bend, alpha[down])
            alpha[up] += change
            alpha[down] -= change
