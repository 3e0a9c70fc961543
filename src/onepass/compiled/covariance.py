"""Covariances of weights, and the three things that second-order rules do with them.

All of those rules have one shape: look at the variance v = x' Sigma x, move the mean along Sigma x, and add c x x' to the precision
Sigma^-1. `Diagonal` keeps the variances of the single weights and drops the rest of the precision, in O(nnz) a step.

`Full` keeps Sigma = U D U', U unit upper triangular: column j of U is in row j of `factor`, left of the diagonal, and D_j on the
diagonal. The update is Bierman's (Factorization methods for discrete sequential estimation, 1977). It reads half of what a square
matrix would take, and Sigma stays symmetric and positive whatever the rounding, since all it does to D is to multiply it by numbers
between 0 and 1.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.average import FACTOR, Averaged
from onepass.compiled.kernel import kernel
from onepass.compiled.rows import DenseRow, SparseRow, flushed
from onepass.compiled.verb import verb

Diagonal = namedtuple("Diagonal", "sigma")
Full = namedtuple("Full", "factor")

# What a rule needs between its steps. f = U' x, spread = Sigma x, partial: for the update.
Spread = namedtuple("Spread", "scores f spread partial")


@verb(0)
def spread(cov: Any, scores: Any) -> Any:
    """Work space for one call, with room for the scores."""


@verb(0, 1)
def variance(cov: Any, x: Any, s: Any) -> Any:
    """x' Sigma x, or 0 as in `sqnorm`; s then holds what `move` and `tighten` need."""


@verb(0, 1, 3)
def move(cov: Any, w: Any, a: Any, x: Any, s: Any) -> None:
    """w += a Sigma x"""


@verb(0, 2)
def tighten(cov: Any, c: Any, x: Any, s: Any) -> None:
    """Sigma^-1 += c x x'"""


@verb(0, 1, 5)
def renew(cov: Any, w: Any, g: Any, c: Any, state: Any, x: Any, s: Any) -> None:
    """For w = Sigma theta: theta += g x and Sigma^-1 += c x x', as far as w goes. `state`: the score w.x and the variance."""


@verb(0)
def entry(w: Any, j: int) -> Any:
    """w_j"""


@verb(0)
def nudge(w: Any, j: int, step: Any) -> None:
    """w_j += step"""


@entry.form(np.ndarray)
def _(w: Any, j: Any) -> Any:
    return w[j]


@entry.form(Averaged)
def _(w: Any, j: Any) -> Any:
    return w.now[j]


@nudge.form(np.ndarray)
def _(w: Any, j: Any, step: Any) -> Any:
    w[j] += w.dtype.type(step)


@nudge.form(Averaged)
def _(w: Any, j: Any, step: Any) -> Any:
    w.now[j] += w.now.dtype.type(step)
    if w.clock[FACTOR] > 0:
        w.gap[j] += w.gap.dtype.type(step / w.clock[FACTOR])


@kernel
def tightened(sigma: Any, c: Any, x: Any) -> Any:
    """1 / (1/sigma + c x^2), which must not become 0: a weight that is certain for good could never move again."""
    return max(sigma / (1 + c * sigma * x * x), np.finfo(sigma.dtype).tiny)


# --- diagonal ---


@spread.form(Diagonal)
def _(cov: Any, scores: Any) -> Any:
    return Spread(scores, scores[:0], scores[:0], scores[:0])


@variance.form(Diagonal, DenseRow)
def _(cov: Any, x: Any, s: Any) -> Any:
    sigma = cov.sigma
    total = x.bias * x.bias * sigma[0]
    for j in range(len(x.values)):
        total += x.values[j] * x.values[j] * sigma[j + 1]
    return flushed(x.scale * x.scale * total, x.values)


@variance.form(Diagonal, SparseRow)
def _(cov: Any, x: Any, s: Any) -> Any:
    sigma = cov.sigma
    total = x.bias * x.bias * sigma[0]
    for i in range(len(x.values)):
        total += x.values[i] * x.values[i] * sigma[x.indices[i] + 1]
    return flushed(x.scale * x.scale * total, x.values)


@tighten.form(Diagonal, DenseRow)
def _(cov: Any, c: Any, x: Any, s: Any) -> Any:
    sigma, c = cov.sigma, cov.sigma.dtype.type(c)
    sigma[0] = tightened(sigma[0], c, x.scale * x.bias)
    for j in range(len(x.values)):
        sigma[j + 1] = tightened(sigma[j + 1], c, x.scale * x.values[j])


@tighten.form(Diagonal, SparseRow)
def _(cov: Any, c: Any, x: Any, s: Any) -> Any:
    sigma, c = cov.sigma, cov.sigma.dtype.type(c)
    sigma[0] = tightened(sigma[0], c, x.scale * x.bias)
    for i in range(len(x.values)):
        j = x.indices[i] + 1
        sigma[j] = tightened(sigma[j], c, x.scale * x.values[i])


@kernel
def renewed(w: Any, sigma: Any, g: Any, c: Any, x: Any) -> Any:
    """The step of w = sigma theta, where theta += g x and 1/sigma += c x^2."""
    spread = sigma * x
    return spread * (g - c * x * w) / (1 + c * spread * x)


