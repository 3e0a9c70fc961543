"""Means of groups of rows, which change with every row: those that stand for parts of the space.

A mean is kept as a sum and a count, so that taking in a sparse row costs O(nnz). All of it is float64 whatever the data: differences
of nearly equal numbers are what is asked for. The constant feature is the same in all rows, and no part of a distance.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from onepass.compiled.compiler import routine
from onepass.compiled.rows import DenseRow, SparseRow
from onepass.compiled.verb import verb

# squares: |sum|^2 of each. The first ones whose counts are not 0 are in use.
Prototypes = namedtuple("Prototypes", "sums squares counts")

# Relative to the squared norm, squared distances below this are rounding.
SAME = 1e-12


@verb(1)
def gap2(prototypes: Any, x: Any, k: int) -> Any:
    """|x - p_k|^2, for a prototype in use."""


@verb(1)
def take_in(prototypes: Any, x: Any, k: int) -> None:
    """Make x one of the rows whose mean is p_k."""


@gap2.form(DenseRow)
def _(prototypes: Any, x: Any, k: Any) -> Any:
    centre, share = prototypes.sums[k], 1.0 / prototypes.counts[k]
    total = 0.0
    for j in range(len(x.values)):
        gap = share * centre[j + 1] - x.values[j]
        total += gap * gap
    return total


@gap2.form(SparseRow)
def _(prototypes: Any, x: Any, k: Any) -> Any:
    centre, share = prototypes.sums[k], 1.0 / prototypes.counts[k]
    total = share * share * prototypes.squares[k]
    for i in range(len(x.values)):
        total += x.values[i] * (x.values[i] - 2 * share * centre[x.indices[i] + 1])
    return max(total, 0.0)


@take_in.form(DenseRow)
def _(prototypes: Any, x: Any, k: Any) -> Any:
    centre, growth = prototypes.sums[k], 0.0
    for j in range(len(x.values)):
        growth += x.values[j] * (2 * centre[j + 1] + x.values[j])
        centre[j + 1] += x.values[j]
    prototypes.squares[k] += growth
    prototypes.counts[k] += 1


@take_in.form(SparseRow)
def _(prototypes: Any, x: Any, k: Any) -> Any:
    centre, growth = prototypes.sums[k], 0.0
    for i in range(len(x.values)):
        growth += x.values[i] * (2 * centre[x.indices[i] + 1] + x.values[i])
        centre[x.indices[i] + 1] += x.values[i]
    prototypes.squares[k] += growth
    prototypes.counts[k] += 1


@routine
def in_use(prototypes: Any) -> Any:
    """How many prototypes there are so far."""
    held, counts = 0, prototypes.counts
    while held < len(counts) and counts[held] > 0:
        held += 1
    return held


@routine
def differs(prototypes: Any, k: Any, distance2: Any) -> Any:
    """Whether a row at this squared distance is another one than p_k."""
    n = prototypes.counts[k]
    return distance2 > SAME * prototypes.squares[k] / n / n
