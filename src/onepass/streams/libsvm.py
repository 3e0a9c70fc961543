"""LIBSVM text: `label index:value index:value ...`, one example a line, parsed to CSR by a compiled loop.

What is read: any blanks between the parts, `# ...` to the end of the line, `qid:3` after the label (left out), blank lines,
line ends of Unix and Windows, numbers with signs and exponents, each to the nearest float64. Indices start at 1 and ascend.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from onepass.compiled.kernel import kernel
from onepass.streams.floats import LIMIT, UNSURE, ZERO, nearest
from onepass.streams.lines import NEWLINE, RETURN, Lines
from onepass.streams.stream import Chunk, Chunks, Position
from onepass.streams.words import trailing_zeros, word

SPACE, TAB, HASH, PLUS, MINUS, POINT, COLON = map(ord, " \t#+-.:")
DIGIT_0, DIGIT_9, LOWER_D, LOWER_E, LOWER_I, LOWER_Q = map(ord, "09deiq")
SIGN_BIT = np.uint64(1 << 63)
TENS = np.array([10**k for k in range(9)], dtype=np.uint64)
DIGIT_BITS = np.arange(10, dtype=np.float64).view(np.uint64)
MOST_DIGITS = 19  # what a uint64 holds
INT32_COLUMNS = 2**31 - 1  # wider chunks have int64 indices
MOST_INDEX_DIGITS = 18
MOST_EXPONENT_DIGITS = 4

NO_EXAMPLE = re.compile(rb"(?:[ \t\r]*(?:#[^\n]*)?\n)*")
NUMBER = re.compile(rb"[-+.0-9eE]+")
TOKEN = re.compile(rb"[^\s#]{0,60}")

# How a call of `parse` ends.
FINE, BAD_LABEL, BAD_INDEX, BAD_VALUE, TOO_SMALL, TOO_LARGE, NOT_ASCENDING = range(7)


@kernel
def byte(data: Any, i: Any) -> Any:
    """The byte at i, without the look whether i is negative."""
    return np.int64(word(data, i) & np.uint64(255))


@kernel
def digit(c: Any) -> Any:
    """Whether the byte c is a digit."""
    return DIGIT_0 <= c <= DIGIT_9


@kernel
def digits(data: Any, i: Any) -> Any:
    """The digits at i, eight at most: how many, and the number that they write. All eight at once, without a branch."""
    x = word(data, i) ^ np.uint64(0x3030303030303030)
    others = (((x & np.uint64(0x7F7F7F7F7F7F7F7F)) + np.uint64(0x7676767676767676)) | x) & np.uint64(0x8080808080808080)
    count = trailing_zeros(others) >> 3
    half = np.uint64(32 - 4 * count)
    x = x << half << half  # two halves: a shift by all 64 bits has no meaning to the processor
    x = (x * np.uint64(10) + (x >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    x = (x * np.uint64(100) + (x >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return count, (x * np.uint64(10000) + (x >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


@kernel
def whole(data: Any, i: Any, w: Any) -> Any:
    """Digits of any number from i on, written behind w: where they end, and the new w."""
    count, x = digits(data, i)
    w = w * TENS[count] + x
    i += count
    while count == 8:
        count, x = digits(data, i)
        w = w * TENS[count] + x
        i += count
    return i, w


@kernel
def number(data: Any, i: Any) -> Any:
    """Read a decimal number at i: where it ends (i itself if there is none), and its bits, UNSURE where Python must help."""
    start = i
    negative = byte(data, i) == MINUS
    if negative or byte(data, i) == PLUS:
        i += 1
    first = i
    if digit(byte(data, i)) and byte(data, i + 1) == POINT:
        i, w = i + 1, np.uint64(byte(data, i) - DIGIT_0)
    else:
        i, w = whole(data, i, ZERO)
    length = i - first
    q: Any = 0
    if byte(data, i) == POINT:
        point = i + 1
        i, w = whole(data, point, w)
        q = point - i
        length -= q
    if length == 0:
        return start, ZERO
    if byte(data, i) | 32 == LOWER_E:
        i += 1
        down = byte(data, i) == MINUS
        if down or byte(data, i) == PLUS:
            i += 1
        mark = i
        i, exponent = whole(data, i, ZERO)
        if i == mark:
            return start, ZERO
        if i - mark > MOST_EXPONENT_DIGITS:
            return i, UNSURE
        q += -np.int64(exponent) if down else np.int64(exponent)
    if length > MOST_DIGITS:
        while byte(data, first) == DIGIT_0 or byte(data, first) == POINT:  # leading zeros do not count
            length -= byte(data, first) == DIGIT_0
            first += 1
        if length > MOST_DIGITS:
            return i, UNSURE
    if not -LIMIT <= q <= LIMIT:
        return i, UNSURE
    bits = nearest(w, q)
    return i, bits | SIGN_BIT if negative and bits != UNSURE else bits


@kernel
def ends(c: Any) -> Any:
    """Whether a number may end before the byte c."""
    return c <= SPACE or c == HASH


@kernel
def blanks(data: Any, i: Any) -> Any:
    """Where the blanks at i end."""
    while byte(data, i) == SPACE or byte(data, i) == TAB or byte(data, i) == RETURN:
        i += 1
    return i


@kernel
def query(data: Any, i: Any) -> Any:
    """Whether `qid:` is at i."""
    head = byte(data, i) == LOWER_Q and byte(data, i + 1) == LOWER_I
    return head and byte(data, i + 2) == LOWER_D and byte(data, i + 3) == COLON


@kernel
def example(data: Any, i: Any, base: Any, width: Any, row: Any, labels: Any, room: Any, entries: Any, helps: Any) -> Any:
    """Parse the line at i, which holds an example.

    Returns how it ended, where (before the line end, or at what was wrong), the numbers of entries and of hard numbers
    after it, and its last column.
    """
    column = -1
    stop, labels[row] = number(data, i)
    if stop == i or not ends(byte(data, stop)):
        return BAD_LABEL, i, entries, helps, column
    if labels[row] == UNSURE:
        room.hard[helps, 0], room.hard[helps, 1] = -1 - row, i
        helps += 1
    i = blanks(data, stop)
    if query(data, i):
        while not ends(byte(data, i)):
            i += 1
        i = blanks(data, i)
    while byte(data, i) != NEWLINE and byte(data, i) != HASH:
        token = i
        previous = column
        i, index = whole(data, i, ZERO)
        column = np.int64(index) - base
        if byte(data, i) != COLON or i == token:
            return BAD_INDEX, token, entries, helps, previous
        if column >= width or i - token > MOST_INDEX_DIGITS:
            return TOO_LARGE, token, entries, helps, previous
        if column <= previous:
            return NOT_ASCENDING if column >= 0 else TOO_SMALL, token, entries, helps, previous
        i += 1
        if digit(byte(data, i)) and byte(data, i + 1) <= SPACE:
            stop, bits = i + 1, DIGIT_BITS[byte(data, i) - DIGIT_0]
        else:
            stop, bits = number(data, i)
        if stop == i or not ends(byte(data, stop)):
            return BAD_VALUE, token, entries, helps, previous
        if bits == UNSURE:
            room.hard[helps, 0], room.hard[helps, 1] = entries, i
            helps += 1
        room.indices[entries], room.values[entries] = column, bits
        entries += 1
        i = blanks(data, stop)
    return FINE, i, entries, helps, column


@kernel
def parse(data: Any, i: Any, end: Any, limit: Any, base: Any, width: Any, labels: Any, indptr: Any, room: Any) -> Any:
    """Parse up to `limit` rows from the whole lines `data[i:end]`.

    Labels and values are the bits of float64. The slots and offsets of numbers for Python go to `room.hard`, a label's slot as
    -1 - row. Returns how it ended, where (after the last line, or at what was wrong), the numbers of lines, rows, entries and
    hard numbers, and the last column of them all.
    """
    how, lines, rows, entries, helps, last = FINE, 0, 0, 0, 0, -1
    while i < end and rows < limit:
        i = blanks(data, i)
        if byte(data, i) != NEWLINE and byte(data, i) != HASH:
            how, i, entries, helps, column = example(data, i, base, width, rows, labels, room, entries, helps)
            if how != FINE:
                break
            last = max(last, column)
            rows += 1
            indptr[rows] = entries
        while byte(data, i) != NEWLINE:
            i += 1
        i += 1
        lines += 1
    return how, i, lines, rows, entries, helps, last


class Room(NamedTuple):
    """Where `parse` puts the entries and the hard numbers."""

    indices: Any
    values: Any
    hard: Any


class _Piece(NamedTuple):
    labels: Any
    indptr: Any
    indices: Any
    values: Any


def _room(size: int) -> Room:
    """Room for all that `size` bytes can hold: an entry takes four bytes at least, and so does a hard number."""
    most = size // 4 + 1
    return Room(np.empty(most, dtype=np.int64), np.empty(most, dtype=np.uint64), np.empty((most, 2), dtype=np.int64))


class _Parser:
    """Calls `parse` on the lines of a file, gives Python the hard numbers, and says what was wrong and where."""

    def __init__(self, lines: Lines, name: str, chunk: int, features: int | None, zero_based: bool) -> None:
        self._lines, self._name = lines, name
        self._features, self._base = features, 0 if zero_based else 1
        self._labels, self._indptr = np.empty(chunk, dtype=np.uint64), np.zeros(chunk + 1, dtype=np.int64)
        self._room = _room(0)
        self.width = features or 0
        self.line = 1  # of the next byte to parse

    def skip(self) -> None:
        """Go to the next line that holds an example."""
        found = NO_EXAMPLE.match(self._lines.data.data, self._lines.start, self._lines.end)
        if found:
            self.line += self._lines.newlines(self._lines.start, found.end())
            self._lines.start = found.end()

    def next(self, limit: int) -> _Piece:
        """Up to `limit` rows of the lines in the window."""
        lines = self._lines
        if lines.end - lines.start > 4 * (len(self._room.indices) - 1):
            self._room = _room(lines.end - lines.start)
        width = 10**MOST_INDEX_DIGITS if self._features is None else self._features
        how, stop, ended, rows, entries, helps, last = parse(
            lines.data, lines.start, lines.end, limit, self._base, width, self._labels, self._indptr, self._room
        )
        labels, values = self._labels[:rows].view(np.float64).copy(), self._room.values[:entries].view(np.float64).copy()
        for slot, offset in self._room.hard[:helps].tolist():
            exact = self._hard_number(offset)
            if slot >= 0:
                values[slot] = exact
            elif -1 - slot < rows:
                labels[-1 - slot] = exact
        if how != FINE:
            raise self._error(stop, self._complaint(how, stop, entries))
        self.line += ended
        lines.start = stop
        if self._features is None:
            self.width = max(self.width, last + 1)
        indices = self._room.indices[:entries].astype(np.int32 if self.width <= INT32_COLUMNS else np.int64)
        return _Piece(labels, self._indptr[: rows + 1].copy(), indices, values)

    def _token(self, offset: int) -> str:
        found = TOKEN.match(self._lines.data.data, offset)
        return bytes(found.group()).decode(errors="backslashreplace") if found else ""

    def _hard_number(self, offset: int) -> float:
        found = NUMBER.match(self._lines.data.data, offset)
        value = float(bytes(found.group())) if found else math.nan
        if not math.isfinite(value):
            raise self._error(offset, f"{self._token(offset)} is too large for a float64")
        return value

    def _error(self, offset: int, complaint: str) -> ValueError:
        line = self.line + self._lines.newlines(self._lines.start, offset)
        return ValueError(f"{self._name}, line {line}: {complaint}")

    def _complaint(self, how: int, offset: int, entries: int) -> str:
        token = self._token(offset)
        if how == BAD_LABEL:
            if "," in token:
                return f"the label {token} is a list; examples with several labels are not supported"
            if ":" in token:
                return f"the line begins with the feature {token}; the label must come first"
            return f"the label {token} is not a finite number"
        if how == BAD_INDEX:
            return f"{token} is not a feature; it must be index:value, the index a whole number"
        index, _, value = token.partition(":")
        if how == BAD_VALUE:
            return f"the value {value!r} of feature {index} is not a finite number"
        if how == TOO_SMALL:
            return "feature index 0, but indices start at 1; say zero_based=True if those of this file start at 0"
        if how == TOO_LARGE:
            most = "18 digits" if self._features is None else f"features={self._features}"
            return f"feature index {index} is beyond {most}"
        before = int(self._room.indices[entries - 1]) + self._base
        return f"feature index {index} comes after {before}; indices must ascend, each only once"


def read(file: Any, raw: Any, name: str, chunk: int, features: int | None, zero_based: bool) -> Chunks:
    """The chunks of a file of LIBSVM text."""
    lines = Lines(file)
    parser = _Parser(lines, name, chunk, features, zero_based)
    rows = held = 0
    line = 1
    pieces: list[_Piece] = []
    while lines.start < lines.end or lines.fill():
        if held == 0:
            parser.skip()
            line = parser.line
        pieces.append(parser.next(chunk - held))
        held += len(pieces[-1].labels)
        if held == chunk:
            yield _join(pieces, parser.width, Position(rows, line, raw.count))
            rows, held, pieces = rows + held, 0, []
    if held:
        yield _join(pieces, parser.width, Position(rows, line, raw.count))


def _join(pieces: list[_Piece], width: int, position: Position) -> Chunk:
    starts = np.cumsum([0] + [len(piece.values) for piece in pieces])
    indptr = np.concatenate([[0], *(piece.indptr[1:] + start for piece, start in zip(pieces, starts, strict=False))])
    labels, indices, values = (
        parts[0] if len(parts) == 1 else np.concatenate(parts)
        for parts in zip(*((piece.labels, piece.indices, piece.values) for piece in pieces), strict=True)
    )
    X = csr_array((values, indices, indptr.astype(indices.dtype)), shape=(len(labels), width))
    return Chunk(X, labels, position, None)
