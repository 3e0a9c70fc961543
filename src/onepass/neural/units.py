"""Units of a network: the functions that make their outputs of sums, and their slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.rows import DenseRow

SIGMOID, TANH, SIN, RELU = 0, 1, 2, 3


@routine
def activate(activation: Any, h: Any) -> Any:
    """h = g(h), where NaN stays NaN."""
    zero, one = h.dtype.type(0), h.dtype.type(1)
    if activation == SIGMOID:
        for i in range(len(h)):
            h[i] = one / (one + np.exp(-h[i]))
    elif activation == TANH:
        for i in range(len(h)):
            h[i] = np.tanh(h[i])
    elif activation == SIN:
        for i in range(len(h)):
            h[i] = np.sin(h[i])
    else:
        for i in range(len(h)):
            h[i] = zero if h[i] < 0 else h[i]


@routine
def times_slope(activation: Any, h: Any, delta: Any) -> Any:
    """delta *= g', which the outputs h of sigmoid, tanh and ReLU tell."""
    zero, one = h.dtype.type(0), h.dtype.type(1)
    if activation == SIGMOID:
        for i in range(len(h)):
            delta[i] *= h[i] * (one - h[i])
    elif activation == TANH:
        for i in range(len(h)):
            delta[i] *= one - h[i] * h[i]
    else:
        for i in range(len(h)):
            delta[i] = delta[i] if h[i] > 0 else zero


@routine
def as_row(h: Any, bias: Any) -> Any:
    """The outputs of a layer as a row, with the constant feature that has this value."""
    return DenseRow(h, bias, h.dtype.type(1))
