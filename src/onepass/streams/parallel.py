"""Sentences and their translations: two files with a sentence a line each, or one with two columns and a tab between them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import zip_longest

from onepass.streams.lines import texts
from onepass.streams.raw import Source, Unpacked


def pairs(source: str | os.PathLike[str], target: str | os.PathLike[str] | None = None) -> Iterator[tuple[str, str]]:
    """The sentences of `source`, each with its translation in the same line of `target`, or behind a tab; files may be packed.

    A blank at the beginning or at the end of a sentence is left out.
    """
    if target is None:
        for number, line in enumerate(sentences(source), 1):
            columns = line.split("\t")
            if len(columns) != 2:
                raise ValueError(
                    f"{source}, line {number}: expected a sentence, a tab and its translation, got {len(columns)} columns"
                )
            yield columns[0].strip(), columns[1].strip()
        return
    for number, (one, other) in enumerate(zip_longest(sentences(source), sentences(target))):
        if one is None or other is None:
            shorter, longer = (source, target) if one is None else (target, source)
            raise ValueError(
                f"{shorter} has {number:,} lines, and {longer} has more: line i of one must be the translation of line i of the other"
            )
        yield one.strip(), other.strip()


def sentences(path: str | os.PathLike[str]) -> Iterator[str]:
    """The lines of a file, or of standard input ("-")."""
    source = Source(path)
    with source.open() as raw:
        for _, line in texts(Unpacked(raw, source.name), source.name):
            if line is not None:
                yield line
