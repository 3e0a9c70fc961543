"""Learners that find a parameter by themselves: candidates side by side, in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from onepass.base.learner import Learner
from onepass.base.state import Array, Field
from onepass.compiled.hedge import Hedged, Margins


class SelfTuning(Learner):
    """A learner whose parameter C may be "auto": then its arrays have an axis in front, for the candidates."""

    _candidates: ClassVar[tuple[float, ...]]
    _relative: ClassVar[bool] = False  # whether candidates are divided by the mean |x|^2 so far
    C: Any

    def _hedges(self) -> bool:
        return isinstance(self.C, str)

    def _aggressiveness(self) -> Any:
        """C as a number, or one for each candidate."""
        return np.array(self._candidates) if self._hedges() else float(self.C)

    def _fields(self, form: str) -> dict[str, Field]:
        fields = super()._fields(form)
        if not self._hedges():
            return fields
        side_by_side = {name: replace(role, axes=f"candidates {role.axes}") for name, role in fields.items()}
        shares = Field("candidates", exact=True, start=1 / len(self._candidates))
        return {**side_by_side, "shares": shares, "size": Field("size", exact=True)}

    def _sizes(self) -> dict[str, int]:
        hedge = {"candidates": len(self._candidates), "size": 2 if self._relative else 0} if self._hedges() else {}
        return {**super()._sizes(), **hedge}

    def _stakes(self, task: Any) -> Any:
        """What predictions cost."""
        return Margins(task)

    def _hedged(self, record: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        """The record as it is, or that of all candidates."""
        return Hedged(record, self._stakes(task), arrays["shares"], arrays["size"]) if self._hedges() else record

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {} if self._hedges() else super()._grid

    @property
    def C_(self) -> Array:
        """The values of C that learn side by side; one, if C is a number."""
        arrays = self._attribute("C_").arrays
        if "shares" not in arrays:
            return np.array([float(self.C)])
        total, count = arrays["size"] if self._relative else (0.0, 0.0)
        return np.array(self._candidates) * (count / total if total > 0 else 1.0)

    @property
    def C_shares_(self) -> Array:
        """The share that each value of C has in the scores; they sum to 1."""
        arrays = self._attribute("C_shares_").arrays
        return arrays["shares"].copy() if "shares" in arrays else np.ones(1)
