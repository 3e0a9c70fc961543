"""Whole lines from a file of any length, in a buffer of a few blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.kernel import kernel

BLOCK = 1 << 20
SPARE = 16  # bytes after the last line, so that a word can be read at every byte
NEWLINE, RETURN = 10, 13
NEVER = 256  # not a byte


class Lines:
    """A window on the bytes of a file: `data[start:end]` is always whole lines, the last with its line end."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._filled = 0
        self.data = np.empty(2 * BLOCK, dtype=np.uint8)
        self.start = self.end = 0

    def fill(self) -> bool:
        """Read on, keeping what follows `start`. False if there is nothing more."""
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
                return self._finish()
            self.end = max(self.end, after_last_newline(self.data, self._filled, self._filled + read))
            self._filled += read
        return True

    def _finish(self) -> bool:
        """A last line without its line end gets one."""
        if self._filled == self.end:
            return False
        self.data[self._filled] = NEWLINE
        self._filled += 1
        self.end = self._filled
        return True

    def newlines(self, start: int, end: int) -> int:
        """The number of line ends in `data[start:end]`."""
        return int(np.count_nonzero(self.data[start:end] == NEWLINE))


@kernel
def after_last_newline(data: Any, start: Any, end: Any) -> Any:
    """Where the line after the last whole one of `data[start:end]` begins; 0 if there is no whole one."""
    while end > start and data[end - 1] != NEWLINE:
        end -= 1
    return end if end > start else 0


@kernel
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
