"""Metrics of predictions on data that was not learned from."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.evaluate.metrics import LOSS_METRICS, Array
from onepass.evaluate.online import SMALLEST, check_probabilities
from onepass.evaluate.tally import Tally


class HeldOut:
    """One metric of everything that models predict; `labels` are all labels that can occur, None for regression.

    A label that a model has never learned is a mistake, and to the log loss it had the probability 0.
    """

    def __init__(self, metric: str, labels: Array | None) -> None:
        self._metric, self._labels = metric, labels
        self._tally = Tally([metric], labels, declared=True, points=2, window=None)

    def ask(self, model: Any, X: Any, y: Array) -> None:
        """Account for what the model predicts of the rows."""
        predicted = model.predict(X)
        if self._labels is None:
            self._tally.add(y.astype(float), predicted)
            return
        loss = self._loss(model, X, y) if self._metric in LOSS_METRICS else None
        self._tally.add(np.searchsorted(self._labels, y), np.searchsorted(self._labels, predicted), loss)

    def value(self) -> float:
        """The metric of all that was asked."""
        return self._tally.close()[0][self._metric]

    def _loss(self, model: Any, X: Any, y: Array) -> Array:
        check_probabilities(model)
        known = np.append(model.predict_proba(X), np.zeros((len(y), 1)), axis=1)  # the last column: labels not in classes_
        column = {label: k for k, label in enumerate(model.classes_.tolist())}
        chosen = [column.get(label, known.shape[1] - 1) for label in y.tolist()]
        return -np.log(np.maximum(known[np.arange(len(y)), chosen], SMALLEST))
