"""Tables: CSV, JSON lines and Parquet through pyarrow, and data frames, all of them as frames of narwhals.

Numbers and truth values become float64. A table with columns of strings stays a frame, of pyarrow where it comes from a file:
what its strings mean is up to the model. The types of the columns are those of the first block of a file, and hold for all of it.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import narwhals.stable.v2 as nw
import numpy as np

from onepass.base.labels import label_array
from onepass.streams.dialect import SAMPLE, fields, guess
from onepass.streams.lines import BLOCK, MARK, NEVER, Lines, records
from onepass.streams.stream import Chunk, Chunks, Notes, Position

USUAL_LABELS = ("label", "class", "target", "y")
ALL = 2**62
TEXT = (nw.String, nw.Categorical, nw.Enum)
BATCH = 8192  # rows of Parquet that Arrow reads at a time, whatever the size of chunks: what damage it sees depends on that
MISSING = ("error", "keep", "skip")
TELLING, SLIPS = 20, 100  # a column of so many values is one of numbers if but one of them, or one in so many, is none
WIDEST = 1 << 15  # columns of CSV: Arrow takes up to 25 kB for each, whatever is in it


class IfThere(str):
    """The name of a column that a table may lack: that of a label, or one to drop."""


class Columns:
    """Which columns of a table are features, and which one is the label."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        name: str,
        label: str | int | bool | None,
        drop: Sequence[str],
        features: int | None,
        task: str | None,
        missing: str = "error",
    ) -> None:
        self.task, self.missing, self.skipped = task, missing, 0
        if unknown := [column for column in drop if column not in schema and not isinstance(column, IfThere)]:
            raise ValueError(f"{name} has no column {unknown[0]!r} to drop; its columns are {', '.join(schema)}")
        self.label = _label(list(schema), name, label, drop)
        self.names = tuple(column for column in schema if column != self.label and column not in drop)
        for column in self.wanted:
            dated = isinstance(schema[column], (nw.Date, nw.Datetime)) and column != self.label
            if not (schema[column].is_numeric() or isinstance(schema[column], (nw.Boolean, *TEXT)) or dated):
                raise ValueError(
                    f"column {column!r} of {name} is {schema[column]}: neither numbers, strings nor dates; drop it"
                )
        if not self.names:
            raise ValueError(
                f"{name} has no columns left to learn from: its label is {self.label!r}, and all others are dropped"
            )
        self._text = {column for column in self.names if not _is_number(schema[column])}
        self.kinds = {column: "number" if column not in self._text else "text" for column in self.names}
        if self.label is not None and task == "regression" and not schema[self.label].is_numeric():
            raise ValueError(f"the label {self.label!r} of {name} is {schema[self.label]}; a regression needs numbers")
        if features is not None and self._text:
            raise ValueError(
                f"{name} has strings in its columns, which a model makes features of: leave features={features} out, and begin"
                f" the model with Hasher(n_features={features})"
            )
        if features is not None and features != len(self.names):
            raise ValueError(f"{name} has {len(self.names)} features, but features={features}")

    def rows(self, frame: Any, where: Callable[[int], str], y: Any = None) -> tuple[Any, Any]:
        """X and y of a frame; `where(row)` says where a row of it is in the source. `y` are labels that are not in the frame."""
        if self.missing == "skip":
            whole = ~np.any([frame.get_column(column).is_null().to_numpy() for column in self.wanted], axis=0)
            self.skipped += len(frame) - int(np.count_nonzero(whole))
            frame, y = frame.filter(whole.tolist()), None if y is None else y[whole]
        X = (self._frame if self._text else self._dense)(frame, where)
        return X, y if self.label is None else self._labels(frame, where)

    def tell(self, notes: Notes, name: str) -> None:
        """Note how many rows were left out."""
        if self.skipped:
            notes.add(f"{name}: rows left out since values are missing: {self.skipped:,}")
        self.skipped = 0

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        return [*self.names, *([] if self.label is None else [self.label])]

    def _numbers(self, frame: Any, column: str, where: Callable[[int], str]) -> Any:
        series = frame.get_column(column)
        if self.missing != "keep" or column == self.label:
            _check_present(series, column, where)
        if series.dtype.is_decimal() or series.null_count():
            series = series.cast(nw.Float64)
        return series.to_numpy()

    def _dense(self, frame: Any, where: Callable[[int], str]) -> Any:
        X = np.empty((len(frame), len(self.names)))
        for j, column in enumerate(self.names):
            X[:, j] = self._numbers(frame, column, where)
        return X

    def _frame(self, frame: Any, where: Callable[[int], str]) -> Any:
        for column in self.names:
            if column not in self._text and self.missing != "keep":
                _check_present(frame.get_column(column), column, where)
        return frame.select(self.names).to_native()

    def _labels(self, frame: Any, where: Callable[[int], str]) -> Any:
        assert self.label is not None
        if isinstance(frame.get_column(self.label).dtype, TEXT):
            labels = frame.get_column(self.label).to_list()
            for missing in (None, ""):
                if missing in labels:
                    raise ValueError(f"{where(labels.index(missing))}: the label is missing")
            return label_array(np.array(labels, dtype=object))
        numbers = self._numbers(frame, self.label, where)
        return numbers.astype(np.float64) if self.task == "regression" else numbers


