"""The state of a learner: everything that changes while it learns, and nothing else."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from onepass.base.errors import ModelFileError
from onepass.compiled.loop import UPDATES, T

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Field:
    """The role of one array of a state.

    `axes` names its axes: "features" (one entry more than there are features, slot 0 being the bias), "classes", "ranks" (one entry
    more than there are classes, slot 0 being a threshold), "one", a size that the learner gives, "candidates" (in front of all others),
    or a room: an axis that grows when it is full. New entries are `start` (of a square matrix, those on its diagonal; the others are
    zero), or drawn: "uniform" from U(-0.1, 0.1), "normal" from N(0, 1). `exact` numbers are float64 whatever the type of the data
    (counts and sums), and `whole` ones int64.

    `additive` says that the scores are linear in the array and that it changes by the verbs for weights only, so that it can be
    averaged lazily; the other arrays beside it are then taken as they are. Where no array is additive, all are blended as wholes.

    `foreseen` says that a feature counts in a score even before its entry exists, as what is drawn does.
    """

    axes: str
    draw: str | None = None
    additive: bool = False
    start: float = 0.0
    exact: bool = False
    whole: bool = False
    foreseen: bool = False


# The factor of weights that are kept as `scale * w`, so that shrinking them all takes one multiplication.
SCALE = Field("one", start=1.0, exact=True)


@dataclass
class State:
    """Arrays by name, and what they are about. Arrays may hold spare room at the end of their features axis, and in their rooms."""

    form: str
    dtype: np.dtype[Any]
    seed: int
    fields: dict[str, Field]
    sizes: dict[str, int]
    rooms: dict[str, int] = field(default_factory=dict)  # the axes that grow when they are full, and their sizes now
    grow_features: bool = False
    grow_classes: bool = False
    n_features: int = 0
    n_iter: int = 0
    version: int = 0  # counts the times that arrays were replaced
    classes: Array | None = None
    columns: dict[str, int] | None = None  # features by name, where they have names
    arrays: dict[str, Array] = field(default_factory=dict)

    @property
    def t(self) -> int:
        return int(self.arrays["count"][T])

    @property
    def updates(self) -> int:
        return int(self.arrays["count"][UPDATES])

    @property
    def room(self) -> int:
        """How many features the arrays have room for."""
        sizes = [
            self.arrays[name].shape[role.axes.split().index("features")] - 1
            for name, role in self.fields.items()
            if "features" in role.axes.split()
        ]
        return min(sizes, default=self.n_features)

    @property
    def foresees(self) -> bool:
        """Whether features that are still to come have numbers already: then they count, even in a first prediction."""
        return self.grow_features and any(
            (role.draw or role.foreseen) and "features" in role.axes.split() for role in self.fields.values()
        )

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def copy(self) -> State:
        other = copy.copy(self)
        other.arrays = {name: array.copy() for name, array in self.arrays.items()}
        other.columns = None if self.columns is None else dict(self.columns)
        other.rooms = dict(self.rooms)
        return other

    def allocate(self) -> None:
        """Make the arrays for the present number of features and classes."""
        self.arrays["count"] = np.zeros(2, np.int64)
        for name in self.fields:
            self.arrays[name] = self._entries(name, self._extent())

    def average(self, clock: Array) -> None:
        """Add the arrays of an average."""
        self.arrays["clock"] = clock
        for name in self.averages():
            kind, _, plain = name.rpartition(".")
            self.arrays[name] = np.zeros_like(self.arrays[plain]) if kind == "gap" else self.arrays[plain].copy()

    def averages(self) -> list[str]:
        """The names of the arrays of an average: `gap.NAME` for an additive field, and `mean.scale` for its factor; without an
        additive field, `mean.NAME` for all of them."""
        if not self.additive():
            return [f"mean.{name}" for name in self.fields]
        return [f"gap.{name}" for name in self.additive()] + (["mean.scale"] if "scale" in self.fields else [])

    def additive(self) -> list[str]:
        return [name for name, role in self.fields.items() if role.additive]

    def keep_best(self) -> None:
        """Add a pocket for the weights that did best."""
        self.arrays["pocket"] = np.zeros(3, np.int64)
        self.arrays |= {f"pocket.{name}": self.arrays[name].copy() for name in self.additive()}

    def widen(self, n_features: int) -> bool:
        """Make room for more features; old entries keep their place and their values. Whether any array had to be made anew."""
        self.n_features = n_features
        return self._stretch("features", n_features + 1)

    def extend(self, room: str, size: int) -> None:
        """Make an axis that is full longer."""
        self.rooms[room] = size
        self._stretch(room, size)

    def _stretch(self, axis: str, least: int) -> bool:
        anew = False
        for name, array in self.arrays.items():
            role = self.fields.get(name.split(".")[-1])
            axes = [] if role is None else role.axes.split()
            if axis not in axes or array.shape[axes.index(axis)] >= least:
                continue
            size = max(least, array.shape[axes.index(axis)] * 3 // 2) if axis == "features" else least
            longer = self._entries(name, {**self._extent(), axis: size})
            longer[tuple(slice(size) for size in array.shape)] = array
            self.arrays[name] = longer
            anew = True
        self.version += anew
        return anew

    def check_label(self, label: Any) -> None:
        """Refuse a new label that is not finite, or that cannot be sorted among the others."""
        kind = _kind(np.asarray(label))
        if kind == "number" and not np.isfinite(label):
            raise ValueError(f"Input y contains {'NaN' if np.isnan(label) else 'infinity'}: that is no label.")
        if self.classes is not None and len(self.classes) and _kind(self.classes) != kind:
            known = self.classes.tolist()
            raise TypeError(f"The label {np.asarray(label).item()!r} is of another kind than the labels so far, {known}.")

    def add_class(self, label: Any) -> int:
        """Take in a new label, in sorted order, with fresh weights; its index."""
        assert self.classes is not None
        self.check_label(label)
        known, label = self.classes.tolist(), np.asarray(label).item()
        order = len(known)
        k = int(np.searchsorted(self.classes, label)) if order else 0
        for name, array in list(self.arrays.items()):
            role = self.fields.get(name.split(".")[-1])
            axes = [] if role is None else role.axes.split()
            for i, axis in enumerate(axes):
                if axis in ("classes", "ranks"):
                    extent = dict(zip(axes, array.shape, strict=True))
                    fresh = self._entries(name, {**extent, axis: 1}, first=order)
                    place = k + (axis == "ranks")
                    self.arrays[name] = np.ascontiguousarray(np.insert(array, place, fresh.take(0, axis=i), axis=i))
        if "class_counts" in self.arrays:
            self.arrays["class_counts"] = np.insert(self.arrays["class_counts"], k, 0)
        self.classes = np.array([*known[:k], label, *known[k:]])
        self.version += 1
        return k

    def check(self) -> None:
        """Raise ModelFileError unless every array has the type and at least the shape that the loop relies on."""
        if self.n_features < 0 or (self.columns is not None and len(self.columns) != self.n_features):
            raise ModelFileError("The model file is damaged: its features and their names do not agree.")
        labels = self.classes
        if self.form in ("binary", "multiclass") and (
            labels is None
            or labels.ndim != 1
            or labels.dtype.kind not in "biufU"
            or not (labels[:-1] < labels[1:]).all()
            or (self.form == "binary" and len(labels) != 2)
        ):
            raise ModelFileError("The model file is damaged: its labels are not those of a classifier.")
        extent = self._extent()
        expected: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {"count": (np.dtype(np.int64), (2,))}
        for name, role in self.fields.items():
            expected[name] = (self._dtype(role), tuple(extent[axis] for axis in role.axes.split()))
        if "clock" in self.arrays:
            expected["clock"] = (np.dtype(np.float64), (4,))
            for name in self.averages():
                plain = name.rpartition(".")[2]
                dtype, shape = expected[plain]
                expected[name] = (dtype, self.arrays[plain].shape if plain in self.arrays else shape)
        if "pocket" in self.arrays:
            expected["pocket"] = (np.dtype(np.int64), (3,))
            for name in self.additive():
                dtype, shape = expected[name]
                expected[f"pocket.{name}"] = (dtype, self.arrays[name].shape if name in self.arrays else shape)
        if "platt" in self.arrays:
            expected["platt"] = (np.dtype(np.float64), (5,))
        if "class_counts" in self.arrays:
            expected["class_counts"] = (np.dtype(np.int64), (extent["classes"],))
        for name, (dtype, shape) in expected.items():
            array = self.arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != len(shape) or not self._fits(name, array.shape, shape):
                raise ModelFileError(
                    f"The model file is damaged: its array {name!r} is missing or has the wrong shape or type."
                )
        for axis in ("features", *self.rooms):
            sizes = {
                size
                for name, role in self.fields.items()
                for kind, size in zip(role.axes.split(), self.arrays[name].shape, strict=True)
                if kind == axis
            }
            if len(sizes) > 1:
                raise ModelFileError(f"The model file is damaged: its arrays have room for different numbers of {axis}.")
            if axis in self.rooms:
                self.rooms[axis] = max(sizes, default=0)

    def _dtype(self, role: Field) -> np.dtype[Any]:
        return np.dtype(np.int64 if role.whole else np.float64) if role.exact or role.whole else self.dtype

    def _fits(self, name: str, shape: tuple[int, ...], least: tuple[int, ...]) -> bool:
        role = self.fields.get(name)
        axes = role.axes.split() if role else [""] * len(shape)
        return all(
            size >= wanted if axis == "features" or axis in self.rooms else size == wanted
            for axis, size, wanted in zip(axes, shape, least, strict=True)
        )

    def _extent(self) -> dict[str, int]:
        classes = 0 if self.classes is None else len(self.classes)
        known = {"one": 1, "features": self.n_features + 1, "classes": classes, "ranks": classes + 1}
        return {**self.sizes, **self.rooms, **known}

    def _entries(self, name: str, extent: dict[str, int], first: int = 0) -> Array:
        """Fresh entries of an array. What is drawn depends on (seed, field, row) alone, so that growing piece by piece draws what
        one allocation would have drawn."""
        kind, _, plain = name.rpartition(".")
        role = self.fields[plain]
        shape = tuple(extent[axis] for axis in role.axes.split())
        if not role.draw or kind == "gap":
            fresh = np.zeros(shape, self._dtype(role))
            if kind != "gap":
                axes = role.axes.split()
                (np.einsum("ii->i", fresh) if len(axes) == 2 and axes[0] == axes[1] else fresh)[...] = role.start
            return fresh
        own = shape[1:] if role.axes.startswith("candidates") else shape  # all candidates start from the same numbers
        rows, width = (1, *own)[-2:]
        stream = list(self.fields).index(plain)
        numbers = drawn(self.seed, stream, first, rows, width)
        numbers = 0.2 * numbers - 0.1 if role.draw == "uniform" else ndtri(np.maximum(numbers, 2.0**-54))
        return np.broadcast_to(numbers.reshape(own), shape).astype(self.dtype, order="C")


def drawn(seed: int, stream: int, first: int, rows: int, width: int) -> Array:
    """Rows of U(0, 1) from a counter-based generator: row j depends on (seed, stream, j) alone."""
    steps = -(-width // 4)  # Philox gives four numbers a step of its counter
    bits = np.random.Philox(key=(stream << 64) | seed)
    bits.advance(first * steps)
    return np.random.Generator(bits).random((rows, 4 * steps))[:, :width]


def _kind(labels: Array) -> str:
    return "number" if labels.dtype.kind in "iuf" else labels.dtype.kind
