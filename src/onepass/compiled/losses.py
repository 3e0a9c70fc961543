"""What an example asks of the scores: one rule serves two classes, many classes and numbers alike.

A step moves the scores' coefficients along a direction: y itself for two classes; +1 for the label and -1 for its strongest rival
among many; the sign of the error for numbers. `weight` of a task is the squared length of that direction.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.rules import rival
from onepass.compiled.verb import verb

TwoClasses = namedtuple("TwoClasses", "length2")
ManyClasses = namedtuple("ManyClasses", "length2")
Targets = namedtuple("Targets", "length2 epsilon")


@verb(0)
def judge(task: Any, scores: Any, y: Any, step: Any) -> tuple[Any, Any]:
    """The margin and the loss of the scores: 1 - margin, or for numbers |error| - epsilon (their margin is 1 - loss). `step` is the
    direction in which the loss falls."""


@judge.form(TwoClasses)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    step[0] = y
    margin = y * scores[0]
    return margin, 1 - margin


@judge.form(ManyClasses)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    r = rival(scores, y)
    if r < 0:  # without a rival every label is right
        return scores.dtype.type(np.inf), scores.dtype.type(-np.inf)
    step[:] = 0
    step[y], step[r] = 1, -1
    margin = scores[y] - scores[r]
    return margin, 1 - margin


@judge.form(Targets)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    error = y - scores[0]
    step[0] = 1 if error > 0 else -1
    loss = abs(error) - scores.dtype.type(task.epsilon)
    return 1 - loss, loss


@verb(0)
def standing(task: Any, coefficients: Any, response: Any, itself: Any) -> Any:
    """How well a support vector is still served by the others: its margin by their response alone. Its coefficients and the response
    at it are columns; `itself` is its kernel value with itself. Numbers have no label to look at: there it is how little it says."""


@standing.form(TwoClasses)
def _(task: Any, coefficients: Any, response: Any, itself: Any) -> Any:
    rest = response[0] - coefficients[0] * itself
    return rest if coefficients[0] > 0 else -rest


@standing.form(ManyClasses)
def _(task: Any, coefficients: Any, response: Any, itself: Any) -> Any:
    y = 0
    for c in range(1, len(coefficients)):
        if coefficients[c] > coefficients[y]:
            y = c
    best = -np.inf
    for c in range(len(coefficients)):
        if c != y:
            best = max(best, np.float64(response[c] - coefficients[c] * itself))
    return response[y] - coefficients[y] * itself - best


@standing.form(Targets)
def _(task: Any, coefficients: Any, response: Any, itself: Any) -> Any:
    return -coefficients[0] * coefficients[0] * itself
