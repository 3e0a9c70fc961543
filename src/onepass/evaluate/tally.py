"""Predictions in, metrics and curves out, in bounded memory.

Predictions are put into blocks that begin at multiples of `BLOCK`, whatever pieces they come in, and sums are taken over whole
blocks only. So the same stream gives the same figures to the bit, however it is cut.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.evaluate.metrics import (
    ERROR_METRICS,
    LABEL_METRICS,
    LOSS_METRICS,
    Array,
    error_sums,
    f1_declared,
    label_sums,
    loss_sums,
)

BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class Curve:
    """The values of metrics along a stream: `values[metric][i]` is that of the examples up to `positions[i]`."""

    positions: Array
    values: dict[str, Array]

    def __getitem__(self, metric: str) -> Array:
        return self.values[metric]

    def to_dict(self) -> dict[str, list[float]]:
        """Plain lists, as JSON takes them."""
        return {"positions": self.positions.tolist()} | {name: values.tolist() for name, values in self.values.items()}


class Tally:
    """Collects true and predicted values, and keeps the metrics that were asked for.

    Labels are codes into `labels`; the code len(labels) means that there was no prediction. For regression `labels` is None.
    """

    def __init__(self, metrics: Iterable[Any], labels: Array | None, declared: bool, points: int, window: int | None) -> None:
        self.labels = labels
        self.n = 0
        formulas, self._objects = _sort_out(metrics, labels is not None, labels is not None and declared and len(labels) == 2)
        self._columns: dict[str, Array] = {
            "true": np.empty(BLOCK, float if labels is None else np.intp),
            "predicted": np.empty(BLOCK, float if labels is None else np.intp),
            "loss": np.empty(BLOCK),
        }
        self._filled = 0
        self._total = _Track(formulas, self._objects, points)
        self._recent = None if window is None else _Track(formulas, self._objects, points, window)

    def add(self, true: Array, predicted: Array, loss: Array | None = None) -> None:
        """Take in the next predictions, in the order of the stream."""
        given = {"true": true, "predicted": predicted} | ({} if loss is None else {"loss": loss})
        taken = 0
        while taken < len(true):
            free = min(BLOCK - self._filled, len(true) - taken)
            for name, column in given.items():
                self._columns[name][self._filled : self._filled + free] = column[taken : taken + free]
            taken += free
            self._filled += free
            if self._filled == BLOCK:
                self._account()

    def know(self, labels: Array) -> None:
        """There are more labels now: all that is kept under the old codes moves to the new ones."""
        assert self.labels is not None
        moved = np.append(np.searchsorted(labels, self.labels), len(labels))
        for name in ("true", "predicted"):
            column = self._columns[name][: self._filled]
            column[:] = moved[column]
        for track in self._tracks():
            track.widen(moved)
        self.labels = labels

    def metrics(self) -> dict[str, float]:
        """The metrics of all whole blocks so far."""
        return self._total.latest()

    def close(self) -> tuple[dict[str, float], Curve, Curve | None]:
        """The metrics of everything, and the curves."""
        if self._filled:
            self._account()
        return self.metrics(), self._total.curve(), None if self._recent is None else self._recent.curve()

    def _tracks(self) -> list[_Track]:
        return [self._total] if self._recent is None else [self._total, self._recent]

    def _account(self) -> None:
        block = {name: column[: self._filled] for name, column in self._columns.items()}
        values = _plain_values(block, self.labels) if self._objects else []
        for track in self._tracks():
            track.add(self.n, block, 0 if self.labels is None else len(self.labels), values)
        self.n += self._filled
        self._filled = 0


class _Track:
    """Metrics at regular places of a stream: of everything so far, or of disjoint windows.

    At most `points` are kept. When there is no room for more, every second one is dropped and the spacing doubles.
    """

    def __init__(self, formulas: Formulas, objects: Mapping[str, Any], points: int, window: int | None = None) -> None:
        self._formulas, self._fresh = formulas, objects
        self._objects = copy.deepcopy(dict(objects))
        self._points, self._window = points, window
        self._spacing = window or 1
        self._positions: list[int] = []
        self._values: dict[str, list[float]] = {name: [] for name in [*(n for _, fs in formulas for n in fs), *objects]}
        self._sums: list[Any] = [0 for _ in formulas]
        self._complete = False  # whether the latest window has all its examples, so that the next example begins another
        self._end = 0

    def add(self, start: int, block: Mapping[str, Array], labels: int, values: list[tuple[Any, Any]]) -> None:
        size = len(block["true"])
        self._end = start + size
        while self._end // self._spacing >= self._points:
            self._thin()
        step = self._window or self._spacing
        places = np.arange((start // step + 1) * step, self._end + 1, step)
        starts = np.concatenate([[0], places - start])
        starts = starts[starts < size]
        chosen = np.flatnonzero(places % self._spacing == 0)
        self._positions += places[chosen].tolist()
        for i, (kind, formulas) in enumerate(self._formulas):
            sums = kind(block, starts, labels)
            if not (self._window and self._complete):
                sums[0] += self._sums[i]
            if not self._window:
                np.cumsum(sums, axis=0, out=sums)
            self._sums[i] = sums[-1].copy()
            for name, formula in formulas.items():
                self._values[name] += formula(sums[chosen]).tolist()
        self._feed_objects(starts, values, set(chosen.tolist()))
        self._complete = self._end % step == 0

    def _feed_objects(self, starts: Array, values: list[tuple[Any, Any]], chosen: set[int]) -> None:
        for name in self._objects:
            for segment, first in enumerate(starts.tolist()):
                if self._window and (segment > 0 or self._complete):
                    self._objects[name] = copy.deepcopy(self._fresh[name])
                metric = self._objects[name]
                last = starts[segment + 1] if segment + 1 < len(starts) else len(values)
                for true, predicted in values[first:last]:
                    metric.update(true, predicted)
                if segment in chosen:
                    self._values[name].append(metric.get())

    def latest(self) -> dict[str, float]:
        """The metrics of everything so far, or of the last window, whole or not."""
        named = [
            (name, formula, sums)
            for (_, fs), sums in zip(self._formulas, self._sums, strict=True)
            for name, formula in fs.items()
        ]
        if self._end == 0:
            return dict.fromkeys(self._values, float("nan"))
        return {name: float(formula(sums)) for name, formula, sums in named} | {n: m.get() for n, m in self._objects.items()}

    def curve(self) -> Curve:
        """What was kept, and the very end."""
        positions, values = list(self._positions), {name: list(column) for name, column in self._values.items()}
        if self._end and (not positions or positions[-1] != self._end):
            positions.append(self._end)
            for name, value in self.latest().items():
                values[name].append(value)
        return Curve(np.array(positions, np.int64), {name: np.array(column, float) for name, column in values.items()})

    def widen(self, moved: Array) -> None:
        for i, (kind, _) in enumerate(self._formulas):
            if kind is _label_sums and self._end:
                wider = np.zeros((3, moved[-1] + 1), np.int64)
                wider[:, moved] = self._sums[i]
                self._sums[i] = wider

    def _thin(self) -> None:
        self._spacing *= 2
        kept = [i for i, position in enumerate(self._positions) if position % self._spacing == 0]
        self._positions = [self._positions[i] for i in kept]
        self._values = {name: [column[i] for i in kept] for name, column in self._values.items()}


# --- metrics by name ---

Formulas = list[tuple[Callable[[Mapping[str, Array], Array, int], Array], dict[str, Callable[[Array], Array]]]]


def _label_sums(block: Mapping[str, Array], starts: Array, labels: int) -> Array:
    return label_sums(block["true"], block["predicted"], starts, labels)


def _error_sums(block: Mapping[str, Array], starts: Array, labels: int) -> Array:
    return error_sums(block["true"], block["predicted"], starts)


def _loss_sums(block: Mapping[str, Array], starts: Array, labels: int) -> Array:
    return loss_sums(block["loss"], starts)


def _sort_out(metrics: Iterable[Any], classification: bool, two: bool) -> tuple[Formulas, dict[str, Any]]:
    """Metrics by name as formulas, grouped by the sums they need; others as named objects."""
    if classification:
        known = [(_label_sums, LABEL_METRICS | ({"f1": f1_declared} if two else {})), (_loss_sums, LOSS_METRICS)]
    else:
        known = [(_error_sums, ERROR_METRICS)]
    names = [name for _, formulas in known for name in formulas]
    asked, objects = [], {}
    for metric in metrics:
        if not isinstance(metric, str):
            _check_object(metric)
            objects[type(metric).__name__] = copy.deepcopy(metric)
        elif metric in names:
            asked.append(metric)
        else:
            task = "classification" if classification else "regression"
            raise ValueError(f"There is no metric {metric!r} for {task}. Known are: {', '.join(names)}.")
    groups = [(kind, {name: formulas[name] for name in asked if name in formulas}) for kind, formulas in known]
    return [(kind, formulas) for kind, formulas in groups if formulas], objects


def _check_object(metric: Any) -> None:
    if not (hasattr(metric, "update") and hasattr(metric, "get")):
        raise TypeError(f"A metric is a name or an object with `update(y_true, y_pred)` and `get()`, got {metric!r}.")
    if not getattr(metric, "requires_labels", True):
        raise ValueError(f"{type(metric).__name__} wants probabilities instead of labels; the metric 'log_loss' can use them.")


def _plain_values(block: Mapping[str, Array], labels: Array | None) -> list[tuple[Any, Any]]:
    if labels is None:
        return list(zip(block["true"].tolist(), block["predicted"].tolist(), strict=True))
    named = [*labels.tolist(), None]
    return [(named[true], named[predicted]) for true, predicted in zip(block["true"], block["predicted"], strict=True)]
