"""Sentences: a tag for each word, which depends on the features of the word and on the tag before, or on the two tags before.

The tag before is a feature like any other: it has a row of the weights, as has the beginning of a sentence, and as have two tags in a
row. So a model is one matrix, a row a feature and a column a tag, and all scores of a word are sums of a few rows.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine, spliced
from onepass.compiled.rows import row
from onepass.structured.contrast import enter
from onepass.structured.loop import seen
from onepass.structured.problem import (
    COUNT,
    decode,
    decode_costly,
    decode_several,
    desk,
    differ,
    errors,
    extent,
    value,
    weigh,
)
from onepass.structured.viterbi import max_marginals, n_best, viterbi, viterbi_by_errors

# W: (rows, tags); row 0 is the constant feature, of value `bias`. rows: that of the beginning, and that of each tag; 0 where there is
# none. pairs: in chains of second order, the row of each tag (a column) after the beginning, and after each tag; else of no rows.
# barred: what is added to edges (the beginning first) so that decoders avoid them, at most BARRED; of no rows where all are allowed.
Chain = namedtuple("Chain", "W bias rows pairs barred")
BARRED = -1e9

# Words as rows: word i has the features indices[indptr[i] : indptr[i + 1]], and sentence t the words offsets[t] : offsets[t + 1].
Sentences = namedtuple("Sentences", "offsets indptr indices values")
Sentence = namedtuple("Sentence", "indptr indices values")

Desk = namedtuple("Desk", "best edges costly best_errors back_errors best_several back_several scores")


@row.form(Sentences)
def _(X: Any, t: Any) -> Any:
    return Sentence(X.indptr[X.offsets[t] : X.offsets[t + 1] + 1], X.indices, X.values)


@routine
def longest(X: Any) -> Any:
    """The number of words of the longest sentence, and the largest number of features of one."""
    words, features = 0, 0
    for t in range(len(X.offsets) - 1):
        start, end = X.offsets[t], X.offsets[t + 1]
        words, features = max(words, end - start), max(features, X.indptr[end] - X.indptr[start])
    return words, features


@extent.form(Chain)
def _(p: Any, X: Any) -> Any:
    words, features = longest(X)
    return n_edges(p) + words, p.W.shape[1], words, 2 * (features + 3 * words)


@spliced
def n_edges(p: Any) -> Any:
    """The beginning, and the states that a tag may follow (`viterbi.py`)."""
    return 1 + p.W.shape[1] * max(len(p.pairs), 1)


@desk.form(Chain)
def _(p: Any, X: Any, k: Any, by_errors: Any) -> Any:
    T, _ = longest(X)
    K, E, kind = p.W.shape[1], n_edges(p), p.W.dtype
    D, n, S = (T if by_errors else 0), (k if k > 1 else 0), E - 1
    return Desk(
        np.empty((T, S), kind),
        np.empty((E, K), kind),
        np.empty((T, K), kind),
        np.empty((D, D + 1, S), kind),
        np.empty((D, D + 1, S), np.int64),
        np.empty((T if n else 0, S, n), kind),
        np.empty((T if n else 0, S, n), np.int64),
        np.empty(n, kind),
    )


@spliced
def edges_of(p: Any, parts: Any) -> Any:
    return parts[: n_edges(p)]


@spliced
def nodes_of(p: Any, x: Any, parts: Any) -> Any:
    return parts[n_edges(p) : n_edges(p) + len(x.indptr) - 1]


@spliced
def allowed(p: Any, parts: Any, d: Any) -> Any:
    """The edges as decoders see them."""
    edges = edges_of(p, parts)
    if len(p.barred) == 0:
        return edges
    K = edges.shape[1]
    for e in range(len(edges)):
        barred = p.barred[0 if e == 0 else (e - 1) % K + 1]
        for k in range(K):
            d.edges[e, k] = edges[e, k] + barred[k]
    return d.edges


@weigh.form(Chain)
def _(p: Any, x: Any, parts: Any) -> Any:
    K, T = p.W.shape[1], len(x.indptr) - 1
    edges, nodes = edges_of(p, parts), nodes_of(p, x, parts)
    copy_row(p, p.rows[0], edges[0])
    for c in range(max(len(p.pairs), 1)):
        for j in range(K):
            edge = edges[1 + c * K + j]
            copy_row(p, p.rows[j + 1], edge)
            if len(p.pairs) > 0 and p.pairs[c, j] > 0:
                more = p.W[p.pairs[c, j]]
                for k in range(K):
                    edge[k] += more[k]
    for t in range(T):
        start, end = x.indptr[t], x.indptr[t + 1]
        weigh_word(p.W, x.indices[start:end], x.values[start:end], p.bias, nodes[t])
    return len(edges) + T


@spliced
def copy_row(p: Any, j: Any, out: Any) -> Any:
    """out = row j of the weights, or 0 where there is none."""
    source = p.W[j]
    for k in range(len(out)):
        out[k] = source[k] if j > 0 else 0


@spliced
def context_before(p: Any, y: Any, t: Any) -> Any:
    """The context of the tag before word t, which is not the first (`viterbi.py`)."""
    return y[t - 2] + 1 if len(p.pairs) > 0 and t > 1 else 0


@routine
def weigh_word(W: Any, indices: Any, values: Any, bias: Any, out: Any) -> Any:
    """out = the sum of rows of W, each times a value, and of row 0 times the bias. Four at a time: `out` is read and written a quarter
    as often."""
    K, n, i = len(out), len(indices), 0
    for k in range(K):
        out[k] = 0
    while i + 4 <= n:
        a, b, c, d = values[i], values[i + 1], values[i + 2], values[i + 3]
        A, B, C, D = W[indices[i]], W[indices[i + 1]], W[indices[i + 2]], W[indices[i + 3]]
        for k in range(K):
            out[k] = (((out[k] + a * A[k]) + b * B[k]) + c * C[k]) + d * D[k]
        i += 4
    while i < n:
        a, A = values[i], W[indices[i]]
        for k in range(K):
            out[k] += a * A[k]
        i += 1
    first = W[0]
    for k in range(K):
        out[k] += bias * first[k]


@decode.form(Chain)
def _(p: Any, x: Any, parts: Any, d: Any, z: Any) -> Any:
    viterbi(allowed(p, parts, d), nodes_of(p, x, parts), d.best, z)


@spliced
def costly_nodes(p: Any, x: Any, parts: Any, y: Any, d: Any) -> Any:
    """The scores of words with 1 more for each wrong tag."""
    nodes = nodes_of(p, x, parts)
    T, K = nodes.shape
    for t in range(T):
        for k in range(K):
            d.costly[t, k] = nodes[t, k] + 1
        d.costly[t, y[t]] = nodes[t, y[t]]
    return d.costly[:T]


@decode_costly.form(Chain)
def _(p: Any, x: Any, parts: Any, y: Any, kind: Any, d: Any, z: Any) -> Any:
    edges = allowed(p, parts, d)
    if kind != COUNT:
        viterbi_by_errors(edges, nodes_of(p, x, parts), y, kind, d.best_errors, d.back_errors, z)
    else:
        viterbi(edges, costly_nodes(p, x, parts, y, d), d.best, z)


@decode_several.form(Chain)
def _(p: Any, x: Any, parts: Any, y: Any, costly: Any, d: Any, outputs: Any) -> Any:
    nodes = costly_nodes(p, x, parts, y, d) if costly else nodes_of(p, x, parts)
    n = n_best(allowed(p, parts, d), nodes, d.best_several, d.back_several, outputs, d.scores)
    while n > 1 and d.scores[n - 1] < BARRED / 2:
        n -= 1
    return n


@value.form(Chain)
def _(p: Any, x: Any, parts: Any, y: Any) -> Any:
    edges, nodes = edges_of(p, parts), nodes_of(p, x, parts)
    total = parts.dtype.type(0)
    K = p.W.shape[1]
    for t in range(len(y)):
        e = 1 + context_before(p, y, t) * K + y[t - 1] if t > 0 else 0
        total += edges[e, y[t]] + nodes[t, y[t]]
    return total


@errors.form(Chain)
def _(p: Any, x: Any, y: Any, z: Any) -> Any:
    wrong = 0
    for t in range(len(y)):
        wrong += int(y[t] != z[t])
    return wrong


@differ.form(Chain)
def _(p: Any, x: Any, y: Any, z: Any, book: Any) -> Any:
    K = p.W.shape[1]
    for t in range(len(y)):
        if y[t] != z[t]:
            if p.bias != 0:
                enter(book, y[t] - 1, p.bias)
                enter(book, z[t] - 1, -p.bias)
            for i in range(x.indptr[t], x.indptr[t + 1]):
                place = x.indices[i] * K - 1
                enter(book, place + y[t], x.values[i])
                enter(book, place + z[t], -x.values[i])
        differ_by_row(p, p.rows[y[t - 1] + 1 if t > 0 else 0], p.rows[z[t - 1] + 1 if t > 0 else 0], y[t], z[t], book)
        if len(p.pairs) > 0 and t > 0:
            right, wrong = p.pairs[context_before(p, y, t), y[t - 1]], p.pairs[context_before(p, z, t), z[t - 1]]
            differ_by_row(p, right, wrong, y[t], z[t], book)


@routine
def differ_by_row(p: Any, right: Any, wrong: Any, y: Any, z: Any, book: Any) -> Any:
    """Enter the difference of a tag y with the feature of one row, and z with that of another."""
    K = p.W.shape[1]
    if right != wrong or y != z:
        if right > 0:
            enter(book, right * K - 1 + y, p.W.dtype.type(1))
        if wrong > 0:
            enter(book, wrong * K - 1 + z, p.W.dtype.type(-1))


@entry_point
def run_marginals(model: Any, average: Any, X: Any, out: Any) -> Any:
    """out[i, k] = the score of the best tags of the sentence of word i of which that of the word is k."""
    p = model.problem
    height, width, _, _ = extent(p, X)
    parts = np.empty((height, width), out.dtype)
    spare, d = np.empty_like(parts), desk(p, X, 1, False)
    for t in range(len(X.offsets) - 1):
        x = row(X, t)
        weigh(p, x, parts)
        shown = seen(average, x, parts, spare)
        max_marginals(allowed(p, shown, d), nodes_of(p, x, shown), d.best, out[X.offsets[t] : X.offsets[t + 1]])
