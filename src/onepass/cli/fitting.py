"""Data for models that have learned already: the right columns, the right width, and how well they predict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from onepass import Hasher
from onepass.base.inputs import Rows
from onepass.stages.hashing import BUCKETS
from onepass.streams import Chunk


def hashed_to(chunk: Chunk, features: int | None) -> int | None:
    """The number of features that the strings of a table are hashed to; None for data that has none, which is as wide as it is."""
    if has_strings(chunk):
        return features or BUCKETS
    if features not in (None, chunk.X.shape[1]):
        raise ValueError(f"the data has {chunk.X.shape[1]} features, but --features says {features}")
    return None


def has_strings(chunk: Chunk) -> bool:
    """Whether the rows of a chunk are a frame: only a table with strings is."""
    return bool(nw.dependencies.is_into_dataframe(chunk.X))


def hasher_of(model: Any) -> Hasher | None:
    """What hashes strings in a model."""
    return next((stage for stage in getattr(model, "stages", []) if isinstance(stage, Hasher)), None)


def width_of(model: Any, features: int | None = None) -> int | None:
    """The number of features to read for a model, if it was not said; None if the data may decide."""
    hasher = hasher_of(model)
    if hasher is not None:
        if features not in (None, hasher.n_features):
            raise ValueError(f"the model hashes strings to {hasher.n_features} features, not {features}; leave --features out")
        return None
    grows = getattr(model, "learner", model).grow is True
    return features or (None if grows or hasattr(model, "feature_names_in_") else getattr(model, "n_features_in_", None))


def named(chunk: Chunk) -> Any:
    """The rows of a chunk, with the names of their columns where they have any."""
    return chunk.X if chunk.names is None or has_strings(chunk) else Rows(chunk.X, names=list(chunk.names))


def refuse_strings(chunk: Chunk) -> None:
    """Raise ValueError for a table with strings."""
    if has_strings(chunk):
        schema = nw.from_native(chunk.X, eager_only=True).schema
        column = next(name for name, kind in schema.items() if not (kind.is_numeric() or kind == nw.Boolean))
        raise ValueError(
            f"the column {column!r} holds strings, and the model was learned from numbers only; leave it out with --drop, or"
            " learn a new model from data with strings in it, which are then hashed"
        )


def rows_for(model: Any, chunk: Chunk) -> Any:
    """The rows of a chunk as the model knows them: columns by name where both have names, else by position.

    Only LIBSVM data may be narrower or wider than a growing model: a table has all its columns in every row. A model that hashes
    names takes any columns that have some.
    """
    if hasher_of(model) is not None:
        if chunk.names is None:
            raise ValueError(
                "the model was learned from a table with strings, by the names of its columns; the data has no names"
            )
        return named(chunk)
    refuse_strings(chunk)
    if chunk.names is not None and hasattr(model, "feature_names_in_"):
        wanted = model.feature_names_in_.tolist()
        if missing := [name for name in wanted if name not in chunk.names]:
            raise ValueError(
                f"the model was learned from a feature {missing[0]!r}, and the data has no such column;"
                f" its features are {', '.join(chunk.names)} (if it has no label at all, say --no-label)"
            )
        if list(chunk.names) == wanted:
            return Rows(chunk.X, names=wanted)
        return Rows(np.ascontiguousarray(chunk.X[:, [chunk.names.index(name) for name in wanted]]), names=wanted)
    width = chunk.X.shape[1]
    if width != model.n_features_in_ and not sp.issparse(chunk.X):
        raise ValueError(
            f"the data has {width} features, and the model was learned from {model.n_features_in_};"
            " say --no-label if there is no label"
        )
    return chunk.X


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
