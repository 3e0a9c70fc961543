"""Single rows of a Table. What is known of its columns is laid out once; a dict then passes the Table, all that comes behind it and the
learner in one call of machine code, with the bits that a table of one row would have."""

from __future__ import annotations

import datetime
from collections import namedtuple
from collections.abc import Iterable, Mapping
from itertools import accumulate
from math import nan
from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple

import numpy as np
from numpy import frombuffer
from sklearn.utils import murmurhash3_32

from onepass.base.binding import ReadRaw
from onepass.base.state import Array
from onepass.compiled.chain import change, makes_columns, makes_entries, unsound
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.entries import add_up, put, room
from onepass.compiled.loop import T
from onepass.compiled.verb import verb
from onepass.compiled.words import COUNT, PADDING, Bag, bags
from onepass.stages.dates import PARTS, parts_of, parts_of_known
from onepass.stages.hashing import NO_BYTES, PAIR, category

UNKNOWN, NUMBER, CATEGORY, TEXT, DATE, MEAN, SHARES = range(7)
KINDS = "unknown", "number", "category", "text", "date", "mean target", "shares of labels"
SLOTS = {NUMBER: 1, DATE: len(PARTS), MEAN: 1}  # columns of the result that are theirs alone

# The values of a raw row are numbers and days, the cycles of dates, the hashes of categories, and where each text ends in the bytes.
# numbers: the columns of the first of these; names: the hashes of their names; features: where each number of the result is among the
# values, its own column or -1, and its hash; pairs: two of the numbers or, counted on, of the categories; texts: what they are hashed
# with. Where there are none, nobody waits for their machine code, which takes as long to compile as all else.
Laid = namedtuple("Laid", "mean squares seen count numbers names features pairs texts scaled fill own hashed")
Texts = namedtuple("Texts", "seeds")
NoTexts = namedtuple("NoTexts", "seeds")
LaidFlat = namedtuple(
    "LaidFlat", "mean squares seen count numbers features scaled fill own"
)  # nothing is hashed: rows are dense


@entry_point
def standardise_with_holes(
    V: Any, columns: Any, mean: Any, squares: Any, seen: Any, taught: Any, scaled: Any, fill: Any
) -> None:
    """Scale V by what was known before each row, in place; a row t with taught[t] is then taken in (Welford 1962). What is missing
    is `fill`, or the mean if that is NaN; 0 before there is a value."""
    for t in range(len(V)):
        for k in range(len(columns)):
            x, j = V[t, k], columns[k] + 1
            there = x == x
            value = x if there else mean[j] if seen[j] == 0 or fill != fill else fill
            if scaled:
                value = (value - mean[j]) / np.sqrt(squares[j] / seen[j]) if squares[j] > 0 else 0.0
            V[t, k] = value
            if there and taught[t]:
                seen[j] += 1
                error = x - mean[j]
                mean[j] += error / seen[j]
                squares[j] += error * (x - mean[j])


@routine
def scaled_numbers(stage: Any, X: Any, taught: Any) -> Any:
    """The numbers of a row and the cycles of its dates."""
    shown, n = X.values[: len(stage.features)].copy(), len(stage.numbers)
    moments = stage.mean, stage.squares, stage.seen
    standardise_with_holes(shown[:n].reshape(1, n), stage.numbers, *moments, taught, stage.scaled, stage.fill)
    if taught[0]:
        stage.count[T] += 1
    return shown


@routine
def single(stage: Any, X: Any, shown: Any, k: Any) -> Any:
    """The hash and the value of a number or a category, for pairs."""
    if k < len(stage.names):
        return stage.names[k], shown[k]
    h = X.values[len(shown) + k - len(stage.names)]
    return (np.int64(h), 1.0) if h == h else (np.int64(0), 0.0)


@verb(0)
def put_words(texts: Any, X: Any, ends: Any, own: Any, hashed: Any, indices: Any, values: Any, used: Any) -> Any:
    """More entries: the words of the texts, whose ends are among the values from `ends` on. How many there are then."""


@put_words.form(NoTexts)
def _(texts: Any, X: Any, ends: Any, own: Any, hashed: Any, indices: Any, values: Any, used: Any) -> Any:
    return used


@put_words.form(Texts)
def _(texts: Any, X: Any, ends: Any, own: Any, hashed: Any, indices: Any, values: Any, used: Any) -> Any:
    nothing, bounds, offsets, taught = np.zeros(2), np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(1, np.bool_)
    words = Bag(nothing, nothing, nothing, 1, (0, 0), hashed, COUNT, True)
    for k in range(len(texts.seeds)):
        offsets[0], offsets[1] = offsets[1], np.int64(X.values[ends + k])
        where, what = indices[used:], values[used:]
        bags(words, X.data, offsets, texts.seeds[k], taught, bounds, where, what)
        where[: bounds[1]] += own
        used += bounds[1]
    return used


@change.form(Laid)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    """The parts of a sparse row, in the order in which a table has them."""
    shown = scaled_numbers(stage, X, taught)
    if taught[0]:
        return  # the row was made before
    (indptr, indices, values), own, hashed, used = out, stage.own, stage.hashed, 0
    for f in range(len(stage.features)):
        value, slot = shown[stage.features[f, 0]], stage.features[f, 1]
        if slot < 0:
            used = put(stage.features[f, 2], value, own, hashed, indices, values, used)
        elif value != 0:
            indices[used], values[used] = slot, value
            used += 1
    ends = len(X.values) - len(stage.texts.seeds)
    for k in range(len(shown), ends):
        if X.values[k] == X.values[k]:
            used = put(np.int64(X.values[k]), 1.0, own, hashed, indices, values, used)
    for p in range(len(stage.pairs)):
        h, x = single(stage, X, shown, stage.pairs[p, 0])
        g, y = single(stage, X, shown, stage.pairs[p, 1])
        used = put((h * PAIR + g) & 0x7FFFFFFF, x * y, own, hashed, indices, values, used)
    used = put_words(stage.texts, X, ends, own, hashed, indices, values, used)
    indptr[1] = add_up(indices[:used], values[:used])


