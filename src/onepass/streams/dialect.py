"""What a CSV file looks like: its separator, whether it has a header, and how it writes decimals. Guessed from the first rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

SAMPLE = 1 << 16  # bytes that are looked at
ROWS = 50  # and rows
MOST = 0.9  # of the rows
ENOUGH = 5  # rows below a first row of texts, to tell whether they come again
SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}
NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
WITH_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


@dataclass(frozen=True)
class Dialect:
    """What a file looks like. `notes` say what was guessed, where it is not what most would expect."""

    delimiter: str
    header: bool
    point: str
    notes: list[str]


def fields(sample: bytes, delimiter: str, limit: int = ROWS) -> list[list[str]]:
    """The fields of the first rows; blank lines are none. Empty if they can't be told apart."""
    text = sample.decode("utf-8-sig", errors="replace")
    quoting: Any = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting):
            if row:
                rows.append(row)
            if len(rows) == limit:
                break
    except csv.Error:
        return []
    return rows


def guess(sample: bytes, delimiter: str | None, header: bool | None) -> Dialect:
    """What a file looks like that begins so, given what is known of it."""
    sample = sample[: sample.rfind(b"\n") + 1] or sample  # the last row may be cut
    notes = []
    if delimiter is None:
        delimiter = _separator(sample)
        if delimiter != ",":
            notes.append(f"its columns are separated by {SEPARATORS[delimiter]}")
    rows = fields(sample, delimiter)
    point = "," if delimiter != "," and _writes_commas(rows) else "."
    if point == ",":
        notes.append("its numbers have a comma for the decimal point")
    if header is None:
        header = _has_header(rows, point)
        if not header:
            notes.append("it has no header; its columns are called 0, 1, ...")
    return Dialect(delimiter, header, point, notes)


def _separator(sample: bytes) -> str:
    """The one that makes the most columns, the same number in every row; else in most of the rows, of which some are then bad; else a
    comma."""
    widths = {delimiter: Counter(len(row) for row in fields(sample, delimiter)) for delimiter in SEPARATORS}
    for share in (1.0, MOST):
        best, most = ",", 1
        for delimiter, counts in widths.items():
            width, rows = counts.most_common(1)[0] if counts else (0, 0)
            if width > most and rows >= share * counts.total():
                best, most = delimiter, width
        if most > 1:
            break
    return best


def _writes_commas(rows: list[list[str]]) -> bool:
    """Whether there are numbers like 3,14 and none like 3.14."""
    values = [value for row in rows for value in row]
    return any(WITH_COMMA.fullmatch(value) for value in values) and not any(
        "." in value and NUMBER.fullmatch(value) for value in values
    )


def _has_header(rows: list[list[str]], point: str) -> bool:
    """A first row of numbers alone is none. One with a number is one only if there is a name above numbers; one without, unless one of
    its texts comes again below it."""
    if not rows:
        return True

    def is_number(value: str) -> bool:
        return NUMBER.fullmatch(value.replace(",", ".") if point == "," else value) is not None

    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if all(map(is_number, first)):
        return False
    columns = [[value for value in column if value.strip()] for column in zip(*below, strict=True)] or [[]] * len(first)
    names_above_numbers = any(
        name.strip() and not is_number(name) and values and all(map(is_number, values))
        for name, values in zip(first, columns, strict=True)
    )
    if any(map(is_number, first)):
        return names_above_numbers
    again = len(below) >= ENOUGH and any(name.strip() and name in values for name, values in zip(first, columns, strict=True))
    return names_above_numbers or not again
