"""Evaluation of taggers and parsers: words, sentences, entities and arcs, counted as they are predicted, before they are learned from.

An entity is a run of words whose tags are B-x, I-x, I-x, ...; an I-x that follows another type, or no entity, begins one as well.
That is how conlleval and the default of seqeval count. Of trees, UAS is the share of words with the right head, and LAS that of words
with the right head and relation. As is usual with Universal Dependencies, punctuation counts, and what follows the colon of a relation
does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from onepass.evaluate import lists
from onepass.evaluate.metrics import Array, share
from onepass.evaluate.tally import Curve, Tally, _Sums, _Track

# What is counted of a sentence; RELATED: words whose relation is known, ARCS: those of them with the right head and relation.
WORDS, RIGHT, SENTENCES, WHOLE, HITS, FOUND, GIVEN = range(7)
RELATED, ARCS = HITS, FOUND
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


def count_arcs(true: Iterable[Sequence[Any]], predicted: Iterable[Sequence[Any]]) -> Array:
    """What metrics need of each tree: (sentences, 6)."""
    rows = []
    for given, told in zip(true, predicted, strict=True):
        right = related = arcs = 0
        for one, other in zip(given, told, strict=True):
            (head, relation), (guess, called) = _arc(one), _arc(other)
            right += head == guess
            related += relation is not None
            arcs += head == guess and relation is not None and relation == called
        rows.append((len(given), right, 1, right == len(given), related, arcs))
    return np.array(rows, np.int64).reshape(-1, 6)


def _arc(one: Any) -> tuple[Any, str | None]:
    """A head and the relation to it, without what follows a colon; None if there is none."""
    head, relation = one if isinstance(one, tuple | list) else (one, None)
    return head, None if relation is None else relation.partition(":")[0]


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


TREE_METRICS: dict[str, Callable[[Array], Array]] = {
    "uas": _quotient(RIGHT, WORDS),
    "las": _quotient(ARCS, RELATED),
    "mistake_rate": lambda sums: 1 - _quotient(RIGHT, WORDS)(sums),
    "sentence_accuracy": _quotient(WHOLE, SENTENCES),
}


class Counting(NamedTuple):
    """How examples with outputs of a kind are called and counted, and what follows from that."""

    what: str
    of: Callable[[Iterable[Any], Iterable[Any]], Array]
    metrics: dict[str, Callable[[Array], Array]]


COUNTINGS = {
    "tagging": Counting("sentences", count, SENTENCE_METRICS),
    "parsing": Counting("sentences", count_arcs, TREE_METRICS),
    "ranking": Counting("lists", lists.count, lists.LIST_METRICS),
}


class _Outputs(_Sums):
    def sums(self, block: Mapping[str, Array], starts: Array, given: Any) -> Array:
        return np.add.reduceat(block["outputs"], starts, axis=0)


class OutputTally(Tally):
    """Collects what was counted of outputs, and keeps the metrics that were asked for."""

    def __init__(self, metrics: Iterable[str], points: int, window: int | None, counting: Counting) -> None:
        super().__init__([], None, False, points, window)
        self._asked = list(dict.fromkeys(metrics))
        for name in self._asked:
            if name not in counting.metrics:
                raise ValueError(f"There is no metric {name!r} for {counting.what}. Known are: {', '.join(counting.metrics)}.")
        kinds: Any = [(_Outputs, {name: counting.metrics[name] for name in self._asked})]
        self._total = _Track(kinds, {}, points)
        self._recent = None if window is None else _Track(kinds, {}, points, window)

    def count(self, counted: Array) -> None:
        """Take in the next examples."""
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
    counting: Counting,
) -> tuple[dict[str, float], Curve, Curve | None, int, float, int]:
    """Predict examples, count, and learn from them: the metrics, the curves, the number of examples, the seconds that the model took
    and the updates that it made."""
    first = "mistake_rate" if "mistake_rate" in counting.metrics else next(iter(counting.metrics))
    asked = [first] if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    tally = OutputTally(asked, points, window, counting)
    updates, seconds = getattr(model, "updates_", 0), 0.0
    for X, y in _parts(stream):
        fresh = not hasattr(model, "t_")
        start = perf_counter()
        told = model.test_then_train(X, y, **({} if classes is None or not fresh else {"classes": classes}))
        seconds += perf_counter() - start
        tally.count(counting.of(y, told))
        if callback is not None and tally.n:
            callback(tally.n, tally.metrics())
    if not (tally.n or tally._filled):
        raise ValueError("The stream has no examples.")
    final, curve, window_curve = tally.close()
    return final, curve, window_curve, tally.n, seconds, model.updates_ - updates


def _parts(stream: Any) -> Iterable[tuple[Any, Any]]:
    """Sentences and their outputs, some at a time: of two lists, of chunks, or of pairs of a sentence and its output."""
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
