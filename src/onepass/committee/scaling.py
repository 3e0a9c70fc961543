"""Rows in deviations from their mean, inside a learner, by moments that follow the stream.

A feature's mean and deviation are those of all rows so far, as :class:`onepass.StandardScaler` has them, but for four things.

* What is further than `FAR` deviations away counts as being there: one such feature would drown all others of a row that is scaled to
  unit norm, and be most of its distance to any other.
* What is further than `WILD` deviations away moves the moments as if it were there, so that a few wild numbers do not flatten all that
  come behind them.
* The mean of the last `SPAN` scaled numbers is near 0 as long as nothing changes. When it is further than `TREND` from there, the
  feature has moved, and the rows before count no more than `SPAN` of them.
* When the last `SPAN` scaled numbers are less than `SHRUNK` times as far from their mean as is usual, the feature has another unit: the
  deviation is less by as much, and again the rows before count no more than `SPAN` of them. Numbers that are those of the row before
  are left out: that a sensor is stuck, or has many zeros, is no other unit. A feature that grows shows in the squares by itself. (Where
  features are small in spells of some hundred rows, and their size says something, that is a loss: members see it by the spell.)

The features of the first example are centred, whether rows are dense or sparse; those that come up later, which may be many and are
mostly 0, are divided by their deviation only, and not asked whether they move.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, ClassVar

import numpy as np

from onepass.base import Field, Stage, State
from onepass.base.parameters import parameter, parametric
from onepass.committee.seats import room_for_rows, scale, take_in, view
from onepass.compiled.borrow import lent
from onepass.compiled.compiler import routine
from onepass.compiled.loop import T
from onepass.compiled.rows import DenseRow, SparseRow
from onepass.compiled.verb import verb

FAR, WILD = 4.0, 30.0
SPAN, TREND, SHRUNK = 100.0, 1.0, 0.5

# mean, squares: of each feature, and the sum of its squared deviations, of so many rows, up to row number `seen`; since then it was 0.
# trend: the mean of its last scaled numbers; near, usual: how far from there the last ones were that were not those of the row before,
# and the mean of that so far; last: its last number; columns: so many features are centred.
Standardised = namedtuple("Standardised", "mean squares rows seen trend near usual last count columns")
Room = namedtuple("Room", "values indices used")


@parametric
class Scaler(Stage):
    """The moments, as a part of a state."""

    grow: bool | str | None = parameter()

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "stage": {name: Field("features") for name in ("mean", "squares", "rows", "seen", "trend")}
        | {name: Field("features", late=True) for name in ("near", "usual", "last")}
    }

    def _record(self, state: State) -> Standardised:
        own = state.arrays
        return Standardised(
            own["mean"],
            own["squares"],
            own["rows"],
            own["seen"],
            own["trend"],
            own["near"],
            own["usual"],
            own["last"],
            own["count"],
            state.known,
        )


@room_for_rows.form(Standardised)
def _(scaling: Any, none: Any) -> Any:
    most = len(scaling.mean) - 1
    return Room(np.empty(most, none.dtype), np.empty(most, np.int32), np.zeros(1, np.int64))


@scale.form(Standardised)
def _(scaling: Any, x: Any, room: Any) -> Any:
    put_scaled(x, scaling, room)


@view.form(Standardised)
def _(scaling: Any, x: Any, room: Any) -> Any:
    return seen(x, room)


@take_in.form(Standardised)
def _(scaling: Any, x: Any, room: Any) -> Any:
    add_to_moments(x, scaling, room)
    scaling.count[T] += 1


@verb(0)
def put_scaled(x: Any, m: Any, room: Any) -> None:
    """Fill the room with the entries of the row, scaled."""


@verb(0)
def seen(x: Any, room: Any) -> Any:
    """What is in the room, as a row."""


@verb(0)
def add_to_moments(x: Any, m: Any, room: Any) -> None:
    """Take the entries of the row, whose scaled ones are in the room, into the moments."""


@routine
def moments(m: Any, j: Any) -> Any:
    """The mean of feature j, the sum of its squared deviations, and of how many rows (Chan et al. 1979)."""
    if j >= len(m.mean):
        return 0.0, 0.0, 0.0
    mean, squares, n, zeros = m.mean[j], m.squares[j], m.rows[j], m.count[T] - m.seen[j]
    if zeros == 0:
        return mean, squares, n
    return mean * n / (n + zeros), squares + mean * mean * n * zeros / (n + zeros), n + zeros


@routine
def centred(m: Any, j: Any, x: Any) -> Any:
    """A number of a column as members see it; 0 while it has not varied."""
    mean, squares, n = moments(m, j)
    return min(max((x - mean) / np.sqrt(squares / n), -FAR), FAR) if varied(squares, n) else 0.0


@routine
def varied(squares: Any, n: Any) -> Any:
    """Whether there is a deviation to divide by."""
    return squares > 0 and squares / n > 0


@routine
def divided(m: Any, j: Any, x: Any) -> Any:
    """A number that is not centred as members see it, no further away than `FAR` times as far as is usual, or than `FAR` while that is
    not known."""
    mean, squares, n = moments(m, j)
    if not varied(squares, n):
        return min(max(np.float64(x), -FAR), FAR)
    far = FAR * np.sqrt(1 + mean * mean * n / squares)
    return min(max(x / np.sqrt(squares / n), -far), far)


@routine
def count_in(m: Any, j: Any, x: Any) -> Any:
    """Take a number into the moments of its feature (Welford 1962)."""
    mean, squares, n = moments(m, j)
    if varied(squares, n):
        wild = WILD * np.sqrt(squares / n)
        x = min(max(x, mean - wild), mean + wild)
    error = x - mean
    m.mean[j] = mean + error / (n + 1)
    m.squares[j] = squares + error * (x - m.mean[j])
    m.rows[j], m.seen[j] = n + 1, m.count[T] + 1


@routine
def follow(m: Any, j: Any, x: Any, z: Any) -> Any:
    """Take a number of a column, which is z as members saw it, into the moments."""
    if x != m.last[j]:
        m.last[j] = x
        away, n = abs(z - m.trend[j]), m.count[T] + 1.0
        m.near[j] += (away - m.near[j]) / min(n, SPAN)
        m.usual[j] += (away - m.usual[j]) / n
    m.trend[j] += (z - m.trend[j]) / SPAN
    if m.rows[j] > SPAN:
        shrunk = m.near[j] < SHRUNK * m.usual[j]
        if shrunk or abs(m.trend[j]) > TREND:
            m.squares[j] *= SPAN / m.rows[j]
            m.rows[j] = SPAN
        if shrunk:
            have_shrunk(m, j, m.near[j] / m.usual[j])
    count_in(m, j, x)


@routine
def have_shrunk(m: Any, j: Any, ratio: Any) -> Any:
    """What is known of a feature, in deviations that are `ratio` times as long."""
    m.squares[j] *= ratio * ratio
    m.trend[j] /= ratio
    m.near[j] = m.usual[j]


@put_scaled.form(DenseRow)
def _(x: Any, m: Any, room: Any) -> Any:
    for j in range(len(x.values)):
        room.values[j] = centred(m, j + 1, x.values[j]) if j < m.columns else divided(m, j + 1, x.values[j])
    room.used[0] = len(x.values)


@seen.form(DenseRow)
def _(x: Any, room: Any) -> Any:
    return DenseRow(lent(room.values[: room.used[0]]), x.bias, x.scale)


@add_to_moments.form(DenseRow)
def _(x: Any, m: Any, room: Any) -> Any:
    for j in range(len(x.values)):
        if j < m.columns:
            follow(m, j + 1, x.values[j], room.values[j])
        else:
            count_in(m, j + 1, x.values[j])


@put_scaled.form(SparseRow)
def _(x: Any, m: Any, room: Any) -> Any:
    i = 0
    for j in range(m.columns):
        there = i < len(x.indices) and x.indices[i] == j
        room.values[j] = centred(m, j + 1, x.values[i] if there else x.values.dtype.type(0))
        room.indices[j] = j
        i += there
    used = m.columns
    for k in range(i, len(x.indices)):
        room.values[used] = divided(m, x.indices[k] + 1, x.values[k])
        room.indices[used] = x.indices[k]
        used += 1
    room.used[0] = used


@seen.form(SparseRow)
def _(x: Any, room: Any) -> Any:
    return SparseRow(lent(room.indices[: room.used[0]]), lent(room.values[: room.used[0]]), x.bias, x.scale)


@add_to_moments.form(SparseRow)
def _(x: Any, m: Any, room: Any) -> Any:
    i = 0
    for j in range(m.columns):
        there = i < len(x.indices) and x.indices[i] == j
        follow(m, j + 1, x.values[i] if there else x.values.dtype.type(0), room.values[j])
        i += there
    for k in range(i, len(x.indices)):
        count_in(m, x.indices[k] + 1, x.values[k])
