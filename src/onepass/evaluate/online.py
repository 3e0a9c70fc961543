"""Prequential evaluation: every example is predicted first and learned from afterwards."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Real
from time import perf_counter
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from narwhals.dependencies import is_into_dataframe
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from onepass.base import Learner
from onepass.base.engine import Piece, Pieces
from onepass.base.inputs import as_csr, from_csr
from onepass.base.labels import Coded, classes_of, coded, label_array
from onepass.datasets import Dataset
from onepass.evaluate import sequences
from onepass.evaluate.drift import Watch, check_action
from onepass.evaluate.feeding import check_forgets, core_of, door_of, forget, is_ours, put_back, rows_for, start_anew, steps_of
from onepass.evaluate.figures import beside, check_figures, foretold, log_odds
from onepass.evaluate.metrics import Array
from onepass.evaluate.probability import PROBABILITY_METRICS
from onepass.evaluate.progress import PAUSE, Bar, bar
from onepass.evaluate.ranking import RANK_METRICS
from onepass.evaluate.shares import Shares, cuts
from onepass.evaluate.tally import BLOCK, Curve, Tally, json_number, wants_probabilities
from onepass.stages import Pipeline
from onepass.streams import Chunk
from onepass.streams.stream import Position
from onepass.structured import DependencyParser
from onepass.structured.learner import StructuredLearner
from onepass.structured.listwise import ListLearner

log = logging.getLogger(__name__)

PIECE = 1 << 16  # rows of an array that are learned from in one call
ACTIONS = {"reset": start_anew, "forget": forget}
GATHER = 512  # single examples that are accounted for at once; rows of an array, where nobody knows yet how long they take


@dataclass(frozen=True, eq=False, repr=False)
class Prequential:
    """The result of a run over a stream.

    Attributes
    ----------
    metrics : dict
        The metrics of the whole stream, by name.
    curve : Curve
        The metrics of everything up to each of a number of positions.
    window_curve : Curve or None
        The metrics of the window that ends at each of a number of positions, if a window was asked for.
    n : int
        The number of examples.
    seconds : float
        The time that the model took, without reading the stream and without computing metrics.
    updates : int or None
        How many examples changed the model, where it counts them.
    drifts : list of int
        The numbers of the examples, counted from 1, whose errors showed that the stream had changed, if a detector watched them.
    shares : Curve or None
        The shares of a committee along the stream, by name: at its start, at 128 regular places at most, and at its end.
    """

    metrics: dict[str, float]
    curve: Curve
    window_curve: Curve | None
    n: int
    seconds: float
    updates: int | None
    drifts: list[int] = field(default_factory=list)
    shares: Curve | None = None

    def __repr__(self) -> str:
        figures = "".join(f", {name}={value:.4g}" for name, value in self.metrics.items())
        updates = "" if self.updates is None else f", updates={self.updates}"
        drifts = f", drifts={self.drifts}" if self.drifts else ""
        return f"Prequential(n={self.n}{figures}{updates}{drifts}, seconds={self.seconds:.3g})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers, lists and dicts only, as JSON takes them."""
        return {
            "n": self.n,
            "metrics": {name: json_number(value) for name, value in self.metrics.items()},
            "updates": self.updates,
            "drifts": self.drifts,
            "seconds": self.seconds,
            "curve": self.curve.to_dict(),
            "window_curve": None if self.window_curve is None else self.window_curve.to_dict(),
            "shares": None if self.shares is None else self.shares.to_dict(),
        }


