"""Probabilities from margins, learned along the way.

J. Platt: Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods. Advances in Large Margin
Classifiers (1999). Here each example takes one Newton step on its own log loss: the scores are those from before the example was
learned, which are as honest as a held-out set. There is no rate to choose, and no unit: scores that are all multiplied by the same
number give the same probabilities.

The curvature is the sum of squared gradients (the empirical Fisher information). Where the probabilities are right, that is the
curvature of the log loss; where they are not, it holds mistakes back that were made with confidence. Scores grow while a model learns,
and those of an average may shrink. So the slope belongs to scores of their usual size, the root of AA / BB, and changes when that does;
and the past counts less and less, half as much when BB has doubled.

Among many classes one slope says little: some are rare, some take the scores of others along. So each class has an offset and a
weight for every score beside the slope, a multinomial logistic regression on the scores. On covtype, 7 classes, the log loss of PA-I
with C = 0.01 falls from 0.80 to 0.69 by it, that of AROW from 0.96 to 0.75. Beyond `FEW` classes there are the offsets only, or there
would be more numbers for probabilities than for scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine, to_the_letter

# The calibration of a state, float64: slope and offset, and the curvature's three entries. An offset is in logits, whatever the
# scores: of its curvature, 1 is there from the start.
SLOPE, OFFSET, AA, AB, BB = 0, 1, 2, 3, 4
START = (0.0, 0.0, 0.0, 0.0, 1.0)

# Beside them, for many classes: up to FEW of them have a weight for each score. RATE is that of AdaGrad, whose sums of squares begin
# with RESERVE, or the first few examples would say too much; and FAR is how many times its usual size a score counts at the most.
FEW, RATE, RESERVE, FAR = 32, 0.3, 30.0, 8.0


# Scores beyond are taken for these, and those nearer to 0 for 0: their squares, and quotients of those, are then numbers.
LARGEST, SMALLEST = 1e100, 1e-100


@routine
def tame(f: Any) -> Any:
    f = min(max(np.float64(f), -LARGEST), LARGEST)
    return f if abs(f) > SMALLEST else 0.0


@routine
def weigh(platt: Any, g: Any, error: Any) -> Any:
    """Take an example into the curvature: g is its gradient by the slope, and the error, at most 1, that by the offset."""
    before = platt[AA] / platt[BB]
    left = 1 - 0.5 * error * error / platt[BB]
    platt[AA] = left * platt[AA] + g * g
    platt[AB] = left * platt[AB] + g * error
    platt[BB] = left * platt[BB] + error * error
    if before > 0:
        platt[SLOPE] *= np.sqrt(before * platt[BB] / platt[AA])


@to_the_letter
def softmax(p: Any) -> Any:
    """p_k <- exp(p_k) / sum_j exp(p_j)."""
    top, total = p[0], p.dtype.type(0)
    for k in range(1, len(p)):
        top = max(top, p[k])
    for k in range(len(p)):
        p[k] = np.exp(p[k] - top)
        total += p[k]
    for k in range(len(p)):
        p[k] /= total


@to_the_letter
def calibrated(platt: Any, A: Any, scores: Any, x: Any, p: Any) -> Any:
    """p = the probability of each class, and x = what A is multiplied with."""
    size = np.sqrt(platt[AA] / platt[BB])
    x[0] = 1
    for j in range(1, len(x)):
        x[j] = min(max(np.float64(scores[j - 1]) / size, -FAR), FAR) if size > 0 else 0.0
    for k in range(len(p)):
        logit, a = platt[SLOPE] * np.float64(scores[k]), A[k]
        for j in range(len(x)):
            logit += a[j] * x[j]
        p[k] = logit
    softmax(p)


@to_the_letter
def sigmoid(platt: Any, score: Any, p: Any) -> Any:
    """p = the probability of each of two classes."""
    p[1] = 1 / (1 + np.exp(-(platt[SLOPE] * np.float64(score) + platt[OFFSET])))
    p[0] = 1 - p[1]


@entry_point
def calibrate_binary(platt: Any, scores: Any, y: Any, weights: Any, chances: Any) -> Any:
    """P(y = 1) = 1 / (1 + exp(-(slope f + offset))). The probabilities from before each step go to `chances`, if it has rows."""
    for t in range(len(y)):
        if len(chances) > 0:
            sigmoid(platt, scores[t, 0], chances[t])
        if len(weights) > 0 and weights[t] == 0:
            continue
        f = tame(scores[t, 0])
        p = 1 / (1 + np.exp(-(platt[SLOPE] * f + platt[OFFSET])))
        error = p - (1.0 if y[t] > 0 else 0.0)
        g = error * f
        weigh(platt, g, error)
        AA1 = platt[AA] * (1 + 1 / platt[BB])  # one example of the usual size more, as for the offset
        determinant = AA1 * platt[BB] - platt[AB] * platt[AB]
        if determinant > 0:
            platt[SLOPE] -= (platt[BB] * g - platt[AB] * error) / determinant
            platt[OFFSET] -= (AA1 * error - platt[AB] * g) / determinant
        else:  # no score but 0 so far
            platt[OFFSET] -= error / platt[BB]


@entry_point
def calibrate_multiclass(platt: Any, A: Any, G: Any, scores: Any, y: Any, weights: Any, chances: Any) -> Any:
    """P(k) proportional to exp(slope f_k + a_k . x), x = (1, f / their usual size). The slope, which all classes share, takes a step
    as for two classes; for two of them, with the scores -f/2 and f/2, it has the same AA and BB. The rows a_k of A follow the same
    log loss by AdaGrad (Duchi et al. 2011); G is their sum of squared gradients. The probabilities from before each step go to
    `chances`, if it has rows."""
    if platt[BB] == 1 and platt[AA] > 0:  # from a file that has no BB for many classes: take a usual score for one of 2 logits
        platt[BB] += platt[AA] * platt[SLOPE] * platt[SLOPE] / 4
    K, width = A.shape
    p, x = np.empty(K), np.empty(width)
    for t in range(len(y)):
        idle = len(weights) > 0 and weights[t] == 0
        if idle and len(chances) == 0:
            continue
        calibrated(platt, A, scores[t], x, p)
        if len(chances) > 0:
            chances[t] = p
        if idle:
            continue
        mean = 0.0
        for k in range(K):
            mean += p[k] * scores[t, k]
        g = tame(mean - scores[t, y[t]])
        weigh(platt, g, 1 - p[y[t]])
        if platt[AA] > 0:
            platt[SLOPE] -= g / (platt[AA] * (1 + 1 / platt[BB]))
        for k in range(K):
            error = p[k] - (1.0 if k == y[t] else 0.0)
            a, squares = A[k], G[k]
            for j in range(width):
                squares[j] += (error * x[j]) * (error * x[j])
                a[j] -= RATE * error * x[j] / np.sqrt(squares[j])


@entry_point
def probabilities(platt: Any, A: Any, scores: Any, out: Any) -> Any:
    """The probability of each class, a row an example, a column a class."""
    x = np.empty(A.shape[1])
    for t in range(len(out)):
        if scores.shape[1] == 1:
            sigmoid(platt, scores[t, 0], out[t])
        else:
            calibrated(platt, A, scores[t], x, out[t])
