"""What users hand in, as rows that the loop can take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from struct import Struct
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names, _get_feature_names

from onepass.base.names import Names
from onepass.compiled.checks import OUT_OF_RANGE, SORTED, check_csr
from onepass.compiled.rows import DenseRows, SparseRows

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
ABOUT_MISSING = "Put onepass.Imputer before the learner, in a pipeline, to fill in missing values."

ABOUT_OBJECTS = (
    'Put a stage like onepass.Subsequences before a learner with kernel="structure", in a pipeline, and nothing in between.'
)

# What a block may hold: enough rows to forget the cost of a call, few enough to be converted in the cache.
BLOCK_ROWS, BLOCK_BYTES = 32768, 1 << 24


class Rows:
    """A table of numbers, dense or CSR, handed out in typed, read-only blocks.

    What users give as CSR is not trusted: a block has a copy of its indices, which was looked at. That costs less than to look at all
    of them before, and they may change while they are used.
    """

    def __init__(
        self,
        values: Any,
        csr: tuple[Any, Any, int] | None = None,
        names: list[str] | None = None,
        *,
        sound: bool = False,
        named: bool = False,
        hashed: bool = False,
    ) -> None:
        """Dense `values`, or those of CSR rows with csr = (indptr, indices, width). Those that are `sound` are known to be in order;
        those that are `named` were dicts; the columns of those that are `hashed` are hashes, of which most never come."""
        self.names, self.named, self.hashed = names, named, hashed
        self.sparse = csr is not None
        self._sound = sound or not self.sparse
        if csr is None:
            self._values = values
            self.n, self.width = values.shape
        else:
            self._indptr, self._indices, self.width = csr
            self._values = readonly(np.ascontiguousarray(values))
            self.n = len(self._indptr) - 1

    @property
    def data(self) -> Any:
        """The table as users know it: an array or a `csr_array`."""
        if not self.sparse:
            return self._values
        rows = self.checked()
        return sp.csr_array((rows._values, rows._indices, rows._indptr), (self.n, self.width))

    @property
    def parts(self) -> tuple[Any, Any, Any]:
        """The bounds of checked sparse rows, and the columns and numbers of their entries."""
        return readonly(self._indptr), readonly(self._indices), self._values

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type to learn in: float32 stays float32, anything else is float64."""
        return FLOATS[1] if self._values.dtype == FLOATS[1] else FLOATS[0]

    @property
    def nbytes(self) -> int:
        return int(self._values.nbytes + (self._indices.nbytes if self.sparse else 0))

    def blocks(self) -> Iterator[tuple[int, int]]:
        row_bytes = max(1, self.nbytes // max(1, self.n))
        step = min(max(BLOCK_BYTES // row_bytes, 16), BLOCK_ROWS)
        for first in range(0, self.n, step):
            yield first, min(first + step, self.n)

    def block(self, start: int, stop: int, dtype: np.dtype[Any], bias: Any) -> Any:
        """Rows start..stop as the record that machine code takes. C-ordered numbers of this type are not copied."""
        if not self.sparse:
            values = np.ascontiguousarray(self._values[start:stop], dtype)
            return DenseRows(readonly(values if values.flags.aligned else values.copy()), bias)
        rows = self.part(start, stop).checked()
        with np.errstate(over="ignore"):
            values = rows._values.astype(dtype, copy=False)
        return SparseRows(readonly(rows._indptr), readonly(rows._indices), readonly(values), bias)

    def part(self, start: int, stop: int) -> Rows:
        """Some of the rows, not copied."""
        if not self.sparse:
            return Rows(self._values[start:stop], names=self.names)
        bounds = self._indptr[start : stop + 1]
        low, high = int(bounds[0]), int(bounds[-1])
        if not 0 <= low <= high <= len(self._indices):
            self._refuse_places()
        csr = (bounds - bounds[:1], self._indices[low:high], self.width)
        return Rows(self._values[low:high], csr, self.names, sound=self._sound, named=self.named, hashed=self.hashed)

    def checked(self) -> Rows:
        """The same rows, with places that were looked at and that nobody else can change, ascending in each row and each once."""
        if self._sound:
            return self
        order, indptr = OUT_OF_RANGE, self._indptr.astype(np.int64)
        end = indptr[-1]
        if 0 <= end <= len(self._indices):
            # The loop is compiled for two types of places, and trusts what it gets.
            kind = np.int32 if self._indices.dtype == np.int32 and end < 2**31 else np.int64
            source = readonly(np.ascontiguousarray(self._indices[:end], kind))
            indptr, indices = indptr.astype(kind), np.empty(end, kind)
            order = check_csr(readonly(indptr), source, self.width, indices)
        if order == OUT_OF_RANGE:
            self._refuse_places()
        values = self._values[:end]
        if order != SORTED:
            ordered = sp.csr_array((values.copy(), indices, indptr), (self.n, self.width))
            ordered.sum_duplicates()
            values, indices, indptr = ordered.data, ordered.indices.astype(kind), ordered.indptr.astype(kind)
        return Rows(values, (indptr, indices, self.width), self.names, sound=True, hashed=self.hashed)

    def _refuse_places(self) -> NoReturn:
        raise ValueError(
            f"X is not a valid CSR matrix: its parts do not fit, or an index lies outside its {self.width} columns."
        )

    def width_of(self, t: int) -> int:
        """How many columns row t shows: all of a dense one, those up to its last entry of a sparse one."""
        if not self.sparse:
            return self.width
        indices = self.part(t, t + 1).checked()._indices
        return int(indices[-1]) + 1 if len(indices) else 0

    def taken(self, order: Any) -> Rows:
        """The rows in another order."""
        if not self.sparse:
            return Rows(self._values[order], names=self.names)
        return from_csr(self.data[order], self.names, hashed=self.hashed)

    def narrowed(self, width: int) -> Rows:
        """The first columns only."""
        data = self.data[:, :width]
        return from_csr(data) if self.sparse else Rows(data)

    def with_blanks(self, width: int) -> Rows:
        """The first columns only. Each entry beyond is a 0 in one of them: sums are taken in parts, by the length of a row, and round
        as they will when what is new is known."""
        if not self.sparse or self.width <= width:
            return self  # what sums dense rows sees to it that there are weights of 0
        if width == 0:
            return self.narrowed(0)
        rows = self.checked()
        beyond = rows._indices >= width
        indices = np.where(beyond, rows._indices.dtype.type(width - 1), rows._indices)
        return Rows(np.where(beyond, rows._values.dtype.type(0), rows._values), (rows._indptr, indices, width), sound=True)

    def blank(self, times: int = 1) -> Any:
        """An array for new numbers in the places of the old ones, so many in the place of each."""
        return np.empty((*self._values.shape[:-1], times * self._values.shape[-1]), self.dtype)

    def span(self, start: int, stop: int, times: int = 1) -> slice:
        """Where the numbers of some checked rows are in `blank`."""
        return slice(times * self._indptr[start], times * self._indptr[stop]) if self.sparse else slice(start, stop)

    def with_values(self, values: Any, names: list[str] | None = None) -> Rows:
        """The same places with other numbers, in the order of `blank`, and with other names if there are several in each."""
        times = values.shape[-1] // max(1, self._values.shape[-1])
        if times < 2:
            csr = (self._indptr, self._indices, self.width) if self.sparse else None
            return Rows(values, csr, self.names, sound=self._sound, named=self.named, hashed=self.hashed)
        csr = None
        if self.sparse:
            indices = (times * self._indices[:, None] + np.arange(times, dtype=self._indices.dtype)).ravel()
            csr = (times * self._indptr, indices, times * self.width)
        return Rows(values, csr, names, sound=self._sound, named=self.named)

    def with_columns(self, columns: int) -> Rows:
        """The same checked rows, with an entry for each of the first columns also where it is 0."""
        if not self.sparse or columns == 0:
            return self
        counts = np.diff(self._indptr)
        rows, more = np.repeat(np.arange(self.n), counts), self._indices >= columns
        others = np.concatenate([[0], np.cumsum(more)])  # before each entry
        indptr = columns * np.arange(self.n + 1) + others[self._indptr]
        places = np.where(more, columns * (rows + 1) + others[:-1], indptr[rows] + self._indices)
        indices = np.empty(indptr[-1], self._indices.dtype)
        values = np.zeros(indptr[-1], self._values.dtype)
        indices[(indptr[:-1, None] + np.arange(columns)).ravel()] = np.tile(np.arange(columns), self.n)
        indices[places], values[places] = self._indices, self._values
        return Rows(values, (indptr.astype(self._indptr.dtype), indices, self.width), self.names, sound=True, named=self.named)

    def augmented(self, bias: Any) -> Any:
        """The only row, dense, behind the constant feature."""
        return np.append(bias, self.data.toarray()[0] if self.sparse else self.data[0]).astype(bias.dtype)

    def values(self, t: int) -> Any:
        """The stored numbers of row t."""
        return self._values[self._indptr[t] : self._indptr[t + 1]] if self.sparse else self._values[t]


def from_csr(X: Any, names: list[str] | None = None, *, hashed: bool = False) -> Rows:
    """Rows of a scipy CSR matrix, or the columns of a CSC matrix."""
    parts = X.data, X.indices, X.indptr
    n, width = X.shape if X.format == "csr" else X.shape[::-1]
    fits = all(type(part) is np.ndarray and part.ndim == 1 for part in parts) and len(X.indptr) == n + 1
    if not fits or X.indices.dtype.kind not in "iu" or X.indptr.dtype.kind not in "iu" or len(X.data) != len(X.indices):
        raise ValueError(
            f"X is not a valid {X.format.upper()} matrix: data, indices and indptr must be arrays of one axis, indices and indptr of"
            f" whole numbers; got shapes {[np.shape(part) for part in parts]} for the shape {X.shape}."
        )
    return Rows(X.data, (X.indptr, X.indices, width), names, hashed=hashed)


def as_csr(X: Any) -> Any:
    """A sparse matrix of any format as CSR, its places looked at before scipy reads them, which trusts them."""
    if X.ndim == 2 and X.format in ("csr", "csc"):
        checked = from_csr(X).data
        return checked if X.format == "csr" else checked.T.tocsr()
    triples = X.tocoo()
    return sp.coo_array((triples.data, triples.coords), X.shape).tocsr()


def readonly(array: Any) -> Any:
    """A view that cannot be written: one type for Numba, and no machine code can change a user's data."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def names_of(X: Any) -> list[str] | None:
    """The column names of a data frame, where all are strings."""
    if isinstance(X, Rows):
        return X.names
    names = _get_feature_names(X)
    return None if names is None else [str(name) for name in names]


def rows_of(X: Any, estimator: Any, *, fitted: bool) -> Rows:
    """Check X and wrap it, unless it is wrapped already. Values are not looked at: what is not finite shows in the scores."""
    if isinstance(X, Rows):
        return X
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and X.shape[0] and X.shape[1]:
        if fitted and hasattr(estimator, "feature_names_in_"):
            _check_feature_names(estimator, X, reset=False)
        return Rows(X)
    if type(X) in (sp.csr_array, sp.csr_matrix) and X.ndim == 2 and X.dtype in FLOATS and X.shape[0] and X.shape[1]:
        return from_csr(X)
    if fitted:
        _check_feature_names(estimator, X, reset=False)
    names = names_of(X)
    if nw.dependencies.is_into_dataframe(X) and not nw.dependencies.is_pandas_dataframe(X):
        X = nw.from_native(X, eager_only=True).to_numpy()
    if sp.issparse(X):
        X = as_csr(X)
    checked = check_array(
        X, accept_sparse="csr", accept_large_sparse=True, ensure_all_finite=False, estimator=estimator, input_name="X"
    )
    return from_csr(checked, names) if sp.issparse(checked) else Rows(np.asarray(checked), names=names)


def one_row(x: Any) -> Any:
    """One example as a table of one row: a dict of features, a text, a 1-d array or a sparse row."""
    if isinstance(x, Mapping | str):
        return [x]
    if sp.issparse(x):
        return as_csr(x).reshape(1, -1)
    values = np.asarray(x)
    if values.ndim != 1:
        raise ValueError(f"Expected one example (a dict, a 1-d array or a sparse row), got an array of shape {values.shape}.")
    return values[None]


def check_name(name: Any) -> None:
    """Features have names of text: a model file could not hold others."""
    if not isinstance(name, str):
        raise TypeError(f"The features of a dict must have names of text, got {name!r}.")


def named_values(x: Mapping[str, Any], *, missing: bool = False) -> dict[str, float]:
    """A dict of features with numbers only: text becomes the feature "name=text" of value 1, as in scikit-learn's hasher. None is NaN
    where values may be `missing`."""
    if all(type(value) is float for value in x.values()):
        return x if type(x) is dict else dict(x)
    named: dict[str, float] = {}
    for name, value in x.items():
        if isinstance(value, str):
            named[f"{name}={value}"] = 1.0
        elif value is None and missing:
            named[name] = math.nan
        else:
            named[name] = number_of(name, value)
    return named


def number_of(name: str, value: Any) -> float:
    """The value of a feature that is no text."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"Feature {name!r} has the value {value!r}; give a number or a text.") from None
    except OverflowError:
        raise ValueError(f"Feature {name!r} has the value {value!r}, which is too large.") from None


def check_values(named: dict[str, float], *, missing: bool = False) -> None:
    """Refuse features whose names are no text, and values that nobody could learn from; NaN is none of these where values may be
    `missing`."""
    for name, value in named.items():
        check_name(name)
        if math.isnan(value):
            if missing:
                continue
            raise ValueError(f"Feature {name!r} is {value}: Input X contains NaN. {ABOUT_MISSING}")
        if math.isinf(value):
            raise ValueError(f"Feature {name!r} is {value}: Input X contains infinity.")
        if not math.isfinite(value * value):
            raise ValueError(
                f"Feature {name!r} is {value}, which is too large: its square overflows. Scale the features first."
            )


def rows_by_name(
    examples: list[Mapping[str, Any]], names: Names, known: int, *, grow: bool, missing: bool = False
) -> tuple[Rows, list[str]]:
    """Dicts as CSR rows, given the names of the first `known` features, and the names that are new; without `grow` those count for
    nothing. Whether values may be `missing`: they are NaN."""
    newcomers: dict[str, int] = {}
    indptr, indices, values = [0], list[int](), list[float]()
    for x in examples:
        named = named_values(x, missing=missing)
        check_values(named, missing=missing)
        pairs = []
        for (name, value), j in zip(named.items(), names.places(named, known), strict=True):
            if j is None and grow:
                j = newcomers.setdefault(name, known + len(newcomers))
            if j is not None:
                pairs.append((j, value))
        pairs.sort()
        indices.extend(j for j, _ in pairs)
        values.extend(value for _, value in pairs)
        indptr.append(len(indices))
    csr = (np.array(indptr, np.int32), np.array(indices, np.int32), known + len(newcomers))
    return Rows(np.array(values, float), csr, sound=True, named=True), list(newcomers)


# The names of a row, unless some of them are new, its indptr and indices, the order of its values, and a function that packs them into
# bytes. It takes numbers only, where numpy would also read a number from a text.
Places = tuple[list[str], Any, Any, Any, Callable[..., bytes]]


NUMBERS = {float, int, bool, np.float64}


def places(
    names: Names | None, n: int, x: dict[str, Any], new: str, dtype: np.dtype[Any], missing: bool = False
) -> Places | None:
    """The places of a dict's features among the first n, good for every dict with the same keys in the same order; None if it needs a
    closer look. What becomes of those that are new: they need one ("look"), are left out ("drop") or 0 (see `Rows.with_blanks`).
    Whether values may be `missing`."""
    values = [value for value in x.values() if value is not None] if missing else x.values()
    if names is None or not ({*map(type, values)} <= NUMBERS or all(isinstance(value, float | int) for value in values)):
        return None
    found = names.places(x, n)
    some_new = None in found
    if some_new and (new == "look" or not all(isinstance(name, str) for name in x)):
        return None
    known = [(j, position) for position, j in enumerate(found) if j is not None]
    ascending = sorted(known)
    if n and new == "blank":
        ascending += [(n - 1, len(x))] * (len(x) - len(known))
    order = np.array([position for _, position in ascending], np.intp) if some_new or ascending != known else None
    indptr, pack = _packing(len(ascending), len(x), dtype.char, some_new)
    return [] if some_new else list(x), indptr, np.array([j for j, _ in ascending], np.int32), order, pack


@lru_cache(1024)
def _packing(entries: int, numbers: int, kind: str, zero: bool) -> tuple[Any, Callable[..., bytes]]:
    """The bounds of a row of so many entries, and the function that packs so many numbers, and a 0 if there are entries for it."""
    padding = f"{np.dtype(kind).itemsize}x" if zero else ""
    return readonly(np.array([0, entries], np.int32)), Struct(f"{numbers}{kind}{padding}").pack
