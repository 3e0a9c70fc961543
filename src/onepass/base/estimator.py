"""What learners and stages have in common: parameters, a state, features by position or by name, and files."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import validate_parameter_constraints

from onepass.base.errors import DivergedError, ModelFileError
from onepass.base.inputs import Rows, check_name, named_values, rows_of
from onepass.base.saving import pack_state, pack_value, unpack_state, unpack_value, write
from onepass.base.state import Array, Field, State
from onepass.compiled.checks import first_bad_row


class Estimator(BaseEstimator):
    """Base of learners and stages. The state is all that changes while learning."""

    _forms: ClassVar[dict[str, dict[str, Field]]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _state: State | None = None
    _bound: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        """A class has the constraints of its bases, and says its own only."""
        super().__init_subclass__(**options)
        bases = [vars(base).get("_parameter_constraints", {}) for base in reversed(cls.__mro__)]
        cls._parameter_constraints = {name: rule for constraints in bases for name, rule in constraints.items()}

    # --- what a subclass says ---

    def _fields(self, form: str) -> dict[str, Field]:
        """The arrays of the state in this form; what they are may depend on the parameters."""
        return self._forms[form]

    def _sizes(self) -> dict[str, int]:
        """The sizes of the axes that are neither features nor classes."""
        return {}

    def _rooms(self) -> dict[str, int]:
        """The axes that grow when they are full, and the sizes that they start with."""
        return {}

    def _prepare(self, state: State) -> None:
        """Finish fresh arrays of a model whose features are all known."""

    # --- parameters ---

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if not name.startswith("_"):
            object.__setattr__(self, "_bound", None)  # the records hold the old value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        content: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in content.items() if name != "_bound"}

    def __setstate__(self, content: dict[str, Any]) -> None:
        super().__setstate__(content)
        if self._state is not None and not all(array.flags.writeable for array in self._state.arrays.values()):
            self._state = self._state.copy()  # unpickled from a memory map

    def _check_parameters(self) -> None:
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), caller_name=type(self).__name__
        )

    # --- state ---

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    def _fitted(self) -> State:
        if self._state is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using this"
                " estimator."
            )
        return self._state

    def _attribute(self, name: str) -> State:
        """The state, or the AttributeError that a fitted attribute gives on a fresh model."""
        if self._state is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: it has not learned anything yet.")
        return self._state

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self._attribute("n_features_in_").n_features

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where they have names."""
        columns = self._attribute("feature_names_in_").columns
        if columns is None:
            raise AttributeError("the features have no names")
        return np.array(list(columns), dtype=object)

    @property
    def t_(self) -> int:
        """How many examples have been learned from."""
        return self._attribute("t_").t

    def copy(self) -> Self:
        """An independent copy, state included."""
        other = type(self)(**self.get_params(deep=False))
        other._state = None if self._state is None else self._state.copy()
        return other

    def _new_state(self, form: str, dtype: Any, n_features: int, names: list[str] | None, **about: Any) -> State:
        self._check_parameters()
        seed = self._seed()
        state = State(
            form, np.dtype(dtype), seed, self._fields(form), self._sizes(), self._rooms(), n_features=n_features, **about
        )
        state.columns = None if names is None else {name: j for j, name in enumerate(names)}
        state.allocate()
        if not state.grow_features:
            self._prepare(state)
        return state

    def _seed(self) -> int:
        if not hasattr(self, "random_state"):
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @contextlib.contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        """Put the state back as it was if the block raises."""
        saved = None if self._state is None else self._state.copy()
        try:
            yield
        except BaseException:
            self._state, self._bound = saved, None
            raise

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `onepass.load` reads; going on from there gives the same bits as never having stopped."""
        write(path, *self._pack())

    def _companions(self) -> set[str]:
        """The arrays that the parameters call for, beside those of the fields."""
        return set()

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        parameters = {name: pack_value(value) for name, value in self.get_params(deep=False).items()}
        header: dict[str, Any] = {"class": type(self).__name__, "parameters": parameters, "state": None}
        if self._state is None:
            return header, {}
        return {**header, "state": pack_state(self._state)}, self._state.arrays

    @classmethod
    def _unpack(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Self:
        estimator = cls(**{name: unpack_value(value) for name, value in header["parameters"].items()})
        if header["state"] is not None:
            estimator._check_parameters()
            estimator._state = unpack_state(
                header["state"], arrays, estimator._fields(header["state"]["form"]), estimator._sizes(), estimator._rooms()
            )
            if missing := estimator._companions() - set(arrays):
                raise ModelFileError(f"The model file is damaged: {', '.join(sorted(missing))} is missing.")
        return estimator

    def _columns(self, state: State) -> dict[str, int]:
        if state.columns is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted on {state.n_features} features without names; pass a 1-d array, not a dict."
            )
        return state.columns

    # --- features ---

    def _rows(self, X: Any, state: State) -> Rows:
        """Rows to predict. Features that a growing model does not know count for nothing, unless their weights are drawn already."""
        if are_named(X):
            return self._named_rows(X, state, grow=state.foresees)[0]
        rows = rows_of(X, self, fitted=True)
        if rows.width > state.n_features and state.grow_features and not state.foresees:
            return rows.narrowed(state.n_features)
        self._check_width(rows.width, state)
        return rows

    def _check_width(self, width: int, state: State, *, named: bool = False) -> None:
        """Refuse another number of features, unless they may grow; columns of an array can't join features that have names."""
        joins = named or not state.columns or width == len(state.columns)
        if width != state.n_features and not (state.grow_features and joins):
            raise ValueError(
                f"X has {width} features, but {type(self).__name__} is expecting {state.n_features} features as input."
            )

    def _named_rows(self, examples: list[Mapping[str, Any]], state: State, *, grow: bool) -> tuple[Rows, dict[str, int]]:
        """Dicts of features as CSR rows, and the places of features that are new; without `grow` those count for nothing."""
        columns = self._columns(state)
        newcomers: dict[str, int] = {}
        indptr, indices, values = [0], list[int](), list[float]()
        for x in examples:
            named = named_values(x)
            self._check_named(named)
            pairs = []
            for name, value in named.items():
                j = columns.get(name, newcomers.get(name))
                if j is None and grow:
                    check_name(name)
                    j = newcomers[name] = len(columns) + len(newcomers)
                if j is not None:
                    pairs.append((j, value))
            pairs.sort()
            indices.extend(j for j, _ in pairs)
            values.extend(value for _, value in pairs)
            indptr.append(len(indices))
        csr = (np.array(indptr, np.int32), np.array(indices, np.int32), len(columns) + len(newcomers))
        return Rows(np.array(values, float), csr), newcomers

    # --- refusals ---

    def _check_finite(self, rows: Rows, dtype: np.dtype[Any]) -> None:
        for start, stop in rows.blocks():
            bad = first_bad_row(rows.block(start, stop, dtype, dtype.type(0)), stop - start)
            if bad < stop - start:
                self._refuse(rows, start + bad)

    def _refuse(self, rows: Rows, t: int) -> NoReturn:
        values = np.asarray(rows.values(t), np.float64)
        if np.isnan(values).any():
            raise ValueError(f"Input X contains NaN (row {t}). {type(self).__name__} does not accept missing values.")
        state = self._fitted()
        with np.errstate(over="ignore"):
            values = values.astype(state.dtype)
            if np.isinf(values).any():
                raise ValueError(f"Input X contains infinity or a value too large for {state.dtype!r} (row {t}).")
            if not np.isfinite(values @ values):
                raise ValueError(
                    f"Row {t} of X is too large: its squared norm overflows {state.dtype}. Scale the features first, for example"
                    " with onepass.UnitNorm or onepass.StandardScaler."
                )
        raise DivergedError(
            f"The scores of {type(self).__name__} are no longer finite at row {t}, though the data is. Scale the features, or use a"
            " smaller C."
        )

    def _refuse_one(self, x: Any) -> NoReturn:
        if isinstance(x, Mapping):
            named = named_values(x)
            self._check_named(named)
            x = np.array(list(named.values()))
        self._refuse(Rows(x.toarray() if sp.issparse(x) else np.asarray(x).reshape(1, -1)), 0)

    def _check_named(self, named: dict[str, float]) -> None:
        for name, value in named.items():
            if not math.isfinite(value):
                raise ValueError(f"Feature {name!r} is {value}: Input X contains {'NaN' if math.isnan(value) else 'infinity'}.")
            if not math.isfinite(value * value):
                raise ValueError(
                    f"Feature {name!r} is {value}, which is too large: its square overflows. Scale the features first."
                )


def are_named(X: Any) -> bool:
    return isinstance(X, list) and bool(X) and all(isinstance(x, Mapping) for x in X)
