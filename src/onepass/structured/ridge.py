"""Discriminative ridge regression: weights with which differences of scores are differences of quality.

P. Martinez-Gomez, G. Sanchis-Trilles, F. Casacuberta: Online adaptation strategies for statistical machine translation in post-editing
scenarios. Pattern Recognition 45 (2012), 3193-3203.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, Scores
from onepass.structured.chain import longest
from onepass.structured.problem import first_best
from onepass.structured.rules import room, teach

# A: the sum of R'R; b: that of R'l; seen: one entry, the last row of the weights that any list had a feature at. A list whose features
# came into the state only for a later one of the same call must not see them.
Ridge = namedtuple("Ridge", "problem A b seen beta alpha keep scale")

# r: one row of R, and then the solution; R2, Rl: A and b with those of the list.
Sums = namedtuple("Sums", "parts spare desk step r R2 Rl")


@room.form(Ridge)
def _(m: Any, X: Any) -> Any:
    candidates, _ = longest(X)
    numbers, rows = m.problem.W.dtype, len(m.b)
    step = Scores(np.empty(1, numbers))
    parts, desk = np.empty((candidates, 1), numbers), np.empty(candidates, numbers)
    return Sums(parts, np.empty_like(parts), desk, step, np.zeros(rows), np.zeros((rows, rows)), np.zeros(rows))


@teach.form(Ridge)
def _(m: Any, x: Any, mu: Any, weight: Any, s: Any) -> Any:
    """Rows r_n = h(y*) - h(y_n) of R and l_n = mu(y*) - mu(y_n): A = keep A + R'R, b = keep b + R'l,
    lambda <- (1 - alpha) lambda + alpha (A + beta I)^-1 b."""
    n = m.seen[0]
    for i in range(x.indptr[0], x.indptr[len(mu)]):
        n = max(n, np.int64(x.indices[i]))
    A, b, w = m.A[1 : n + 1, 1 : n + 1], m.b[1 : n + 1], m.problem.W[1 : n + 1, 0]
    R2, Rl = s.R2[1 : n + 1, 1 : n + 1], s.Rl[1 : n + 1]
    for j in range(n):
        Rl[j] = m.keep * b[j]
        for k in range(n):
            R2[j, k] = m.keep * A[j, k]
    if not regress(x, mu, weight, s, R2, Rl):
        return PASSIVE
    solution = s.r[1 : n + 1]
    if not solve(R2, Rl, m.beta, solution):
        return TOO_LARGE
    length2, before2 = 0.0, 0.0
    for j in range(n):
        length2 += solution[j] * solution[j]
        before2 += np.float64(w[j]) * np.float64(w[j])
    if not length2 < np.finfo(w.dtype).max:
        return TOO_LARGE
    share = m.alpha * (np.sqrt(before2 / length2) if m.scale and before2 > 0 and length2 > 0 else 1.0)
    m.seen[0] = n
    for j in range(n):
        b[j] = Rl[j]
        w[j] = (1 - m.alpha) * w[j] + share * solution[j]
        for k in range(n):
            A[j, k] = R2[j, k]
    return UPDATED


@routine
def regress(x: Any, mu: Any, weight: Any, s: Any, R2: Any, Rl: Any) -> Any:
    """Add R'R and R'l of a list; whether R has any entry."""
    y, some = first_best(mu) if len(mu) > 0 else 0, False
    r = s.r[1 : len(Rl) + 1]
    for c in range(len(mu)):
        for j in range(len(r)):
            r[j] = 0
        for i in range(x.indptr[y], x.indptr[y + 1]):
            r[x.indices[i] - 1] += x.values[i]
        for i in range(x.indptr[c], x.indptr[c + 1]):
            r[x.indices[i] - 1] -= x.values[i]
        for j in range(len(r)):
            if r[j] != 0:
                some = True
                scaled = weight * r[j]
                Rl[j] += scaled * (mu[y] - mu[c])
                for k in range(len(r)):
                    R2[j, k] += scaled * r[k]
    return some


@routine
def solve(A: Any, b: Any, beta: Any, out: Any) -> Any:
    """out = (A + beta I)^-1 b; without beta the shortest least-squares solution, A^+ b (Moore-Penrose). Whether A is finite."""
    n = len(b)
    for j in range(n):
        if not A[j, j] < np.inf:  # the largest of its row and column
            return False
        out[j] = 0
    values, V = np.linalg.eigh(np.ascontiguousarray(A))  # in ascending order
    least = n * np.finfo(np.float64).eps * values[-1]
    for k in range(n):
        along = 0.0
        for j in range(n):
            along += V[j, k] * b[j]
        if beta > 0:
            along /= max(values[k], 0.0) + beta
        else:
            along = along / values[k] if values[k] > least else 0.0
        for j in range(n):
            out[j] += along * V[j, k]
    return True
