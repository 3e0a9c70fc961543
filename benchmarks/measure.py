"""Times of whole calls, side by side, and where they were taken."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path


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


def machine() -> str:
    names = ("numpy", "numba", "scikit-learn", "river", "vowpalwabbit")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else None
    return f"{cpu[1] if cpu else platform.processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; {versions}."
