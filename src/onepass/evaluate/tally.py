"""Predictions in, metrics and curves out, in bounded memory.

Predictions are put into blocks that begin at multiples of `BLOCK`, whatever pieces they come in, and sums are taken over whole
blocks only. So the same stream gives the same figures to the bit, however it is cut.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.evaluate.metrics import (
    ERROR_METRICS,
    LABEL_METRICS,
    PER_LABEL,
    Array,
    error_sums,
    f1_declared,
    label_sums,
    of_label,
)
from onepass.evaluate.probability import BIN_METRICS, COST_METRICS, bin_sums, cost_sums
from onepass.evaluate.ranking import RANK_METRICS, Ranking

BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class Curve:
    """The values of metrics along a stream: `values[metric][i]` is that of the examples up to `positions[i]`."""

    positions: Array
    values: dict[str, Array]

    def __getitem__(self, metric: str) -> Array:
        return self.values[metric]

    def to_dict(self) -> dict[str, list[Any]]:
        """Plain lists, as JSON takes them; None where a metric had no value."""
        return {"positions": self.positions.tolist()} | {
            name: [json_number(value) for value in values.tolist()] for name, values in self.values.items()
        }


def json_number(value: float) -> float | None:
    """A figure as JSON takes it, which has no NaN."""
    return None if math.isnan(value) else value


class Tally:
    """Collects true and predicted values, and keeps the metrics that were asked for.

    Labels are codes into `labels`; the code len(labels) means that there was no prediction. For regression `labels` is None. Metrics of
    probabilities need what `probability.judged` gives, the AUC what `ranking.ranks` does, and objects that want probabilities the
    `chances` of each example by label.
    """

    def __init__(self, metrics: Iterable[Any], labels: Array | None, declared: bool, points: int, window: int | None) -> None:
        self.labels = labels
        self.n = 0
        self._asked, kinds, self._objects = _sort_out(metrics, labels, declared)
        self._columns: dict[str, Array] = {
            "true": np.empty(BLOCK, float if labels is None else np.intp),
            "predicted": np.empty(BLOCK, float if labels is None else np.intp),
        }
        self._filled = 0
        self._origin = 0.0
        self._total = _Track(kinds, self._objects, points)
        self._recent = None if window is None else _Track(kinds, self._objects, points, window)

    def add(self, true: Array, predicted: Array, **beside: Array) -> None:
        """Take in the next predictions, in the order of the stream, and what metrics need beside them: `judged`, `ranks`, `chances`."""
        given = {"true": true, "predicted": predicted, **beside}
        if self.n == self._filled == 0:
            self._origin = float(true[0])
            self._columns |= {name: np.empty((BLOCK, *column.shape[1:]), column.dtype) for name, column in beside.items()}
        taken = 0
        while taken < len(true):
            free = min(BLOCK - self._filled, len(true) - taken)
            for name, column in given.items():
                self._columns[name][self._filled : self._filled + free] = column[taken : taken + free]
            taken += free
            self._filled += free
            if self._filled == BLOCK:
                self._account()

    @property
    def seen(self) -> int:
        """How many predictions were taken in, those of the block that is not whole yet included."""
        return self.n + self._filled

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
        return {name: float(value) for name, value in self._by_label(self._total.latest()).items()}

    def close(self) -> tuple[dict[str, float], Curve, Curve | None]:
        """The metrics of everything, and the curves."""
        if self._filled:
            self._account()
        curves = [Curve(track.positions(), self._by_label(track.columns())) for track in self._tracks()]
        return self.metrics(), curves[0], None if self._recent is None else curves[1]

    def _by_label(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values that were asked for, in that order; of those that have a value a label, one after the other."""
        found: dict[str, Any] = {}
        for metric in self._asked:
            name, _, one = metric.partition("[")
            if name not in PER_LABEL:
                found[metric] = values[metric]
                continue
            assert self.labels is not None
            each = {of_label(name, label): values[name][..., k] for k, label in enumerate(self.labels.tolist())}
            found |= {metric: each.get(metric, np.full(np.shape(values[name])[:-1], np.nan))} if one else each
        return found

    def _tracks(self) -> list[_Track]:
        return [self._total] if self._recent is None else [self._total, self._recent]

    def _account(self) -> None:
        block = {name: column[: self._filled] for name, column in self._columns.items()}
        values = _plain_values(block, self.labels) if self._objects else {}
        for track in self._tracks():
            track.add(self.n, block, self._origin if self.labels is None else len(self.labels), values)
        self.n += self._filled
        self._filled = 0


