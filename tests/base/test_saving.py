"""Model files: whole or not at all, and never trusted."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from safetensors.numpy import load_file, save_file

import onepass
from files import array, header_of, put, rewrite
from onepass import ModelFileError
from onepass.base.saving import ENDS, MANY, NAMES

X = np.random.default_rng(0).normal(size=(30, 4))
Y = np.where(X[:, 0] > 0, "yes", "no")


@pytest.fixture
def model() -> Any:
    return onepass.PAClassifier(average=True, class_weight="balanced").fit(X, Y)


@pytest.fixture
def file(model: Any, tmp_path: Path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


# --- writing ---


@pytest.mark.parametrize("function", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()], ids=["disk", "interrupt"])
def test_a_crash_while_writing_leaves_the_old_file(
    model: Any, file: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException
) -> None:
    def crash(*arguments: Any, **options: Any) -> None:
        raise error

    before = file.read_bytes()
    model.partial_fit(X, Y)
    with monkeypatch.context() as patched:
        patched.setattr(os, function, crash)
        with pytest.raises(type(error)):
            model.save(file)
        with pytest.raises(type(error)):
            model.save(file.with_name("new"))
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["model"], "nothing may be left lying about"
    model.save(file)
    assert file.read_bytes() != before


def test_the_new_file_is_complete_before_it_takes_the_name(model: Any, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []

    def watched(name: str) -> Callable[..., Any]:
        original = getattr(os, name)

        def call(*arguments: Any) -> Any:
            order.append(name)
            return original(*arguments)

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, watched(name))
    model.save(file)
    assert order[:2] == ["fsync", "replace"]


def test_unwritable_paths(model: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "no such folder" / "model")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        model.save(tmp_path / "file" / "model")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        model.save(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_permissions_are_those_of_any_file(model: Any, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode == plain.stat().st_mode
    (tmp_path / "model").chmod(0o640)
    model.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640


def test_a_path_may_be_a_string(model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model.save("model")
    np.testing.assert_array_equal(onepass.load("model").decision_function(X), model.decision_function(X))


# --- reading ---


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        onepass.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        onepass.load(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"text", b"\x00" * 100, b"\xff" * 100, b"\x10\x00\x00\x00\x00\x00\x00\x00" + b"{}" + b" " * 14],
    ids=["empty", "text", "zeros", "ones", "no header"],
)
def test_not_a_model(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="not a model file of onepass"):
        onepass.load(tmp_path / "model")


def test_arrays_of_another_program(tmp_path: Path) -> None:
    save_file({"w": np.zeros(3)}, tmp_path / "model")
    with pytest.raises(ModelFileError, match="not a model file of onepass"):
        onepass.load(tmp_path / "model")
    save_file({"w": np.zeros(3)}, tmp_path / "model", {"onepass": "{not json"})
    with pytest.raises(ModelFileError, match="not a model file of onepass"):
        onepass.load(tmp_path / "model")


def test_every_truncation_is_noticed(file: Path) -> None:
    content = file.read_bytes()
    for size in range(0, len(content), 37):
        file.write_bytes(content[:size])
        with pytest.raises(ModelFileError):
            onepass.load(file)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "sprung"),))

    (tmp_path / "model").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelFileError):
        onepass.load(tmp_path / "model")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("version", [0, 4, None, "1", [1]])
def test_another_format_version(file: Path, version: Any) -> None:
    rewrite(file, put("format", value=version))
    with pytest.raises(ModelFileError, match=r"format .*this version of onepass reads formats up to 3"):
        onepass.load(file)


def test_the_first_format_can_be_read(model: Any, file: Path) -> None:
    """All names were part of the header, however many."""
    rewrite(file, put("format", value=1))
    np.testing.assert_array_equal(onepass.load(file).coef_, model.coef_)
    names = learner_of_names([f"f{j}" for j in range(MANY)])
    names.save(file)

    def as_it_was(header: Any, arrays: dict[str, Any]) -> None:
        header["format"] = 1
        header["state"]["columns"] = list(names.feature_names_in_)
        del arrays[NAMES], arrays[ENDS]

    rewrite(file, as_it_was)
    assert onepass.load(file).feature_names_in_.tolist() == names.feature_names_in_.tolist()


@pytest.mark.parametrize("name", ["NoSuchLearner", "object", "dict", ""])
def test_an_unknown_class(file: Path, name: str) -> None:
    rewrite(file, put("class", value=name))
    with pytest.raises(ModelFileError, match="does not have"):
        onepass.load(file)


DAMAGE = {
    "weights too short": array("w", lambda w: w[:-1]),
    "weights of another rank": array("w", lambda w: w[None]),
    "weights of another type": array("w", lambda w: w.astype(np.float32)),
    "gap too short": array("gap.w", lambda w: w[:-1]),
    "counters too short": array("count", lambda count: count[:1]),
    "counters of another type": array("count", lambda count: count.astype(float)),
    "clock too short": array("clock", lambda clock: clock[:2]),
    "counts of classes too short": array("class_counts", lambda counts: counts[:1]),
    "no weights": lambda header, arrays: arrays.pop("w"),
    "no counters": lambda header, arrays: arrays.pop("count"),
    "no gap": lambda header, arrays: arrays.pop("gap.w"),
    "no clock": lambda header, arrays: arrays.pop("clock"),
    "no counts of classes": lambda header, arrays: arrays.pop("class_counts"),
    "more features than weights": put("state", "n_features", value=1000),
    "features below zero": put("state", "n_features", value=-1),
    "more features at the start": put("state", "known", value=1000),
    "more names than features": put("state", "columns", value=[f"f{j}" for j in range(50)]),
    "more classes": put("state", "classes", value={"kind": "<U3", "labels": ["a", "b", "c"]}),
    "another form": put("state", "form", value="multiclass"),
    "an unknown form": put("state", "form", value="none such"),
    "an unknown type": put("state", "dtype", value="float8"),
    "an unknown parameter": put("parameters", "none such", value=1),
    "a state of another kind": put("state", value=[1, 2]),
    "no class": lambda header, arrays: header.pop("class"),
    "no parameters": lambda header, arrays: header.pop("parameters"),
    "half a state": lambda header, arrays: header["state"].pop("classes"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_noticed(file: Path, damage: str) -> None:
    """Above all where the compiled loop would follow it out of bounds."""
    rewrite(file, DAMAGE[damage])
    with pytest.raises(ModelFileError):
        onepass.load(file)


def test_a_header_that_is_no_object(tmp_path: Path) -> None:
    save_file({"w": np.zeros(3)}, tmp_path / "model", {"onepass": "[1, 2]"})
    with pytest.raises(ModelFileError):
        onepass.load(tmp_path / "model")


def test_sizes_of_another_model(tmp_path: Path) -> None:
    onepass.PAMOClassifier(dimensions=4, random_state=0).fit(X, Y).save(tmp_path / "model")
    rewrite(tmp_path / "model", put("parameters", "dimensions", value=64))
    with pytest.raises(ModelFileError, match=r"array '[Uw]'"):
        onepass.load(tmp_path / "model")


def test_a_class_of_ones_own(tmp_path: Path) -> None:
    class MyClassifier(onepass.PAClassifier):
        """Known as soon as it is defined."""

    MyClassifier(C=0.3).fit(X, Y).save(tmp_path / "model")
    other = onepass.load(tmp_path / "model")
    assert type(other) is MyClassifier
    assert other.C == 0.3


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": np.float64(0.5)},
        {"class_weight": {"yes": 2.0, "no": 0.5}},
        {"classes": np.array(["no", "yes"])},
        {"classes": ("no", "yes")},
        {"average": 12.5},
        {"average": "uniform", "max_iter": np.int64(2)},
    ],
    ids=str,
)
def test_parameters_come_back(parameters: dict[str, Any], tmp_path: Path) -> None:
    model = onepass.PAClassifier(**parameters).fit(X, Y)
    model.save(tmp_path / "model")
    other = onepass.load(tmp_path / "model")
    for name, value in model.get_params().items():
        assert np.array_equal(np.asarray(getattr(other, name)), np.asarray(value))
    np.testing.assert_array_equal(other.partial_fit(X, Y).coef_, model.partial_fit(X, Y).coef_)


def test_int_labels_of_a_class_weight_come_back_as_ints(tmp_path: Path) -> None:
    model = onepass.PAClassifier(class_weight={0: 1.0, 1: 3.0}).fit(X, (Y == "yes").astype(int))
    model.save(tmp_path / "model")
    assert onepass.load(tmp_path / "model").class_weight == {0: 1.0, 1: 3.0}


# --- parameters ---

COSTS = np.array([[0.0, 1.0], [9.0, 0.0]])


def resumed(model: Any, file: Path) -> Any:
    model.save(file)
    return onepass.load(file)


@pytest.mark.plain
@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, np.asarray, np.ndarray.tolist], ids=str)
def test_tables_as_parameters_come_back(table: Callable[[Any], Any], tmp_path: Path) -> None:
    y = np.arange(30) % 2
    model = onepass.PAClassifier(costs=table(COSTS), update="max_loss", classes=[0, 1]).partial_fit(X, y)
    other = resumed(model, tmp_path / "model")
    assert other.costs == COSTS.tolist()
    np.testing.assert_array_equal(other.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)

    bases = onepass.pipeline(onepass.RBFBasis(centres=table(X[:3])), onepass.PARegressor()).partial_fit(X, X[:, 0])
    other = resumed(bases, tmp_path / "model")
    assert other.stages[0].centres == X[:3].tolist()
    np.testing.assert_array_equal(other.partial_fit(X, X[:, 0]).predict(X), bases.partial_fit(X, X[:, 0]).predict(X))


@pytest.mark.parametrize(
    "classes",
    [pd.Series(["no", "yes"]), pl.Series(["no", "yes"]), pa.array(["no", "yes"]), pd.Index(["no", "yes"]), {"no", "yes"}],
    ids=lambda classes: type(classes).__name__,
)
def test_declared_labels_come_back(classes: Any, tmp_path: Path) -> None:
    other = resumed(onepass.PAClassifier(classes=classes), tmp_path / "model")
    assert sorted(other.classes) == ["no", "yes"]
    assert resumed(onepass.PAClassifier(classes=range(3)), tmp_path / "model").classes == [0, 1, 2]


@pytest.mark.parametrize(
    "weights",
    [{np.int64(0): np.float32(0.5), np.int64(1): 2}, {np.str_("a"): 1.0}, {(1, 2): 3.0}, {True: 2.0, False: 1}],
    ids=str,
)
def test_any_labels_of_a_class_weight_come_back(weights: Any, tmp_path: Path) -> None:
    other = resumed(onepass.PAClassifier(class_weight=weights), tmp_path / "model")
    assert other.class_weight == weights
    assert all(not isinstance(label, np.generic) for label in other.class_weight)


def test_infinity_and_nan_come_back(tmp_path: Path) -> None:
    active = onepass.ActiveLearner(onepass.PAClassifier(), delta=np.inf, random_state=0).fit(X, Y)
    assert resumed(active, tmp_path / "model").delta == np.inf
    assert np.isinf(resumed(onepass.PAClassifier(C=np.inf), tmp_path / "model").C)
    assert np.isnan(resumed(onepass.PAClassifier(C=np.nan), tmp_path / "model").C)


def test_switches_of_numpy_can_be_saved(tmp_path: Path) -> None:
    model = onepass.PAClassifier(grow=np.bool_(True), average=np.bool_(True)).partial_fit(X, Y)
    np.testing.assert_array_equal(resumed(model, tmp_path / "model").decision_function(X), model.decision_function(X))


def test_a_generator_is_not_kept(tmp_path: Path) -> None:
    """What it drew is in the state."""
    model = onepass.PAMOClassifier(random_state=np.random.RandomState(3)).fit(X, Y)
    other = resumed(model, tmp_path / "model")
    assert other.random_state is None
    np.testing.assert_array_equal(other.partial_fit(X, Y).decision_function(X), model.partial_fit(X, Y).decision_function(X))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Fraction(1, 2), "Fraction"),
        (object(), "object"),
        (b"1", "bytes"),
        (1j, "complex"),
        ([1.0, object()], "object"),
        ({"a": {"b": object()}}, "object"),
        (np.array(["2026-01-01"], "datetime64[ns]"), "ndarray"),
        (np.longdouble(1), "longdouble"),
        (10**5000, "digits"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_file_cannot_hold_is_refused_before_it_is_touched(file: Path, value: Any, kind: str) -> None:
    before = file.read_bytes()
    for model in (
        onepass.PAClassifier(C=value),
        onepass.pipeline(onepass.UnitNorm(), onepass.PAClassifier(C=value)),
        onepass.ActiveLearner(onepass.PAClassifier(C=value)),
    ):
        with pytest.raises(ValueError, match=rf"parameter 'C' of PAClassifier can't be saved \(.*{kind}.*use pickle"):
            model.save(file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["model"]


# --- names of features ---


def learner_of_names(names: list[str], model: Any = None) -> Any:
    model = onepass.PAClassifier(classes=[0, 1]) if model is None else model
    model.learn_one({name: 1.0 + j for j, name in enumerate(names)}, 1)
    model.learn_one(dict.fromkeys(names, 1.0), 0)
    return model


@pytest.mark.parametrize("count", [MANY - 1, MANY], ids=["few", "many"])
def test_any_text_is_a_name(count: int, tmp_path: Path) -> None:
    names = ["", "a", "a\0", "\0", "é", "日本", "\U0001f600", *(f"f{j}" for j in range(count - 7))]
    model = learner_of_names(names)
    other = resumed(model, tmp_path / "model")
    assert other.feature_names_in_.tolist() == names
    assert (NAMES in load_file(tmp_path / "model")) == (count == MANY), "a header that has become too long"
    np.testing.assert_array_equal(learner_of_names(["new"], other).coef_, learner_of_names(["new"], model).coef_)


def test_surrogates_stay_apart(tmp_path: Path) -> None:
    names = ["\ud83d", "\ud83d\ude00", "\U0001f600"]
    assert resumed(learner_of_names(names), tmp_path / "model").feature_names_in_.tolist() == names


@pytest.mark.plain
def test_many_names_in_the_steps_of_a_model(tmp_path: Path) -> None:
    names = [f"f{j}" for j in range(MANY)]
    steps = onepass.pipeline(onepass.StandardScaler(), onepass.PAClassifier(classes=[0, 1]))
    model = learner_of_names(names, onepass.ActiveLearner(steps, delta=np.inf, random_state=0))
    other = resumed(model, tmp_path / "model")
    assert other.feature_names_in_.tolist() == names
    row = dict.fromkeys(names, 2.0)
    assert other.predict_one(row) == model.predict_one(row)


BAD_NAMES = {
    "no text": lambda header, arrays: arrays.pop(NAMES),
    "no ends": lambda header, arrays: arrays.pop(ENDS),
    "text of another type": array(NAMES, lambda text: text.astype(np.int8)),
    "text of two axes": array(NAMES, lambda text: text[None]),
    "text too short": array(NAMES, lambda text: text[:-1]),
    "text too long": array(NAMES, lambda text: np.append(text, np.uint8(97))),
    "text that is no text": array(NAMES, lambda text: np.full_like(text, 255)),
    "ends of another type": array(ENDS, lambda ends: ends.astype(np.float64)),
    "ends of two axes": array(ENDS, lambda ends: ends[None]),
    "no end": array(ENDS, lambda ends: ends[:0]),
    "an end too few": array(ENDS, lambda ends: ends[1:]),
    "an end too many": array(ENDS, lambda ends: np.append(ends, ends[-1])),
    "an end below zero": array(ENDS, lambda ends: np.append(-1, ends[1:])),
    "an end too far": array(ENDS, lambda ends: np.append(ends[:-1], 2**62)),
    "ends that go back": array(ENDS, lambda ends: np.sort(ends)[::-1].copy()),
    "a name twice": array(NAMES, lambda text: np.full_like(text, 97)),
}


@pytest.mark.parametrize("damage", BAD_NAMES)
def test_damaged_names_are_noticed(damage: str, tmp_path: Path) -> None:
    learner_of_names([f"f{j:04}" for j in range(MANY)]).save(tmp_path / "model")
    rewrite(tmp_path / "model", BAD_NAMES[damage])
    with pytest.raises(ModelFileError):
        onepass.load(tmp_path / "model")


# --- files of format 1 ---

FORMAT1 = Path(__file__).parent / "format1"  # files that were written by it, and what their models said then
SAID = json.loads((FORMAT1 / "scores.json").read_text())


@pytest.mark.plain
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.compiled] if name == "PA" else []) for name in SAID])
def test_a_model_of_format_1_goes_on(name: str, tmp_path: Path) -> None:
    assert header_of(FORMAT1 / f"{name}.onepass")["format"] == 1
    model, rows = onepass.load(FORMAT1 / f"{name}.onepass"), SAID[name]["rows"]
    # Sums may be added up in another order by now and on another machine.
    np.testing.assert_allclose(scores_of(model, rows), SAID[name]["scores"], rtol=1e-12, atol=1e-12)
    for x, y in zip(rows, model.predict(rows).tolist(), strict=True):
        model.learn_one(x if isinstance(x, dict) else np.array(x), y)
    model.save(tmp_path / "model")
    again = onepass.load(tmp_path / "model")
    np.testing.assert_array_equal(scores_of(again, rows), scores_of(model, rows))


def scores_of(model: Any, rows: Any) -> Any:
    return (getattr(model, "decision_function", None) or model.predict)(rows)
