"""What the stages for strings, graphs and trees share: objects as sparse rows, whose dot product is a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np

from onepass.base import Field, State
from onepass.base.inputs import Rows, readonly
from onepass.base.knowledge import Door
from onepass.base.parameters import parameter
from onepass.base.state import Array
from onepass.compiled.objects import HEADER, PLAIN, SCALED, products_of
from onepass.compiled.structures import bags_of_parts, columns_of_parts, hash_texts
from onepass.stages.hashing import Hashing, Shared
from onepass.stages.text import blocks_of, listed

LONGEST = 2**30  # numbers of an object
LETTERS = np.uint64(0x110000)  # of Unicode


class Objects(Hashing):
    """A stage that takes strings, graphs or trees. It learns nothing."""

    _forms: ClassVar[dict[str, dict[str, Field]]] = {"stage": {}}
    _objects: ClassVar[str]  # what it takes

    def _taken(self, X: Any) -> Rows:
        """Objects as rows."""
        raise NotImplementedError

    def _one_row(self, x: Any) -> Any:
        return [x]

    def _check_rows(self, X: Any) -> None:
        self._taken(X)

    def _seen_by(self, state: State, X: Any, *, foreseen: bool = True) -> Rows:
        return self._taken(X)

    def _learn_transform(self, X: Any, weights: Array | None, door: Door, targets: Any = None) -> Rows:
        self._latest()
        return self._taken(X)

    def _listed(self, X: Any) -> list[Any]:
        single = isinstance(X, str | bytes | Mapping) or hasattr(X, "edges") or hasattr(X, "label")
        if single or nw.dependencies.is_into_dataframe(X):
            raise TypeError(
                f"{type(self).__name__} takes a list or a column of {self._objects}; put a single one into a list, or use learn_one and"
                " predict_one."
            )
        return listed(X)


class Structures(Objects):
    """A stage whose rows count the parts of objects, each in the column of its hash."""

    normed: bool

    _offers: ClassVar[dict[str, Any]] = {
        "normed": parameter(
            True,
            "boolean",
            text="Whether rows are scaled to unit norm, and with them the kernel to k(x, z) / sqrt(k(x, x) k(z, z)).",
        ),
    }

    # --- what a subclass says ---

    def _flat(self, examples: list[Any]) -> tuple[Any, Array]:
        """Objects as the record that machine code takes, and how many parts each has at most."""
        raise NotImplementedError

    def _parts(self, example: Any) -> Iterable[str]:
        """What the parts of an object are called, in the order in which machine code finds them."""
        raise NotImplementedError

    def _decay(self) -> float:
        """What the kernel multiplies a part by, for each power of it."""
        return 1.0

    # --- the stage ---

    def _taken(self, X: Any) -> Rows:
        self._ensure_parameters()
        record, most = self._flat(self._listed(X))
        offsets = np.concatenate([[0], np.cumsum(most, dtype=np.int64)])
        root, indptr, parts = self._decay() ** 0.5, np.zeros(len(offsets), np.int64), list[tuple[Array, Array]]()
        for start, stop in blocks_of(offsets):
            room, longest = int(offsets[stop] - offsets[start]), int(most[start:stop].max(initial=0))
            indices, values, own = np.empty(room, np.int32), np.empty(room), np.empty(stop - start + 1, np.int64)
            bags_of_parts(record, start, longest, self.n_features, root, bool(self.normed), own, indices, values)
            parts.append((indices[: own[-1]].copy(), values[: own[-1]].copy()))
            indptr[start + 1 : stop + 1] = indptr[start] + own[1:]
        columns, numbers = (np.concatenate(found) for found in zip(*parts, strict=True))
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        csr = (indptr.astype(kind), columns.astype(kind, copy=False), self.n_features)
        return Rows(numbers, csr, sound=True, hashed=True)

    def _called(self, state: State, X: Any, names: Any) -> dict[int, str]:
        record, most = self._flat(X)
        columns, called = np.empty(int(most[0]), np.int64), Shared()
        count = columns_of_parts(record, self.n_features, columns)
        for j, name in zip(columns[:count].tolist(), self._parts(X[0]), strict=True):
            called.add([j], name)
        return called.names()


class Kept(Objects):
    """A stage whose rows are objects, which kernel learners keep and compare (`compiled/objects.py`)."""

    normed: bool

    n_features = LONGEST
    _offers: ClassVar[dict[str, Any]] = {
        "normed": parameter(
            True, "boolean", text="Whether the kernel is k(x, z) / sqrt(k(x, x) k(z, z)), or 0 if one of these is 0."
        )
    }
    _gives_objects = True

    # --- what a subclass says ---

    def _kernel(self) -> tuple[float, float, float, float]:
        """The kind of the kernel and its parameters; none is 0."""
        raise NotImplementedError

    def _bodies(self, examples: list[Any]) -> tuple[Array, Array]:
        """Objects as numbers, none of them 0, one object after the other, and where each begins and ends."""
        raise NotImplementedError

    # --- the stage ---

    def _taken(self, X: Any) -> Rows:
        self._ensure_parameters()
        bodies, bounds = self._bodies(self._listed(X))
        kind, *parameters = self._kernel()
        sizes, header = np.diff(bounds), [kind, SCALED if self.normed else PLAIN, *parameters]
        indptr = bounds + HEADER * np.arange(len(bounds))
        indices = np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes + HEADER)
        values, first = np.empty(indptr[-1]), indices < HEADER
        values[first], values[~first] = np.tile(header, len(sizes)), bodies
        return Rows(values, (indptr, indices, self.n_features), sound=True)

    def gram(self, X: Any) -> Array:
        """The kernel of each object with each, for kernel="precomputed" and for learners of other libraries."""
        rows = self._taken(X)
        indptr, _, values = rows.parts
        products = np.empty((rows.n, rows.n))
        products_of(values, indptr, products)
        if self.normed:
            norms = np.sqrt(np.where(products.diagonal() > 0, products.diagonal(), 1.0))
            products /= np.outer(norms, norms)
        return products

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        raise AttributeError(f"The rows of {type(self).__name__} are objects, and have no features.")


def codes_of(texts: list[str]) -> tuple[Array, Array]:
    """The letters of texts by their Unicode numbers, one text after the other, and where each begins and ends."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    return readonly(codes), bounds_of(list(map(len, texts)))


def bounds_of(sizes: list[int]) -> Array:
    """Where things of these sizes begin and end, one after the other."""
    return readonly(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))


def symbols_of(labels: list[Any]) -> Array:
    """The hashes of labels."""
    codes, bounds = codes_of(texts_of(labels))
    symbols = np.empty(len(bounds) - 1, np.uint64)
    hash_texts(codes, bounds, symbols)
    return readonly(symbols)


def numbers_of(symbols: Array) -> Array:
    """Hashes as numbers that a float tells apart, none of them 0; a letter is its own."""
    return np.where(symbols < LETTERS, symbols, LETTERS + (symbols >> np.uint64(12))).astype(np.float64) + 1


def texts_of(labels: list[Any]) -> list[str]:
    """Labels as texts. A number is told by its text, a whole one without a point."""
    return labels if all(type(label) is str for label in labels) else [_told(label) for label in labels]


def _told(label: Any) -> str:
    if isinstance(label, str):
        return str(label)
    if isinstance(label, bytes):
        return label.decode("latin-1")
    if isinstance(label, Integral | np.bool_):
        return str(int(label))
    if isinstance(label, Real):
        number = float(label)
        return str(int(number)) if number.is_integer() else repr(number)
    raise TypeError(f"A label must be a text or a number, got {label!r}.")
