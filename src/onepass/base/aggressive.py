"""What passive-aggressive learners have in common, linear ones and those with kernels: how far a step may go."""

from __future__ import annotations

from typing import Any

from onepass.base.learner import POWERS_OF_TWO, Learner
from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.compiled.passive_aggressive import VARIANTS


@parametric
class PassiveAggressive(Learner):
    """The parameters of a passive-aggressive step."""

    C: float = parameter(
        1.0,
        POSITIVE,
        cautious="smaller",
        text='Aggressiveness: how far one example may move the model. Without effect for "hard".',
    )
    variant: str = parameter(
        "I",
        among(*VARIANTS),
        text='How C limits the step: not at all ("hard"), as an upper bound ("I"), or by making every step smaller ("II").',
    )

    def _weights_are_switches(self) -> bool:
        return self.variant == "hard"

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {} if self.variant == "hard" else {"C": POWERS_OF_TWO}
