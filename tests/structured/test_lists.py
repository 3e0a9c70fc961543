"""Lists of candidates: every step against its twin and its problem, the promises that all learners keep, what users may hand in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import naive_lists as naive
import onepass
from onepass import AROWRegressor, LogLinear, PAClassifier, Ranker, Reranker
from onepass.structured import outputs as engine
from optimum import check_step
from promised import check_cuts, check_going_on, check_weights, ways_to_go_on
from shared import snapshot

plain = pytest.mark.plain
compiled = pytest.mark.compiled

M = 4


def data(n: int = 25, seed: int = 0, longest: int = 7) -> tuple[list[Any], list[Any]]:
    """Random lists, the second empty and the third of one candidate; features are often 0, and quality follows them with some noise."""
    rng = np.random.default_rng(seed)
    sizes = [5, 0, 1, *rng.integers(2, longest, n - 3)]
    X = [rng.normal(size=(size, M)) * (rng.random((size, M)) < 0.8) for size in sizes]
    truth = np.array([0.5, -1.0, 0.3, 0.0])
    return X, [H @ truth + 0.3 * rng.normal(size=len(H)) for H in X]


def dicts(X: list[Any]) -> list[Any]:
    return [[{f"f{j}": float(v) for j, v in enumerate(h)} for h in H] for H in X]


# --- rules ---

RULES: list[dict[str, Any]] = [
    *({"update": update, "cost": cost} for update in ("prediction", "max_loss") for cost in ("root", "errors", "one")),
    {"update": "hope_fear"},
    {"update": "hope_fear", "variant": "I", "C": 0.05},
    {"variant": "II", "C": 0.05},
    {"update": "prediction", "variant": "I", "C": 0.05},
    {"rule": "perceptron", "update": "prediction"},
    {"rule": "AROW", "r": 0.5},
    {"rule": "AROW", "update": "prediction", "rivals": 3},
    {"rule": "CW", "update": "prediction", "confidence": 0.9},
]
ids = lambda options: "-".join(map(str, options.values())) or "default"  # noqa: E731


def weighs(options: dict[str, Any]) -> bool:
    return options.get("variant", "hard") != "hard" or options.get("rule") == "AROW"


@plain
@pytest.mark.parametrize("options", RULES, ids=ids)
def test_reranker_twin(options: dict[str, Any]) -> None:
    first = np.array([0.1, 0.2, -0.1, 0.3])
    model, twin = Reranker(average=None, coef_init=first, **options), naive.Reranker(first, **options)
    for t, (H, mu) in enumerate(zip(*data(), strict=True)):
        weight = (0.4, 1.0, 2.5)[t % 3] if weighs(options) else 1.0
        if len(H):
            assert model.predict_one(H) == np.argmax(H @ twin.w)
        model.learn_one(H, mu, weight)
        twin.learn(H, mu, weight)
        np.testing.assert_allclose(model.coef_, twin.w, atol=1e-9)
    assert model.updates_ > 4


@plain
@pytest.mark.parametrize("options", [{}, {"variant": "I", "C": 0.05}, {"variant": "II", "C": 0.1}, {"rule": "AROW"}], ids=ids)
def test_ranker_twin(options: dict[str, Any]) -> None:
    model, twin = Ranker(average=None, **options), naive.Ranker(np.zeros(M), **options)
    X, y = data(8)
    for t, (H, mu) in enumerate(zip(X, y, strict=True)):
        mu, weight = np.round(mu), (0.4, 1.0, 2.5)[t % 3] if weighs(options) else 1.0
        model.learn_one(H, mu, weight)
        twin.learn(H, mu, weight)
        np.testing.assert_allclose(model.coef_, twin.w, atol=1e-9)
    assert twin.updates > 4
    assert model.predict(X) == [np.argsort(-(H @ twin.w), kind="stable").tolist() for H in X]


@plain
def test_pairs_are_an_example_for_two_classes() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 30, M))
    ranker = Ranker(variant="I", C=0.1, average=None).partial_fit(np.stack([A, B], axis=1), [[1, 0]] * 30)
    other = PAClassifier(0.1, "I", fit_intercept=False).partial_fit(A - B, np.ones(30, int), classes=[0, 1])
    np.testing.assert_allclose(ranker.coef_, other.coef_[0], atol=1e-12)


@plain
@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@pytest.mark.parametrize("update", ["prediction", "max_loss", "hope_fear"])
def test_steps_solve_their_problem(variant: str, update: str) -> None:
    """min |w' - w|^2 / 2 + C L(w') with L = max(0, rho - w'.D) for the chosen pair, or its square, or such that it is 0."""
    C, moved = 0.1, 0
    rng = np.random.default_rng(1)
    for H, mu in zip(*data(9, seed=4), strict=True):
        first = rng.normal(size=M) / 2
        model = Reranker(variant=variant, C=C, update=update, average=None, coef_init=first)
        model.learn_one(H, mu)
        found = naive.Reranker(first, update=update).pairs(H, mu)
        if not found or found[0][1] <= first @ found[0][0]:
            np.testing.assert_array_equal(model.coef_, first)
            continue
        D, wanted = found[0]
        check_step(variant, C, first, model.coef_, lambda w, D=D, wanted=wanted: wanted - w @ D)
        moved += 1
    assert moved > 3


@plain
def test_several_rivals() -> None:
    """k-best MIRA: after a hard step, all rivals are behind by what they cost, if that can be."""
    H, mu = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]), np.array([0.9, 0.5, 0.2, 0.1])
    model = Reranker(rivals=4, update="prediction", average=None)
    model.learn_one(H, mu)
    np.testing.assert_array_less(mu[0] - mu[1:] - 1e-6, (H[0] - H[1:]) @ model.coef_)


