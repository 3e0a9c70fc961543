"""LIBSVM text: `label index:value index:value ...`, one example per line, parsed to CSR by a compiled loop.

What is read: any blanks between the parts, `# ...` to the end of the line, `qid:3` after the label (left out), blank lines,
line ends of Unix and Windows, numbers with signs and exponents, each to the nearest float64. Indices start at 1 and ascend.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from onepass.compiled.borrow import borrowed, keep_alive
from onepass.compiled.compiler import entry_point
from onepass.compiled.instructions import inlined, trailing_zeros, word
from onepass.streams.floats import LIMIT, UNSURE, ZERO, nearest
from onepass.streams.lines import NEWLINE, RETURN, Window, count, windows
from onepass.streams.stream import Chunk, Chunks, Position, in_order

SPACE, TAB, HASH, PLUS, MINUS, POINT, COLON = map(ord, " \t#+-.:")
DIGIT_0, DIGIT_9, LOWER_D, LOWER_E, LOWER_I, LOWER_Q = map(ord, "09deiq")
SIGN_BIT = np.uint64(1 << 63)
TENS = np.array([10**k for k in range(9)], dtype=np.uint64)
FLOAT_TENS = TENS.astype(np.float64)
DIGIT_BITS = np.arange(10, dtype=np.float64).view(np.uint64)
MOST_DIGITS = 19  # what a uint64 holds
INT32_COLUMNS = 2**31 - 1  # wider chunks have int64 indices
MOST_INDEX_DIGITS = 18
MOST_EXPONENT_DIGITS = 4

NUMBER = re.compile(rb"(?:[0-9]+:)?([-+.0-9eE]+)")
TOKEN = re.compile(rb"[^\s#]{0,60}")

# How a call of `parse` ends.
FINE, BAD_LABEL, BAD_INDEX, BAD_VALUE, TOO_SMALL, TOO_LARGE, NOT_ASCENDING = range(7)


class Rows(NamedTuple):
    """Rows in CSR form, with their labels and lines.

    While they are parsed, labels and values are the bits of float64, and a number that Python must read is marked: the bits of a
    NaN that say where it stands.
    """

    labels: Any
    lines: Any
    indptr: Any
    indices: Any
    values: Any


@inlined
def byte(data: Any, i: Any) -> Any:
    """The byte at i, without the look whether i is negative."""
    return np.int64(word(data, i) & np.uint64(255))


@inlined
def digit(c: Any) -> Any:
    """Whether the byte c is a digit."""
    return DIGIT_0 <= c <= DIGIT_9


@inlined
def digits(data: Any, i: Any) -> Any:
    """The digits at i, eight at most: how many, and the number that they write. All eight at once."""
    x = word(data, i) ^ np.uint64(0x3030303030303030)
    others = (((x & np.uint64(0x7F7F7F7F7F7F7F7F)) + np.uint64(0x7676767676767676)) | x) & np.uint64(0x8080808080808080)
    bits = trailing_zeros(others) & 0x78
    if bits == 0:
        return 0, ZERO
    x = x << np.uint64(-bits & 63)
    x = (x * np.uint64(10) + (x >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    x = (x * np.uint64(100) + (x >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return bits >> 3, (x * np.uint64(10000) + (x >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


@inlined
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


@entry_point
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


@inlined
def ends(c: Any) -> Any:
    """Whether a number may end before the byte c."""
    return c <= SPACE or c == HASH


@inlined
def blanks(data: Any, i: Any) -> Any:
    """Where the blanks at i end."""
    while byte(data, i) == SPACE or byte(data, i) == TAB or byte(data, i) == RETURN:
        i += 1
    return i


@inlined
def query(data: Any, i: Any) -> Any:
    """Whether `qid:` is at i."""
    head = byte(data, i) == LOWER_Q and byte(data, i + 1) == LOWER_I
    return head and byte(data, i + 2) == LOWER_D and byte(data, i + 3) == COLON


@inlined
def decimal(data: Any, i: Any) -> Any:
    """Read the number at i, which begins with a digit: where it ends (i itself if it is too long for this), and its bits.

    With 15 digits at most, they and the power of ten are float64 without error, and their quotient is rounded once.
    """
    if byte(data, i + 1) == POINT:
        point, w = i + 1, np.uint64(byte(data, i) - DIGIT_0)
    else:
        length, w = digits(data, i)
        point = i + length
        if length == 8:
            return i, ZERO
        if byte(data, point) != POINT:
            return point, np.float64(np.int64(w)).view(np.uint64)
    length, x = digits(data, point + 1)
    w = w * TENS[length] + x
    return point + 1 + length, np.float64(np.float64(np.int64(w)) / FLOAT_TENS[length]).view(np.uint64)


@inlined
def usual(data: Any, i: Any) -> Any:
    """Read the entry at i as nearly all are written: where it ends (i itself if it is another), its index, the bits of its value.

    There is a branch even where a sum would do, for a processor that has guessed right need not wait for the sum.
    """
    length, index = digits(data, i)
    if length == 0 or byte(data, i + length) != COLON:
        return i, index, ZERO
    first = i + length + 1
    if digit(byte(data, first)):
        if byte(data, first + 1) <= SPACE:
            return first + 1, index, DIGIT_BITS[byte(data, first) - DIGIT_0]
        stop, bits = decimal(data, first)
    elif byte(data, first) == MINUS and digit(byte(data, first + 1)):
        stop, bits = decimal(data, first + 1)
        bits |= SIGN_BIT
    else:
        return i, index, ZERO
    return stop if byte(data, stop) <= SPACE else i, index, bits


@entry_point
def entry(data: Any, i: Any) -> Any:
    """Read the entry at i, however it is written: how it ended, where, its index, and the bits of its value."""
    colon, index = whole(data, i, ZERO)
    if byte(data, colon) != COLON or colon == i:
        return BAD_INDEX, i, index, ZERO
    if colon - i > MOST_INDEX_DIGITS:
        return TOO_LARGE, i, index, ZERO
    stop, bits = number(data, colon + 1)
    if stop == colon + 1 or not ends(byte(data, stop)):
        return BAD_VALUE, i, index, ZERO
    return FINE, stop, index, bits


@inlined
def example(data: Any, i: Any, base: Any, width: Any, row: Any, entries: Any, marks: Any, rows: Any) -> Any:
    """Parse the line at i, which holds an example.

    Returns how it ended, where (before the line end, or at what was wrong), and the numbers of entries and marks after it.
    """
    stop, rows.labels[row] = number(data, i)
    if stop == i or not ends(byte(data, stop)):
        return BAD_LABEL, i, entries, marks
    if rows.labels[row] == UNSURE:
        rows.labels[row] += np.uint64(i + 1)
        marks += 1
    i = blanks(data, stop)
    if query(data, i):
        while not ends(byte(data, i)):
            i += 1
    column = -1
    while True:
        stop, index, bits = usual(data, i)
        if stop == i:
            i = blanks(data, i)
            if byte(data, i) == NEWLINE or byte(data, i) == HASH:
                return FINE, i, entries, marks
            how, stop, index, bits = entry(data, i)
            if how != FINE:
                return how, i, entries, marks
            if bits == UNSURE:
                bits += np.uint64(i + 1)
                marks += 1
        previous, column = column, np.int64(index) - base
        if column >= width:
            return TOO_LARGE, i, entries, marks
        if column <= previous:
            return NOT_ASCENDING if column >= 0 else TOO_SMALL, i, entries, marks
        rows.indices[entries], rows.values[entries] = column, bits
        entries += 1
        i = stop + 1 if byte(data, stop) == SPACE else blanks(data, stop)


@entry_point
def parse(data: Any, end: Any, line: Any, base: Any, width: Any, rows: Any) -> Any:
    """Parse the whole lines `data[:end]`, the first of which has the number `line`.

    Returns how it ended, where (after the last line, or at what was wrong), and the numbers of rows, entries and marks.
    """
    owned = (data, rows)
    data, rows = borrowed(owned)
    how, i, row, entries, marks = FINE, 0, 0, 0, 0
    rows.indptr[0] = 0
    while i < end:
        i = blanks(data, i)
        if byte(data, i) != NEWLINE and byte(data, i) != HASH:
            rows.lines[row] = line
            how, i, entries, marks = example(data, i, base, width, row, entries, marks, rows)
            if how != FINE:
                break
            row += 1
            rows.indptr[row] = entries
        while byte(data, i) != NEWLINE:
            i += 1
        i += 1
        line += 1
    keep_alive(owned)
    return how, i, row, entries, marks


class _Piece(NamedTuple):
    """What a window held: rows, the raw bytes read so far, and what was wrong with the line after the rows, if there is one."""

    rows: Rows
    bytes: int
    error: ValueError | None


class _Parser:
    """Calls `parse` on windows, gives Python the hard numbers, and says what was wrong and where. Threads may share it."""

    def __init__(self, name: str, features: int | None, zero_based: bool) -> None:
        self._name, self._features, self._base = name, features, 0 if zero_based else 1
        self.spare: deque[Any] = deque()  # data of windows that are done with

    def piece(self, window: Window) -> _Piece:
        """The rows of a window, whose data is then free."""
        width = 10**MOST_INDEX_DIGITS if self._features is None else self._features
        most = count(window.data[: window.end], np.uint8(COLON))
        for index in (np.int32, np.int64):
            rows = Rows(
                np.empty(window.lines, dtype=np.uint64),
                np.empty(window.lines, dtype=np.int64),
                np.empty(window.lines + 1, dtype=np.int64),
                np.empty(most, dtype=index),
                np.empty(most, dtype=np.uint64),
            )
            reach = min(width, np.iinfo(index).max)
            how, stop, done, entries, marks = parse(window.data, window.end, window.line, self._base, reach, rows)
            if how != TOO_LARGE or reach == width:
                break
        complaint = "" if how == FINE else self._complaint(how, window.data, stop, rows.indices[:entries])
        rows = rows._replace(labels=rows.labels.view(np.float64), values=rows.values.view(np.float64))
        if marks:
            done, complaint = _read_marked(window.data, rows, done, entries, complaint)
        error = ValueError(f"{self._name}, line {rows.lines[done]}: {complaint}") if complaint else None
        self.spare.append(window.data)
        return _Piece(_cut(rows, 0, done), window.bytes, error)

    def _complaint(self, how: int, data: Any, offset: int, indices: Any) -> str:
        found = TOKEN.match(data.data, offset)
        token = bytes(found.group()).decode(errors="backslashreplace") if found else ""
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
            return (
                "feature index 0, but indices start at 1; say zero_based=True (--zero-based) if those of this file start at 0"
            )
        if how == TOO_LARGE:
            most = "18 digits" if self._features is None else f"features={self._features}"
            return f"feature index {index} is beyond {most}"
        return f"feature index {index} comes after {indices[-1] + self._base}; indices must ascend, each only once"


def _read_marked(data: Any, rows: Rows, done: int, entries: int, complaint: str) -> tuple[int, str]:
    """Let Python read the marked numbers: how many rows are good after that, and the complaint about the next one."""
    labels, values = rows.labels[: done + bool(complaint)], rows.values[:entries]
    marked = [(labels, slot, slot) for slot in np.flatnonzero(np.isnan(labels))]
    slots = np.flatnonzero(np.isnan(values))
    owners = np.searchsorted(rows.indptr[: done + 1], slots, side="right") - 1
    marked += [(values, slot, row) for slot, row in zip(slots, owners, strict=True)]
    for numbers, slot, row in sorted(marked, key=lambda mark: mark[2]):  # a label is before the values of its row
        found = NUMBER.match(data.data, int(numbers[slot].view(np.uint64) - UNSURE) - 1)
        text = bytes(found.group(1)).decode() if found else ""
        numbers[slot] = float(text)
        if math.isinf(numbers[slot]):
            return int(row), f"{text} is too large for a float64"
    return done, complaint


def _cut(rows: Rows, start: int, end: int) -> Rows:
    """The rows from start to end, without a copy."""
    entries = slice(rows.indptr[start], rows.indptr[end])
    indptr = rows.indptr[start : end + 1]
    return Rows(rows.labels[start:end], rows.lines[start:end], indptr, rows.indices[entries], rows.values[entries])


def _groups(pieces: Iterable[_Piece], chunk: int, at_once: bool) -> Iterator[tuple[list[Rows], int]]:
    """The rows of each chunk, in as many parts as there are pieces that they come from, and the raw bytes read so far. With `at_once`
    no chunk waits for the next piece."""
    parts: list[Rows] = []
    held = read = 0
    for rows, read, error in pieces:
        start, size = 0, len(rows.labels)
        while start < size:
            end = min(size, start + chunk - held)
            parts.append(_cut(rows, start, end))
            held += end - start
            start = end
            if held == chunk or (at_once and end == size):
                yield parts, read
                parts, held = [], 0
        if error is not None:
            raise error
    if held:
        yield parts, read


def read(file: Any, raw: Any, name: str, chunk: int, features: int | None, zero_based: bool, workers: int) -> Chunks:
    """The chunks of a file of LIBSVM text, parsed by so many threads; by the caller's if there are none."""
    done, width = 0, features or 0
    parser = _Parser(name, features, zero_based)
    with closing(in_order(windows(file, raw, chunk, parser.spare), parser.piece, workers)) as pieces:
        for parts, read_bytes in _groups(pieces, chunk, file.follow):
            labels, indices, values = (
                of_parts[0] if len(parts) == 1 else np.concatenate(of_parts)
                for of_parts in zip(*((part.labels, part.indices, part.values) for part in parts), strict=True)
            )
            if features is None:
                width = max(width, int(indices.max(initial=-1)) + 1)
            index = np.int32 if width <= INT32_COLUMNS else np.int64
            indptr = np.zeros(len(labels) + 1, dtype=index)
            np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]), out=indptr[1:])
            X = csr_array((values, indices.astype(index, copy=False), indptr), shape=(len(labels), width))
            yield Chunk(X, labels, Position(done, int(parts[0].lines[0]), read_bytes), None, features is None)
            done += len(labels)