def _is_number(kind: Any) -> bool:
    return bool(kind.is_numeric() or kind == nw.Boolean)


def _check_present(series: Any, column: str, where: Callable[[int], str]) -> None:
    if series.null_count():
        row = int(series.is_null().to_numpy().argmax())
        raise ValueError(
            f"{where(row)}: the value of {column!r} is missing; say missing='skip' (--missing skip) to leave such rows out, or"
            " missing='keep' for a model that begins with Imputer or Table"
        )


Choose = Callable[[Mapping[str, Any], list[str]], Columns]  # given the types, and what is to be dropped in any case


def _label(columns: list[str], name: str, label: str | int | bool | None, drop: Sequence[str]) -> str | None:
    if label is False:
        return None
    if isinstance(label, IfThere) and label not in columns:
        return None
    if isinstance(label, str):
        if label not in columns:
            raise ValueError(f"{name} has no column {label!r} for the label; its columns are {', '.join(columns)}")
        return label
    if label is not None:
        if not -len(columns) <= label < len(columns):
            raise ValueError(f"{name} has {len(columns)} columns, and none at position {label} for the label")
        return columns[label]
    left = [column for column in columns if column not in drop]
    usual = [column for column in left if column.lower() in USUAL_LABELS]
    if not left:
        raise ValueError(f"{name} has no columns left for the label")
    if len(left) == 1:
        raise ValueError(
            f"{name} has one column only, {left[0]!r}, and nothing to learn its values from; if it has more, say what separates them"
            " (--sep)"
        )
    return usual[0] if len(usual) == 1 else left[-1]


def cut_frame(frame: Any, y: Any, name: str, chunk: int, columns: Columns, notes: Notes) -> Chunks:
    """The chunks of a data frame of pandas, polars or Arrow."""
    if y is not None and len(y) != len(frame):
        raise ValueError(f"X has {len(frame)} rows, but y has {len(y)}")
    rows = 0
    for start in range(0, len(frame), chunk):
        given = None if y is None else y[start : start + chunk]
        X, labels = columns.rows(frame[start : start + chunk], partial(_row_name, name, start), given)
        yield Chunk(X, labels, Position(rows), columns.names)
        rows += X.shape[0]
    columns.tell(notes, name)


def _row_name(name: str, before: int, row: int) -> str:
    return f"{name}, row {before + row + 1}"


def _arrow(module: str, name: str) -> Any:
    """A module of pyarrow, or an error that says how to get it."""
    try:
        return __import__(f"pyarrow.{module}", fromlist=["*"])
    except ImportError as error:
        raise ImportError(f"reading {name} needs pyarrow: pip install pyarrow") from error


def refusals(name: str) -> tuple[type[Exception], ...]:
    """The errors by which Arrow refuses data: all of its own, but for want of memory."""
    arrow = _arrow("lib", name)
    return (
        arrow.ArrowInvalid,
        arrow.ArrowNotImplementedError,
        arrow.ArrowTypeError,
        arrow.ArrowKeyError,
        arrow.ArrowIndexError,
        arrow.ArrowCapacityError,
    )


