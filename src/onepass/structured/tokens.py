"""Sentences of tagged words and their trees as users hand them in, and as the loop takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.base.inputs import readonly
from onepass.base.labels import Coded, label_array
from onepass.base.state import Array, State
from onepass.compiled.compiler import entry_point
from onepass.structured.arcs import MARKS, Tokens
from onepass.structured.templates import characters, hash_of
from onepass.structured.words import regrouped, sentences_of

FRONT, END = 5, 3  # letters


@dataclass(frozen=True, eq=False)
class TaggedWords:
    """Words and their tags, of which only hashes are needed."""

    offsets: Array  # where sentences begin and end
    marks: Array  # (words, 4) hashes: see `arcs.py: Tokens`

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        return int(self.marks.nbytes)

    def part(self, start: int, stop: int) -> TaggedWords:
        """Some of the sentences, not copied."""
        first, last = self.offsets[start], self.offsets[stop]
        return TaggedWords(self.offsets[start : stop + 1] - first, self.marks[first:last])

    def taken(self, order: Array) -> TaggedWords:
        """The sentences in another order."""
        words, offsets = regrouped(self.offsets, order)
        return TaggedWords(offsets, self.marks[words])

    def places(self, order: Array) -> Array:
        """Where the words of the sentences are, in another order."""
        return regrouped(self.offsets, order)[0]

    def learned_by(self, state: State) -> tuple[State, TaggedWords]:
        """The state that knows their features, and the sentences."""
        return state, self

    def record(self, state: State) -> Tokens:
        """The sentences as the loop takes them."""
        return Tokens(readonly(self.offsets), readonly(self.marks))

    known_to = record  # features that are hashed are all known


def tagged_words(X: Any) -> TaggedWords:
    """Lists of words, each with its tag."""
    words, tags, offsets = list[str](), list[str](), [0]
    for t, sentence in enumerate(sentences_of(X)):
        for one in sentence:
            word, tag = _taken_apart(one, t)
            words.append(word)
            tags.append(tag)
        offsets.append(len(words))
    marks = np.empty((len(words), len(MARKS)), np.uint64)
    for texts, columns in ((words, slice(0, 3)), (tags, slice(3, 4))):
        places = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        found = np.empty((len(places), 3), np.uint64)
        spell(*characters(list(places)), found)
        marks[:, columns] = found[
            np.fromiter(map(places.__getitem__, texts), np.intp, len(texts)), : marks[:, columns].shape[1]
        ]
    return TaggedWords(np.array(offsets), marks)


def _taken_apart(word: Any, t: int) -> tuple[str, str]:
    parts = (word.get("form"), word.get("upos")) if isinstance(word, Mapping) else word
    if isinstance(parts, tuple | list) and len(parts) == 2 and isinstance(parts[0], str) and isinstance(parts[1], str):
        return parts[0], parts[1]
    raise TypeError(
        f'Sentence {t} holds {word!r}: a word is a pair (word, tag) of texts, or a dict with "form" and "upos". Tags can be found by a'
        " SequenceTagger."
    )


@entry_point
def spell(codes: Any, ends: Any, found: Any) -> None:
    """found = hashes of each text, of its first letters, 0 if it has no more, and of its last ones."""
    for i in range(len(found)):
        start, end = ends[i], ends[i + 1]
        found[i, 0] = hash_of(codes, start, end)
        found[i, 1] = hash_of(codes, start, start + FRONT) if end - start > FRONT else np.uint64(0)
        found[i, 2] = hash_of(codes, max(start, end - END), end)


# --- trees ---

NO_RELATION = -1


@dataclass(frozen=True)
class Trees(Coded):
    """Heads and relations of words, one after the other; the codes of relations are NO_RELATION where there are none."""

    heads: Array

    def __getitem__(self, chosen: Any) -> Any:
        """The relation of one word, or some of the words."""
        codes = self.codes[chosen]
        return Trees(self.labels, codes, self.heads[chosen]) if isinstance(codes, np.ndarray) else self.labels[codes]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The relations that there are."""
        return np.asarray(self.labels[self.codes[self.codes != NO_RELATION]], dtype)


