"""The shares of a committee along a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onepass.committee.committee import Assembly
from onepass.evaluate.tally import Curve

POINTS = 128  # at most; a picture shows no more
LEAST = 0.01  # a smaller share is not worth a name
FIRST = 64  # examples between two of them, as long as there is room; each ends a call


def committee_of(model: Any) -> Assembly | None:
    """The committee that a model is, or has behind its stages."""
    learner = getattr(model, "learner", model)
    return learner if isinstance(learner, Assembly) else None


def leading(shares: Curve, most: int) -> list[str]:
    """The voices with the largest shares in the mean, at most so many and none below LEAST, in the order of the committee."""
    means = {name: float(np.nanmean(of)) for name, of in shares.values.items()}
    chosen = sorted(means, key=lambda name: -means[name])[:most]
    return [name for name in means if name in chosen and means[name] >= LEAST]


def spacing(seen: int) -> int:
    """How many examples lie between two notes. It doubles whenever there would be more than POINTS."""
    return FIRST << (seen // (FIRST * POINTS)).bit_length()


def cuts(model: Any, seen: int, n: int) -> Iterator[tuple[int, int]]:
    """Where the next n examples of a stream are cut, for what a committee's shares are at the places between to be noted down. Other
    models take them at once."""
    start = 0
    while start < n:
        step = spacing(seen + start)
        stop = n if committee_of(model) is None else min(start + step - (seen + start) % step, n)
        yield start, stop
        start = stop


class Shares:
    """The shares of a committee, noted down at regular places of a stream; of other models nothing is. Whenever the spacing doubles,
    every second note is dropped."""

    def __init__(self, model: Any) -> None:
        self._model, self.seen = model, 0
        self._noted: dict[int, dict[str, float]] = {}
        self._note()  # a model that goes on has some already

    def learned(self, n: int) -> None:
        """So many more examples were learned, of which the last may be at a place to note."""
        self.seen += n
        step = spacing(self.seen)
        if self.seen % step == 0:
            self._note()
            self._noted = {at: shares for at, shares in self._noted.items() if at % step == 0}

    def _note(self) -> None:
        committee = committee_of(self._model)
        if committee is not None and committee.__sklearn_is_fitted__():  # it may be about to start anew, after a drift
            shares = committee.shares_
            self._noted.setdefault(0, dict.fromkeys(shares, 1 / len(shares)))  # where all of them began
            self._noted[self.seen] = shares

    @property
    def curve(self) -> Curve | None:
        """What was noted, by name, and the shares of now."""
        self._note()
        if not self._noted:
            return None
        names = dict.fromkeys(name for shares in self._noted.values() for name in shares)
        values = {name: np.array([shares.get(name, np.nan) for shares in self._noted.values()]) for name in names}
        return Curve(np.array(list(self._noted), np.int64), values)
