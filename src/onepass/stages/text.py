"""Text as bags of words, inside the stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils import murmurhash3_32
from sklearn.utils._param_validation import Interval

from onepass.base import Field, ModelFileError, State
from onepass.base.binding import ReadRaw
from onepass.base.buckets import Buckets, appearing
from onepass.base.inputs import Rows, readonly
from onepass.base.knowledge import Door, Start
from onepass.base.parameters import among, parameter, parametric
from onepass.base.saving import check_words
from onepass.base.stage import FLOAT64
from onepass.base.state import Array
from onepass.compiled.buckets import look_up
from onepass.compiled.chain import change, makes_entries, unsound
from onepass.compiled.entries import room
from onepass.compiled.loop import T
from onepass.compiled.vocabulary import OwnBag, bags_of_own, ngrams_of
from onepass.compiled.words import BEYOND, BINARY, BM25, COUNT, PADDING, TFIDF, Bag, bags, columns_of_ngrams, spell
from onepass.stages.hashing import Hashing, Shared

BLOCK, NGRAMS = 1 << 20, 1 << 22  # of bytes, and of n-grams of texts, for which there are arrays at a time
WEIGHTS = {"count": COUNT, "binary": BINARY, "tfidf": TFIDF, "bm25": BM25}
NO_NUMBERS = readonly(np.empty(0))

HASHES = 2**63 - 1  # that n-grams could have


# --- one text on its way through a pipeline ---


@change.form(Bag)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    (indptr, indices, values), bounds, offsets = out, np.zeros(2, np.int64), np.zeros(2, np.int64)
    offsets[1] = len(X.data) - BEYOND
    bags(stage, X.data, offsets, np.uint64(0), taught, bounds, indices, values)
    indptr[1] = bounds[1]
    if taught[0]:
        stage.count[T] += 1


@change.form(OwnBag)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    (indptr, indices, values), own, bounds, offsets = out, np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    offsets[1], hashes = len(X.data) - BEYOND, np.empty(len(indices), np.int64)
    ngrams_of(X.data, offsets, stage.orders, stage.letters, bounds, hashes)
    bags_of_own(stage, bounds, hashes, taught, own, indices, values)
    indptr[1] = own[1]
    if taught[0]:
        stage.count[T] += 1


for _bag in (Bag, OwnBag):
    makes_entries(_bag, lambda stage, X: room((len(X.data) + 2) * (stage.orders + stage.letters[1])))


@unsound.form(OwnBag)
@unsound.form(Bag)
def _(stage: Any, X: Any) -> Any:
    return False  # whatever a text says


@parametric
class Text(Hashing):
    """Texts as sparse rows: a bag of words, and of n-grams of words or letters, each in the column of its hash or in one of its own.

    A word is a run of letters, digits and underscores, in lower case; any other character that is no white space is a word of its
    own. An n-gram goes into column hash mod n_features, with a sign from the hash, so that collisions cancel on average; with
    `grow` into one of its own, which is called what it is, an n-gram of letters in quotes. Its value is

    * its count f ("count"), or 1 ("binary"),
    * f (ln((1 + N) / (1 + n)) + 1) ("tfidf"), where n of the N texts so far had something in its column,
    * ln(1 + (N - n + 1/2) / (n + 1/2)) f (k + 1) / (f + k (1 - b + b |text| / mean |text|)) ("bm25"), with k = 1.2 and b = 0.75.

    In a stream text t is weighed by the texts before t, and then counted. Rows are scaled to unit norm. Memory is bounded whatever
    words come: with `grow`, the first `max_features` n-grams that come up have columns, and later ones are left out, as if the texts
    did not have them; where new words never end, hash them. `transform` leaves out what has no column yet.

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

    >>> stage = Text(ngrams=2, grow=True).fit(["See you at lunch", "See me"])
    >>> stage.get_feature_names_out().tolist()
    ['see', 'see you', 'you', 'you at', 'at', 'at lunch', 'lunch', 'see me', 'me']
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
    grow: bool = parameter(
        False, "boolean", text="Whether n-grams have columns of their own, as they come up, and are not hashed to `n_features`."
    )
    max_features: int = parameter(
        2**18,
        Interval(Integral, 1, 2**30, closed="both"),
        text="How many have, with `grow`; those that come later are left out.",
    )

    @property
    def _fixes_width(self) -> bool:  # type: ignore[override]
        return not self.grow

    @property
    def _brings_features(self) -> bool:  # type: ignore[override]
        return self.grow

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.letters is not None:
            if len(self.letters) != 2 or not all(isinstance(n, Integral) for n in self.letters):
                raise ValueError(f"`letters` must be two whole numbers, got {self.letters!r}.")
            if not 1 <= self.letters[0] <= self.letters[1] <= 16:
                raise ValueError(f"`letters` must be between 1 and 16, the smaller first; got {self.letters!r}.")
        if self.ngrams == 0 and self.letters is None:
            raise ValueError("With ngrams=0, `letters` must be given, or there are no features.")

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        stage = super()._unpack(header, arrays)
        if stage._state is not None:
            check_words(header)
            try:
                stage._check_unchanged(stage._state)
            except ValueError as error:
                raise ModelFileError(f"The model file is damaged: {error}") from None
        return stage

    def _fields(self, form: str) -> dict[str, Field]:
        counted = {"documents": Field("features")} if WEIGHTS[self.weight] >= TFIDF else {}
        return {"totals": Field("2"), **counted}

    def _check_rows(self, X: Any) -> None:
        _encoded(X)

    def _first_start(self) -> Start:
        return Start(FLOAT64, 0, [], None, True, False, Buckets((), HASHES)) if self.grow else super()._first_start()

    def _width(self, state: State) -> int:
        return state.n_features if self.grow else self.n_features

    def _name_of(self, column: int) -> str:
        names = self._latest().names
        return super()._name_of(column) if names is None else names[column]

    def _seen_by(self, state: State, X: Any, *, foreseen: bool = True) -> Rows:
        data, offsets = _encoded(X)
        rows = self._bags(state, data, offsets, np.zeros(len(offsets) - 1, bool))
        return rows if foreseen or not self.grow else rows.narrowed(state.n_features)

    def _learn_transform(self, X: Any, weights: Array | None, door: Door, targets: Any = None) -> Rows:
        data, offsets = _encoded(X)
        state, taught = self._latest(), np.ones(len(offsets) - 1, bool) if weights is None else weights > 0
        rows = self._bags(state, data, offsets, taught)
        if taught.any():  # a reader writes nothing, not even what is there
            self._latest().arrays["count"][T] += np.count_nonzero(taught)
        return rows

    def _check_unchanged(self, state: State) -> None:
        resized = "documents" in state.arrays and not self.grow and state.n_features != self.n_features
        if state.fields != self._layout("stage") or self.grow != (state.buckets is not None) or resized:
            raise ValueError(
                "The `weight` of a Text, whether it grows, and its `n_features` where texts are counted, can't change once it has"
                " learned: call fit to start anew."
            )

    @property
    def _ngrams(self) -> tuple[int, tuple[int, int]]:
        """The n-grams that are features, of words and of letters."""
        low, high = (0, 0) if self.letters is None else self.letters
        return int(self.ngrams), (int(low), int(high))

    def _record(self, state: State) -> Bag | OwnBag:
        self._ensure_parameters()
        self._check_unchanged(state)
        totals = state.arrays["totals"]
        counts = state.arrays.get("documents", totals), totals, state.arrays["count"]
        how = WEIGHTS[self.weight], bool(self.normed)
        if state.buckets is None:
            return Bag(*counts, *self._ngrams, int(self.n_features), *how)
        return OwnBag(*state.buckets.table, state.n_features, int(self.max_features), *counts, *self._ngrams, *how)

    def _reader(self, state: State) -> ReadRaw:
        return _read

    def _bags(self, state: State, data: Array, offsets: Array, taught: Array) -> Rows:
        """Texts as rows. Those that are `taught` are learned from; where n-grams have columns of their own that is all of them, or
        none."""
        record = self._record(state)

        def make(start: int, stop: int, *out: Array) -> None:
            nonlocal state, record
            ends, mine = offsets[start : stop + 1], taught[start:stop]
            if isinstance(record, Bag):
                bags(record, data, ends, np.uint64(0), mine, *out)
                return
            bounds, hashes = self._hashes(data, ends)
            if mine.any():
                state = self._met(state, data, ends, bounds, hashes)
                record = self._record(state)
            bags_of_own(record, bounds, hashes, mine, *out)

        orders, letters = self._ngrams
        indptr, indices, values = _in_blocks(offsets, orders + letters[1], make)
        kind = np.int32 if indptr[-1] < 2**31 else np.int64
        width = max(state.n_features, int(indices.max(initial=-1)) + 1) if self.grow else self.n_features
        csr = indptr.astype(kind), indices.astype(kind, copy=False), width
        return Rows(values, csr, sound=True, hashed=not self.grow)

    def _hashes(self, data: Array, offsets: Array) -> tuple[Array, Array]:
        """The hashes of the n-grams of texts, and which of them each text has."""
        orders, letters = self._ngrams
        bounds = np.empty(len(offsets), np.int64)
        hashes = np.empty(int(offsets[-1] - offsets[0] + 2 * len(offsets)) * (orders + letters[1]), np.int64)
        ngrams_of(data, offsets, orders, letters, bounds, hashes)
        return bounds, readonly(hashes[: bounds[-1]])

    def _met(self, state: State, data: Array, offsets: Array, bounds: Array, hashes: Array) -> State:
        """A state that has columns for the n-grams of some texts, as far as there is place."""
        assert state.buckets is not None
        n, found = state.n_features, np.empty(len(hashes), np.int64)
        if n >= self.max_features or not look_up(*state.buckets.table, n, hashes, found):
            return state
        newcomers = appearing(hashes, found, n)[: self.max_features - n]
        latest = np.maximum.accumulate(np.append(n - 1, found))
        first = np.flatnonzero(np.diff(latest))[: len(newcomers)]  # where each comes up
        texts, called = np.searchsorted(bounds, first, side="right") - 1, list[str]()
        for t in np.unique(texts).tolist():
            called += _spelled(data, int(offsets[t]), int(offsets[t + 1]), *self._ngrams, some=first[texts == t] - bounds[t])
        state = state.widened(n + len(newcomers), newcomers, called)
        self._set_state(state)
        return state

    def _called(self, state: State, X: Any, names: Any) -> Any:
        if state.buckets is not None:
            data, offsets = _encoded(X)
            _, hashes = self._hashes(data, offsets)
            n, found = state.n_features, np.empty(len(hashes), np.int64)
            look_up(*state.buckets.table, n, hashes, found)
            appearing(hashes, found, n)
            return dict(zip(found.tolist(), _spelled(data, 0, int(offsets[1]), *self._ngrams), strict=True))
        called = Shared()
        for j, ngram in columns_of(X[0], np.uint64(0), *self._ngrams, self.n_features):
            called.add([j], ngram)
        return called.names()