def prequential(
    model: Any,
    stream: Any,
    metrics: Any = None,
    window: int | None = None,
    delay: int = 0,
    *,
    classes: Any = None,
    points: int = 512,
    drift: Any = None,
    on_drift: str | Callable[[Any], object] | None = None,
    callback: Callable[[int, dict[str, float]], object] | None = None,
    progress: bool = False,
) -> Prequential:
    """Run a model over a stream: predict each example, count the prediction in the metrics, then learn from the example.

    The result is the same however the stream is cut into chunks. The model goes on from where it is, and has learned from the
    whole stream afterwards.

    Parameters
    ----------
    model : learner
        Any learner of this library. Also, but slower, with one call per example: any estimator with `partial_fit`, and for pairs
        of dict and label any object with `predict_one` and `learn_one`.
    stream : (X, y), or an iterable
        A pair of arrays; chunks with `.X` and `.y`, as `onepass.streams.open` yields them, or pairs (X, y); or pairs (x, y) of
        a dict of features and its label, as river has them. X is an array, a CSR matrix, a data frame or a list of dicts; for a
        tagger or a parser, X and y are lists of sentences and of their tags or trees.
    metrics : str, object, or a list of them, optional
        "accuracy", "mistake_rate", "balanced_accuracy", "kappa", "f1" (of the second of two classes; where there are more, the
        mean over them); "recall" and "precision", a figure a class, as "recall[spam]", or those of one class by that very name;
        "auc" (of two classes, by the scores; to some 1e-4, see `onepass.evaluate.ranking`); where the model gives
        probabilities, "log_loss", "brier" (half the squared distance to the truth) and "calibration_error" (of the
        likeliest class, in ten bins of equal width); for regression "mae", "rmse" and "r2"; or objects with river's
        `update(y_true, y_pred)` and `get()`, which are given labels, or, where `requires_labels` is False as it is of river's
        LogLoss and ROCAUC, a dict of probabilities by label. Of a tagger: "accuracy" and "mistake_rate" of words,
        "sentence_accuracy", and of entities, as conlleval and seqeval count them, "entity_f1", "entity_precision" and
        "entity_recall". Of a parser: "uas" and "las", the shares of words with the right head, and with the right head and
        relation, without what follows a colon; "mistake_rate" of heads, "sentence_accuracy" of trees. The mistake rate, or the
        MAE for regression, if not given. NaN is what has no value, as the recall of a class that has not occurred.
    window : int, optional
        Also compute the metrics of windows of this many examples. Windows do not overlap: one ends where the next begins. The
        last may have fewer examples.
    delay : int
        How many further examples are predicted before the label of an example arrives and it is learned from. The labels that
        are still missing at the end of the stream arrive then. A label that the model can't predict yet, because none has
        arrived, counts as a mistake; a number, as 0.
    classes : list, optional
        All labels that can occur. If they are not given, a fresh model adds them as they appear, even where all of the data is in
        memory: no label is looked at ahead of its turn.
    points : int
        How many points the curves have at most. When there are that many, every second one is dropped and the spacing is doubled.
    drift : detector, optional
        What looks for changes of the stream: `ADWIN`, `PageHinkley`, `ErrorWindow`, or a detector of river; any object with
        `update(x)` and `drift_detected`. It sees whether each example was a mistake (1 or 0), or the absolute error for
        regression, in order, goes on from where it is, and where it saw a drift is in `drifts` of the result.
    on_drift : "reset", "forget" or callable, optional
        What to do about a drift. "reset": the model starts anew with the next example; of a pipeline, only its learner does.
        "forget": it keeps its weights, and forgets what makes them slow to change: its average, its covariance (Vaits and
        Crammer 2011), a learning rate that has fallen, the counts of classes; `t_` counts anew.
        A function is called with the model, which has learned from all examples up to the drift and from none after it.
        With `delay`, that takes one call per example.
    callback : callable, optional
        Called now and then with the number of examples so far and their metrics.
    progress : bool
        Show a bar, in a notebook or on a terminal; a log or a pipe gets none.

    Returns
    -------
    Prequential

    Examples
    --------
    >>> from onepass import PAClassifier, datasets
    >>> result = prequential(PAClassifier(), datasets.sea(2000, random_state=0), ["accuracy", "kappa"], window=500)
    >>> result.n, sorted(result.metrics), result.window_curve.positions.tolist()
    (2000, ['accuracy', 'kappa'], [500, 1000, 1500, 2000])

    >>> from onepass.evaluate import ADWIN
    >>> X, y = datasets.circles(4000, random_state=0)
    >>> y[2000:] = 1 - y[2000:]
    >>> model = PAClassifier(C=0.1)
    >>> prequential(model, ((X - 0.2) ** 2, y), drift=ADWIN(), on_drift="reset").drifts
    [2048]
    """
    for name, value, least in (("window", window, 1), ("delay", delay, 0), ("points", points, 2)):
        if value is not None and value < least:
            raise ValueError(f"`{name}` must be at least {least}, got {value}.")
    core = getattr(model, "learner", model)
    if isinstance(core, StructuredLearner | ListLearner):
        if delay or drift is not None or on_drift is not None:
            raise ValueError("`delay`, `drift` and `on_drift` are for classifiers and regressors.")
        task = "ranking" if isinstance(core, ListLearner) else "parsing" if isinstance(core, DependencyParser) else "tagging"
        counting = sequences.COUNTINGS[task]
        return Prequential(*sequences.run(model, stream, metrics, window, classes, points, callback, counting))
    refuse_other_kinds(model)
    watch = None if drift is None else Watch(drift)
    check_action(on_drift, watch)
    if on_drift == "forget":
        check_forgets(model)
    with bar("prequential", progress) as shown:
        run = _Run(model, metrics, window, delay, classes, points, watch, on_drift, callback, shown)
        if isinstance(stream, Dataset | tuple):
            run.arrays(*arrays(stream))
        else:
            run.stream = stream
            items = iter(stream)
            first = next(items, None)
            if first is None:
                raise ValueError("The stream has no examples.")
            items = chain([first], items)
            if not hasattr(first, "X") and isinstance(first[0], Mapping):
                run.singles(items)
            else:
                run.chunks(_as_chunks(items))
        final, curve, window_curve = run.close()
    result = Prequential(final, curve, window_curve, run.tally.n, run.seconds, run.updates(), run.drifts(), run.shares.curve)
    log.debug("%s", result)
    return result


