"""Labels: their classes, their codes and their errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from onepass.base.inputs import readonly
from onepass.base.state import Array
from onepass.compiled.checks import distinct, encode

_MANY = 256  # above this many distinct numbers, sorting is quicker than looking them up
_EXACT = 2**53  # float64 holds all whole numbers up to here
_LARGEST = 2**63 - 1


def label_array(y: Any, n: int | None = None) -> Array:
    """Labels as a 1-d array of bool, numbers or text. What NumPy would make one label of two is refused."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    labels = np.asarray(y)
    flat = labels.ndim == 1
    if not flat:
        labels = column_or_1d(labels, warn=True)
    if labels.dtype.kind == "O" or not (isinstance(y, np.ndarray) or _faithful(labels)):
        labels = _of_one_kind(labels, _items(y, flat))
    if labels.dtype == np.uint64:
        if (labels > _LARGEST).any():
            _refuse_number(labels.max())
        labels = labels.astype(np.int64)  # as others are: float64 is all that uint64 and int64 have in common
    if labels.dtype.kind not in "biufU" or labels.dtype == np.float16:
        raise TypeError(f"Labels must be bool, int, float or str, got an array of {labels.dtype}.")
    if n is not None and len(labels) != n:
        check_consistent_length(np.empty((n, 0)), labels)
    return labels


def _faithful(labels: Array) -> bool:
    """Whether all is left of what NumPy made labels of. Text may have been numbers, or have lost a NUL at its end; floats may have
    been whole numbers that had more digits."""
    return labels.dtype.kind in "biu" or (labels.dtype.kind == "f" and bool((np.abs(labels) < _EXACT).all()))


def _items(y: Any, flat: bool) -> list[Any]:
    """What NumPy made labels of."""
    if hasattr(y, "to_list"):
        y = y.to_list()  # as an array, the text of polars has lost its NULs already
    return y if type(y) is list and flat else np.asarray(y, object).ravel().tolist()


def _of_one_kind(labels: Array, items: list[Any]) -> Array:
    kinds = set(map(type, items))
    if all(issubclass(kind, str) for kind in kinds):
        if "\0" in "".join(items) and (cut := [label for label in items if label.endswith("\0")]):
            raise ValueError(f"The label {cut[0]!r} ends with a NUL, which NumPy drops: use another text.")
        return labels.astype(str, copy=False)
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return labels.astype(bool)
    if not all(issubclass(kind, int | float | np.number) for kind in kinds):
        raise TypeError(f"Labels must be all bool, all numbers or all text, got {sorted(k.__name__ for k in kinds)}.")
    labels = np.array(items)
    if labels.dtype.kind in "Of":
        for label in items:
            if isinstance(label, int | np.integer) and not (-_LARGEST <= label <= _LARGEST and int(float(label)) == label):
                _refuse_number(label)
    return labels


def _refuse_number(label: Any) -> NoReturn:
    raise ValueError(
        f"A label that is a whole number must fit into int64, and into float64 where other labels are floats; {label} does not."
        " Use text, such as str(label)."
    )


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
    labels = np.unique(label_array(list(classes)))
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
    if (
        (y.dtype.kind == "f") != (classes.dtype.kind == "f")
        and len(classes)
        and not -_EXACT < classes[0] <= classes[-1] < _EXACT
    ):
        return _encode_exactly(y, classes, a, b, codes)
    return int(encode(readonly(y), readonly(classes), a, b, codes))


def _encode_exactly(y: Array, classes: Array, a: int, b: int, codes: Array) -> int:
    """As Python compares whole numbers with floats: NumPy and Numba would round 2**53 + 1 to 2**53 first."""
    places = {label: k for k, label in enumerate(classes.tolist())}
    for t, label in enumerate(y.tolist()):
        k = places.get(label)
        if k is None:
            return t
        codes[t] = a * k + b
    return len(y)
