"""FOGD against its plain twin, and its features against the RBF kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from onepass import FOGD
from onepass.compiled.circle import circle

N, D = 300, 6


def problem(task: str, n: int = N) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.7)
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)
    return X, (signal > 0).astype(int) if task == "binary" else np.digitize(signal, [-0.7, 0.0, 0.7])


def twin(model: FOGD, X: Any, y: Any, weights: Any) -> Any:
    """The scores before each step, in the plainest NumPy, on the frequencies that the model drew. A constant feature beside z is a
    constant 1 in every product."""
    U, gamma = model._state.arrays["U"][1:].astype(float), model._state.arrays["gamma"][0]
    u = np.sqrt(2 * gamma) * U
    constant = 1.0 if model.fit_intercept else 0.0
    labels = np.unique(y)
    W, scores = np.zeros((len(labels), 2 * U.shape[1] + 1)), []
    for x, label, weight in zip(X, y, weights, strict=True):
        z = np.concatenate([[constant], np.cos(u.T @ x) / np.sqrt(U.shape[1]), np.sin(u.T @ x) / np.sqrt(U.shape[1])])
        f, k = W @ z, int(np.searchsorted(labels, label))
        if len(labels) == 2:  # one vector, W[1]
            scores.append(f[1])
            sign = 1 if k == 1 else -1
            if sign * f[1] < 1:
                W[1] += weight * model.rate * sign * z
        else:
            scores.append(f)
            r = max((j for j in range(len(labels)) if j != k), key=lambda j: f[j])
            if f[k] - f[r] < 1:
                W[k] += weight * model.rate * z
                W[r] -= weight * model.rate * z
    return np.array(scores)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["plain", "intercept"])
def test_twin(task: str, storage: Any, fit_intercept: bool) -> None:
    X, y = problem(task)
    weights = np.random.default_rng(1).choice([0.25, 1.0, 2.0], size=N)
    model = FOGD(30, rate=0.7, fit_intercept=fit_intercept, random_state=3)
    scores = model.test_then_train(storage(X), y, classes=np.unique(y), sample_weight=weights)
    np.testing.assert_allclose(scores, twin(model, X, y, weights), rtol=1e-9, atol=1e-9)
    assert N // 5 < model.updates_ < N


def test_single_precision_is_near() -> None:
    X, y = problem("binary")
    double, single = FOGD(30, random_state=3), FOGD(30, random_state=3)
    expected = double.test_then_train(X, y, classes=[0, 1])
    scores = single.test_then_train(X.astype(np.float32), y, classes=[0, 1])
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def products(components: int, gamma: float, X: Any, seed: int) -> Any:
    """z(x_0).z(x) for all x: the scores of a model that has learned x_0 alone, in one step of length 1."""
    model = FOGD(components, rate=1.0, gamma=gamma, random_state=seed).partial_fit(X[:1], [1], classes=[0, 1])
    return model.decision_function(X)


@pytest.mark.parametrize("gamma", [0.1, 0.7])
def test_products_of_features_are_the_kernel(gamma: float) -> None:
    """The error falls as 1/sqrt(D), so that a sixteenfold D makes it four times smaller. The mean of D cosines has the variance
    ((1 + k^4)/2 - k^2) / D, k being the kernel."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    kernel = np.exp(-gamma * ((X - X[0]) ** 2).sum(axis=1))
    error = {D: np.sqrt(np.mean([(products(D, gamma, X, seed) - kernel) ** 2 for seed in range(300)])) for D in (100, 1600)}
    assert error[100] / error[1600] == pytest.approx(4, rel=0.1)
    assert error[1600] == pytest.approx(np.sqrt(np.mean((1 + kernel**4) / 2 - kernel**2) / 1600), rel=0.1)
    assert products(50, gamma, X, 0)[0] == pytest.approx(1.0, abs=1e-12)


def test_gamma_is_settled_at_the_first_example() -> None:
    X, y = problem("binary")
    table = FOGD(20, random_state=0).fit(X, y)
    assert table._state.arrays["gamma"][0] == 1 / D
    np.testing.assert_array_equal(
        table.decision_function(X), FOGD(20, gamma=1 / D, random_state=0).fit(X, y).decision_function(X)
    )
    growing = FOGD(20, random_state=0)
    growing.learn_one({"a": 1.0, "b": 2.0}, 1)
    growing.learn_one({"c": 1.0}, 0)
    assert growing._state.arrays["gamma"][0] == 1 / 2
    for model, rows in ((table, X), (growing, [{"a": 1.0}])):
        model.gamma = 0.9
        with pytest.raises(ValueError, match="start anew"):
            model.predict(rows)
    assert table.fit(X, y)._state.arrays["gamma"][0] == 0.9


def test_features_that_come_late_have_frequencies_of_the_same_kind() -> None:
    """A model that grows has, once it knows all features, the frequencies of one that knew them from the start."""
    X, y = problem("binary")
    X[:100, 3:] = 0
    names = [f"f{j}" for j in range(D)]
    dicts = [{name: value for name, value in zip(names, x, strict=True) if value != 0} for x in X.tolist()]
    dicts[0] = dict.fromkeys(names[:3], 0.5)
    X[0] = [0.5] * 3 + [0.0] * 3
    growing = FOGD(25, gamma=0.4, random_state=1, classes=[0, 1])
    whole = FOGD(25, gamma=0.4, random_state=1)
    for t in range(1, 101):  # so that the names come in the order of the columns
        dicts[t].pop("f5", None)
        dicts[t].pop("f4", None)
        X[t, 4:] = 0
    dicts[101] = dict.fromkeys(names, 0.3)
    X[101] = 0.3
    scores = growing.test_then_train(dicts, y)
    np.testing.assert_allclose(scores, whole.test_then_train(X, y, classes=[0, 1]), rtol=1e-9, atol=1e-9)
    assert growing.feature_names_in_.tolist() == names


def test_a_row_too_large_is_refused() -> None:
    X, y = problem("binary")
    model = FOGD(20, random_state=0).fit(X, y)
    before = model._state.arrays["w"].copy()
    X[-1] = 1e200
    with pytest.raises(ValueError, match="too large"):
        model.partial_fit(X, y)
    assert np.array_equal(model._state.arrays["w"], before)


@pytest.mark.parametrize(("kind", "tolerance"), [(np.float64, 2e-15), (np.float32, 5e-7)], ids=["double", "single"])
def test_circle(kind: Any, tolerance: float) -> None:
    """Cosine and sine, also next to the ends of a turn; whole turns do not count, and what is no number stays none."""
    turns = np.concatenate([np.linspace(-1, 1, 2001), [np.nextafter(0.5, 0), 1e-30, -1e-30]]).astype(kind)
    cosines, sines = np.empty_like(turns), np.empty_like(turns)
    circle(turns, cosines, sines, 3.0)
    angles = 2 * np.pi * turns.astype(float)
    np.testing.assert_allclose(cosines, 3 * np.cos(angles), rtol=0, atol=3 * tolerance)
    np.testing.assert_allclose(sines, 3 * np.sin(angles), rtol=0, atol=3 * tolerance)
    circle(np.array([2.0**80, np.inf, np.nan], kind), cosines[:3], sines[:3], 1.0)
    np.testing.assert_array_equal(cosines[:3], [1.0, np.nan, np.nan])