class _Run:
    """One evaluation under way."""

    tally: Tally

    def __init__(
        self,
        model: Any,
        metrics: Any,
        window: int | None,
        delay: int,
        classes: Any,
        points: int,
        watch: Watch | None,
        on_drift: str | Callable[[Any], object] | None,
        callback: Callable[[int, dict[str, float]], object] | None,
        shown: Bar | None,
    ) -> None:
        self.model, self.classes, self.delay, self.callback = model, classes, delay, callback
        self.shown: Bar | None = shown
        self.stream: Any = None
        self.length: int | None = None
        self.watch, self.on_drift = watch, on_drift
        self.updates_before = getattr(model, "updates_", 0)
        self.metrics = [metrics] if isinstance(metrics, str) or hasattr(metrics, "update") else metrics
        self.points, self.window = points, window
        self.seconds = 0.0
        names = [metric for metric in self.metrics or () if isinstance(metric, str)]
        theirs = [type(metric).__name__ for metric in self.metrics or () if wants_probabilities(metric)]
        self.probabilities = next((name for name in [*names, *theirs] if name in PROBABILITY_METRICS or name in theirs), None)
        self.by_label = bool(theirs)
        self.ranking = any(name in RANK_METRICS for name in names)
        self.reported = 0
        self.known_before = getattr(model, "classes_", None)
        self.held: tuple[Chunk, Array] | None = None  # rows whose labels have not arrived yet
        self.shares = Shares(model)

    # --- streams ---

    def arrays(self, X: Any, y: Array) -> None:
        if self.classes is None and is_classifier(self.model) and not is_ours(self.model):
            self.classes = classes_of(label_array(y))  # others can't do without
        self.length = len(y)
        self.chunks(Chunk(rows(X, at, end), y[at:end], Position(at)) for at, end in self._cuts(len(y)))

    def _cuts(self, n: int) -> Iterator[tuple[int, int]]:
        """Where an array is cut: who listens wants to hear often, and who looks, as often as there is something new to see."""
        looks_only = self.callback is None and self.shown is not None
        size, at = GATHER if looks_only else PIECE if self.callback is None else BLOCK, 0
        while at < n:
            start = perf_counter()
            yield at, min(at + size, n)
            at += size
            if looks_only and perf_counter() - start < PAUSE:
                size = min(2 * size, PIECE)

    def chunks(self, chunks: Iterable[Chunk]) -> None:
        classification = is_classifier(self.model)
        if classification:
            check_figures(self.model, self.probabilities, self.ranking)
        at_once = isinstance(self.model, Learner | Pipeline) and self.on_drift is None if self.delay else is_ours(self.model)
        if not at_once:
            self._one_by_one(_split(chunks), classification, _Rows(self.model, self.classes))
            return
        for chunk in chunks:
            y = label_array(chunk.y) if classification else np.asarray(chunk.y, float)
            if len(y) == 0:
                continue
            if not classification:
                self._open(None)  # which refuses metrics of classes, before anything is learned
            target: Array | Coded = self._coded(y) if classification and not self.delay else y
            for start, stop in cuts(self.model, self.shares.seen, len(y)):
                if self.delay:
                    for true, pieces in self._learn_late(part(chunk, start, stop), y[start:stop]):
                        self._see(self._told(true, pieces))
                elif self.on_drift is None:
                    self._see(self._told(target[start:stop], self._learn_part(chunk, target, start, stop)))
                else:
                    self._learn_and_act(chunk, target, start, stop)
                self.shares.learned(stop - start)
            self._report()
        if self.held is not None:
            chunk, y = self.held
            self._learn_part(chunk, y, 0, len(y))

    def singles(self, examples: Iterable[tuple[Mapping[str, Any], Any]]) -> None:
        examples = iter(examples)
        first = next(examples)
        classification = _is_classifier(self.model, first[1])
        if classification:
            check_figures(self.model, self.probabilities, self.ranking, "_one")
        if self.classes is None and isinstance(first[1], bool | np.bool_):
            self.classes = [False, True]
        self._one_by_one(chain([first], examples), classification, _Singles(self.model, self.classes))

    def updates(self) -> int | None:
        """How many examples changed the model, where it counts them."""
        now = getattr(self.model, "updates_", 0 if is_ours(self.model) else None)
        return None if now is None else now - self.updates_before

    def drifts(self) -> list[int]:
        """Where the detector saw a drift."""
        return [] if self.watch is None else self.watch.drifts

    def close(self) -> tuple[dict[str, float], Curve, Curve | None]:
        if not hasattr(self, "tally"):
            raise ValueError("The stream has no examples.")
        closed = self.tally.close()
        if self.callback is not None and self.tally.n > self.reported:
            self.callback(self.tally.n, closed[0])
        return closed

    # --- learning from tables ---

    def _learn_part(self, chunk: Chunk, target: Array | Coded, start: int, stop: int) -> Pieces:
        X = rows_for(self.model, part(chunk, start, stop))
        return self._learn(X, target[start:stop], chunk.open_ended)

    def _learn(self, X: Any, y: Array | Coded, open_ended: bool, weight: Array | None = None) -> Pieces:
        """Learn from the rows; the scores from before, with the classes that were known at the time."""
        classes = self.classes if _is_fresh(self.model) else None
        pieces = Pieces(chances=self.probabilities is not None)
        start = perf_counter()
        self.model._learn(X, y, weight, door_of(X, classes, open_ended), pieces)
        self.seconds += perf_counter() - start
        return pieces

    def _learn_and_act(self, chunk: Chunk, target: Array | Coded, start: int, end: int) -> None:
        """Learn from rows of a chunk up to a drift, act on it, and go on from there.

        Where the drift is shows only in the scores, and those only when the rows are learned from. So a part is learned from as a
        whole, and if there was a drift in it, the model goes back and learns from the rows up to the drift alone.
        """
        assert self.watch is not None
        while start < end:
            self._act_before_next()
            stop = min(start + BLOCK, end)
            before = self.model.copy()
            told = self._told(target[start:stop], self._learn_part(chunk, target, start, stop))
            taken = self.watch.take(told.errors())
            if taken < stop - start:
                put_back(self.model, before)
                stop = start + taken
                told = self._told(target[start:stop], self._learn_part(chunk, target, start, stop))
            self.tally.add(told.true, told.predicted, **told.beside)
            self._call_if_due()
            start = stop

    def _act_before_next(self) -> None:
        """Reset or forget, now that there is a next example: a model that starts anew without one would not even know its labels."""
        if self.watch is not None and self.watch.drifted and isinstance(self.on_drift, str):
            log.info("after the drift: %s", self.on_drift)
            self._acting(ACTIONS[self.on_drift])

    def _call_if_due(self) -> None:
        if self.watch is not None and self.watch.drifted and callable(self.on_drift):
            self._acting(self.on_drift)

    def _acting(self, action: Callable[[Any], object]) -> None:
        """Let something be done to the model that may change the number of its updates."""
        before = getattr(self.model, "updates_", 0)
        action(self.model)
        self.updates_before += getattr(self.model, "updates_", 0) - before

    def _learn_late(self, chunk: Chunk, y: Array) -> Iterator[tuple[Array | Coded, list[Piece]]]:
        """Predict the rows of a chunk, and learn from each row `delay` rows later; yields targets and scores.

        A learner scores an example of weight 0 but does not learn from it, so the rows to learn from and the rows to predict,
        one of each in turn, are a single pass: learn row t - delay - 1, score row t.
        """
        lag, X = self.delay + 1, chunk.X
        waiting = 0 if self.held is None else len(self.held[1])
        if self.held is not None:
            X, y = stack(self.held[0].X, X), np.concatenate([self.held[1], y])
        first = min(max(lag, waiting), len(y))  # the first row that is predicted with one more label than the row before
        if first > waiting:
            some = replace(chunk, X=rows(X, waiting, first))
            yield y[waiting:first], self._score(rows_for(self.model, some), first - waiting)
        if first < len(y):
            due = np.arange(first, len(y))
            turns = np.column_stack([due - lag, due]).ravel()
            weight = np.tile([1.0, 0.0], len(due))
            both, taught = rows_for(self.model, replace(chunk, X=take(X, turns))), np.repeat(y[due - lag], 2)
            yield y[due], _every_second(self._learn(both, taught, chunk.open_ended, weight))
        kept = max(len(y) - lag, 0)
        self.held = replace(chunk, X=take(X, np.arange(kept, len(y)))), y[kept:]  # a copy, so that the rest of the chunk can go

    def _score(self, X: Any, n: int) -> list[Piece]:
        core = core_of(self.model)
        scores = np.zeros((n, 1)) if core._state is None else self.model._scores_now(X)
        return [core._foretold(scores, core._state, self.probabilities is not None)]

    # --- accounting ---

    def _open(self, labels: Array | None, declared: bool = False) -> None:
        if not hasattr(self, "tally"):
            metrics = [default_metric(labels)] if self.metrics is None else self.metrics
            self.tally = Tally(metrics, labels, declared, self.points, self.window)

    def _told(self, y: Array | Coded, pieces: list[Piece]) -> _Told:
        """What the pieces say of their rows, and what is true."""
        if not is_classifier(self.model):
            return _Told(np.asarray(y), np.concatenate([piece.scores[:, 0] for piece in pieces]), {})
        true = y if isinstance(y, Coded) else self._coded(y)
        labels, start = true.labels, 0
        predicted, beside = [], []
        for piece in pieces:
            places = np.searchsorted(labels, piece.classes)
            predicted.append(np.append(places, len(labels))[_best(piece.scores, len(places))])
            if self.probabilities or self.ranking:
                columns = np.full(len(labels), -1)
                columns[places] = np.arange(len(places))
                among = columns[true.codes[start : start + len(piece.scores)]]
                beside.append(self._beside(piece, among))
            start += len(piece.scores)
        return _Told(true.codes, np.concatenate(predicted), _stacked(beside))

    def _beside(self, piece: Piece, true: Array) -> dict[str, Array]:
        return beside(piece, true, self.probabilities is not None, self.ranking, self.by_label)

    def _see(self, told: _Told) -> None:
        """Account for predictions, and show them to the detector."""
        if self.watch is not None:
            errors, taken = told.errors(), 0
            while taken < len(errors):
                taken += self.watch.take(errors[taken:])
        self.tally.add(told.true, told.predicted, **told.beside)

    def _coded(self, y: Array) -> Coded:
        """Labels as codes of the tally, which hears of new ones. The model goes by these codes as well."""
        if not hasattr(self, "tally"):
            declared = self._declared()
            self._open(classes_of(y) if declared is None else declared, declared is not None)
        assert self.tally.labels is not None
        true = coded(y, self.tally.labels)
        if true.labels is not self.tally.labels:
            self.tally.know(true.labels)
        return true

    def _declared(self) -> Array | None:
        """The labels that can occur, if they were said before the stream began."""
        for known in (self.classes, self.known_before, getattr(steps_of(self.model)[-1], "classes", None)):
            if known is not None:
                return np.unique(np.asarray(known))
        return None

    def _share(self) -> float | None:
        """How much of the stream is done, as far as that is known."""
        if self.length is not None:
            return self.tally.seen / self.length
        read, size = getattr(getattr(self.stream, "position", None), "bytes", None), getattr(self.stream, "size", None)
        return min(read / size, 1.0) if read and size else None

    def _facts(self) -> str:
        metrics = self.tally.metrics() if self.tally.n else {}
        measured = [f"{name} {value:.4g}" for name, value in metrics.items() if not math.isnan(value)]
        return ", ".join([f"{self.tally.seen:,} examples", *measured])

    def _report(self) -> None:
        if self.shown is not None:
            self.shown.update(self._share, self._facts)
        if self.callback is not None and self.tally.n > self.reported:
            self.reported = self.tally.n
            self.callback(self.tally.n, self.tally.metrics())

    # --- one example at a time ---

    def _one_by_one(self, examples: Iterable[tuple[Any, Any]], classification: bool, one: _Singles | _Rows) -> None:
        """Predict, and learn `delay` examples later."""
        waiting: deque[tuple[Any, Any, float]] = deque()
        gathered: list[tuple[Any, Any, dict[str, Array]]] = []
        figures = self.probabilities is not None or self.ranking

        def learn() -> None:
            x, y, error = waiting.popleft()
            one.learn(x, y)
            if self.watch is not None:
                self.watch.take(np.array([error]))
                self._call_if_due()

        for x, y in examples:
            if not classification:
                self._open(None)
            start = perf_counter()
            self._act_before_next()
            answer = one.predict(x)
            piece = one.piece(x, self.probabilities is not None, self.ranking) if figures else None
            error = float(answer != y) if classification else abs(_number(answer) - float(y))
            waiting.append((x, y, error))
            if len(waiting) > self.delay:
                learn()
            self.seconds += perf_counter() - start
            known = {} if piece is None else self._beside(piece, np.array([_place(y, piece.classes)]))
            gathered.append((y, answer, known))
            if len(gathered) == GATHER:
                self._account_for_gathered(gathered, classification)
                gathered = []
        if gathered:
            self._account_for_gathered(gathered, classification)
        start = perf_counter()
        while waiting:
            self._act_before_next()
            learn()
        self.seconds += perf_counter() - start

    def _account_for_gathered(self, gathered: list[tuple[Any, Any, dict[str, Array]]], classification: bool) -> None:
        true, answers, beside = zip(*gathered, strict=True)
        if classification:
            given = [answer for answer in answers if answer is not None]
            seen = self._coded(label_array([*true, *given]))
            predicted = np.full(len(true), len(seen.labels))
            predicted[[answer is not None for answer in answers]] = seen.codes[len(true) :]
            self.tally.add(seen.codes[: len(true)], predicted, **_stacked(beside))
        else:
            self.tally.add(np.array(true, float), np.array([_number(answer) for answer in answers]))
        self.shares.learned(len(gathered))
        self._report()


