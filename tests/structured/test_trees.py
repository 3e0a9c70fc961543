"""Decoders of trees against all trees that there are, against a plain contraction of cycles, and against networkx."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import networkx
import numpy as np
import pytest

from naive_trees import is_projective, is_tree
from onepass.compiled.compiler import entry_point
from onepass.structured.forest import eisner_several, new_charts, new_parts, spanning_trees
from onepass.structured.trees import eisner, new_chart, new_graph, spanning_tree

pytestmark = [pytest.mark.plain, pytest.mark.compiled]

Heads = tuple[int, ...]


@entry_point
def decode(scores: Any, projective: Any, heads: Any) -> None:
    if projective:
        eisner(scores, new_chart(len(heads), scores.dtype), heads)
    else:
        spanning_tree(scores, new_graph(len(heads)), heads)


def decoded(scores: Any, projective: bool) -> Heads:
    heads = np.full(len(scores) - 1, -1)
    decode(scores, projective, heads)
    return tuple(heads.tolist())


@entry_point
def decode_several(scores: Any, projective: Any, outputs: Any) -> Any:
    k, n = outputs.shape
    if projective:
        return eisner_several(scores, new_charts(n + 2, k, scores.dtype), outputs)
    return spanning_trees(scores, new_graph(n + 2), new_parts(n + 2, k), outputs)


def several(scores: Any, projective: bool, k: int) -> list[Heads]:
    outputs = np.full((k, len(scores) - 1), -1)
    return [tuple(heads) for heads in outputs[: decode_several(scores, projective, outputs)].tolist()]


@cache
def all_trees(n: int, projective: bool) -> list[Heads]:
    found = [heads for heads in product(range(n + 1), repeat=n) if is_tree(heads)]
    return [heads for heads in found if is_projective(heads)] if projective else found


def total(scores: Any, heads: Sequence[int]) -> float:
    return float(sum(scores[h, d] for d, h in enumerate(heads, 1)))


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_trees(n: int, projective: bool) -> None:
    rng = np.random.default_rng(n)
    for _ in range(12):
        scores = rng.normal(size=(n + 1, n + 1))
        assert decoded(scores, projective) == max(all_trees(n, projective), key=lambda heads: total(scores, heads))
        whole = rng.integers(0, 3, (n + 1, n + 1)).astype(float)  # many are equal: then any of the best
        heads = decoded(whole, projective)
        assert is_tree(heads)
        assert total(whole, heads) == max(total(whole, other) for other in all_trees(n, projective))


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_several_trees(n: int, projective: bool) -> None:
    """The best, in their order; all that there are, if there are no more; the first is the best tree, also among equals."""
    rng = np.random.default_rng(n)
    for k in (1, 2, 3, 10, 60):
        scores = rng.normal(size=(n + 1, n + 1))
        ranked = sorted(all_trees(n, projective), key=lambda heads: -total(scores, heads)) if n else [()]
        assert several(scores, projective, k) == ranked[:k]
        whole = rng.integers(0, 3, (n + 1, n + 1)).astype(float)
        found = several(whole, projective, k)
        assert len(set(found)) == len(found) == min(k, len(ranked))
        assert [total(whole, heads) for heads in found] == sorted((total(whole, heads) for heads in ranked), reverse=True)[:k]
        assert found[0] == decoded(whole, projective)


@pytest.mark.parametrize("projective", [True, False])
def test_ties(projective: bool) -> None:
    """Small heads win; no words are no tree."""
    for n in range(7):
        for scores in (np.zeros((n + 1, n + 1)), np.full((n + 1, n + 1), -2.5, np.float32)):
            assert decoded(scores, projective) == (0, *[1] * (n - 1))[:n]


def contracted(scores: dict[tuple[int, int], float], nodes: set[int]) -> dict[int, int]:
    """Chu-Liu-Edmonds as textbooks have it: the best head of each node; a cycle becomes a node, which takes one of its arcs away."""
    heads = {d: max((h for h in {0, *nodes} - {d} if (h, d) in scores), key=lambda h: scores[h, d]) for d in nodes}
    cycle: list[int] = []
    for start in nodes:
        seen = [start]
        while heads.get(seen[-1], 0) not in (0, *seen):
            seen.append(heads[seen[-1]])
        if heads.get(seen[-1], 0) == start:
            cycle = seen
            break
    if not cycle:
        return heads
    new, inside = max(nodes) + 1000, set(cycle)
    smaller, real = {}, {}
    for (h, d), score in scores.items():
        if h in inside and d in inside:
            continue
        arc = (new if h in inside else h), (new if d in inside else d)
        value = score - scores[heads[d], d] if d in inside else score
        if arc not in smaller or value > smaller[arc]:
            smaller[arc], real[arc] = value, (h, d)
    found = {real[h, d][1]: real[h, d][0] for d, h in contracted(smaller, (nodes - inside) | {new}).items()}
    return {d: heads[d] for d in cycle} | found


def plainly(scores: Any) -> Heads:
    """The best of the trees with each word as the only one on the root."""
    n, found = len(scores) - 1, []
    for top in range(1, n + 1):
        arcs = {(h, d): float(scores[h, d]) for h in range(1, n + 1) for d in range(1, n + 1) if h != d != top}
        heads = contracted(arcs | {(0, top): float(scores[0, top])}, set(range(1, n + 1)))
        found.append(tuple(heads[d] for d in range(1, n + 1)))
    return max(found, key=lambda heads: total(scores, heads))


def test_longer_sentences() -> None:
    """The spanning tree is what cycles contracted by hand give, with one root; the best without crossing arcs is no better, and the
    same if the spanning tree has none."""
    rng = np.random.default_rng(0)
    same = 0
    for n in [7, 9, 12, 12, 15, 6, 6, 6]:
        scores = rng.normal(size=(n + 1, n + 1)) - (
            0.4 * np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1))) if n < 7 else 0
        )
        scores[0] += 3  # so that many would like to hang on the root
        spanning, projective = decoded(scores, False), decoded(scores, True)
        assert spanning == plainly(scores)
        assert is_tree(spanning)
        assert is_tree(projective)
        assert is_projective(projective)
        assert total(scores, projective) <= total(scores, spanning) + 1e-9
        if is_projective(spanning):
            assert projective == spanning
            same += 1
    assert same


def by_networkx(scores: Any) -> Heads:
    """The best tree, where all words but one may hang on others only: the arcs from the root cost more than all else can gain."""
    n, graph = len(scores) - 1, networkx.DiGraph()
    price = n * np.ptp(scores) + 1
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h != d:
                graph.add_edge(h, d, weight=float(scores[h, d] - (price if h == 0 else 0)))
    tree = networkx.maximum_spanning_arborescence(graph)
    return tuple(next(iter(tree.predecessors(d))) for d in range(1, n + 1))


def test_networkx() -> None:
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 5, 8, 13, 21):
        scores = rng.normal(size=(n + 1, n + 1))
        scores[0] += 2 * (n % 2)
        assert decoded(scores, False) == by_networkx(scores)
        best = total(scores, by_networkx(scores))
        assert total(scores, decoded(scores, True)) <= best + 1e-9
        whole = rng.integers(0, 4, (n + 1, n + 1)).astype(float)
        assert total(whole, decoded(whole, False)) == total(whole, by_networkx(whole))


@pytest.mark.parametrize("projective", [True, False])
def test_numbers_that_are_none(projective: bool) -> None:
    """Scores that overflowed still give a tree: the loop looks at its score, and refuses."""
    for bad in (np.nan, np.inf, -np.inf):
        scores = np.zeros((6, 6))
        scores[2:4] = bad
        assert len(decoded(scores, projective)) == 5
        assert len(several(scores, projective, 3)) <= 3
