"""How far the weights of a network move along the gradient of one example.

Each step is a record with a form of `descend`. The gradient is made of outer products of what `backward` left in the work space:
delta and the outputs below it for hidden layers, `out` and `top` for the weights of the outputs.

* passive-aggressive: tau = min(C, loss / |g|^2), the smallest step that would bring the loss, linearised, to zero; its second form is
  tau = loss / (|g|^2 + 1/(2C)). K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms.
  JMLR 7 (2006), 551-585.
* SGD: the rate itself.
* AdaGrad: each weight has a rate of its own. J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods for online learning and
  stochastic optimization. JMLR 12 (2011), 2121-2159.
* AdaDelta: M. Zeiler: ADADELTA: an adaptive learning rate method. arXiv:1212.5701 (2012).
* Adam: D. Kingma, J. Ba: Adam: a method for stochastic optimization. ICLR 2015.

AdaDelta and Adam forget, so that every example changes what they keep for every weight: a step costs what the layers hold. The others
change only what a row has features for.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.passive_aggressive import tau
from onepass.compiled.rows import DenseRow, SparseRow
from onepass.compiled.rules import PASSIVE, UPDATED
from onepass.compiled.verb import verb
from onepass.neural.layers import matrix, move_along
from onepass.neural.units import as_row

Aggressive = namedtuple("Aggressive", "variant")
Plain = namedtuple("Plain", "none")
# n and m of the weights A, inner and W: sums or means of squared gradients, and of squared steps or of gradients. AdaGrad has no m.
AdaGrad = namedtuple("AdaGrad", "n_A n_inner n_W m_A m_inner m_W")
AdaDelta = namedtuple("AdaDelta", "n_A n_inner n_W m_A m_inner m_W")
Adam = namedtuple("Adam", "n_A n_inner n_W m_A m_inner m_W t")


@verb(0)
def descend(pace: Any, m: Any, x: Any, weight: Any, loss: Any, norm2: Any, s: Any) -> Any:
    """A step along the gradient, whose squared norm is norm2; what `learn` answers."""


def _yes(pace: Any) -> Any:
    return True


@verb(0, otherwise=_yes)
def rests(pace: Any) -> Any:
    """Whether an example without loss changes nothing."""


@rests.form(AdaDelta)
@rests.form(Adam)
def _(pace: Any) -> Any:
    return False


# --- one length for all weights ---


@routine
def move_all(m: Any, a: Any, x: Any, s: Any) -> Any:
    if a == 0:
        return PASSIVE
    for k in range(len(s.out)):
        if s.out[k] != 0:
            w, step = m.W[k], s.top.dtype.type(a * s.out[k])
            for i in range(len(s.top)):
                w[i] += step * s.top[i]
    move_along(m, a, x, s)
    return UPDATED


@descend.form(Aggressive)
def _(pace: Any, m: Any, x: Any, weight: Any, loss: Any, norm2: Any, s: Any) -> Any:
    return move_all(m, tau(pace.variant, weight * m.rate, loss, norm2), x, s)


@descend.form(Plain)
def _(pace: Any, m: Any, x: Any, weight: Any, loss: Any, norm2: Any, s: Any) -> Any:
    return move_all(m, weight * m.rate, x, s)


# --- a length for each weight ---


@verb(0)
def begin(pace: Any, rate: Any) -> Any:
    """One more example has come: the rate and the epsilon of its step."""


@verb(0)
def nudge(pace: Any, rate: Any, epsilon: Any, w: Any, n: Any, m: Any, a: Any, direction: Any) -> None:
    """Move weights against their gradients -a direction."""


@begin.form(AdaGrad)
def _(pace: Any, rate: Any) -> Any:
    return rate, 1e-10


@nudge.form(AdaGrad)
def _(pace: Any, rate: Any, epsilon: Any, w: Any, n: Any, m: Any, a: Any, direction: Any) -> Any:
    largest = np.finfo(w.dtype).max
    for c in range(len(w)):
        g = a * direction[c]
        n[c] = min(n[c] + g * g, largest)  # beyond it, the weight would never move again
        w[c] += rate * g / (np.sqrt(n[c]) + epsilon)


@begin.form(AdaDelta)
def _(pace: Any, rate: Any) -> Any:
    return rate, 1e-6


@nudge.form(AdaDelta)
def _(pace: Any, rate: Any, epsilon: Any, w: Any, n: Any, m: Any, a: Any, direction: Any) -> Any:
    kept, new = w.dtype.type(0.9), w.dtype.type(0.1)
    for c in range(len(w)):
        g = a * direction[c]
        n[c] = kept * n[c] + new * (g * g)
        u = np.sqrt((m[c] + epsilon) / (n[c] + epsilon)) * g
        m[c] = kept * m[c] + new * (u * u)
        w[c] += rate * u


@begin.form(Adam)
def _(pace: Any, rate: Any) -> Any:
    """With what corrects the bias of both moments: m / (1 - 0.9^t), n / (1 - 0.999^t)."""
    pace.t[0] += 1
    root = np.sqrt(1 - 0.999 ** pace.t[0])
    return rate * root / (1 - 0.9 ** pace.t[0]), 1e-8 * root


@nudge.form(Adam)
def _(pace: Any, rate: Any, epsilon: Any, w: Any, n: Any, m: Any, a: Any, direction: Any) -> Any:
    kept_m, new_m, kept_n, new_n = w.dtype.type(0.9), w.dtype.type(0.1), w.dtype.type(0.999), w.dtype.type(0.001)
    for c in range(len(w)):
        g = a * direction[c]
        m[c] = kept_m * m[c] + new_m * g
        n[c] = kept_n * n[c] + new_n * (g * g)
        w[c] += rate * m[c] / (np.sqrt(n[c]) + epsilon)


@verb(0, 6)
def nudge_layer(pace: Any, rate: Any, epsilon: Any, W: Any, n: Any, m: Any, x: Any, delta: Any) -> None:
    """Move the weights of a layer, a row of W for each feature of x, along the outer product of x and delta."""


for Pace in (AdaGrad, AdaDelta, Adam):

    @nudge_layer.form(Pace, DenseRow)
    def _(pace: Any, rate: Any, epsilon: Any, W: Any, n: Any, m: Any, x: Any, delta: Any) -> Any:
        nudge(pace, rate, epsilon, W[0], n[0], m[0], x.scale * x.bias, delta)
        for j in range(1, len(W)):  # which may be longer than the row
            a = x.scale * x.values[j - 1] if j <= len(x.values) else delta.dtype.type(0)
            nudge(pace, rate, epsilon, W[j], n[j], m[j], a, delta)


@nudge_layer.form(AdaGrad, SparseRow)
def _(pace: Any, rate: Any, epsilon: Any, W: Any, n: Any, m: Any, x: Any, delta: Any) -> Any:
    nudge(pace, rate, epsilon, W[0], n[0], m[0], x.scale * x.bias, delta)
    for i in range(len(x.values)):
        j = x.indices[i] + 1
        nudge(pace, rate, epsilon, W[j], n[j], m[j], x.scale * x.values[i], delta)


for Pace in (AdaDelta, Adam):

    @nudge_layer.form(Pace, SparseRow)
    def _(pace: Any, rate: Any, epsilon: Any, W: Any, n: Any, m: Any, x: Any, delta: Any) -> Any:
        nudge(pace, rate, epsilon, W[0], n[0], m[0], x.scale * x.bias, delta)
        i = 0
        for j in range(1, len(W)):
            a = delta.dtype.type(0)
            if i < len(x.indices) and x.indices[i] + 1 == j:
                a = x.scale * x.values[i]
                i += 1
            nudge(pace, rate, epsilon, W[j], n[j], m[j], a, delta)


for Pace in (AdaGrad, AdaDelta, Adam):

    @descend.form(Pace)
    def _(pace: Any, m: Any, x: Any, weight: Any, loss: Any, norm2: Any, s: Any) -> Any:
        real = s.delta.dtype.type
        rate, epsilon = begin(pace, m.rate)
        rate, epsilon, weight = real(rate), real(epsilon), real(weight)
        for k in range(len(s.out)):
            nudge(pace, rate, epsilon, m.W[k], pace.n_W[k], pace.m_W[k], weight * s.out[k], s.top)
        for i in range(len(s.delta)):
            s.delta[i] *= weight
        n = m.sizes[0]
        nudge_layer(pace, rate, epsilon, m.A, pace.n_A, pace.m_A, x, s.delta[:n])
        start, used = n, 0
        for level in range(1, len(m.sizes)):
            n_in, n = n, m.sizes[level]
            delta, below = s.delta[start : start + n], as_row(s.hidden[start - n_in : start], x.bias)
            first, second = matrix(pace.n_inner, used, n_in, n), matrix(pace.m_inner, used, n_in, n)
            nudge_layer(pace, rate, epsilon, matrix(m.inner, used, n_in, n), first, second, below, delta)
            start, used = start + n, used + (n_in + 1) * n
        return UPDATED
