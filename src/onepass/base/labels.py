"""Labels: their classes, their codes and their errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from onepass.base.inputs import readonly
from onepass.compiled.checks import distinct, encode

Array = npt.NDArray[Any]

_MANY = 256  # above this many distinct numbers, sorting is quicker than looking them up
_EXACT = 2**53  # float64 holds all whole numbers up to here
_LARGEST = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Coded:
    """Labels that were looked up once: that of example t is labels[codes[t]]. Whoever has other codes for them goes by `labels`."""

    labels: Array  # all that came up so far, sorted
    codes: Array

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, chosen: Any) -> Any:
        """One label, or some of them, still coded."""
        codes = self.codes[chosen]
        return Coded(self.labels, codes) if isinstance(codes, np.ndarray) else self.labels[codes]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.labels[self.codes], dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.labels.dtype


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


def coded(y: Array, labels: Array) -> Coded:
    """Labels with their places among `labels` and among those that are new."""
    codes = np.empty(len(y), np.intp)
    if encode_labels(y, labels, 1, 0, codes) < len(y):
        new = np.unique(y)
        check_labels(labels, new)
        labels = np.union1d(labels, new)
        encode_labels(y, labels, 1, 0, codes)
    return Coded(labels, codes)


def check_labels(labels: Array | None, others: Array) -> None:
    """Refuse new labels that are not finite, or that cannot be sorted among those before, or told from them."""
    if _kind(others) == "number" and not np.isfinite(others).all():
        raise ValueError(f"Input y contains {'NaN' if np.isnan(others).any() else 'infinity'}: that is no label.")
    if labels is None or len(labels) == 0 or labels.dtype.kind == others.dtype.kind:
        return
    known, new = labels.tolist(), others.tolist()
    if _kind(labels) != _kind(others):
        raise TypeError(f"The label {new[0]!r} is of another kind than the labels so far, {known}.")
    for exact, kept in zip([*known, *new], np.array([*known, *new]).tolist(), strict=True):
        if exact != kept:
            raise ValueError(f"The label {exact!r} can't be told from others exactly, whole numbers among fractions: use text.")


def _kind(labels: Array) -> str:
    return "number" if labels.dtype.kind in "iuf" else labels.dtype.kind


def encode_labels(y: Array | Coded, classes: Array, a: int, b: int, codes: Array) -> int:
    """Write a k + b for each label y[t] = classes[k]; the first row with an unknown label, or len(y)."""
    if isinstance(y, Coded):
        return _encode_again(y, classes, a, b, codes)
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


def _encode_again(y: Coded, classes: Array, a: int, b: int, codes: Array) -> int:
    """Codes of one kind as those of another: a look at each label, not at each row."""
    places = {label: k for k, label in enumerate(classes.tolist())}
    k = np.array([places.get(label, -1) for label in y.labels.tolist()], np.intp)
    np.take((a * k + b).astype(codes.dtype), y.codes, out=codes)
    return len(y) if k.min(initial=0) >= 0 else int(np.argmin(np.append(k, -1)[np.append(y.codes, len(k))] >= 0))


def _encode_exactly(y: Array, classes: Array, a: int, b: int, codes: Array) -> int:
    """As Python compares whole numbers with floats: NumPy and Numba would round 2**53 + 1 to 2**53 first."""
    places = {label: k for k, label in enumerate(classes.tolist())}
    for t, label in enumerate(y.tolist()):
        k = places.get(label)
        if k is None:
            return t
        codes[t] = a * k + b
    return len(y)
