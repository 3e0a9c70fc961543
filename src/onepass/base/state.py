"""The state of a learner: everything that changes while it learns, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from onepass.base.buckets import Buckets
from onepass.base.labels import Array as Array
from onepass.base.labels import check_labels
from onepass.base.names import Names
from onepass.compiled.calibration import FEW
from onepass.compiled.loop import UPDATES, T
from onepass.compiled.targets import MEAN, deviation


@dataclass(frozen=True)
class Field:
    """The role of one array of a state.

    `axes` names its axes: "features" (one entry more than there are features, slot 0 being the bias), "classes", "ranks" (one entry
    more than there are classes, slot 0 being a threshold), "terms" (as many while classes are few, else slot 0 alone), "one", a size
    that the learner gives, "candidates" (in front of all others), a number, or an axis that grows when it is full. New entries are
    `start` (of a square matrix, those on its diagonal; the others are zero), or drawn: "uniform" from U(-0.1, 0.1), "normal" from
    N(0, 1); with `fan_in` the rows of features are divided by the root of how many were known at the first example. A layer of a
    network is drawn from U(-a, a), its biases being 0: `reach` lists the runs of a row, each with its length and its a; with `fan_out`
    the rows are features, and a = sqrt(6 / (fan_out + how many were known)). `exact` numbers are float64 whatever the type of the data
    (counts and sums), and `whole` ones int64.

    `additive` says that the scores are linear in the array and that it changes by the verbs for weights only, so that it can be
    averaged lazily; the other arrays beside it are then taken as they are. Where no array is additive, all are blended as wholes.

    `foreseen` says that a feature counts in a score even before its entry exists, as what is drawn does.

    `beside` says that the array is not averaged: it belongs to an option that learners share (averages, probabilities, weights of
    classes), or to the length of the steps, of which predictions know nothing.

    `fades` says that the array makes the past count for the more, the longer it is (a covariance, a sum of squares, a clock): who
    forgets the past begins it anew, and keeps the others.

    `late` says that files from before there was the array go on with fresh entries.

    `turn` says what becomes of the array when a third label comes, and the form for two classes turns into that for many. An array
    that then has an axis for the classes is split: a becomes -a/2 and a/2, so that scores differ as before; "copy" gives a to both. One
    without stays as it is, or is halved ("halve"; of a square matrix, the diagonal). A learner lists the fields of both forms in the
    same order.
    """

    axes: str
    draw: str | None = None
    additive: bool = False
    start: float | tuple[float, ...] = 0.0
    exact: bool = False
    whole: bool = False
    foreseen: bool = False
    fan_in: bool = False
    fan_out: int | None = None
    reach: tuple[tuple[int, float], ...] = ()
    turn: str | None = None
    beside: bool = False
    fades: bool = False
    late: bool = False

    @property
    def square(self) -> bool:
        axes = self.axes.split()
        return len(axes) == 2 and axes[0] == axes[1]


# The factor of weights that are kept as `scale * w`, so that shrinking them all takes one multiplication.
SCALE = Field("one", start=1.0, exact=True)


class Kept(list[tuple[Array, Any, Array]]):
    """Numbers to go back to: arrays, places in them, and copies of what is there."""


def no_steps() -> memoryview:
    """The counter of a state that nobody has written to: see `compiled/pulse.py`. Python counts in a view of it many times as
    quickly as in an array."""
    return np.zeros(1, np.int64).data


@dataclass(eq=False)
class State:
    """Arrays by name, and what they are about. Arrays may hold spare room at the end of their features axis, and of axes that grow.

    A state never changes its shape: what makes it larger gives another state, of which all arrays are new, or all the same where there
    was spare room. So whoever holds a state, a reader in another thread or an error handler, holds one whole version of the model.
    """

    form: str
    dtype: np.dtype[Any]
    seed: int
    fields: dict[str, Field]
    sizes: dict[str, int]
    capacities: dict[str, int] = field(default_factory=dict)  # the axes that grow when they are full, and their sizes now
    grow_features: bool = False
    grow_classes: bool = False
    n_features: int = 0
    known: int = 0  # how many features were known at the first example
    turned: bool = False  # whether the form for two classes has turned into that for many
    n_iter: int = 0
    classes: Array | None = None
    names: Names | None = None  # of the features, where they have names
    buckets: Buckets | None = None  # the hashes that the features are, where they are hashes
    held: Any = None  # an object of another library, which nobody changes: another takes its place, in another state
    parts: dict[str, State] = field(default_factory=dict)  # of what is made of several: they see the same features and labels
    arrays: dict[str, Array] = field(default_factory=dict)
    pulse: memoryview = field(default_factory=no_steps)
    bound: Any = field(
        default=None, init=False, repr=False
    )  # the records and entry points for these arrays, once they are made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("bound", "pulse")}

    def __setstate__(self, content: dict[str, Any]) -> None:
        self.__dict__.update(content, bound=None, pulse=no_steps())

    def _but(self, **changes: Any) -> State:
        """Another state that is like this one but for some changes."""
        other = object.__new__(State)
        other.__dict__.update(self.__dict__, bound=None, **changes)
        if "arrays" in changes or "parts" in changes:
            other.__dict__.pop("capacity", None)
            other.__dict__.pop("foresees", None)
        if "arrays" in changes:
            other.pulse = no_steps()
        return other

    @property
    def t(self) -> int:
        return int(self.arrays["count"][T])

    @property
    def updates(self) -> int:
        return int(self.arrays["count"][UPDATES])

    @cached_property
    def capacity(self) -> int:
        """How many features the arrays have place for."""
        sizes = [
            self.arrays[name].shape[role.axes.split().index("features")] - 1
            for name, role in self.fields.items()
            if "features" in role.axes.split()
        ]
        return min([*sizes, *(part.capacity for part in self.parts.values())], default=self.n_features)

    @cached_property
    def foresees(self) -> bool:
        """Whether features that are still to come have numbers already: then they count, even in a first prediction."""
        own = any((role.draw or role.foreseen) and "features" in role.axes.split() for role in self.fields.values())
        return self.grow_features and (own or any(part.foresees for part in self.parts.values()))

    @property
    def units(self) -> tuple[float, float]:
        """The mean and the deviation of the targets, in units of which scores are learned; 0 and 1 where targets stay as they are."""
        moments = self.arrays.get("targets")
        return (0.0, 1.0) if moments is None else (float(moments[MEAN]), float(deviation(moments)))

    @property
    def undecided(self) -> bool:
        """Whether there are not yet two labels to tell apart."""
        return self.form == "binary" and self.classes is not None and len(self.classes) < 2

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values()) + sum(part.nbytes for part in self.parts.values())

    @property
    def writable(self) -> bool:
        own = all(array.flags.writeable for array in self.arrays.values())
        return own and all(part.writable for part in self.parts.values())

    def _each(self, change: Callable[[State], State]) -> dict[str, State]:
        """The parts, all changed alike."""
        return {name: change(part) for name, part in self.parts.items()}

    def copy(self) -> State:
        n, names, buckets = self.n_features, self.names, self.buckets
        return self._but(
            arrays={name: np.array(array) for name, array in self.arrays.items()},  # no memory maps
            names=None if names is None else Names(names.first(n)),
            buckets=None if buckets is None else Buckets(buckets.first(n), buckets.width),
            parts=self._each(State.copy),
        )

    def trimmed(self) -> dict[str, Array]:
        """Copies of the arrays, without spare room for features."""
        end = self.n_features + 1
        return {
            name: array[tuple(slice(end) if axis == "features" else slice(None) for axis in self._axes(name))].copy()
            for name, array in self.arrays.items()
        }

    def set_aside(self) -> State:
        """A copy to go back to, or to look at while this one changes. It has the same writer, and shares the names."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        return self._but(arrays=arrays, parts=self._each(State.set_aside))

    def kept(self, features: Array) -> Kept:
        """The numbers that rows with these features may change, where they change none of other features."""
        kept = Kept()
        for name, array in self.arrays.items():
            axes, place = self._axes(name), (...,)
            if "features" in axes:
                i = axes.index("features")
                slots = np.append(0, features + 1)
                place = (*[slice(None)] * i, slots[slots < array.shape[i]])
            kept.append((array, place, array[place].copy()))
        return kept

    def forgetful(self) -> State:
        """The state with its present weights, which are all that counts of its past."""
        state = self.copy()
        state.arrays["count"][0] = 0
        for name, role in self.fields.items():
            if role.fades:
                extent = {**self._extent(), **dict(zip(role.axes.split(), self.arrays[name].shape, strict=True))}
                state.arrays[name] = self._entries(name, extent)
        state.allocate_averages()
        state.parts = self._each(State.forgetful)
        return state

    def allocate(self) -> None:
        """Make the arrays for the present number of features and classes, of a state that nobody has seen yet."""
        self.arrays["count"] = np.zeros(2, np.int64)
        for name in self.fields:
            self.arrays[name] = self._entries(name, self._extent())

    def allocate_averages(self) -> None:
        """Make the arrays of averages, when all others have their first numbers."""
        for name in self.averages():
            kind, _, plain = name.rpartition(".")
            self.arrays[name] = np.zeros_like(self.arrays[plain]) if kind == "gap" else self.arrays[plain].copy()

    def averages(self) -> list[str]:
        """The names of the arrays of averages. With a clock, `gap.NAME` for an additive field, and `mean.scale` for its factor; without
        an additive field, `mean.NAME` for all that rules see. With a pocket, `pocket.NAME` for the weights that did best."""
        names = [f"pocket.{name}" for name in self.additive()] if "pocket" in self.fields else []
        if "clock" not in self.fields:
            return names
        if not self.additive():
            return names + [f"mean.{name}" for name in self.of_rules()]
        return names + [f"gap.{name}" for name in self.additive()] + (["mean.scale"] if "scale" in self.fields else [])

    def additive(self) -> list[str]:
        return [name for name, role in self.fields.items() if role.additive]

    def of_rules(self) -> list[str]:
        """The fields that rules see."""
        return [name for name, role in self.fields.items() if not role.beside]

    # --- larger states ---

    def widened(self, n_features: int, newcomers: Any = (), called: Any = None) -> State:
        """The state with more features, with these names or hashes, or where they have both, these hashes and what they are `called`;
        old entries keep their place and their values."""
        changes: dict[str, Any] = {"n_features": n_features}
        if self.names is not None:
            changes["names"] = self.names.grown(newcomers if called is None else called, self.n_features)
        if self.buckets is not None:
            changes["buckets"] = self.buckets.grown(newcomers, self.n_features)
        if self.capacity < n_features:
            changes["arrays"] = self._stretched({"features": n_features + 1})
        return self._but(**changes, parts=self._each(lambda part: part.widened(n_features)))

    def foreseeing(self, width: int) -> State:
        """The state with the numbers of features that are still to come, for predictions; they have no names yet."""
        return self._but(
            arrays=self._stretched({"features": width + 1}),
            n_features=width,
            names=None,
            buckets=None,
            parts=self._each(lambda part: part.foreseeing(width)),
        )

    def extended(self, sizes: dict[str, int]) -> State:
        """The state with axes that were full made longer."""
        return self._but(arrays=self._stretched(sizes), capacities={**self.capacities, **sizes})

    def _stretched(self, least: dict[str, int]) -> dict[str, Array]:
        """All arrays anew, with axes of at least these lengths."""
        arrays = {}
        for name, array in self.arrays.items():
            axes = self._axes(name)
            wanted = {axis: size for axis, size in least.items() if axis in axes and array.shape[axes.index(axis)] < size}
            if not wanted:
                arrays[name] = array.copy()
                continue
            if "features" in wanted:
                wanted["features"] = max(wanted["features"], array.shape[axes.index("features")] * 3 // 2)
            longer = self._entries(name, {**self._extent(), **dict(zip(axes, array.shape, strict=True)), **wanted})
            longer[tuple(slice(size) for size in array.shape)] = array
            arrays[name] = longer
        return arrays

    def with_class(self, label: Any) -> tuple[State, int]:
        """The state with a new label, in sorted order and with fresh weights, and the place of the label."""
        assert self.classes is not None
        check_labels(self.classes, np.asarray([label]))
        known, label = self.classes.tolist(), np.asarray(label).item()
        order = len(known)
        k = int(np.searchsorted(self.classes, label)) if order else 0
        arrays = {}
        for name, array in self.arrays.items():
            array = array.copy()
            axes = self._axes(name)
            for i, axis in enumerate(axes):
                if axis == "terms" and order >= FEW:
                    array = array.take([0], axis=i)
                elif axis in ("classes", "ranks", "terms"):
                    extent = dict(zip(axes, array.shape, strict=True))
                    fresh = self._entries(name, {**extent, axis: 1}, first=order)
                    array = np.insert(array, k + (axis != "classes"), fresh.take(0, axis=i), axis=i)
            arrays[name] = np.ascontiguousarray(array)
        classes = np.array([*known[:k], label, *known[k:]])
        parts = self._each(lambda part: part if part.classes is None else part.with_class(label)[0])
        return self._but(classes=classes, arrays=arrays, parts=parts), k

    def turn(self, fields: dict[str, Field]) -> State:
        """The state in the form for many classes, whose fields these are: the same scores, in another form."""
        new_names = dict(zip(self.fields, fields, strict=True))
        arrays = {}
        for name, array in self.arrays.items():
            kind, dot, plain = name.rpartition(".")
            if plain in new_names:
                other = new_names[plain]
                arrays[f"{kind}{dot}{other}"] = _turned(array, self.fields[plain], fields[other])
            else:
                arrays[name] = array.copy()
        return self._but(form="multiclass", fields=fields, turned=True, arrays=arrays)

    # --- what is sound ---

    def can_follow(self, width: int) -> bool:
        """Whether rows of this width can come, from the stage before."""
        return self.buckets.width == width if self.buckets is not None else self.grow_features or self.n_features == width

    def flaw(self) -> str | None:
        """What is wrong with the state, if anything: machine code follows lengths and types wherever they lead."""
        if self.n_features < 0 or (self.names is not None and len(self.names) < self.n_features):
            return "its features and their names do not agree"
        both = self.names is not None and self.form != "stage"
        if self.buckets is not None and (len(self.buckets) < self.n_features or both):
            return "its features and their hashes do not agree"
        if not 0 <= self.known <= self.n_features:
            return "it has fewer features than it knew at the first example"
        if flaw := self._flaw_of_labels():
            return flaw
        expected = self._expected()
        for name, array in self.arrays.items():
            if name not in expected:
                return f"it has an array {name!r} that means nothing here"
            dtype, shape = expected[name]
            flags = array.flags
            if (
                array.dtype != dtype
                or array.ndim != len(shape)
                or not (flags.c_contiguous and flags.aligned and flags.writeable)
                or not self._fits(name, array.shape, shape)
            ):
                return f"its array {name!r} has the wrong shape or type"
        if missing := [name for name in expected if name not in self.arrays]:
            return f"its array {missing[0]!r} is missing"
        for axis in ("features", *self.capacities):
            sizes = {
                size
                for name, array in self.arrays.items()
                for kind, size in zip(self._axes(name), array.shape, strict=False)
                if kind == axis
            }
            if len(sizes) > 1:
                return f"its arrays have place for different numbers of {axis}"
        return next(filter(None, (self._flaw_of(part) for part in self.parts.values())), None)

    def _flaw_of(self, part: State) -> str | None:
        """What is wrong with a part, of itself or beside the others; one that is a stage has no labels."""
        alike = (self.n_features, self.grow_features) == (part.n_features, part.grow_features)
        if part.form != "stage":
            alike = alike and (self.form, self.dtype, self.grow_classes) == (part.form, part.dtype, part.grow_classes)
            labels = [None if state.classes is None else state.classes.tolist() for state in (self, part)]
            alike = alike and labels[0] == labels[1]
        return part.flaw() if alike else "its parts do not know the same features and labels"

    def _flaw_of_labels(self) -> str | None:
        labels = self.classes
        if self.form not in ("binary", "multiclass"):
            return None if labels is None else "it has labels, and no classes"
        if (
            labels is None
            or labels.ndim != 1
            or labels.dtype.kind not in "biufU"
            or (labels.dtype.kind == "f" and not np.isfinite(labels).all())
            or not (labels[:-1] < labels[1:]).all()
            or (self.form == "binary" and (len(labels) > 2 or (len(labels) < 2 and not self.grow_classes)))
        ):
            return "its labels are not those of a classifier"
        return None

    def _expected(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The arrays that there have to be, with their types and the least of their shapes."""
        extent = self._extent()
        expected: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {"count": (np.dtype(np.int64), (2,))}
        for name, role in self.fields.items():
            expected[name] = (self._dtype(role), _shape(role, extent))
        for name in self.averages():
            plain = name.rpartition(".")[2]
            dtype, shape = expected[plain]
            expected[name] = (dtype, self.arrays[plain].shape if plain in self.arrays else shape)
        return expected

    def add_late(self) -> None:
        """Add fresh arrays for those that a file does not have yet."""
        for name, role in self.fields.items():
            if role.late and name not in self.arrays:
                self.arrays[name] = self._entries(name, self._extent())

    def measure_capacities(self) -> None:
        """Take the sizes of the axes that grow from the arrays of a file."""
        for name, role in self.fields.items():
            shape = self.arrays[name].shape if name in self.arrays else ()
            for axis, size in zip(role.axes.split(), shape, strict=False):
                if axis in self.capacities:
                    self.capacities[axis] = max(self.capacities[axis], size)

    def _axes(self, name: str) -> list[str]:
        role = self.fields.get(name.rpartition(".")[2])
        return [] if role is None else role.axes.split()

    def _dtype(self, role: Field) -> np.dtype[Any]:
        return np.dtype(np.int64 if role.whole else np.float64) if role.exact or role.whole else self.dtype

    def _fits(self, name: str, shape: tuple[int, ...], least: tuple[int, ...]) -> bool:
        axes = self._axes(name) if name in self.fields else [""] * len(shape)
        return all(
            size >= wanted if axis == "features" else size == wanted
            for axis, size, wanted in zip(axes, shape, least, strict=True)
        )

    def _extent(self) -> dict[str, int]:
        classes = 0 if self.classes is None else len(self.classes)
        terms = classes + 1 if classes <= FEW else 1
        known = {"one": 1, "features": self.n_features + 1, "classes": classes, "ranks": classes + 1, "terms": terms}
        return {**self.sizes, **self.capacities, **known}

    def _entries(self, name: str, extent: dict[str, int], first: int = 0) -> Array:
        """Fresh entries of an array. What is drawn depends on (seed, field, row) alone, so that growing piece by piece draws what
        one allocation would have drawn."""
        kind, _, plain = name.rpartition(".")
        role = self.fields[plain]
        shape = _shape(role, extent)
        if not role.draw or kind == "gap":
            fresh = np.zeros(shape, self._dtype(role))
            if kind != "gap":
                start = np.asarray(role.start) / (2 if self.turned and role.turn == "halve" else 1)
                (_diagonal(fresh) if role.square else fresh)[...] = start
            return fresh
        own = shape[1:] if role.axes.startswith("candidates") else shape  # all candidates start from the same numbers
        rows, width = (1, *own)[-2:]
        stream = list(self.fields).index(plain)
        numbers = drawn(self.seed, stream, first, rows, width)
        if role.reach or role.fan_out is not None:
            numbers = self._reach(role, rows) * (2 * numbers - 1)
        else:
            numbers = 0.2 * numbers - 0.1 if role.draw == "uniform" else ndtri(np.maximum(numbers, 2.0**-54))
        if role.fan_in:
            numbers[1:] /= np.sqrt(max(self.known, 1))
        return np.broadcast_to(numbers.reshape(own), shape).astype(self.dtype, order="C")

    def _reach(self, role: Field, rows: int) -> Array:
        """How far from 0 the entries of a layer are drawn."""
        if role.fan_out is None:
            return np.repeat([a for _, a in role.reach], [length for length, _ in role.reach])
        reach = np.full((rows, 1), np.sqrt(6 / (role.fan_out + max(self.known, 1))))
        reach[0] = 0
        return reach


def _shape(role: Field, extent: dict[str, int]) -> tuple[int, ...]:
    return tuple(int(axis) if axis.isdigit() else extent[axis] for axis in role.axes.split())


def _diagonal(square: Array) -> Array:
    return np.einsum("ii->i", square)


def _turned(array: Array, role: Field, new: Field) -> Array:
    """An array of the form for two classes, of this role, in its role in the form for many."""
    axes, new_axes = role.axes.split(), new.axes.split()
    if "classes" not in new_axes or "classes" in axes:
        turned = array.copy()
        if new.turn == "halve":
            (_diagonal(turned) if new.square else turned)[...] /= 2
        return turned
    if "pair" in axes:  # what tells the classes apart, and what they have in common
        apart, common = np.moveaxis(array, axes.index("pair"), 0)
        both = (common - apart) / 2, (common + apart) / 2
    else:
        one = array.take(0, axis=axes.index("one")) if "one" in axes else array
        # A zero stays +0, as it is for features that come later: they may be known already if a table brought them.
        both = (one, one) if new.turn == "copy" else (0 - one / 2, one / 2)
    return np.ascontiguousarray(np.stack(both, axis=new_axes.index("classes")))


def drawn(seed: int, stream: int, first: int, rows: int, width: int) -> Array:
    """Rows of U(0, 1) from a counter-based generator: row j depends on (seed, stream, j) alone."""
    steps = -(-width // 4)  # Philox gives four numbers a step of its counter
    bits = np.random.Philox(key=(stream << 64) | seed)
    bits.advance(first * steps)
    return np.random.Generator(bits).random((rows, 4 * steps))[:, :width]
