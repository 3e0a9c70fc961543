"""Decoders of several trees: those with the largest sums of scores, the best first, as `trees.py` has the one.

outputs[:n] are the n best trees, as many as there is place for, or as there are; a tree comes once. The first is that of `trees.py`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.structured.trees import spanning_tree
from onepass.structured.viterbi import insert

# Of Eisner's algorithm: the k best scores of each span, sorted, and how each was made: where the span was divided, and the ranks of its
# two parts. Spans are those with their head at the end (LEFT) or at the beginning (RIGHT), and what is between the ends of an arc.
# spans: a head, the other end and a rank.
Charts = namedtuple("Charts", "best back spans")
LEFT, RIGHT, INSIDE = range(3)

# Of spanning trees: the best trees of parts of what is left, sorted by their scores. The first `fixed` words of such a part have the
# heads of its tree, and the next has none of those that are barred. scores: those of the arcs of one part.
Parts = namedtuple("Parts", "totals order trees fixed barred scores")


@routine
def new_charts(n: Any, k: Any, numbers: Any) -> Any:
    """Work space for the k best trees of sentences of up to n words."""
    shape = 3, n + 1, n + 1, k
    return Charts(np.empty(shape, numbers), np.empty(shape, np.int64), np.empty((3 * n + 2, 3), np.int64))


@routine
def new_parts(n: Any, k: Any) -> Any:
    """Work space for the k best spanning trees of sentences of up to n words."""
    size = k if n > 0 else 0
    return Parts(
        np.empty(size),
        np.empty(size, np.int64),
        np.empty((size, n), np.int64),
        np.empty(size, np.int64),
        np.empty((size, n + 1), np.bool_),
        np.empty((n + 1, n + 1)),
    )


@routine
def join(a: Any, b: Any, more_a: Any, more_b: Any, r: Any, kept: Any, came: Any) -> Any:
    """Add what two parts of a span make together, for all of their ranks that can be among the k best: before the sum of ranks p and q,
    which count from 0, there are (p + 1)(q + 1) - 1 that are no worse."""
    k = len(kept)
    for p in range(k):
        for q in range(k // (p + 1)):
            total = (a[p] + more_a) + (b[q] + more_b)
            if not total > kept[k - 1]:
                break
            insert(kept, came, total, (r * k + p) * k + q)


@routine
def eisner_several(scores: Any, c: Any, outputs: Any) -> Any:
    """The best of the trees in which no arcs cross: Eisner's algorithm (1996) with the k best scores of each span in place of one
    (Huang and Chiang 2005). There is one way only to make a tree. O(n^3 k log k)"""
    k, n = outputs.shape
    if n == 0:
        return 1
    best, back, none = c.best[:, : n + 1, : n + 1], c.back, scores.dtype.type(0)
    best[:] = -np.inf
    for i in range(1, n + 1):
        best[LEFT, i, i, 0] = best[RIGHT, i, i, 0] = 0
    for length in range(1, n):
        for i in range(1, n + 1 - length):
            j = i + length
            for r in range(j - 1, i - 1, -1):
                join(best[RIGHT, i, r], best[LEFT, r + 1, j], none, none, r, best[INSIDE, i, j], back[INSIDE, i, j])
            for r in range(i, j):
                join(best[LEFT, i, r], best[INSIDE, r, j], none, scores[j, r], r, best[LEFT, i, j], back[LEFT, i, j])
            for r in range(j, i, -1):
                join(best[INSIDE, i, r], best[RIGHT, r, j], scores[i, r], none, r, best[RIGHT, i, j], back[RIGHT, i, j])
    totals, tops = np.full(k, -np.inf, scores.dtype), np.zeros(k, np.int64)
    for r in range(1, n + 1):
        join(best[LEFT, 1, r], best[RIGHT, r, n], none, scores[0, r], r, totals, tops)
    found = 0
    while found < k and totals[found] > -np.inf:
        top, p, q = tops[found] // (k * k), tops[found] // k % k, tops[found] % k
        outputs[found, top - 1] = 0
        follow(back, c.spans, top, n, p, q, outputs[found])
        found += 1
    return found


@routine
def follow(back: Any, spans: Any, top: Any, n: Any, p: Any, q: Any, heads: Any) -> Any:
    """heads = those of the words below `top`, of which the words before it have rank p, and those behind it rank q."""
    k, count = back.shape[3], 2
    spans[0, 0], spans[0, 1], spans[0, 2] = top, 1, p
    spans[1, 0], spans[1, 1], spans[1, 2] = top, n, q
    while count > 0:
        count -= 1
        h, end, rank = spans[count, 0], spans[count, 1], spans[count, 2]
        if h == end:
            continue
        code = back[LEFT, end, h, rank] if end < h else back[RIGHT, h, end, rank]
        d, first, second = code // (k * k), code // k % k, code % k
        heads[d - 1] = h
        i, j, inside, beyond = (d, h, second, first) if end < h else (h, d, first, second)
        code = back[INSIDE, i, j, inside]
        r, first, second = code // (k * k), code // k % k, code % k
        spans[count, 0], spans[count, 1], spans[count, 2] = d, end, beyond
        spans[count + 1, 0], spans[count + 1, 1], spans[count + 1, 2] = i, r, first
        spans[count + 2, 0], spans[count + 2, 1], spans[count + 2, 2] = j, r + 1, second
        count += 3


@routine
def spanning_trees(scores: Any, g: Any, c: Any, outputs: Any) -> Any:
    """The best of all trees (Lawler 1972): what is left without the best tree falls into n parts, in each of which the words before
    another have the heads of that tree, and that one has another; and the next tree is the best of the best of all parts. O(k n^3)"""
    k, n = outputs.shape
    if n == 0:
        return 1
    barred, tree = np.zeros(n + 1, np.bool_), np.empty(n, np.int64)
    for i in range(k):
        c.totals[i], c.order[i] = -np.inf, i
    spanning_tree(scores, g, tree)
    keep(scores, c, tree, 0, barred, 0)
    for found in range(k):
        if not c.totals[found] > -np.inf:
            return found
        place = c.order[found]
        outputs[found] = c.trees[place, :n]
        for d in range(c.fixed[place], n if found + 1 < k else 0):
            for h in range(n + 1):
                barred[h] = h == outputs[found, d] or (d == c.fixed[place] and c.barred[place, h])
            if best_of_part(scores, g, c, outputs[found], d, barred, tree):
                keep(scores, c, tree, d, barred, found + 1)
    return k


@routine
def best_of_part(scores: Any, g: Any, c: Any, like: Any, d: Any, barred: Any, tree: Any) -> Any:
    """tree = the best in which the first d words have the heads that they have in another, and the next has none that are barred;
    whether there is one. Arcs that may not be cost more than all others can gain."""
    n = len(tree)
    low = high = scores[0, 1]
    for h in range(n + 1):
        for i in range(1, n + 1):
            if h != i:
                low, high = min(low, scores[h, i]), max(high, scores[h, i])
    price = n * (np.float64(high) - low) + 1
    for h in range(n + 1):
        for i in range(n):
            allowed = like[i] == h if i < d else i > d or not barred[h]
            c.scores[h, i + 1] = scores[h, i + 1] - (0.0 if allowed else price)
    spanning_tree(c.scores[: n + 1, : n + 1], g, tree)
    for i in range(d):
        if tree[i] != like[i]:
            return False
    return not barred[tree[d]]


@routine
def keep(scores: Any, c: Any, tree: Any, fixed: Any, barred: Any, start: Any) -> Any:
    """Put a tree in its place among those that wait, from `start` on, if it is better than the last of them."""
    n, total, totals, order = len(tree), 0.0, c.totals[start:], c.order[start:]
    for i in range(n):
        total += scores[tree[i], i + 1]
    if total > totals[len(totals) - 1]:
        place = order[len(order) - 1]
        insert(totals, order, total, place)
        c.trees[place, :n], c.fixed[place], c.barred[place, : n + 1] = tree, fixed, barred
