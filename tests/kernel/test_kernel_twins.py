"""Every kernel learner against its plain NumPy twin: scores before each step, and the support set after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numba.core import config
from sklearn.metrics.pairwise import rbf_kernel

import naive_kernel
import onepass
from onepass.kernel.model import NARROW, KernelModel

pytestmark = pytest.mark.plain

N, D, K = 80, 4, 4
SEEDS = range(2 if config.DISABLE_JIT else 3)  # without the compiler a pass takes fifty times as long
KERNELS: dict[str, Callable[[Any, Any], float]] = {
    "rbf": lambda x, z: float(np.exp(-0.3 * ((x - z) ** 2).sum())),
    "poly": lambda x, z: float((0.2 * (x @ z) + 0.5) ** 2),  # rows differ in k(x, x)
    "linear": lambda x, z: float(x @ z),  # which may be 0
}
OPTIONS: dict[str, dict[str, Any]] = {
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "poly": {"kernel": "poly", "gamma": 0.2, "degree": 2, "coef0": 0.5},
    "linear": {"kernel": "linear"},
}


@dataclass(eq=False)
class Case:
    name: str
    task: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, self.task, *(f"{k}={v}" for k, v in self.parameters.items())])

    def model(self, **more: Any) -> Any:
        plain = {"scale_target": False} if self.task == "regression" else {}  # see base/test_targets.py
        return onepass.learners()[self.name](**self.parameters, **plain, **more)

    def twin(self, kernel: str, fit_intercept: bool = False, average: Any = None) -> Any:
        plain = KERNELS[kernel]
        return getattr(naive_kernel, self.name)(
            lambda x, z: plain(x, z) + fit_intercept, K if self.task == "multiclass" else 1, average, **self.parameters
        )


def cases(name: str, **parameters: Any) -> list[Case]:
    tasks = ("regression",) if "Regressor" in name else ("binary", "multiclass")
    return [Case(name, task, parameters) for task in tasks]


# Steps are powers of two: sums of such are exact, and so it is the same to model and twin which of equal rivals comes first.
POLICIES = ("stop", "random", "oldest", "redundant")
PLAIN = [
    *cases("KernelPerceptron"),
    *(case for variant in ("hard", "I", "II") for case in cases("KernelPA", variant=variant, C=0.5)),
    *(case for variant in ("hard", "I", "II") for case in cases("KernelPARegressor", variant=variant, C=0.5, epsilon=0.2)),
    *cases("KernelOGD", rate=0.25),
    *cases("KernelOGD", rate=0.5, lam=0.1),
    *cases("KernelOGD", rate=0.5, lam=0.8),  # vectors are let go within the data
]
BUDGETED = [
    case
    for policy in POLICIES
    for budget in (1, 7)
    for case in (
        *cases("KernelPerceptron", budget=budget, policy=policy),
        *cases("KernelPA", budget=budget, policy=policy),
        *cases("KernelPARegressor", budget=budget, policy=policy),
        *cases("KernelOGD", budget=budget, policy=policy),
        *cases("KernelOGD", budget=budget, policy=policy, rate=0.5, lam=0.8),
    )
]
# One with each thing that is averaged: coefficients that stay, that shrink, that are dropped.
AVERAGED = [
    *cases("KernelPA", C=0.5),
    *cases("KernelPA", budget=7, policy="redundant"),
    *cases("KernelPARegressor", budget=7),
    *cases("KernelPerceptron", budget=7, policy="random"),
    *cases("KernelOGD", rate=0.5, lam=0.8),
    *cases("KernelOGD", rate=0.5, lam=0.1, budget=7),
]


# Learners whose step is made for a budget, and with which kernels: those that project need independent vectors.
SPECIAL = {
    case: kernels
    for found, kernels in (
        (cases("SparsePA", C=0.5, beta=2.0), ("rbf", "poly", "linear")),
        (cases("SparsePA", C=0.5, beta=1.0), ("rbf", "poly", "linear")),
        (cases("Projectron"), ("rbf", "poly", "linear")),
        (cases("Projectron", plus=True), ("rbf", "poly", "linear")),
        (cases("Projectron", plus=True, threshold=0.6), ("rbf", "poly", "linear")),
        (cases("NOGD", budget=10, rank=4), ("rbf", "poly")),
        (cases("NOGD", budget=7), ("rbf", "poly")),
        (cases("NOGD", budget=7, rank=3), ("rbf", "poly", "linear")),
        *(
            (found, kernels)
            for budget in (1, 2, 7)
            for found, kernels in (
                (cases("Forgetron", budget=budget), ("rbf", "poly", "linear")),
                (cases("Projectron", budget=budget), ("rbf", "poly")),
                (cases("Projectron", budget=budget, plus=True), ("rbf", "poly")),
                (cases("BudgetPA", budget=budget, C=0.5), ("rbf", "poly", "linear")),
                (cases("BudgetPA", budget=budget, C=0.5, strategy="nearest"), ("rbf", "poly")),
                (cases("BudgetPA", budget=budget, C=0.5, strategy="projecting"), ("rbf", "poly")),
                (cases("BOGD", budget=budget, lam=0.1), ("rbf", "poly", "linear")),
                (cases("BOGD", budget=budget, sampling="weighted", limit=1.5), ("rbf", "poly", "linear")),
                (cases("BSGD", budget=budget, lam=0.1, maintenance="remove"), ("rbf", "poly", "linear")),
                (cases("BSGD", budget=budget, lam=0.1, maintenance="project"), ("rbf", "poly")),
                (cases("BSGD", budget=budget, lam=0.1, maintenance="merge"), ("rbf",)),
            )
        ),
    )
    for case in found
}


def problem(task: str, seed: int = 0, twice: bool = True) -> tuple[Any, Any, Any]:
    """Rows, targets as the learners take them and as the twins do. Some rows come twice, with their target or with another, and some
    are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.8)
    signal = X[:, 0] * X[:, 1] + 0.7 * X[:, 2] + 0.3 * rng.normal(size=N)
    if twice:
        X[::13] = 0
        X[20:30] = X[5:15]
        X[60:70] = X[25:35]
        signal[20:25] = signal[5:10]
    else:
        X += 0.01 * rng.normal(size=X.shape)
    if task == "binary":
        return X, signal > 0, np.where(signal > 0, 1.0, -1.0)
    if task == "multiclass":
        labels = np.digitize(signal, [-0.8, 0.0, 0.8])
        return X, np.array(["a", "b", "c", "d"])[labels], labels
    return X, signal, signal


