"""OS-ELM is the batch least-squares solution on its random layer, after every example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from onepass import OSELMClassifier, OSELMRegressor

N, D, H = 400, 5, 12
ACTIVATIONS: dict[str, Any] = {
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "tanh": np.tanh,
    "sin": np.sin,
    "relu": lambda a: np.maximum(a, 0),
}
STORAGE = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
ACTIVATION = pytest.mark.parametrize("activation", ACTIVATIONS)


def problem(task: str = "regression", n: int = N) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.8)
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)
    if task == "regression":
        return X, signal
    return X, (signal > 0).astype(int) if task == "binary" else np.digitize(signal, [-0.7, 0.0, 0.7])


def layer(model: Any, X: Any) -> Any:
    A = model._state.arrays["A"][: X.shape[1] + 1].astype(float)
    return ACTIVATIONS[model.activation](X @ A[1:] + (A[0] if model.fit_intercept else 0))


def batch(H: Any, Y: Any, ridge: float, weights: Any = None) -> Any:
    """argmin sum_t weight_t |y_t - beta' h_t|^2 + ridge |beta|^2, as a least-squares problem with rows for the ridge."""
    root = np.ones(len(H)) if weights is None else np.sqrt(weights)
    rows = np.vstack([root[:, None] * H, np.sqrt(ridge) * np.eye(H.shape[1])])
    targets = np.concatenate([(root * Y.T).T, np.zeros((H.shape[1], *Y.shape[1:]))])
    return np.linalg.lstsq(rows, targets, rcond=None)[0]


@STORAGE
@ACTIVATION
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["bias", "plain"])
def test_ridge_regression(storage: Any, activation: str, fit_intercept: bool) -> None:
    X, y = problem()
    weights = np.random.default_rng(1).choice([0.25, 1.0, 3.0], size=N)
    model = OSELMRegressor(H, activation, ridge=0.1, fit_intercept=fit_intercept, random_state=2)
    model.partial_fit(storage(X), y, sample_weight=weights)
    hidden = layer(model, X)
    beta = batch(hidden, y, 0.1, weights)
    np.testing.assert_allclose(model._state.arrays["w"][1:], beta, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict(storage(X)), hidden @ beta, rtol=1e-9, atol=1e-9)


@ACTIVATION
def test_plain_least_squares(activation: str) -> None:
    X, y = problem()
    model = OSELMRegressor(H, activation, ridge=1e-10, random_state=2).fit(X, y)
    hidden = layer(model, X)
    beta = np.linalg.lstsq(hidden, y, rcond=None)[0]
    np.testing.assert_allclose(model._state.arrays["w"][1:], beta, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), hidden @ beta, rtol=1e-6, atol=1e-6)


def test_scores_are_the_batch_solution_of_all_before() -> None:
    X, y = problem(n=60)
    model = OSELMRegressor(H, ridge=1e-3, random_state=2)
    scores = model.test_then_train(X, y)
    hidden = layer(model, X)
    expected = [hidden[t] @ batch(hidden[:t], y[:t], 1e-3) if t else 0.0 for t in range(60)]
    np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-8)


@STORAGE
def test_two_classes(storage: Any) -> None:
    X, y = problem("binary")
    model = OSELMClassifier(H, random_state=2).fit(storage(X), y)
    hidden = layer(model, X)
    np.testing.assert_allclose(model.decision_function(X), hidden @ batch(hidden, 2.0 * y - 1, 1e-3), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("storage", [np.asarray, pytest.param(sp.csr_array, marks=pytest.mark.plain)], ids=["dense", "csr"])
@pytest.mark.parametrize("known", [True, False], ids=["known", "growing"])
def test_many_classes(storage: Any, known: bool) -> None:
    """One covariance for all; labels that come late have had the target 0 all along; -1 in place of 0 gives the same labels."""
    X, y = problem("multiclass")
    order = np.argsort(y < 3, kind="stable")[::-1]  # the class 3 comes last
    X, y = X[order], y[order]
    model = OSELMClassifier(H, grow=not known, random_state=2)
    model.partial_fit(storage(X), y, **({"classes": range(4)} if known else {}))
    if not known:  # from one label alone there is nothing to learn
        X, y = (part[np.argmax(y != y[0]) :] for part in (X, y))
    hidden, targets = layer(model, X), np.eye(4)[y]
    np.testing.assert_allclose(model.decision_function(storage(X)), hidden @ batch(hidden, targets, 1e-3), rtol=1e-8, atol=1e-8)
    assert np.array_equal(model.predict(X), (hidden @ batch(hidden, 2 * targets - 1, 1e-3)).argmax(axis=1))


def test_layer_is_drawn_for_the_number_of_features() -> None:
    """a.x does not grow with the features that are known at the first example."""
    X = np.random.default_rng(0).normal(size=(500, 400))
    known = OSELMRegressor(200, random_state=0).fit(X, X[:, 0])
    growing = OSELMRegressor(200, random_state=0, grow=True).fit(X, X[:, 0])
    late = OSELMRegressor(200, random_state=0, grow=True).fit(
        sp.csr_array(np.tril(X, 99)), X[:, 0]
    )  # a row has one more than the last
    A = known._state.arrays["A"]
    np.testing.assert_array_equal(A, growing._state.arrays["A"])
    np.testing.assert_array_equal(A[0], late._state.arrays["A"][0])
    np.testing.assert_allclose(A[1:] * 2, late._state.arrays["A"][1:401], rtol=1e-12)
    assert np.std(X @ A[1:]) == pytest.approx(1, abs=0.05)


def test_weight_two_is_the_row_twice() -> None:
    X, y = problem()
    heavy = OSELMRegressor(H, random_state=2).fit(X, y, sample_weight=np.full(N, 2.0))
    twice = OSELMRegressor(H, random_state=2).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_allclose(heavy.predict(X), twice.predict(X), rtol=1e-8, atol=1e-8)


def test_covariance_stays_positive() -> None:
    """Rows that are nearly the same, many times over, with a ridge that is nearly nothing."""
    rng = np.random.default_rng(0)
    X = np.ones((20_000, D)) + 1e-7 * rng.normal(size=(20_000, D))
    model = OSELMRegressor(H, ridge=1e-9, random_state=2).fit(X, rng.normal(size=20_000))
    assert (model._state.arrays["Sigma"].diagonal() > 0).all()
    assert np.isfinite(model.predict(X)).all()


def test_a_row_too_large_is_refused() -> None:
    """Its hidden units would be finite all the same."""
    X, y = problem()
    model = OSELMRegressor(H, random_state=2).fit(X, y)
    before = {name: array.copy() for name, array in model._state.arrays.items()}
    for value in (np.inf, 1e200):
        X[-1] = 0
        X[-1, 0] = value
        for door in (lambda: model.partial_fit(X, y), lambda: model.learn_one(X[-1], 0.0), lambda: model.predict(X)):
            with pytest.raises(ValueError, match=r"too large|infinity"):
                door()
    assert all(np.array_equal(array, before[name]) for name, array in model._state.arrays.items())