class _Told(NamedTuple):
    """Rows as the tally takes them."""

    true: Array
    predicted: Array
    beside: dict[str, Array]

    def errors(self) -> Array:
        """What a detector sees."""
        if self.true.dtype.kind == "f":
            return np.abs(self.predicted - self.true)
        return (self.predicted != self.true).astype(float)


class _Singles:
    """A model that takes one dict at a time."""

    def __init__(self, model: Any, classes: Any) -> None:
        self.model, self.classes = model, classes
        self.predict: Callable[[Any], Any] = model.predict_one
        self.tells = classes is not None and is_ours(model)

    def piece(self, x: Any, probabilities: bool, ranking: bool) -> Piece:
        """What the model says of an example before it learns from it."""
        if is_ours(self.model):
            return foretold(self.model, [x], probabilities, ranking)
        chances = dict(sorted(self.model.predict_proba_one(x).items()))
        row = np.array([list(chances.values())], float).reshape(1, len(chances))
        return Piece(list(chances), log_odds(row), row)

    def learn(self, x: Any, y: Any) -> None:
        """Learn from an example. A model of ours that is fresh is told the labels that can occur."""
        if self.tells and _is_fresh(self.model):
            self.model._learn([x], [y], None, door_of([x], self.classes, open_ended=True))
        else:
            self.model.learn_one(x, y)


