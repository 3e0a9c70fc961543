"""Labels: those that differ stay different, or are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from onepass import PAClassifier, PAMultilabel, streams
from onepass.base.knowledge import Door
from onepass.base.labels import coded

X = np.array([[1.0, 0.0], [0.0, 1.0]])

TOO_LARGE = {
    "beyond int64": [2**63 + 1, 2**63 + 2],
    "beyond int64, with a sign": [2**63 + 1, -1],
    "beyond uint64": [2**64, 1],
    "below int64": [-(2**63) - 1, 0],
    "uint64": np.array([2**63 + 1, 1], np.uint64),
    "a series of uint64": pd.Series([2**63 + 1, 1], dtype="UInt64"),
    "objects": np.array([2**63 + 1, -1], object),
    "more digits than floats": [2**53 + 1, 0.5],
    "more digits than floats, as objects": np.array([2**53 + 1, 0.5], object),
    "more digits than the other type": [np.uint64(2**53 + 1), np.int64(-1)],
}
CUT_SHORT = {
    "list": ["a", "a\0"],
    "tuple": ("a", "a\0"),
    "column": [["a"], ["a\0"]],
    "objects": np.array(["a", "a\0"], object),
    "pandas": pd.Series(["a", "a\0"]),
    "categories": pd.Series(["a", "a\0"], dtype="category"),
    "polars": pl.Series(["a", "a\0"]),
    "arrow": pa.array(["a", "a\0"]),
}
MIXED = {"number and text": [1, "1"], "bytes and text": [b"a", "a"]}
REFUSED = [
    *((labels, ValueError, "Use text") for labels in TOO_LARGE.values()),
    *((labels, ValueError, r"'a\\x00' ends with a NUL") for labels in CUT_SHORT.values()),
    *((labels, TypeError, "all text") for labels in MIXED.values()),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize(("labels", "error", "message"), REFUSED, ids=[*TOO_LARGE, *CUT_SHORT, *MIXED])
def test_labels_that_would_become_one_are_refused(labels: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PAClassifier().fit(X, labels)
    with pytest.raises(error, match=message):
        PAClassifier(grow=True).partial_fit(X, labels)
    with pytest.raises(error, match=message):
        PAClassifier().partial_fit(X, labels, classes=[0, 1])


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [case for case in REFUSED if isinstance(case[0], list | np.ndarray) and not isinstance(case[0][0], list)],
)
def test_declared_labels_and_sets_of_labels_are_refused_as_well(labels: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PAClassifier(classes=labels).learn_one({"x": 1.0}, 0)
    with pytest.raises(error, match=message):
        PAClassifier().partial_fit(X, [0, 1], classes=labels)
    with pytest.raises(error, match=message):
        PAMultilabel().fit(X, [{labels[0], labels[1]}, set()])


@pytest.mark.parametrize(
    ("label", "message"),
    [(2**63 + 1, "Use text"), (2**64, "Use text"), (np.uint64(2**63 + 1), "Use text"), ("a\0", "ends with a NUL")],
)
def test_one_label_is_refused_by_a_model_that_knows_others(label: Any, message: str) -> None:
    model = PAClassifier()
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            model.learn_one({"x": 1.0}, label)
        model.learn_one({"x": 1.0}, "a" if isinstance(label, str) else 1)
    assert len(model.classes_) == 1


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array([1, 2**63 - 1], np.uint64), np.int64),
        (pl.Series([1, 2], dtype=pl.UInt64), np.int64),
        ([2**53, 2**53 + 1], np.int64),
        ([-(2**63), 2**63 - 1], np.int64),
        ([1, 2.5], np.float64),
        ([2**53 + 2, 0.5], np.float64),
        ([1e300, 2], np.float64),
        (["a", "a\0b"], "<U3"),
        (pl.Series(["a", "b"]), "<U1"),
    ],
)
def test_labels_that_arrays_can_hold_are_taken(labels: Any, kind: Any) -> None:
    model = PAClassifier(grow=True).partial_fit(X, labels).partial_fit(X, labels)
    assert model.classes_.dtype == kind
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(X).tolist() == list(labels)


def test_whole_numbers_and_floats_match_only_where_they_are_equal() -> None:
    large = 2**53
    model = PAClassifier(classes=[large, large + 1]).partial_fit(X, [float(large), float(large)])
    assert model.predict(X).tolist() == [large, large]
    with pytest.raises(ValueError, match=re.escape(f"{large + 2}.0 (row 1) is none of")):
        model.partial_fit(X, np.array([large, large + 2.0]))
    three = PAClassifier(classes=[0, large, large + 1]).partial_fit(X, [float(large), 0.0])
    assert three.predict(X).tolist() == [large, 0]

    floats = PAClassifier(classes=[0.5, float(large)]).partial_fit(X, [large, large])
    assert floats.predict(X).tolist() == [large, large]
    with pytest.raises(ValueError, match=re.escape(f"{large + 1} (row 0) is none of")):
        floats.partial_fit(X, np.array([large + 1, large]))


def test_the_text_of_a_table_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(json.dumps({"x": 1.0, "label": label}) for label in ("a", "a\0")))
    with pytest.raises(ValueError, match="ends with a NUL"):
        list(streams.open(path))


@pytest.mark.parametrize("kind", [np.int64, np.float32, bool, str])
@pytest.mark.parametrize("grow", [False, True])
def test_labels_that_were_looked_up_once_give_the_same_model(kind: Any, grow: bool) -> None:
    """Codes of other labels, in another order and with labels between that never come, are as good as the labels themselves."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2 if kind is bool else 4, 60).astype(kind)
    y[:20] = y[0]  # the others come late
    all_labels = np.unique(y)
    weight = rng.integers(0, 2, 60).astype(float)
    for given in (None, weight):
        plain, by_code = PAClassifier(grow="labels" if grow else False), PAClassifier(grow="labels" if grow else False)
        door = Door(None if grow else all_labels, labels_come=grow)
        seen = coded(y, np.unique(np.array([7, 11]).astype(kind)))
        assert np.asarray(seen).tolist() == y.tolist()
        plain._learn(X, y, given, door)
        by_code._learn(X, seen, given, door)
        assert plain.classes_.tolist() == by_code.classes_.tolist()
        assert plain.coef_.tobytes() == by_code.coef_.tobytes()


def test_codes_of_labels_that_a_model_does_not_know_are_refused() -> None:
    model = PAClassifier(classes=[0, 1]).partial_fit(np.eye(2), [0, 1])
    with pytest.raises(ValueError, match=r"2 \(row 1\) is none of"):
        model._learn(np.eye(2), coded(np.array([1, 2]), np.array([0])), None, Door())
    with pytest.raises(TypeError, match="another kind"):
        coded(np.array(["a"]), np.array([0]))


@pytest.mark.plain
@pytest.mark.parametrize("grow", [False, True])
def test_blocks_of_few_scores_change_nothing(monkeypatch: pytest.MonkeyPatch, grow: bool) -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 3)), rng.integers(9, size=60)
    scores, weights = [], []
    for most in (1 << 17, 20, 1):
        monkeypatch.setattr("onepass.base.engine.SCORES", most)
        model = PAClassifier(grow="labels") if grow else PAClassifier(classes=np.arange(9))
        scores.append(model.test_then_train(rows, labels).tobytes())
        weights.append(model.partial_fit(rows, labels).coef_.tobytes())
    assert scores[0] == scores[1] == scores[2]
    assert weights[0] == weights[1] == weights[2]
