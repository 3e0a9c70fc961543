"""Columns of hashes by number: an open hash table of numbers, from 1 on, of the columns in `order`.

What comes later never takes a place before what came earlier, so that those who look for the first n columns find them while others
come in.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.borrow import borrowed
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.entries import add_up

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # spreads neighbours over all bits (Knuth 1998, The Art of Computer Programming 3, 6.4)


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
    bounds[0] = 0
    for t in range(len(indptr) - 1):
        start = end = bounds[t]
        for i in range(indptr[t], indptr[t + 1]):
            if found[i] >= 0:
                places[end], kept[end] = found[i], values[i]
                end += 1
        add_up(places[start:end], kept[start:end])
        bounds[t + 1] = end