for Weights in (np.ndarray, Averaged):

    @move.form(Diagonal, Weights, DenseRow)
    def _(cov: Any, w: Any, a: Any, x: Any, s: Any) -> Any:
        sigma, a = cov.sigma, cov.sigma.dtype.type(a) * x.scale
        nudge(w, 0, a * sigma[0] * x.bias)
        for j in range(len(x.values)):
            nudge(w, j + 1, a * sigma[j + 1] * x.values[j])

    @move.form(Diagonal, Weights, SparseRow)
    def _(cov: Any, w: Any, a: Any, x: Any, s: Any) -> Any:
        sigma, a = cov.sigma, cov.sigma.dtype.type(a) * x.scale
        nudge(w, 0, a * sigma[0] * x.bias)
        for i in range(len(x.values)):
            j = x.indices[i] + 1
            nudge(w, j, a * sigma[j] * x.values[i])

    @renew.form(Diagonal, Weights, DenseRow)
    def _(cov: Any, w: Any, g: Any, c: Any, state: Any, x: Any, s: Any) -> Any:
        sigma, g, c = cov.sigma, cov.sigma.dtype.type(g), cov.sigma.dtype.type(c)
        nudge(w, 0, renewed(entry(w, 0), sigma[0], g, c, x.scale * x.bias))
        for j in range(len(x.values)):
            nudge(w, j + 1, renewed(entry(w, j + 1), sigma[j + 1], g, c, x.scale * x.values[j]))

    @renew.form(Diagonal, Weights, SparseRow)
    def _(cov: Any, w: Any, g: Any, c: Any, state: Any, x: Any, s: Any) -> Any:
        sigma, g, c = cov.sigma, cov.sigma.dtype.type(g), cov.sigma.dtype.type(c)
        nudge(w, 0, renewed(entry(w, 0), sigma[0], g, c, x.scale * x.bias))
        for i in range(len(x.values)):
            j = x.indices[i] + 1
            nudge(w, j, renewed(entry(w, j), sigma[j], g, c, x.scale * x.values[i]))


# --- full ---


@spread.form(Full)
def _(cov: Any, scores: Any) -> Any:
    n = cov.factor.shape[0]
    return Spread(scores, np.empty(n, scores.dtype), np.empty(n, scores.dtype), np.empty(n, scores.dtype))


@verb(1)
def project_factor(factor: Any, x: Any, f: Any) -> None:
    """f = U' x"""


@project_factor.form(DenseRow)
def _(factor: Any, x: Any, f: Any) -> Any:
    d = len(x.values)
    f[0] = x.scale * x.bias
    for j in range(1, len(f)):
        if j > d:  # spare room
            f[j] = 0
            continue
        column = factor[j, 1:j]
        total = column.dtype.type(0)
        for i in range(len(column)):
            total += column[i] * x.values[i]
        f[j] = x.scale * (total + factor[j, 0] * x.bias + x.values[j - 1])


@project_factor.form(SparseRow)
def _(factor: Any, x: Any, f: Any) -> Any:
    f[0] = x.scale * x.bias
    met = 0  # how many of the row's features are at or left of the diagonal
    for j in range(1, len(f)):
        total = factor[j, 0] * x.bias
        for i in range(met):
            total += factor[j, x.indices[i] + 1] * x.values[i]
        if met < len(x.values) and x.indices[met] + 1 == j:
            total += x.values[met]
            met += 1
        f[j] = x.scale * total


for Row in (DenseRow, SparseRow):

    @variance.form(Full, Row)
    def _(cov: Any, x: Any, s: Any) -> Any:
        factor, f, spread = cov.factor, s.f, s.spread
        project_factor(factor, x, f)
        v = f.dtype.type(0)
        for j in range(len(f)):
            g = factor[j, j] * f[j]
            v += f[j] * g
            if g != 0:
                column, head = factor[j, :j], spread[:j]
                for i in range(len(column)):
                    head[i] += g * column[i]
            spread[j] = g
        return flushed(v, f)

    @tighten.form(Full, Row)
    def _(cov: Any, c: Any, x: Any, s: Any) -> Any:
        factor, f, partial = cov.factor, s.f, s.partial
        c = f.dtype.type(c)
        alpha, smallest = f.dtype.type(1), np.finfo(f.dtype).tiny
        for j in range(len(f)):
            g = factor[j, j] * f[j]
            if g != 0:
                before = alpha
                alpha += c * f[j] * g
                turn = -c * f[j] / before
                column, head = factor[j, :j], partial[:j]
                for i in range(len(column)):
                    u = column[i]
                    column[i] = u + turn * head[i]
                    head[i] += g * u
                factor[j, j] = max(factor[j, j] * (before / alpha), smallest)
            partial[j] = g

    @move.form(Full, np.ndarray, Row)
    def _(cov: Any, w: Any, a: Any, x: Any, s: Any) -> Any:
        a = w.dtype.type(a)
        for j in range(len(s.spread)):
            w[j] += a * s.spread[j]

    @move.form(Full, Averaged, Row)
    def _(cov: Any, w: Any, a: Any, x: Any, s: Any) -> Any:
        move(cov, w.now, a, x, s)
        if w.clock[FACTOR] > 0:
            move(cov, w.gap, a / w.clock[FACTOR], x, s)

    for Weights in (np.ndarray, Averaged):

        @renew.form(Full, Weights, Row)
        def _(cov: Any, w: Any, g: Any, c: Any, state: Any, x: Any, s: Any) -> Any:
            score, v = state
            move(cov, w, (g - c * score) / (1 + c * v), x, s)
