"""Labels: their classes, their codes and their errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from onepass.base.inputs import readonly
from onepass.base.state import Array
from onepass.compiled.checks import distinct, encode

_MANY = 256  # above this many distinct numbers, sorting is quicker than looking them up


def label_array(y: Any, n: int | None = None) -> Array:
    """Labels as a 1-d array of bool, numbers or text."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    labels = np.asarray(y)
    if labels.ndim != 1:
        labels = column_or_1d(labels, warn=True)
    if labels.dtype.kind == "O":
        kinds = {type(label) for label in labels.tolist()}
        if all(issubclass(kind, str) for kind in kinds):
            labels = labels.astype(str)
        elif all(issubclass(kind, bool | np.bool_) for kind in kinds):
            labels = labels.astype(bool)
        elif all(issubclass(kind, int | float | np.number) for kind in kinds):
            labels = np.array(labels.tolist())
        else:
            raise TypeError(f"Labels must be all bool, all numbers or all text, got {sorted(k.__name__ for k in kinds)}.")
    if labels.dtype.kind not in "biufU" or labels.dtype == np.float16:
        raise TypeError(f"Labels must be bool, int, float or str, got an array of {labels.dtype}.")
    if n is not None and len(labels) != n:
        check_consistent_length(np.empty((n, 0)), labels)
    return labels


def classes_of(y: Array) -> Array:
    """The distinct labels, sorted."""
    if y.dtype.kind in "fc":
        check_classification_targets(y[: 1 << 16])  # refuses continuous targets; NaN is found below
    if y.dtype.kind not in "U":
        found = np.empty(_MANY, y.dtype)
        count = distinct(readonly(y), found)
        if count >= 0:
            labels = np.sort(found[:count])
            if labels.dtype.kind == "f" and not np.isfinite(labels).all():
                raise ValueError("Input y contains NaN or infinity.")
            return labels
    labels = np.unique(y)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity.")
    return labels


def declared_classes(classes: Iterable[Any], least: int = 2) -> Array:
    """The `classes` that a user gave, sorted, each once."""
    labels = np.unique(label_array(np.asarray(list(classes))))
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("`classes` contains NaN or infinity.")
    if len(labels) < least:
        raise ValueError(f"`classes` must name at least {'two classes' if least == 2 else 'one'}, got {labels.tolist()}.")
    return labels


def encode_labels(y: Array, classes: Array, a: int, b: int, codes: Array) -> int:
    """Write a k + b for each label y[t] = classes[k]; the first row with an unknown label, or len(y)."""
    if y.dtype.kind in "U" or classes.dtype.kind in "U":
        if y.dtype.kind != classes.dtype.kind:
            return 0
        k = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = classes[k] == y
        codes[:] = a * k + b
        return len(y) if known.all() else int(np.argmin(known))
    return int(encode(readonly(y), readonly(classes), a, b, codes))
