"""What KOL computes: kernel learners on a9a in file order, RBF with gamma = 0.01, and a budget of 100 where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onepass import BudgetPA, Forgetron, KernelOGD, KernelPerceptron, Projectron
from shared import dataset, golden

RBF: Any = {"kernel": "rbf", "gamma": 0.01}
RUNS = {
    "kernel perceptron": KernelPerceptron(**RBF),
    "kernel OGD": KernelOGD(rate=0.5, **RBF),
    "projectron": Projectron(budget=100, **RBF),
    "projectron++": Projectron(budget=100, plus=True, **RBF),
    "BPA-S": BudgetPA(strategy="simple", budget=100, C=1.0, **RBF),
    "forgetron": Forgetron(budget=100, **RBF),
}


def accuracy(model: Any) -> float:
    """Online, in percent; a score of 0 is an error."""
    a9a = dataset("a9a")
    scores = model.test_then_train(a9a.X, a9a.y, classes=[-1, 1])
    return 100 * float(np.mean(a9a.y * scores > 0))


def published(method: str) -> Any:
    return next(run for run in golden("kol.json")["runs"] if run["method"] == method)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This Kernel")
@pytest.mark.parametrize("method", [name for name in RUNS if name != "forgetron"])
def test_accuracy_and_support_vectors(method: str) -> None:
    """The number of support vectors exactly; the accuracy to the rounding of KOL, which computes in single precision."""
    model, expected = RUNS[method].copy(), published(method)
    assert abs(accuracy(model) - expected["accuracy"]) < 0.05
    assert model.support_size_ == expected["support_vectors"]


def forgetron(X: Any, y: Any, gamma: float, *, other_root: bool) -> float:
    """The Forgetron with all distances worked out, in the order of the paper; the online accuracy in percent. KOL takes the other
    root of the quadratic where its leading coefficient is negative: a factor above 1."""
    vectors, coefficients = [], np.zeros(0)
    damage, mistakes, right = 0.0, 0, 0
    for x, target in zip(X, y, strict=True):
        k = np.exp(-gamma * ((np.array(vectors) - x) ** 2).sum(axis=1)) if vectors else np.zeros(0)
        if target * (coefficients @ k) > 0:
            right += 1
            continue
        mistakes += 1
        vectors.append(x)
        coefficients = np.append(coefficients, target)
        if len(vectors) > 100:
            to_oldest = np.exp(-gamma * ((np.array(vectors) - vectors[0]) ** 2).sum(axis=1))
            delta, mu = abs(coefficients[0]), np.sign(coefficients[0]) * (coefficients @ to_oldest)
            a, b, c = delta**2 - 2 * delta * mu, 2 * delta, damage - 15 / 32 * mistakes
            phi = 1.0
            if a + b + c > 0:
                root = np.sqrt(b * b - 4 * a * c)
                phi = (-b - root) / (2 * a) if other_root and a < 0 else (-b + root) / (2 * a)
            damage += (delta * phi) ** 2 + 2 * delta * phi * (1 - phi * mu)
            coefficients = phi * coefficients[1:]
            vectors.pop(0)
    return 100 * right / len(y)


def test_forgetron_is_the_papers() -> None:
    """On the first rows, where rounding has had no time to part the ways."""
    a9a = dataset("a9a")
    X, y = a9a.X[:3000].toarray(), a9a.y[:3000]
    model = RUNS["forgetron"].copy()
    scores = model.test_then_train(a9a.X[:3000], y, classes=[-1, 1])
    assert 100 * np.mean(y * scores > 0) == pytest.approx(forgetron(X, y, 0.01, other_root=False))
    assert model.support_size_ == 100


@pytest.mark.slow
def test_forgetron_of_kol() -> None:
    """KOL's figure is not the paper's: it is that of a factor above 1, as far as rounding lets one say. Numbers that differ by 1e-7,
    as single precision does, move that figure by half a point either way, and KOL's lies among them; those of the paper's rule
    stay below it."""
    a9a = dataset("a9a")
    X, y = a9a.X.toarray(), a9a.y
    theirs = [forgetron(X, y, 0.01 * (1 + 1e-7 * k), other_root=True) for k in range(-3, 4)]
    assert min(theirs) <= published("forgetron")["accuracy"] <= max(theirs)
    ours = [accuracy(Forgetron(budget=100, kernel="rbf", gamma=0.01 * (1 + 1e-7 * k))) for k in range(-3, 4)]
    assert max(ours) < published("forgetron")["accuracy"]
    assert max(ours) - min(ours) < 0.5
