"""The support set: never beyond its budget, growing without haste, the same through every door, and never trusted from a file."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

import onepass
from files import array, put, rewrite
from onepass import BudgetPA, KernelOGD, KernelPA, KernelPARegressor, KernelPerceptron, ModelFileError
from onepass.base import Regressor
from onepass.compiled.book import CAME, KIND, SIZE
from onepass.kernel.model import FIRST_ENTRIES, FIRST_SLOTS, NARROW, KernelModel
from shared import plainest_first
from test_contract import WAYS, Case, saved_and_loaded, snapshot, through_doors

POLICIES = ("stop", "random", "oldest", "redundant")


def problem(n: int = 300, width: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Rows of two classes of which most are support vectors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    return X, np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)


def far_apart(n: int) -> Any:
    """Rows that know nothing of each other: all of them become support vectors."""
    return 100.0 * np.arange(n)[:, None]


def wide(X: Any) -> Any:
    """The same rows as CSR, with so many columns that support vectors are kept sparse."""
    return sp.hstack([sp.csr_array(X), sp.csr_array((len(X), NARROW))], format="csr")


def dicts(X: Any) -> list[dict[str, float]]:
    return [{f"f{j}": value for j, value in enumerate(row)} for row in X.tolist()]


# --- the budget ---


WAYS_TO_KEEP_IT: dict[str, tuple[Any, ...]] = {
    "policy": POLICIES,
    "strategy": ("simple", "nearest", "projecting"),
    "maintenance": ("remove", "project", "merge"),
    "sampling": ("uniform", "weighted"),
    "plus": (False, True),
}


def budgeted(*tasks: str) -> list[Case]:
    """Every learner that takes a budget, in each of its ways to keep it."""
    found = []
    for name in plainest_first(onepass.learners()):
        cls = onepass.learners()[name]
        if issubclass(cls, KernelModel) and "budget" in cls().get_params():
            ways = [{way: value} for way, values in WAYS_TO_KEEP_IT.items() if way in cls().get_params() for value in values]
            forms = ("regression",) if issubclass(cls, Regressor) else tasks
            found += [Case(name, task, way) for task in forms for way in ways or [{}]]
    return found


@pytest.mark.plain
@pytest.mark.parametrize("case", budgeted("binary", "multiclass"), ids=str)
def test_a_budget_is_never_exceeded(case: Case) -> None:
    X, y = case.data(120)
    X[40:60] = X[20:40]
    X[::17] = 0
    for budget in (1, 2, 3):
        model, sizes = case.model(budget=budget, **case.classes), []
        for x, target in zip(X[:60], y[:60], strict=True):
            model.learn_one(x, target)
            sizes.append(model.support_size_)
        for start, stop in ((60, 61), (61, 80), (80, 97), (97, 120)):
            model.partial_fit(X[start:stop], y[start:stop])
            sizes.append(model.support_size_)
        assert max(sizes) == budget
        assert model.support_vectors_.shape == (model.support_size_, X.shape[1])
        assert model.dual_coef_.shape == (4 if case.task == "multiclass" else 1, model.support_size_)


@pytest.mark.plain
@pytest.mark.parametrize("budget", [FIRST_SLOTS - 1, FIRST_SLOTS, FIRST_SLOTS + 1, 2 * FIRST_SLOTS])
@pytest.mark.parametrize("case", budgeted("binary"), ids=str)
def test_a_budget_near_the_room_that_there_is(case: Case, budget: int) -> None:
    """Arrays are as long as the budget and no longer, but for the slot that some rules need to merge a vector into another."""
    X, y = case.data(200)
    gentle = {name: 0.01 for name in ("rate", "C") if name in case.model().get_params()}
    model = case.model(budget=budget, **gentle).partial_fit(X, y)
    slots, most = len(model._state.arrays["born"]), budget + model._guests()
    assert model.support_size_ <= budget
    assert slots == most if model.support_size_ == budget else slots <= most
    assert all(np.isfinite(array).all() for array in model._state.arrays.values())
    model.set_params(budget=model.support_size_).partial_fit(X[:5], y[:5])  # a budget that is used up now
    assert model.support_size_ == model.budget
    assert np.isfinite(model.dual_coef_).all()


@pytest.mark.plain
@pytest.mark.parametrize("average", [None, True])
def test_a_full_stoptron_stands_still(average: Any) -> None:
    X, y = problem()
    model = KernelPerceptron(gamma=1.0, budget=5, policy="stop", average=average).fit(X, y)
    numbers, vectors = model.support_, model.support_vectors_
    coefficients, updates = model._state.arrays["A"].copy(), model.updates_
    model.partial_fit(X, y)
    assert numbers.tolist() == model.support_.tolist()
    assert np.array_equal(vectors, model.support_vectors_)
    assert np.array_equal(coefficients, model._state.arrays["A"])
    assert model.updates_ == updates == 5


def test_the_oldest_goes_first() -> None:
    X = far_apart(50)
    model = KernelPerceptron(gamma=1.0, budget=7, policy="oldest").fit(X, np.arange(50) % 2)
    assert sorted(model.support_) == list(range(43, 50))


@pytest.mark.plain
@pytest.mark.parametrize("average", [pytest.param(None, marks=pytest.mark.compiled), "uniform"])
def test_the_redundant_is_served_best_by_the_others(average: Any) -> None:
    """argmax y_i (f(x_i) - a_i k(x_i, x_i)), f with the new vector already in it."""
    X, y = problem(150)
    model = KernelPerceptron(gamma=1.0, budget=8, policy="redundant", average=average, classes=[-1, 1])
    dropped = 0
    for t in range(len(X)):
        before, coefficients = [] if t == 0 else model.support_.tolist(), {} if t == 0 else coefficients_of(model)
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        gone = set(before) - set(model.support_.tolist())
        if gone:
            coefficients[t] = float(y[t])
            numbers = list(coefficients)
            a, gram = np.array(list(coefficients.values())), rbf_kernel(X[numbers], gamma=1.0)
            standing = y[numbers] * (gram @ a - a * np.diag(gram))
            best = numbers[int(np.argmax(standing[:-1]))]
            assert gone == {best}
            dropped += 1
    assert dropped > 10


def coefficients_of(model: Any) -> dict[int, float]:
    """The coefficients that learn, by the numbers of their vectors."""
    return dict(zip(model.support_.tolist(), model._state.arrays["A"][0, : model.support_size_].tolist(), strict=True))


# --- growing ---


@pytest.mark.plain
@pytest.mark.parametrize("average", [None, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, wide, dicts], ids=["dense", "csr", "wide", "dicts"])
def test_growth_is_the_same_through_every_door(form: Callable[[Any], Any], average: Any) -> None:
    X, y = problem(400)
    rows, doors = form(X), ("learn_one", "partial_fit", "test_then_train")
    parameters = {"gamma": 1.0, "average": average, "random_state": 0, "classes": [-1, 1]}
    whole = KernelPA(**parameters).partial_fit(rows, y)
    assert whole.support_size_ > 2 * FIRST_SLOTS
    fitted = KernelPA(**parameters).fit(rows, y)
    assert snapshot(fitted) == snapshot(whole)
    for first in range(3):
        pieces = KernelPA(**parameters).partial_fit(rows[:1], y[:1])
        cuts = [(stop, doors[(first + k) % 3]) for k, stop in enumerate(range(30, 400, 60))]
        through_doors(pieces, rows[1:], y[1:], cuts, {})
        assert snapshot(pieces) == snapshot(whole)


@pytest.mark.parametrize("form", [np.asarray, wide, dicts], ids=["dense", "wide", "dicts"])
@pytest.mark.parametrize("policy", [None, "redundant"])
def test_growth_is_amortised(form: Callable[[Any], Any], policy: str | None) -> None:
    """Arrays are made anew when they are full, twice as long: a few times for two thousand vectors."""
    X, n = form(far_apart(2000)), 2000
    options = {} if policy is None else {"budget": n, "policy": policy}
    model, sizes, made = KernelPerceptron(gamma=1.0, classes=[0, 1], **options), set(), []
    for start in range(0, n, 50):
        model.partial_fit(X[start : start + 50], np.arange(50) % 2)
        sizes.add(len(model._state.arrays["born"]))
        if not made or made[-1] is not model._state.arrays["A"]:
            made.append(model._state.arrays["A"])
    assert model.support_size_ == n
    assert sorted(sizes) == [64, 128, 256, 512, 1024, 2048 if policy is None else n]
    assert len(made) <= 6 * 6


@pytest.mark.plain
@pytest.mark.parametrize("one", [False, True], ids=["table", "one"])
def test_slots_become_longer_for_a_longer_row(one: bool) -> None:
    rng = np.random.default_rng(0)
    lengths = [3, 0, FIRST_ENTRIES, FIRST_ENTRIES + 1, 5, 200, 7, 100]
    X = np.zeros((len(lengths), NARROW + 500))
    for row, length in zip(X, lengths, strict=True):
        row[rng.permutation(X.shape[1])[:length]] = rng.normal(size=length)
    y = np.arange(len(lengths)) % 2
    model, table = KernelPA(gamma=5.0, classes=[0, 1]), sp.csr_array(X)
    for t in range(len(X)):
        if one:
            model.learn_one(table[t : t + 1], y[t])
        else:
            model.partial_fit(table[t : t + 1], y[t : t + 1])
        held = max(lengths[: t + 1])
        assert max(held, FIRST_ENTRIES) <= model._state.capacities["entries"] <= max(2 * held, FIRST_ENTRIES)
    np.testing.assert_array_equal(model.support_vectors_.toarray(), X[model.support_])
    expected = model.dual_coef_[0] @ rbf_kernel(X[model.support_], X, gamma=5.0)
    np.testing.assert_allclose(model.decision_function(table), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.plain
def test_a_dense_row_joins_sparse_vectors() -> None:
    X, y = problem(60, width=NARROW + 10)
    X[:, 50:] = 0
    model = KernelPA(gamma=0.1, classes=[-1, 1]).partial_fit(sp.csr_array(X[:30]), y[:30])
    model.partial_fit(X[30:], y[30:])
    expected = KernelPA(gamma=0.1, classes=[-1, 1]).partial_fit(X, y)
    np.testing.assert_array_equal(model.support_, expected.support_)
    np.testing.assert_array_equal(model.support_vectors_.toarray(), expected.support_vectors_)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), rtol=1e-9, atol=1e-12)


@pytest.mark.plain
def test_labels_may_come_when_the_set_is_large() -> None:
    X = far_apart(200)
    model = KernelPerceptron(gamma=1.0, grow=True).partial_fit(X[:150], np.arange(150) % 3)
    before = model.dual_coef_
    model.partial_fit(X[150:], np.arange(50) % 5 + 3)
    assert model.dual_coef_.shape[0] == 8
    np.testing.assert_array_equal(model.dual_coef_[:3, : before.shape[1]], before)
    np.testing.assert_array_equal(model.dual_coef_[3:, : before.shape[1]], 0)
    assert model.predict(X[150:]).tolist() == (np.arange(50) % 5 + 3).tolist()


# --- what can be seen ---


@pytest.mark.plain
@pytest.mark.parametrize("average", [None, True, "uniform", 20.0], ids=str)
@pytest.mark.parametrize("budget", [None, 12])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_support_set_is_the_model(task: str, budget: int | None, average: Any) -> None:
    case = Case("KernelPARegressor" if task == "regression" else "KernelPA", task, {"budget": budget, "average": average})
    X, y = case.data(100)
    model = case.model().partial_fit(X, y, **case.classes)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.dual_coef_.shape[1] == len(model.support_) == model.support_size_
    assert budget is None or model.support_size_ == budget
    scores = model.predict(X) if task == "regression" else model.decision_function(X)
    expected = model.dual_coef_ @ rbf_kernel(model.support_vectors_, X, gamma=0.5)
    if task == "regression":
        expected += model.target_mean_
    np.testing.assert_allclose(scores, expected.T if task == "multiclass" else expected[0], rtol=1e-10, atol=1e-12)


@pytest.mark.plain
def test_nothing_can_be_seen_of_a_fresh_model() -> None:
    for name in ("support_size_", "support_", "support_vectors_", "dual_coef_"):
        with pytest.raises(AttributeError, match="not learned anything"):
            getattr(KernelPA(), name)


@pytest.mark.plain
def test_a_model_without_a_support_vector() -> None:
    X, _ = problem(5)
    model = KernelPARegressor(epsilon=10.0).fit(X, np.ones(5))
    assert model.support_size_ == 0
    assert model.support_vectors_.shape == (0, 3)
    assert model.dual_coef_.shape == (1, 0)
    assert model.predict(X).tolist() == [1.0] * 5  # the mean


# --- files ---


@pytest.mark.plain
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", [np.asarray, wide], ids=["dense", "wide"])
def test_going_on_where_the_set_is_full(way: str, form: Callable[[Any], Any], tmp_path: Path) -> None:
    """Stopped just before its arrays become longer, and just after."""
    X, labels = form(far_apart(200)), np.arange(200) % 2
    for stop in (FIRST_SLOTS - 1, FIRST_SLOTS, FIRST_SLOTS + 1):
        model = KernelPerceptron(gamma=1.0, average=True, random_state=0, classes=[0, 1]).partial_fit(X[:stop], labels[:stop])
        assert model.support_size_ == stop
        other = WAYS[way](model, tmp_path)
        model.partial_fit(X[stop:], labels[stop:])
        for t in range(stop, 200):
            other.learn_one(X[t] if isinstance(X, np.ndarray) else X[t : t + 1], labels[t])
        assert snapshot(other) == snapshot(model)


@pytest.mark.plain
@pytest.mark.parametrize("policy", POLICIES)
def test_going_on_with_a_full_budget(policy: str, tmp_path: Path) -> None:
    X, y = problem()
    model = KernelOGD(rate=0.5, lam=0.1, gamma=1.0, budget=15, policy=policy, random_state=3).fit(X[:200], y[:200])
    other = saved_and_loaded(model, tmp_path)
    assert snapshot(other.partial_fit(X[200:], y[200:])) == snapshot(model.partial_fit(X[200:], y[200:]))


def entry(place: Any, value: Any) -> Callable[[Any], Any]:
    def change(numbers: Any) -> Any:
        numbers[place] = value
        return numbers

    return change


DAMAGE: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "more vectors than slots": array("book", entry(SIZE, 65)),
    "fewer vectors than none": array("book", entry(SIZE, -1)),
    "kind of kernel": array("book", entry(KIND, -1)),
    "kernel": put("parameters", "kernel", value="precomputed"),
    "feature out of range": array("index", entry((2, 0), NARROW + 3)),
    "negative feature": array("index", entry((2, 0), -1)),
    "more entries than a slot has": array("length", entry(2, 17)),
    "negative length": array("length", entry(2, -1)),
    "short slots": array("values", lambda values: values[:, :8].copy()),
    "few coefficients": array("A", lambda A: A[:, :8].copy()),
    "few averages": array("gap.A", lambda A: A[:, :8].copy()),
    "few norms": array("norms", lambda norms: norms[:8].copy()),
    "few numbers": array("born", lambda born: born[:8].copy()),
    "numbers that are not whole": array("born", lambda born: born.astype(float)),
    "vectors of both kinds": array("Z", lambda Z: np.zeros((NARROW + 4, 64))),
    "no room": array("book", lambda book: book[:3].copy()),
    "pairs that no one keeps": array("gram", lambda gram: np.zeros((64, 64))),
}


@pytest.mark.plain
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused(damage: str, tmp_path: Path) -> None:
    X, y = problem(50)
    KernelPA(gamma=1.0, average=True).fit(wide(X), y).save(tmp_path / "model")
    assert onepass.load(tmp_path / "model").support_size_ > 10
    rewrite(tmp_path / "model", DAMAGE[damage])
    with pytest.raises(ModelFileError):
        onepass.load(tmp_path / "model")


@pytest.mark.plain
def test_neighbours_out_of_range_are_refused(tmp_path: Path) -> None:
    X, y = problem(50)
    for neighbour in (-1, 11):
        BudgetPA(strategy="nearest", budget=10, gamma=1.0).fit(X, y).save(tmp_path / "model")
        onepass.load(tmp_path / "model")
        rewrite(tmp_path / "model", array("nearest", entry(3, neighbour)))
        with pytest.raises(ModelFileError):
            onepass.load(tmp_path / "model")


@pytest.mark.plain
def test_a_damaged_file_of_given_values_is_refused(tmp_path: Path) -> None:
    X, y = problem(50)
    gram = rbf_kernel(X, gamma=1.0)
    for change in (
        array("index", entry((2, 0), 50)),
        array("index", lambda index: index[:, :0].copy()),
        put("state", "n_features", value=20),
        put("parameters", "kernel", value="rbf"),
    ):
        KernelPA(kernel="precomputed").fit(gram, y).save(tmp_path / "model")
        rewrite(tmp_path / "model", change)
        with pytest.raises(ModelFileError):
            onepass.load(tmp_path / "model")


@pytest.mark.plain
def test_numbers_of_examples_are_not_trusted(tmp_path: Path) -> None:
    """The count of the examples names rows of given kernel values."""
    X, y = problem(50)
    gram = rbf_kernel(X, gamma=1.0)
    KernelPA(kernel="precomputed").fit(gram, y).save(tmp_path / "model")
    rewrite(tmp_path / "model", array("book", entry(CAME, -(10**12) - 3)))
    model = onepass.load(tmp_path / "model")
    model.partial_fit(gram, y)
    assert np.isfinite(model.decision_function(gram)).all()


# --- what hurts ---


def told(model: Any, X: Any, labels: Any, one: bool) -> list[str]:
    """What the model warns of while it learns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if one:
            for x, label in zip(X, labels, strict=True):
                model.learn_one(x, label)
        else:
            model.partial_fit(X, labels)
    return [str(warning.message) for warning in caught]


