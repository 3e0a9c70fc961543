"""The hidden layers of a network, forwards and backwards.

    z^l = W^l s^{l-1} + b^l,  s^l = f(z^l),  s^0 = x;        delta^l = f'(z^l) (W^{l+1})' delta^{l+1}

D. Rumelhart, G. Hinton, R. Williams: Learning representations by back-propagating errors. Nature 323 (1986), 533-536.

A network is a record with A, the weights of the first layer, (d+1, n_1), the bias first; `inner`, those of the other layers,
(n_{l-1}+1, n_l) each, one behind the other in one array, so that networks of any depth are one type and compiled once; `sizes`, the
n_l; and `activation`. A row of A belongs to a feature, so that a sparse row costs what it holds.

The work space has `hidden`, the outputs of all layers one behind the other, and `delta`, likewise.
"""

from __future__ import annotations

from typing import Any

from onepass.compiled.compiler import routine
from onepass.compiled.rows import add_outer, project, scaled, sqnorm
from onepass.neural.units import activate, as_row, times_slope


@routine
def matrix(flat: Any, start: Any, n_in: Any, n_out: Any) -> Any:
    """The weights from n_in units to n_out, which begin at `start`."""
    return flat[start : start + (n_in + 1) * n_out].reshape((n_in + 1, n_out))


@routine
def forward(m: Any, x: Any, s: Any) -> Any:
    """s.hidden = the outputs of all hidden units; NaN for a row that is too large, where bounded units would hide it."""
    n = m.sizes[0]
    h = s.hidden[:n]
    project(m.A, scaled(x, 1.0), h)
    activate(m.activation, h)
    start, used = n, 0
    for level in range(1, len(m.sizes)):
        n_in, n = n, m.sizes[level]
        below, h = s.hidden[start - n_in : start], s.hidden[start : start + n]
        project(matrix(m.inner, used, n_in, n), as_row(below, x.bias), h)
        activate(m.activation, h)
        start, used = start + n, used + (n_in + 1) * n


@routine
def square(v: Any) -> Any:
    total = v.dtype.type(0)
    for i in range(len(v)):
        total += v[i] * v[i]
    return total


@routine
def send_down(w: Any, a: Any, delta: Any) -> Any:
    """delta += a w, for the weights w of one unit above, its bias first."""
    weights, a = w[1:], delta.dtype.type(a)
    for i in range(len(delta)):
        delta[i] += a * weights[i]


@routine
def pull_down(W: Any, above: Any, delta: Any) -> Any:
    """delta += W' above, for the weights W to a layer, the bias first."""
    for i in range(len(delta)):
        w, total = W[i + 1], above.dtype.type(0)
        for c in range(len(above)):
            total += w[c] * above[c]
        delta[i] += total


@routine
def backward(m: Any, x: Any, s: Any) -> Any:
    """s.delta, which holds what the outputs send to each layer, becomes delta^l; the squared norm of the gradient, which is made of
    outer products delta^l (s^{l-1})', over all weights of the hidden layers."""
    top, used, norm2 = len(s.hidden), len(m.inner), s.delta.dtype.type(0)
    for level in range(len(m.sizes) - 1, 0, -1):
        n, n_in = m.sizes[level], m.sizes[level - 1]
        top, used = top - n, used - (n_in + 1) * n
        delta, below = s.delta[top : top + n], s.hidden[top - n_in : top]
        times_slope(m.activation, s.hidden[top : top + n], delta)
        pull_down(matrix(m.inner, used, n_in, n), delta, s.delta[top - n_in : top])
        norm2 += square(delta) * sqnorm(as_row(below, x.bias))
    times_slope(m.activation, s.hidden[:top], s.delta[:top])
    return norm2 + square(s.delta[:top]) * sqnorm(x)


@routine
def move_along(m: Any, a: Any, x: Any, s: Any) -> Any:
    """W^l += a delta^l (s^{l-1})' for all hidden layers; s.delta is a delta then."""
    a = s.delta.dtype.type(a)
    for i in range(len(s.delta)):
        s.delta[i] *= a
    n = m.sizes[0]
    add_outer(m.A, s.delta[:n], x)
    start, used = n, 0
    for level in range(1, len(m.sizes)):
        n_in, n = n, m.sizes[level]
        delta, below = s.delta[start : start + n], s.hidden[start - n_in : start]
        add_outer(matrix(m.inner, used, n_in, n), delta, as_row(below, x.bias))
        start, used = start + n, used + (n_in + 1) * n
