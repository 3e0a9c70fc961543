"""What experiments work with: data, permutations, and the measurements that were made already."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone

from onepass import datasets, evaluate
from onepass.evaluate.online import stack, take
from onepass.evaluate.tables import plain, words
from onepass.evaluate.tuning import standard_grid
from onepass.experiments.cells import Cells, Task
from onepass.stages import StandardScaler

POINTS = 128  # of a curve


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to learn from, and rows to be tested on."""

    name: str
    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None

    @cached_property
    def key(self) -> dict[str, Any]:
        """What a cell's key says of the data: its name, and a stamp of all of it."""
        digest = hashlib.blake2b(digest_size=16)
        for part in (self.X, self.y, self.X_test, self.y_test):
            for array in (part.indptr, part.indices, part.data) if hasattr(part, "indptr") else [part]:
                digest.update(b"none" if array is None else f"{array.dtype.str} {array.shape}".encode())
                if array is not None:
                    digest.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        return {"data": self.name, "content": digest.hexdigest()}


@dataclass(frozen=True)
class Lab:
    """Where an experiment is made.

    Attributes
    ----------
    cells : Cells
        What was measured already, and what measures the rest.
    permutations : int
        How many orders of the data, or draws of it, an experiment tries.
    folder : path, optional
        Where data sets are looked for first.
    rows : int, optional
        The most rows of a data set that are used, for a quick look.
    """

    cells: Cells
    permutations: int = 20
    folder: str | os.PathLike[str] | None = None
    rows: int | None = None

    @property
    def counted(self) -> str:
        """How many permutations, in words."""
        return f"{self.permutations} permutation{'' if self.permutations == 1 else 's'}"

    def load(self, name: str) -> datasets.Dataset:
        """A data set, the images of cbcl equalised; only the last one is held in memory."""
        return _load(name, None if self.folder is None else os.fspath(self.folder))

    def parts(self, name: str, *, scale: bool, tested: int = 0) -> Problem:
        """A data set with its test part; one that has none is shuffled, and so many rows of it are the test part. With `scale`
        features have mean 0 and deviation 1 in the part that is learned from."""
        data = self.load(name)
        X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
        if tested:
            order = np.random.RandomState(0).permutation(len(y))
            X, y = take(X, order), y[order]
            X, y, X_test, y_test = X[tested:], y[tested:], X[:tested], y[:tested]
        problem = Problem(name, X, y, X_test, y_test)
        return self.some(standardised(problem) if scale else problem)

    def whole(self, name: str, *, scale: bool) -> Problem:
        """Train and test part together, or the train part where w8a has the rest already; scaled over all of it."""
        data = self.load(name)
        X, y = data.X, data.y
        if name != "w7a":
            X, y = stack(X, data.X_test), np.concatenate([y, data.y_test])
        problem = Problem(name, X, y)
        return self.some(standardised(problem) if scale else problem)

    def some(self, problem: Problem, most: int | None = None, *, shuffle: bool = True) -> Problem:
        """At most so many rows of a problem, drawn or from its start; else as many as the lab uses."""
        most = self.rows if most is None else min(most, self.rows or most)
        if most is None or most >= len(problem.y):
            return problem
        keep = np.sort(np.random.RandomState(0).permutation(len(problem.y))[:most]) if shuffle else np.arange(most)
        return replace(problem, X=take(problem.X, keep), y=problem.y[keep])

    def passes(self, learner: Any, problem: Problem, permutations: int | None = None) -> list[Task]:
        """One pass of a learner over each permutation of a problem."""
        return [self.one_pass(learner, problem, p) for p in range(permutations or self.permutations)]

    def one_pass(self, learner: Any, problem: Problem, permutation: int | None) -> Task:
        """One pass over a permutation, or in the order of the data if there is none: the mistake rate and its curve, the test error."""
        fresh = seeded(learner, permutation or 0)

        def measure() -> dict[str, Any]:
            model, X, y = clone(fresh), problem.X, problem.y
            if permutation is not None:
                order = np.random.RandomState(permutation).permutation(len(y))
                X, y = take(X, order), y[order]
            window = max(len(y) // POINTS, 1)
            result = evaluate.prequential(model, (X, y), "mistake_rate", window, classes=np.unique(y), points=POINTS)
            test = {} if problem.X_test is None else {"test": 1 - float(model.score(problem.X_test, problem.y_test))}
            windows = result.window_curve
            assert windows is not None
            return {
                "online": result.metrics["mistake_rate"],
                **test,
                "at": result.curve.positions.tolist(),
                "curve": np.round(result.curve["mistake_rate"], 6).tolist(),
                "window at": windows.positions.tolist(),
                "windows": np.round(windows["mistake_rate"], 6).tolist(),
            }

        return Task({"pass": repr(fresh), "of": problem.key, "permutation": permutation}, measure)

    def search(self, learner: Any, problem: Problem, protocol: str, grid: Mapping[str, Any] | None = None) -> Task:
        """Choose the parameters of a learner on a problem, as `onepass.evaluate.tune` does."""
        grid = standard_grid(learner) if grid is None else grid
        fresh = seeded(learner, 0)

        def measure() -> dict[str, Any]:
            if not grid:
                return {"chosen": {}, "tried": []}
            found = evaluate.tune(fresh, grid, (problem.X, problem.y), protocol=protocol, beyond=0, jobs=1)
            tried = [({key: plain(value) for key, value in params.items()}, score) for params, score in found.candidates]
            return {"chosen": tried[found.best][0], "tried": tried}

        return Task({"search": repr(fresh), "grid": repr(grid), "of": problem.key, "protocol": protocol}, measure)


def standardised(problem: Problem) -> Problem:
    """Features with mean 0 and deviation 1 in the rows that are learned from."""
    X = _dense(problem.X)
    scaler = StandardScaler().fit(X)
    X_test = None if problem.X_test is None else scaler.transform(_dense(problem.X_test))
    return replace(problem, X=scaler.transform(X), X_test=X_test)


def equalised(X: Any) -> Any:
    """Images, a row each: a grey level becomes the share of its image's pixels that are not brighter. So light and contrast, in which
    pictures of one thing differ, are gone."""
    X = _dense(X)
    return rankdata(X, "max", axis=1) / X.shape[1]


def seeded(learner: Any, seed: int) -> Any:
    """A fresh learner, or pipeline, all of whose draws follow from the seed."""
    fresh = clone(learner)
    return fresh.set_params(**{name: seed for name in fresh.get_params() if name.split("__")[-1] == "random_state"})


def deviation(values: list[float]) -> float:
    """The standard deviation; 0 of one value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def tried(data: str, learner: str, searched: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a search tried, as records."""
    return [
        {
            "data": data,
            "learner": learner,
            "tried": words(params),
            "mistake rate %": "diverged" if math.isnan(score) else f"{100 * score:.3f}",
            "chosen": "yes" if params == searched["chosen"] else "",
        }
        for params, score in searched["tried"]
    ]


@lru_cache(maxsize=1)
def _load(name: str, folder: str | None) -> datasets.Dataset:
    data = datasets.load(name, folder=folder)
    return replace(data, X=equalised(data.X), X_test=equalised(data.X_test)) if name == "cbcl" else data


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X
