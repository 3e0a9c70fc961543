"""Gates whose weights depend on the scores of the row at hand, or on what was learned before it."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from onepass.compiled.checks import balance
from onepass.compiled.compiler import entry_point
from onepass.compiled.loop import weight

# Weights that follow the running counts of the classes, in which only the rows that are learned from take part.
Balanced = namedtuple("Balanced", "codes a b counts values")

# Active: the rows whose margin is within `reach` are asked about, and weigh what the gate `given` says; the others weigh nothing.
# Which rows were asked about is noted in `asked`, and what they weighed in `values`.
Active = namedtuple("Active", "reach asked values given")


@entry_point
def margin(scores: Any) -> Any:
    """How far the scores are from another decision: |score| where there is one, else the best less the second best."""
    if len(scores) == 1:
        return abs(scores[0])
    best, second = max(scores[0], scores[1]), min(scores[0], scores[1])
    for k in range(2, len(scores)):
        if scores[k] > best:
            best, second = scores[k], best
        elif scores[k] > second:
            second = scores[k]
    return best - second


@entry_point
def margins(scores: Any, out: Any) -> Any:
    """out[t] = the margin of row t."""
    for t in range(len(out)):
        out[t] = margin(scores[t])


@weight.form(Balanced)
def _(gate: Any, t: Any, scores: Any) -> Any:
    balance(gate.codes[t : t + 1], gate.a, gate.b, gate.counts, gate.values[t : t + 1])
    return gate.values[t]


@weight.form(Active)
def _(gate: Any, t: Any, scores: Any) -> Any:
    gate.asked[t] = margin(scores) <= gate.reach[t]
    gate.values[t] = weight(gate.given, t, scores) if gate.asked[t] else 0
    return gate.values[t]
