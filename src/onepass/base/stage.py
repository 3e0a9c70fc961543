"""Stages: what comes before a learner in a pipeline. They see each row once, too, and change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin

from onepass.base.estimator import Estimator, are_named
from onepass.base.inputs import Rows, names_of, one_row, rows_of
from onepass.base.state import Array, State
from onepass.compiled.checks import first_bad_row

FLOAT64 = np.dtype(np.float64)


class Stage(TransformerMixin, Estimator):
    """Base of all stages.

    `transform` changes nothing in the stage. `learn_transform` handles each row with what was known before it, then learns from it:
    what a learner behind the stage gets in a stream. `fit` and `partial_fit` only learn.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"grow": ["boolean", None]}

    grow: bool | None

    # --- what a subclass says ---

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        """The rows after the stage; a row t with taught[t] is learned from after it was transformed."""
        raise NotImplementedError

    # --- the doors ---

    def fit(self, X: Any, y: Any = None) -> Self:
        """Start anew, and learn from the rows."""
        before, self._state = self._state, None
        try:
            return self.partial_fit(X, y)
        except BaseException:
            self._state = before
            raise

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows in their order, going on from where the stage is."""
        self.learn_transform(X)
        return self

    def transform(self, X: Any) -> Any:
        """The rows after the stage, which stays as it is."""
        state = self._fitted()
        rows = self._rows(X, state)
        self._check_finite(rows)
        return self._transformed(state, rows, np.zeros(rows.n, bool)).data

    def learn_transform(self, X: Any) -> Any:
        """Transform each row with what was known before it, then learn from it."""
        with self.undone_on_error():
            return self._learn_transform(X).data

    def learn_one(self, x: Any) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row."""
        with self.undone_on_error():
            self._learn_transform(one_row(x), one=True)

    def transform_one(self, x: Any) -> Any:
        """One example after the stage, as it came: a dict for a dict, else a 1-d array. Unknown features are left out."""
        state = self._fitted()
        rows = self._rows(one_row(x), state)
        self._check_finite(rows)
        data = self._transformed(state, rows, np.zeros(rows.n, bool)).data
        if not isinstance(x, Mapping):
            return data[0] if isinstance(data, np.ndarray) else data.toarray()[0]
        names = list(self._columns(state))
        return {names[j]: value for j, value in zip(data.indices.tolist(), data.data.tolist(), strict=True)}

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features after the stage: those before it."""
        state = self._fitted()
        names = state.columns or [f"x{j}" for j in range(state.n_features)]
        return np.array(list(names) if input_features is None else input_features, dtype=object)

    # --- for pipelines ---

    def _learn_transform(self, X: Any, weights: Array | None = None, *, one: bool = False) -> Rows:
        rows = self._enter(X, one=one)
        self._check_finite(rows)
        return self._transformed(self._fitted(), rows, np.ones(rows.n, bool) if weights is None else weights > 0)

    def _enter(self, X: Any, *, one: bool = False) -> Rows:
        """Rows to learn from, in a state that has room for their features."""
        named, fresh = are_named(X), self._state is None
        rows = None if named else rows_of(X, self, fitted=not fresh)
        if fresh:
            grow = self.grow if self.grow is not None else named or one
            width = 0 if rows is None or grow else rows.width
            self._state = self._new_state("stage", FLOAT64, width, [] if rows is None else names_of(rows), grow_features=grow)
        state = self._fitted()
        if rows is None:
            rows, newcomers = self._named_rows(X, state, grow=state.grow_features)
            self._columns(state).update(newcomers)
        self._check_width(rows.width, state)
        if rows.width > state.n_features:
            state.widen(rows.width)
        return rows

    def _check_finite(self, rows: Rows) -> None:
        bad = first_bad_row(rows.block(0, rows.n, rows.dtype, rows.dtype.type(0)), rows.n)
        if bad < rows.n:
            self._refuse(rows, bad)