# --- ridge regression ---


@plain
@pytest.mark.parametrize("beta", [0.0, 0.01, 2.0])
def test_ridge_of_each_list(beta: float) -> None:
    """keep = 0 and alpha = 1: what each list alone asks for; without beta that is NumPy's pseudo-inverse."""
    model = LogLinear(beta=beta, keep=0)
    for H, mu in zip(*data(), strict=True):
        before = np.zeros(M) if not hasattr(model, "t_") or not model.n_features_in_ else model.coef_
        model.learn_one(H, mu)
        if len(H) > 1:
            np.testing.assert_allclose(model.coef_, naive.ridge(*naive.rows(H, mu), beta), atol=1e-7)
        elif len(before) == model.n_features_in_:
            np.testing.assert_array_equal(model.coef_, before)


@plain
@pytest.mark.parametrize("beta", [0.0, 0.01])
def test_ridge_over_the_stream_is_that_of_all_lists(beta: float) -> None:
    X, y = data()
    model = LogLinear(beta=beta).partial_fit(X, y)
    R, wanted = map(np.concatenate, zip(*[naive.rows(H, mu) for H, mu in zip(X, y, strict=True) if len(H)], strict=True))
    np.testing.assert_allclose(model.coef_, naive.ridge(R, wanted, beta), atol=1e-9)
    if beta:
        recursive = AROWRegressor(r=beta, covariance="full", fit_intercept=False).partial_fit(R, wanted)
        np.testing.assert_allclose(model.coef_, recursive.coef_, atol=1e-7)


@plain
@pytest.mark.parametrize("scale", [False, True])
def test_ridge_twin(scale: bool) -> None:
    """alpha, keep, weights and scale together."""
    w, A, b = np.array([1.0, 0.0, 0.5, 0.0]), np.zeros((M, M)), np.zeros(M)
    model = LogLinear(alpha=0.3, keep=0.7, beta=0.1, scale=scale, coef_init=w)
    for t, (H, mu) in enumerate(zip(*data(), strict=True)):
        weight = (0.4, 1.0, 2.5)[t % 3]
        model.learn_one(H, mu, weight)
        if len(H) > 1:
            R, wanted = naive.rows(H, mu)
            A, b = 0.7 * A + weight * R.T @ R, 0.7 * b + weight * R.T @ wanted
            solution = np.linalg.solve(A + 0.1 * np.eye(M), b)
            w = 0.7 * w + 0.3 * solution * (np.linalg.norm(w) / np.linalg.norm(solution) if scale else 1)
        np.testing.assert_allclose(model.coef_, w, atol=1e-9)


# --- sampling ---


