"""What learners and stages have in common: parameters, a state, features by position or by name, and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import validate_parameter_constraints

from onepass.base.buckets import Buckets
from onepass.base.conventions import BaseEstimator
from onepass.base.errors import DivergedError, ModelFileError
from onepass.base.inputs import ABOUT_MISSING, Rows, check_values, named_values, one_row, rows_by_name, rows_of
from onepass.base.knowledge import Door, Start, no_labels, start_of
from onepass.base.names import Names
from onepass.base.saving import Saved, pack_arrays, pack_state, pack_value, unpack_state, unpack_value
from onepass.base.state import Array, Field, State
from onepass.base.writing import Locked
from onepass.compiled.checks import first_bad_row, first_bad_row_with_holes


class Estimator(Saved, Locked, BaseEstimator):
    """Base of learners and stages. The state is all that changes while learning.

    One thread writes at a time (`_lock`), to `_state`. Readers see `_state` too, or what is `_shown` in its place while a call is
    learned from. `_bound` is the present state's binding, where it is known to be; `_edition` changes with the parameters, and
    `_checked` is the one that was checked.
    """

    _forms: ClassVar[dict[str, dict[str, Field]]] = {}
    _known_forms: ClassVar[tuple[str, ...]] = ()
    _takes_missing: ClassVar[bool] = False  # whether values may be missing: NaN, and None in dicts
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _state: State | None = None
    _shown: tuple[State | None] | None = None
    _bound: Any = None
    _edition: object
    _checked: object = None
    grow: bool | str | None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        estimator = super().__new__(cls)
        estimator._edition = object()
        return estimator

    # --- what a subclass says ---

    def _fields(self, form: str) -> dict[str, Field]:
        """The arrays that rules see, in this form; what they are may depend on the parameters."""
        return self._forms[form]

    def _fields_of_options(self) -> dict[str, Field]:
        """The arrays of options that learners share, beside those that rules see."""
        return {}

    def _forgets(self) -> bool:
        """Whether there is something to forget but weights: averages, covariances, or what makes steps smaller with time."""
        return any(field.fades for field in self._layout(self._known_forms[0]).values())

    def _layout(self, form: str) -> dict[str, Field]:
        """All arrays of the state in this form."""
        return {**self._fields(form), **self._fields_of_options()}

    def _sizes(self) -> dict[str, int]:
        """The sizes of the axes that are neither features nor classes."""
        return {}

    def _capacities(self) -> dict[str, int]:
        """The axes that grow when they are full, and the sizes that they start with."""
        return {}

    def _prepare(self, state: State) -> None:
        """Finish fresh arrays, in which the features are those that are known at the first example."""

    @classmethod
    def _upgrade(cls, form: str, arrays: dict[str, Array]) -> None:
        """Add what files of format 1 lack."""

    # --- parameters ---

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        with self._lock:
            object.__setattr__(self, name, value)
            self._edition, self._bound = object(), None  # the records hold the old value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        content: dict[str, Any] = super().__getstate__()
        own = {
            name: value
            for name, value in content.items()
            if name not in ("_lock", "_edition", "_checked", "_bound", "_shown", "_state")
        }
        state = self._in_peace(State.copy)
        return own if state is None else {**own, "_state": state}

    def __setstate__(self, content: dict[str, Any]) -> None:
        super().__setstate__(content)
        if self._state is not None and not self._state.writable:
            self._state = self._state.copy()  # unpickled from a memory map

    def __copy__(self) -> Self:
        return self.copy()  # two models on one state would each bind it for themselves

    def _ensure_parameters(self) -> None:
        """Check the parameters, unless these were checked before."""
        edition = self._edition
        if self._checked is not edition:
            self._check_parameters()
            self._checked = edition

    def _check_parameters(self) -> None:
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), caller_name=type(self).__name__
        )

    # --- state ---

    def __sklearn_is_fitted__(self) -> bool:
        return self._latest() is not None

    def _latest(self) -> State | None:
        """The state as readers see it."""
        shown = self._shown
        return self._state if shown is None else shown[0]

    def _readable(self) -> State:
        """The state as readers see it, where there is one."""
        state = self._latest()
        if state is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using this"
                " estimator."
            )
        return state

    def _writable(self) -> State:
        """The state as its writer sees it, where there is one."""
        assert self._state is not None
        return self._state

    def _set_state(self, state: State) -> None:
        """Go on with another state. What was bound of the old one is void first: a reader then binds what it finds. Whoever
        still reads the old one may go on; a step that is under way goes on in the new one."""
        old = self._state
        self._bound = None
        if old is not None and state.pulse is not old.pulse and old.pulse[0] % 2:
            state.pulse[0] += 1
        self._state = state

    def _go_back_to(self, state: State | None) -> None:
        """Be as one was with this state, which nobody else has; None: as if nothing had been learned."""
        with self._lock:
            if state is None:
                self._bound = self._state = None
            else:
                self._set_state(state)

    def _in_peace(self, read: Callable[[State], Any]) -> Any:
        """What `read` makes of the state as readers see it, while nobody writes to it; None if there is none."""
        shown = self._shown
        if shown is not None:
            return None if shown[0] is None else read(shown[0])
        with self._lock:
            state = self._latest()
            return None if state is None else read(state)

    def _attribute(self, name: str) -> State:
        """The state as readers see it, or the AttributeError that a fitted attribute gives on a fresh model."""
        state = self._latest()
        if state is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: it has not learned anything yet.")
        return state

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self._attribute("n_features_in_").n_features

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, if they have names."""
        state = self._attribute("feature_names_in_")
        if state.names is None:
            raise AttributeError("the features have no names")
        return np.array(state.names.first(state.n_features), dtype=object)

    @property
    def t_(self) -> int:
        """The number of examples that were learned from."""
        return self._attribute("t_").t

    def copy(self) -> Self:
        """An independent copy, state included."""
        other = type(self)(**self.get_params(deep=False))
        other._state = self._in_peace(State.copy)
        return other

    def _start(
        self, X: Any, weights: Array | None, door: Door, find_labels: Callable[[bool, bool], Any] = no_labels
    ) -> tuple[Start, Rows]:
        """What a fresh model knows that is given rows or dicts, and the rows that say so."""
        first = 0 if weights is None else int(np.argmax(weights > 0))
        if isinstance(X, Rows):
            return start_of(self.grow, door, X, X.names, first, find_labels), X
        rows, names = rows_by_name(X[first : first + 1], Names([]), 0, grow=True, missing=self._takes_missing)
        return start_of(self.grow, door, rows, names, 0, find_labels), rows

    def _new_state(self, form: str, start: Start) -> State:
        self._ensure_parameters()
        state = State(
            form,
            np.dtype(start.dtype),
            self._seed(),
            self._layout(form),
            self._sizes(),
            self._capacities(),
            grow_features=start.grow_features,
            grow_classes=start.grow_classes,
            n_features=start.n_features,
            known=start.n_features,
            classes=start.labels,
            names=None if start.names is None else Names(start.names),
            buckets=start.buckets,
        )
        state.allocate()
        self._prepare(state)
        state.allocate_averages()
        return state

    def _seed(self) -> int:
        if not hasattr(self, "random_state"):
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    # --- files ---

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        parameters = {name: pack_value(value) for name, value in self.get_params(deep=False).items()}
        header: dict[str, Any] = {"class": type(self).__name__, "parameters": parameters, "state": None}
        packed = self._in_peace(self._packed)
        return (header, {}) if packed is None else ({**header, "state": packed[0]}, packed[1])

    def _packed(self, state: State) -> tuple[dict[str, Any], dict[str, Array]]:
        self._check_unchanged(state)
        return pack_state(state), pack_arrays(state)

    def _check_unchanged(self, state: State) -> None:
        """Refuse parameters that were changed after they had shaped the state."""

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        estimator = cls(**{name: unpack_value(value) for name, value in header["parameters"].items()})
        packed = header["state"]
        if packed is None:
            return estimator
        estimator._ensure_parameters()
        if packed["form"] not in cls._known_forms:
            raise ModelFileError(f"The model file is damaged: a {cls.__name__} has no form {packed['form']!r}.")
        if header.get("format") == 1:
            cls._upgrade(packed["form"], arrays)
        layout = estimator._layout(packed["form"])
        estimator._state = unpack_state(packed, arrays, layout, estimator._sizes(), estimator._capacities())
        return estimator

    # --- features ---

    def _one_row(self, x: Any) -> Any:
        """One example as a table of one row."""
        return one_row(x)

    def _rows(self, X: Any, state: State) -> Rows:
        """Rows to predict. Features that a growing model does not know count for nothing, unless their weights are drawn already."""
        if are_named(X):
            return self._named_rows(X, state, grow=state.foresees)[0]
        rows = rows_of(X, self, fitted=True)
        if rows.hashed and state.buckets is not None:
            return self._hashed_rows(rows, state, state.buckets, grow=state.foresees)[0]
        if rows.width > state.n_features and state.grow_features and not state.foresees:
            return rows.narrowed(state.n_features)
        self._check_width(rows.width, state)
        return rows

    def _check_width(self, width: int, state: State, *, named: bool = False) -> None:
        """Refuse another number of features, unless they may grow; columns of an array can't join features that have names or are
        hashes."""
        joins = named or (state.names is None and state.buckets is None) or state.n_features in (0, width)
        if width != state.n_features and not (state.grow_features and joins):
            raise ValueError(
                f"X has {width} features, but {type(self).__name__} is expecting {state.n_features} features as input."
            )

    def _check_named_features(self, state: State) -> Names:
        if state.names is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted on {state.n_features} features without names; pass a 1-d array, not a dict."
            )
        return state.names

    def _named_rows(self, examples: list[Mapping[str, Any]], state: State, *, grow: bool) -> tuple[Rows, list[str]]:
        """Dicts of features as CSR rows, and the names that are new; without `grow` those count for nothing."""
        names = self._check_named_features(state)
        return rows_by_name(examples, names, state.n_features, grow=grow, missing=self._takes_missing)

    def _hashed_rows(self, rows: Rows, state: State, buckets: Buckets, *, grow: bool) -> tuple[Rows, Array]:
        """Hashed rows by the features that the model has met, and the columns that are new; without `grow` those count for nothing."""
        if rows.width != buckets.width:
            raise ValueError(
                f"X has {rows.width} columns of hashes, but {type(self).__name__} has learned from rows with {buckets.width}."
            )
        return buckets.numbered(rows, state.n_features, grow=grow)

    def _names_for(self, X: Any, state: State) -> Sequence[Any]:
        """What the columns of X are called: names, also of features that are new, or numbers."""
        if state.names is None:
            return range(max(state.n_features, X.shape[1]))
        newcomers = self._named_rows(X, state, grow=True)[1] if are_named(X) else []
        return [*state.names.first(state.n_features), *newcomers]

    # --- refusals ---

    def _check_rows(self, X: Any) -> None:
        """Refuse rows or dicts that nobody could learn from, without a state."""
        self._check_some(X, np.arange(X.n if isinstance(X, Rows) else len(X)))

    def _check_some(self, X: Any, places: Array) -> None:
        """Refuse such rows or dicts among those at some places."""
        if isinstance(X, Rows):
            bad = self._first_bad(X if len(places) == X.n else X.taken(places), X.dtype)
            if bad < len(places):
                self._refuse(X, int(places[bad]), X.dtype)
        else:
            for t in places.tolist():
                check_values(named_values(X[t], missing=self._takes_missing), missing=self._takes_missing)

    def _check_finite(self, rows: Rows, dtype: np.dtype[Any]) -> None:
        """Refuse rows that are not finite, or whose squared norm is not."""
        bad = self._first_bad(rows, dtype)
        if bad < rows.n:
            self._refuse(rows, bad, dtype)

    def _first_bad(self, rows: Rows, dtype: np.dtype[Any]) -> int:
        """The first row that is not finite, or whose squared norm is not, but for missing values where they are taken; as many as there
        are, if all are sound."""
        look = first_bad_row_with_holes if self._takes_missing else first_bad_row
        for start, stop in rows.blocks():
            bad = start + int(look(rows.block(start, stop, dtype, dtype.type(0)), stop - start))
            if bad < stop:
                return bad
        return rows.n

    def _refuse(self, rows: Rows, t: int, dtype: np.dtype[Any]) -> NoReturn:
        """Say what is wrong with row t."""
        values = np.asarray(rows.values(t), np.float64)
        if self._takes_missing:
            values = values[~np.isnan(values)]
        if np.isnan(values).any():
            raise ValueError(
                f"Input X contains NaN (row {t}). {type(self).__name__} does not accept missing values. {ABOUT_MISSING}"
            )
        with np.errstate(over="ignore"):
            values = values.astype(dtype)
            if np.isinf(values).any():
                raise ValueError(f"Input X contains infinity or a value too large for {dtype!r} (row {t}).")
            if not np.isfinite(values @ values):
                raise ValueError(
                    f"Row {t} of X is too large: its squared norm overflows {dtype}. Scale the features first, for example"
                    " with onepass.UnitNorm or onepass.StandardScaler."
                )
        raise DivergedError(
            f"The scores of {type(self).__name__} are no longer finite at row {t}, though the data is. {self._remedy()}"
        )

    def _remedy(self) -> str:
        """What may keep numbers finite."""
        return "Scale the features."


def are_named(X: Any) -> bool:
    return isinstance(X, list) and bool(X) and all(isinstance(x, Mapping) for x in X)
