"""AROW's point (Sugiyama, Figure 31.8): where one label in ten is wrong, it finds the concept; passive-aggressive learning does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onepass import AROWClassifier, PAClassifier


def stream(n: int, seed: int, d: int = 20) -> tuple[Any, Any, Any]:
    """A linear concept, its labels, and the same with one in ten flipped."""
    rng = np.random.default_rng(seed)
    X, concept = rng.normal(size=(n, d)), np.random.default_rng(100).normal(size=d)
    truth = np.where(X @ concept > 0, 1, -1)
    return X, truth, np.where(rng.random(n) < 0.1, -truth, truth)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("seed", range(3))
def test_arow_finds_the_concept_behind_wrong_labels(covariance: str, seed: int) -> None:
    X, _, y = stream(5000, seed)
    test, truth, _ = stream(5000, seed + 50)

    def error(model: Any) -> float:
        return float(np.mean(model.partial_fit(X, y, classes=[-1, 1]).predict(test) != truth))

    arow = error(AROWClassifier(covariance=covariance))
    assert arow < error(PAClassifier(variant="hard")) / 3
    assert arow < error(PAClassifier()) / 3
    assert arow < min(error(PAClassifier(C=C)) for C in np.logspace(-4, -1, 4)) + 0.005  # it is as good without a search


def test_one_wrong_label_moves_arow_less_and_less() -> None:
    """The step of a wrong label after n right ones shrinks like 1/n; that of PA stays as long as it was."""
    X, truth, _ = stream(4000, 7)
    turns: dict[str, list[float]] = {"AROW": [], "PA": []}
    for n in (1000, 4000):
        for name, model in {"AROW": AROWClassifier(covariance="full"), "PA": PAClassifier(variant="hard")}.items():
            model.partial_fit(X[:n], truth[:n], classes=[-1, 1])
            before = model.coef_[0]
            model.partial_fit(X[:1], -truth[:1])
            after = model.coef_[0]
            turns[name].append(1 - before @ after / np.linalg.norm(before) / np.linalg.norm(after))
    assert turns["AROW"][1] < turns["AROW"][0] / 4
    assert turns["AROW"][1] < turns["PA"][1] / 20
