"""Data for models that have learned already: the right columns, the right width, and how well they predict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from onepass.evaluate.feeding import has_strings, hasher_of, rows_for, steps_of
from onepass.stages.hashing import BUCKETS
from onepass.streams import Chunk


def hashed_to(chunk: Chunk, features: int | None) -> int | None:
    """The number of features that the strings of a table are hashed to; None for data that has none, which is as wide as it is."""
    if has_strings(chunk):
        return features or BUCKETS
    if features not in (None, chunk.X.shape[1]):
        raise ValueError(f"the data has {chunk.X.shape[1]} features, but --features says {features}")
    return None


def width_of(model: Any, features: int | None = None) -> int | None:
    """The number of features to read for a model, if it was not said; None if the data may decide."""
    hasher = hasher_of(model)
    if hasher is not None:
        if features not in (None, hasher.n_features):
            raise ValueError(f"the model hashes strings to {hasher.n_features} features, not {features}; leave --features out")
        return None
    state = steps_of(model)[0]._latest()
    return features or (None if state is None or state.grow_features or state.names is not None else state.n_features)


def fills(model: Any) -> bool:
    """Whether a model fills in what is missing."""
    return bool(steps_of(model)[0]._takes_missing)


def predictions(model: Any, stream: Iterable[Chunk]) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, labels (or None) and predictions, chunk by chunk."""
    for chunk in stream:
        X = rows_for(model, chunk)
        yield X, chunk.y, model.predict(X)


class Errors:
    """The errors of predictions, added up chunk by chunk."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.examples = 0
        self._mistakes = 0
        self._absolute = self._squared = 0.0

    def add(self, y: Any, predicted: Any) -> None:
        """Take in a chunk."""
        self.examples += len(y)
        if self.task == "classification":
            same_kind = (y.dtype.kind in "US") == (predicted.dtype.kind in "US")
            self._mistakes += int((y != predicted).sum()) if same_kind else len(y)
        else:
            error = predicted - y
            self._absolute += float(np.abs(error).sum())
            self._squared += float(error @ error)

    def metrics(self) -> dict[str, float]:
        """The error rate of a classifier, MAE and RMSE of a regressor."""
        if self.task == "classification":
            return {"error": self._mistakes / self.examples}
        return {"mae": self._absolute / self.examples, "rmse": float(np.sqrt(self._squared / self.examples))}


def test(model: Any, task: str, stream: Iterable[Chunk]) -> dict[str, float]:
    """The errors of a model on a stream."""
    errors = Errors(task)
    for _, y, predicted in predictions(model, stream):
        if y is None:
            raise ValueError("the test data has no labels")
        errors.add(y, predicted)
    return errors.metrics()
