"""Learners side by side, over the same permutations of the same data."""

from __future__ import annotations

import csv
import html
import io
import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from onepass.base.labels import classes_of, label_array
from onepass.datasets import Dataset
from onepass.evaluate.metrics import PER_CENT, Array
from onepass.evaluate.online import prequential, rows, take
from onepass.evaluate.tally import Curve, Tally

BEST_IS_HIGH = {"accuracy", "balanced_accuracy", "kappa", "f1"}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What came of a comparison.

    Attributes
    ----------
    metric : str
        What was measured.
    results : dict
        results[model] has an array of one number a permutation for each of "online" (the metric before learning, over the whole
        pass), "test" (the metric on the test data, if there was any), "updates" (if the model counts them) and "seconds".
    curves : Curve
        The metric along the pass, the mean over the permutations, by model.
    n : int
        The number of examples.
    """

    metric: str
    results: dict[str, dict[str, Array]]
    curves: Curve
    n: int

    def mean(self, model: str, what: str = "online") -> float:
        """The mean over the permutations."""
        return float(np.mean(self.results[model][what]))

    def std(self, model: str, what: str = "online") -> float:
        """The standard deviation over the permutations (0 if there is only one)."""
        values = self.results[model][what]
        return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0

    def table(self) -> Table:
        """The means and deviations as a table for the terminal, the best in bold."""
        count = self._permutations()
        runs = f"{count} permutation{'' if count == 1 else 's'}"
        table = Table(caption=f"{self.n:,} examples, {runs}: mean ± standard deviation")
        header, *lines = self._cells()
        for name in header:
            table.add_column(name, justify="left" if name == "learner" else "right", no_wrap=True)
        best = self._best()
        for line in lines:
            cells = zip(header, line, strict=True)
            table.add_row(*(Text(cell, style="bold" if best.get(name) == line[0] else "") for name, cell in cells))
        return table

    def to_dict(self) -> dict[str, Any]:
        """Numbers, lists and dicts only, as JSON takes them."""
        models = {
            model: {
                what: {"mean": self.mean(model, what), "std": self.std(model, what), "values": values.tolist()}
                for what, values in measured.items()
            }
            for model, measured in self.results.items()
        }
        return {
            "metric": self.metric,
            "n": self.n,
            "permutations": self._permutations(),
            "models": models,
            "curves": self.curves.to_dict(),
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one line a model: the means and deviations."""
        columns = self._columns()
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["learner", *(f"{what}_{figure}" for what in columns for figure in ("mean", "std"))])
            for model, measured in self.results.items():
                figures = [f(model, what) if what in measured else "" for what in columns for f in (self.mean, self.std)]
                writer.writerow([model, *figures])

    def __str__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=120).print(self.table())
        return text.getvalue()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, *lines = self._cells()
        best = self._best()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
        body = ""
        for line in lines:
            cells = [(html.escape(cell), best.get(name) == line[0]) for name, cell in zip(header, line, strict=True)]
            body += "<tr>" + "".join(f"<td>{f'<b>{cell}</b>' if bold else cell}</td>" for cell, bold in cells) + "</tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    # --- what all tables are made of ---

    def _permutations(self) -> int:
        return len(next(iter(self.results.values()))["online"])

    def _columns(self) -> list[str]:
        measured = [what for result in self.results.values() for what in result]
        return [what for what in ("online", "test", "updates", "seconds") if what in measured]

    def _titles(self) -> dict[str, str]:
        name = self.metric.replace("_", " ") + (" %" if self.metric in PER_CENT else "")
        test = name.replace("mistake rate", "error")
        return {what: {"online": name, "test": f"test {test}"}.get(what, what) for what in self._columns()}

    def _best(self) -> dict[str, str]:
        """Column title -> the model with the best mean, where there is something to win."""
        choose = max if self.metric in BEST_IS_HIGH else min
        won = {what: title for what, title in self._titles().items() if what in ("online", "test")}
        return {title: choose(self.results, key=lambda model: self.mean(model, what)) for what, title in won.items()}

    def _cells(self) -> list[list[str]]:
        titles = self._titles()
        lines = [["learner", *titles.values()]]
        for model, measured in self.results.items():
            lines.append([model, *(self._cell(model, what) if what in measured else "" for what in titles)])
        return lines

    def _cell(self, model: str, what: str) -> str:
        mean, std = self.mean(model, what), self.std(model, what)
        if what == "updates":
            return f"{mean:,.0f} ± {std:,.0f}"
        if what == "seconds" or self.metric not in PER_CENT:
            decimals = min(max(2 - math.floor(math.log10(abs(mean) or 1)), 0), 9)
            return f"{mean:,.{decimals}f} ± {std:,.{decimals}f}"
        return f"{100 * mean:.2f} ± {100 * std:.2f}"