class _Rows:
    """A model that takes tables, given chunks of one row."""

    def __init__(self, model: Any, classes: Any) -> None:
        self.model, self.classes = model, classes

    def _table(self, row: Chunk) -> Any:
        return rows_for(self.model, row) if is_ours(self.model) else row.X

    def predict(self, row: Chunk) -> Any:
        try:
            return self.model.predict(self._table(row))[0]
        except NotFittedError:
            return None

    def piece(self, row: Chunk, probabilities: bool, ranking: bool) -> Piece:
        """What the model says of a row before it learns from it."""
        return foretold(self.model, self._table(row), probabilities, ranking)

    def learn(self, row: Chunk, y: Any) -> None:
        X, classes = self._table(row), self.classes if _is_fresh(self.model) else None
        if is_ours(self.model):
            self.model._learn(X, [y], None, door_of(X, classes, row.open_ended))
        else:
            self.model.partial_fit(X, [y], **({} if classes is None else {"classes": classes}))


# --- small things ---


def arrays(data: Any) -> tuple[Any, Array]:
    """The rows and targets of a pair, or of the training part of a data set."""
    X, y = (data.X, data.y) if isinstance(data, Dataset) else data
    X, y = np.asarray(X) if isinstance(X, list) and _are_numbers(X) else X, np.asarray(y)
    if len(y) == 0:
        raise ValueError("The stream has no examples.")
    n = len(X) if isinstance(X, list) else X.shape[0]
    if n != len(y):
        raise ValueError(f"X has {n} rows, but y has {len(y)} values.")
    return X, y


