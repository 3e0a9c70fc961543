"""Parameter selection: candidates side by side over the same data, and the best of them."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold
from sklearn.utils import check_random_state

from onepass.active import ActiveLearner
from onepass.base import DivergedError
from onepass.base.estimator import Estimator
from onepass.base.labels import classes_of, label_array
from onepass.evaluate.feeding import steps_of
from onepass.evaluate.held_out import HeldOut
from onepass.evaluate.metrics import Array, best_is_high
from onepass.evaluate.online import arrays, default_metric, prequential, refuse_other_kinds, take
from onepass.evaluate.progress import bar, counted
from onepass.evaluate.tables import Tabled, bare, figure, plain, title, words

log = logging.getLogger(__name__)

FOLDS = 5
BEYOND = 10

Settings = dict[str, Any]


class Candidate(NamedTuple):
    """What was tried, and how well it did; the score of one that diverged is NaN."""

    params: Settings
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(Tabled):
    """The result of a search for parameters.

    Attributes
    ----------
    metric : str
        What was measured.
    method : str
        How the candidates were tried, in words.
    n : int
        The number of examples.
    candidates : list of Candidate
        All that were tried, in this order, each with `params` and `score`; the score is NaN where the learner diverged.
    best : int
        The position of the winner among them, whose parameters and score are `best_params` and `best_score`.
    learner : learner
        A fresh learner with these parameters.
    beyond : list of str
        The parameters of which values beyond the grid were tried, since the best was at its edge.
    at_edge : list of str
        The parameters whose best value is still at the edge of what was tried: a value beyond it may be better.
    """

    metric: str
    method: str
    n: int
    candidates: list[Candidate]
    best: int
    learner: Any
    beyond: list[str]
    at_edge: list[str]

    @property
    def best_params(self) -> Settings:
        """The parameters that won."""
        return self.candidates[self.best].params

    @property
    def best_score(self) -> float:
        """Their score."""
        return self.candidates[self.best].score

    def to_dict(self) -> dict[str, Any]:
        """Numbers, lists and dicts only, as JSON takes them; the score of a candidate that diverged is None."""
        tried = [{"params": _plain(params), "score": None if math.isnan(score) else score} for params, score in self.candidates]
        return {
            "metric": self.metric,
            "method": self.method,
            "n": self.n,
            "candidates": tried,
            "best_params": _plain(self.best_params),
            "best_score": self.best_score,
            "beyond": self.beyond,
            "at_edge": self.at_edge,
        }

    def _caption(self) -> str:
        beyond = f"; beyond the grid: {', '.join(map(bare, self.beyond))}" if self.beyond else ""
        at_edge = f"; best at the edge: {', '.join(map(bare, self.at_edge))}" if self.at_edge else ""
        return f"{self.n:,} examples, {self.method}{beyond}{at_edge}"

    def _cells(self) -> list[list[str]]:
        names = list(dict.fromkeys(name for params, _ in self.candidates for name in params))
        short = list(map(bare, names))
        lines = [[*(short if len(set(short)) == len(names) else names), title(self.metric)]]
        for params, score in self.candidates:
            settings = [str(plain(params[name])) if name in params else "" for name in names]
            lines.append([*settings, "diverged" if math.isnan(score) else figure(self.metric, score)])
        return lines

    def _won(self) -> set[tuple[int, str]]:
        return {(self.best, column) for column in self._cells()[0]}


def standard_grid(model: Any) -> dict[str, list[Any]]:
    """The usual grid for a model: the values that LIBOL tries, under the names that `set_params` takes.

    Empty for a model without a parameter that is usually tuned.

    >>> from onepass import PAClassifier, StandardScaler, pipeline
    >>> standard_grid(pipeline(StandardScaler(), PAClassifier()))
    {'paclassifier__C': [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]}
    >>> standard_grid(PAClassifier(variant="hard"))
    {}
    """
    if isinstance(model, ActiveLearner):
        return {f"learner__{name}": values for name, values in standard_grid(model.learner).items()}
    step = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    return {step + name: list(values) for name, values in getattr(steps_of(model)[-1], "_grid", {}).items()}


def tune(
    learner: Any,
    grid: Any,
    data: Any,
    *,
    protocol: str = "libol",
    folds: int = FOLDS,
    beyond: int = BEYOND,
    metric: str | None = None,
    random_state: Any = 0,
    jobs: int | None = None,
    callback: Callable[[int, int], object] | None = None,
    progress: bool = False,
) -> Tuning:
    """Choose parameters of a learner by trying them on data.

    The protocol "libol" is that of the LIBOL library: all candidates make one pass over the same random permutation of the data,
    and the metric is that of the predictions from before each example was learned from. The parameters are searched one after
    another, in the order of the grid: each search keeps the winners of the earlier ones, and leaves the later ones as they are
    in the learner. Among equals the last value wins.

    The protocol "stream" is the same search over the data in its own order, with nothing known beforehand: `prequential` and
    `onepass learn` then measure for the winner exactly the score that it won with.

    The protocol "cv" is k-fold cross-validation: all combinations of the grid are fitted to all folds but one and predict
    that one, and the metric is taken over all these predictions together. The folds are shuffled, and stratified for classifiers.
    Among equals the first combination wins, as in scikit-learn.

    A candidate that diverges loses. The result does not depend on the number of threads.

    Where the best of several positive numbers is the smallest or the largest of them, the search goes on beyond it, by the factor
    between the last two, until that is no longer better; the other parameters stay as they are in the best candidate.

    Parameters
    ----------
    learner : learner
        What to tune; it is not changed.
    grid : dict
        Name -> values to try, with names as `set_params` takes them. For "cv" also a list of such dicts.
    data : (X, y)
        What to try them on: dense or CSR. For "stream" also a list of chunks, as `onepass.streams.open` yields them.
    protocol : "libol", "stream" or "cv"
        How to search.
    folds : int
        The number of folds for "cv".
    beyond : int
        How many steps beyond the grid are taken at the most, for each parameter; with 0, what is tried is the grid.
    metric : str, optional
        What to optimise; the mistake rate, or the MAE for regression, if not given.
    random_state : int, RandomState or None
        What makes the permutation repeatable.
    jobs : int, optional
        How many candidates are run at the same time, each in a thread of its own; as many as there are cores, if not given.
    callback : callable, optional
        Called after each run with the number of runs done and the number of all runs, as far as they are known.
    progress : bool
        Show a bar, in a notebook or on a terminal; a log or a pipe gets none.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> from onepass import PAClassifier, datasets
    >>> result = tune(PAClassifier(), {"C": [0.01, 0.1, 1.0]}, datasets.sea(1000, random_state=0))
    >>> result.best_params
    {'C': 0.001}
    >>> result.learner
    PAClassifier(C=0.001)
    >>> result.beyond, result.at_edge
    (['C'], [])
    """
    refuse_other_kinds(learner)
    _check(learner, grid, protocol, folds, jobs, beyond)
    if isinstance(data, list):
        if protocol != "stream":
            raise TypeError(f"The protocol {protocol!r} takes (X, y); a list of chunks is for the protocol 'stream'.")
        y = np.concatenate([chunk.y for chunk in data])
    else:
        X, y = data = arrays(data)
    classes = classes_of(label_array(y)) if is_classifier(learner) else None
    metric = metric or default_metric(classes)
    order = check_random_state(random_state).permutation(len(y))
    with bar("tuning", progress) as shown, ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        told = counted(shown, "runs", callback)
        trials = _Trials(learner, metric, classes, pool, beyond, runs(grid, protocol, folds), told)
        if protocol == "stream":
            method = "the data in its order"
            candidates, best = trials.one_after_another(grid, data, None)
        elif protocol == "libol":
            method = "one permutation"
            candidates, best = trials.one_after_another(grid, (take(X, order), y[order]), classes)
        else:
            method = f"{folds}-fold cross-validation"
            candidates, best = trials.cross_validated(list(ParameterGrid(grid)), X, y, order, folds)
    won = clone(learner).set_params(**candidates[best].params)
    return Tuning(metric, method, len(y), candidates, best, won, trials.went_beyond, trials.at_edge)


def check_protocol(protocol: str) -> None:
    """Refuse a protocol that is not known."""
    if protocol not in ("libol", "stream", "cv"):
        raise ValueError(f"The protocol of tuning must be 'libol', 'stream' or 'cv', got {protocol!r}.")


def runs(grid: Any, protocol: str, folds: int = FOLDS) -> int:
    """How many runs a search takes, as far as it keeps to the grid."""
    return folds * len(ParameterGrid(grid)) if protocol == "cv" else sum(map(len, grid.values()))


class _Trials:
    """Runs candidates side by side over the same rows."""

    def __init__(
        self,
        learner: Any,
        metric: str,
        classes: Array | None,
        pool: Executor,
        beyond: int,
        total: int,
        callback: Callable[[int, int], object] | None,
    ) -> None:
        self.learner, self.metric, self.classes, self.pool, self.beyond = learner, metric, classes, pool, beyond
        self.went_beyond, self.at_edge = list[str](), list[str]()
        self.total, self.callback, self.done = total, callback, 0
        self._held_out()  # refuses a metric that is not known

    def one_after_another(self, grid: Mapping[str, Any], data: Any, classes: Array | None) -> tuple[list[Candidate], int]:
        """LIBOL's search: parameter by parameter, the last among equals. All candidates, and the place of the best."""
        tried: list[Candidate] = []
        best, winner = 0, Settings()

        def run(settings: list[Settings]) -> list[float]:
            return self._side_by_side(partial(self._pass, data, classes), settings)

        for name, values in grid.items():
            settings = [{**winner, name: value} for value in values]
            scores = run(settings)
            self._log(settings, scores)
            best = len(tried) + self._winner(settings, scores, last=True)
            tried += map(Candidate, settings, scores)
            best = self._go_on(tried, best, name, run)
            winner = tried[best].params
        return tried, best

    def cross_validated(
        self, settings: list[Settings], X: Any, y: Array, order: Array, folds: int
    ) -> tuple[list[Candidate], int]:
        """All settings, fold by fold, the first among equals. What is taught keeps the permuted order."""

        def run(settings: list[Settings]) -> list[float]:
            held_out, lost = [self._held_out() for _ in settings], np.zeros(len(settings), bool)
            for train, test in (KFold if self.classes is None else StratifiedKFold)(folds).split(order, y[order]):
                taught, asked = ((take(X, order[part]), y[order[part]]) for part in (train, test))
                lost |= np.isnan(self._side_by_side(partial(self._fit_and_ask, taught, asked, held_out), settings))
            return [math.nan if gone else tally.value() for gone, tally in zip(lost, held_out, strict=True)]

        scores = run(settings)
        self._log(settings, scores)
        tried, best = list(map(Candidate, settings, scores)), self._winner(settings, scores, last=False)
        for name in tried[best].params:
            best = self._go_on(tried, best, name, run)
        return tried, best

    def _go_on(self, tried: list[Candidate], best: int, name: str, run: Callable[[list[Settings]], list[float]]) -> int:
        """Try values of a parameter beyond those that were tried, if the best is the last of them, until it is not; the place of the
        best."""
        factor = _outwards([params[name] for params, _ in tried if name in params], tried[best].params[name])
        if factor is None:
            return best
        for _ in range(self.beyond):
            value = float(f"{tried[best].params[name] * factor:.15g}")  # 0.01, not 0.010000000000000002
            further = {**tried[best].params, name: value}
            try:
                (score,) = run([further])
            except ValueError:  # all went well before: it is the value that the learner does not take
                break
            tried.append(Candidate(further, score))
            self._log([further], [score])
            if name not in self.went_beyond:
                self.went_beyond.append(name)
            before = tried[best].score
            if not (score > before if best_is_high(self.metric) else score < before):
                return best
            best = len(tried) - 1
        log.warning("%s is still the best at the edge of what was tried", words({name: tried[best].params[name]}))
        self.at_edge.append(name)
        return best

    def _pass(self, data: Any, classes: Array | None, i: int, params: Settings) -> float:
        model = clone(self.learner).set_params(**params)
        return prequential(model, data, self.metric, classes=classes, points=2).metrics[self.metric]

    def _fit_and_ask(self, taught: Any, asked: Any, held_out: list[HeldOut], i: int, params: Settings) -> float:
        held_out[i].ask(clone(self.learner).set_params(**params).fit(*taught), *asked)
        return 0.0

    def _held_out(self) -> HeldOut:
        return HeldOut(self.metric, self.classes)

    def _side_by_side(self, run: Callable[[int, Settings], float], settings: list[Settings]) -> list[float]:
        """run(i, settings[i]) for all of them, in threads; NaN for those that diverge."""

        def guarded(i: int, params: Settings) -> float:
            try:
                return run(i, params)
            except DivergedError:
                return math.nan
            except Exception as error:
                error.add_note(f"(while {words(params)} was tried)")
                raise

        self.total = max(self.total, self.done + len(settings))  # nobody knows how far the search goes beyond its grid
        results = []
        for result in self.pool.map(guarded, range(len(settings)), settings):
            results.append(result)
            self.done += 1
            if self.callback is not None:
                self.callback(self.done, self.total)
        return results

    def _log(self, settings: list[Settings], scores: list[float]) -> None:
        for params, score in zip(settings, scores, strict=True):
            log.info("%s: %s", words(params), "diverged" if math.isnan(score) else f"{self.metric} {score:.6g}")

    def _winner(self, settings: list[Settings], scores: list[float], *, last: bool) -> int:
        """The place of the best score, the last or the first among equals."""
        if np.isnan(scores).all():
            tried = "; ".join(map(words, settings))
            raise DivergedError(f"All candidates diverged: {tried}. Scale the features, or try other values.")
        best = np.nanmax(scores) if best_is_high(self.metric) else np.nanmin(scores)
        return int(np.flatnonzero(np.asarray(scores) == best)[-1 if last else 0])


