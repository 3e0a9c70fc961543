"""The promises that every learner keeps, whichever door is used. Learners are found by reflection.

Compiling takes far longer than to run a test, so all learners run without the compiler, and one for each kind of state compiled.
"""

from __future__ import annotations

import copy
import itertools
import pickle
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba.core import config
from sklearn.base import is_classifier

import naive
import onepass
from onepass.base import Classifier, Regressor, inputs, writing
from onepass.kernel.model import KernelModel
from shared import plainest_first, snapshot

N, D = 60, 5
LABELS = {"binary": np.array([-1, 1]), "multiclass": np.array([2, 3, 5, 7])}


@dataclass(frozen=True)
class Case:
    """A learner in one of its forms. Two labels are declared from the start, so that a growing model keeps the form for two."""

    name: str
    task: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, self.task, *(f"{k}={v}" for k, v in self.parameters.items())])

    def model(self, **more: Any) -> Any:
        cls = onepass.learners()[self.name]
        own = {"dimensions": 4, "components": 12, "hidden": 12, "random_state": 5, "gamma": 0.5, "budget": 20}
        if self.task == "binary":
            own["classes"] = LABELS["binary"].tolist()
        takes = {
            name for name, default in cls().get_params().items() if not isinstance(default, str)
        }  # a budget may be one of time
        known = {name: value for name, value in own.items() if name in takes}
        return cls(**{**known, **self.parameters, **more})

    @property
    def classes(self) -> dict[str, Any]:
        """What the first `partial_fit` must be told."""
        return {} if self.task == "regression" else {"classes": LABELS[self.task]}

    @property
    def weighs(self) -> bool:
        return not self.model()._weights_are_switches()

    @property
    def gentle(self) -> dict[str, Any]:
        """So small a step that weights show."""
        return {"C": 0.05} if "C" in self.model().get_params() and "C" not in self.parameters else {}

    def data(self, n: int = N, seed: int = 0) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.7)
        signal = X @ np.array([1.0, -2.0, 0.5, 1.5, -1.0]) + 0.5 * rng.normal(size=n)
        if self.task == "regression":
            return X, signal / 3
        if self.task == "binary":
            return X, LABELS["binary"][(signal > 0).astype(int)]
        return X, LABELS["multiclass"][np.digitize(signal, [-1.5, 0.0, 1.5])]

    def fitted(self, n: int = N, **more: Any) -> Any:
        return self.model(**more).partial_fit(*self.data(n), **self.classes)


# The promises run for every learner in the form for two classes with an average and in that for many without (regressors with and
# without), and with each option that changes what a state is made of (a support set has a budget, unless a case says otherwise). What
# is not about rules but about the base (kinds of input, shapes, labels, class weights) runs for one learner of each kind of state:
# KINDS. PA and PAMO stand for all forms with all averages.
AVERAGE: dict[str, Any] = {"average": True}
NAMES_OF = {
    kind: plainest_first(name for name, cls in onepass.learners().items() if issubclass(cls, kind))
    for kind in (Classifier, Regressor)
}
ALL = [
    *(case for name in NAMES_OF[Classifier] for case in (Case(name, "binary", AVERAGE), Case(name, "multiclass"))),
    *(Case(name, "regression", average) for name in NAMES_OF[Regressor] for average in ({}, AVERAGE)),
    *(Case(name, "binary") for name in ("PAClassifier", "PAMOClassifier")),
    *(Case(name, "multiclass", AVERAGE) for name in ("PAClassifier", "PAMOClassifier")),
    Case("PAClassifier", "binary", {"C": "auto", **AVERAGE}),
    Case("PAMOClassifier", "multiclass", {"C": "auto"}),
    Case("OnlineMLPClassifier", "binary", {"step": "adam", "hidden": [5, 4], **AVERAGE}),
    Case("OnlineMLPClassifier", "multiclass", {"C": "auto"}),
    Case("AROWClassifier", "binary", {"covariance": "full", **AVERAGE}),
    Case("AROWClassifier", "multiclass", {"covariance": "full"}),
    Case("AROWRegressor", "regression", {"covariance": "full"}),
    Case("NAROWClassifier", "binary", {"covariance": "full", **AVERAGE}),
    Case("ALMA", "binary", {"p": 4, **AVERAGE}),
    Case("ALMA", "multiclass", {"p": 4}),
    Case("OGDClassifier", "binary", {"adagrad": False, **AVERAGE}),
    Case("Perceptron", "multiclass", {"pocket": True, "shrink": 0.9}),
    Case("KernelPA", "binary", {"budget": None}),
    Case("KernelPA", "multiclass", {"policy": "redundant", **AVERAGE}),
    Case("KernelOGD", "binary", {"policy": "random", "lam": 0.1, **AVERAGE}),
]
KINDS = [
    Case("PAClassifier", "binary", AVERAGE),
    Case("PAClassifier", "multiclass"),
    Case("PAMOClassifier", "binary"),
    Case("PAMOClassifier", "multiclass", AVERAGE),
    Case("ROMMA", "multiclass"),
    Case("AROWClassifier", "binary", AVERAGE),
    Case("AROWClassifier", "multiclass", {"covariance": "full"}),
    Case("PARegressor", "regression"),
    Case("KernelPA", "binary", {"budget": None}),
    Case("KernelPA", "multiclass"),
]
CLASSIFIERS = [case for case in KINDS if case.task != "regression"]
WEIGHED = [case for case in CLASSIFIERS if case.weighs]


# Committees of many members take long without the compiler, and keep the promises as smaller ones do.
HEAVY = {"Auto": [pytest.mark.slow], "AutoRegressor": [pytest.mark.slow]}


def each(cases: Iterable[Case]) -> Any:
    marked = [pytest.param(case, marks=[pytest.mark.plain, *HEAVY.get(case.name, [])], id=str(case)) for case in cases]
    return pytest.mark.parametrize("case", marked)


every_case = each(ALL)
every_kind = each(KINDS)
every_kind_of_classifier = each(CLASSIFIERS)
every_kind_that_weighs = each(WEIGHED)


def scores_of(model: Any, X: Any) -> Any:
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def as_dicts(X: Any) -> list[dict[str, float]]:
    """Rows as dicts of what is not zero; the first names all features, so that they are numbered as the columns are."""
    rows = [{f"f{j}": value for j, value in enumerate(row) if value != 0} for row in X.tolist()]
    return [{f"f{j}": value for j, value in enumerate(X[0].tolist())}, *rows[1:]]


def wide_indices(X: Any) -> Any:
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


# --- promise 1: one loop behind every door ---


def through_doors(model: Any, X: Any, y: Any, cuts: list[tuple[int, str]], classes: dict[str, Any]) -> None:
    """Learn X up to each cut through the door that is named with it, and the rest by `partial_fit`."""
    start = 0
    for stop, door in [*sorted(cuts), (len(y), "partial_fit")]:
        stop = min(stop, len(y))
        if stop > start:
            if door == "learn_one":
                for t in range(start, stop):
                    model.learn_one(X[t] if isinstance(X, np.ndarray | list) else X[t : t + 1], y[t])
            else:
                getattr(model, door)(X[start:stop], y[start:stop], **classes)
            start = stop


