"""Kernels over strings, trees and graphs: beside GraKeL, beside the recursion in NumPy, and how their cost grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grakel
import numpy as np
from scipy.sparse import csr_array

import onepass
from benchmarks.measure import Result
from onepass import datasets

FIGURE = Path(__file__).parent.parent / "docs/figures/structures.png"
WIDE = 2**30  # columns, so that nothing collides
ELSEWHERE = 430e6  # cells a second of python-ssk (Cython), measured on two shared cores like these; no registry has it


def cpu(call: Callable[[], object], repeats: int = 3) -> float:
    """The shortest CPU time of a call, after one that compiles."""
    call()
    shortest = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        call()
        shortest = min(shortest, time.process_time() - start)
    return shortest


def structures() -> list[Result]:
    """All kernels, one thread, in CPU time."""
    draw_growth()
    return [*graphs(), *strings(), *trees()]


def graphs() -> list[Result]:
    """Kernel matrices of ENZYMES from lists of labels and edges, features and products; GraKeL's from its own form of the same."""
    X = datasets.load("enzymes").X
    theirs = [[{(a, b) for i, j in edges for a, b in ((i, j), (j, i))}, dict(enumerate(labels))] for labels, edges in X]
    pairs: list[tuple[str, Any, Any]] = [
        (
            "Weisfeiler-Lehman, 3 rounds",
            onepass.WeisfeilerLehman(3, WIDE, normed=False),
            grakel.WeisfeilerLehman(n_iter=3, base_graph_kernel=grakel.VertexHistogram),
        ),
        ("shortest paths", onepass.ShortestPaths(WIDE, normed=False), grakel.ShortestPath(with_labels=True)),
    ]
    results = []
    for name, stage, kernel in pairs:

        def matrix(stage: Any = stage) -> Any:
            rows = stage.transform(X)
            found, places = np.unique(rows.indices, return_inverse=True)
            rows = csr_array((rows.data, places, rows.indptr), shape=(rows.shape[0], len(found)))
            return (rows @ rows.T).toarray()

        ours, peer = cpu(matrix), cpu(lambda kernel=kernel: kernel.fit_transform(theirs))
        if not np.array_equal(matrix(), kernel.fit_transform(theirs)):
            raise ArithmeticError(f"{name}: the two matrices differ")
        features = cpu(lambda stage=stage: stage.transform(X))
        measured = f"{1e3 * ours:.0f} ms for 600 x 600, of which features {1e3 * features:.0f} ms"
        results.append(Result(f"{name}, ENZYMES", measured, peer / ours, 3, f"GraKeL, {1e3 * peer:.0f} ms"))
    return results


def strings() -> list[Result]:
    """Gappy subsequences of promoters: n |s| |t| cells a pair."""
    X = datasets.load("promoters").X
    stage = onepass.Subsequences(3, normed=False)
    cells = 3 * sum(map(len, X)) ** 2 / 2  # each pair once
    speed = cells / cpu(lambda: stage.gram(X))
    return [
        Result(
            "gappy subsequences of 3, promoters",
            f"{speed / 1e6:,.0f} M cells/s",
            speed / ELSEWHERE,
            1.5,
            f"python-ssk, {ELSEWHERE / 1e6:.0f} M cells/s on a machine like this",
        )
    ]


def trees() -> list[Result]:
    """Subset trees and partial trees of questions, in pairs of nodes a second, beside the recursion over all pairs in NumPy."""
    X = datasets.load("questions").X_test[:200]
    nodes = [text.count("(") for text in X]
    results = []
    for name, stage in (
        ("subset trees", onepass.SubsetTrees(normed=False)),
        ("partial trees", onepass.PartialTrees(normed=False)),
    ):
        pairs = sum(nodes) ** 2 / 2
        speed = pairs / cpu(lambda stage=stage: stage.gram(X))
        twin = twin_speed(X[:20], nodes[:20]) if name == "subset trees" else None
        results.append(
            Result(
                f"{name}, questions",
                f"{speed / 1e6:.0f} M pairs of nodes/s",
                None if twin is None else speed / twin,
                None,
                "" if twin is None else f"the recursion in NumPy, {twin / 1e6:.2f} M/s",
            )
        )
    return results


def twin_speed(X: list[str], nodes: list[int]) -> float:
    """Pairs of nodes a second of the subset tree kernel, a matrix of equal productions and the children's values, in NumPy."""
    parsed = [parse(text) for text in X]
    start = time.process_time()
    for one in parsed:
        for other in parsed:
            subset_trees(*one, *other)
    return sum(nodes) ** 2 / (time.process_time() - start)


