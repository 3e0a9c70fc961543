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
from onepass.compiled.compiler import routine
from onepass.compiled.rows import DenseRow, SparseRow, flushed
from onepass.compiled.verb import verb

Diagonal = namedtuple("Diagonal", "sigma")
Full = namedtuple("Full", "factor")

# Two weight vectors of which one moves forth and the other back.
Apart = namedtuple("Apart", "plus minus")

# Averaged weights for one round over their entries. `inverse`: that of the clock's factor, 0 before the first example. It is looked up
# once: where the compiler may choose between x/y and x (1/y) in each entry, two entry points may come to different bits.
Lagging = namedtuple("Lagging", "now gap inverse")

# What a rule needs between its steps: the direction in which the scores should move, f = U' x and spread = Sigma x.
Spread = namedtuple("Spread", "scores step f spread")


@verb(0)
def spread(cov: Any, scores: Any, step: Any) -> Any:
    """Work space for one call, beside that for the scores and their direction."""


@verb(0, 1)
def variance(cov: Any, x: Any, s: Any) -> Any:
    """x' Sigma x, or 0 as in `sqnorm`; s then holds what the other verbs need."""


@verb(0, 1, 4)
def shift(cov: Any, w: Any, a: Any, c: Any, x: Any, s: Any) -> None:
    """w += a Sigma x, and then Sigma^-1 += c x x'"""


@verb(0, 2)
def tighten(cov: Any, c: Any, x: Any, s: Any) -> None:
    """Sigma^-1 += c x x'"""


@verb(0)
def unfold(cov: Any, s: Any) -> None:
    """Make s ready for `renew`."""


@verb(0, 1, 5)
def renew(cov: Any, w: Any, g: Any, c: Any, state: Any, x: Any, s: Any) -> None:
    """For w = Sigma theta: theta += g x and Sigma^-1 += c x x', as far as w goes. `state`: the score w.x and the variance."""


@verb(0)
def steady(w: Any) -> Any:
    """w, for one round over its entries."""


@verb(0)
def entry(w: Any, j: int) -> Any:
    """w_j"""


@verb(0)
def nudge(w: Any, j: int, step: Any) -> None:
    """w_j += step"""


@verb(0)
def stretch(w: Any, a: Any, direction: Any) -> None:
    """w += a direction"""


@steady.form(np.ndarray)
def _(w: Any) -> Any:
    return w


@steady.form(Averaged)
def _(w: Any) -> Any:
    factor = w.clock[FACTOR]
    return Lagging(w.now, w.gap, w.gap.dtype.type(1 / factor if factor > 0 else 0.0))


@steady.form(Apart)
def _(w: Any) -> Any:
    return Apart(steady(w.plus), steady(w.minus))


@entry.form(np.ndarray)
def _(w: Any, j: Any) -> Any:
    return w[j]


@entry.form(Lagging)
def _(w: Any, j: Any) -> Any:
    return w.now[j]


@nudge.form(np.ndarray)
def _(w: Any, j: Any, step: Any) -> Any:
    w[j] += w.dtype.type(step)


@nudge.form(Lagging)
def _(w: Any, j: Any, step: Any) -> Any:
    step = w.now.dtype.type(step)
    w.now[j] += step
    w.gap[j] += step * w.inverse


@nudge.form(Apart)
def _(w: Any, j: Any, step: Any) -> Any:
    nudge(w.plus, j, step)
    nudge(w.minus, j, -step)


@stretch.form(np.ndarray)
def _(w: Any, a: Any, direction: Any) -> Any:
    a = w.dtype.type(a)
    for j in range(len(direction)):
        w[j] += a * direction[j]


@stretch.form(Averaged)
def _(w: Any, a: Any, direction: Any) -> Any:
    stretch(w.now, a, direction)
    if w.clock[FACTOR] > 0:
        stretch(w.gap, a / w.clock[FACTOR], direction)


@stretch.form(Apart)
def _(w: Any, a: Any, direction: Any) -> Any:
    stretch(w.plus, a, direction)
    stretch(w.minus, -a, direction)


