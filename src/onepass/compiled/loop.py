"""The loop: the one place where examples are predicted and then learned from, whichever method they came through."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.average import show, tick
from onepass.compiled.borrow import borrowed, keep_alive
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.rows import row
from onepass.compiled.rules import PASSIVE, combine, dismiss, learn, score, scratch, seat
from onepass.compiled.verb import verb

# A gate says how much each row weighs. Weights: one weight a row, or `every` for all rows if there are none.
Weights = namedtuple("Weights", "values every")

# The counters of a learner's state.
T, UPDATES = 0, 1


@verb(0)
def weight(gate: Any, t: int, scores: Any) -> Any:
    """The weight of row t, which may depend on the scores that the outside sees; a row of weight 0 is not learned from at all."""


@weight.form(Weights)
def _(gate: Any, t: Any, scores: Any) -> Any:
    return gate.values[t] if len(gate.values) > 0 else gate.every


@routine
def sound(scores: Any, largest: Any) -> Any:
    """Whether all scores are numbers below the root of what the type holds: beyond it, squares of the row overflow."""
    fine = True
    for k in range(len(scores)):
        fine &= abs(scores[k]) < largest
    return fine


@entry_point
def run(model: Any, average: Any, X: Any, y: Any, gate: Any, scores: Any, count: Any) -> Any:
    """Predict each row, then learn from it; the scores from before go to `scores`. Returns the number of rows done.

    A row whose scores or squared norm overflow or are not numbers, or for which there is no place, ends the loop before it changes
    anything. Prediction is this very loop with weight 0 for every row, so a score seen while learning is to the bit the one that
    `decision_function` would have given.
    """
    own, own_spare = scratch(model), scratch(average)
    model, average, X, gate, s, spare = borrowed((model, average, X, gate, own, own_spare))
    largest = np.sqrt(np.finfo(scores.dtype).max)
    before = count[T]
    done, seen, updates = 0, before, count[UPDATES]  # counted in registers, written back at the end
    for t in range(len(scores)):
        x = row(X, t)
        score(model, x, s)
        show(average, s, spare, x, seat(model, s, scores[t]))
        combine(model, s, scores[t])
        if not sound(s.scores, largest):
            break
        share = weight(gate, t, scores[t])
        if share > 0:
            moved = learn(model, x, y[t], share, s)
            if moved < PASSIVE:
                break
            seen += 1
            updates += moved
            tick(average, model, seen, moved)
        done += 1
    if seen != before:  # a reader that learned nothing must not undo what a writer counted meanwhile
        count[T], count[UPDATES] = seen, updates
    dismiss(model, s)
    keep_alive((own, own_spare))
    return done
