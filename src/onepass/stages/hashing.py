"""Features by hashed names, in bounded memory."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from numbers import Integral
from struct import Struct
from struct import error as StructError
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy import frombuffer
from scipy.sparse import csr_array
from sklearn.utils import murmurhash3_32
from sklearn.utils._param_validation import Interval

from onepass.base import Field, Stage, State
from onepass.base.binding import ReadRaw
from onepass.base.estimator import are_named
from onepass.base.inputs import Rows, check_name, from_csr, readonly
from onepass.base.knowledge import Door, Start
from onepass.base.parameters import parameter, parametric
from onepass.base.stage import FLOAT64
from onepass.base.state import Array
from onepass.compiled.chain import change, makes_entries, unsound
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.entries import add_up, put, room

BUCKETS = 2**20
PAIR = 0x9E3779B1  # joins two hashes
LARGE = 1e100  # beyond it, a number needs a closer look
ANY = (nw.Categorical, nw.Enum, nw.Object, nw.Unknown)  # columns whose values tell, one by one, whether they are texts

MASK, C1, C2, PLUS, F1, F2 = map(np.uint64, (0xFFFFFFFF, 0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35))
ZERO, ONE, THREE, FIVE, EIGHT = map(np.uint64, (0, 1, 3, 5, 8))


@routine
def rotated(x: Any, bits: Any) -> Any:
    return ((x << np.uint64(bits)) | (x >> np.uint64(32 - bits))) & MASK


@routine
def scrambled(k: Any) -> Any:
    return (rotated((k * C1) & MASK, 15) * C2) & MASK


@routine
def absorbed(h: Any, k: Any, length: Any, data: Any, start: Any, stop: Any) -> Any:
    """Some bytes taken in: h is of all whole words so far, k holds the bytes after those, and length counts all of them."""
    for i in range(start, stop):
        k |= np.uint64(data[i]) << (EIGHT * (length & THREE))
        length += ONE
        if length & THREE == ZERO:
            h = (rotated(h ^ scrambled(k), 13) * FIVE + PLUS) & MASK
            k = ZERO
    return h, k, length


@entry_point
def murmur(prefix: Any, data: Any, offsets: Any, out: Any) -> None:
    """MurmurHash3 (Appleby, 32 bits) of texts behind a prefix; text i is data[offsets[i] : offsets[i + 1]]."""
    h0, k0, length0 = absorbed(ZERO, ZERO, ZERO, prefix, 0, len(prefix))
    for i in range(len(out)):
        h, k, length = absorbed(h0, k0, length0, data, offsets[i], offsets[i + 1])
        h = h ^ scrambled(k) ^ (length & MASK)
        h = ((h ^ (h >> np.uint64(16))) * F1) & MASK
        h = ((h ^ (h >> np.uint64(13))) * F2) & MASK
        out[i] = h ^ (h >> np.uint64(16))


# --- one dict on its way through a pipeline: hashes, then the values of each ---

Hashed = namedtuple("Hashed", "columns")


@change.form(Hashed)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    (indptr, indices, values), used = out, 0
    n = len(X.values) // 2
    for i in range(n):
        used = put(np.int64(X.values[i]), X.values[n + i], 0, stage.columns, indices, values, used)
    indptr[1] = add_up(indices[:used], values[:used])


makes_entries(Hashed, lambda stage, X: room(len(X.values) // 2))


@unsound.form(Hashed)
def _(stage: Any, X: Any) -> Any:
    """Also where three share a column: scikit-learn adds them up in an order of its own. Few rows have two entries whose columns agree
    with others in their last bits, and only these are put in order to tell."""
    n, sound, agreeing, last, next_last = len(X.values) // 2, True, 0, ZERO, ZERO
    for i in range(n):
        place = abs(np.int64(X.values[i])) % stage.columns
        one, other = ONE << np.uint64(place & 63), ONE << np.uint64(place >> 6 & 63)
        agreeing += (last & one) != ZERO and (next_last & other) != ZERO
        last, next_last = last | one, next_last | other
        sound &= abs(X.values[n + i]) < LARGE
    if agreeing < 2 or not sound:
        return not sound
    places = np.empty(n, np.int64)
    for i in range(n):
        places[i] = abs(np.int64(X.values[i])) % stage.columns
    places.sort()
    for i in range(2, n):
        sound &= places[i] != places[i - 2]
    return not sound


class Hashing(Stage):
    """A stage whose rows have `n_features` columns, of hashes. It can be used before it has learned anything."""

    n_features: int

    _offers: ClassVar[dict[str, Any]] = {
        "n_features": parameter(BUCKETS, Interval(Integral, 1, 2**30, closed="both"), text="How many columns the rows have.")
    }
    _takes_raw = True
    _fixes_width = True

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _latest(self) -> State:
        if self._state is None:
            self._state = self._new_state("stage", self._first_start())
        return self._state

    def _first_start(self) -> Start:
        """What there is before anything was learned."""
        return Start(FLOAT64, self.n_features, None, None, False, False)

    def _width(self, state: State) -> int:
        return self.n_features

    def transform_one(self, x: Any) -> Any:
        """One example as a sparse row."""
        return self.transform([x])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns: their numbers."""
        return np.array([self._name_of(j) for j in range(self._width(self._latest()))], dtype=object)

    def _name_of(self, column: int) -> str:
        return f"hash{column}"


