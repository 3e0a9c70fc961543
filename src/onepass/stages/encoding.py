"""Categories as what the targets of their earlier rows were, in bounded memory.

D. Micci-Barreca: A preprocessing scheme for high-cardinality categorical attributes in classification and prediction problems. SIGKDD
Explorations 3 (2001), 27-32.

All that is known of a category is in cells that are found by hashes: for numbers one a category, for labels one for each label of a
category, so that nothing depends on which labels there are or on their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine, to_the_letter
from onepass.stages.hashing import PAIR

NUMBER_OF, MEAN_OF = 0, 1  # what is kept of targets that are numbers: how many, and their mean


@routine
def place(category: Any, label: Any, cells: Any) -> Any:
    """The cell of a label of a category, given their hashes."""
    return ((category * PAIR + label) & 0x7FFFFFFF) % cells


@to_the_letter
def shrunk(n: Any, mean: Any, of_all: Any, smoothing: Any) -> Any:
    """(n m_c + a m) / (n + a), with the same bits however many columns and labels there are beside it."""
    return (n * mean + smoothing * of_all) / (n + smoothing)


@to_the_letter
def share(count: Any, n: Any) -> Any:
    return count / n if n > 0 else 0.0


@routine
def take_in(number: Any, mean: Any, j: Any, y: Any) -> None:
    number[j] += 1
    mean[j] += (y - mean[j]) / number[j]


@entry_point
def encode_by_means(hashes: Any, there: Any, y: Any, taught: Any, cells: Any, totals: Any, smoothing: Any, out: Any) -> None:
    """out[t, k, 0] = (n_c m_c + a m) / (n_c + a): the mean target of the category in column k, shrunk to that of all, by the rows
    before t; a row with taught[t] is then taken in. NaN where there is no category, or no row before."""
    number, mean = cells[NUMBER_OF], cells[MEAN_OF]
    for t in range(len(out)):
        for k in range(out.shape[1]):
            j = place(hashes[t, k], 0, len(number))
            known = there[t, k] and totals[NUMBER_OF] > 0
            out[t, k, 0] = shrunk(number[j], mean[j], totals[MEAN_OF], smoothing) if known else np.nan
        if taught[t]:
            for k in range(out.shape[1]):
                if there[t, k]:
                    take_in(number, mean, place(hashes[t, k], 0, len(number)), y[t])
            take_in(totals[NUMBER_OF:], totals[MEAN_OF:], 0, y[t])


@entry_point
def encode_by_shares(
    hashes: Any, there: Any, labels: Any, y: Any, taught: Any, cells: Any, totals: Any, smoothing: Any, out: Any
) -> None:
    """out[t, k, i] = (n_c m_c + a m) / (n_c + a): the share of label i in the category of column k, shrunk to that in all, by the
    rows before t; a row with taught[t] is then counted. NaN where there is no category, and for labels that came up in no row before.
    Two labels share all there is: the second is told, and for the first, or one alone, there is NaN."""
    for t in range(len(out)):
        n, known, last = 0.0, 0, 0
        for i in range(len(labels)):
            if totals[i] > 0:
                n, known, last = n + totals[i], known + 1, i
        for k in range(out.shape[1]):
            within = 0.0
            for i in range(len(labels)):
                if totals[i] > 0:
                    within += cells[place(hashes[t, k], labels[i], len(cells))]
            for i in range(len(labels)):
                out[t, k, i] = np.nan
                if there[t, k] and totals[i] > 0 and (known > 2 or (known == 2 and i == last)):
                    among = share(cells[place(hashes[t, k], labels[i], len(cells))], within)
                    out[t, k, i] = shrunk(within, among, share(totals[i], n), smoothing)
        if taught[t]:
            for k in range(out.shape[1]):
                if there[t, k]:
                    cells[place(hashes[t, k], labels[y[t]], len(cells))] += 1
            totals[y[t]] += 1