def columns_of(text: str, seed: Any, orders: int, letters: tuple[int, int], columns: int) -> Iterator[tuple[int, str]]:
    """The column of each n-gram of a text, and the n-gram as people write it, in the order in which `gather` finds them."""
    data, _ = _encoded([text])
    keys = np.empty(len(data) * (orders + letters[1]), np.int64)
    count = columns_of_ngrams(data, seed, orders, letters, columns, keys)
    return zip(keys[:count].tolist(), _spelled(data, 0, len(data) - BEYOND, orders, letters), strict=True)


def _spelled(data: Array, start: int, end: int, orders: int, letters: tuple[int, int], some: Any = None) -> list[str]:
    """The n-grams of data[start:end], or some of them, as people write them; those of letters in quotes, which show where words end."""
    spelled, most = np.empty(3 * (end - start + 2), np.uint8), (end - start + 2) * (orders + letters[1])
    begins, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    count, of_words = spell(data, start, end, orders, letters, spelled, begins, ends)
    whole, wanted = spelled.tobytes(), np.arange(count) if some is None else some
    parts = zip(wanted.tolist(), begins[wanted].tolist(), ends[wanted].tolist(), strict=True)
    ngrams = ((i, whole[begin:end].decode("utf-8", "surrogatepass")) for i, begin, end in parts)
    return [ngram if i < of_words else f"'{ngram}'" for i, ngram in ngrams]


