"""Rows in deviations from their mean, as :class:`onepass.StandardScaler` has them, inside a learner.

The features of the first example are centred, whether rows are dense or sparse; those that come up later, which may be many and are
mostly 0, are divided by their deviation only. What is further away than `FAR` times the usual counts as being there: one such feature
would drown all others of a row that is scaled to unit norm, and be most of its distance to any other.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.committee.seats import room_for_rows, scale, take_in, view
from onepass.compiled.borrow import lent
from onepass.compiled.compiler import routine
from onepass.compiled.loop import T
from onepass.compiled.rows import DenseRow, SparseRow
from onepass.compiled.verb import verb
from onepass.stages.scaling import moments, pass_by

Standardised = namedtuple("Standardised", "stage")  # the record of a StandardScaler
Room = namedtuple("Room", "values indices used")
FAR = 4.0


@room_for_rows.form(Standardised)
def _(scaling: Any, none: Any) -> Any:
    most = len(scaling.stage.mean) - 1
    return Room(np.empty(most, none.dtype), np.empty(most, np.int32), np.zeros(1, np.int64))


@scale.form(Standardised)
def _(scaling: Any, x: Any, room: Any) -> Any:
    put_scaled(x, scaling.stage, room)


@view.form(Standardised)
def _(scaling: Any, x: Any, room: Any) -> Any:
    return seen(x, room)


@take_in.form(Standardised)
def _(scaling: Any, x: Any) -> Any:
    add_to_moments(x, scaling.stage)
    scaling.stage.count[T] += 1


@verb(0)
def put_scaled(x: Any, stage: Any, room: Any) -> None:
    """Fill the room with the entries of the row, scaled."""


@verb(0)
def seen(x: Any, room: Any) -> Any:
    """What is in the room, as a row."""


@verb(0)
def add_to_moments(x: Any, stage: Any) -> None:
    """Take the entries of the row into the mean and the deviation of its features."""


@routine
def shown(stage: Any, j: Any, x: Any, centred: Any) -> Any:
    """One number as members see it: as `pass_by` would show it, and no further away than `FAR` times as far as is usual."""
    n, far = np.float64(stage.count[T]), FAR
    if not centred and j < len(stage.mean):
        m, s = moments(stage.mean, stage.squares, stage.seen, j, n)
        far = FAR * np.sqrt(1 + m * m * n / s) if s > 0 else np.inf
    return min(max(pass_by(stage, j, x, centred, False), -far), far)


@put_scaled.form(DenseRow)
def _(x: Any, stage: Any, room: Any) -> Any:
    for j in range(len(x.values)):
        room.values[j] = shown(stage, j + 1, x.values[j], j < stage.columns)
    room.used[0] = len(x.values)


@seen.form(DenseRow)
def _(x: Any, room: Any) -> Any:
    return DenseRow(lent(room.values[: room.used[0]]), x.bias, x.scale)


@add_to_moments.form(DenseRow)
def _(x: Any, stage: Any) -> Any:
    for j in range(len(x.values)):
        pass_by(stage, j + 1, x.values[j], True, True)


@put_scaled.form(SparseRow)
def _(x: Any, stage: Any, room: Any) -> Any:
    i = 0
    for j in range(stage.columns):
        there = i < len(x.indices) and x.indices[i] == j
        room.values[j] = shown(stage, j + 1, x.values[i] if there else x.values.dtype.type(0), True)
        room.indices[j] = j
        i += there
    used = stage.columns
    for k in range(i, len(x.indices)):
        room.values[used] = shown(stage, x.indices[k] + 1, x.values[k], False)
        room.indices[used] = x.indices[k]
        used += 1
    room.used[0] = used


@seen.form(SparseRow)
def _(x: Any, room: Any) -> Any:
    return SparseRow(lent(room.indices[: room.used[0]]), lent(room.values[: room.used[0]]), x.bias, x.scale)


@add_to_moments.form(SparseRow)
def _(x: Any, stage: Any) -> Any:
    i = 0
    for j in range(stage.columns):
        there = i < len(x.indices) and x.indices[i] == j
        pass_by(stage, j + 1, x.values[i] if there else x.values.dtype.type(0), True, True)
        i += there
    for k in range(i, len(x.indices)):
        pass_by(stage, x.indices[k] + 1, x.values[k], False, True)
