"""Real data sets and golden figures, found beside the checkout or skipped with a clear word; a model to the bit; which to compile."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from numba.core import config

from onepass import datasets
from onepass.committee import auto

Name = TypeVar("Name")
auto.LARGEST = 6  # in tests of what does not depend on sizes, which are most
SHARED = Path(__file__).resolve().parents[2] / "shared"


@cache
def dataset(name: str) -> datasets.Dataset:
    """A data set of the folder ONEPASS_DATA; the test is skipped where there is no such folder."""
    return datasets.load(name, folder=folder_of(name))


@cache
def dataset_file(name: str) -> str:
    """The text of a file of that folder, which is compressed there."""
    with lzma.open(Path(folder_of(name), f"{name}.xz"), "rt", encoding="utf-8", newline="\n") as file:
        return file.read()


def folder_of(name: str) -> str:
    folder = os.environ.get("ONEPASS_DATA", "")
    if not Path(folder).is_dir() or not folder:
        pytest.skip(
            f"the data set {name} is absent: there is no folder {folder or SHARED / 'data'}; set ONEPASS_DATA to the folder of"
            " the data sets"
        )
    return folder


def golden(name: str) -> Any:
    """A file of golden figures, JSON or numbers; they lie in `golden`, beside the folder ONEPASS_DATA."""
    folder = Path(os.environ.get("ONEPASS_DATA", SHARED / "data")).resolve().parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"the golden figures {name} are absent: there is no folder {folder}; it must lie beside ONEPASS_DATA")
    if name.endswith(".json"):
        return json.loads((folder / name).read_text())
    if name.endswith(".txt"):
        return np.loadtxt(folder / name)
    with lzma.open(folder / name, "rt") as file:
        return np.loadtxt(file, delimiter=",")


def snapshot(model: Any, *, names: bool = True) -> Any:
    """Everything in a model's state, to the bit. Spare room at the end of the features is no part of it."""
    return None if model._state is None else snapshot_of(model._state, names=names)


def snapshot_of(state: Any, *, names: bool) -> Any:
    content = {
        "about": (state.form, state.dtype, state.seed, state.grow_features, state.grow_classes, state.n_features),
        "classes": None if state.classes is None else state.classes.tolist(),
    }
    if names:
        content["columns"] = None if state.names is None else state.names.first(state.n_features)
        content["hashes"] = None if state.buckets is None else state.buckets.first(state.n_features).tolist()
    for name, part in state.parts.items():  # which know the same features and labels
        of_part = snapshot_of(part, names=False)
        content |= {f"{name}/{key}": of_part[key] for key in of_part if key not in ("about", "classes")}
    for name, array in state.arrays.items():
        role = state.fields.get(name.split(".")[-1])
        if role is not None:
            array = array[tuple(slice(state.n_features + 1 if axis == "features" else None) for axis in role.axes.split())]
        content[name] = (array.dtype, array.shape, array.tobytes())
    return content


def traits(model: Any, *forms: str) -> set[Any]:
    """What decides how a learner is handled beside its rule, when it grows, averages, is saved or undone: its forms, whether it is
    averaged, and what its states are made of (drawn, exact, whole and square arrays, and those that are averaged lazily)."""
    forms = forms or model._known_forms
    kinds = [
        frozenset(
            (field.draw, field.additive, field.exact, field.whole, field.square) for field in model._fields(form).values()
        )
        for form in forms
    ]
    return {*forms, *kinds, model.average is not None}


def representatives(found: Mapping[Name, set[Any]]) -> list[Name]:
    """Those that are compiled where all run without the compiler: few that have all traits together, each time the first that has
    most of those that are still missing. See `plainest_first`."""
    chosen: list[Name] = []
    missing = set().union(*found.values())
    while missing:
        chosen.append(max(found, key=lambda name: len(found[name] & missing)))
        missing -= found[chosen[-1]]
    return chosen


def plainest_first(names: Iterable[str]) -> list[str]:
    """Learners, and before all others those with little to compile, which other tests compile anyway."""
    return sorted(names, key=lambda name: name not in ("PAClassifier", "PARegressor", "KernelPerceptron"))


# Of scikit-learn's checks, what needs machine code, or takes minutes without it.
COMPILED_ONLY = {
    "check_class_weight_classifiers": "a thousand passes",
}


def checked(estimator: Any, check: Any) -> None:
    """One of scikit-learn's checks, or a word why it has to be compiled."""
    name = check.func.__name__ + ("(readonly_memmap=True)" if check.keywords.get("readonly_memmap") else "")
    if config.DISABLE_JIT and name in COMPILED_ONLY:
        pytest.skip(f"{COMPILED_ONLY[name]}: `make test-slow` compiles it")
    check(estimator)
