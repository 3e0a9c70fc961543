"""`onepass.streams.open`: which reader a source needs."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from onepass.base.inputs import as_csr
from onepass.streams import arrays, conll, letor, libsvm, objects, tables
from onepass.streams.raw import Source, Unpacked
from onepass.streams.stream import Chunks, Notes, Stream

log = logging.getLogger(__name__)

ENDINGS = {
    "csv": "csv",
    "tsv": "tsv",
    "parquet": "parquet",
    "pq": "parquet",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "npz": "npz",
    "conll": "conll",
    "conllu": "conllu",
    "strings": "strings",
    "trees": "trees",
    "graphs": "graphs",
    "klp": "kelp",
    "letor": "letor",
}
TABLES = ("csv", "tsv", "parquet", "jsonl")
SENTENCES = ("conll", "conllu")
OBJECTS = tuple(objects.READERS)
FORMATS = ("libsvm", *TABLES, "npz", *SENTENCES, *OBJECTS, "letor")
WORKERS = min(2, os.cpu_count() or 1)  # that parse: two are enough to keep a learner busy
TASKS = (None, "classification", "regression", "parsing")


def open(
    source: Any,
    format: str | None = None,
    chunk: int = 8192,
    label: str | int | bool | None = None,
    drop: Sequence[str] = (),
    features: int | None = None,
    task: str | None = None,
    threads: bool = True,
    zero_based: bool = False,
    *,
    sep: str | None = None,
    header: bool | None = None,
    text: Sequence[str] = (),
    missing: str = "error",
    skip_bad: int = 0,
    skip_rows: int = 0,
    follow: bool = False,
) -> Stream:
    """Read data in chunks, in memory that does not grow with the data.

    Parameters
    ----------
    source : path, "-", binary file, (X, y), array, CSR matrix or data frame
        What to read; "-" is standard input. Files may be compressed with gzip, bzip2, xz or zstd, which
        their first bytes show.
    format : str, optional
        "libsvm", "csv", "tsv", "parquet", "jsonl", "npz", "conll", "conllu", "strings", "trees", "graphs", "kelp" or "letor".
        By default it follows from the ending of the name, and is "libsvm" for other endings. CSV without a header (its first row
        has only numbers) has columns "0", "1", ... An .npz file holds X and y, or what `scipy.sparse.save_npz` writes and y.
        Files of columns, a word a line and an empty line between sentences, are read as lists of words and of tags: "conll" has the
        word first, "conllu" is the format of treebanks. Files with a string, a tree in brackets or a graph a line, behind a label
        and a tab, are read as lists of these, for the stages that take them; "kelp" is the format of KeLP. "letor" is LIBSVM text
        with `qid:`, read as lists of candidates, dicts of features, and of their qualities.
    chunk : int
        Rows per chunk; the last chunk may have fewer.
    label : str, int or False, optional
        The column of the label, by name or position; False if there is none. By default the one column that is called label,
        class, target or y, in upper or lower case, else the last column. Of "conll" a position, of "conllu" a name, by default
        "upos".
    drop : sequence of str
        Columns to leave out.
    features : int, optional
        The number of columns of X. Not for tables with strings, which stay frames, for a model that begins with
        `onepass.Hasher`. By default LIBSVM chunks are as wide as the largest index so far.
    task : "classification", "regression" or "parsing", optional
        For regression, the labels of a table are read as float64 from the start, and strings are refused. For parsing, sentences are
        lists of words with their tags, and labels are lists of pairs (head, relation): the columns UPOS, HEAD and DEPREL of "conllu",
        the second and the last two of "conll".
    threads : bool
        Read and parse in other threads, a few chunks ahead; LIBSVM text in two of them.
    zero_based : bool
        Whether the feature indices of a LIBSVM file start at 0 instead of 1.
    sep : str, optional
        What separates the columns of CSV. By default a comma, semicolon, tab or "|", whichever makes the same number of columns, and
        the most, in all of the first rows.
    header : bool, optional
        Whether the first row of CSV has the names of the columns. By default that shows in the first rows: a row with numbers is no
        header, unless it has a name above a column of numbers.
    text : sequence of str
        Columns of CSV to read as text, whatever the first rows look like.
    missing : "error", "keep" or "skip"
        What becomes of rows of a table with missing numbers: an error, NaN in their place (for a model that begins with
        `onepass.Imputer` or `onepass.Table`), or nothing, as if they were not there.
    skip_bad : int
        So many lines of CSV or JSON that can't be read are left out; one more is an error.
    skip_rows : int
        So many rows were read before: the first chunk begins with the one after them.
    follow : bool
        Whether to wait for more at the end of a text file that is not packed, until somebody stops it. A chunk then ends where the
        file does for the time being, and a line that has no end yet is waited for.

    Returns
    -------
    Stream
        Its `notes` say what was guessed, and what was left out; they are logged as well.

    Examples
    --------
    >>> import io
    >>> from onepass import streams
    >>> with streams.open(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1.5\\n")) as stream:
    ...     for chunk in stream:
    ...         print(chunk.y, chunk.X.toarray(), chunk.position.line)
    [ 1. -1.] [[0.5 0.  2. ]
     [0.  1.5 0. ]] 1
    """
    if chunk < 1:
        raise ValueError(f"chunk={chunk}: it must be at least 1")
    if features is not None and features < 1:
        raise ValueError(f"features={features}: it must be at least 1")
    if task not in TASKS:
        raise ValueError(f"task={task!r}: it must be 'classification', 'regression' or 'parsing'")
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r}: it must be one of {', '.join(FORMATS)}")
    if missing not in tables.MISSING:
        raise ValueError(f"missing={missing!r}: it must be one of {', '.join(tables.MISSING)}")
    if sep is not None and (len(sep) != 1 or not sep.isascii() or sep in '"\r\n'):
        raise ValueError(f"sep={sep!r}: it must be one character")
    for given, count in (("skip_bad", skip_bad), ("skip_rows", skip_rows)):
        if count < 0:
            raise ValueError(f"{given}={count}: it must not be negative")
    if isinstance(text, str):
        raise TypeError(f"text={text!r}: it must be a list of names; say [{text!r}]")
    if isinstance(drop, str):
        raise TypeError(f"drop={drop!r}: it must be a list of names; say [{drop!r}]")
    if not (isinstance(source, str | os.PathLike) or hasattr(source, "read")):
        if follow:
            raise ValueError("follow=True is for files: data in memory does not grow")
        return _open_memory(source, chunk, label, drop, features, task, threads, missing, skip_rows)

    place = Source(source)
    kind = format or guess(place.name)
    delimiter = sep or ("\t" if kind == "tsv" or guess(place.name) == "tsv" else None)
    notes = Notes()
    about: dict[str, Any] = {}
    if follow and kind in ("parquet", "npz"):
        raise ValueError(f"follow=True is for text files; {kind} files do not grow")
    if kind in ("libsvm", "npz", "letor"):
        _refuse_columns(label, drop, f"{kind} files")
    if kind in SENTENCES:
        if drop or features is not None or task not in (None, "parsing"):
            raise ValueError(f"{kind} files hold sentences: drop, features and task are for tables")
        columns = conll.form_of(kind, place.name, label, task == "parsing")
        about.update(label=None if columns.label is False or columns.keeps_lines else columns.label)
    elif task == "parsing":
        raise ValueError(f"{place.name} is {kind}: trees are in files of sentences, conll or conllu")

    if kind in OBJECTS and (drop or features is not None or label not in (None, False)):
        raise ValueError(f"{kind} files have an object a line behind its label: label, drop and features are for tables")

    def choose(schema: Mapping[str, Any], more: list[str]) -> tables.Columns:
        columns = tables.Columns(schema, place.name, label, [*drop, *more], features, task, missing)
        about.update(label=columns.label, columns=columns.kinds, dropped=[*drop, *more])
        _log_columns(place.name, about)
        return columns

    def read() -> Chunks:
        log.info("%s is read as %s", place.name, kind)
        notes.clear()
        with place.open() as raw:
            if kind in ("parquet", "npz"):
                if not raw.seekable():
                    raise ValueError(f"{place.name} is a pipe, and {kind} is read from its end; save it to a file first")
                if kind == "npz":
                    yield from arrays.read_npz(raw, place.name, chunk, features)
                else:
                    yield from tables.read_parquet(raw, place.name, chunk, choose, notes)
                return
            file = Unpacked(raw, place.name, follow)
            if kind in SENTENCES:
                yield from conll.read(file, raw, place.name, chunk, columns)
            elif kind in OBJECTS:
                yield from objects.read(file, raw, place.name, chunk, kind, label is not False, task == "regression")
            elif kind == "letor":
                yield from letor.read(file, raw, place.name, chunk)
            elif kind == "libsvm":
                yield from libsvm.read(file, raw, place.name, chunk, features, zero_based, WORKERS if threads else 0)
            else:
                form = tables.Json(place.name) if kind == "jsonl" else tables.Csv(place.name, delimiter, header, text, notes)
                yield from tables.read_text(file, raw, place.name, chunk, form, choose, tables.Bad(skip_bad, notes))

    ahead = threads and kind != "libsvm"  # which has threads of its own
    return Stream(read, place.name, place.size, place.once, ahead, notes, about, skip_rows)


def guess(name: str) -> str:
    """The format that the name of a file says."""
    name = re.sub(r"\.(gz|bz2|xz|zst)$", "", name.lower())
    ending = re.sub(rf"\.({'|'.join(OBJECTS)})\.tsv$", r".\1", name).rpartition(".")[2]
    return ENDINGS.get(ending, "libsvm")


def _log_columns(name: str, about: dict[str, Any]) -> None:
    kinds = list(about["columns"].values())
    log.info(
        "%s: its label is %r; %d columns hold numbers, %d text, and %d are left out",
        name,
        about["label"],
        kinds.count("number"),
        kinds.count("text"),
        len(about["dropped"]),
    )
    log.debug("%s: its columns are %s", name, about["columns"])


def _refuse_columns(label: str | int | bool | None, drop: Sequence[str], what: str) -> None:
    if label is not None or drop:
        raise ValueError(f"label and drop name columns of a table; {what} have none")


def _open_memory(
    source: Any,
    chunk: int,
    label: str | int | bool | None,
    drop: Sequence[str],
    features: int | None,
    task: str | None,
    threads: bool,
    missing: str,
    skip_rows: int,
) -> Stream:
    X, y = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
    y = None if y is None else np.asarray(y)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = tables.Columns(frame.schema, "the table", label if y is None else False, drop, features, task, missing)
        about = {"label": columns.label, "columns": columns.kinds, "dropped": list(drop)}
        _log_columns("the table", about)
        notes = Notes()
        read = partial(tables.cut_frame, frame, y, "the table", chunk, columns, notes)
        return Stream(read, "the table", None, False, threads, notes, about, skip_rows)
    _refuse_columns(label, drop, "arrays")
    X = np.asarray(X) if not issparse(X) else X if X.format == "csr" else as_csr(X)
    if X.ndim != 2:
        raise ValueError(f"X has the shape {X.shape}; it must have rows and columns")
    return Stream(partial(arrays.cut, X, y, chunk, features), "the array", None, False, False, Notes(), {}, skip_rows)
