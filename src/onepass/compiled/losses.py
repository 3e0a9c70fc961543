"""What an example asks of the scores: one rule serves two classes, many classes, costs and numbers alike.

A task judges the scores of an example, and says in which direction they should move: y itself for two classes; +1 for the label and
-1 for its strongest rival among many; the sign of the error for numbers. A step of length a then adds a times the direction to the
scores' weights or coefficients. `length2` of a task is the squared length of its direction.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine, to_the_letter
from onepass.compiled.rules import rival
from onepass.compiled.verb import verb

TwoClasses = namedtuple("TwoClasses", "length2")
ManyClasses = namedtuple("ManyClasses", "length2")
Targets = namedtuple("Targets", "length2 epsilon")

# margins: the roots of the costs, a row for each label; max_loss: whether the rival is the label that makes the loss largest, or the
# one that is predicted.
CostsOfTwo = namedtuple("CostsOfTwo", "length2 margins max_loss")
CostsOfMany = namedtuple("CostsOfMany", "length2 margins max_loss")


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
    if r < 0:
        return unrivalled(scores)
    point_apart(step, y, r)
    return short_of(scores.dtype.type(1), scores[y], scores[r])


@judge.form(CostsOfTwo)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    """With w = W_1 - W_0: loss = sqrt(rho(y, other label)) - y w.x; of a mistake only, unless it is the largest loss that counts."""
    step[0] = y
    margin = y * scores[0]
    if not task.max_loss and not mistaken(task, margin, scores, y):
        return margin, 0.0
    return margin, (task.margins[1, 0] if y > 0 else task.margins[0, 1]) - margin


@judge.form(CostsOfMany)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    """loss = sqrt(rho(y, q)) - (W_y - W_q).x, against the label q that is predicted, or the one with the largest loss."""
    margins = task.margins[y]
    q, best = 0, -np.inf
    for k in range(len(scores)):
        value = scores[k] + (margins[k] if task.max_loss else 0.0)
        if value > best:
            q, best = k, value
    point_apart(step, y, q)
    return short_of(margins[q], scores[y], scores[q])


@judge.form(Targets)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    error = y - scores[0]
    step[0] = 1 if error > 0 else -1
    loss = abs(error) - scores.dtype.type(task.epsilon)
    return 1 - loss, loss


@to_the_letter
def short_of(wanted: Any, label: Any, other: Any) -> Any:
    """The margin of a label over another, and by how much it falls short: with costs of 1 the same as without costs, to the bit."""
    margin = label - other
    return margin, wanted - margin


@routine
def unrivalled(scores: Any) -> Any:
    """The margin and the loss of the only label there is: it is right whatever its score."""
    return scores.dtype.type(np.inf), scores.dtype.type(-np.inf)


@routine
def point_apart(step: Any, y: Any, r: Any) -> Any:
    """Point up for the label, and down for its rival."""
    step[:] = 0
    step[r], step[y] = -1, 1


@routine
def mistaken(task: Any, margin: Any, scores: Any, y: Any) -> Any:
    """Whether another label than y would be predicted."""
    return margin < 0 or (margin == 0 and loses_tie(task, scores, y))


@verb(0)
def loses_tie(task: Any, scores: Any, y: Any) -> Any:
    """Whether y is not predicted though no score is larger: a score of 0 means the second of two classes, and of many the first wins.
    Numbers have no ties."""


@loses_tie.form(TwoClasses)
@loses_tie.form(CostsOfTwo)
def _(task: Any, scores: Any, y: Any) -> Any:
    return y < 0


@loses_tie.form(Targets)
def _(task: Any, scores: Any, y: Any) -> Any:
    return False


@loses_tie.form(ManyClasses)
def _(task: Any, scores: Any, y: Any) -> Any:
    return rival(scores, y) < y


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
