"""Evaluation of lists of candidates: what was chosen of each, before it was learned from, and what the best choice would have been."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from onepass.evaluate.metrics import Array, share

# What is counted of a list.
LISTS, QUALITY, ORACLE, BEST, PAIRS, ORDERED = range(6)


def count(true: Iterable[Any], predicted: Iterable[Any]) -> Array:
    """What metrics need of each list, of the qualities of its candidates and the place of the best or the places of all, the best
    first: (lists, 6)."""
    rows = []
    for mu, told in zip(true, predicted, strict=True):
        if not len(mu):
            rows.append((0.0,) * 6)
            continue
        order = told if isinstance(told, list) else [told]
        chosen, best = float(mu[order[0]]), float(max(mu))
        ranked = np.asarray(mu, np.float64)[order]
        above = np.sign(ranked[:, None] - ranked)[np.triu_indices(len(ranked), 1)]
        rows.append((1.0, chosen, best, float(chosen == best), float(np.count_nonzero(above)), float((above > 0).sum())))
    return np.array(rows).reshape(-1, 6)


def _quotient(above: int, below: int) -> Callable[[Array], Array]:
    return lambda sums: share(sums[..., above], sums[..., below])


# oracle_quality is the mean quality of the best of each list, best_rate the share of lists of which the best was chosen, pair_accuracy
# the share of pairs in order, of models that put all candidates in order.
LIST_METRICS: dict[str, Callable[[Array], Array]] = {
    "quality": _quotient(QUALITY, LISTS),
    "oracle_quality": _quotient(ORACLE, LISTS),
    "best_rate": _quotient(BEST, LISTS),
    "pair_accuracy": _quotient(ORDERED, PAIRS),
}
