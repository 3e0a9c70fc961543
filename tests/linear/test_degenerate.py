"""Second-order learners where numbers become very large, very small or very many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onepass import (
    AROWClassifier,
    AROWRegressor,
    CWClassifier,
    IELLIPClassifier,
    NAROWClassifier,
    NHERDClassifier,
    SCWClassifier,
)
from onepass import SecondOrderPerceptron as SOP

EXTREMES = [
    *(cls(**{name: value}) for cls, name in ((AROWClassifier, "r"), (NHERDClassifier, "C"), (NAROWClassifier, "b"), (SOP, "a"))
      for value in (1e-12, 1e12)),
    *(SCWClassifier(variant, C) for variant in ("I", "II") for C in (1e-12, 1e12)),
    CWClassifier(0.5 + 1e-12),
    CWClassifier(1 - 1e-15),
    CWClassifier(0.5 + 1e-12, form="variance"),
    CWClassifier(1 - 1e-15, form="variance"),
    IELLIPClassifier(b=1.0, c=1 - 1e-12),
]  # fmt: skip


def check_covariance(model: Any) -> None:
    covariance = model.covariance_.astype(np.float64)
    assert np.isfinite(covariance).all()
    assert np.isfinite(model.coef_).all()
    if covariance.ndim == 1:
        assert (covariance > 0).all()
        return
    np.testing.assert_allclose(covariance, covariance.T, rtol=0, atol=1e-15 * covariance.max())
    factor = model._state.arrays["Sigma"]
    assert (factor.diagonal() > 0).all()  # Sigma = U D U' is positive just where D is


@pytest.mark.parametrize("confidence", [0.5, 1.0, 0.0, np.nan])
@pytest.mark.parametrize("cls", [CWClassifier, SCWClassifier])
def test_a_confidence_that_means_nothing_is_refused(cls: Any, confidence: float) -> None:
    """At 0.5 the weights would stay 0 for ever, and at 1 no weights would do."""
    with pytest.raises(ValueError, match="confidence"):
        cls(confidence=confidence).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=() if "AROWC" in str(m) else pytest.mark.slow) for m in EXTREMES], ids=str
)
def test_extreme_parameters(model: Any, covariance: str) -> None:
    """On rows of ordinary size: nothing overflows, and the covariance stays one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    for classes, y in (([0, 1], rng.integers(0, 2, 300)), ([0, 1, 2], rng.integers(0, 3, 300))):
        learner = type(model)(**{**model.get_params(), "covariance": covariance}).partial_fit(X, y, classes=classes)
        assert np.isfinite(learner.decision_function(X)).all()
        check_covariance(learner)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_variances_that_would_underflow(covariance: str, dtype: Any) -> None:
    """Each row makes the variance along it smaller by a factor of 10^20 or more; it ends at the smallest number, not at 0."""
    X = np.tile(np.eye(3, dtype=dtype) * dtype(1e10), (60, 1))
    y = np.arange(180) % 2
    model = NHERDClassifier(1e12, covariance=covariance, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    check_covariance(model)
    assert np.isfinite(model.decision_function(X)).all()


def many_updates(n: int, covariance: str, learner: Any, dtype: Any) -> None:
    """Labels without a reason, so that nearly every row is learned from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 4)).astype(dtype)
    X[:, 3] = X[:, 2] + dtype(1e-3) * X[:, 3]  # two features that are almost one
    y = rng.integers(0, 2, 100_000)
    model = learner(covariance=covariance)
    for _ in range(n // 100_000):
        model.partial_fit(X, y, classes=[0, 1])
    check_covariance(model)
    assert model.updates_ > n // 20


LEARNERS = [AROWClassifier, NHERDClassifier, CWClassifier, SCWClassifier]
every_kind = pytest.mark.parametrize("covariance", ["diagonal", "full"])


@every_kind
@pytest.mark.parametrize("learner", LEARNERS)
def test_many_updates(covariance: str, learner: Any) -> None:
    many_updates(200_000, covariance, learner, np.float64)


@pytest.mark.slow
@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("learner", LEARNERS)
def test_ten_million_updates(covariance: str, learner: Any, dtype: Any) -> None:
    many_updates(10_000_000, covariance, learner, dtype)


@pytest.mark.slow
def test_a_million_steps_of_recursive_least_squares() -> None:
    """The solution is still that of batch ridge regression."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=len(X))
    model = AROWRegressor(covariance="full", fit_intercept=False).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.solve(X.T @ X + np.eye(5), X.T @ y), rtol=1e-8)
    np.testing.assert_allclose(model.covariance_[1:, 1:], np.linalg.inv(X.T @ X + np.eye(5)), rtol=0, atol=1e-14)