def read_parquet(raw: Any, name: str, chunk: int, choose: Choose, notes: Notes) -> Chunks:
    """The chunks of a Parquet file."""
    parquet, arrow = _arrow("parquet", name), _arrow("lib", name)
    refused: tuple[type[Exception], ...] = (*refusals(name), OSError, UnicodeDecodeError)  # the last for names of columns
    try:
        file = parquet.ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False)
        columns = choose(nw.from_native(file.schema_arrow.empty_table(), eager_only=True).schema, [])
        rows = seen = 0
        for table in _cut(file.iter_batches(batch_size=BATCH, columns=columns.wanted), chunk, arrow.Table.from_batches):
            frame = nw.from_native(table, eager_only=True)
            X, y = columns.rows(frame, partial(_row_name, name, seen))
            if X.shape[0]:
                yield Chunk(X, y, Position(rows, None, raw.count), columns.names)
            rows += X.shape[0]
            seen += len(frame)
        if seen != file.metadata.num_rows:  # of columns of different lengths Arrow may give as many rows as the shortest has
            raise OSError(f"it has {seen} rows, and says that it has {file.metadata.num_rows}")
        columns.tell(notes, name)
    except refused as error:
        raise OSError(f"{name} is not a whole Parquet file: {error}") from error


def _cut(batches: Any, chunk: int, join: Callable[[list[Any]], Any]) -> Iterator[Any]:
    """The rows of some batches, so many at a time."""
    waiting, rows = list[Any](), 0
    for batch in batches:
        batch.validate(full=True)  # whoever reads a text trusts that it is UTF-8
        waiting.append(batch)
        rows += batch.num_rows
        while rows >= chunk:
            table = join(waiting)
            yield table.slice(0, chunk)
            waiting, rows = table.slice(chunk).to_batches(), rows - chunk
    if rows:
        yield join(waiting)