def bags_of(name: str, values: Any, width: int) -> tuple[Array, Array, Array]:
    """A column of texts as bags of words of unit norm: how many entries each row has, their columns and values."""
    data, offsets = _encoded(values)
    seed, nothing, untaught = np.uint64(murmurhash3_32(name, positive=True)), np.zeros(2), np.zeros(len(offsets) - 1, bool)
    record = Bag(nothing, nothing, nothing, 1, (0, 0), width, COUNT, True)
    indptr, indices, numbers = _in_blocks(
        offsets, 1, lambda start, stop, *out: bags(record, data, offsets[start : stop + 1], seed, untaught[start:stop], *out)
    )
    return np.diff(indptr), indices, numbers


def _in_blocks(offsets: Array, kinds: int, make: Callable[..., None]) -> tuple[Array, Array, Array]:
    """The parts of sparse rows of texts, which `make` makes a block at a time, in arrays with place for all n-grams that there could
    be: of `kinds`, at each byte."""
    indptr, parts = np.zeros(len(offsets), np.int64), list[tuple[Array, Array]]()
    for start, stop in blocks_of(offsets, NGRAMS // kinds):
        most = int(offsets[stop] - offsets[start] + 2 * (stop - start)) * kinds
        indices, values, own = np.empty(most, np.int32), np.empty(most), np.empty(stop - start + 1, np.int64)
        make(start, stop, own, indices, values)
        for array in (indices, values):
            array.resize(own[-1], refcheck=False)  # nobody else has them: what was not needed is given back
        parts.append((indices, values))
        indptr[start + 1 : stop + 1] = indptr[start] + own[1:]
    if len(parts) == 1:
        return indptr, *parts[0]
    return indptr, np.concatenate([indices for indices, _ in parts]), np.concatenate([values for _, values in parts])


def _read(x: Any, learning: bool) -> tuple[Array, Array] | None:
    """One text as a raw example."""
    return (NO_NUMBERS, np.frombuffer(x.encode("utf-8", "surrogatepass") + PADDING, np.uint8)) if type(x) is str else None


def _encoded(X: Any) -> tuple[Array, Array]:
    """Texts in UTF-8, one after the other, with `PADDING` behind them, and where each begins and ends. What is missing is a text
    without words."""
    if isinstance(X, str | Mapping):
        raise TypeError("Text takes a list of texts; put a single one into a list, or use learn_one and predict_one.")
    items = listed(X)
    try:
        whole = "".join(items)
    except TypeError:
        items = [_text(t, item) for t, item in enumerate(items)]
        whole = "".join(items)
    data, offsets = whole.encode("utf-8", "surrogatepass"), np.zeros(len(items) + 1, np.int64)
    lengths = map(len, items) if len(data) == len(whole) else (len(text.encode("utf-8", "surrogatepass")) for text in items)
    np.cumsum(np.fromiter(lengths, np.int64, len(items)), out=offsets[1:])
    return readonly(np.frombuffer(data + PADDING, np.uint8)), readonly(offsets)


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


def blocks_of(offsets: Array, size: int = BLOCK) -> Iterator[tuple[int, int]]:
    """Cuts of texts, or of what else has offsets, into blocks of about this size."""
    start, n = 0, len(offsets) - 1
    while start < n or start == n == 0:
        stop = max(start + 1, int(np.searchsorted(offsets, offsets[start] + size, side="right")) - 1)
        yield start, min(stop, n)
        start = max(stop, 1)