@parametric
class Hasher(Hashing):
    """Dicts of features, or data frames, as sparse rows of a fixed width: a feature's column is the hash of its name.

    Column MurmurHash3(name) mod n_features, with a sign from the same hash, so that collisions cancel on average; a text value
    becomes the feature "name=text" of value 1, and None is no feature at all. Equal to scikit-learn's `FeatureHasher`. A frame is
    hashed a column at a time, each of its texts once, and gives the same bits as its rows as dicts; a column of numbers must
    have all of them. Memory is bounded whatever names appear.

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg: Feature hashing for large scale multitask learning. ICML 2009.

    Examples
    --------
    >>> from onepass import Hasher
    >>> Hasher(n_features=16).transform([{"colour": "red", "size": 2.0}]).shape
    (1, 16)
    """

    n_features: int = parameter(BUCKETS, Interval(Integral, 1, 2**31 - 1, closed="both"), text="The width of the rows.")

    _forms: ClassVar[dict[str, dict[str, Field]]] = {"stage": {}}

    def _enter(self, X: Any, weights: Array | None, door: Door) -> Rows:
        return self._rows(X, self._latest())

    def _check_rows(self, X: Any) -> None:
        self._rows(X, self._latest())

    def _foreseen(self, X: Any, state: State) -> Rows:
        return self._rows(X, state)

    def _rows(self, X: Any, state: State) -> Rows:
        if isinstance(X, Mapping):
            raise TypeError(
                "Hasher takes a list of dicts; put a single example into a list, or use learn_one and transform_one."
            )
        X = nw.to_native(X, pass_through=True)
        if nw.dependencies.is_into_dataframe(X):
            frame = nw.from_native(X, eager_only=True)
            return self._hashed(len(frame), [_entries(name, frame.get_column(name)) for name in frame.columns])
        if isinstance(X, Rows) and X.names is not None:
            return self._hashed(X.n, [(murmurhash3_32(name), X.data[:, j]) for j, name in enumerate(X.names)])
        if not are_named(X):
            raise TypeError("Hasher takes dicts of features or a data frame: only names can be hashed.")
        from sklearn.feature_extraction import FeatureHasher  # takes as long to import as the rest of the stages together

        pairs = ([pair for pair in x.items() if pair[1] is not None] for x in X)
        return from_csr(FeatureHasher(self.n_features, input_type="pair").transform(pairs), hashed=True)

    def _record(self, state: State) -> Hashed:
        return Hashed(int(self.n_features))

    def _reader(self, state: State) -> ReadRaw:
        return _reader()

    def _hashed(self, n: int, columns: list[tuple[Any, Any]]) -> Rows:
        """Rows of columns of hashes and values. Zeros are left out and collisions added up as by scikit-learn, to the bit."""
        hashes, values = np.empty((n, len(columns)), np.int64), np.empty((n, len(columns)))
        for j, column in enumerate(columns):
            hashes[:, j], values[:, j] = column
        present = values != 0
        indptr = np.concatenate([[0], present.sum(axis=1).cumsum()])
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        places = (abs(hashes[present]) % self.n_features).astype(kind)
        signed = np.where(hashes < 0, -values, values)
        X = csr_array((signed[present], places, indptr.astype(kind)), shape=(n, self.n_features))
        X.sum_duplicates()
        return from_csr(X, hashed=True)

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        return rows

    def _called(self, state: State, X: Any, names: Any) -> dict[int, str]:
        called = Shared()
        for name, value in X[0].items():
            called.add(self._rows([{name: value}], state).data.indices.tolist(), said(name, value))
        return called.names()


class Shared:
    """What columns are made of, which several features may share."""

    def __init__(self) -> None:
        self._found: dict[int, dict[str, None]] = {}

    def add(self, columns: Iterable[int], name: str) -> None:
        for j in columns:
            self._found.setdefault(j, {})[name] = None

    def names(self) -> dict[int, str]:
        return {j: " + ".join(names) for j, names in self._found.items()}

    def __contains__(self, j: int) -> bool:
        return j in self._found


@lru_cache(2**14)
def _hash_of_name(name: str) -> int:
    check_name(name)
    return murmurhash3_32(name)


@lru_cache(2**16)
def _hash_of_text(name: str, text: str) -> int:
    return murmurhash3_32(f"{name}={text}")


