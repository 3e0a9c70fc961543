"""Features by hashed names, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Field, Stage, State
from onepass.base.estimator import are_named
from onepass.base.inputs import Rows, from_csr
from onepass.base.knowledge import Door, Start
from onepass.base.stage import FLOAT64
from onepass.base.state import Array


class Hasher(Stage):
    """Dicts of features, or data frames, as sparse rows of a fixed width: a feature's column is the hash of its name.

    Column MurmurHash3(name) mod n_features, with a sign from the same hash, so that collisions cancel on average; a text value
    becomes the feature "name=text" of value 1. Equal to scikit-learn's `FeatureHasher`. Memory is bounded whatever names appear.

    Parameters
    ----------
    n_features : int, default=2**20
        The width of the rows.

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg: Feature hashing for large scale multitask learning. ICML 2009.

    Examples
    --------
    >>> from onepass import Hasher
    >>> Hasher(n_features=16).transform([{"colour": "red", "size": 2.0}]).shape
    (1, 16)
    """

    _takes_names_only = True
    _fixes_width = True
    _forms: ClassVar[dict[str, dict[str, Field]]] = {"stage": {}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"n_features": [Interval(Integral, 1, 2**31 - 1, closed="both")]}

    def __init__(self, n_features: int = 2**20) -> None:
        self.n_features = n_features

    def __sklearn_is_fitted__(self) -> bool:
        return True  # there is nothing to learn

    def _latest(self) -> State:
        if self._state is None:
            self._state = self._new_state("stage", Start(FLOAT64, self.n_features, None, None, False, False))
        return self._state

    def transform_one(self, x: Any) -> Any:
        """One dict as a sparse row."""
        return self.transform([x])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the columns: their numbers."""
        return np.array([f"hash{j}" for j in range(self.n_features)], dtype=object)

    def _enter(self, X: Any, weights: Array | None, door: Door) -> Rows:
        return self._rows(X, self._latest())

    def _foreseen(self, X: Any, state: State) -> Rows:
        return self._rows(X, state)

    def _rows(self, X: Any, state: State) -> Rows:
        if isinstance(X, Mapping):
            raise TypeError(
                "Hasher takes a list of dicts; put a single example into a list, or use learn_one and transform_one."
            )
        if nw.dependencies.is_into_dataframe(X):
            X = nw.from_native(X, eager_only=True).rows(named=True)
        if not are_named(X):
            raise TypeError("Hasher takes dicts of features or a data frame: only names can be hashed.")
        from sklearn.feature_extraction import FeatureHasher  # takes as long to import as the rest of the stages together

        hashed = FeatureHasher(self.n_features).transform(X)
        hashed.sort_indices()
        return from_csr(hashed)

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        return rows
