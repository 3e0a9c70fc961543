"""Transformers of scikit-learn and river as stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from onepass.base import Field, Stage, State
from onepass.base.estimator import are_named
from onepass.base.inputs import Rows, as_csr, rows_by_name, rows_of
from onepass.base.knowledge import Door, Start
from onepass.base.parameters import parameter, parametric
from onepass.base.stage import FLOAT64
from onepass.base.state import Array
from onepass.compiled.loop import T


@parametric
class Foreign(Stage):
    """A transformer of scikit-learn or of river before a learner. `pipeline` makes one of it.

    One of scikit-learn that is fitted already, or needs no `fit`, stays as it is. One that is not fitted learns from each row by
    `partial_fit`, after the row has passed it; only the first row is learned from before. One of river (`transform_one`, `learn_one`)
    learns from each row after it has passed. Rows pass one by one, so that the result does not depend on how they are cut into
    calls: to scikit-learn one row takes some 100 to 200 us.

    A transformer learns in a copy: the one that was given stays as it is, and an error leaves no trace. Each call makes one, so that
    calls with many rows are quicker. Rows that scikit-learn's get are tables of one row, and dicts are those features of them that were
    there when it was fitted, or in the first; river's get dicts, in which columns without names are x0, x1 and so on. Model files
    hold no code, and no such stage: use pickle.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from onepass import PAClassifier, pipeline
    >>> model = pipeline(MinMaxScaler(), PAClassifier())
    >>> for x, y in [([1.0, 5.0], "a"), ([3.0, 1.0], "b"), ([1.0, 4.0], "a"), ([3.0, 2.0], "b")]:
    ...     model.learn_one(x, y)
    >>> model.predict([[1.0, 5.0], [3.0, 2.0]]).tolist()
    ['a', 'b']
    """

    transformer: Any = parameter(kind="transformer", text="The transformer of another library.")

    _takes_raw = True
    _takes_missing = True
    _forms: ClassVar[dict[str, dict[str, Field]]] = {"stage": {}}

    def __sklearn_clone__(self) -> Self:
        return type(self)(deepcopy(self.transformer))  # what is fitted already stays fitted

    def _check_parameters(self) -> None:
        given = self.transformer
        name = type(given).__name__
        if self._by_name and getattr(given, "_supervised", False):
            raise TypeError(f"{name} learns from labels, which it would not see here: put it into a pipeline of river.")
        if not self._by_name and not _is_fitted(given) and not hasattr(given, "partial_fit"):
            raise NotFittedError(
                f"This {name} is not fitted, and has no partial_fit to learn along the stream: call its fit first."
            )

    @property
    def _by_name(self) -> bool:
        """Whether the transformer is river's, from dict to dict."""
        return hasattr(self.transformer, "transform_one")

    @property
    def _fixes_width(self) -> bool:  # type: ignore[override]
        return not self._by_name

    @property
    def _brings_features(self) -> bool:  # type: ignore[override]
        return self._by_name

    @property
    def n_features_in_(self) -> int:
        """The number of features, where the transformer counts them."""
        return int(self._attribute("n_features_in_").held.n_features_in_)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, where the transformer knows them."""
        return np.asarray(self._attribute("feature_names_in_").held.feature_names_in_)

    def transform_one(self, x: Any) -> Any:
        """One example after the stage: a dict of river's, else a row."""
        one = next(_singles([x] if isinstance(x, Mapping | str) else np.asarray(x)[None], by_name=self._by_name))
        state = self._readable()
        return _as_dict(state.held, one) if self._by_name else state.held.transform(self._row(state, one))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features after the stage."""
        state = self._readable()
        return super().get_feature_names_out() if self._by_name else state.held.get_feature_names_out(input_features)

    def _latest(self) -> State | None:
        if self._state is None and self._shown is None:
            self._state = self._fresh()  # it may be fitted, and the learner behind it too
        return super()._latest()

    def _fresh(self) -> State:
        state = self._new_state("stage", Start(FLOAT64, 0, [] if self._by_name else None, None, self._by_name, False))
        state.held = deepcopy(self.transformer)
        return state

    def _width(self, state: State) -> int:
        return state.n_features

    def _check_rows(self, X: Any) -> None:
        """Only the transformer knows what it takes."""

    def _seen_by(self, state: State, X: Any, *, foreseen: bool = True) -> Rows:
        return self._passed(state, X, None)[0]

    def _learn_transform(self, X: Any, weights: Array | None, door: Door, targets: Any = None) -> Rows:
        if self._state is None:
            self._state = self._fresh()
        state = self._state
        learns = self._by_name or not _is_fitted(self.transformer)
        # Readers may hold the one that was there: it stays as it is, and another takes its place.
        state = state._but(held=deepcopy(state.held)) if learns else state
        rows, newcomers = self._passed(state, X, weights, learns=learns)
        if rows.width > state.n_features:
            state = state.widened(rows.width, newcomers)
        state.arrays["count"][T] += rows.n if weights is None else np.count_nonzero(weights)
        self._set_state(state)
        return rows

    def _passed(self, state: State, X: Any, weights: Array | None, *, learns: bool = False) -> tuple[Rows, list[str]]:
        """Rows that went through the transformer of a state, one by one, and the names that are new."""
        held, passed = state.held, list[Any]()
        for t, one in enumerate(_singles(X, by_name=self._by_name)):
            taught = learns and (weights is None or bool(weights[t] > 0))
            if self._by_name:
                passed.append(_as_dict(held, one))
                if taught:
                    held.learn_one(one)
                continue
            row = self._row(state, one)
            early = taught and not _is_fitted(held)
            if early:
                held.partial_fit(row)
            passed.append(held.transform(row))
            if taught and not early:
                held.partial_fit(row)
        if self._by_name:
            assert state.names is not None
            return rows_by_name(passed, state.names, state.n_features, grow=True)
        stacked = sp.vstack(passed, format="csr") if sp.issparse(passed[0]) else np.vstack([np.asarray(one) for one in passed])
        return rows_of(stacked, self, fitted=False), []

    def _row(self, state: State, one: Any) -> Any:
        """One row as scikit-learn takes it."""
        if not are_named(one) or get_tags(state.held).input_tags.dict:
            return one
        known = getattr(state.held, "feature_names_in_", None)
        (x,) = one
        names = list(x) if known is None else known.tolist()
        if absent := [name for name in names if name not in x]:
            raise ValueError(f"The example has no feature {absent[0]!r}, which {type(state.held).__name__} was fitted with.")
        import pandas as pd  # what has names in scikit-learn is a frame

        return pd.DataFrame([[x[name] for name in names]], columns=names)

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        name = type(self.transformer).__name__
        raise ValueError(f"The model holds a {name} of another library, and model files hold no code: use pickle to save it.")


def is_foreign(step: Any) -> bool:
    """Whether a step is a transformer of another library."""
    return not isinstance(step, Stage | type) and (hasattr(step, "transform") or hasattr(step, "transform_one"))


def _is_fitted(transformer: Any) -> bool:
    """Whether a transformer of scikit-learn can be used."""
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return False
    return True


def _as_dict(transformer: Any, x: Any) -> dict[str, Any]:
    """What a transformer of river makes of an example; features have names of text."""
    return {name if isinstance(name, str) else str(name): value for name, value in transformer.transform_one(x).items()}


def _singles(X: Any, *, by_name: bool) -> Iterator[Any]:
    """The examples of a table: dicts (or texts) if they are to go `by_name`, else tables of one row."""
    X = nw.to_native(X, pass_through=True)
    if isinstance(X, list) and X and isinstance(X[0], Mapping | str):
        yield from X if by_name else ([x] for x in X)
    elif nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        yield from frame.iter_rows(named=True) if by_name else (frame[t : t + 1].to_native() for t in range(len(frame)))
    else:
        data, names = (X.data, X.names) if isinstance(X, Rows) else (X, None)
        rows: Any = as_csr(data) if sp.issparse(data) else np.asarray(data)
        for row in (rows[t : t + 1] for t in range(rows.shape[0])):
            if by_name:
                places, values = (row.indices.tolist(), row.data) if sp.issparse(row) else (range(row.shape[1]), row[0])
                yield {names[j] if names else f"x{j}": value for j, value in zip(places, values.tolist(), strict=True)}
            else:
                yield row
