"""Prequential evaluation and comparison."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import SGDClassifier, SGDRegressor

from onepass import (
    Hasher,
    Imputer,
    PAClassifier,
    PAMultilabel,
    PARegressor,
    PAUniclass,
    StandardScaler,
    Table,
    Text,
    datasets,
    pipeline,
    streams,
)
from onepass.evaluate import compare, prequential, regret, tune
from onepass.evaluate import tally as tally_module

LABEL_METRICS = ["accuracy", "mistake_rate", "balanced_accuracy", "kappa", "f1"]


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 16, so that short streams have many."""
    monkeypatch.setattr(tally_module, "BLOCK", 16)


def blobs(n=300, classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    return random.standard_normal((n, 4)) + np.eye(classes, 4)[y], y


def cut(X, y, places):
    bounds = [0, *sorted(places), len(y)]
    return [SimpleNamespace(X=X[a:b], y=y[a:b]) for a, b in pairwise(bounds)]


def same(one, other):
    """Equal in every figure but the seconds."""
    one, other = one.to_dict(), other.to_dict()
    one.pop("seconds"), other.pop("seconds")
    return one == other


# --- metrics ---


@pytest.mark.parametrize("classes", [2, 3])
def test_label_metrics_are_those_of_scikit_learn(classes):
    X, y = blobs(classes=classes)
    result = prequential(PAClassifier(), (X, y), LABEL_METRICS, classes=range(classes))
    scores = PAClassifier().test_then_train(X, y, classes=range(classes))
    predicted = (scores >= 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    assert result.metrics == pytest.approx(
        {
            "accuracy": reference.accuracy_score(y, predicted),
            "mistake_rate": reference.zero_one_loss(y, predicted),
            "balanced_accuracy": reference.balanced_accuracy_score(y, predicted),
            "kappa": reference.cohen_kappa_score(y, predicted),
            "f1": reference.f1_score(y, predicted, average="binary" if classes == 2 else "macro"),
        }
    )


def test_error_metrics_are_those_of_scikit_learn():
    X, y = datasets.load("diabetes").X, datasets.load("diabetes").y
    result = prequential(PARegressor(), (X, y), ["mae", "rmse"])
    predicted = PARegressor().test_then_train(X, y)
    assert result.metrics["mae"] == pytest.approx(reference.mean_absolute_error(y, predicted))
    assert result.metrics["rmse"] == pytest.approx(reference.root_mean_squared_error(y, predicted))


def test_log_loss_uses_the_probabilities_from_before():
    X, y = blobs(100)
    model = SGDClassifier(loss="log_loss", random_state=0)
    result = prequential(model, (X, y), ["log_loss", "accuracy"])
    twin = SGDClassifier(loss="log_loss", random_state=0).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    losses = [-np.log(1e-15)]  # of the first example nothing is known yet
    for t in range(1, 100):
        losses.append(-np.log(max(twin.predict_proba(X[t : t + 1])[0, y[t]], 1e-15)))
        twin.partial_fit(X[t : t + 1], y[t : t + 1])
    assert result.metrics["log_loss"] == pytest.approx(np.mean(losses))


def test_log_loss_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="'log_loss' needs probabilities, and PAClassifier gives none"):
        prequential(PAClassifier(), blobs(), "log_loss")


def test_an_unknown_metric_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"There is no metric 'mae' for classification.*accuracy"):
        prequential(PAClassifier(), blobs(), "mae")


class Hits:
    """A metric as river makes them."""

    def __init__(self):
        self.hits = self.n = 0

    def update(self, y_true, y_pred):
        self.hits += y_true == y_pred
        self.n += 1

    def get(self):
        return self.hits / self.n


def test_objects_are_metrics(small_blocks):
    metric = Hits()
    result = prequential(PAClassifier(), blobs(100), ["accuracy", metric], 24, points=12)
    assert result.metrics["Hits"] == result.metrics["accuracy"]
    assert result.curve["Hits"] == pytest.approx(result.curve["accuracy"])
    assert result.window_curve["Hits"] == pytest.approx(result.window_curve["accuracy"])
    assert metric.n == 0


