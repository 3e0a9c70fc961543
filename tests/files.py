"""Model files that are changed behind the back of onepass, and the use of what is loaded from them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file
from sklearn.exceptions import NotFittedError

from onepass import Hasher, SequenceTagger, Spectrum
from onepass.base import Classifier, Stage
from onepass.base.multilabel import Multilabel


def header_of(file: Path) -> Any:
    content = file.read_bytes()
    size = int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["onepass"])


def rewrite(file: Path, change: Callable[[Any, dict[str, Any]], None]) -> None:
    """Change a model file's header and arrays in place."""
    header, arrays = header_of(file), load_file(file)
    change(header, arrays)
    save_file(arrays, file, {"onepass": json.dumps(header)})


def put(*path: str, value: Any) -> Callable[[Any, dict[str, Any]], None]:
    def change(header: Any, arrays: dict[str, Any]) -> None:
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change


def array(name: str, change: Callable[[Any], Any]) -> Callable[[Any, dict[str, Any]], None]:
    def replace(header: Any, arrays: dict[str, Any]) -> None:
        arrays[name] = change(arrays[name])

    return replace


def use(model: Any) -> None:
    """Let a model learn and predict, on features and labels that it knows."""
    if isinstance(model, SequenceTagger):
        sentence = ["a", "dog"] if model.templates else [{"a": 1.0}, {"b": "c"}]
        model.learn_one(sentence, ["D", "N"])
        model.predict([sentence, []])
        return
    if any(isinstance(stage, Spectrum) for stage in getattr(model, "stages", [])):
        model.learn_one("abcd", "x")
        model.predict(["bc", ""])
        return
    learner = getattr(model, "learner_", getattr(model, "learner", model))
    learner = getattr(learner, "learner", learner)
    stages = getattr(model, "stages", [])
    rows: Any = np.arange(6.0 * getattr(model, "n_features_in_", 3)).reshape(6, -1) % 5
    if hasattr(model, "feature_names_in_") or any(isinstance(stage, Hasher) for stage in stages):
        names = getattr(model, "feature_names_in_", ["a", "b", "c"])
        rows = [{name: float(i * j % 5) for j, name in enumerate(names, 1)} for i in range(6)]
    if isinstance(model, Stage):
        model.partial_fit(rows).transform(rows)
        return
    known = getattr(learner, "classes_", np.arange(3)).tolist() or [0, 1, 2]
    y: Any = [known[i % len(known)] for i in range(6)] if isinstance(learner, Classifier | Multilabel) else np.arange(6.0)
    y = [{label} for label in y] if isinstance(learner, Multilabel) else y
    if not model.__sklearn_is_fitted__():
        model.fit(rows, y)
    with contextlib.suppress(NotFittedError):  # where a stage of a pipeline is not
        model.predict(rows)
    for x, target in zip(rows, y, strict=True):
        model.learn_one(x, target)
        model.predict_one(x)
    model.partial_fit(rows, y).predict(rows)
