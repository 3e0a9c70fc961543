"""N-grams of texts with columns of their own, numbered as they come: their hashes are in a table (`compiled/buckets.py`)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.borrow import borrowed, keep_alive
from onepass.compiled.buckets import place_of
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.words import NONE, bag, finished, gather, put_in_order

# Settings and counts like those of `Bag`, and the table of the first `known`, of which there may be `most`.
OwnBag = namedtuple("OwnBag", "slots order known most documents totals count orders letters how normed")
ONE = np.uint64(1)


@entry_point
def ngrams_of(data: Any, offsets: Any, orders: Any, letters: Any, bounds: Any, hashes: Any) -> None:
    """The hashes of the n-grams of texts, of 63 bits: text t is data[offsets[t] : offsets[t + 1]], and has those from bounds[t] to
    bounds[t + 1]. Two that are equal by chance are not to be expected among less than a thousand million."""
    longest = 0
    for t in range(len(offsets) - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    own = np.empty(longest + 2, np.uint64), np.empty((longest + 2) * (orders + letters[1]), np.uint64)
    found, raw = borrowed(own)
    data, hashes = borrowed((data, hashes))
    bounds[0] = 0
    for t in range(len(offsets) - 1):
        used, start = gather(data, offsets[t], offsets[t + 1], NONE, orders, letters, found, raw), bounds[t]
        mine = hashes[start:]
        for i in range(used):
            mine[i] = np.int64(finished(raw[i]) >> ONE)
        bounds[t + 1] = start + used
    keep_alive(own)


@routine
def columns_of(stage: Any, hashes: Any, keys: Any) -> Any:
    """Write twice the column of each n-gram of a text that has one; how many these are. Those that are new get the next columns, as
    they would if the text were learned from."""
    slots, order, n, most = stage.slots, stage.order, stage.known, stage.most
    used, missing = 0, 0
    for i in range(len(hashes)):
        keys[i] = slots[place_of(hashes[i], slots, order, n)]
        if not 0 < keys[i] <= n:
            keys[i] = 0
            missing += 1
    if missing > 0 and n < most:
        size = 4
        while size < 2 * missing:
            size *= 2
        own, came, count = np.zeros(size, np.int32), np.empty(missing, np.int64), 0
        for i in range(len(hashes)):
            if keys[i] == 0:
                at = place_of(hashes[i], own, came, count)
                if own[at] == 0 and n + count < most:
                    came[count] = hashes[i]
                    count += 1
                    own[at] = count
                if own[at] > 0:
                    keys[i] = n + own[at]
    for i in range(len(hashes)):
        if keys[i] > 0:
            keys[used] = 2 * (keys[i] - 1)
            used += 1
    return used


@entry_point
def bags_of_own(stage: Any, bounds: Any, hashes: Any, taught: Any, indptr: Any, indices: Any, values: Any) -> None:
    """Texts as sparse rows, given the hashes of their n-grams (`ngrams_of`). What has no column is left out as if it were not there."""
    longest = 0
    for t in range(len(taught)):
        longest = max(longest, bounds[t + 1] - bounds[t])
    own = np.empty(longest, np.int64)
    keys = borrowed(own)
    stage, hashes, indices, values = borrowed((stage, hashes, indices, values))
    indptr[0] = 0
    for t in range(len(taught)):
        mine = keys[: columns_of(stage, hashes[bounds[t] : bounds[t + 1]], keys)]
        put_in_order(mine)
        start = indptr[t]
        indptr[t + 1] = start + bag(stage, mine, taught[t], indices[start:], values[start:])
    keep_alive(own)
