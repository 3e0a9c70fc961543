"""Learners side by side, over the same permutations of the same data."""

from __future__ import annotations

import copy
import csv
import logging
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from onepass.base.labels import classes_of, label_array
from onepass.datasets import Dataset
from onepass.evaluate import tuning
from onepass.evaluate.held_out import HeldOut
from onepass.evaluate.metrics import Array, best_is_high
from onepass.evaluate.online import Prequential, arrays, default_metric, prequential, rows, take
from onepass.evaluate.progress import bar, counted
from onepass.evaluate.tables import Tabled, figure, plain, title, words
from onepass.evaluate.tally import Curve

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabled):
    """The result of a comparison.

    Attributes
    ----------
    metric : str
        What was measured.
    results : dict
        results[model] has an array with one number per permutation for each of "online" (the metric before learning, over the whole
        pass), "test" (the metric on the test data, if there was any), "updates" (if the model counts them) and "seconds".
    curves : Curve
        The metric along the pass, the mean over the permutations, by model.
    n : int
        The number of examples.
    settings : dict
        settings[model] has the parameters that were chosen for it, if models were tuned.
    shares : dict
        shares[model] has the shares along the pass, the mean over the permutations, as a Curve, where the model is a committee.
    """

    metric: str
    results: dict[str, dict[str, Array]]
    curves: Curve
    n: int
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    shares: dict[str, Curve] = field(default_factory=dict)

    def mean(self, model: str, what: str = "online") -> float:
        """The mean over the permutations."""
        return float(np.mean(self.results[model][what]))

    def std(self, model: str, what: str = "online") -> float:
        """The standard deviation over the permutations (0 if there is only one)."""
        values = self.results[model][what]
        return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0

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
            "settings": {
                model: {name: plain(value) for name, value in chosen.items()} for model, chosen in self.settings.items()
            },
            "curves": self.curves.to_dict(),
            "shares": {model: shares.to_dict() for model, shares in self.shares.items()},
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one line per model: the means and deviations, and the settings, where there are any."""
        columns = self._columns()
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["learner", *(f"{what}_{kind}" for what in columns for kind in ("mean", "std")), *self._extra()])
            for model, measured in self.results.items():
                figures = [f(model, what) if what in measured else "" for what in columns for f in (self.mean, self.std)]
                writer.writerow([model, *figures, *self._extra(model)])

    # --- what all tables are made of ---

    def _permutations(self) -> int:
        return len(next(iter(self.results.values()))["online"])

    def _caption(self) -> str:
        count = self._permutations()
        return f"{self.n:,} examples, {count} permutation{'' if count == 1 else 's'}: mean ± standard deviation"

    def _columns(self) -> list[str]:
        measured = [what for result in self.results.values() for what in result]
        return [what for what in ("online", "test", "updates", "seconds") if what in measured]

    def _titles(self) -> dict[str, str]:
        online = title(self.metric)
        test = online.replace("mistake rate", "error")
        return {what: {"online": online, "test": f"test {test}"}.get(what, what) for what in self._columns()}

    def _won(self) -> set[tuple[int, str]]:
        choose = max if best_is_high(self.metric) else min
        models = list(self.results)
        return {
            (choose(range(len(models)), key=lambda i: self.mean(models[i], what)), name)
            for what, name in self._titles().items()
            if what in ("online", "test")
        }

    def _cells(self) -> list[list[str]]:
        titles = self._titles()
        lines = [["learner", *titles.values(), *self._extra()]]
        for model, measured in self.results.items():
            lines.append(
                [model, *(self._cell(model, what) if what in measured else "" for what in titles), *self._extra(model)]
            )
        return lines

    def _cell(self, model: str, what: str) -> str:
        mean, std = self.mean(model, what), self.std(model, what)
        if what == "updates":
            return f"{mean:,.0f} ± {std:,.0f}"
        return figure(what if what == "seconds" else self.metric, mean, std)

    def _extra(self, model: str | None = None) -> list[str]:
        """The cell of a model, or the title, in the column of settings; nothing where no model has any."""
        if not any(self.settings.values()):
            return []
        return ["settings" if model is None else words(self.settings.get(model, {}))]


def compare(
    models: Mapping[str, Any],
    data: tuple[Any, Any],
    permutations: int = 20,
    test: tuple[Any, Any] | None = None,
    *,
    tune: str | None = None,
    metric: str | None = None,
    random_state: Any = 0,
    jobs: int = 1,
    points: int = 256,
    callback: Callable[[int, int], object] | None = None,
    progress: bool = False,
) -> Comparison:
    """Run each model over several permutations of the data, the same ones for every model.

    Each run is one pass of a fresh clone: every example is predicted, then learned from. With `test` the model predicts those
    examples after its pass. The time of a run is the time that the model took; compiling and tuning are not counted.

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
    tune : "libol" or "cv", optional
        Choose the parameters of each model first, on `data`, as `tune` does with that protocol, the model's standard grid alone and
        the same `random_state`.
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
        Called after each run with the number of runs done and the number of all runs; runs that tune count, too.
    progress : bool
        Show a bar, in a notebook or on a terminal; a log or a pipe gets none.

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
    >>> tuned = compare(models, datasets.sea(1000, random_state=0), permutations=3, tune="libol")
    >>> tuned.settings
    {'PA': {}, 'PA-I': {'C': 0.125}}
    """
    if not models:
        raise ValueError("There is nothing to compare: pass a dict of at least one model.")
    if permutations < 1:
        raise ValueError(f"`permutations` must be at least 1, got {permutations}.")
    if isinstance(data, Dataset) and test is None and data.X_test is not None:
        test = (data.X_test, data.y_test)
    X, y = arrays(data)
    kinds = {is_classifier(model) for model in models.values()}
    if len(kinds) == 2:
        raise ValueError("Classifiers and regressors can't be compared with each other: pass models of one kind.")
    classes = classes_of(label_array(y)) if kinds == {True} else None
    metric = metric or default_metric(classes)
    HeldOut(metric, classes)  # refuses a metric that is not known
    settings: dict[str, dict[str, Any]] = {}
    total = permutations * len(models)
    if tune is not None:
        tuning.check_protocol(tune)
        grids = {name: tuning.standard_grid(model) for name, model in models.items()}
        total += sum(tuning.runs(grid, tune) for grid in grids.values() if grid)
    for model in models.values():  # what this compiles is cached, so that no timed run waits for it
        prequential(clone(model), (rows(X, 0, 16), y[:16]), metric, classes=classes, points=points)
    with bar("comparing", progress) as shown:
        told, done, lock = counted(shown, "passes", callback), 0, Lock()

        def advance(*_: int) -> None:
            nonlocal done
            with lock:
                done += 1
                if told is not None:
                    told(done, total)

        if tune is not None:
            for name, grid in grids.items():
                same = copy.deepcopy(random_state)  # a generator would go on, and give each model a permutation of its own
                asked = {"protocol": tune, "metric": metric, "random_state": same, "beyond": 0, "callback": advance}
                settings[name] = tuning.tune(models[name], grid, (X, y), **asked).best_params if grid else {}
                log.info("%s: %s was chosen", name, words(settings[name]) or "nothing")
        tuned = {name: clone(model).set_params(**settings.get(name, {})) for name, model in models.items()}
        held_out = None if test is None else arrays(test)

        def run(seed: int) -> list[tuple[Prequential, float | None]]:
            order = np.random.RandomState(seed).permutation(len(y))
            shuffled, targets = take(X, order), y[order]
            outcomes = []
            for prototype in tuned.values():
                model = clone(prototype)
                result = prequential(model, (shuffled, targets), metric, classes=classes, points=points)
                outcomes.append((result, None if held_out is None else _test(metric, model, *held_out, classes)))
                advance()
            return outcomes

        seeds = check_random_state(random_state).randint(2**31 - 1, size=permutations).tolist()
        if jobs == 1:
            runs = [run(seed) for seed in seeds]
        else:
            with ThreadPoolExecutor(jobs) as pool:
                runs = list(pool.map(run, seeds))
    results, curves, all_shares = {}, {}, {}
    for i, name in enumerate(models):
        passes = [outcomes[i][0] for outcomes in runs]
        results[name] = {"online": np.array([result.metrics[metric] for result in passes])}
        if test is not None:
            results[name]["test"] = np.array([outcomes[i][1] for outcomes in runs])
        if passes[0].updates is not None:
            results[name]["updates"] = np.array([result.updates for result in passes])
        results[name]["seconds"] = np.array([result.seconds for result in passes])
        curves[name] = np.mean([result.curve[metric] for result in passes], axis=0)
        if followed := [result.shares for result in passes if result.shares is not None]:
            voices = followed[0].values
            means = {voice: np.mean([curve[voice] for curve in followed], axis=0) for voice in voices}
            all_shares[name] = Curve(followed[0].positions, means)
    return Comparison(metric, results, Curve(runs[0][0][0].curve.positions, curves), len(y), settings, all_shares)


def _test(metric: str, model: Any, X: Any, y: Array, classes: Array | None) -> float:
    labels = None if classes is None else np.union1d(classes, y)
    held_out = HeldOut(metric, labels)
    held_out.ask(model, X, y)
    return held_out.value()
