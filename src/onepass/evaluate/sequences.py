"""Evaluation of taggers: words, sentences and entities, counted as they are predicted, before they are learned from.

An entity is a run of words whose tags are B-x, I-x, I-x, ...; an I-x that follows another type, or no entity, begins one as well.
That is how conlleval and the default of seqeval count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from onepass.evaluate.metrics import Array, share
from onepass.evaluate.tally import Curve, Tally, _Sums, _Track

# What is counted of a sentence.
WORDS, RIGHT, SENTENCES, WHOLE, HITS, FOUND, GIVEN = range(7)
PIECE = 1024  # sentences that are learned from in one call


def entities(tags: Sequence[Any]) -> set[tuple[int, int, str]]:
    """The entities of a sentence: where each begins, where it ends, and its type.

    >>> sorted(entities(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"]))
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'LOC')]
    """
    found = set()
    start, kind = 0, None
    for i, tag in enumerate([*tags, "O"]):
        head, _, name = ("O" if tag is None else str(tag)).partition("-")
        inside = head == "I" and name == kind
        if kind is not None and not inside:
            found.add((start, i, kind))
            kind = None
        if head in ("B", "I") and not inside:
            start, kind = i, name
    return found


def count(true: Iterable[Sequence[Any]], predicted: Iterable[Sequence[Any]]) -> Array:
    """What metrics need of each sentence: (sentences, 7)."""
    rows = []
    for given, told in zip(true, predicted, strict=True):
        right = sum(a == b for a, b in zip(given, told, strict=True))
        gold, found = entities(given), entities(told)
        rows.append((len(given), right, 1, right == len(given), len(gold & found), len(found), len(gold)))
    return np.array(rows, np.int64).reshape(-1, 7)


def _quotient(above: int, *below: int) -> Callable[[Array], Array]:
    def of(sums: Array) -> Array:
        return share(len(below) * sums[..., above], np.sum([sums[..., part] for part in below], axis=0))

    return of


SENTENCE_METRICS: dict[str, Callable[[Array], Array]] = {
    "accuracy": _quotient(RIGHT, WORDS),
    "mistake_rate": lambda sums: 1 - _quotient(RIGHT, WORDS)(sums),
    "sentence_accuracy": _quotient(WHOLE, SENTENCES),
    "entity_precision": _quotient(HITS, FOUND),
    "entity_recall": _quotient(HITS, GIVEN),
    "entity_f1": _quotient(HITS, FOUND, GIVEN),
}


class _Outputs(_Sums):
    def sums(self, block: Mapping[str, Array], starts: Array, given: Any) -> Array:
        return np.add.reduceat(block["outputs"], starts, axis=0)


class SentenceTally(Tally):
    """Collects what was counted of sentences, or of other outputs whose metrics are `known`, and keeps those that were asked for."""

    def __init__(
        self, metrics: Iterable[str], points: int, window: int | None, known: Mapping[str, Any] = SENTENCE_METRICS
    ) -> None:
        super().__init__([], None, False, points, window)
        self._asked = list(dict.fromkeys(metrics))
        for name in self._asked:
            if name not in known:
                what = "sentences" if known is SENTENCE_METRICS else "lists"
                raise ValueError(f"There is no metric {name!r} for {what}. Known are: {', '.join(known)}.")
        kinds: Any = [(_Outputs, {name: known[name] for name in self._asked})]
        self._total = _Track(kinds, {}, points)
        self._recent = None if window is None else _Track(kinds, {}, points, window)

    def count(self, counted: Array) -> None:
        """Take in the next sentences."""
        nothing = np.zeros(len(counted))
        if len(counted):
            self.add(nothing, nothing, outputs=counted)


def run(
    model: Any,
    stream: Any,
    metrics: Any,
    window: int | None,
    classes: Any,
    points: int,
    callback: Callable[[int, dict[str, float]], object] | None,
    known: Mapping[str, Any] = SENTENCE_METRICS,
    counted: Callable[[Any, Any], Array] = count,
) -> tuple[dict[str, float], Curve, Curve | None, int, float, int]:
    """Predict sentences, or other outputs whose metrics are `known`, count, and learn from them: the metrics, the curves, the number of
    sentences, the seconds that the model took and the updates that it made."""
    first = "mistake_rate" if "mistake_rate" in known else next(iter(known))
    asked = [first] if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    tally = SentenceTally(asked, points, window, known)
    updates, seconds = getattr(model, "updates_", 0), 0.0
    for X, y in _parts(stream):
        fresh = not hasattr(model, "t_")
        start = perf_counter()
        told = model.test_then_train(X, y, **({} if classes is None or not fresh else {"classes": classes}))
        seconds += perf_counter() - start
        tally.count(counted(y, told))
        if callback is not None and tally.n:
            callback(tally.n, tally.metrics())
    if not (tally.n or tally._filled):
        raise ValueError("The stream has no examples.")
    final, curve, window_curve = tally.close()
    return final, curve, window_curve, tally.n, seconds, model.updates_ - updates


def _parts(stream: Any) -> Iterable[tuple[Any, Any]]:
    """Sentences and their tags, some at a time: of two lists, of chunks, or of pairs of a sentence and its tags."""
    if isinstance(stream, tuple):
        X, y = map(list, stream)
        if len(X) != len(y):
            raise ValueError(f"There are {len(X)} examples, and outputs for {len(y)}.")
        for start in range(0, len(X), PIECE):
            yield X[start : start + PIECE], y[start : start + PIECE]
        return
    items = iter(stream)
    for first in items:
        if hasattr(first, "X"):
            yield first.X, first.y
        else:
            several = [first, *islice(items, PIECE - 1)]
            yield [x for x, _ in several], [tags for _, tags in several]
