"""Decoders of chains: tags k at words t, with scores of tags (`nodes`), of the first tag (edges[0]), and of a tag after others.

A state is a tag and its context, which is what of the tags before it still counts. In chains of first order there is one context, and a
state is a tag. In those of second order the context is the tag before, or 0 for the beginning: the state s = c K + k is the tag k after
the tag c - 1, and comes from that tag in any context. So decoders take O(T K^3) instead of O(T K^2).

edges[1 + s, k] is the score of the tag k behind the state s. Among equals the first state wins, from the last word backwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import routine, spliced
from onepass.structured.problem import cost, first_best


@spliced
def contexts_of(edges: Any, nodes: Any) -> Any:
    """How many contexts there are: 1, or one more than there are tags."""
    return (len(edges) - 1) // nodes.shape[1]


@spliced
def first_context(C: Any) -> Any:
    """The first context behind the first word: that of the beginning is for the first word alone."""
    return 1 if C > 1 else 0


@spliced
def sources_of(C: Any, K: Any) -> Any:
    """From how many states a state may come."""
    return C if C > 1 else K


@spliced
def source(C: Any, K: Any, c: Any, i: Any) -> Any:
    """Number i of the states that the states of a context may come from."""
    return i * K + c - 1 if C > 1 else i


@spliced
def context_behind(C: Any, K: Any, s: Any) -> Any:
    """The context of what comes behind a state."""
    return s % K + 1 if C > 1 else 0


@routine
def forward(edges: Any, nodes: Any, best: Any) -> Any:
    """best[t, s] = the largest score of tags up to word t, of which the last has the state s.

    Which state came before is not kept: to look for it later, for one state a word, takes less than to note it for all."""
    K, C = nodes.shape[1], contexts_of(edges, nodes)
    begin(edges, nodes, best[0])
    for t in range(1, len(nodes)):
        before, node = best[t - 1], nodes[t]
        for s in range(first_context(C) * K):
            best[t, s] = -np.inf
        for c in range(first_context(C), C):
            now, s = best[t, c * K : (c + 1) * K], source(C, K, c, 0)
            first, edge = before[s], edges[1 + s]
            for k in range(K):
                now[k] = first + edge[k]
            for i in range(1, sources_of(C, K)):
                s = source(C, K, c, i)
                score, edge = before[s], edges[1 + s]
                for k in range(K):
                    total = score + edge[k]
                    now[k] = total if total > now[k] else now[k]
            for k in range(K):
                now[k] += node[k]


@routine
def begin(edges: Any, nodes: Any, best: Any) -> Any:
    """best = the scores of the first tag, which has the first context."""
    K = nodes.shape[1]
    for k in range(K):
        best[k] = edges[0, k] + nodes[0, k]
    for s in range(K, len(best)):
        best[s] = -np.inf


@routine
def viterbi(edges: Any, nodes: Any, best: Any, tags: Any) -> Any:
    """tags = the best sequence."""
    T, K = nodes.shape
    if T == 0:
        return
    C = contexts_of(edges, nodes)
    forward(edges, nodes, best)
    c, k = divmod(first_best(best[T - 1]), K)
    tags[T - 1] = k
    for t in range(T - 2, -1, -1):
        before, s, came = best[t], source(C, K, c, 0), 0
        highest = before[s] + edges[1 + s, k]
        for i in range(1, sources_of(C, K)):
            s = source(C, K, c, i)
            total = before[s] + edges[1 + s, k]
            if total > highest:
                highest, came = total, i
        c, k = (came, c - 1) if C > 1 else (0, came)
        tags[t] = k


@routine
def clear(best: Any) -> Any:
    """No sequences so far."""
    for t in range(best.shape[0]):
        for i in range(best.shape[1]):
            for j in range(best.shape[2]):
                best[t, i, j] = -np.inf


@routine
def viterbi_by_errors(edges: Any, nodes: Any, truth: Any, kind: Any, best: Any, back: Any, tags: Any) -> Any:
    """tags = the sequence with the largest sum of its score and of the cost of its errors. The root of a number is no sum over words,
    so that the best sequence of each number of errors is needed: best[t, e, s]. T times as much work."""
    T, K = nodes.shape
    if T == 0:
        return
    C = contexts_of(edges, nodes)
    clear(best[:T])
    for k in range(K):
        best[0, int(k != truth[0]), k] = edges[0, k] + nodes[0, k]
    for t in range(1, T):
        for e in range(t + 1):
            for s in range(C * K):
                score, first = best[t - 1, e, s], context_behind(C, K, s) * K
                if score > -np.inf:
                    for k in range(K):
                        f = e + int(k != truth[t])
                        total = score + edges[1 + s, k] + nodes[t, k]
                        if total > best[t, f, first + k]:
                            best[t, f, first + k], back[t, f, first + k] = total, s
    highest, errors, now = -np.inf, 0, 0
    for e in range(T + 1):
        last = first_best(best[T - 1, e])
        total = best[T - 1, e, last] + cost(kind, e)
        if total > highest:
            highest, errors, now = total, e, last
    for t in range(T - 1, -1, -1):
        tags[t] = now % K
        if t > 0:
            before = back[t, errors, now]
            errors -= int(tags[t] != truth[t])
            now = before


@routine
def n_best(edges: Any, nodes: Any, best: Any, back: Any, outputs: Any, scores: Any) -> Any:
    """outputs[:n], scores[:n] = the n best sequences, best first, as many as there are or as there is place for; returns n. For each
    word and state the n best beginnings are kept, sorted: best[t, s, i], which came from the state and the rank back[t, s, i]."""
    T, K = nodes.shape
    most = len(outputs)
    if T == 0:
        scores[0] = 0
        return 1
    C = contexts_of(edges, nodes)
    clear(best[:T])
    for k in range(K):
        best[0, k, 0] = edges[0, k] + nodes[0, k]
    for t in range(1, T):
        for now in range(first_context(C) * K, C * K):
            c, k = now // K, now % K
            kept, came = best[t, now], back[t, now]
            for j in range(sources_of(C, K)):
                s = source(C, K, c, j)
                for i in range(most):
                    score = best[t - 1, s, i] + edges[1 + s, k]
                    if not score > kept[most - 1]:
                        break  # nor will those behind it
                    insert(kept, came, score, s * most + i)
            for i in range(most):
                kept[i] += nodes[t, k]
    last, ends = np.full(most, -np.inf, nodes.dtype), np.zeros(most, np.int64)
    for s in range(C * K):
        for i in range(most):
            if best[T - 1, s, i] > last[most - 1]:
                insert(last, ends, best[T - 1, s, i], s * most + i)
    n = 0
    while n < most and last[n] > -np.inf:
        scores[n], at = last[n], ends[n]
        for t in range(T - 1, -1, -1):
            s, i = at // most, at % most
            outputs[n, t] = s % K
            at = back[t, s, i] if t > 0 else 0
        n += 1
    return n


@routine
def insert(kept: Any, came: Any, score: Any, source: Any) -> Any:
    """Put a score in its place among sorted ones, behind its equals; the last is dropped."""
    i = len(kept) - 1
    while i > 0 and kept[i - 1] < score:
        kept[i], came[i] = kept[i - 1], came[i - 1]
        i -= 1
    kept[i], came[i] = score, source


@routine
def max_marginals(edges: Any, nodes: Any, best: Any, out: Any) -> Any:
    """out[t, k] = the score of the best sequence that has the tag k at word t: the best beginning and the best end."""
    T, K = nodes.shape
    if T == 0:
        return
    C = contexts_of(edges, nodes)
    forward(edges, nodes, best)
    after, later = np.zeros(C * K, nodes.dtype), np.empty(C * K, nodes.dtype)
    for t in range(T - 1, -1, -1):
        for k in range(K):
            out[t, k] = -np.inf
        for s in range(C * K):
            out[t, s % K] = max(out[t, s % K], best[t, s] + after[s])
        for s in range(C * K):
            later[s], first = -np.inf, context_behind(C, K, s) * K
            for k in range(K):
                later[s] = max(later[s], edges[1 + s, k] + nodes[t, k] + after[first + k])
        after[:] = later
