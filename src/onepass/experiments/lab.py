"""What experiments work with: data, permutations, and the measurements that were made already."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
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
    """Rows to learn from, and rows to be tested on; `of` says what they are, in a cell's key."""

    of: Mapping[str, Any]
    X: Any
    y: Any
    X_test: Any = None
    y_test: Any = None

    @property
    def classes(self) -> Any:
        """The labels that there are."""
        return np.unique(self.y)


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

    def load(self, name: str) -> datasets.Dataset:
        """A data set; only the last one is held in memory."""
        return _load(name, None if self.folder is None else os.fspath(self.folder))

    def parts(self, name: str, *, scale: bool) -> Problem:
        """A data set with its test part. With `scale` features have mean 0 and deviation 1 in the part that is learned from."""
        data = self.load(name)
        X, X_test = data.X, data.X_test
        if scale:
            X, X_test = _dense(X), _dense(X_test)
            scaler = StandardScaler().fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
        return self.some(Problem({"data": name, "part": "train", "scaled": scale}, X, data.y, X_test, data.y_test))

    def whole(self, name: str, *, scale: bool) -> Problem:
        """Train and test part together, or the train part where w8a has the rest already; scaled over all of it."""
        data = self.load(name)
        X, y = data.X, data.y
        if name != "w7a":
            X, y = stack(X, data.X_test), np.concatenate([y, data.y_test])
        if scale:
            X = _dense(X)
            X = StandardScaler().fit(X).transform(X)
        return self.some(Problem({"data": name, "part": "whole", "scaled": scale}, X, y))

    def some(self, problem: Problem, most: int | None = None, *, shuffle: bool = True) -> Problem:
        """At most so many rows of a problem, drawn or from its start; else as many as the lab uses."""
        most = self.rows if most is None else min(most, self.rows or most)
        if most is None or most >= len(problem.y):
            return problem
        keep = np.sort(np.random.RandomState(0).permutation(len(problem.y))[:most]) if shuffle else np.arange(most)
        X, y = take(problem.X, keep), problem.y[keep]
        return Problem({**problem.of, "rows": most}, X, y, problem.X_test, problem.y_test)

    def passes(self, learner: Any, problem: Problem, permutations: int | None = None) -> list[Task]:
        """One pass of a learner over each permutation of a problem."""
        return [self.one_pass(learner, problem, p) for p in range(permutations or self.permutations)]

    def one_pass(self, learner: Any, problem: Problem, permutation: int | None) -> Task:
        """One pass over a permutation, or in the order of the data if there is none: the mistake rate and its curve, the test error."""
        seed = permutation or 0
        model = clone(learner)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)

        def measure() -> dict[str, Any]:
            order = slice(None) if permutation is None else np.random.RandomState(seed).permutation(len(problem.y))
            X, y = (problem.X, problem.y) if permutation is None else (take(problem.X, order), problem.y[order])
            window = max(len(y) // POINTS, 1)
            result = evaluate.prequential(model, (X, y), "mistake_rate", window, classes=problem.classes, points=POINTS)
            test = {} if problem.X_test is None else {"test": 1 - float(model.score(problem.X_test, problem.y_test))}
            windows = result.window_curve
            assert windows is not None
            return {
                "online": result.metrics["mistake_rate"],
                **test,
                "updates": result.updates,
                "seconds": result.seconds,
                "at": result.curve.positions.tolist(),
                "curve": np.round(result.curve["mistake_rate"], 6).tolist(),
                "window at": windows.positions.tolist(),
                "windows": np.round(windows["mistake_rate"], 6).tolist(),
            }

        return Task({"pass": repr(model), "of": problem.of, "permutation": permutation}, measure)

    def search(self, learner: Any, problem: Problem, protocol: str, grid: Mapping[str, Any] | None = None) -> Task:
        """Choose the parameters of a learner on a problem, as `onepass.evaluate.tune` does."""
        grid = standard_grid(learner) if grid is None else grid
        model = clone(learner)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)

        def measure() -> dict[str, Any]:
            if not grid:
                return {"chosen": {}, "tried": []}
            found = evaluate.tune(model, grid, (problem.X, problem.y), protocol=protocol, jobs=1)
            tried = [({key: plain(value) for key, value in params.items()}, score) for params, score in found.candidates]
            return {"chosen": tried[found.best][0], "tried": tried}

        return Task({"search": repr(model), "grid": repr(grid), "of": problem.of, "protocol": protocol}, measure)


def tried(data: str, learner: str, searched: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a search tried, as records."""
    return [
        {
            "data": data,
            "learner": learner,
            "tried": words(params),
            "mistake rate %": f"{100 * score:.3f}",
            "chosen": "yes" if params == searched["chosen"] else "",
        }
        for params, score in searched["tried"]
    ]


@lru_cache(maxsize=1)
def _load(name: str, folder: str | None) -> datasets.Dataset:
    return datasets.load(name, folder=folder)


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


Experiment = Callable[[Lab], Any]
