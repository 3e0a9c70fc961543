"""Decoders of chains: tags k at words t, with the score  sum_t nodes[t, k_t] + edges[0, k_0] + sum_t edges[k_(t-1) + 1, k_t].

Row 0 of `edges` is what a tag scores at the beginning. Among equals the first tag wins, from the last word backwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.structured.problem import cost


@routine
def forward(edges: Any, nodes: Any, best: Any) -> Any:
    """best[t, k] = the largest score of tags up to word t, of which the last is k. O(T K^2)

    Which tag came before is not kept: to look for it later, for one tag a word, takes less than to note it for all."""
    K = nodes.shape[1]
    for k in range(K):
        best[0, k] = edges[0, k] + nodes[0, k]
    for t in range(1, len(nodes)):
        before, now, node = best[t - 1], best[t], nodes[t]
        first, edge = before[0], edges[1]
        for k in range(K):
            now[k] = first + edge[k]
        for j in range(1, K):
            score, edge = before[j], edges[j + 1]
            for k in range(K):
                total = score + edge[k]
                now[k] = total if total > now[k] else now[k]
        for k in range(K):
            now[k] += node[k]


@routine
def argmax(scores: Any) -> Any:
    k = 0
    for j in range(1, len(scores)):
        if scores[j] > scores[k]:
            k = j
    return k


@routine
def viterbi(edges: Any, nodes: Any, best: Any, tags: Any) -> Any:
    """tags = the best sequence."""
    T, K = nodes.shape
    if T == 0:
        return
    forward(edges, nodes, best)
    k = argmax(best[T - 1])
    tags[T - 1] = k
    for t in range(T - 2, -1, -1):
        before, j = best[t], 0
        highest = before[0] + edges[1, k]
        for i in range(1, K):
            total = before[i] + edges[i + 1, k]
            if total > highest:
                highest, j = total, i
        tags[t] = k = j


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
    so that the best sequence of each number of errors is needed: best[t, e, k]. O(T^2 K^2)"""
    T, K = nodes.shape
    if T == 0:
        return
    clear(best[:T])
    for k in range(K):
        best[0, int(k != truth[0]), k] = edges[0, k] + nodes[0, k]
    for t in range(1, T):
        for e in range(t + 1):
            for j in range(K):
                score = best[t - 1, e, j]
                if score > -np.inf:
                    for k in range(K):
                        f = e + int(k != truth[t])
                        total = score + edges[j + 1, k] + nodes[t, k]
                        if total > best[t, f, k]:
                            best[t, f, k], back[t, f, k] = total, j
    highest, errors, k = -np.inf, 0, 0
    for e in range(T + 1):
        last = argmax(best[T - 1, e])
        total = best[T - 1, e, last] + cost(kind, e)
        if total > highest:
            highest, errors, k = total, e, last
    for t in range(T - 1, -1, -1):
        tags[t] = k
        if t > 0:
            before = back[t, errors, k]
            errors -= int(k != truth[t])
            k = before


@routine
def n_best(edges: Any, nodes: Any, best: Any, back: Any, outputs: Any, scores: Any) -> Any:
    """outputs[:n], scores[:n] = the n best sequences, best first, as many as there are or as there is place for; returns n. For each
    word and tag the n best beginnings are kept, sorted: best[t, k, i], which came from the tag and the rank back[t, k, i]."""
    T, K = nodes.shape
    most = len(outputs)
    if T == 0:
        scores[0] = 0
        return 1
    clear(best[:T])
    for k in range(K):
        best[0, k, 0] = edges[0, k] + nodes[0, k]
    for t in range(1, T):
        for k in range(K):
            kept, came = best[t, k], back[t, k]
            for j in range(K):
                for i in range(most):
                    score = best[t - 1, j, i] + edges[j + 1, k]
                    if not score > kept[most - 1]:
                        break  # nor will those behind it
                    insert(kept, came, score, j * most + i)
            for i in range(most):
                kept[i] += nodes[t, k]
    last, ends = np.full(most, -np.inf, nodes.dtype), np.zeros(most, np.int64)
    for k in range(K):
        for i in range(most):
            if best[T - 1, k, i] > last[most - 1]:
                insert(last, ends, best[T - 1, k, i], k * most + i)
    n = 0
    while n < most and last[n] > -np.inf:
        scores[n], at = last[n], ends[n]
        for t in range(T - 1, -1, -1):
            k, i = at // most, at % most
            outputs[n, t] = k
            at = back[t, k, i] if t > 0 else 0
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
    forward(edges, nodes, best)
    after, later = np.zeros(K, nodes.dtype), np.empty(K, nodes.dtype)
    for t in range(T - 1, -1, -1):
        for k in range(K):
            out[t, k] = best[t, k] + after[k]
        for j in range(K):
            later[j] = -np.inf
            for k in range(K):
                later[j] = max(later[j], edges[j + 1, k] + nodes[t, k] + after[k])
        after[:] = later
