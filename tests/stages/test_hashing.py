"""Hasher: frames of any kind, and dicts, as the same rows."""

from __future__ import annotations

import copy
import random
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher
from sklearn.utils import murmurhash3_32

import onepass
from onepass import Hasher, PAClassifier, StandardScaler, pipeline
from onepass.base.inputs import Rows
from onepass.compiled.chain import Raw, unsound
from onepass.stages.hashing import Hashed, murmur

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
LIBRARY = pytest.mark.parametrize("library", FRAMES)
MISSING = [{"c": "x"}, {"c": None}, {"c": "y"}]
TEXTS = ["x", None, "y"]


def assert_same(found: Any, expected: Any) -> None:
    """Equal to the bit."""
    assert found.shape == expected.shape
    for part in ("indptr", "indices", "data"):
        a, b = getattr(found, part), getattr(expected, part)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


def table(n: int = 60) -> dict[str, list[Any]]:
    source = random.Random(0)
    return {
        "town": [source.choice(["Rome", "Köln", "", "x y", "東京"]) for _ in range(n)],
        "n": [source.choice([0.0, 1.5, -0.1]) for _ in range(n)],
        "big": [2**60 + t for t in range(n)],
        "yes": [t % 3 == 0 for t in range(n)],
        "c": [source.choice("abc") for _ in range(n)],
    }


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("n_features", [1, 3, 2**20, 2**31 - 1])  # none of which is a width to allocate
def test_frames_and_dicts_are_what_scikit_learn_makes_of_them(n_features: int) -> None:
    columns = table()
    expected = sp.csr_array(FeatureHasher(n_features).transform(rows_of(columns)))
    hasher = Hasher(n_features)
    assert_same(hasher.transform(rows_of(columns)), expected)
    for frame in FRAMES.values():
        assert_same(hasher.transform(frame(columns)), expected)
    assert_same(hasher.transform(narwhals.from_native(pl.DataFrame(columns))), expected)
    arrow = pa.table(columns)
    assert_same(hasher.transform(pa.concat_tables([arrow.slice(0, 7), arrow.slice(7)])), expected)
    assert_same(hasher.transform(arrow.slice(7)), expected[7:])


def test_hashes_of_texts_of_any_length() -> None:
    texts = [("aß€😀 z" * 4)[:length] for length in range(24)]
    data = [text.encode() for text in texts]
    for name in ("", "a", "ab", "abc", "town"):
        hashes = np.empty(len(texts), np.uint32)
        ends = np.cumsum([0, *map(len, data)])
        murmur(np.frombuffer(f"{name}=".encode(), np.uint8), np.frombuffer(b"".join(data), np.uint8), ends, hashes)
        assert hashes.view(np.int32).tolist() == [murmurhash3_32(f"{name}={text}") for text in texts]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype=object),
        pd.Series(["x", np.nan, "y"], dtype=object),
        pd.Series(["x", pd.NA, "y"], dtype=object),
        pd.Series(TEXTS, dtype="string"),
        pd.Series(TEXTS, dtype="category"),
        pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.large_string())),
        pl.Series(TEXTS),
        pl.Series(TEXTS, dtype=pl.Categorical),
        pl.Series(TEXTS, dtype=pl.Enum(["y", "x"])),
        pa.array(TEXTS),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS).dictionary_encode(),
        pa.array(TEXTS, pa.large_string()).dictionary_encode(),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]} {getattr(column, 'dtype', None) or column.type}",
)
def test_a_missing_text_is_no_feature(column: Any) -> None:
    library = type(column).__module__.split(".")[0]
    frame = FRAMES[library]({"c": column})
    found = Hasher(64).transform(frame)
    assert np.diff(found.indptr).tolist() == [1, 0, 1]
    assert_same(found, Hasher(64).transform(MISSING))
    assert_same(found, Hasher(64).transform([{"c": "x"}, {}, {"c": "y"}]))


