"""Metrics of predictions on data that was not learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onepass.base.labels import coded, label_array
from onepass.evaluate.figures import beside, check_figures, foretold
from onepass.evaluate.metrics import PER_LABEL, Array, of_label
from onepass.evaluate.probability import PROBABILITY_METRICS
from onepass.evaluate.ranking import RANK_METRICS
from onepass.evaluate.tally import Tally


class Figures:
    """Metrics of everything that models predict; `labels` are those of the models, None for regression.

    A label that a model has never learned is a mistake, and it had the probability 0. With `declared`, there are no such labels.
    """

    def __init__(self, metrics: Sequence[str], labels: Array | None, *, declared: bool = False) -> None:
        self._probabilities = next((metric for metric in metrics if metric in PROBABILITY_METRICS), None)
        self._ranking = any(metric in RANK_METRICS for metric in metrics)
        self._tally = Tally(metrics, labels, declared, points=2, window=None)

    def ask(self, model: Any, X: Any, y: Array, predicted: Any = None) -> None:
        """Account for what the model predicts of the rows, if that is not at hand."""
        predicted = model.predict(X) if predicted is None else predicted
        if self._tally.labels is None:
            self._tally.add(y.astype(float), predicted)
            return
        true = coded(label_array(y), self._tally.labels)
        if true.labels is not self._tally.labels:
            self._tally.know(true.labels)
        columns = self._columns(model, X, y) if self._probabilities or self._ranking else {}
        self._tally.add(true.codes, np.searchsorted(true.labels, predicted), **columns)

    def values(self) -> dict[str, float]:
        """The metrics of all that was asked."""
        return self._tally.close()[0]

    def _columns(self, model: Any, X: Any, y: Array) -> dict[str, Array]:
        check_figures(model, self._probabilities, self._ranking)
        piece = foretold(model, X, self._probabilities is not None, self._ranking)
        places = {label: k for k, label in enumerate(piece.classes)}
        true = np.array([places.get(label, -1) for label in y.tolist()])
        return beside(piece, true, self._probabilities is not None, self._ranking)


class HeldOut(Figures):
    """One metric; `labels` are all that can occur."""

    def __init__(self, metric: str, labels: Array | None) -> None:
        if labels is not None and metric in PER_LABEL:
            raise ValueError(f"{metric!r} has a figure a class: say of which, as {of_label(metric, labels[0].item())!r}.")
        super().__init__([metric], labels, declared=True)
        self._metric = metric

    def value(self) -> float:
        """The metric of all that was asked."""
        return self.values()[self._metric]
