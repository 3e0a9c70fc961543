"""Compiled sweeps over input: CSR structure, finite rows, labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.rows import row, sqnorm

SORTED, UNSORTED, OUT_OF_RANGE = 0, 1, 2

PIECE = 4096  # entries


@entry_point
def check_csr(indptr: Any, source: Any, width: Any, indices: Any) -> Any:
    """Copy the places of rows to `indices`, and tell of the copy whether each row ascends without repeats, and all of it lies in
    [0, width). A piece is looked at while it is in the cache."""
    n = len(indptr) - 1
    falls = indptr[0] != 0 or indptr[n] != len(source)
    for t in range(n):
        falls |= indptr[t] > indptr[t + 1]
    if falls:  # before anything is looked up by it
        return OUT_OF_RANGE
    drops = 0  # over all rows at once, which is vectorised, then less those between rows
    for first in range(0, len(indices), PIECE):
        stop = min(first + PIECE, len(indices))
        piece = indices[first:stop]
        piece[:] = source[first:stop]
        if first > 0:
            drops += piece[0] <= indices[first - 1]
        for i in range(1, len(piece)):
            drops += piece[i] <= piece[i - 1]
    ascending = True
    for t in range(n):
        start, end = indptr[t], indptr[t + 1]
        if start < end:
            ascending &= indices[start] >= 0 and indices[end - 1] < width
            drops -= start > 0 and indices[start] <= indices[start - 1]
    if ascending and drops == 0:
        return SORTED
    for i in range(len(indices)):
        if indices[i] < 0 or indices[i] >= width:
            return OUT_OF_RANGE
    return UNSORTED


@entry_point
def first_bad_row(X: Any, n: Any) -> Any:
    """The first row whose squared norm is not finite, or n."""
    for t in range(n):
        if not sqnorm(row(X, t)) < np.inf:
            return t
    return n


@entry_point
def first_bad_row_with_holes(X: Any, n: Any) -> Any:
    """The first row whose squared norm is not finite, but for values that are missing, or n."""
    for t in range(n):
        if not sqnorm_without_holes(row(X, t)) < np.inf:
            return t
    return n


@routine
def sqnorm_without_holes(x: Any) -> Any:
    total = x.values.dtype.type(0)
    for value in x.values:
        if value == value:
            total += value * value
    return total


@entry_point
def distinct(y: Any, found: Any) -> Any:
    """Collect the distinct values of y into `found`; their number, or -1 if there are more than fit."""
    n, last = 0, 0
    for t in range(len(y)):
        if n > 0 and y[t] == found[last]:
            continue
        k = 0
        while k < n and found[k] != y[t]:
            k += 1
        if k == n:
            if n == len(found):
                return -1
            found[n] = y[t]
            n += 1
        last = k
    return n


@entry_point
def encode(y: Any, classes: Any, a: Any, b: Any, codes: Any) -> Any:
    """codes[t] = a k + b, where y[t] is classes[k] (ascending); the first row whose label is unknown, or len(y)."""
    n, K = len(y), len(classes)
    if K == 2:  # no branch on the label, so that the loop is vectorised and a random label is not mispredicted
        unknown = 0
        first, second, low, high = classes[0], classes[1], codes.dtype.type(b), codes.dtype.type(a + b)
        for t in range(n):
            is_low, is_high = y[t] == first, y[t] == second
            unknown += 1 - (is_low | is_high)
            codes[t] = high if is_high else low
        if unknown == 0:
            return n
    for t in range(n):
        k, end = 0, K
        while k < end:
            middle = (k + end) // 2
            if classes[middle] < y[t]:
                k = middle + 1
            else:
                end = middle
        if k == K or classes[k] != y[t]:
            return t
        codes[t] = a * k + b
    return n


@entry_point
def balance(codes: Any, a: Any, b: Any, counts: Any, weights: Any) -> Any:
    """Multiply weights[t] by n / (K n_k): running counts over the labels that were seen, row t included."""
    total, seen = 0, 0
    for k in range(len(counts)):
        total += counts[k]
        seen += counts[k] > 0
    for t in range(len(codes)):
        if weights[t] == 0:
            continue
        k = int((codes[t] - b) / a)
        seen += counts[k] == 0
        counts[k] += 1
        total += 1
        weights[t] *= total / (seen * counts[k])