def _are_numbers(X: list[Any]) -> bool:
    """Whether a list holds rows of numbers. Texts, graphs and the like are for the model's first stage to understand."""
    lists = all(isinstance(x, np.ndarray | list | tuple) for x in X)
    return lists and len({len(x) for x in X}) < 2 and all(isinstance(value, Real | np.bool_) for x in X[:1] for value in x)


def default_metric(classes: Array | None) -> str:
    """What is measured if nothing else is asked for; `classes` is None for regression."""
    return "mae" if classes is None else "mistake_rate"


def rows(X: Any, start: int, stop: int) -> Any:
    """Some rows of a table; numbers are not copied."""
    if isinstance(X, sp.csr_array | sp.csr_matrix):
        return from_csr(X).part(start, stop).data
    return take(X, slice(start, stop))


def take(X: Any, chosen: Array | slice) -> Any:
    """Rows of a table, or dicts, in the order of `chosen`."""
    if isinstance(X, list):
        return X[chosen] if isinstance(chosen, slice) else [X[t] for t in chosen]
    if is_into_dataframe(X):
        return nw.from_native(X, eager_only=True)[chosen].to_native()
    return as_csr(X)[chosen] if sp.issparse(X) else X[chosen]


def stack(above: Any, below: Any) -> Any:
    """The rows of two tables, one below the other; sparse ones may differ in width. Or the dicts of two lists."""
    if isinstance(above, list):
        return above + below
    if sp.issparse(above):
        width = max(above.shape[1], below.shape[1])
        parts = as_csr(above), as_csr(below)
        wide = [sp.csr_array((part.data, part.indices, part.indptr), shape=(part.shape[0], width)) for part in parts]
        return sp.vstack(wide, format="csr")
    if is_into_dataframe(above):
        return nw.concat([nw.from_native(part, eager_only=True) for part in (above, below)]).to_native()
    return np.concatenate([above, below])


