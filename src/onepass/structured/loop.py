"""The loop over examples with structured outputs: predict, then learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.average import FACTOR, Lazy, NoAverage, tick
from onepass.compiled.borrow import borrowed, keep_alive
from onepass.compiled.compiler import entry_point
from onepass.compiled.loop import UPDATES, T, weight
from onepass.compiled.rows import row
from onepass.compiled.rules import PASSIVE
from onepass.compiled.verb import verb
from onepass.structured.problem import decode, decode_several, desk, extent, value, weigh
from onepass.structured.rules import room, teach


@verb(0)
def seen(average: Any, x: Any, parts: Any, spare: Any) -> Any:
    """The scores of the parts as the outside sees them: the average's, where there is one."""


@seen.form(NoAverage)
def _(average: Any, x: Any, parts: Any, spare: Any) -> Any:
    return parts


@seen.form(Lazy)
def _(average: Any, x: Any, parts: Any, spare: Any) -> Any:
    """Scores are linear in the weights, and the average is w - c q (`compiled/average.py`)."""
    factor = parts.dtype.type(average.clock[FACTOR])
    for i in range(weigh(average.lag, x, spare)):
        now, lag = parts[i], spare[i]
        for k in range(len(now)):
            lag[k] = now[k] - factor * lag[k]
    return spare


def _prepare(model: Any, x: Any, s: Any) -> Any:
    return weigh(model.problem, x, s.parts)


def _foretell(model: Any, average: Any, x: Any, s: Any, n: Any, z: Any) -> Any:
    parts = seen(average, x, s.parts[:n], s.spare[:n])
    decode(model.problem, x, parts, s.desk, z)
    return abs(value(model.problem, x, parts, z)) < np.sqrt(np.finfo(s.parts.dtype).max)


@verb(0, otherwise=_prepare)
def prepare(model: Any, x: Any, s: Any) -> Any:
    """Weigh the parts of an example; how many rows of parts there are."""


@verb(0, otherwise=_foretell)
def foretell(model: Any, average: Any, x: Any, s: Any, n: Any, z: Any) -> Any:
    """z = the best output as the outside sees it, of the n rows of parts of `prepare`; whether its score is a number."""


@entry_point
def run(model: Any, average: Any, X: Any, Y: Any, gate: Any, out: Any, count: Any) -> Any:
    """Predict each example, then learn from it; what was predicted goes to `out`, if it has any place. Returns the number of examples
    done: one whose scores overflow ends the loop before it changes anything."""
    own = room(model, X)
    model, average, X, gate, s = borrowed((model, average, X, gate, own))
    before = count[T]
    done, learned, updates = 0, before, count[UPDATES]
    for t in range(len(X.offsets) - 1):
        x = row(X, t)
        start, end = X.offsets[t], X.offsets[t + 1]
        n = prepare(model, x, s)
        if len(out) > 0 and not foretell(model, average, x, s, n, out[start:end]):
            break
        share = weight(gate, t, s.step.scores)
        if share > 0:
            moved = teach(model, x, Y[start:end], share, s)
            if moved < PASSIVE:
                break
            learned += 1
            updates += moved
            tick(average, model, learned, moved)
        done += 1
    if learned != before:
        count[T], count[UPDATES] = learned, updates
    keep_alive(own)
    return done


@entry_point
def run_several(model: Any, average: Any, X: Any, outputs: Any, scores: Any) -> Any:
    """outputs[t, :n], scores[t, :n] = the n best outputs of example t and their scores; fewer where there are no more, NaN for the
    scores of those that are missing."""
    k = scores.shape[1]
    height, width, _, _ = extent(model.problem, X)
    parts = np.empty((height, width), scores.dtype)
    spare, d = np.empty_like(parts), desk(model.problem, X, max(k, 2), False)
    for t in range(len(scores)):
        x, start, end = row(X, t), X.offsets[t], X.offsets[t + 1]
        n = weigh(model.problem, x, parts)
        shown, found = seen(average, x, parts[:n], spare[:n]), outputs[:, start:end]
        several = decode_several(model.problem, x, shown, found[0], False, d, found)
        scores[t] = np.nan
        for i in range(min(several, k)):
            scores[t, i] = value(model.problem, x, shown, found[i])
