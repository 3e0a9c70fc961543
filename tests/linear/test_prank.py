"""PRank against its plain twin; thresholds that stay in order; labels that come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import Perceptron, PRank

pytestmark = pytest.mark.plain

K = 5


def naive(X: Any, y: Any, K: int) -> tuple[Any, Any, list[int]]:
    """The algorithm of the paper, ranks counted from 0."""
    w, b, told = np.zeros(X.shape[1]), np.zeros(K - 1), []
    for x, rank in zip(X, y, strict=True):
        value = w @ x
        told.append(next((r for r in range(K - 1) if value < b[r]), K - 1))
        if told[-1] != rank:
            sides = np.where(np.arange(K - 1) < rank, 1, -1)
            tau = np.where(sides * (value - b) <= 0, sides, 0)
            w, b = w + tau.sum() * x, b - tau
    return w, b, told


def data(n: int = 200, ranks: int = K, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.8)
    signal = X @ [1.0, -0.5, 0.3, 0.0] + 0.3 * rng.normal(size=n)
    return X, np.digitize(signal, np.linspace(-1, 1, ranks - 1))


@pytest.mark.compiled
@pytest.mark.parametrize("ranks", [2, 3, K])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_twin(ranks: int, storage: Any) -> None:
    X, y = data(ranks=ranks)
    X[::7] = np.round(X[::7])  # some values that lie on a threshold
    model = PRank()
    scores = model.test_then_train(storage(X), y, classes=np.arange(ranks))
    w, b, told = naive(X, y, ranks)
    np.testing.assert_allclose(model.coef_, w, atol=1e-9)
    np.testing.assert_array_equal(model.thresholds_, b)
    assert (scores.argmax(axis=1) if ranks > 2 else (scores >= 0).astype(int)).tolist() == told
    assert np.unique(told).tolist() == list(range(ranks))


def test_on_a_threshold_it_is_the_upper_rank() -> None:
    """As in the paper: at first all thresholds and scores are 0, and the last rank is predicted."""
    X, y = np.ones((3, 1)), np.array([2, 2, 2])
    model = PRank().partial_fit(X, y, classes=[0, 1, 2])
    assert model.updates_ == 0
    assert model.predict([[1.0]]) == [2]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(-3, 3), min_size=2, max_size=2)), min_size=2, max_size=40),
    st.booleans(),
    st.sampled_from([None, True, "uniform", 3.0]),
)
def test_thresholds_stay_in_order(rows: Any, grows: bool, average: Any) -> None:
    """Whatever comes, with labels that are known or come up, and their averages."""
    model = PRank(average=average, classes=None if grows else range(5))
    for rank, x in rows:
        model.learn_one(np.array(x, float), rank)
        for name in ("b", "mean.b"):
            b = model._state.arrays.get(name, np.zeros(1))[1:]
            assert (b[:-1] <= b[1:]).all()
            assert name != "b" or np.isfinite(b).all()
        if len(model.classes_) > 1:
            assert model.predict_one(np.array([1.0, 1.0])) in model.classes_


@pytest.mark.parametrize("order", [[2, 3, 4, 1, 0], [0, 4, 2, 1, 3], [4, 3, 2, 1, 0]])
def test_labels_that_come_bring_thresholds(order: list[int]) -> None:
    """Once all are known the rule is that of a model that knew them, and it becomes as good."""
    X, y = data(3000)
    first = [int(np.argmax(y == rank)) for rank in order]
    X, y = np.concatenate([X[first], X]), np.concatenate([y[first], y])
    model = PRank(grow="labels", average=True)
    for x, rank in zip(X[:400], y[:400], strict=True):
        model.learn_one(x, rank)
    assert model.classes_.tolist() == list(range(K))
    model.partial_fit(X[400:], y[400:])
    whole = PRank(average=True).fit(X, y)
    errors = [np.abs(one.predict(X) - y).mean() for one in (model, whole)]
    assert errors[0] == pytest.approx(errors[1], abs=0.03)


def test_order_pays() -> None:
    """What the order tells: fewer ranks off than learners that do not know of it, from few examples."""
    X, y = data(6000, 9, seed=1)
    off = {}
    for cls in (PRank, Perceptron):
        model = cls(average=True, max_iter=5).fit(X[:300], y[:300])
        off[cls] = np.abs(model.predict(X[300:]) - y[300:]).mean()
    assert off[PRank] < 0.9 * off[Perceptron]
