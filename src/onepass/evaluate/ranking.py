"""The area under the ROC curve: the share of pairs of a positive and a negative example in which the positive one has the higher score.

Scores go into bins by the bits of float32, whose order is that of the numbers: those that agree in sign, exponent and the first nine
binary digits after the leading one, which is to within 0.1 to 0.2 %, count as equal, and an equal pair counts half. So the figure is
off by at most half the share of pairs that share a bin; where both classes are spread evenly in a bin it is not off at all.

Each example is compared with all before it as it comes, by trees of counts (P. M. Fenwick: A new data structure for cumulative
frequency tables. Software: Practice and Experience 24 (1994), 327-336). Pairs are whole numbers, which add up exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine
from onepass.evaluate.metrics import Array, share

BITS = 18  # of the 32 of a score: the sign, 8 of the exponent, 9 digits
NO_SCORE, THIRD_LABEL = -1, -2
PAIRS, POSITIVE, NEGATIVE, OTHER = 0, 1, 2, 3


def ranks(scores: Array, true: Array) -> Array:
    """The bin of each score and the side of its example, as 2 bin + side. `true` is 1 for a positive example, 0 for a negative one,
    and -1 for one of a third label."""
    with np.errstate(over="ignore"):
        bits = (np.asarray(scores, float) + 0.0).astype(np.float32).view(np.int32)  # + 0.0: -0 is 0
    bins = ((bits ^ ((bits >> 31) & 0x7FFFFFFF)) >> (32 - BITS)) + (1 << (BITS - 1))
    return np.where(np.asarray(true) < 0, THIRD_LABEL, np.where(np.isnan(scores), NO_SCORE, 2 * bins + true))


class Ranking:
    """Sums of pairs along a stream, or along each of its windows."""

    def __init__(self, windows: bool) -> None:
        self._windows = windows
        self._trees = np.zeros((2, (1 << BITS) + 1), np.int64)  # of negative and positive examples
        self._totals = np.zeros(2, np.int64)

    def clear(self) -> None:
        """Begin anew."""
        self._trees[:], self._totals[:] = 0, 0

    def sums(self, ranks: Array, starts: Array) -> Array:
        """Twice the number of pairs in order, the positive and the negative examples and those of other labels, in each segment, each
        example compared with those before it: (segments, 4)."""
        sums = np.zeros((len(starts), 4), np.int64)
        _compare(self._trees, self._totals, self._windows, ranks, np.append(starts, len(ranks)), sums)
        return sums


@entry_point
def _compare(trees: Any, totals: Any, windows: Any, ranks: Any, bounds: Any, sums: Any) -> None:
    for segment in range(len(bounds) - 1):
        if windows and segment == 1:  # the first window may have begun long before
            trees[:] = 0
        elif windows and segment > 1:
            for t in range(bounds[segment - 1], bounds[segment]):
                if ranks[t] >= 0:
                    count(trees[ranks[t] % 2], ranks[t] // 2, -1)
        if windows and segment > 0:
            totals[:] = 0
        for t in range(bounds[segment], bounds[segment + 1]):
            if ranks[t] < 0:
                sums[segment, OTHER] += ranks[t] == THIRD_LABEL
                continue
            place, side = ranks[t] // 2, ranks[t] % 2
            below, through = counted(trees[1 - side], place), counted(trees[1 - side], place + 1)
            sums[segment, PAIRS] += below + through if side == 1 else 2 * totals[1] - below - through
            sums[segment, POSITIVE if side == 1 else NEGATIVE] += 1
            count(trees[side], place, 1)
            totals[side] += 1


@routine
def count(tree: Any, place: Any, n: Any) -> None:
    i = place + 1
    while i < len(tree):
        tree[i] += n
        i += i & -i


@routine
def counted(tree: Any, places: Any) -> Any:
    """How many are in the first so many places."""
    total, i = 0, places
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


def auc(sums: Array) -> Array:
    """The area under the ROC curve; NaN while there is one label only, or if there are more than two."""
    pairs = 2.0 * sums[..., POSITIVE] * sums[..., NEGATIVE]
    return np.where(sums[..., OTHER] > 0, np.nan, share(sums[..., PAIRS], pairs))


RANK_METRICS: dict[str, Callable[[Array], Array]] = {"auc": auc}