def _as_chunks(items: Iterable[Any]) -> Iterator[Chunk]:
    """Whatever has `.X` and `.y`, and pairs (X, y), as chunks. Of sparse ones nobody knows how wide the next is, unless they say so."""
    for item in items:
        X, y = (item.X, item.y) if hasattr(item, "X") else item
        open_ended = getattr(item, "open_ended", sp.issparse(X))
        yield item if isinstance(item, Chunk) else Chunk(X, y, Position(0), getattr(item, "names", None), open_ended)


def _split(chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Any]]:
    for chunk in chunks:
        for t, label in enumerate(label_array(chunk.y).tolist()):
            yield replace(chunk, X=rows(chunk.X, t, t + 1)), label


def part(chunk: Chunk, start: int, stop: int) -> Chunk:
    """Some rows of a chunk, with their labels."""
    if stop - start == len(chunk):
        return chunk
    position = replace(chunk.position, rows=chunk.position.rows + start)
    return replace(chunk, X=rows(chunk.X, start, stop), y=chunk.y[start:stop], position=position)


def _every_second(pieces: list[Piece]) -> list[Piece]:
    """The second, fourth, sixth, ... row of all pieces together."""
    kept, before = [], 0
    for classes, scores, chances in pieces:
        second = slice(1 - before % 2, None, 2)
        kept.append(Piece(classes, scores[second], None if chances is None else chances[second]))
        before += len(scores)
    return kept


