"""What the outputs of a network are to blame for: the loss of an example, and delta, its negative gradient by the outputs.

The scores are the sums z of the output units. "cross_entropy" is -ln p of the label, p being the softmax of the scores, or the logistic
function where there is one. "hinge" is max(0, 1 - margin), the margin of the label over its strongest rival. "squared" is the rule of
the textbooks, delta = f'(z) (y - f(z)), half the squared error: output units have the function of the hidden ones, and aim at its
largest value for the label and at its least for the others; with ReLU they have none, and aim at 1 and -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import to_the_letter
from onepass.compiled.losses import ManyClasses, Targets, TwoClasses
from onepass.compiled.rules import rival
from onepass.compiled.verb import verb
from onepass.neural.units import RELU, SIGMOID, activate

CROSS_ENTROPY, HINGE, SQUARED, INSENSITIVE = 0, 1, 2, 3


@verb(0)
def blame(task: Any, kind: Any, activation: Any, scores: Any, y: Any, out: Any) -> Any:
    """The loss of the scores, at least 0; out = delta of the outputs, which is 0 where there is no loss."""


@to_the_letter
def log_loss(margin: Any) -> Any:
    """ln(1 + exp(-margin)), which overflows for no margin."""
    return np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0)


# To the letter, or machine code for tables and for single examples might round sums over few classes in different ways.
@to_the_letter
def fall_short(activation: Any, scores: Any, label: Any, out: Any) -> Any:
    """Half the squared error of output units, of which that of the label, if it is one of them, aims high and the others low."""
    low = 0.0 if activation == SIGMOID else -1.0
    out[:] = scores
    if activation != RELU:
        activate(activation, out)
    total = 0.0
    for k in range(len(out)):
        error = (1.0 if k == label else low) - out[k]
        slope = 1.0
        if activation == SIGMOID:
            slope = out[k] * (1 - out[k])
        elif activation != RELU:
            slope = 1 - out[k] * out[k]
        total += error * error
        out[k] = slope * error
    return total / 2


@to_the_letter
def surprise(scores: Any, y: Any, top: Any, out: Any) -> Any:
    """-ln p_y, p being the softmax of the scores, of which `top` is the largest; out = [k = y] - p_k."""
    total = 0.0
    for k in range(len(scores)):
        out[k] = np.exp(scores[k] - top)
        total += out[k]
    for k in range(len(scores)):
        out[k] = (1.0 if k == y else 0.0) - out[k] / total
    return np.log(total) + (top - scores[y])


@blame.form(TwoClasses)
def _(task: Any, kind: Any, activation: Any, scores: Any, y: Any, out: Any) -> Any:
    margin = y * scores[0]
    if kind == CROSS_ENTROPY:
        out[0] = y / (1 + np.exp(margin))
        return log_loss(margin) * 1.0
    if kind == HINGE:
        out[0] = y if margin < 1 else 0
        return max(1.0 - margin, 0.0)
    return fall_short(activation, scores, 0 if y > 0 else 1, out) * 1.0


@blame.form(ManyClasses)
def _(task: Any, kind: Any, activation: Any, scores: Any, y: Any, out: Any) -> Any:
    if kind == SQUARED:
        return fall_short(activation, scores, y, out)
    r = rival(scores, y)
    out[:] = 0
    if r < 0:
        return 0.0
    if kind == HINGE:
        loss = max(1.0 - (scores[y] - scores[r]), 0.0)
        if loss > 0:
            out[y], out[r] = 1, -1
        return loss
    return surprise(scores, y, max(scores[y], scores[r]), out)


@blame.form(Targets)
def _(task: Any, kind: Any, activation: Any, scores: Any, y: Any, out: Any) -> Any:
    """Numbers have an output without a function: half the squared error, or max(0, |error| - epsilon)."""
    error = y - scores[0]
    if kind == SQUARED:
        out[0] = error
        return error * error / 2
    loss = max(abs(error) - task.epsilon, 0.0)
    out[0] = (1 if error > 0 else -1) if loss > 0 else 0
    return loss
