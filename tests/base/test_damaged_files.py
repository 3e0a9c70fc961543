"""Model files with one thing changed, whatever it is: they load into a model that works, or are refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

import onepass
from files import use
from onepass import (
    FOGD,
    ActiveLearner,
    AROWClassifier,
    Hasher,
    HedgeBackprop,
    KernelPA,
    KernelPerceptron,
    LocalPA,
    ModelFileError,
    OnlineMLPClassifier,
    OSELMClassifier,
    PAClassifier,
    PAMOClassifier,
    PAMultilabel,
    PARegressor,
    PAUniclass,
    Perceptron,
    RBFBasis,
    StandardScaler,
    UnitNorm,
    pipeline,
)
from onepass.base.saving import read

X = np.random.default_rng(0).normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)
WORDS = np.where(Y, "yes", "no")
THREE = np.arange(30) % 3

Change = Callable[[Any, dict[str, Any]], object]


def by_name(model: Any, y: Any) -> Any:
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abc", x, strict=True)), target)
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "calibrated": lambda: PAClassifier(average=True, class_weight="balanced", calibrate=True).fit(X, WORDS),
    "names": lambda: by_name(PAClassifier(class_weight={0: 2.0}), THREE),
    "kernel": lambda: KernelPA(budget=8, random_state=1).fit(X, Y),
    "float32": lambda: PARegressor(average="uniform").fit(X.astype(np.float32), X[:, 0]),
    "sets": lambda: PAMultilabel().fit(X, [{"a"} if y else {"b", "c"} for y in Y]),
    "pipeline": lambda: by_name(pipeline(StandardScaler(), PAClassifier()), WORDS),
    "active": lambda: ActiveLearner(PAClassifier(), delta=np.inf, random_state=0).fit(X, Y),
    "stage": lambda: StandardScaler().fit(X),
}
MORE: dict[str, Callable[[], Any]] = {
    "costs": lambda: PAClassifier(C="auto", costs=1 - np.eye(3), update="max_loss").fit(X, THREE),
    "pamo": lambda: PAMOClassifier(dimensions=4, random_state=0).fit(X, THREE),
    "kernel names": lambda: by_name(KernelPA(average=True), WORDS),
    "redundant": lambda: KernelPerceptron(budget=5, policy="redundant", random_state=1).fit(X, THREE),
    "covariance": lambda: AROWClassifier(covariance="full").fit(X, Y),
    "uniclass": lambda: PAUniclass().fit(X),
    "layer": lambda: OSELMClassifier(hidden=6, random_state=0).fit(X, THREE),
    "network": lambda: OnlineMLPClassifier((4, 3), step="adam", random_state=0).fit(X, THREE),
    "heads": lambda: HedgeBackprop((4, 3), random_state=0).fit(X, Y),
    "local": lambda: LocalPA().fit(X, Y),
    "fourier": lambda: FOGD(random_state=0).fit(X, Y),
    "pocket": lambda: Perceptron(pocket=True).fit(X, Y),
    "three steps": lambda: pipeline(StandardScaler(), UnitNorm(), PAClassifier()).fit(X, Y),
    "bases": lambda: pipeline(RBFBasis(centres=X[:4]), PARegressor()).fit(X, X[:, 0]),
    "hashed": lambda: by_name(pipeline(Hasher(n_features=16), PAClassifier()), Y),
    "active pipeline": lambda: ActiveLearner(pipeline(StandardScaler(), PAClassifier()), random_state=0).fit(X, Y),
}

DEEP = "a nested list"
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "-1": -1,
    "2**70": 2**70,
    "1e400": float("inf"),
    "x": "x",
    "[]": [],
    "{}": {},
    DEEP: DEEP,
}


def inside(node: Any, path: list[Any]) -> Any:
    for key in path:
        node = node[key]
    return node


def places(node: Any, *path: Any) -> Iterator[list[Any]]:
    if path:
        yield list(path)
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(value, *path, key)


def changes_of_header(header: Any) -> Iterator[tuple[str, str, Change]]:
    for path in places(header):
        *above, key = path
        where, old = "/".join(map(str, path)), inside(header, path)
        for what, value in VALUES.items():
            yield where, what, lambda h, _, above=above, key=key, value=value: inside(h, above).__setitem__(key, value)
        if isinstance(inside(header, above), dict):
            yield where, "dropped", lambda h, _, above=above, key=key: inside(h, above).pop(key)
        if isinstance(old, list):
            yield where, "one more", lambda h, _, path=path: inside(h, path).append("x")
        if isinstance(old, list) and old:
            yield where, "first one dropped", lambda h, _, path=path: inside(h, path).pop(0)
            yield where, "last one dropped", lambda h, _, path=path: inside(h, path).pop()
            yield where, "first one twice", lambda h, _, path=path: inside(h, path).append(inside(h, path)[0])


def changes_of_array(name: str, array: Any) -> Iterator[tuple[str, str, Change]]:
    others: dict[str, Any] = {
        "one more axis": array[None],
        "one axis": array.reshape(-1)[:1],
        "no axis": np.zeros((), array.dtype),
    }
    for dtype in (np.float32, np.float64, np.int32, np.int64, np.bool_):
        if array.dtype != dtype:
            others[f"as {np.dtype(dtype)}"] = array.astype(dtype)
    for axis, size in enumerate(array.shape):
        one = np.zeros([1 if i == axis else n for i, n in enumerate(array.shape)], array.dtype)
        others[f"axis {axis} longer"] = np.concatenate([array, one], axis)
        if size:
            others[f"axis {axis} shorter"] = array.take(range(size - 1), axis)
            others[f"axis {axis} empty"] = array.take([], axis)
    if array.size:
        for fill in [np.nan] if array.dtype.kind == "f" else [-1, 2**62]:
            others[f"filled with {fill}"] = np.full_like(array, fill)
    for what, other in others.items():
        yield name, what, lambda _, a, other=other: a.__setitem__(name, other.copy())
    yield name, "dropped", lambda _, a: a.pop(name)
    yield name, "renamed", lambda _, a: a.__setitem__(f"{name}x", a.pop(name))


@pytest.mark.parametrize("name", [*MODELS, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)])
def test_every_change_is_noticed_or_does_no_harm(name: str, tmp_path: Path) -> None:
    file, again, wrong = tmp_path / "model", tmp_path / "again", []
    (MODELS | MORE)[name]().save(file)
    use(onepass.load(file))
    header, arrays = read(file)
    changes = [*changes_of_header(header), *(change for key in arrays for change in changes_of_array(key, arrays[key]))]
    for where, what, change in changes:
        damaged, parts = copy.deepcopy(header), {key: array.copy() for key, array in arrays.items()}
        change(damaged, parts)
        text = json.dumps(damaged).replace(json.dumps(DEEP), "[" * 2000 + "]" * 2000)
        file.write_bytes(save(parts, {"onepass": text}))
        try:
            model = onepass.load(file)
        except ModelFileError:
            continue
        try:
            use(model)
            model.save(again)
            onepass.load(again)
        except Exception as error:
            wrong.append((name, where, what, repr(error)))
    assert not wrong
    assert len(changes) > 100


def test_damage_to_the_footer_of_parquet_shows_however_it_is_cut(tmp_path: Path) -> None:
    """What Arrow looks at depends on how much it reads at a time."""
    pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table({"a": np.arange(40.0), "y": ["no", "yes"] * 20}), path, row_group_size=15, store_schema=False)
    sound = path.read_bytes()
    length = int.from_bytes(sound[-8:-4], "little")
    refused = 0
    for place in range(len(sound) - 8 - length, len(sound) - 8):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 6]) + sound[place + 1 :])
        outcomes = []
        for chunk in (1 << 16, 7):
            try:
                with onepass.streams.open(path, label="y", chunk=chunk) as stream:
                    outcomes.append(sum(len(part) for part in stream))
            except (OSError, ValueError):
                outcomes.append(None)
        refused += outcomes[0] is None
        assert outcomes[0] == outcomes[1], f"byte {place}"
    assert refused > 50
