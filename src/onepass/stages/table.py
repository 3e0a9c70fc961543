"""Raw tables inside the stream: numbers with holes, categories, texts and dates, by column."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils import murmurhash3_32
from sklearn.utils._param_validation import Interval

from onepass.base import Field, ModelFileError, Stage, State
from onepass.base.binding import ReadRaw
from onepass.base.estimator import are_named
from onepass.base.inputs import Rows, check_name, number_of
from onepass.base.knowledge import Door, Start
from onepass.base.labels import Coded, encode_labels
from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.base.saving import check_words
from onepass.base.stage import FLOAT64
from onepass.base.state import Array
from onepass.compiled.entries import add_up_rows
from onepass.compiled.loop import T
from onepass.stages.dates import LOOKS_LIKE_A_DATE, PARTS, cycles_of, days_of, seconds_of
from onepass.stages.encoding import encode_by_means, encode_by_shares
from onepass.stages.hashing import PAIR, Shared, hashes_of, said
from onepass.stages.layout import (
    CATEGORY,
    DATE,
    KINDS,
    MEAN,
    NUMBER,
    SHARES,
    SLOTS,
    TEXT,
    UNKNOWN,
    Column,
    Layout,
    standardise_with_holes,
)
from onepass.stages.text import bags_of, columns_of

MANY_WORDS = 5  # in the first value of a column, and it is a text
BEFORE = {"category": "=", "text": ": "}  # what stands between the name of a column and a value, in the name of a feature
Entries = tuple[Array, Array]  # of a column, an entry a row: hashes and values
Part = tuple[Array, Array, Array]  # how many entries each row has, and all of them: columns and values


def _moments(axis: str) -> dict[str, Field]:
    """The moments of encoded columns, by which they are scaled."""
    return {f"encoded_{name}": Field(f"{axis} features") for name in ("mean", "squares", "seen")}


@parametric
class Table(Stage):
    """Raw tables as rows of numbers: frames with columns of all kinds, and dicts with values of all kinds.

    * A number is scaled to mean 0 and deviation 1 by the rows before it. One that is missing counts as the mean so far.
    * A text of few words is a category: "name=text" is a feature of value 1, in the column of its hash.
    * A longer text is a bag of words (:class:`Text`).
    * A date becomes a number of days, and the sine and cosine of the time of day, of the week and of the year.

    What a column holds is declared, or decided by the type of the column, for text by its first value; and is then kept. True and
    False are 1 and 0. Any other value that is missing gives no feature; a key that a dict does not have is a missing value. Numbers
    have columns of their own at the front of a row, if they are known at the first example. All else is hashed to `n_features`
    columns behind them, with a sign from the hash; a table of numbers and dates alone has none of these.

    Columns to `encode` are categories with too many values for a feature each. In place of a value there is the mean target of the
    earlier rows that had it, shrunk to the mean m of all rows, and scaled as numbers are: (n_c m_c + a m) / (n_c + a), where n_c rows
    had the value, with mean m_c, and a is the `smoothing`. For labels there are shares in place of means, one for each label; of two
    labels that of the second, and nothing before there are two. A row's own target is never in it: row t is encoded by the rows before
    t, also in `fit`, and then counted. A Table that encodes learns in a pipeline, where the learner says what the targets are.

    `pairs` are products of two columns, as features of their own: of two categories both values at once, of a category and a number
    a number for each value of the category.

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg: Feature hashing for large scale multitask learning. ICML 2009.
    D. Micci-Barreca: A preprocessing scheme for high-cardinality categorical attributes in classification and prediction problems.
    SIGKDD Explorations 3 (2001), 27-32.

    Examples
    --------
    >>> from onepass import AROWClassifier, PARegressor, Table, pipeline
    >>> model = pipeline(Table(), AROWClassifier())
    >>> model.learn_one({"age": 35, "city": "Valencia", "joined": "2024-02-29", "note": None}, "stays")
    >>> model.learn_one({"age": 71, "city": "Bilbao", "joined": "2019-11-02", "note": None}, "leaves")
    >>> model.learn_one({"age": None, "city": "Valencia", "joined": "2023-05-01", "note": None}, "stays")
    >>> model.predict_one({"city": "Bilbao"})
    'leaves'
    >>> model[0].kinds_
    {'age': 'number', 'city': 'category', 'joined': 'date', 'note': 'unknown'}

    >>> model = pipeline(Table(encode=["city"], scale=False), PARegressor())
    >>> for city, price in [("Valencia", 2.0), ("Bilbao", 5.0), ("Valencia", 3.0)]:
    ...     model.learn_one({"city": city}, price)
    >>> model[0].transform([{"city": "Valencia"}, {"city": "Bilbao"}, {"city": "Soria"}]).data.round(2).tolist()
    [2.78, 4.17, 3.33]
    """

    n_features: int = parameter(
        2**18, Interval(Integral, 1, 2**30, closed="both"), text="How many columns there are for hashes."
    )
    text: Any = parameter(
        None, "array-like", None, kind="list of str", text="Columns of text. None: those whose first value has 5 words or more."
    )
    categories: Any = parameter(
        None, "array-like", None, kind="list of str", text="Columns whose values, also numbers, are categories."
    )
    drop: Any = parameter(None, "array-like", None, kind="list of str", text="Columns to leave out.")
    pairs: Any = parameter(
        None,
        among("all"),
        "array-like",
        None,
        kind='"all" or list of (str, str)',
        text='Products of columns. "all": of all categories and numbers that are known at the first example.',
    )
    scale: bool = parameter(True, "boolean", text="Whether numbers are scaled.")
    missing: str | float = parameter(
        "mean",
        among("mean"),
        Interval(Real, None, None, closed="neither"),
        text='What a missing number counts as, "mean" or a number.',
    )
    encode: Any = parameter(
        None, "array-like", None, kind="list of str", text="Columns of categories to encode by the targets of earlier rows."
    )
    smoothing: float = parameter(
        1.0, POSITIVE, text="How many rows of a category weigh as much as what holds for all rows, for columns to encode."
    )
    cells: int = parameter(
        2**18,
        Interval(Integral, 1, 2**30, closed="both"),
        text="How many cells there are for hashes of categories to encode, one a category, or for labels one for each of its labels.",
    )

    _takes_raw = True
    _takes_missing = True
    _fixes_width = True
    _known_forms: ClassVar[tuple[str, ...]] = ("stage", "multiclass", "regression")  # the latter where columns are encoded
    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "stage": {
            "kind": Field("features"),
            "slot": Field("features"),  # of its own columns the first, from 1; 0 for none
            "mean": Field("features"),
            "squares": Field("features"),
            "seen": Field("features"),
            "widths": Field("2"),  # of what is not hashed, and of what is
        },
        "multiclass": {"cells": Field("cells"), "totals": Field("classes"), **_moments("classes")},
        "regression": {"cells": Field("2 cells"), "totals": Field("2"), **_moments("one")},
    }

    def _fields(self, form: str) -> dict[str, Field]:
        return self._forms["stage"] | self._forms[form]

    def _sizes(self) -> dict[str, int]:
        return {"cells": int(self.cells)}

    @property
    def _learns_targets(self) -> bool:  # type: ignore[override]
        return self.encode is not None and len(self.encode) > 0

    @property
    def kinds_(self) -> dict[str, str]:
        """What each column holds."""
        state = self._attribute("kinds_")
        assert state.names is not None
        return {name: KINDS[int(state.arrays["kind"][j + 1])] for j, name in enumerate(state.names.first(state.n_features))}

    def _width(self, state: State) -> int:
        return int(state.arrays["widths"].sum())

    def transform_one(self, x: Any) -> Any:
        """One dict as a row."""
        return self.transform([x])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns: of numbers and dates their own, of the others the number of the hash."""
        state = self._readable()
        hashed = int(state.arrays["widths"][1])
        return np.array(self._own_names(state) + [f"hash{j}" for j in range(hashed)], dtype=object)

    def _name_of(self, column: int) -> str:
        own = self._own_names(self._readable())
        return own[column] if column < len(own) else f"hash{column - len(own)}"

    def _own_names(self, state: State) -> list[str]:
        """The names of the columns that are not hashed."""
        assert state.names is not None
        names = [""] * int(state.arrays["widths"][0])
        for j, name in enumerate(state.names.first(state.n_features)):
            slot = int(state.arrays["slot"][j + 1]) - 1
            if slot >= 0:
                parts = PARTS[: SLOTS[int(state.arrays["kind"][j + 1])]]
                names[slot : slot + len(parts)] = [name + part for part in parts]
        return names

    def _sign_of(self, name: str, entry: float) -> float | None:
        kinds = self.kinds_
        if any(name.startswith(f"{column}{BEFORE[kind]}") for column, kind in kinds.items() if kind in BEFORE):
            return float(np.sign(entry))  # categories and words count upwards
        shares = any(name.startswith(f"{column}: ") for column, kind in kinds.items() if kind == KINDS[SHARES])
        return 1.0 if shares or any(name == f"{one} x {other}" for one in kinds for other in kinds) else None

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        stage = super()._unpack(header, arrays)
        if stage._state is not None and not stage._is_sound(stage._state):
            raise ModelFileError("The model file is damaged: the columns of a Table do not fit together.")
        if stage._state is not None and TEXT in stage._state.arrays["kind"]:
            check_words(header)
        return stage

    def _is_sound(self, state: State) -> bool:
        """Whether columns have kinds that there are, and each number or date columns of its own, or none."""
        kinds, slots = (state.arrays[name][1 : state.n_features + 1] for name in ("kind", "slot"))
        own, hashed = state.arrays["widths"]
        taken = np.sort(slots[slots != 0])
        sizes = np.array([SLOTS.get(kind, 0) for kind in kinds[slots != 0]])[np.argsort(slots[slots != 0])]
        in_order = np.array_equal(taken, 1 + np.cumsum(sizes) - sizes) and bool((sizes > 0).all())
        possible = [*range(MEAN), *{"regression": [MEAN], "multiclass": [SHARES]}.get(state.form, [])]
        has_place = hashed == self.n_features or (hashed == 0 and SHARES not in kinds)
        return in_order and bool(np.isin(kinds, possible).all()) and own == sizes.sum() and has_place

    # --- what the base asks ---

    def _called(self, state: State, X: Any, names: Any) -> dict[int, str]:
        """Own columns by their names; hashed ones by the columns of the table, and for texts the words, that alone go there."""
        own, hashed = map(int, state.arrays["widths"])
        x, kinds, called = {name: value for name, value in X[0].items() if not _is_missing(value)}, self.kinds_, Shared()
        for j, name in enumerate(self._own_names(state)):
            called.add([j], name)

        def added(*some: str) -> list[int]:
            row = self._made(state, [{name: x[name] for name in some}], None).data
            return [j for j in (row.indices.tolist() if hashed else ()) if j >= own]

        for name, value in x.items():
            if kinds.get(name) == KINDS[SHARES]:
                for label, h in self._shares(state, name):
                    called.add([own + h % hashed], f"{name}: {label}")
            elif kinds.get(name) == "text":
                seed = np.uint64(murmurhash3_32(name, positive=True))
                for j, word in columns_of(value, seed, 1, (0, 0), hashed):
                    called.add([own + j], f"{name}: {word}")
            else:
                called.add(added(name), f"{name}={value}" if kinds.get(name) == "category" else said(name, value))
        for one, other in self._pairs(
            list(kinds), {name: None for name in x if kinds.get(name) in ("number", "date", "category")}
        ):
            called.add([j for j in added(one, other) if j not in called], f"{one} x {other}")
        return called.names()

    def _check_rows(self, X: Any) -> None:
        _columns(X, [])

    def _seen_by(self, state: State, X: Any, *, foreseen: bool = True) -> Rows:
        return self._made(state, X, None)

    def _learn_transform(self, X: Any, weights: Array | None, door: Door, targets: Any = None) -> Rows:
        taught = np.ones(_length(X), bool) if weights is None else weights > 0
        form = self._form(targets)
        if self._state is None:
            labels = np.empty(0) if form == "multiclass" else None
            self._state = self._new_state(form, Start(FLOAT64, 0, [], labels, True, labels is not None))
        y = np.zeros(len(taught), np.int64 if form == "multiclass" else np.float64)
        y[taught] = self._codes(targets)
        return self._made(self._writable(), X, taught, y, door)

    def _form(self, targets: Any) -> str:
        """The form that targets of this kind ask for."""
        if not self._learns_targets:
            form = "stage"
        elif targets is None:
            raise TypeError(
                "A Table that encodes columns learns from targets: put it into onepass.pipeline(...), before a classifier or a"
                " regressor."
            )
        else:
            form = "multiclass" if isinstance(targets, Coded) else "regression"
        if self._state is not None:
            self._check_unchanged(self._state)
            if self._state.form != form:
                raise ValueError(
                    "This Table has learned from targets of another kind, numbers or labels: call fit to start anew."
                )
        return form

    def _check_unchanged(self, state: State) -> None:
        encodes = state.form != "stage"
        if encodes != self._learns_targets or (encodes and state.sizes != self._sizes()):
            raise ValueError(
                "Whether a Table encodes columns, and its `cells`, can't change once learning has begun: call fit to start anew."
            )

    def _codes(self, targets: Any) -> Any:
        """Targets as the state has them: labels by their places, and new ones are taken in; 0 for all if nobody wants them."""
        state = self._writable()
        if state.classes is None:
            return targets if self._learns_targets else 0
        for label in targets.labels[np.unique(targets.codes)].tolist():
            assert state.classes is not None
            if label not in state.classes.tolist():
                state, _ = state.with_class(label)
                self._set_state(state)
        assert state.classes is not None
        codes = np.empty(len(targets), np.int64)
        encode_labels(targets, state.classes, 1, 0, codes)
        return codes

    def _made(self, state: State, X: Any, taught: Array | None, y: Array | None = None, door: Door | None = None) -> Rows:
        """Rows of a raw table. With `taught` they are learned from, with the targets `y`, and columns that are new are taken in."""
        assert state.names is not None
        known = state.names.first(state.n_features)
        columns = {name: values for name, values in _columns(X, known).items() if name not in (self.drop or ())}
        n = _length(X)
        if taught is not None:
            if state.n_features == 0 and taught.any():  # the first example alone decides, however examples are cut
                t = int(taught.argmax())
                named = [name for name in (X[t] if isinstance(X, list) else columns) if name in columns]
                state = self._met(state, {name: columns[name][t : t + 1] for name in named}, taught[t : t + 1])
                self._lay_out(state, door)
            state = self._met(state, columns, taught)
        return self._assembled(state, columns, n, taught, y)

    def _met(self, state: State, columns: Mapping[str, Any], taught: Array) -> State:
        """A state that knows these columns, and what they hold if that shows."""
        names = self._check_named_features(state)
        newcomers = [name for name in columns if names.place(name, state.n_features) is None]
        if newcomers and state.n_features and not state.arrays["widths"][1]:
            raise ValueError(
                f"The column {newcomers[0]!r} was not there at the first example, and a Table of numbers alone has no place for more:"
                " drop it, or learn a new model."
            )
        if newcomers:
            state = state.widened(state.n_features + len(newcomers), newcomers)
            self._set_state(state)
            names = self._check_named_features(state)
        kinds, settled = state.arrays["kind"], False
        for j, (name, values) in zip(names.places(columns, state.n_features), columns.items(), strict=True):
            if j is not None and kinds[j + 1] == UNKNOWN:
                kinds[j + 1] = self._kind(state, name, values, taught)
                settled |= kinds[j + 1] != UNKNOWN
        if settled:  # another version, for which single rows are laid out anew
            state = state.widened(state.n_features)
            self._set_state(state)
        return state

    def _kind(self, state: State, name: str, values: Any, taught: Array) -> int:
        if name in (self.encode or ()):
            return MEAN if state.form == "regression" else SHARES
        if name in (self.text or ()):
            return TEXT
        if name in (self.categories or ()):
            return CATEGORY
        dtype = getattr(values, "dtype", None)
        if isinstance(values, np.ndarray) or (dtype is not None and (dtype.is_numeric() or dtype == nw.Boolean)):
            return NUMBER
        if dtype is not None and dtype.is_temporal():
            return DATE
        first = next(
            (value for value, counts in zip(_list(values), taught, strict=True) if counts and not _is_missing(value)), None
        )
        if first is None:
            return UNKNOWN
        if isinstance(first, datetime.date):
            return DATE
        if not isinstance(first, str):
            return NUMBER
        if LOOKS_LIKE_A_DATE.match(first) and seconds_of(first) == seconds_of(first):
            return DATE
        return TEXT if len(first.split()) >= MANY_WORDS else CATEGORY

    def _lay_out(self, state: State, door: Door | None) -> None:
        """Give columns to what is known at the first example."""
        kinds, slots, at = state.arrays["kind"], state.arrays["slot"], 1
        for j in range(1, state.n_features + 1):
            width = SLOTS.get(int(kinds[j]), 0)
            slots[j] = at if width else 0
            at += width
        closed = door is not None and not door.features_come
        plain = closed and all(int(kind) in SLOTS for kind in kinds[1 : state.n_features + 1]) and not self.pairs
        state.arrays["widths"][:] = at - 1, 0 if plain else self.n_features

    def _assembled(self, state: State, columns: Mapping[str, Any], n: int, taught: Array | None, y: Array | None) -> Rows:
        names = self._check_named_features(state)
        places = {name: names.place(name, state.n_features) for name in columns}
        kinds = {name: int(state.arrays["kind"][j + 1]) for name, j in places.items() if j is not None}
        own, hashed = map(int, state.arrays["widths"])
        dense, entries = np.zeros((n, own)), list[Entries]()
        single = dict[str, Entries]()  # of each column, for pairs
        numbers, stray = self._scaled(
            state, {name: columns[name] for name, kind in kinds.items() if kind in (NUMBER, DATE)}, n, taught
        )
        encoded = {name: columns[name] for name, kind in kinds.items() if kind in (MEAN, SHARES)}
        for name, found in self._encoded(state, encoded, n, taught, y).items():
            if kinds[name] == MEAN:
                numbers[name] = found
            else:
                entries += [(np.full(n, h), share) for (_, h), share in zip(self._shares(state, name), found, strict=True)]
        for name, features in numbers.items():
            slot = int(state.arrays["slot"][(places[name] or 0) + 1]) - 1
            for part, feature in zip(PARTS, features, strict=False):
                if slot < 0:
                    entries.append((_same(name + part, n), feature))
                else:
                    dense[:, slot] = feature
                    slot += 1
            single[name] = _same(name, n), features[0]
        if hashed == 0:
            return Rows(dense)
        for name in (name for name, kind in kinds.items() if kind == CATEGORY):
            single[name] = hashes_of(name, columns[name])
            entries.append(single[name])
        entries += [hashes_of(name, values) for name, values in stray.items()]
        for one, other in self._pairs(names.first(state.n_features), single):
            (h, x), (g, z) = single[one], single[other]
            entries.append(((h * PAIR + g) & 0x7FFFFFFF, x * z))
        texts = [bags_of(name, columns[name], hashed) for name, kind in kinds.items() if kind == TEXT]
        return _joined(n, dense, entries, texts, hashed)

    def _scaled(
        self, state: State, columns: Mapping[str, Any], n: int, taught: Array | None
    ) -> tuple[dict[str, list[Array]], dict[str, Any]]:
        """The features of columns of numbers and dates, which are learned from with `taught`; and texts that were among the numbers."""
        names, arrays = self._check_named_features(state), state.arrays
        places = np.array(names.places(columns, state.n_features), np.int64)
        values, stray, cycles = np.empty((n, len(columns))), dict[str, Any](), dict[str, Array]()
        for k, (name, column) in enumerate(columns.items()):
            if arrays["kind"][places[k] + 1] == DATE:
                values[:, k] = days = days_of(column)
                cycles[name] = cycles_of(days)
            else:
                values[:, k] = _numbers(name, column, stray)
        _check_numbers(values, list(columns))
        moments = arrays["mean"], arrays["squares"], arrays["seen"]
        learned = np.zeros(n, bool) if taught is None else taught
        standardise_with_holes(values, places, *moments, learned, bool(self.scale), self._fill)
        if taught is not None:  # a reader writes nothing, not even what is there
            arrays["count"][T] += np.count_nonzero(taught)
        return {name: [values[:, k], *cycles.get(name, ())] for k, name in enumerate(columns)}, stray

    def _encoded(
        self, state: State, columns: Mapping[str, Any], n: int, taught: Array | None, y: Array | None
    ) -> dict[str, list[Array]]:
        """The features of columns that are encoded, one a label, or one; they are learned from with `taught` and the targets `y`."""
        if not columns:
            return {}
        arrays, places = state.arrays, self._check_named_features(state).places(columns, state.n_features)
        found = [hashes_of(name, values) for name, values in columns.items()]
        hashes, there = np.stack([h for h, _ in found], axis=1), np.stack([present > 0 for _, present in found], axis=1)
        learned = np.zeros(n, bool) if taught is None else taught
        width, room = arrays["encoded_mean"].shape
        values = np.empty((n, len(columns), width))
        of_targets = learned, arrays["cells"], arrays["totals"], float(self.smoothing), values
        if state.form == "regression":
            encode_by_means(hashes, there, np.zeros(n) if y is None else y, *of_targets)
        else:
            encode_by_shares(hashes, there, _label_hashes(state), np.zeros(n, np.int64) if y is None else y, *of_targets)
        moments = (arrays[name].reshape(-1) for name in _moments(""))
        rows = np.add.outer(np.array(places, np.int64), room * np.arange(width)).ravel()
        standardise_with_holes(values.reshape(n, -1), rows, *moments, learned, bool(self.scale), np.nan)
        return dict(zip(columns, map(list, values.transpose(1, 2, 0)), strict=True))

    def _shares(self, state: State, name: str) -> list[tuple[Any, int]]:
        """The labels, and the hash of what an encoded column says of each."""
        assert state.classes is not None
        hashes = (murmurhash3_32(name) * PAIR + _label_hashes(state)) & 0x7FFFFFFF
        return list(zip(state.classes.tolist(), hashes.tolist(), strict=True))

    @property
    def _fill(self) -> float:
        return np.nan if self.missing == "mean" else float(self.missing)

    def _pairs(self, names: list[str], single: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """The pairs of columns that there are."""
        if isinstance(self.pairs, str):
            return combinations([name for name in names if name in single], 2)
        return [(one, other) for one, other in self.pairs or () if one in single and other in single]

    # --- single rows ---

    def _layout_of(self, state: State) -> Layout:
        """What is known of the columns; the dates and numbers that came late have none of their own in the result."""
        names, arrays, dropped = self._check_named_features(state), state.arrays, self.drop or ()
        return Layout(
            {
                name: Column(j, int(arrays["kind"][j + 1]), int(arrays["slot"][j + 1]) - 1)
                for j, name in enumerate(names.first(state.n_features))
                if name not in dropped
            }
        )

    def _record(self, state: State) -> Any:
        layout, names = self._layout_of(state), self._check_named_features(state)
        singles = dict.fromkeys(layout.of[NUMBER] + layout.of[DATE] + layout.of[CATEGORY])
        pairs = self._pairs(names.first(state.n_features), singles)
        return layout.record(state.arrays, pairs, scaled=bool(self.scale), fill=self._fill)

    def _reader(self, state: State) -> ReadRaw | None:
        return None if self._learns_targets else self._layout_of(state).reader(self.drop or ())


def _label_hashes(state: State) -> Array:
    assert state.classes is not None
    return hashes_of("", state.classes.tolist())[0]


# --- columns, however they come ---


UNNAMED = "Table takes dicts or data frames: only columns with names can be told apart."


def _length(X: Any) -> int:
    if sp.issparse(X):
        raise TypeError(UNNAMED)
    return X.n if isinstance(X, Rows) else len(X)


def _columns(X: Any, known: list[str]) -> dict[str, Any]:
    """The columns of a raw table by name: arrays of numbers, series, or lists. Of dicts those that are known come first, then others
    as they come up."""
    if isinstance(X, Rows):
        if X.names is None or X.sparse:
            raise TypeError(UNNAMED)
        return {name: X.data[:, j] for j, name in enumerate(X.names)}
    X = nw.to_native(X, pass_through=True)
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        for name in frame.columns:
            check_name(name)
        return {name: frame.get_column(name) for name in frame.columns}
    if not are_named(X):
        raise TypeError(UNNAMED)
    names = dict.fromkeys(known)
    for x in X:
        names.update(dict.fromkeys(x))
    for name in names:
        check_name(name)
    return {name: [x.get(name) for x in X] for name in names}


def _list(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.to_list()


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _numbers(name: str, values: Any, stray: dict[str, Any]) -> Array:
    """A column of numbers, with NaN for what is missing. A text that is no number is set aside as `stray`."""
    if isinstance(values, np.ndarray):
        return values
    if not isinstance(values, list) and (values.dtype.is_numeric() or values.dtype == nw.Boolean):
        return values.cast(nw.Float64).to_numpy() if values.null_count() or not values.dtype.is_float() else values.to_numpy()
    numbers, texts = np.full(len(values), np.nan), list[Any]()
    for t, value in enumerate(_list(values)):
        text = None
        if isinstance(value, str):
            try:
                numbers[t] = float(value) if value.strip() else np.nan
            except ValueError:
                text = value
        elif not _is_missing(value):
            numbers[t] = number_of(name, value)
        texts.append(text)
    if any(text is not None for text in texts):
        stray[name] = texts
    return numbers


def _check_numbers(raw: Array, names: list[str]) -> None:
    """Refuse what nobody could learn from."""
    with np.errstate(over="ignore"):
        bad = np.isinf(raw * raw)
    if bad.any():
        t, k = np.argwhere(bad)[0]
        kind = "Input X contains infinity" if math.isinf(raw[t, k]) else "it is too large: its square overflows"
        raise ValueError(f"Column {names[k]!r} is {raw[t, k]} in row {t}: {kind}.")


# --- rows ---


def _same(name: str, n: int) -> Array:
    """The hash of a name, for n rows."""
    return np.full(n, murmurhash3_32(name), np.int64)


def _joined(n: int, dense: Array, entries: list[Entries], texts: list[Part], hashed: int) -> Rows:
    """One sparse row of all parts: numbers at the front, then what is hashed, collisions added up."""
    own = dense.shape[1]
    present = dense != 0
    parts: list[Part] = [(present.sum(axis=1), np.nonzero(present)[1], dense[present])]
    if entries:
        hashes, values = np.stack([h for h, _ in entries], axis=1), np.stack([v for _, v in entries], axis=1)
        signed = np.where(hashes < 0, -values, values)
        there = signed != 0
        parts.append((there.sum(axis=1), own + abs(hashes[there]) % hashed, signed[there]))
    parts += [(counts, own + columns, values) for counts, columns, values in texts]
    lengths = sum(counts for counts, _, _ in parts)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    kind = np.int32 if indptr[-1] < 2**31 else np.int64
    indices, values, before = np.empty(indptr[-1], kind), np.empty(indptr[-1]), indptr[:-1].copy()
    for counts, columns, numbers in parts:
        first = np.cumsum(counts) - counts
        places = np.repeat(before - first, counts) + np.arange(len(columns))
        indices[places], values[places] = columns, numbers
        before += counts
    bounds = indptr.astype(kind)
    add_up_rows(bounds, indices, values)
    return Rows(values[: bounds[-1]], (bounds, indices[: bounds[-1]], own + hashed), sound=True, hashed=True)
