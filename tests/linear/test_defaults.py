"""Learners as they are, with nothing said, on ordinary data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import norm

from onepass import OGDClassifier, StandardScaler, datasets, pipeline

pytestmark = pytest.mark.plain


def texts(n: int = 1500) -> tuple[Any, Any]:
    """Rows like those of tf-idf: sparse, of unit norm, words by Zipf's law, and one of seven of the rarer class, which has a few words
    of its own."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 1 / 7).astype(int)
    X = sp.lil_array((n, 800))
    for t in range(n):
        words = np.minimum(rng.zipf(1.3, size=12), 700)
        own = 700 + 50 * y[t] + rng.integers(50, size=2)
        X[t, np.concatenate([words, own])] = np.concatenate([np.log1p(words), np.full(2, 5.0)])
    return sp.csr_array(X.multiply(1 / norm(X, axis=1)[:, None])), y


def test_gradient_descent_on_texts_is_better_than_the_larger_class() -> None:
    X, y = texts()
    scores = OGDClassifier().test_then_train(X, y, classes=[0, 1])
    assert ((scores >= 0) != y).mean() < 0.5 * y.mean()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_gradient_descent_does_not_mind_the_unit_of_the_features(scale: float) -> None:
    X, y = datasets.sea(2000, random_state=0)
    scores = pipeline(StandardScaler(), OGDClassifier()).test_then_train(scale * X, y, classes=[0, 1])
    assert ((scores >= 0) != y).mean() < 0.2
