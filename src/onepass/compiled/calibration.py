"""Probabilities from margins, learned along the way.

J. Platt: Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods. Advances in Large Margin
Classifiers (1999). Here each example takes one Newton step on its own log loss, with the curvature of all examples so far, so there is
no rate to choose: the scores are those from before the example was learned, which are as honest as a held-out set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.kernel import kernel

# The calibration of a state, float64: slope and offset, and the curvature's three entries.
SLOPE, OFFSET, AA, AB, BB = 0, 1, 2, 3, 4
START = (1.0, 0.0, 1.0, 0.0, 1.0)


@kernel
def calibrate_binary(platt: Any, scores: Any, y: Any, weights: Any) -> Any:
    """P(y = 1) = 1 / (1 + exp(-(slope f + offset)))."""
    for t in range(len(y)):
        if len(weights) > 0 and weights[t] == 0:
            continue
        f = np.float64(scores[t, 0])
        p = 1 / (1 + np.exp(-(platt[SLOPE] * f + platt[OFFSET])))
        error, curvature = p - (1.0 if y[t] > 0 else 0.0), p * (1 - p)
        platt[AA] += curvature * f * f
        platt[AB] += curvature * f
        platt[BB] += curvature
        determinant = platt[AA] * platt[BB] - platt[AB] * platt[AB]
        platt[SLOPE] -= error * (platt[BB] * f - platt[AB]) / determinant
        platt[OFFSET] -= error * (platt[AA] - platt[AB] * f) / determinant


@kernel
def calibrate_multiclass(platt: Any, scores: Any, y: Any, weights: Any) -> Any:
    """P(k) proportional to exp(slope f_k): one slope for all classes."""
    K = scores.shape[1]
    p = np.empty(K)
    for t in range(len(y)):
        if len(weights) > 0 and weights[t] == 0:
            continue
        softmax(platt[SLOPE], scores[t], p)
        mean, square = 0.0, 0.0
        for k in range(K):
            mean += p[k] * scores[t, k]
            square += p[k] * scores[t, k] * scores[t, k]
        platt[AA] += max(square - mean * mean, 0.0)
        platt[SLOPE] -= (mean - scores[t, y[t]]) / platt[AA]


@kernel
def softmax(slope: Any, scores: Any, p: Any) -> Any:
    top = -np.inf
    for k in range(len(p)):
        p[k] = slope * scores[k]
        top = max(top, p[k])
    total = 0.0
    for k in range(len(p)):
        p[k] = np.exp(p[k] - top)
        total += p[k]
    for k in range(len(p)):
        p[k] /= total


@kernel
def probabilities(platt: Any, scores: Any, out: Any) -> Any:
    """The probability of each class, a row an example, a column a class."""
    for t in range(len(out)):
        if scores.shape[1] == 1:
            out[t, 1] = 1 / (1 + np.exp(-(platt[SLOPE] * np.float64(scores[t, 0]) + platt[OFFSET])))
            out[t, 0] = 1 - out[t, 1]
        else:
            softmax(platt[SLOPE], scores[t], out[t])
