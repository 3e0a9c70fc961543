"""LocalPA against its plain twin, its steps against the problem that they are said to solve, and its prototypes against k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from onepass import LocalPA
from optimum import check_step

N, D = 300, 4
STORAGE = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
TASK = pytest.mark.parametrize("task", ["binary", "multiclass"])
FORM = pytest.mark.parametrize(
    "parameters", [{}, {"lam": 2.0, "C": 0.05}, {"shared": False, "C": 0.3}], ids=["LOL", "reluctant", "I-LOL"]
)


def problem(task: str, n: int = N) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.8)
    X[3] = X[1]  # one of the first rows comes twice: it is no second prototype
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)
    return X, (signal > 0).astype(int) if task == "binary" else np.digitize(signal, [-0.7, 0.0, 0.7])


class Twin:
    """The plainest form: prototypes as running means, u and v_k as they are written, for K >= 2 classes or one margin."""

    def __init__(self, K: int, classes: int, width: int, C: float = 1.0, shared: bool = True, lam: float = 0.3) -> None:
        self.K, self.C, self.shared, self.lam = K, C, shared, lam
        rows = 1 if classes == 2 else classes
        self.p: list[Any] = []
        self.n: list[int] = []
        self.u, self.v = np.zeros((rows, width)), np.zeros((K, rows, width))

    def nearest(self, x: Any) -> int:
        return int(np.argmin([np.sum((x - p) ** 2) for p in self.p])) if self.p else 0

    def scores(self, x: Any) -> Any:
        return (self.u + self.v[self.nearest(x)]) @ x

    def learn(self, x: Any, y: int, weight: float) -> None:
        k, f = self.nearest(x), self.scores(x)
        if len(f) == 1:
            signs = np.array([1.0 if y == 1 else -1.0])
        else:
            signs = np.zeros(len(f))
            r = max((c for c in range(len(f)) if c != y), key=lambda c: f[c])
            signs[y], signs[r] = 1, -1
        loss = max(0.0, 1 - signs @ f)
        factor = 1 + 1 / self.lam if self.shared else 1.0
        tau = min(weight * self.C, loss / (factor * (x @ x) * np.count_nonzero(signs)))
        if self.shared:
            self.u += tau * np.outer(signs, x)
        self.v[k] += (tau / self.lam if self.shared else tau) * np.outer(signs, x)
        if len(self.p) < self.K and not any(np.array_equal(x, p) for p in self.p):
            self.p.append(x.copy())
            self.n.append(1)
        else:
            self.n[k] += 1
            self.p[k] += (x - self.p[k]) / self.n[k]


@TASK
@STORAGE
@FORM
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "plain"])
def test_twin(task: str, storage: Any, parameters: dict[str, Any], fit_intercept: bool) -> None:
    X, y = problem(task)
    weights = np.random.default_rng(1).choice([0.25, 1.0, 2.0], size=N)
    model = LocalPA(7, **parameters, fit_intercept=fit_intercept)
    scores = model.test_then_train(storage(X), y, classes=np.unique(y), sample_weight=weights)
    rows = np.column_stack([np.ones(N), X]) if fit_intercept else X
    twin, expected = Twin(7, len(np.unique(y)), rows.shape[1], **parameters), []
    for x, label, weight in zip(rows, y, weights, strict=True):
        expected.append(twin.scores(x))
        twin.learn(x, label, weight)
    np.testing.assert_allclose(scores, np.squeeze(expected), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.prototypes_, np.array(twin.p)[:, -D:], rtol=1e-9, atol=1e-9)
    assert N // 5 < model.updates_ < N


@pytest.mark.plain
@TASK
def test_average_is_that_of_the_weights(task: str) -> None:
    """The mean of all weights so far, with the prototypes of now."""
    X, y = problem(task, 60)
    model = LocalPA(5, average="uniform", fit_intercept=False)
    model.partial_fit(X, y, classes=np.unique(y))
    twin, u, v = Twin(5, len(np.unique(y)), D), [], []
    for x, label in zip(X, y, strict=True):
        twin.learn(x, label, 1.0)
        u.append(twin.u.copy())
        v.append(twin.v.copy())
    twin.u, twin.v = np.mean(u, axis=0), np.mean(v, axis=0)
    expected = np.squeeze([twin.scores(x) for x in X])
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)


@TASK
@FORM
def test_a_step_solves_its_problem(task: str, parameters: dict[str, Any]) -> None:
    """min 1/2 |u - u_t|^2 + lam/2 |v_k - v_k,t|^2 + C loss, with sqrt(lam) v_k as unknowns a problem of passive-aggressive learning.

    The problem is about all weights: those of other prototypes stay, and so does u where nothing is shared.
    """
    X, y = problem(task)
    model = LocalPA(3, **parameters).partial_fit(X[:100], y[:100], classes=np.unique(y))
    lam, name = (model.lam if model.shared else 1.0), ("w" if task == "binary" else "W")
    moved = 0
    for x, label in zip(X[100:130], y[100:130], strict=True):
        k = int(np.argmin(((model.prototypes_ - x) ** 2).sum(axis=1)))
        before, row = np.atleast_3d(model._state.arrays[name].T).T.copy(), np.append(1.0, x)  # (classes or 1, models, features)
        f = model.decision_function(x[None])[0]
        signs = np.zeros(len(before))
        if task == "binary":
            signs[0] = 1 if label == 1 else -1
        else:
            signs[label], signs[max((c for c in range(len(f)) if c != label), key=lambda c: f[c])] = 1, -1
        model.partial_fit(x[None], [label])
        after = np.atleast_3d(model._state.arrays[name].T).T
        others = [m for m in range(4) if m != k + 1 and (m != 0 or not model.shared)]
        np.testing.assert_array_equal(after[:, others], before[:, others])
        root = np.sqrt([1.0, lam])[:, None]
        seen = [0, k + 1] if model.shared else [k + 1]
        scale = root if model.shared else root[1:]
        z0, z = (scale * before[:, seen]).ravel(), (scale * after[:, seen]).ravel()
        example = (np.einsum("c,f->cf", signs, row)[:, None, :] / scale).ravel()
        check_step("I", model.C, z0, z, lambda v, example=example: 1 - float(v @ example))
        moved += not np.array_equal(before, after)
    assert moved > 8


@STORAGE
def test_prototypes_are_means_of_their_rows(storage: Any) -> None:
    X, y = problem("binary")
    model, groups = LocalPA(6), [[] for _ in range(6)]
    for t in range(N):
        model.partial_fit(storage(X[t : t + 1]), y[t : t + 1], classes=[0, 1])
        means = [np.mean(group, axis=0) for group in groups if group]
        same = [np.allclose(X[t], mean, rtol=0, atol=1e-13) for mean in means]
        if len(means) < 6 and not any(same):
            groups[len(means)].append(X[t])
        else:
            groups[int(np.argmin([((X[t] - mean) ** 2).sum() for mean in means]))].append(X[t])
    np.testing.assert_allclose(model.prototypes_, [np.mean(group, axis=0) for group in groups], rtol=1e-9, atol=1e-12)


@pytest.mark.plain
@pytest.mark.parametrize("kind", [np.float64, np.float32], ids=["double", "single"])
@STORAGE
def test_large_numbers_with_small_differences_are_told_apart(kind: Any, storage: Any) -> None:
    X = (2000 + np.array([[0.0], [1.0], [0.0], [2.0], [1.0], [0.5]])).astype(kind)
    model = LocalPA(10).partial_fit(storage(X), [0, 1, 0, 1, 0, 1], classes=[0, 1])
    np.testing.assert_allclose(model.prototypes_.ravel(), [2000, 2001, 2002, 2000.5])


@pytest.mark.plain
def test_growing_prototypes() -> None:
    """A model of dicts has the scores and prototypes of one that knew all features and classes from the start."""
    X, y = problem("binary")
    X[:100, 2:] = 0
    X[0, :2], X[100] = 0.5, 0.7
    names = [f"f{j}" for j in range(D)]
    dicts = [{name: value for name, value in zip(names, x, strict=True) if value != 0} for x in X.tolist()]
    growing, whole = LocalPA(200, classes=[0, 1]), LocalPA(200)
    scores = growing.test_then_train(dicts, y)
    np.testing.assert_allclose(scores, whole.test_then_train(X, y, classes=[0, 1]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(growing.prototypes_, whole.prototypes_, rtol=1e-12)
    assert growing.prototypes_.shape == (200, D)


def test_local_models_do_what_one_line_cannot() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    error = {K: 1 - LocalPA(K, average=True).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:]) for K in (1, 40)}
    assert error[1] > 0.3
    assert error[40] < 0.08
