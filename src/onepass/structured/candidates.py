"""Lists: the output is one of some candidates, each with features of its own.

That is all there is to a problem that is written in plain Python, and it has one part a candidate: the decoders look at them all.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onepass.base.inputs import readonly
from onepass.base.state import Array, State
from onepass.compiled.compiler import routine
from onepass.compiled.rows import row
from onepass.structured.contrast import enter_rows
from onepass.structured.problem import (
    COUNT,
    cost,
    decode,
    decode_costly,
    decode_several,
    desk,
    differ,
    errors,
    extent,
    value,
    weigh,
)
from onepass.structured.words import Words

Listed = namedtuple("Listed", "W")

# List t has the candidates starts[t] : starts[t + 1], and candidate i the features indices[indptr[i] : indptr[i + 1]]. costs: of each
# candidate in place of the right one. An output is one number, the place in its list, or -1 of an empty list.
Lists = namedtuple("Lists", "offsets starts indptr indices values costs")
List = namedtuple("List", "indptr indices values costs")

NoDesk = namedtuple("NoDesk", "none")


@dataclass(frozen=True, eq=False)
class Candidates:
    """Lists of candidates as users hand them in; their features are `words`, a dict a candidate. The costs are there once somebody has
    said which candidates are right."""

    outputs: list[list[Any]]
    words: Words
    costs: Array

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def offsets(self) -> Array:
        return np.arange(len(self) + 1)

    @property
    def nbytes(self) -> int:
        return self.words.nbytes

    def part(self, start: int, stop: int) -> Candidates:
        costs = self.costs[self.words.offsets[start] : self.words.offsets[stop]]
        return Candidates(self.outputs[start:stop], self.words.part(start, stop), costs)

    def taken(self, order: Array) -> Candidates:
        return Candidates([self.outputs[t] for t in order], self.words.taken(order), self.costs[self.words.places(order)])

    def places(self, order: Array) -> Array:
        return order

    def known_to(self, state: State) -> Lists:
        return self._record(self.words.known_to(state))

    def learned_by(self, state: State) -> tuple[State, Candidates]:
        state, words = self.words.learned_by(state)
        return state, replace(self, words=words)

    def record(self, state: State) -> Lists:
        return self._record(self.words.record(state))

    def _record(self, words: Any) -> Lists:
        rows = words.offsets, words.indptr, words.indices, words.values
        return Lists(readonly(self.offsets), *rows, readonly(self.costs))


@row.form(Lists)
def _(X: Any, t: Any) -> Any:
    start, end = X.starts[t], X.starts[t + 1]
    return List(X.indptr[start : end + 1], X.indices, X.values, X.costs[start:end])


@extent.form(Listed)
def _(p: Any, X: Any) -> Any:
    most, features = 0, 0
    for t in range(len(X.starts) - 1):
        most = max(most, X.starts[t + 1] - X.starts[t])
    for i in range(len(X.indptr) - 1):
        features = max(features, X.indptr[i + 1] - X.indptr[i])
    return most, 1, 1, 2 * features


@desk.form(Listed)
def _(p: Any, X: Any, k: Any, by_errors: Any) -> Any:
    return NoDesk(0)


@weigh.form(Listed)
def _(p: Any, x: Any, parts: Any) -> Any:
    n = len(x.indptr) - 1
    for j in range(n):
        total = p.W.dtype.type(0)
        for i in range(x.indptr[j], x.indptr[j + 1]):
            total += x.values[i] * p.W[x.indices[i]]
        parts[j, 0] = total
    return n


@routine
def best(x: Any, parts: Any, kind: Any, share: Any, taken: Any) -> Any:
    """The place of the largest score, with `share` of its cost, that is not taken; the first among equals, and -1 if there is none."""
    found, highest = -1, -np.inf
    for j in range(len(x.indptr) - 1):
        free = True
        for i in range(len(taken)):
            free &= taken[i] != j
        total = np.float64(parts[j, 0]) + share * cost(kind, x.costs[j])
        if free and total > highest:
            found, highest = j, total
    return found


@decode.form(Listed)
def _(p: Any, x: Any, parts: Any, d: Any, z: Any) -> Any:
    z[0] = best(x, parts, COUNT, 0.0, z[:0])


@decode_costly.form(Listed)
def _(p: Any, x: Any, parts: Any, y: Any, kind: Any, d: Any, z: Any) -> Any:
    z[0] = best(x, parts, kind, 1.0, z[:0])


@decode_several.form(Listed)
def _(p: Any, x: Any, parts: Any, y: Any, costly: Any, d: Any, outputs: Any) -> Any:
    n = min(len(outputs), len(x.indptr) - 1)
    for i in range(n):
        outputs[i, 0] = best(x, parts, COUNT, 1.0 if costly else 0.0, outputs[:i, 0])
    return n


@value.form(Listed)
def _(p: Any, x: Any, parts: Any, y: Any) -> Any:
    return parts[y[0], 0] if y[0] >= 0 else parts.dtype.type(0)


@errors.form(Listed)
def _(p: Any, x: Any, y: Any, z: Any) -> Any:
    return x.costs[z[0]]


@differ.form(Listed)
def _(p: Any, x: Any, y: Any, z: Any, book: Any) -> Any:
    enter_rows(book, x, y[0], z[0])
