"""Entries of sparse rows in any order, as rows: places ascending, and each once."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine

FEW = 48  # entries that are put in order by insertion, in a third of the time


@routine
def room(most: Any) -> Any:
    """The parts of a sparse row of up to so many entries: indptr, indices and values. One allocation: single examples notice."""
    whole = np.empty(most + most // 2 + 2)
    places = whole[most:].view(np.int32)
    places[:2] = 0
    return places[:2], places[2 : 2 + most], whole[:most]


@routine
def put(h: Any, value: Any, own: Any, hashed: Any, indices: Any, values: Any, used: Any) -> Any:
    """One more entry, unless it is 0: in the column of a hash, of which there are `hashed` behind `own` others, with its sign. How many
    there are then."""
    if value == 0:
        return used
    indices[used], values[used] = own + abs(h) % hashed, -value if h < 0 else value
    return used + 1


@routine
def add_up(indices: Any, values: Any) -> Any:
    """Put the entries of one row in order, and add up those of one place, as they came; how many there are then."""
    n = len(indices)
    if n > FEW:
        order = np.argsort(indices, kind="mergesort")  # which keeps the order of equals
        indices[:], values[:] = indices[order], values[order]
    else:
        for i in range(1, n):
            j, value, k = indices[i], values[i], i
            while k > 0 and indices[k - 1] > j:
                indices[k], values[k] = indices[k - 1], values[k - 1]
                k -= 1
            indices[k], values[k] = j, value
    used = 0
    for i in range(n):
        if used > 0 and indices[used - 1] == indices[i]:
            values[used - 1] += values[i]
        else:
            indices[used], values[used] = indices[i], values[i]
            used += 1
    return used


@entry_point
def add_up_rows(indptr: Any, indices: Any, values: Any) -> None:
    """The same for all rows, in place: what is left of them lies side by side, from the beginning."""
    used, start = 0, 0
    for t in range(len(indptr) - 1):
        end = indptr[t + 1]
        left = add_up(indices[start:end], values[start:end])
        for i in range(left):
            indices[used + i], values[used + i] = indices[start + i], values[start + i]
        used, start = used + left, end
        indptr[t + 1] = used