def spread(X: Any) -> Any:
    """The rows with so many empty columns that support vectors are kept sparse."""
    return sp.hstack([sp.csr_array(X), sp.csr_array((len(X), NARROW))], format="csr")


def vectors_of(model: Any) -> Any:
    vectors = model.support_vectors_
    return (vectors.toarray() if sp.issparse(vectors) else vectors)[:, :D]


def agree(case: Case, kernel: str = "rbf", seed: int = 0, weights: Any = None, storage: Any = np.asarray, **more: Any) -> Any:
    """Let the model and its twin learn side by side, and compare them at every step."""
    projects = "projecting" in case.parameters.values() or "project" in case.parameters.values()
    X, y, codes = problem(case.task, seed, case not in SPECIAL or projects)
    chance = {"random_state": seed} if "random_state" in case.model().get_params() else {}
    model = case.model(**OPTIONS[kernel], **{**chance, **more})
    twin = case.twin(kernel, model.fit_intercept, model.average)
    classes = {} if case.task == "regression" else {"classes": np.unique(y)}
    told = storage(X)
    for t in range(N):
        weight = 1.0 if weights is None else weights[t]
        expected = twin.shown(X[t])
        score = model.test_then_train(told[t : t + 1], y[t : t + 1], **classes, sample_weight=[weight])
        np.testing.assert_allclose(score.ravel(), expected, rtol=1e-9, atol=1e-10, err_msg=f"row {t}")
        if weight > 0:
            twin.learn(X[t], codes[t], weight, dict(zip(model.support_.tolist(), vectors_of(model), strict=True)))
        assert sorted(model.support_) == sorted(v.born for v in twin.vectors), f"after row {t}"
    order = np.argsort(model.support_)
    expected = [v.a if twin.average is None else v.mean for v in sorted(twin.vectors, key=lambda v: v.born)]
    np.testing.assert_allclose(model.dual_coef_.T[order], expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(vectors_of(model)[order], [v.x for v in sorted(twin.vectors, key=lambda v: v.born)])
    assert model.updates_ > N // 10 or case.parameters.get("policy") == "stop", "the data must make the learner move"
    return model, twin


def test_every_learner_has_a_twin() -> None:
    kernel_learners = {name for name, cls in onepass.learners().items() if issubclass(cls, KernelModel)}
    assert kernel_learners == {case.name for case in (*PLAIN, *BUDGETED, *SPECIAL)}


@pytest.mark.parametrize("case", PLAIN, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", SEEDS)
def test_without_a_budget(case: Case, kernel: str, seed: int) -> None:
    agree(case, kernel, seed)


@pytest.mark.parametrize("case", BUDGETED, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_with_a_budget(case: Case, kernel: str) -> None:
    for seed in SEEDS:
        agree(case, kernel, seed)


@pytest.mark.parametrize(("case", "kernel"), [(case, kernel) for case in SPECIAL for kernel in SPECIAL[case]], ids=str)
def test_steps_that_are_made_for_a_budget(case: Case, kernel: str) -> None:
    for seed in SEEDS:
        agree(case, kernel, seed)


@pytest.mark.parametrize(
    "case", [case for case in SPECIAL if case.parameters.get("budget", 7) == 7 and SPECIAL[case][-1] != "linear"], ids=str
)
def test_rows_that_come_twice(case: Case) -> None:
    """Zero rows and those that the support vectors span already: all numbers stay such, and a score is what the vectors say."""
    X, y, _ = problem(case.task)
    model = case.model(**OPTIONS["rbf"], max_iter=3).fit(X, y)
    assert all(np.isfinite(array).all() for array in model._state.arrays.values())
    assert np.abs(model.dual_coef_).max() < 1e3
    expected = (model.dual_coef_ @ rbf_kernel(model.support_vectors_, X, gamma=0.3)).T.squeeze()
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", [*AVERAGED, *(case for case in SPECIAL if case.parameters.get("budget", 7) == 7)], ids=str)
@pytest.mark.parametrize("average", [True, "uniform", 15.0], ids=str)
def test_averages(case: Case, average: Any) -> None:
    agree(case, average=average)
    agree(case, seed=1, average=average)


@pytest.mark.parametrize("case", [*PLAIN, *AVERAGED, *SPECIAL], ids=str)
def test_weights(case: Case) -> None:
    choice = [0.0, 1.0] if case.model()._weights_are_switches() else [0.0, 0.25, 1.0, 3.0]
    for seed in SEEDS:
        agree(case, SPECIAL.get(case, ("rbf", "poly"))[-1], seed, weights=np.random.default_rng(seed).choice(choice, size=N))


@pytest.mark.parametrize("case", [*cases("KernelPA"), *cases("KernelPA", budget=7, policy="redundant")], ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, spread], ids=["dense", "narrow", "wide"])
def test_storage_and_intercept(case: Case, storage: Callable[[Any], Any]) -> None:
    agree(case, storage=storage, fit_intercept=True)


def test_a_sample_of_the_examples_with_loss() -> None:
    """As many are taken in as their probabilities say, within four standard deviations."""
    odds: list[tuple[float, bool]] = []
    for seed in range(30):
        (case, _) = cases("SparsePA", C=0.5, beta=2.0)
        odds += agree(case, seed=seed)[1].odds
    rho, taken = np.array(odds).T
    assert abs((taken - rho).sum()) < 4 * np.sqrt((rho * (1 - rho)).sum())


@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
def test_who_is_dropped_follows_the_probabilities(sampling: str) -> None:
    (case, _) = cases("BOGD", budget=7, lam=0.1, sampling=sampling)
    X, y, codes = problem("binary", twice=False)
    model, twin = agree(case)
    t = next(t for t in range(N) if twin.margin(X[t], codes[t]) < 1)
    p = dict(zip([v.born for v in twin.vectors], twin.probabilities(), strict=True))
    gone = dict.fromkeys(p, 0)
    for seed in range(3000):
        other = model.copy()
        other._state.seed = seed
        other.partial_fit(X[t : t + 1], y[t : t + 1])
        (number,) = set(p) - set(other.support_.tolist())
        gone[number] += 1
    for number, chance in p.items():
        assert abs(gone[number] - 3000 * chance) < 4.5 * np.sqrt(3000 * chance * (1 - chance)) + 1e-9


def test_random_victims_follow_the_seed() -> None:
    X, y, _ = problem("binary")
    model = onepass.KernelPerceptron(gamma=0.3, budget=5, policy="random", random_state=1)
    first, again, other = (model.set_params(random_state=seed).fit(X, y).support_.tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_random_victims_are_uniform() -> None:
    """Far apart, every example is a mistake, so that each brings one draw: which of ten goes, and its age, follow from chance alone."""
    X, budget = 100.0 * np.arange(4000)[:, None], 10
    model = onepass.KernelPerceptron(gamma=1.0, budget=budget, policy="random", random_state=0, classes=[0, 1])
    slots = np.zeros(budget)
    before = model.partial_fit(X[:budget], np.zeros(budget)).support_
    for t in range(budget, len(X)):
        after = model.partial_fit(X[t : t + 1], [0]).support_
        (changed,) = np.flatnonzero(before != after)
        slots[changed] += 1
        before = after
    share = (len(X) - budget) / budget
    assert ((slots - share) ** 2 / share).sum() < 27.9  # chi-squared with 9 degrees of freedom: once in a thousand
