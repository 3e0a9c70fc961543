"""What p-norm algorithms need: weights w = grad |theta|_p^2 / 2, that is w_j = sign(theta_j) |theta_j|^(p-1) / |theta|_p^(p-2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import routine, to_the_letter
from onepass.compiled.rows import DenseRow, SparseRow
from onepass.compiled.verb import verb


@routine
def power(a: Any, p: Any) -> Any:
    """|a|^p"""
    return a * a if p == 2 else abs(a) ** p


@routine
def link(a: Any, p: Any) -> Any:
    """sign(a) |a|^(p-1)"""
    return a if p == 2 else np.sign(a) * abs(a) ** (p - 1)


@routine
def power_sum(u: Any, p: Any) -> Any:
    """sum_j |u_j|^p"""
    flat, total = u.reshape(-1), 0.0
    for i in range(len(flat)):
        total += power(flat[i], p)
    return total


@verb(1)
def link_dot(u: Any, x: Any, p: Any) -> Any:
    """sum_j sign(u_j) |u_j|^(p-1) x_j"""


@verb(2)
def push(u: Any, a: Any, x: Any, p: Any) -> Any:
    """u += a x; the change of sum_j |u_j|^p."""


@verb(0)
def row_power_sum(x: Any, p: Any) -> Any:
    """sum_j |x_j|^p"""


@link_dot.form(DenseRow)
def _(u: Any, x: Any, p: Any) -> Any:
    total = x.bias * link(u[0], p)
    for j in range(len(x.values)):
        total += x.values[j] * link(u[j + 1], p)
    return x.scale * total


@link_dot.form(SparseRow)
def _(u: Any, x: Any, p: Any) -> Any:
    return sparse_link_dot(u, x, p)


@to_the_letter
def sparse_link_dot(u: Any, x: Any, p: Any) -> Any:
    """Sums over sparse rows are taken one after the other: zeros that are written out must not change how they are grouped."""
    total = x.bias * link(u[0], p)
    for i in range(len(x.values)):
        total += x.values[i] * link(u[x.indices[i] + 1], p)
    return x.scale * total


@routine
def push_entry(u: Any, j: Any, step: Any, p: Any) -> Any:
    before = u[j]
    u[j] += u.dtype.type(step)
    return power(u[j], p) - power(before, p)


@push.form(DenseRow)
def _(u: Any, a: Any, x: Any, p: Any) -> Any:
    a = a * x.scale
    change = 0.0 + push_entry(u, 0, a * x.bias, p)
    for j in range(len(x.values)):
        change += push_entry(u, j + 1, a * x.values[j], p)
    return change


@push.form(SparseRow)
def _(u: Any, a: Any, x: Any, p: Any) -> Any:
    return sparse_push(u, a, x, p)


@to_the_letter
def sparse_push(u: Any, a: Any, x: Any, p: Any) -> Any:
    a = a * x.scale
    change = 0.0 + push_entry(u, 0, a * x.bias, p)
    for i in range(len(x.values)):
        change += push_entry(u, x.indices[i] + 1, a * x.values[i], p)
    return change


@row_power_sum.form(DenseRow)
def _(x: Any, p: Any) -> Any:
    total = power(x.scale * x.bias, p)
    for i in range(len(x.values)):
        total += power(x.scale * x.values[i], p)
    return total


@row_power_sum.form(SparseRow)
def _(x: Any, p: Any) -> Any:
    return sparse_power_sum(x, p)


@to_the_letter
def sparse_power_sum(x: Any, p: Any) -> Any:
    total = power(x.scale * x.bias, p)
    for i in range(len(x.values)):
        total += power(x.scale * x.values[i], p)
    return total
