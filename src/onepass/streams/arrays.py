"""Arrays, dense or sparse, cut into chunks: in memory without a copy, and from .npz archives without reading them whole."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import csr_array, issparse

from onepass.base.inputs import as_csr, from_csr
from onepass.streams.stream import Chunk, Chunks, Position


def cut(X: Any, y: Any, chunk: int, features: int | None) -> Chunks:
    """Views of the rows of X and y."""
    rows, width = X.shape
    if y is not None and len(y) != rows:
        raise ValueError(f"X has {rows} rows, but y has {len(y)}")
    if features is not None and (width > features or (width < features and not issparse(X))):
        raise ValueError(f"X has {width} features, but features={features}")
    if issparse(X):
        from_csr(X)  # refuses parts that can't be cut
    for start in range(0, rows, chunk):
        end = min(start + chunk, rows)
        part = _csr_rows(X, start, end, features or width) if issparse(X) else X[start:end]
        yield Chunk(part, None if y is None else y[start:end], Position(start))


def _csr_rows(X: Any, start: int, end: int, width: int) -> csr_array:
    first, last = X.indptr[start], X.indptr[end]
    part = csr_array((end - start, width), dtype=X.dtype)  # built from arrays, it would copy int64 indices to int32
    part.data, part.indices, part.indptr = X.data[first:last], X.indices[first:last], X.indptr[start : end + 1] - first
    return part


UNICODE = 0x10FFFF  # the last of its letters


class _Member:
    """One array of an archive, read from its start to its end."""

    def __init__(self, archive: zipfile.ZipFile, key: str, name: str, opened: ExitStack) -> None:
        if f"{key}.npy" not in archive.namelist():
            raise ValueError(f"{name} has no array {key!r}; it must hold X and y, or what scipy.sparse.save_npz writes and y")
        self._file: Any = opened.enter_context(archive.open(f"{key}.npy"))
        version = np.lib.format.read_magic(self._file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        try:
            self.shape, fortran, self.dtype = header(self._file)
        except Exception as error:  # NumPy reads it as Python, and says whatever Python says
            raise ValueError(f"the array {key!r} of {name} does not begin as arrays of NumPy do: {error}") from error
        if self.dtype.kind not in "biufSU":
            raise ValueError(f"the array {key!r} of {name} holds neither numbers nor strings: it is {self.dtype}")
        self._what = f"the array {key!r} of {name}"
        self._whole: Any = None
        self._taken = 0
        if fortran and len(self.shape) > 1:  # its rows are spread over all of the file
            self._whole = self._numbers(int(np.prod(self.shape))).reshape(self.shape[::-1]).T

    def _numbers(self, count: int) -> Any:
        data = self._file.read(count * self.dtype.itemsize)
        if len(data) < count * self.dtype.itemsize:
            raise EOFError
        if (
            self.dtype.kind == "U"
            and (np.frombuffer(data, np.dtype(np.uint32).newbyteorder(self.dtype.byteorder)) > UNICODE).any()
        ):
            raise ValueError(f"{self._what} holds text that is no Unicode")
        return np.frombuffer(data, dtype=self.dtype)

    def take_all(self) -> Any:
        """The whole array, of any shape."""
        return self._numbers(int(np.prod(self.shape))).reshape(self.shape)

    def take(self, count: int) -> Any:
        """The next `count` rows."""
        start, self._taken = self._taken, self._taken + count
        if self._whole is not None:
            return np.ascontiguousarray(self._whole[start : self._taken])
        return self._numbers(count * int(np.prod(self.shape[1:]))).reshape(count, *self.shape[1:])


def _floats(numbers: Any) -> Any:
    """The numbers as floats: single precision stays so, anything else becomes double."""
    return numbers if numbers.dtype == np.float32 else numbers.astype(np.float64, copy=False)


def read_npz(raw: Any, name: str, chunk: int, features: int | None) -> Chunks:
    """The chunks of an archive of `numpy.savez` with X and y, or of the parts of a CSR matrix with y."""
    try:
        with ExitStack() as opened:
            archive = opened.enter_context(zipfile.ZipFile(raw))
            rows, take = (_csr if "indptr.npy" in archive.namelist() else _dense)(archive, name, opened)
            labels = _Member(archive, "y", name, opened) if "y.npy" in archive.namelist() else None
            if labels and labels.shape != (rows,):
                raise ValueError(f"X of {name} has {rows} rows, but y has the shape {labels.shape}")
            for start in range(0, rows, chunk):
                count = min(chunk, rows - start)
                part = next(cut(take(count), labels.take(count) if labels else None, count, features))
                yield replace(part, position=Position(start, None, raw.count))
    except (
        zipfile.BadZipFile,
        zlib.error,
        RuntimeError,
    ) as error:  # the last: versions and passwords that zipfile does not know
        raise OSError(f"{name} is not a whole .npz file: {error}") from error
    except EOFError as error:
        raise EOFError(f"{name} is cut short") from error


def _dense(archive: zipfile.ZipFile, name: str, opened: ExitStack) -> tuple[int, Callable[[int], Any]]:
    """The number of rows, and a function that takes the next ones."""
    X = _Member(archive, "X", name, opened)
    if len(X.shape) != 2:
        raise ValueError(f"X of {name} has the shape {X.shape}; it must have rows and columns")
    return X.shape[0], lambda count: _floats(X.take(count))


def _csr(archive: zipfile.ZipFile, name: str, opened: ExitStack) -> tuple[int, Callable[[int], Any]]:
    """The same for what `scipy.sparse.save_npz` writes."""
    kind, shape, indptr, indices, data = (
        _Member(archive, key, name, opened) for key in ("format", "shape", "indptr", "indices", "data")
    )
    form = kind.take_all()
    if form.ravel().tolist() != [b"csr"]:
        told = form.tobytes().decode(errors="replace") if form.dtype.kind == "S" else form.tolist()
        raise ValueError(f"{name} holds a sparse matrix of the format {told}; save it as CSR")
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError(f"{name} is not a valid CSR matrix: it does not say how many rows and columns it has")
    rows, width = shape.take_all().tolist()
    before = indptr.take(1)

    def refuse() -> NoReturn:  # whoever gets a chunk will follow its indices
        raise ValueError(
            f"{name} is not a valid CSR matrix: its parts do not fit, or an index lies outside its {width} columns"
        )

    whole = indptr.dtype.kind in "iu" and indices.dtype.kind in "iu"
    if not whole or indptr.shape != (rows + 1,) or len(data.shape) != 1 or data.shape != indices.shape:
        refuse()

    def take(count: int) -> csr_array:
        nonlocal before
        bounds = np.concatenate([before, indptr.take(count)])
        before = bounds[-1:]
        starts = bounds.astype(np.int64) - int(bounds[0])
        if (starts[1:] < starts[:-1]).any():
            refuse()
        values, places = _floats(data.take(int(starts[-1]))), indices.take(int(starts[-1]))
        if places.size and not 0 <= places.min() <= places.max() < width:
            refuse()
        return as_csr(csr_array((values, places, starts), shape=(count, width)))

    return rows, take
