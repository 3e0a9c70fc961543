"""Hashed columns are numbered as they come, and what never comes costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import (
    AROWClassifier,
    Hasher,
    KernelPA,
    PAClassifier,
    PAMOClassifier,
    StandardScaler,
    Text,
    UnitNorm,
    load,
    pipeline,
)
from onepass.base.buckets import Buckets
from onepass.base.inputs import from_csr

WIDTH = 10**12

COLUMNS = st.lists(st.lists(st.integers(0, 300) | st.integers(0, WIDTH - 1), unique=True, max_size=50), min_size=1, max_size=8)


def rows_of(listed: list[list[int]]) -> Any:
    indptr = np.cumsum([0, *map(len, listed)])
    indices = np.array([j for row in listed for j in sorted(row)], np.int64)
    return from_csr(sp.csr_array((np.arange(1.0, len(indices) + 1), indices, indptr), (len(listed), WIDTH)), hashed=True)


@settings(deadline=None)
@given(COLUMNS, COLUMNS, COLUMNS)
def test_numbers_are_given_in_the_order_of_appearance(first: Any, second: Any, in_vain: Any) -> None:
    buckets, twin = Buckets((), WIDTH), dict[int, int]()
    for listed, stays in ((first, True), (in_vain, False), (second, True)):
        n, known = len(twin), dict(twin)
        rows, newcomers = buckets.numbered(rows_of(listed), n, grow=True)
        known_only, none = buckets.numbered(rows_of(listed), n, grow=False)
        grown = buckets.grown(newcomers, n)
        for row in listed:
            for column in sorted(row):
                known.setdefault(column, len(known))
        assert newcomers.tolist() == list(known)[n:]
        assert grown.first(len(known)).tolist() == list(known)
        assert len(none) == 0
        assert known_only.width == n
        value = 0.0
        for t, row in enumerate(listed):
            expected = {known[column]: value + k for k, column in enumerate(sorted(row), 1)}
            value += len(row)
            for some, limit in ((rows, len(known)), (known_only, n)):
                start, end = some.parts[0][t : t + 2]
                got = list(zip(some.parts[1][start:end].tolist(), some.parts[2][start:end].tolist(), strict=True))
                assert got == [(j, expected[j]) for j in sorted(expected) if j < limit]
        if stays:
            buckets, twin = grown, known  # else nobody goes on with what has grown


WORDS = [f"w{i}" for i in range(60)]


def texts(n: int, seed: int = 0) -> tuple[list[str], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return [" ".join(rng.choice(WORDS[15 * k : 15 * k + 30], rng.integers(1, 40))) for k in y], y


LEARNERS = {
    "PA": lambda: PAClassifier(average=True, calibrate=True),
    "AROW": lambda: AROWClassifier(covariance="full"),
    "kernel": lambda: KernelPA(budget=10, random_state=0),
    "PAMO": lambda: PAMOClassifier(dimensions=4, random_state=0),
}


@pytest.mark.plain
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_sees_the_columns_that_came(learner: str) -> None:
    """By hand: the columns of the words, in the order of their first appearance, as a table of so many features."""
    X, y = texts(60)
    hashed = Text(2**16).transform(X)
    order = dict.fromkeys(hashed.indices.tolist())
    model, twin = pipeline(Text(2**16), LEARNERS[learner]()), LEARNERS[learner]().set_params(grow="features")
    scores = model.test_then_train(X, y, classes=[0, 1, 2])
    compact = hashed[:, list(order)].tocsr()
    expected = twin.test_then_train(compact, y, classes=[0, 1, 2])
    assert scores.tobytes() == expected.tobytes()
    assert model.n_features_in_ == 2**16
    assert model.learner.n_features_in_ == len(order) <= 60
    assert model.decision_function(X).tobytes() == twin.decision_function(compact).tobytes()


def test_cuts_single_texts_and_files_do_not_matter(tmp_path: Path) -> None:
    X, y = texts(80)
    whole = pipeline(Text(2**20, weight="tfidf"), UnitNorm(), AROWClassifier())
    whole.partial_fit(X, y, classes=[0, 1, 2])
    parts = pipeline(Text(2**20, weight="tfidf"), UnitNorm(), AROWClassifier())
    parts.partial_fit(X[:33], y[:33], classes=[0, 1, 2])
    parts.save(tmp_path / "model")
    parts = load(tmp_path / "model")
    for text, label in zip(X[33:50], y[33:50].tolist(), strict=True):
        parts.learn_one(text, label)
    parts = parts.copy()
    parts.partial_fit(X[50:], y[50:])
    parts.save(tmp_path / "parts")
    whole.save(tmp_path / "whole")
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    strange, _ = texts(5, seed=9)
    strange.append("words that never came")
    assert parts.decision_function(strange).tobytes() == whole.decision_function(strange).tobytes()
    assert [parts.predict_one(text) for text in strange] == whole.predict(strange).tolist()


@pytest.mark.plain
def test_a_failed_call_leaves_no_column_behind() -> None:
    model = pipeline(Hasher(2**20), PAClassifier())
    model.partial_fit([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit([{"c": 1.0}, {"d": np.inf}], ["x", "y"])
    model.partial_fit([{"e": 1.0}], ["x"])
    twin = pipeline(Hasher(2**20), PAClassifier())
    twin.partial_fit([{"a": 1.0}, {"b": 1.0}, {"e": 1.0}], ["x", "y", "x"])
    assert model.learner.coef_.tobytes() == twin.learner.coef_.tobytes()
    assert model.learner.n_features_in_ == 3


@pytest.mark.plain
def test_who_wants_all_columns_can_have_them() -> None:
    model = pipeline(Hasher(64), StandardScaler(), PAClassifier(grow=False))
    model.partial_fit([{"a": 1.0}, {"b": 1.0}], ["x", "y"], classes=["x", "y"])
    assert model.learner.coef_.shape == (1, 64)


@pytest.mark.plain
def test_a_hundred_classes_and_a_text_are_a_small_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = [" ".join(rng.choice(WORDS, 10)) for _ in range(300)]
    model = pipeline(Text(2**20), AROWClassifier())
    for start in range(0, 300, 100):
        model.partial_fit(X[start : start + 100], np.arange(100), classes=np.arange(100))
    model.save(tmp_path / "model")
    assert model.learner._state.nbytes < 200 * 60 * 16
    assert (tmp_path / "model").stat().st_size < 200 * 60 * 16


@pytest.mark.plain
def test_another_number_of_hashes_is_refused() -> None:
    model = pipeline(Hasher(64), PAClassifier())
    model.partial_fit([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
    model.set_params(hasher__n_features=32)
    with pytest.raises(ValueError, match="32 columns of hashes, but PAClassifier has learned from rows with 64"):
        model.predict([{"a": 1.0}])
