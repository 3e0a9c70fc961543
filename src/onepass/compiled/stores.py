"""Stores of examples, in slots: `Dense` has a column for each, so that the products of a row with all of them are long loops over
contiguous memory; `Sparse` has a list of entries for each; `Numbered` knows them by their numbers only, for kernel values that are
given.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.kernels import (
    CHI2,
    COSINE,
    LAPLACIAN,
    Custom,
    Given,
    Kernel,
    add_parts,
    entry_at,
    part,
    similarities,
    spread_out,
)
from onepass.compiled.rows import DenseRow, SparseRow, add, project
from onepass.compiled.verb import verb

Dense = namedtuple("Dense", "Z norms")
Sparse = namedtuple("Sparse", "index values length norms")
Numbered = namedtuple("Numbered", "index norms width")  # numbers start anew with each pass over `width` examples


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
