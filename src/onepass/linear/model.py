"""What all linear models have: weights that can be read."""

from __future__ import annotations

from onepass.base import Learner
from onepass.base.state import Array


class LinearModel(Learner):
    """Weights `w` (one score) or `W` (a score a class), slot 0 for the intercept."""

    def _weights_now(self) -> Array:
        state = self._attribute("coef_")
        name = "W" if state.form == "multiclass" else "w"
        return self._averaged(state, name)[..., : state.n_features + 1]

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
