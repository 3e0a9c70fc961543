"""Every update is the solution of the problem that its paper states, checked on random examples from a state that is not the first.

With many classes all weights are one long vector, and the example is x in the place of the label and -x in that of its strongest rival:
`Step.example`. The margin is then w.example as it is y w.x for two classes, and most proofs are written once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice, permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone

from onepass import (
    ALMA,
    MIRA,
    ROMMA,
    Adaline,
    AdalineRegressor,
    AROWClassifier,
    AROWRegressor,
    CWClassifier,
    IELLIPClassifier,
    NAROWClassifier,
    NHERDClassifier,
    OGDClassifier,
    OGDRegressor,
    PAClassifier,
    PARegressor,
    Perceptron,
    SCWClassifier,
    SecondOrderPerceptron,
    ShiftingPerceptron,
)

Array = NDArray[np.float64]
FULL: Any = {"covariance": "full"}


# --- examples, one at a time ---


@dataclass
class Setting:
    classes: int  # 0: a regression
    features: int
    intercept: bool

    def __str__(self) -> str:
        task = {0: "regression", 2: "binary"}.get(self.classes, "multiclass")
        return f"{task}-{self.features}-{'intercept' if self.intercept else 'plain'}"


BINARY = [Setting(2, 1, True), Setting(2, 5, False)]
MULTICLASS = [Setting(3, 4, True), Setting(5, 2, False)]
REGRESSION = [Setting(0, 1, True), Setting(0, 4, False)]

# A rule is the same for two classes and for many: it is compiled for two, and the others run without the compiler.
MANY = [pytest.param(setting, marks=pytest.mark.plain) for setting in MULTICLASS]

for_classes = pytest.mark.parametrize("setting", [*BINARY, *MANY], ids=str)
for_numbers = pytest.mark.parametrize("setting", REGRESSION, ids=str)


@dataclass
class Step:
    """An example, and the weights before and after: (1, d+1) or (K, d+1), the intercept's first, as in x."""

    x: Array
    y: Any  # -1 or 1, a class or a number
    weight: float
    signs: Array  # how each row of the weights counts in the margin
    before: Array
    after: Array
    covariance: Array | None
    new_covariance: Array | None
    moved: bool
    updates: int  # so far, with this one

    @property
    def example(self) -> Array:
        return np.outer(self.signs, self.x).ravel()

    @property
    def rows(self) -> int:
        """How many weight vectors the margin is about."""
        return np.count_nonzero(self.signs)

    @property
    def margin(self) -> float:
        return float(self.before.ravel() @ self.example)

    @property
    def wrong(self) -> bool:
        """Of equal scores the first class wins; with two classes, 1 does."""
        scores = self.before @ self.x
        return bool((scores[0] >= 0) != (self.y > 0)) if len(scores) == 1 else bool(scores.argmax() != self.y)


def weights_of(model: Any) -> Array:
    return np.column_stack([model.intercept_, np.atleast_2d(model.coef_)])


def begun(model: Any, setting: Setting, first: float = 0.0) -> Any:
    """A copy of the model that knows its classes and features; its first weights are random numbers of that size."""
    model = clone(model).set_params(fit_intercept=setting.intercept)
    known = {"classes": range(setting.classes)} if setting.classes else {}
    model.partial_fit(np.zeros((1, setting.features)), [0], sample_weight=[0.0], **known)
    if first:
        weights = model._state.arrays["W" if setting.classes > 2 else "w"]
        weights[...] = first * np.random.default_rng(0).normal(size=weights.shape)
        if not setting.intercept:
            weights[..., 0] = 0
    return model


def learn(model: Any, setting: Setting, x: Array, label: Any, weight: float = 1.0) -> Step:
    """Learn from one example, x without the constant feature."""
    x = np.concatenate([[setting.intercept], x])
    before, updates, covariance = weights_of(model), model.updates_, getattr(model, "covariance_", None)
    model.partial_fit(x[None, 1:], [label], sample_weight=[weight])
    if setting.classes > 2:
        y, rivals = label, before @ x
        rivals[y] = -np.inf
        signs = np.eye(setting.classes)[y] - np.eye(setting.classes)[rivals.argmax()]
    else:
        y = 2 * label - 1 if setting.classes else label
        signs = np.array([y if setting.classes else 1.0])
    now = (weights_of(model), covariance, getattr(model, "covariance_", None), model.updates_ > updates, model.updates_)
    return Step(x, y, weight, signs, before, *now)


def steps(model: Any, setting: Setting, n: int = 15, first: float = 0.0, seed: int = 0) -> Iterator[Step]:
    """Random examples with random labels, so that there is always something to learn, and random weights where they mean anything."""
    rng = np.random.default_rng([seed, setting.classes, setting.features])
    model = begun(model, setting, first)
    for _ in range(n):
        x = rng.choice([0.3, 1.0, 2.0]) * rng.normal(size=setting.features)
        label = rng.integers(setting.classes) if setting.classes else 2 * rng.normal()
        yield learn(model, setting, x, label, 1.0 if model._weights_are_switches() else rng.choice([0.4, 1.0, 2.5]))
    assert model.updates_ >= 2, "the data must make the learner move"