def compare(
    models: Mapping[str, Any],
    data: tuple[Any, Any],
    permutations: int = 20,
    test: tuple[Any, Any] | None = None,
    *,
    metric: str | None = None,
    random_state: Any = 0,
    jobs: int = 1,
    points: int = 256,
    callback: Callable[[int, int], object] | None = None,
) -> Comparison:
    """Run each model over several permutations of the data, the same ones for every model.

    Each run is one pass of a fresh clone: every example is predicted, then learned from. With `test` the model is asked about
    those examples after its pass. The time of a run is what the model took; compiling is not counted.

    Parameters
    ----------
    models : dict
        Name -> learner, all classifiers or all regressors.
    data : (X, y)
        What to learn from: dense or CSR.
    permutations : int
        How many orders to try.
    test : (X, y), optional
        What to test on afterwards.
    metric : str, optional
        What to measure; the mistake rate, or the MAE for regression, if not given.
    random_state : int, RandomState or None
        What makes the permutations repeatable.
    jobs : int
        How many permutations are run at the same time, each in a thread of its own. They compete for the memory bus, so leave
        it at 1 where the seconds matter.
    points : int
        How many points the curves have at most.
    callback : callable, optional
        Called with the number of runs done and of all runs, after each run.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from onepass import PAClassifier, datasets
    >>> models = {"PA": PAClassifier(variant="hard"), "PA-I": PAClassifier(C=0.01)}
    >>> result = compare(models, datasets.sea(1000, random_state=0), permutations=3)
    >>> result.mean("PA-I") < result.mean("PA")
    True
    """
    if not models:
        raise ValueError("There is nothing to compare: pass a dict of at least one model.")
    if permutations < 1:
        raise ValueError(f"`permutations` must be at least 1, got {permutations}.")
    if isinstance(data, Dataset):
        test = (data.X_test, data.y_test) if test is None and data.X_test is not None else test
        data = (data.X, data.y)
    X, y = np.asarray(data[0]) if isinstance(data[0], list) else data[0], np.asarray(data[1])
    kinds = {is_classifier(model) for model in models.values()}
    if len(kinds) == 2:
        raise ValueError("Classifiers and regressors can't be compared with each other: pass models of one kind.")
    classes = classes_of(label_array(y)) if kinds == {True} else None
    metric = metric or ("mae" if classes is None else "mistake_rate")
    for model in models.values():  # what this compiles is cached, so that no timed run waits for it
        _pass(model, rows(X, 0, 16), y[:16], classes, metric, points)
    done, lock = 0, Lock()

    def run(seed: int) -> list[tuple[Any, float | None]]:
        nonlocal done
        order = np.random.RandomState(seed).permutation(len(y))
        shuffled, targets = take(X, order), y[order]
        outcomes = []
        for prototype in models.values():
            model, result = _pass(prototype, shuffled, targets, classes, metric, points)
            outcomes.append((result, None if test is None else _measure(metric, test[1], model.predict(test[0]), classes)))
            with lock:
                done += 1
                if callback is not None:
                    callback(done, permutations * len(models))
        return outcomes

    seeds = check_random_state(random_state).randint(2**31 - 1, size=permutations).tolist()
    if jobs == 1:
        runs = [run(seed) for seed in seeds]
    else:
        with ThreadPoolExecutor(jobs) as pool:
            runs = list(pool.map(run, seeds))
    results, curves = {}, {}
    for i, name in enumerate(models):
        passes = [outcomes[i][0] for outcomes in runs]
        results[name] = {"online": np.array([result.metrics[metric] for result in passes])}
        if test is not None:
            results[name]["test"] = np.array([outcomes[i][1] for outcomes in runs])
        if passes[0].updates is not None:
            results[name]["updates"] = np.array([result.updates for result in passes])
        results[name]["seconds"] = np.array([result.seconds for result in passes])
        curves[name] = np.mean([result.curve[metric] for result in passes], axis=0)
    return Comparison(metric, results, Curve(runs[0][0][0].curve.positions, curves), len(y))


def _pass(prototype: Any, X: Any, y: Array, classes: Array | None, metric: str, points: int) -> tuple[Any, Any]:
    model = clone(prototype)
    return model, prequential(model, (X, y), metric, classes=classes, points=points)


def _measure(metric: str, y: Any, predicted: Array, classes: Array | None) -> float:
    """The metric on predictions that are all there; labels that were never learned are mistakes."""
    y = np.asarray(y)
    if classes is None:
        tally = Tally([metric], None, binary=False, points=2, window=None)
        tally.add(y.astype(float), predicted)
    else:
        labels = np.union1d(classes, y)
        tally = Tally([metric], labels, binary=len(classes) == 2, points=2, window=None)
        tally.add(np.searchsorted(labels, y), np.searchsorted(labels, predicted))
    return tally.close()[0][metric]