@lru_cache(1024)
def _packing(numbers: int) -> Callable[..., bytes]:
    return Struct(f"{numbers}d").pack


def _reader() -> ReadRaw:
    """What makes of a dict its hashes and their values. A dict that equals the one before, as when it is learned from after it was
    predicted, is not read again."""
    last: tuple[Any, Any] = None, None

    def read(x: Any, learning: bool) -> tuple[Array, Array] | None:
        nonlocal last
        if type(x) is not dict:
            return None
        try:
            then, row = last
            if x == then:
                return row
            hashes: list[float] = []
            values: list[float] = []
            plain = True
            for name, value in x.items():
                kind = type(value)
                if kind is str:
                    hashes.append(_hash_of_text(name, value))
                    values.append(1.0)
                else:
                    hashes.append(_hash_of_name(name))
                    values.append(0.0 if value is None else value)
                    plain = plain and (kind is float or kind is int or value is None)
            row = frombuffer(_packing(2 * len(x))(*hashes, *values)), NO_BYTES
        except (TypeError, ValueError, OverflowError, StructError):
            return None
        if plain:  # what may change in its place is not worth remembering
            last = x.copy(), row
        return row

    return read


def said(name: str, value: Any) -> str:
    """What a feature of a dict is called."""
    return f"{name}={value}" if isinstance(value, str) else name


def _entries(name: Any, series: Any) -> tuple[Any, Any]:
    """The hashes of a column of a frame, or the one for all its rows, and the values."""
    check_name(name)
    if series.dtype == nw.String:
        hashes = np.empty(len(series), np.uint32)
        murmur(_bytes(f"{name}=".encode()), *_texts(series), hashes)
        return hashes.view(np.int32), ~series.is_null().to_numpy()
    if isinstance(series.dtype, ANY):
        values = _values(series, None)
        try:
            known = {value: _entry(name, value) for value in set(values)}
        except (TypeError, ValueError):
            raise TypeError(f"Column {name!r} of X holds what is neither a number nor a text.") from None
        entries = np.array([known[value] for value in values], float).reshape(-1, 2)  # a float has room for a hash
        return entries[:, 0], entries[:, 1]
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise TypeError(f"Column {name!r} of X is {series.dtype}: neither numbers nor text.")
    if series.null_count():
        row = int(series.is_null().to_numpy().argmax())
        raise ValueError(f"Column {name!r} of X has no value in row {row}; only a text may be missing.")
    return murmurhash3_32(name), (series.cast(nw.Float64) if series.dtype.is_decimal() else series).to_numpy()


def category(name: str, value: Any) -> str:
    """What the feature of a value that is a category is called. A whole number is the same one in a column of floats."""
    return f"{name}={int(value) if isinstance(value, float) and value.is_integer() else value}"


def hashes_of(name: str, values: Any) -> tuple[Array, Array]:
    """The hashes of a column whose values are categories, and 1 where there is a value, else 0. Numbers are told by their text."""
    if not isinstance(values, list | np.ndarray) and values.dtype == nw.String:
        hashes, present = _entries(name, values)
        return hashes.astype(np.int64), present.astype(float)
    known: dict[Any, int] = {}
    listed = values if isinstance(values, list) else values.tolist() if isinstance(values, np.ndarray) else values.to_list()
    missing = [value is None or value != value for value in listed]
    for value, absent in zip(listed, missing, strict=True):
        if not absent and value not in known:
            known[value] = murmurhash3_32(category(name, value))
    return np.array([0 if absent else known[v] for v, absent in zip(listed, missing, strict=True)], np.int64), 1.0 - np.array(
        missing
    )


def _entry(name: str, value: Any) -> tuple[int, float]:
    """The hash and the value of a text, a number or None."""
    if isinstance(value, str):
        return murmurhash3_32(f"{name}={value}"), 1.0
    return murmurhash3_32(name), 0.0 if value is None else float(value)


def _texts(series: Any) -> tuple[Array, Array]:
    """The texts of a column as bytes, one after the other, and where each begins and ends; what is missing has any bytes."""
    if series.implementation.is_pyarrow():
        column = series.to_native().cast("large_string").combine_chunks()
        _, offsets, data = column.buffers()
        return _bytes(data or b""), readonly(np.frombuffer(offsets, np.int64)[column.offset :][: len(column) + 1])
    texts = [text.encode() for text in _values(series, "")]
    return _bytes(b"".join(texts)), readonly(np.cumsum([0, *map(len, texts)]))


def _bytes(data: Any) -> Array:
    return readonly(np.frombuffer(data, np.uint8))


NO_BYTES = _bytes(b"")


def _values(series: Any, instead: Any) -> list[Any]:
    """The values of a column, with something else instead of those that are missing."""
    values: list[Any] = series.to_list()
    if not series.null_count():
        return values
    return [instead if missing else value for value, missing in zip(values, series.is_null().to_list(), strict=True)]
