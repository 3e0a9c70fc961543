"""Linear models: records with weights `w`, a vector for one score or a matrix with a row a score, and the `task` that says which.

Scores, work space and steps are the same for all of them, whatever they learn. A rule whose step is one number is a function that is
decorated with `@rule(Record)`; others give a form of `learn`, which judges by the task and moves the weights by `move`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from onepass.compiled.average import at, height, workspace
from onepass.compiled.compiler import OPTIONS
from onepass.compiled.hedge import part, side_by_side
from onepass.compiled.losses import CostsOfMany, CostsOfTwo, ManyClasses, Targets, TwoClasses, judge
from onepass.compiled.rows import add, dot, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, score, scratch
from onepass.compiled.verb import verb

Rule = TypeVar("Rule", bound=Callable[..., Any])

# The least work space of a learner that judges by a task: step is the direction in which the scores should move.
Judged = namedtuple("Judged", "scores step")


@verb(0)
def width(task: Any, w: Any) -> int:
    """The number of scores."""


@verb(0)
def vector(task: Any, w: Any, k: int) -> Any:
    """The weights of score k."""


@verb(0)
def weigh(task: Any, w: Any, x: Any, scores: Any) -> None:
    """scores = w x"""


@verb(0)
def move(task: Any, w: Any, a: Any, step: Any, x: Any) -> None:
    """The weights of each score += a step x, along the direction `step`."""


def _one(task: Any, w: Any) -> Any:
    return 1


def _only_vector(task: Any, w: Any, k: Any) -> Any:
    return w


def _weigh_one(task: Any, w: Any, x: Any, scores: Any) -> Any:
    scores[0] = dot(w, x)


def _move_one(task: Any, w: Any, a: Any, step: Any, x: Any) -> Any:
    add(w, a * step[0], x)


def _height(task: Any, w: Any) -> Any:
    return height(w)


def _row(task: Any, w: Any, k: Any) -> Any:
    return at(w, k)


def _weigh_each(task: Any, w: Any, x: Any, scores: Any) -> Any:
    for k in range(len(scores)):
        scores[k] = dot(at(w, k), x)


def _move_each(task: Any, w: Any, a: Any, step: Any, x: Any) -> Any:
    for k in range(len(step)):
        if step[k] != 0:
            add(at(w, k), a * step[k], x)


def of_one_score(*tasks: type) -> None:
    """These are tasks of models with one vector of weights."""
    for Task in tasks:
        width.form(Task)(_one)
        vector.form(Task)(_only_vector)
        weigh.form(Task)(_weigh_one)
        move.form(Task)(_move_one)


def of_many_scores(*tasks: type) -> None:
    """These are tasks of models with a vector of weights for each score, the rows of a matrix."""
    for Task in tasks:
        width.form(Task)(_height)
        vector.form(Task)(_row)
        weigh.form(Task)(_weigh_each)
        move.form(Task)(_move_each)


of_one_score(TwoClasses, CostsOfTwo, Targets)
of_many_scores(ManyClasses, CostsOfMany)


def linear(*records: type) -> None:
    """Give records the scores of linear models, and their work space."""
    for Record in records:
        scratch.form(Record)(_scratch)
        score.form(Record)(_score)


def _scratch(m: Any) -> Any:
    n = width(m.task, m.w)
    both = workspace(m.w, 2 * n)  # one allocation: single examples notice
    return Judged(both[:n], both[n:])


def _score(m: Any, x: Any, s: Any) -> Any:
    weigh(m.task, m.w, x, s.scores)


@side_by_side.form(Judged)
def _(s: Any, n: Any) -> Any:
    return Judged(np.empty((n, len(s.scores)), s.scores.dtype), s.step)


@part.form(Judged)
def _(s: Any, i: Any) -> Any:
    return Judged(s.scores[i], s.step)


def rule(Record: type) -> Callable[[Rule], Rule]:
    """Make a record a linear model whose steps have the length that the decorated function gives: of the record, the loss, which is
    above 0, |x|^2 as the task sees it, and the weight of the example."""

    def register(function: Rule) -> Rule:
        length = numba.njit(**OPTIONS, inline="always")(function)  # not a function of its own: those are optimised one by one

        def step(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
            _, loss = judge(m.task, s.scores, y, s.step)
            if loss <= 0:
                return PASSIVE
            norm2 = m.task.length2 * sqnorm(x)
            if not norm2 < np.inf:
                return TOO_LARGE
            move(m.task, m.w, length(m, loss, norm2, weight), s.step, x)
            return UPDATED

        linear(Record)
        learn.form(Record)(step)
        return function

    return register