@pytest.mark.plain
@pytest.mark.parametrize("one", [False, True], ids=["table", "one"])
def test_a_large_set_warns_once(one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onepass.kernel.model.HURTS", 128)
    X, labels = far_apart(600), np.arange(600) % 2
    model = KernelPerceptron(gamma=1.0, classes=[0, 1])
    assert told(model, X[:128], labels[:128], one) == []
    (message,) = told(model, X[128:], labels[128:], one)
    assert "KernelPerceptron holds 128 support vectors" in message
    assert "budget=16" in message
    assert model.support_size_ == 600


def test_a_budget_never_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onepass.kernel.model.HURTS", 128)
    X, labels = far_apart(600), np.arange(600) % 2
    for policy in POLICIES:
        model = KernelPerceptron(gamma=1.0, classes=[0, 1], budget=500, policy=policy)
        assert told(model, X, labels, one=False) == []
        assert model.support_size_ == 500


# --- readers and a writer ---


@pytest.mark.slow
@pytest.mark.parametrize("average", [None, True])
@pytest.mark.parametrize("form", [np.asarray, wide], ids=["dense", "wide"])
def test_readers_while_the_set_grows(form: Callable[[Any], Any], average: Any) -> None:
    X, y = problem(3000)
    rows = form(X)
    model = KernelPA(gamma=1.0, average=average, classes=[-1, 1]).partial_fit(rows[:10], y[:10])
    model.predict(rows[:10])
    done, failed = threading.Event(), []

    def read() -> None:
        while not done.is_set():
            try:
                assert np.isfinite(model.decision_function(rows[:200])).all()
                model.predict_one(X[0] if isinstance(rows, np.ndarray) else rows[:1])
            except BaseException as error:
                failed.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    try:
        for start in range(10, 3000, 23):
            model.partial_fit(rows[start : start + 23], y[start : start + 23])
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not failed, failed[0]
    assert model.support_size_ > 4 * FIRST_SLOTS
    alone = KernelPA(gamma=1.0, average=average, classes=[-1, 1]).partial_fit(rows, y)
    np.testing.assert_array_equal(model.decision_function(rows), alone.decision_function(rows))


@pytest.mark.plain
def test_a_budget_that_is_not_used_up_changes_nothing() -> None:
    """Many vectors near each other: to let the others stand for one that they span comes to the same as to take it in."""
    X, y = onepass.datasets.rotating_xor(3000, 100, random_state=0)
    plain = onepass.KernelPA(gamma=1.0).test_then_train(X, y, classes=[0, 1])
    for budget in (200, 400):
        model = onepass.BudgetPA(strategy="projecting", budget=budget, gamma=1.0)
        scores = model.test_then_train(X, y, classes=[0, 1])
        assert model.support_size_ < budget
        assert np.mean((scores >= 0) != (plain >= 0)) < 0.005