@plain
def test_bayes_twin() -> None:
    first = np.array([0.5, 0.0, 0.0, -0.5])
    options = {"sigma": 1.5, "delta": 0.3, "jitter": 0.2}
    model = LogLinear("bayes", samples=40, random_state=3, coef_init=first, **options)
    X, y = data()
    model.partial_fit(X[:0], y[:0])
    model.learn_one(X[2], y[2])  # of one list of one there is nothing to learn, but the state that there is now
    state = model._state
    twin = naive.Bayes(state.arrays["W"][1:].copy(), first, state.seed, **options)
    for t, (H, mu) in enumerate(zip(X, y, strict=True)):
        weight = (0.4, 1.0, 2.5)[t % 3]
        if t > 0 and len(H):  # what a feature has drawn counts from the first list that has it
            np.testing.assert_allclose(model.predict_proba([H])[0], twin.predict_proba(H), atol=1e-9)
        model.learn_one(H, mu, weight)
        twin.learn(H, mu, weight)
        np.testing.assert_allclose(state.arrays["log_omega"], twin.log_omega, atol=1e-7)
        assert 1 / (np.exp(state.arrays["log_omega"]) ** 2).sum() >= 20
    assert twin.renewed > 2
    np.testing.assert_allclose(model.coef_, first + 1.5 * twin.draws @ np.exp(twin.log_omega), atol=1e-7)


