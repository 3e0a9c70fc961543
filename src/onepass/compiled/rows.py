"""Rows of data, dense or CSR, and the few verbs that rules need of them.

A rule never asks what its data looks like: it takes `x = row(X, t)` and uses the verbs. Weights have one entry more than there
are features, slot 0, for the constant feature of the textbooks, x = (1, x); `bias` is that feature's value, 1 or 0. `scale`
multiplies the row, bias included, so that `unit` normalises without a copy.

Every scalar is cast to the type of the data: one float64 among float32 operands would promote the whole loop.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.verb import verb

DenseRows = namedtuple("DenseRows", "values bias")
SparseRows = namedtuple("SparseRows", "indptr indices values bias")
DenseRow = namedtuple("DenseRow", "values bias scale")
SparseRow = namedtuple("SparseRow", "indices values bias scale")


@verb(0)
def row(X: Any, t: int) -> Any:
    """Row t of X."""


@verb(0, 1)
def dot(w: Any, x: Any) -> Any:
    """w . x"""


@verb(0, 2)
def add(w: Any, a: Any, x: Any) -> None:
    """w += a x"""


@verb(0)
def sqnorm(x: Any) -> Any:
    """|x|^2; 0 where it underflows so far that a step of 1/|x| would leave the range of numbers."""


@verb(0)
def unit(x: Any) -> Any:
    """x / |x|; a zero row as it is, and NaN for a row whose norm overflows, so that it shows in the score."""


@verb(0)
def scaled(x: Any, scale: Any) -> Any:
    """scale x; NaN for a row whose norm overflows, so that it shows in the score even where a bounded function comes between."""


@verb(1)
def project(U: Any, x: Any, out: Any) -> None:
    """out = U' x, the columns of U being the vectors to project on."""


@verb(2)
def add_outer(U: Any, step: Any, x: Any) -> None:
    """U += x step': column c of U moves by step[c] x."""


@routine
def flushed(norm2: Any, values: Any) -> Any:
    info = np.finfo(values.dtype)
    return norm2 if not norm2 < info.tiny / info.eps else values.dtype.type(0)


# --- dense ---


@row.form(DenseRows)
def _(X: Any, t: Any) -> Any:
    return DenseRow(X.values[t], X.bias, X.values.dtype.type(1))


@dot.form(np.ndarray, DenseRow)
def _(w: Any, x: Any) -> Any:
    total = w.dtype.type(0)
    for j in range(len(x.values)):
        total += w[j + 1] * x.values[j]
    return x.scale * (total + x.bias * w[0])


@add.form(np.ndarray, DenseRow)
def _(w: Any, a: Any, x: Any) -> Any:
    step = w.dtype.type(a) * x.scale
    w[0] += step * x.bias
    for j in range(len(x.values)):
        w[j + 1] += step * x.values[j]


@sqnorm.form(DenseRow)
def _(x: Any) -> Any:
    total = x.bias * x.bias
    for j in range(len(x.values)):
        total += x.values[j] * x.values[j]
    return flushed(x.scale * x.scale * total, x.values)


@unit.form(DenseRow)
def _(x: Any) -> Any:
    norm2 = sqnorm(x)
    if norm2 == 0:
        return x
    return DenseRow(x.values, x.bias, x.scale / np.sqrt(norm2) if norm2 < np.inf else x.values.dtype.type(np.nan))


@scaled.form(DenseRow)
def _(x: Any, scale: Any) -> Any:
    return DenseRow(x.values, x.bias, x.scale * x.values.dtype.type(scale if sqnorm(x) < np.inf else np.nan))


@project.form(DenseRow)
def _(U: Any, x: Any, out: Any) -> Any:
    width, d = len(out), len(x.values)
    head = x.scale * x.bias
    for c in range(width):
        out[c] = head * U[0, c]
    j = 0
    while j + 4 <= d:  # four rows at a time: `out` is read and written a quarter as often
        a, b = x.scale * x.values[j], x.scale * x.values[j + 1]
        e, f = x.scale * x.values[j + 2], x.scale * x.values[j + 3]
        A, B, E, F = U[j + 1], U[j + 2], U[j + 3], U[j + 4]
        for c in range(width):
            out[c] += a * A[c] + b * B[c] + e * E[c] + f * F[c]
        j += 4
    while j < d:
        a, A = x.scale * x.values[j], U[j + 1]
        for c in range(width):
            out[c] += a * A[c]
        j += 1


@add_outer.form(DenseRow)
def _(U: Any, step: Any, x: Any) -> Any:
    width = len(step)
    head = x.scale * x.bias
    for c in range(width):
        U[0, c] += head * step[c]
    for j in range(len(x.values)):
        a, u = x.scale * x.values[j], U[j + 1]
        if a != 0:  # images and one-hot features are mostly zeros
            for c in range(width):
                u[c] += a * step[c]


# --- CSR ---


@row.form(SparseRows)
def _(X: Any, t: Any) -> Any:
    start, end = X.indptr[t], X.indptr[t + 1]
    return SparseRow(X.indices[start:end], X.values[start:end], X.bias, X.values.dtype.type(1))


@dot.form(np.ndarray, SparseRow)
def _(w: Any, x: Any) -> Any:
    total = w.dtype.type(0)
    for i in range(len(x.values)):
        total += w[x.indices[i] + 1] * x.values[i]
    return x.scale * (total + x.bias * w[0])


@add.form(np.ndarray, SparseRow)
def _(w: Any, a: Any, x: Any) -> Any:
    step = w.dtype.type(a) * x.scale
    w[0] += step * x.bias
    for i in range(len(x.values)):
        w[x.indices[i] + 1] += step * x.values[i]


@sqnorm.form(SparseRow)
def _(x: Any) -> Any:
    total = x.bias * x.bias
    for i in range(len(x.values)):
        total += x.values[i] * x.values[i]
    return flushed(x.scale * x.scale * total, x.values)


@unit.form(SparseRow)
def _(x: Any) -> Any:
    norm2 = sqnorm(x)
    if norm2 == 0:
        return x
    return SparseRow(x.indices, x.values, x.bias, x.scale / np.sqrt(norm2) if norm2 < np.inf else x.values.dtype.type(np.nan))


@scaled.form(SparseRow)
def _(x: Any, scale: Any) -> Any:
    return SparseRow(x.indices, x.values, x.bias, x.scale * x.values.dtype.type(scale if sqnorm(x) < np.inf else np.nan))


@project.form(SparseRow)
def _(U: Any, x: Any, out: Any) -> Any:
    width, nnz = len(out), len(x.values)
    head = x.scale * x.bias
    for c in range(width):
        out[c] = head * U[0, c]
    i = 0
    while i + 2 <= nnz:
        a, b = x.scale * x.values[i], x.scale * x.values[i + 1]
        A, B = U[x.indices[i] + 1], U[x.indices[i + 1] + 1]
        for c in range(width):
            out[c] += a * A[c] + b * B[c]
        i += 2
    if i < nnz:
        a, A = x.scale * x.values[i], U[x.indices[i] + 1]
        for c in range(width):
            out[c] += a * A[c]


@add_outer.form(SparseRow)
def _(U: Any, step: Any, x: Any) -> Any:
    width = len(step)
    head = x.scale * x.bias
    for c in range(width):
        U[0, c] += head * step[c]
    for i in range(len(x.values)):
        a, u = x.scale * x.values[i], U[x.indices[i] + 1]
        for c in range(width):
            u[c] += a * step[c]