def runs(model: Any, setting: Setting, n: int = 8, **more: Any) -> Iterator[Step]:
    """Several short runs: after many random labels, the numbers of a learner that obeys them all become too large to compare."""
    return chain.from_iterable(steps(model, setting, n, seed=seed, **more) for seed in range(3))


# --- what it is to be a solution ---


def gradient(f: Callable[[Array], float], z: Array, h: float = 1e-3) -> Array:
    """By central differences, which are exact for quadratics."""
    return np.array([(f(z + h * e) - f(z - h * e)) / (2 * h) for e in np.eye(len(z))])


def check_minimum(objective: Any, constraints: Sequence[Any], point: Array) -> None:
    """A quadratic objective and linear constraints, each >= 0. The point meets them, and the conditions of Karush, Kuhn and Tucker; no
    feasible point that is tried is better; a general solver ends in the same place."""
    best, size = objective(point), 1 + np.abs(point).max()
    values = np.array([c(point) for c in constraints])
    assert (values > -1e-9 * size).all()
    slope = gradient(objective, point)
    binding = [gradient(c, point) for c, value in zip(constraints, values, strict=True) if value < 1e-9 * size]
    left = nnls(np.array(binding).T, slope)[1] if binding else np.linalg.norm(slope)
    assert left < 1e-8 * (1 + np.linalg.norm(slope))

    rng = np.random.default_rng(0)
    trials = (point + 10 ** rng.uniform(-4, 1) * rng.normal(size=point.shape) for _ in range(10_000))
    feasible = [*islice((trial for trial in trials if all(c(trial) >= 0 for c in constraints)), 20)]
    assert len(feasible) == 20
    assert all(objective(trial) > best for trial in feasible)

    start = point + rng.normal(size=point.shape)
    found = minimize(
        objective,
        start,
        method="SLSQP",
        jac=partial(gradient, objective),
        constraints=[{"type": "ineq", "fun": c, "jac": partial(gradient, c)} for c in constraints],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    np.testing.assert_allclose(found.x, point, atol=1e-4 * size)


def check_slack(step: Step, losses: Sequence[Callable[[Array], float]], variant: str, C: float) -> None:
    """|w - w_t|^2 / 2, with no loss (hard), plus C times a slack that is at least the loss (I), or its square (II)."""
    before, after = step.before.ravel(), step.after.ravel()
    if variant == "hard":
        check_minimum(lambda w: ((w - before) ** 2).sum() / 2, [lambda w, loss=loss: -loss(w) for loss in losses], after)
        return
    power = {"I": 1, "II": 2}[variant]
    check_minimum(
        lambda z: ((z[:-1] - before) ** 2).sum() / 2 + C * z[-1] ** power,
        [lambda z: z[-1], *(lambda z, loss=loss: z[-1] - loss(z[:-1]) for loss in losses)],
        np.append(after, max(0.0, *(loss(after) for loss in losses))),
    )


# --- passive-aggressive: Crammer et al. 2006 ---


@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@for_classes
def test_pa_classifier(setting: Setting, variant: str) -> None:
    for step in runs(PAClassifier(0.3, variant), setting, n=5):
        if step.moved:
            check_slack(step, [lambda w, a=step.example: 1 - w @ a], variant, 0.3 * step.weight)
        assert step.moved == (step.margin < 1)


@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@for_numbers
def test_pa_regressor(setting: Setting, variant: str) -> None:
    for step in runs(PARegressor(0.3, variant, epsilon=0.2, scale_target=False), setting, n=5):
        losses = [
            lambda w, x=step.x, y=step.y: y - w @ x - 0.2,
            lambda w, x=step.x, y=step.y: w @ x - y - 0.2,
        ]
        if step.moved:
            check_slack(step, losses, variant, 0.3 * step.weight)
        assert step.moved == (max(loss(step.before[0]) for loss in losses) > 0)


# --- ROMMA: Li and Long 2002 ---


def check_romma(step: Step) -> None:
    before = step.before.ravel()
    constraints = [lambda w: w @ step.example - 1]
    if before.any():
        constraints.append(lambda w: w @ before / (before @ before) - 1)
    check_minimum(lambda w: w @ w, constraints, step.after.ravel())


@pytest.mark.parametrize("aggressive", [False, True])
@for_classes
def test_romma(setting: Setting, aggressive: bool) -> None:
    for step in runs(ROMMA(aggressive), setting, n=12):
        if step.moved:
            check_romma(step)
        assert step.moved == (step.margin < 1 if aggressive else step.wrong)


@pytest.mark.parametrize("setting", [BINARY[1], MANY[1]], ids=str)
def test_romma_where_the_past_does_not_bind(setting: Setting) -> None:
    """A shorter example in the direction of the first: the shortest vector of margin 1 is the answer by itself."""
    model = begun(ROMMA(aggressive=True), setting)
    x = np.random.default_rng(0).normal(size=setting.features)
    learn(model, setting, x, 0)
    step = learn(model, setting, 0.3 * x, 0)
    check_romma(step)
    assert step.after.ravel() @ step.before.ravel() > (step.before**2).sum() + 1e-3


def test_romma_keeps_its_weights_where_there_is_no_solution() -> None:
    model = begun(ROMMA(), Setting(2, 2, False)).partial_fit([[1.0, 2.0]], [0])
    before = model.coef_
    model.partial_fit([[1.0, 2.0], [-2.0, -4.0], [0.0, 0.0]], [1, 0, 0])
    np.testing.assert_array_equal(model.coef_, before)


# --- MIRA: Crammer and Singer 2003 ---


@for_classes
def test_mira(setting: Setting) -> None:
    for step in runs(MIRA(), setting, first=1.0):
        norm2 = step.x @ step.x
        tau = (step.after - step.before) @ step.x / norm2
        np.testing.assert_allclose(step.after, step.before + np.outer(tau, step.x), rtol=1e-12, atol=1e-12)
        if setting.classes == 2:
            m = step.margin
            check_minimum(
                lambda t, m=m, n=norm2: n * t[0] ** 2 / 2 + t[0] * m, [lambda t: t[0], lambda t: 1 - t[0]], tau * step.y
            )
            continue
        others = np.arange(setting.classes) != step.y
        scores = step.before @ step.x
        excess = scores[others] - scores[step.y]  # tau_y is minus the sum of the others
        assert tau.sum() == pytest.approx(0, abs=1e-12)
        check_minimum(
            lambda t, n=norm2, excess=excess: n * (t @ t + t.sum() ** 2) / 2 + t @ excess,
            [lambda t: 1 + t.sum(), *(lambda t, k=k: -t[k] for k in range(len(excess)))],
            tau[others],
        )


@for_classes
def test_mira_starts_with_a_perceptron_step(setting: Setting) -> None:
    """Where all scores are equal, tau = 0 solves the problem, and would for good."""
    step = next(step for step in steps(MIRA(), setting) if step.moved)
    assert not step.before.any()
    np.testing.assert_allclose(step.after, np.outer(step.signs, step.x), rtol=1e-12)


# --- ALMA: Gentile 2001 ---


@pytest.mark.parametrize("normalize", [True, False], ids=["unit", "as-is"])
@pytest.mark.parametrize("p", [2, 4, 10])
@for_classes
def test_alma(setting: Setting, p: int, normalize: bool) -> None:
    """w minimises |w|_q^2 / 2 - w.(theta + rate y x) over the unit ball of the q-norm, and is the gradient of |theta|_p^2 / 2."""
    alpha, C, q, k, projected = 0.7, 1.2 * np.sqrt(p - 1), p / (p - 1), 1, 0
    theta = np.zeros(setting.classes * (setting.features + 1) if setting.classes > 2 else setting.features + 1)
    for step in steps(ALMA(alpha, p, C, normalize=normalize), setting, n=20):
        length = np.linalg.norm(step.example, p) if normalize else 1.0
        assert step.moved == (step.margin / length <= (1 - alpha) / alpha * np.sqrt((p - 1) / k))
        if not step.moved:
            continue
        target = theta + C / np.sqrt((p - 1) * k) * step.example / length

        def objective(w: Array, target: Array = target) -> float:
            return float(np.linalg.norm(w, q) ** 2 / 2 - w @ target)

        after, size = step.after.ravel(), np.linalg.norm(target, p)
        assert np.linalg.norm(after, q) <= 1 + 1e-12
        least = min(1.0, size)  # Hoelder: w.target is at most |w|_q |target|_p
        assert objective(after) == pytest.approx(least**2 / 2 - least * size, rel=1e-9)
        rng = np.random.default_rng(0)
        for _ in range(50):
            trial = after + 10 ** rng.uniform(-3, 0) * rng.normal(size=after.shape)
            assert objective(trial / max(1, np.linalg.norm(trial, q))) > objective(after)

        theta = target / max(1.0, size)  # the projection is a scaling
        slope = gradient(lambda t: np.linalg.norm(t, p) ** 2 / 2, theta, h=1e-5)
        np.testing.assert_allclose(after, slope, rtol=1e-6, atol=1e-8)
        k += 1
        projected += size > 1
    assert 0 < projected < k - 1


# --- CW, SCW and AROW: the nearest Gaussian ---


@dataclass
class Rule:
    """KL(N(w, Sigma) || N(w_t, Sigma_t)) + C slack^power + B u is least, where slack >= 0 and m >= need(u) - slack.

    m is the margin, and u = example' Sigma example its variance. The variant "hard" has no slack, "I" the power 1, "II" the power 2.
    With many classes the divergence is that of the two weight vectors that the margin is about. They share Sigma.
    """

    model: Any
    need: Callable[[float], float]
    variant: str
    C: float = 0.0
    B: float = 0.0


PHI = norm.ppf(0.9)
RULES = {
    "AROW": Rule(AROWClassifier(0.7, **FULL), lambda u: 1.0, "II", C=1 / 1.4, B=1 / 1.4),
    "CW-stdev": Rule(CWClassifier(0.9, **FULL), lambda u: PHI * np.sqrt(u), "hard"),
    "CW-variance": Rule(CWClassifier(0.9, "variance", **FULL), lambda u: PHI * u, "hard"),
    "SCW-I": Rule(SCWClassifier("I", 0.4, 0.9, **FULL), lambda u: PHI * np.sqrt(u), "I", C=0.4),
    "SCW-II": Rule(SCWClassifier("II", 0.4, 0.9, **FULL), lambda u: PHI * np.sqrt(u), "II", C=0.4),
}
for_rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def variance(step: Step, Sigma: Any) -> float:
    return float(step.rows * step.x @ Sigma @ step.x)


def changes(step: Step) -> tuple[float, float]:
    """alpha and c: the mean moves by alpha Sigma example, and the precision by c x x'. That they do is half of the proof: so the
    gradient of the divergence cancels that of m and of u."""
    precision, new = np.linalg.inv(step.covariance), np.linalg.inv(step.new_covariance)
    norm2, size = step.x @ step.x, np.abs(new).max()
    slopes = (step.after - step.before) @ precision
    alpha, c = step.signs @ slopes @ step.x / (step.rows * norm2), step.x @ (new - precision) @ step.x / norm2**2
    np.testing.assert_allclose(slopes, alpha * np.outer(step.signs, step.x), rtol=1e-8, atol=1e-10 * size)
    np.testing.assert_allclose(new - precision, c * np.outer(step.x, step.x), rtol=1e-8, atol=1e-10 * size)
    assert np.linalg.eigvalsh(step.new_covariance).min() > 0
    return alpha, c


@for_rules
@for_classes
def test_gaussians_meet_the_conditions_of_karush_kuhn_and_tucker(setting: Setting, rule: Rule) -> None:
    """alpha is the multiplier of m >= need(u) - slack."""
    near, capped = (lambda value: pytest.approx(value, rel=1e-7, abs=1e-9)), 0
    for step in runs(rule.model, setting):
        assert step.moved == (step.margin < rule.need(variance(step, step.covariance)))
        if not step.moved:
            np.testing.assert_array_equal(step.after, step.before)
            np.testing.assert_array_equal(step.new_covariance, step.covariance)
            continue
        alpha, c = changes(step)
        u = variance(step, step.new_covariance)
        slack, C = rule.need(u) - step.after.ravel() @ step.example, step.weight * rule.C
        slope = (rule.need(u * (1 + 1e-6)) - rule.need(u * (1 - 1e-6))) / (2e-6 * u)
        assert alpha > 0
        assert c == near(2 * (alpha * slope + step.weight * rule.B))
        if rule.variant == "II":
            assert alpha == near(2 * C * slack)
        elif rule.variant == "I" and slack > 1e-9:
            capped += 1
            assert alpha == near(C)
        else:
            assert slack == near(0)
            assert rule.variant == "hard" or alpha <= C
    assert capped or rule.variant != "I", "some examples must not be obeyed"


def check_nearest(rule: Rule, step: Step) -> None:
    """A general solver finds no better mean, Cholesky factor of the covariance and slack."""
    used, who = np.flatnonzero(step.x), np.flatnonzero(step.signs)
    x, signs, before, d = step.x[used], step.signs[who], step.before[np.ix_(who, used)], len(used)
    Sigma, new = step.covariance[np.ix_(used, used)], step.new_covariance[np.ix_(used, used)]
    precision, lower = np.linalg.inv(Sigma), np.tril_indices(d)
    power = {"hard": 0, "I": 1, "II": 2}[rule.variant]

    def parts(z: Array) -> tuple[Array, Array, float, float]:
        """The mean, the factor, the margin and its variance."""
        mean, L = z[: before.size].reshape(before.shape), np.zeros((d, d))
        L[lower] = z[before.size : -1]
        return mean, L, signs @ mean @ x, len(who) * ((L.T @ x) ** 2).sum()

    def objective(z: Array) -> float:
        mean, L, _, u = parts(z)
        shape = np.trace(precision @ L @ L.T) - d - 2 * np.log(np.abs(np.diag(L))).sum() + np.linalg.slogdet(Sigma)[1]
        away = ((mean - before) @ precision * (mean - before)).sum()
        return float((len(who) * shape + away) / 2 + step.weight * (rule.C * z[-1] ** power + rule.B * u))

    def enough(z: Array) -> float:
        _, _, m, u = parts(z)
        return float(m - rule.need(u) + (z[-1] if power else 0))

    ours = np.concatenate([step.after[np.ix_(who, used)].ravel(), np.linalg.cholesky(new)[lower], [0.0]])
    ours[-1] = max(0.0, -enough(ours))
    assert enough(ours) > -1e-9
    constraints = [{"type": "ineq", "fun": enough}, {"type": "ineq", "fun": lambda z: z[-1]}]
    start = ours + 0.1 * np.random.default_rng(0).normal(size=ours.shape)
    found = minimize(objective, start, method="SLSQP", constraints=constraints, options={"ftol": 1e-13, "maxiter": 1000})
    assert found.fun == pytest.approx(objective(ours), abs=1e-7)


@for_rules
@pytest.mark.parametrize("setting", [Setting(2, 2, True), Setting(3, 2, False)], ids=str)
def test_no_solver_finds_a_nearer_gaussian(setting: Setting, rule: Rule) -> None:
    for seed in range(2):
        *_, last = (step for step in steps(rule.model, setting, seed=seed) if step.moved)
        check_nearest(rule, last)


# --- NHERD: Crammer and Lee 2010 ---


def joint(step: Step, matrix: Any) -> Array:
    """The same matrix for each weight vector that the margin is about."""
    return np.kron(np.eye(len(step.signs)), matrix)


def blocks(step: Step, matrix: Array) -> list[Array]:
    """The parts of a joint matrix that belong to the weight vectors which moved."""
    d = len(step.x)
    return [matrix[k * d : k * d + d, k * d : k * d + d] for k in np.flatnonzero(step.signs)]


@for_classes
def test_nherd_moves_every_member_of_the_herd(setting: Setting) -> None:
    """A member w goes to argmin (v - w)' Sigma^-1 (v - w) / 2 + C (1 - v.example)^2 / 2 = A w + b, so the herd's covariance becomes
    A Sigma A'. Many classes share one covariance: of the new precision they keep what is not between classes."""
    for step in runs(NHERDClassifier(0.6, **FULL), setting):
        assert step.moved == (step.margin < 1)
        if not step.moved:
            continue
        C, a = 0.6 * step.weight, step.example
        precision = np.linalg.inv(joint(step, step.covariance))
        to = np.linalg.inv(precision + C * np.outer(a, a))
        A = to @ precision
        np.testing.assert_allclose(step.after.ravel(), A @ step.before.ravel() + C * to @ a, rtol=1e-9, atol=1e-9)
        herd = np.linalg.inv(A @ joint(step, step.covariance) @ A.T)
        for block in blocks(step, herd):
            np.testing.assert_allclose(np.linalg.inv(step.new_covariance), block, rtol=1e-8, atol=1e-8)
        if setting.classes == 2:
            np.testing.assert_allclose(step.new_covariance, A @ step.covariance @ A.T, rtol=1e-9, atol=1e-9)


# --- IELLIP: Yang, Jin and Ye 2009 ---


@for_classes
def test_iellip_cuts_the_ellipsoid(setting: Setting) -> None:
    """w is the nearest point of margin 1 in the metric of the ellipsoid, and the k-th mistake turns the precision P into
    (1 - c b^k) P + c b^k example example' / v, up to a factor; many classes keep what is not between classes."""
    b, c = 0.8, 0.3
    for step in runs(IELLIPClassifier(b, c, **FULL), setting, n=12):
        assert step.moved == step.wrong
        if not step.moved:
            np.testing.assert_array_equal(step.new_covariance, step.covariance)
            continue
        P, before = np.linalg.inv(joint(step, step.covariance)), step.before.ravel()
        check_minimum(
            lambda w, P=P, before=before: (w - before) @ P @ (w - before) / 2,
            [lambda w, a=step.example: w @ a - 1],
            step.after.ravel(),
        )
        v, share = variance(step, step.covariance), c * b ** (step.updates - 1)
        new = np.linalg.inv(step.new_covariance)
        for old, outer in zip(blocks(step, P), blocks(step, np.outer(step.example, step.example)), strict=True):
            expected = (1 - share) * old + share * outer / v
            np.testing.assert_allclose(new / np.trace(new), expected / np.trace(expected), rtol=1e-9, atol=1e-9)


# --- the second-order perceptron and NAROW: w = argmin w' A w / 2 - theta.w ---


def kept(A: Array, covariance: str) -> Array:
    return np.diag(np.diag(A)) if covariance == "diagonal" else A


def check_dual(step: Step, A: Array, theta: Array, covariance: str) -> None:
    matrix = kept(A, covariance)
    np.testing.assert_allclose(step.after, np.linalg.solve(matrix, theta.T).T, rtol=1e-9, atol=1e-9)
    inverse = np.linalg.inv(matrix)
    np.testing.assert_allclose(
        step.new_covariance, np.diag(inverse) if covariance == "diagonal" else inverse, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("correlate", ["mistakes", "all"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@for_classes
def test_second_order_perceptron(setting: Setting, covariance: str, correlate: str) -> None:
    """Cesa-Bianchi et al. 2005. A = a I + sum x x', theta = sum y x. `covariance_` is a times the inverse of A."""
    a = 2.5
    A, theta = a * np.eye(setting.features + 1), 0.0
    for step in steps(SecondOrderPerceptron(a, correlate, covariance=covariance), setting, n=30):
        assert step.moved == step.wrong
        theta = theta + step.wrong * np.outer(step.signs, step.x)
        A += (step.wrong or correlate == "all") * np.outer(step.x, step.x)
        check_dual(step, A / a, theta / a, covariance)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@for_classes
def test_narow(setting: Setting, covariance: str, seed: int) -> None:
    """Orabona and Crammer 2010. r = v / (b v - 1) where that is positive, else infinity, v being the variance of the margin; an example
    is learned from if its margin is below 1 with w = (A + example example' / r)^-1 theta."""
    b, learned = 0.5, 0
    A, theta = np.eye(setting.features + 1), np.zeros((setting.classes if setting.classes > 2 else 1, setting.features + 1))
    for step in steps(NAROWClassifier(b, covariance=covariance), setting, n=40, seed=seed):
        inverse = joint(step, np.linalg.inv(kept(A, covariance)))
        a = step.example
        v = a @ inverse @ a
        rate = (b * v - 1) / v if b * v > 1 else 0.0  # 1/r
        with_x = np.linalg.inv(np.linalg.inv(inverse) + rate * np.outer(a, a))
        assert step.moved == (a @ with_x @ theta.ravel() < 1)
        theta += step.moved * np.outer(step.signs, step.x)
        A += step.moved * rate * np.outer(step.x, step.x)
        learned += step.moved and rate > 0
        check_dual(step, A, theta, covariance)
    assert learned


# --- AROW for regression ---


@pytest.mark.parametrize("r", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("setting", [Setting(0, 1, True), Setting(0, 4, False), Setting(0, 6, True)], ids=str)
def test_arow_regression_is_ridge_regression(setting: Setting, r: float) -> None:
    """argmin sum_s weight_s (y_s - w.x_s)^2 + r |w|^2 after each example."""
    X, y, roots = np.empty((0, setting.features + 1)), np.empty(0), np.empty(0)
    for step in steps(AROWRegressor(r, **FULL), setting, n=20):
        X, y, roots = np.vstack([X, step.x]), np.append(y, step.y), np.append(roots, np.sqrt(step.weight))
        rows = np.vstack([roots[:, None] * X, np.sqrt(r) * np.eye(X.shape[1])])
        ridge = np.linalg.lstsq(rows, np.append(roots * y, np.zeros(X.shape[1])))[0]
        np.testing.assert_allclose(step.after[0], ridge, rtol=1e-8, atol=1e-8 * np.abs(ridge).max())


# --- diagonal covariances ---

DIAGONAL = {
    **{name: rule.model for name, rule in RULES.items()},
    "NHERD": NHERDClassifier(0.6),
    "IELLIP": IELLIPClassifier(0.8, 0.3),
}


def check_diagonal(model: Any, setting: Setting) -> None:
    """From the same mean and the same diagonal covariance, the step of the mean is that of a full covariance, and so is the diagonal of
    the precision; the rest is dropped."""
    for step in runs(clone(model).set_params(covariance="diagonal"), setting, n=12):
        full = begun(clone(model).set_params(covariance="full"), setting)
        arrays = full._state.arrays
        arrays["Sigma"][...] = np.diag(step.covariance)
        arrays["W" if setting.classes > 2 else "w"][...] = step.before
        for name in {"decay"} & arrays.keys():
            arrays[name][:] = 0.8 ** (step.updates - step.moved)
        same = learn(full, setting, step.x[1:], step.y if setting.classes != 2 else (step.y + 1) // 2, step.weight)
        assert same.moved == step.moved
        np.testing.assert_allclose(step.after, same.after, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(1 / step.new_covariance, np.diag(np.linalg.inv(same.new_covariance)), rtol=1e-9)


@pytest.mark.parametrize("model", DIAGONAL.values(), ids=DIAGONAL)
@for_classes
def test_diagonal_covariance(setting: Setting, model: Any) -> None:
    check_diagonal(model, setting)


@for_numbers
def test_diagonal_covariance_of_a_regression(setting: Setting) -> None:
    check_diagonal(AROWRegressor(0.7), setting)


# --- online gradient descent ---

OF_MARGINS: dict[str, Callable[[float], float]] = {
    "hinge": lambda m: max(0.0, 1 - m),
    "squared_hinge": lambda m: max(0.0, 1 - m) ** 2,
    "log": lambda m: float(np.logaddexp(0, -m)),
}
OF_ERRORS: dict[str, Callable[[float], float]] = {
    "squared": lambda e: e * e / 2,
    "absolute": abs,
    "epsilon_insensitive": lambda e: max(0.0, abs(e) - 0.3),
}


def loss_of(name: str, step: Step) -> Callable[[Array], float]:
    """The loss of the weights, as one long vector."""

    def loss(w: Array) -> float:
        scores = w.reshape(step.before.shape) @ step.x
        if name in OF_ERRORS:
            return OF_ERRORS[name](step.y - scores[0])
        if len(scores) == 1:
            return OF_MARGINS[name](step.y * scores[0])
        if name == "log":
            return float(logsumexp(scores) - scores[step.y])
        return OF_MARGINS[name](scores[step.y] - np.delete(scores, step.y).max())

    return loss


def check_descent(model: Any, setting: Setting, rate: Callable[[Array, int], Any]) -> None:
    """`rate`: what a gradient is multiplied with, given the sum of squares with it and the number of examples."""
    squares = 0.0
    for t, step in enumerate(steps(model, setting, n=20, first=0.3), 1):
        slope = step.weight * gradient(loss_of(model.loss, step), step.before.ravel(), h=1e-5).reshape(step.before.shape)
        assert step.moved == (np.abs(slope).max() > 1e-12)
        squares = squares + slope**2
        np.testing.assert_allclose(step.after, step.before - rate(squares, t) * slope, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("power", [0.5, 0.0, 1.0])
@pytest.mark.parametrize("loss", OF_MARGINS)
@for_classes
def test_ogd_descends(setting: Setting, loss: str, power: float) -> None:
    check_descent(OGDClassifier(loss=loss, rate=0.1, power=power, adagrad=False), setting, lambda squares, t: 0.1 / t**power)


@pytest.mark.parametrize("loss", OF_ERRORS)
@for_numbers
def test_ogd_descends_on_numbers(setting: Setting, loss: str) -> None:
    model = OGDRegressor(loss=loss, rate=0.1, epsilon=0.3, adagrad=False, scale_target=False)
    check_descent(model, setting, lambda squares, t: 0.1 / np.sqrt(t))


def adaptive(squares: Array, t: int) -> Array:
    return 0.7 / np.sqrt(np.where(squares > 0, squares, 1))


@pytest.mark.parametrize("loss", OF_MARGINS)
@for_classes
def test_adagrad(setting: Setting, loss: str) -> None:
    check_descent(OGDClassifier(loss=loss, rate=0.7), setting, adaptive)


@pytest.mark.parametrize("loss", OF_ERRORS)
@for_numbers
def test_adagrad_on_numbers(setting: Setting, loss: str) -> None:
    check_descent(OGDRegressor(loss=loss, rate=0.7, epsilon=0.3, scale_target=False), setting, adaptive)


@for_classes
def test_ogd_on_mistakes_is_a_perceptron_that_slows_down(setting: Setting) -> None:
    for t, step in enumerate(steps(OGDClassifier(loss="zero_one", rate=0.7, adagrad=False), setting, n=20), 1):
        assert step.moved == step.wrong
        moved = step.wrong * step.weight * 0.7 / np.sqrt(t) * np.outer(step.signs, step.x)
        np.testing.assert_allclose(step.after, step.before + moved, rtol=1e-12, atol=1e-12)


# --- perceptrons ---


@pytest.mark.parametrize("shrink", [1.0, 0.9])
@pytest.mark.parametrize("margin", [0.0, 0.5])
@for_classes
def test_perceptron(setting: Setting, margin: float, shrink: float) -> None:
    for step in steps(Perceptron(margin=margin, rate=0.4, shrink=shrink), setting, n=20):
        assert step.moved == (step.wrong or step.margin < margin)
        expected = shrink * step.before + step.weight * 0.4 * np.outer(step.signs, step.x) if step.moved else step.before
        np.testing.assert_allclose(step.after, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("blame", ["uniform", "proportional"])
@pytest.mark.parametrize("setting", MULTICLASS, ids=str)
def test_shared_blame(setting: Setting, blame: str, margin: float) -> None:
    """What the label gains, the classes that are not `margin` below it lose, each the same or in proportion to what it is short of."""
    for step in steps(Perceptron(margin=margin, multiclass=blame), setting, n=20):
        if not step.moved:
            continue
        scores = step.before @ step.x
        short = scores - scores[step.y] + margin
        guilty = (short >= 0) & (np.arange(len(short)) != step.y)
        parts = guilty * (short if blame == "proportional" and (guilty * short).any() else 1.0)
        shares = (np.arange(len(short)) == step.y) - parts / parts.sum()
        np.testing.assert_allclose(step.after, step.before + step.weight * np.outer(shares, step.x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(step.after.sum(axis=0), 0, atol=1e-12)


@for_classes
def test_shifting_perceptron(setting: Setting) -> None:
    """Cavallanti et al. 2006: w = (1 - l_k) w + l_k y x, l_k = l / (l + k) on the k-th mistake, from 0."""
    lam, k = 2.5, 0
    for step in steps(ShiftingPerceptron(lam), setting, n=20):
        assert step.moved == step.wrong
        if step.moved:
            share = lam / (lam + k)
            expected = (1 - share) * step.before + share * np.outer(step.signs, step.x)
            np.testing.assert_allclose(step.after, expected, rtol=1e-12, atol=1e-12)
            k += 1


@for_classes
def test_shifting_perceptron_may_be_a_mean(setting: Setting) -> None:
    mistakes = []
    for step in steps(ShiftingPerceptron(1.0), setting, n=20):
        mistakes += [np.outer(step.signs, step.x)] * step.moved
        np.testing.assert_allclose(step.after, np.mean(mistakes or [step.before], axis=0), rtol=1e-12, atol=1e-12)


# --- whole passes ---


def table(setting: Setting, n: int, seed: int = 0) -> tuple[Array, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, setting.features))
    return X, rng.permutation(np.arange(n) % setting.classes) if setting.classes else rng.normal(size=n)


def in_order(model: Any, setting: Setting, X: Array, y: Any, orders: Sequence[Sequence[int]]) -> Array:
    """The weights after passes over the rows in these orders."""
    model = begun(model, setting)
    for order in orders:
        model.partial_fit(X[[*order]], y[[*order]])
    return weights_of(model)


ADALINE = AdalineRegressor(rate=0.1, max_iter=2, scale_target=False)


@pytest.mark.parametrize(
    "model",
    [Perceptron(margin=100, shrink=0.9, max_iter=2), Adaline(rate=0.1, max_iter=2), ADALINE],
)
def test_incremental_passes_take_the_rows_in_new_orders(model: Any) -> None:
    """Of all orders of two passes, one gives the weights; another one for another seed, and not the same in both passes."""
    setting = Setting(0 if isinstance(model, AdalineRegressor) else 2, 3, True)
    X, y = table(setting, 3)
    ends = {orders: in_order(model, setting, X, y, orders) for orders in product(permutations(range(3)), repeat=2)}
    found = set()
    for seed in range(6):
        fitted, again = (clone(model).set_params(mode="incremental", random_state=seed).fit(X, y) for _ in range(2))
        assert fitted.n_iter_ == 2
        np.testing.assert_array_equal(weights_of(again), weights_of(fitted))
        (orders,) = (orders for orders, end in ends.items() if np.allclose(end, weights_of(fitted), rtol=1e-12))
        found.add(orders)
    assert len(found) > 3
    assert any(first != second for first, second in found)


@pytest.mark.parametrize("setting", [*BINARY, MANY[0]], ids=str)
def test_batch_perceptron_takes_one_gradient_step_a_pass(setting: Setting) -> None:
    """On the sum of max(0, margin - m), with as much of the weights as `shrink` says."""
    X, y = table(setting, 30)
    rows = np.column_stack([np.full(30, float(setting.intercept)), X])
    weights = np.random.default_rng(1).choice([0.4, 1.0, 2.5], size=30)

    def loss(w: Array) -> float:
        scores = rows @ w.reshape(-1, rows.shape[1]).T
        if setting.classes == 2:
            margins = np.where(y == 1, 1, -1) * scores[:, 0]
        else:
            own = np.eye(setting.classes)[y].astype(bool)
            margins = scores[own] - np.where(own, -np.inf, scores).max(axis=1)
        return float(weights @ np.maximum(0, 0.3 - margins))

    def passes(n: int) -> Array:
        model = Perceptron(margin=0.3, rate=0.05, shrink=0.9, mode="batch", max_iter=n, fit_intercept=setting.intercept)
        return weights_of(model.fit(X, y, sample_weight=weights))

    for n in range(2, 5):  # at first all classes tie, where there is no gradient
        before = passes(n - 1)
        slope = gradient(loss, before.ravel(), h=1e-7).reshape(before.shape)
        np.testing.assert_allclose(passes(n), 0.9 * before - 0.05 * slope, rtol=1e-6, atol=1e-7)


def adaline_loss(w: Array, rows: Array, y: Any, classes: int, weights: Array) -> float:
    targets = y[:, None] if not classes else 2 * np.eye(classes)[y] - 1 if classes > 2 else 2.0 * y[:, None] - 1
    return float(weights @ ((rows @ w.reshape(-1, rows.shape[1]).T - targets) ** 2).sum(axis=1) / 2)


@pytest.mark.parametrize("setting", [*BINARY, *MANY, *REGRESSION], ids=str)
def test_adaline(setting: Setting) -> None:
    """A step along the gradient of the squared error; the whole gradient in mode="batch"."""
    learner = partial(AdalineRegressor, scale_target=False) if setting.classes == 0 else Adaline
    for step in steps(learner(rate=0.05), setting):
        y = (step.y + 1) // 2 if setting.classes == 2 else step.y
        data = (step.x[None], np.array([y]), setting.classes, np.array([step.weight]))
        slope = gradient(lambda w, data=data: adaline_loss(w, *data), step.before.ravel())
        np.testing.assert_allclose(step.after.ravel(), step.before.ravel() - 0.05 * slope, rtol=1e-9, atol=1e-9)

    X, y = table(setting, 30)
    rows = np.column_stack([np.full(30, float(setting.intercept)), X])
    weights = np.random.default_rng(1).choice([0.4, 1.0, 2.5], size=30)
    w = np.zeros((setting.classes if setting.classes > 2 else 1) * rows.shape[1])
    for n in range(1, 4):
        w = w - 0.01 * gradient(lambda w: adaline_loss(w, rows, y, setting.classes, weights), w)
        model = learner(rate=0.01, mode="batch", max_iter=n, fit_intercept=setting.intercept).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(weights_of(model).ravel(), w, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("setting", [BINARY[1], MANY[0]], ids=str)
def test_pocket_holds_the_weights_of_the_longest_run(setting: Setting, seed: int) -> None:
    X, _ = table(setting, 40, seed)
    y = X[:, 0].argsort().argsort() * setting.classes // 40
    y[::7] = 0  # noise, so that the last weights are not the best
    plain, along = begun(Perceptron(), setting), []
    for x, label in zip(np.tile(X, (3, 1)), np.tile(y, 3), strict=True):
        updates = plain.updates_
        plain.partial_fit(x[None], [label])
        along.append((plain.updates_, plain.updates_ == updates, weights_of(plain)))
    runs = [[*group] for _, group in groupby(along, key=lambda entry: entry[0])]
    longest = max(runs, key=lambda run: sum(right for _, right, _ in run))
    model = Perceptron(pocket=True, max_iter=3, fit_intercept=setting.intercept).fit(X, y)
    np.testing.assert_array_equal(weights_of(model), longest[0][2])
    scores = np.column_stack([np.full(40, float(setting.intercept)), X]) @ longest[0][2].T
    np.testing.assert_allclose(model.decision_function(X).reshape(40, -1), scores, rtol=1e-12)
    assert model.updates_ > 10
