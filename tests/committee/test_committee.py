"""Committees: members learn as if they were alone, and the answer is that of the plainest twin."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
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
    OSELMClassifier,
    PAClassifier,
    PAMOClassifier,
    PAMORegressor,
    PARegressor,
    Perceptron,
    StandardScaler,
    pipeline,
)
from onepass.committee import auto
from onepass.committee.scaling import Scaler
from onepass.committee.shares import AdaHedge, FixedShare, share_out
from onepass.compiled.compiler import entry_point
from onepass.evaluate.feeding import check_forgets, forget
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


def made(task: str, **settings: Any) -> Any:
    return CommitteeRegressor(regressors(), **settings) if task == "numbers" else Committee(classifiers(), **settings)


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


class Fixed:
    """Herbster and Warmuth 1998; Freund and Schapire 1997."""

    def __init__(self, n: int, spread: float = 3e-4) -> None:
        self.shares, self.spread = np.full(n, 1 / n), spread

    def learn(self, losses: Any) -> None:
        if losses.min() < losses.max():
            kept = self.shares * np.exp(-0.5 * losses)
            self.shares = (1 - self.spread) * kept / kept.sum() + self.spread / len(kept)


class Ada:
    """de Rooij et al. 2014, figure 1."""

    def __init__(self, n: int) -> None:
        self.shares, self.past, self.cost = np.full(n, 1 / n), np.zeros(n), 0.0

    def learn(self, losses: Any) -> None:
        n, later = len(losses), self.past + losses
        if self.cost > 0:
            eta = np.log(n) / self.cost
            mixed = (logsumexp(-eta * self.past) - logsumexp(-eta * later)) / eta
        else:
            mixed = later.min() - self.past.min()
        self.cost, self.past = self.cost + max(0.0, self.shares @ losses - mixed), later
        leads = later == later.min()
        self.shares = softmax(-np.log(n) / self.cost * later) if self.cost > 0 else leads / leads.sum()


RULES: dict[str, Any] = {"fixed": Fixed, "hedge": partial(Fixed, spread=0.0), "adahedge": Ada}
every_rule = pytest.mark.parametrize("rule", RULES)


class Twin:
    """What a committee of classifiers says, of the scores of its voices."""

    def __init__(self, n: int, rule: str) -> None:
        self.rule, self.w, self.G, self.mean = RULES[rule](n + 2), np.full(n, 1 / n), np.ones(n), np.full(n, 1 / n)
        self.a, self.h, self.squares, self.rows = np.full(n, 2.0), np.ones(n), np.zeros(n), 0.0

    def predict(self, scores: Any) -> Any:
        centred = scores - scores.mean(axis=1, keepdims=True)
        size = np.sqrt(self.squares / max(self.rows, 1e-300))[:, None]
        self.z = np.clip(np.divide(centred, size, out=np.zeros_like(centred), where=size > 0), -4, 4)
        logits = self.a[:, None] * self.z
        self.p = softmax(np.vstack([logits, self.mean @ logits, self.w @ logits]), axis=1)
        self.centred, self.logits = centred, logits
        return np.log(self.rule.shares @ self.p)

    def learn(self, y: int, two: bool) -> None:
        K = self.p.shape[1]
        said = K - 1 - self.p[:, ::-1].argmax(axis=1) if two else self.p.argmax(axis=1)
        self.rule.learn(1.0 * (said != y))
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
@every_rule
@pytest.mark.parametrize("task", ["two", "many"])
def test_the_answer_is_that_of_the_twin(task: str, rule: str) -> None:
    X, y = problem(task)
    said, two = voices(task, X, y), task == "two"
    scores = np.stack([-said / 2, said / 2], axis=2) if two else said
    twin, committee, expected = Twin(len(scores), rule), made(task, shares=rule), []
    for t in range(N):
        expected.append(twin.predict(scores[:, t]))
        twin.learn(int(y[t]), two)
    found = committee.test_then_train(X, y, **told(task, y))
    expected = np.array(expected)
    np.testing.assert_allclose(found, expected[:, 1] - expected[:, 0] if two else expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(list(committee.shares_.values()), twin.rule.shares, rtol=1e-8, atol=1e-12)
    assert twin.rule.shares.max() > 0.3, "the data must tell the voices apart"
    p = committee.predict_proba(X)
    np.testing.assert_allclose(logsumexp(np.log(p), axis=1), 0, atol=1e-9)


@plain
@every_rule
def test_the_mean_of_numbers_is_that_of_the_twin(rule: str) -> None:
    X, y = problem("numbers")
    said = voices("numbers", X, y)
    twin, squares, rows, expected = RULES[rule](len(said)), 0.0, 0.0, []
    for t in range(N):
        expected.append(twin.shares @ said[:, t])
        squares, rows = 0.999 * squares + (y[t] - expected[-1]) ** 2, 0.999 * rows + 1
        twin.learn(np.minimum((y[t] - said[:, t]) ** 2 * rows / squares, 9))
    committee = made("numbers", shares=rule)
    np.testing.assert_allclose(committee.test_then_train(X, y), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(list(committee.shares_.values()), twin.shares, rtol=1e-8, atol=1e-12)


@entry_point
def dealt(rule: Any, heard: Any, shares: Any, losses: Any, weight: Any) -> None:
    share_out(rule, heard, shares, losses, weight)


@plain
@pytest.mark.parametrize("kind", ["random", "one is better", "takes turns"])
def test_adahedge_loses_no_more_than_its_paper_says(kind: str) -> None:
    """Corollary 9: at most sqrt(T ln K) + 4/3 ln K + 2 more than the best voice, for losses from 0 to 1."""
    rng, (T, K) = np.random.default_rng(0), (2000, 5)
    losses = rng.random((T, K))
    losses[:, 2] *= 0.5 if kind == "one is better" else 1
    if kind == "takes turns":
        losses = np.eye(K)[np.arange(T) % K]
    shares, rule, mean = np.full(K, 1 / K), AdaHedge(np.zeros(K), np.zeros(1)), 0.0
    for t in range(T):
        mean += shares @ losses[t]
        dealt(rule, np.arange(K), shares, losses[t].copy(), 1.0)
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)
    assert mean - losses.sum(axis=0).min() <= np.sqrt(T * np.log(K)) + 4 / 3 * np.log(K) + 2


@plain
def test_shares_are_dealt_out_anew_or_are_not() -> None:
    """Two voices, of which the second becomes the better one after a thousand examples: who is dealt something anew comes back soon."""
    soon = {}
    for spread in (3e-4, 0.0):
        shares = np.full(2, 0.5)
        for t in range(2000):
            dealt(FixedShare(spread), np.arange(2), shares, np.array([0.0, 1.0] if t < 1000 else [1.0, 0.0]), 1.0)
            if shares[1] > 0.5:
                soon.setdefault(spread, t - 1000)
    assert soon[3e-4] < 30
    assert 0.0 not in soon


@plain
@pytest.mark.parametrize("name", ["fixed", "hedge", "adahedge"])
@pytest.mark.parametrize("weight", [1e-300, 1e-9, 3000.0, 1e9, 1e300])
def test_shares_stand_any_weight(name: str, weight: float) -> None:
    rules = {"fixed": FixedShare(3e-4), "hedge": FixedShare(0.0), "adahedge": AdaHedge(np.zeros(3), np.zeros(1))}
    shares, rule = np.full(3, 1 / 3), rules[name]
    for t in range(300):
        dealt(rule, np.arange(3), shares, np.eye(3)[t % 2], weight if t % 7 else 1.0)
        assert np.isfinite(shares).all()
        assert shares.sum() == pytest.approx(1)


@plain
def test_a_voice_comes_back_from_the_smallest_share() -> None:
    shares, voices = np.full(2, 0.5), np.arange(2)
    for losses in [[0.0, 9.0]] * 500 + [[9.0, 0.0]] * 500:
        dealt(FixedShare(0.0), voices, shares, np.array(losses), 1.0)
    assert shares[1] == pytest.approx(1)


def test_members_whose_records_have_the_same_names_and_types() -> None:
    """The work spaces of OS-ELM and of FOGD are called alike, and have fields of the same types: to machine code they are two."""
    X, y = problem("two")
    for members in ([OSELMClassifier(5, random_state=0)], [FOGD(5, random_state=0)]):
        committee = Committee(members).partial_fit(X, y, classes=[False, True])
        (member,) = committee.members_.values()
        assert snapshot(member) == snapshot(members[0].partial_fit(X, y, classes=[False, True]))


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
def test_members_keep_their_places() -> None:
    """Shares belong to places: another order would hand them to others."""
    X, y = problem("two")
    model = Committee([("line", AROWClassifier()), ("step", PAClassifier())]).fit(X, y)
    before = snapshot(model)
    (line, step) = model.members
    model.set_params(members=[step, line])
    with pytest.raises(ValueError, match="no longer fit"):
        model.predict(X)
    assert snapshot(model.set_params(members=[line, step])) == before


@plain
def test_a_list_of_members_that_was_changed_in_place_is_not_saved(tmp_path: Path) -> None:
    X, y = problem("two")
    model = Committee([("line", AROWClassifier())]).fit(X, y)
    model.members.append(("step", PAClassifier()))
    with pytest.raises(ValueError, match="changed in place"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@plain
@pytest.mark.parametrize("shares", [[np.inf, 0, 0, 0], [-1, 2, 0, 0], [1, 1, 0, 0]])
def test_shares_of_a_damaged_file(tmp_path: Path, shares: list[float]) -> None:
    X, y = problem("two")
    model = Committee().fit(X, y)
    model._state.arrays["shares"][:] = shares
    model.save(tmp_path / "model")
    with pytest.raises(onepass.ModelFileError, match="shares"):
        onepass.load(tmp_path / "model")


@plain
def test_shares_are_read_as_a_whole() -> None:
    """A reader beside a writer: whatever is read sums to 1."""
    X, y = problem("two")
    model = Committee([(f"m{i}", PAClassifier(C=2.0**-i)) for i in range(12)]).fit(X, y)
    sums, over = list[float](), Event()

    def read() -> None:
        while not over.is_set():
            sums.append(sum(model.shares_.values()))

    with ThreadPoolExecutor() as pool:
        reader = pool.submit(read)
        for t in range(20 * N):
            model.learn_one(X[t % N], y[t % N])
        over.set()
        reader.result()
    assert sums == pytest.approx([1] * len(sums))


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
        ([("", AROWClassifier())], "can be printed"),
        ([("a\ud800", AROWClassifier())], "can be printed"),
        ([("a now", AROWClassifier())], "other voices"),
        ([("product", AROWClassifier())], "other voices"),
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
        mean = square = n = trend = near = usual = last = 0.0
        for t, x in enumerate(X[:, j].tolist()):
            deviation = np.sqrt(square)
            z = min(max((x - mean) / deviation, -4), 4) if deviation > 0 else 0.0
            shown[t, j] = z
            if x != last:
                near += (abs(z - trend) - near) / min(t + 1, 100)
                usual += (abs(z - trend) - usual) / (t + 1)
            last = x
            trend += (z - trend) / 100
            ratio = near / usual if n > 100 and near < usual / 2 else 1.0
            n = min(n, 100) if abs(trend) > 1 or ratio < 1 else n
            square *= ratio**2
            trend, deviation = trend / ratio, deviation * ratio
            near = near / ratio
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
    X, y = problem(task, 300)
    X = X * [1, 10, 0.1, 1] + 5
    X[100] *= 30
    X[120:, 1] -= 200
    X[150:, 2] = 5 + (X[150:, 2] - 5) / 50
    X[170:200, 3] = 7
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
    moved, wild, shrunk, stuck = X.copy(), X.copy(), X.copy(), X.copy()
    moved[1500:] += 20
    wild[rng.random(3000) < 0.002] *= 1e6
    shrunk[1500:] /= 20
    stuck[1000:1900, 2] = 0.3
    stuck[1000:1900, 1] = 0
    for rows in (X, moved, wild, shrunk, stuck):
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
def test_the_first_number_of_a_late_feature_is_bounded() -> None:
    """Nothing is known of its size; one of a billion would be the weights of all members for good."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y, errors = X[:, 0] + X[:, 1], list[float]()
    for size in (1.0, 1e9):
        rows = [{"a": a, "b": b} | ({"c": c * size} if t >= 500 else {}) for t, (a, b, c) in enumerate(X.tolist())]
        scores = AutoRegressor("fast", random_state=0, grow="features").test_then_train(rows, y).ravel()
        errors.append(float(np.mean((scores[1500:] - y[1500:]) ** 2)))
    assert errors[1] == pytest.approx(errors[0], rel=0.05)


