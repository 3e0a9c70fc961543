"""What a learner is to the loop: a record of arrays and parameters, and a form of these verbs for the record's class."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from onepass.compiled.compiler import routine
from onepass.compiled.verb import verb

# What `learn` answers: the state is full, the row was too large to learn from, nothing changed, the weights moved.
FULL, TOO_LARGE, PASSIVE, UPDATED = -2, -1, 0, 1

Scores = namedtuple("Scores", "scores")  # the least that a scratch holds


@verb(0)
def scratch(model: Any) -> Any:
    """A record of work space for one call, with at least `scores`. Never part of the model: readers may run at the same time."""


def _frees_itself(model: Any, s: Any) -> Any:
    pass


@verb(0, otherwise=_frees_itself)
def dismiss(model: Any, s: Any) -> None:
    """Give back what `scratch` took and nobody counts."""


@verb(0)
def score(model: Any, x: Any, s: Any) -> None:
    """s.scores = the scores of x, and whatever `learn` needs again."""


def _score_anew(model: Any, x: Any, s: Any, spare: Any) -> Any:
    score(model, x, spare)


@verb(0, otherwise=_score_anew)
def score_again(model: Any, x: Any, s: Any, spare: Any) -> None:
    """spare.scores = the scores of x, by a record that has other weights than the one for which `score` has just filled s, and is the
    same in all else. A rule that looks long at x before its weights come in gives a form that takes the rest from s."""


def _as_it_is(model: Any, s: Any, out: Any) -> Any:
    return out


@verb(0, otherwise=_as_it_is)
def seat(model: Any, s: Any, out: Any) -> Any:
    """Where the scores that the outside sees come first: `out`, unless `combine` makes them of more."""


def _as_shown(model: Any, s: Any, out: Any) -> Any:
    pass


@verb(0, otherwise=_as_shown)
def combine(model: Any, s: Any, out: Any) -> None:
    """out = the scores that the outside sees, made of those in the `seat`."""


@verb(0)
def learn(model: Any, x: Any, y: Any, weight: Any, s: Any) -> int:
    """One step on (x, y), after `score`. `weight` multiplies the loss term of the learner's optimisation problem."""


def _never(model: Any, x: Any, y: Any, s: Any) -> Any:
    return False


@verb(0, otherwise=_never)
def refuses(model: Any, x: Any, y: Any, s: Any) -> Any:
    """Whether `learn`, after `score`, would refuse an example for the sake of the model's own weights, and not of x alone."""


@verb(0)
def blend(model: Any, other: Any, share: float) -> None:
    """model += share (other - model), for every array that is averaged."""


@routine
def mix(A: Any, B: Any, share: Any) -> Any:
    """A += share (B - A), for C-ordered arrays of any shape."""
    a, b, rho = A.reshape(-1), B.reshape(-1), A.dtype.type(share)
    for i in range(len(a)):
        a[i] += rho * (b[i] - a[i])


@routine
def rival(scores: Any, y: Any) -> Any:
    """The class other than y with the largest score, the first among equals; -1 if there is no other."""
    best = -1
    for k in range(len(scores)):
        if k != y and (best < 0 or scores[k] > scores[best]):
            best = k
    return best
