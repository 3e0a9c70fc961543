"""Features by hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.base.inputs import Rows, readonly
from onepass.base.labels import Array
from onepass.compiled.buckets import arrange, look_up, number, put


class Buckets:
    """The columns of hashed rows that a learner has met, numbered in the order in which they came: what never came costs nothing,
    however many columns there could be.

    The versions of a state share it, as they share names (`base/names.py`): each knows as many columns as it has features, and takes
    those beyond for unknown (`compiled/buckets.py`).
    """

    def __init__(self, columns: Any, width: int) -> None:
        """These columns, of `width` that there could be."""
        self.width = width
        self._count = len(columns)
        self.table = table(np.asarray(columns, np.int64), 2 * len(columns))

    def __len__(self) -> int:
        return self._count

    def first(self, n: int) -> Array:
        """The first n columns."""
        return self.table[1][:n].copy()

    def grown(self, newcomers: Any, n: int) -> Buckets:
        """The first n columns, then the newcomers. Others may be there beyond n, of a version that came to nothing: they stay with
        it."""
        if self._count != n or n + len(newcomers) > len(self.table[1]):
            buckets = Buckets(np.append(self.first(n), newcomers), self.width)
            if self._count != n:
                return buckets
            self.table, self._count = buckets.table, buckets._count
        else:
            put(*self.table, n, readonly(np.asarray(newcomers, np.int64)))
            self._count += len(newcomers)
        return self

    def numbered(self, rows: Rows, n: int, *, grow: bool) -> tuple[Rows, Array]:
        """Hashed rows by the numbers of their columns, given the first n, and the columns that are new; without `grow` those count for
        nothing."""
        indptr, columns, values = rows.checked().parts
        found, newcomers = self.numbers(columns, n, grow=grow)
        bounds, places, kept = np.empty_like(indptr), np.empty(len(columns), indptr.dtype), np.empty_like(values)
        arrange(indptr, readonly(found), values, bounds, places, kept)
        end = bounds[-1]
        return Rows(kept[:end], (bounds, places[:end], n + len(newcomers)), sound=True), newcomers

    def numbers(self, columns: Array, n: int, *, grow: bool) -> tuple[Array, Array]:
        """The number of each column, given the first n, and the columns that are new; without `grow` those have the number -1."""
        found = np.empty(len(columns), np.int64)
        unknown = look_up(*self.table, n, readonly(columns), found)
        return found, appearing(readonly(columns), found, n) if grow and unknown else np.empty(0, np.int64)


def table(columns: Array, size: int) -> tuple[Array, Array]:
    """A hash table of some columns, at most half full, and their order, with place for `size` of them."""
    size = max(size, 8)
    slots, order = np.zeros(2 ** (2 * size - 1).bit_length(), np.int32), np.empty(size, np.int64)
    put(slots, order, 0, readonly(columns))
    return slots, order


def appearing(columns: Array, found: Array, n: int) -> Array:
    """The columns that have no number, in the order in which they come; they get the numbers from n on."""
    start, order, count = 0, np.empty(0, np.int64), 0
    while start < len(columns):
        slots, order = table(order[:count], max(1024, 4 * count))
        start, count = number(slots, order, count, columns, found, n, start)
    return order[:count].copy()
