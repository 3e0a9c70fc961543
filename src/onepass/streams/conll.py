"""Sentences from files of columns, a word a line and an empty line between sentences: CoNLL's and those of treebanks (CoNLL-U).

For a tagger a sentence is its words, and the labels are tags. For a parser it is its words with their tags, and keeps its lines, so
that they can be written again with another tree; the labels are heads and relations.
"""

from __future__ import annotations

from typing import Any, ClassVar

from onepass.streams.lines import texts
from onepass.streams.stream import Chunk, Chunks, Position

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")  # of CoNLL-U
FORM, UPOS, HEAD, DEPREL = (COLUMNS.index(name) for name in ("form", "upos", "head", "deprel"))


class Sentence(list[Any]):
    """The words of a sentence with their tags, and the lines that they were read from."""

    def __init__(self, words: list[Any], lines: list[str], form: Any) -> None:
        super().__init__(words)
        self._lines, self._form = lines, form

    def filled(self, tree: list[Any]) -> str:
        """The lines with other heads, and relations if there are any; all else is as it was."""
        pairs = iter(one if isinstance(one, tuple) else (one, None) for one in tree)
        lines = []
        for line in self._lines:
            parts = self._form.columns(line, 0)
            lines.append(line if parts is None else "\t".join(self._form.filled(parts, *next(pairs))))
        return "".join(f"{line}\n" for line in [*lines, ""])


class Conll:
    """Columns by tabs, or by blanks where there is no tab. The word is the first column, the tag the last unless another is named by
    its number, counted from 0. Lines that begin with -DOCSTART- are no words."""

    keeps_lines: ClassVar[bool] = False

    def __init__(self, name: str, label: Any) -> None:
        self.name = name
        if isinstance(label, str) and label.lstrip("-").isdigit():
            label = int(label)
        if not (label is None or label is False or (isinstance(label, int) and label is not True)):
            raise ValueError(f"label={label!r}: the columns of {name} have no names; give the number of one, counted from 0")
        self.column = label
        self.label = -1 if label is None else label
        self._width = 0

    def columns(self, line: str, number: int) -> list[str] | None:
        """The columns of a word; None for a line that is no word."""
        parts = line.split("\t") if "\t" in line else line.split()
        if parts[0] == "-DOCSTART-":
            return None
        self._width = self._width or len(parts)
        if len(parts) != self._width:
            raise ValueError(f"{self.name}, line {number}: {len(parts)} columns, and {self._width} before")
        return parts

    def word(self, line: str, number: int) -> tuple[Any, Any] | None:
        """A word and its tag; None for a line that is no word."""
        parts = self.columns(line, number)
        if parts is None:
            return None
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

    keeps_lines: ClassVar[bool] = False

    def __init__(self, name: str, label: Any) -> None:
        self.name = name
        self.label = "upos" if label is None else label
        if self.label is not False:
            if not isinstance(self.label, str) or self.label.lower() not in COLUMNS[2:]:
                raise ValueError(f"label={label!r}: the columns of CoNLL-U that may be a tag are {', '.join(COLUMNS[2:])}")
            self.label = self.label.lower()
        self._place = 0 if self.label is False else COLUMNS.index(self.label)

    def columns(self, line: str, number: int) -> list[str] | None:
        """The columns of a word; None for a line that is no word."""
        if line.startswith("#"):
            return None
        parts = line.split("\t")
        if len(parts) != len(COLUMNS):
            raise ValueError(f"{self.name}, line {number}: {len(parts)} columns, and CoNLL-U has {len(COLUMNS)}, by tabs")
        return parts if parts[0].isdigit() else None

    def word(self, line: str, number: int) -> tuple[Any, Any] | None:
        """A word and its tag; None for a line that is no word."""
        parts = self.columns(line, number)
        return None if parts is None else (parts[FORM], parts[self._place])


class ConllTrees(Conll):
    """Columns of which the first are the word and its tag, and the last its head and its relation, if there are any."""

    keeps_lines = True

    def word(self, line: str, number: int) -> tuple[Any, Any] | None:
        """A word with its tag, and its head with its relation; None for a line that is no word."""
        parts = self.columns(line, number)
        if parts is None:
            return None
        least = 2 if self.label is False else 4
        if len(parts) < least:
            raise ValueError(f"{self.name}, line {number}: {len(parts)} columns, and a parser takes {least} at least")
        return tuple(parts[:2]), None if self.label is False else _arc(self.name, number, *parts[-2:])

    def filled(self, parts: list[str], head: int, relation: str | None) -> list[str]:
        """The columns of a word with another head and relation."""
        kept, before = (parts, "_") if self.label is False else (parts[:-2], parts[-1])
        return [*kept, str(head), before if relation is None else relation]


class ConlluTrees(Conllu):
    """The columns FORM, UPOS, HEAD and DEPREL of CoNLL-U."""

    keeps_lines = True

    def word(self, line: str, number: int) -> tuple[Any, Any] | None:
        """A word with its tag, and its head with its relation; None for a line that is no word."""
        parts = self.columns(line, number)
        if parts is None:
            return None
        return (parts[FORM], parts[UPOS]), None if self.label is False else _arc(self.name, number, parts[HEAD], parts[DEPREL])

    def filled(self, parts: list[str], head: int, relation: str | None) -> list[str]:
        """The columns of a word with another head and relation."""
        return [*parts[:HEAD], str(head), parts[DEPREL] if relation is None else relation, *parts[DEPREL + 1 :]]


def _arc(name: str, number: int, head: str, relation: str) -> tuple[int, str]:
    if not (head.isascii() and head.isdigit()):
        raise ValueError(
            f"{name}, line {number}: the head {head!r} is not the number of a word (say --no-label if there are none)"
        )
    return int(head), relation


def form_of(kind: str, name: str, label: Any, trees: bool) -> Any:
    """How the lines of a file are read."""
    if trees and not (label is None or label is False):
        raise ValueError(f"label={label!r}: heads and relations are in columns of their own; leave it out")
    forms: dict[str, tuple[Any, Any]] = {"conll": (Conll, ConllTrees), "conllu": (Conllu, ConlluTrees)}
    return forms[kind][trees](name, label)


def read(file: Any, raw: Any, name: str, chunk: int, form: Any) -> Chunks:
    """The sentences of a file, so many in a chunk: lists of words, and of tags; or of words with tags, and of arcs."""
    X, y, rows, first = list[list[Any]](), list[list[Any]](), 0, 1

    def taken() -> Chunk:
        nonlocal X, y, rows
        made = Chunk(X, None if form.label is False else y, Position(rows, first, raw.count))
        rows += len(X)
        X, y = [], []
        return made

    words, tags, begun, number = list[Any](), list[Any](), 1, 0
    seen = list[str]()  # the lines of the sentence

    def whole() -> list[Any]:
        return Sentence(words, seen, form) if form.keeps_lines else words

    for number, line in texts(file, name):
        if line is None:  # a file that is followed has no more for the time being
            if X:
                yield taken()
            continue
        if line.strip():
            found = form.word(line, number)
            if form.keeps_lines:
                seen.append(line)
            if found is not None:
                begun = begun if words else number
                words.append(found[0])
                tags.append(found[1])
            continue
        if words:
            first = first if X else begun
            X.append(whole())
            y.append(tags)
            words, tags, seen = [], [], []
            if len(X) == chunk:
                yield taken()
    if words:
        first = first if X else begun
        X.append(whole())
        y.append(tags)
    if X:
        yield taken()
