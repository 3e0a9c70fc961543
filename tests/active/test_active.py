"""Active learning: what is asked, what is learned, and that nothing else is looked at."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
import onepass
from onepass import (
    ActiveLearner,
    AROWClassifier,
    Hasher,
    KernelPA,
    ModelFileError,
    PAClassifier,
    PAMOClassifier,
    PARegressor,
    Perceptron,
    StandardScaler,
    UnitNorm,
    evaluate,
    pipeline,
)
from shared import checked, dataset

pytestmark = pytest.mark.plain

N, D = 80, 5
LABELS = {"binary": np.array([-1, 1]), "multiclass": np.array([2, 3, 5, 7])}
TASKS = list(LABELS)


def data(task: str, n: int = N, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.7)
    signal = X @ np.array([1.0, -2.0, 0.5, 1.5, -1.0]) + 0.5 * rng.normal(size=n)
    return X, LABELS[task][(signal > 0).astype(int) if task == "binary" else np.digitize(signal, [-1.5, 0.0, 1.5])]


def as_dicts(X: Any) -> list[dict[str, float]]:
    return [{f"f{j}": value for j, value in enumerate(row) if value != 0} for row in X.tolist()]


STORAGE: dict[str, Callable[[Any], Any]] = {"dense": np.asarray, "csr": sp.csr_array}

# What can be wrapped, by the ways in which it can be special.
LEARNERS: dict[str, Callable[..., Any]] = {
    "PA": PAClassifier,
    "averaged": lambda **more: PAClassifier(average=True, **more),
    "PAMO": lambda **more: PAMOClassifier(dimensions=4, random_state=5, **more),
    "averaged PAMO": lambda **more: PAMOClassifier(dimensions=4, random_state=5, average="uniform", **more),
    "AROW": AROWClassifier,
    "kernel": lambda **more: KernelPA(budget=20, policy="redundant", gamma=0.5, average=True, **more),
    "growing kernel": lambda **more: KernelPA(gamma=0.5, class_weight="balanced", **more),
    "shrinking": lambda **more: Perceptron(shrink=0.9, average=True, **more),
    "balanced": lambda **more: PAClassifier(class_weight="balanced", **more),
    "balanced and calibrated": lambda **more: PAClassifier(class_weight="balanced", calibrate=True, average=50, **more),
    "calibrated": lambda **more: PAClassifier(calibrate=True, **more),
    "unit norm": lambda **more: pipeline(UnitNorm(), PAClassifier(**more)),
    "scaled": lambda **more: pipeline(StandardScaler(), UnitNorm(), PAClassifier(average=True, **more)),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_task = pytest.mark.parametrize("task", TASKS)
every_storage = pytest.mark.parametrize("storage", STORAGE)


def active(name: str, delta: float | None = None, **more: Any) -> ActiveLearner:
    """By default it asks for neither few nor nearly all of the labels."""
    usual = 0.1 if "PAMO" in name else 0.5
    return ActiveLearner(LEARNERS[name](**more), usual if delta is None else delta, random_state=3)


def steps(model: Any) -> list[Any]:
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def snapshot(model: Any) -> Any:
    """Everything that learning changes, to the bit. Spare room at the end of the features is no part of it."""
    if isinstance(model, ActiveLearner):
        if not hasattr(model, "learner_"):
            return None
        return model._seed, model.seen_, model.asked_, snapshot(model.learner_)
    content = []
    for step in steps(model):
        state = step._state
        if state is None:
            content.append(None)
            continue
        arrays = {}
        for name, array in state.arrays.items():
            role = state.fields.get(name.split(".")[-1])
            if role is not None:
                array = array[tuple(slice(state.n_features + 1 if axis == "features" else None) for axis in role.axes.split())]
            arrays[name] = (array.dtype, array.shape, array.tobytes())
        classes = None if state.classes is None else state.classes.tolist()
        columns = None if state.names is None else state.names.first(state.n_features)
        content.append((state.form, state.dtype, state.n_features, state.grow_features, classes, columns, arrays))
    return content


def live(model: ActiveLearner, X: Any, y: Any) -> list[int]:
    """Learn with an oracle; the rows that were asked about."""
    asked = []
    for t in range(len(y)):
        x = X[t : t + 1] if sp.issparse(X) else X[t]
        if model.query(x):
            asked.append(t)
            model.answer(x, y[t])
    return asked


# --- what is asked ---


@pytest.mark.parametrize("delta", [0.1, 1.0, 7.0])
@every_task
def test_the_probability(task: str, delta: float) -> None:
    """Queries alone do not change the scores: the same example is asked about again and again."""
    X, y = data(task)
    model = ActiveLearner(PAClassifier(), delta, random_state=11).fit(X, y)
    before = snapshot(model.learner_)
    for t in (0, 1, 2):
        scores = np.sort(model.decision_function(X[t : t + 1])[0], axis=None)
        margin = abs(scores[0]) if task == "binary" else scores[-1] - scores[-2]
        p, n = delta / (delta + margin), 3000
        asked = sum(model.query(X[t]) for _ in range(n))
        assert abs(asked - n * p) < 4 * np.sqrt(n * p * (1 - p)), (asked, n * p)
        assert 0.02 < p < 0.98, "an example that says something"
    assert snapshot(model.learner_) == before


def draws(model: ActiveLearner, n: int) -> Any:
    """The uniform numbers that a model uses, made by themselves."""
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    return np.random.Generator(np.random.Philox(key=np.array([seed, 2**64 - 1], np.uint64))).random(n)


@pytest.mark.compiled
@pytest.mark.parametrize("delta", [0.05, 1.0, np.inf])
@pytest.mark.parametrize("average", [None, "uniform"])
@every_storage
@every_task
def test_the_naive_twin(task: str, storage: str, average: Any, delta: float) -> None:
    """Algorithm 2, in the plainest NumPy."""
    X, y = data(task, 500)
    model = ActiveLearner(PAClassifier(C=0.3, average=average), delta, random_state=8)
    scores = model.test_then_train(STORAGE[storage](X), y, classes=LABELS[task])

    twin = naive.PA(C=0.3)
    now = twin.first(np.zeros(D + 1) if task == "binary" else np.zeros((4, D + 1)))
    codes = y if task == "binary" else np.searchsorted(LABELS[task], y)
    seen, asked = now, 0
    blend = naive.averages(average) if average else None
    if blend:
        next(blend)
    for t, u in enumerate(draws(model, len(y))):
        x = np.concatenate([[1.0], X[t]])
        score = twin.score(seen, x)
        np.testing.assert_allclose(scores[t], score, rtol=0, atol=1e-9)
        margin = abs(score) if task == "binary" else np.diff(np.sort(score))[-1]
        if delta == np.inf or u < delta / (delta + margin):
            asked += 1
            now = twin.learn(now, x, codes[t], 1.0)
            seen = blend.send(now) if blend else now
    assert (model.seen_, model.asked_, model.t_) == (500, asked, asked)
    assert asked == 500 if delta == np.inf else 10 < asked < 490
    (weights,) = seen.values()
    np.testing.assert_allclose(np.column_stack([model.intercept_, model.coef_]), np.atleast_2d(weights), rtol=0, atol=1e-9)


def test_what_knows_nothing_asks() -> None:
    model = ActiveLearner(PAMOClassifier(random_state=0), 1e-300, random_state=0)  # its first scores are not 0
    assert model.query({"a": 1.0})
    assert model.query({"a": 1.0}), "it still knows nothing"
    assert (model.seen_, model.asked_) == (2, 2)
    assert model.predict_one({"a": 1.0}) is None
    model.answer({"a": 1.0}, "yes")
    assert model.query({"a": 1.0}), "the only label that it knows is no answer"
    model.answer({"a": -1.0}, "no")
    assert not model.query({"a": 1.0})
    assert (model.seen_, model.asked_, model.t_) == (4, 3, 1), "from one label alone there was nothing to learn"


def test_an_answer_is_learned_whatever_the_draw() -> None:
    X, y = data("binary")
    model = ActiveLearner(PAClassifier(), 1e-300, random_state=0)
    for x, label in zip(X, y, strict=True):
        model.answer(x, label)
    learned = N - int(np.argmax(y != y[0]))  # from the first example on that brings the second label
    assert (model.seen_, model.asked_, model.t_) == (0, 0, learned)
    plain = PAClassifier()
    for x, label in zip(X, y, strict=True):
        plain.learn_one(x, label)
    assert snapshot(model.learner_) == snapshot(plain)


def test_draws_are_not_those_of_the_first_weights() -> None:
    """Both are made from the same seed by the same generator."""
    state = PAMOClassifier(dimensions=4, random_state=3).partial_fit([[1.0]], [1], classes=[0, 1])._state
    drawn = {round(float(u), 12) for u in draws(ActiveLearner(PAClassifier(), random_state=3), 1000)}
    for stream in (0, 1):
        numbers = np.random.Generator(np.random.Philox(key=np.array([state.seed, stream], np.uint64))).random(1000)
        assert not drawn & set(numbers.round(12).tolist())


# --- all of it is asked: the plain learner ---


@every_learner
@every_storage
@every_task
def test_asking_always_is_the_plain_learner(task: str, storage: str, name: str) -> None:
    X, y = data(task)
    X = STORAGE[storage](X)
    model, plain = active(name, np.inf), LEARNERS[name]()
    scores = model.test_then_train(X, y, classes=LABELS[task])
    np.testing.assert_array_equal(scores, plain.test_then_train(X, y, classes=LABELS[task]))
    assert snapshot(model.learner_) == snapshot(plain)
    assert (model.seen_, model.asked_) == (N, N)
    assert snapshot(active(name, np.inf).fit(X, y).learner_) == snapshot(LEARNERS[name]().fit(X, y))


@pytest.mark.parametrize("name", ["PA", "averaged PAMO", "balanced and calibrated", "scaled"])
def test_asking_always_is_the_plain_learner_that_grows(name: str) -> None:
    X, y = data("multiclass")
    X[:20, 3:] = 0
    dicts = as_dicts(X)
    model, plain = active(name, np.inf), LEARNERS[name]()
    np.testing.assert_array_equal(model.test_then_train(dicts, y), plain.test_then_train(dicts, y))
    assert snapshot(model.learner_) == snapshot(plain)
    arrays, plain_arrays = active(name, np.inf, grow=True), LEARNERS[name](grow=True)
    np.testing.assert_array_equal(arrays.test_then_train(X, y), plain_arrays.test_then_train(X, y))
    assert snapshot(arrays.learner_) == snapshot(plain_arrays)


@pytest.mark.parametrize("name", ["PA", "balanced and calibrated", "scaled"])
@every_task
def test_weights_go_with_it(task: str, name: str) -> None:
    X, y = data(task)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], N)
    model, plain = active(name, np.inf), LEARNERS[name]()
    np.testing.assert_array_equal(
        model.test_then_train(X, y, LABELS[task], weights), plain.test_then_train(X, y, LABELS[task], weights)
    )
    assert snapshot(model.learner_) == snapshot(plain)
    assert model.seen_ == model.asked_ == np.count_nonzero(weights)


@every_task
def test_shuffled_passes(task: str) -> None:
    X, y = data(task)
    learner = Perceptron(mode="incremental", random_state=4)
    model = ActiveLearner(learner, np.inf).fit(X, y)
    np.testing.assert_array_equal(model.coef_, clone(learner).fit(X, y).coef_)


# --- whichever way they come ---

DOORS = st.sampled_from(["partial_fit", "test_then_train", "learn_one", "live"])
CUTS = st.lists(st.tuples(st.integers(1, N), DOORS), max_size=6, unique_by=lambda cut: cut[0])


def through_doors(model: Any, X: Any, y: Any, cuts: list[tuple[int, str]], classes: Any = None) -> None:
    start = 0
    for stop, door in [*sorted(cuts), (len(y), "partial_fit")]:
        if door == "live":
            live(model, X[start:stop], y[start:stop])
        elif door == "learn_one":
            for t in range(start, stop):
                model.learn_one(X[t : t + 1] if sp.issparse(X) else X[t], y[t])
        elif stop > start:
            getattr(model, door)(X[start:stop], y[start:stop], classes=classes)
        start = stop


@every_learner
@every_storage
@every_task
@settings(max_examples=6, deadline=None)
@given(cuts=CUTS)
def test_cuts_and_doors_do_not_matter(task: str, storage: str, name: str, cuts: Any) -> None:
    X, y = data(task)
    X = STORAGE[storage](X)
    whole, pieces = active(name), active(name)
    scores = whole.test_then_train(X, y, classes=LABELS[task])
    assert 5 < whole.asked_ < N - 5
    np.testing.assert_array_equal(pieces.test_then_train(X[:1], y[:1], classes=LABELS[task]), scores[:1])
    through_doors(pieces, X[1:], y[1:], [(max(1, stop - 1), door) for stop, door in cuts])
    assert snapshot(pieces) == snapshot(whole)


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=6, deadline=None)
@given(cuts=CUTS)
def test_cuts_and_doors_do_not_matter_to_a_growing_model(name: str, cuts: Any) -> None:
    X, y = data("multiclass")
    X[:30, 3:] = 0
    X[:60, 4:] = 0
    dicts = as_dicts(X)
    whole, pieces = active(name).partial_fit(dicts, y), active(name)
    assert 5 < whole.asked_ < N - 5
    through_doors(pieces, dicts, y, cuts)
    assert snapshot(pieces) == snapshot(whole)


@every_learner
@every_task
def test_a_live_oracle_and_a_pass(task: str, name: str) -> None:
    """From the first example on, where the learner knows its classes."""
    X, y = data(task)
    oracle, one = (active(name, classes=LABELS[task], grow=False) for _ in range(2))
    if name in ("unit norm", "scaled"):
        for model in (oracle, one):
            model.set_params(**{f"learner__{key}__grow": False for key, _ in model.learner.steps[:-1]})
    table, fitted = clone(one), clone(one)
    asked = live(oracle, X, y)
    for x, label in zip(X, y, strict=True):
        one.learn_one(x, label)
    assert len(asked) == oracle.asked_
    assert snapshot(one) == snapshot(oracle)
    assert snapshot(table.partial_fit(X, y)) == snapshot(oracle)
    assert snapshot(fitted.fit(X, y)) == snapshot(oracle)


@every_task
def test_scores_are_those_of_just_before(task: str) -> None:
    X, y = data(task)
    model, twin = active("averaged"), active("averaged")
    scores = model.test_then_train(X, y, classes=LABELS[task])
    twin.partial_fit(X[:1], y[:1], classes=LABELS[task])
    for t in range(1, N):
        np.testing.assert_array_equal(twin.decision_function(X[t : t + 1])[0], scores[t])
        twin.learn_one(X[t], y[t])
    assert snapshot(twin) == snapshot(model)


def test_a_long_table_is_cut_into_blocks() -> None:
    X, y = data("binary", 80_000)
    whole = active("averaged").partial_fit(X, y, classes=[-1, 1])
    parts = active("averaged").partial_fit(X[:50_001], y[:50_001], classes=[-1, 1]).partial_fit(X[50_001:], y[50_001:])
    assert snapshot(whole) == snapshot(parts)
    assert whole.seen_ == 80_000


def test_single_precision() -> None:
    X, y = data("multiclass")
    X = X.astype(np.float32)
    whole, oracle = active("averaged"), active("averaged")
    whole.partial_fit(X, y, classes=LABELS["multiclass"])
    oracle.partial_fit(X[:1], y[:1], classes=LABELS["multiclass"])
    live(oracle, X[1:], y[1:])
    assert snapshot(whole) == snapshot(oracle)
    assert whole.decision_function(X).dtype == np.float32


def test_frames_and_dicts() -> None:
    X, y = data("binary")
    names = [f"f{j}" for j in range(D)]
    expected = active("PA").partial_fit(X, y, classes=[-1, 1])
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = active("PA").partial_fit(frame, y, classes=[-1, 1])
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.asked_ == expected.asked_
        assert model.feature_names_in_.tolist() == names
    by_name = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    model.partial_fit(by_name, y)
    assert (model.seen_, model.t_) == (2 * N, model.asked_)


def test_hashed_names() -> None:
    X, y = data("binary")
    names = [f"f{j}" for j in range(D)]
    dicts = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    model = ActiveLearner(pipeline(Hasher(n_features=64), PAClassifier()), 0.5, random_state=3)
    oracle, framed = clone(model), clone(model)
    model.fit(dicts, y)
    framed.fit(pd.DataFrame(X, columns=names), y)
    oracle.partial_fit(dicts[:1], y[:1], classes=[-1, 1])
    live(oracle, dicts[1:], y[1:])
    assert snapshot(oracle) == snapshot(model) == snapshot(framed)
    assert 5 < model.asked_ < N - 5


# --- a label that is not asked for is not looked at ---


@pytest.mark.parametrize("label", [1.0, 9.0, np.nan], ids=["the other", "unknown", "none"])
@pytest.mark.parametrize("name", ["averaged", "balanced and calibrated", "scaled", "PAMO"])
@every_task
def test_labels_that_are_not_asked_for_do_not_matter(task: str, name: str, label: float) -> None:
    X, y = data(task)
    y = y.astype(float)
    expected = active(name)
    expected.partial_fit(X[:1], y[:1], classes=LABELS[task])
    asked = live(expected, X[1:], y[1:])
    assert 5 < len(asked) < N - 5
    hidden = np.full(N, label)
    hidden[[0, *(t + 1 for t in asked)]] = y[[0, *(t + 1 for t in asked)]]
    model = active(name).partial_fit(X, hidden, classes=LABELS[task])
    assert snapshot(model) == snapshot(expected)
    assert model.classes_.tolist() == LABELS[task].tolist()
    assert model.t_ == model.asked_


@pytest.mark.parametrize("name", ["averaged", "PAMO", "scaled"])
def test_what_is_not_asked_about_brings_neither_labels_nor_features(name: str) -> None:
    X, y = data("multiclass")
    dicts, labels = as_dicts(X), [f"c{label}" for label in y]
    expected = active(name)
    asked = live(expected, dicts, labels)
    assert 5 < len(asked) < N - 5
    other = [x if t in asked else {**x, f"new{t}": 0.0} for t, x in enumerate(dicts)]
    hidden = [label if t in asked else f"new{t}" for t, label in enumerate(labels)]
    model = active(name)
    scores = model.test_then_train(other, hidden)
    assert snapshot(model) == snapshot(expected)
    assert model.classes_.tolist() == sorted({labels[t] for t in asked})
    assert scores.shape == (N, len(model.classes_))
    assert model.n_features_in_ == D


def test_the_average_follows_what_was_asked_about() -> None:
    """Rows that are not asked about count in no average."""
    X, y = data("binary")
    model = ActiveLearner(PAClassifier(average="uniform"), 0.3, random_state=3)
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    asked = [0, *(t + 1 for t in live(model, X[1:], y[1:]))]
    plain = PAClassifier(average="uniform").partial_fit(X[asked], y[asked], classes=[-1, 1])
    assert snapshot(model.learner_) == snapshot(plain)


# --- weights ---


def test_weight_0_is_not_even_seen() -> None:
    X, y = data("binary")
    weights = np.ones(N)
    weights[::3] = 0
    for name in ("averaged", "scaled"):
        model, without = active(name), active(name)
        model.partial_fit(X[:1], y[:1], classes=[-1, 1]).partial_fit(X, y, sample_weight=weights)
        without.partial_fit(X[:1], y[:1], classes=[-1, 1]).partial_fit(X[weights > 0], y[weights > 0])
        assert snapshot(model) == snapshot(without)
        one = active(name).partial_fit(X[:1], y[:1], classes=[-1, 1])
        for x, label, weight in zip(X, y, weights, strict=True):
            one.learn_one(x, label, weight)
        assert snapshot(one) == snapshot(without)
    with pytest.raises(ValueError, match="All sample weights are zero"):
        active("PA").fit(X, y, np.zeros(N))


def test_a_class_of_weight_0_is_asked_about() -> None:
    """Which class it is, only its label can say."""
    X, y = data("binary")
    model = ActiveLearner(PAClassifier(class_weight={-1: 0.0}), 0.5, random_state=3)
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    oracle = model.copy()
    model.partial_fit(X[1:], y[1:])
    asked = [0, *(t + 1 for t in live(oracle, X[1:], y[1:]))]
    assert snapshot(model) == snapshot(oracle)
    assert model.asked_ == len(asked)
    assert model.t_ == np.count_nonzero(y[asked] == 1) < model.asked_


# --- errors leave no trace ---


def bad_number(X: Any, y: Any) -> dict[str, Any]:
    X = X.copy()
    X[50, 2] = np.nan
    return {"X": X, "y": y}


def bad_label(X: Any, y: Any) -> dict[str, Any]:
    y = y.copy()
    y[40:] = 99
    return {"X": X, "y": y}


ERRORS: dict[str, tuple[Callable[[Any, Any], dict[str, Any]], str]] = {
    "NaN": (bad_number, r"NaN \(row 50\)"),
    "infinity": (lambda X, y: {"X": np.where(np.arange(N)[:, None] == 60, np.inf, X), "y": y}, r"infinity.*\(row 60\)"),
    "an unknown label": (bad_label, r"99 \(row 4\d\) is none of"),
    "other classes": (lambda X, y: {"X": X, "y": y, "classes": [1, 2]}, "not the same as on last call"),
    "another width": (lambda X, y: {"X": X[:, :3], "y": y}, "expecting 5 features"),
    "too few labels": (lambda X, y: {"X": X, "y": y[:-1]}, "inconsistent"),
    "weights below 0": (lambda X, y: {"X": X, "y": y, "sample_weight": -np.ones(N)}, "not negative"),
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", ["averaged", "balanced and calibrated", "scaled", "unit norm"])
def test_errors_change_nothing(name: str, error: str) -> None:
    X, y = data("binary")
    model = active(name).partial_fit(X, y, classes=[-1, 1])
    before, twin = snapshot(model), model.copy()
    make, message = ERRORS[error]
    with pytest.raises(ValueError, match=message):
        model.partial_fit(**make(*data("binary", seed=1)))
    with pytest.raises(ValueError, match=r"NaN \(row 50\)"):
        model.fit(**bad_number(X, y))
    assert snapshot(model) == before
    assert snapshot(model.partial_fit(X, y)) == snapshot(twin.partial_fit(X, y)), "the draws go on from where they were"


@pytest.mark.parametrize("name", ["averaged", "scaled"])
def test_errors_of_a_first_call_change_nothing(name: str) -> None:
    X, y = data("binary")
    fresh, queried = active(name), active(name)
    queried.query(X[0])
    before = snapshot(queried)
    for model in (fresh, queried):
        with pytest.raises(ValueError, match=r"NaN \(row 50\)"):
            model.partial_fit(**bad_number(X, y), classes=[-1, 1])
        with pytest.raises(ValueError, match="classes must be passed"):
            model.partial_fit(X, y)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, np.where(np.arange(N) == 70, np.nan, y))
        with pytest.raises(ValueError, match=r"too large|infinity"):
            model.learn_one(np.full(D, np.inf), 1)
    assert snapshot(queried) == before
    assert snapshot(fresh) is None
    assert not hasattr(fresh, "seen_")


def test_errors_of_single_examples_change_nothing() -> None:
    X, y = data("binary")
    model = ActiveLearner(PAClassifier(classes=[-1, 1], grow=False), np.inf, random_state=0).partial_fit(X, y)
    before = snapshot(model)
    for x, label, w in [(X[0], 5, 1.0), (X[0] * np.nan, 1, 1.0), (X[0, :2], 1, 1.0), (X[0], 1, -1.0), (X[0], 1, np.nan)]:
        with pytest.raises(ValueError, match=r"none of|NaN|features|not negative"):
            model.learn_one(x, label, w)
        assert snapshot(model) == before
    with pytest.raises(ValueError, match="NaN"):
        model.query(X[0] * np.nan)
    with pytest.raises(ValueError, match="none of"):
        model.answer(X[0], 5)
    assert snapshot(model) == before


def test_bad_rows_leave_a_large_state_as_it_was() -> None:
    """A few rows for many weights."""
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 200_000), density=1e-4, format="csr", rng=rng)
    y = rng.choice([-1, 1], 60)
    model = ActiveLearner(PAClassifier(), 0.5, random_state=0).partial_fit(X, y, classes=[-1, 1])
    twin = ActiveLearner(PAClassifier(), 0.5, random_state=0).partial_fit(X, y, classes=[-1, 1])
    before, bad = snapshot(model), X.copy()
    bad.data[-1] = np.nan
    unknown = y.copy()
    unknown[3:] = 7
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y)
    with pytest.raises(ValueError, match="7"):
        model.partial_fit(X, unknown)
    assert snapshot(model) == before
    assert snapshot(model.partial_fit(X, y)) == snapshot(twin.partial_fit(X, y))


# --- parameters ---


@pytest.mark.parametrize("delta", [0, -1.0, np.nan, "1", None])
def test_a_bad_delta(delta: Any) -> None:
    X, y = data("binary")
    model = ActiveLearner(PAClassifier(), delta)
    for learn in (lambda: model.fit(X, y), lambda: model.query(X[0]), lambda: model.learn_one(X[0], 1)):
        with pytest.raises(ValueError, match="'delta' parameter of ActiveLearner"):
            learn()
    fitted = ActiveLearner(PAClassifier(), random_state=0).fit(X, y)
    before = snapshot(fitted)
    with pytest.raises(ValueError, match="'delta' parameter of ActiveLearner"):
        fitted.set_params(delta=delta).query(X[0])
    assert snapshot(fitted) == before


@pytest.mark.parametrize(
    "learner",
    [PARegressor(), PAClassifier, None, "PAClassifier", StandardScaler(), pipeline(UnitNorm(), PARegressor())],
    ids=["regressor", "class", "none", "text", "stage", "pipeline"],
)
def test_what_is_no_classifier(learner: Any) -> None:
    X, y = data("binary")
    with pytest.raises(TypeError, match="takes a classifier of onepass"):
        ActiveLearner(learner).fit(X, y)
    with pytest.raises(TypeError, match="takes a classifier of onepass"):
        ActiveLearner(learner).query(X[0])


def test_learners_that_pass_over_their_data_again() -> None:
    X, y = data("binary")
    with pytest.raises(ValueError, match="leave max_iter of its learner at 1"):
        ActiveLearner(PAClassifier(max_iter=3)).fit(X, y)
    with pytest.raises(ValueError, match="looks at all of its data"):
        ActiveLearner(Perceptron(mode="batch")).fit(X, y)


def test_bad_parameters_of_the_learner_are_its_own_affair() -> None:
    X, y = data("binary")
    model = ActiveLearner(PAClassifier(C=-1))
    with pytest.raises(ValueError, match="'C' parameter of PAClassifier"):
        model.fit(X, y)
    assert not hasattr(model, "learner_")


def test_parameters() -> None:
    model = ActiveLearner(pipeline(StandardScaler(), PAClassifier(C=2.0)), 0.5)
    assert model.get_params()["learner__paclassifier__C"] == 2.0
    model.set_params(learner__paclassifier__C=3.0, delta=0.1)
    assert (model.learner[1].C, model.delta) == (3.0, 0.1)
    assert repr(ActiveLearner(PAClassifier(C=2.0))) == "ActiveLearner(learner=PAClassifier(C=2.0))"
    twin = clone(model)
    assert twin.learner is not model.learner
    assert twin.get_params()["learner__paclassifier__C"] == 3.0
    learner = PAClassifier()
    ActiveLearner(learner).fit(*data("binary"))
    assert not learner.__sklearn_is_fitted__(), "the user's learner stays as it is"


def test_delta_may_change_on_the_way() -> None:
    X, y = data("binary", 1000)
    model = ActiveLearner(PAClassifier(), 0.01, random_state=0).fit(X, y)
    few = model.asked_
    model.set_params(delta=np.inf).partial_fit(X, y)
    assert model.asked_ == few + 1000
    assert few < 300


def test_a_fresh_model() -> None:
    X, _ = data("binary")
    model = ActiveLearner(PAClassifier())
    for door in (model.predict, model.decision_function):
        with pytest.raises(NotFittedError, match="ActiveLearner"):
            door(X)
    assert model.predict_one(X[0]) is None
    for name in ("classes_", "coef_", "seen_", "asked_", "t_", "learner_"):
        assert not hasattr(model, name)
    assert not hasattr(model, "predict_proba")
    assert ActiveLearner(PAClassifier(calibrate=True)).predict_proba_one({"a": 1}) == {}
    assert snapshot(model.copy()) is None


def test_predictions_are_those_of_the_learner() -> None:
    X, y = data("multiclass")
    model = active("balanced and calibrated").fit(X, y)
    inner = model.learner_
    np.testing.assert_array_equal(model.predict(X), inner.predict(X))
    np.testing.assert_array_equal(model.decision_function(X), inner.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X), inner.predict_proba(X))
    assert model.predict_one(X[0]) == inner.predict_one(X[0])
    assert model.predict_proba_one(X[0]) == inner.predict_proba_one(X[0])
    assert model.score(X, y) == inner.score(X, y)
    np.testing.assert_array_equal(model.coef_, inner.coef_)
    assert not hasattr(model, "none_such_")


# --- copies and files ---


@pytest.mark.parametrize("grow", [False, True], ids=["arrays", "dicts"])
@every_learner
def test_going_on_from_a_file(name: str, grow: bool, tmp_path: Path) -> None:
    X, y = data("multiclass")
    X = as_dicts(X) if grow else X
    model = active(name).partial_fit(X[:40], y[:40], classes=None if grow else LABELS["multiclass"])
    model.save(tmp_path / "model")
    before = snapshot(model)
    others = [
        onepass.load(tmp_path / "model"),
        model.copy(),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ]
    for other in others:
        assert snapshot(other) == before
        assert repr(other) == repr(model)
    expected = model.test_then_train(X[40:], y[40:])
    for other in others:
        np.testing.assert_array_equal(other.test_then_train(X[40:], y[40:]), expected)
        assert snapshot(other) == snapshot(model)


def test_files_of_models_that_know_little(tmp_path: Path) -> None:
    model = ActiveLearner(PAClassifier(C=3.0), np.inf, random_state=np.random.RandomState(0))
    model.save(tmp_path / "fresh")
    fresh = onepass.load(tmp_path / "fresh")
    assert (fresh.learner.C, fresh.delta, hasattr(fresh, "learner_")) == (3.0, np.inf, False)
    model.query({"a": 1.0})
    model.set_params(learner__C=4.0).save(tmp_path / "queried")
    queried = onepass.load(tmp_path / "queried")
    assert snapshot(queried) == snapshot(model)
    assert (queried.learner.C, queried.learner_.C) == (4.0, 3.0)


def rewrite(file: Path, change: Callable[[Any, Any], object]) -> None:
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, arrays = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["onepass"]), load_file(file)
    change(header, arrays)
    save_file(arrays, file, {"onepass": json.dumps(header)})


DAMAGE: dict[str, Callable[[Any, Any], object]] = {
    "no draws": lambda header, arrays: header.pop("draws"),
    "draws below 0": lambda header, arrays: header.update(draws=[1, -2, 0]),
    "draws that are no numbers": lambda header, arrays: header.update(draws=["1", 2, 3]),
    "too few draws": lambda header, arrays: header.update(draws=[1, 2]),
    "a seed that is too large": lambda header, arrays: header.update(draws=[2**70, 2, 3]),
    "a bad delta": lambda header, arrays: header["parameters"].update(delta=-1),
    "no parameters": lambda header, arrays: header.pop("parameters"),
    "no steps": lambda header, arrays: header.pop("steps"),
    "no learner": lambda header, arrays: header["steps"].pop(0),
    "another learner": lambda header, arrays: header["steps"][0][1].update({"class": "PARegressor"}),
    "an unknown learner": lambda header, arrays: header["steps"][1][1].update({"class": "object"}),
    "no weights": lambda header, arrays: arrays.pop("learner_/w"),
    "itself inside": lambda header, arrays: header["steps"][1].__setitem__(1, copy.deepcopy(header)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_noticed(damage: str, tmp_path: Path) -> None:
    active("averaged").fit(*data("binary")).save(tmp_path / "model")
    rewrite(tmp_path / "model", DAMAGE[damage])
    with pytest.raises(ModelFileError):
        onepass.load(tmp_path / "model")


# --- evaluation ---


@pytest.mark.parametrize("name", ["PA", "scaled"])
def test_prequential(name: str) -> None:
    X, y = data("multiclass", 2000)
    model, same = active(name), active(name)
    result = evaluate.prequential(model, (X, y), classes=LABELS["multiclass"])
    scores = same.test_then_train(X, y, classes=LABELS["multiclass"])
    assert result.metrics["mistake_rate"] == pytest.approx(np.mean(LABELS["multiclass"][scores.argmax(axis=1)] != y))
    assert snapshot(model) == snapshot(same)
    assert result.updates == model.updates_ < model.asked_ < 2000
    dicts = as_dicts(X[:200])
    assert evaluate.prequential(active(name), zip(dicts, y.tolist(), strict=False)).n == 200
    chunks = ((sp.csr_array(X[i : i + 50]), y[i : i + 50]) for i in range(0, 200, 50))
    assert evaluate.prequential(active(name), chunks).n == 200


def test_compare() -> None:
    X, y = data("binary", 1000)
    models = {"all": PAClassifier(C=0.01), "few": ActiveLearner(PAClassifier(C=0.01), 0.3, random_state=0)}
    result = evaluate.compare(models, (X, y), permutations=3)
    assert result.mean("few") < 0.3, "far from guessing"
    again = evaluate.compare(models, (X, y), permutations=3)
    assert result.mean("few") == again.mean("few")
    tuned = evaluate.compare(models, (X, y), permutations=2, tune="libol")
    assert list(tuned.settings["few"]) == ["learner__C"]
    assert list(evaluate.standard_grid(active("scaled"))) == ["learner__paclassifier__C"]


@pytest.mark.slow
def test_few_labels_are_nearly_as_good_as_all() -> None:
    """Measured on a9a: an error of 0.1504 with all labels, 0.1524 with 15.5 % of them."""
    a9a = dataset("a9a")
    full = 1 - AROWClassifier().fit(a9a.X, a9a.y).score(a9a.X_test, a9a.y_test)
    models = [ActiveLearner(AROWClassifier(), 0.1, random_state=seed).fit(a9a.X, a9a.y) for seed in range(6)]
    assert np.mean([model.asked_ for model in models]) < 0.17 * len(a9a.y)
    assert np.mean([1 - model.score(a9a.X_test, a9a.y_test) for model in models]) < full + 0.003


@pytest.mark.slow
def test_labels_that_are_asked_for_are_better_than_any() -> None:
    """Measured on a9a with some 2,400 labels: PA-I has an error of 0.183 with those it asks for, of 0.213 with random ones."""
    a9a = dataset("a9a")
    chosen, random = [], []
    for seed in range(6):
        model = ActiveLearner(PAClassifier(), 0.1, random_state=seed).fit(a9a.X, a9a.y)
        some = np.sort(np.random.default_rng(seed).permutation(len(a9a.y))[: model.asked_])
        chosen.append(1 - model.score(a9a.X_test, a9a.y_test))
        random.append(1 - PAClassifier().fit(a9a.X[some], a9a.y[some]).score(a9a.X_test, a9a.y_test))
    assert np.mean(chosen) < np.mean(random) - 0.02, (np.mean(chosen), np.mean(random))


ONLINE = "a row of weight 2 is one step with twice the loss term, not two steps, and one question, not two"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


@parametrize_with_checks(
    [ActiveLearner(PAClassifier(average=True), random_state=0)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    checked(estimator, check)


@pytest.mark.parametrize("stages", [[], [StandardScaler()]], ids=["learner", "pipeline"])
def test_a_first_row_without_weight_makes_no_state(stages: list[Any]) -> None:
    learner = pipeline(*stages, PAClassifier()) if stages else PAClassifier()
    rows, y = [{"z": 1.0}, {"z": 2.0}, {"a": 1.0}, {"a": 2.0}], [9, 9, 0, 1]
    whole = ActiveLearner(learner, delta=np.inf, random_state=0).partial_fit(rows, y, sample_weight=[0, 0, 1, 1])
    few = ActiveLearner(learner, delta=np.inf, random_state=0).partial_fit(rows[2:], y[2:])
    assert (whole.seen_, whole.asked_, whole.n_features_in_, whole.classes_.tolist()) == (2, 2, 1, [0, 1])
    assert whole.decision_function(rows).tolist() == few.decision_function(rows).tolist()


@pytest.mark.parametrize("grow", [True, False])
def test_a_bad_row_is_refused_though_nobody_asks_about_it(grow: bool) -> None:
    """Its score may be sound: features that are new have no weight, and those of weight 0 hide any number."""
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), [0, 1]
    model = ActiveLearner(PAClassifier(grow=grow, classes=[0, 1], fit_intercept=False), delta=1e-300, random_state=0)
    model.partial_fit(X, y)
    asked = model.asked_
    for bad in ([1.0, 1e200], [1.0, np.nan], [1.0, 0.0, 1e200] if grow else [1.0, -1e200]):
        row = np.array(bad)
        for call in (
            lambda row=row: model.learn_one(row, 1),
            lambda row=row: model.learn_one(sp.csr_array(row[None]), 1),
            lambda row=row: model.learn_one(row, 1, w=0.0),
            lambda row=row: model.partial_fit(row[None], [1]),
            lambda row=row: model.partial_fit(np.stack([row, row]), [1, 1], sample_weight=[0.0, 1.0]),
        ):
            with pytest.raises(ValueError, match=r"too large|contains NaN"):
                call()
    assert model.asked_ == asked