DOORS = st.sampled_from(["partial_fit", "test_then_train", "learn_one"])
CUTS = st.lists(st.tuples(st.integers(1, N), DOORS), max_size=6, unique_by=lambda cut: cut[0])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@every_case
@settings(max_examples=12, deadline=None)
@given(cuts=CUTS)
@example(cuts=[(20, "learn_one")])
@example(cuts=[(35, "learn_one"), (45, "test_then_train")])
def test_cuts_do_not_matter(case: Case, storage: Callable[[Any], Any], cuts: Any) -> None:
    X, y = case.data()
    X = storage(X)
    whole, pieces = case.model().partial_fit(X, y, **case.classes), case.model()
    pieces.partial_fit(X[:1], y[:1], **case.classes)
    through_doors(pieces, X[1:], y[1:], cuts, {})
    assert snapshot(pieces) == snapshot(whole)


@every_case
@settings(max_examples=12, deadline=None)
@given(cuts=CUTS, grow=st.sampled_from([None, True]))
def test_cuts_do_not_matter_to_a_growing_model(case: Case, cuts: Any, grow: Any) -> None:
    """Dicts whose features and labels appear along the way."""
    X, y = case.data()
    X[:20, 3:] = 0
    X[:35, 4:] = 0
    dicts = [{f"f{j}": value for j, value in enumerate(row) if value != 0} for row in X.tolist()]
    whole, pieces = case.model(grow=grow).partial_fit(dicts, y), case.model(grow=grow)
    through_doors(pieces, dicts, y, cuts, {})
    assert whole.n_features_in_ == D
    assert snapshot(pieces) == snapshot(whole)


@every_kind
@settings(max_examples=6, deadline=None)
@given(cuts=CUTS)
def test_cuts_do_not_matter_to_a_growing_model_of_arrays(case: Case, cuts: Any) -> None:
    X, y = case.data()
    whole, pieces = case.model(grow=True).partial_fit(X, y), case.model(grow=True)
    through_doors(pieces, X, y, cuts, {})
    assert snapshot(pieces) == snapshot(whole)


