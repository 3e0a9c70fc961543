"""Our learners in river's pipelines and evaluations."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import onepass
from onepass import OGDClassifier, PAClassifier, PAMOClassifier, PAMultilabel, PARegressor, PAUniclass, evaluate, pipeline

river = import_module("river")
from river import compose, metrics, preprocessing  # noqa: E402
from river import evaluate as evaluate_of_river  # noqa: E402

pytestmark = pytest.mark.plain

RNG = np.random.default_rng(11)
X = RNG.normal(2.0, [1.0, 5.0, 0.2], (120, 3)).round(3)
Z = X @ [1.0, 0.3, -2.0]
Y = np.where(Z < -2, "low", np.where(Z > 0, "high", "mid"))
DICTS = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


def by_hand(learner: Any, y: list[Any]) -> tuple[Any, list[Any]]:
    """What river does: a scaler that learns from an example before the example passes it to be learned from."""
    scaler, answers = preprocessing.StandardScaler(), []
    for x, target in zip(DICTS, y, strict=True):
        answers.append(learner.predict_one(scaler.transform_one(x)))
        scaler.learn_one(x)
        learner.learn_one(scaler.transform_one(x), target)
    return learner, answers


@pytest.mark.parametrize("make", [PAClassifier, lambda: PAMOClassifier(dimensions=3, random_state=0)])
def test_a_classifier_at_the_end_of_a_pipeline_of_river(make: Any) -> None:
    model = preprocessing.StandardScaler() | make()
    assert isinstance(model, compose.Pipeline)
    assert isinstance(model, river.base.Classifier)
    assert not isinstance(model, river.base.Regressor)
    score = evaluate_of_river.progressive_val_score(zip(DICTS, Y.tolist(), strict=True), model, metrics.Accuracy())
    twin, answers = by_hand(make(), Y.tolist())
    told = [answer == y for answer, y in zip(answers, Y.tolist(), strict=True) if answer is not None]
    assert score.get() == pytest.approx(np.mean(told), rel=1e-12)
    assert model[-1].decision_function(DICTS).tolist() == twin.decision_function(DICTS).tolist()


def test_a_regressor_at_the_end_of_a_pipeline_of_river() -> None:
    model = preprocessing.StandardScaler() | PARegressor()
    assert isinstance(model, river.base.Regressor)
    score = evaluate_of_river.progressive_val_score(zip(DICTS, Z.tolist(), strict=True), model, metrics.MAE())
    _, answers = by_hand(PARegressor(), Z.tolist())
    assert score.get() == pytest.approx(np.mean(np.abs(np.array(answers) - Z)), rel=1e-9)


def test_a_pipeline_of_ours_is_evaluated_by_river_as_by_us() -> None:
    ours, theirs = (pipeline(onepass.StandardScaler(), PAClassifier()) for _ in range(2))
    stream = list(zip(DICTS, Y.tolist(), strict=True))
    mine = evaluate.prequential(ours, stream, [metrics.Accuracy(), metrics.CohenKappa(), metrics.MacroF1()])
    score = evaluate_of_river.progressive_val_score(stream, theirs, metrics.Accuracy())
    assert round(score.get() * (len(Y) - 1)) == round(
        mine.metrics["Accuracy"] * len(Y)
    )  # river leaves out the first, without an answer
    assert ours.decision_function(DICTS).tolist() == theirs.decision_function(DICTS).tolist()
    assert metrics.Accuracy().works_with(ours)
    assert not metrics.MAE().works_with(ours)


def test_probabilities_and_weights() -> None:
    model = preprocessing.StandardScaler() | OGDClassifier("log")
    stream = [(x, bool(z > 0), {"w": 2.0}) for x, z in zip(DICTS, Z, strict=True)]
    assert evaluate_of_river.progressive_val_score(stream, model, metrics.ROCAUC()).get() > 0.9


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("learner", [PAClassifier(), pipeline(onepass.StandardScaler(), PAClassifier())])
def test_frames_are_learned_as_their_rows_one_by_one(learner: Any, library: str) -> None:
    frame, many, single = FRAMES[library](DICTS), learner.copy(), learner.copy()
    assert list(many.predict_many(frame[:2])) == [None, None]
    for start in range(0, 120, 40):
        many.learn_many(frame[start : start + 40], Y[start : start + 40])
    for x, y in zip(DICTS, Y.tolist(), strict=True):
        single.learn_one(x, y)
    answers = many.predict_many(frame[60:])
    assert type(answers).__module__.startswith(library)
    assert list(answers) == [single.predict_one(x) for x in DICTS[60:]]
    assert many.decision_function(DICTS).tolist() == single.decision_function(DICTS).tolist()


def test_frames_through_a_pipeline_of_river() -> None:
    frame, y = pd.DataFrame(DICTS, index=range(1000, 1120)), pd.Series(Y)
    model = preprocessing.StandardScaler() | PAClassifier()
    for start in range(0, 120, 40):
        model.learn_many(frame[start : start + 40], y[start : start + 40])
    answers = model.predict_many(frame)
    assert answers.index.equals(frame.index)
    assert (answers.to_numpy() == Y).mean() > 0.8


def test_learners_of_other_kinds_are_no_classifiers_and_no_regressors() -> None:
    for model in (PAUniclass(), PAMultilabel()):
        assert not isinstance(model, river.base.Regressor)
    assert not isinstance(PAUniclass(), river.base.Classifier)
