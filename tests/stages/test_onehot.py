"""OneHot: against plain Python and what dicts do by themselves, the same through every way in."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction import FeatureHasher

from onepass import Hasher, OneHot, PAClassifier, PAMOClassifier, load, pipeline
from shared import snapshot

pytestmark = pytest.mark.plain

N = 120
RNG = np.random.default_rng(0)
ROWS = [
    {
        "city": None if RNG.random() < 0.1 else f"city {RNG.integers(12)}",
        "code": int(RNG.integers(1, 10)),
        "member": bool(RNG.integers(2)),
        "size": float(RNG.normal()),
    }
    for _ in range(N)
]
Y = np.random.default_rng(1).integers(0, 2, N)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"columns": ["code"]},
    {"columns": ["code"], "max_values": 4},
    {"columns": ["code"], "n_features": 32},
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


def content(model: Any) -> list[Any]:
    return [snapshot(step) for _, step in model.steps]


def model(**options: Any) -> Any:
    return pipeline(OneHot(**options), PAClassifier(classes=[0, 1]))


def naive(rows: list[dict[str, Any]], columns: list[str], most: int) -> list[dict[str, float]]:
    """Each row as features by name."""
    values: dict[str, list[Any]] = {}
    made = []
    for row in rows:
        features = {}
        for name, value in row.items():
            if name in columns or isinstance(value, str | bool):
                known = values.setdefault(name, [])
                if value not in known and len(known) < most:
                    known.append(value)
                features[f"{name}={value}" if value in known else f"{name} (other)"] = 1.0
            elif value is not None:
                features[name] = value
        made.append(features)
    return made


@pytest.mark.parametrize("columns", [[], ["code"]])
@pytest.mark.parametrize("most", [1, 4, 1000])
def test_the_same_as_in_plain_python(columns: list[str], most: int) -> None:
    stage = OneHot(columns, most)
    made, names = stage.learn_transform(ROWS).toarray(), stage.get_feature_names_out()
    found = [{name: value for name, value in zip(names, row, strict=True) if value != 0} for row in made]
    assert found == naive(ROWS, columns, most)
    first = [name for name in names if name.startswith("city=")]
    assert first == [f"city={city}" for city in dict.fromkeys(row["city"] for row in ROWS) if city][:most]


def test_hashed_it_is_a_hasher_of_the_same_features() -> None:
    expected = FeatureHasher(32, input_type="dict").transform(naive(ROWS, ["code"], 1000))
    assert np.array_equal(OneHot(["code"], n_features=32).learn_transform(ROWS).toarray(), expected.toarray())
    texts = [{"city": row["city"], "size": row["size"]} for row in ROWS]
    assert np.array_equal(OneHot(n_features=32).learn_transform(texts).toarray(), Hasher(32).transform(texts).toarray())


def test_a_growing_learner_does_so_with_texts_by_itself() -> None:
    rows = [{name: value for name, value in row.items() if name in ("city", "size") and value is not None} for row in ROWS]
    scores = pipeline(OneHot(), PAClassifier()).test_then_train(rows, Y)
    np.testing.assert_array_equal(scores, PAClassifier().test_then_train(rows, Y))


@every_option
def test_the_way_in_does_not_matter(options: dict[str, Any], tmp_path: Path) -> None:
    expected = content(model(**options).partial_fit(ROWS, Y))
    one = model(**options)
    for row, label in zip(ROWS, Y.tolist(), strict=True):
        one.learn_one(row, label)
    assert content(one) == expected
    pandas, polars, arrow = (import_module(name) for name in ("pandas", "polars", "pyarrow"))
    frame = pandas.DataFrame(ROWS)
    for table in (frame, frame.astype({"city": "category"}), polars.DataFrame(ROWS), arrow.Table.from_pylist(ROWS)):
        assert content(model(**options).partial_fit(table, Y)) == expected
    parts = model(**options)
    for start in range(0, N, 37):
        parts.partial_fit(ROWS[start : start + 37], Y[start : start + 37])
        parts.save(tmp_path / "model")
        parts = load(tmp_path / "model")
    assert content(parts) == expected


@every_option
@pytest.mark.parametrize("learner", [PAClassifier(classes=[0, 1]), PAMOClassifier(4, classes=[0, 1], random_state=0)], ids=str)
def test_scores_are_those_from_before(options: dict[str, Any], learner: Any) -> None:
    """Also of values that are new, for which PAMO has numbers already; and what else is predicted makes no difference."""
    made = pipeline(OneHot(**options), learner)
    taught = made.copy().partial_fit(ROWS[:20], Y[:20])
    scores = made.copy().test_then_train(ROWS, Y)
    for t in range(20, 60):
        before = content(taught)
        assert taught.decision_function([ROWS[t]])[0] == scores[t]
        assert content(taught) == before
        taught.learn_one(ROWS[t], Y[t])


@every_option
@pytest.mark.parametrize("framed", [False, True])
def test_rows_that_weigh_nothing_bring_no_values(options: dict[str, Any], framed: bool) -> None:
    weights = np.random.default_rng(2).integers(0, 2, N).astype(float)
    weights[:3] = 0
    some = [row for row, weight in zip(ROWS, weights, strict=True) if weight]
    X: Any = import_module("pandas").DataFrame(ROWS) if framed else ROWS
    assert content(model(**options).partial_fit(X, Y, sample_weight=weights)) == content(
        model(**options).partial_fit(some, Y[weights > 0])
    )


def test_what_is_unknown_gives_no_feature() -> None:
    stage = OneHot().fit(ROWS)
    assert stage.transform_one({"city": "nowhere", "size": 2.0}) == {"size": 2.0}
    assert stage.transform_one({"city": None, "member": True}) == {"member=True": 1.0}
    assert OneHot(max_values=1).fit(ROWS).transform_one({"city": "nowhere"}) == {"city (other)": 1.0}


def test_whole_numbers_are_the_same_in_columns_of_floats() -> None:
    stage = OneHot(["code"]).fit([{"code": 3}, {"code": 2.5}])
    assert stage.transform_one({"code": 3.0}) == stage.transform_one({"code": 3}) == {"code=3": 1.0}


def test_features_are_explained_by_name() -> None:
    for options in OPTIONS[:2]:
        assert "member=True" in model(**options).partial_fit(ROWS, Y).explain_one({**ROWS[0], "member": True}).contributions
    hashed = model(n_features=2**20).partial_fit(ROWS, Y).explain_one(ROWS[1])
    assert f"city={ROWS[1]['city']}" in hashed.contributions


@every_option
def test_bad_values_change_nothing(options: dict[str, Any]) -> None:
    taught = model(**options).partial_fit(ROWS, Y)
    before = content(taught)
    for bad, error in (({"size": np.inf}, ValueError), ({"size": [1]}, TypeError), ({3: 1.0}, TypeError)):
        with pytest.raises(error):
            taught.partial_fit([{"city": "new"}, bad], [0, 1])
        with pytest.raises(error):
            taught.learn_one(bad, 1)
    with pytest.raises(TypeError, match="names"):
        taught.partial_fit(np.zeros((2, 3)), [0, 1])
    assert content(taught) == before