@every_case
def test_fit_is_one_pass(case: Case) -> None:
    X, y = case.data()
    assert snapshot(case.model().fit(X, y)) == snapshot(case.model().partial_fit(X, y, **case.classes))
    passes = case.model().partial_fit(X, y, **case.classes).partial_fit(X, y).partial_fit(X, y)
    again = case.model(max_iter=3).partial_fit(X[:7], y[:7], **case.classes).fit(X, y)
    assert snapshot(again) == snapshot(passes)
    assert again.n_iter_ == 3
    assert again.t_ == 3 * N


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large call is cut into blocks inside. With small ones, one of some hundred rows is large."""
    monkeypatch.setattr(inputs, "BLOCK_ROWS", 32)


LARGE = 240


@every_case
def test_blocks_do_not_matter(case: Case, blocks: None) -> None:
    X, y = case.data(LARGE)
    assert len([*inputs.Rows(X).blocks()]) == 8
    whole = case.model().partial_fit(X, y, **case.classes)
    halves = case.model().partial_fit(X[:111], y[:111], **case.classes).partial_fit(X[111:], y[111:])
    assert snapshot(whole) == snapshot(halves)
    assert whole.t_ == LARGE
    inputs.BLOCK_ROWS = LARGE
    assert snapshot(whole) == snapshot(case.model().partial_fit(X, y, **case.classes))


@every_case
def test_dicts_are_csr_rows(case: Case) -> None:
    X, y = case.data()
    expected = snapshot(case.model(grow=True).partial_fit(sp.csr_array(X), y), names=False)
    dicts = as_dicts(X)
    assert snapshot(case.model().partial_fit(dicts, y), names=False) == expected
    one_by_one = case.model()
    for x, target in zip(dicts, y, strict=True):
        one_by_one.learn_one(x, target)
    assert snapshot(one_by_one, names=False) == expected
    reordered = case.model()
    for t, (x, target) in enumerate(zip(dicts, y, strict=True)):
        reordered.learn_one(x if t == 0 else dict(reversed(x.items())), target)
    assert snapshot(reordered, names=False) == expected


# --- what comes in ---


def memory_mapped(X: Any, folder: Path) -> Any:
    mapped = np.memmap(folder / "X", X.dtype, "w+", shape=X.shape)
    mapped[:] = X
    return np.memmap(folder / "X", X.dtype, "r", shape=X.shape)


def read_only(X: Any) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


NAMES = [f"f{j}" for j in range(D)]
DENSE_FORMS: dict[str, Callable[[Any], Any]] = {
    "columns first": np.asfortranarray,
    "read-only": read_only,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "lists": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "longer floats": lambda X: X.astype(np.longdouble),
}
SPARSE_FORMS: dict[str, Callable[[Any], Any]] = {
    "int64": wide_indices,
    "columns first": sp.csc_array,
    "triples": sp.coo_array,
    "matrix": sp.csr_matrix,
}


@every_kind
@pytest.mark.parametrize("form", DENSE_FORMS)
def test_dense_forms_give_the_same_bits(case: Case, form: str) -> None:
    X, y = case.data()
    expected = case.model().partial_fit(X, y, **case.classes)
    model = case.model()
    scores = model.test_then_train(DENSE_FORMS[form](X), y, **case.classes)
    assert snapshot(model, names=False) == snapshot(expected, names=False)
    np.testing.assert_array_equal(scores, case.model().test_then_train(X, y, **case.classes))
    np.testing.assert_array_equal(scores_of(model, DENSE_FORMS[form](X)), scores_of(expected, X))


@every_kind
def test_memory_mapped_data_gives_the_same_bits(case: Case, tmp_path: Path) -> None:
    X, y = case.data()
    model = case.model().partial_fit(memory_mapped(X, tmp_path), y, **case.classes)
    assert snapshot(model) == snapshot(case.fitted())


@every_kind
@pytest.mark.parametrize("form", SPARSE_FORMS)
def test_sparse_forms_give_the_same_bits(case: Case, form: str) -> None:
    X, y = case.data()
    expected = case.model().partial_fit(sp.csr_array(X), y, **case.classes)
    model = case.model().partial_fit(SPARSE_FORMS[form](X), y, **case.classes)
    assert snapshot(model) == snapshot(expected)
    np.testing.assert_array_equal(scores_of(model, SPARSE_FORMS[form](X)), scores_of(expected, sp.csr_array(X)))


@every_kind
def test_csr_out_of_order_is_put_in_order_and_left_alone(case: Case) -> None:
    X, y = case.data()
    expected = case.model().partial_fit(sp.csr_array(X), y, **case.classes)
    messy = sp.csr_array(X)
    for t in range(N):
        row = slice(messy.indptr[t], messy.indptr[t + 1])
        messy.indices[row], messy.data[row] = messy.indices[row][::-1].copy(), messy.data[row][::-1].copy()
    messy.has_sorted_indices = False
    before = messy.indices.copy(), messy.data.copy()
    assert snapshot(case.model().partial_fit(messy, y, **case.classes)) == snapshot(expected)
    assert all(np.array_equal(a, b) for a, b in zip(before, (messy.indices, messy.data), strict=True))


@every_kind
def test_csr_that_points_outside_is_refused(case: Case) -> None:
    X, y = case.data()
    model, csr = case.fitted(), sp.csr_array(X)
    csr.indices[7] = D
    before = snapshot(model)
    with pytest.raises(ValueError, match=r"CSR|index|indices"):
        model.partial_fit(csr, y)
    with pytest.raises(ValueError, match=r"CSR|index|indices"):
        model.predict(csr)
    assert snapshot(model) == before


@every_kind
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int8, np.uint8, bool], ids=lambda kind: kind.__name__)
def test_whole_numbers_are_floats(case: Case, kind: Any) -> None:
    X, y = case.data()
    X = (X > 0.3).astype(kind)
    assert snapshot(case.model().partial_fit(X, y, **case.classes)) == snapshot(
        case.model().partial_fit(X.astype(float), y, **case.classes)
    )
    sparse = case.model().partial_fit(sp.csr_array(X), y, **case.classes)
    assert snapshot(sparse) == snapshot(case.model().partial_fit(sp.csr_array(X.astype(float)), y, **case.classes))


@every_kind_of_classifier
def test_single_precision_stays(case: Case) -> None:
    X, y = case.data()
    X = X.astype(np.float32)
    model = case.model().partial_fit(X, y, **case.classes)
    assert model.decision_function(X).dtype == np.float32
    inexact = [name for name, role in model._state.fields.items() if not role.exact and not role.whole]
    assert all(model._state.arrays[name].dtype == np.float32 for name in inexact)
    assert snapshot(case.model().partial_fit(np.asfortranarray(X), y, **case.classes)) == snapshot(model)
    frame = pd.DataFrame(X, columns=NAMES)
    assert snapshot(case.model().partial_fit(frame, y, **case.classes), names=False) == snapshot(model, names=False)
    mixed = case.model().partial_fit(X[:30], y[:30], **case.classes).partial_fit(X[30:].astype(float), y[30:])
    assert snapshot(mixed) == snapshot(model)


@every_kind
def test_names_of_columns(case: Case) -> None:
    X, y = case.data()
    frame = pd.DataFrame(X, columns=NAMES)
    model = case.model().partial_fit(frame, y, **case.classes)
    assert model.feature_names_in_.tolist() == NAMES
    before = snapshot(model)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[NAMES[::-1]], y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"f0": "g"}))
    assert snapshot(model) == before
    example = dict(zip(NAMES, X[3].tolist(), strict=True))
    np.testing.assert_allclose(
        scores_of(model, [example]), scores_of(model, X[3:4]), rtol=1e-9, err_msg="a dict is a row of the frame"
    )


@every_case
def test_dense_and_csr_agree(case: Case) -> None:
    X, y = case.data()
    dense, sparse = case.model(), case.model()
    np.testing.assert_allclose(
        dense.test_then_train(X, y, **case.classes),
        sparse.test_then_train(sp.csr_array(X), y, **case.classes),
        rtol=1e-9,
        atol=1e-9,
    )


@every_case
@settings(max_examples=8, deadline=None)
@given(order=st.permutations(range(D)))
def test_order_of_features_does_not_matter(case: Case, order: list[int]) -> None:
    """First weights that are drawn go with their feature."""
    X, y = case.data()
    model, permuted = case.model(), case.model()
    for one in (model, permuted):
        one.partial_fit(X[:1], y[:1], sample_weight=[0.0], **case.classes)
    for state in (permuted._state, *permuted._state.parts.values()):
        for name, array in state.arrays.items():
            role = state.fields.get(name.split(".")[-1])
            for axis, kind in enumerate(role.axes.split() if role is not None else ()):
                if kind == "features":
                    array[:] = np.take(array, [0, *(j + 1 for j in order)], axis)
    np.testing.assert_allclose(permuted.test_then_train(X[:, order], y), model.test_then_train(X, y), rtol=1e-9, atol=1e-9)


@every_case
def test_nothing_of_the_users_is_kept_or_changed(case: Case) -> None:
    X, y = case.data()
    weights = np.ones(N)
    model = case.model()
    scores = model.test_then_train(X, y, **case.classes, sample_weight=weights)
    for x, target in zip(X[:5], y[:5], strict=True):
        model.learn_one(x, target)
    assert np.array_equal(X, case.data()[0])
    assert np.array_equal(y, case.data()[1])
    before, told = snapshot(model), scores.copy()
    X[:], y[:], weights[:] = 9.0, y[0], 5.0
    assert snapshot(model) == before
    model.partial_fit(*case.data())
    assert np.array_equal(scores, told)


READABLE = ("coef_", "intercept_", "dual_coef_", "support_vectors_", "support_")
TOLD = [case for case in ALL if any(hasattr(onepass.learners()[case.name], name) for name in READABLE)]


@each(TOLD)
def test_weights_that_were_read_stay_as_they_were(case: Case) -> None:
    X, y = case.data()
    model = case.fitted(20)
    read = {name: getattr(model, name) for name in READABLE if hasattr(model, name)}
    before = {name: array.copy() for name, array in read.items()}
    weights = next(iter(read))  # the rest may stay, as landmarks do
    while np.array_equal(getattr(model, weights), before[weights]):  # the pocket may need more than one pass
        model.partial_fit(X, y)
    assert all(np.array_equal(read[name], before[name]) for name in read)


# --- promise 2: tested before trained ---


@every_case
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_scores_are_those_of_just_before(case: Case, storage: Callable[[Any], Any]) -> None:
    X, y = case.data()
    X = storage(X)
    scores = case.model().test_then_train(X, y, **case.classes)
    model = case.model().partial_fit(X[:1], y[:1], **case.classes)
    for t in range(1, N):
        np.testing.assert_array_equal(scores_of(model, X[t : t + 1])[0], scores[t])
        alone = model.predict_one(X[t] if isinstance(X, np.ndarray) else X[t : t + 1])
        assert alone == model.predict(X[t : t + 1])[0]
        model.partial_fit(X[t : t + 1], y[t : t + 1])


@every_case
def test_scores_of_a_growing_model_are_those_of_just_before(case: Case) -> None:
    """Also in rows that bring a feature or a label: what is not known yet says nothing."""
    X, y = case.data()
    X[:20, 3:] = 0
    dicts = [{f"f{j}": value for j, value in enumerate(row) if value != 0} for row in X.tolist()]
    whole, model = case.model(), case.model()
    scores = whole.test_then_train(dicts, y)
    model.learn_one(dicts[0], y[0])
    for t in range(1, N):
        just_before = scores_of(model, [dicts[t]])[0]
        if case.task != "multiclass":
            assert scores[t] == just_before
        else:
            known = np.isin(whole.classes_, model.classes_)
            two = just_before.ndim == 0  # the form for two classes: scores that are as far apart
            if two and case.name == "OSELMClassifier":  # which also knows what the two have in common
                np.testing.assert_allclose(np.diff(scores[t][known]), [just_before][: known.sum() - 1], rtol=1e-12)
            else:
                halves = [-just_before / 2, just_before / 2][-known.sum() :]
                rounding = 1e-15 if config.DISABLE_JIT and "p" in case.parameters else 0  # of powers, which NumPy has its own
                np.testing.assert_allclose(scores[t][known], halves if two else just_before, rtol=rounding)
            assert np.isnan(scores[t][~known]).all()
        model.learn_one(dicts[t], y[t])
    assert snapshot(model) == snapshot(whole)


@every_case
def test_prediction_changes_nothing(case: Case) -> None:
    X, _ = case.data()
    model = case.fitted()
    before = snapshot(model)
    for door in (model.predict, lambda X: scores_of(model, X), lambda X: [model.predict_one(x) for x in X]):
        door(X)
        assert snapshot(model) == before


@every_case
def test_many_readers_at_once(case: Case) -> None:
    X, _ = case.data(200)
    model = case.fitted()
    expected, alone = scores_of(model, X), model.predict(X)
    fresh = pickle.loads(pickle.dumps(model))

    def read(_: int) -> bool:
        one_by_one = [fresh.predict_one(x) for x in X[:50]]
        return np.array_equal(scores_of(fresh, X), expected) and np.array_equal(one_by_one, alone[:50])

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(8 if config.DISABLE_JIT else 32)))


# --- promise 3: bounded memory ---


BOUNDED = [case for case in ALL if not isinstance(model := case.model(), KernelModel) or model._most()]


@each(BOUNDED)
def test_state_does_not_grow_with_the_examples(case: Case) -> None:
    X, y = case.data(1000)
    model = case.model().partial_fit(X[:50], y[:50], **case.classes)
    before = model._state.nbytes, len(pickle.dumps(model))
    model.partial_fit(X[50:], y[50:])
    for x, target in zip(X[:200], y[:200], strict=True):
        model.learn_one(x, target)
    assert model._state.nbytes == before[0]
    assert len(pickle.dumps(model)) < before[1] + 100


# --- promise 5: resuming is exact ---


def saved_and_loaded(model: Any, folder: Path) -> Any:
    model.save(folder / "model")
    return onepass.load(folder / "model")


WAYS: dict[str, Callable[[Any, Path], Any]] = {
    "save": saved_and_loaded,
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "copy": lambda model, folder: model.copy(),
}


def variations(case: Case) -> Iterator[Any]:
    yield case.model(), case.classes
    yield case.model(grow=True), {}
    if case.task != "regression" and case.weighs:
        yield case.model(class_weight="balanced"), case.classes
        yield case.model(class_weight="balanced", grow=True), {}


@every_case
@pytest.mark.parametrize("way", WAYS)
def test_going_on_is_never_having_stopped(case: Case, way: str, tmp_path: Path) -> None:
    X, y = case.data()
    for model, classes in variations(case):
        model.partial_fit(X[:23], y[:23], **classes)
        other = WAYS[way](model, tmp_path)
        assert type(other) is type(model)
        assert other.get_params() == model.get_params()
        assert snapshot(other) == snapshot(model)
        before = snapshot(model)
        scores = other.test_then_train(X[23:], y[23:])
        assert snapshot(model) == before, "the two must not share their arrays"
        np.testing.assert_array_equal(scores, model.test_then_train(X[23:], y[23:]))
        assert snapshot(other) == snapshot(model)


@every_case
@pytest.mark.parametrize("way", WAYS)
def test_a_growing_model_goes_on_growing(case: Case, way: str, tmp_path: Path) -> None:
    X, y = case.data()
    X[:20, 2:] = 0
    dicts = [{f"f{j}": value for j, value in enumerate(row) if value != 0} for row in X.tolist()]
    model = case.model().partial_fit(dicts[:15], y[:15])
    assert model.n_features_in_ == 2
    other = WAYS[way](model, tmp_path)
    for x, target in zip(dicts[15:], y[15:], strict=True):
        other.learn_one(x, target)
    model.partial_fit(dicts[15:], y[15:])
    assert snapshot(other) == snapshot(model)
    assert other.n_features_in_ == D


@every_kind_of_classifier
@pytest.mark.parametrize("labels", [["a", "bb", "ccc", "d"], [True, False], [1.0, 2.0, 4.0]], ids=["text", "bool", "float"])
def test_labels_come_back_as_they_were(case: Case, labels: list[Any], tmp_path: Path) -> None:
    X, _ = case.data()
    y = np.array(labels)[np.arange(N) % len(labels)]
    model = case.model().partial_fit(X, y, classes=labels)
    other = saved_and_loaded(model, tmp_path)
    assert other.classes_.dtype == model.classes_.dtype
    assert other.classes_.tolist() == sorted(labels)
    assert type(other.predict_one(X[0])) is type(labels[0])
    assert snapshot(other) == snapshot(model)


@every_case
def test_a_fresh_model_is_saved_too(case: Case, tmp_path: Path) -> None:
    other = saved_and_loaded(case.model(), tmp_path)
    assert other._state is None
    assert other.get_params() == case.model().get_params()


# --- promise 6: bad input changes nothing ---


def poisoned(value: float) -> Callable[[Any, Any, int], Any]:
    def poison(X: Any, y: Any, t: int) -> Any:
        X = X.copy()
        X[t] = value
        return X, y, {}

    return poison


def target_of(value: Any) -> Callable[[Any, Any, int], Any]:
    def poison(X: Any, y: Any, t: int) -> Any:
        y = y.astype(float)
        y[t] = value
        return X, y, {}

    return poison


def weight_of(value: float) -> Callable[[Any, Any, int], Any]:
    def poison(X: Any, y: Any, t: int) -> Any:
        weights = np.ones(len(y))
        weights[t] = value
        return X, y, {"sample_weight": weights}

    return poison


# What is wrong with row t, and what the message must speak of.
BAD: dict[str, tuple[Callable[[Any, Any, int], Any], str]] = {
    "NaN": (poisoned(np.nan), "NaN"),
    "infinity": (poisoned(np.inf), "infinity"),
    "minus infinity": (poisoned(-np.inf), "infinity"),
    "1e300": (poisoned(1e300), "too large"),
    "-1e300": (poisoned(-1e300), "too large"),
    "target NaN": (target_of(np.nan), "NaN|classes|label"),
    "target infinity": (target_of(np.inf), "infinity|classes|label"),
    "unknown label": (lambda X, y, t: (X, np.where(np.arange(len(y)) == t, 4, y), {}), "classes|label"),
    "text for a number": (lambda X, y, t: (X, np.where(np.arange(len(y)) == t, "x", y.astype(str)), {}), ""),
    "too few features": (lambda X, y, t: (X[:, :-1], y, {}), "features"),
    "too many features": (lambda X, y, t: (np.hstack([X, X]), y, {}), "features"),
    "no rows": (lambda X, y, t: (X[:0], y[:0], {}), "0 sample|empty|minimum"),
    "targets too short": (lambda X, y, t: (X, y[:-1], {}), "inconsistent|length|samples"),
    "targets too long": (lambda X, y, t: (X, np.append(y, y[0]), {}), "inconsistent|length|samples"),
    "no targets": (lambda X, y, t: (X, None, {}), "y"),
    "one dimension": (lambda X, y, t: (X[t], y, {}), "1D array|2D array"),
    "three dimensions": (lambda X, y, t: (X[None], y, {}), "dim 3|2D|dimension"),
    "negative weight": (weight_of(-1.0), "sample_weight"),
    "weight NaN": (weight_of(np.nan), "sample_weight"),
    "weight infinity": (weight_of(np.inf), "sample_weight"),
    "weights too short": (lambda X, y, t: (X, y, {"sample_weight": np.ones(len(X) - 1)}), "sample_weight"),
}
IN_FIRST_CALL_FINE = {"too few features", "too many features"}
VALUES = {"NaN", "infinity", "minus infinity", "1e300", "-1e300"}


def refused(case: Case, model: Any, bad: str, size: int, t: int, first: bool, storage: Any = np.asarray) -> None:
    """Every door refuses the data, for the right reason, and leaves no trace."""
    poison, message = BAD[bad]
    X, y, more = poison(*case.data(size, seed=1), t)
    if X.ndim == 2 and len(X):
        X = storage(X)
    example = X[t] if isinstance(X, np.ndarray) and len(X) > t else X[t : t + 1]
    before = snapshot(model)
    classes = case.classes if first else {}
    doors: dict[str, Callable[[], Any]] = {
        "partial_fit": lambda: model.partial_fit(X, y, **classes, **more),
        "test_then_train": lambda: model.test_then_train(X, y, **classes, **more),
    }
    new_to_fit = IN_FIRST_CALL_FINE | {"unknown label"} | ({"text for a number"} if is_classifier(model) else set())
    if bad not in new_to_fit and size > 1:
        doors["fit"] = lambda: model.fit(X, y, **more)
    if bad in VALUES:
        if not first:
            if "1e300" not in bad:  # a large row can be predicted; it is too large to learn from
                doors["predict"] = lambda: model.predict(X)
                doors["predict_one"] = lambda: model.predict_one(example)
            doors["learn_one"] = lambda: model.learn_one(example, y[t])
    elif bad.startswith("target ") and not first:
        doors["learn_one"] = lambda: model.learn_one(example, y[t])
    for name, door in doors.items():
        with pytest.raises((ValueError, TypeError)) as caught:
            door()
        assert not message or re.search(message, str(caught.value)), f"{name}: {caught.value}"
        assert snapshot(model) == before, f"{name} left a trace"


def bad_cases(kinds: Iterable[str], everywhere: Collection[str] = ()) -> Any:
    """One learner of each kind of state with each kind of bad input; every learner with those that are `everywhere`."""
    pairs = [(case, bad) for bad in kinds for case in (ALL if bad in everywhere else KINDS)]
    pairs = [(case, bad) for case, bad in pairs if bad != "unknown label" or case.task != "regression"]
    return pytest.mark.parametrize(("case", "bad"), [pytest.param(*pair, marks=pytest.mark.plain) for pair in pairs], ids=str)


@bad_cases([bad for bad in BAD if bad not in IN_FIRST_CALL_FINE])
def test_bad_input_in_the_first_call(case: Case, bad: str) -> None:
    model = case.model()
    refused(case, model, bad, size=6, t=3, first=True)
    assert model._state is None


@bad_cases(BAD, everywhere=VALUES)
def test_bad_input_in_a_later_call(case: Case, bad: str) -> None:
    model, untouched = case.fitted(), case.fitted()
    for size, t in ((1, 0), (6, 3), (60, 59)):
        refused(case, model, bad, size, t, first=False)
        if bad not in ("no rows", "one dimension", "three dimensions"):
            refused(case, model, bad, size, t, first=False, storage=sp.csr_array)
    X, y = case.data(seed=2)
    assert snapshot(model.partial_fit(X, y)) == snapshot(untouched.partial_fit(X, y)), "it must go on as if nothing had been"


@bad_cases(BAD, everywhere=("NaN", "1e300"))
def test_bad_input_in_the_middle_of_a_large_call(case: Case, bad: str, blocks: None) -> None:
    refused(case, case.fitted(), bad, size=LARGE, t=205, first=False)


@every_case
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300], ids=str)
def test_bad_value_where_the_state_is_larger_than_the_data(case: Case, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the data is looked at first, instead of a copy of the state set aside."""
    monkeypatch.setattr("onepass.base.engine.COPIED_ALWAYS", 0)
    _, y = case.data(40)
    width = 60 if "covariance" in case.parameters else 3000
    X = sp.random_array((40, width), density=9 / width, rng=np.random.default_rng(0), format="csr")
    model = case.model().partial_fit(X, y, **case.classes)
    assert model._state.nbytes > X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    bad = X.copy()
    t = int(np.argmax(np.diff(bad.indptr[20:]) > 0)) + 20
    bad.data[bad.indptr[t]] = value
    before = snapshot(model)
    for door in (model.partial_fit, model.test_then_train):
        with pytest.raises(ValueError, match=r"NaN|infinity|too large"):
            door(bad, y)
        assert snapshot(model) == before