def _check(learner: Any, grid: Any, protocol: str, folds: int, jobs: int | None, beyond: int) -> None:
    check_protocol(protocol)
    for name, value, least in (("folds", folds, 2), ("jobs", jobs, 1), ("beyond", beyond, 0)):
        if value is not None and value < least:
            raise ValueError(f"`{name}` must be at least {least}, got {value}.")
    if protocol != "cv" and not isinstance(grid, Mapping):
        raise TypeError("`grid` must be a dict of name -> values; lists of dicts are for the protocol 'cv'.")
    ParameterGrid(grid)  # refuses values that are not in a list, and empty lists
    known = learner.get_params()
    pairs = [(name, value) for one in ([grid] if isinstance(grid, Mapping) else grid) for name in one for value in one[name]]
    if not pairs:
        raise ValueError("The grid is empty: there is nothing to tune.")
    for name, _ in pairs:
        if name not in known:
            raise ValueError(f"{type(learner).__name__} has no parameter {name!r}. It has: {', '.join(known)}.")
    for name, value in pairs:
        for step in steps_of(clone(learner).set_params(**{name: value})):
            if isinstance(step, Estimator):
                step._check_parameters()


def _outwards(values: list[Any], best: Any) -> float | None:
    """The factor that leads from the best value out of all that were tried, if it is at their edge.

    >>> _outwards([0.5, 1, 2], 0.5), _outwards([0.5, 1, 2], 1), _outwards(["I", "II"], "II")
    (0.5, None, None)
    """
    if not all(isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf for value in values):
        return None
    ordered = sorted(set(map(float, values)))
    if len(ordered) < 2 or float(best) not in (ordered[0], ordered[-1]):
        return None
    return ordered[0] / ordered[1] if float(best) == ordered[0] else ordered[-1] / ordered[-2]


def _plain(params: Settings) -> Settings:
    return {name: plain(value) for name, value in params.items()}
