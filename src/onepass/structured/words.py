"""Sentences as users hand them in, and as the loop takes them: words as sparse rows of numbered features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onepass.base.inputs import check_name, number_of, readonly
from onepass.base.state import Array, State
from onepass.structured.chain import Sentences
from onepass.structured.templates import hashed


@dataclass(frozen=True, eq=False)
class Words:
    """Words and their features, which are known by a key each (`base/buckets.py`), or by names: then each is a place in `names`.

    `rows` are those of the features in the weights, once they were looked for: 0 for one that is not known.
    """

    offsets: Array  # where sentences begin and end
    indptr: Array  # where the features of words do
    features: Array
    values: Array
    names: list[str] | None = None
    named_rows: Array | None = None  # of all names, also of those of other parts
    rows: Array | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        return int(self.features.nbytes + self.values.nbytes)

    def part(self, start: int, stop: int) -> Words:
        """Some of the sentences, not copied."""
        if start == 0 and stop == len(self):
            return self
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        low, high = int(self.indptr[first]), int(self.indptr[last])
        return replace(
            self,
            offsets=self.offsets[start : stop + 1] - first,
            indptr=self.indptr[first : last + 1] - low,
            features=self.features[low:high],
            values=self.values[low:high],
            rows=None if self.rows is None else self.rows[low:high],
        )

    def taken(self, order: Array) -> Words:
        """The sentences in another order."""
        words, offsets = regrouped(self.offsets, order)
        entries, indptr = regrouped(self.indptr, words)
        return replace(
            self,
            offsets=offsets,
            indptr=indptr,
            features=self.features[entries],
            values=self.values[entries],
            rows=None if self.rows is None else self.rows[entries],
        )

    def places(self, order: Array) -> Array:
        """Where the words of the sentences are, in another order."""
        return regrouped(self.offsets, order)[0]

    def known_to(self, state: State) -> Sentences:
        """The sentences with the features that a state knows."""
        rows, values = self._found(state), self.values
        if self.names is not None and self.rows is None:
            order = self._order(rows)
            rows, values = rows[order], values[order]
        known = rows > 0
        if known.all():
            return self._record(self.indptr, rows, values, state)
        before = np.concatenate([[0], np.cumsum(known)])
        return self._record(before[self.indptr], rows[known], values[known], state)

    def learned_by(self, state: State) -> tuple[State, Words]:
        """The sentences with rows for all of their features, and the state that knows them: the same where nothing is new."""
        if self.rows is not None:
            return state, self
        if self.names is None:
            assert state.buckets is not None
            found, newcomers = state.buckets.numbers(self.features, state.n_features, grow=True)
            if len(newcomers):
                state = state.widened(state.n_features + len(newcomers), newcomers)
            return state, replace(self, rows=(found + 1).astype(np.int32))
        rows = np.empty(len(self.features), np.int32)
        state = self._number_names(state, rows)
        order = self._order(rows)
        return state, replace(self, features=self.features[order], values=self.values[order], rows=rows[order])

    def record(self, state: State) -> Sentences:
        """The sentences as the loop takes them, with all of their features."""
        assert self.rows is not None
        return self._record(self.indptr, self.rows, self.values, state)

    def _record(self, indptr: Array, rows: Array, values: Array, state: State) -> Sentences:
        return Sentences(*map(readonly, (self.offsets, indptr, rows, values.astype(state.dtype, copy=False))))

    def _order(self, rows: Array) -> Array:
        """The features of each word by their rows: in which order a dict has them does not matter."""
        return np.lexsort((rows, np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))))

    def _found(self, state: State) -> Array:
        if self.rows is not None:
            return self.rows
        if self.names is None:
            assert state.buckets is not None
            return (state.buckets.numbers(self.features, state.n_features, grow=False)[0] + 1).astype(np.int32)
        return self._rows_of_names(state)[self.features].astype(np.int32)

    def _rows_of_names(self, state: State) -> Array:
        assert self.names is not None
        assert self.named_rows is not None
        assert state.names is not None
        if len(self.names) and self.named_rows[0] < 0:
            found = state.names.places(self.names, state.n_features)
            self.named_rows[:] = [0 if j is None else j + 1 for j in found]
        return self.named_rows

    def _number_names(self, state: State, rows: Array) -> State:
        assert self.names is not None
        numbers = self._rows_of_names(state)
        np.take(numbers, self.features, out=rows)
        new = list(dict.fromkeys(self.features[rows == 0].tolist()))
        if not new:
            return state
        n = state.n_features
        state = state.widened(n + len(new), [self.names[i] for i in new])
        numbers[new] = np.arange(n + 1, n + 1 + len(new))
        np.take(numbers, self.features, out=rows)
        return state


def regrouped(bounds: Array, order: Array) -> tuple[Array, Array]:
    """The places of the members of some groups, and the new bounds of the groups."""
    sizes = np.diff(bounds)[order]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return np.repeat(bounds[:-1][order] - ends[:-1], sizes) + np.arange(ends[-1]), ends


# --- what users hand in ---


def words_by_template(sentences: Any, table: Array) -> Words:
    """Lists of words, with the features that templates find."""
    checked = []
    for t, sentence in enumerate(sentences_of(sentences)):
        words = list(sentence)
        for word in words:
            if not isinstance(word, str):
                raise TypeError(
                    f"Sentence {t} holds a {type(word).__name__}, {word!r}: with templates a sentence is a list of words. For features"
                    " of your own, a dict a word, use templates=None."
                )
        checked.append(words)
    offsets, indptr, keys = hashed(checked, table)
    return Words(offsets, indptr, keys, np.ones(len(keys)))


def words_by_name(sentences: Any, largest: float, called: str = "sentence") -> Words:
    """Lists of dicts of features, or of lists of features that are there. What a list is called is told if it is refused."""
    places: dict[str, int] = {}
    offsets, indptr, features, values = [0], [0], list[int](), list[float]()
    for t, sentence in enumerate(sentences_of(sentences)):
        for word in sentence:
            if isinstance(word, str):
                raise TypeError(
                    f"Sentence {t} holds the text {word!r}: a word is a dict of features, or a list of them. For plain words set"
                    ' templates="tags" or templates="names".'
                )
            for name, value in features_of(word, t):
                if not abs(value) < largest:
                    raise ValueError(
                        f"Feature {name!r} of {called} {t} is {value}: "
                        + (
                            "Input X contains NaN."
                            if value != value
                            else f"it must be less than {largest:.3g}; scale it first."
                        )
                    )
                features.append(places.setdefault(name, len(places)))
                values.append(value)
            indptr.append(len(features))
        offsets.append(len(indptr) - 1)
    return Words(
        np.array(offsets),
        np.array(indptr),
        np.array(features, np.int64),
        np.array(values, np.float64),
        list(places),
        np.full(len(places), -1, np.int64),
    )


def sentences_of(X: Any) -> Iterator[Any]:
    if isinstance(X, str | Mapping) or not hasattr(X, "__iter__"):
        raise TypeError(
            f"Expected a list of sentences, got {type(X).__name__}; for one sentence use learn_one and predict_one."
        )
    for t, sentence in enumerate(X):
        if isinstance(sentence, str | Mapping) or not hasattr(sentence, "__iter__"):
            raise TypeError(f"Sentence {t} is a {type(sentence).__name__}: a sentence is a list of words.")
        yield sentence


def features_of(word: Any, t: int) -> Iterator[tuple[str, float]]:
    """The features of a word: "name" with a number, or "name=text" with 1; lists and dicts within a dict are several of one name."""
    if not isinstance(word, Mapping):
        if not isinstance(word, Sequence | set | frozenset):
            raise TypeError(f"A word of sentence {t} is a {type(word).__name__}: give a dict of features, or a list of them.")
        for name in word:
            check_name(name)
        for name in word if isinstance(word, Sequence) else sorted(word):  # the order of a set is another in each process
            yield name, 1.0
        return
    for name, value in word.items():
        check_name(name)
        if isinstance(value, str):
            yield f"{name}={value}", 1.0
        elif isinstance(value, Mapping):
            for inner, number_ in features_of(value, t):
                yield f"{name}:{inner}", number_
        elif isinstance(value, list | tuple | set | frozenset):
            for inner, number_ in features_of(value, t):
                yield f"{name}={inner}", number_
        else:
            yield name, number_of(name, value)
