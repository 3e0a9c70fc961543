"""The streams of the race: real data in one fixed order, the same rows and the same numbers for everyone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

import onepass
from onepass.evaluate.online import stack

SEED = 0  # of every shuffle


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows in the order in which they come.

    `X` is what the files have. `scaled` is the same for learners that need features of one size: each dense row is standardised by the
    rows before it, so that nobody looks ahead; sparse rows are left as they are. `y` holds the classes as 0, 1, ...
    """

    name: str
    about: str
    X: Any
    scaled: Any
    y: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def classes(self) -> NDArray[np.intp]:
        return np.arange(self.y.max() + 1)

    @property
    def binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def sparse(self) -> bool:
        return issparse(self.X)

    def first(self, n: int) -> Stream:
        return replace(self, X=self.X[:n], scaled=self.scaled[:n], y=self.y[:n])


def make(name: str, about: str, X: Any, labels: Any, order: Any = None) -> Stream:
    """A stream of rows in the order given, or as they are."""
    y = np.unique(labels, return_inverse=True)[1]
    if order is not None:
        X, y = X[order], y[order]
    scaled = X if issparse(X) else onepass.StandardScaler().learn_transform(X)
    return Stream(name, about, X, scaled, y)


def shuffled(n: int) -> NDArray[np.intp]:
    return np.random.default_rng(SEED).permutation(n)


def a9a() -> Stream:
    data = onepass.datasets.load("a9a")
    X, y = stack(data.X, data.X_test), np.concatenate([data.y, data.y_test])
    return make("a9a", "incomes, sparse, shuffled", csr_array(X), y, shuffled(len(y)))


def ijcnn1() -> Stream:
    data = onepass.datasets.load("ijcnn1")
    X, y = stack(data.X, data.X_test), np.concatenate([data.y, data.y_test])
    return make("ijcnn1", "an engine's firings in time order, 10 % positive", X.toarray(), y)


def elec2() -> Stream:
    data = onepass.datasets.load("elec2")
    return make("elec2", "electricity prices in time order, with drift; labels often stay as they were", data.X, data.y)


def sea() -> Stream:
    data = onepass.datasets.load("sea")
    return make("sea", "four linear concepts, one after the other, 10 % of labels wrong", data.X, data.y)


def covtype() -> Stream:
    data = onepass.datasets.load("covtype")
    return make("covtype", "forest cover, seven classes, the first 100,000 rows shuffled", data.X, data.y, shuffled(100_000))


def spambase() -> Stream:
    data = onepass.datasets.load("spambase")
    return make("spambase", "mail as word frequencies, shuffled", data.X, data.y, shuffled(len(data.y)))


STREAMS = (a9a, ijcnn1, elec2, sea, covtype, spambase)


def all_streams() -> Iterator[Stream]:
    """One after the other, so that only one is in memory."""
    return (load() for load in STREAMS)