@plain
def test_deviations_below_the_range_of_numbers() -> None:
    X, y = problem("two")
    X[:, 1] = np.round(X[:, 1]) * 1.58e-162
    scores = Auto("fast", random_state=0).test_then_train(X, y, classes=[False, True])
    assert np.isfinite(scores).all()


@plain
def test_files_from_before_scaling_followed_features_that_shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem("two")
    model, file = Auto("fast", random_state=0).partial_fit(X, y, classes=[False, True]), io.BytesIO()
    pack = Scaler._pack

    def packed(self: Any) -> Any:
        header, arrays = pack(self)
        return header, {name: array for name, array in arrays.items() if name not in ("near", "usual", "last")}

    monkeypatch.setattr(Scaler, "_pack", packed)
    model.save(file)
    loaded = onepass.load(io.BytesIO(file.getvalue()))
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    loaded.partial_fit(X, y)


@plain
def test_members_forget_and_scaling_does_not() -> None:
    committee = Committee(shares="adahedge")
    X, y = problem("two")
    committee.partial_fit(X, y, classes=[False, True])
    alone = AROWClassifier().partial_fit(X, y, classes=[False, True])
    for model in (committee, alone):
        check_forgets(model)
        forget(model)
    committee.partial_fit(X, y)
    alone.partial_fit(X, y)
    assert snapshot(committee.members_["arowclassifier"]) == snapshot(alone)
    for model in (Auto("fast"), Committee([PAClassifier()])):
        with pytest.raises(ValueError, match="Say 'reset'"):
            check_forgets(model)


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
