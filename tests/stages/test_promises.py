"""The promises of all stages, alone and before a learner. Stages are found by reflection."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import onepass
from onepass import Hasher, PAClassifier, PARegressor, Text, load, pipeline
from onepass.base import Stage
from onepass.stages.structures import Objects
from shared import snapshot

pytestmark = pytest.mark.plain

N, D = 60, 4
NAMES = [f"f{j}" for j in range(D)]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "Hasher": [{"n_features": 16}],
    "Imputer": [{}, {"fill": 0.5}, {"indicator": True}],
    "OneHot": [{}, {"columns": NAMES[2:], "max_values": 7}, {"columns": NAMES[2:], "n_features": 16}],
    "RBFBasis": [{"count": 5}],
    "StandardScaler": [{}, {"clip": 0.8}],
    "Table": [{"n_features": 16}, {"n_features": 16, "pairs": "all"}],
}
STAGES = {
    f"{name}-{options}": cls(**options)
    for name, cls in ((name, getattr(onepass, name)) for name in onepass.__all__)
    if isinstance(cls, type)
    and issubclass(cls, Stage)
    and not issubclass(cls, Text | Objects)  # their rows are objects: see test_text
    for options in OPTIONS.get(name, [{}])
}
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)

UNNAMED = ["dense", "float32", "csr"]

IN_PIPELINES = STAGES | {"Table-encode": onepass.Table(16, encode=NAMES[2:], cells=64)}  # which has no targets alone

every_stage = pytest.mark.parametrize("stage", IN_PIPELINES.values(), ids=IN_PIPELINES)


def each(ways: list[str], stages: dict[str, Any] = STAGES) -> Any:
    """Every stage with each of the ways in that it has."""
    cases = {f"{name}-{way}": (stage, way) for name, stage in stages.items() for way in ways if takes(stage, way)}
    return pytest.mark.parametrize(("stage", "way"), cases.values(), ids=cases)


def takes(stage: Any, way: str) -> bool:
    return not stage._takes_raw or way not in UNNAMED


every_way = each([*UNNAMED, "dicts", "frame"])


def table(stage: Any, way: str) -> Any:
    """Rows for a stage, with holes where it fills them."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.8) * [1, 10, 100, 0.1]
    if stage._takes_missing:
        X[rng.random((N, D)) < 0.2] = np.nan
    if way == "dicts":
        return [{name: value for name, value in zip(NAMES, x, strict=True) if value != 0} for x in X.tolist()]
    if way == "frame":
        pandas = import_module("pandas")
        return pandas.DataFrame(X, columns=NAMES)
    return sp.csr_array(X) if way == "csr" else X.astype("float32" if way == "float32" else "float64")


