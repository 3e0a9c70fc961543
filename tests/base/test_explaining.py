"""Contributions of features: they add up to the score, for every learner that gives them, and are those of the features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import onepass
from onepass import (
    ActiveLearner,
    AROWClassifier,
    Hasher,
    Imputer,
    KernelPA,
    PAClassifier,
    PAMOClassifier,
    PAMORegressor,
    PARegressor,
    RBFBasis,
    StandardScaler,
    Table,
    Text,
    UnitNorm,
    pipeline,
)
from onepass.base import Classifier, Regressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
X[RNG.random(X.shape) < 0.2] = 0
THREE = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)
TARGETS = {"two": (X[:, 0] + X[:, 1] > 0).astype(int), "three": THREE, "numbers": X @ RNG.normal(size=5)}

EXPLAINED = {name: cls for name, cls in onepass.learners().items() if hasattr(cls, "explain_one")}
CASES = [
    (name, task)
    for name, cls in EXPLAINED.items()
    for task in TARGETS
    if (issubclass(cls, Regressor) if task == "numbers" else issubclass(cls, Classifier))
]
VARIANTS = {
    "averaged": lambda: PAClassifier(average=True),
    "half-life": lambda: onepass.ROMMA(average=10.0),
    "auto": lambda: PAClassifier(C="auto", average=True),
    "PAMO auto": lambda: PAMOClassifier(4, 3, C="auto", random_state=0),
    "PAMO averaged": lambda: PAMOClassifier(4, 3, average=True, random_state=0),
    "PAMO without intercept": lambda: PAMOClassifier(4, fit_intercept=False, random_state=0),
    "pocket": lambda: onepass.Perceptron(pocket=True),
    "norm": lambda: onepass.ALMA(p=4),
    "full": lambda: AROWClassifier(covariance="full"),
    "without intercept": lambda: PAClassifier(fit_intercept=False),
}


def total(explanation: Any) -> float:
    return float(explanation.bias + sum(explanation.contributions.values()))


def check(model: Any, x: Any, scores: Any, rtol: float = 1e-9) -> None:
    """The parts add up to the score, of each label."""
    scores = np.atleast_1d(scores)
    if not hasattr(model, "classes_"):
        wanted = {None: scores[0]}
    elif len(scores) == 1 and len(model.classes_) == 2:
        wanted = {model.classes_[0]: -scores[0], model.classes_[1]: scores[0]}
    else:
        wanted = dict(zip(model.classes_, scores, strict=True))
    for label, score in wanted.items():
        explanation = model.explain_one(x, label)
        assert explanation.score == score
        assert explanation.label == label
        assert total(explanation) == pytest.approx(score, rel=rtol, abs=rtol)
        sizes = [abs(value) for value in explanation.contributions.values()]
        assert sizes == sorted(sizes, reverse=True)
    best = max(wanted, key=lambda label: wanted[label])
    assert model.explain_one(x).score == wanted[best]


@pytest.mark.plain
@pytest.mark.parametrize(("name", "task"), CASES)
def test_parts_add_up(name: str, task: str) -> None:
    model = EXPLAINED[name]().set_params(**({"dimensions": 4, "random_state": 0} if "PAMO" in name else {}))
    model.fit(X, TARGETS[task])
    scores = model.predict(X) if task == "numbers" else model.decision_function(X)
    for t in range(5):
        check(model, X[t], scores[t])
        assert set(model.explain_one(X[t]).contributions) == set(np.flatnonzero(X[t]).tolist())


@pytest.mark.plain
@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("task", ["two", "three"])
@pytest.mark.parametrize("way", ["dense", "float32", "csr", "dicts"])
def test_parts_add_up_in_all_variants(name: str, task: str, way: str) -> None:
    model, ones = VARIANTS[name](), [dict(zip("abcde", row, strict=True)) for row in X.tolist()]
    if way == "dicts":
        for x, y in zip(ones, TARGETS[task], strict=True):
            model.learn_one(x, int(y))
        check(model, ones[0], model.decision_function(ones[:1])[0])
        check(model, {**ones[1], "new": 2.0}, model.decision_function([{**ones[1], "new": 2.0}])[0])
        assert set(model.explain_one(ones[0]).contributions) <= set("abcde")
        return
    rows = {"dense": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X)}[way]
    model.fit(rows, TARGETS[task])
    x = rows[[0]] if way == "csr" else rows[0]
    check(model, x, model.decision_function(rows[:1] if way != "csr" else x)[0], 1e-4 if way == "float32" else 1e-9)


@pytest.mark.plain
@pytest.mark.compiled
def test_linear_parts_are_weights_times_values() -> None:
    model = PAClassifier().fit(X, THREE)
    explanation = model.explain_one(X[0], 2)
    assert explanation.bias == model.intercept_[2]
    for j, part in explanation.contributions.items():
        assert part == pytest.approx(model.coef_[2, j] * X[0, j])


@pytest.mark.plain
@pytest.mark.parametrize(
    "model", [PAMOClassifier(6, 3, random_state=1), PAMORegressor(6, 3, random_state=1)], ids=["two", "numbers"]
)
def test_pamo_shows_itself(model: Any) -> None:
    """All that is shown fits together: hyperplanes, which of them win, the embedding, the score, and the parts of it."""
    model.fit(X, TARGETS["two"] if isinstance(model, Classifier) else TARGETS["numbers"])
    rows = np.hstack([np.ones((len(X), 1)), X])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    products = np.einsum("nd,ijd->nij", rows, model.hyperplanes_)
    np.testing.assert_array_equal(model.winners(X), products.argmax(axis=2))
    z = products.max(axis=2)
    norms = np.linalg.norm(z, axis=1, keepdims=True)
    np.testing.assert_allclose(model.embed(X), z / norms, rtol=1e-9)
    scores = model.decision_function(X) if isinstance(model, Classifier) else model.predict(X)
    mean, scale = (0.0, 1.0) if isinstance(model, Classifier) else (model.target_mean_, model.target_scale_)
    w, scores = model.weights_.ravel(), (scores - mean) / scale
    np.testing.assert_allclose(model.embed(X) @ w, scores, rtol=1e-9, atol=1e-12)
    won = model.hyperplanes_[np.arange(6), model.winners(X[:1])[0]]
    label = {"label": model.classes_[1]} if isinstance(model, Classifier) else {}
    explanation = model.explain_one(X[0], **label)
    for j, part in explanation.contributions.items():
        assert part == pytest.approx(scale * (w @ won[:, j + 1]) * rows[0, j + 1] / norms[0, 0])


@pytest.mark.plain
@pytest.mark.compiled
def test_many_classes_of_pamo_have_weights_each() -> None:
    model = PAMOClassifier(6, random_state=1, average=True).fit(X, THREE)
    assert model.weights_.shape == (3, 6)
    np.testing.assert_allclose(model.embed(X) @ model.weights_.T, model.decision_function(X), rtol=1e-9, atol=1e-12)


# --- pipelines ---

RAW = [
    {"age": 35.0, "city": "Valencia", "joined": "2024-02-29", "note": "likes long walks and short talks", "rank": 1},
    {"age": 71.0, "city": "Bilbao", "joined": "2019-11-02", "note": "talks of long walks all day long", "rank": 3},
    {"age": None, "city": "Valencia", "joined": "2023-05-01", "note": None, "rank": 2},
    {"age": 20.0, "city": "Lugo", "joined": None, "note": "a walk", "rank": 2, "late": 5.0, "born": "2001-01-01"},
]
RAW = [*RAW, *({**x, "rank": x["rank"] + 1} for x in RAW)]
WORDS = ["Win a prize now!", "See you at lunch", "You win! Call Ärger now", "a 漢字 € b, c"]
PIPELINES: dict[str, tuple[Callable[[], Any], list[Any], set[str]]] = {
    "table": (lambda: pipeline(Table(), PAClassifier()), RAW, {"city=Valencia", "note: walks", "age", "joined (day, cosine)"}),
    "pairs": (lambda: pipeline(Table(pairs="all", n_features=2**16), PAClassifier()), RAW, {"age x city", "city=Valencia"}),
    "unscaled": (lambda: pipeline(Table(64, scale=False, categories=["rank"]), AROWClassifier()), RAW, set()),
    "table of numbers": (lambda: pipeline(Table(), PAClassifier()), [{"age": float(t), "b": 1.0} for t in range(8)], {"age"}),
    "words": (lambda: pipeline(Text(), PAClassifier()), WORDS * 2, {"win", "prize", "!"}),
    "n-grams": (
        lambda: pipeline(Text(ngrams=2, letters=(2, 4), weight="tfidf"), PAClassifier()),
        WORDS * 2,
        {"a prize", "'priz'", "!"},
    ),
    "grown": (
        lambda: pipeline(Text(ngrams=2, letters=(2, 4), grow=True, max_features=60), PAClassifier()),
        WORDS * 2,
        {"a prize", "'priz'", "!"},
    ),
    "shared": (lambda: pipeline(Text(n_features=3), PAClassifier()), WORDS * 2, set()),
    "hashed": (
        lambda: pipeline(Hasher(), StandardScaler(), UnitNorm(), PAMOClassifier(4, random_state=0)),
        [{"colour": c, "size": float(t)} for t, c in enumerate(["red", "blue"] * 4)],
        {"colour=red"},
    ),
    "holes": (
        lambda: pipeline(Imputer(indicator=True), StandardScaler(), PAClassifier()),
        [{"a": 1.0, "b": None}, {"a": None, "b": 2.0}, {"a": 3.0, "b": 1.0}, {"a": -1.0, "b": 0.5}] * 2,
        {"b=missing"},
    ),
    "scaled": (
        lambda: pipeline(StandardScaler(), PAClassifier()),
        [{"a": float(t), "b": t % 3 + 0.5} for t in range(8)],
        {"b"},
    ),
}


@pytest.mark.plain
@pytest.mark.parametrize("name", PIPELINES)
def test_features_are_called_what_the_user_calls_them(name: str) -> None:
    make, examples, some = PIPELINES[name]
    model = make()
    for t, x in enumerate(examples):
        model.learn_one(x, ["yes", "no", "yes", "perhaps"][t % 4])
    for x in examples:
        check(model, x, model.decision_function([x])[0])
    assert some <= set(model.explain_one(examples[0]).contributions)


@pytest.mark.plain
@pytest.mark.compiled
def test_words_are_named_by_their_columns() -> None:
    """What a word alone adds is in the column that is called after it."""
    stage = Text(ngrams=2, letters=(2, 3))
    called = stage._called(stage._latest(), ["Ab, cd ef"], None)
    assert set(called.values()) >= {"ab", ",", "cd", "ef", "ab ,", "cd ef", "' a'", "' ab'"}
    for word in ("ab", ",", "cd"):
        alone = Text(letters=None)
        (column,) = alone.transform([word]).indices
        assert called[column] == word


@pytest.mark.plain
def test_arrays_in_pipelines_have_numbers_for_columns() -> None:
    model = pipeline(StandardScaler(), PARegressor()).fit(X, TARGETS["numbers"])
    check(model, X[0], model.predict(X[:1])[0])
    assert set(model.explain_one(X[0]).contributions) <= set(range(5))
    bases = pipeline(RBFBasis(count=3), PARegressor()).fit(X, TARGETS["numbers"])
    check(bases, X[0], bases.predict(X[:1])[0])
    assert set(bases.explain_one(X[0]).contributions) == {"basis0", "basis1", "basis2"}


@pytest.mark.plain
def test_sets_of_labels() -> None:
    model = onepass.PAMultilabel().fit(X, np.column_stack([THREE > 0, THREE > 1]).astype(int))
    check(model, X[0], model.decision_function(X[:1])[0])


@pytest.mark.plain
@pytest.mark.parametrize("inner", [PAClassifier(), pipeline(StandardScaler(), PAClassifier())], ids=["learner", "pipeline"])
@pytest.mark.parametrize("task", ["two", "three"])
def test_active_learners_explain_as_what_learns_in_them(inner: Any, task: str) -> None:
    model = ActiveLearner(inner, delta=0.5, random_state=0).fit(X, TARGETS[task])
    for x in X[:5]:
        check(model, x, model.decision_function(x[None])[0])
        assert model.explain_one(x) == model.learner_.explain_one(x)


@pytest.mark.plain
def test_what_can_not_be_explained_is_said() -> None:
    fresh, one, numbers = PAClassifier(), PAClassifier(), PARegressor().fit(X, TARGETS["numbers"])
    one.learn_one({"a": 1.0}, "only")
    with pytest.raises(NotFittedError):
        fresh.explain_one(X[0])
    with pytest.raises(ValueError, match="not met enough labels"):
        one.explain_one({"a": 1.0})
    with pytest.raises(ValueError, match="'x' is none of the labels"):
        PAClassifier().fit(X, THREE).explain_one(X[0], "x")
    with pytest.raises(ValueError, match="no label to explain"):
        numbers.explain_one(X[0], 1)
    assert not hasattr(KernelPA(), "explain_one")
    assert not hasattr(pipeline(StandardScaler(), KernelPA()), "explain_one")
    assert not hasattr(ActiveLearner(KernelPA()), "explain_one")
    with pytest.raises(NotFittedError):
        ActiveLearner(PAClassifier()).explain_one(X[0])


@pytest.mark.plain
def test_printed() -> None:
    model = PAClassifier(fit_intercept=False)
    for x, y in [({"free": 1, "offer": 1}, "spam"), ({"noon": 1}, "ham"), ({"free": 1, "prize": 1}, "spam")]:
        model.learn_one(x, y)
    assert repr(model.explain_one({"free": 1.0, "noon": 2.0})).splitlines() == [
        "noon            +2",
        "free            -0.5",
        "(bias)          +0",
        "score of 'ham'  +1.5",
    ]
    many = {f"x{j}": 1.0 for j in range(30)}
    model.learn_one(many, "spam")
    assert "(20 more)" in repr(model.explain_one(many))
