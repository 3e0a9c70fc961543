"""Whole lines from a file of any length, in a buffer of a few blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np

from onepass.compiled.compiler import entry_point

BLOCK = 1 << 20
WINDOW = 2  # blocks
STRIDE = 1 << 12  # bytes that are swept at once
SPARE = 16  # bytes after the last line, so that a word can be read at every byte
NEWLINE, RETURN = 10, 13
NEVER = 256  # not a byte
MARK = b"\xef\xbb\xbf"  # that some editors put before UTF-8


class Lines:
    """A window on the bytes of a file: `data[start:end]` is always whole lines, the last with its line end."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.follows, self.pause = file.follow, file.pause
        self._filled = 0
        self.data = np.empty(2 * BLOCK, dtype=np.uint8)
        self.start = self.end = 0

    def fill(self) -> bool:
        """Read on, keeping what follows `start`. False if there is nothing more, or nothing yet in a file that is followed."""
        before = self.end - self.start
        kept = self.data[self.start : self._filled]
        if len(kept) + BLOCK + SPARE > len(self.data):
            self.data = np.empty(2 * len(self.data), dtype=np.uint8)
        self.data[: len(kept)] = kept
        self.start, self.end, self._filled = 0, before, len(kept)
        while self.end == before:
            if self._filled + BLOCK + SPARE > len(self.data):
                self.data = np.concatenate([self.data, np.empty_like(self.data)])
            read = self._file.readinto(self.data.data[self._filled : self._filled + BLOCK])
            if not read:
                return not self._file.follow and self._finish()
            self.end = max(self.end, after_last_newline(self.data, self._filled, self._filled + read))
            self._filled += read
        return True

    def skip(self, mark: bytes) -> None:
        """Leave out what the file begins with, if it is this."""
        self.fill()
        if self.data[self.start : min(self.start + len(mark), self.end)].tobytes() == mark:
            self.start += len(mark)

    def _finish(self) -> bool:
        """A last line without its line end gets one."""
        if self._filled == self.end:
            return False
        self.data[self._filled] = NEWLINE
        self._filled += 1
        self.end = self._filled
        return True


def texts(file: Any, name: str) -> Iterator[tuple[int, str | None]]:
    """The lines of a file with their numbers; None where more is waited for."""
    lines, number = Lines(file), 0
    lines.skip(MARK)
    while True:
        block = lines.data[lines.start : lines.end].tobytes()
        lines.start = lines.end
        for line in block.split(b"\n")[:-1]:
            number += 1
            try:
                yield number, line.rstrip(b"\r").decode("utf-8")
            except UnicodeDecodeError:
                raise ValueError(f"{name}, line {number}: not UTF-8") from None
        if not lines.fill():
            if not lines.follows:
                return
            yield number, None
            lines.pause()


class Window(NamedTuple):
    """Whole lines, `data[:end]`: the number of the first and how many, and the raw bytes that were read when it was made."""

    data: Any
    end: int
    line: int
    lines: int
    bytes: int


def windows(file: Any, raw: Any, chunk: int, spare: deque[Any]) -> Generator[Window, None, None]:
    """The lines of a file, each window in memory of its own: a multiple of `chunk` lines where so many fit, and else what fits.

    A window is ready as soon as it has `chunk` lines, so that nobody waits for more of a slow pipe than for those. `spare` is for
    the data of windows that are done with: fresh memory costs more than to read into it.
    """
    rest, lines, line = np.empty(0, dtype=np.uint8), 0, 1
    more = True
    while more:
        data = spare.pop() if spare else np.empty(WINDOW * BLOCK, dtype=np.uint8)
        if len(data) < 2 * len(rest) + SPARE:
            data = np.empty(2 * len(rest) + SPARE, dtype=np.uint8)
        data[: len(rest)] = rest
        filled = len(rest)
        while more and (lines == 0 or (lines < chunk and filled < len(data) - SPARE)):
            if filled == len(data) - SPARE:
                data = np.concatenate([data, np.empty_like(data)])
            read = file.readinto(data.data[filled:-SPARE])
            if not read and file.follow:
                if lines:
                    break
                file.pause()
            elif not read:
                more = False
                if filled > 0 and data[filled - 1] != NEWLINE:
                    data[filled] = NEWLINE
                    read = 1
            lines += count(data[filled : filled + read], np.uint8(NEWLINE))
            filled += read
        surplus = lines % chunk if more and lines > chunk else 0
        end = without_last_lines(data, filled, surplus)
        if end > 0:
            yield Window(data, end, line, lines - surplus, raw.count)
        line += lines - surplus
        rest, lines = data[end:filled], surplus


@entry_point
def count(data: Any, byte: Any) -> Any:
    """How often the byte occurs."""
    total = 0
    for i in range(0, len(data), STRIDE):
        few = np.uint16(0)  # the narrower, the more of them are counted at once
        for other in data[i : i + STRIDE]:
            few = np.uint16(few + (other == byte))
        total += int(few)
    return total


@entry_point
def without_last_lines(data: Any, end: Any, surplus: Any) -> Any:
    """Where `data[:end]` ends without so many whole lines at its end, and without what follows them."""
    while end >= STRIDE:
        found = count(data[end - STRIDE : end], np.uint8(NEWLINE))
        if found > surplus:
            break
        surplus -= found
        end -= STRIDE
    while end > 0 and (data[end - 1] != NEWLINE or surplus > 0):
        surplus -= data[end - 1] == NEWLINE
        end -= 1
    return end


@entry_point
def after_last_newline(data: Any, start: Any, end: Any) -> Any:
    """Where the line after the last whole one of `data[start:end]` begins; 0 if there is no whole one."""
    while end > start and data[end - 1] != NEWLINE:
        end -= 1
    return end if end > start else 0


@entry_point
def records(data: Any, start: Any, end: Any, delimiter: Any, quote: Any, limit: Any) -> Any:
    """Up to `limit` whole records of `data[start:end]`: how many, where the last one begins, and where it ends.

    A record is a line that is not blank; a field that opens with the quote may hold line ends.
    """
    count, begin, stop, i = 0, start, start, start
    while i < end and count < limit:
        first = i
        inside = True
        while inside:
            if i < end and data[i] == quote:
                i += 1
                while i < end and (data[i] != quote or (i + 1 < end and data[i + 1] == quote)):
                    i += 2 if data[i] == quote else 1
                i += 1
            while i < end and data[i] != delimiter and data[i] != NEWLINE:
                i += 1
            if i >= end:
                return count, begin, stop
            inside = data[i] == delimiter
            i += 1
        stop = i
        if i - first > 2 or (data[first] != NEWLINE and data[first] != RETURN):
            count += 1
            begin = first
    return count, begin, stop
