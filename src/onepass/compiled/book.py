"""The book that a support set keeps of itself: counters, in an array of the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import routine

# How many slots are taken, how many examples came, how many numbers were drawn, how many vectors gave way
# to others by projection, what was missing when a step found no place (slots, and entries in a slot), and the kind of kernel that
# the norms are for.
SIZE, CAME, DRAWS, EXCHANGES, MORE_SLOTS, MORE_ENTRIES, KIND = 0, 1, 2, 3, 4, 5, 6
BOOK = 7


@routine
def draw(support: Any) -> Any:
    """A number from U[0, 1): the next of the sequence that the seed names (SplitMix64; Steele, Lea and Flood 2014)."""
    support.book[DRAWS] += 1
    z = np.uint64(support.seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(support.book[DRAWS]) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * 2.0**-53
