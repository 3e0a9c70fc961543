"""How the cost of an example grows: with the rows, the features, those of them that are not zero, dimensions and budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from river import linear_model
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier

import onepass
from benchmarks.measure import best
from benchmarks.peers import dicts

CLASSES = [-1, 1]
REPEATS = 3
ENTRIES = 2_000_000  # of a table, so that wide ones have fewer rows
WIDTH = 10_000  # features of sparse rows


@dataclass(frozen=True)
class Growth:
    """Microseconds an example against one size; `fixed` says what stays as it is."""

    size: str
    fixed: str
    lines: dict[str, list[tuple[int, float]]]


LEARNERS: dict[str, Callable[[], Any]] = {
    "PA-I": onepass.PAClassifier,
    "AROW": onepass.AROWClassifier,
    "PAMO 64x2": lambda: onepass.PAMOClassifier(random_state=0),
    "kernel PA-I, B=100": lambda: onepass.KernelPA(budget=100),
    "scikit-learn PA-I": lambda: SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0),
}


def labels(X: Any, rng: np.random.Generator) -> Any:
    """A linear concept, one label in ten of them wrong: updates go on."""
    return np.sign(X @ rng.normal(size=X.shape[1]) + 1e-9) * np.where(rng.random(X.shape[0]) < 0.1, -1, 1)


def dense(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X / np.sqrt(d), labels(X, rng)


def sparse(n: int, nnz: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    step = WIDTH // nnz
    indices = np.arange(nnz) * step + rng.integers(step, size=(n, nnz))  # ascending, each once
    values = rng.normal(size=n * nnz) / np.sqrt(nnz)
    X = csr_array((values, indices.ravel().astype(np.int32), np.arange(0, n * nnz + 1, nnz, dtype=np.int32)), (n, WIDTH))
    return X, labels(X, rng)


def cost(make: Callable[[], Any], X: Any, y: Any) -> float:
    """Microseconds an example of a fresh model's `partial_fit`, the rows in one call; it is compiled before."""
    make().partial_fit(X[:2], y[:2], classes=CLASSES)
    (seconds,) = best(lambda: make().partial_fit(X, y, classes=CLASSES), repeats=REPEATS)
    return 1e6 * seconds / len(y)


def river_cost(X: Any, y: Any) -> float:
    examples = list(zip(dicts(X), (y > 0).tolist(), strict=True))

    def learn() -> None:
        model = linear_model.PAClassifier(C=1.0, mode=1)
        for x, label in examples:
            model.learn_one(x, label)

    (seconds,) = best(learn, repeats=REPEATS)
    return 1e6 * seconds / len(y)


def with_rows() -> Growth:
    X, y = dense(1_000_000, 20)
    sizes = (1_000, 10_000, 100_000, 1_000_000)
    lines = {name: [(n, cost(make, X[:n], y[:n])) for n in sizes] for name, make in LEARNERS.items()}
    return Growth("rows n", "d = 20", lines)


def with_features() -> Growth:
    lines: dict[str, list[tuple[int, float]]] = {name: [] for name in (*LEARNERS, "river PA-I")}
    for d in (4, 16, 64, 256, 1024, 4096):
        X, y = dense(min(20_000, ENTRIES // d), d)
        for name, make in LEARNERS.items():
            lines[name].append((d, cost(make, X, y)))
        few = max(100, 20_000 // d)
        lines["river PA-I"].append((d, river_cost(X[:few], y[:few])))
    return Growth("features d", "dense rows", lines)


def with_entries() -> Growth:
    lines: dict[str, list[tuple[int, float]]] = {name: [] for name in LEARNERS}
    for nnz in (4, 16, 64, 256, 1024):
        X, y = sparse(min(20_000, ENTRIES // nnz), nnz)
        for name, make in LEARNERS.items():
            lines[name].append((nnz, cost(make, X, y)))
    return Growth("entries of a row (nnz)", f"sparse rows, d = {WIDTH:,}", lines)


def with_dimensions() -> Growth:
    X, y = dense(4_000, 50)
    sizes = (8, 16, 32, 64, 128, 256, 512, 1024)
    costs = [(h, cost(lambda h=h: onepass.PAMOClassifier(h, 2, random_state=0), X, y)) for h in sizes]  # type: ignore[misc]
    return Growth("dimensions h", "d = 50, 2 hyperplanes", {"PAMO": costs})


def with_budget() -> Growth:
    X, y = dense(8_000, 50)
    sizes = (16, 32, 64, 128, 256, 512, 1024)
    costs = [(B, cost(lambda B=B: onepass.KernelPA(budget=B), X, y)) for B in sizes]  # type: ignore[misc]
    return Growth("budget B", "d = 50", {"kernel PA-I": costs})


def all_growth() -> Iterator[Growth]:
    return (measure() for measure in (with_rows, with_features, with_entries, with_dimensions, with_budget))