# --- diagonal ---


@spread.form(Diagonal)
def _(cov: Any, scores: Any, step: Any) -> Any:
    return Spread(scores, step, scores[:0], scores[:0])


@unfold.form(Diagonal)
def _(cov: Any, s: Any) -> Any:
    pass


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


@routine
def tighten_entry(sigma: Any, j: Any, c: Any, x: Any) -> Any:
    """1/sigma_j += c x^2. The variance must not become 0: a weight that is certain for good could never move again."""
    one, smallest = sigma.dtype.type(1), sigma.dtype.type(np.finfo(sigma.dtype).tiny)
    sigma[j] = max(sigma[j] / (one + c * sigma[j] * x * x), smallest)


@tighten.form(Diagonal, DenseRow)
def _(cov: Any, c: Any, x: Any, s: Any) -> Any:
    sigma, c = cov.sigma, cov.sigma.dtype.type(c)
    tighten_entry(sigma, 0, c, x.scale * x.bias)
    for j in range(len(x.values)):
        tighten_entry(sigma, j + 1, c, x.scale * x.values[j])


@tighten.form(Diagonal, SparseRow)
def _(cov: Any, c: Any, x: Any, s: Any) -> Any:
    sigma, c = cov.sigma, cov.sigma.dtype.type(c)
    tighten_entry(sigma, 0, c, x.scale * x.bias)
    for i in range(len(x.values)):
        tighten_entry(sigma, x.indices[i] + 1, c, x.scale * x.values[i])


@routine
def renewed(w: Any, sigma: Any, g: Any, c: Any, x: Any) -> Any:
    """The step of w = sigma theta, where theta += g x and 1/sigma += c x^2."""
    spread = sigma * x
    return spread * (g - c * x * w) / (1 + c * spread * x)


for Weights in (np.ndarray, Averaged, Apart):

    @shift.form(Diagonal, Weights, DenseRow)
    def _(cov: Any, w: Any, a: Any, c: Any, x: Any, s: Any) -> Any:
        sigma, a, v = cov.sigma, cov.sigma.dtype.type(a) * x.scale, steady(w)
        nudge(v, 0, a * sigma[0] * x.bias)
        for j in range(len(x.values)):
            nudge(v, j + 1, a * sigma[j + 1] * x.values[j])
        tighten(cov, c, x, s)

    @shift.form(Diagonal, Weights, SparseRow)
    def _(cov: Any, w: Any, a: Any, c: Any, x: Any, s: Any) -> Any:
        sigma, a, c, v = cov.sigma, cov.sigma.dtype.type(a), cov.sigma.dtype.type(c), steady(w)
        nudge(v, 0, a * sigma[0] * x.scale * x.bias)
        tighten_entry(sigma, 0, c, x.scale * x.bias)
        for i in range(len(x.values)):  # in one round: to find an entry takes longer than to use it
            j, value = x.indices[i] + 1, x.scale * x.values[i]
            nudge(v, j, a * sigma[j] * value)
            tighten_entry(sigma, j, c, value)


for Weights in (np.ndarray, Averaged):

    @renew.form(Diagonal, Weights, DenseRow)
    def _(cov: Any, w: Any, g: Any, c: Any, state: Any, x: Any, s: Any) -> Any:
        sigma, g, c, v = cov.sigma, cov.sigma.dtype.type(g), cov.sigma.dtype.type(c), steady(w)
        nudge(v, 0, renewed(entry(v, 0), sigma[0], g, c, x.scale * x.bias))
        for j in range(len(x.values)):
            nudge(v, j + 1, renewed(entry(v, j + 1), sigma[j + 1], g, c, x.scale * x.values[j]))

    @renew.form(Diagonal, Weights, SparseRow)
    def _(cov: Any, w: Any, g: Any, c: Any, state: Any, x: Any, s: Any) -> Any:
        sigma, g, c, v = cov.sigma, cov.sigma.dtype.type(g), cov.sigma.dtype.type(c), steady(w)
        nudge(v, 0, renewed(entry(v, 0), sigma[0], g, c, x.scale * x.bias))
        for i in range(len(x.values)):
            j = x.indices[i] + 1
            nudge(v, j, renewed(entry(v, j), sigma[j], g, c, x.scale * x.values[i]))


