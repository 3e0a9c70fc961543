"""Single raw rows take one call of machine code, and leave the bits that the way of tables would have left."""

from __future__ import annotations

import datetime
import math
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepass import (
    AROWClassifier,
    Hasher,
    Imputer,
    PAClassifier,
    PARegressor,
    StandardScaler,
    Table,
    Text,
    UnitNorm,
    load,
    pipeline,
)
from onepass.stages.pipeline import NO_CHAIN
from shared import snapshot

FIRST = {
    "age": 40.0,
    "hours": 7,
    "city": "Rome",
    "code": 3,
    "when": "2024-06-01 12:00:00",
    "note": "see you at lunch now",
    "void": None,
}
WORDS = st.lists(st.sampled_from(["a", "bc", "São", "WIN", "!", "7", "x_y"]), max_size=8).map(" ".join)
NUMBERS = st.integers(-(10**6), 10**6).map(
    lambda n: n / 64
)  # no tiny ones: the deviation of those is 0, or what comes next too large
VALUES: dict[str, Any] = {
    "age": st.none()
    | st.floats(-1e6, 1e6)
    | st.integers(-5, 5)
    | st.booleans()
    | st.sampled_from([math.nan, "7.5", " ", "n/a"]),
    "hours": NUMBERS,
    "city": st.none() | st.sampled_from(["Rome", "Oslo", "New York", "São Paulo", ""]) | st.just(math.nan),
    "code": st.none() | st.integers(0, 4) | st.sampled_from([2.0, 2.5, True, "2", np.int64(3), math.nan]),
    "when": st.none()
    | st.sampled_from(["2024-01-05", "2023-12-31 23:59:00", "no date", datetime.date(2024, 2, 29), 17])
    | st.datetimes(datetime.datetime(1990, 1, 1), datetime.datetime(2030, 1, 1)),
    "note": st.none() | WORDS,
    "void": st.sampled_from([None, None, None, math.nan, "a", 2.0]),
    "late": NUMBERS,
    "later": st.sampled_from(["x", "y"]),
}
ROWS = st.fixed_dictionaries({}, optional=VALUES)
TABLES = [
    {},
    {"pairs": "all", "n_features": 7},
    {
        "pairs": [("city", "age"), ("age", "city"), ("hours", "when"), ("code", "later")],
        "categories": ["code"],
        "n_features": 64,
    },
    {"scale": False, "missing": 2.5, "drop": ["hours", "late"], "text": ["city"]},
]


def slowly(model: Any) -> Any:
    """A model whose single rows go the way of tables."""
    model._chain = lambda: NO_CHAIN
    return model


def content(model: Any) -> list[Any]:
    return [snapshot(step) for _, step in model.steps]


def forbid(*_: Any) -> None:
    raise AssertionError("a usual row went the way of tables")


def check(make: Any, examples: list[Any], quick_from: int | None = None) -> tuple[Any, Any]:
    """Learn from examples in both ways; from `quick_from` on none of them may go the way of tables, unless it brings a feature."""
    model, twin = make(), slowly(make())
    way_of_tables = model._learn
    for t, x in enumerate(examples):
        if t > 2:  # before there are two labels nothing is told
            model_says, twin_says = model.predict_one(x), twin.predict_one(x)
            assert model_says == twin_says
            quick = model._answer_one(x)[1]
            assert quick is None or quick == twin._scores_one(x, [step._state for _, step in twin.steps])[0, 0]
        known = getattr(twin.learner, "n_features_in_", 0)
        twin.learn_one(x, t % 3 == 1)
        usual = quick_from is not None and t >= quick_from and twin.learner.n_features_in_ == known
        model._learn = forbid if usual else way_of_tables
        model.learn_one(x, t % 3 == 1)
        assert content(model) == content(twin)
    return model, twin


