"""Features that a growing model does not know yet count for nothing. Sums round by how many numbers there are: the scores that rows had
before they were learned from are those of predictions to the bit all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from onepass import Hasher, PAClassifier, PARegressor, StandardScaler, Text, pipeline

N, KNOWN, NEW = 60, 13, 5  # in each row some features that all have, and some that no other has


def dicts(numbers: Any) -> list[dict[str, float]]:
    return [
        {f"{'all' if j < KNOWN else t}-{j}": value for j, value in enumerate(row)} for t, row in enumerate(numbers.tolist())
    ]


def texts(numbers: Any) -> list[str]:
    return [" ".join(name for name, value in x.items() for _ in range(int(abs(value)) + 1)) for x in dicts(numbers)]


def csr(numbers: Any) -> list[Any]:
    """Row by row: a table has all of its columns."""
    new = KNOWN + NEW * np.arange(N)[:, None] + np.arange(NEW)
    places = np.hstack([np.tile(np.arange(KNOWN), (N, 1)), new])
    return [sp.csr_array((row, j, [0, len(j)]), (1, j[-1] + 1)) for row, j in zip(numbers, places, strict=True)]


def dense(numbers: Any) -> list[Any]:
    return [np.resize(row, (1, KNOWN + NEW * (t + 1))) for t, row in enumerate(numbers)]


FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "dicts": (dicts, lambda learner: learner),
    "scaled": (dicts, lambda learner: pipeline(StandardScaler(), learner)),
    "hashed": (dicts, lambda learner: pipeline(Hasher(), learner)),
    "words": (texts, lambda learner: pipeline(Text(), learner)),
    "words by name": (texts, lambda learner: pipeline(Text(grow=True), learner)),
    "csr": (csr, lambda learner: learner.set_params(grow=True)),
    "dense": (dense, lambda learner: learner.set_params(grow=True)),
}


@pytest.mark.parametrize(("form", "numbers"), [("dicts", False), *((form, True) for form in FORMS)])
def test_a_row_is_scored_as_it_is_when_learned(form: str, numbers: bool) -> None:
    rng = np.random.default_rng(0)
    make, behind = FORMS[form]
    X, y = make(rng.normal(size=(N, KNOWN + NEW))), rng.normal(size=N) if numbers else rng.integers(3, size=N)
    model: Any = behind(PARegressor() if numbers else PAClassifier(classes=[0, 1, 2]))
    for t in range(N):
        row = X[t : t + 1] if isinstance(X[t], dict | str) else X[t]
        if t:
            foretold = model.predict(row) if numbers else model.decision_function(row)
            alone = model.predict_one(X[t] if isinstance(X[t], dict | str) else X[t][[0]] if form == "csr" else X[t][0])
            assert alone == model.predict(row)[0]
        scores = model.test_then_train(row, y[t : t + 1])
        if t:
            np.testing.assert_array_equal(foretold, scores)


def test_a_table_is_scored_as_its_rows_are() -> None:
    """Those of one table know what came before them in it."""
    rng = np.random.default_rng(1)
    X, y = dicts(rng.normal(size=(N, KNOWN + NEW))), rng.normal(size=N)
    model, scores = PARegressor(), PARegressor().test_then_train(X, y)
    for t in range(N):
        assert t == 0 or model.predict_one(X[t]) == scores[t]
        model.learn_one(X[t], y[t])
