"""Sets of labels as targets, and the methods that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_consistent_length

from onepass.base.inputs import Rows, as_csr, one_row
from onepass.base.knowledge import Start
from onepass.base.labels import check_labels, classes_of, declared_classes, label_array
from onepass.base.parameters import parametric
from onepass.base.state import Array, State
from onepass.base.tasks import Labelled


@dataclass(frozen=True)
class Indicator:
    """A set of labels for each row, as a table of bool with a column for each class."""

    table: Array
    labels: ClassVar[None] = None  # its columns have no names

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, key: Any) -> Any:
        """Some of the rows, not copied; or the columns of one row."""
        return Indicator(self.table[key]) if isinstance(key, slice) else np.flatnonzero(self.table[key])

    def entries(self, classes: Array) -> tuple[Array, Array, Array]:
        """Of every label of every row: the row, the place of the label among the classes, and whether it is one of them."""
        _check_columns(self.width, classes)
        rows, places = np.nonzero(self.table)
        return rows, places, np.ones(len(rows), bool)

    def codes(self, classes: Array) -> tuple[Array, int]:
        """A row of bool for each row up to the first that has an unknown label, and the number of these rows."""
        _check_columns(self.width, classes)
        return self.table, len(self)


@dataclass(frozen=True)
class LabelSets:
    """A set of labels for each row: row t has labels[places[starts[t] : starts[t + 1]]].

    Of a sparse indicator matrix `labels` is None: the places are its columns, `width` of them, one for each class.
    """

    labels: Array | None
    width: int
    starts: Array
    places: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, key: Any) -> Any:
        """Some of the rows, not copied; or the labels of one row."""
        if isinstance(key, slice):
            first, stop, _ = key.indices(len(self))
            return LabelSets(self.labels, self.width, self.starts[first : stop + 1], self.places)
        places = self.places[self.starts[key] : self.starts[key + 1]]
        return places if self.labels is None else self.labels[places]

    def entries(self, classes: Array) -> tuple[Array, Array, Array]:
        """As of an indicator."""
        places = self.places[self.starts[0] : self.starts[-1]]
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        if self.labels is not None:
            k, known = _places(self.labels, classes)
            return rows, k[places], known[places]
        _check_columns(self.width, classes)
        return rows, places, np.ones(len(rows), bool)

    def codes(self, classes: Array) -> tuple[Array, int]:
        """As of an indicator."""
        rows, places, known = self.entries(classes)
        end = len(rows) if known.all() else int(np.argmin(known))
        n = len(self) if end == len(rows) else int(rows[end])
        end = int(self.starts[n] - self.starts[0])
        codes = np.zeros((n, len(classes)), bool)
        codes[rows[:end], places[:end]] = True
        return codes, n


def _check_columns(width: int, classes: Array) -> None:
    if width != len(classes):
        raise ValueError(
            f"y has {width} columns, but there are {len(classes)} labels: {classes.tolist()}. Give an indicator matrix of one column a"
            " label, in that order, or sets of labels."
        )


def _places(labels: Array, classes: Array) -> tuple[Array, Array]:
    """The place of each label among the classes, and whether it has one."""
    if len(classes) == 0 or (labels.dtype.kind == "U") != (classes.dtype.kind == "U"):
        return np.zeros(len(labels), np.intp), np.zeros(len(labels), bool)
    exact = labels.dtype == classes.dtype or classes.dtype.kind == "U"
    k = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if exact:
        return k, classes[k] == labels
    known = {label: place for place, label in enumerate(classes.tolist())}  # as Python compares whole numbers and fractions
    k = np.array([known.get(label, 0) for label in labels.tolist()], np.intp)
    return k, np.array([label in known for label in labels.tolist()], bool)


def label_sets(y: Any) -> Indicator | LabelSets:
    """What users give as sets of labels: arrays and sparse matrices are indicators, all else is a sequence of sets."""
    if isinstance(y, Indicator | LabelSets):
        return y
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if sp.issparse(y) and y.ndim == 2:
        return _from_sparse(y)
    rows = y
    if not isinstance(y, list | tuple):
        table = np.asarray(y)
        if table.ndim == 2:
            return _from_dense(table)
        if table.ndim != 1 or table.dtype.kind != "O":
            raise ValueError(
                f"y should be sets of labels, or an indicator matrix of shape (n, L) with a column for each label; got an array of"
                f" {table.dtype} of shape {table.shape}. For one label a row there are the classifiers, such as PAClassifier."
            )
        rows = table.tolist()
    if len(rows) and all(isinstance(row, np.ndarray) or sp.issparse(row) for row in rows):
        return _from_dense(np.stack([as_csr(row).toarray().ravel() if sp.issparse(row) else row for row in rows]))
    return _from_sets(rows)


def _from_dense(table: Array) -> Indicator:
    if table.dtype.kind == "O":
        table = table.astype(np.float64)
    if table.dtype.kind not in "biuf":
        raise TypeError(f"An indicator matrix holds 0 and 1, got an array of {table.dtype}.")
    if table.ndim != 2:
        raise ValueError(f"An indicator is a row of 0 and 1, got an array of shape {table.shape[1:]}.")
    ones = np.ascontiguousarray(table == 1)
    bad = ones == (table == 0)  # neither 0 nor 1
    if bad.any():
        t = int(np.argmax(bad.any(axis=1)))
        _refuse_entry(table[t][bad[t]][0], t)
    return Indicator(ones)


def _from_sparse(y: Any) -> LabelSets:
    table = sp.csr_array(as_csr(y), copy=True)
    table.sum_duplicates()
    table.eliminate_zeros()
    if (table.data != 1).any():
        i = int(np.argmax(table.data != 1))
        _refuse_entry(table.data[i], int(np.searchsorted(table.indptr, i, side="right")) - 1)
    return LabelSets(None, table.shape[1], table.indptr, table.indices)


def _refuse_entry(entry: Any, t: int) -> NoReturn:
    if not np.isfinite(entry):
        raise ValueError(f"Input y contains {'NaN' if np.isnan(entry) else 'infinity'} (row {t}).")
    raise ValueError(
        f"An indicator matrix holds 0 and 1, got {entry.item()!r} (row {t}): class numbers and continuous targets are not sets of"
        " labels."
    )


def _from_sets(rows: Any) -> LabelSets:
    sets = [_members(row, t) for t, row in enumerate(rows)]
    starts = np.concatenate([[0], np.cumsum([len(members) for members in sets])]).astype(np.int64)
    flat = np.empty(starts[-1], object)
    for i, label in enumerate(label for members in sets for label in members):
        flat[i] = label
    labels, places = np.unique(label_array(flat) if len(flat) else np.empty(0), return_inverse=True)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity: that is no label.")
    twice = np.repeat(np.arange(len(sets)), np.diff(starts)) * len(labels) + places
    if len(np.unique(twice)) < len(twice):
        t = next(t for t, members in enumerate(sets) if len(np.unique(places[starts[t] : starts[t + 1]])) < len(members))
        raise ValueError(
            f"Row {t} of y names a label twice: {sets[t]!r}. Lists hold labels; an indicator matrix has to be an array, such as"
            " np.array(y)."
        )
    return LabelSets(labels, len(labels), starts, places)


def _members(row: Any, t: int) -> list[Any]:
    """The labels of one row: of a dict, those that it says are true."""
    if isinstance(row, Mapping):
        return [label for label, holds in row.items() if holds]
    if not isinstance(row, set | frozenset | list | tuple):
        raise TypeError(f"Row {t} of y is {row!r}; give a set of labels, such as {{'a', 'b'}}.")
    return list(row)


@parametric
class Multilabel(Labelled):
    """A learner of sets of labels. It has a score for each label ("multiclass"), and the labels above 0 are predicted.

    Targets are sets (also lists, or dicts label -> bool, as river has them), or an indicator matrix of 0 and 1, (n, L), dense or
    sparse, with its columns in the order of `classes_`. Labels that nobody named are 0 .. L-1.
    """

    def decision_function(self, X: Any) -> Array:
        """The score of each label, (n, L), positive for those that are predicted."""
        return self._read(lambda state: self._decisions(X, state))

    def predict(self, X: Any) -> Array:
        """The labels of each row as an indicator matrix, (n, L), its columns in the order of `classes_`."""
        return self._read(lambda state: self._predicted(X, state))

    def _predicted(self, X: Any, state: State) -> Array:
        return (self._scores(X, state) > 0).astype(np.int64)

    def predict_one(self, x: Any) -> set[Any]:
        """The set of labels of one example; empty while no label is known."""
        if self._latest() is None:
            return set()
        return self._read(lambda state: self._decided(self._scores(one_row(x), state), state))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose set of labels is predicted exactly."""
        predicted = self.predict(X)
        rows, places, known = self._targets(y, len(predicted)).entries(self.classes_)
        codes = np.zeros(predicted.shape, bool)
        codes[rows[known], places[known]] = True
        exact = (codes == predicted).all(axis=1)
        exact[rows[~known]] = False
        return float(np.average(exact, weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    # --- what the base asks ---

    _known_forms: ClassVar[tuple[str, ...]] = ("multiclass",)

    def _decided(self, scores: Array, state: State) -> set[Any]:
        """The set of labels that one example's scores mean."""
        assert state.classes is not None
        return set(state.classes[scores[0] > 0].tolist())

    def _width(self, state: State) -> int:
        assert state.classes is not None
        return len(state.classes)

    def _targets(self, y: Any, n: int) -> Indicator | LabelSets:
        sets = label_sets(y)
        if len(sets) != n:
            check_consistent_length(np.empty((n, 0)), np.empty((len(sets), 0)))
        return sets

    def _codes(self, state: State, y: Indicator | LabelSets) -> tuple[Array, int]:
        assert state.classes is not None
        return y.codes(state.classes)

    def _no_codes(self, state: State) -> Array:
        return np.empty((0, self._width(state)), bool)

    def _coder(self, state: State) -> Callable[[Any], Array | None]:
        assert state.classes is not None
        place = {label: k for k, label in enumerate(state.classes.tolist())}
        code = np.zeros((1, len(place)), bool)

        def coder(y: Any) -> Array | None:
            if not isinstance(y, set | frozenset):
                return None
            code[:] = False
            for label in y:
                k = place.get(label)
                if k is None:
                    return None
                code[0, k] = True
            return code

        return coder

    def _admit(self, state: State, target: Array) -> tuple[State, Any]:
        assert state.classes is not None
        newcomers = target[~_places(target, state.classes)[1]]
        for label in newcomers:
            state, _ = state.with_class(label)
        assert state.classes is not None
        return state, np.searchsorted(state.classes, newcomers)

    def _check_targets(self, state: State, target: Indicator | LabelSets) -> None:
        if state.grow_classes and target.labels is not None:
            check_labels(state.classes, np.asarray(target.labels))
            return
        _, known = self._codes(state, target)
        if known < len(target):
            self._refuse_label(state, target[known], known)

    def _refuse_label(self, state: State, label: Any, t: int) -> NoReturn:
        """Name the first label of a row that is not known."""
        assert state.classes is not None
        super()._refuse_label(state, label[~_places(label, state.classes)[1]][0], t)

    def _find_labels(self, target: Indicator | LabelSets, classes: Any, whole: bool, come: bool) -> Array:
        given = self.classes if classes is None else classes
        if given is not None:
            return self._declared(given, target)
        if target.labels is None or whole:
            labels = np.arange(target.width) if target.labels is None else classes_of(target.labels)
            if len(labels) == 0:
                raise ValueError('y names no label at all: pass `classes`, or let labels come up with grow="labels".')
            return labels
        if come:
            return target.labels[:0]
        raise ValueError("classes must be passed on the first call to partial_fit.")

    def _first_state(self, start: Start, rows: Rows) -> State:
        return self._new_state("multiclass", start)

    def _declared(self, given: Any, target: Indicator | LabelSets) -> Array:
        labels = declared_classes(given, least=1)
        if target.labels is None and not np.array_equal(np.asarray(list(given)), labels):
            raise ValueError(
                f"The columns of an indicator matrix are in the order of the sorted labels: give `classes` as {labels.tolist()}, and"
                " the columns of y in that order."
            )
        return labels

    def _check_classes(self, state: State, classes: Any) -> None:
        assert state.classes is not None
        if classes is not None and not np.array_equal(declared_classes(classes, least=1), state.classes):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {state.classes!r}")
