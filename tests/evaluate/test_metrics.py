"""Metrics of scores and probabilities, of one class, and of numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import BernoulliNB

from chunks import cut, same
from onepass import (
    ActiveLearner,
    AROWClassifier,
    OGDClassifier,
    PAClassifier,
    PARegressor,
    StandardScaler,
    datasets,
    pipeline,
)
from onepass.evaluate import compare, prequential, tune
from onepass.evaluate import tally as tally_module
from onepass.evaluate.probability import judged
from onepass.evaluate.ranking import Ranking, auc, ranks

PROBABILITIES = ["log_loss", "brier", "calibration_error"]


def blobs(n=300, classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    return random.standard_normal((n, 4)) + np.eye(classes, 4)[y], y


def calibration_error(p, y):
    """Bins of equal width, by the plainest loop; where there is no probability at all, none is right."""
    top, right = p.max(axis=1), (p.argmax(axis=1) == y) & p.any(axis=1)
    places = np.minimum((10 * top).astype(int), 9)
    return sum(abs(top[places == k].sum() - right[places == k].sum()) for k in range(10)) / len(y)


def before(model, X, y, ask, nothing, delay=0):
    """What `ask` says of each row just before it is learned from, a row at a time; `nothing` before anything was."""
    model, answers, classes = clone(model), [], np.unique(y)
    for t in range(len(y)):
        answers.append(getattr(model, ask)(X[t : t + 1])[0] if hasattr(model, "classes_") else nothing)
        if t >= delay:
            model.partial_fit(X[t - delay : t - delay + 1], y[t - delay : t - delay + 1], classes=classes)
    return np.array(answers)


def expected(chances, y):
    """Metrics of probabilities, from a row an example."""
    truth = np.eye(chances.shape[1])[y]
    return {
        "log_loss": -np.log(np.maximum(chances[np.arange(len(y)), y], 1e-15)).mean(),
        "brier": ((chances - truth) ** 2).sum(axis=1).mean() / 2,
        "calibration_error": calibration_error(chances, y),
    }


# --- probabilities ---


@pytest.mark.plain
@pytest.mark.parametrize("delay", [0, 4])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        PAClassifier(calibrate=True),
        OGDClassifier(loss="log", power=0.5),
        pipeline(StandardScaler(), AROWClassifier(calibrate=True)),
    ],
    ids=["calibrated", "logistic", "pipeline"],
)
def test_probabilities_are_those_from_before(model, classes, delay):
    X, y = blobs(120, classes)
    result = prequential(clone(model), (X, y), PROBABILITIES, delay=delay, classes=range(classes))
    # a model that knows its labels has a probability for the very first row as well
    nothing = np.zeros(classes) if delay else np.full(classes, 1 / classes)
    chances = before(model, X, y, "predict_proba", nothing, delay)
    assert result.metrics == pytest.approx(expected(chances, y), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [2, 3])
def test_they_are_the_same_to_the_bit(classes, dtype, monkeypatch):
    """What comes out of a pass is what a reader would have been told."""
    kept = []
    monkeypatch.setattr("onepass.evaluate.figures.judged", lambda p, true: kept.append(p) or judged(p, true))
    X, y = blobs(200, classes)
    X = X.astype(dtype)
    prequential(PAClassifier(calibrate=True), (X, y), "brier", classes=range(classes))
    chances = before(PAClassifier(calibrate=True), X, y, "predict_proba", np.full(classes, 1 / classes))
    assert np.array_equal(np.concatenate(kept), chances)


def test_labels_that_come_up_had_no_probability(monkeypatch):
    kept = []
    monkeypatch.setattr("onepass.evaluate.figures.judged", lambda p, true: kept.append((p, true)) or judged(p, true))
    X, y = blobs(90)
    names = np.array(["b", "c", "a"])[np.where(np.arange(90) < 30, 0, np.where(np.arange(90) < 60, y % 2, y))]
    prequential(PAClassifier(calibrate=True), cut(X, names, [7, 30, 31, 64]), "log_loss")
    pairs = [(row[row > 0], row[k] if k >= 0 else 0.0) for p, true in kept for row, k in zip(p, true, strict=True)]
    model = PAClassifier(calibrate=True)
    for t, (row, given_) in enumerate(pairs):
        known = model.predict_proba_one(X[t])
        assert np.array_equal(row, np.array(list(known.values())))
        assert given_ == known.get(names[t], 0.0)
        model.learn_one(X[t], str(names[t]))


@pytest.mark.parametrize("classes", [2, 3])
def test_active_learners_have_probabilities(classes):
    X, y = blobs(150, classes)
    for inner in (PAClassifier(calibrate=True), pipeline(StandardScaler(), PAClassifier(calibrate=True))):
        result = prequential(ActiveLearner(inner, 0.5, random_state=0), (X, y), PROBABILITIES, classes=range(classes))
        model = ActiveLearner(inner, 0.5, random_state=0)
        chances = before(model, X, y, "predict_proba", np.full(classes, 1 / classes))
        assert result.metrics == pytest.approx(expected(chances, y), rel=1e-12)


def test_brier_is_that_of_scikit_learn():
    X, y = blobs(200, 2)
    result = prequential(PAClassifier(calibrate=True), (X, y), "brier", classes=[0, 1])
    chances = before(PAClassifier(calibrate=True), X, y, "predict_proba", [0.5, 0.5])
    assert result.metrics["brier"] == pytest.approx(reference.brier_score_loss(y, chances[:, 1]))


def test_probabilities_of_other_libraries():
    X, y = blobs(80)
    result = prequential(BernoulliNB(), (X, y), [*PROBABILITIES, "accuracy"])
    chances = before(BernoulliNB(), X, y, "predict_proba", np.zeros(3))
    assert {name: result.metrics[name] for name in PROBABILITIES} == pytest.approx(expected(chances, y))


def test_what_gives_no_probabilities_is_told_how():
    with pytest.raises(ValueError, match=r"'brier' needs probabilities, and PAClassifier gives none. Set calibrate=True"):
        prequential(PAClassifier(), blobs(), ["auc", "brier"])


# --- AUC ---


@pytest.mark.parametrize("delay", [0, 5])
@pytest.mark.parametrize("table", [np.asarray, sp.csr_array])
def test_auc_is_that_of_scikit_learn(table, delay):
    X, y = blobs(1500, 2)
    result = prequential(PAClassifier(C=0.01), (table(X), y), "auc", window=400, delay=delay, classes=[0, 1])
    scores = before(PAClassifier(C=0.01), X, y, "decision_function", np.nan if delay else 0.0, delay)
    scored = ~np.isnan(scores)
    assert result.metrics["auc"] == pytest.approx(reference.roc_auc_score(y[scored], scores[scored]), abs=1e-4)
    ends = [400, 800, 1200, 1500]
    assert result.window_curve.positions.tolist() == ends
    for end, value in zip(ends, result.window_curve["auc"], strict=True):
        part = np.arange((end - 1) // 400 * 400, end)
        part = part[scored[part]]
        assert value == pytest.approx(reference.roc_auc_score(y[part], scores[part]), abs=5e-4)


SCORES = st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf]), st.floats(-1e30, 1e30))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=2, max_size=40), st.sets(st.integers(1, 39)), st.booleans())
def test_pairs_are_counted_once(examples, places, windows):
    """Exactly, on what the bins make of the scores, whatever the segments."""
    scores, side = np.array([s for s, _ in examples]), np.array([int(b) for _, b in examples])
    codes = ranks(scores, side)
    starts = np.array([0, *sorted(place for place in places if place < len(examples))])
    sums = Ranking(windows).sums(codes, starts)
    for a, b, found in zip(starts, [*starts[1:], len(codes)], sums if windows else sums.cumsum(axis=0), strict=True):
        part = slice(a if windows else 0, b)
        bins, label = codes[part] // 2, codes[part] % 2
        wins = sum(2 * int(p > n) + int(p == n) for p in bins[label == 1] for n in bins[label == 0])
        assert found[:3].tolist() == [wins, (label == 1).sum(), (label == 0).sum()]
        if 0 < label.sum() < len(label):
            assert auc(found) == pytest.approx(reference.roc_auc_score(label, bins))


def test_bins_keep_the_order_of_scores():
    scores = np.sort(np.concatenate([-np.geomspace(1e-40, 1e300, 5000), np.geomspace(1e-40, 1e300, 5000), [0.0, 100.0, 100.2]]))
    bins = ranks(scores, np.zeros(len(scores), int)) // 2
    assert (np.diff(bins) >= 0).all()
    assert bins.min() >= 0
    assert bins.max() < 1 << 18
    near = np.linspace(100, 101, 7)
    assert len(set(ranks(near, np.zeros(7, int)))) == 7
    assert len(set(ranks(np.array([0.0, -0.0]), np.zeros(2, int)))) == 1


def test_auc_by_probabilities_and_by_scores():
    X, y = blobs(200, 2)
    scores = before(SGDClassifier(random_state=0), X, y, "decision_function", 0.0)[1:]
    chances = before(BernoulliNB(), X, y, "predict_proba", [0.5, 0.5])[1:, 1]
    for model, said in ((SGDClassifier(random_state=0), scores), (BernoulliNB(), chances)):
        result = prequential(model, (X, y), "auc")
        assert result.metrics["auc"] == pytest.approx(reference.roc_auc_score(y[1:], said), abs=1e-3)


def test_dicts_have_the_figures_of_arrays():
    X, y = blobs(100, 2)
    metrics = ["auc", *PROBABILITIES]
    pairs = [(dict(zip("abcd", x, strict=True)), str(label)) for x, label in zip(X.tolist(), y, strict=True)]
    single = prequential(PAClassifier(calibrate=True), pairs, metrics)
    table = prequential(PAClassifier(calibrate=True), ([x for x, _ in pairs], [label for _, label in pairs]), metrics)
    assert single.metrics == table.metrics


def test_a_third_label_ends_the_auc():
    X, y = blobs(120)
    names = np.where(np.arange(120) < 60, y % 2, y)
    result = prequential(PAClassifier(), cut(X, names, [50]), ["auc", "accuracy"], window=30, classes=None)
    assert np.isnan(result.metrics["auc"])
    assert np.isfinite(result.window_curve["auc"][:2]).all()
    assert np.isnan(result.window_curve["auc"][2:]).all()
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["metrics"]["auc"] is None
    with pytest.raises(ValueError, match="'auc' is for two classes, and there are 3"):
        prequential(PAClassifier(), (X, y), "auc", classes=[0, 1, 2])


# --- a figure a class ---


def test_recall_and_precision_of_each_class():
    X, y = blobs(300)
    names = np.array(["x", "y", "z"])[y]
    result = prequential(PAClassifier(), (X, names), ["precision", "accuracy", "recall[z]"], classes=["x", "y", "z"])
    predicted = np.array(["x", "y", "z"])[PAClassifier().test_then_train(X, names, classes=["x", "y", "z"]).argmax(axis=1)]
    assert list(result.metrics) == ["precision[x]", "precision[y]", "precision[z]", "accuracy", "recall[z]"]
    precision = reference.precision_score(names, predicted, average=None)
    assert [result.metrics[f"precision[{name}]"] for name in "xyz"] == pytest.approx(precision)
    assert result.metrics["recall[z]"] == pytest.approx(reference.recall_score(names, predicted, average=None)[2])
    assert result.curve["recall[z]"][-1] == result.metrics["recall[z]"]


def test_classes_that_come_up_have_a_curve_from_then_on(monkeypatch):
    monkeypatch.setattr(tally_module, "BLOCK", 16)
    X, y = blobs(120)
    labels = np.where(np.arange(120) < 60, 1.0 + y % 2, 1.0 * y)  # 0 comes last and is first among the labels
    one = prequential(PAClassifier(), cut(X, labels, []), "recall", window=20)
    two = prequential(PAClassifier(), cut(X, labels, range(1, 120)), "recall", window=20)
    assert same(one, two)
    assert list(one.metrics) == ["recall[0]", "recall[1]", "recall[2]"]
    known = one.curve.positions > 60 + np.argmax(labels[60:] == 0)
    assert np.array_equal(np.isnan(one.curve["recall[0]"]), ~known)


def test_a_class_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"no label for the metric 'recall\[9\]'. There are: recall\[0\], recall\[1\]"):
        prequential(PAClassifier(), blobs(50, 2), "recall[9]", classes=[0, 1])
    assert np.isnan(prequential(PAClassifier(), blobs(50, 2), "recall[9]").metrics["recall[9]"])


# --- numbers ---


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_r2_is_that_of_scikit_learn(offset):
    X, y = datasets.load("diabetes").X, datasets.load("diabetes").y + offset
    result = prequential(PARegressor(C=100.0), (X, y), ["r2", "mae"], window=100)
    predicted = PARegressor(C=100.0).test_then_train(X, y)
    assert result.metrics["r2"] == pytest.approx(reference.r2_score(y, predicted), rel=1e-6)
    assert result.window_curve["r2"][1] == pytest.approx(reference.r2_score(y[100:200], predicted[100:200]), rel=1e-6)
    assert np.isnan(result.curve["r2"][0])  # of one target alone


# --- however a stream is cut ---


@settings(max_examples=20, deadline=None)
@given(
    places=st.sets(st.integers(1, 119), max_size=12),
    window=st.sampled_from([None, 1, 7, 40]),
    delay=st.sampled_from([0, 1, 9]),
    classes=st.sampled_from([2, 3]),
    told=st.booleans(),
)
def test_no_figure_depends_on_the_cuts(places, window, delay, classes, told):
    X, y = blobs(120, classes)
    metrics = ["auc", *PROBABILITIES, "recall", "precision"]
    if told and classes > 2:
        metrics.remove("auc")
    options = {"window": window, "delay": delay, "points": 10, "classes": range(classes) if told else None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_module, "BLOCK", 16)
        whole = prequential(PAClassifier(calibrate=True), cut(X, y, []), metrics, **options)
        assert same(prequential(PAClassifier(calibrate=True), cut(X, y, places), metrics, **options), whole)


# --- comparing and tuning ---


def test_tune_knows_which_way_is_better():
    X, y = blobs(400, 2)
    for metric, choose in (("auc", max), ("brier", min), ("recall[1]", max), ("calibration_error", min)):
        for protocol in ("libol", "cv"):
            found = tune(PAClassifier(calibrate=True), {"C": [1e-3, 1e-1, 100.0]}, (X, y), metric=metric, protocol=protocol)
            assert found.best_score == choose(candidate.score for candidate in found.candidates)
    numbers = tune(PARegressor(), {"C": [1e-3, 1.0]}, (X, y.astype(float)), metric="r2")
    assert numbers.best_score == max(candidate.score for candidate in numbers.candidates)


def test_compare_tests_with_the_same_metric():
    X, y = blobs(300, 2)
    for metric in ("auc", "brier", "precision[0]"):
        result = compare({"PA": PAClassifier(calibrate=True)}, (X, y), 1, test=(X[:100], y[:100]), metric=metric)
        order = np.random.RandomState(np.random.RandomState(0).randint(2**31 - 1, size=1)[0]).permutation(300)
        model = PAClassifier(calibrate=True).partial_fit(X[order], y[order], classes=[0, 1])
        wanted = {
            "auc": lambda: reference.roc_auc_score(y[:100], model.decision_function(X[:100])),  # noqa: B023
            "brier": lambda: reference.brier_score_loss(y[:100], model.predict_proba(X[:100])[:, 1]),  # noqa: B023
            "precision[0]": lambda: reference.precision_score(y[:100], model.predict(X[:100]), pos_label=0),  # noqa: B023
        }[metric]()
        assert result.mean("PA", "test") == pytest.approx(wanted, abs=1e-3 if metric == "auc" else 1e-9)
    with pytest.raises(ValueError, match=r"'recall' has a figure a class: say of which, as 'recall\[0\]'"):
        compare({"PA": PAClassifier()}, (X, y), metric="recall")


@pytest.mark.parametrize("metric", ["auc", "log_loss", "recall", "accuracy"])
@pytest.mark.parametrize("single", [False, True])
def test_a_metric_of_classes_is_refused_for_numbers_before_anything_is_learned(metric, single):
    model, X = PARegressor(), np.arange(6.0).reshape(3, 2)
    stream = [({"a": 1.0}, 2.0)] if single else (X, X[:, 0])
    with pytest.raises(ValueError, match=f"There is no metric '{metric}' for regression"):
        prequential(model, stream, metric)
    assert not hasattr(model, "t_")
