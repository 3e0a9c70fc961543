"""Projections in the space of a kernel: on the span of the support vectors, by the inverse of their Gram matrix.

The inverse grows and shrinks with the set by rank-one steps, in O(n^2). What such steps lose to rounding adds up, so that it is worked
out anew from the Gram matrix once in as many exchanges as there are slots: O(n^2) each again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.average import Averaged
from onepass.compiled.book import EXCHANGES, SIZE
from onepass.compiled.coefficients import now, push_all, share_out
from onepass.compiled.compiler import routine
from onepass.compiled.support import OWN, occupy, strengthen
from onepass.compiled.verb import verb

# A vector whose squared distance from the span of others is at most this share of its squared length is taken to lie in it: the Gram
# matrix of one that came twice has no inverse, and with 1e-8 rounding makes a large set of near vectors worse than a small one.
LEAST = 1e-5

# The share of the largest eigenvalue below which others are left out.
NEGLIGIBLE = 1e-8


@routine
def coordinates(support: Any, k: Any, out: Any) -> Any:
    """out = K^-1 k: the coordinates of the projection of x."""
    n = len(k)
    for i in range(n):
        row, total = support.inverse[i, :n], k.dtype.type(0)
        for j in range(n):
            total += row[j] * k[j]
        out[i] = total


@routine
def project_on(support: Any, s: Any) -> Any:
    """s.work = the coordinates of the projection of x on the support vectors; the squared distance of x from their span."""
    n = s.taken[0]
    k, d = s.k[:n], s.work[:n]
    coordinates(support, k, d)
    total = s.facts[OWN]
    for i in range(n):
        total -= k[i] * d[i]
    return max(total, k.dtype.type(0))  # rounding must not make it negative


@routine
def grow_inverse(support: Any, delta2: Any, s: Any) -> Any:
    """The inverse with x in the next slot, of which s.work holds the coordinates; delta2 > 0 is its squared distance."""
    inverse, d, n = support.inverse, s.work, s.taken[0]
    for i in range(n):
        row, by = inverse[i], d[i] / delta2
        for j in range(n):
            row[j] += by * d[j]
        row[n] = inverse[n, i] = -by
    inverse[n, n] = 1 / delta2


@routine
def exchange(support: Any, n: Any, r: Any, s: Any) -> Any:
    """The inverse, n + 1 slots long, without slot r, and the last slot in its place; s.work is overwritten."""
    inverse = support.inverse
    for j in range(n + 1):
        s.work[j] = inverse[r, j]
    pivot = s.work[r]
    for i in range(n + 1):
        row, by = inverse[i], s.work[i] / pivot
        for j in range(n + 1):
            row[j] -= by * s.work[j]
    if r != n:
        for j in range(n):
            inverse[r, j] = inverse[n, j]
        for i in range(n):
            inverse[i, r] = inverse[i, n]
        inverse[r, r] = inverse[n, n]


@routine
def renew(support: Any, n: Any) -> Any:
    """The inverse from the Gram matrix K = L L': L'^-1 L^-1, which is positive whatever the rounding."""
    K, inverse = support.gram, support.inverse
    L = np.zeros((n, n), K.dtype)
    for j in range(n):
        for i in range(j, n):
            total = K[i, j]
            for p in range(j):
                total -= L[i, p] * L[j, p]
            L[i, j] = np.sqrt(max(total, K.dtype.type(LEAST) * K[j, j])) if i == j else total / L[j, j]
    for j in range(n):  # L^-1, in place, column by column
        L[j, j] = 1 / L[j, j]
        for i in range(j + 1, n):
            total = K.dtype.type(0)
            for p in range(j, i):
                total -= L[i, p] * L[p, j]
            L[i, j] = total / L[i, i]
    for i in range(n):
        for j in range(i + 1):
            total = K.dtype.type(0)
            for p in range(i, n):
                total += L[p, i] * L[p, j]
            inverse[i, j] = inverse[j, i] = total


@routine
def importance(A: Any, i: Any) -> Any:
    """|A_i|^2"""
    total = A.dtype.type(0)
    for c in range(len(A)):
        total += A[c, i] * A[c, i]
    return total


@routine
def spanned(m: Any, x: Any, a: Any, s: Any) -> Any:
    """Whether x, which is about to be taken in with a times the direction for coefficients, is a combination of the support vectors:
    then they move in its place, which comes to the same, and their Gram matrix keeps its inverse. Else that makes ready for x."""
    delta2 = project_on(m.support, s)
    if delta2 <= s.k.dtype.type(LEAST) * s.facts[OWN]:
        push_all(m.A, a, s.step, s.work[: s.taken[0]])
        return True
    grow_inverse(m.support, delta2, s)
    return False


@routine
def replace_by_projection(m: Any, x: Any, a: Any, s: Any) -> Any:
    """Take x in, which is not `spanned`, with a times the direction for coefficients. One vector r goes, and is projected on the
    others and x: by the inverse H with x in it, what is lost of A_r k(x_r, .) is |A_r|^2 / H_rr, and r is the vector for which that
    is least."""
    support, n = m.support, s.taken[0]
    A, inverse, r, least = now(m.A), support.inverse, 0, np.inf
    for i in range(n):
        loss = importance(A, i) / inverse[i, i]
        if loss < least:
            r, least = i, loss
    for i in range(n):
        s.work[i] = -inverse[i, r] / inverse[r, r]
    s.work[r] = 0
    share_out(m.A, r, s.work[:n])
    share = -inverse[n, r] / inverse[r, r]
    exchange(support, n, r, s)
    occupy(m, r, x, share, s)
    strengthen(m, r, a, s)
    support.book[EXCHANGES] += 1
    if support.book[EXCHANGES] % n == 0:
        renew(support, n)


@verb(0)
def recombine(A: Any, P: Any) -> None:
    """A <- A P for the first slots, averages included."""


@recombine.form(np.ndarray)
def _(A: Any, P: Any) -> Any:
    n = len(P)
    for c in range(len(A)):
        row = A[c, :n].copy()
        for j in range(n):
            total = A.dtype.type(0)
            for i in range(n):
                total += row[i] * P[i, j]
            A[c, j] = total


@recombine.form(Averaged)
def _(A: Any, P: Any) -> Any:
    recombine(A.now, P)
    recombine(A.gap, P)


@routine
def fix_landmarks(m: Any, rank: Any) -> Any:
    """From the Gram matrix K = V D V' of all support vectors and its largest `rank` eigenvalues: inverse = V_k D_k^-1 V_k', and f is
    projected on what they span, A <- A V_k V_k'."""
    support = m.support
    n = support.book[SIZE]
    values, V = np.linalg.eigh(np.ascontiguousarray(support.gram[:n, :n]))  # in ascending order
    inverse, P = np.zeros_like(V), np.zeros_like(V)
    for e in range(max(n - rank, 0), n):
        if values[e] > NEGLIGIBLE * values[n - 1]:
            for i in range(n):
                for j in range(n):
                    P[i, j] += V[i, e] * V[j, e]
                    inverse[i, j] += V[i, e] * V[j, e] / values[e]
    for i in range(n):
        for j in range(n):
            support.inverse[i, j] = inverse[i, j]
    recombine(m.A, P)
