"""The rows of a stream as a model takes them, and what they tell a fresh one."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from onepass.active import ActiveLearner
from onepass.active.selective import LEARNED
from onepass.base import Learner
from onepass.base.estimator import are_named
from onepass.base.inputs import Rows
from onepass.base.knowledge import Door
from onepass.stages import Hasher, OneHot, Pipeline, Table
from onepass.streams import Chunk


def is_ours(model: Any) -> bool:
    """Whether a model learns by the loop of this library."""
    return isinstance(model, Learner | Pipeline | ActiveLearner)


def steps_of(model: Any) -> list[Any]:
    """The stages of a pipeline and its learner, or the learner alone; of an ActiveLearner, those of what it wraps."""
    inner = model if hasattr(model, "steps") else getattr(model, "learner", model)
    return [step for _, step in inner.steps] if hasattr(inner, "steps") else [inner]


def has_strings(chunk: Chunk) -> bool:
    """Whether the rows of a chunk are a frame with columns that are neither numbers nor truth values."""
    return _column_of_strings(chunk) is not None


def _column_of_strings(chunk: Chunk) -> str | None:
    if not nw.dependencies.is_into_dataframe(chunk.X):
        return None
    schema = nw.from_native(chunk.X, eager_only=True).schema
    return next((name for name, kind in schema.items() if not (kind.is_numeric() or kind == nw.Boolean)), None)


def rows_for(model: Any, chunk: Chunk) -> Any:
    """The rows of a chunk as the model knows them: columns by name where both have names, else by position.

    Only LIBSVM data may be narrower or wider than a growing model: a table has all its columns in every row. A model that hashes
    names takes any columns that have some.
    """
    first = steps_of(model)[0]
    if getattr(first, "_takes_raw", False):
        named = chunk.names is not None or nw.dependencies.is_into_dataframe(chunk.X) or are_named(chunk.X)
        if not named and isinstance(first, Hasher | OneHot | Table):
            raise ValueError(
                "the model was learned from a table with strings, by the names of its columns; the data has no names"
            )
        return _named(chunk)
    refuse_strings(chunk)
    inner = getattr(model, "learner_", model)
    first = inner[0] if isinstance(inner, Pipeline) else inner  # a learner behind stages may start anew, and they stay
    if not hasattr(first, "t_") or nw.dependencies.is_into_dataframe(chunk.X) or are_named(chunk.X):
        return _named(chunk)
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


def door_of(X: Any, classes: Any, open_ended: bool) -> Door:
    """What rows of a stream tell a fresh model. Nobody looks ahead: labels come up as they may, unless they are named."""
    return Door(classes, labels_come=True, features_come=open_ended or are_named(X))


def _named(chunk: Chunk) -> Any:
    framed = nw.dependencies.is_into_dataframe(chunk.X)
    return chunk.X if chunk.names is None or framed else Rows(chunk.X, names=list(chunk.names))


def refuse_strings(chunk: Chunk) -> None:
    """Raise ValueError for a table with strings."""
    column = _column_of_strings(chunk)
    if column is not None:
        raise ValueError(
            f"the column {column!r} holds strings, and the model takes numbers only: leave the column out, or learn a new model that"
            " begins with onepass.Table, as `onepass learn` does"
        )


def put_back(model: Any, saved: Any) -> None:
    """Make a model what a copy of it, made before, still is."""
    if isinstance(model, ActiveLearner):
        own = {name: value for name, value in vars(model).items() if name not in LEARNED}
        model.__dict__ = own | {name: value for name, value in vars(saved).items() if name in LEARNED}
        return
    for step, kept in zip(steps_of(model), steps_of(saved), strict=True):
        step._go_back_to(kept._latest())


def core_of(model: Any) -> Any:
    """What learns in a model of ours: the learner of a pipeline, of what an ActiveLearner has made of its own, or the model itself."""
    inner = getattr(model, "learner_", model)
    return getattr(inner, "learner", inner)


def forget(model: Any) -> None:
    """Make a model of ours keep its weights, and forget what made them hard to move: averages, covariances, learning rates that
    fall, counts of classes."""
    core = core_of(model)
    state = core._latest()
    if state is not None:
        core._go_back_to(state.forgetful())


def check_forgets(model: Any) -> None:
    """Refuse a model that has nothing to forget but its weights."""
    core = steps_of(model)[-1]
    if not is_ours(model) or not core._forgets():
        raise ValueError(
            f"on_drift='forget' is for learners of onepass that average, or whose steps get smaller with time; {type(core).__name__}"
            " with these parameters can't. Say 'reset' to start anew."
        )


def start_anew(model: Any) -> None:
    """Make a model forget all that it has learned; of a pipeline, its learner, since what stages know of features may well be right."""
    if is_ours(model):
        core_of(model)._go_back_to(None)
        return
    fresh = model.clone() if hasattr(model, "clone") else clone(model)
    model.__dict__ = vars(fresh)
