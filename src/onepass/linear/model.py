"""What all linear models have: weights, which can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onepass.base import Field, State
from onepass.base.explaining import Explained
from onepass.base.state import Array


class LinearModel(Explained):
    """Weights `w` (one score) or `W` (a score a class), slot 0 for the intercept."""

    # --- what a subclass says ---

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        """The record of the rule, of the weights, the task and the other arrays."""
        raise NotImplementedError

    def _fields_beside(self, form: str) -> dict[str, Field]:
        """The arrays of the state beside the weights."""
        return {}

    # --- what the base asks ---

    def _fields(self, form: str) -> dict[str, Field]:
        axes = "classes features" if form == "multiclass" else "features"
        return {_name(form): Field(axes, additive=True), **self._fields_beside(form)}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return self._linear_record(arrays[_name(state.form)], self._task(state), arrays)

    def _through_origin(self) -> bool:
        return not self.fit_intercept

    # --- what users read ---

    def _weights_of(self, state: State, places: Any) -> Array:
        """The weights that predict, at some places; the intercept is at 0."""
        return self._averaged(state, _name(state.form), places)

    def _weights_now(self) -> Array:
        state = self._attribute("coef_")
        weights = self._weights_of(state, slice(state.n_features + 1))
        if "targets" in state.arrays:
            mean, deviation = state.units
            weights = state.dtype.type(deviation) * weights
            weights[0] += state.dtype.type(mean)
        return weights

    def _linear_at(self, x: Array, places: Array, state: State) -> Array:
        return self._weights_of(state, places).reshape(-1, len(places))

    def _watched(self, state: State) -> dict[str, Array]:
        return {"w": self._weights_of(state, slice(state.n_features + 1)).copy()}

    def _along(self, X: Any, state: State) -> Array:
        return self._rows(X, state).augmented(state.dtype.type(self.fit_intercept))

    @property
    def coef_(self) -> Array:
        """The weights that predict: (1, d) for two classes, (K, d) for more classes or labels, (d,) for regression."""
        weights = self._weights_now()[..., 1:]
        weights = weights.copy()
        return weights[None] if self._attribute("coef_").form == "binary" else weights

    @property
    def intercept_(self) -> Array:
        """The intercepts that predict: (1,), or (K,) where there are K rows of weights."""
        weights = self._weights_now()[..., 0]
        return weights.reshape(-1).copy()


def _name(form: str) -> str:
    """The name of the weights in the state."""
    return "W" if form == "multiclass" else "w"
