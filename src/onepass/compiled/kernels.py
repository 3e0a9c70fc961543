"""Kernels: k(x, z), a product of two rows in some space of features that is never entered.

Every kernel here is a function of one sum over the features that x has and of the norms of x and z, which are worked out once a row:
for the products x.z, of squared norms; for distances, of the features that x does not have, since a pair of entries counts
part(a, b) = distance(a, b) - distance(0, b). So a sparse row costs what it holds, and norms of support vectors are kept.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.rows import DenseRow, SparseRow, add, sqnorm
from onepass.compiled.verb import verb

LINEAR, POLY, RBF, SIGMOID, COSINE, LAPLACIAN, CHI2, INTERSECTION = range(8)
KERNELS = {
    "linear": LINEAR,
    "poly": POLY,
    "rbf": RBF,
    "sigmoid": SIGMOID,
    "cosine": COSINE,
    "laplacian": LAPLACIAN,
    "chi2": CHI2,
    "intersection": INTERSECTION,
}

Kernel = namedtuple("Kernel", "kind gamma degree coef0")
Custom = namedtuple("Custom", "function width")  # a user's function of two dense rows of `width` numbers
Given = namedtuple("Given", "width")  # x is the row of kernel values with all `width` examples
Structure = namedtuple("Structure", "width")  # x is an object that says itself what its kernel is (`compiled/objects.py`)


@verb(0, 1)
def norm(kernel: Any, x: Any) -> Any:
    """What the kernel needs to know of x alone; not a finite number if x is not, or not in the domain of the kernel."""


@verb(0, 3)
def own(kernel: Any, a: Any, came: int, x: Any) -> Any:
    """k(x, x), for x of norm a, the example number `came`."""


for Row in (DenseRow, SparseRow):

    @norm.form(Kernel, Row)
    def _(kernel: Any, x: Any) -> Any:
        total = x.values.dtype.type(0)
        if kernel.kind <= COSINE:
            for i in range(len(x.values)):
                total += x.values[i] * x.values[i]
        elif kernel.kind == LAPLACIAN:
            for i in range(len(x.values)):
                total += abs(x.values[i])
        else:
            for i in range(len(x.values)):
                total += x.values[i] if x.values[i] >= 0 else np.nan
        return total

    @own.form(Kernel, Row)
    def _(kernel: Any, a: Any, came: Any, x: Any) -> Any:
        total = -a if kernel.kind == LAPLACIAN or kernel.kind == CHI2 else a
        return max(similarity(kernel, total, a, a) + x.bias * x.bias, 0.0)  # the sigmoid is no product, and may be negative

    @norm.form(Custom, Row)
    @norm.form(Given, Row)
    def _(kernel: Any, x: Any) -> Any:
        return sqnorm(x)

    @own.form(Custom, Row)
    def _(kernel: Any, a: Any, came: Any, x: Any) -> Any:
        dense = spread_out(x, kernel.width)
        return max(kernel.function(dense, dense) + x.bias * x.bias, 0.0)

    @own.form(Given, Row)
    def _(kernel: Any, a: Any, came: Any, x: Any) -> Any:
        return max(entry_at(x, came % kernel.width) + x.bias * x.bias, 0.0)


@routine
def similarity(kernel: Any, total: Any, a: Any, b: Any) -> Any:
    """k(x, z) from the sum over the features of x, and the norms a of x and b of z."""
    kind = kernel.kind
    if kind == RBF:
        return np.exp(-kernel.gamma * not_negative(a + b - 2 * total))
    if kind in (LAPLACIAN, CHI2):
        return np.exp(-kernel.gamma * not_negative(total + b))
    if kind == POLY:
        base, value = kernel.gamma * total + kernel.coef0, 1.0
        for _ in range(kernel.degree):
            value *= base
        return value
    if kind == SIGMOID:
        return np.tanh(kernel.gamma * total + kernel.coef0)
    if kind == COSINE:
        lengths = np.sqrt(np.float64(a) * np.float64(b))
        return total / lengths if lengths > 0 else 0.0 * lengths
    return np.float64(total)


@routine
def not_negative(distance: Any) -> Any:
    """A squared distance that rounding may have made negative; NaN stays NaN."""
    return distance if not distance < 0 else 0.0 * distance


@routine
def similarities(kernel: Any, a: Any, norms: Any, bias: Any, out: Any) -> Any:
    """out = the kernel values, from the sums that it holds."""
    if kernel.kind == RBF:  # with nothing to decide in the loop
        gamma, two, zero = out.dtype.type(kernel.gamma), out.dtype.type(2), out.dtype.type(0)
        for i in range(len(out)):
            distance = a + norms[i] - two * out[i]
            out[i] = np.exp(-gamma * (distance if not distance < zero else zero)) + bias
    else:
        for i in range(len(out)):
            out[i] = similarity(kernel, out[i], a, norms[i]) + bias


@routine
def part(kind: Any, a: Any, b: Any) -> Any:
    """What a pair of entries adds to the sum."""
    if kind <= COSINE:
        return a * b
    if kind == LAPLACIAN:
        return abs(a - b) - abs(b)
    if kind == CHI2:
        return (a - b) * (a - b) / (a + b) - b if a + b > 0 else -b
    return min(a, b)


@routine
def add_parts(kind: Any, a: Any, z: Any, out: Any) -> Any:
    """out += what the entry a of x adds with each entry of z, for the kernels that are not of products."""
    if kind == LAPLACIAN:
        for i in range(len(out)):
            out[i] += abs(a - z[i]) - abs(z[i])
    elif kind == CHI2:
        for i in range(len(out)):
            out[i] += part(CHI2, a, z[i])
    else:
        for i in range(len(out)):
            out[i] += min(a, z[i])


@routine
def spread_out(x: Any, width: Any) -> Any:
    """x as a dense array of its own."""
    padded = np.zeros(width + 1, x.values.dtype)
    add(padded, 1, x)
    return padded[1:]


@verb(0)
def entry_at(x: Any, j: int) -> Any:
    """Entry j of the row x."""


@entry_at.form(DenseRow)
def _(x: Any, j: Any) -> Any:
    return x.values[j]


@entry_at.form(SparseRow)
def _(x: Any, j: Any) -> Any:
    i = np.searchsorted(x.indices, j)
    return x.values[i] if i < len(x.indices) and x.indices[i] == j else x.values.dtype.type(0)