FLAWS = {
    1: "the head of word {word} is {head}: heads are 0 for the root, or count the words from 1",
    2: "word {word} is its own head",
    3: "no word has the head 0: one word must hang on the root",
    4: "word {word} is a second one with the head 0: one word must hang on the root",
    5: "word {word} is below itself: heads must not go in a circle",
}


def trees_of(y: Any, offsets: Array) -> Trees:
    """Lists of heads, or of pairs of a head and a relation, one for each word."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    outputs = list(y)
    if len(outputs) != len(offsets) - 1:
        raise ValueError(f"There are {len(offsets) - 1} sentences, and outputs for {len(outputs)}.")
    heads, relations = list[int](), list[str | None]()
    for t, (tree, n) in enumerate(zip(outputs, np.diff(offsets).tolist(), strict=True)):
        if isinstance(tree, str | Mapping) or not isinstance(tree, Iterable):
            raise TypeError(f"The output of sentence {t} is {tree!r}: give a list of heads, or of pairs (head, relation).")
        pairs = [_pair(one, t) for one in tree]
        if len(pairs) != n:
            raise ValueError(f"Sentence {t} has {n} words and {len(pairs)} heads.")
        if len({relation is None for _, relation in pairs}) > 1:
            raise ValueError(
                f"Some words of sentence {t} have a relation, and some have none: give all of them, or heads alone."
            )
        heads += [head for head, _ in pairs]
        relations += [relation for _, relation in pairs]
    flat = np.array(heads, np.int64)
    t, kind, word = flaw(readonly(offsets), readonly(flat))
    if kind:
        said = FLAWS[kind].format(word=word, head=flat[offsets[t] + word - 1] if word else 0)
        raise ValueError(f"The heads of sentence {t} are no tree: {said}.")
    known = sorted({relation for relation in relations if relation is not None})
    places: dict[str | None, int] = {relation: k for k, relation in enumerate(known)}
    places[None] = NO_RELATION
    codes = np.fromiter(map(places.__getitem__, relations), np.intp, len(relations))
    return Trees(label_array(known) if known else np.empty(0, "U1"), codes, flat)


def _pair(one: Any, t: int) -> tuple[int, str | None]:
    head, relation = one if isinstance(one, tuple | list) and len(one) == 2 else (one, None)
    if isinstance(head, bool) or not isinstance(head, int | np.integer) or abs(int(head)) > 2**31:
        raise TypeError(f"The output of sentence {t} holds {one!r}: give heads as whole numbers, or pairs (head, relation).")
    if not (relation is None or isinstance(relation, str)):
        raise TypeError(f"The output of sentence {t} holds {one!r}: a relation is a text.")
    return int(head), relation


@entry_point
def flaw(offsets: Any, heads: Any) -> Any:
    """The first sentence whose heads are no tree, what is wrong and the word; 0 for nothing."""
    for t in range(len(offsets) - 1):
        start, n = offsets[t], offsets[t + 1] - offsets[t]
        mine, tops = heads[start : start + n], 0
        for i in range(n):
            h = mine[i]
            if not 0 <= h <= n:
                return t, 1, i + 1
            if h == i + 1:
                return t, 2, i + 1
            tops += int(h == 0)
            if tops > 1 and h == 0:
                return t, 4, i + 1
        if n > 0 and tops == 0:
            return t, 3, 0
        led = np.zeros(n + 1, np.int64)  # by which word each was met first, on the way to the root
        for i in range(1, n + 1):
            at = i
            while at != 0 and led[at] == 0:
                led[at] = i
                at = mine[at - 1]
            if at != 0 and led[at] == i:
                return t, 5, at
    return 0, 0, 0
