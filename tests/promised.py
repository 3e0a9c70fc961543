"""Promises that learners of structured outputs keep: checks of a model that is made anew by each call, on examples and outputs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onepass
from shared import snapshot

Make = Callable[[], Any]
ways_to_go_on = pytest.mark.parametrize("way", ["file", "pickle", "copy"])


def check_cuts(make: Make, X: Any, y: Any) -> None:
    """In one call, in several, one example after the other: the same model, and the same told of each example before."""
    whole = make()
    told = whole.test_then_train(X, y)
    for places in ([], range(1, len(X)), [1, 7, 8, 20]):
        model, answers = make(), []
        for a, b in pairwise([0, *places, len(X)]):
            answers += model.test_then_train(X[a:b], y[a:b])
        assert snapshot(model) == snapshot(whole)
        assert answers == told
    check_one_by_one(make(), X, y, whole, told)


def check_one_by_one(model: Any, X: Any, y: Any, whole: Any, told: Any) -> None:
    answers = []
    for x, output in zip(X, y, strict=True):
        answers.append(model.predict_one(x))
        model.learn_one(x, output)
    assert snapshot(model) == snapshot(whole)
    assert answers == told


def check_going_on(make: Make, X: Any, y: Any, way: str, folder: Path) -> None:
    """A model that was saved, pickled or copied goes on as if nothing had been."""
    whole, model = make().partial_fit(X, y), make().partial_fit(X[:9], y[:9])
    if way == "file":
        model.save(folder / "model.onepass")
        model = onepass.load(folder / "model.onepass")
    else:
        model = pickle.loads(pickle.dumps(model)) if way == "pickle" else model.copy()
    model.partial_fit(X[9:], y[9:])
    assert snapshot(model) == snapshot(whole)
    assert model.predict(X) == whole.predict(X)


def check_weights(make: Make, X: Any, y: Any, weights: Any) -> None:
    """In one call or one by one; what weighs nothing is told, and not learned."""
    model, other = make(), make()
    told = model.test_then_train(X, y, sample_weight=weights)
    for t in range(len(X)):
        assert told[t] == other.predict_one(X[t])
        if weights[t]:
            other.learn_one(X[t], y[t], weights[t])
    assert snapshot(model) == snapshot(other)
    assert model.t_ == np.count_nonzero(weights)
    nothing = make()
    nothing.learn_one(X[0], y[0], 0.0)
    assert nothing._state is None
