"""Sentences from files of columns, a word a line and an empty line between sentences: CoNLL's and those of treebanks (CoNLL-U)."""

from __future__ import annotations

from typing import Any

from onepass.streams.lines import texts
from onepass.streams.stream import Chunk, Chunks, Position

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")  # of CoNLL-U
FORM = COLUMNS.index("form")


class Conll:
    """Columns by tabs, or by blanks where there is no tab. The word is the first column, the tag the last unless another is named by
    its number, counted from 0. Lines that begin with -DOCSTART- are no words."""

    def __init__(self, name: str, label: Any) -> None:
        self.name = name
        if isinstance(label, str) and label.lstrip("-").isdigit():
            label = int(label)
        if not (label is None or label is False or (isinstance(label, int) and label is not True)):
            raise ValueError(f"label={label!r}: the columns of {name} have no names; give the number of one, counted from 0")
        self.column = label
        self.label = -1 if label is None else label
        self._width = 0

    def word(self, line: str, number: int) -> tuple[str, str] | None:
        """A word and its tag; None for a line that is no word."""
        parts = line.split("\t") if "\t" in line else line.split()
        if parts[0] == "-DOCSTART-":
            return None
        self._width = self._width or len(parts)
        if len(parts) != self._width:
            raise ValueError(f"{self.name}, line {number}: {len(parts)} columns, and {self._width} before")
        if self.label is False:
            return parts[0], ""
        if not -len(parts) <= self.label < len(parts) or self.label % len(parts) == 0:
            raise ValueError(
                f"{self.name}, line {number}: no column {self.label} of tags among {len(parts)}: the first is the word"
            )
        return parts[0], parts[self.label]


class Conllu:
    """The ten columns of CoNLL-U. The tag is UPOS, or another column by its name. Comments, the lines of several words in one (3-4) and
    empty nodes (5.1) are left out."""

    def __init__(self, name: str, label: Any) -> None:
        self.name = name
        self.label = "upos" if label is None else label
        if self.label is not False:
            if not isinstance(self.label, str) or self.label.lower() not in COLUMNS[2:]:
                raise ValueError(f"label={label!r}: the columns of CoNLL-U that may be a tag are {', '.join(COLUMNS[2:])}")
            self.label = self.label.lower()
        self._place = 0 if self.label is False else COLUMNS.index(self.label)

    def word(self, line: str, number: int) -> tuple[str, str] | None:
        """A word and its tag; None for a line that is no word."""
        if line.startswith("#"):
            return None
        parts = line.split("\t")
        if len(parts) != len(COLUMNS):
            raise ValueError(f"{self.name}, line {number}: {len(parts)} columns, and CoNLL-U has {len(COLUMNS)}, by tabs")
        return (parts[FORM], parts[self._place]) if parts[0].isdigit() else None


def read(file: Any, raw: Any, name: str, chunk: int, form: Conll | Conllu) -> Chunks:
    """The sentences of a file, so many in a chunk: lists of words, and of tags."""
    X, y, rows, first = list[list[str]](), list[list[str]](), 0, 1

    def taken() -> Chunk:
        nonlocal X, y, rows
        made = Chunk(X, None if form.label is False else y, Position(rows, first, raw.count))
        rows += len(X)
        X, y = [], []
        return made

    words, tags, begun, number = list[str](), list[str](), 1, 0
    for number, line in texts(file, name):
        if line is None:  # a file that is followed has no more for the time being
            if X:
                yield taken()
            continue
        if line.strip():
            found = form.word(line, number)
            if found is not None:
                begun = begun if words else number
                words.append(found[0])
                tags.append(found[1])
            continue
        if words:
            first = first if X else begun
            X.append(words)
            y.append(tags)
            words, tags = [], []
            if len(X) == chunk:
                yield taken()
    if words:
        first = first if X else begun
        X.append(words)
        y.append(tags)
    if X:
        yield taken()
