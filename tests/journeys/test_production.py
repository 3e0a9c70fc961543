"""Somebody who runs it: single rows, late labels, drift, probabilities, a file that survives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onepass import AROWClassifier, StandardScaler, Table, UnitNorm, datasets, evaluate, load, pipeline
from people import people

pytestmark = pytest.mark.plain


def test_a_service_that_learns_while_it_answers(tmp_path: Path) -> None:
    X, y = people(400)
    rows = X.to_dict("records")
    model = pipeline(Table(256), UnitNorm(), AROWClassifier(calibrate=True))
    right = 0
    for t, (x, label) in enumerate(zip(rows, y.tolist(), strict=True)):
        chances = model.predict_proba_one(x)
        right += bool(chances) and max(chances, key=lambda one: chances[one]) == label
        model.learn_one(x, label)
        if t == 199:
            model.save(tmp_path / "model", metadata={"service": "churn"})
    assert right / 400 > 0.75
    again = load(tmp_path / "model")
    assert again.metadata == {"service": "churn"}
    for x, label in zip(rows[200:], y[200:].tolist(), strict=True):
        again.learn_one(x, label)
    assert again.learner.coef_.tobytes() == model.learner.coef_.tobytes()
    with pytest.raises(ValueError, match="age"):
        model.learn_one({"age": float("inf")}, "stays")
    assert again.learner.coef_.tobytes() == model.learner.coef_.tobytes()


def test_a_world_that_changes() -> None:
    """Labels come late, the concept turns, and a detector has the learner start anew."""
    X, y = datasets.sea(8000, random_state=0)
    turned = np.concatenate([y[:4000], 1 - y[4000:]])
    rates = {}
    for action in (None, "reset"):
        model = pipeline(StandardScaler(), AROWClassifier())
        result = evaluate.prequential(model, (X, turned), drift=evaluate.ADWIN(), on_drift=action)
        rates[action] = result.metrics["mistake_rate"]
        assert any(4000 < place < 5000 for place in result.drifts)
    assert rates["reset"] < rates[None]
    late = evaluate.prequential(
        pipeline(StandardScaler(), AROWClassifier()), (X[:2000], y[:2000]), ["accuracy", "auc"], delay=50
    )
    assert late.metrics["auc"] > 0.75
