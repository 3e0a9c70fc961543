"""Table: raw columns against the plainest Python, the same through every way in, and never broken by a value."""

from __future__ import annotations

import datetime
import math
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from files import array, rewrite
from onepass import AROWClassifier, ModelFileError, PAClassifier, StandardScaler, Table, load, pipeline
from onepass.base.knowledge import STREAM
from onepass.evaluate import prequential
from onepass.streams import open as stream_of
from shared import dataset_file, snapshot

pytestmark = pytest.mark.plain

WIDTH = 512
CITIES = [None, "Rome", "Oslo", "New York", "São Paulo"]
NOTES = ["see you at the lunch now", "WIN a big prize today!!", None, "ok", "a b c d e f g"]


def raw(n: int = 120, holes: bool = True) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    rows = []
    for t in range(n):
        start = datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=int(rng.integers(9000)))
        rows.append(
            {
                "age": None if holes and rng.random() < 0.2 else float(rng.integers(18, 90)),
                "city": CITIES[int(rng.integers(len(CITIES)))],
                "member": bool(rng.integers(2)),
                "when": None if holes and rng.random() < 0.1 else str(start),
                "note": NOTES[0] if t == 0 else NOTES[int(rng.integers(len(NOTES)))],
                "code": int(rng.integers(5)),
            }
        )
    rows[0]["age"], rows[0]["city"] = 40.0, "Rome"
    rows[0]["when"] = "2024-06-01 12:00:00"
    return rows


Y = np.random.default_rng(1).integers(0, 2, 120)


# --- the same again, in plain Python ---


def naive(rows: list[dict[str, Any]], categories: list[str], pairs: bool, scale: bool, fill: float | None) -> np.ndarray:
    """Rows of the columns above, all of which are in the first row."""
    moments = {name: [0, 0.0, 0.0] for name in ("age", "member", "when", "code")}
    slots = {"age": 0, "member": 1, "when": 2} | ({} if "code" in categories else {"code": 9})
    own = 9 if "code" in categories else 10
    out = np.zeros((len(rows), own + WIDTH))
    for t, row in enumerate(rows):
        single = {}
        for name, slot in slots.items():
            value = row[name]
            date = None
            if name == "when" and value is not None:
                date = datetime.datetime.fromisoformat(value).replace(tzinfo=datetime.UTC).timestamp() / 86400
                value = date
            count, mean, squares = moments[name]
            x = float(value) if value is not None else mean if count == 0 or fill is None else fill
            if scale:
                x = (x - mean) / math.sqrt(squares / count) if squares > 0 else 0.0
            out[t, slot] = x
            single[name] = (murmurhash3_32(name), x)
            if date is not None:
                turns = [2 * math.pi * date, 2 * math.pi * (date + 4) / 7, 2 * math.pi * date / 365.2425]
                out[t, slot + 1 : slot + 7] = [f(turn) for turn in turns for f in (math.sin, math.cos)]
            if value is not None:
                error = float(value) - mean
                mean += error / (count + 1)
                moments[name] = [count + 1, mean, squares + error * (float(value) - mean)]
        for name in ["city", *categories]:
            if row[name] is not None:
                single[name] = (murmurhash3_32(f"{name}={row[name]}"), 1.0)
                put(out[t], own, *single[name])
        if pairs:
            order = [name for name in row if name in single]
            for a, b in combinations(order, 2):
                (h, x), (g, y) = single[a], single[b]
                put(out[t], own, (h * 0x9E3779B1 + g) & 0x7FFFFFFF, x * y)
    return out


def put(row: np.ndarray, own: int, h: int, value: float) -> None:
    row[own + abs(h) % WIDTH] += -value if h < 0 else value


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("fill", [None, 7.0])
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("categories", [[], ["code"]])
def test_the_same_as_in_plain_python(scale: bool, fill: float | None, pairs: bool, categories: list[str]) -> None:
    rows = [{name: value for name, value in row.items() if name != "note"} for row in raw()]
    stage = Table(
        WIDTH, categories=categories, pairs="all" if pairs else None, scale=scale, missing="mean" if fill is None else fill
    )
    made = stage.learn_transform(rows).toarray()
    np.testing.assert_allclose(made, naive(rows, categories, pairs, scale, fill), rtol=1e-9, atol=1e-9)


