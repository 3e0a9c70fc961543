"""Somebody who comes from river: its quick-start, ported line by line, ends as it does there."""

from __future__ import annotations

from importlib import import_module

import pytest

from onepass import OGDClassifier, PAClassifier, StandardScaler, evaluate, pipeline

datasets = import_module("river.datasets")
from river import compose, linear_model, metrics, preprocessing  # noqa: E402
from river import evaluate as evaluate_of_river  # noqa: E402

pytestmark = pytest.mark.plain


def test_quick_start() -> None:
    """River's README: 89.28 %. Its logistic regression is gradient descent at a constant rate of 0.01."""
    theirs = compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    ours = pipeline(StandardScaler(), OGDClassifier(loss="log", rate=0.01, power=0, adagrad=False))
    accuracies = []
    for model in (theirs, ours):
        metric = metrics.Accuracy()
        for x, y in datasets.Phishing():
            metric.update(y, model.predict_one(x))
            model.learn_one(x, y)
        accuracies.append(metric.get())
    assert accuracies == [0.8928, 0.8928]


def test_the_same_stream_as_dicts_and_as_arrays() -> None:
    """14.6 % either way; dicts have no answer to the first example."""
    data = list(datasets.Phishing())
    X, y = [[float(value) for value in x.values()] for x, _ in data], [y for _, y in data]
    table, named = (pipeline(StandardScaler(), PAClassifier()) for _ in range(2))
    of_table = evaluate.prequential(table, (X, y)).metrics["mistake_rate"]
    of_dicts = evaluate.prequential(named, data).metrics["mistake_rate"]
    assert (round(of_table * 1250), round(of_dicts * 1250)) == (182, 183)
    assert named.coef_ == pytest.approx(table.coef_, rel=1e-9)


def test_one_step_at_a_time() -> None:
    """Their scaler and our learner, our scaler and their metrics, their evaluation of both."""
    learner = OGDClassifier(loss="log", rate=0.01, power=0, adagrad=False)
    mixed = preprocessing.StandardScaler() | learner.copy()
    stage = pipeline(preprocessing.StandardScaler(), learner.copy())
    scores = [
        evaluate_of_river.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get()
        for model in (mixed, stage)
    ]
    assert all(score > 0.893 for score in scores)
    ours = pipeline(StandardScaler(), learner.copy())
    assert evaluate.prequential(ours, list(datasets.Phishing()), metrics.Accuracy()).metrics["Accuracy"] == 0.8928