@plain
def test_bayes_is_an_integral() -> None:
    """With many samples of one weight: p(y|x) is what the integral over p(lambda) prod p(y*|x, lambda)^(1/delta) gives."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(3, 1)) for _ in range(4)]
    y = [H[:, 0] for H in X]
    model = LogLinear("bayes", samples=4000, delta=2.0, random_state=0).partial_fit(X, y)
    grid = np.linspace(-8, 8, 4001)

    def chances(H: Any) -> Any:
        odds = np.exp(H @ grid[None])
        return odds / odds.sum(axis=0)

    density = np.exp(-(grid**2) / 2) * np.prod([chances(H)[np.argmax(mu)] ** 0.5 for H, mu in zip(X, y, strict=True)], axis=0)
    for H in X:
        np.testing.assert_allclose(model.predict_proba([H])[0], chances(H) @ density / density.sum(), atol=0.02)
    assert model.coef_[0] == pytest.approx(grid @ density / density.sum(), abs=0.05)


@plain
def test_renewing_keeps_mean_and_variance() -> None:
    """Vectors that are drawn anew are spread as those before were by their shares."""
    X, y = data(40)
    model = LogLinear("bayes", samples=2000, delta=0.2, random_state=0)
    for H, mu in zip(X, y, strict=True):
        before = None if not hasattr(model, "t_") else model._state.copy()
        model.learn_one(H, mu)
        if before is None or model._state.arrays["book"][2] == before.arrays["book"][2]:
            continue
        twin = naive.Bayes(before.arrays["W"][1:], np.zeros(M), 0, delta=0.2)
        twin.log_omega, twin.renew = before.arrays["log_omega"], lambda omega: None
        twin.learn(H, mu)
        omega, W = np.exp(twin.log_omega), model._state.arrays["W"][1:]
        mean = twin.draws @ omega
        np.testing.assert_allclose(W.mean(axis=1), mean, atol=0.1)
        np.testing.assert_allclose(W.var(axis=1), (twin.draws - mean[:, None]) ** 2 @ omega, rtol=0.25)
        return
    pytest.fail("nothing was drawn anew")


# --- the promises ---

LEARNERS: dict[str, Callable[..., Any]] = {
    "margins": Reranker,
    "hope": lambda **options: Reranker(update="hope_fear", variant="I", C=0.1, **options),
    "arow": lambda **options: Reranker("AROW", average=None, **options),
    "pairs": lambda **options: Ranker(variant="II", C=0.1, **options),
    "ridge": LogLinear,
    "bayes": lambda **options: LogLinear("bayes", samples=20, delta=0.5, **options),
}
every = pytest.mark.parametrize("name", LEARNERS)
COMPILED = ("margins", "ridge", "bayes")  # one of each kind of state
every_kind = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=compiled) if name in COMPILED else name for name in LEARNERS]
)
FORMS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "arrays": list,
    "sparse": lambda X: [sp.csr_array(H) for H in X],
    "dicts": dicts,
}


def made(name: str, **options: Any) -> Any:
    return LEARNERS[name](**{"random_state": 0, **options})


def coming(X: list[Any]) -> list[Any]:
    """Dicts in which features come up one after the other."""
    return [[{f"f{j}": float(v) for j, v in enumerate(h) if j <= t // 4} for h in H] for t, H in enumerate(X)]


@plain
@every_kind
@pytest.mark.parametrize("form", ["arrays", "coming"])
def test_cuts_do_not_matter(name: str, form: str) -> None:
    X, y = data()
    check_cuts(lambda: made(name), X if form == "arrays" else coming(X), y)


@plain
@every_kind
def test_forms_do_not_matter(name: str) -> None:
    X, y = data()
    X[0][0] = 1.0  # all features come with the first candidate, in the order of the columns
    models = {form: made(name).partial_fit(make(X), y) for form, make in FORMS.items()}
    for form, model in models.items():
        assert snapshot(model, names=False) == snapshot(models["arrays"], names=False)
        assert model.predict(FORMS[form](X)) == models["arrays"].predict(X)
        for a, b in zip(model.decision_function(FORMS[form](X)), models["arrays"].decision_function(X), strict=True):
            np.testing.assert_array_equal(a, b)
    frames = [pd.DataFrame(H, columns=list("abcd")) for H in X]
    assert snapshot(made(name).partial_fit(frames, [pd.Series(mu) for mu in y])) == snapshot(models["arrays"])
    table, target, qid = np.concatenate(X), np.concatenate(y), np.repeat(np.arange(len(X)), [*map(len, X)])
    filled = [t for t in range(len(X)) if len(X[t])]
    without = made(name).partial_fit([X[t] for t in filled], [y[t] for t in filled])
    assert snapshot(made(name).partial_fit(table, target, qid=qid)) == snapshot(without)
    assert snapshot(made(name).partial_fit(sp.csr_matrix(table), target, qid=qid)) == snapshot(without)


@plain
def test_what_users_hand_in_stays_as_it_is() -> None:
    """A sparse matrix with zeros, with entries in no order and twice at one place; an array that nobody may write to."""
    odd = sp.csr_array((np.array([1.0, 0.0, 2.0, 3.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, M))
    fixed = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
    fixed.flags.writeable = False
    one, other = (made("margins").partial_fit([H], [[0.5, 1.0]]) for H in (odd, fixed))
    assert snapshot(one) == snapshot(other)
    assert odd.data.tolist() == [1.0, 0.0, 2.0, 3.0]
    assert odd.indices.tolist() == [2, 0, 1, 1]


@plain
@every
@ways_to_go_on
def test_going_on_is_never_having_stopped(name: str, way: str, tmp_path: Path) -> None:
    X, y = data()
    check_going_on(lambda: made(name), coming(X), y, way, tmp_path)


@plain
@every
def test_fit_is_passes(name: str) -> None:
    X, y = data()
    model = made(name, max_iter=3, shuffle=False).fit(X, y)
    other = made(name)
    for _ in range(3):
        other.partial_fit(X, y)
    assert snapshot(model) == snapshot(other)
    again = [made(name, max_iter=2, random_state=seed).fit(X, y) for seed in (7, 7, 8)]
    assert snapshot(again[0]) == snapshot(again[1])
    if name != "ridge":  # least squares of all lists: in whatever order, but for rounding
        assert not np.allclose(again[0].coef_, again[2].coef_)
    assert clone(model).get_params() == model.get_params()


@plain
@every
def test_weights(name: str) -> None:
    X, y = data()
    weights = np.arange(len(X)) % 2 if made(name)._weights_are_switches() else np.arange(len(X)) % 3 / 2
    check_weights(lambda: made(name), X, y, weights)


@plain
@every
def test_single_precision(name: str) -> None:
    X, y = data()
    model, other = made(name, dtype="float32").partial_fit(X, y), made(name).partial_fit(X, y)
    assert model.coef_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, other.coef_, atol=0.5 if name == "bayes" else 1e-3)
    with pytest.raises(ValueError, match="must be less than"):
        model.learn_one([[1e12] * M], [1.0])


BAD: dict[str, tuple[Any, Any, str]] = {
    "NaN": ([[[1.0] * M, [np.nan] * M]], [[0.1, 0.2]], "contains NaN"),
    "infinity": ([[[1.0] * M, [np.inf] * M]], [[0.1, 0.2]], "must be less than"),
    "widths": ([[[1.0] * M], [[1.0] * 3]], [[0.1], [0.1]], "different numbers of features"),
    "ragged": ([[[1.0] * M, [1.0]]], [[0.1, 0.2]], "no matrix of numbers"),
    "text": ([[["a"] * M]], [[0.1]], "no matrix of numbers"),
    "one list": ([[1.0] * M], [[0.1]], "1 dimensions"),
    "no list": ("abc", [[0.1]], "Expected a list of lists"),
    "text for a list": (["abc"], [[0.1]], "is a str"),
    "table": (sp.csr_array(np.ones((2, M))), [0.1, 0.2], "qid"),
    "no quality": ([[[1.0] * M]], [None], "has no qualities"),
    "one quality": ([[[1.0] * M]], [0.1], "has no qualities"),
    "fewer qualities": ([[[1.0] * M] * 2], [[0.1]], "2 candidates and 1 qualities"),
    "NaN quality": ([[[1.0] * M] * 2], [[0.1, np.nan]], "quality in list"),
    "fewer lists": ([[[1.0] * M]] * 2, [[0.1]], "qualities for"),
    "no y": ([[[1.0] * M]], None, "y is None"),
}


@plain
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", ["margins", "ridge", "bayes"])
def test_bad_input_changes_nothing(bad: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "COPIED_ALWAYS", 0)
    good_X, good_y = data(5)
    X, y, said = BAD[bad]
    model = made(name).partial_fit(good_X, good_y)
    before = snapshot(model)
    for method in (model.partial_fit, model.test_then_train, model.fit):
        with pytest.raises((TypeError, ValueError), match=said):
            method(
                [*good_X, *X] if isinstance(X, list) and isinstance(y, list) else X,
                [*good_y, *y] if isinstance(X, list) and y else y,
            )
        assert snapshot(model) == before
    fresh = made(name)
    with pytest.raises((TypeError, ValueError), match=said):
        fresh.partial_fit(X, y)
    assert fresh._state is None
    model.partial_fit(good_X, good_y)
    assert snapshot(model) == snapshot(made(name).partial_fit(good_X, good_y).partial_fit(good_X, good_y))


@plain
def test_features_must_be_those_of_the_model() -> None:
    X, y = data(6)
    model = made("margins").partial_fit(X, y)
    named = made("margins").partial_fit(dicts(X), y)
    for one, other, said in [
        (model, [H[:, :3] for H in X], "3 features"),
        (model, dicts(X), "without names"),
        (named, X, "that have names"),
        (named, [*dicts(X[:1]), X[3].tolist()], "give a dict"),
    ]:
        before = snapshot(one)
        for call in (one.predict, one.decision_function, lambda X, one=one: one.partial_fit(X, y[: len(X)])):
            with pytest.raises((TypeError, ValueError), match=said):
                call(other)
        assert snapshot(one) == before
    for options, said in [
        ({"coef_init": [1.0, np.nan]}, "coef_init"),
        ({"coef_init": [[1.0]]}, "coef_init"),
        ({"update": "hope_fear", "cost": "root"}, "hope_fear"),
    ]:
        with pytest.raises(ValueError, match=said):
            Reranker(**options).partial_fit(X, y)
    with pytest.raises(ValueError, match="2 features"):
        Reranker(coef_init=[1.0, 2.0]).partial_fit(X, y)
    with pytest.raises(ValueError, match="neighbours"):
        Ranker().fit(np.ones((3, 2)), [1, 2, 3], qid=[1, 2, 1])
    with pytest.raises(ValueError, match="qid has the shape"):
        Ranker().fit(np.ones((3, 2)), [1, 2, 3], qid=[1, 2])


@plain
@pytest.mark.parametrize("first", [np.array([1.0, 2.0, 0.0, -1.0]), {"f0": 1.0, "f1": 2.0, "f3": -1.0}], ids=["array", "dict"])
@every
def test_first_weights(name: str, first: Any, tmp_path: Path) -> None:
    """They count from the first list on, and are in the file."""
    X, y = data()
    lists = dicts(X) if isinstance(first, dict) else X
    options = {"coef_init": first, **({"sigma": 1e-9} if name == "bayes" else {})}
    model = made(name, **options)
    foretold = [np.argsort(-(H @ [1.0, 2.0, 0.0, -1.0]), kind="stable").tolist() for H in X]
    wanted = foretold if name == "pairs" else [order[0] if order else None for order in foretold]
    assert [model.predict_one(H) for H in lists] == wanted
    model.partial_fit(lists[:2], y[:2])
    model.save(tmp_path / "model.onepass")
    again = onepass.load(tmp_path / "model.onepass").partial_fit(lists[2:], y[2:])
    assert snapshot(again) == snapshot(made(name, **options).partial_fit(lists, y))


# --- odd lists ---


@plain
@every_kind
def test_odd_lists(name: str) -> None:
    """Empty, of one, all of the same quality, all of the same features: defined answers, and no NaN."""
    empty = [] if name == "pairs" else None
    model = made(name)
    assert model.predict_one([]) == empty
    with pytest.raises(NotFittedError):
        model.predict([[]])
    assert model.test_then_train([[], np.empty((0, M))], [[], []]) == [empty, empty]
    model.learn_one(np.ones((1, M)), [0.5])
    assert model.t_ == 3
    assert model.predict_one(np.ones((1, M))) == ([0] if name == "pairs" else 0)
    assert not model.coef_.any() or name == "bayes"
    model.learn_one(np.eye(M), [0.5] * M)
    model.learn_one(np.ones((3, M)), [0.1, 0.5, 0.3])
    model.learn_one(np.zeros((3, M)), [0.1, 0.5, 0.3])
    assert np.isfinite(model.coef_).all()
    assert all(np.isfinite(scores).all() for scores in model.decision_function([np.eye(M), np.zeros((3, M)), []]))
    assert model.predict_one(np.zeros((3, M))) == ([0, 1, 2] if name == "pairs" else 0)
    assert model.predict_n_best([np.zeros((3, M)), []], 2) == [
        [(0, pytest.approx(s)), (1, pytest.approx(s))] for s in [model.decision_function([np.zeros((3, M))])[0][0]]
    ] + [[]]


@plain
@every
def test_features_that_are_not_known_count_for_nothing(name: str) -> None:
    X, y = data()
    model = made(name).partial_fit(dicts(X), y)
    more = [[{**h, "new": 9.0} for h in H] for H in dicts(X)]
    assert model.predict(more) == model.predict(dicts(X))
    fixed = made(name, grow=False).partial_fit(dicts(X), y)
    assert fixed.partial_fit(more, y).n_features_in_ == M


@plain
def test_figures() -> None:
    """What is chosen, what the oracle would choose, and the pairs in order."""
    X, y = [[[1.0], [2.0]], [[3.0], [1.0], [2.0]], []], [[0.2, 0.6], [0.1, 0.5, 0.4], []]
    model = Reranker(coef_init=[1.0])
    assert [model.predict_one(H) for H in X] == [1, 0, None]
    model.partial_fit([[]], [[]])
    assert model.score(X, y) == pytest.approx((0.6 + 0.1) / 2)
    assert model.score(X, y, sample_weight=[1, 3, 9]) == pytest.approx((0.6 + 3 * 0.1) / 4)
    assert model.oracle_score(y) == pytest.approx((0.6 + 0.5) / 2)
    assert np.isnan(model.score([[]], [[]]))
    assert model.predict_n_best(X, 2) == [[(1, 2.0), (0, 1.0)], [(0, 3.0), (2, 2.0)], []]
    ranker = Ranker(coef_init=[1.0]).partial_fit([[]], [[]])
    assert ranker.predict(X) == [[1, 0], [0, 2, 1], []]
    assert ranker.score(X, y) == pytest.approx(1 / 4)
    assert ranker.score([[[1.0], [1.0]]], [[0, 1]]) == 0.5
    loglinear = LogLinear(coef_init={"a": np.log(2.0)}).partial_fit([[]], [[]])
    np.testing.assert_allclose(loglinear.predict_proba([[{"a": 1.0}, {}, {"b": 1.0}], []])[0], [0.5, 0.25, 0.25])


@plain
@every
def test_learning_helps(name: str) -> None:
    X, y = data(200)
    model = made(name).fit(X[:100], y[:100])
    if name == "pairs":
        assert model.score(X[100:], y[100:]) > 0.8
    else:
        first = np.mean([mu[0] for mu in y[100:] if len(mu)])
        assert model.score(X[100:], y[100:]) > (first + 4 * model.oracle_score(y[100:])) / 5


@plain
def test_damaged_files(tmp_path: Path) -> None:
    X, y = data()
    for name, counter in (("ridge", "seen"), ("bayes", "book")):
        model = made(name).partial_fit(X, y)
        model._state.arrays[counter][0] = 99
        model._state.bound = model._bound = None
        with pytest.raises(RuntimeError, match="features that it does not have"):
            model.save(tmp_path / "model.onepass")