def test_metrics_of_river_take_part(small_blocks):
    theirs = import_module("river.metrics")
    X, y = blobs(100)
    result = prequential(PAClassifier(), (X, y), ["kappa", theirs.CohenKappa()], window=24)
    assert result.metrics["kappa"] == pytest.approx(result.metrics["CohenKappa"])
    assert result.curve["kappa"] == pytest.approx(result.curve["CohenKappa"])
    assert result.window_curve["kappa"] == pytest.approx(result.window_curve["CohenKappa"])


@pytest.mark.parametrize("form", ["chunks", "dicts", "theirs", "late"])
@pytest.mark.parametrize("name", ["LogLoss", "CrossEntropy"])
def test_metrics_of_river_that_want_probabilities_get_them(small_blocks, form, name):
    theirs = import_module("river.metrics")
    X, y = blobs(100, classes=2 if name == "LogLoss" else 3)
    if name == "CrossEntropy":
        y = np.array(["a", "b", "c"])[y]
    examples = [(dict(zip("abcd", x, strict=True)), label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    make = import_module("river.naive_bayes").GaussianNB if form == "theirs" else partial(PAClassifier, calibrate=True)
    twin, expected, waiting = make(), getattr(theirs, name)(), []
    delay = 7 if form == "late" else 0
    for x, label in examples:
        if chances := twin.predict_proba_one(x):
            expected.update(label, chances)
        waiting.append((x, label))
        if len(waiting) > delay:
            twin.learn_one(*waiting.pop(0))
    stream = examples if form in ("dicts", "theirs") else [(X[at : at + 9], y[at : at + 9]) for at in range(0, len(y), 9)]
    result = prequential(make(), stream, ["mistake_rate", getattr(theirs, name)()], window=24, delay=delay)
    assert result.metrics[name] == pytest.approx(expected.get(), rel=1e-12)
    assert result.curve[name][-1] == result.metrics[name]
    assert np.isfinite(result.window_curve[name]).all()


def test_a_metric_of_river_that_wants_probabilities_of_a_model_without_any():
    river_metrics = import_module("river.metrics")
    with pytest.raises(ValueError, match=r"'LogLoss' needs probabilities, and PAClassifier gives none. Set calibrate=True"):
        prequential(PAClassifier(), blobs(), river_metrics.LogLoss())


def test_something_else_is_no_metric():
    with pytest.raises(TypeError, match="A metric is a name or an object"):
        prequential(PAClassifier(), blobs(), [3])


# --- streams ---


@settings(max_examples=25, deadline=None)
@given(
    places=st.sets(st.integers(1, 119), max_size=12),
    window=st.sampled_from([None, 1, 7, 40]),
    delay=st.sampled_from([0, 1, 9, 500]),
)
def test_the_result_does_not_depend_on_the_cuts(places, window, delay):
    X, y = blobs(120)
    options = {"window": window, "delay": delay, "classes": [0, 1, 2], "points": 10}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_module, "BLOCK", 16)
        whole, pieces = PAClassifier(), PAClassifier()
        expected = prequential(whole, cut(X, y, []), LABEL_METRICS, **options)
        assert same(prequential(pieces, cut(X, y, places), LABEL_METRICS, **options), expected)
        assert np.array_equal(whole.coef_, pieces.coef_)


@settings(max_examples=15, deadline=None)
@given(places=st.sets(st.integers(1, 119), max_size=12), delay=st.sampled_from([0, 5]))
def test_sums_of_errors_do_not_depend_on_the_cuts(places, delay):
    X, y = blobs(120)
    target = y + 0.1 * X[:, 0] ** 3
    one = prequential(PARegressor(), cut(X, target, []), ["mae", "rmse"], 11, delay)
    assert same(prequential(PARegressor(), cut(X, target, places), ["mae", "rmse"], 11, delay), one)


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("places", [[], [1, 2, 50, 51], [90]])
def test_labels_may_come_up_late(small_blocks, places, delay):
    X, y = blobs(120)
    names = np.array(["b", "c", "a"])[np.where(np.arange(120) < 60, y % 2, y)]
    one = prequential(PAClassifier(), cut(X, names, places), LABEL_METRICS, delay=delay)
    other = prequential(PAClassifier(), cut(X, names, range(1, 120)), LABEL_METRICS, delay=delay)
    assert one.metrics == pytest.approx(other.metrics)
    for metric in LABEL_METRICS:
        assert one.curve[metric] == pytest.approx(other.curve[metric])
    model = PAClassifier(grow=True)
    predictions = []
    for t in range(120):
        predictions.append(model.predict_one(X[t]))
        if t >= delay:
            model.learn_one(X[t - delay], str(names[t - delay]))
    assert one.metrics["accuracy"] == pytest.approx(np.mean([p == n for p, n in zip(predictions, names, strict=True)]))


def test_all_kinds_of_tables_give_the_same(small_blocks):
    X, y = blobs(100)
    names = ["p", "q", "r", "s"]
    for delay in (0, 5):
        expected = prequential(PAClassifier(), (X, y), LABEL_METRICS, delay=delay)
        for table in (X.tolist(), sp.csr_array(X), pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
            assert prequential(PAClassifier(), (table, y), LABEL_METRICS, delay=delay).metrics == expected.metrics


def test_chunks_that_grow_wider_and_narrower():
    X, y = blobs(100)
    X[:50, 2:] = 0
    X[75:, 3] = 0
    chunks = [(sp.csr_array(X[:50, :2]), y[:50]), (sp.csr_array(X[50:75]), y[50:75]), (sp.csr_array(X[75:, :3]), y[75:])]
    for delay in (0, 7):
        expected = prequential(PAClassifier(), [(sp.csr_array(X), y)], delay=delay, classes=[0, 1, 2])
        assert prequential(PAClassifier(), iter(chunks), delay=delay, classes=[0, 1, 2]).metrics == expected.metrics
    assert [X.shape[1] for X, _ in chunks] == [2, 4, 3]


@pytest.mark.parametrize("delay", [0, 4])
def test_dicts_one_at_a_time(delay):
    X, y = blobs(80, classes=2)
    pairs = [(dict(zip("abcd", x, strict=True)), bool(label)) for x, label in zip(X.tolist(), y, strict=True)]
    one = prequential(PAClassifier(), iter(pairs), ["accuracy", "f1"], delay=delay)
    model, predictions = PAClassifier(), []
    for t in range(80):
        predictions.append(model.predict_one(pairs[t][0]))
        if t >= delay:
            model.learn_one(*pairs[t - delay])
    assert one.metrics["accuracy"] == np.mean([p == label for p, (_, label) in zip(predictions, pairs, strict=True)])
    assert one.metrics["f1"] == pytest.approx(reference.f1_score(y == 1, [bool(p) for p in predictions]), abs=0.02)


def test_models_of_river_take_part():
    linear_model = import_module("river.linear_model")
    X, y = datasets.sea(300, random_state=0)
    pairs = [(dict(enumerate(x)), bool(label)) for x, label in zip(X.tolist(), y, strict=True)]
    result = prequential(linear_model.LogisticRegression(), pairs, ["accuracy", "log_loss"])
    model, hits = linear_model.LogisticRegression(), 0
    for x, label in pairs:
        hits += model.predict_one(x) == label
        model.learn_one(x, label)
    assert result.metrics["accuracy"] == pytest.approx(hits / 300)
    assert 0 < result.metrics["log_loss"] < 5
    assert result.updates is None


@pytest.mark.parametrize("model", [SGDClassifier(random_state=0), SGDRegressor(random_state=0)])
def test_models_of_scikit_learn_take_part(model):
    X, y = blobs(60, classes=2)
    result = prequential(model, (X, y))
    assert result.n == 60
    assert 0 < next(iter(result.metrics.values())) < 1


@pytest.mark.parametrize("delay", [0, 6])
def test_pipelines_take_part(delay):
    X, y = blobs(60)
    result = prequential(pipeline(StandardScaler(), PAClassifier()), cut(X, y, [7, 30]), delay=delay)
    model, wrong = pipeline(StandardScaler(), PAClassifier(grow=True)), []
    for t in range(60):
        wrong.append(model.predict_one(X[t]) != y[t])
        if t >= delay:
            model.learn_one(X[t - delay], y[t - delay])
    assert result.metrics["mistake_rate"] == pytest.approx(np.mean(wrong))


def rows_of_all_kinds(n=60):
    random = np.random.default_rng(0)
    for t in range(n):
        words = " ".join(random.choice(["red", "green", "blue", "new"], 3))
        yield {"number": float(t % 7), "kind": "uvw"[random.integers(3)], "text": words}


@pytest.mark.plain
@pytest.mark.parametrize(
    ("stages", "column"),
    [([Imputer(), StandardScaler()], None), ([Hasher(64)], None), ([Table(text=["text"])], None), ([Text()], "text")],
    ids=["numbers", "hashed", "table", "text"],
)
def test_late_labels_behind_stages(stages, column):
    """Rows that are only predicted teach stages nothing."""
    y = blobs(60)[1]
    examples = list(rows_of_all_kinds())
    if isinstance(stages[0], Imputer):
        examples = [{"a": row["number"], "b": np.nan if t % 3 else 1.0 * t} for t, row in enumerate(examples)]
    elif column is not None:
        examples = [row[column] for row in examples]
    late = pipeline(*map(clone, stages), PAClassifier())
    result = prequential(late, (examples, y), delay=5)
    model, wrong = pipeline(*map(clone, stages), PAClassifier()), []
    for t in range(60):
        wrong.append(model.predict_one(examples[t]) != y[t])
        if t >= 5:
            model.learn_one(examples[t - 5], y[t - 5])
    for t in range(55, 60):
        model.learn_one(examples[t], y[t])
    assert result.metrics["mistake_rate"] == pytest.approx(np.mean(wrong))
    assert np.array_equal(late.coef_, model.coef_)


def test_a_stream_from_a_file(tmp_path):
    X, y = blobs(50)
    path = tmp_path / "blobs.txt"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    with streams.open(path, chunk=8) as stream:
        result = prequential(PAClassifier(), stream, LABEL_METRICS)
    expected = prequential(PAClassifier(grow=True), (X, y), LABEL_METRICS)
    assert result.metrics == pytest.approx(expected.metrics)


@pytest.mark.parametrize("model", [PAClassifier(), pipeline(StandardScaler(), PAClassifier())], ids=["learner", "pipeline"])
@pytest.mark.parametrize("delay", [0, 3])
def test_columns_go_by_their_names(tmp_path, model, delay):
    X, y = blobs(60)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    frame[:30].to_csv(tmp_path / "one.csv", index=False)
    frame[30:][["c", "label", "a", "d", "b"]].to_csv(tmp_path / "two.csv", index=False)
    model = clone(model)
    wrong = 0.0
    for name in ("one.csv", "two.csv"):
        with streams.open(tmp_path / name, label="label") as stream:
            wrong += 30 * prequential(model, stream, delay=delay).metrics["mistake_rate"]
    assert model.feature_names_in_.tolist() == list("abcd")
    twin, expected = clone(model), 0.0
    for part in (slice(30), slice(30, 60)):
        expected += 30 * prequential(twin, (frame[part][list("abcd")], y[part]), delay=delay).metrics["mistake_rate"]
    assert wrong == pytest.approx(expected)
    assert np.array_equal(model.coef_, twin.coef_)


def test_the_parameter_grow_stays_what_it_was():
    X, y = blobs(50)
    model = PAClassifier()
    prequential(model, cut(X, y, [20]))
    assert model.grow is None
    with pytest.raises(ValueError, match="NaN"):
        prequential(model := PAClassifier(), cut(np.full_like(X, np.nan), y, []))
    assert model.grow is None


def test_an_empty_stream_is_refused():
    for stream in ([], (np.empty((0, 2)), np.empty(0)), [(np.empty((0, 2)), np.empty(0))]):
        with pytest.raises(ValueError, match="no examples"):
            prequential(PAClassifier(), stream)


@pytest.mark.parametrize(("option", "value"), [("window", 0), ("delay", -1), ("points", 1)])
def test_options_out_of_range_are_refused(option, value):
    with pytest.raises(ValueError, match=f"`{option}` must be at least"):
        prequential(PAClassifier(), blobs(), **{option: value})


def test_a_model_goes_on_from_where_it_is():
    X, y = blobs(200)
    model = PAClassifier()
    first = prequential(model, (X[:100], y[:100]))
    second = prequential(model, (X[100:], y[100:]))
    whole = prequential(PAClassifier(), (X, y))
    assert whole.metrics["mistake_rate"] == pytest.approx((first.metrics["mistake_rate"] + second.metrics["mistake_rate"]) / 2)
    assert first.updates + second.updates == whole.updates == model.updates_


# --- delay ---


def test_delayed_labels_are_learned_after_so_many_predictions():
    X, y = blobs(60, classes=2)
    result = prequential(PAClassifier(), (X, y), points=1000, delay=7, classes=[0, 1])
    model, wrong = PAClassifier(), []
    for t in range(60):
        wrong.append(t < 8 or model.predict(X[t : t + 1])[0] != y[t])  # the first label arrives after eight predictions
        if t >= 7:
            model.partial_fit(X[t - 7 : t - 6], y[t - 7 : t - 6], classes=[0, 1])
    assert result.curve["mistake_rate"] == pytest.approx(np.cumsum(wrong) / np.arange(1, 61))


def test_all_labels_have_arrived_at_the_end():
    X, y = blobs(60, classes=2)
    late, prompt = PAClassifier(), PAClassifier()
    prequential(late, (X, y), delay=25)
    prequential(prompt, (X, y))
    assert np.array_equal(late.coef_, prompt.coef_)
    assert late.t_ == prompt.t_ == 60 - np.argmax(y != y[0])  # from when there are two labels to tell apart


# --- curves ---


def test_curves_are_bounded_and_right(small_blocks):
    X, y = blobs(1003)
    result = prequential(PAClassifier(), (X, y), window=10, points=20, classes=[0, 1, 2])
    wrong = PAClassifier().test_then_train(X, y, classes=[0, 1, 2]).argmax(axis=1) != y
    for curve in (result.curve, result.window_curve):
        assert 8 < len(curve.positions) <= 20
        assert curve.positions[-1] == result.n == 1003
        assert len(set(np.diff(curve.positions[:-1]))) == 1
    assert result.curve["mistake_rate"] == pytest.approx([wrong[:p].mean() for p in result.curve.positions])
    starts = [*(result.window_curve.positions[:-1] - 10), 1000]
    expected = [wrong[a:b].mean() for a, b in zip(starts, result.window_curve.positions, strict=True)]
    assert result.window_curve["mistake_rate"] == pytest.approx(expected)


def test_results_are_json_and_tell_themselves():
    result = prequential(PAClassifier(), blobs(), LABEL_METRICS, window=50)
    assert json.loads(json.dumps(result.to_dict()))["n"] == 300
    assert repr(result).startswith("Prequential(n=300, accuracy=0.")


def test_the_callback_hears_of_progress(small_blocks):
    heard = []
    X, y = blobs(100)
    result = prequential(PAClassifier(), cut(X, y, range(10, 100, 10)), callback=lambda n, metrics: heard.append((n, metrics)))
    assert [n for n, _ in heard] == sorted({n for n, _ in heard})
    assert heard[0][0] == 16
    assert heard[-1] == (100, result.metrics)


# --- compare ---


def test_compare_runs_the_same_permutations_for_all():
    X, y = blobs(200)
    result = compare({"one": PAClassifier(C=0.1), "same": PAClassifier(C=0.1)}, (X, y), 4, test=(X, y))
    for what in ("online", "test", "updates"):
        assert np.array_equal(result.results["one"][what], result.results["same"][what])
        assert len(result.results["one"][what]) == 4
    assert len(set(result.results["one"]["online"])) > 1
    assert result.curves["one"][-1] == pytest.approx(result.mean("one"))


def test_compare_measures_each_pass():
    X, y = blobs(100)
    result = compare({"PA": PAClassifier()}, (X, y), 1, test=(X[:50], y[:50]), random_state=5)
    order = np.random.RandomState(np.random.RandomState(5).randint(2**31 - 1, size=1)[0]).permutation(100)
    model = PAClassifier()
    scores = model.test_then_train(X[order], y[order], classes=[0, 1, 2])
    assert result.mean("PA") == pytest.approx(np.mean(scores.argmax(axis=1) != y[order]))
    assert result.mean("PA", "test") == pytest.approx(1 - model.score(X[:50], y[:50]))
    assert result.mean("PA", "updates") == model.updates_
    assert result.std("PA") == 0


def test_compare_in_threads_gives_the_same():
    X, y = blobs(200)
    models = {"PA": PAClassifier(), "PA-II": PAClassifier(variant="II")}
    one, two = (compare(models, (sp.csr_array(X), y), 6, jobs=jobs) for jobs in (1, 2))
    for model in models:
        assert np.array_equal(one.results[model]["online"], two.results[model]["online"])


def test_compare_regressors_by_their_mae():
    X, y = blobs(100)
    result = compare({"PA": PARegressor()}, (X, y.astype(float)), 2, test=(X, y))
    assert result.metric == "mae"
    assert result.mean("PA", "test") > 0


def test_compare_leaves_the_models_alone_and_reports_progress():
    model, heard = PAClassifier(), []
    compare({"PA": model, "PB": model}, blobs(50), 3, callback=lambda done, total: heard.append((done, total)))
    assert not hasattr(model, "t_")
    assert heard == [(i, 6) for i in range(1, 7)]


def test_comparisons_as_table_csv_html_and_json(tmp_path):
    X, y = blobs(200)
    result = compare({"PA <1>": PAClassifier(C=0.001), "[b]": PAClassifier(C=100.0)}, (X, y), 2, test=(X, y))
    table = result.table()
    assert [column.header for column in table.columns] == ["learner", "mistake rate %", "test error %", "updates", "seconds"]
    assert "[b]" in str(result)
    assert "PA &lt;1&gt;" in result._repr_html_()
    assert json.loads(json.dumps(result.to_dict()))["models"]["[b]"]["online"]["mean"] == result.mean("[b]")
    result.to_csv(tmp_path / "table.csv")
    frame = pd.read_csv(tmp_path / "table.csv")
    assert frame["learner"].tolist() == ["PA <1>", "[b]"]
    assert frame["test_mean"].tolist() == pytest.approx([result.mean(m, "test") for m in result.results])


def test_compare_refuses_what_can_not_be_compared():
    with pytest.raises(ValueError, match="one kind"):
        compare({"a": PAClassifier(), "b": PARegressor()}, blobs())
    with pytest.raises(ValueError, match="nothing to compare"):
        compare({}, blobs())
    with pytest.raises(ValueError, match="permutations"):
        compare({"a": PAClassifier()}, blobs(), 0)


@pytest.mark.parametrize("model", [PAUniclass(), PAMultilabel()], ids=lambda model: type(model).__name__)
def test_other_kinds_are_refused(model):
    """They have neither a label nor a number an example; before, one class was measured as a regression."""
    X, y = np.eye(3), np.array([0.0, 1.0, 0.0])
    for call in (
        lambda: prequential(model, (X, y)),
        lambda: compare({"it": model}, (X, y), permutations=1),
        lambda: tune(model, {"C": [1.0]}, (X, y)),
        lambda: regret(model, (X, y)),
    ):
        with pytest.raises(TypeError, match="classifiers and regressors"):
            call()
