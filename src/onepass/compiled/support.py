"""The support set: examples that are kept, and the coefficients of f(x) = sum_i A_i k(x_i, x), a row of A for each score.

A store keeps the examples in slots. `Dense` has a column for each, so that the products of a row with all of them are long loops over
contiguous memory; `Sparse` has a list of entries for each; `Numbered` knows them by their numbers only, for kernel values that are
given. Coefficients change by verbs only, so that their average is exact after every example: of those that are still held, that is,
since a vector that is dropped takes its share of the average with it.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from onepass.compiled.average import FACTOR, Averaged, height, workspace
from onepass.compiled.compiler import OPTIONS, routine
from onepass.compiled.kernels import (
    CHI2,
    COSINE,
    LAPLACIAN,
    Custom,
    Given,
    Kernel,
    add_parts,
    entry_at,
    norm,
    own,
    part,
    similarities,
    spread_out,
)
from onepass.compiled.losses import standing
from onepass.compiled.rows import DenseRow, SparseRow, add, project
from onepass.compiled.rules import PASSIVE, UPDATED, learn, score, score_again, scratch
from onepass.compiled.verb import Form, verb

Dense = namedtuple("Dense", "Z norms")
Sparse = namedtuple("Sparse", "index values length norms")
Numbered = namedtuple("Numbered", "index norms width")  # numbers start anew with each pass over `width` examples

# born: the number of the example in each slot; itself: its kernel value with itself. gram (kernel values of support vectors with each
# other), inverse (that of gram) and response (f at each of them) are empty where no one needs them. guests: slots beyond the budget,
# for a vector that is about to be merged into another or projected on others.
Support = namedtuple("Support", "kernel store born itself book gram inverse response budget guests policy seed")

# The book of a support set: how many slots are taken, how many examples came, how many numbers were drawn, how many vectors gave way
# to others by projection, what was missing when a step found no place (slots, and entries in a slot), and the kind of kernel that
# the norms are for.
SIZE, CAME, DRAWS, EXCHANGES, MORE_SLOTS, MORE_ENTRIES, KIND = 0, 1, 2, 3, 4, 5, 6
BOOK = 7

STOP, RANDOM, OLDEST, REDUNDANT = 0, 1, 2, 3
POLICIES = {"stop": STOP, "random": RANDOM, "oldest": OLDEST, "redundant": REDUNDANT}

# k: the kernel values of x with the vectors in all taken slots; facts: the norm of x, and k(x, x) once `learn` has asked for it;
# step: the direction of the coefficients; work: as long as k at least.
Scratch = namedtuple("Scratch", "scores k taken facts step work")
NORM, OWN = 0, 1


# --- stores ---


@verb(0, 1, 2)
def compare(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> None:
    """out[i] = k(x_i, x) for the first slots, as many as `out` is long; a is the norm of x."""


@verb(0, 2)
def put(store: Any, i: int, x: Any, a: Any, came: int) -> None:
    """Slot i = x, the example number `came`, of norm a."""


@verb(0, 1)
def lacking(store: Any, x: Any) -> int:
    """How many entries a slot needs to hold x, if it has fewer; else 0."""


@verb(0)
def copy_slot(store: Any, i: int, j: int) -> None:
    """Slot j = slot i."""


@verb(0)
def cramped(store: Any, n: int, length: int) -> int:
    """How many entries a slot needs to hold any two of the first n slots, or one and a row of `length`, if it has fewer; else 0."""


@verb(0)
def slot_row(store: Any, i: int, bias: Any) -> Any:
    """What is in slot i, as a row."""


@verb(0)
def mix_slots(store: Any, i: int, h: Any, j: int) -> None:
    """Slot i = h (slot i) + (1 - h) (slot j), but for its norm, where slots are not `cramped`."""


@compare.form(Kernel, Dense, DenseRow)
def _(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> Any:
    if kernel.kind <= COSINE:
        project(store.Z, x, out)
    else:
        out[:] = 0
        for j in range(len(x.values)):
            if x.values[j] != 0:
                add_parts(kernel.kind, x.values[j], store.Z[j + 1, : len(out)], out)
    similarities(kernel, a, store.norms, x.bias * x.bias, out)


@compare.form(Kernel, Dense, SparseRow)
def _(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> Any:
    if kernel.kind <= COSINE:
        project(store.Z, x, out)
    else:
        out[:] = 0
        for i in range(len(x.values)):
            add_parts(kernel.kind, x.values[i], store.Z[x.indices[i] + 1, : len(out)], out)
    similarities(kernel, a, store.norms, x.bias * x.bias, out)


@compare.form(Kernel, Sparse, DenseRow)
def _(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> Any:
    zero = x.values.dtype.type(0)
    alone = a if kernel.kind == LAPLACIAN or kernel.kind == CHI2 else zero  # what x adds where the other row has nothing
    for i in range(len(out)):
        index, values, total = store.index[i], store.values[i], alone
        for p in range(store.length[i]):
            if index[p] < len(x.values):
                entry = x.values[index[p]]
                total += part(kernel.kind, entry, values[p]) - part(kernel.kind, entry, zero)
        out[i] = total
    similarities(kernel, a, store.norms, x.bias * x.bias, out)


@compare.form(Kernel, Sparse, SparseRow)
def _(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> Any:
    zero = x.values.dtype.type(0)
    alone = a if kernel.kind == LAPLACIAN or kernel.kind == CHI2 else zero
    for i in range(len(out)):
        index, values, total, length = store.index[i], store.values[i], alone, store.length[i]
        p, q = 0, 0
        while p < length and q < len(x.values):
            here, there = index[p], x.indices[q]
            if here == there:
                total += part(kernel.kind, x.values[q], values[p]) - part(kernel.kind, x.values[q], zero)
            p += here <= there
            q += there <= here
        out[i] = total
    similarities(kernel, a, store.norms, x.bias * x.bias, out)


for Row in (DenseRow, SparseRow):

    @compare.form(Custom, Dense, Row)
    def _(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> Any:
        dense, other = spread_out(x, kernel.width), np.empty(kernel.width, x.values.dtype)
        for i in range(len(out)):
            for j in range(kernel.width):
                other[j] = store.Z[j + 1, i]
            out[i] = kernel.function(dense, other) + x.bias * x.bias

    @compare.form(Given, Numbered, Row)
    def _(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> Any:
        for i in range(len(out)):
            out[i] = entry_at(x, store.index[i, 0]) + x.bias * x.bias

    @put.form(Dense, Row)
    def _(store: Any, i: Any, x: Any, a: Any, came: Any) -> Any:
        column = store.Z[:, i]
        column[:] = 0
        add(column, 1, x)
        column[0] = 0  # the bias has its own place in the kernel
        store.norms[i] = a

    @put.form(Numbered, Row)
    def _(store: Any, i: Any, x: Any, a: Any, came: Any) -> Any:
        store.index[i, 0] = came % store.width
        store.norms[i] = a

    @lacking.form(Dense, Row)
    @lacking.form(Numbered, Row)
    def _(store: Any, x: Any) -> Any:
        return 0


@put.form(Sparse, SparseRow)
def _(store: Any, i: Any, x: Any, a: Any, came: Any) -> Any:
    p = 0
    for j in range(len(x.values)):
        if x.values[j] != 0:
            store.index[i, p], store.values[i, p] = x.indices[j], x.values[j]
            p += 1
    store.length[i], store.norms[i] = p, a


@put.form(Sparse, DenseRow)
def _(store: Any, i: Any, x: Any, a: Any, came: Any) -> Any:
    p = 0
    for j in range(len(x.values)):
        if x.values[j] != 0:
            store.index[i, p], store.values[i, p] = j, x.values[j]
            p += 1
    store.length[i], store.norms[i] = p, a


@lacking.form(Sparse, SparseRow)
@lacking.form(Sparse, DenseRow)
def _(store: Any, x: Any) -> Any:
    if len(x.values) <= store.index.shape[1]:  # which spares the count
        return 0
    return entries(x) if entries(x) > store.index.shape[1] else 0


@routine
def entries(x: Any) -> Any:
    """How many entries of a row are not 0."""
    count = 0
    for j in range(len(x.values)):
        count += x.values[j] != 0
    return count


@copy_slot.form(Dense)
def _(store: Any, i: Any, j: Any) -> Any:
    for row in range(len(store.Z)):  # here as elsewhere: a slice that is assigned to a slice takes seconds to compile
        store.Z[row, j] = store.Z[row, i]
    store.norms[j] = store.norms[i]


@copy_slot.form(Sparse)
def _(store: Any, i: Any, j: Any) -> Any:
    for p in range(store.length[i]):
        store.index[j, p], store.values[j, p] = store.index[i, p], store.values[i, p]
    store.length[j], store.norms[j] = store.length[i], store.norms[i]


@copy_slot.form(Numbered)
def _(store: Any, i: Any, j: Any) -> Any:
    store.index[j, 0] = store.index[i, 0]
    store.norms[j] = store.norms[i]


@cramped.form(Dense)
def _(store: Any, n: Any, length: Any) -> Any:
    return 0


@cramped.form(Sparse)
def _(store: Any, n: Any, length: Any) -> Any:
    for i in range(n):
        length = max(length, store.length[i])
    return 2 * length if 2 * length > store.index.shape[1] else 0


@slot_row.form(Dense)
def _(store: Any, i: Any, bias: Any) -> Any:
    values = np.empty(len(store.Z) - 1, store.Z.dtype)
    for j in range(len(values)):
        values[j] = store.Z[j + 1, i]
    return DenseRow(values, bias, store.Z.dtype.type(1))


@slot_row.form(Sparse)
def _(store: Any, i: Any, bias: Any) -> Any:
    length = store.length[i]
    return SparseRow(store.index[i, :length], store.values[i, :length], bias, store.values.dtype.type(1))


@mix_slots.form(Dense)
def _(store: Any, i: Any, h: Any, j: Any) -> Any:
    here, there, h = store.Z[:, i], store.Z[:, j], store.Z.dtype.type(h)
    for f in range(len(here)):
        here[f] = h * here[f] + (1 - h) * there[f]


@mix_slots.form(Sparse)
def _(store: Any, i: Any, h: Any, j: Any) -> Any:
    index, values = store.index[i, : store.length[i]].copy(), store.values[i, : store.length[i]].copy()
    other, there = store.index[j], store.values[j]
    h, p, q, n = store.values.dtype.type(h), 0, 0, 0
    while p < len(index) or q < store.length[j]:
        mine = q == store.length[j] or (p < len(index) and index[p] <= other[q])
        theirs = p == len(index) or (q < store.length[j] and other[q] <= index[p])
        store.index[i, n] = index[p] if mine else other[q]
        value = h * values[p] if mine else h - h
        store.values[i, n] = value + (1 - h) * there[q] if theirs else value
        p, q, n = p + mine, q + theirs, n + 1
    store.length[i] = n


# --- coefficients ---


@verb(0)
def now(A: Any) -> Any:
    """The coefficients themselves, to be read only."""


@verb(0)
def push(A: Any, i: int, a: Any, step: Any) -> None:
    """A_i += a step, for one slot i."""


@verb(0)
def push_all(A: Any, a: Any, step: Any, d: Any) -> None:
    """A_i += a d_i step, for the first slots, as many as d is long."""


@verb(0)
def fade(A: Any, factor: Any, n: int) -> None:
    """A_i *= factor, for the first n slots."""


@verb(0)
def amplify(A: Any, i: int, factor: Any) -> None:
    """A_i *= factor, for one slot i."""


@verb(0)
def carry(A: Any, i: int, j: int) -> None:
    """A_j = A_i, averages included."""


@verb(0)
def rescale(A: Any, i: int, factor: Any) -> None:
    """A_i *= factor, averages included; a slot of which nothing is to be left has the factor 0."""


@verb(0)
def share_out(A: Any, i: int, shares: Any) -> None:
    """A_j += shares_j A_i for the first slots, as many as there are shares, averages included."""


@now.form(np.ndarray)
def _(A: Any) -> Any:
    return A


@now.form(Averaged)
def _(A: Any) -> Any:
    return A.now


@push.form(np.ndarray)
def _(A: Any, i: Any, a: Any, step: Any) -> Any:
    for c in range(len(step)):
        A[c, i] += A.dtype.type(a) * step[c]


@push.form(Averaged)
def _(A: Any, i: Any, a: Any, step: Any) -> Any:
    push(A.now, i, a, step)
    if A.clock[FACTOR] > 0:
        push(A.gap, i, a / A.clock[FACTOR], step)


@push_all.form(np.ndarray)
def _(A: Any, a: Any, step: Any, d: Any) -> Any:
    for c in range(len(step)):
        row, by = A[c, : len(d)], A.dtype.type(a) * step[c]
        if by != 0:
            for i in range(len(d)):
                row[i] += by * d[i]


@push_all.form(Averaged)
def _(A: Any, a: Any, step: Any, d: Any) -> Any:
    push_all(A.now, a, step, d)
    if A.clock[FACTOR] > 0:
        push_all(A.gap, a / A.clock[FACTOR], step, d)


@fade.form(np.ndarray)
def _(A: Any, factor: Any, n: Any) -> Any:
    by = A.dtype.type(factor)
    for c in range(len(A)):
        row = A[c, :n]
        for i in range(n):
            row[i] *= by


@fade.form(Averaged)
def _(A: Any, factor: Any, n: Any) -> Any:
    if A.clock[FACTOR] > 0:  # the average stays where it is
        by = A.gap.dtype.type((factor - 1) / A.clock[FACTOR])
        for c in range(len(A.now)):
            gap, row = A.gap[c, :n], A.now[c, :n]
            for i in range(n):
                gap[i] += by * row[i]
    fade(A.now, factor, n)


@amplify.form(np.ndarray)
@rescale.form(np.ndarray)
def _(A: Any, i: Any, factor: Any) -> Any:
    for c in range(len(A)):
        A[c, i] *= A.dtype.type(factor)


@amplify.form(Averaged)
def _(A: Any, i: Any, factor: Any) -> Any:
    if A.clock[FACTOR] > 0:
        for c in range(len(A.now)):
            A.gap[c, i] += A.gap.dtype.type((factor - 1) / A.clock[FACTOR]) * A.now[c, i]
    amplify(A.now, i, factor)


@carry.form(np.ndarray)
def _(A: Any, i: Any, j: Any) -> Any:
    for c in range(len(A)):
        A[c, j] = A[c, i]


@carry.form(Averaged)
def _(A: Any, i: Any, j: Any) -> Any:
    carry(A.now, i, j)
    carry(A.gap, i, j)


@rescale.form(Averaged)
def _(A: Any, i: Any, factor: Any) -> Any:
    rescale(A.now, i, factor)
    rescale(A.gap, i, factor)


@share_out.form(np.ndarray)
def _(A: Any, i: Any, shares: Any) -> Any:
    for c in range(len(A)):
        row, a = A[c, : len(shares)], A[c, i]
        for j in range(len(shares)):
            row[j] += a * shares[j]


@share_out.form(Averaged)
def _(A: Any, i: Any, shares: Any) -> Any:
    share_out(A.now, i, shares)
    share_out(A.gap, i, shares)


# --- scores ---


def expansion(Record: type) -> Callable[[Form], Form]:
    """Give a record with coefficients `A` on a `support` its scores and its work space, and the decorated rule for its steps."""

    def register(rule: Form) -> Form:
        step = numba.njit(**OPTIONS, inline="always")(rule)  # not a function of its own: those are optimised one by one

        def counted(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
            moved = step(m, x, y, weight, s)
            if moved >= PASSIVE:
                m.support.book[CAME] += 1
            return moved

        scratch.form(Record)(_room)
        score.form(Record)(_score)
        score_again.form(Record)(_score_again)
        learn.form(Record)(counted)
        return rule

    return register


def _room(m: Any) -> Any:
    slots, scores = len(m.support.born), height(m.A)
    return Scratch(
        workspace(m.A, scores),
        workspace(m.A, slots),
        np.empty(1, np.int64),
        workspace(m.A, 2),
        workspace(m.A, scores),
        workspace(m.A, max(slots, scores)),
    )


def _score(m: Any, x: Any, s: Any) -> Any:
    support = m.support
    n = min(support.book[SIZE], len(s.k))  # a reader's arrays may be those from before the set grew
    a = norm(support.kernel, x)
    compare(support.kernel, support.store, x, a, s.k[:n])
    s.taken[0], s.facts[NORM] = n, a
    score_again(m, x, s, s)


def _score_again(m: Any, x: Any, s: Any, spare: Any) -> Any:
    k, sound = s.k[: s.taken[0]], s.facts[NORM] < np.inf
    for c in range(len(spare.scores)):
        spare.scores[c] = weigh(now(m.A)[c], k) if sound else np.nan


@routine
def weigh(coefficients: Any, k: Any) -> Any:
    total = k.dtype.type(0)
    for i in range(len(k)):
        total += coefficients[i] * k[i]
    return total


# --- what rules do ---


@routine
def itself(m: Any, x: Any, s: Any) -> Any:
    """k(x, x)"""
    support = m.support
    s.facts[OWN] = own(support.kernel, s.facts[NORM], support.book[CAME], x)
    return s.facts[OWN]


@routine
def full(m: Any) -> Any:
    """Whether the budget is used up."""
    return 0 < m.support.budget <= m.support.book[SIZE]


@routine
def has_capacity(m: Any, x: Any) -> Any:
    """Whether x can be taken in, as far as place goes. To be asked before anything changes."""
    support = m.support
    more = support.guests if full(m) else 1
    support.book[MORE_SLOTS] = support.book[SIZE] + more > len(support.born)
    support.book[MORE_ENTRIES] = lacking(support.store, x)
    return support.book[MORE_SLOTS] == 0 and support.book[MORE_ENTRIES] == 0


@routine
def draw(support: Any) -> Any:
    """A number from U[0, 1): the next of the sequence that the seed names (SplitMix64; Steele, Lea and Flood 2014)."""
    support.book[DRAWS] += 1
    z = np.uint64(support.seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(support.book[DRAWS]) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@routine
def withdraw(response: Any, a: Any, k: Any, n: Any) -> Any:
    """The first n vectors lose what one with the coefficient a and the kernel values k gave them."""
    for j in range(n):
        response[j] -= a * k[j]


@routine
def occupy(m: Any, i: Any, x: Any, factor: Any, s: Any) -> Any:
    """Put x into slot i, the next one or one that is taken, and let the set know about it. Of the coefficients that were there, a
    `factor` is left."""
    support, n = m.support, s.taken[0]
    if i == n:
        s.taken[0] = n = n + 1
        factor = 0.0
    elif support.response.shape[1] > 0:
        for c in range(len(support.response)):
            withdraw(support.response[c], now(m.A)[c, i], support.gram[i], n)
            s.scores[c] -= now(m.A)[c, i] * s.k[i]
    rescale(m.A, i, factor)
    put(support.store, i, x, s.facts[NORM], support.book[CAME])
    support.born[i] = support.book[CAME]
    support.itself[i] = s.k[i] = s.facts[OWN]
    if len(support.gram) > 0:
        for j in range(n):
            support.gram[i, j] = support.gram[j, i] = s.k[j]
    if support.response.shape[1] > 0:
        for c in range(len(support.response)):
            support.response[c, i] = s.scores[c]


@routine
def strengthen(m: Any, i: Any, a: Any, s: Any) -> Any:
    """The coefficients of slot i, where x is, move by a times the direction, and the set is as large as that makes it."""
    push(m.A, i, a, s.step)
    m.support.book[SIZE] = s.taken[0]
    response, n = m.support.response, s.taken[0]
    if response.shape[1] > 0:
        for c in range(len(response)):
            by = response.dtype.type(a) * s.step[c]
            for j in range(n):
                response[c, j] += by * s.k[j]


@routine
def insert(m: Any, x: Any, a: Any, s: Any) -> Any:
    """Take x in, of which `has_capacity` was asked, with a times the direction for coefficients. A full budget gives way as the policy
    says; where it does not, nothing happens. What `learn` answers."""
    i = s.taken[0]
    if full(m):
        i = victim(m, a, s)
        if i < 0:
            return PASSIVE
    occupy(m, i, x, 0.0, s)
    strengthen(m, i, a, s)
    return UPDATED


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


@routine
def shrink_all(m: Any, factor: Any, least: Any, s: Any) -> Any:
    """All coefficients shrink, and vectors that are left with less than `least` are let go; the scores follow."""
    support, n = m.support, s.taken[0]
    fade(m.A, factor, n)
    for c in range(len(s.scores)):
        s.scores[c] *= factor
        if support.response.shape[1] > 0:
            response = support.response[c, :n]
            for i in range(n):
                response[i] *= response.dtype.type(factor)
    A = now(m.A)
    for i in range(n - 1, -1, -1):
        largest = abs(A[0, i])
        for c in range(1, len(A)):
            largest = max(largest, abs(A[c, i]))
        if largest < least:
            release(m, i, s)


@routine
def release(m: Any, i: Any, s: Any) -> Any:
    """Let the vector in slot i go; the last one takes its place."""
    support, last = m.support, s.taken[0] - 1
    for c in range(len(support.response) if support.response.shape[1] > 0 else 0):
        withdraw(support.response[c], now(m.A)[c, i], support.gram[i], last + 1)
        s.scores[c] -= now(m.A)[c, i] * s.k[i]
    if i != last:
        copy_slot(support.store, last, i)
        carry(m.A, last, i)
        support.born[i], support.itself[i] = support.born[last], support.itself[last]
        s.k[i] = s.k[last]
        if len(support.gram) > 0:
            for j in range(last + 1):
                support.gram[i, j] = support.gram[j, i] = support.gram[last, j]
            support.gram[i, i] = support.gram[last, last]
        if support.response.shape[1] > 0:
            carry(support.response, last, i)
    rescale(m.A, last, 0.0)
    support.book[SIZE] = s.taken[0] = last
