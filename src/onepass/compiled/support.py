"""The support set: examples that are kept, and the coefficients of f(x) = sum_i A_i k(x_i, x), a row of A for each score.

The examples are in a store (`compiled/stores.py`), the coefficients behind verbs (`compiled/coefficients.py`);
`compiled/eviction.py` says which one goes when a budget is used up.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from onepass.compiled.average import height, workspace
from onepass.compiled.book import CAME, MORE_ENTRIES, MORE_SLOTS, SIZE
from onepass.compiled.coefficients import carry, fade, now, push, rescale
from onepass.compiled.compiler import OPTIONS, routine
from onepass.compiled.eviction import victim
from onepass.compiled.kernels import norm, own
from onepass.compiled.rules import PASSIVE, UPDATED, learn, score, score_again, scratch
from onepass.compiled.stores import compare, copy_slot, lacking, put
from onepass.compiled.verb import Form

# born: the number of the example in each slot; itself: its kernel value with itself. gram (kernel values of support vectors with each
# other), inverse (that of gram) and response (f at each of them) are empty where no one needs them. guests: slots beyond the budget,
# for a vector that is about to be merged into another or projected on others.
Support = namedtuple("Support", "kernel store born itself book gram inverse response budget guests policy seed")

# k: the kernel values of x with the vectors in all taken slots; facts: the norm of x, and k(x, x) once `learn` has asked for it;
# step: the direction of the coefficients; work: as long as k at least.
Scratch = namedtuple("Scratch", "scores k taken facts step work")
NORM, OWN = 0, 1


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

        scratch.form(Record)(_scratch)
        score.form(Record)(_score)
        score_again.form(Record)(_score_again)
        learn.form(Record)(counted)
        return rule

    return register


def _scratch(m: Any) -> Any:
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
