"""The coefficients of support vectors, a column for each slot and a row for each score.

They change by these verbs only, so that their average is exact after every example: of the vectors that are still held, that is, since
one that is dropped takes its share of the average with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.average import FACTOR, Averaged
from onepass.compiled.verb import verb


@verb(0)
def now(A: Any) -> Any:
    """The coefficients themselves, to be read only."""


@verb(0)
def push(A: Any, i: int, a: Any, step: Any) -> None:
    """A_i += a step, for one slot i."""


@verb(0)
def push_all(A: Any, a: Any, step: Any, d: Any) -> None:
    """A_i += a d_i step, for the first slots, as many as d is long."""


@verb(0)
def fade(A: Any, factor: Any, n: int) -> None:
    """A_i *= factor, for the first n slots."""


@verb(0)
def amplify(A: Any, i: int, factor: Any) -> None:
    """A_i *= factor, for one slot i."""


@verb(0)
def carry(A: Any, i: int, j: int) -> None:
    """A_j = A_i, averages included."""


@verb(0)
def rescale(A: Any, i: int, factor: Any) -> None:
    """A_i *= factor, averages included; a slot of which nothing is to be left has the factor 0."""


@verb(0)
def share_out(A: Any, i: int, shares: Any) -> None:
    """A_j += shares_j A_i for the first slots, as many as there are shares, averages included."""


@now.form(np.ndarray)
def _(A: Any) -> Any:
    return A


@now.form(Averaged)
def _(A: Any) -> Any:
    return A.now


@push.form(np.ndarray)
def _(A: Any, i: Any, a: Any, step: Any) -> Any:
    for c in range(len(step)):
        A[c, i] += A.dtype.type(a) * step[c]


@push.form(Averaged)
def _(A: Any, i: Any, a: Any, step: Any) -> Any:
    push(A.now, i, a, step)
    if A.clock[FACTOR] > 0:
        push(A.gap, i, a / A.clock[FACTOR], step)


@push_all.form(np.ndarray)
def _(A: Any, a: Any, step: Any, d: Any) -> Any:
    for c in range(len(step)):
        row, by = A[c, : len(d)], A.dtype.type(a) * step[c]
        if by != 0:
            for i in range(len(d)):
                row[i] += by * d[i]


@push_all.form(Averaged)
def _(A: Any, a: Any, step: Any, d: Any) -> Any:
    push_all(A.now, a, step, d)
    if A.clock[FACTOR] > 0:
        push_all(A.gap, a / A.clock[FACTOR], step, d)


@fade.form(np.ndarray)
def _(A: Any, factor: Any, n: Any) -> Any:
    by = A.dtype.type(factor)
    for c in range(len(A)):
        row = A[c, :n]
        for i in range(n):
            row[i] *= by


@fade.form(Averaged)
def _(A: Any, factor: Any, n: Any) -> Any:
    if A.clock[FACTOR] > 0:  # the average stays where it is
        by = A.gap.dtype.type((factor - 1) / A.clock[FACTOR])
        for c in range(len(A.now)):
            gap, row = A.gap[c, :n], A.now[c, :n]
            for i in range(n):
                gap[i] += by * row[i]
    fade(A.now, factor, n)


@amplify.form(np.ndarray)
@rescale.form(np.ndarray)
def _(A: Any, i: Any, factor: Any) -> Any:
    for c in range(len(A)):
        A[c, i] *= A.dtype.type(factor)


@amplify.form(Averaged)
def _(A: Any, i: Any, factor: Any) -> Any:
    if A.clock[FACTOR] > 0:
        for c in range(len(A.now)):
            A.gap[c, i] += A.gap.dtype.type((factor - 1) / A.clock[FACTOR]) * A.now[c, i]
    amplify(A.now, i, factor)


@carry.form(np.ndarray)
def _(A: Any, i: Any, j: Any) -> Any:
    for c in range(len(A)):
        A[c, j] = A[c, i]


@carry.form(Averaged)
def _(A: Any, i: Any, j: Any) -> Any:
    carry(A.now, i, j)
    carry(A.gap, i, j)


@rescale.form(Averaged)
def _(A: Any, i: Any, factor: Any) -> Any:
    rescale(A.now, i, factor)
    rescale(A.gap, i, factor)


@share_out.form(np.ndarray)
def _(A: Any, i: Any, shares: Any) -> Any:
    for c in range(len(A)):
        row, a = A[c, : len(shares)], A[c, i]
        for j in range(len(shares)):
            row[j] += a * shares[j]


@share_out.form(Averaged)
def _(A: Any, i: Any, shares: Any) -> Any:
    share_out(A.now, i, shares)
    share_out(A.gap, i, shares)
