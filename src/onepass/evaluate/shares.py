"""The shares of a committee along a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.committee.committee import Assembly
from onepass.evaluate.tally import Curve


def committee_of(model: Any) -> Assembly | None:
    """The committee that a model is, or has behind its stages."""
    learner = getattr(model, "learner", model)
    return learner if isinstance(learner, Assembly) else None


class Shares:
    """The shares of a committee, noted down now and then: a `callback` of `prequential`.

    >>> from onepass import Committee, datasets, evaluate
    >>> model = Committee()
    >>> shares = Shares(model)
    >>> result = evaluate.prequential(model, datasets.sea(2000, random_state=0), callback=shares)
    >>> list(shares.curve.values)
    ['arowclassifier', 'paclassifier', 'product']
    """

    def __init__(self, committee: Assembly) -> None:
        self.committee = committee
        self._noted: dict[int, dict[str, float]] = {}

    def __call__(self, n: int, metrics: dict[str, float] | None = None) -> None:
        """Note the shares after n examples."""
        if self.committee.__sklearn_is_fitted__():  # it may be about to start anew, after a drift
            shares = self.committee.shares_
            self._noted.setdefault(0, dict.fromkeys(shares, 1 / len(shares)))  # where all of them began
            self._noted[n] = shares

    @property
    def curve(self) -> Curve:
        """What was noted, by name."""
        names = dict.fromkeys(name for shares in self._noted.values() for name in shares)
        values = {name: np.array([shares.get(name, np.nan) for shares in self._noted.values()]) for name in names}
        return Curve(np.array(list(self._noted), np.int64), values)
