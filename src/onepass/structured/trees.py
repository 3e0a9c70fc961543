"""Decoders of trees: the heads of words with the largest sum of scores[h, d], the score of the arc from the head h to the word d.

Words are 1 to n; 0 is the root, and exactly one word hangs on it. Among equals small heads win: where all scores are the same, the
first word hangs on the root, and all others on the first.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine

# Of Eisner's algorithm: the best scores of spans of words. left, right: of complete ones, by both ends, in any order; the head is the
# word at the end or at the beginning, and all others are below it. arcs[h, d]: of those of an arc, with all that is between.
Chart = namedtuple("Chart", "left right arcs spans")

# Of spanning trees: by how much an arc from each word into a node betters the tree, and the word that it ends in, a row a node; and of
# each node its row, where it is, the arc that was chosen for it and its gain, and the node that it is a part of. top: the outermost
# node that a word is in.
Graph = namedtuple("Graph", "gains ends rows places tails words chosen parents top path")
WAITING, ON_PATH, DONE, SETTLED = range(4)


@routine
def new_chart(n: Any, numbers: Any) -> Any:
    """Work space for sentences of up to n words."""
    shape = n + 1, n + 1
    spans = np.empty((3 * n + 2, 2), np.int64)
    return Chart(np.empty(shape, numbers), np.empty(shape, numbers), np.empty(shape, numbers), spans)


@routine
def new_graph(n: Any) -> Any:
    """Work space for sentences of up to n words. Each node is a word or the union of some, of which there are fewer than words."""
    shape, nodes = (n + 1, n + 1), 2 * n + 1
    places = np.empty((5, nodes), np.int64)
    ends, top = np.empty(shape, np.int64), np.empty((2, n + 1), np.int64)
    chosen = np.empty(nodes)
    return Graph(np.empty(shape), ends, places[0], places[1], places[2], places[3], chosen, places[4], top[0], top[1])


@routine
def largest(a: Any, b: Any, start: Any, end: Any) -> Any:
    """The largest a[r] + b[r]."""
    best = a[start] + b[start]
    for r in range(start + 1, end):
        total = a[r] + b[r]
        best = total if total > best else best
    return best


@routine
def first_largest(a: Any, b: Any, start: Any, end: Any) -> Any:
    place = start
    for r in range(start + 1, end):
        if a[r] + b[r] > a[place] + b[place]:
            place = r
    return place


@routine
def last_largest(a: Any, b: Any, start: Any, end: Any) -> Any:
    place = end - 1
    for r in range(end - 2, start - 1, -1):
        if a[r] + b[r] > a[place] + b[place]:
            place = r
    return place


@routine
def eisner(scores: Any, c: Any, heads: Any) -> Any:
    """heads = the best of the trees in which no arcs cross (Eisner 1996). O(n^3)

    Where a span was divided is not kept: to look for it later, for n of them, takes less than to note it for all."""
    n = len(heads)
    if n == 0:
        return
    left, right, arcs = c.left, c.right, c.arcs
    for i in range(1, n + 1):
        left[i, i] = right[i, i] = 0
    for length in range(1, n):
        for i in range(1, n + 1 - length):
            j = i + length
            inside = largest(right[i], left[j, 1:], i, j)
            arcs[i, j], arcs[j, i] = inside + scores[i, j], inside + scores[j, i]
            left[i, j] = left[j, i] = largest(left[i], arcs[j], i, j)
            right[i, j] = right[j, i] = largest(arcs[i], right[j], i + 1, j + 1)
    top = 1
    for r in range(2, n + 1):
        if left[1, r] + right[r, n] + scores[0, r] > left[1, top] + right[top, n] + scores[0, top]:
            top = r
    heads[top - 1] = 0
    spans, count = c.spans, 2  # complete ones: a head, and the other end
    spans[0, 0], spans[0, 1], spans[1, 0], spans[1, 1] = top, 1, top, n
    while count > 0:
        count -= 1
        h, end = spans[count, 0], spans[count, 1]
        if h == end:
            continue
        d = first_largest(left[end], arcs[h], end, h) if end < h else last_largest(arcs[h], right[end], h + 1, end + 1)
        heads[d - 1] = h
        i, j = min(h, d), max(h, d)
        r = last_largest(right[i], left[j, 1:], i, j)
        spans[count, 0], spans[count, 1] = d, end
        spans[count + 1, 0], spans[count + 1, 1] = i, r
        spans[count + 2, 0], spans[count + 2, 1] = j, r + 1
        count += 3


@routine
def spanning_tree(scores: Any, g: Any, heads: Any) -> Any:
    """heads = the best of all trees (Chu and Liu 1965, Edmonds 1967), in O(n^2) as Tarjan (1977) for dense graphs.

    From a word we go to the head that is best for it, and on to the best of that, until there is a cycle, which becomes one node, or
    until we are at the root or at a node that has led there. What an arc into a cycle gains is its score less that of the arc of the
    cycle whose place it takes. So that one word hangs on the root, its arcs cost more than all others can gain."""
    n = len(heads)
    nodes = _begin(scores, g, n)
    for start in range(1, n + 1):
        if g.places[g.top[start]] != WAITING:
            continue
        g.path[0], length, v = start, 1, start
        g.places[v] = ON_PATH
        while True:
            gains, u = g.gains[g.rows[v]], -1
            for h in range(n + 1):
                if g.top[h] != v and (u < 0 or gains[h] > gains[u]):
                    u = h
            g.tails[v], g.words[v], g.chosen[v] = u, g.ends[g.rows[v], u], gains[u]
            v = g.top[u]
            if g.places[v] == DONE:
                break
            if g.places[v] == ON_PATH:
                length = _join(g, v, nodes, length, n)
                v, nodes = nodes, nodes + 1
            g.places[v] = ON_PATH
            g.path[length] = v
            length += 1
        for i in range(length):
            g.places[g.path[i]] = DONE
    for v in range(nodes - 1, 0, -1):  # the arc into a node takes the place of one within it
        if g.places[v] != SETTLED:
            d = g.words[v]
            heads[d - 1] = g.tails[v]
            while d != v:
                g.places[d] = SETTLED
                d = g.parents[d]


@routine
def _begin(scores: Any, g: Any, n: Any) -> Any:
    """All words as nodes of their own; how many nodes there are."""
    low = high = np.float64(scores[0, 1]) if n > 0 else 0.0
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h != d:
                low, high = min(low, scores[h, d]), max(high, scores[h, d])
    price = n * (high - low) + 1
    for v in range(n + 1):
        g.rows[v] = g.top[v] = v
        g.places[v], g.parents[v] = WAITING, -1
        for h in range(n + 1 if v > 0 else 0):
            g.gains[v, h], g.ends[v, h] = scores[h, v] - (price if h == 0 else 0.0), v
    g.places[0] = DONE
    return n + 1


@routine
def _join(g: Any, first: Any, node: Any, length: Any, n: Any) -> Any:
    """Make a node of the end of the path, from `first` on; the length of what is left of it."""
    row = g.rows[first]
    into, ends = g.gains[row], g.ends[row]
    for h in range(n + 1):
        into[h] -= g.chosen[first]
    g.parents[first] = node
    while g.path[length - 1] != first:
        length -= 1
        v = g.path[length]
        other = g.rows[v]
        for h in range(n + 1):
            gain = g.gains[other, h] - g.chosen[v]
            if gain > into[h]:
                into[h], ends[h] = gain, g.ends[other, h]
        g.parents[v] = node
    g.rows[node], g.parents[node] = row, -1
    for h in range(1, n + 1):
        v = g.top[h]
        if g.places[v] == ON_PATH and g.parents[v] == node:
            g.top[h] = node
    return length - 1