@pytest.mark.parametrize(
    ("frame", "rows"),
    [
        (pd.DataFrame({"c": pd.Series(["x", 2, None, True], dtype=object)}), [{"c": "x"}, {"c": 2}, {}, {"c": True}]),
        (pd.DataFrame({"c": pd.Series([5, 7, None], dtype="category")}), [{"c": 5}, {"c": 7}, {}]),
        (pa.table({"c": pa.array([5, 7, None]).dictionary_encode()}), [{"c": 5}, {"c": 7}, {}]),
        (pa.table({"c": pa.nulls(2), "d": ["u", "v"]}), [{"d": "u"}, {"d": "v"}]),
        (pl.DataFrame({"c": [None, None], "d": ["u", "v"]}), [{"d": "u"}, {"d": "v"}]),
        (pa.table({"c": [Decimal("1.25"), Decimal("0.10")]}), [{"c": 1.25}, {"c": 0.1}]),
        (pd.DataFrame({"c": pd.array([1, 2], "Int64"), "d": pd.array([True, False], "boolean")}), [{"c": 1, "d": 1}, {"c": 2}]),
        (Rows(np.array([[1.0, 0.0], [0.5, 2.0]]), names=["c", "d"]), [{"c": 1.0, "d": 0.0}, {"c": 0.5, "d": 2.0}]),
    ],
    ids=["object", "categories of numbers", "dictionary of numbers", "nulls", "nulls of polars", "decimal", "nullable", "rows"],
)
def test_other_columns_are_what_their_values_are(frame: Any, rows: list[dict[str, Any]]) -> None:
    assert_same(Hasher(64).transform(frame), Hasher(64).transform(rows))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": ["x", "y"], "c": [1.0, None]}), "Column 'c' of X has no value in row 1"),
        (pl.DataFrame({"c": [1, 2, None]}), "Column 'c' of X has no value in row 2"),
        (pa.table({"c": [None, True]}), "Column 'c' of X has no value in row 0"),
        (pa.table({"c": [date(2020, 1, 1)]}), "Column 'c' of X is Date"),
        (pd.DataFrame({"c": [[1], [2]]}), "Column 'c' of X holds what is neither"),
        (pd.DataFrame({"c": pd.Series(["x", date(2020, 1, 1)], dtype=object)}), "Column 'c' of X holds what is neither"),
        (pd.DataFrame({3: ["x"]}), "names of text, got 3"),
        (np.ones((2, 2)), "only names can be hashed"),
    ],
)
def test_what_can_not_be_hashed(frame: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Hasher(64).transform(frame)


@pytest.mark.plain
@LIBRARY
def test_a_saved_model_of_frames_takes_dicts(library: str, tmp_path: Path) -> None:
    columns = table()
    y = np.array(columns.pop("c"))
    model = pipeline(Hasher(2**10), StandardScaler(), PAClassifier(classes=["a", "b", "c"]))
    model.partial_fit(FRAMES[library](columns), y)
    by_dicts = pipeline(Hasher(2**10), StandardScaler(grow=False), PAClassifier(classes=["a", "b", "c"]))
    by_dicts.partial_fit(rows_of(columns), y)
    assert model.learner.coef_.tobytes() == by_dicts.learner.coef_.tobytes()
    model.save(tmp_path / "model")
    loaded = onepass.load(tmp_path / "model")
    expected = model.predict(FRAMES[library](columns)).tolist()
    assert [loaded.predict_one(row) for row in rows_of(columns)] == expected
    for frame in FRAMES.values():
        assert loaded.predict(frame(columns)).tolist() == expected


def test_a_shallow_copy_of_a_pipeline_learns_for_itself() -> None:
    model = pipeline(StandardScaler(), PAClassifier())
    model.learn_one({"a": 1.0}, 0)
    other = copy.copy(model)
    other.learn_one({"a": 3.0}, 1)
    assert (model.stages[0].t_, other.stages[0].t_) == (1, 2)
    assert model.classes_.tolist() == [0]


@pytest.mark.plain
@pytest.mark.parametrize("columns", [7, 64, 65, 4096, 2**20])
def test_three_in_one_column_need_a_closer_look(columns: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        hashes = rng.integers(-3 * columns, 3 * columns, rng.integers(1, 12))
        if rng.random() < 0.3:
            hashes[-3:] = rng.choice([-1, 1], len(hashes[-3:])) * hashes[0]
        several = np.unique(abs(hashes) % columns, return_counts=True)[1].max() > 2
        row = Raw(np.append(hashes, np.ones(len(hashes))), np.empty(0, np.uint8), 0.0)
        assert unsound(Hashed(columns), row) == several