@pytest.mark.compiled
@pytest.mark.plain
@pytest.mark.parametrize("options", TABLES, ids=str)
@settings(max_examples=15, deadline=None)
@given(rows=st.lists(ROWS, min_size=3, max_size=12))
def test_rows_of_all_kinds(options: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    check(lambda: pipeline(Table(**{"n_features": 512, **options}), UnitNorm(), AROWClassifier()), [FIRST, FIRST, *rows])


@pytest.mark.compiled
@pytest.mark.plain
@pytest.mark.parametrize("options", TABLES, ids=str)
def test_usual_rows_are_quick(options: dict[str, Any]) -> None:
    """Numbers, also as text, categories, dates and texts, each of which may be missing; with holes from the second row on."""
    rng = np.random.default_rng(0)
    usual = {
        "age": [1.0, 2, True, None, "3.5"],
        "hours": [40, 3.25],
        "city": ["Rome", "Oslo", None],
        "code": [1, 2.0, None],
        "when": ["2024-01-05", datetime.date(2020, 1, 1), datetime.datetime(2021, 5, 5, 3), None],
        "note": ["WIN a big prize today!!", "", None],
        "void": [None],
    }
    rows = [{name: values[rng.integers(len(values))] for name, values in usual.items()} for _ in range(40)]
    for row in rows[::4]:
        del row["age"], row["void"]
    make = lambda: pipeline(Table(**{"n_features": 512, **options}), UnitNorm(), AROWClassifier())  # noqa: E731
    model, _ = check(make, [FIRST, FIRST, *rows], 3)
    model.predict_one({**rows[0], "unheard of": 3, "other": "x"})
    assert model._answer_one({**rows[0], "unheard of": 3, "other": "x"})[1] is not None


@pytest.mark.plain
def test_a_table_of_numbers_alone() -> None:
    """It has no columns for hashes, and its rows are dense."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=20), "b": rng.integers(0, 5, 20), "c": pd.date_range("2024-01-01", periods=20)})
    rows = [{"a": 1.5, "b": None, "c": "2024-05-05"}, {"b": 3, "c": None}, {"a": -2.0, "b": 1, "c": "2024-05-06 10:00"}]
    model, twin = pipeline(Table(), PARegressor()), slowly(pipeline(Table(), PARegressor()))
    for each in (model, twin):
        each.partial_fit(frame, np.arange(20.0))
    model._learn = forbid
    for t, row in enumerate(rows):
        assert model._answer_one(row)[1] == twin.predict_one(row)
        model.learn_one(row, float(t))
        twin.learn_one(row, float(t))
        assert content(model) == content(twin)


@pytest.mark.compiled
@pytest.mark.plain
@pytest.mark.parametrize("weight", ["count", "binary", "tfidf", "bm25"])
@pytest.mark.parametrize(
    "options",
    [{}, {"ngrams": 2, "letters": (2, 3)}, {"n_features": 5, "normed": False}, {"grow": True, "max_features": 9}],
    ids=str,
)
def test_texts(weight: str, options: dict[str, Any]) -> None:
    @settings(max_examples=8, deadline=None)
    @given(texts=st.lists(WORDS | st.text(max_size=20), min_size=3, max_size=8))
    def run(texts: list[str]) -> None:
        make = lambda: pipeline(Text(**{"n_features": 256, "weight": weight, **options}), PAClassifier())  # noqa: E731
        check(make, ["Win a prize now", "See you", *texts], 2)

    run()


@pytest.mark.compiled
@pytest.mark.plain
@pytest.mark.parametrize("n_features", [1, 5, 2**20])
@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(
        st.dictionaries(
            st.sampled_from("abcdefgh"),
            st.none() | NUMBERS | st.integers(-2, 2) | st.booleans() | st.sampled_from(["x", "y", np.float32(0.1)]),
        ),
        min_size=3,
        max_size=12,
    )
)
def test_hashed_dicts(n_features: int, rows: list[dict[str, Any]]) -> None:
    first = {"a": 1.0, "b": "x"}
    check(lambda: pipeline(Hasher(n_features), PAClassifier()), [first, first, *rows], None if n_features < 9 else 2)


@pytest.mark.plain
@pytest.mark.parametrize("change", [{"a": 2.0}, {"b": "y"}, {"a": True, "b": "x"}, {"a": np.array(5.0)}, {"a": [1]}], ids=str)
def test_a_dict_that_was_changed_is_hashed_again(change: dict[str, Any]) -> None:
    """One that was predicted just before is not; also what is in it may change."""
    models = pipeline(Hasher(64), PAClassifier()), slowly(pipeline(Hasher(64), PAClassifier()))
    for model in models:
        for t in range(4):
            model.learn_one({"a": float(t), "b": "x"}, t % 2)
        x: dict[str, Any] = {"a": np.array(1.0), "b": "x"}
        model.predict_one(x)
        x["a"][...] = 7.0
        model.learn_one(x, 1)
        x["a"] = 1.0
        model.predict_one(x)
        x.update(change)
        if change == {"a": [1]}:
            with pytest.raises((TypeError, ValueError)):
                model.learn_one(x, 0)
        else:
            model.learn_one(x, 0)
    assert content(models[0]) == content(models[1])


@pytest.mark.compiled
@pytest.mark.plain
@pytest.mark.parametrize("options", [{}, {"fill": 2.0, "indicator": True}], ids=str)
@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {}, optional={name: st.none() | NUMBERS | st.just(math.nan) | st.integers(0, 3) for name in "abc"}
        ),
        min_size=3,
        max_size=12,
    )
)
def test_dicts_with_holes(options: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    first = {"a": 1.0, "b": None, "c": 2}
    check(lambda: pipeline(Imputer(**options), StandardScaler(), PAClassifier()), [first, first, *rows], 2)


BAD: list[Any] = [
    {"age": math.inf},
    {"age": 1e200},
    {"hours": 10**400},
    {"age": [1.0]},
    {"city": ["Rome"]},
    {"note": 3},
    {"when": [1]},
    {5: 1.0},
    "text",
]


@pytest.mark.plain
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_bad_row_changes_nothing(bad: Any) -> None:
    model = pipeline(Table(n_features=64, pairs="all"), UnitNorm(), AROWClassifier())
    for t in range(4):
        model.learn_one({**FIRST, "age": float(t)}, t % 2)
    before = content(model)
    for attempt in (lambda: model.learn_one(bad, 1), lambda: model.predict_one(bad)):
        with pytest.raises((TypeError, ValueError)):
            attempt()
        assert content(model) == before


@pytest.mark.plain
def test_a_learner_that_refuses_leaves_the_stages_as_they_were() -> None:
    for stage, x in (Table(n_features=64), {"a": 3.0, "b": "x"}), (Text(n_features=64, weight="tfidf"), "a b c"):
        model = pipeline(stage, PARegressor(scale_target=False))
        for y in (1.0, 2.0, 3.0):
            model.learn_one(x, y)
        before = content(model)
        for y in (math.nan, math.inf, "much"):
            with pytest.raises((TypeError, ValueError)):
                model.learn_one(x, y)
        assert content(model) == before


@pytest.mark.plain
@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.tuples(st.sampled_from(["one", "table", "save", "frame"]), st.integers(1, 4)), min_size=1, max_size=8))
def test_among_tables_and_files(cuts: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory) -> None:
    import polars as pl

    rows: list[dict[str, Any]] = [
        {"age": t % 7 * 1.5, "city": f"c{t % 3}", "note": f"word{t} " * 5, "when": f"2024-01-{1 + t % 28:02d}"}
        for t in range(40)
    ]
    labels = [t * t % 3 == 1 for t in range(40)]
    path, at = Path(tmp_path_factory.mktemp("models")) / "m.onepass", 2
    model, whole = (pipeline(Table(n_features=256, pairs="all"), UnitNorm(), AROWClassifier()) for _ in range(2))
    model.learn_one(rows[0], labels[0])
    model.learn_one(rows[1], labels[1])
    for how, n in cuts:
        some, said = rows[at : at + n], labels[at : at + n]
        if how == "one":
            for x, y in zip(some, said, strict=True):
                model.learn_one(x, y)
        elif how == "save":
            model.save(path)
            model, n = load(path), 0
        else:
            model.partial_fit(some if how == "table" else pl.DataFrame(some), said)
        at += n
    for x, y in zip(rows[:2], labels[:2], strict=True):
        slowly(whole).learn_one(x, y)
    if at > 2:
        whole.partial_fit(rows[2:at], labels[2:at])
    assert content(model) == content(whole)


@pytest.mark.plain
def test_what_a_column_holds_may_show_late() -> None:
    """Rows are laid out anew: a layout from before would leave the column out."""
    rows = [{"a": 1.0, "b": None}, {"a": 2.0, "b": None}, {"a": 3.0, "b": None}, {"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}]
    model, _ = check(lambda: pipeline(Table(n_features=64), PAClassifier()), rows * 2)
    assert model[0].kinds_ == {"a": "number", "b": "category"}


@pytest.mark.plain
def test_parameters_that_change_count_from_the_next_row_on() -> None:
    model, twin = pipeline(Table(n_features=64), PAClassifier()), slowly(pipeline(Table(n_features=64), PAClassifier()))
    for t in range(8):
        for each in (model, twin):
            if t == 4:
                each.set_params(table__scale=False, table__missing=3.0, table__drop=["b"])
            each.learn_one({"a": None if t == 6 else t * 1.0, "b": "xy"[t % 2], "c": 2.0}, t % 2)
    assert content(model) == content(twin)


def test_readers_see_rows_that_belong_together() -> None:
    """The weights and the moments of one version: the twin has all versions, one after the other."""
    rows = [{"a": float(t % 11), "b": "xyz"[t % 3], "c": f"some words w{t % 5} and more"} for t in range(3000)]
    model, twin = (pipeline(Table(n_features=128), UnitNorm(), AROWClassifier()) for _ in range(2))
    asked, possible, found, done = rows[5], {None}, set(), threading.Event()
    for t, x in enumerate(rows):
        twin.learn_one(x, t * t % 11 > 4)
        possible.add(twin._answer_one(asked)[1])

    def read() -> None:
        while not done.is_set():
            found.add(model._answer_one(asked)[1])

    reader, often = threading.Thread(target=read), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    reader.start()
    try:
        for t, x in enumerate(rows):
            model.learn_one(x, t * t % 11 > 4)
    finally:
        done.set()
        reader.join()
        sys.setswitchinterval(often)
    assert len(found) > 2
    assert found <= possible
