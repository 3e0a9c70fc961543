"""Hedge backpropagation: a classifier on every layer, and shares that follow their losses.

D. Sahoo, Q. Pham, J. Lu, S. Hoi: Online deep learning: learning deep neural networks on the fly. IJCAI 2018, 2660-2666.

The paper asks for losses from 0 to 1, which cross-entropies are not, and does not say how; here they are brought there as in the
authors' code, by the least and the largest loss of the example. In all else this is the paper's algorithm. The authors' code has no
classifier on the row itself, and a floor of 0.01; the package onn has none either, adds logits, not probabilities, and takes losses
as they are.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Classifier, Field, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.calibration import softmax
from onepass.compiled.compiler import routine, to_the_letter
from onepass.compiled.loop import sound
from onepass.compiled.losses import ManyClasses, TwoClasses
from onepass.compiled.rows import add, dot, scaled
from onepass.compiled.rules import TOO_LARGE, UPDATED, blend, learn, mix, score, scratch
from onepass.compiled.verb import verb
from onepass.neural.blame import CROSS_ENTROPY, blame
from onepass.neural.layered import ACTIVATIONS, Layered
from onepass.neural.layers import backward, forward, move_along, send_down

# W: the weights of the classifiers on the hidden layers, a row an output: those of one layer, its bias first, behind those of the layer
# below; V: of the classifier on the row; alpha: the shares, that of V first.
Heads = namedtuple("Heads", "A inner V W alpha sizes activation task rate beta floor")

# logits, out: the scores of each classifier and their delta; chances: what one classifier says; losses: of each.
Scratch = namedtuple("Scratch", "scores logits out chances losses hidden delta")


@verb(0)
def chances(task: Any, logits: Any, out: Any) -> None:
    """out = by how much the probability of each class exceeds one half; for two classes, by how much one exceeds the other."""


@chances.form(TwoClasses)
def _(task: Any, logits: Any, out: Any) -> Any:
    out[0] = np.tanh(logits[0] / 2)


@chances.form(ManyClasses)
def _(task: Any, logits: Any, out: Any) -> Any:
    exceed_half(logits, out)


# To the letter, as in `neural/blame.py`.
@to_the_letter
def exceed_half(logits: Any, out: Any) -> Any:
    out[:] = logits
    softmax(out)
    for k in range(len(out)):
        out[k] -= out.dtype.type(0.5)


@scratch.form(Heads)
def _(m: Any) -> Any:
    n, K, units = len(m.alpha), m.W.shape[0], m.sizes.sum()
    return Scratch(
        np.empty(K, m.A.dtype),
        np.empty((n, K), m.A.dtype),
        np.empty((n, K), m.A.dtype),
        np.empty(K, m.A.dtype),
        np.empty(n),
        np.empty(units, m.A.dtype),
        np.empty(units, m.A.dtype),
    )


@score.form(Heads)
def _(m: Any, x: Any, s: Any) -> Any:
    """F(x) = sum alpha_l f_l(x); NaN where logits are out of range, which probabilities would hide."""
    forward(m, x, s)
    for k in range(len(s.scores)):
        s.scores[k] = 0
        s.logits[0, k] = dot(m.V[k], scaled(x, 1.0))
    climb(m, x.bias, s)
    for level in range(len(m.alpha)):
        chances(m.task, s.logits[level], s.chances)
        add_share(s.scores, s.scores.dtype.type(m.alpha[level]), s.chances)
    if not sound(s.logits.reshape(-1), np.sqrt(np.finfo(s.scores.dtype).max)):
        s.scores[:] = np.nan


@to_the_letter
def add_share(scores: Any, share: Any, said: Any) -> Any:
    for k in range(len(scores)):
        scores[k] += share * said[k]


@routine
def climb(m: Any, bias: Any, s: Any) -> Any:
    """The logits of the classifiers on the hidden layers."""
    start, used = 0, 0
    for level in range(len(m.sizes)):
        n = m.sizes[level]
        h = s.hidden[start : start + n]
        for k in range(len(s.scores)):
            own = m.W[k, used : used + n + 1]
            w, total = own[1:], own[0] * bias
            for i in range(n):
                total += w[i] * h[i]
            s.logits[level + 1, k] = total
        start, used = start + n, used + n + 1


@learn.form(Heads)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    total = 0.0
    for level in range(len(m.alpha)):
        s.losses[level] = blame(m.task, CROSS_ENTROPY, m.activation, s.logits[level], y, s.out[level])
        total += s.losses[level]
        for k in range(len(s.scores)):
            s.out[level, k] *= s.out.dtype.type(m.alpha[level])
    blame_layers(m, s)
    if not backward(m, x, s) + total < np.inf:
        return TOO_LARGE
    for k in range(len(s.scores)):
        add(m.V[k], weight * m.rate * s.out[0, k], x)
    move_heads(m, weight * m.rate, x.bias, s)
    move_along(m, weight * m.rate, x, s)
    share_out(m, weight, s)
    return UPDATED


@routine
def blame_layers(m: Any, s: Any) -> Any:
    """What each classifier, in proportion to its share, sends to the layer that it is on."""
    s.delta[:] = 0
    start, used = 0, 0
    for level in range(len(m.sizes)):
        n = m.sizes[level]
        for k in range(len(s.scores)):
            send_down(m.W[k, used : used + n + 1], s.out[level + 1, k], s.delta[start : start + n])
        start, used = start + n, used + n + 1


@routine
def move_heads(m: Any, a: Any, bias: Any, s: Any) -> Any:
    """The classifiers on the hidden layers, each along its own gradient."""
    start, used = 0, 0
    for level in range(len(m.sizes)):
        n = m.sizes[level]
        h = s.hidden[start : start + n]
        for k in range(len(s.scores)):
            own, step = m.W[k, used : used + n + 1], s.out.dtype.type(a * s.out[level + 1, k])
            own[0] += step * bias
            w = own[1:]
            for i in range(n):
                w[i] += step * h[i]
        start, used = start + n, used + n + 1


@routine
def share_out(m: Any, weight: Any, s: Any) -> Any:
    """alpha_l *= beta^loss_l, at least floor / L, and all divided by their sum. They are written when all are known, for readers."""
    least, most = s.losses.min(), s.losses.max()
    if least == most:
        return
    total, lowest = 0.0, m.floor / len(m.sizes)
    for level in range(len(m.alpha)):
        loss = (s.losses[level] - least) / (most - least)
        s.losses[level] = max(m.alpha[level] * m.beta ** (weight * loss), lowest)
        total += s.losses[level]
    for level in range(len(m.alpha)):
        m.alpha[level] = s.losses[level] / total


@blend.form(Heads)
def _(m: Any, other: Any, share: Any) -> Any:
    """The shares belong to the losses, not to the weights: predictions always use the latest."""
    mix(m.A, other.A, share)
    mix(m.inner, other.inner, share)
    mix(m.V, other.V, share)
    mix(m.W, other.W, share)


@parametric
class HedgeBackprop(Classifier, Layered):
    """Hedge backpropagation: a deep network that finds out along the way how deep it should be.

    There is a classifier f_l, by softmax, on every hidden layer, and one on the row itself. F(x) = sum_l alpha_l f_l(x), with shares
    alpha that sum to 1. After each example, with the cross-entropies loss_l of the classifiers,

    1. each classifier moves by rate alpha_l times its own gradient,
    2. layer l moves by rate times the sum over j >= l of alpha_j times the gradient of loss_j,
    3. alpha_l *= beta^loss_l, the losses brought to [0, 1] by the least and the largest of them; alpha_l = max(alpha_l, floor / L); and
       all are divided by their sum.

    So shallow classifiers, which learn quickly, predict at first, and deep ones take over when they are ready. Scores are by how much
    F(x) exceeds one half; for two classes, by how much the second exceeds the first.

    The paper has 20 layers of ReLU and a rate of 0.01. With ReLU the weights may grow without bound where features are far out.

    Standardise the features first (:class:`onepass.StandardScaler`). First weights are as in :class:`OnlineMLPClassifier`; the
    classifier on the row starts at 0.

    References
    ----------
    D. Sahoo, Q. Pham, J. Lu, S. Hoi: Online deep learning: learning deep neural networks on the fly. IJCAI 2018, 2660-2666.

    Examples
    --------
    A disc and what is around it, of which the row itself says little:

    >>> import numpy as np
    >>> from onepass import HedgeBackprop
    >>> X = np.random.default_rng(0).uniform(-2, 2, (3000, 2))
    >>> y = (X**2).sum(axis=1) < 2
    >>> model = HedgeBackprop((20, 20, 20), rate=0.1, random_state=0).fit(X, y)
    >>> model.shares_.shape, model.shares_.argmin()
    ((4,), np.int64(0))
    """

    hidden: Any = parameter((100,) * 5)
    activation: str = parameter()
    rate: float = parameter(0.03, POSITIVE, cautious="smaller", text="The rate of the steps.")
    beta: float = parameter(
        0.99,
        Interval(Real, 0, 1, closed="neither"),
        text="The part of its share that a classifier keeps whose loss is the largest.",
    )
    floor: float = parameter(
        0.2,
        Interval(Real, 0, 1, closed="right"),
        text="What a share may not fall below, before they are divided by their sum, times the number L of hidden layers.",
    )
    _: KW_ONLY
    calibrate: bool = parameter(more="`predict_proba` does not need it.")

    _normalises: ClassVar[bool] = True

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"rate": tuple(0.03 * value for value in POWERS_OF_TWO)}

    def _sizes(self) -> dict[str, int]:
        layers = self._layers()
        return {**super()._sizes(), "stack": sum(layers) + len(layers), "heads": len(layers) + 1}

    def _fields(self, form: str) -> dict[str, Field]:
        outputs, layers = self._outputs(form), self._layers()
        reach = tuple(run for n in layers for run in ((1, 0.0), (n, self._reach(n, 1))))
        return {
            **self._hidden_fields(),
            "V": Field(f"{outputs} features"),
            "W": Field(f"{outputs} stack", draw="uniform", reach=reach),
            "alpha": Field("heads", start=1 / (len(layers) + 1), exact=True, beside=True),
        }

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Heads(
            arrays["A"],
            arrays["inner"],
            arrays["V"],
            arrays["W"],
            state.arrays["alpha"],
            np.array(self._layers()),
            ACTIVATIONS[self.activation],
            self._task(state),
            float(self.rate),
            float(self.beta),
            float(self.floor),
        )

    def _gives_probabilities(self) -> bool:
        return True

    def _probabilities(self, scores: Array, state: State) -> Array:
        if self.calibrate:
            return super()._probabilities(scores, state)
        given = scores.astype(np.float64)
        return given + 0.5 if state.form == "multiclass" else np.column_stack([(1 - given) / 2, (1 + given) / 2])

    @property
    def shares_(self) -> Array:
        """The shares of the classifiers in the scores: of that on the row, and of those on the hidden layers from the first on; they
        sum to 1."""
        return self._attribute("shares_").arrays["alpha"].copy()
