"""Cost-sensitive PAClassifier: against its plain twin, against the paper's problem, and where costs are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import onepass
from onepass import PAClassifier
from onepass.compiled.losses import TwoClasses
from optimum import check_step
from test_contract import WAYS, snapshot

pytestmark = pytest.mark.plain

VARIANTS = ["hard", "I", "II"]
UPDATES = ["prediction", "max_loss"]
COSTS = {2: np.array([[0.0, 4.0], [0.25, 0.0]]), 3: np.array([[0.0, 1.0, 9.0], [0.5, 0.0, 2.0], [0.0, 4.0, 0.0]])}
every_rule = pytest.mark.parametrize(("variant", "update"), [(v, u) for v in VARIANTS for u in UPDATES])


def problem(K: int, n: int = 200) -> tuple[Any, Any]:
    rng = np.random.default_rng(K)
    X = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    signal = X @ np.array([1.0, -2.0, 0.5, 1.5, -1.0]) + rng.normal(size=n)
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, K) / K))


# --- the plain twin: a row of weights for each class, whatever their number ---


def tau(variant: str, C: float, loss: float, norm2: float) -> float:
    return {"hard": loss / norm2, "I": min(C, loss / norm2), "II": loss / (norm2 + 1 / (2 * C))}[variant]


def rival(scores: Any, y: int, costs: Any, update: str) -> tuple[int, float]:
    """q and the loss against it."""
    if update == "max_loss":
        q = int(np.argmax(scores + np.sqrt(costs[y])))
    elif len(scores) == 2:
        q = int(scores[1] >= scores[0])  # the tie of two classes goes to the second
    else:
        q = int(np.argmax(scores))
    return q, float(scores[q] - scores[y] + np.sqrt(costs[y, q]))


def twin(X: Any, y: Any, costs: Any, variant: str, update: str, C: float) -> tuple[Any, Any]:
    """The weights in the end, and the scores before each example."""
    W, seen = np.zeros((len(costs), X.shape[1] + 1)), []
    for row, label in zip(X, y, strict=True):
        x = np.concatenate([[1.0], row])
        scores = W @ x
        seen.append(scores)
        q, loss = rival(scores, label, costs, update)
        if q != label and loss > 0:
            step = tau(variant, C, loss, 2 * x @ x)
            W[label] += step * x
            W[q] -= step * x
    return W, np.array(seen)


@pytest.mark.compiled
@every_rule
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_many_classes_are_the_twin(variant: str, update: str, storage: Any) -> None:
    X, y = problem(3)
    W, scores = twin(X, y, COSTS[3], variant, update, 0.3)
    model = PAClassifier(0.3, variant, COSTS[3], update, classes=[0, 1, 2])
    np.testing.assert_allclose(model.test_then_train(storage(X), y), scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.coef_, W[:, 1:], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, W[:, 0], rtol=1e-9, atol=1e-9)
    assert model.updates_ > 20


@pytest.mark.compiled
@every_rule
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_two_classes_are_the_twin_with_two_rows(variant: str, update: str, storage: Any) -> None:
    """w is W_1 - W_0. Where two rows move by tau x each, w moves by 2 tau x: the C of one row is twice that of two."""
    X, y = problem(2)
    W, scores = twin(X, y, COSTS[2], variant, update, 0.15)
    np.testing.assert_array_equal(W[1], -W[0])
    model = PAClassifier(0.3, variant, COSTS[2], update, classes=[0, 1])
    np.testing.assert_allclose(model.test_then_train(storage(X), y), scores[:, 1] - scores[:, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.coef_[0], (W[1] - W[0])[1:], rtol=1e-9, atol=1e-9)
    assert model.updates_ > 20


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("average", [None, True, "uniform", 20.0])
@pytest.mark.parametrize("K", [2, 3])
def test_the_largest_loss_with_equal_costs_is_plain_pa(K: int, variant: str, average: Any) -> None:
    X, y = problem(K)
    plain = PAClassifier(0.3, variant, average=average).fit(X, y)
    model = PAClassifier(0.3, variant, 1 - np.eye(K), "max_loss", average=average).fit(X, y)
    assert snapshot(model) == snapshot(plain)


@pytest.mark.parametrize("K", [2, 3])
def test_without_mistakes_the_prediction_has_no_loss(K: int) -> None:
    X, y = problem(K)
    model = PAClassifier(costs=COSTS[K]).fit(X, y)
    before, right = snapshot(model), model.predict(X) == y
    assert 0 < right.sum() < len(y)
    for x, label in zip(X[right], y[right], strict=True):
        model.learn_one(x, label)
        assert {**snapshot(model), "count": None} == {**before, "count": None}


# --- the paper's problem ---


@every_rule
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), K=st.sampled_from([2, 3, 5]))
def test_a_step_solves_its_problem(variant: str, update: str, seed: int, K: int) -> None:
    """min 1/2 |W - W_t|^2 + the loss term of sqrt(rho(y, q)) - (W_y - W_q).x, for the q that the rule names."""
    rng = np.random.default_rng(seed)
    costs = rng.choice([0.0, 0.5, 1.0, 3.0, 8.0], size=(K, K)) * (1 - np.eye(K))
    C, d = float(rng.choice([0.01, 0.1, 1.0, 10.0])), 3
    model = PAClassifier(C, variant, costs, update, classes=range(K), fit_intercept=False)
    model.partial_fit(np.ones((1, d)), [0], sample_weight=[0.0])
    name = "w" if K == 2 else "W"
    model._state.arrays[name][..., 1:] = rng.normal(size=model._state.arrays[name][..., 1:].shape)
    before = model._state.arrays[name].copy()
    x, y = rng.normal(size=d), int(rng.integers(K))
    scores = np.atleast_1d(model.decision_function(x[None])[0])
    q, loss = rival(np.array([0.0, scores[0]]) if K == 2 else scores, y, costs, update)
    model.partial_fit(x[None], [y])
    after = model._state.arrays[name]
    if q == y or loss <= 0:
        np.testing.assert_array_equal(after, before)
        return
    margin = np.sqrt(costs[y, q])

    def loss_of(z: Any) -> float:
        if K == 2:
            return float(margin - (2 * y - 1) * (z @ x))
        W = z.reshape(K, d)
        return float(margin - (W[y] - W[q]) @ x)

    check_step(variant, C, before[..., 1:].ravel(), after[..., 1:].ravel(), loss_of, seed)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("K", [2, 3])
def test_dear_mistakes_are_made_less_often(K: int, update: str) -> None:
    """To take the last class for the one before it costs a hundred times as much as any other mistake."""
    X, y = problem(K, 3000)
    costs = 1 - np.eye(K)
    costs[-1, -2] = 100.0
    dear = PAClassifier(0.01, "II", costs, update, average=True).fit(X, y)
    plain = PAClassifier(0.01, "II", 1 - np.eye(K), update, average=True).fit(X, y)
    of_last = y == K - 1
    assert (dear.predict(X)[of_last] == K - 2).sum() < 0.5 * (plain.predict(X)[of_last] == K - 2).sum()


# --- the doors ---


@every_rule
@pytest.mark.parametrize("K", [2, 3])
def test_doors_give_the_same_bits(variant: str, update: str, K: int) -> None:
    X, y = problem(K, 40)
    settings = {"C": 0.3, "variant": variant, "costs": COSTS[K], "update": update}
    whole, pieces, grown = (PAClassifier(**settings, classes=range(K)) for _ in range(3))
    whole.partial_fit(X, y)
    pieces.partial_fit(X[:7], y[:7])
    pieces.test_then_train(X[7:20], y[7:20])
    for x, label in zip(X[20:], y[20:], strict=True):
        pieces.learn_one(x, label)
    assert snapshot(pieces) == snapshot(whole)
    assert snapshot(PAClassifier(**settings).fit(X, y)) == snapshot(whole)
    for x, label in zip(X, y, strict=True):
        grown.learn_one({f"f{j}": value for j, value in enumerate(x)}, label)
    np.testing.assert_allclose(grown.coef_, whole.coef_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["array", "lists"])
def test_costs_survive(way: str, kind: str, tmp_path: Path) -> None:
    X, y = problem(3, 40)
    costs = COSTS[3] if kind == "array" else COSTS[3].tolist()
    model = PAClassifier(costs=costs, update="max_loss").fit(X, y)
    other = WAYS[way](model, tmp_path)
    np.testing.assert_array_equal(other.costs, COSTS[3])
    assert other.update == "max_loss"
    assert snapshot(other.partial_fit(X, y)) == snapshot(model.partial_fit(X, y))
    fresh = clone(model)
    np.testing.assert_array_equal(fresh.get_params()["costs"], COSTS[3])
    assert snapshot(fresh.fit(X, y)) == snapshot(clone(other).fit(X, y))
    assert "costs=" in repr(model)


def test_what_the_user_does_to_the_matrix_later_is_not_seen() -> None:
    X, y = problem(3, 40)
    costs = COSTS[3].copy()
    model, other = PAClassifier(costs=costs).fit(X, y), PAClassifier(costs=COSTS[3]).fit(X, y)
    costs[:] = 0
    assert snapshot(model.partial_fit(X, y)) == snapshot(other.partial_fit(X, y))


def test_costs_may_change_between_calls() -> None:
    X, y = problem(3, 40)
    model, other = PAClassifier(costs=COSTS[3]).fit(X, y), PAClassifier(costs=COSTS[3]).fit(X, y)
    model.set_params(costs=1 - np.eye(3), update="max_loss").partial_fit(X, y)
    other.set_params(costs=None).partial_fit(X, y)
    assert snapshot(model) == snapshot(other)


def test_weights_of_the_classes_go_with_costs() -> None:
    X, y = problem(3, 40)
    by_class = {0: 0.5, 1: 1.0, 2: 2.0}
    model = PAClassifier(0.01, costs=COSTS[3], class_weight=by_class, calibrate=True).fit(X, y)
    weighed = PAClassifier(0.01, costs=COSTS[3], calibrate=True).fit(X, y, sample_weight=[by_class[label] for label in y])
    assert snapshot(model) == snapshot(weighed)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


WRONG: dict[str, tuple[Any, str]] = {
    "not square": (np.zeros((2, 3)), "square"),
    "one dimension": ([0.0, 1.0], "square"),
    "three dimensions": (np.zeros((2, 2, 2)), "square"),
    "negative": ([[0.0, -1.0], [1.0, 0.0]], "not negative"),
    "NaN": ([[0.0, np.nan], [1.0, 0.0]], "finite"),
    "infinity": ([[0.0, np.inf], [1.0, 0.0]], "finite"),
    "diagonal": ([[1.0, 1.0], [1.0, 0.0]], "diagonal"),
    "text": ([["a", "b"], ["c", "d"]], "numbers"),
    "ragged": ([[0.0], [1.0, 0.0]], "numbers"),
    "another size": (1 - np.eye(3), "3 classes, but there are 2"),
    "a number": (3.0, "costs"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_costs_are_refused_and_change_nothing(wrong: str) -> None:
    X, y = problem(2, 20)
    costs, message = WRONG[wrong]
    fresh = PAClassifier(costs=costs, classes=[0, 1])
    for call in (fresh.fit, fresh.partial_fit, fresh.test_then_train, lambda X, y: fresh.learn_one(X[0], y[0])):
        with pytest.raises(ValueError, match=message):
            call(X, y)
        assert fresh._state is None
    model = PAClassifier(costs=COSTS[2]).fit(X, y)
    before = snapshot(model)
    model.set_params(costs=costs)
    for call in (model.fit, model.partial_fit, lambda X, y: model.learn_one(X[0], y[0]), lambda X, y: model.predict(X)):
        with pytest.raises(ValueError, match=message):
            call(X, y)
        assert snapshot(model) == before
    assert snapshot(model.set_params(costs=COSTS[2]).partial_fit(X, y)) != before


def test_classes_that_are_not_known_beforehand() -> None:
    X, y = problem(2, 20)
    for model in (PAClassifier(costs=COSTS[2]), PAClassifier(costs=COSTS[2], grow=True)):
        with pytest.raises(ValueError, match="pass `classes`"):
            model.learn_one({"a": 1.0}, "x")
        assert model._state is None
    with pytest.raises(ValueError, match="classes must be passed"):
        PAClassifier(costs=COSTS[2]).partial_fit(X, y)
    told = PAClassifier(costs=COSTS[2], classes=["x", "y"])
    told.learn_one({"a": 1.0}, "x")
    assert told.predict_one({"a": 1.0}) == "x"


@pytest.mark.parametrize("value", [1e160, 1e300])
@pytest.mark.parametrize("costs", [None, 1 - np.eye(3)], ids=["plain", "costs"])
def test_a_row_that_is_too_large_for_fresh_weights_is_refused(costs: Any, value: float) -> None:
    """Their scores are 0, so that only the norm tells."""
    model = PAClassifier(costs=costs, update="max_loss", classes=[0, 1, 2])
    with pytest.raises(ValueError, match="too large"):
        model.partial_fit(np.full((1, 4), value), [1])
    assert model._state is None


def test_an_unknown_update_is_refused() -> None:
    X, y = problem(2, 20)
    with pytest.raises(ValueError, match="update"):
        PAClassifier(update="best").fit(X, y)


def test_learners_without_costs_keep_their_record() -> None:
    """The machine code of plain PA knows nothing of costs: they are another task."""
    X, y = problem(2, 20)
    assert PAClassifier().fit(X, y)._binding().model.task == TwoClasses(1.0)
    assert onepass.PAClassifier().get_params()["costs"] is None