def _best(scores: Array, known: int) -> Array:
    """The place of the best of the known labels for each row; `known` where there is none."""
    if known < 2:  # the only one, if there is one
        return np.zeros(len(scores), np.intp)
    if scores.shape[1] == 1:
        return (scores[:, 0] >= 0).astype(np.intp)
    best: Array = scores.argmax(axis=1)
    doubtful = np.flatnonzero(np.isnan(scores[np.arange(len(best)), best]))
    if len(doubtful):
        partly = np.where(np.isnan(scores[doubtful]), -np.inf, scores[doubtful])
        best[doubtful] = np.where(np.isneginf(partly).all(axis=1), known, partly.argmax(axis=1))
    return best


def _stacked(columns: Iterable[dict[str, Array]]) -> dict[str, Array]:
    """Columns of rows, one below the other."""
    parts = list(columns)
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}


def _place(label: Any, classes: Any) -> int:
    """The place of a label among classes; -1 where it is not."""
    known = list(classes)
    return known.index(label) if label in known else -1


def _number(answer: Any) -> float:
    """A prediction; 0 before there is any."""
    return 0.0 if answer is None else float(answer)


def _is_fresh(model: Any) -> bool:
    return not hasattr(model, "t_")


def refuse_other_kinds(model: Any) -> None:
    """Raise TypeError unless the model gives one label or one number an example."""
    try:
        tags = get_tags(model)
    except (AttributeError, TypeError):  # not of scikit-learn's kin
        return
    if tags.estimator_type not in ("classifier", "regressor") or tags.target_tags.multi_output:
        raise TypeError(
            f"Metrics are for classifiers and regressors; {type(model).__name__} is neither, or gives several labels."
        )


def _is_classifier(model: Any, label: Any) -> bool:
    """What kind of model it is; of one that does not say, what kind of target it is given."""
    try:
        return bool(is_classifier(model))
    except (AttributeError, TypeError):
        return not isinstance(label, float | np.floating)
