"""Columns that a Table encodes by targets: against plain Python, the same through every way in, never by a row's own target."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from files import array, rewrite
from onepass import (
    ActiveLearner,
    AROWClassifier,
    ModelFileError,
    OGDRegressor,
    PAClassifier,
    PAMultilabel,
    PAUniclass,
    StandardScaler,
    Table,
    UnitNorm,
    load,
    pipeline,
)
from onepass.evaluate import prequential
from onepass.streams import open as stream_of
from shared import snapshot

pytestmark = pytest.mark.plain

N, WIDTH, CELLS = 150, 256, 4096
RNG = np.random.default_rng(0)
ROWS = [
    {
        "city": None if RNG.random() < 0.1 else f"city {RNG.integers(12)}",
        "code": int(RNG.integers(30)),
        "size": float(RNG.normal()),
        "kind": ["a", "b"][int(RNG.integers(2))],
    }
    for _ in range(N)
]
ENCODED = ["city", "code"]
TARGETS = {
    "two": np.array(["no", "yes"])[(RNG.random(N) < 0.1 + 0.025 * np.array([row["code"] for row in ROWS])).astype(int)],
    "many": np.array([f"label {k}" for k in (np.array([row["code"] for row in ROWS]) + (RNG.random(N) < 0.3)) % 4]),
    "whole": (np.array([row["code"] for row in ROWS]) + (RNG.random(N) < 0.3)) % 3,
    "numbers": RNG.normal(size=N) + np.array([row["code"] for row in ROWS]),
}
every_target = pytest.mark.parametrize("kind", TARGETS)


def model(kind: str, **options: Any) -> Any:
    learner: Any = OGDRegressor() if kind == "numbers" else AROWClassifier(grow="labels")
    return pipeline(Table(WIDTH, encode=ENCODED, cells=CELLS, **options), learner)


def content(model: Any) -> list[Any]:
    return [snapshot(step) for _, step in model.steps]


# --- the same again, in plain Python ---


def shown(kind: str, rows: list[dict[str, Any]], y: Any, taught: Any, a: float) -> list[dict[tuple[str, Any], float]]:
    """For each row, what is said of a column, or of a column and a label: the definition, over all earlier rows each time."""
    told = []
    for t, row in enumerate(rows):
        before = [s for s in range(t) if taught[s]]
        labels = [1] if kind == "numbers" else sorted({y[s] for s in before})
        labels = labels if kind == "numbers" else labels[1:] if len(labels) == 2 else labels if len(labels) > 2 else []
        said = {}
        for name in ENCODED:
            alike = [s for s in before if rows[s][name] == row[name]]
            for label in labels if before and row[name] is not None else []:
                hit = {s: y[s] if kind == "numbers" else float(y[s] == label) for s in before}
                of_all = sum(hit.values()) / len(before)
                said[name, label] = (sum(hit[s] for s in alike) + a * of_all) / (len(alike) + a)
        told.append(said)
    return told


def scaled(told: list[dict[Any, float]], taught: Any) -> list[dict[Any, float]]:
    seen: dict[Any, list[float]] = {}
    out = []
    for said, counts in zip(told, taught, strict=True):
        row = {}
        for key, value in said.items():
            past = seen.get(key, [0.0])
            deviation = float(np.std(past))
            row[key] = (value - float(np.mean(past))) / deviation if deviation > 1e-12 else 0.0
            if counts:
                seen.setdefault(key, []).append(value)
        out.append(row)
    return out


class Watching(UnitNorm):
    """Rows as they come behind the Table."""

    def _learn_transform(self, X: Any, weights: Any, door: Any, targets: Any = None) -> Any:
        self._seen: Any = X.data if isinstance(X.data, np.ndarray) else X.data.toarray()
        return super()._learn_transform(X, weights, door, targets)


@every_target
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("smoothing", [0.5, 20.0])
def test_the_same_as_in_plain_python(kind: str, scale: bool, smoothing: float) -> None:
    y, taught = TARGETS[kind], np.random.default_rng(3).random(N) < 0.8
    taught[:2] = True
    rows = [{name: row[name] for name in ENCODED} for row in ROWS]
    frame = import_module("pandas").DataFrame(rows)
    watching = Watching()
    stage = Table(WIDTH, encode=ENCODED, cells=2**20, scale=scale, smoothing=smoothing)
    learner: Any = OGDRegressor() if kind == "numbers" else AROWClassifier(classes=np.unique(y))
    pipeline(stage, watching, learner).fit(frame, y, sample_weight=taught.astype(float))
    expected = shown(kind, rows, y.tolist(), taught, smoothing)
    for t, said in enumerate(scaled(expected, taught) if scale else expected):
        row = np.zeros(watching._seen.shape[1])
        for (name, label), value in said.items():
            if kind == "numbers":
                row[ENCODED.index(name)] = value
            else:
                h = (murmurhash3_32(name) * 0x9E3779B1 + murmurhash3_32(f"={label}")) & 0x7FFFFFFF
                row[h % WIDTH] += value
        if None in rows[t].values() and not scale:
            continue  # what is missing is the mean so far, which is 0 when scaled
        np.testing.assert_allclose(watching._seen[t], row, rtol=1e-7, atol=1e-9)


# --- ways in ---


@every_target
@pytest.mark.parametrize("options", [{}, {"pairs": "all"}, {"scale": False}], ids=str)
def test_the_way_in_does_not_matter(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    y = TARGETS[kind]
    expected = content(model(kind, **options).partial_fit(ROWS, y))
    one = model(kind, **options)
    for row, target in zip(ROWS, y.tolist(), strict=True):
        one.learn_one(row, target)
    assert content(one) == expected
    pandas, polars, arrow = (import_module(name) for name in ("pandas", "polars", "pyarrow"))
    framed = content(model(kind, **options).partial_fit(pandas.DataFrame(ROWS), y))
    for frame in (polars.DataFrame(ROWS), arrow.Table.from_pylist(ROWS)):
        assert content(model(kind, **options).partial_fit(frame, y)) == framed
    assert framed == expected
    parts = model(kind, **options)
    for start in range(0, N, 37):
        parts.partial_fit(ROWS[start : start + 37], y[start : start + 37])
        parts.save(tmp_path / "model")
        parts = load(tmp_path / "model")
    assert content(parts) == expected


@every_target
def test_fit_goes_through_the_rows_as_a_stream_does(kind: str) -> None:
    y = TARGETS[kind]
    assert snapshot(model(kind).fit(ROWS, y)[0]) == snapshot(model(kind).partial_fit(ROWS, y)[0])
    again = model(kind).set_params(**{f"{'ogdregressor' if kind == 'numbers' else 'arowclassifier'}__max_iter": 3})
    assert snapshot(again.fit(ROWS, y)[0]) == snapshot(model(kind).partial_fit(ROWS, y)[0])


@every_target
def test_scores_are_those_from_before(kind: str) -> None:
    y, taught = TARGETS[kind], model(kind)
    scores = model(kind).test_then_train(ROWS, y)
    taught.partial_fit(ROWS[:60], y[:60])
    for t in range(60, N):
        before = content(taught)
        said = taught.predict([ROWS[t]]) if kind == "numbers" else taught.decision_function([ROWS[t]])
        assert np.array_equal(said[0], scores[t])
        assert content(taught) == before
        taught.learn_one(ROWS[t], y[t])


@every_target
def test_rows_that_weigh_nothing_are_not_there(kind: str) -> None:
    y, weights = TARGETS[kind].copy(), np.random.default_rng(2).integers(0, 2, N).astype(float)
    taught = weights > 0
    y[~taught] = 1e6 if kind == "numbers" else -7 if kind == "whole" else "nobody looks"
    some = [row for row, counts in zip(ROWS, taught, strict=True) if counts]
    assert snapshot(model(kind).partial_fit(ROWS, y, sample_weight=weights)[0]) == snapshot(
        model(kind).partial_fit(some, y[taught])[0]
    )


@every_target
def test_streams_files_and_labels_that_come_late(kind: str, tmp_path: Path) -> None:
    y, file = TARGETS[kind], tmp_path / "table.csv"
    frame = import_module("pandas").DataFrame(ROWS)
    frame.assign(target=y).to_csv(file, index=False)
    task = "regression" if kind == "numbers" else "classification"
    contents = []
    for chunk in (1, 17, N):
        streamed = model(kind)
        with stream_of(file, label="target", chunk=chunk, task=task, missing="keep", text=["city"]) as stream:
            prequential(streamed, stream)
        contents.append(content(streamed))
    assert contents[0] == contents[1] == contents[2]
    late, ones = model(kind), model(kind)
    result = prequential(late, (frame, y), delay=5)
    by_one = prequential(ones, zip(ROWS, y.tolist(), strict=True), delay=5)
    assert result.metrics == pytest.approx(by_one.metrics)


@pytest.mark.compiled  # machine code for several labels at a time must not differ from that for one
@pytest.mark.parametrize("kind", ["two", "many", "whole"])
def test_who_asks_for_labels_encodes_by_those_alone(kind: str) -> None:
    y = TARGETS[kind]
    active = ActiveLearner(model(kind), delta=0.1, random_state=0)
    asked = []
    for row, label in zip(ROWS, y.tolist(), strict=True):
        if active.query(row):
            active.answer(row, label)
            asked.append((row, label))
    assert 2 < len(asked) < N
    rows, labels = zip(*asked, strict=True)
    assert content(active.learner_) == content(model(kind).partial_fit(list(rows), list(labels)))
    whole = ActiveLearner(model(kind), delta=0.1, random_state=0).partial_fit(ROWS, y)
    assert content(whole.learner_) == content(active.learner_)


def test_the_order_and_the_type_of_labels_do_not_matter() -> None:
    """Cells go by what labels are, not by their places, which change when a label comes between others."""
    y = np.array([3, 1, 2] * (N // 3))
    codes = {1: "a", 2: "b", 3: "c"}
    taught = model("whole").partial_fit(ROWS, y)
    assert taught[0]._state.classes.tolist() == [1, 2, 3]
    for other in (y.astype(float), np.array([codes[label] for label in y.tolist()])):
        twin = model("whole").partial_fit(ROWS, other)
        assert twin[0]._state.arrays["totals"].tolist() == [N // 3] * 3
        same = np.array_equal(twin[0]._state.arrays["cells"], taught[0]._state.arrays["cells"])
        assert same == (other.dtype.kind == "f")
    grown = model("whole").partial_fit(ROWS[:60], y[:60]).partial_fit(ROWS[60:], np.append(y[60:-1], 1.5))
    assert grown[0]._state.classes.tolist() == [1.0, 1.5, 2.0, 3.0]
    assert grown[0]._state.arrays["totals"].tolist() == [N // 3, 1, N // 3 - 1, N // 3]


# --- no label in its own encoding ---


@pytest.mark.parametrize("door", ["fit", "partial_fit"])
@pytest.mark.parametrize("distinct", [600, 150])
def test_labels_that_are_chance_are_not_foretold(door: str, distinct: int) -> None:
    """With an id for each row, or for four, the encoded column is all that a leak could come through. What a leaky encoding gives the
    learner to train on says all about it, and the weights are large."""
    rng = np.random.default_rng(5)
    n = 600
    ids = np.arange(n) % distinct
    rows, y = [{"id": f"id {k}"} for k in ids], rng.integers(0, 2, n)
    watching = Watching()
    made = pipeline(Table(WIDTH, encode=["id"], smoothing=0.01), watching, PAClassifier(C=0.01))
    if door == "fit":
        made.fit(rows, y)
    else:
        made.partial_fit(rows, y, classes=[0, 1])
    column = watching._seen[:, np.abs(watching._seen).sum(axis=0).argmax()]
    first = ids == np.arange(n) if distinct < n else np.ones(n, bool)
    assert abs(np.corrcoef(column, y)[0, 1]) < 0.1
    assert np.ptp(column[first][50:]) < 4  # of values that come for the first time it says only what holds for all
    leaky = made[0].transform(rows).toarray()
    leak = leaky[:, np.abs(leaky).sum(axis=0).argmax()]
    assert np.corrcoef(leak, y)[0, 1] > 0.4  # by a Table that has counted these rows the test would have seen it


def test_it_says_what_a_column_of_many_values_is_about() -> None:
    rng = np.random.default_rng(6)
    ids = rng.integers(0, 300, 3000)
    y = (rng.random(3000) < rng.choice([0.1, 0.9], 300)[ids]).astype(int)
    frame = import_module("pandas").DataFrame({"id": [f"id {k}" for k in ids]})
    scores = pipeline(Table(WIDTH, encode=["id"]), PAClassifier(C=0.1)).test_then_train(frame, y, classes=[0, 1])
    assert ((scores >= 0) == y)[1500:].mean() > 0.8


# --- what can't be ---


def test_without_targets_there_is_nothing_to_encode_by() -> None:
    for call in (Table(encode=["city"]).fit, Table(encode=["city"]).partial_fit, Table(encode=["city"]).learn_transform):
        with pytest.raises(TypeError, match="classifier or a regressor"):
            call(ROWS)
    for learner, y in ((PAUniclass(), None), (PAMultilabel(), [["a"], ["b"]] * (N // 2))):
        with pytest.raises(TypeError, match="classifier or a regressor"):
            pipeline(Table(encode=["city"]), learner).fit(ROWS, y)


def test_errors_change_nothing(tmp_path: Path) -> None:
    taught = model("many").partial_fit(ROWS, TARGETS["many"])
    before = content(taught)
    with pytest.raises(TypeError, match="another kind"):
        taught.partial_fit(ROWS, TARGETS["whole"])
    with pytest.raises(ValueError, match="size"):
        taught.partial_fit([*ROWS[:5], {"size": np.inf}], [*TARGETS["many"][:5], "new"])
    assert content(taught) == before
    for changed in ({"table__encode": None}, {"table__cells": 7}):
        other = taught.copy().set_params(**changed)
        with pytest.raises(ValueError, match="can't change"):
            other.partial_fit(ROWS, TARGETS["many"])
        with pytest.raises(ValueError, match="can't change"):
            other.save(tmp_path / "model")
    with pytest.raises(ValueError, match="another kind"):
        pipeline(taught[0], OGDRegressor()).partial_fit(ROWS, TARGETS["numbers"])
    assert content(taught) == before
    known = pipeline(Table(encode=["city"]), AROWClassifier(classes=["no", "yes"])).partial_fit(ROWS, TARGETS["two"])
    before = content(known)
    with pytest.raises(ValueError, match="maybe"):
        known.learn_one(ROWS[0], "maybe")
    assert content(known) == before


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    for name, change in (
        ("cells", lambda a: a[:-1]),
        ("totals", lambda a: a[1:]),
        ("encoded_mean", lambda a: a[:, 1:]),
        ("kind", lambda a: np.where(a == 6, 5, a)),
        ("widths", lambda a: a * [1, 0]),
    ):
        model("many").partial_fit(ROWS, TARGETS["many"]).save(tmp_path / "model")
        rewrite(tmp_path / "model", array(f"table/{name}", change))
        with pytest.raises(ModelFileError):
            load(tmp_path / "model")


def test_an_encoded_column_is_explained_by_its_labels() -> None:
    taught = pipeline(Table(encode=ENCODED), AROWClassifier()).partial_fit(ROWS, TARGETS["many"])
    said = taught.explain_one(ROWS[0])
    assert {f"code: label {k}" for k in range(4)} <= set(said.contributions)


def test_stages_behind_see_no_difference() -> None:
    made = pipeline(Table(WIDTH, encode=ENCODED), StandardScaler(), UnitNorm(), AROWClassifier())
    twin = made.copy()
    made.partial_fit(ROWS, TARGETS["many"])
    for row, label in zip(ROWS, TARGETS["many"].tolist(), strict=True):
        twin.learn_one(row, label)
    assert content(made) == content(twin)
