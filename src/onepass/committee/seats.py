"""Several learners on the same row, one after the other, in the loop of one.

A committee is a record of its members, each with the record and the average that it would have alone. `score` asks all of them,
`combine` makes one answer of theirs (`committee/shares.py`), and `learn` teaches each as if there were no other. So a row is read while
it is in the cache, and saving, growing, undoing and reading along are those of any other learner.

Each member is machine code of its own, which the loop calls by its address (`compiled/pointers.py`). As one piece of machine code five
members take three times as long to compile as each of them alone, for every loop that they are in; and so the loop is compiled once for
all committees, and a member once for all loops.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.base.inputs import readonly
from onepass.base.state import Array
from onepass.committee.shares import follow, hearing, mixed
from onepass.compiled.average import NoAverage, show, tick
from onepass.compiled.compiler import entry_point
from onepass.compiled.kept import Kept, opened
from onepass.compiled.loop import UPDATES, T, sound
from onepass.compiled.pointers import address, addresses, laid, put_away, reach, throw_away
from onepass.compiled.rows import DenseRow, DenseRows, SparseRow, SparseRows, sqnorm
from onepass.compiled.rules import PASSIVE, combine, dismiss, learn, score, scratch, seat
from onepass.compiled.verb import verb

# What one member is: its record, average and counters, as it would have them alone; bias: 1, or 0 for one without an intercept;
# targets: none, of the type that it takes; width: how many scores it shows.
Member = namedtuple("Member", "model average count bias targets width")


# voices: of each member, the place of the first and that behind the last; records, furnish, ...: addresses of members and of what they
# do, `ask` and `teach` for each kind of row; scaling: what comes between rows and members; pool: what makes one answer of theirs; none:
# no number, of the type of the data.
class Council(namedtuple("Council", "voices records furnish ask teach clear scaling pool width none")):
    kept: list[Kept]  # what the addresses of records are of, which lives as long as they do


Unscaled = namedtuple("Unscaled", "none")
KINDS = 3  # of rows
NOWHERE = 0  # the address of what is not there yet: the loop ends, and whoever called it makes ready what is missing

# scores: 0, or NaN for a member whose scores are out of range; said: what voices say, a row each; heard: what becomes of it; rooms:
# addresses of the members' work spaces; row: where the row at hand is laid out; scaled: the row as members see it.
Scratch = namedtuple("Scratch", "scores said heard rooms row scaled")


# --- rows ---


@verb(0)
def with_bias(x: Any, bias: Any) -> Any:
    """The row, its constant feature times `bias`. Its scale is 1, as that of all rows that come to a learner: the compiler is to know
    that here as it does in the loop, or it puts products in another order, and a member has other bits than it would have alone."""


@verb(0)
def kind(x: Any) -> Any:
    """The number of the kind of a row: each has machine code of its own."""


@verb(0)
def like_a_row(X: Any) -> Any:
    """A row as those of X are, without any features."""


@with_bias.form(DenseRow)
def _(x: Any, bias: Any) -> Any:
    return DenseRow(x.values, x.bias * bias, x.values.dtype.type(1))


@with_bias.form(SparseRow)
def _(x: Any, bias: Any) -> Any:
    return SparseRow(x.indices, x.values, x.bias * bias, x.values.dtype.type(1))


@kind.form(DenseRow)
def _(x: Any) -> Any:
    return 0


@kind.form(SparseRow)
def _(x: Any) -> Any:
    return x.indices.itemsize // 4


@like_a_row.form(DenseRows)
def _(X: Any) -> Any:
    return DenseRow(X.values.reshape(-1)[:0], X.bias, X.values.dtype.type(1))


@like_a_row.form(SparseRows)
def _(X: Any) -> Any:
    return SparseRow(X.indices[:0], X.values[:0], X.bias, X.values.dtype.type(1))


# --- between rows and members ---


@verb(0)
def room_for_rows(scaling: Any, none: Any) -> Any:
    """Work space for a row as members see it."""


@verb(0)
def scale(scaling: Any, x: Any, room: Any) -> None:
    """Fill the room."""


@verb(0)
def view(scaling: Any, x: Any, room: Any) -> Any:
    """The row as members see it, once the room is filled."""


@verb(0)
def take_in(scaling: Any, x: Any, room: Any) -> None:
    """Learn from a row, which the room is filled with, what is needed for those after it."""


@room_for_rows.form(Unscaled)
def _(scaling: Any, none: Any) -> Any:
    return 0


@scale.form(Unscaled)
def _(scaling: Any, x: Any, room: Any) -> Any:
    pass


@view.form(Unscaled)
def _(scaling: Any, x: Any, room: Any) -> Any:
    return x


@take_in.form(Unscaled)
def _(scaling: Any, x: Any, room: Any) -> Any:
    pass


# --- one member ---


@entry_point
def furnish(member: Any, said: Any) -> Any:
    """Work space for a member that is to write what its voices say to `said`."""
    m = opened(member)
    s = scratch(m.model)
    return put_away((s, scratch(m.average), np.empty(m.width, s.scores.dtype), opened(said)))


@entry_point
def ask(member: Any, row: Any, room: Any) -> Any:
    """What a member would show if it were alone, and behind it, for its second voice, without its average; whether its scores are in
    range."""
    m, (s, spare, shown, said) = opened(member), opened(room)
    x = with_bias(opened(row), m.bias)
    score(m.model, x, s)
    if len(said) > 1:
        show(NoAverage(0), s, 0, x, seat(m.model, s, shown))
        combine(m.model, s, shown)
        said[1] = shown
    show(m.average, s, spare, x, seat(m.model, s, shown))
    combine(m.model, s, shown)
    said[0] = shown
    return np.int64(sound(s.scores, np.sqrt(np.finfo(shown.dtype).max)))


@entry_point
def teach(member: Any, row: Any, room: Any, y: Any, weight: Any) -> Any:
    """A step of a member. One whose own numbers are too large for it leaves the row out: others have learned from it already."""
    m, (s, _, shown, _) = opened(member), opened(room)
    x = with_bias(opened(row), m.bias)
    moved = max(PASSIVE, learn(m.model, x, m.targets.dtype.type(y), shown.dtype.type(weight), s))
    m.count[T] += 1
    m.count[UPDATES] += moved
    tick(m.average, m.model, m.count[T], moved)
    return np.int64(moved)


@entry_point
def clear(room: Any) -> Any:
    """Give the work space of a member back."""
    throw_away(room)
    return np.int64(0)


# --- the committee, as the loop sees it ---


SAID = np.empty((0, 0))


def convened(members: list[Member], voices: Array, scaling: Any, pool: Any, none: Any) -> Council:
    """The record of a committee."""
    kept = [Kept(member) for member in members]
    rooms = [address(furnish, one, Kept(SAID)) for one in kept]
    nowhere = np.full((KINDS, len(kept)), NOWHERE, addresses([]).dtype)
    council = Council(
        voices,
        addresses(kept),
        addresses([found for found, _ in rooms]),
        nowhere,
        nowhere.copy(),
        addresses([address(clear, room)[0] for _, room in rooms]),
        scaling,
        pool,
        members[0].width,
        none,
    )
    council.kept = kept
    return council


def make_ready(council: Council, X: Any) -> None:
    """Have machine code of all members for rows of this kind."""
    sees = view(council.scaling, like_a_row(X), room_for_rows(council.scaling, council.none))
    k = kind(sees)
    if council.ask[k, 0] != NOWHERE:
        return
    row = Kept(type(sees)(*(readonly(part) if isinstance(part, np.ndarray) else part for part in sees)))
    for i, member in reversed([*enumerate(council.kept)]):  # the first last: all others are there once it is
        _, room = address(furnish, member, Kept(SAID))
        council.teach[k, i] = address(teach, member, row, room, 0.0, 0.0)[0]
        council.ask[k, i] = address(ask, member, row, room)[0]


@scratch.form(Council)
def _(m: Any) -> Any:
    place, said, rooms = np.empty(32, np.int64), np.zeros((len(m.pool.shares), m.width)), np.empty_like(m.records)
    for i in range(len(rooms)):
        rooms[i] = reach(m.furnish[i], m.records[i], laid(said[m.voices[i, 0] : m.voices[i, 1]], place))
    scores = np.zeros(len(rooms), m.none.dtype)
    return Scratch(scores, said, hearing(m.pool, m.width), rooms, place, room_for_rows(m.scaling, m.none))


@dismiss.form(Council)
def _(m: Any, s: Any) -> Any:
    for i in range(len(s.rooms)):
        reach(m.clear[i], s.rooms[i])


@score.form(Council)
def _(m: Any, x: Any, s: Any) -> Any:
    if not sqnorm(x) < np.inf:  # scaling, or a bounded function, might hide it
        s.scores[:] = np.nan
        return
    scale(m.scaling, x, s.scaled)
    sees = view(m.scaling, x, s.scaled)
    k, place = kind(sees), laid(sees, s.row)
    if m.ask[k, 0] == NOWHERE:
        s.scores[:] = np.nan
        return
    for i in range(len(s.rooms)):
        sounds = reach(m.ask[k, i], m.records[i], place, s.rooms[i])
        s.scores[i] = 0 if sounds else np.nan


@seat.form(Council)
def _(m: Any, s: Any, out: Any) -> Any:
    return s.scores[:0]


@combine.form(Council)
def _(m: Any, s: Any, out: Any) -> Any:
    mixed(m.pool, s.said, s.heard, out)


@learn.form(Council)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    sees, moved = view(m.scaling, x, s.scaled), PASSIVE
    k, place = kind(sees), laid(sees, s.row)
    for i in range(len(s.rooms)):
        moved = max(moved, reach(m.teach[k, i], m.records[i], place, s.rooms[i], np.float64(y), np.float64(weight)))
    take_in(m.scaling, x, s.scaled)
    follow(m.pool, s.said, s.heard, y, weight)
    return moved
