"""Steps that are watched: by hand for the lecture's rule, and for all learners the same model as without anybody watching."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import onepass
from onepass import AROWClassifier, KernelPA, PAClassifier, PAMOClassifier, PARegressor, StandardScaler, pipeline
from onepass.base import Classifier, Regressor
from onepass.base.explaining import Explained
from onepass.evaluate import trace
from shared import snapshot

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
TARGETS = {
    "two": np.where(X[:, 0] > X[:, 1], "yes", "no"),
    "three": (X[:, 0] > 0).astype(int) + (X[:, 1] > 0),
    "numbers": X @ [1, 2, 0, 1],
}
CASES = [
    (name, task)
    for name, cls in onepass.learners().items()
    for task in TARGETS
    if issubclass(cls, Explained) and (issubclass(cls, Regressor) if task == "numbers" else issubclass(cls, Classifier))
]
pytestmark = pytest.mark.plain


@pytest.mark.parametrize(("name", "task"), CASES)
def test_steps_lead_to_the_same_model(name: str, task: str) -> None:
    cls, y = onepass.learners()[name], TARGETS[task]
    given = {"dimensions": 3, "random_state": 0, "scale_target": False}
    own = {key: value for key, value in given.items() if key in cls().get_params()}
    model, other = cls(**own), cls(**own)
    told = {} if task == "numbers" else {"classes": np.unique(y)}
    scores = other.test_then_train(X, y, **told)
    steps = list(trace(model, X, y))
    assert snapshot(model) == snapshot(other)
    np.testing.assert_array_equal([step.score for step in steps], scores)
    assert [step.y for step in steps] == y.tolist()
    assert [step.t for step in steps] == list(range(1, 31))
    w = next(step.before["w"] for step in steps if "w" in step.before)
    for step in steps:  # each begins where the one before has ended
        if "w" in step.after:
            np.testing.assert_array_equal(step.before["w"], w)
            assert not np.array_equal(step.before["w"], step.after["w"])
            w = step.after["w"]
    np.testing.assert_array_equal(w, model._watched(model._state)["w"])


@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@pytest.mark.parametrize("rows", [X, sp.csr_array(X), X.astype(np.float32)], ids=["dense", "csr", "float32"])
def test_tau_and_loss_are_those_of_the_lecture(variant: str, rows: Any) -> None:
    C, w = 0.3, np.zeros(5)
    for step, x, y in zip(trace(PAClassifier(C, variant), rows, TARGETS["two"]), X, TARGETS["two"], strict=True):
        z, sign = np.append(1.0, x), 1 if y == "yes" else -1
        loss = max(0.0, 1 - sign * w @ z)
        tau = {"hard": loss / (z @ z), "I": min(C, loss / (z @ z)), "II": loss / (z @ z + 1 / (2 * C))}[variant]
        w = w + tau * sign * z
        assert step.loss == pytest.approx(loss, rel=1e-4, abs=1e-5)
        assert step.tau == pytest.approx(tau, rel=1e-3, abs=1e-5)
        np.testing.assert_allclose(step.x, x, rtol=1e-6)
        np.testing.assert_allclose(step.after.get("w", w), w, rtol=1e-3, atol=1e-5)


@pytest.mark.compiled
def test_many_classes_and_numbers() -> None:
    for step in trace(PAClassifier(0.1), X, TARGETS["three"]):
        rivals = np.delete(step.score, step.y)
        assert step.loss == pytest.approx(max(0.0, 1 - step.score[step.y] + rivals.max()))
        assert step.tau == pytest.approx(min(0.1, step.loss / (2 + 2 * step.x @ step.x)))
    for step in trace(PARegressor(0.1, epsilon=0.2, scale_target=False), X, TARGETS["numbers"]):
        assert step.loss == pytest.approx(max(0.0, abs(step.y - step.score) - 0.2))
        assert step.tau == pytest.approx(min(0.1, step.loss / (1 + step.x @ step.x)))


@pytest.mark.compiled
@pytest.mark.parametrize("task", ["two", "three"])
def test_pamo(task: str) -> None:
    length2 = 1 if task == "two" else 2
    for step in trace(PAMOClassifier(4, C=0.05, random_state=0), X, TARGETS[task]):
        assert step.tau == pytest.approx(min(0.05, 0.1 * step.loss / length2))
        assert set(step.after) == ({"w", "U"} if step.loss > 0 else set())


def test_second_order_steps_have_no_tau() -> None:
    steps = list(trace(AROWClassifier(), X, TARGETS["two"]))
    assert steps[0].tau is not None  # Sigma is still the identity
    assert None in [step.tau for step in steps]
    assert "Sigma" in steps[0].after


def test_a_model_that_has_learned_goes_on() -> None:
    model, other = (PAClassifier().fit(X, TARGETS["two"]) for _ in range(2))
    (step,) = trace(model, X[:1], TARGETS["two"][:1])
    assert step.t == 31
    assert snapshot(model) == snapshot(other.partial_fit(X[:1], TARGETS["two"][:1]))


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (KernelPA(), TypeError, "linear learners and PAMO"),
        (pipeline(StandardScaler(), PAClassifier()), TypeError, "Pipeline"),
        (onepass.PAMultilabel(), TypeError, "PAMultilabel"),
        (PAClassifier(average=True), ValueError, "average"),
        (PAClassifier(C="auto"), ValueError, "give C a number"),
        (PAClassifier(grow=True), ValueError, "leave `grow` out"),
    ],
    ids=str,
)
def test_what_can_not_be_watched_is_said_at_once(model: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        trace(model, X, TARGETS["two"])


def test_an_unknown_label_changes_nothing() -> None:
    model = PAClassifier().fit(X, TARGETS["two"])
    before = snapshot(model)
    with pytest.raises(ValueError, match="'perhaps'"):
        trace(model, X[:2], ["yes", "perhaps"])
    assert snapshot(model) == before