@every_case
@pytest.mark.parametrize("size", [30, LARGE])
def test_diverging_leaves_no_trace(case: Case, size: int, blocks: None) -> None:
    """Finite data, scores that are not: an error of its own, and the model from before the call."""
    model = case.fitted()
    for state in (model._state, *model._state.parts.values()):
        for name, array in state.arrays.items():
            if name.rpartition(".")[::2] in itertools.product(("", "mean", "pocket"), "wWuUA"):
                array[...] = 1e200
    X, y = case.data(size)
    X[-1] = 1e150
    before = snapshot(model)
    with pytest.raises(onepass.DivergedError, match="no longer finite"):
        model.partial_fit(X, y)
    assert snapshot(model) == before


@every_case
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300, "1e300 of the other sign", None], ids=str)
def test_bad_value_in_a_dict(case: Case, bad: Any) -> None:
    X, y = case.data()
    model = case.model().partial_fit(as_dicts(X), y)
    before = snapshot(model)
    value = -1e300 if isinstance(bad, str) else bad
    for name in ("f1", "new"):
        example = {**as_dicts(X)[0], name: value}
        for target in np.unique(y)[:4]:
            with pytest.raises((ValueError, TypeError), match=r"NaN|infinity|too large|give a number"):
                model.learn_one(example, target)
            assert snapshot(model) == before
        for door in (model.partial_fit, model.test_then_train):
            with pytest.raises((ValueError, TypeError), match=r"NaN|infinity|too large|give a number"):
                door([*as_dicts(X)[:3], example], y[:4])
            assert snapshot(model) == before
    fresh = case.model()
    with pytest.raises((ValueError, TypeError), match=r"NaN|infinity|too large|give a number"):
        fresh.learn_one({"f1": value}, y[0])
    assert fresh._state is None


