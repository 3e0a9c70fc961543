"""One example through the stages and the learner of a pipeline, in one call: the same bits as a table of one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onepass import (
    ActiveLearner,
    Imputer,
    KernelPA,
    PAClassifier,
    PAMultilabel,
    PARegressor,
    PAUniclass,
    RBFBasis,
    StandardScaler,
    UnitNorm,
    pipeline,
)
from onepass.base.knowledge import OPEN_STREAM, STREAM
from shared import snapshot

MODELS: dict[str, Callable[[], Any]] = {
    "scaled": lambda: pipeline(StandardScaler(), PAClassifier(average=True)),
    "unit": lambda: pipeline(UnitNorm(), PAClassifier(fit_intercept=False)),
    "three stages": lambda: pipeline(StandardScaler(), UnitNorm(), RBFBasis(count=7), PARegressor()),
    "holes": lambda: pipeline(Imputer(indicator=True), StandardScaler(), PAClassifier()),
    "bases first": lambda: pipeline(RBFBasis(count=5), StandardScaler(), PAClassifier()),
    "a set that makes room": lambda: pipeline(StandardScaler(), KernelPA(gamma=0.1, random_state=0)),
}
N, D = 300, 19


def rows() -> Any:
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.8) * np.geomspace(1e-3, 1e3, D)


def holed(X: Any) -> Any:
    """The same rows, of which some values are missing."""
    return np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)


def targets(model: Any, X: Any, k: int = 2) -> list[Any]:
    scores = np.tanh(X) @ np.random.default_rng(1).normal(size=D)
    if isinstance(model.learner, PARegressor):
        return scores.tolist()
    return [f"class {c}" for c in np.digitize(scores, np.quantile(scores, np.arange(1, k) / k))]


def examples(X: Any, kind: str) -> list[Any]:
    if kind == "dicts":
        return [{f"f{j}": value for j, value in enumerate(x) if value} for x in X.tolist()]
    return list(X.astype(kind))


def content(model: Any) -> list[Any]:
    return [snapshot(step) for _, step in model.steps]


def taught(make: Callable[[], Any], kind: str = "float64", k: int = 2) -> tuple[Any, list[Any]]:
    """A model that has learned single examples, and the examples."""
    model, X = make(), rows()
    xs = examples(X, kind)
    for x, y in zip(xs, targets(model, X, k), strict=True):
        model.learn_one(x, y)
    return model, xs


@pytest.mark.plain
@pytest.mark.parametrize("kind", [pytest.param("float64", marks=pytest.mark.compiled), "float32", "dicts"])
@pytest.mark.parametrize("name", MODELS)
def test_one_call_is_a_table_of_one_row(name: str, kind: str) -> None:
    model, twin, X = MODELS[name](), MODELS[name](), rows()
    for x, y in zip(examples(holed(X) if name == "holes" else X, kind), targets(model, X), strict=True):
        table = [x] if kind == "dicts" else x[None]
        if model.__sklearn_is_fitted__():
            assert model.predict_one(x) == twin.predict(table)[0]
        model.learn_one(x, y)
        twin._learn(table, [y], None, OPEN_STREAM if kind == "dicts" else STREAM)
    assert content(model) == content(twin)
    assert model._chain().one is not None, "that was no test of single examples"


@pytest.mark.plain
def test_many_classes_and_a_label_that_is_new() -> None:
    model, xs = taught(MODELS["scaled"], k=3)
    assert model._chain().one.width == 3
    assert [model.predict_one(x) for x in xs] == model.predict(np.array(xs)).tolist()
    model.learn_one(xs[0], "a fourth")
    assert len(model.classes_) == 4
    assert [model.predict_one(x) for x in xs] == model.predict(np.array(xs)).tolist()


@pytest.mark.plain
def test_one_class_and_sets_of_labels() -> None:
    one, xs = taught(lambda: pipeline(StandardScaler(), PAUniclass()))
    assert [one.predict_one(x) for x in xs] == one.predict(np.array(xs)).tolist()
    many = pipeline(StandardScaler(), PAMultilabel())
    for x in xs:
        many.learn_one(x, {"a"} if x[0] > 0 else {"a", "b"})
    assert all(many.predict_one(x) <= {"a", "b"} for x in xs)


def test_questions_are_asked_by_the_margin() -> None:
    model, xs = taught(MODELS["scaled"])
    active = ActiveLearner(model, delta=1e-9, random_state=0)
    for x, y in zip(xs, targets(model, np.array(xs)), strict=True):
        active.learn_one(x, y)
    asked = active.asked_
    sure = [x for x in xs if abs(active.decision_function(x[None])[0]) > 0.1]
    assert not any(active.query(x) for x in sure)
    assert active.asked_ == asked


BAD = {
    "NaN": lambda x: np.where(np.arange(D) == 3, np.nan, x),
    "infinity": lambda x: np.where(np.arange(D) == 3, np.inf, x),
    "a square that overflows": lambda x: x + 1e200,
    "too short": lambda x: x[:-1],
    "a matrix": lambda x: x[None],
    "text": lambda x: x.astype(str).astype(object) + "?",
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_example_changes_nothing(bad: str) -> None:
    model, xs = taught(MODELS["scaled"])
    before = content(model)
    for call in (lambda x: model.learn_one(x, "class 0"), model.predict_one):
        with pytest.raises((ValueError, TypeError)):
            call(BAD[bad](xs[0]))
        assert content(model) == before


def test_views_that_are_not_contiguous_and_other_types() -> None:
    model, xs = taught(MODELS["scaled"])
    twin = model.copy()
    wide = np.repeat(np.array(xs[:20]), 2, axis=1)
    for x, same in zip(wide, xs, strict=False):
        model.learn_one(x[::2], "class 1")
        twin.learn_one(same, "class 1")
        model.learn_one(np.round(x[::2]).astype(int), "class 0")
        twin.learn_one(np.round(same), "class 0")
    assert content(model) == content(twin)


def test_parameters_and_steps_that_change_are_noticed() -> None:
    model, xs = taught(MODELS["scaled"])
    twin = model.copy()
    for m in (model, twin):
        m.set_params(paclassifier__C=0.01)
    for x in xs:
        model.learn_one(x, "class 0")
        twin.partial_fit(x[None], ["class 0"])
    assert content(model) == content(twin)
    model["standardscaler"].fit(np.array(xs) * 10)  # behind the pipeline's back
    twin["standardscaler"].fit(np.array(xs) * 10)
    model.learn_one(xs[0], "class 1")
    twin.partial_fit(xs[0][None], ["class 1"])
    assert content(model) == content(twin)
    model.steps[0] = ("other", StandardScaler().fit(np.array(xs) + 1))
    assert model.predict_one(xs[0]) == model.predict(xs[0][None])[0]


def test_a_model_of_floats_takes_dicts() -> None:
    """Frames may be float32 and have names; a dict is float64 up to the learner."""
    import pandas as pd

    X = rows()
    names = [f"f{j}" for j in range(D)]
    model = pipeline(StandardScaler(), PAClassifier(grow="labels"))
    model.partial_fit(pd.DataFrame(X.astype(np.float32), columns=names), targets(model, X))
    twin = model.copy()
    for x in examples(X, "dicts"):
        model.learn_one(x, "class 0")
        twin.partial_fit([x], ["class 0"])
    assert content(model) == content(twin)
