"""What a model is, in words: its parts, its columns, how much it has learned and how well, and its largest weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import is_classifier, is_regressor

from onepass.evaluate.feeding import steps_of

WEIGHTS = 10
SHOWN = 12  # names of columns or labels
UNITS = ("bytes", "kB", "MB", "GB")


@dataclass(frozen=True)
class Description:
    """Facts about a model, by name; made by `describe`. It prints as a table, also in notebooks, and `facts` are what JSON takes."""

    facts: dict[str, Any]

    def lines(self) -> dict[str, str]:
        """The facts as text."""
        return {name.replace("_", " "): _text(value) for name, value in self.facts.items() if value not in (None, [], {}, "")}

    def __str__(self) -> str:
        lines = self.lines()
        width = max(map(len, lines))
        return "\n".join(f"{name:{width}}  {text}" for name, text in lines.items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.lines().items())
        return f'<table style="text-align: left">{rows}</table>'


def describe(model: Any, examples: Iterable[Any] = ()) -> Description:
    """What a model is and what it has learned.

    Hashed columns have numbers only. `examples` are tables of raw rows, as the model takes them, in which the names of the columns with
    the largest weights are looked for; a stream is read no further than that takes.

    >>> from onepass import PAClassifier, UnitNorm, pipeline
    >>> model = pipeline(UnitNorm(), PAClassifier(C=0.25)).fit([[1.0, 0.0], [0.0, 3.0]], ["ham", "spam"])
    >>> print(describe(model))
    model            UnitNorm, PAClassifier
    settings         C=0.25
    task             classification
    features         2
    classes          ham, spam
    examples         2
    updates          2
    largest weights  x0=-0.25, x1=0.25
    size             56 bytes
    """
    steps = steps_of(model)
    learner = steps[-1]
    state = learner._latest() if hasattr(learner, "_latest") else None
    metadata = dict(model.metadata)
    origin = metadata.pop("origin", None)
    origin = origin if isinstance(origin, dict) else {}
    learned: dict[str, Any] = {}
    if state is not None:
        first = steps[0]._latest()
        learned = {
            "features": first.n_features or state.n_features,
            "classes": None if state.classes is None else state.classes.tolist(),
            "examples": int(learner.t_),
            "updates": int(learner.updates_) if hasattr(learner, "updates_") else None,
        }
    return Description(
        {
            "model": [type(step).__name__ for step in steps],
            "settings": {name: value for step in steps for name, value in _settings(step).items()},
            "task": "classification" if is_classifier(learner) else "regression" if is_regressor(learner) else None,
            **learned,
            "label": origin.get("label"),
            "columns": origin.get("columns"),
            "dropped": origin.get("dropped"),
            "learned_from": origin.get("file"),
            "rows_of_that": (origin.get("position") or {}).get("rows"),
            "metrics": origin.get("metrics"),
            "largest_weights": _largest(steps, examples) if state is not None else None,
            "size": _size(sum(map(_nbytes, steps))),
            "written_by": getattr(model, "_version", None) and f"onepass {model._version}",
            "metadata": metadata,
        }
    )


def _nbytes(step: Any) -> int:
    if not hasattr(step, "_latest"):  # a translator
        return sum(array.nbytes for array in step._pack()[1].values())
    return 0 if step._latest() is None else int(step._latest().nbytes)


def _settings(step: Any) -> dict[str, Any]:
    """The parameters that are not as they are by default."""
    default = type(step)().get_params(deep=False)
    return {
        name: value
        for name, value in step.get_params(deep=False).items()
        if repr(value) != repr(default.get(name)) and value not in ([], ())
    }


def _largest(steps: list[Any], examples: Iterable[Any]) -> dict[str, float] | None:
    """The largest weights of a linear learner, by the names of features; those of a class by "feature for class"."""
    learner = steps[-1]
    if not hasattr(learner, "coef_"):
        return None
    weights = np.asarray(learner.coef_)
    if weights.ndim < 2:  # of hashes, which have no names
        return None
    order = np.argsort(-np.abs(weights), axis=None, kind="stable")[:WEIGHTS]
    found = np.column_stack(np.unravel_index(order, weights.shape))
    names: Any
    names, signs, buckets = {}, dict[int, float](), learner._readable().buckets
    if buckets is None:
        names = _names(steps, weights.shape[1])
    else:
        first, columns = steps[0], buckets.first(weights.shape[1])
        places = {int(columns[j]): j for j in found[:, 1].tolist()}
        names = {j: first._name_of(column) for column, j in places.items()}
        for column, (name, sign) in _found(first, set(places), examples).items():
            names[places[column]], signs[places[column]] = name, sign
    several = len(weights) > 1
    return {
        f"{names[j]} for {learner.classes_[k]}" if several else str(names[j]): signs.get(j, 1.0) * float(weights[k, j])
        for k, j in found.tolist()
        if weights[k, j]
    }


def _names(steps: list[Any], width: int) -> list[str]:
    """The names of the learner's features."""
    for step in reversed(steps):
        if hasattr(step, "feature_names_in_") and len(step.feature_names_in_) == width:
            return [str(name) for name in step.feature_names_in_]
        if getattr(step, "_takes_raw", False):
            return [str(name) for name in step.get_feature_names_out()]
    return [f"x{j}" for j in range(width)]


def _found(stage: Any, columns: set[int], examples: Iterable[Any]) -> dict[int, tuple[str, float]]:
    """What hashed columns are called, and the signs of their hashes, from the first examples that have them."""
    named = dict[int, tuple[str, float]]()
    for X in examples:
        rows = stage.transform(X)
        having = np.append(0, np.cumsum(np.isin(rows.indices, list(columns))))[rows.indptr]
        for t in np.flatnonzero(np.diff(having)).tolist():
            row = slice(rows.indptr[t], rows.indptr[t + 1])
            entries = dict(zip(rows.indices[row].tolist(), rows.data[row].tolist(), strict=True))
            if entries.keys() & columns <= named.keys():
                continue
            framed = nw.dependencies.is_into_dataframe(X)
            x = nw.from_native(X, eager_only=True)[t : t + 1].rows(named=True)[0] if framed else X[t]
            called = stage._called(stage._readable(), [x], None)
            for j in (entries.keys() & columns & called.keys()) - named.keys():
                # a number has a sign of its own, and what shares a column may have another: they go by their columns
                plain = not (isinstance(x, Mapping) and called[j] in x) and " + " not in called[j]
                sign = stage._sign_of(called[j], entries[j]) if plain else None
                if sign is not None:
                    named[j] = called[j], sign
        if named.keys() == columns:
            break
    return named


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return _some([f"{_text(name)}={_text(item)}" for name, item in value.items()])
    if isinstance(value, list):
        return _some([_text(item) for item in value])
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if type(value) is int else str(value) or '""'  # a column may have no name


def _some(texts: list[str]) -> str:
    more = f", ... ({len(texts):,})" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more


def _size(count: float) -> str:
    for unit in UNITS[:-1]:
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} {UNITS[-1]}"
