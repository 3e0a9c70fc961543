"""What a model is, in words."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import onepass
from onepass import AROWClassifier, KernelPA, OGDRegressor, PAClassifier, StandardScaler, Table, Text, pipeline
from onepass.evaluate import describe
from onepass.evaluate.description import Description


def test_weights_are_named_and_the_largest_come_first() -> None:
    X = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    model = PAClassifier(fit_intercept=False).fit(X, ["a", "b", "c"])
    facts = describe(model).facts
    names = list(facts["largest_weights"])
    assert all(" for " in name for name in names)
    sizes = np.abs(list(facts["largest_weights"].values()))
    assert (np.diff(sizes) <= 0).all()
    assert sizes.max() == np.abs(model.coef_).max()
    one = AROWClassifier().partial_fit([{"size": 2.0, "age": 1.0}], ["x"], classes=["x", "y"])
    assert set(describe(one).facts["largest_weights"]) == {"size", "age"}


@pytest.mark.parametrize(
    "model",
    [PAClassifier(), OGDRegressor(), KernelPA(), pipeline(StandardScaler(), PAClassifier())],
    ids=lambda m: type(m).__name__,
)
def test_a_model_that_has_learned_nothing_can_be_described(model: Any) -> None:
    assert type(model).__name__ in str(describe(model)) or "StandardScaler" in str(describe(model))


def test_html_is_escaped() -> None:
    model = PAClassifier().fit(np.eye(2), ["<b>", "&"])
    assert "<b>" not in describe(model)._repr_html_()
    assert "&lt;b&gt;" in describe(model)._repr_html_()


def test_metadata_go_with_the_model(tmp_path: Path) -> None:
    model = PAClassifier().fit(np.eye(2), [0, 1])
    assert model.metadata == {}
    model.save(tmp_path / "model", metadata={"owner": "me", "tags": ["a", 1, None]})
    again = onepass.load(tmp_path / "model")
    assert again.metadata == {"owner": "me", "tags": ["a", 1, None]}
    again.save(tmp_path / "other")
    assert onepass.load(tmp_path / "other").metadata == again.metadata
    assert "owner=me" in str(describe(again))
    for bad in ({"x": object()}, {"x": b"bytes"}):
        with pytest.raises(ValueError, match="metadata can't be saved"):
            model.save(tmp_path / "model", metadata=bad)
    assert onepass.load(tmp_path / "model").metadata["owner"] == "me"


@pytest.mark.parametrize("make", [PAClassifier, lambda: pipeline(StandardScaler(), PAClassifier())])
def test_open_files_hold_models_too(make: Any) -> None:
    model = make().fit(np.eye(3), [0, 1, 1])
    file = io.BytesIO()
    model.save(file, metadata={"n": 1})
    file.seek(0)
    again = onepass.load(file)
    assert again.decision_function(np.eye(3)).tolist() == model.decision_function(np.eye(3)).tolist()
    assert again.metadata == {"n": 1}
    with pytest.raises(onepass.ModelFileError, match="the open file is not a model file"):
        onepass.load(io.BytesIO(b"junk"))


def test_hashed_columns_are_called_by_examples() -> None:
    """A word alone is a row with one entry, so that its weight is what it adds there, whatever the sign of its hash."""
    words = [f"word{i}" for i in range(40)]
    texts = [f"{one} {other}" for one, other in zip(words, words[7:] + words[:7], strict=True)]
    model = pipeline(Text(2**18), PAClassifier()).fit(texts, np.arange(40) % 2)
    plain = describe(model).facts["largest_weights"]
    named = describe(model, [texts[:3], texts[3:]]).facts["largest_weights"]
    assert all(name.startswith("hash") for name in plain)
    assert [abs(weight) for weight in named.values()] == [abs(weight) for weight in plain.values()]
    assert {1.0, -1.0} == {np.sign(a * b) for a, b in zip(plain.values(), named.values(), strict=True)}  # hashes have signs
    for word, weight in named.items():
        assert model.explain_one(word, label=1).contributions == {word: pytest.approx(weight, rel=1e-12)}


def test_columns_of_a_table_are_called_by_examples() -> None:
    late = np.random.default_rng(0).normal(size=30).tolist()
    rows = [{"city": ("Bilbao", "Valencia")[t % 2], "age": t % 7, "late": late[t]} for t in range(30)]
    rows[0].pop("late")  # it came when the columns were laid out, and is hashed
    model = pipeline(Table(), PAClassifier())
    for t, x in enumerate(rows):
        model.learn_one(x, late[t] + t % 2 > 0.5)
    named = describe(model, [rows]).facts["largest_weights"]
    assert {"city=Bilbao", "city=Valencia", "age"} < set(named)
    assert [name[:4] for name in named.keys() - {"city=Bilbao", "city=Valencia", "age"}] == ["hash"]
    frame = pandas.DataFrame({"city": [x["city"] for x in rows], "age": [x["age"] for x in rows]})
    assert describe(model, [frame]).facts["largest_weights"] == named


def test_signs_are_those_of_hashes_not_of_values() -> None:
    """What is encoded, and products, may be below 0: a weight times the entry is what the feature adds, whatever its sign."""
    rng = np.random.default_rng(0)
    rows = [{"city": f"c{rng.integers(6)}", "zip": f"z{rng.integers(9)}", "age": float(rng.normal())} for _ in range(60)]
    y = [x["zip"] in ("z1", "z4", "z5", "z7") or x["age"] > 1.5 for x in rows]
    model = pipeline(Table(n_features=2**20, encode=["zip"], pairs=[("city", "age")]), PAClassifier())
    for x, label in zip(rows, y, strict=True):
        model.learn_one(x, label)
    weights = describe(model, [rows]).facts["largest_weights"]
    assert "zip: True" in weights
    signs = set()
    for x in rows:
        called, row = model[0]._called(model[0]._state, [x], None), model[0].transform([x])
        column = next(j for j, name in called.items() if name == "zip: True")
        signs.add(np.sign(row[0, column]))
        assert describe(model, [[x]]).facts["largest_weights"]["zip: True"] == weights["zip: True"]
        added = model.explain_one(x, label=True).contributions["zip: True"]
        assert added == pytest.approx(weights["zip: True"] * row[0, column], rel=1e-12)
    assert signs == {1.0, -1.0}


def test_a_column_without_a_name_is_seen() -> None:
    assert str(Description({"dropped": [""]})) == 'dropped  ""'
