"""What the probabilities of examples cost: log loss, Brier score, calibration error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point
from onepass.evaluate.metrics import Array

SMALLEST = 1e-15  # a probability of 0 counts as this much: its logarithm must be finite
BINS = 10

LOSS, BRIER, CONFIDENCE, RIGHT = 0, 1, 2, 3


def judged(chances: Array, true: Array) -> Array:
    """What each row of probabilities is worth, (n, 4): log loss, Brier score, the highest probability, and whether that was the true
    label's. `true` has the place of the true label among the columns, -1 where it has none: its probability was 0."""
    out = np.empty((len(true), 4))
    _judge(np.ascontiguousarray(chances, float), np.ascontiguousarray(true, np.intp), out)
    return out


@entry_point
def _judge(chances: Any, true: Any, out: Any) -> None:
    for t in range(len(true)):
        given, top, place, squares = 0.0, 0.0, -2, 0.0
        for k in range(chances.shape[1]):
            p = chances[t, k]
            if k == true[t]:
                given = p
            else:
                squares += p * p
            if p > top:
                top, place = p, k
        out[t, LOSS] = -np.log(max(given, SMALLEST))
        out[t, BRIER] = (squares + (1 - given) * (1 - given)) / 2
        out[t, CONFIDENCE], out[t, RIGHT] = top, place == true[t]


def cost_sums(judged: Array, starts: Array) -> Array:
    """The number of examples, and the sums of their log losses and Brier scores, in each segment: (segments, 3)."""
    return np.add.reduceat(np.column_stack([np.ones(len(judged)), judged[:, LOSS], judged[:, BRIER]]), starts, axis=0)


def bin_sums(judged: Array, starts: Array) -> Array:
    """The number of examples, the sum of their highest probabilities and how many of those were right, in each segment, by bins of the
    highest probability: (segments, 3, BINS)."""
    sums = np.zeros((len(starts), 3, BINS))
    _fill(judged, np.append(starts, len(judged)), sums)
    return sums


@entry_point
def _fill(judged: Any, bounds: Any, sums: Any) -> None:
    for segment in range(len(bounds) - 1):
        for t in range(bounds[segment], bounds[segment + 1]):
            place = int(min(judged[t, CONFIDENCE] * BINS, BINS - 1))
            sums[segment, 0, place] += 1
            sums[segment, 1, place] += judged[t, CONFIDENCE]
            sums[segment, 2, place] += judged[t, RIGHT]


def log_loss(sums: Array) -> Array:
    """The mean of -log p, p being the probability that was given to the true label."""
    return np.asarray(sums[..., 1] / sums[..., 0])


def brier(sums: Array) -> Array:
    """The mean of half the squared distance between the probabilities and the truth; for two classes that is (1 - p)^2.

    G. W. Brier: Verification of forecasts expressed in terms of probability. Monthly Weather Review 78 (1950), 1-3.
    """
    return np.asarray(sums[..., 2] / sums[..., 0])


def calibration_error(sums: Array) -> Array:
    """How far the highest probabilities are from the share of them that was right, the mean over ten bins of equal width.

    M. P. Naeini, G. F. Cooper, M. Hauskrecht: Obtaining well calibrated probabilities using Bayesian binning. AAAI 2015, 2901-2907.
    """
    return np.asarray(np.abs(sums[..., 1, :] - sums[..., 2, :]).sum(-1) / sums[..., 0, :].sum(-1))


COST_METRICS: dict[str, Callable[[Array], Array]] = {"log_loss": log_loss, "brier": brier}
BIN_METRICS: dict[str, Callable[[Array], Array]] = {"calibration_error": calibration_error}
PROBABILITY_METRICS = frozenset({*COST_METRICS, *BIN_METRICS})
