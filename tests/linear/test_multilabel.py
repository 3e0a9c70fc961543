"""PAMultilabel: its plain twin, the problem that a step solves, and the promises of every learner, for sets of labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
import onepass
from onepass import PAMultilabel, StandardScaler, pipeline
from optimum import check_step
from shared import checked
from test_contract import WAYS, snapshot

pytestmark = pytest.mark.plain

N, D, L = 60, 5, 4
NAMES = np.array(["a", "bb", "ccc", "d"])
VARIANTS = ["hard", "I", "II"]
AVERAGES = [None, True, "uniform", 20.0]
every_average = pytest.mark.parametrize("average", [None, True], ids=str)
both_storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def data(n: int = N, seed: int = 0) -> tuple[Any, Any]:
    """Rows with some zeros, and an indicator matrix; some rows have no label, some have all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.7)
    signal = X @ np.random.default_rng(9).normal(size=(D, L)) + 0.3 * rng.normal(size=(n, L)) + 0.2
    return X, (signal > 0).astype(np.int64)


def sets_of(Y: Any, names: Any = NAMES) -> list[set[Any]]:
    return [set(names[row.astype(bool)].tolist()) for row in Y]


def as_dicts(X: Any) -> list[dict[str, float]]:
    return [{f"f{j}": value for j, value in enumerate(row) if value != 0} for row in X.tolist()]


# --- the plain twin ---


def pairs(Y: Any) -> list[tuple[int, int]]:
    """All pairs of rows (a, b) of W such that a has to score higher than b; row 0 is the threshold."""
    relevant = [k + 1 for k in range(len(Y)) if Y[k]]
    others = [k + 1 for k in range(len(Y)) if not Y[k]]
    return [(r, s) for r in relevant for s in others] + [(r, 0) for r in relevant] + [(0, s) for s in others]


class Twin:
    """Every pair is looked at, in the plainest way."""

    def __init__(self, C: float = 1.0, variant: str = "I") -> None:
        self.C, self.variant = C, variant

    def score(self, m: Any, x: Any) -> Any:
        return (m["W"][1:] - m["W"][0]) @ x

    def learn(self, m: Any, x: Any, y: Any, weight: float) -> Any:
        W = m["W"].copy()
        losses = [1 - (W[a] - W[b]) @ x for a, b in pairs(y)]
        worst = int(np.argmax(losses))
        if losses[worst] > 0:
            (a, b), loss, norm2, C = pairs(y)[worst], losses[worst], 2 * x @ x, weight * self.C
            tau = {"hard": loss / norm2, "I": min(C, loss / norm2), "II": loss / (norm2 + 1 / (2 * C))}[self.variant]
            W[a] += tau * x
            W[b] -= tau * x
        return {"W": W}


@pytest.mark.compiled
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("average", AVERAGES, ids=str)
@both_storages
def test_kernel_is_its_twin(variant: str, average: Any, storage: Any) -> None:
    X, Y = data(150)
    weights = np.ones(150) if variant == "hard" else np.random.default_rng(1).choice([0.0, 0.3, 1.0, 2.0], size=150)
    model = PAMultilabel(0.3, variant, average=average)
    scores = model.test_then_train(storage(X), Y, sample_weight=weights)
    watch = naive.averages(average) if average else None
    expected, _, final = naive.run(Twin(0.3, variant), {"W": np.zeros((L + 1, D + 1))}, X, Y, weights, True, watch)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    W = final["W"][1:] - final["W"][0]
    np.testing.assert_allclose(model.coef_, W[:, 1:], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, W[:, 0], rtol=1e-9, atol=1e-9)
    assert model.updates_ > 50


@both_storages
def test_single_precision(storage: Any) -> None:
    X, Y = data(150)
    X = X.astype(np.float32)
    model = PAMultilabel(0.3)
    scores = model.test_then_train(storage(X), Y)
    expected, _, _ = naive.run(Twin(0.3), {"W": np.zeros((L + 1, D + 1))}, X.astype(float), Y)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=2e-4, atol=2e-4)


