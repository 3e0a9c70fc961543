"""Times of whole calls, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One line of the table: what was measured, how it came out, and the least that was promised."""

    what: str
    measured: str
    ratio: float | None
    at_least: float | None
    against: str

    @property
    def met(self) -> bool:
        return self.ratio is None or self.at_least is None or self.ratio >= self.at_least


def best(*calls: Callable[[], object], repeats: int = 5) -> list[float]:
    """The shortest time of each call in seconds. They take turns, so that a noisy moment hits all of them."""
    shortest = [float("inf")] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            shortest[i] = min(shortest[i], time.perf_counter() - start)
    return shortest
