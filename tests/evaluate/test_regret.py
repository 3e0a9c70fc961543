"""Regret: what is compared, and that the best fixed model is the best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, lsq_linear, minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, QuantileRegressor

from onepass import (
    Adaline,
    AROWRegressor,
    OGDClassifier,
    OGDRegressor,
    PAClassifier,
    PARegressor,
    StandardScaler,
    pipeline,
)
from onepass.evaluate import regret

LOSSES = {
    "hinge": lambda y, f, epsilon: np.maximum(0, 1 - y * f),
    "squared_hinge": lambda y, f, epsilon: np.maximum(0, 1 - y * f) ** 2,
    "log": lambda y, f, epsilon: np.log1p(np.exp(-y * f)),
    "squared": lambda y, f, epsilon: (y - f) ** 2,
    "absolute": lambda y, f, epsilon: np.abs(y - f),
    "epsilon_insensitive": lambda y, f, epsilon: np.maximum(0, np.abs(y - f) - epsilon),
}
CLASSES = ["hinge", "squared_hinge", "log", "squared"]
NUMBERS = ["squared", "absolute", "epsilon_insensitive"]
CASES = [("classes", loss) for loss in CLASSES] + [("numbers", loss) for loss in NUMBERS]
EPSILON = 0.3


def noisy(kind: str, n: int = 60, d: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Rows and targets that no linear model meets."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d)) * np.arange(1, d + 1)
    target = X @ np.linspace(1, -1, d) + random.standard_normal(n) + 0.5
    return X, target if kind == "numbers" else np.where(target > 0, 1, -1)


def learner(kind: str, **parameters: Any) -> Any:
    return PARegressor(epsilon=EPSILON, scale_target=False, **parameters) if kind == "numbers" else PAClassifier(**parameters)


def total(loss: str, X: Any, y: Any, weights: Any) -> float:
    """The sum of the losses of weights, the intercept first."""
    return float(LOSSES[loss](y, weights[0] + X @ weights[1:], EPSILON).sum())


def weights_of(result: Any) -> Any:
    return np.append(result.intercept, result.comparator)


def primal_programme(loss: str, X: Any, y: Any) -> float:
    """min sum(xi) over u, xi >= 0 and xi >= each piece of the loss."""
    n, rows = len(y), np.column_stack([np.ones(len(y)), X])
    if loss == "hinge":
        A, b = y[:, None] * rows, np.ones(n)
    else:
        room = EPSILON if loss == "epsilon_insensitive" else 0
        A, b = np.vstack([rows, -rows]), np.concatenate([y - room, -y - room])
    slack = np.vstack([np.eye(n)] * (len(b) // n))
    cost = np.append(np.zeros(rows.shape[1]), np.ones(n))
    bounds = [(None, None)] * rows.shape[1] + [(0, None)] * n
    return float(linprog(cost, A_ub=-np.hstack([A, slack]), b_ub=-b, bounds=bounds).fun)


def smooth_minimum(loss: str, X: Any, y: Any, radius: float | None = None) -> float:
    """By SLSQP, which takes its derivatives by differences."""
    ball = [] if radius is None else [{"type": "ineq", "fun": lambda u: radius**2 - u @ u}]
    start, options = np.zeros(X.shape[1] + 1), {"ftol": 1e-14, "maxiter": 1000}
    return float(minimize(lambda u: total(loss, X, y, u), start, constraints=ball, method="SLSQP", options=options).fun)


# --- the learner's side ---


@pytest.mark.parametrize(("kind", "loss"), CASES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_losses_are_those_of_the_scores_from_before(kind: str, loss: str, fit_intercept: bool) -> None:
    X, y = noisy(kind)
    result = regret(learner(kind, fit_intercept=fit_intercept), (X, y), loss=loss)
    known = {"classes": [-1, 1]} if kind == "classes" else {}
    scores = learner(kind, fit_intercept=fit_intercept).test_then_train(X, y, **known)
    assert result.loss == loss
    assert result.cumulative == pytest.approx(np.cumsum(LOSSES[loss](y, scores, EPSILON)))
    fixed = X @ result.comparator + result.intercept
    assert result.best == pytest.approx(np.cumsum(LOSSES[loss](y, fixed, EPSILON)))
    assert np.array_equal(result.curve, result.cumulative - result.best)
    assert result.final == result.curve[-1]
    assert result.comparator.shape == (3,)
    assert (result.intercept != 0) == fit_intercept


def test_labels_may_be_words_and_the_learner_is_left_alone() -> None:
    X, y = noisy("classes")
    model = PAClassifier()
    words = regret(model, (X, np.where(y > 0, "yes", "no")))
    assert np.array_equal(words.curve, regret(model, (X, y)).curve)
    assert not hasattr(model, "t_")


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (PAClassifier(), "hinge"),
        (OGDClassifier(loss="log"), "log"),
        (OGDClassifier(loss="squared_hinge"), "squared_hinge"),
        (Adaline(), "squared"),
        (PARegressor(), "epsilon_insensitive"),
        (OGDRegressor(loss="absolute"), "absolute"),
        (OGDRegressor(), "squared"),
        (AROWRegressor(), "squared"),
        (pipeline(StandardScaler(), OGDClassifier(loss="log")), "log"),
    ],
)
def test_the_loss_is_the_learners_own_unless_another_is_given(model: Any, loss: str) -> None:
    kind = "numbers" if loss in NUMBERS and not isinstance(model, Adaline) else "classes"
    assert regret(model, noisy(kind)).loss == loss
    assert regret(model, noisy(kind), loss="squared").loss == "squared"


@pytest.mark.parametrize(("kind", "loss"), CASES)
def test_sparse_rows_give_the_same(kind: str, loss: str) -> None:
    X, y = noisy(kind)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0
    for radius in (None, 0.2):
        dense = regret(learner(kind), (X, y), loss=loss, radius=radius)
        for kind_of_rows in (sp.csr_array, sp.csr_matrix):
            sparse = regret(learner(kind), (kind_of_rows(X), y), loss=loss, radius=radius)
            assert sparse.final == pytest.approx(dense.final, rel=1e-4)


# --- the best model, without a ball ---


@pytest.mark.parametrize("seed", range(3))
def test_the_best_for_the_squared_loss_is_least_squares(seed: int) -> None:
    for kind in ("classes", "numbers"):
        X, y = noisy(kind, seed=seed)
        result = regret(learner(kind), (X, y), loss="squared")
        expected = np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y, rcond=None)[0]
        assert weights_of(result) == pytest.approx(expected, abs=1e-6)
        assert result.best[-1] == pytest.approx(total("squared", X, y, expected), rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_for_hinges_is_that_of_the_primal_programme(loss: str, seed: int) -> None:
    kind = "classes" if loss == "hinge" else "numbers"
    X, y = noisy(kind, seed=seed)
    result = regret(learner(kind), (X, y), loss=loss)
    assert result.best[-1] == pytest.approx(primal_programme(loss, X, y), rel=1e-9)
    assert result.gap < 1e-9


def test_the_best_for_the_absolute_loss_is_median_regression() -> None:
    X, y = noisy("numbers")
    result = regret(PARegressor(), (X, y), loss="absolute")
    median = QuantileRegressor(quantile=0.5, alpha=0).fit(X, y)
    assert result.best[-1] == pytest.approx(np.abs(y - median.predict(X)).sum(), rel=1e-9)


def test_the_best_for_the_log_loss_is_logistic_regression() -> None:
    X, y = noisy("classes")
    result = regret(PAClassifier(), (X, y), loss="log")
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    assert weights_of(result) == pytest.approx(np.append(model.intercept_, model.coef_), rel=1e-3)
    assert result.best[-1] == pytest.approx(total("log", X, y, np.append(model.intercept_, model.coef_)), rel=1e-8)


def test_the_best_for_the_squared_hinge() -> None:
    X, y = noisy("classes")
    assert regret(PAClassifier(), (X, y), loss="squared_hinge").best[-1] == pytest.approx(
        smooth_minimum("squared_hinge", X, y), rel=1e-8
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("radius", [None, 0.05, 0.5])
def test_the_best_for_the_hinge_has_a_zero_subgradient(radius: float | None, seed: int) -> None:
    """sum_t p_t y_t x_t = lam u, with p_t = 1 left of the kink, 0 right of it and between on it; lam = 0 without a ball."""
    X, y = noisy("classes", seed=seed)
    u = weights_of(regret(PAClassifier(), (X, y), radius=radius))
    pulls = y[:, None] * np.column_stack([np.ones(len(y)), X])
    margin = pulls @ u
    free, left = np.abs(margin - 1) < 1e-5, margin < 1 - 1e-5
    columns, most = np.column_stack([pulls[free].T, -u]), np.append(np.ones(free.sum()), 0.0 if radius is None else np.inf)
    found = lsq_linear(columns, -pulls[left].sum(axis=0), (0, np.maximum(most, 1e-12)), tol=1e-14)
    assert found.cost < 1e-10
    assert free.sum() <= 4
    assert radius is None or np.linalg.norm(u) == pytest.approx(radius, rel=1e-5)


# --- the best model in a ball ---


@pytest.mark.parametrize(("kind", "loss"), CASES)
@pytest.mark.parametrize("radius", [0.05, 0.4])
def test_no_weights_in_the_ball_are_better(kind: str, loss: str, radius: float) -> None:
    X, y = noisy(kind)
    result = regret(learner(kind), (X, y), loss=loss, radius=radius)
    u, random = weights_of(result), np.random.default_rng(2)
    assert np.linalg.norm(u) <= radius
    assert result.gap <= 1e-6 * total(loss, X, y, np.zeros(4))
    if loss in ("squared", "squared_hinge", "log"):
        assert result.best[-1] == pytest.approx(smooth_minimum(loss, X, y, radius), rel=1e-5)
    for size in (1.0, 0.1, 0.01, 1e-3, 1e-4):
        for _ in range(50):
            other = u + size * radius * random.standard_normal(4)
            other *= min(1, radius / np.linalg.norm(other))
            assert total(loss, X, y, other) >= result.best[-1] - result.gap


@pytest.mark.parametrize(("kind", "loss"), CASES)
def test_one_weight_by_brute_force(kind: str, loss: str) -> None:
    X, y = noisy(kind, d=1)
    for radius in (0.1, 1e3):
        result = regret(learner(kind, fit_intercept=False), (X, y), loss=loss, radius=radius)
        grid = np.linspace(-min(radius, 5), min(radius, 5), 20_001)
        losses = [total(loss, X, y, [0.0, w]) for w in grid]
        assert min(losses) >= result.best[-1] - result.gap
        assert result.best[-1] <= min(losses) + 1e-6 * losses[10_000]
        assert abs(result.comparator[0]) <= radius


@pytest.mark.parametrize(("kind", "loss"), CASES)
def test_a_ball_that_holds_the_best_of_all_changes_nothing(kind: str, loss: str) -> None:
    X, y = noisy(kind)
    free, bounded = (regret(learner(kind), (X, y), loss=loss, radius=radius) for radius in (None, 1e3))
    assert bounded.final == pytest.approx(free.final, rel=1e-7)


def test_a_ball_between_two_sets_of_weights_with_the_same_scores() -> None:
    """Columns that add up to the intercept: the linear programme may find large weights where small ones do as well."""
    random = np.random.default_rng(0)
    groups = random.integers(3, size=(200, 2))
    X = np.hstack([np.eye(3)[groups[:, 0]], np.eye(3)[groups[:, 1]]])
    y = np.where(random.random(200) < 0.2 + 0.3 * groups[:, 0], 1, -1)
    free = regret(PAClassifier(), (X, y))
    least = np.linalg.pinv(np.column_stack([np.ones(200), X])) @ (X @ free.comparator + free.intercept)
    bounded = regret(PAClassifier(), (X, y), radius=float(np.linalg.norm(least)) + 1e-3)
    assert np.linalg.norm(weights_of(free)) > np.linalg.norm(least) + 1e-3 >= np.linalg.norm(weights_of(bounded))
    assert bounded.best[-1] == pytest.approx(free.best[-1], rel=1e-9)
    assert bounded.gap < 1e-9


def test_separable_classes() -> None:
    X, _ = noisy("classes")
    y = np.where(X @ [1.0, 1.0, 1.0] > 0, 1, -1)
    assert regret(PAClassifier(), (X, y)).best[-1] == pytest.approx(0, abs=1e-9)
    assert regret(PAClassifier(), (X, y), loss="squared_hinge").best[-1] == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match=r"separates the classes.*Pass a `radius`"):
        regret(PAClassifier(), (X, y), loss="log")
    bounded = regret(PAClassifier(), (X, y), loss="log", radius=2.0)
    assert bounded.best[-1] == pytest.approx(smooth_minimum("log", X, y, 2.0), rel=1e-5)


def test_scales_do_not_matter() -> None:
    """Features of very different sizes, as they come from tables."""
    X, y = noisy("numbers")
    scales = np.array([1e4, 1.0, 1e-4])
    for loss in NUMBERS:
        one, other = regret(PARegressor(), (X, 1e5 * y), loss=loss), regret(PARegressor(), (X * scales, 1e5 * y), loss=loss)
        assert other.best[-1] == pytest.approx(one.best[-1], rel=1e-8)
        assert other.gap < 1e-8 * other.best[-1]


# --- learners with little regret ---


class ProjectedDescent(ClassifierMixin, BaseEstimator):
    """Online gradient descent on the hinge loss in a ball (Zinkevich 2003), in plain NumPy."""

    fit_intercept = False

    def __init__(self, radius: float = 1.0, slope: float = 1.0) -> None:
        self.radius, self.slope = radius, slope

    def test_then_train(self, X: Any, y: Any, classes: Any = None) -> Any:
        w, scores = np.zeros(X.shape[1]), np.empty(len(y))
        for t, (x, label) in enumerate(zip(X, np.where(y == classes[1], 1, -1), strict=True)):
            scores[t] = w @ x
            if label * scores[t] < 1:
                w += 2 * self.radius / (self.slope * np.sqrt(t + 1)) * label * x
                w *= min(1, self.radius / max(np.linalg.norm(w), 1e-12))
        return scores


@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_the_bound_of_online_gradient_descent_holds(radius: float) -> None:
    """Regret <= 3/2 D G sqrt(T) with steps D / (G sqrt(t)), for the diameter D and gradients of at most G."""
    X, y = noisy("classes", 2000)
    slope = float(np.linalg.norm(X, axis=1).max())
    result = regret(ProjectedDescent(radius, slope), (X, y), loss="hinge", radius=radius)
    T = np.arange(1, 2001)
    assert (result.curve + result.gap <= 1.5 * 2 * radius * slope * np.sqrt(T)).all()
    assert result.final > 0  # in hindsight one does better, on data that does not change


def test_average_regret_falls_on_a_stream_that_does_not_change() -> None:
    X, y = noisy("classes", 8000)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    averages = []
    for n in (250, 1000, 4000, 8000):
        averages.append(regret(OGDClassifier(), (X[:n], y[:n])).final / n)
    assert averages == sorted(averages, reverse=True)
    assert averages[-1] < averages[0] / 3


# --- what is refused ---


@pytest.mark.parametrize(
    ("model", "kind", "options", "message"),
    [
        (PAClassifier(), "classes", {"loss": "absolute"}, "no best model known for the loss 'absolute'. Known are: hinge, "),
        (PARegressor(), "numbers", {"loss": "hinge"}, "Known are: squared, absolute, epsilon_insensitive"),
        (OGDClassifier(loss="zero_one"), "classes", {}, "no best model known for the loss 'zero_one'"),
        (AROWRegressor(), "numbers", {"loss": "epsilon_insensitive"}, "has no epsilon"),
        (PAClassifier(), "classes", {"radius": 0.0}, "`radius` must be a positive number, got 0.0"),
        (PAClassifier(), "classes", {"radius": np.nan}, "`radius` must be a positive number"),
    ],
)
def test_what_has_no_answer_is_refused(model: Any, kind: str, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regret(model, noisy(kind), **options)


def test_regret_is_for_two_classes_and_learners_of_streams() -> None:
    X, y = noisy("classes")
    with pytest.raises(TypeError, match="LogisticRegression has no `test_then_train`"):
        regret(LogisticRegression(), (X, y))
    with pytest.raises(ValueError, match="there are 3 classes"):
        regret(PAClassifier(), (X, np.arange(60) % 3))


def test_results_tell_themselves() -> None:
    assert repr(regret(PAClassifier(), noisy("classes"))).startswith("Regret(loss='hinge', n=60, final=")


@pytest.mark.parametrize("unit", [1.0, 2.0**17])
def test_epsilon_of_scaled_targets_is_in_deviations(unit: float) -> None:
    X, y = noisy("numbers")
    result = regret(PARegressor(epsilon=0.5), (X, unit * y))
    loss = np.maximum(0, np.abs(unit * y - PARegressor(epsilon=0.5).test_then_train(X, unit * y)) - 0.5 * unit * y.std())
    np.testing.assert_allclose(result.cumulative, loss.cumsum())