# --- the paper's problem ---


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), which=st.sampled_from(["some", "none", "all"]))
def test_a_step_solves_its_problem(variant: str, seed: int, which: str) -> None:
    """min 1/2 |W - W_t|^2 + the loss term of 1 - (W_a - W_b).x, for the pair that fails most of all there are."""
    rng = np.random.default_rng(seed)
    d, C, labels = 3, float(rng.choice([0.01, 0.1, 1.0, 10.0])), int(rng.integers(1, 5))
    Y = {"some": rng.integers(0, 2, labels), "none": np.zeros(labels, int), "all": np.ones(labels, int)}[which]
    model = PAMultilabel(C, variant, fit_intercept=False, classes=range(labels))
    model.partial_fit(np.ones((1, d)), Y[None], sample_weight=[0.0])
    model._state.arrays["W"][:, 1:] = rng.normal(size=(labels + 1, d))
    before, x = model._state.arrays["W"][:, 1:].copy(), rng.normal(size=d)
    model.learn_one(x, Y)
    after = model._state.arrays["W"][:, 1:]
    losses = {(a, b): 1 - (before[a] - before[b]) @ x for a, b in pairs(Y)}
    a, b = max(losses, key=losses.__getitem__)
    if losses[a, b] <= 0:
        np.testing.assert_array_equal(after, before)
        return
    moved = np.flatnonzero((after != before).any(axis=1))
    assert set(moved) == {a, b}

    def loss_of(z: Any) -> float:
        W = z.reshape(-1, d)
        return float(1 - (W[a] - W[b]) @ x)

    check_step(variant, C, before.ravel(), after.ravel(), loss_of, seed)
    # Karush-Kuhn-Tucker: W - W_t = tau (e_a - e_b) x', and tau is the multiplier of the constraint
    tau = float((after[a] - before[a]) @ x / (x @ x))
    slack = max(0.0, loss_of(after.ravel()))
    np.testing.assert_allclose(after[a] - before[a], tau * x, atol=1e-12)
    np.testing.assert_allclose(after[b] - before[b], -tau * x, atol=1e-12)
    assert tau > 0
    if variant == "hard":
        assert slack < 1e-9
    elif variant == "I":
        assert tau <= C + 1e-12
        assert min(C - tau, slack) < 1e-9
    else:
        np.testing.assert_allclose(slack, tau / (2 * C), atol=1e-9)


