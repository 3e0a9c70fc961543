"""Lists of candidates, of which the best is to be found: an n-best list of translations or of tags, the answers to a query.

A list is a sentence whose words are candidates (`chain.py: Sentences`), and its output is their order, the best first. What is learned
from is no output but mu, the quality of each candidate. All candidates are there to be looked at, so that no decoder has to find a
rival, and the one that should win may change from list to list.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, spliced
from onepass.compiled.rows import dot, row
from onepass.compiled.rules import PASSIVE, TOO_LARGE, learn, scratch
from onepass.compiled.verb import verb
from onepass.structured.chain import longest, weigh_word
from onepass.structured.contrast import begin, difference, enter_rows
from onepass.structured.loop import seen
from onepass.structured.problem import cost, decode, first_best, value, weigh
from onepass.structured.rules import new_room, room, step_along, teach

# W: (rows, 1), the weights lambda; row 0 is no feature, since what is constant cancels in every difference.
Lists = namedtuple("Lists", "W")

# The problem, the rule, and how the winner and its rivals are chosen: how, by what cost, and how many rivals.
Listwise = namedtuple("Listwise", "problem rule update kind rivals")
PREDICTION, MAX_LOSS, HOPE_FEAR = 0, 1, 2
UPDATES = {"prediction": PREDICTION, "max_loss": MAX_LOSS, "hope_fear": HOPE_FEAR}

# Every pair of candidates that differ in quality is an example of its own.
Pairwise = namedtuple("Pairwise", "problem rule")


@verb(0)
def rate(problem: Any, parts: Any, out: Any) -> None:
    """out = the score of each candidate, of the scores of parts: by it they are put in order."""


@weigh.form(Lists)
def _(p: Any, x: Any, parts: Any) -> Any:
    n = len(x.indptr) - 1
    for i in range(n):
        start, end = x.indptr[i], x.indptr[i + 1]
        weigh_word(p.W, x.indices[start:end], x.values[start:end], p.W.dtype.type(0), parts[i])
    return n


@rate.form(Lists)
def _(p: Any, parts: Any, out: Any) -> Any:
    for i in range(len(out)):
        out[i] = parts[i, 0]


@decode.form(Lists)
def order(p: Any, x: Any, parts: Any, d: Any, z: Any) -> Any:
    """z = the candidates by their scores, the largest first, and among equals the first of the list."""
    scores = d[: len(z)]
    rate(p, parts, scores)
    for i in range(len(scores)):
        scores[i] = -scores[i]
    z[:] = np.argsort(scores, kind="mergesort")


@value.form(Lists)
def first_score(p: Any, x: Any, parts: Any, z: Any) -> Any:
    return parts[z[0], 0] if len(z) > 0 else parts.dtype.type(0)


@spliced
def room_of(m: Any, X: Any, k: Any) -> Any:
    """No decoder looks for rivals: the desk is for the scores of a list."""
    (candidates, entries), step = longest(X), scratch(m.rule)
    return new_room((candidates, 1, 0, entries), np.empty(candidates, step.scores.dtype), k, step)


@room.form(Listwise)
def _(m: Any, X: Any) -> Any:
    return room_of(m, X, m.rivals)


@room.form(Pairwise)
def _(m: Any, X: Any) -> Any:
    return room_of(m, X, 1)


@teach.form(Listwise)
def _(m: Any, x: Any, mu: Any, weight: Any, s: Any) -> Any:
    """With y the best candidate, or hope, the one with the largest sum of score and quality, and rivals z by score, or by the sum of
    score and cost (fear): a step along D = h(y) - h(z), where rho, the cost of mu(y) - mu(z), is the margin that is wanted."""
    n = len(mu)
    if n == 0:
        return PASSIVE
    scores, sums, largest = s.parts[:n, 0], s.desk[:n], np.sqrt(np.finfo(s.parts.dtype).max)
    y = best = first_best(mu)
    if m.update == HOPE_FEAR:
        for i in range(n):
            sums[i] = scores[i] + mu[i]
        y = first_best(sums)
    for i in range(n):
        sums[i] = scores[i] + (cost(m.kind, mu[best] - mu[i]) if m.update != PREDICTION else 0)
    found = 0
    for _ in range(min(m.rivals, n)):
        z = first_best(sums)
        sums[z] = -np.inf
        if not (abs(scores[y]) < largest and abs(scores[z]) < largest):
            return TOO_LARGE
        if mu[z] < mu[y]:
            begin(s.book, found)
            enter_rows(s.book, x, y, z)
            s.b[found], s.alpha[found] = cost(m.kind, mu[y] - mu[z]), scores[y] - scores[z]
            found += 1
    return step_along(m.rule, found, weight, s)


@teach.form(Pairwise)
def _(m: Any, x: Any, mu: Any, weight: Any, s: Any) -> Any:
    """For each i that is preferred to j, in their order: a step along D = x_i - x_j, where 1 is the margin that is wanted."""
    n, moved = len(mu), PASSIVE
    for i in range(n):
        if not abs(s.parts[i, 0]) < np.sqrt(np.finfo(s.parts.dtype).max):
            return TOO_LARGE
    for i in range(n):
        for j in range(n):
            if mu[i] > mu[j]:
                begin(s.book, 0)
                enter_rows(s.book, x, i, j)
                D = difference(s.book, 0)
                s.step.scores[0] = dot(m.rule.w, D)
                moved = max(moved, learn(m.rule, D, s.step.scores.dtype.type(1), weight, s.step))
    return moved


@entry_point
def run_scores(problem: Any, average: Any, X: Any, out: Any) -> None:
    """out = the scores of all candidates, as the outside sees them."""
    candidates, _ = longest(X)
    parts = np.empty((candidates, problem.W.shape[1]), problem.W.dtype)
    spare = np.empty_like(parts)
    for t in range(len(X.offsets) - 1):
        x = row(X, t)
        n = weigh(problem, x, parts)
        rate(problem, seen(average, x, parts[:n], spare[:n]), out[X.offsets[t] : X.offsets[t + 1]])
