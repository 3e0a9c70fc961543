"""The relations of the arcs of a tree that is known: a label for each word, by what its head, itself and their other arcs are like.

The weights of a feature are a block of the same table that has those of arcs, a place a relation, so that all scores of an arc are sums
of a few blocks. Relations are numbered as they come, and need no room of their own.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.words import finished
from onepass.structured.arcs import ALONE, COMMON, DISTANCES, LONG, OF_LONG, SIDES, SINGLE, TAG, TELLING, WORD, longest, step_of
from onepass.structured.contrast import enter
from onepass.structured.problem import (
    decode,
    decode_costly,
    decode_several,
    desk,
    differ,
    errors,
    extent,
    first_best,
    value,
    weigh,
)

# W, shift: as for arcs. n: how many relations there are.
Relations = namedtuple("Relations", "W shift n")

# A sentence and the heads of its words. kin: of each word its first and its last child, and the next child of its head on the way
# there; 0 for none.
Tree = namedtuple("Tree", "sentence heads kin")
FIRST, LAST, NEXT = 0, 1, 2

BLOCK, BITS = 64, 6  # relations of a block
PLAIN, BELOW_LEFT, BELOW_RIGHT, BESIDE, ABOVE = np.random.Philox(key=5).random_raw(5)  # of what a feature is
FEATURES = len(TELLING) + len(OF_LONG) + 2 * len(ALONE) + 10
WORD_ALONE, TAG_ALONE = (LONG + ALONE.index((attribute, attribute)) for attribute in (WORD, TAG))


@routine
def tree_of(x: Any, heads: Any) -> Any:
    n = len(heads)
    kin = np.zeros((n + 1, 3), np.int64)
    for d in range(1, n + 1):
        h = heads[d - 1]
        if h < d:
            kin[d, NEXT] = kin[h, LAST] if kin[h, LAST] > h else 0
        kin[h, LAST] = d
    for d in range(n, 0, -1):
        h = heads[d - 1]
        if h > d:
            kin[d, NEXT] = kin[h, FIRST] if 0 < kin[h, FIRST] < h else 0
        kin[h, FIRST] = d
    return Tree(x, heads, kin)


@routine
def describe(x: Any, d: Any, codes: Any) -> Any:
    """codes = the features of the arc to word d; how many there are."""
    s, h = x.sentence, x.heads[d - 1]
    head, child, used = s.heads[h], s.children[d], 0
    side, distance = SIDES[int(h > d)], DISTANCES[step_of(h, d)]
    for m in range(len(TELLING)):
        codes[used] = head[m] ^ child[m] ^ side ^ PLAIN
        used += 1
    for m in range(COMMON, LONG if s.long[h] or s.long[d] else COMMON):
        codes[used] = head[m] ^ child[m] ^ side ^ PLAIN
        used += 1
    for m in range(LONG, SINGLE):
        codes[used] = head[m] ^ side ^ PLAIN
        codes[used + 1] = child[m] ^ distance ^ PLAIN
        used += 2
    pair = head[SINGLE] ^ child[SINGLE] ^ side
    for j, salt in ((x.kin[d, FIRST], BELOW_LEFT), (x.kin[d, LAST], BELOW_RIGHT)):
        for m in (WORD_ALONE, TAG_ALONE):
            codes[used] = s.heads[d, TAG_ALONE] ^ s.children[j, m] ^ salt
            codes[used + 1] = pair ^ s.children[j, m] ^ salt
            used += 2
    codes[used] = pair ^ s.middles[x.kin[d, NEXT]] ^ BESIDE
    codes[used + 1] = pair ^ s.middles[x.heads[h - 1] if h > 0 else 0] ^ ABOVE
    return used + 2


@routine
def place_of(p: Any, code: Any, k: Any) -> Any:
    """The weight of a relation for a feature. Which place of its block it has depends on the feature, or else all features that fall on
    one block would meet at the relations that are frequent."""
    block = finished(np.uint64(k >> BITS))
    start = ((code ^ block) >> (p.shift + np.uint64(BITS))) << np.uint64(BITS)
    return np.int64(start) + ((k ^ np.int64(code & np.uint64(BLOCK - 1))) & (BLOCK - 1))


@extent.form(Relations)
def _(p: Any, X: Any) -> Any:
    n = longest(X)
    return n, p.n, n, 2 * n * FEATURES


@desk.form(Relations)
def _(p: Any, X: Any, k: Any, by_errors: Any) -> Any:
    return np.empty(p.n, p.W.dtype)


@weigh.form(Relations)
def _(p: Any, x: Any, parts: Any) -> Any:
    return weigh_relations(p, x, parts)


@routine
def weigh_relations(p: Any, x: Any, parts: Any) -> Any:
    """parts[i, k] = the score of a relation for the arc to word i + 1."""
    n, codes = len(x.heads), np.empty(FEATURES, np.uint64)
    for i in range(n):
        used, out = describe(x, i + 1, codes), parts[i]
        for k in range(p.n):
            out[k] = 0
        for first in range(0, p.n, BLOCK):
            block, end = finished(np.uint64(first >> BITS)), min(first + BLOCK, p.n)
            for f in range(used):
                start = np.int64(((codes[f] ^ block) >> (p.shift + np.uint64(BITS))) << np.uint64(BITS))
                turn, weights = np.int64(codes[f] & np.uint64(BLOCK - 1)), p.W[start : start + BLOCK]
                for k in range(first, end):
                    out[k] += weights[(k ^ turn) & (BLOCK - 1)]
    return n


@decode.form(Relations)
def _(p: Any, x: Any, parts: Any, d: Any, z: Any) -> Any:
    for i in range(len(z)):
        z[i] = first_best(parts[i])


@decode_costly.form(Relations)
def _(p: Any, x: Any, parts: Any, y: Any, kind: Any, d: Any, z: Any) -> Any:
    """With 1 more for each wrong relation."""
    for i in range(len(z)):
        for k in range(p.n):
            d[k] = parts[i, k] + int(k != y[i])
        z[i] = first_best(d)


@decode_several.form(Relations)
def _(p: Any, x: Any, parts: Any, y: Any, costly: Any, d: Any, outputs: Any) -> Any:
    return 0


@value.form(Relations)
def _(p: Any, x: Any, parts: Any, y: Any) -> Any:
    total = parts.dtype.type(0)
    for i in range(len(y)):
        total += parts[i, y[i]]
    return total


@errors.form(Relations)
def _(p: Any, x: Any, y: Any, z: Any) -> Any:
    wrong = 0
    for i in range(len(y)):
        wrong += int(y[i] != z[i])
    return wrong


@differ.form(Relations)
def _(p: Any, x: Any, y: Any, z: Any, book: Any) -> Any:
    one, codes = p.W.dtype.type(1), np.empty(FEATURES, np.uint64)
    for i in range(len(y)):
        if y[i] != z[i]:
            for f in range(describe(x, i + 1, codes)):
                enter(book, place_of(p, codes[f], y[i]) - 1, one)
                enter(book, place_of(p, codes[f], z[i]) - 1, -one)