def test_what_can_be_learned_is_learned() -> None:
    """On separable rows the passes lead to where every pair of every row keeps its margin."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 6))
    scores = X @ rng.normal(size=(6, L)) + 0.5
    keep = np.abs(scores).min(axis=1) > 0.3
    X, Y = X[keep], (scores[keep] > 0).astype(int)
    assert len(np.unique(Y.sum(axis=1))) > 2
    model = PAMultilabel(variant="hard", max_iter=1000).fit(X, Y)
    decision = model.decision_function(X)
    assert (decision[Y == 1] >= 1 - 1e-9).all()
    assert (decision[Y == 0] <= -1 + 1e-9).all()
    assert model.score(X, Y) == 1.0


def test_an_average_predicts_sets_nearly_as_well_as_a_batch_solver() -> None:
    from sklearn.datasets import make_multilabel_classification
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier

    X, Y = make_multilabel_classification(3000, 30, n_classes=5, random_state=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    train, test = slice(0, 2000), slice(2000, None)
    model = PAMultilabel(variant="II", average=True).fit(X[train], Y[train])
    batch = OneVsRestClassifier(LogisticRegression(C=100)).fit(X[train], Y[train])
    ours, theirs = (f1_score(Y[test], m.predict(X[test]), average="micro") for m in (model, batch))
    assert ours > theirs - 0.06


# --- what comes in ---


FORMS: dict[str, Callable[[Any], Any]] = {
    "bool": lambda Y: Y.astype(bool),
    "float": lambda Y: Y.astype(float),
    "csr": sp.csr_array,
    "csc matrix": sp.csc_matrix,
    "columns first": np.asfortranarray,
    "rows": list,
    "pandas": pd.DataFrame,
    "sets": lambda Y: sets_of(Y, np.arange(L)),
    "frozen sets": lambda Y: [frozenset(labels) for labels in sets_of(Y, np.arange(L))],
    "lists": lambda Y: [sorted(labels) for labels in sets_of(Y, np.arange(L))],
    "tuples": lambda Y: tuple(tuple(labels) for labels in sets_of(Y, np.arange(L))),
    "dicts": lambda Y: [dict(enumerate(row)) for row in Y.astype(bool).tolist()],
    "series": lambda Y: pd.Series(sets_of(Y, np.arange(L))),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_targets_give_the_same_bits(form: str) -> None:
    X, Y = data()
    expected = PAMultilabel(classes=range(L)).partial_fit(X, Y)
    targets = FORMS[form](Y)
    model = PAMultilabel(classes=range(L))
    scores = model.test_then_train(X, targets)
    assert snapshot(model) == snapshot(expected)
    np.testing.assert_array_equal(scores, PAMultilabel().test_then_train(X, Y))
    assert model.score(X, targets) == expected.score(X, Y) == accuracy_score(Y, model.predict(X))
    fitted = PAMultilabel().fit(X, targets)
    assert snapshot(fitted) == snapshot(expected)


def test_explicit_zeros_and_repeats_of_a_sparse_matrix() -> None:
    X, _ = data()
    messy = sp.coo_array((np.ones(3), ([0, 1, 1], [1, 2, 3])), (2, L)).tocsr()
    messy.data[0] = 0
    clean = np.array([[0, 0, 0, 0], [0, 0, 1, 1]])
    assert snapshot(PAMultilabel().partial_fit(X[:2], messy)) == snapshot(PAMultilabel().partial_fit(X[:2], clean))
    assert messy.data[0] == 0, "the user's matrix is left as it is"
    twice = sp.csr_array((np.array([0.5, 0.5]), np.array([1, 1]), np.array([0, 2])), (1, L))
    assert snapshot(PAMultilabel().partial_fit(X[:1], twice)) == snapshot(PAMultilabel().partial_fit(X[:1], np.eye(L)[1:2]))


def test_labels_of_text_and_the_indicator_of_their_binarizer() -> None:
    X, Y = data()
    targets = sets_of(Y)
    binarizer = MultiLabelBinarizer()
    named = PAMultilabel().fit(X, targets)
    assert named.classes_.tolist() == sorted(NAMES.tolist())
    told = PAMultilabel().partial_fit(X, binarizer.fit_transform(targets), classes=binarizer.classes_)
    assert snapshot(told) == snapshot(named)
    assert named.predict_one(X[0]) == set(named.classes_[named.predict(X[:1])[0] == 1])
    assert binarizer.inverse_transform(named.predict(X)) == [tuple(sorted(named.predict_one(x))) for x in X]


def test_predictions_are_the_labels_above_the_threshold() -> None:
    X, Y = data()
    model = PAMultilabel().fit(X, Y)
    decision = model.decision_function(X)
    assert decision.shape == (N, L)
    np.testing.assert_array_equal(model.predict(X), decision > 0)
    np.testing.assert_allclose(decision, X @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-9)
    untaught = PAMultilabel(classes=NAMES).partial_fit(X, Y, sample_weight=np.zeros(N))
    assert untaught.predict_one(X[0]) == set()
    assert not untaught.predict(X).any()


def test_score_counts_whole_sets() -> None:
    X, Y = data()
    model = PAMultilabel().fit(X, sets_of(Y))
    exact = [labels == model.predict_one(x) for x, labels in zip(X, sets_of(Y), strict=True)]
    assert 0 < np.mean(exact) < 1
    assert model.score(X, sets_of(Y)) == np.mean(exact)
    weights = np.arange(N) + 1.0
    np.testing.assert_allclose(model.score(X, sets_of(Y), weights), np.average(exact, weights=weights))
    first_right = int(np.argmax(exact))
    strange = sets_of(Y)
    strange[first_right] = strange[first_right] | {"never seen"}
    assert model.score(X, strange) == (np.sum(exact) - 1) / N, "a label that is not known is never met"


def test_one_label_is_enough() -> None:
    X, Y = data()
    model = PAMultilabel(max_iter=5).fit(X, Y[:, :1])
    assert model.predict(X).shape == (N, 1)
    assert model.score(X, Y[:, :1]) > 0.8
    assert PAMultilabel().partial_fit(X, [{"a"}] * N, classes=["a"]).predict_one(X[0]) == {"a"}


def test_model_selection_of_scikit_learn() -> None:
    X, Y = data(200)
    assert cross_val_score(PAMultilabel(), X, Y, scoring="f1_micro", cv=3).mean() > 0.7
    search = GridSearchCV(PAMultilabel(average=True), {"C": [0.01, 1.0]}, cv=3).fit(X, Y)
    assert search.best_estimator_.score(X, Y) > 0.4


# --- promise 1 and 2: one loop behind every door, tested before trained ---


DOORS = st.sampled_from(["partial_fit", "test_then_train", "learn_one"])
CUTS = st.lists(st.tuples(st.integers(1, N), DOORS), max_size=6, unique_by=lambda cut: cut[0])


def through_doors(model: Any, X: Any, y: Any, cuts: Any) -> None:
    start = 0
    for stop, door in [*sorted(cuts), (N, "partial_fit")]:
        if door == "learn_one":
            for t in range(start, stop):
                model.learn_one(X[t] if isinstance(X, np.ndarray | list) else X[t : t + 1], y[t])
        elif stop > start:
            getattr(model, door)(X[start:stop], y[start:stop])
        start = stop


@every_average
@both_storages
@settings(max_examples=12, deadline=None)
@given(cuts=CUTS, sets=st.booleans())
def test_cuts_do_not_matter(average: Any, storage: Any, cuts: Any, sets: bool) -> None:
    X, Y = data()
    X, y = storage(X), sets_of(Y) if sets else Y
    whole, pieces = (PAMultilabel(average=average, classes=sorted(NAMES), grow=False) for _ in range(2))
    whole.partial_fit(X, y)
    through_doors(pieces, X, y, cuts)
    assert snapshot(pieces) == snapshot(whole)


def late(X: Any, Y: Any) -> tuple[Any, Any]:
    """Features and labels that come along the way, two labels at once, after rows that have none."""
    X[:20, 3:], X[:35, 4:] = 0, 0
    Y[:5], Y[:20, 1:], Y[:40, 3] = 0, 0, 0
    Y[20] = [1, 1, 1, 0]
    return as_dicts(X), sets_of(Y)


@every_average
@settings(max_examples=12, deadline=None)
@given(cuts=CUTS)
def test_cuts_do_not_matter_to_a_growing_model(average: Any, cuts: Any) -> None:
    X, y = late(*data())
    whole, pieces = PAMultilabel(average=average).partial_fit(X, y), PAMultilabel(average=average)
    through_doors(pieces, X, y, cuts)
    assert whole.classes_.tolist() == sorted(NAMES.tolist())
    assert whole.n_features_in_ == D
    assert snapshot(pieces) == snapshot(whole)


def test_blocks_do_not_matter() -> None:
    X, Y = data(40_000)
    whole = PAMultilabel().partial_fit(X, Y)
    pieces = PAMultilabel().partial_fit(X[:11_111], Y[:11_111]).partial_fit(X[11_111:], sp.csr_array(Y[11_111:]))
    assert snapshot(whole) == snapshot(pieces)
    assert whole.t_ == 40_000


@every_average
@both_storages
def test_scores_are_those_of_just_before(average: Any, storage: Any) -> None:
    X, Y = data()
    X = storage(X)
    scores = PAMultilabel(average=average).test_then_train(X, Y)
    model = PAMultilabel(average=average).partial_fit(X[:1], Y[:1])
    for t in range(1, N):
        np.testing.assert_array_equal(model.decision_function(X[t : t + 1])[0], scores[t])
        labels = set(np.flatnonzero(model.predict(X[t : t + 1])[0]).tolist())
        assert model.predict_one(X[t] if isinstance(X, np.ndarray) else X[t : t + 1]) == labels
        model.partial_fit(X[t : t + 1], Y[t : t + 1])


@every_average
def test_scores_of_a_growing_model_are_those_of_just_before(average: Any) -> None:
    X, y = late(*data())
    whole, model = PAMultilabel(average=average), PAMultilabel(average=average)
    scores = whole.test_then_train(X, y)
    model.learn_one(X[0], y[0])
    seen: set[str] = set()
    for t in range(1, N):
        known = np.isin(whole.classes_, sorted(seen))
        assert model.classes_.tolist() == sorted(seen)
        np.testing.assert_array_equal(scores[t][known], model.decision_function([X[t]])[0])
        assert np.isnan(scores[t][~known]).all()
        assert model.predict_one(X[t]) <= seen
        model.learn_one(X[t], y[t])
        seen |= y[t]
    assert snapshot(model) == snapshot(whole)


def test_prediction_changes_nothing() -> None:
    X, Y = data()
    model = PAMultilabel().fit(X, Y)
    before = snapshot(model)
    model.predict(X), model.decision_function(X), [model.predict_one(x) for x in X], model.score(X, Y)
    assert snapshot(model) == before


def test_before_anything_was_learned() -> None:
    assert PAMultilabel().predict_one({"a": 1.0}) == set()
    model = PAMultilabel()
    model.learn_one({"a": 1.0}, set())
    assert model.predict_one({"a": 1.0}) == set()
    assert model.decision_function([{"a": 1.0}]).shape == (1, 0)
    assert model.t_ == 1
    model.learn_one({"a": 1.0}, {"x"})
    assert model.predict_one({"a": 1.0}) == {"x"}


# --- promise 5: resuming is exact ---


@every_average
@pytest.mark.parametrize("way", WAYS)
def test_going_on_is_never_having_stopped(average: Any, way: str, tmp_path: Path) -> None:
    X, Y = data()
    for model, X_, y in ((PAMultilabel(average=average), X, Y), (PAMultilabel(average=average), *late(*data()))):
        model.partial_fit(X_[:23], y[:23])
        other = WAYS[way](model, tmp_path)
        assert type(other) is PAMultilabel
        assert other.get_params() == model.get_params()
        assert snapshot(other) == snapshot(model)
        before = snapshot(model)
        scores = other.test_then_train(X_[23:], y[23:])
        assert snapshot(model) == before, "the two must not share their arrays"
        np.testing.assert_array_equal(scores, model.test_then_train(X_[23:], y[23:]))
        assert snapshot(other) == snapshot(model)


def test_a_file_with_too_few_rows_of_weights_is_refused(tmp_path: Path) -> None:
    X, Y = data()
    model = PAMultilabel().fit(X, Y)
    model._state.arrays["W"] = model._state.arrays["W"][1:].copy()
    model.save(tmp_path / "model")
    with pytest.raises(onepass.ModelFileError, match="'W'"):
        onepass.load(tmp_path / "model")


# --- promise 6: bad input changes nothing ---


def with_entry(value: Any) -> Callable[[Any, Any], Any]:
    def spoil(X: Any, Y: Any) -> Any:
        Y = Y.astype(float)
        Y[30, 2] = value
        return X, Y, {}

    return spoil


def with_value(value: float) -> Callable[[Any, Any], Any]:
    def spoil(X: Any, Y: Any) -> Any:
        X = X.copy()
        X[30] = value
        return X, Y, {}

    return spoil


def with_set(labels: Any) -> Callable[[Any, Any], Any]:
    return lambda X, Y: (X, [*sets_of(Y, np.arange(L))[:-1], labels], {})


BAD: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "NaN": (with_value(np.nan), "NaN"),
    "infinity": (with_value(np.inf), "infinity"),
    "1e300": (with_value(1e300), "too large"),
    "target NaN": (with_entry(np.nan), "y contains NaN"),
    "target infinity": (with_entry(np.inf), "y contains infinity"),
    "target 2": (with_entry(2), "0 and 1, got 2.0 .row 30"),
    "sparse target 2": (lambda X, Y: (X, sp.csr_array(2 * Y), {}), "0 and 1, got 2"),
    "too few columns": (lambda X, Y: (X, Y[:, 1:], {}), "3 columns, but there are 4 labels"),
    "one label a row": (lambda X, Y: (X, Y[:, 0], {}), "sets of labels"),
    "text": (lambda X, Y: (X, Y.astype(str), {}), "0 and 1"),
    "no targets": (lambda X, Y: (X, None, {}), "y"),
    "too few targets": (lambda X, Y: (X, Y[:-1], {}), "inconsistent"),
    "too many sets": (lambda X, Y: (X, [*sets_of(Y, np.arange(L)), set()], {}), "inconsistent"),
    "unknown label": (with_set({1, 7}), "7 .row 59. is none of"),
    "label of another kind": (with_set({"x"}), "same kind|all numbers|none of"),
    "label NaN": (with_set({1.0, float("nan")}), "y contains NaN"),
    "no set": (with_set("ab"), "give a set of labels"),
    "a number for a set": (with_set(1), "give a set of labels"),
    "a label twice": (with_set([1, 1]), "np.array"),
    "lists for an indicator": (lambda X, Y: (X, Y.tolist(), {}), "np.array"),
    "too few features": (lambda X, Y: (X[:, :-1], Y, {}), "features"),
    "negative weight": (lambda X, Y: (X, Y, {"sample_weight": np.full(N, -1.0)}), "sample_weight"),
}
ONLY_LATER = {"too few columns", "unknown label", "label of another kind", "too few features"}


@every_average
@pytest.mark.parametrize("bad", BAD)
def test_bad_input_changes_nothing(average: Any, bad: str) -> None:
    spoil, message = BAD[bad]
    X, y, more = spoil(*data(seed=1))
    model, fresh = PAMultilabel(average=average).fit(*data()), PAMultilabel(average=average)
    before = snapshot(model)
    for door in (model.partial_fit, model.test_then_train):
        with pytest.raises((ValueError, TypeError), match=message):
            door(X, y, **more)
        assert snapshot(model) == before
    if bad not in ONLY_LATER:
        for door in (model.fit, fresh.fit, fresh.partial_fit):
            with pytest.raises((ValueError, TypeError), match=message):
                door(X, y, **more)
            assert snapshot(model) == before
            assert fresh._state is None
    if bad in ("NaN", "infinity"):
        for call in (lambda: model.predict(X), lambda: model.predict_one(X[30])):
            with pytest.raises(ValueError, match=message):
                call()


BAD_SETS: dict[str, Any] = {
    "another kind": {"text"},
    "NaN": {float("nan")},
    "mixed kinds": {2, "text"},
    "a number": 3,
    "nothing": None,
    "a label twice": [4, 4],
    "an indicator that is too short": np.array([1, 0]),
    "a list in a list": [[1]],
}


@pytest.mark.parametrize("wide", [False, True], ids=["copied", "looked at first"])
@pytest.mark.parametrize("bad", BAD_SETS)
def test_a_bad_set_leaves_no_trace_in_a_growing_model(bad: str, wide: bool) -> None:
    model, labels = PAMultilabel(), BAD_SETS[bad]
    model.learn_one({f"w{j}": 1.0 for j in range(80_000 if wide else 2)}, {1, 2, 3})
    before = snapshot(model)
    for call in (lambda: model.learn_one({"new": 1.0}, labels), lambda: model.partial_fit([{"new": 1.0}], [labels])):
        with pytest.raises((ValueError, TypeError)):
            call()
        assert snapshot(model) == before


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_bad_row_without_any_label_is_refused(value: float) -> None:
    """No label is known, so there is no score to show what is wrong."""
    model = PAMultilabel(grow=True)
    model.partial_fit(np.ones((1, 3)), [set()])
    before = snapshot(model)
    with pytest.raises(ValueError, match=r"NaN|infinity|too large"):
        model.partial_fit(np.array([[1.0, value, 0.0]]), [set()])
    assert snapshot(model) == before


def test_columns_and_declared_labels_have_one_order() -> None:
    X, Y = data()
    with pytest.raises(ValueError, match="order of the sorted labels"):
        PAMultilabel().partial_fit(X, Y, classes=["d", "a", "bb", "ccc"])
    with pytest.raises(ValueError, match="order of the sorted labels"):
        PAMultilabel(classes=["d", "a", "bb", "ccc"]).fit(X, Y)
    assert PAMultilabel().partial_fit(X, sets_of(Y), classes=["d", "a", "bb", "ccc"]).classes_.tolist() == sorted(NAMES)


def test_labels_have_to_be_known_or_found() -> None:
    X, Y = data()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        PAMultilabel().partial_fit(X, sets_of(Y))
    with pytest.raises(ValueError, match="no label at all"):
        PAMultilabel().fit(X, [set()] * N)
    with pytest.raises(ValueError, match="no label at all"):
        PAMultilabel().partial_fit(X, np.empty((N, 0)))
    with pytest.raises(ValueError, match="at least one"):
        PAMultilabel(classes=[]).fit(X, sets_of(Y))
    model = PAMultilabel().partial_fit(X, sets_of(Y), classes=NAMES)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, sets_of(Y), classes=[*NAMES, "more"])


def test_hard_steps_cannot_be_weighed() -> None:
    X, Y = data()
    with pytest.raises(ValueError, match="may only be 0 or 1"):
        PAMultilabel(variant="hard").partial_fit(X, Y, sample_weight=np.full(N, 0.5))


def test_weight_zero_is_nothing_at_all() -> None:
    X, Y = data()
    holes = np.arange(N) % 3 > 0
    some = PAMultilabel().partial_fit(X, Y, sample_weight=holes.astype(float))
    assert snapshot(some) == snapshot(PAMultilabel().partial_fit(X[holes], Y[holes]))
    dicts, y = late(*data())
    growing, only = PAMultilabel(), PAMultilabel()
    growing.partial_fit(dicts, y, sample_weight=holes.astype(float))
    only.partial_fit(
        [x for x, kept in zip(dicts, holes, strict=True) if kept], [s for s, kept in zip(y, holes, strict=True) if kept]
    )
    assert snapshot(growing) == snapshot(only)
    before = snapshot(growing)
    growing.learn_one({"new": 1.0}, {"never"}, w=0.0)
    assert snapshot(growing) == before


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("size", [0.0, 1e-320, 1e-160, 1e-100])
@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_of_almost_nothing_are_harmless(size: float, variant: str, fit_intercept: bool) -> None:
    X, Y = data()
    X[::2] = size
    for storage in (np.asarray, sp.csr_array):
        model = PAMultilabel(variant=variant, fit_intercept=fit_intercept)
        assert np.isfinite(model.test_then_train(storage(X), Y)).all()
        assert np.isfinite(model.coef_).all()


# --- with the rest of the library ---


def test_in_a_pipeline(tmp_path: Path) -> None:
    X, Y = data()
    model = pipeline(StandardScaler(), PAMultilabel())
    scores = model.test_then_train(X, Y)
    assert scores.shape == (N, L)
    for x in (X[0], X[0].tolist(), X[0].astype(np.float32)):
        assert model.predict_one(x) == set(np.flatnonzero(model.predict(X[:1])[0]).tolist())
    assert model.score(X, Y) == accuracy_score(Y, model.predict(X))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(onepass.load(tmp_path / "model").decision_function(X), model.decision_function(X))
    stream = pipeline(StandardScaler(), PAMultilabel())
    for x, labels in zip(as_dicts(X), sets_of(Y), strict=True):
        stream.learn_one(x, labels)
    assert stream.predict_one(as_dicts(X)[0]) <= set(NAMES)
    assert stream.predict_one({"never seen": 1.0}) <= set(NAMES)


SINGLE = "the check gives one label a row, or numbers that are no indicator; this learner takes sets of labels"
ONLINE = "a row of weight 2 is one step with twice the loss term, not two steps: the order of the rows matters"
LISTS = "a list of lists holds labels here, not indicators; where it looks like an indicator, an error says so"
EXPECTED_FAILURES = {
    **dict.fromkeys(
        [
            "check_classifier_data_not_an_array",
            "check_classifier_not_supporting_multiclass",
            "check_classifiers_classes",
            "check_classifiers_one_label_sample_weights",
            "check_classifiers_regression_target",
            "check_classifiers_train",
            "check_estimators_dtypes",
            "check_estimators_partial_fit_n_features",
            "check_fit2d_1feature",
            "check_n_features_in_after_fitting",
            "check_sample_weights_not_an_array",
            "check_sample_weights_not_overwritten",
            "check_sample_weights_pandas_series",
            "check_sample_weights_shape",
        ],
        SINGLE,
    ),
    "check_classifiers_multilabel_representation_invariance": LISTS,
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


@parametrize_with_checks([PAMultilabel()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    checked(estimator, check)
