"""Detectors of drift, and what prequential evaluation does about one."""

from __future__ import annotations

import copy
from importlib import import_module
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.naive_bayes import BernoulliNB

from chunks import cut, same
from onepass import (
    ActiveLearner,
    AROWClassifier,
    OGDClassifier,
    PAClassifier,
    PARegressor,
    Perceptron,
    SCWClassifier,
    StandardScaler,
    load,
    pipeline,
    streams,
)
from onepass.evaluate import ADWIN, ErrorWindow, PageHinkley, prequential
from onepass.evaluate import online as online_module
from onepass.evaluate.feeding import core_of, forget

DETECTORS = [ADWIN(), PageHinkley(threshold=30.0), ErrorWindow(window=50)]
ids = {"ids": lambda detector: type(detector).__name__}


def errors(*rates, n=3000, seed=0):
    random = np.random.default_rng(seed)
    return np.concatenate([random.random(n) < rate for rate in rates]).astype(float)


def found(detector, values):
    """Where a detector sees drifts, one value at a time."""
    places = []
    for t, value in enumerate(values.tolist(), 1):
        detector.update(value)
        if detector.drift_detected:
            places.append(t)
    return places


def flipped(n=1200, at=600, seed=0):
    """A line that parts two classes, which change places."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] > 0.2).astype(int)
    y[at:] = 1 - y[at:]
    return X, y


# --- detectors ---


@pytest.mark.parametrize("detector", [ADWIN(), PageHinkley(), ErrorWindow()], **ids)
def test_a_rise_is_seen_soon_and_once(detector):
    places = found(copy.deepcopy(detector), errors(0.1, 0.4))
    assert len(places) == 1
    assert 3000 < places[0] < 3200


@pytest.mark.parametrize("detector", DETECTORS[::2], **ids)
def test_a_fall_is_none(detector):
    assert found(copy.deepcopy(detector), errors(0.4, 0.1)) == []


@pytest.mark.parametrize("detector", [ADWIN(), PageHinkley(), ErrorWindow()], **ids)
def test_where_nothing_changes_drifts_are_rare(detector):
    """At most two in 45,000 errors."""
    seen = [found(copy.deepcopy(detector), errors(rate, n=5_000, seed=seed)) for rate in (0.01, 0.1, 0.5) for seed in range(3)]
    assert sum(map(len, seen)) <= 2


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(DETECTORS), st.sets(st.integers(1, 1199), max_size=8), st.booleans())
def test_many_errors_at_once_are_as_one_by_one(detector, places, real):
    values = errors(0.1, 0.5, 0.9, n=400)
    if real:
        values = values * np.random.default_rng(0).random(1200)
    one, many, seen = copy.deepcopy(detector), copy.deepcopy(detector), []
    for a, b in pairwise([0, *sorted(places), 1200]):
        while a < b:
            a += many.watch(values[a:b])
            if many.drift_detected:
                seen.append(a)
    assert seen == found(one, values)


def naive_adwin(values, delta=0.002):
    """The window as a list, all parts of which are compared, with no buckets: it sees a drift as soon as it may."""
    window = []
    for t, value in enumerate(values, 1):
        window.append(value)
        if t % 32:
            continue
        n = len(window)
        doubt = np.log(2 * np.log(n) / delta)
        for n0 in range(5, n - 4):
            m1 = 1 / n0 + 1 / (n - n0)
            rise = np.mean(window[n0:]) - np.mean(window[:n0])
            if rise > np.sqrt(2 * m1 * np.var(window) * doubt) + 2 / 3 * m1 * doubt:
                return t
    return None


def test_adwin_sees_what_a_window_without_buckets_sees():
    values = errors(0.1, 0.6, n=256)
    exact, ours = naive_adwin(values.tolist()), found(ADWIN(), values)[0]
    assert exact <= ours <= exact + 64
    assert found(ADWIN(delta=0.3), values)[0] <= ours <= found(ADWIN(delta=1e-9), values)[0]


def test_page_hinkley_by_its_formula():
    values = errors(0.2, 0.5, n=500)
    mean = sums = lowest = 0.0
    for t, value in enumerate(values.tolist(), 1):
        mean += (value - mean) / t
        sums = 0.99 * sums + value - mean - 0.01
        lowest = sums if t == 1 else min(lowest, sums)
        if t >= 30 and sums - lowest > 12:
            break
    assert found(PageHinkley(12.0, delta=0.01, alpha=0.99), values)[0] == t


def test_a_window_of_errors_by_its_formula():
    values = errors(0.2, 0.5, n=400) * 7
    z = 3.7190164854556804  # of 0.0001
    for t in range(80, 800):
        older, recent = values[: t - 40], values[t - 40 : t]
        if recent.mean() - older.mean() > z * np.sqrt(older.var() / len(older) + recent.var() / 40):
            break
    assert found(ErrorWindow(40, significance=1e-4), values)[0] == t


def test_detectors_of_river_see_the_same():
    theirs = import_module("river.drift")
    for rates in ((0.1, 0.2), (0.02, 0.05), (0.3, 0.5, 0.9)):
        values = errors(*rates)
        assert found(ADWIN(), values) == found(theirs.ADWIN(), values)
        assert found(PageHinkley(), values) == found(theirs.PageHinkley(mode="up"), values)


def test_memory_is_bounded():
    detector = ADWIN()
    assert detector.watch(errors(0.1, n=50_000)) == 50_000
    assert detector._filled @ 2 ** np.arange(len(detector._filled)) == 50_000  # all of them
    assert detector._filled.sum() < 100


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: ADWIN(delta=0.0), "delta"),
        (lambda: PageHinkley(threshold=-1.0), "threshold"),
        (lambda: PageHinkley(alpha=1.5), "alpha"),
        (lambda: ErrorWindow(window=1), "window"),
        (lambda: ErrorWindow(significance=0.7), "significance"),
    ],
)
def test_parameters_out_of_range_are_refused(make, what):
    with pytest.raises(ValueError, match=f"`{what}` must be"):
        make()


def test_nan_is_no_error():
    detector = ADWIN()
    detector.update(1.0)
    with pytest.raises(ValueError, match="finite"):
        detector.update(np.nan)
    assert detector._window[0] == 1


# --- in prequential evaluation ---


def slow():
    """A learner that does not get over a change by itself."""
    return PAClassifier(C=0.01, average="uniform")


def naive_run(X, y, detector, on_drift=None, delay=0):
    """One example at a time: predict; learn, when the label is there; look; begin anew with the next example."""
    model, drifts, wrong, waiting = slow(), [], [], []
    for t in range(len(y) + delay):
        if detector.drift_detected and on_drift == "reset":
            model = slow()
        if t < len(y):  # a model that knows its labels has a first guess, unless labels are late
            guess = None if delay else 1
            wrong.append((model.predict(X[t : t + 1])[0] if hasattr(model, "classes_") else guess) != y[t])
            waiting.append(t)
        if t >= delay:
            s = waiting.pop(0)
            model.partial_fit(X[s : s + 1], y[s : s + 1], classes=[0, 1])
            detector.update(float(wrong[s]))
            if detector.drift_detected:
                drifts.append(s + 1)
    return model, drifts, np.array(wrong)


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("on_drift", [None, "reset"])
@pytest.mark.parametrize("detector", DETECTORS, **ids)
def test_it_is_as_if_one_example_came_after_the_other(detector, on_drift, delay):
    X, y = flipped()
    model = slow()
    options = {"delay": delay, "classes": [0, 1], "points": 5000, "drift": copy.deepcopy(detector), "on_drift": on_drift}
    result = prequential(model, (X, y), **options)
    twin, drifts, wrong = naive_run(X, y, copy.deepcopy(detector), on_drift, delay)
    assert result.drifts == drifts
    assert 600 < drifts[0] < 760
    assert result.curve["mistake_rate"] == pytest.approx(np.cumsum(wrong) / np.arange(1, 1201))
    assert np.array_equal(model.coef_, twin.coef_)
    assert (result.metrics["mistake_rate"] < 0.3) == (on_drift == "reset")


@settings(max_examples=12, deadline=None)
@given(
    places=st.sets(st.integers(1, 1199), max_size=8),
    delay=st.sampled_from([0, 0, 5]),
    detector=st.sampled_from(DETECTORS),
    action=st.sampled_from([None, "reset", "forget", "call"]),
    block=st.sampled_from([16, 100, 1 << 14]),
)
def test_it_does_not_matter_how_the_stream_is_cut(places, delay, detector, action, block):
    X, y = flipped()

    def shrink(model):
        model.C = model.C / 2

    options = {"delay": delay, "classes": [0, 1], "window": 90, "on_drift": shrink if action == "call" else action}
    models = [slow().set_params(calibrate=True) for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        whole = prequential(models[0], cut(X, y, []), ["mistake_rate", "brier"], drift=copy.deepcopy(detector), **options)
        patch.setattr(online_module, "BLOCK", block)
        other = prequential(models[1], cut(X, y, places), ["mistake_rate", "brier"], drift=copy.deepcopy(detector), **options)
    assert same(whole, other)
    assert models[0].C == models[1].C
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert models[0].updates_ <= whole.updates


def test_a_stream_in_two_runs_is_one_stream():
    """The detector goes on, and with it a reset that is due with the next example."""
    X, y = flipped()
    whole = slow()
    drifts = prequential(whole, (X, y), drift=ADWIN(), on_drift="reset", classes=[0, 1]).drifts
    for at in (drifts[0] - 1, drifts[0], drifts[0] + 1):
        model, detector = slow(), ADWIN()
        for part in (slice(0, at), slice(at, None)):
            prequential(model, (X[part], y[part]), drift=detector, on_drift="reset", classes=[0, 1])
        assert np.array_equal(model.coef_, whole.coef_)


def test_all_doors_see_the_same_drifts():
    X, y = flipped()
    names = list("abc")
    tables = [X, sp.csr_array(X), pd.DataFrame(X, columns=names), pd.DataFrame(X, columns=names).to_dict("records")]
    seen = []
    for table in tables:
        seen.append(prequential(slow(), (table, y), drift=ADWIN(), on_drift="reset").drifts)
    pairs = list(zip(tables[-1], y.tolist(), strict=True))
    seen.append(prequential(slow(), pairs, drift=ADWIN(), on_drift="reset").drifts)
    assert seen == seen[:1] * len(seen)
    assert len(seen[0]) == 1


@pytest.mark.plain
def test_labels_that_were_told_are_told_again():
    """A model that is told of three labels has the form for many classes from its first example on, whenever that is."""
    X, y = flipped()
    models = slow(), slow()
    examples = [dict(zip("abc", x, strict=True)) for x in X.tolist()]
    pairs = list(zip(examples, y.tolist(), strict=True))
    for model, stream in zip(models, ((examples, y), pairs), strict=True):
        assert prequential(model, stream, drift=ADWIN(), on_drift="reset", classes=[0, 1, 2]).drifts
    assert models[0].coef_.shape == (3, 3)
    assert np.array_equal(models[0].coef_, models[1].coef_)


def test_stages_of_a_pipeline_stay(tmp_path):
    X, y = flipped()
    X = 5 * X + 3
    model = pipeline(StandardScaler(), slow())
    result = prequential(model, (X, y), drift=ADWIN(), on_drift="reset", classes=[0, 1])
    (place,) = result.drifts
    scaler = StandardScaler()
    joined = pipeline(scaler, slow()).partial_fit(X[:place], y[:place], classes=[0, 1])
    updates = joined.updates_
    late = pipeline(scaler, slow())
    late.partial_fit(X[place:], y[place:], classes=[0, 1])
    assert np.array_equal(model.coef_, late.coef_)
    assert model[0].t_ == 1200
    assert result.updates == updates + late.updates_
    # a drift with the last example leaves a model that is whole
    last = pipeline(StandardScaler(), slow())
    assert prequential(last, (X[:place], y[:place]), drift=ADWIN(), on_drift="reset", classes=[0, 1]).drifts == [place]
    last.save(tmp_path / "model.onepass")
    assert np.array_equal(load(tmp_path / "model.onepass").predict(X), last.predict(X))


def test_columns_go_by_their_names_behind_stages_that_stay(tmp_path):
    """After a reset the learner knows no names, and the scaler does."""
    X, y = flipped()
    frame = pd.DataFrame(X * [1, 10, 100], columns=list("abc")).assign(label=y)
    frame[:300].to_csv(tmp_path / "one.csv", index=False)
    frame[300:][["c", "label", "a", "b"]].to_csv(tmp_path / "two.csv", index=False)
    model, whole, detector = pipeline(StandardScaler(), slow()), pipeline(StandardScaler(), slow()), ADWIN()
    for name in ("one.csv", "two.csv"):
        with streams.open(tmp_path / name, label="label", chunk=100) as stream:
            prequential(model, stream, drift=detector, on_drift="reset")
    assert prequential(whole, (frame[list("abc")], y), drift=ADWIN(), on_drift="reset").drifts
    assert np.array_equal(model.coef_, whole.coef_)


def test_active_learners_start_anew_too():
    X, y = flipped()
    model = ActiveLearner(slow(), 0.5, random_state=0)
    result = prequential(model, (X, y), drift=ADWIN(), on_drift="reset", classes=[0, 1])
    assert len(result.drifts) == 1
    twin = ActiveLearner(slow(), 0.5, random_state=0)
    twin.partial_fit(X[: result.drifts[0]], y[: result.drifts[0]], classes=[0, 1])
    twin.learner_ = slow()
    twin.partial_fit(X[result.drifts[0] :], y[result.drifts[0] :], classes=[0, 1])
    assert (model.seen_, model.asked_) == (twin.seen_, twin.asked_)
    assert np.array_equal(model.coef_, twin.coef_)


def test_an_average_is_forgotten_and_the_weights_are_not():
    X, y = flipped()
    model = slow()
    (place,) = prequential(model, (X, y), drift=ADWIN(), on_drift="forget", classes=[0, 1]).drifts
    assert model.t_ == 1200 - place
    plain, since = PAClassifier(C=0.01), []
    for t in range(1200):
        plain.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        if t >= place:
            since.append(plain.coef_)
    assert np.mean(since, axis=0) == pytest.approx(model.coef_)


@pytest.mark.plain
@pytest.mark.parametrize(
    "model",
    [
        AROWClassifier(),
        AROWClassifier(covariance="full", average=True),
        OGDClassifier(adagrad=True, class_weight="balanced"),
        OGDClassifier(),
        Perceptron(pocket=True),
        pipeline(StandardScaler(), SCWClassifier()),
    ],
    ids=["diagonal", "full", "squares", "rate", "pocket", "pipeline"],
)
def test_what_is_forgotten_is_as_at_the_start(model):
    X, y = flipped(100)
    model = clone(model).partial_fit(X, y, classes=[0, 1])
    core, fresh = core_of(model), clone(core_of(model)).partial_fit(X[:1], y[:1], classes=[0, 1], sample_weight=[0.0])
    weights, updates = core._state.arrays["w"].copy(), core.updates_
    forget(model)
    for name, array in core._state.arrays.items():
        if name == "w" or name.endswith(".w"):
            assert np.array_equal(array, 0 * array if name == "gap.w" else weights)
        elif name != "count":
            assert np.array_equal(array, fresh._state.arrays[name]), name
    assert (core.t_, core.updates_) == (0, updates)
    model.partial_fit(X, y)
    assert core.t_ == 100


def test_a_learner_without_such_a_memory_says_so():
    X, y = flipped(50)
    for model in (PAClassifier(), ActiveLearner(PAClassifier()), BernoulliNB()):
        with pytest.raises(ValueError, match="on_drift='forget' is for learners of onepass that average"):
            prequential(model, (X, y), drift=ADWIN(), on_drift="forget")


def test_models_of_others_start_anew():
    X, y = flipped(700, 400)
    model = BernoulliNB()
    result = prequential(model, (X, y), drift=ADWIN(), on_drift="reset")
    assert len(result.drifts) == 1
    assert model.class_count_.sum() == 700 - result.drifts[0]


def test_models_and_detectors_of_river_take_part():
    linear_model, theirs = import_module("river.linear_model"), import_module("river.drift")
    X, y = flipped()
    pairs = [(dict(enumerate(x)), bool(label)) for x, label in zip(X.tolist(), y, strict=True)]
    for detector in (theirs.ADWIN(), theirs.PageHinkley(threshold=15), theirs.binary.DDM(), ADWIN()):
        assert prequential(linear_model.LogisticRegression(), pairs, drift=detector, on_drift="reset").drifts
        assert prequential(slow(), (X, y), drift=detector.clone() if hasattr(detector, "clone") else ADWIN()).drifts


def test_errors_of_numbers_are_watched():
    X, _ = flipped()
    target = np.where(np.arange(1200) < 600, X[:, 0], -3 * X[:, 0])
    one = prequential(PARegressor(C=0.1), (X, target), drift=ErrorWindow(window=50), on_drift="reset")
    assert 600 < one.drifts[0] < 700
    pieces = prequential(PARegressor(C=0.1), cut(X, target, [100, 601, 640]), drift=ErrorWindow(window=50), on_drift="reset")
    assert same(one, pieces)


def test_what_can_not_be_done_is_refused():
    X, y = flipped(50)
    with pytest.raises(TypeError, match=r"A detector of drift has `update\(x\)`"):
        prequential(PAClassifier(), (X, y), drift="adwin")
    with pytest.raises(ValueError, match="`on_drift` must be 'reset'"):
        prequential(PAClassifier(), (X, y), drift=ADWIN(), on_drift="restart")
    with pytest.raises(ValueError, match="`on_drift` needs a detector"):
        prequential(PAClassifier(), (X, y), on_drift="reset")