@each(case for case in CLASSIFIERS if case.task == "multiclass")
def test_a_label_of_another_kind_leaves_no_trace(case: Case) -> None:
    X, y = case.data()
    many = {f"f{j}": 1.0 for j in range(300)}  # the state is then larger than the example
    model = case.model().partial_fit([many, *as_dicts(X)], [y[0], *y])
    before = snapshot(model)
    with pytest.raises(TypeError, match="kind"):
        model.learn_one({"f1": 1.0, "new": 2.0}, "text")
    assert snapshot(model) == before
    with pytest.raises((ValueError, TypeError), match=r"NaN|label"):
        model.learn_one({"f1": 1.0}, float("nan"))
    assert snapshot(model) == before


@every_kind
def test_a_wrong_shape_of_one_example(case: Case) -> None:
    X, y = case.data()
    model = case.fitted()
    before = snapshot(model)
    for wrong in (X[:2], X[0, :-1], np.ones(D + 1), np.float64(1.0), {"f0": 1.0}):
        with pytest.raises(ValueError, match=r"features|one example|shape|names"):
            model.learn_one(wrong, y[0])
        assert snapshot(model) == before
    with pytest.raises(ValueError, match=r"features|one example|shape"):
        model.predict_one(X[:2])


@each(case for case in KINDS if case.task == "regression")
def test_a_target_too_large_for_single_precision(case: Case) -> None:
    X, y = case.data()
    X, y = X.astype(np.float32), y.copy()
    model = case.model().partial_fit(X, y)
    before = snapshot(model)
    y[30] = 1e300
    with pytest.raises(ValueError, match=r"too large|infinity"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"too large|infinity"):
        model.learn_one(X[0], 1e300)
    assert snapshot(model) == before