makes_entries(Laid, lambda stage, X: room(len(X.values) + len(stage.pairs) + len(X.data) + 2 * len(stage.texts.seeds)))


@change.form(LaidFlat)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    shown = scaled_numbers(stage, X, taught)
    for f in range(len(stage.features)):
        out[0, stage.features[f, 1]] = shown[stage.features[f, 0]]


makes_columns(LaidFlat, lambda stage, X: np.zeros((1, stage.own)))


@unsound.form(Laid)
@unsound.form(LaidFlat)
def _(stage: Any, X: Any) -> Any:
    bad = False
    for k in range(len(stage.numbers)):
        bad |= X.values[k] * X.values[k] == np.inf
    return bad


class Column(NamedTuple):
    """What a Table knows of a column: its place, what it holds, and the first of its own columns in the result, or -1."""

    place: int
    kind: int
    slot: int


class Layout:
    """The columns of a Table in one of its states, by what they hold, in the order of raw rows."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns
        self.of = {kind: [name for name, column in columns.items() if column.kind == kind] for kind in range(len(KINDS))}

    def record(
        self, arrays: Mapping[str, Array], pairs: Iterable[tuple[str, str]], *, scaled: bool, fill: float
    ) -> Laid | LaidFlat:
        numbers, columns = self.of[NUMBER] + self.of[DATE], self._columns
        positions = {name: k for k, name in enumerate(numbers + self.of[CATEGORY])}
        features = list[tuple[int, int, int]]()
        for name, column in columns.items():
            cycles = len(numbers) + (len(PARTS) - 1) * self.of[DATE].index(name) if column.kind == DATE else 0
            for i, part in enumerate(PARTS[: SLOTS.get(column.kind, 0)]):
                source = positions[name] if i == 0 else cycles + i - 1
                features.append((source, -1 if column.slot < 0 else column.slot + i, murmurhash3_32(name + part)))
        own, hashed = map(int, arrays["widths"])
        moments = arrays["mean"], arrays["squares"], arrays["seen"], arrays["count"]
        places = np.array([columns[name].place for name in numbers], np.int64)
        made = np.array(features, np.int64).reshape(-1, 3)
        if hashed == 0:
            return LaidFlat(*moments, places, made, scaled, fill, own)
        names = np.array([murmurhash3_32(name) for name in numbers], np.int64)
        joined = np.array([[positions[one], positions[other]] for one, other in pairs], np.int64).reshape(-1, 2)
        seeds = np.array([murmurhash3_32(name, positive=True) for name in self.of[TEXT]], np.uint64)
        texts = Texts(seeds) if len(seeds) else NoTexts(seeds)
        return Laid(*moments, places, names, made, joined, texts, scaled, fill, own, hashed)

    def reader(self, dropped: Iterable[str]) -> ReadRaw:
        """What makes raw rows of dicts. Whatever is not usual needs a closer look, which also finds the words for what is wrong."""
        numbers, categories, texts, dates, unknown = (self.of[kind] for kind in (NUMBER, CATEGORY, TEXT, DATE, UNKNOWN))
        names = {*self._columns, *dropped}
        pack = Struct(f"{len(numbers) + len(PARTS) * len(dates) + len(categories) + len(texts)}d").pack

        def read(x: Any, learning: bool) -> tuple[Array, Array] | None:
            if type(x) is not dict or not (x.keys() <= names or (not learning and all(type(name) is str for name in x))):
                return None
            get, data = x.get, NO_BYTES
            if learning and unknown and any(get(name) is not None for name in unknown):
                return None  # what it holds shows now
            given = [nan if (value := get(name)) is None else value for name in numbers]
            try:
                rest = [_category(name, get(name)) for name in categories]
                if dates:
                    moments = [_moment(get(name)) for name in dates]
                    rest = [*(days for days, *_ in moments), *(part for _, *cycles in moments for part in cycles), *rest]
                if texts:
                    parts = [_encoded(get(name)) for name in texts]
                    data = frombuffer(b"".join([*parts, PADDING]), np.uint8)
                    rest += accumulate(map(len, parts))
                try:
                    packed = pack(*given, *rest)
                except StructError:
                    packed = pack(*map(_number, given), *rest)
            except (TypeError, ValueError, OverflowError, StructError):
                return None
            return frombuffer(packed), data

        return read


def _number(value: Any) -> Any:
    """A number that was stored as text; ValueError if it is none."""
    return value if type(value) is not str else float(value) if value.strip() else nan


def _category(name: str, value: Any) -> float:
    """The hash of a category, NaN if it is missing."""
    if type(value) is str:
        return murmurhash3_32(f"{name}={value}")
    if value is None or value != value:
        return nan
    if type(value) in (int, float, bool):
        return float(murmurhash3_32(category(name, value)))
    raise TypeError


def _moment(value: Any) -> tuple[float, ...]:
    if type(value) in (str, datetime.date):
        return parts_of_known(value)
    if value is None or type(value) is datetime.datetime:
        return parts_of(value)
    raise TypeError


def _encoded(value: Any) -> bytes:
    if value is None:
        return b""
    if type(value) is str:
        return value.encode("utf-8", "surrogatepass")
    raise TypeError