def test_a_text_is_a_bag_of_words() -> None:
    made = Table(WIDTH).fit(raw()).transform([{"note": "you win you"}]).toarray()[0]
    assert np.isclose(np.linalg.norm(made), 1)
    assert sorted(np.abs(made[made != 0]).round(6).tolist()) == [0.447214, 0.894427]


# --- ways in ---


def frames(rows: list[dict[str, Any]]) -> dict[str, Any]:
    pandas, polars, arrow = (import_module(name) for name in ("pandas", "polars", "pyarrow"))
    return {"pandas": pandas.DataFrame(rows), "polars": polars.DataFrame(rows), "arrow": arrow.Table.from_pylist(rows)}


def model(**options: Any) -> Any:
    return pipeline(Table(WIDTH, **options), AROWClassifier(classes=[0, 1]))


def content(model: Any) -> list[Any]:
    return [snapshot(step) for _, step in model.steps]


OPTIONS: list[dict[str, Any]] = [{}, {"pairs": "all"}, {"pairs": [("age", "city")]}, {"categories": ["code"], "drop": ["when"]}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_way_in_does_not_matter(options: dict[str, Any], tmp_path: Path) -> None:
    rows = raw()
    expected = content(model(**options).partial_fit(rows, Y))
    one = model(**options)
    for t, row in enumerate(rows):
        one.learn_one(row, Y[t])
    assert content(one) == expected
    for frame in frames(rows).values():
        assert content(model(**options).partial_fit(frame, Y)) == expected
    parts = model(**options)
    for start in range(0, len(rows), 37):
        parts.partial_fit(rows[start : start + 37], Y[start : start + 37])
        parts.save(tmp_path / "model")
        parts = load(tmp_path / "model")
    assert content(parts) == expected


def test_columns_that_come_late_or_begin_with_a_hole() -> None:
    rows = raw()
    for t in range(5):
        rows[t] |= {"age": None, "city": None, "when": None}
    for t in range(20):
        del rows[t]["code"]
    expected = content(model(pairs="all").partial_fit(rows, Y))
    one = model(pairs="all")
    for t, row in enumerate(rows):
        one.learn_one(row, Y[t])
    assert content(one) == expected
    assert one[0].kinds_["code"] == one[0].kinds_["age"] == "number"
    assert one[0].kinds_["when"] == "date"


def test_scores_are_those_from_before() -> None:
    rows, taught = raw(), model()
    scores = model().test_then_train(rows, Y)
    taught.partial_fit(rows[:30], Y[:30])
    for t in range(30, len(rows)):
        before = content(taught)
        assert taught.decision_function([rows[t]])[0] == scores[t]
        assert content(taught) == before
        taught.learn_one(rows[t], Y[t])


def test_numbers_alone_are_dense_and_scaled_as_by_the_scaler() -> None:
    pandas = import_module("pandas")
    X = np.random.default_rng(2).normal(5, 3, size=(50, 3))
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    made = pipeline(Table(), PAClassifier()).partial_fit(frame, Y[:50], classes=[0, 1])
    assert made.learner.n_features_in_ == 3
    np.testing.assert_allclose(
        made.decision_function(frame),
        pipeline(StandardScaler(), PAClassifier()).partial_fit(X, Y[:50], classes=[0, 1]).decision_function(X),
        rtol=1e-9,
    )
    assert Table().fit(frame).get_feature_names_out().tolist() == ["a", "b", "c"]


# --- values of all kinds ---


@pytest.mark.parametrize("bad", [math.inf, -math.inf, 1e200, 10**400], ids=["inf", "-inf", "1e200", "10**400"])
def test_bad_numbers_change_nothing(bad: Any) -> None:
    rows, taught = raw(), model().partial_fit(raw(), Y)
    before = content(taught)
    rows[60]["age"] = bad
    for call in (
        lambda: taught.partial_fit(rows, Y),
        lambda: taught.learn_one(rows[60], 1),
        lambda: taught.predict(rows),
        lambda: taught.predict_one(rows[60]),
    ):
        with pytest.raises(ValueError, match="age"):
            call()
    assert content(taught) == before


@pytest.mark.parametrize("bad", [[1.0], {"x": 1}, object(), b"bytes"], ids=["list", "dict", "object", "bytes"])
def test_values_that_are_no_values_change_nothing(bad: Any) -> None:
    taught = model().partial_fit(raw(), Y)
    before = content(taught)
    with pytest.raises((TypeError, ValueError), match="age"):
        taught.learn_one({"age": bad}, 1)
    with pytest.raises(TypeError, match="names of text"):
        taught.learn_one({3: 1.0}, 1)
    for X in (np.zeros((2, 3)), [[1.0, 2.0]], ["text"]):
        with pytest.raises(TypeError, match="Table takes"):
            taught.partial_fit(X, [0, 1][: len(X)])
    assert content(taught) == before


def test_numbers_stored_as_text_are_numbers_and_stray_texts_are_categories() -> None:
    taught = Table(WIDTH).partial_fit([{"n": 1.0}, {"n": 3.0}])
    assert taught.transform([{"n": " 3 "}]).toarray().tolist() == taught.transform([{"n": 3.0}]).toarray().tolist()
    stray = taught.transform([{"n": "many"}]).toarray()[0]
    assert stray[0] == 0
    assert np.abs(stray).sum() == 1
    assert np.array_equal(taught.transform([{"n": np.float32(3)}]).toarray(), taught.transform([{"n": 3}]).toarray())


def test_dates_of_all_kinds_are_the_same() -> None:
    pandas = import_module("pandas")
    when = [datetime.datetime(2024, 2, 29, 18, 30), datetime.datetime(2024, 3, 1), None]
    texts = [None if date is None else str(date) for date in when]
    expected = Table(WIDTH).learn_transform([{"d": date} for date in when]).toarray()
    assert np.array_equal(Table(WIDTH).learn_transform([{"d": text} for text in texts]).toarray(), expected)
    frame = pandas.DataFrame({"d": pandas.to_datetime(pandas.Series(when))})
    assert np.array_equal(Table(WIDTH).learn_transform(frame), expected[:, :7])
    assert not expected[2].any()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    model().partial_fit(raw(), Y).save(tmp_path / "model")
    for name, change in (("kind", lambda a: a + 9), ("slot", lambda a: a + 1e6), ("widths", lambda a: -a)):
        rewrite(tmp_path / "model", array(f"table/{name}", change))
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")
        model().partial_fit(raw(), Y).save(tmp_path / "model")


# --- real data ---


def test_spam_by_its_column() -> None:
    pandas = import_module("pandas")
    labels, texts = zip(*(line.split("\t", 1) for line in dataset_file("sms-spam.tsv").splitlines()), strict=True)
    result = prequential(pipeline(Table(), AROWClassifier()), (pandas.DataFrame({"text": texts}), np.array(labels)))
    assert result.metrics["mistake_rate"] < 0.025


def test_a_stream_is_a_frame(tmp_path: Path) -> None:
    pandas = import_module("pandas")
    rows = raw(holes=False)
    frame = pandas.DataFrame(rows).fillna({"city": "nowhere", "note": "nothing"})
    file = tmp_path / "table.csv"
    frame.assign(label=Y).to_csv(file, index=False)
    streamed = pipeline(Table(WIDTH), AROWClassifier())
    with stream_of(file, label="label", chunk=17) as stream:
        prequential(streamed, stream)
    whole = pipeline(Table(WIDTH), AROWClassifier())
    whole._learn(frame, Y, None, STREAM)
    assert content(streamed) == content(whole)