class Csv:
    """CSV, or with a tab TSV, which knows no quotes. What is not said is guessed from the first rows (`streams/dialect.py`)."""

    def __init__(self, name: str, delimiter: str | None, header: bool | None, text: Sequence[str], notes: Notes) -> None:
        self._csv, self._arrow = _arrow("csv", name), _arrow("lib", name)
        self._name, self._delimiter, self._header, self._text, self._notes = name, delimiter, header, text, notes
        self._columns: list[str] = []
        self._point = "."
        self.unnamed: list[str] = []  # the first column, if it has no name and the others have

    def look(self, sample: bytes) -> None:
        """Decide on what was not said, by the first rows."""
        seen = guess(sample, self._delimiter, self._header)
        self._delimiter, self._header, self._point = seen.delimiter, seen.header, seen.point
        self._quote: str | Literal[False] = False if seen.delimiter == "\t" else '"'
        self.signs = ord(seen.delimiter), ord(self._quote) if self._quote else NEVER
        for note in seen.notes:
            self._notes.add(f"{self._name}: {note}")

    def header(self, first: bytes) -> bool:
        """Look at the first record, which blank lines may precede, and tell whether it is a header."""
        row = fields(first, self._delimiter or ",", 1)
        if not row:  # a name of more than 131,072 letters, or nothing but a byte order mark
            raise ValueError(f"{self._name}: its first row is no row of names or numbers")
        if len(row[0]) > WIDEST:
            raise ValueError(
                f"{self._name}: its first row has {len(row[0]):,} columns, and CSV is read up to {WIDEST:,}; if the separator is right,"
                " save such data as LIBSVM text or .npz"
            )
        if not self._header:
            self._columns = [str(position) for position in range(len(row[0]))]
            return False
        if row[0][0] == "" and all(row[0][1:]):
            self.unnamed = [""]
            self._notes.add(f"{self._name}: its first column has no name; it is taken for row numbers and left out")
        few = row[0].count("") <= 16  # more of them are no names that somebody forgot
        self._columns = [name or (f"column {k}" if k and few else "") for k, name in enumerate(row[0])]
        if twice := [column for column, count in Counter(self._columns).items() if count > 1]:
            raise ValueError(
                f"{self._name}, line 1: two columns are called {twice[0]!r}; say header=False (--no-header) if the first line is"
                " no header"
            )
        return True

    def table(self, data: Any, types: Mapping[str, Any] | None) -> Any:
        if data.startswith(MARK):
            data = MARK + data  # Arrow takes one for the beginning of a file, and leaves it out
        nulls = [*self._csv.ConvertOptions().null_values, "?"]
        told = (
            types if types is not None else {column: self._arrow.string() for column in self._text if column in self._columns}
        )
        return self._csv.read_csv(
            in_arrow(data, self._arrow),
            self._csv.ReadOptions(column_names=self._columns, block_size=len(data) + 1),
            self._csv.ParseOptions(delimiter=self._delimiter, quote_char=self._quote, newlines_in_values=True),
            self._csv.ConvertOptions(
                column_types=told, include_columns=list(types or ()), decimal_point=self._point, null_values=nulls
            ),
        )

    def mistyped(self, table: Any) -> list[str]:
        """The columns of strings that are numbers but for a slip here and there: to take them for categories would lose them all."""
        strings = [field.name for field in table.schema if field.type == self._arrow.string() and field.name not in self._text]
        return [name for name in strings if self._are_numbers(table.column(name).drop_null().to_pylist())]

    def _are_numbers(self, values: list[str]) -> bool:
        slips = 0
        for value in values if len(values) >= TELLING else ():
            try:
                float(value.replace(self._point, "."))
            except ValueError:
                slips += 1
                if slips > max(1, len(values) // SLIPS):
                    return False
        return len(values) >= TELLING

    def complaint(self, error: str) -> str:
        """What Arrow says, in words that help."""
        told = re.search(r"In CSV column #(\d+): .*error to (\w+): invalid value '(.*)'", error, re.DOTALL)
        if told is None:
            return error
        column = self._columns[int(told[1])]
        if told[2].startswith("int"):  # which features never are
            return (
                f"the label {column!r} is {told[3]!r}, and has been a whole number so far; say task='regression' (--task regression) if"
                " it is a number to predict, and not a class"
            )
        return (
            f"the value of {column!r} is {told[3]!r}, and the column holds {'numbers' if told[2] != 'bool' else 'truth values'}"
            f" so far; skip_bad=N (--skip-bad N) leaves up to N such lines out, and text=[{column!r}] (--categories {column}) reads"
            " the column as text"
        )


class Json:
    """JSON lines: one object per line. The keys are those of the first block; others that come later are left out."""

    signs = NEVER, NEVER
    unnamed: ClassVar[list[str]] = []

    def __init__(self, name: str) -> None:
        self._json, self._arrow = _arrow("json", name), _arrow("lib", name)

    def look(self, sample: bytes) -> None:
        """There is nothing to guess."""

    def mistyped(self, table: Any) -> list[str]:
        """A string is said to be one."""
        return []

    def complaint(self, error: str) -> str:
        return error

    def header(self, first: bytes) -> bool:
        return False

    def table(self, data: Any, types: Mapping[str, Any] | None) -> Any:
        try:
            data.decode()  # which Arrow does not look at
        except UnicodeDecodeError as error:
            raise self._arrow.ArrowInvalid(f"this is no UTF-8 ({error.reason})") from None
        if not re.match(rb"\s*\{", data):  # Arrow 26 dies of a null that comes first
            raise self._arrow.ArrowInvalid("this is no JSON object")
        explicit = (
            {"explicit_schema": self._arrow.schema(types.items()), "unexpected_field_behavior": "ignore"}
            if types is not None
            else {}
        )
        reading = self._json.ReadOptions(block_size=len(data) + 1)
        return self._json.read_json(in_arrow(data, self._arrow), reading, self._json.ParseOptions(**explicit))


def in_arrow(data: Any, arrow: Any) -> Any:
    """Bytes for Arrow's threads to read, in memory of its own. They may come to them, and let go of them, when Python has ended: to
    release an object of Python then aborts the process."""
    buffer = arrow.allocate_buffer(len(data))
    np.frombuffer(buffer, np.uint8)[:] = np.frombuffer(data, np.uint8)
    return arrow.BufferReader(buffer)


class Bad:
    """Records that can't be read: so many of them may be left out."""

    def __init__(self, allowed: int, notes: Notes) -> None:
        self.allowed, self.count, self.notes = allowed, 0, notes

    def leave_out(self, error: BadRecord) -> None:
        """Note it, or raise the error if there are too many."""
        if self.count >= self.allowed:
            raise ValueError(str(error)) from error
        self.count += 1
        self.notes.add(f"left out {error}", logging.WARNING)


class BadRecord(ValueError):
    """A record that can't be read."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


def read_text(file: Any, raw: Any, name: str, chunk: int, form: Csv | Json, choose: Choose, bad: Bad) -> Chunks:
    """The chunks of a file of CSV or JSON lines."""
    lines = Lines(file)
    lines.skip(MARK)
    while lines.follows and lines.end == lines.start and not lines.fill():
        lines.pause()
    while lines.end - lines.start < BLOCK and lines.fill():
        pass
    window = lines.data[lines.start : min(lines.end, lines.start + 4 * SAMPLE)].tobytes()  # a line may be as long as memory
    form.look(window[: max(SAMPLE, window.find(b"\n") + 1)])
    text = _Records(lines, name, form)
    first = text.take(1)
    if not first.count:
        return
    if not form.header(first.data):
        text.put_back(first)
    while not (block := text.peek()).count:
        if not lines.follows:
            return
        lines.pause()
    columns, types = _decide(form, block, choose, bad)
    rows = 0
    while (part := text.take(chunk)).count:
        for table, some in _tables(form, part, types, bad):
            X, y = columns.rows(nw.from_native(table, eager_only=True), some.where)
            if X.shape[0]:
                yield Chunk(X, y, Position(rows, some.line_of(0), raw.count), columns.names)
            rows += X.shape[0]
    columns.tell(bad.notes, name)


def _tables(form: Csv | Json, part: _Part, types: Mapping[str, Any], bad: Bad) -> Iterator[tuple[Any, _Part]]:
    """Some records parsed, in as many pieces as bad ones among them make."""
    while part.count:
        try:
            table, before, after = _table(form, part, types), part, None
        except BadRecord as error:
            bad.leave_out(error)
            before, after = part.split(error.row)
            table = _table(form, before, types) if before.count else None
        if table is not None:
            yield table, before
        if after is None:
            return
        part = after


def _decide(form: Csv | Json, part: _Part, choose: Choose, bad: Bad) -> tuple[Columns, dict[str, Any]]:
    """The columns, and the types to read all of the file with, as the first block shows them."""
    arrow = _arrow("lib", part.name)
    types = _arrow("types", part.name)
    table = _first_table(form, part, bad.allowed)
    found = {field.name: field.type for field in table.schema}
    for column, kind in found.items():
        if types.is_temporal(kind):  # a string that looks like a date
            found[column] = arrow.string()
        elif types.is_null(kind):
            found[column] = arrow.float64()
    columns = choose(nw.from_native(arrow.schema(found.items()).empty_table(), eager_only=True).schema, form.unnamed)
    if mistyped := {column: arrow.float64() for column in form.mistyped(table) if column != columns.label}:
        found |= mistyped  # a slip is then named, or left out, like one that comes later
        columns = choose(nw.from_native(arrow.schema(found.items()).empty_table(), eager_only=True).schema, form.unnamed)
    wanted = {column: found[column] for column in columns.wanted}
    for column, kind in wanted.items():
        if types.is_integer(kind) and (column != columns.label or columns.task == "regression"):
            wanted[column] = arrow.float64()  # whole numbers so far
    return columns, wanted


def _first_table(form: Csv | Json, part: _Part, allowed: int) -> Any:
    """The first block parsed, but for the records that can't be and may be left out."""
    for _ in range(allowed):
        try:
            return _table(form, part, None)
        except BadRecord as error:
            part = part.without(error.row)
    return _table(form, part, None)


def _table(form: Csv | Json, part: _Part, types: Mapping[str, Any] | None) -> Any:
    """Parse some records; an error names the first line that cannot be parsed."""
    invalid: tuple[type[Exception], ...] = (*refusals(part.name), ValueError)

    def parsed(data: bytes, count: int) -> Any:
        table = form.table(data, types)
        if table.num_rows != count:  # Arrow takes two objects on a line, or one on two, where it gets all of it
            raise ValueError("this line is not one row")
        return table

    try:
        return parsed(part.data, part.count)
    except invalid:

        def fails(count: int) -> bool:
            try:
                parsed(part.first(count), count)
            except invalid:
                return True
            return False

        row = bisect_left(range(1, part.count), True, key=fails)
        try:  # what is wrong with this one: of several, Arrow names any
            parsed(part.first(row + 1), row + 1)
        except invalid as own:
            error = own
        complaint = form.complaint(re.sub(r"Row #\d+: ", "", str(error)))
        raise BadRecord(f"{part.where(row)}: {complaint}", row) from error


class _Part:
    """Some whole records of a text, the first byte of which is on `line`."""

    def __init__(self, data: bytes, count: int, name: str, line: int, signs: tuple[int, int]) -> None:
        self.data, self.count, self.name = data, count, name
        self._line, self._signs = line, signs

    def _scan(self, limit: int) -> tuple[int, int, int]:
        whole = np.frombuffer(self.data, dtype=np.uint8)
        return records(whole, 0, len(whole), *self._signs, limit)

    def first(self, count: int) -> bytes:
        return self.data[: self._scan(count)[2]]

    def split(self, row: int) -> tuple[_Part, _Part]:
        """The records before one, and those after it."""
        end = self._scan(row + 1)[2]
        before = _Part(self.first(row) if row else b"", row, self.name, self._line, self._signs)
        line = self._line + self.data.count(b"\n", 0, end)
        return before, _Part(self.data[end:], self.count - row - 1, self.name, line, self._signs)

    def without(self, row: int) -> _Part:
        """The records but for one."""
        before, after = self.split(row)
        return _Part(before.data + after.data, self.count - 1, self.name, self._line, self._signs)

    def line_of(self, row: int) -> int:
        return self._line + self.data.count(b"\n", 0, self._scan(row + 1)[1])

    def where(self, row: int) -> str:
        return f"{self.name}, line {self.line_of(row)}"


class _Records:
    """The records of a text, in parts of as many as are asked for."""

    def __init__(self, lines: Lines, name: str, form: Csv | Json) -> None:
        self._lines, self._name, self._signs = lines, name, form.signs
        self._line = 1

    def take(self, limit: int) -> _Part:
        """The next records, `limit` of them unless the text ends before."""
        lines = self._lines
        count = length = 0
        while True:
            more, _, stop = records(lines.data, lines.start + length, lines.end, *self._signs, limit - count)
            count, length = count + more, stop - lines.start
            if count == limit:
                break
            if not lines.fill():
                if count or not lines.follows:
                    break
                lines.pause()
        part = self._part(count, length)
        lines.start += length
        self._line += part.data.count(b"\n")
        if count < limit and lines.start < lines.end and not lines.follows:
            raise ValueError(f"{self._name}, line {self._line}: a quote is opened and never closed")
        return part

    def put_back(self, part: _Part) -> None:
        """Take these records again. Only right after they were taken."""
        self._lines.start -= len(part.data)
        self._line -= part.data.count(b"\n")

    def peek(self) -> _Part:
        """The records of the first block, the same however few bytes a pipe hands over at a time."""
        lines = self._lines
        while lines.end - lines.start < BLOCK and lines.fill():
            pass
        count, _, stop = records(lines.data, lines.start, lines.end, *self._signs, ALL)
        return self._part(count, stop - lines.start)

    def _part(self, count: int, length: int) -> _Part:
        data = self._lines.data[self._lines.start : self._lines.start + length].tobytes()
        return _Part(data, count, self._name, self._line, self._signs)
