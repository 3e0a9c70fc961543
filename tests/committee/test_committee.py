"""Committees: members learn as if they were alone, and the answer is that of the plainest twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp, softmax

import onepass
from onepass import (
    FOGD,
    AROWClassifier,
    AROWRegressor,
    Auto,
    AutoRegressor,
    Committee,
    CommitteeRegressor,
    KernelPA,
    OnlineMLPClassifier,
    PAClassifier,
    PAMOClassifier,
    PAMORegressor,
    PARegressor,
    Perceptron,
    StandardScaler,
    pipeline,
)
from onepass.committee import auto
from shared import snapshot

N, D = 150, 4
STORAGE = {"dense": np.asarray, "csr": sp.csr_array}
PAIRS = {"average": True, "random_state": 1}
plain = pytest.mark.plain


def problem(task: str, n: int = N) -> tuple[Any, Any]:
    """Rows that a line tells apart at first, and a curve later."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.8)
    signal = np.where(np.arange(n) < n // 2, X @ [1.0, -2.0, 0.5, 1.0], 3 * X[:, 0] * X[:, 1]) + 0.1 * rng.normal(size=n)
    return X, {"two": signal > 0, "many": np.digitize(signal, [-0.7, 0.7]), "numbers": signal}[task]


def classifiers() -> list[Any]:
    return [
        AROWClassifier(),
        ("tuned", PAClassifier(C="auto")),
        ("step", PAClassifier(average=True)),
        ("waves", FOGD(8, **PAIRS)),
        ("maxout", PAMOClassifier(4, C="auto", random_state=1)),
        ("net", OnlineMLPClassifier(5, random_state=2)),
    ]


def regressors() -> list[Any]:
    return [AROWRegressor(), PARegressor(average=True), PAMORegressor(4, **PAIRS)]


def made(task: str) -> Any:
    return CommitteeRegressor(regressors()) if task == "numbers" else Committee(classifiers())


def told(task: str, y: Any) -> dict[str, Any]:
    return {} if task == "numbers" else {"classes": np.unique(y)}


def alone(task: str) -> dict[str, Any]:
    members = regressors() if task == "numbers" else classifiers()
    return {m[0] if isinstance(m, tuple) else type(m).__name__.lower(): m[1] if isinstance(m, tuple) else m for m in members}


# --- members ---


@plain
@pytest.mark.parametrize(
    ("task", "storage", "dtype"),
    [
        pytest.param(
            task, storage, dtype, marks=[pytest.mark.compiled] if (task, storage, dtype) == ("two", "dense", "f8") else []
        )
        for task in ("two", "many", "numbers")
        for storage in STORAGE
        for dtype in ("f8", "f4")
    ],
)
def test_members_learn_as_if_they_were_alone(task: str, storage: str, dtype: str) -> None:
    X, y = problem(task)
    X, weights = STORAGE[storage](X.astype(dtype)), np.random.default_rng(0).uniform(0, 1.5, N).round(1)
    committee = made(task).partial_fit(X, y, sample_weight=weights, **told(task, y))
    for name, member in alone(task).items():
        member.partial_fit(X, y, sample_weight=weights, **told(task, y))
        assert snapshot(committee.members_[name]) == snapshot(member), name


@plain
def test_members_grow_as_if_they_were_alone() -> None:
    """Features and labels come up along the way, and the form for two classes turns into that for many."""
    X, y = problem("many")
    y[:40] = y[:40] > 0
    rows = [{f"f{j}": value for j, value in enumerate(row) if value and (t > 20 or j < 2)} for t, row in enumerate(X.tolist())]
    committee, members = made("many"), alone("many")
    for x, label in zip(rows, y.tolist(), strict=True):
        for model in (committee, *members.values()):
            model.learn_one(x, label)
    for name, member in members.items():
        assert snapshot(committee.members_[name], names=False) == snapshot(member, names=False), name


# --- the answer, by the plainest twin ---


class Twin:
    """What a committee of classifiers says, of the scores of its voices."""

    def __init__(self, n: int) -> None:
        self.shares, self.w, self.G, self.mean = np.full(n + 2, 1 / (n + 2)), np.full(n, 1 / n), np.ones(n), np.full(n, 1 / n)
        self.a, self.h, self.squares, self.rows = np.full(n, 2.0), np.ones(n), np.zeros(n), 0.0

    def predict(self, scores: Any) -> Any:
        centred = scores - scores.mean(axis=1, keepdims=True)
        size = np.sqrt(self.squares / max(self.rows, 1e-300))[:, None]
        self.z = np.clip(np.divide(centred, size, out=np.zeros_like(centred), where=size > 0), -4, 4)
        logits = self.a[:, None] * self.z
        self.p = softmax(np.vstack([logits, self.mean @ logits, self.w @ logits]), axis=1)
        self.centred, self.logits = centred, logits
        return np.log(self.shares @ self.p)

    def learn(self, y: int, two: bool) -> None:
        K = self.p.shape[1]
        said = K - 1 - self.p[:, ::-1].argmax(axis=1) if two else self.p.argmax(axis=1)
        loss = np.exp(-0.5 * (said != y))
        if loss.min() < loss.max():
            self.shares = (1 - 3e-4) * self.shares * loss / (self.shares @ loss) + 3e-4 / len(self.shares)
        truth = np.eye(K)[y]
        g = self.logits @ (self.p[-1] - truth)
        self.G = 0.999 * self.G + g * g
        self.w = self.w - 0.1 * g / np.sqrt(self.G)
        self.mean = 0.999 * self.mean + 0.001 * self.w
        g = ((self.p[:-2] - truth) * self.z).sum(axis=1)
        self.h = 0.999 * self.h + g * g
        self.a = np.clip(self.a - g / (self.h + 1), 0, 30)
        self.squares, self.rows = 0.999 * self.squares + (self.centred**2).mean(axis=1), 0.999 * self.rows + 1


def voices(task: str, X: Any, y: Any) -> Any:
    """What each voice says of each row before it is learned from: (voices, n, scores)."""
    said = []
    for member in alone(task).values():
        said.append(member.test_then_train(X, y, **told(task, y)))
        if member.average:
            said.append(type(member)(**{**member.get_params(), "average": None}).test_then_train(X, y, **told(task, y)))
    return np.array(said)


@plain
@pytest.mark.parametrize("task", ["two", "many"])
def test_the_answer_is_that_of_the_twin(task: str) -> None:
    X, y = problem(task)
    said, two = voices(task, X, y), task == "two"
    scores = np.stack([-said / 2, said / 2], axis=2) if two else said
    twin, committee, expected = Twin(len(scores)), made(task), []
    for t in range(N):
        expected.append(twin.predict(scores[:, t]))
        twin.learn(int(y[t]), two)
    found = committee.test_then_train(X, y, **told(task, y))
    expected = np.array(expected)
    np.testing.assert_allclose(found, expected[:, 1] - expected[:, 0] if two else expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(list(committee.shares_.values()), twin.shares, rtol=1e-8)
    assert twin.shares.max() > 0.3, "the data must tell the voices apart"
    p = committee.predict_proba(X)
    np.testing.assert_allclose(logsumexp(np.log(p), axis=1), 0, atol=1e-9)


@plain
def test_the_mean_of_numbers_is_that_of_the_twin() -> None:
    X, y = problem("numbers")
    said = voices("numbers", X, y)
    shares, squares, rows, expected = np.full(len(said), 1 / len(said)), 0.0, 0.0, []
    for t in range(N):
        expected.append(shares @ said[:, t])
        squares, rows = 0.999 * squares + (y[t] - expected[-1]) ** 2, 0.999 * rows + 1
        loss = np.exp(-0.5 * np.minimum((y[t] - said[:, t]) ** 2 * rows / squares, 9))
        if loss.min() < loss.max():
            shares = (1 - 3e-4) * shares * loss / (shares @ loss) + 3e-4 / len(shares)
    committee = made("numbers")
    np.testing.assert_allclose(committee.test_then_train(X, y), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(list(committee.shares_.values()), shares, rtol=1e-8)


@plain
def test_names_of_shares() -> None:
    X, y = problem("two")
    committee = made("two").partial_fit(X, y, classes=[False, True])
    pairs = ["step", "step now", "waves", "waves now"]
    assert list(committee.shares_) == ["arowclassifier", "tuned", *pairs, "maxout", "net", "product", "product now"]
    assert sum(committee.shares_.values()) == pytest.approx(1)
    assert list(Committee([Perceptron(), Perceptron(margin=1)]).fit(X, y).shares_) == [
        "perceptron-1",
        "perceptron-2",
        "product",
        "product now",
    ]
    assert list(Committee([Perceptron()], average=True).fit(X, y).shares_) == [
        "perceptron",
        "perceptron now",
        "product",
        "product now",
    ]


# --- files and parameters ---


@plain
def test_members_come_back_from_a_file(tmp_path: Path) -> None:
    X, y = problem("two")
    model = Committee([("line", AROWClassifier(r=2)), PAClassifier(C="auto", average=5.0)], average=True).fit(X[:70], y[:70])
    model.save(tmp_path / "model")
    other = onepass.load(tmp_path / "model")
    (name, first), second = other.members
    assert (name, first.r, first.average, second.C, second.average) == ("line", 2, None, "auto", 5.0)
    assert repr(other) == repr(model)
    assert snapshot(other.partial_fit(X[70:], y[70:])) == snapshot(model.partial_fit(X[70:], y[70:]))


@plain
def test_parameters_of_members() -> None:
    X, y = problem("two")
    model = Committee([("line", AROWClassifier()), ("step", PAClassifier())])
    assert model.get_params()["line__r"] == 1.0
    given = model.members
    model.set_params(step__C=0.1, line__r=3.0).fit(X, y)
    assert model.members_["step"].C == 0.1
    assert given[1][1].C == 1.0
    assert snapshot(model.members_["line"]) == snapshot(AROWClassifier(r=3.0).fit(X, y))
    with pytest.raises(ValueError, match="There is no member 'curve'"):
        model.set_params(curve__C=1)


@plain
@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([], "a list of learners"),
        (["arow"], "is none"),
        ([AROWRegressor()], "is none"),
        ([pipeline(StandardScaler(), AROWClassifier())], "is none"),
        ([Committee()], "is none"),
        ([KernelPA()], "grows by itself"),
        ([Perceptron(mode="batch")], "one example after the other"),
        ([onepass.PRank()], "can't be a member"),
        ([("a", AROWClassifier()), ("a", PAClassifier())], "must differ"),
        ([("a/b", AROWClassifier())], "neither"),
        ([AROWClassifier(class_weight="balanced")], "'class_weight' is the same for all"),
        ([AROWClassifier(calibrate=True)], "'calibrate' is the same for all"),
        ([AROWClassifier(r=-1)], "'r' parameter"),
    ],
)
def test_who_can_be_no_member(members: list[Any], said: str) -> None:
    X, y = problem("two")
    with pytest.raises(ValueError, match=said):
        Committee(members).fit(X, y)


# --- Auto ---


def followed(X: Any) -> Any:
    """Each number by the moments of those before it, in the plainest way."""
    shown = np.zeros(X.shape)
    for j in range(X.shape[1]):
        mean = square = n = trend = 0.0
        for t, x in enumerate(X[:, j].tolist()):
            deviation = np.sqrt(square)
            z = min(max((x - mean) / deviation, -4), 4) if deviation > 0 else 0.0
            shown[t, j] = z
            trend += (z - trend) / 100
            n = min(n, 100) if abs(trend) > 1 else n
            if deviation > 0:
                x = min(max(x, mean - 30 * deviation), mean + 30 * deviation)
            n += 1
            square = (1 - 1 / n) * (square + (x - mean) ** 2 / n)
            mean += (x - mean) / n
    return shown


@plain
@pytest.mark.parametrize("budget", ["fast", "best"])
@pytest.mark.parametrize("task", ["two", "many", "numbers"])
def test_members_of_auto_see_rows_scaled_and_clipped(task: str, budget: str) -> None:
    X, y = problem(task)
    X = X * [1, 10, 0.1, 1] + 5
    X[100] *= 30
    X[120:, 1] -= 200
    model = (AutoRegressor if task == "numbers" else Auto)(budget, random_state=3).partial_fit(X, y, **told(task, y))
    scaled = followed(X)
    assert (np.abs(scaled) == 4).any()
    for name, member in model.members_.items():
        expected = type(member)(**member.get_params()).partial_fit(scaled, y, **told(task, y))
        found, wanted = member._state.arrays, expected._state.arrays
        for field, values in wanted.items():
            np.testing.assert_allclose(found[field], values, rtol=1e-5, atol=1e-7, err_msg=f"{name}, {field}")


@plain
def test_scaling_follows_features_that_move_and_stands_wild_numbers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = X @ [1.0, -1.0, 0.5] > 0
    moved, wild = X.copy(), X.copy()
    moved[1500:] += 20
    wild[rng.random(3000) < 0.002] *= 1e6
    for rows in (X, moved, wild):
        scores = Auto("fast", random_state=0).test_then_train(rows, y, classes=[False, True])
        assert np.mean((scores[2000:] > 0) != y[2000:]) < 0.1


@plain
def test_sparse_rows_and_dicts_are_centred_as_dense_ones_are() -> None:
    X, y = problem("two")
    X[0] = 1.0
    X[:, 1] += 5
    models = [Auto("fast", random_state=0, classes=[False, True]) for _ in range(3)]
    rows = [{f"f{j}": value for j, value in enumerate(row) if value} for row in X.tolist()]
    for model, data in zip(models, (X, sp.csr_array(X), rows), strict=True):
        model.partial_fit(data, y)
    np.testing.assert_allclose(models[1].decision_function(X), models[0].decision_function(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(models[2].decision_function(rows), models[0].decision_function(X), rtol=1e-6, atol=1e-6)


@plain
def test_wide_rows_are_for_linear_members() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((30, auto.WIDE + 1), density=0.01, rng=rng, format="csr")
    model = Auto().fit(X, np.arange(30) % 2)
    assert list(model.members_) == ["arow", "pa"]
    hashed = pipeline(onepass.Hasher(2**20), Auto())
    for t in range(30):
        hashed.learn_one({"word": f"w{t % 3}"}, t % 3)
    assert list(hashed.learner.members_) == ["arow", "pa"]
    assert hashed.predict_one({"word": "w1"}) == 1


@plain
def test_numbers_far_out_do_not_stop_the_others() -> None:
    """A row that is too large is refused before anyone has learned from it."""
    X, y = problem("two", 30)
    model = Auto("fast", random_state=0).partial_fit(X, y, classes=[False, True])
    before = snapshot(model)
    for x in ([1e200] * 4, [np.nan, 0, 0, 0], [np.inf, 0, 0, 0]):
        with pytest.raises(ValueError, match=r"[Rr]ow 0"):
            model.learn_one(np.array(x), True)
        with pytest.raises(ValueError, match=r"[Rr]ow 0"):
            model.predict_one(np.array(x))
    assert snapshot(model) == before
