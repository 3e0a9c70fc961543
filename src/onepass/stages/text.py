"""Text as bags of words, inside the stream."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import murmurhash3_32
from sklearn.utils._param_validation import Interval

from onepass.base import Field, State
from onepass.base.binding import ReadRaw
from onepass.base.inputs import Rows, readonly
from onepass.base.knowledge import Door
from onepass.base.parameters import among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.chain import change, makes_entries, unsound
from onepass.compiled.entries import room
from onepass.compiled.loop import T
from onepass.compiled.words import BINARY, BM25, COUNT, INSIDE, LETTER, SPACE, TFIDF, bags, ngrams_of
from onepass.stages.hashing import Hashing, Shared

BLOCK_BYTES = 1 << 20  # of text, for which there are arrays at a time
WEIGHTS = {"count": COUNT, "binary": BINARY, "tfidf": TFIDF, "bm25": BM25}
NO_NUMBERS = readonly(np.empty(0))

Bag = namedtuple("Bag", "documents totals count orders letters columns how normed")


# --- one text on its way through a pipeline ---


@change.form(Bag)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    (indptr, indices, values), bounds, offsets = out, np.zeros(2, np.int64), np.zeros(2, np.int64)
    offsets[1] = len(X.data)
    settings = np.uint64(0), stage.orders, stage.letters, stage.columns, stage.how
    bags(X.data, offsets, *settings, stage.documents, stage.totals, taught, stage.normed, bounds, indices, values)
    indptr[1] = bounds[1]
    if taught[0]:
        stage.count[T] += 1


makes_entries(Bag, lambda stage, X: room((len(X.data) + 2) * (stage.orders + stage.letters[1])))


@unsound.form(Bag)
def _(stage: Any, X: Any) -> Any:
    return False  # whatever a text says


@parametric
class Text(Hashing):
    """Texts as sparse rows of a fixed width: a bag of words, and of n-grams of words or letters, each in the column of its hash.

    A word is a run of letters, digits and underscores, in lower case; any other character that is no white space is a word of its
    own. An n-gram goes into column hash mod n_features, with a sign from the hash, so that collisions cancel on average. Its value is

    * its count f ("count"), or 1 ("binary"),
    * f (ln((1 + N) / (1 + n)) + 1) ("tfidf"), where n of the N texts so far had something in its column,
    * ln(1 + (N - n + 1/2) / (n + 1/2)) f (k + 1) / (f + k (1 - b + b |text| / mean |text|)) ("bm25"), with k = 1.2 and b = 0.75.

    In a stream text t is weighed by the texts before t, and then counted. Rows are scaled to unit norm. Memory is bounded whatever
    words come.

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg: Feature hashing for large scale multitask learning. ICML 2009.
    S. Robertson, H. Zaragoza: The probabilistic relevance framework: BM25 and beyond. Foundations and Trends in Information Retrieval
    3 (2009), 333-389.

    Examples
    --------
    >>> from onepass import PAClassifier, Text, pipeline
    >>> model = pipeline(Text(), PAClassifier())
    >>> for text, label in [("Win a prize now!", "spam"), ("See you at lunch", "ham"), ("You win! Call now", "spam")]:
    ...     model.learn_one(text, label)
    >>> model.predict_one("A prize! Call")
    'spam'
    """

    n_features: int = parameter(2**18)
    ngrams: int = parameter(
        1, Interval(Integral, 0, 8, closed="both"), text="Up to so many words in a row are a feature; 0 for no words at all."
    )
    letters: Sequence[int] | None = parameter(
        None,
        "array-like",
        None,
        kind="(int, int)",
        text="The least and the largest number of letters in a row that are a feature, across words. None: no such features.",
    )
    weight: str = parameter("count", among(*WEIGHTS), text="How an n-gram counts.")
    normed: bool = parameter(True, "boolean", text="Whether rows are scaled to unit norm.")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.letters is not None:
            if len(self.letters) != 2 or not all(isinstance(n, Integral) for n in self.letters):
                raise ValueError(f"`letters` must be two whole numbers, got {self.letters!r}.")
            if not 1 <= self.letters[0] <= self.letters[1] <= 16:
                raise ValueError(f"`letters` must be between 1 and 16, the smaller first; got {self.letters!r}.")
        if self.ngrams == 0 and self.letters is None:
            raise ValueError("With ngrams=0, `letters` must be given, or there are no features.")

    def _fields(self, form: str) -> dict[str, Field]:
        counted = {"documents": Field("features")} if WEIGHTS[self.weight] >= TFIDF else {}
        return {"totals": Field("2"), **counted}

    def _check_rows(self, X: Any) -> None:
        _encoded(X)

    def _seen_by(self, state: State, X: Any, *, foreseen: bool = True) -> Rows:
        data, offsets = _encoded(X)
        return self._bags(state, data, offsets, np.zeros(len(offsets) - 1, bool))

    def _learn_transform(self, X: Any, weights: Array | None, door: Door, targets: Any = None) -> Rows:
        data, offsets = _encoded(X)
        state = self._latest()
        return self._bags(state, data, offsets, np.ones(len(offsets) - 1, bool) if weights is None else weights > 0)

    def _check_unchanged(self, state: State) -> None:
        if state.fields != self._layout("stage") or ("documents" in state.arrays and state.n_features != self.n_features):
            raise ValueError(
                "The `weight` of a Text, and its `n_features` where texts are counted, can't change once it has learned: call fit to"
                " start anew."
            )

    def _record(self, state: State) -> Bag:
        self._ensure_parameters()
        self._check_unchanged(state)
        low, high = (0, 0) if self.letters is None else self.letters
        totals, count = state.arrays["totals"], state.arrays["count"]
        settings = int(self.ngrams), (int(low), int(high)), int(self.n_features), WEIGHTS[self.weight], bool(self.normed)
        return Bag(state.arrays.get("documents", totals), totals, count, *settings)

    def _reader(self, state: State) -> ReadRaw:
        return _read

    def _bags(self, state: State, data: Array, offsets: Array, taught: Array) -> Rows:
        stage = self._record(state)
        settings = np.uint64(0), stage.orders, stage.letters, stage.columns, stage.how
        indptr, indices, values = _in_blocks(data, offsets, settings, (stage.documents, stage.totals), taught, stage.normed)
        if taught.any():  # a reader writes nothing, not even what is there
            state.arrays["count"][T] += np.count_nonzero(taught)
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        return Rows(values, (indptr.astype(kind), indices.astype(kind, copy=False), self.n_features), sound=True, hashed=True)

    def _called(self, state: State, X: Any, names: Any) -> dict[int, str]:
        low, high = (0, 0) if self.letters is None else self.letters
        called = Shared()
        for j, ngram in columns_of(X[0], np.uint64(0), int(self.ngrams), (int(low), int(high)), self.n_features):
            called.add([j], ngram)
        return called.names()


def columns_of(text: str, seed: Any, orders: int, letters: tuple[int, int], columns: int) -> Iterator[tuple[int, str]]:
    """The column of each n-gram of a text, and the n-gram as people write it, in the order in which `gather` finds them."""
    data, _ = _encoded([text])
    kinds, keys = np.empty(len(data), np.uint8), np.empty((len(data) + 2) * (orders + letters[1]), np.int64)
    count = ngrams_of(data, seed, orders, letters, columns, kinds, keys)
    starts = np.flatnonzero(kinds != INSIDE).tolist()
    words, spelled, before = list[str](), " ", SPACE
    for start, end in pairwise([*starts, len(data)]):
        letter, kind = data[start:end].tobytes().decode("utf-8", "surrogatepass").lower(), kinds[start]
        if kind == LETTER == before:
            words[-1] += letter
        elif kind != SPACE:
            words.append(letter)
        if kind == LETTER or not spelled.endswith(" "):
            spelled += letter if kind == LETTER else " "
        before = kind
    spelled += "" if spelled.endswith(" ") else " "
    ngrams = [" ".join(words[i : i + n + 1]) for i in range(len(words)) for n in range(min(orders, len(words) - i))]
    if letters[1]:
        sizes = range(letters[0], letters[1] + 1)
        ngrams += [spelled[i : i + n] for i in range(len(spelled)) for n in sizes if i + n <= len(spelled)]
    return zip((keys[:count] >> 1).tolist(), ngrams, strict=True)


def bags_of(name: str, values: Any, width: int) -> tuple[Array, Array, Array]:
    """A column of texts as bags of words of unit norm: how many entries each row has, their columns and values."""
    data, offsets = _encoded(values)
    settings = np.uint64(murmurhash3_32(name, positive=True)), 1, (0, 0), width, COUNT
    nothing = np.zeros(2), np.zeros(2)
    indptr, indices, numbers = _in_blocks(data, offsets, settings, nothing, np.zeros(len(offsets) - 1, bool), True)
    return np.diff(indptr), indices, numbers


def _in_blocks(
    data: Array, offsets: Array, settings: tuple[Any, ...], counts: tuple[Array, Array], taught: Array, normed: bool
) -> tuple[Array, Array, Array]:
    """Texts as the parts of sparse rows, a block at a time: there is place for all n-grams that a block could have."""
    _, ngrams, letters, *_ = settings
    indptr, parts = np.zeros(len(offsets), np.int64), list[tuple[Array, Array]]()
    for start, stop in blocks_of(offsets):
        ends = offsets[start : stop + 1]
        most = int(ends[-1] - ends[0] + 2 * (stop - start)) * (ngrams + letters[1])
        indices, values, own = np.empty(most, np.int32), np.empty(most), np.empty(stop - start + 1, np.int64)
        bags(data, ends, *settings, *counts, taught[start:stop], normed, own, indices, values)
        parts.append((indices[: own[-1]].copy(), values[: own[-1]].copy()))
        indptr[start + 1 : stop + 1] = indptr[start] + own[1:]
    if len(parts) == 1:
        return indptr, *parts[0]
    return indptr, np.concatenate([indices for indices, _ in parts]), np.concatenate([values for _, values in parts])


def _read(x: Any, learning: bool) -> tuple[Array, Array] | None:
    """One text as a raw example."""
    return (NO_NUMBERS, np.frombuffer(x.encode("utf-8", "surrogatepass"), np.uint8)) if type(x) is str else None


def _encoded(X: Any) -> tuple[Array, Array]:
    """Texts in UTF-8, one after the other, and where each begins and ends. What is missing is a text without words."""
    if isinstance(X, str | Mapping):
        raise TypeError("Text takes a list of texts; put a single one into a list, or use learn_one and predict_one.")
    items = listed(X)
    try:
        whole = "".join(items)
    except TypeError:
        items = [_text(t, item) for t, item in enumerate(items)]
        whole = "".join(items)
    data = whole.encode("utf-8", "surrogatepass")
    lengths = map(len, items) if len(data) == len(whole) else (len(text.encode("utf-8", "surrogatepass")) for text in items)
    return readonly(np.frombuffer(data, np.uint8)), readonly(np.cumsum([0, *lengths]))


def listed(X: Any) -> list[Any]:
    """The items of a list, an array or a column, also of pandas, polars and Arrow."""
    to_list = getattr(X, "to_list", None) or getattr(X, "to_pylist", None)
    return X if isinstance(X, list) else list(X) if to_list is None else to_list()


def _text(t: int, item: Any) -> str:
    if item is None or (isinstance(item, float) and item != item):
        return ""
    if not isinstance(item, str):
        raise TypeError(f"Text takes texts, and example {t} is {type(item).__name__}.")
    return item


def blocks_of(offsets: Array) -> Iterator[tuple[int, int]]:
    """Cuts of texts, or of what else has offsets, into blocks of about `BLOCK_BYTES`."""
    start, n = 0, len(offsets) - 1
    while start < n or start == n == 0:
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + BLOCK_BYTES, side="right")) - 1)
        yield start, min(stop, n)
        start = max(stop, 1)
