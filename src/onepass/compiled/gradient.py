"""AdaGrad's step: each weight has a rate of its own.

J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods for online learning and stochastic optimization. JMLR 12 (2011), 2121-2159.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.average import Averaged
from onepass.compiled.compiler import routine
from onepass.compiled.covariance import nudge, steady
from onepass.compiled.rows import DenseRow, SparseRow
from onepass.compiled.verb import verb


@verb(0, 4)
def add_adaptively(w: Any, squares: Any, rate: Any, a: Any, x: Any) -> None:
    """squares += (a x)^2, and w += rate a x / sqrt(squares)."""


@routine
def step(w: Any, squares: Any, j: Any, rate: Any, g: Any) -> Any:
    squares[j] = min(squares[j] + g * g, np.finfo(squares.dtype).max)  # beyond it, the weight would never move again
    if squares[j] > 0:
        nudge(w, j, rate * g / np.sqrt(squares[j]))


for Weights in (np.ndarray, Averaged):

    @add_adaptively.form(Weights, DenseRow)
    def _(w: Any, squares: Any, rate: Any, a: Any, x: Any) -> Any:
        rate, a, v = squares.dtype.type(rate), squares.dtype.type(a) * x.scale, steady(w)
        step(v, squares, 0, rate, a * x.bias)
        for j in range(len(x.values)):
            step(v, squares, j + 1, rate, a * x.values[j])

    @add_adaptively.form(Weights, SparseRow)
    def _(w: Any, squares: Any, rate: Any, a: Any, x: Any) -> Any:
        rate, a, v = squares.dtype.type(rate), squares.dtype.type(a) * x.scale, steady(w)
        step(v, squares, 0, rate, a * x.bias)
        for i in range(len(x.values)):
            step(v, squares, x.indices[i] + 1, rate, a * x.values[i])
