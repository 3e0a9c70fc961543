"""Features of words by templates, after Ratnaparkhi (1996): the word, its ends, its shape, and those of its neighbours.

A template is a text such as "lower[-1] lower[0]": what some words at a distance are like, together. A feature is a hash of the
template's number and of what it finds; beyond the ends of a sentence it finds a mark, and where a word is too short for an end nothing,
and then there is no such feature. What a word itself is like is worked out once for all words of a call that are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from onepass.base.inputs import readonly
from onepass.base.labels import Array
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.words import finished, joined

PREFIXES, SUFFIXES = 4, 5

# What a word is like, each a number: the word, in lower case, its shape with runs of the same kind as one, and its ends in lower case.
ATTRIBUTES = (
    "word",
    "lower",
    "shape",
    *(f"prefix{k}" for k in range(1, PREFIXES + 1)),
    *(f"suffix{k}" for k in range(1, SUFFIXES + 1)),
)
WORD, LOWER, SHAPE, PREFIX, SUFFIX = 0, 1, 2, 3, 3 + PREFIXES
PARTS = 3  # of a template, at most
KEYS = 2**63  # that there could be: odd ones are features, and even ones stay free for rows that no template makes
POSITIVE = np.uint64(KEYS - 1)

_COMMON = (
    *(f"{name}[0]" for name in ATTRIBUTES),
    *(f"lower[{o}]" for o in (-2, -1, 1, 2)),
    *("lower[-1] lower[0]", "lower[0] lower[1]", "lower[-1] lower[1]"),
    *("suffix3[-1]", "suffix3[1]", "suffix3[-1] suffix3[0]", "suffix3[0] suffix3[1]"),
    *("shape[-1] shape[0]", "shape[0] shape[1]"),
)
TEMPLATES = {
    "tags": _COMMON,
    "names": (
        *_COMMON,
        *(f"{name}[{o}]" for name in ("word", "shape", "prefix3") for o in (-1, 1)),
        *("lower[-1] shape[0]", "shape[0] lower[1]"),
        *("shape[-2] shape[-1] shape[0]", "shape[0] shape[1] shape[2]"),
    ),
}

_PART = re.compile(r"(\w+)\[([+-]?\d)\]")
_RUN = re.compile(r"(.)\1+", re.DOTALL)


def table_of(templates: str | Iterable[str]) -> Array:
    """Templates as numbers: (templates, parts, 2) attributes and distances, -1 for no more parts."""
    listed = list(TEMPLATES[templates] if isinstance(templates, str) else templates)
    table = np.full((len(listed), PARTS, 2), -1, np.int64)
    for m, template in enumerate(listed):
        parts = template.split() if isinstance(template, str) else []
        found = [_PART.fullmatch(part) for part in parts]
        if not 1 <= len(parts) <= PARTS or not all(one and one[1] in ATTRIBUTES for one in found):
            raise ValueError(
                f"The template {template!r} is none: give a text such as 'lower[-1] lower[0]', of up to {PARTS} parts, each one of"
                f" {', '.join(ATTRIBUTES)} with the distance to the word."
            )
        table[m, : len(parts)] = [(ATTRIBUTES.index(one[1]), int(one[2])) for one in found if one]
    return readonly(table)


class _Kinds(dict[int, str]):
    """Characters by their kinds: X and x for letters, d for digits; others stand for themselves."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = "X" if character.isupper() else "x" if character.islower() else "d" if character.isdigit() else character
        self[code] = kind
        return kind


_KINDS = _Kinds()


def shape(word: str) -> str:
    """The kinds of the characters of a word, a run of the same as one.

    >>> shape("McDonald's"), shape("3.14"), shape("USA")
    ("XxXx'x", 'd.d', 'X')
    """
    return _RUN.sub(r"\1", word.translate(_KINDS))


@lru_cache(1 << 16)
def _spelled(word: str) -> tuple[str, str]:
    return word.lower(), shape(word)


def hashed(sentences: Sequence[Sequence[str]], table: Array) -> tuple[Array, Array, Array]:
    """The words of sentences as keys of their features: where sentences begin and end, where words do, and the keys."""
    offsets = np.cumsum([0, *map(len, sentences)])
    words = list(chain.from_iterable(sentences))
    places = {word: i for i, word in enumerate(dict.fromkeys(words))}
    kinds = np.fromiter(map(places.__getitem__, words), np.int64, len(words))
    spelled = [_spelled(word) for word in places]
    found = np.empty((len(places), len(ATTRIBUTES)), np.uint64)
    lowers, shapes = [lower for lower, _ in spelled], [form for _, form in spelled]
    describe(*characters(list(places)), *characters(lowers), *characters(shapes), found)
    indptr, keys = np.empty(len(words) + 1, np.int64), np.empty(len(words) * len(table), np.int64)
    n = expand(readonly(offsets), readonly(kinds), readonly(found), table, indptr, keys)
    return offsets, indptr, keys[:n]


def characters(words: list[str]) -> tuple[Array, Array]:
    """The code points of words, one after the other, and where each word begins and ends."""
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    return readonly(codes), readonly(np.cumsum([0, *map(len, words)]))


@routine
def hash_of(codes: Any, start: Any, end: Any) -> Any:
    h = np.uint64(end - start)
    for i in range(start, end):
        h = joined(h, codes[i])
    return finished(h) | np.uint64(1)  # 0 is for what is not there


@entry_point
def describe(words: Any, word_ends: Any, lowers: Any, lower_ends: Any, shapes: Any, shape_ends: Any, found: Any) -> None:
    """found = a hash of each attribute of each word; 0 for an end that is the whole word or longer."""
    for i in range(len(found)):
        out, start, end = found[i], lower_ends[i], lower_ends[i + 1]
        out[WORD] = hash_of(words, word_ends[i], word_ends[i + 1])
        out[LOWER] = hash_of(lowers, start, end)
        out[SHAPE] = hash_of(shapes, shape_ends[i], shape_ends[i + 1])
        for k in range(1, PREFIXES + 1):
            out[PREFIX + k - 1] = hash_of(lowers, start, start + k) if end - start > k else np.uint64(0)
        for k in range(1, SUFFIXES + 1):
            out[SUFFIX + k - 1] = hash_of(lowers, end - k, end) if end - start > k else np.uint64(0)


@routine
def key_of(kinds: Any, found: Any, table: Any, m: Any, i: Any, start: Any, end: Any) -> Any:
    """The key of a template at word i; 0 for none."""
    h = np.uint64(m + 1)
    for part in range(PARTS):
        attribute, j = table[m, part, 0], i + table[m, part, 1]
        if attribute < 0:
            break
        if start <= j < end:
            what = found[kinds[j], attribute]
            if what == 0:
                return np.int64(0)
        else:
            what = np.uint64(2 if j < start else 4)  # an even number, unlike all others
        h = joined(h, what)
    return np.int64((finished(h) | np.uint64(1)) & POSITIVE)


@entry_point
def expand(offsets: Any, kinds: Any, found: Any, table: Any, indptr: Any, keys: Any) -> Any:
    """Write the keys of each word, and where they begin and end; how many there are."""
    used = 0
    indptr[0] = 0
    for t in range(len(offsets) - 1):
        start, end = offsets[t], offsets[t + 1]
        for i in range(start, end):
            for m in range(len(table)):
                key = key_of(kinds, found, table, m, i, start, end)
                if key != 0:
                    keys[used] = key
                    used += 1
            indptr[i + 1] = used
    return used
