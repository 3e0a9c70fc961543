"""Features by hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.base.inputs import Rows, readonly
from onepass.base.labels import Array
from onepass.compiled.borrow import borrowed
from onepass.compiled.compiler import entry_point, routine

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # spreads neighbours over all bits (Knuth 1998, The Art of Computer Programming 3, 6.4)
FEW = 32  # entries, which are sorted soonest by insertion


class Buckets:
    """The columns of hashed rows that a learner has met, numbered in the order in which they came: what never came costs nothing,
    however many columns there could be.

    The versions of a state share it, as they share names (`base/names.py`): each knows as many columns as it has features, and takes
    those beyond for unknown. It is an open hash table of numbers, from 1 on, of the columns in `order`. What comes later never takes a
    place before what came earlier, so that those who look for the columns of an older version find them while others come in.
    """

    def __init__(self, columns: Any, width: int) -> None:
        """These columns, of `width` that there could be."""
        self.width = width
        self._count = len(columns)
        self._table = table(np.asarray(columns, np.int64), 2 * len(columns))

    def __len__(self) -> int:
        return self._count

    def first(self, n: int) -> Array:
        """The first n columns."""
        return self._table[1][:n].copy()

    def grown(self, newcomers: Any, n: int) -> Buckets:
        """The first n columns, then the newcomers. Others may be there beyond n, of a version that came to nothing: they stay with
        it."""
        if self._count != n or n + len(newcomers) > len(self._table[1]):
            buckets = Buckets(np.append(self.first(n), newcomers), self.width)
            if self._count != n:
                return buckets
            self._table, self._count = buckets._table, buckets._count
        else:
            put(*self._table, n, readonly(np.asarray(newcomers, np.int64)))
            self._count += len(newcomers)
        return self

    def numbered(self, rows: Rows, n: int, *, grow: bool) -> tuple[Rows, Array]:
        """Hashed rows by the numbers of their columns, given the first n, and the columns that are new; without `grow` those count for
        nothing."""
        indptr, columns, values = rows.checked().parts
        found, newcomers = np.empty(len(columns), np.int64), np.empty(0, np.int64)
        unknown = look_up(*self._table, n, columns, found)
        if grow and unknown:
            newcomers = appearing(columns, found, n)
        bounds, places, kept = np.empty_like(indptr), np.empty(len(columns), indptr.dtype), np.empty_like(values)
        arrange(indptr, readonly(found), values, bounds, places, kept)
        end = bounds[-1]
        return Rows(kept[:end], (bounds, places[:end], n + len(newcomers)), sound=True), newcomers


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


@routine
def place_of(column: Any, slots: Any, order: Any, n: Any) -> Any:
    """Where the number of a column is, if it is one of the first n; else where the search for it ended."""
    at = np.int64((np.uint64(column) * GOLDEN) >> np.uint64(32)) & (len(slots) - 1)
    while 0 < slots[at] <= n and order[slots[at] - 1] != column:
        at = (at + 1) & (len(slots) - 1)
    return at


@entry_point
def put(slots: Any, order: Any, count: Any, columns: Any) -> None:
    """Number columns from `count` on, none of which is there yet."""
    slots, order, columns = borrowed((slots, order, columns))
    for column in columns:
        order[count] = column
        slots[place_of(column, slots, order, count)] = count + 1
        count += 1


@entry_point
def look_up(slots: Any, order: Any, n: Any, columns: Any, found: Any) -> Any:
    """The number of each column, if that is less than n; else -1. Returns how many have none."""
    slots, order, columns, found = borrowed((slots, order, columns, found))
    unknown = 0
    for i in range(len(columns)):
        found[i] = slots[place_of(columns[i], slots, order, n)] - 1
        if not 0 <= found[i] < n:
            found[i] = -1
            unknown += 1
    return unknown


@entry_point
def number(slots: Any, order: Any, count: Any, columns: Any, found: Any, n: Any, start: Any) -> Any:
    """Give the columns from `start` on that have no number one from n + count on, as they come, until the table is full. Returns where
    it ended, and the new count."""
    slots, order, columns, found = borrowed((slots, order, columns, found))
    for i in range(start, len(columns)):
        if found[i] < 0:
            at = place_of(columns[i], slots, order, count)
            if slots[at] == 0:
                if count == len(order):
                    return i, count
                order[count] = columns[i]
                count += 1
                slots[at] = count
            found[i] = n + slots[at] - 1
    return len(columns), count


@entry_point
def arrange(indptr: Any, found: Any, values: Any, bounds: Any, places: Any, kept: Any) -> None:
    """Rows with the entries that have a place, ascending."""
    indptr, found, values, bounds, places, kept = borrowed((indptr, found, values, bounds, places, kept))
    end = 0
    bounds[0] = 0
    for t in range(len(indptr) - 1):
        start = end
        for i in range(indptr[t], indptr[t + 1]):
            if found[i] >= 0:
                places[end], kept[end] = found[i], values[i]
                end += 1
        if end - start <= FEW:
            for i in range(start + 1, end):
                place, value, j = places[i], kept[i], i
                while j > start and places[j - 1] > place:
                    places[j], kept[j] = places[j - 1], kept[j - 1]
                    j -= 1
                places[j], kept[j] = place, value
        else:
            ranked = np.argsort(places[start:end])
            places[start:end], kept[start:end] = places[start:end][ranked], kept[start:end][ranked]
        bounds[t + 1] = end
