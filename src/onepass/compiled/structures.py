"""Strings, graphs and trees as bags of their parts: the feature maps of kernels that count what two objects have in common.

A part is known by a hash of 64 bits, made of what it is built from, so that there is no table of parts, and objects that were never
seen need nothing but themselves. Objects come flat: those of a table in a few arrays, one after the other.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.borrow import borrowed, keep_alive
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.verb import verb
from onepass.compiled.words import HALF, K0, divide, finished, joined, key, put_in_order, with_square

NOTHING = np.uint64(0)
BITS = 32  # of a key, for the power of the decay

# String t is symbols[bounds[t] : bounds[t + 1]]; `near` is how many words may be within `mismatches` of one.
Strings = namedtuple("Strings", "bounds symbols shortest longest mismatches alphabet near")
# The nodes of graph t are bounds[t], ..., bounds[t + 1] - 1; those next to node v are neighbours[starts[v] : starts[v + 1]].
Neighbourhoods = namedtuple("Neighbourhoods", "bounds labels starts neighbours bonds rounds")
Paths = namedtuple("Paths", "bounds labels starts neighbours")
# The nodes of tree t, each before its children; the label of node i is codes[begins[i] : ends[i]].
Trees = namedtuple("Trees", "bounds codes begins ends children leaves")


@verb(0)
def gather(X: Any, t: Any, columns: Any, keys: Any) -> Any:
    """Write a key for each part of object t (`part`); how many there are."""


@routine
def part(h: Any, power: Any, columns: Any) -> Any:
    """The key of a part: its column, its sign, and the power of the decay that it weighs, in this order from the top."""
    return (key(h, columns) << BITS) | power


@gather.form(Strings)
def _(X: Any, t: Any, columns: Any, keys: Any) -> Any:
    """All words of some lengths, and those that differ from them in a few letters (Leslie, Eskin, Weston, Noble 2004): letter by letter
    a word is taken as it is, or while there may be mismatches, with each other letter in its place."""
    used, end = 0, X.bounds[t + 1]
    words, missed = np.empty(X.near, np.uint64), np.empty(X.near, np.int64)
    for i in range(X.bounds[t], end):
        words[0], missed[0], count = NOTHING, 0, 1
        for p in range(min(X.longest, end - i)):
            own = X.symbols[i + p]
            for q in range(count):
                if missed[q] < X.mismatches:
                    for letter in X.alphabet:
                        if letter != own:
                            words[count], missed[count] = joined(words[q], letter), missed[q] + 1
                            count += 1
                words[q] = joined(words[q], own)
            if p + 1 >= X.shortest:
                for q in range(count):
                    keys[used] = part(joined(words[q], p), 0, columns)
                    used += 1
    return used


@gather.form(Neighbourhoods)
def _(X: Any, t: Any, columns: Any, keys: Any) -> Any:
    """Labels of all rounds (Shervashidze et al. 2011): the next label of a node is its own with all those around it. A sum of well
    mixed hashes stands for these, since it needs no order."""
    first, used = X.bounds[t], 0
    n = X.bounds[t + 1] - first
    now, then = np.empty(n, np.uint64), np.empty(n, np.uint64)
    for v in range(n):
        now[v] = X.labels[first + v]
    for r in range(X.rounds + 1):
        if r > 0:
            now, then = then, now
            for v in range(n):
                around = NOTHING
                for e in range(X.starts[first + v], X.starts[first + v + 1]):
                    around += finished(joined(joined(NOTHING, X.bonds[e]), then[X.neighbours[e] - first]))
                now[v] = joined(joined(NOTHING, then[v]), around)
        for v in range(n):
            keys[used] = part(joined(now[v], r), 0, columns)
            used += 1
    return used


@gather.form(Paths)
def _(X: Any, t: Any, columns: Any, keys: Any) -> Any:
    """The labels and the distance of all pairs of nodes with a path between them (Borgwardt, Kriegel 2005), by breadth first."""
    first, used = X.bounds[t], 0
    n = X.bounds[t + 1] - first
    queue, distances = np.empty(n, np.int64), np.empty(n, np.int64)
    for source in range(n):
        distances[:] = -1
        distances[source], queue[0], count, done = 0, source, 1, 0
        begin = joined(NOTHING, X.labels[first + source])
        while done < count:
            u = queue[done]
            done += 1
            if u != source:
                keys[used] = part(joined(joined(begin, X.labels[first + u]), distances[u]), 0, columns)
                used += 1
            for e in range(X.starts[first + u], X.starts[first + u + 1]):
                v = X.neighbours[e] - first
                if distances[v] < 0:
                    distances[v], queue[count] = distances[u] + 1, v
                    count += 1
    return used


@gather.form(Trees)
def _(X: Any, t: Any, columns: Any, keys: Any) -> Any:
    """All nodes with everything below them (Vishwanathan, Smola 2002), from the last to the first: the children of a node are the
    uppermost of a pile. The power is the number of inner nodes, and 1 for a leaf."""
    first, last, used, height = X.bounds[t], X.bounds[t + 1], 0, 0
    pile, inner = np.empty(last - first, np.uint64), np.empty(last - first, np.int64)
    for i in range(last - 1, first - 1, -1):
        h = joined(joined(NOTHING, text_hash(X.codes, X.begins[i], X.ends[i])), X.children[i])
        size = min(X.children[i], 1)
        for _ in range(X.children[i]):
            height -= 1
            h, size = joined(h, pile[height]), size + inner[height]
        pile[height], inner[height] = h, size
        height += 1
        if size > 0 or X.leaves:
            keys[used] = part(h, max(size, 1), columns)
            used += 1
    return used


@routine
def weigh(keys: Any, root: Any, normed: Any, indices: Any, values: Any) -> Any:
    """Write the columns and values of an object's parts, given their keys in order; how many there are. A part weighs the root of the
    decay to its power, since a product of two makes up the kernel."""
    used, i, n, norm2 = 0, 0, len(keys), 0.0
    while i < n:
        j, value = keys[i] >> (BITS + 1), 0.0
        while i < n and keys[i] >> (BITS + 1) == j:
            sign = 1.0 - 2.0 * ((keys[i] >> BITS) & 1)
            power = keys[i] & ((1 << BITS) - 1)
            value += sign * root**power if power else sign
            i += 1
        indices[used], values[used] = j, value
        norm2 = with_square(norm2, value)
        used += 1
    if normed:
        divide(values[:used], norm2)
    return used


@entry_point
def bags_of_parts(
    X: Any, start: Any, room: Any, columns: Any, root: Any, normed: Any, indptr: Any, indices: Any, values: Any
) -> None:
    """Objects from number `start` on as sparse rows, as many as indptr has place for, each of at most `room` parts."""
    own = np.empty(room, np.int64)
    keys, indices, values = borrowed((own, indices, values))
    indptr[0] = 0
    for t in range(len(indptr) - 1):
        mine = keys[: gather(X, start + t, columns, keys)]
        put_in_order(mine)
        begin = indptr[t]
        indptr[t + 1] = begin + weigh(mine, root, normed, indices[begin:], values[begin:])
    keep_alive(own)


@entry_point
def columns_of_parts(X: Any, columns: Any, keys: Any) -> Any:
    """Write the columns of the parts of the first object; how many there are."""
    count = gather(X, 0, columns, keys)
    for i in range(count):
        keys[i] >>= BITS + 1
    return count


@routine
def text_hash(codes: Any, begin: Any, end: Any) -> Any:
    """The hash of a text; of a single letter it is the letter, so that a string is the list of its letters."""
    if end - begin == 1:
        return np.uint64(codes[begin])
    h = NOTHING
    for i in range(begin, end):
        h = (h ^ np.uint64(codes[i])) * K0
    return joined(h ^ (h >> HALF), end - begin)


@entry_point
def hash_texts(codes: Any, bounds: Any, out: Any) -> None:
    """The hashes of texts, of which number i is codes[bounds[i] : bounds[i + 1]]."""
    for i in range(len(out)):
        out[i] = text_hash(codes, bounds[i], bounds[i + 1])


# What may be wrong with a tree in brackets.
WHOLE, EMPTY, UNOPENED, UNCLOSED, SECOND = range(5)
BLANK, OPEN, CLOSE = 32, 40, 41


@routine
def parse(codes: Any, i: Any, end: Any, begins: Any, ends: Any, children: Any, above: Any) -> Any:
    """Write the nodes of the tree in codes[i:end], each before its children; whether it is one, and how many it has. A node is
    "(label child ...)", a leaf also a bare word."""
    count, depth = 0, 0
    while i < end:
        code = codes[i]
        if code == CLOSE:
            if depth == 0:
                return UNOPENED, i
            depth -= 1
        elif code > BLANK:
            if depth > 0:
                children[above[depth - 1]] += 1
            elif count > 0:
                return SECOND, i
            if code == OPEN:
                above[depth] = count
                depth += 1
                i += 1
                while i < end and codes[i] <= BLANK:
                    i += 1
            begins[count] = i
            while i < end and codes[i] > BLANK and codes[i] != OPEN and codes[i] != CLOSE:
                i += 1
            ends[count], children[count] = i, 0
            count += 1
            continue
        i += 1
    return (EMPTY if count == 0 else WHOLE if depth == 0 else UNCLOSED), count


@entry_point
def parse_all(codes: Any, bounds: Any, nodes: Any, begins: Any, ends: Any, children: Any) -> Any:
    """Write the nodes of all trees, of which number t is in codes[bounds[t] : bounds[t + 1]], and where those of each begin and end.
    What is wrong with the first tree that is none, its number, and the place."""
    above = np.empty(len(codes), np.int64)
    nodes[0] = 0
    for t in range(len(bounds) - 1):
        k = nodes[t]
        flaw, count = parse(codes, bounds[t], bounds[t + 1], begins[k:], ends[k:], children[k:], above)
        if flaw != WHOLE:
            return flaw, t, count
        nodes[t + 1] = k + count
    return WHOLE, 0, 0
