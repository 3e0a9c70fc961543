"""Learners that find a parameter by themselves: candidates side by side, in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from onepass.base.learner import Learner
from onepass.base.state import Array, Field
from onepass.compiled.hedge import Hedged
from onepass.compiled.tasks import ManyClasses, TwoClasses


class SelfTuning(Learner):
    """A learner whose parameter C may be "auto": then its arrays have an axis in front, for the candidates."""

    _candidates: ClassVar[tuple[float, ...]]
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
        return {**side_by_side, "shares": Field("candidates", exact=True, start=1 / len(self._candidates))}

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), **({"candidates": len(self._candidates)} if self._hedges() else {})}

    def _hedged(self, record: Any, form: str, arrays: Mapping[str, Any]) -> Any:
        """The record as it is, or that of all candidates."""
        if not self._hedges():
            return record
        task = ManyClasses(2.0) if form == "multiclass" else TwoClasses(1.0)
        return Hedged(record, task, arrays["shares"])

    @property
    def C_(self) -> Array:
        """The values of C that are tried side by side; one, if C is a number."""
        return np.atleast_1d(self._aggressiveness())

    @property
    def C_shares_(self) -> Array:
        """The share that each value of C has in the scores. They sum up to 1."""
        state = self._attribute("C_shares_")
        return state.arrays["shares"].copy() if self._hedges() else np.ones(1)