@every_kind_of_classifier
def test_classes_may_not_change(case: Case) -> None:
    X, y = case.data()
    model = case.fitted()
    before = snapshot(model)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[*LABELS[case.task], 99])
    assert snapshot(model) == before


# --- degenerate rows and weights ---


@every_case
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_of_zeros_are_harmless(case: Case, fit_intercept: bool) -> None:
    X, y = case.data()
    X[::3] = 0
    for storage in (np.asarray, sp.csr_array):
        model = case.model(fit_intercept=fit_intercept)
        scores = model.test_then_train(storage(X), y, **case.classes)
        assert np.isfinite(scores).all()
        assert all(np.isfinite(array).all() for array in model._state.arrays.values())


@every_case
@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-160, 1e-154, 1e-100])
def test_tiny_rows_are_harmless(case: Case, size: float) -> None:
    X, y = case.data()
    X[::2] = size
    model = case.model(fit_intercept=False)
    variants = model._parameter_constraints["variant"][0].options if hasattr(model, "variant") else [None]
    for variant in set(variants) - ({"hard"} if case.parameters.get("C") == "auto" else set()):
        model = case.model(fit_intercept=False, **({"variant": variant} if variant else {}))
        assert np.isfinite(model.test_then_train(X, y, **case.classes)).all()
        assert all(np.isfinite(array).all() for array in model._state.arrays.values())


@every_case
@pytest.mark.parametrize("size", [1.0, 1e75, 1e150])
def test_rows_that_repeat_and_contradict_each_other(case: Case, size: float) -> None:
    """Every row comes twice, with two targets, and one feature is constant. Either all numbers stay finite, or the model says why not
    and is as it was: scores and steps of the largest rows may well leave the range of numbers."""
    X, y = case.data()
    X[:, 1] = 1
    X, y = size * np.repeat(X, 2, axis=0), np.column_stack([y, y[::-1]]).ravel()
    model = case.fitted()
    before = snapshot(model)
    try:
        assert np.isfinite(model.test_then_train(X, y)).all()
        assert all(np.isfinite(array).all() for array in model._state.arrays.values())
    except onepass.DivergedError:
        assert size > 1
        assert snapshot(model) == before


@each(case for case in ALL if case.task == "multiclass")
@pytest.mark.parametrize("K", [1, 2, 50])
def test_any_number_of_classes(case: Case, K: int) -> None:
    X, _ = case.data(200)
    y = np.arange(200) % K
    scores = case.model(grow=True).test_then_train(sp.csr_array(X), y)
    assert scores.shape == ((200,) if K < 3 else (200, K))
    assert np.isfinite(scores[K:]).all() if K > 1 else np.isnan(scores).all()  # one label alone is no score
    model = case.model(grow=True).partial_fit(sp.csr_array(X), y)
    assert model.classes_.tolist() == list(range(K))
    assert set(model.predict(sp.csr_array(X))) <= set(range(K))


@every_case
def test_weight_zero_is_nothing_at_all(case: Case) -> None:
    X, y = case.data()
    model = case.fitted()
    before = snapshot(model)
    scores = model.test_then_train(X, y, sample_weight=np.zeros(N))
    np.testing.assert_array_equal(scores, scores_of(model, X))
    model.learn_one(X[0], y[0], w=0.0)
    assert snapshot(model) == before
    holes = np.arange(N) % 3 > 0
    some, only = case.model(), case.model()
    some.partial_fit(X, y, **case.classes, sample_weight=holes.astype(float))
    only.partial_fit(X[holes], y[holes], **case.classes)
    assert snapshot(some) == snapshot(only)


@every_case
def test_weight_zero_brings_no_feature_and_no_label(case: Case) -> None:
    X, y = case.data()
    model = case.model().partial_fit(as_dicts(X), y)
    before = snapshot(model)
    model.learn_one({"f0": 1.0, "new": 1.0}, 99, w=0.0)
    assert snapshot(model) == before


@every_case
def test_weight_one_is_no_weight(case: Case) -> None:
    X, y = case.data()
    weighted = case.model().partial_fit(X, y, **case.classes, sample_weight=np.ones(N))
    assert snapshot(weighted) == snapshot(case.fitted())


@every_kind_that_weighs
def test_balanced_is_the_running_formula(case: Case) -> None:
    X, y = case.data()
    weights = naive.balanced(y.tolist())
    expected = case.model(**case.gentle).partial_fit(X, y, **case.classes, sample_weight=weights)
    balanced = case.model(**case.gentle, class_weight="balanced").partial_fit(X, y, **case.classes)
    pieces = case.model(**case.gentle, class_weight="balanced").partial_fit(X[:9], y[:9], **case.classes)
    for x, label in zip(X[9:], y[9:], strict=True):
        pieces.learn_one(x, label)
    assert snapshot(pieces) == snapshot(balanced)
    np.testing.assert_allclose(balanced.decision_function(X), expected.decision_function(X), rtol=1e-12, atol=1e-12)
    assert not np.allclose(balanced.decision_function(X), case.fitted(**case.gentle).decision_function(X))


@every_kind_that_weighs
def test_balanced_counts_nothing_of_weight_zero(case: Case) -> None:
    X, y = case.data()
    holes = np.arange(N) % 3 > 0
    some = case.model(class_weight="balanced").partial_fit(X, y, **case.classes, sample_weight=holes.astype(float))
    only = case.model(class_weight="balanced").partial_fit(X[holes], y[holes], **case.classes)
    assert snapshot(some) == snapshot(only)