class _Track:
    """Metrics at regular places of a stream: of everything so far, or of disjoint windows.

    At most `points` are kept. When there is no room for more, every second one is dropped and the spacing doubles.
    """

    def __init__(self, kinds: Kinds, objects: Mapping[str, Any], points: int, window: int | None = None) -> None:
        self._formulas = [(kind(window is not None), formulas) for kind, formulas in kinds]
        self._fresh = objects
        self._objects = copy.deepcopy(dict(objects))
        self._points, self._window = points, window
        self._spacing = window or 1
        self._positions: list[int] = []
        self._values: dict[str, list[Any]] = {name: [] for name in [*(n for _, fs in kinds for n in fs), *objects]}
        self._sums: list[Any] = [0 for _ in kinds]
        self._complete = False  # whether the latest window has all its examples, so that the next example begins another
        self._end = 0

    def add(self, start: int, block: Mapping[str, Array], given: Any, values: PlainValues) -> None:
        """Take in a block; `given` is the number of labels, or what targets are measured from."""
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
            if self._window and self._complete:
                kind.clear()
            sums = kind.sums(block, starts, given)
            if not (self._window and self._complete):
                sums[0] += self._sums[i]
            if not self._window:
                np.cumsum(sums, axis=0, out=sums)
            self._sums[i] = sums[-1].copy()
            for name, formula in formulas.items():
                self._values[name] += formula(sums[chosen]).tolist()
        self._feed_objects(starts, values, set(chosen.tolist()))
        self._complete = self._end % step == 0

    def _feed_objects(self, starts: Array, values: PlainValues, chosen: set[int]) -> None:
        for name in self._objects:
            pairs = values[wants_probabilities(self._fresh[name])]
            for segment, first in enumerate(starts.tolist()):
                if self._window and (segment > 0 or self._complete):
                    self._objects[name] = copy.deepcopy(self._fresh[name])
                metric = self._objects[name]
                last = starts[segment + 1] if segment + 1 < len(starts) else len(pairs)
                for true, predicted in pairs[first:last]:
                    if predicted != {}:  # no label was known: river does not count such examples either
                        metric.update(true, predicted)
                if segment in chosen:
                    self._values[name].append(metric.get())

    def latest(self) -> dict[str, Any]:
        """The metrics of everything so far, or of the last window, whole or not."""
        named = [
            (name, formula, sums)
            for (_, fs), sums in zip(self._formulas, self._sums, strict=True)
            for name, formula in fs.items()
        ]
        if self._end == 0:
            return dict.fromkeys(self._values, np.array(np.nan))
        return {name: formula(sums) for name, formula, sums in named} | {n: m.get() for n, m in self._objects.items()}

    def positions(self) -> Array:
        """The places of all that was kept, and the very end."""
        return np.array([*self._positions, self._end] if self._ends_apart() else self._positions, np.int64)

    def columns(self) -> dict[str, Array]:
        """The metrics at these places."""
        end = self.latest() if self._ends_apart() else {}
        return {name: np.array([*column, end[name]] if end else column, float) for name, column in self._values.items()}

    def _ends_apart(self) -> bool:
        return bool(self._end and (not self._positions or self._positions[-1] != self._end))

    def widen(self, moved: Array) -> None:
        for i, (kind, formulas) in enumerate(self._formulas):
            if isinstance(kind, _Labels) and self._end:
                wider = np.zeros((3, moved[-1] + 1), np.int64)
                wider[:, moved] = self._sums[i]
                self._sums[i] = wider
                for name in formulas.keys() & PER_LABEL.keys():
                    self._values[name] = [_moved(values, moved) for values in self._values[name]]

    def _thin(self) -> None:
        self._spacing *= 2
        kept = [i for i, position in enumerate(self._positions) if position % self._spacing == 0]
        self._positions = [self._positions[i] for i in kept]
        self._values = {name: [column[i] for i in kept] for name, column in self._values.items()}


def _moved(values: list[float], moved: Array) -> list[float]:
    """A value a label, where there are more labels now: those that are new had none."""
    wider = np.full(moved[-1], np.nan)
    wider[moved[:-1]] = values
    return wider.tolist()


# --- sums ---


class _Sums:
    """What is added up of a block, in each segment that begins at `starts`."""

    def __init__(self, windows: bool) -> None:
        pass

    def clear(self) -> None:
        """A window is complete: forget its examples."""

    def sums(self, block: Mapping[str, Array], starts: Array, given: Any) -> Array:
        raise NotImplementedError


