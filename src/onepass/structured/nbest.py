"""Lists of candidates as users hand them in: matrices, dicts of features, or the rows of a table with the number of a query each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from onepass.base.state import Array, State
from onepass.structured.chain import Sentences
from onepass.structured.words import Words, words_by_name


@dataclass(frozen=True, eq=False)
class Columns(Words):
    """Candidates whose features are the columns of matrices; None where no list has a candidate."""

    width: int | None = None

    def known_to(self, state: State) -> Sentences:
        return (self if state.n_features else self._without_features()).record(state)

    def learned_by(self, state: State) -> tuple[State, Words]:
        check_features(self, state)
        if self.width is None or state.n_features == self.width:
            return state, self
        return state._but(names=None).widened(self.width), self  # the first candidates decide that features have no names

    def _without_features(self) -> Columns:
        nothing = np.zeros(0, np.int32)
        return replace(self, indptr=np.zeros_like(self.indptr), features=nothing, values=np.zeros(0), rows=nothing)


def check_features(lists: Words, state: State) -> None:
    """Refuse candidates with other features than a model has learned from."""
    if isinstance(lists, Columns):
        named = state.names is not None and state.n_features > 0
        if lists.width is not None and (named or state.n_features not in (0, lists.width)):
            known = f"{state.n_features} features" + (" that have names: pass lists of dicts" if named else "")
            raise ValueError(f"Candidates have {lists.width} features, and the model has learned from {known}.")
    elif state.names is None:
        raise ValueError(
            f"The model has learned from {state.n_features} features without names: pass a matrix for each list, not dicts."
        )


def lists_of(X: Any, largest: float) -> Words:
    """Lists as records: of dicts, or of matrices with a row a candidate."""
    lists = list(_lists(X))
    if any(isinstance(candidate, Mapping) for one in lists if isinstance(one, list | tuple) for candidate in one[:1]):
        return _by_name(lists, largest)
    return _by_column(lists, largest)


def _lists(X: Any) -> Iterator[Any]:
    if isinstance(X, str | Mapping) or sp.issparse(X) or not hasattr(X, "__iter__"):
        raise TypeError(
            f"Expected a list of lists of candidates, got {type(X).__name__}; for one list use learn_one and predict_one, and for the"
            " rows of a table give `qid`."
        )
    for t, one in enumerate(X):
        if isinstance(one, str | Mapping) or not (hasattr(one, "__iter__") or sp.issparse(one)):
            raise TypeError(
                f"List {t} is a {type(one).__name__}: a list is a matrix, a row a candidate, or a list of dicts of features."
            )
        yield one if sp.issparse(one) or isinstance(one, np.ndarray | list | tuple) else _plain(one)


def _plain(one: Any) -> Any:
    return np.asarray(one) if hasattr(one, "__array__") else list(one)


def _by_name(lists: list[Any], largest: float) -> Words:
    for t, one in enumerate(lists):
        for candidate in one:
            if not isinstance(candidate, Mapping):
                raise TypeError(
                    f"List {t} holds a {type(candidate).__name__}, and others hold dicts: give a dict of features for each candidate."
                )
    words = words_by_name(lists, largest, "list")
    there = words.values != 0  # as in matrices, of which only such entries are kept
    before = np.concatenate([[0], np.cumsum(there)])
    return replace(words, indptr=before[words.indptr], features=words.features[there], values=words.values[there])


def _by_column(lists: list[Any], largest: float) -> Columns:
    matrices: list[Any] = []
    for t, one in enumerate(lists):
        try:
            matrix = sp.csr_array(one, dtype=np.float64) if sp.issparse(one) else np.asarray(one, np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"List {t} is no matrix of numbers: each candidate needs a number for each feature, or a dict of features."
            ) from None
        if matrix.ndim == 1 and not len(matrix):
            matrix = np.empty((0, 0))
        if matrix.ndim != 2:
            raise ValueError(f"List {t} has {matrix.ndim} dimensions: a list is a matrix, a row a candidate.")
        matrices.append(matrix)
    sizes = [matrix.shape[0] for matrix in matrices]
    filled = [matrix for matrix in matrices if matrix.shape[0]]
    widths = {matrix.shape[1] for matrix in filled}
    if len(widths) > 1:
        raise ValueError(f"Candidates have different numbers of features: {sorted(widths)}.")
    table: Any = sp.csr_array((0, 0))
    if filled:
        sparse = any(map(sp.issparse, filled))
        table = sp.csr_array(sp.vstack(list(map(sp.csr_array, filled))) if sparse else np.concatenate(filled), copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    sound = np.abs(table.data) < largest
    if not sound.all():
        entry = int(np.argmin(sound))
        row = int(np.searchsorted(table.indptr, entry, side="right")) - 1
        t = int(np.searchsorted(offsets, row, side="right")) - 1
        wrong = (
            "Input X contains NaN." if np.isnan(table.data[entry]) else f"it must be less than {largest:.3g}; scale it first."
        )
        raise ValueError(f"Feature {table.indices[entry]} in list {t} is {table.data[entry]}: {wrong}")
    columns = table.indices.astype(np.int32)
    return Columns(
        offsets, table.indptr.astype(np.int64), columns, table.data, rows=columns + np.int32(1), width=min(widths, default=None)
    )


def qualities(y: Any, offsets: Array, largest: float) -> Array:
    """A number for each candidate, one list after the other."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    lists = list(y)
    if len(lists) != len(offsets) - 1:
        raise ValueError(f"There are {len(offsets) - 1} lists, and qualities for {len(lists)}.")
    found = [np.empty(0)]
    for t, (one, n) in enumerate(zip(lists, np.diff(offsets).tolist(), strict=True)):
        try:
            numbers = np.asarray(one, np.float64)
        except (TypeError, ValueError):
            numbers = np.empty((0, 0))
        if one is None or isinstance(one, str) or numbers.ndim != 1:
            raise ValueError(f"List {t} has no qualities: give a number for each of its {n} candidates, got {one!r}.")
        if len(numbers) != n:
            raise ValueError(f"List {t} has {n} candidates and {len(numbers)} qualities.")
        if not (np.abs(numbers) < largest).all():
            raise ValueError(
                f"A quality in list {t} is NaN, infinite or too large: {numbers[~(np.abs(numbers) < largest)][0]}."
            )
        found.append(numbers)
    return np.concatenate(found)


def by_query(X: Any, qid: Any, y: Any = None) -> tuple[list[Any], list[Array]]:
    """The rows of a table, and their targets, as lists: neighbours with the same number of a query are one.

    >>> X, y = by_query([[1.0], [2.0], [3.0]], [7, 7, 8], [0, 1, 0])
    >>> [len(one) for one in X]
    [2, 1]
    """
    ids = np.asarray(qid)
    rows = X if isinstance(X, list | tuple) else sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    targets = np.zeros(n) if y is None else np.asarray(y)
    if ids.shape != (n,) or targets.shape != (n,):
        raise ValueError(f"There are {n} rows, but qid has the shape {ids.shape}, and y has {targets.shape}.")
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]])) if n else np.zeros(0, int)
    if len(np.unique(ids[starts])) < len(starts):
        raise ValueError("The rows of a query must be neighbours: sort the rows by qid first.")
    ends = [*starts[1:].tolist(), n]
    return [rows[a:b] for a, b in zip(starts, ends, strict=True)], [targets[a:b] for a, b in zip(starts, ends, strict=True)]