@every_kind_that_weighs
def test_class_weight_is_a_sample_weight(case: Case) -> None:
    X, y = case.data()
    by_class = {label: 0.5 + k for k, label in enumerate(LABELS[case.task].tolist())}
    expected = case.model().partial_fit(X, y, **case.classes, sample_weight=[by_class[label] for label in y.tolist()])
    assert snapshot(case.model(class_weight=by_class).partial_fit(X, y, **case.classes)) == snapshot(expected)


HARD = [Case(name, task, {"variant": "hard"}) for name, task in (("PAClassifier", "binary"), ("PARegressor", "regression"))]


@each([*HARD, *(case for case in ALL if not case.weighs)])
def test_steps_without_a_loss_term_cannot_be_weighed(case: Case) -> None:
    X, y = case.data()
    model = case.model()
    with pytest.raises(ValueError, match="may only be 0 or 1"):
        model.partial_fit(X, y, **case.classes, sample_weight=np.full(N, 0.5))
    assert model._state is None
    if case.task != "regression":
        with pytest.raises(ValueError, match="class_weight must be None"):
            case.model(class_weight="balanced").fit(X, y)


# --- growing ---


@every_case
def test_predict_before_anything_was_learned(case: Case) -> None:
    model = case.model()
    for asked in ({"a": 1.0}, np.ones(3), {}):
        assert model.predict_one(asked) == (0.0 if case.task == "regression" else None)
    assert model._state is None


@each(case for case in CLASSIFIERS if case.task == "multiclass")
def test_labels_appear_along_the_way(case: Case) -> None:
    X, y = case.data()
    model, dicts = case.model(), as_dicts(X)
    seen: set[int] = set()
    for x, label in zip(dicts, y.tolist(), strict=True):
        if seen:
            assert model.predict_one(x) in seen
        model.learn_one(x, label)
        seen.add(label)
        assert model.classes_.tolist() == sorted(seen)
    scores = case.model().test_then_train(dicts, y)
    assert scores.shape == (N, len(LABELS[case.task]))
    for k, label in enumerate(LABELS[case.task]):
        first = int(np.argmax(y == label))
        assert np.isnan(scores[: first + 1, k]).all(), "the row that brings a label has no score for it yet"
        first = max(first, int(np.argmax(y != y[0])))  # and one label alone is no score
        assert np.isfinite(scores[first + 1 :, k]).all()