class _Labels(_Sums):
    def sums(self, block: Mapping[str, Array], starts: Array, given: int) -> Array:
        return label_sums(block["true"], block["predicted"], starts, given)


class _Errors(_Sums):
    def sums(self, block: Mapping[str, Array], starts: Array, given: float) -> Array:
        return error_sums(block["true"], block["predicted"], given, starts)


class _Costs(_Sums):
    def sums(self, block: Mapping[str, Array], starts: Array, given: Any) -> Array:
        return cost_sums(block["judged"], starts)


class _Bins(_Sums):
    def sums(self, block: Mapping[str, Array], starts: Array, given: Any) -> Array:
        return bin_sums(block["judged"], starts)


class _Ranks(_Sums):
    def __init__(self, windows: bool) -> None:
        self._ranking = Ranking(windows)

    def clear(self) -> None:
        self._ranking.clear()

    def sums(self, block: Mapping[str, Array], starts: Array, given: Any) -> Array:
        return self._ranking.sums(block["ranks"], starts)


# --- metrics by name ---

NAMES = {
    "classification": [*LABEL_METRICS, *PER_LABEL, *COST_METRICS, *BIN_METRICS, *RANK_METRICS],
    "regression": [*ERROR_METRICS],
}
Formulas = dict[str, Callable[[Array], Array]]
Kinds = list[tuple[type[_Sums], Formulas]]


def _sort_out(metrics: Iterable[Any], labels: Array | None, declared: bool) -> tuple[list[str], Kinds, dict[str, Any]]:
    """All names, in their order; formulas, grouped by the sums they need; and metrics that are objects."""
    if labels is not None:
        by_label = LABEL_METRICS | PER_LABEL | ({"f1": f1_declared} if declared and len(labels) == 2 else {})
        known: Kinds = [(_Labels, by_label), (_Costs, COST_METRICS), (_Bins, BIN_METRICS), (_Ranks, RANK_METRICS)]
    else:
        known = [(_Errors, ERROR_METRICS)]
    task = "regression" if labels is None else "classification"
    asked: list[str] = []
    objects = {}
    for metric in metrics:
        if not isinstance(metric, str):
            _check_object(metric)
            objects[type(metric).__name__] = copy.deepcopy(metric)
            asked.append(type(metric).__name__)
        elif metric in NAMES[task] or (labels is not None and metric.partition("[")[0] in PER_LABEL and metric.endswith("]")):
            if declared and labels is not None:
                _check_declared(metric, labels)
            asked.append(metric)
        else:
            raise ValueError(f"There is no metric {metric!r} for {task}. Known are: {', '.join(NAMES[task])}.")
    wanted = {metric.partition("[")[0] for metric in asked}
    groups = [(kind, {name: formula for name, formula in formulas.items() if name in wanted}) for kind, formulas in known]
    return list(dict.fromkeys(asked)), [(kind, formulas) for kind, formulas in groups if formulas], objects


def _check_declared(metric: str, labels: Any) -> None:
    """Refuse a metric that the labels, all of which are known, leave without a value."""
    if metric in RANK_METRICS and len(labels) > 2:
        raise ValueError(f"'{metric}' is for two classes, and there are {len(labels)}.")
    name, _, one = metric.partition("[")
    named = [of_label(name, label) for label in labels.tolist()]
    if one and metric not in named:
        raise ValueError(f"There is no label for the metric {metric!r}. There are: {', '.join(named)}.")


def _check_object(metric: Any) -> None:
    if not (hasattr(metric, "update") and hasattr(metric, "get")):
        raise TypeError(f"A metric is a name or an object with `update(y_true, y_pred)` and `get()`, got {metric!r}.")


def wants_probabilities(metric: Any) -> bool:
    """Whether a metric is an object that is to be given the probabilities of the labels, as river's LogLoss, and not a label."""
    return not isinstance(metric, str) and not getattr(metric, "requires_labels", True)


PlainValues = dict[bool, list[tuple[Any, Any]]]


def _plain_values(block: Mapping[str, Array], labels: Array | None) -> PlainValues:
    """What objects are given of each example: the truth and the prediction; and the truth and the probabilities, for those that want
    them."""
    if labels is None:
        return {False: list(zip(block["true"].tolist(), block["predicted"].tolist(), strict=True))}
    named = [*labels.tolist(), None]
    true = [named[code] for code in block["true"]]
    chances = block.get("chances", ())
    return {
        False: list(zip(true, (named[code] for code in block["predicted"]), strict=True)),
        True: list(zip(true, chances, strict=True)) if len(chances) else [],
    }
