"""Steps of budget learners solve the problems that they are said to solve: against solvers, and against all that could be tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from onepass import BSGD, NOGD, BudgetPA, KernelOGD, Projectron

pytestmark = pytest.mark.plain

GAMMA, B = 0.5, 6


def problem(seed: int, n: int = 200) -> tuple[Any, Any]:
    """Labels that no one learns without errors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(rng.random(n) < 0.2, -1, 1) * np.sign(X[:, 0] * X[:, 1])


def last_exchange(model: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """A model whose budget is used up, the same after one more example with loss, and that example."""
    X, y = problem(seed)
    model.partial_fit(X[:100], y[:100], classes=[-1, 1])
    assert model.support_size_ == B
    for x, label in zip(X[100:], y[100:], strict=True):
        before = model.copy()
        model.partial_fit([x], [label])
        if 100 <= model.support_.max() == model.t_ - 1:
            return before, model, x, label
    raise AssertionError("no example had loss")


def on_all(model: Any, vectors: Any) -> Any:
    """The coefficients of a model on these vectors, its own among them."""
    coefficients = np.zeros(len(vectors))
    for vector, a in zip(model.support_vectors_, model.dual_coef_[0], strict=True):
        coefficients[np.flatnonzero((vectors == vector).all(axis=1))[0]] = a
    return coefficients


def smallest_step(K: Any, a: Any, y: float, C: float, free: list[int], gone: int) -> float:
    """min 1/2 |f' - f|^2 + C max(0, 1 - y f'(x)) where the coefficient `gone` is 0 and those in `free` may change; x is the last."""

    def step(values: Any) -> Any:
        d = np.zeros(len(a))
        d[free], d[gone] = values[:-1], -a[gone]
        return d

    def margin(values: Any) -> float:
        return float(y * K[-1] @ (a + step(values)))

    result = minimize(
        lambda v: 0.5 * step(v) @ K @ step(v) + C * v[-1],
        np.append(np.zeros(len(free)), 2.0),
        constraints=[
            {"type": "ineq", "fun": lambda v: v[-1]},
            {"type": "ineq", "fun": lambda v: v[-1] - 1 + margin(v)},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return float(result.fun)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("strategy", ["simple", "nearest", "projecting"])
def test_budget_pa_takes_the_smallest_step(strategy: str, C: float, seed: int) -> None:
    """Over all vectors that could go, and all coefficients that may change."""
    before, after, x, y = last_exchange(BudgetPA(C=C, strategy=strategy, budget=B, gamma=GAMMA), seed)
    vectors = np.vstack([before.support_vectors_, x])
    K = rbf_kernel(vectors, gamma=GAMMA)
    a, b = on_all(before, vectors), on_all(after, vectors)
    reached = 0.5 * (b - a) @ K @ (b - a) + C * max(0.0, 1 - y * K[-1] @ b)

    def free(r: int) -> list[int]:
        others = [i for i in range(B) if i != r]
        nearest = max(others, key=lambda i: K[r, i])
        return {"simple": [B], "nearest": [nearest, B], "projecting": [*others, B]}[strategy]

    best = min(smallest_step(K, a, y, C, free(r), r) for r in range(B))
    assert reached == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_projectron_projects_by_least_squares(seed: int, plus: bool) -> None:
    """A mistake that is projected moves the coefficients by K^-1 k, as scipy's least squares would have it."""
    X, y = problem(seed)
    model = Projectron(budget=B, plus=plus, gamma=GAMMA).partial_fit(X[:100], y[:100], classes=[-1, 1])
    K = rbf_kernel(model.support_vectors_, gamma=GAMMA)
    projected = 0
    for x, label in zip(X[100:], y[100:], strict=True):
        before, margin = model.dual_coef_[0], label * model.decision_function([x])[0]
        model.partial_fit([x], [label])
        move = model.dual_coef_[0] - before
        if margin <= 0:
            d = np.linalg.lstsq(K, rbf_kernel(model.support_vectors_, [x], gamma=GAMMA)[:, 0], rcond=None)[0]
            np.testing.assert_allclose(move, label * d, rtol=1e-6, atol=1e-9)
            projected += 1
        elif not plus:
            assert not move.any()
    assert projected > 10


@pytest.mark.parametrize("seed", range(4))
def test_inverse_stays_the_inverse(seed: int) -> None:
    """After many exchanges, with vectors that come twice among them."""
    X, y = problem(seed, 3000)
    X[1500:] = X[:1500]
    model = BudgetPA(strategy="projecting", budget=B, gamma=GAMMA).partial_fit(X, y, classes=[-1, 1])
    K = rbf_kernel(model.support_vectors_, gamma=GAMMA)
    inverse = model._state.arrays["inverse"][:B, :B]
    np.testing.assert_allclose(inverse @ K, np.eye(B), atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_bsgd_projects_what_loses_least(seed: int) -> None:
    """The function after a projection is as near to the one before as any choice of the vector that goes lets it be."""
    before, after, x, y = last_exchange(BSGD(lam=0.01, maintenance="project", budget=B, gamma=GAMMA), seed)
    vectors = np.vstack([before.support_vectors_, x])
    K = rbf_kernel(vectors, gamma=GAMMA)
    wanted = on_all(before, vectors) * (1 - 1 / after.t_)
    wanted[-1] = y / (0.01 * after.t_)
    gap = on_all(after, vectors) - wanted

    def loss(r: int) -> float:
        others = [i for i in range(B + 1) if i != r]
        d = np.linalg.solve(K[np.ix_(others, others)], K[others, r])
        return float(wanted[r] ** 2 * (K[r, r] - K[others, r] @ d))

    assert gap @ K @ gap == pytest.approx(min(loss(r) for r in range(B)), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_bsgd_merges_well(seed: int) -> None:
    """What a merge loses, against every pair with the least important vector and every mix of theirs: the best mix of its pair, and
    nearly the best pair."""
    before, after, x, y = last_exchange(BSGD(lam=0.01, budget=B, gamma=GAMMA), seed)
    vectors = np.vstack([before.support_vectors_, x])
    wanted = before.dual_coef_[0] * (1 - 1 / after.t_)
    wanted = np.append(wanted, y / (0.01 * after.t_))
    everything = np.vstack([vectors, after.support_vectors_])
    gap = np.concatenate([-wanted, after.dual_coef_[0]])
    lost = gap @ rbf_kernel(everything, gamma=GAMMA) @ gap

    h = np.linspace(0, 1, 2001)
    K = rbf_kernel(vectors, gamma=GAMMA)

    def least(p: int, q: int) -> float:
        a, b, k = wanted[p], wanted[q], K[p, q]
        merged = (a * k ** ((1 - h) ** 2) + b * k ** (h**2)) ** 2
        return float(a * a + b * b + 2 * a * b * k - merged.max())

    sizes = np.abs(wanted[:B])
    p = min(np.flatnonzero(sizes < sizes.min() * (1 + 1e-6)), key=lambda i: before.support_[i])
    choices = [least(p, q) for q in range(B + 1) if q != p]
    assert min(abs(lost - value) for value in choices) < 1e-5 * max(lost, 1e-3)  # the best mix of some pair
    assert lost <= 1.5 * min(choices) + 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_nystrom_features_are_exact_on_the_landmarks(seed: int) -> None:
    """With all eigenvalues z.z' = K among the landmarks, and the model that is carried over is the same."""
    X, y = problem(seed)
    model = NOGD(budget=B, rank=B, gamma=GAMMA)
    plain = KernelOGD(rate=0.5, gamma=GAMMA)
    t = 0
    while t == 0 or model.support_size_ < B:
        for learner in (model, plain):
            learner.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
        t += 1
    K = rbf_kernel(model.support_vectors_, gamma=GAMMA)
    inverse = model._state.arrays["inverse"][:B, :B]
    np.testing.assert_allclose(K @ inverse @ K, K, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rank", [1, 3, B])
def test_nogd_is_gradient_descent_on_its_features(rank: int) -> None:
    """After the landmarks are fixed: the plain linear model on z = D^-1/2 V' k, step by step."""
    X, y = problem(0)
    model = NOGD(rate=0.3, budget=B, rank=rank, gamma=GAMMA).partial_fit(X[:100], y[:100], classes=[-1, 1])
    values, V = np.linalg.eigh(rbf_kernel(model.support_vectors_, gamma=GAMMA))
    M = V[:, -rank:] / np.sqrt(values[-rank:])
    w = np.linalg.lstsq(M, model.dual_coef_[0], rcond=None)[0]
    np.testing.assert_allclose(M @ w, model.dual_coef_[0], rtol=1e-6, atol=1e-9)  # the model lies in the features' span
    for x, label in zip(X[100:], y[100:], strict=True):
        z = rbf_kernel([x], model.support_vectors_, gamma=GAMMA)[0] @ M
        assert model.decision_function([x])[0] == pytest.approx(w @ z, rel=1e-6, abs=1e-9)
        if label * (w @ z) < 1:
            w += 0.3 * label * z
        model.partial_fit([x], [label])