# --- full ---


@spread.form(Full)
def _(cov: Any, scores: Any, step: Any) -> Any:
    n = cov.factor.shape[0]
    return Spread(scores, step, np.empty(n, scores.dtype), np.empty(n, scores.dtype))


@unfold.form(Full)
def _(cov: Any, s: Any) -> Any:
    """spread = U D f"""
    factor, f, spread = cov.factor, s.f, s.spread
    for j in range(len(f)):
        g = factor[j, j] * f[j]
        if g != 0:
            column, head = factor[j, :j], spread[:j]
            for i in range(len(column)):
                head[i] += g * column[i]
        spread[j] = g


@verb(1)
def project_factor(factor: Any, x: Any, f: Any) -> Any:
    """f = U' x. Returns f' D f, added up feature by feature: a sum that is vectorised would depend on the spare room of the arrays."""


@project_factor.form(DenseRow)
def _(factor: Any, x: Any, f: Any) -> Any:
    d = len(x.values)
    f[0] = x.scale * x.bias
    v = factor[0, 0] * f[0] * f[0]
    for j in range(1, len(f)):
        if j > d:  # spare room
            f[j] = 0
            continue
        column = factor[j, 1:j]
        total = column.dtype.type(0)
        for i in range(len(column)):
            total += column[i] * x.values[i]
        f[j] = x.scale * (total + factor[j, 0] * x.bias + x.values[j - 1])
        v += factor[j, j] * f[j] * f[j]
    return v


@project_factor.form(SparseRow)
def _(factor: Any, x: Any, f: Any) -> Any:
    f[0] = x.scale * x.bias
    v = factor[0, 0] * f[0] * f[0]
    met = 0  # how many of the row's features are at or left of the diagonal
    for j in range(1, len(f)):
        total = factor[j, 0] * x.bias
        for i in range(met):
            total += factor[j, x.indices[i] + 1] * x.values[i]
        if met < len(x.values) and x.indices[met] + 1 == j:
            total += x.values[met]
            met += 1
        f[j] = x.scale * total
        v += factor[j, j] * f[j] * f[j]
    return v


for Row in (DenseRow, SparseRow):

    @variance.form(Full, Row)
    def _(cov: Any, x: Any, s: Any) -> Any:
        return flushed(project_factor(cov.factor, x, s.f), s.f)

    @tighten.form(Full, Row)
    def _(cov: Any, c: Any, x: Any, s: Any) -> Any:
        """Bierman's update, stated by 1/c: c times the variance may overflow. It leaves Sigma x, of the old Sigma, in s.spread."""
        factor, f, spread = cov.factor, s.f, s.spread
        smallest = f.dtype.type(np.finfo(f.dtype).tiny)
        alpha = f.dtype.type(1) / max(f.dtype.type(c), smallest)
        for j in range(len(f)):
            g = factor[j, j] * f[j]
            if g != 0:
                before = alpha
                alpha += f[j] * g
                turn = -f[j] / before
                column, head = factor[j, :j], spread[:j]
                for i in range(len(column)):
                    u, b = column[i], head[i]
                    column[i] = u + turn * b
                    head[i] = b + g * u
                factor[j, j] = max(factor[j, j] * (before / alpha), smallest)
            spread[j] = g

    for Weights in (np.ndarray, Averaged, Apart):

        @shift.form(Full, Weights, Row)
        def _(cov: Any, w: Any, a: Any, c: Any, x: Any, s: Any) -> Any:
            tighten(cov, c, x, s)
            stretch(w, a, s.spread)

    for Weights in (np.ndarray, Averaged):

        @renew.form(Full, Weights, Row)
        def _(cov: Any, w: Any, g: Any, c: Any, state: Any, x: Any, s: Any) -> Any:
            score, v = state
            stretch(w, (g - c * score) / (1 + c * v), s.spread)
