"""Metrics as functions of sums over examples.

Each built-in metric is computed from a few sums: how often each label was true, was predicted and was hit; or the absolute and
squared errors; or what probabilities cost (`probability.py`); or pairs of examples in the right order (`ranking.py`). Sums over
pieces of a stream add up, so a metric costs a few array operations per block of examples, and its value is known at every cut at
once: the functions here take sums with any number of leading axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.compiled.compiler import entry_point

Array = NDArray[Any]

HITS, TRUE, PREDICTED = 0, 1, 2

PER_CENT = frozenset(
    {"mistake_rate", "accuracy", "balanced_accuracy", "sentence_accuracy", "entity_f1", "uas", "las"}
)  # how people read these
BEST_IS_HIGH = frozenset(
    {"accuracy", "balanced_accuracy", "kappa", "f1", "recall", "precision", "auc", "r2"}
    | {"sentence_accuracy", "entity_f1", "entity_precision", "entity_recall", "uas", "las"}
)


def best_is_high(metric: str) -> bool:
    """Whether more is better.

    >>> best_is_high("recall[spam]"), best_is_high("brier")
    (True, False)
    """
    return metric.partition("[")[0] in BEST_IS_HIGH


def of_label(metric: str, label: Any) -> str:
    """The name of a metric of one label.

    >>> of_label("recall", "spam"), of_label("recall", 1.0)
    ('recall[spam]', 'recall[1]')
    """
    return f"{metric}[{int(label) if isinstance(label, float) and label.is_integer() else label}]"


def label_sums(true: Array, predicted: Array, starts: Array, labels: int) -> Array:
    """How often each label was hit, true and predicted, in each segment that begins at `starts`: (segments, 3, labels + 1).

    Labels are codes 0, 1, ...; the last column counts the examples that were given no prediction at all.
    """
    sums = np.zeros((len(starts), 3, labels + 1), np.int64)
    _count(true, predicted, np.append(starts, len(true)), sums)
    return sums


@entry_point
def _count(true: Any, predicted: Any, bounds: Any, sums: Any) -> None:
    for segment in range(len(bounds) - 1):
        for t in range(bounds[segment], bounds[segment + 1]):
            sums[segment, TRUE, true[t]] += 1
            sums[segment, PREDICTED, predicted[t]] += 1
            sums[segment, HITS, true[t]] += true[t] == predicted[t]


def error_sums(true: Array, predicted: Array, origin: float, starts: Array) -> Array:
    """The number of examples and the sums of absolute and squared errors, of targets less `origin` and of their squares, in each
    segment: (segments, 5)."""
    error, target = predicted - true, true - origin
    parts = [np.ones_like(error), np.abs(error), error * error, target, target * target]
    return np.add.reduceat(np.stack(parts), starts, axis=1).T


def accuracy(sums: Array) -> Array:
    """The share of examples that were predicted right."""
    return np.asarray(sums[..., HITS, :].sum(-1) / sums[..., TRUE, :].sum(-1))


def mistake_rate(sums: Array) -> Array:
    """The share of examples that were predicted wrong."""
    return 1 - accuracy(sums)


def balanced_accuracy(sums: Array) -> Array:
    """The share predicted right of each label, averaged over the labels that occurred."""
    return _mean(sums[..., HITS, :], sums[..., TRUE, :])


def kappa(sums: Array) -> Array:
    """Cohen's kappa: 0 for an accuracy that chance would reach with these frequencies, 1 for no mistakes."""
    n = sums[..., TRUE, :].sum(-1)
    chance = (sums[..., TRUE, :] / n[..., None] * (sums[..., PREDICTED, :] / n[..., None])).sum(-1)
    return _ratio(accuracy(sums) - chance, 1 - chance)


def f1(sums: Array) -> Array:
    """2 hits / (true + predicted): of the last one, as long as no more than two labels have occurred or been predicted; from then on
    averaged over all that have."""
    known = sums[..., :-1]
    hits, named = 2 * known[..., HITS, :], known[..., TRUE, :] + known[..., PREDICTED, :]
    occurred = named != 0
    last = occurred.shape[-1] - 1 - occurred[..., ::-1].argmax(-1)[..., None]
    of_last = _ratio(np.take_along_axis(hits, last, -1), np.take_along_axis(named, last, -1))[..., 0]
    return np.where(occurred.sum(-1) <= 2, of_last, _mean(hits, named))


def f1_declared(sums: Array) -> Array:
    """The same for two labels that are known from the start: that of the second."""
    return _ratio(2 * sums[..., HITS, 1], sums[..., TRUE, 1] + sums[..., PREDICTED, 1])


def recall(sums: Array) -> Array:
    """The share predicted right of the examples of each label; NaN for one that has not occurred."""
    return share(sums[..., HITS, :-1], sums[..., TRUE, :-1])


def precision(sums: Array) -> Array:
    """The share that was right of the predictions of each label; NaN for one that was not predicted."""
    return share(sums[..., HITS, :-1], sums[..., PREDICTED, :-1])


def mae(sums: Array) -> Array:
    """The mean absolute error."""
    return np.asarray(sums[..., 1] / sums[..., 0])


def rmse(sums: Array) -> Array:
    """The root of the mean squared error."""
    return np.sqrt(sums[..., 2] / sums[..., 0])


def r2(sums: Array) -> Array:
    """1 - squared errors / squared distances of the targets from their mean; NaN while all targets are the same."""
    n, _, squared, target, target2 = np.moveaxis(np.asarray(sums), -1, 0)
    return 1 - share(squared, target2 - target * target / n)


def share(above: Array, below: Array) -> Array:
    """A quotient; NaN of nothing."""
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=np.asarray(below) != 0))


def _ratio(above: Array, below: Array) -> Array:
    return np.asarray(np.divide(above, below, out=np.zeros(np.shape(above)), where=below != 0))


def _mean(above: Array, below: Array) -> Array:
    return _ratio(_ratio(above, below).sum(-1), (below != 0).sum(-1))


LABEL_METRICS: dict[str, Callable[[Array], Array]] = {
    "accuracy": accuracy,
    "mistake_rate": mistake_rate,
    "balanced_accuracy": balanced_accuracy,
    "kappa": kappa,
    "f1": f1,
}
PER_LABEL: dict[str, Callable[[Array], Array]] = {"recall": recall, "precision": precision}
ERROR_METRICS: dict[str, Callable[[Array], Array]] = {"mae": mae, "rmse": rmse, "r2": r2}
