"""Features that are known by a hash of 64 bits, numbered in the order in which they come.

A number is the row of a feature in the weights. Those that come often come early, so that their rows lie together, in the cache. Two
hashes that are equal by chance are not to be expected among less than a thousand million features.

`keys` has the hash of each row, and `index` the rows by the hashes, with open addressing. An entry counts if its row is one of the
first n and has that hash: so entries that a writer adds, or that came to nothing, do not disturb whoever knows only n rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine

HALF = np.uint64(32)


@routine
def find(index: Any, keys: Any, n: Any, key: Any) -> Any:
    """The row of a key, and a slot that is free for it if it has none: then the row is 0. Both are 0 and -1 if the index is full."""
    size = len(index)
    slot = np.int64(((np.uint64(key) >> HALF) * np.uint64(size)) >> HALF)
    for _ in range(size):
        r = index[slot]
        if r == 0:
            return np.int64(0), slot
        if 0 < r <= n and keys[r] == key:
            return np.int64(r), slot
        slot = np.int64(slot + 1 if slot + 1 < size else 0)
    return np.int64(0), np.int64(-1)


@entry_point
def look_up(index: Any, keys: Any, n: Any, wanted: Any, rows: Any) -> None:
    """rows = those of the wanted keys, 0 for a key that is not known."""
    for i in range(len(wanted)):
        rows[i], _ = find(index, keys, n, wanted[i])


@entry_point
def number(index: Any, keys: Any, n: Any, wanted: Any, rows: Any, start: Any) -> Any:
    """Give rows to the wanted keys from `start` on, new ones to those that are new; up to which key there was place, and how many rows
    there are then."""
    for i in range(start, len(wanted)):
        r, slot = find(index, keys, n, wanted[i])
        if r == 0:
            if slot < 0 or n + 1 >= len(keys) or 2 * (n + 1) > len(index):
                return i, n
            n += 1
            index[slot], keys[n], r = n, wanted[i], n
        rows[i] = r
    return len(wanted), n


@entry_point
def fill(index: Any, keys: Any, n: Any) -> None:
    """The index anew, of the first n rows."""
    index[:] = 0
    for r in range(1, n + 1):
        if keys[r] != 0:
            found, slot = find(index, keys, 0, keys[r])
            if found == 0 and slot >= 0:
                index[slot] = r