@every_case
def test_features_come_and_go(case: Case) -> None:
    rng = np.random.default_rng(0)
    _, y = case.data()
    model = case.model()
    known: set[str] = set()
    for t, target in enumerate(y.tolist()):
        names = rng.permutation([f"f{j}" for j in range(t % 7, t % 7 + 4 + t // 20)]).tolist()
        example = dict(zip(names, rng.normal(size=len(names)).tolist(), strict=True))
        model.predict_one(example)
        model.learn_one(example, target)
        known |= set(names)
        assert model.n_features_in_ == len(known)
        assert set(model.feature_names_in_) == known
    assert model.predict_one({}) is not None
    if not model._state.foresees:  # weights that start at zero say nothing of a new feature
        assert model.predict_one({"never seen": 3.0}) == model.predict_one({})
    assert np.isfinite(scores_of(model, [{}, {"f1": 1.0}])).all()


@every_case
def test_the_order_of_a_dict_does_not_matter(case: Case) -> None:
    X, y = case.data()
    model = case.model().partial_fit(as_dicts(X), y)
    example = as_dicts(X)[0]
    turned = dict(reversed(example.items()))
    assert list(turned) != list(example)
    np.testing.assert_array_equal(scores_of(model, [example]), scores_of(model, [turned]))
    assert model.predict_one(example) == model.predict_one(turned) == model.predict_one(example)


@every_kind
def test_text_in_a_dict_is_a_feature_of_its_own(case: Case) -> None:
    _, y = case.data()
    model, plain = case.model(), case.model()
    for t, target in enumerate(y):
        model.learn_one({"colour": ["red", "blue"][t % 2], "size": t % 5}, target)
        plain.learn_one({f"colour={['red', 'blue'][t % 2]}": 1.0, "size": float(t % 5)}, target)
    assert snapshot(model) == snapshot(plain)
    assert model.predict_one({"colour": "red", "size": 2}) == plain.predict_one({"colour=red": 1, "size": 2})


@every_kind
def test_growing_may_be_forbidden(case: Case) -> None:
    X, y = case.data()
    model = case.model(grow=False).partial_fit(X, y, **case.classes)
    before = snapshot(model)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(np.hstack([X, X]), y)
    if case.task != "regression":
        with pytest.raises(ValueError, match=r"classes|label"):
            model.partial_fit(X, np.full(N, 99))
    assert snapshot(model) == before


@every_kind_of_classifier
def test_declared_classes_are_the_binary_form_from_the_start(case: Case) -> None:
    X, y = case.data()
    told = case.model(classes=LABELS[case.task])
    for x, label in zip(X, y, strict=True):
        told.learn_one(x, label)
    assert snapshot(told) == snapshot(case.model().partial_fit(X, y, **case.classes))
    assert told.decision_function(X).shape == ((N,) if case.task == "binary" else (N, 4))


@each(case for case in CLASSIFIERS if case.task == "binary")
def test_bool_labels_are_two_classes_from_the_start(case: Case) -> None:
    X, y = case.data()
    model = case.model(classes=None)
    for x, label in zip(as_dicts(X), (y > 0).tolist(), strict=True):
        model.learn_one(x, label)
    assert model.classes_.tolist() == [False, True]
    assert model.decision_function(as_dicts(X)).shape == (N,)
    assert model.predict_one(as_dicts(X)[0]) in (True, False)


# --- batch learners, which `fit` alone can teach ---


BATCH = [Case("Perceptron", "binary"), Case("Adaline", "multiclass"), Case("AdalineRegressor", "regression")]


@each(BATCH)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_batch_learners_keep_the_promises_of_fit(case: Case, storage: Callable[[Any], Any], tmp_path: Path) -> None:
    X, y = case.data()
    X = storage(X)
    model = case.model(mode="batch", max_iter=5).fit(X, y)
    before, scores = snapshot(model), scores_of(model, X)
    assert snapshot(case.model(mode="batch", max_iter=5).fit(X, y)) == before
    for way in WAYS.values():
        other = way(model, tmp_path)
        assert snapshot(other) == before
        assert snapshot(other.fit(X, y)) == before
        np.testing.assert_array_equal(scores_of(other, X), scores)
    assert [model.predict_one(x) for x in case.data()[0][:9]] == model.predict(case.data()[0][:9]).tolist()
    one = X[:1] if sp.issparse(X) else X[0]
    for door in (lambda: model.partial_fit(X, y), lambda: model.test_then_train(X, y), lambda: model.learn_one(one, y[0])):
        with pytest.raises(ValueError, match="`fit` only"):
            door()
    bad = X.copy()
    bad[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad, y)
    assert snapshot(model) == before


# --- found by reviewers ---


def test_a_reader_does_not_undo_what_a_writer_counts() -> None:
    """A prediction that began before a step and ends after it must not put the counters back."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 4))
    y = (X[:, 0] > 0).astype(int)
    model = onepass.PAClassifier().partial_fit(X[:10], y[:10], classes=[0, 1])
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            model.predict(X)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for start in range(0, 100_000, 500):
            model.partial_fit(X[start : start + 500], y[start : start + 500])
    finally:
        done.set()
        reader.join()
    assert model.t_ == 100_010


@pytest.mark.parametrize(
    "changes", [{"average": True}, {"calibrate": True}, {"class_weight": "balanced"}, {"dimensions": 9}], ids=str
)
def test_what_shaped_the_state_cannot_change(changes: dict[str, Any], tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = (X[:, 0] > 0).astype(int)
    model = onepass.PAMOClassifier(8, random_state=0).fit(X, y)
    model.set_params(**changes)
    for call in (lambda: model.predict(X), lambda: model.partial_fit(X, y), lambda: model.learn_one(X[0], 1)):
        with pytest.raises(ValueError, match="start anew"):
            call()
    model.fit(X, y).predict(X)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), "a"])
def test_class_weights_are_numbers(weight: Any) -> None:
    with pytest.raises(ValueError, match=r"class_weight of 0"):
        onepass.PAClassifier(class_weight={0: weight}).fit(np.eye(2), [0, 1])


def test_names_of_features_are_text() -> None:
    with pytest.raises(TypeError, match="names of text"):
        onepass.PAClassifier().learn_one({("a", 1): 1.0}, 1)
    model = onepass.PAClassifier()
    model.learn_one({"a": 1.0}, 1)
    with pytest.raises(TypeError, match="names of text"):
        model.learn_one({3: 1.0}, 1)
    model.learn_one({"a": -1.0}, 0)
    never = onepass.ActiveLearner(onepass.PAClassifier(), delta=1e-300, random_state=0)
    for y in (0, 1):
        never.learn_one({"a": float(y)}, y)
    for call in (
        lambda: model.predict_one({"a": 1.0, 3: 1.0}),
        lambda: model.predict([{"a": 1.0, 3: 1.0}]),
        lambda: model.learn_one({3: 1.0}, 1, w=0.0),
        lambda: never.learn_one({"a": 1.0, 3: 1.0}, 1),
    ):
        with pytest.raises(TypeError, match="names of text"):
            call()
    assert list(model.feature_names_in_) == list(never.feature_names_in_) == ["a"]


@pytest.mark.parametrize("y", [[1j, 2.0], np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")], ids=["complex", "dates"])
def test_targets_of_a_regressor_are_real_numbers(y: Any) -> None:
    """NumPy would drop the imaginary part, and make days since 1970 of dates."""
    model = onepass.PARegressor()
    with pytest.raises(TypeError, match="real numbers"):
        model.partial_fit(np.eye(2), y)
    with pytest.raises(TypeError, match="real numbers"):
        model.learn_one(np.ones(2), y[0])
    assert model._state is None


@pytest.mark.parametrize("stages", [[], [onepass.StandardScaler()]], ids=["learner", "pipeline"])
def test_a_list_is_no_label(stages: list[Any]) -> None:
    """The quick way looks labels up in a dict, which would speak of hashes."""
    model = onepass.pipeline(*stages, onepass.PAClassifier()) if stages else onepass.PAClassifier()
    for label in (0, 1, 0):
        model.learn_one(np.array([1.0, label]), label)
    with pytest.raises((TypeError, ValueError), match=r"[Ll]abel|inconsistent|1d array"):
        model.learn_one(np.ones(2), [0, 1])
    assert model.t_ == 2


def test_a_third_label_does_not_hide_that_a_parameter_changed() -> None:
    model = onepass.AROWClassifier(covariance="full", grow="labels").partial_fit(np.eye(2), [0, 1])
    before = snapshot(model)
    model.set_params(covariance="diagonal")
    with pytest.raises(ValueError, match="start anew"):
        model.partial_fit(np.eye(2), [2, 0])
    assert snapshot(model) == before


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    model = onepass.KernelPA(gamma=0.5).partial_fit(np.eye(2), [0, 1], classes=[0, 1])
    model.save(tmp_path / "model")
    model.set_params(kernel="linear")
    with pytest.raises(ValueError, match="start anew"):
        model.save(tmp_path / "model")
    assert onepass.load(tmp_path / "model").kernel == "rbf"


@pytest.mark.parametrize("n", range(1, 6))
def test_ctrl_c_around_a_guarded_block(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes, readers are not left for ever with what was shown to them meanwhile."""
    left, at_once = [n], writing.at_once

    def interrupted(*calls: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        answer = at_once(*calls)
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return answer

    model = onepass.PAClassifier().partial_fit(np.eye(2), [0, 1], classes=[0, 1])
    model.learn_one(np.ones(2), 1)
    monkeypatch.setattr(writing, "at_once", interrupted)
    before = model.t_
    try:
        model.partial_fit(np.eye(2), [1, 0])
    except KeyboardInterrupt:
        assert model.t_ == before
    else:
        assert n > 4
    assert model._shown is None
    monkeypatch.undo()
    model.learn_one(np.ones(2), 1)
    assert model.t_ == before + (1 if n <= 4 else 3), "what is bound is what is there"


def test_zeros_of_a_table_that_brings_a_label_and_a_feature_are_those_of_its_rows() -> None:
    """The feature is there before the third label where a table brings both, and after it where rows come one by one."""
    rows, y = [{"a": 1.0}, {"a": -1.0}, {"a": 2.0}, {"a": 9.0, "b": 0.0}], ["x", "y", "z", "z"]
    table, one_by_one = onepass.PAClassifier().partial_fit(rows, y), onepass.PAClassifier()
    for x, label in zip(rows, y, strict=True):
        one_by_one.learn_one(x, label)
    assert snapshot(table) == snapshot(one_by_one)


def test_a_first_dict_without_weight_brings_no_feature_to_a_model_that_does_not_grow() -> None:
    model = onepass.PARegressor(grow=False)
    model.learn_one({"z": 1.0}, 1.0, w=0.0)
    model.learn_one({"a": 1.0}, 1.0)
    table = onepass.PARegressor(grow=False).partial_fit([{"z": 1.0}, {"a": 1.0}], [1.0, 1.0], sample_weight=[0, 1])
    assert list(model.feature_names_in_) == ["a"]
    assert snapshot(model) == snapshot(table)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_that_is_too_large_is_refused_whatever_it_weighs(sparse: bool) -> None:
    """Its score may be sound, so that only a look at the row can tell; a single example has had that look always."""
    X = np.array([[1.0, 0.0], [0.5, -1.0], [1e200, 0.0], [0.0, 1.0]])
    data = sp.csr_array(X) if sparse else X
    model = onepass.PAClassifier(classes=[0, 1])
    with pytest.raises(ValueError, match="Row 2 of X is too large"):
        model.partial_fit(data, [0, 1, 0, 1], sample_weight=[0.0, 1.0, 0.0, 2.0])
    assert not hasattr(model, "t_")
    for t in (0, 1):
        model.learn_one(X[t], t)
    with pytest.raises(ValueError, match="Row 0 of X is too large"):
        model.learn_one(X[2], 0, w=0.0)
