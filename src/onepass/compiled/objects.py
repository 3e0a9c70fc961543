"""Kernels of structured objects that are no dot products of counts. An object is a sparse row without holes: a few numbers that say
which kernel it is for, with its parameters, and then the object itself. So stores and files keep objects as they keep other rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.kernels import Structure, norm, own
from onepass.compiled.rows import DenseRow, SparseRow
from onepass.compiled.stores import Sparse, compare
from onepass.compiled.structures import NOTHING, text_hash
from onepass.compiled.words import finished, joined

SUBSEQUENCES, SUBSET_TREES, PARTIAL_TREES, RANDOM_WALKS = 1, 2, 3, 4
HEADER = 5  # the kind; SCALED or PLAIN; three parameters. None is 0, since stores leave zeros out.
SCALED, PLAIN = 1, 2
LONGEST = 256  # words of subsequences
WITH_LEAVES, WITHOUT = 1, 2
GEOMETRIC, EXPONENTIAL = 1, 2
TINY = 1e-17
SPARE = np.uint64(12)  # bits of a hash that a float has no place for


@routine
def alike(a: Any, b: Any) -> Any:
    """Whether two rows hold objects for the same kernel."""
    if len(a) < HEADER or len(b) < HEADER:
        return False
    differ = 0
    for i in range(HEADER):
        differ += a[i] != b[i]
    return differ == 0


# --- strings ---


@routine
def subsequences(s: Any, t: Any, n: Any, decay: Any, work: Any) -> Any:
    """Lodhi et al. 2002, definition 2: the sum, over the words of n letters, of decay^(the lengths that they span in s and in t).

    K'_i(s x, t) = decay K'_i(s, t) + K''_i(s x, t) and K''_i(s x, t y) = decay K''_i(s x, t) + [x = y] decay^2 K'_{i-1}(s, t) are two
    filters, one down and one along the rows, which may change places. So four rows go down at once, in long loops, and then along, each
    hiding how long the others take. primes[i, r, j] is K'_i of t[:j] and of s up to the row before this block (r = 0), or row r of it.
    """
    width = len(t) + 1
    primes = work[: n * 5 * width].reshape((n, 5, width))
    down = work[n * 5 * width : n * 6 * width].reshape((n, width))
    for i in range(n):
        for r in range(5):
            for j in range(width):
                primes[i, r, j] = 1.0 if i == 0 else 0.0
        for j in range(width):
            down[i, j] = 0.0
    square, total = decay * decay, 0.0
    for a in range(0, len(s), 4):
        for i in range(1, n):
            for r in range(4):
                letter = s[a + r] if a + r < len(s) else 0.0  # no letter of t
                before, filtered, after = primes[i - 1, r], down[i], primes[i, r + 1]
                for j in range(len(t)):
                    filtered[j] = decay * filtered[j] + (square * before[j] if t[j] == letter else 0.0)
                    after[j + 1] = filtered[j]
            one, two, three, four = primes[i, 1], primes[i, 2], primes[i, 3], primes[i, 4]
            h1, h2, h3, h4 = 0.0, 0.0, 0.0, 0.0
            for j in range(1, width):
                h1 = one[j] = decay * h1 + one[j]
                h2 = two[j] = decay * h2 + two[j]
                h3 = three[j] = decay * h3 + three[j]
                h4 = four[j] = decay * h4 + four[j]
        for r in range(min(4, len(s) - a)):
            before, letter = primes[n - 1, r], s[a + r]
            for j in range(len(t)):
                total += before[j] if t[j] == letter else 0.0
        for i in range(1, n):
            first, last = primes[i, 0], primes[i, 4]
            for j in range(width):
                first[j] = last[j]
    return square * total


# --- trees ---
# The body of a tree is, of all its nodes, the symbols, then the numbers of nodes in their subtrees, then the numbers of children + 1. A
# node comes after its children: the first is just before it, and each other just before the subtree of the one before.


@routine
def is_tree(body: Any) -> Any:
    """Whether all children are where they must be."""
    n = len(body) // 3
    sizes, children = body[n : 2 * n], body[2 * n : 3 * n]
    for i in range(n):
        p = i - 1
        for _ in range(int(children[i]) - 1 if 1 <= children[i] <= n else n):
            if p < 0:
                return False
            p -= int(sizes[p])
        if sizes[i] != i - p:
            return False
    return len(body) == 3 * n


@routine
def subset_trees(a: Any, b: Any, decay: Any, leaves: Any) -> Any:
    """Collins and Duffy 2001: the sum over pairs of nodes of the common fragments below them, whose nodes have all their children or
    none: for equal productions, decay times the product of 1 + those of each pair of children that are no leaves."""
    n, m, total = len(a) // 3, len(b) // 3, 0.0
    common = np.empty((n, m))
    for i in range(n):
        children = a[2 * n + i]
        for j in range(m):
            value = 0.0
            if a[i] == b[j] and children == b[2 * m + j]:
                value, p, q = decay if children > 1 or leaves else 0.0, i - 1, j - 1
                for _ in range(int(children) - 1):
                    if a[2 * n + p] > 1:
                        value *= 1 + common[p, q]
                    p, q = p - int(a[n + p]), q - int(b[m + q])
            common[i, j] = value
            total += value
    return total


@routine
def partial_trees(a: Any, b: Any, decay: Any, depth: Any, terminal: Any) -> Any:
    """Moschitti 2006: the same for fragments that may leave out children, with `decay` for each that is left out between two, and
    `depth` for each node. A leaf counts `terminal` times as much, as in KeLP."""
    n, m, total = len(a) // 3, len(b) // 3, 0.0
    common, ending, sums = np.empty((n, m)), np.empty((n, m)), np.zeros((n + 1, m + 1))
    for i in range(n):
        for j in range(m):
            value = 0.0
            if a[i] == b[j]:
                value = decay * decay
                rows, columns = int(a[2 * n + i]) - 1, int(b[2 * m + j]) - 1
                if rows == 0 or columns == 0:
                    value *= terminal
                else:
                    value += sequences(a[n:], b[m:], i, j, rows, columns, decay, common, ending, sums)
                value *= depth
            common[i, j] = value
            total += value
    return total


@routine
def sequences(
    sizes: Any, others: Any, i: Any, j: Any, rows: Any, columns: Any, decay: Any, common: Any, ending: Any, sums: Any
) -> Any:
    """The sum over all pairs of equally long subsequences of the children of two nodes. ending[x, y] is that of those of a length which
    end with children x and y, sums[x, y] of those which end before, each gap weighed down."""
    total, found = 0.0, 1.0
    for length in range(min(rows, columns)):
        if found == 0.0:
            break
        found, p = 0.0, i - 1
        for x in range(rows):
            q = j - 1
            for y in range(columns):
                ending[x, y] = common[p, q] * (1.0 if length == 0 else sums[x, y])
                found += ending[x, y]
                q -= int(others[q])
            p -= int(sizes[p])
        total += found
        for x in range(rows):
            for y in range(columns):
                sums[x + 1, y + 1] = ending[x, y] + decay * (sums[x, y + 1] + sums[x + 1, y] - decay * sums[x, y])
    return total


@entry_point
def tree_bodies(bounds: Any, codes: Any, begins: Any, ends: Any, children: Any, productions: Any, out: Any) -> None:
    """The bodies of trees whose nodes come before their children (`compiled/structures.py: Trees`). Their symbols are those of
    productions, the labels of a node and of its children, or of labels alone."""
    for t in range(len(bounds) - 1):
        n, base, last = bounds[t + 1] - bounds[t], 3 * bounds[t], bounds[t + 1] - 1
        labels = np.empty(n, np.uint64)
        symbols, sizes, counts = out[base : base + n], out[base + n : base + 2 * n], out[base + 2 * n : base + 3 * n]
        for k in range(n):
            i = last - k
            labels[k] = text_hash(codes, begins[i], ends[i])
            h, p = joined(joined(NOTHING, labels[k]), children[i]), k - 1
            for _ in range(children[i]):
                h, p = joined(h, labels[p]), p - int(sizes[p])
            symbols[k] = np.float64(finished(h if productions else labels[k]) >> SPARE) + 1
            sizes[k], counts[k] = k - p, children[i] + 1


# --- graphs ---
# The body of a graph is the number of its nodes, + 1; their symbols; how many neighbours each has, + 1; and the neighbours, + 1.


@routine
def is_graph(body: Any) -> Any:
    """Whether all neighbours are nodes."""
    n = int(body[0]) - 1 if len(body) > 0 and 1 <= body[0] <= len(body) else -1
    if n < 0 or len(body) < 2 * n + 1:
        return False
    edges = 0
    for v in range(n):
        if not 1 <= body[1 + n + v] <= len(body):
            return False
        edges += int(body[1 + n + v]) - 1
    for e in range(2 * n + 1, len(body)):
        if not 1 <= body[e] <= n:
            return False
    return len(body) == 2 * n + 1 + edges


@routine
def random_walks(a: Any, b: Any, weight: Any, steps: Any, exponential: Any) -> Any:
    """Gartner, Flach, Wrobel 2003; Vishwanathan et al. 2010: the sum over k of weight^k, or weight^k / k!, times the pairs of walks
    of k steps, one in each graph, that pass equal labels. ends[u, v] is the part of those that begin at u and v; a step is taken in one
    graph after the other. Terms that the sum no longer notices end it."""
    n, m = int(a[0]) - 1, int(b[0]) - 1
    ends, halfway, total, k = np.ones((n, m)), np.empty((n, m)), float(n * m), 0
    term = total
    while k < steps and term > TINY * total:
        k += 1
        halfway[:] = 0.0
        e = 2 * n + 1
        for u in range(n):
            for _ in range(int(a[1 + n + u]) - 1):
                w = int(a[e]) - 1
                e += 1
                for v in range(m):
                    halfway[u, v] += ends[w, v] if a[1 + w] == b[1 + v] else 0.0
        e, term = 2 * m + 1, 0.0
        factor = weight / k if exponential else weight
        for v in range(m):
            for u in range(n):
                ends[u, v] = 0.0
            for _ in range(int(b[1 + m + v]) - 1):
                w = int(b[e]) - 1
                e += 1
                for u in range(n):
                    ends[u, v] += halfway[u, w]
            for u in range(n):
                ends[u, v] *= factor if a[1 + u] == b[1 + v] else 0.0
                term += ends[u, v]
        total += term
    return total


# --- all of them ---


@routine
def workspace_for(x: Any) -> Any:
    """What it takes to compare an object with others."""
    strings = len(x) >= HEADER and x[0] == SUBSEQUENCES and 1 <= x[2] <= LONGEST
    return np.empty(int(x[2]) * 6 * (len(x) - HEADER + 1) if strings else 0)


@routine
def product(a: Any, b: Any, work: Any) -> Any:
    """The kernel of two objects, as it is; NaN if they are none, or not for the same kernel. Files may hold anything, so all that would
    lead out of an array is looked at."""
    if not alike(a, b):
        return np.nan
    body, other = a[HEADER:], b[HEADER:]
    if a[0] == SUBSEQUENCES:
        return subsequences(body, other, int(a[2]), a[3], work) if len(work) > 0 else np.nan
    if a[0] == RANDOM_WALKS:
        sound = is_graph(body) and is_graph(other)
        return random_walks(body, other, a[2], a[3], a[4] == EXPONENTIAL) if sound else np.nan
    if not (is_tree(body) and is_tree(other)):
        return np.nan
    if a[0] == SUBSET_TREES:
        return subset_trees(body, other, a[2], a[3] == WITH_LEAVES)
    return partial_trees(body, other, a[2], a[3], a[4]) if a[0] == PARTIAL_TREES else np.nan


@routine
def scaled(x: Any) -> Any:
    return x[1] == SCALED


@norm.form(Structure, SparseRow)
def _(kernel: Any, x: Any) -> Any:
    for i in range(len(x.indices)):
        if x.indices[i] != i:
            return np.nan
    return product(x.values, x.values, workspace_for(x.values))


@own.form(Structure, SparseRow)
def _(kernel: Any, a: Any, came: Any, x: Any) -> Any:
    return (a if not scaled(x.values) else 1.0 if a > 0 else 0.0) + x.bias * x.bias


@compare.form(Structure, Sparse, SparseRow)
def _(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> Any:
    work = workspace_for(x.values)
    for i in range(len(out)):
        value = product(store.values[i, : store.length[i]], x.values, work)
        if scaled(x.values) and value > 0:
            value /= np.sqrt(a * store.norms[i])
        out[i] = value + x.bias * x.bias


@norm.form(Structure, DenseRow)
def _(kernel: Any, x: Any) -> Any:
    return np.nan  # a row of numbers is no object


@own.form(Structure, DenseRow)
def _(kernel: Any, a: Any, came: Any, x: Any) -> Any:
    return np.nan


@compare.form(Structure, Sparse, DenseRow)
def _(kernel: Any, store: Any, x: Any, a: Any, out: Any) -> Any:
    out[:] = np.nan


@entry_point
def products_of(values: Any, indptr: Any, out: Any) -> None:
    """The kernel of each object with each, as it is."""
    for i in range(len(indptr) - 1):
        x = values[indptr[i] : indptr[i + 1]]
        work = workspace_for(x)
        for j in range(len(indptr) - 1):
            out[i, j] = product(values[indptr[j] : indptr[j + 1]], x, work)
