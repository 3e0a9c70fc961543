"""The step of passive-aggressive learning, which linear, kernel and structured learners share."""

from __future__ import annotations

from typing import Any

from onepass.compiled.compiler import routine

HARD, ONE, TWO = 0, 1, 2
VARIANTS = {"hard": HARD, "I": ONE, "II": TWO}


@routine
def tau(variant: Any, C: Any, loss: Any, norm2: Any) -> Any:
    """The step of PA, PA-I and PA-II (figure 1 of the paper). A zero row has nowhere to go."""
    if norm2 == 0:
        return 0.0
    if variant == HARD:
        return loss / norm2
    if variant == ONE:
        return min(C, loss / norm2)
    return loss / (norm2 + 0.5 / C)