def parse(text: str) -> tuple[list[tuple[str, ...]], list[list[int]]]:
    """The productions of a tree's nodes, and their children, a node after all that is below it."""
    labels, children, path = list[str](), list[list[int]](), list[tuple[str, list[int]]]()
    for part in text.replace("(", "\0(").replace(")", "\0)").split("\0"):
        if part.startswith("("):
            path.append((part[1:].strip(), []))
        elif part.startswith(")"):
            label, below = path.pop()
            labels.append(label)
            children.append(below)
            if path:
                path[-1][1].append(len(labels) - 1)
    return [(label, *(labels[i] for i in below)) for label, below in zip(labels, children, strict=True)], children


def subset_trees(productions: Any, children: Any, others: Any, below: Any, decay: float = 0.4) -> float:
    ids = {production: i for i, production in enumerate({*productions, *others})}
    same = np.array([ids[p] for p in productions])[:, None] == np.array([ids[p] for p in others])[None, :]
    common = np.zeros(same.shape)
    for a, b in zip(*np.nonzero(same), strict=True):
        pairs = [(i, j) for i, j in zip(children[a], below[b], strict=True) if children[i] or below[j]]
        common[a, b] = decay * np.prod([1 + common[i, j] for i, j in pairs])
    return float(common.sum())


def draw_growth() -> None:
    """Microseconds against the length of strings, the nodes of graphs and trees, and the tags and words of sentences."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")

    def line(ax: Any, name: str, sizes: list[int], seconds: list[float]) -> None:
        ax.loglog(sizes, [1e6 * s for s in seconds], marker="o", markersize=3, label=name)

    sizes = [25, 50, 100, 200, 400, 800]
    words = {n: ["".join(rng.choice(list("acgt"), n)) for _ in range(8)] for n in sizes}
    bushes = {n: [bush(rng, n) for _ in range(8)] for n in sizes}
    for name, stage, given in (
        ("subsequences of 3", onepass.Subsequences(3), words),
        ("subset trees", onepass.SubsetTrees(), bushes),
        ("partial trees", onepass.PartialTrees(), bushes),
    ):
        line(axes[0], name, sizes, [cpu(lambda stage=stage, X=given[n]: stage.gram(X)) / 36 for n in sizes])
    nets = {n: [net(rng, n) for _ in range(8)] for n in sizes}
    for name, stage, given in (
        ("spectrum of 3", onepass.Spectrum(3), words),
        ("subtrees", onepass.Subtrees(), bushes),
        ("Weisfeiler-Lehman", onepass.WeisfeilerLehman(3), nets),
        ("shortest paths", onepass.ShortestPaths(), nets),
    ):
        line(axes[1], name, sizes, [cpu(lambda stage=stage, X=given[n]: stage.transform(X)) / 8 for n in sizes])
    tags = [5, 10, 20, 40, 80]
    line(axes[2], "tags, 20 words", tags, [tagged(rng, K, 20) for K in tags])
    lengths = [5, 10, 20, 40, 80, 160]
    line(axes[2], "words, 20 tags", lengths, [tagged(rng, 20, n) for n in lengths])
    for ax, title, label in zip(
        axes,
        ("a pair, kept", "an object as a row", "learning a sentence"),
        ("letters or nodes", "letters or nodes", "tags, or words"),
        strict=True,
    ):
        ticks = lengths if "words" in label else sizes
        ax.set(title=title, xlabel=label, ylabel="microseconds", xticks=ticks, xticklabels=ticks)
        ax.minorticks_off()
        ax.legend(fontsize=8)
    figure.savefig(FIGURE, dpi=110)
    plt.close(figure)


def bush(rng: Any, n: int) -> str:
    """A tree of n nodes with few labels."""
    below: list[list[int]] = [[] for _ in range(n)]
    for i in range(1, n):
        below[max(0, i - int(rng.integers(1, 6)))].append(i)

    texts = [""] * n
    for i in range(n - 1, -1, -1):
        texts[i] = f"({'ABCDEF'[i % 6]} {' '.join(texts[j] for j in below[i])})"
    return texts[0]


def net(rng: Any, n: int) -> Any:
    """A connected graph of n nodes and 2 n edges, with few labels."""
    edges = [(i, int(rng.integers(0, i))) for i in range(1, n)] + [tuple(map(int, rng.integers(0, n, 2))) for _ in range(n)]
    return list(rng.choice(["C", "N", "O"], n)), edges


def tagged(rng: Any, K: int, n: int) -> float:
    """Seconds to learn from a sentence of n words with K tags."""
    X = [[{f"w{rng.integers(200)}": 1.0, "shape": float(rng.random())} for _ in range(n)] for _ in range(200)]
    y = [[int(k) for k in rng.integers(0, K, n)] for _ in X]
    model = onepass.SequenceTagger().partial_fit(X, y, classes=list(range(K)))
    return cpu(lambda: model.partial_fit(X, y)) / len(X)
