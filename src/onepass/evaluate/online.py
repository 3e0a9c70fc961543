"""Prequential evaluation: every example is predicted first and learned from afterwards."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from time import perf_counter
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from narwhals.dependencies import is_into_dataframe
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from onepass.base import Learner
from onepass.base.engine import Piece
from onepass.base.estimator import are_named
from onepass.base.inputs import as_csr, from_csr
from onepass.base.labels import Coded, classes_of, coded, label_array
from onepass.datasets import Dataset
from onepass.evaluate.feeding import door_of, is_ours, rows_for, steps_of
from onepass.evaluate.metrics import LOSS_METRICS, Array
from onepass.evaluate.tally import BLOCK, Curve, Tally
from onepass.streams import Chunk
from onepass.streams.stream import Position

PIECE = 1 << 16  # rows of an array that are learned from in one call
GATHER = 512  # single examples that are accounted for at once
SMALLEST = 1e-15  # a probability of 0 counts as this much: its logarithm must be finite


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
    """

    metrics: dict[str, float]
    curve: Curve
    window_curve: Curve | None
    n: int
    seconds: float
    updates: int | None

    def __repr__(self) -> str:
        figures = "".join(f", {name}={value:.4g}" for name, value in self.metrics.items())
        updates = "" if self.updates is None else f", updates={self.updates}"
        return f"Prequential(n={self.n}{figures}{updates}, seconds={self.seconds:.3g})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers, lists and dicts only, as JSON takes them."""
        return {
            "n": self.n,
            "metrics": self.metrics,
            "updates": self.updates,
            "seconds": self.seconds,
            "curve": self.curve.to_dict(),
            "window_curve": None if self.window_curve is None else self.window_curve.to_dict(),
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
    callback: Callable[[int, dict[str, float]], object] | None = None,
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
        a dict of features and its label, as river has them. X is an array, a CSR matrix, a data frame or a list of dicts.
    metrics : str, object, or a list of them, optional
        "accuracy", "mistake_rate", "balanced_accuracy", "kappa", "f1" (of the second of two classes; where there are more, the
        mean over them), "log_loss" (where the model gives probabilities); "mae", "rmse" for regression; or objects with
        river's `update(y_true, y_pred)` and `get()`. The mistake rate, or the MAE for regression, if not given.
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
    callback : callable, optional
        Called now and then with the number of examples so far and their metrics.

    Returns
    -------
    Prequential

    Examples
    --------
    >>> from onepass import PAClassifier, datasets
    >>> result = prequential(PAClassifier(), datasets.sea(2000, random_state=0), ["accuracy", "kappa"], window=500)
    >>> result.n, sorted(result.metrics), result.window_curve.positions.tolist()
    (2000, ['accuracy', 'kappa'], [500, 1000, 1500, 2000])
    """
    for name, value, least in (("window", window, 1), ("delay", delay, 0), ("points", points, 2)):
        if value is not None and value < least:
            raise ValueError(f"`{name}` must be at least {least}, got {value}.")
    refuse_other_kinds(model)
    before = getattr(model, "updates_", 0)
    run = _Run(model, metrics, window, delay, classes, points, callback)
    if isinstance(stream, Dataset | tuple):
        run.arrays(*arrays(stream))
    else:
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
    updates = model.updates_ - before if hasattr(model, "updates_") else None
    return Prequential(final, curve, window_curve, run.tally.n, run.seconds, updates)


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
        callback: Callable[[int, dict[str, float]], object] | None,
    ) -> None:
        self.model, self.classes, self.delay, self.callback = model, classes, delay, callback
        self.metrics = [metrics] if isinstance(metrics, str) or hasattr(metrics, "update") else metrics
        self.points, self.window = points, window
        self.seconds = 0.0
        self.probabilities = any(isinstance(metric, str) and metric in LOSS_METRICS for metric in self.metrics or ())
        self.reported = 0
        self.known_before = getattr(model, "classes_", None)
        self.held: tuple[Any, Array, bool] | None = None  # rows whose labels have not arrived yet

    # --- streams ---

    def arrays(self, X: Any, y: Array) -> None:
        if self.classes is None and is_classifier(self.model) and not is_ours(self.model):
            self.classes = classes_of(label_array(y))  # others can't do without
        size = PIECE if self.callback is None else BLOCK  # who listens wants to hear often
        self.chunks(Chunk(rows(X, at, at + size), y[at : at + size], Position(at)) for at in range(0, len(y), size))

    def chunks(self, chunks: Iterable[Chunk]) -> None:
        classification = is_classifier(self.model)
        if self.probabilities:
            check_probabilities(self.model)
        at_once = isinstance(self.model, Learner) if self.delay else is_ours(self.model)
        if self.probabilities or not at_once:
            self._one_by_one(_split(chunks), classification, _Rows(self.model, self.classes))
            return
        for chunk in chunks:
            y = label_array(chunk.y) if classification else np.asarray(chunk.y, float)
            if len(y) == 0:
                continue
            if self.delay:
                told = self._learn_late(chunk.X, y, chunk.open_ended)
            else:
                target: Array | Coded = self._coded(y) if classification else y
                told = iter([(target, self._learn(rows_for(self.model, chunk), target, chunk.open_ended))])
            for true, pieces in told:
                if classification:
                    self._account_for_labels(true, pieces)
                else:
                    self._open(None)
                    self.tally.add(np.asarray(true), np.concatenate([scores[:, 0] for _, scores in pieces]))
            self._report()
        if self.held is not None:
            self._learn(*self.held)

    def singles(self, examples: Iterable[tuple[Mapping[str, Any], Any]]) -> None:
        examples = iter(examples)
        first = next(examples)
        classification = _is_classifier(self.model, first[1])
        if self.probabilities:
            check_probabilities(self.model, "predict_proba_one")
        if self.classes is None and isinstance(first[1], bool | np.bool_):
            self.classes = [False, True]
        self._one_by_one(chain([first], examples), classification, _Singles(self.model, self.classes))

    def close(self) -> tuple[dict[str, float], Curve, Curve | None]:
        if not hasattr(self, "tally"):
            raise ValueError("The stream has no examples.")
        closed = self.tally.close()
        if self.callback is not None and self.tally.n > self.reported:
            self.callback(self.tally.n, closed[0])
        return closed

    # --- learning from tables ---

    def _learn(self, X: Any, y: Array | Coded, open_ended: bool, weight: Array | None = None) -> list[Piece]:
        """Learn from the rows; the scores from before, with the classes that were known at the time."""
        classes = self.classes if _is_fresh(self.model) else None
        pieces: list[Piece] = []
        start = perf_counter()
        self.model._learn(X, y, weight, door_of(X, classes, open_ended), pieces)
        self.seconds += perf_counter() - start
        return pieces

    def _learn_late(self, X: Any, y: Array, open_ended: bool) -> Iterator[tuple[Array | Coded, list[Piece]]]:
        """Predict the rows of X, and learn from each row `delay` rows later; yields targets and scores.

        A learner scores an example of weight 0 but does not learn from it, so the rows to learn from and the rows to predict,
        one of each in turn, are a single pass: learn row t - delay - 1, score row t.
        """
        lag = self.delay + 1
        waiting = 0 if self.held is None else len(self.held[1])
        if self.held is not None:
            X, y = stack(self.held[0], X), np.concatenate([self.held[1], y])
        first = min(max(lag, waiting), len(y))  # the first row that is predicted with one more label than the row before
        if first > waiting:
            yield y[waiting:first], self._score(rows(X, waiting, first))
        if first < len(y):
            due = np.arange(first, len(y))
            turns = np.column_stack([due - lag, due]).ravel()
            weight = np.tile([1.0, 0.0], len(due))
            yield y[due], _every_second(self._learn(take(X, turns), np.repeat(y[due - lag], 2), open_ended, weight))
        kept = max(len(y) - lag, 0)
        self.held = take(X, np.arange(kept, len(y))), y[kept:], open_ended  # a copy, so that the rest of the chunk can go

    def _score(self, X: Any) -> list[Piece]:
        state = self.model._state
        if state is None:
            return [(np.empty(0), np.zeros((len(X) if isinstance(X, list) else X.shape[0], 1)))]
        return [(state.classes, self.model._scores_now(X))]

    # --- accounting ---

    def _open(self, labels: Array | None, declared: bool = False) -> None:
        if not hasattr(self, "tally"):
            metrics = [default_metric(labels)] if self.metrics is None else self.metrics
            self.tally = Tally(metrics, labels, declared, self.points, self.window)

    def _account_for_labels(self, y: Array | Coded, pieces: list[Piece]) -> None:
        true = y if isinstance(y, Coded) else self._coded(y)
        labels = true.labels
        predicted = [
            np.append(np.searchsorted(labels, classes), len(labels))[_best(scores, len(classes))] for classes, scores in pieces
        ]
        self.tally.add(true.codes, np.concatenate(predicted))

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

    def _report(self) -> None:
        if self.callback is not None and self.tally.n > self.reported:
            self.reported = self.tally.n
            self.callback(self.tally.n, self.tally.metrics())

    # --- one example at a time ---

    def _one_by_one(self, examples: Iterable[tuple[Any, Any]], classification: bool, one: _Singles | _Rows) -> None:
        """Predict, and learn `delay` examples later."""
        waiting: deque[tuple[Any, Any]] = deque()
        gathered: list[tuple[Any, Any, float]] = []
        for x, y in examples:
            start = perf_counter()
            answer = one.predict(x)
            chances = one.probabilities(x) if self.probabilities else {}
            waiting.append((x, y))
            if len(waiting) > self.delay:
                one.learn(*waiting.popleft())
            self.seconds += perf_counter() - start
            gathered.append((y, answer, -math.log(max(chances.get(y, 0.0), SMALLEST))))
            if len(gathered) == GATHER:
                self._account_for_gathered(gathered, classification)
                gathered = []
        if gathered:
            self._account_for_gathered(gathered, classification)
        start = perf_counter()
        for x, y in waiting:
            one.learn(x, y)
        self.seconds += perf_counter() - start

    def _account_for_gathered(self, gathered: list[tuple[Any, Any, float]], classification: bool) -> None:
        true, answers, loss = zip(*gathered, strict=True)
        if classification:
            given = [answer for answer in answers if answer is not None]
            seen = self._coded(label_array([*true, *given]))
            predicted = np.full(len(true), len(seen.labels))
            predicted[[answer is not None for answer in answers]] = seen.codes[len(true) :]
            self.tally.add(seen.codes[: len(true)], predicted, np.array(loss))
        else:
            self._open(None)
            numbers = [0.0 if answer is None else float(answer) for answer in answers]
            self.tally.add(np.array(true, float), np.array(numbers))
        self._report()


class _Singles:
    """A model that takes one dict at a time."""

    def __init__(self, model: Any, classes: Any) -> None:
        self.model, self.classes = model, classes
        self.predict: Callable[[Any], Any] = model.predict_one
        told = classes is not None and is_ours(model) and _is_fresh(model)
        self.learn: Callable[[Any, Any], Any] = self._learn_first if told else model.learn_one
        self.probabilities: Callable[[Any], Mapping[Any, float]] = getattr(model, "predict_proba_one", lambda x: {})

    def _learn_first(self, x: Any, y: Any) -> None:
        """Learn from the first example, and tell a model of ours the labels that can occur."""
        self.model._learn([x], [y], None, door_of([x], self.classes, open_ended=True))
        self.learn = self.model.learn_one


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

    def probabilities(self, row: Chunk) -> Mapping[Any, float]:
        try:
            chances = self.model.predict_proba(self._table(row))[0]
        except NotFittedError:
            return {}
        return dict(zip(self.model.classes_, chances, strict=True))

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
    raw = isinstance(X, list) and (are_named(X) or all(isinstance(x, str) for x in X))
    X, y = np.asarray(X) if isinstance(X, list) and not raw else X, np.asarray(y)
    if len(y) == 0:
        raise ValueError("The stream has no examples.")
    n = len(X) if isinstance(X, list) else X.shape[0]
    if n != len(y):
        raise ValueError(f"X has {n} rows, but y has {len(y)} values.")
    return X, y


def default_metric(classes: Array | None) -> str:
    """What is measured if nothing else is asked for; `classes` is None for regression."""
    return "mae" if classes is None else "mistake_rate"


def check_probabilities(model: Any, door: str = "predict_proba") -> None:
    """Refuse the log loss of a model without probabilities."""
    if not hasattr(model, door):
        raise ValueError(f"'log_loss' needs probabilities, and {type(model).__name__} gives none.")


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


def _every_second(pieces: list[Piece]) -> list[Piece]:
    """The second, fourth, sixth, ... row of all pieces together."""
    kept, before = [], 0
    for classes, scores in pieces:
        kept.append((classes, scores[1 - before % 2 :: 2]))
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
