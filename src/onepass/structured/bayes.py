"""Bayesian predictive adaptation of log-linear models: many weight vectors, each of which counts as much as it has foretold.

G. Sanchis-Trilles, F. Casacuberta: Log-linear weight optimisation via Bayesian adaptation in statistical machine translation. COLING
2010, posters, 1077-1085.

By and by few of the vectors count. Then others take their place, near those that do, with the same mean and variance:
J. Liu, M. West: Combined parameter and state estimation in simulation-based filtering. In: A. Doucet, N. de Freitas, N. Gordon (eds.):
Sequential Monte Carlo methods in practice (2001), 197-223.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.book import SIZE, draw
from onepass.compiled.compiler import routine
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, Scores
from onepass.structured.chain import longest, weigh_word
from onepass.structured.lists import first_score, order, rate
from onepass.structured.problem import decode, first_best, value, weigh
from onepass.structured.rules import room, teach

# lambda_s = centre + sigma W_s; log_omega: the logarithms of the shares of the S vectors, which add up to 1. book: counters, of which
# SIZE is the last row of the weights that any list had a feature at: those behind it are as they were drawn, and do not count.
Sampled = namedtuple("Sampled", "W centre sigma log_omega book seed")

Adapted = namedtuple("Adapted", "problem delta jitter")

# omega: S numbers; fresh: one row of W.
Shares = namedtuple("Shares", "parts spare desk step omega fresh")

TINY = 1e-300  # the least probability: of less there is no logarithm

decode.form(Sampled)(order)
value.form(Sampled)(first_score)


@room.form(Adapted)
def _(m: Any, X: Any) -> Any:
    candidates, _ = longest(X)
    S, numbers = m.problem.W.shape[1], m.problem.W.dtype
    step = Scores(np.empty(1, numbers))
    parts = np.empty((candidates, S), numbers)
    return Shares(parts, np.empty_like(parts), np.empty(candidates, numbers), step, np.empty(S), np.empty(S, numbers))


@weigh.form(Sampled)
def _(p: Any, x: Any, parts: Any) -> Any:
    n, none = len(x.indptr) - 1, p.W.dtype.type(0)
    for i in range(n):
        start = stop = x.indptr[i]
        common = none
        for e in range(start, x.indptr[i + 1]):
            common += x.values[e] * p.centre[x.indices[e]]
            if x.indices[e] <= p.book[SIZE]:  # rows ascend
                stop = e + 1
        scores = parts[i]
        weigh_word(p.W, x.indices[start:stop], x.values[start:stop], none, scores)
        for s in range(len(scores)):
            scores[s] = common + p.W.dtype.type(p.sigma) * scores[s]
    return n


@rate.form(Sampled)
def _(p: Any, parts: Any, out: Any) -> Any:
    """log sum_s omega_s p(y | x, lambda_s), with p(y | x, lambda) = exp(lambda.h(x, y)) / Z."""
    n, S = parts.shape
    if n == 0:
        return
    chances = np.zeros(n)
    for s in range(S):
        share = p.log_omega[s] - log_sum(parts, s)
        for i in range(n):
            chances[i] += np.exp(share + np.float64(parts[i, s]))
    for i in range(n):
        out[i] = np.log(max(chances[i], TINY))


@routine
def log_sum(parts: Any, s: Any) -> Any:
    """log sum_i exp(parts[i, s])"""
    peak, total = np.float64(-np.inf), 0.0
    for i in range(len(parts)):
        peak = max(peak, np.float64(parts[i, s]))
    for i in range(len(parts)):
        total += np.exp(np.float64(parts[i, s]) - peak)
    return peak + np.log(total)


@teach.form(Adapted)
def _(m: Any, x: Any, mu: Any, weight: Any, s: Any) -> Any:
    """log omega_s += log p(y* | x, lambda_s) / delta; and other vectors if 1 / sum omega^2 < S/2."""
    p, n = m.problem, len(mu)
    if n < 2:
        return PASSIVE
    before = last = p.book[SIZE]
    for i in range(x.indptr[0], x.indptr[n]):
        last = max(last, np.int64(x.indices[i]))
    if last > before:
        p.book[SIZE] = last
        weigh(p, x, s.parts)
    y, peak = first_best(mu), -np.inf
    for k in range(len(s.omega)):
        s.omega[k] = p.log_omega[k] + weight / m.delta * (np.float64(s.parts[y, k]) - log_sum(s.parts[:n], k))
        peak = max(peak, s.omega[k])
        if not abs(s.omega[k]) < np.inf:
            p.book[SIZE] = before
            return TOO_LARGE
    total = np.exp(s.omega - peak).sum()
    p.log_omega[:] = s.omega - (peak + np.log(total))
    s.omega[:] = np.exp(p.log_omega)
    if 1 / (s.omega * s.omega).sum() < 0.5 * len(s.omega):
        renew(p, m.jitter, s)
    return UPDATED


@routine
def renew(p: Any, jitter: Any, s: Any) -> Any:
    """Vectors are drawn by their shares, at even distances; a little is added to each so that they differ, and so much taken of how
    far each is from the mean that the variance stays."""
    S = len(s.omega)
    aim, passed, k = draw(p) / S, s.omega[0], 0
    chosen = np.empty(S, np.int64)
    for j in range(S):
        while passed < aim and k < S - 1:
            k += 1
            passed += s.omega[k]
        chosen[j] = k
        aim += 1 / S
    near = np.sqrt(1 - jitter * jitter)
    for i in range(1, p.book[SIZE] + 1):
        old = p.W[i]
        mean, square = 0.0, 0.0
        for j in range(S):
            mean += s.omega[j] * np.float64(old[j])
        for j in range(S):
            square += s.omega[j] * (np.float64(old[j]) - mean) ** 2
        for j in range(S):
            s.fresh[j] = mean + near * (np.float64(old[chosen[j]]) - mean) + jitter * np.sqrt(square) * normal(p)
        old[:] = s.fresh
    p.log_omega[:] = -np.log(np.float64(S))


@routine
def normal(p: Any) -> Any:
    """A number from N(0, 1) (Box and Muller 1958)."""
    u = draw(p)
    return np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * draw(p))
