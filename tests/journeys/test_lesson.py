"""A student who runs the algorithm from the lecture and wants to see each step."""

from __future__ import annotations

import numpy as np
import pytest

from onepass import PAClassifier, PAMOClassifier
from onepass.evaluate import trace

pytestmark = pytest.mark.plain


def test_the_steps_of_the_lecture() -> None:
    """PA by hand: tau = loss / |x|^2, w += tau y x."""
    X, y = np.array([[1.0, 2.0], [2.0, -1.0], [0.5, 0.5]]), [1, -1, -1]
    model, w = PAClassifier(variant="hard", fit_intercept=False), np.zeros(2)
    for step, x, label in zip(trace(model, X, y), X, y, strict=True):
        loss = max(0.0, 1 - label * (w @ x))
        assert (step.loss, step.tau) == pytest.approx((loss, loss / (x @ x)))
        w = w + loss / (x @ x) * label * x
        assert f"loss {loss:.4g}" in str(step)
    np.testing.assert_allclose(model.coef_[0], w)


def test_pamo_can_be_looked_at() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = PAMOClassifier(4, 2, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    assert model.hyperplanes_.shape == (4, 2, 3)
    assert model.winners(X[:1]).shape == (1, 4)
    explanation = model.explain_one(X[0])
    total = explanation.bias + sum(explanation.contributions.values())
    assert total == pytest.approx(explanation.score)