def some(X: Any, start: int, stop: int) -> Any:
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def plain(X: Any, width: int | None = None) -> Any:
    """Rows as an array; those of a growing stage as wide as asked for."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    return X if width is None else np.pad(X, ((0, 0), (0, width - X.shape[1])))


def fresh(stage: Any) -> Any:
    return type(stage)(**stage.get_params())


@every_way
def test_cuts_do_not_matter(stage: Any, way: str) -> None:
    X, whole, cut = table(stage, way), fresh(stage), fresh(stage)
    out = plain(whole.learn_transform(X))
    parts = [plain(cut.learn_transform(some(X, a, b)), out.shape[1]) for a, b in pairwise([0, 1, 2, 17, 40, N])]
    assert np.array_equal(out, np.vstack(parts))
    assert snapshot(whole) == snapshot(cut)


@every_way
def test_a_row_is_handled_by_what_was_known_before_it(stage: Any, way: str) -> None:
    X, whole, steps = table(stage, way), fresh(stage), fresh(stage)
    out = plain(whole.learn_transform(X))
    steps.partial_fit(some(X, 0, 20))
    for t in range(20, N):
        before = snapshot(steps)
        seen = plain(steps.transform(some(X, t, t + 1)))
        assert snapshot(steps) == before, "transform has changed something"
        known = seen.shape[1]
        assert np.array_equal(seen[0], out[t, :known])
        steps.partial_fit(some(X, t, t + 1))


@every_way
def test_going_on_after_saving(stage: Any, way: str, tmp_path: Path) -> None:
    X, whole = table(stage, way), fresh(stage).partial_fit(table(stage, way))
    first = fresh(stage).partial_fit(some(X, 0, 23))
    first.save(tmp_path / "stage")
    second = load(tmp_path / "stage").partial_fit(some(X, 23, N))
    assert snapshot(second) == snapshot(whole)
    assert np.array_equal(plain(second.transform(X)), plain(whole.transform(X)))


@pytest.mark.parametrize("stage", [stage for stage in STAGES.values() if stage._takes_raw], ids=str)
@pytest.mark.parametrize("way", UNNAMED)
def test_rows_without_names_are_refused_where_names_count(stage: Any, way: str) -> None:
    taught = fresh(stage).partial_fit(table(stage, "dicts"))
    before = snapshot(taught)
    for call in (taught.partial_fit, taught.learn_transform, taught.transform):
        with pytest.raises(TypeError, match="name"):
            call(table(stage, way))
        assert snapshot(taught) == before


BAD = {
    f"{name}-{way}-{bad}": (stage, way, bad)
    for name, stage in STAGES.items()
    for way in ("dense", "csr", "dicts")
    for bad in (np.nan, np.inf, 1e300)
    # a hasher learns nothing, and what it gives is looked at behind it; what is missing is not bad to those who fill it in
    if takes(stage, way) and not isinstance(stage, Hasher) and not (np.isnan(bad) and stage._takes_missing)
}


@pytest.mark.parametrize(("stage", "way", "bad"), BAD.values(), ids=BAD)
def test_bad_rows_change_nothing(stage: Any, way: str, bad: float) -> None:
    X, taught = table(stage, way), fresh(stage).partial_fit(table(stage, way))
    before = snapshot(taught)
    if way == "dicts":
        X[30] = {NAMES[0]: bad}
    elif way == "csr":
        X.data[X.indptr[30]] = bad
    else:
        X[30, 2] = bad
    for call in (taught.partial_fit, taught.learn_transform, taught.transform):
        with pytest.raises(ValueError, match=r"X|square"):
            call(X)
        assert snapshot(taught) == before


@each([*UNNAMED, "dicts"], IN_PIPELINES)
def test_in_a_pipeline_one_at_a_time_is_a_table(stage: Any, way: str) -> None:
    X = table(stage, way)
    model = pipeline(fresh(stage), PAClassifier(classes=[0, 1]))
    twin = pipeline(fresh(stage), PAClassifier(classes=[0, 1])).partial_fit(X, Y)
    for t in range(N):
        model.learn_one(X[[t]] if way == "csr" else X[t], Y[t])
    assert [snapshot(step) for _, step in model.steps] == [snapshot(step) for _, step in twin.steps]


@every_stage
def test_a_pipeline_goes_on_after_saving_and_after_bad_rows(stage: Any, tmp_path: Path) -> None:
    X = table(stage, "dicts")
    whole = pipeline(fresh(stage), PARegressor()).partial_fit(X, Y)
    model = pipeline(fresh(stage), PARegressor()).partial_fit(X[:20], Y[:20])
    before = [snapshot(step) for _, step in model.steps]
    with pytest.raises(ValueError, match=r"X|square|infinity"):
        model.partial_fit([*X[20:30], {NAMES[0]: np.inf}], Y[20:31])
    with pytest.raises(ValueError, match=r"X|square|infinity"):
        model.learn_one({NAMES[0]: np.inf}, 1)
    assert [snapshot(step) for _, step in model.steps] == before
    model.save(tmp_path / "model")
    model = load(tmp_path / "model").partial_fit(X[20:], Y[20:])
    assert [snapshot(step) for _, step in model.steps] == [snapshot(step) for _, step in whole.steps]


@pytest.mark.parametrize("name", ["Table", "Text"])
def test_readers_write_nothing(name: str) -> None:
    """Where another thread learns meanwhile, even to write back what was read would undo it."""
    X: Any = ["a b", "c d"] if name == "Text" else [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}]
    stage = getattr(onepass, name)(n_features=16).partial_fit(X)
    before = {key: array.copy() for key, array in stage._state.arrays.items()}
    for array in stage._state.arrays.values():
        array.flags.writeable = not numba.config.DISABLE_JIT  # machine code is compiled for the arrays of those who learn
    assert stage.transform(X).shape[0] == 2
    assert all(np.array_equal(stage._state.arrays[key], array) for key, array in before.items())
