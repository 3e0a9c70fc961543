"""Metrics of predictions on data that was not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.evaluate.figures import beside, check_figures, foretold
from onepass.evaluate.metrics import PER_LABEL, Array, of_label
from onepass.evaluate.probability import PROBABILITY_METRICS
from onepass.evaluate.ranking import RANK_METRICS
from onepass.evaluate.tally import Tally


class HeldOut:
    """One metric of everything that models predict; `labels` are all labels that can occur, None for regression.

    A label that a model has never learned is a mistake, and it had the probability 0.
    """

    def __init__(self, metric: str, labels: Array | None) -> None:
        if labels is not None and metric in PER_LABEL:
            raise ValueError(f"{metric!r} has a figure a class: say of which, as {of_label(metric, labels[0].item())!r}.")
        self._metric, self._labels = metric, labels
        self._probabilities, self._ranking = metric in PROBABILITY_METRICS, metric in RANK_METRICS
        self._tally = Tally([metric], labels, declared=True, points=2, window=None)

    def ask(self, model: Any, X: Any, y: Array) -> None:
        """Account for what the model predicts of the rows."""
        predicted = model.predict(X)
        if self._labels is None:
            self._tally.add(y.astype(float), predicted)
            return
        columns = self._columns(model, X, y) if self._probabilities or self._ranking else {}
        self._tally.add(np.searchsorted(self._labels, y), np.searchsorted(self._labels, predicted), **columns)

    def value(self) -> float:
        """The metric of all that was asked."""
        return self._tally.close()[0][self._metric]

    def _columns(self, model: Any, X: Any, y: Array) -> dict[str, Array]:
        check_figures(model, self._metric if self._probabilities else None, self._ranking)
        piece = foretold(model, X, self._probabilities, self._ranking)
        places = {label: k for k, label in enumerate(piece.classes)}
        true = np.array([places.get(label, -1) for label in y.tolist()])
        return beside(piece, true, self._probabilities, self._ranking)
