"""What LIBOL computes, exactly; and two defects of earlier systems that are not repeated here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onepass
from shared import dataset, golden

METHODS = {"PA": "hard", "PA1": "I", "PA2": "II"}


def figures(data: str, method: str) -> Any:
    (run,) = (run for run in golden("libol.json")["runs"] if (run["data"], run["method"]) == (data, method))
    return run


def check(run: Any, model: Any, weights: Any, mistakes: int) -> None:
    assert mistakes == run["mistakes"]
    assert model.updates_ == run["updates"]
    assert model.t_ == run["n"]
    assert np.linalg.norm(weights) == pytest.approx(run["wnorm"], rel=1e-9)
    assert weights.sum() == pytest.approx(run["wsum"], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(weights.ravel()[:5], run["first_weights"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("storage", ["csr", "dense"])
def test_binary(method: str, storage: str) -> None:
    a9a = dataset("a9a")
    X, y = a9a.X[:2000], a9a.y[:2000]
    model = onepass.PAClassifier(variant=METHODS[method], fit_intercept=False)
    scores = model.test_then_train(X if storage == "csr" else X.toarray(), y, classes=[-1, 1])
    mistakes = np.count_nonzero(np.where(scores >= 0, 1, -1) != y)
    check(figures("a9a[:2000]", method), model, model.coef_[0], mistakes)


@pytest.mark.parametrize("method", METHODS)
def test_multiclass(method: str) -> None:
    table = golden("segment.csv.xz")
    X, y = np.ascontiguousarray(table[:, 1:]), table[:, 0].astype(int)
    model = onepass.PAClassifier(variant=METHODS[method], fit_intercept=False)
    scores = model.test_then_train(X, y, classes=range(1, 8))
    mistakes = np.count_nonzero(model.classes_[scores.argmax(axis=1)] != y)
    check(figures("segment", f"M_{method}"), model, model.coef_, mistakes)


@pytest.mark.parametrize("variant", METHODS.values())
def test_multiclass_survives_a_zero_row(variant: str) -> None:
    """LIBOL's M_PA divides by |x|^2 = 0, and its weights are NaN from then on."""
    model = onepass.PAClassifier(variant=variant, fit_intercept=False)
    model.partial_fit([[0.0, 0.0], [1.0, 2.0]], ["b", "a"], classes=["a", "b", "c"])
    assert np.isfinite(model.coef_).all()
    assert model.predict([[1.0, 2.0]]) == ["a"]


def test_bias_is_inside_the_norm() -> None:
    """river adds the intercept to the step but not to |x|^2, so that hard PA overshoots: its margin after a step is not 1."""
    rng = np.random.default_rng(0)
    model = onepass.PAClassifier(variant="hard", classes=[-1, 1])
    for x, y in zip(rng.normal(size=(50, 3)), rng.choice([-1, 1], size=50), strict=True):
        model.learn_one(x, y)
        margin = y * model.decision_function(x[None]).item()
        assert margin > 1 - 1e-12
    x, y = np.array([0.5, -0.2, 0.1]), -int(np.sign(model.decision_function([[0.5, -0.2, 0.1]]).item()))
    model.learn_one(x, y)
    assert y * model.decision_function(x[None]).item() == pytest.approx(1, abs=1e-12)


def test_bias_is_inside_the_norm_of_a_regression() -> None:
    model = onepass.PARegressor(variant="hard", epsilon=0.0)
    for x, y in ([1.0, 2.0], 3.0), ([0.0, 0.0], -1.0), ([-2.0, 0.5], 10.0):
        model.learn_one(np.array(x), y)
        assert model.predict([x]).item() == pytest.approx(y, abs=1e-12)
