"""Parsing in the plainest way: features spelled out for each arc, every tree looked at, every step by its formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from naive_tags import Sparse, Tagger
from onepass.structured import arcs, relations

MASK = 2**64 - 1


# --- hashes: models are saved with them, so they must not change ---


def joined(h: int, part: int) -> int:
    h = (h ^ part) * 0x9E3779B97F4A7C15 & MASK
    return h ^ h >> 32


def finished(h: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ h >> 33) * factor & MASK
    return h ^ h >> 33


@cache
def hashed(text: str) -> int:
    h = len(text)
    for character in text:
        h = joined(h, ord(character))
    return finished(h) | 1


# --- features ---

ROOT, BEYOND = 2, 4


@cache
def parts_of(x: Any, i: int) -> dict[str, int]:
    """What is known of word i, 0 being the root."""
    words = [BEYOND, BEYOND, ROOT, *(hashed(word) for word, _ in x), BEYOND, BEYOND]
    tags = [BEYOND, BEYOND, ROOT, *(hashed(tag) for _, tag in x), BEYOND, BEYOND]
    around = {f"word{mark}": words[i + k] for k, mark in enumerate(("--", "-", "", "+", "++"))}
    around |= {f"tag{mark}": tags[i + k] for k, mark in enumerate(("--", "-", "", "+", "++"))}
    if i == 0:
        return {"front": ROOT, "end": ROOT, **around}
    return {"front": hashed(x[i - 1][0][:5]), "end": hashed(x[i - 1][0][-3:]), **around}


@cache
def part(x: Any, i: int, m: int, below: bool) -> int:
    """The hash of what word i is like, by template m: as the head, or below it."""
    names, known = arcs.ATTRIBUTES[arcs.TEMPLATES[m, int(below)]].split(), parts_of(x, i)
    value = known[names[0]]
    for name in names[1:]:
        value = joined(value, known[name])
    return finished(joined(2 * m + 1 + below, value))


def is_long(x: Any, *words: int) -> bool:
    return any(i > 0 and len(x[i - 1][0]) > 5 for i in words)


def step_of(h: int, d: int) -> int:
    steps = [1, 2, 3, 4, 5, 10, np.inf]
    return next(k for k, most in enumerate(steps) if abs(h - d) <= most) + 7 * (h > d)


def templates(x: Any, h: int, d: int) -> range:
    """The templates of both words together."""
    return range(len(arcs.PAIRS) + (len(arcs.OF_LONG) if is_long(x, h, d) else 0))


ALONE = range(len(arcs.PAIRS) + len(arcs.OF_LONG), len(arcs.TEMPLATES) - 1)
BETWEEN = len(arcs.TEMPLATES) - 1


@cache
def arc(x: Any, h: int, d: int) -> list[int]:
    """The hashes of the features of an arc."""
    distance, side = int(arcs.DISTANCES[step_of(h, d)]), int(arcs.SIDES[int(h > d)])
    found = []
    for m in templates(x, h, d):
        code = part(x, h, m, False) ^ part(x, d, m, True)
        found += [code, code ^ distance]
    for m in ALONE:
        found += [part(x, h, m, False), part(x, h, m, False) ^ distance, part(x, d, m, True) ^ distance]
    for i in range(min(h, d) + 1, max(h, d)):
        found.append(part(x, h, BETWEEN, False) ^ part(x, d, BETWEEN, True) ^ side ^ finished(parts_of(x, i)["tag"]))
    return found


@cache
def relation(x: Any, heads: Sequence[int], d: int) -> list[int]:
    """The hashes of the features of the arc to word d, in a tree."""
    h = heads[d - 1]
    side, distance = int(arcs.SIDES[int(h > d)]), int(arcs.DISTANCES[step_of(h, d)])
    plain, left, right, beside, above = map(
        int, (relations.PLAIN, relations.BELOW_LEFT, relations.BELOW_RIGHT, relations.BESIDE, relations.ABOVE)
    )
    unsaid = range(len(arcs.TELLING), len(arcs.PAIRS))
    found = [part(x, h, m, False) ^ part(x, d, m, True) ^ side ^ plain for m in templates(x, h, d) if m not in unsaid]
    for m in ALONE:
        found += [part(x, h, m, False) ^ side ^ plain, part(x, d, m, True) ^ distance ^ plain]
    pair = part(x, h, BETWEEN, False) ^ part(x, d, BETWEEN, True) ^ side
    children = [i for i, head in enumerate(heads, 1) if head == d]
    for i, salt in ((min(children, default=0), left), (max(children, default=0), right)):
        for m in (relations.WORD_ALONE, relations.TAG_ALONE):
            below = part(x, i, m, True) ^ salt
            found += [part(x, d, relations.TAG_ALONE, False) ^ below, pair ^ below]
    siblings = [i for i, head in enumerate(heads, 1) if head == h and (h < i < d or d < i < h)]
    nearest = min(siblings, key=lambda i: abs(i - d), default=0)
    found.append(pair ^ finished(parts_of(x, nearest)["tag"]) ^ beside)
    found.append(pair ^ finished(parts_of(x, heads[h - 1] if h > 0 else 0)["tag"]) ^ above)
    return found


# --- learners ---


def is_tree(heads: Sequence[int]) -> bool:
    """Whether one word hangs on the root, and all words do in the end."""
    reached = {0}
    for _ in heads:
        reached |= {d for d, h in enumerate(heads, 1) if h in reached}
    return list(heads).count(0) == 1 and len(reached) == len(heads) + 1


def is_projective(heads: Sequence[int]) -> bool:
    """Whether no arcs cross, that from the root included."""
    arcs = [(min(h, d), max(h, d)) for d, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


@dataclass
class Arcs(Tagger):
    projective: bool = True
    bits: int = 22

    def outputs(self, x: Any) -> Iterable[tuple[Any, ...]]:
        found = [heads for heads in product(range(len(x) + 1), repeat=len(x)) if is_tree(heads) or not x]
        return [heads for heads in found if is_projective(heads) or not self.projective]

    def phi(self, x: Any, y: Any) -> Sparse:
        counts: Counter[Any] = Counter()
        for d, h in enumerate(y, 1):
            counts.update(code >> (64 - self.bits) for code in arc(tuple(x), h, d))
        return dict(counts)


@dataclass
class Relations(Tagger):
    """An example is a sentence and its heads."""

    bits: int = 22

    def outputs(self, x: Any) -> Iterable[tuple[Any, ...]]:
        return product(self.labels, repeat=len(x[0]))

    def phi(self, x: Any, y: Any) -> Sparse:
        counts: Counter[Any] = Counter()
        for d, k in enumerate(y, 1):
            counts.update(self.place(code, k) for code in relation(tuple(x[0]), tuple(x[1]), d))
        return dict(counts)

    def place(self, code: int, k: int) -> int:
        """Blocks of 64 relations."""
        block = (code ^ finished(k // 64)) >> (64 - self.bits + 6)
        return 64 * block + ((k ^ code) & 63)
