"""How the passes of `fit` go over the data: in its order, shuffled, or with one step a pass."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from onepass.base import Field
from onepass.base.estimator import are_named
from onepass.base.inputs import rows_of
from onepass.base.parameters import among, parameter
from onepass.linear.model import LinearModel


class Passes(LinearModel):
    """Weights that move after each example ("online", "incremental"), or once a pass ("batch"), by `pending`."""

    _offers: ClassVar[dict[str, Any]] = {
        "mode": parameter(
            "online",
            among("online", "incremental", "batch"),
            text="How `fit` goes over the data, at most `max_iter` times: in its order; in a new random order for each pass; or with"
            " all steps of a pass taken together at its end, so that only `fit` can teach the model.",
        ),
        "random_state": parameter(None, "random_state", text='The seed of the orders of "incremental".'),
    }
    mode: str
    random_state: Any

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.mode == "batch" and self._averages():
            raise ValueError("mode='batch' moves the weights once a pass: there is nothing to average. Leave `average` out.")

    def _pending(self, form: str) -> dict[str, Field]:
        """The array for the sum of a pass's steps, where it is needed."""
        if self.mode != "batch":
            return {}
        return {"pending": Field("classes features" if form == "multiclass" else "features")}

    def _needs_whole_data(self) -> bool:
        return self.mode == "batch"

    def _begin_pass(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        if self.mode != "incremental":
            return X, y, sample_weight
        rows = X if are_named(X) else rows_of(X, self, fitted=self._state is not None)
        n = len(rows) if isinstance(rows, list) else rows.n
        target = self._targets(y, n)
        passes = 0 if self._state is None else self._state.n_iter
        order = np.random.default_rng([self._seed() if self._state is None else self._state.seed, passes]).permutation(n)
        shuffled = [rows[i] for i in order] if isinstance(rows, list) else rows.taken(order)
        return shuffled, target[order], None if sample_weight is None else np.asarray(sample_weight)[order]

    def _end_pass(self) -> None:
        state = self._writable()
        if "pending" not in state.arrays:
            return
        (name,) = state.additive()
        pending = state.arrays["pending"]
        if pending.any():
            state.arrays[name] *= self._kept()
            state.arrays[name] += pending
            pending[...] = 0

    def _kept(self) -> float:
        """The share of the weights that a step of a whole pass keeps."""
        return 1.0
