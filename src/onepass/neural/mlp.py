"""Online backpropagation: networks that learn from one example at a time.

D. Rumelhart, G. Hinton, R. Williams: Learning representations by back-propagating errors. Nature 323 (1986), 533-536.

The scores are W (1, s^L), a row of W for each output, on top of the hidden layers (`neural/layers.py`). An example is taken forwards,
its loss is sent back (`neural/blame.py`), and the weights take one step (`neural/steps.py`).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Field, Regressor, SelfTuning, State
from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.compiler import routine
from onepass.compiled.hedge import candidates, part, side_by_side
from onepass.compiled.passive_aggressive import VARIANTS
from onepass.compiled.rules import PASSIVE, TOO_LARGE, blend, learn, mix, refuses, score, scratch
from onepass.neural.blame import CROSS_ENTROPY, HINGE, INSENSITIVE, SQUARED, blame
from onepass.neural.layered import ACTIVATIONS, Layered
from onepass.neural.layers import backward, forward, send_down, square
from onepass.neural.steps import AdaDelta, AdaGrad, Adam, Aggressive, Plain, descend, rests

CLASSIFICATION = {"cross_entropy": CROSS_ENTROPY, "hinge": HINGE, "squared": SQUARED}
REGRESSION = {"squared": SQUARED, "epsilon_insensitive": INSENSITIVE}
# The steps, and the rate of each where none is given; the passive-aggressive one has C.
RATES = {"pa": 0.0, "sgd": 0.01, "adagrad": 0.1, "adadelta": 1.0, "adam": 0.001}
MOMENTS = {"adagrad": ("n",), "adadelta": ("n", "m"), "adam": ("n", "m")}

# rate: C where the step is passive-aggressive.
Network = namedtuple("Network", "A inner W rate sizes activation task loss pace")

# hidden, delta: of the hidden units, layer by layer; top: 1 and the outputs of the last layer; out: delta of the outputs.
Scratch = namedtuple("Scratch", "scores out top hidden delta")


@scratch.form(Network)
def _(m: Any) -> Any:
    n, units = m.W.shape[0], m.sizes.sum()
    return Scratch(
        np.empty(n, m.A.dtype),
        np.empty(n, m.A.dtype),
        np.empty(m.W.shape[1], m.A.dtype),
        np.empty(units, m.A.dtype),
        np.empty(units, m.A.dtype),
    )


@score.form(Network)
def _(m: Any, x: Any, s: Any) -> Any:
    forward(m, x, s)
    give_out(m, x.bias, s)


@routine
def give_out(m: Any, bias: Any, s: Any) -> Any:
    """The scores, from the outputs of the last hidden layer."""
    n = len(s.top) - 1
    s.top[0] = bias
    s.top[1:] = s.hidden[len(s.hidden) - n :]
    for k in range(len(s.scores)):
        w, total = m.W[k], s.top.dtype.type(0)
        for i in range(len(s.top)):
            total += w[i] * s.top[i]
        s.scores[k] = total


@routine
def take_back(m: Any, x: Any, s: Any) -> Any:
    """delta of all layers, and the squared norm of the gradient."""
    s.delta[:] = 0
    for k in range(len(s.out)):
        if s.out[k] != 0:
            send_down(m.W[k], s.out[k], s.delta[len(s.delta) - len(s.top) + 1 :])
    return square(s.out) * square(s.top) + backward(m, x, s)


@learn.form(Network)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    loss = blame(m.task, m.loss, m.activation, s.scores, y, s.out)
    if loss <= 0 and rests(m.pace):
        return PASSIVE
    norm2 = take_back(m, x, s)
    if not norm2 < np.inf:
        return TOO_LARGE
    return descend(m.pace, m, x, weight, loss, norm2, s)


@refuses.form(Network)
def _(m: Any, x: Any, y: Any, s: Any) -> Any:
    loss = blame(m.task, m.loss, m.activation, s.scores, y, s.out)
    return (loss > 0 or not rests(m.pace)) and not take_back(m, x, s) < np.inf


@blend.form(Network)
def _(m: Any, other: Any, share: Any) -> Any:
    mix(m.A, other.A, share)
    mix(m.inner, other.inner, share)
    mix(m.W, other.W, share)


candidates(Network, "A inner W rate")


@side_by_side.form(Scratch)
def _(s: Any, n: Any) -> Any:
    return Scratch(
        np.empty((n, len(s.scores)), s.top.dtype),
        np.empty((n, len(s.out)), s.top.dtype),
        np.empty((n, len(s.top)), s.top.dtype),
        np.empty((n, len(s.hidden)), s.top.dtype),
        np.empty((n, len(s.delta)), s.top.dtype),
    )


@part.form(Scratch)
def _(s: Any, i: Any) -> Any:
    return Scratch(s.scores[i], s.out[i], s.top[i], s.hidden[i], s.delta[i])


class _Backpropagation(Layered):
    """What the classifier and the regressor share: one network, and its steps."""

    _offers: ClassVar[dict[str, Any]] = {
        "loss": parameter(matters=True, text="The loss whose gradient is sent back."),
        "step": parameter(
            "pa",
            among(*RATES),
            matters=True,
            text='How far a step goes: "pa" is the passive-aggressive one, which C limits; the others have a `rate`.',
        ),
        "C": parameter(
            0.2,
            POSITIVE,
            cautious="smaller",
            text='For "pa", aggressiveness: the longest step along the gradient.',
        ),
        "variant": parameter(
            "I", among("I", "II"), text='For "pa", how C limits the step: as an upper bound, or by making every step smaller.'
        ),
        "rate": parameter(
            None,
            POSITIVE,
            None,
            cautious="smaller",
            text='The rate of the other steps. None: 0.01 for "sgd", 0.1 for "adagrad", 1 for "adadelta", 0.001 for "adam".',
        ),
    }
    loss: str
    step: str
    C: Any
    variant: str
    rate: float | None

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        if self.step == "pa":
            return {"C": tuple(2.0**k for k in range(-8, 1))}
        return {"rate": tuple(RATES[self.step] * 2.0**k for k in range(-4, 5))}

    def _keeps_to_features(self) -> bool:
        return super()._keeps_to_features() and self.step not in ("adadelta", "adam")

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "units": self._layers()[-1] + 1}

    def _fields(self, form: str) -> dict[str, Field]:
        n, outputs = self._layers()[-1], f"{self._outputs(form)} units"
        axes = {"A": "features hidden", "inner": "inner", "W": outputs}
        signed = self.step == "adam"  # m: the gradients of two outputs that were one are opposite, all squares are the same
        return {
            **self._hidden_fields(),
            "W": Field(outputs, draw="uniform", reach=((1, 0.0), (n, self._reach(n, 1)))),
            **{
                f"{moment}_{name}": Field(
                    own,
                    beside=True,
                    fades=self.step == "adagrad",
                    turn=None if moment == "m" and signed else "copy",
                )
                for moment in MOMENTS.get(self.step, ())
                for name, own in axes.items()
            },
            **({"t": Field("one", exact=True, beside=True)} if self.step == "adam" else {}),
        }

    def _pace(self, arrays: Mapping[str, Any]) -> Any:
        if self.step == "pa":
            return Aggressive(VARIANTS[self.variant])
        if self.step == "sgd":
            return Plain(0)
        moments = [arrays[f"{moment}_{name}"] for moment in ("n", MOMENTS[self.step][-1]) for name in ("A", "inner", "W")]
        if self.step == "adam":
            return Adam._make([*moments, arrays["t"]])
        return (AdaGrad if self.step == "adagrad" else AdaDelta)._make(moments)

    def _network(self, state: State, arrays: Mapping[str, Any], rate: Any, loss: int) -> Any:
        if self.step != "pa":
            rate = float(RATES[self.step] if self.rate is None else self.rate)
        return Network(
            arrays["A"],
            arrays["inner"],
            arrays["W"],
            rate,
            np.array(self._layers()),
            ACTIVATIONS[self.activation],
            self._task(state),
            loss,
            self._pace(state.arrays),
        )

    @property
    def layers_(self) -> list[Array]:
        """The weights of each layer, (units below + 1, units), the bias first: of the average, where there is one, and with C="auto" of
        the value of C that has the largest share."""
        state = self._attribute("layers_")
        A, inner, W = (self._best(state, name) for name in ("A", "inner", "W"))
        return [*self._hidden_layers(A[: state.n_features + 1], inner), np.ascontiguousarray(W.T)]

    def _best(self, state: State, name: str) -> Array:
        array = self._averaged(state, name)
        return array[state.arrays["shares"].argmax()] if "shares" in state.arrays else array


@parametric
class OnlineMLPClassifier(Classifier, SelfTuning, _Backpropagation):
    """A network with any number of hidden layers that learns from one example at a time, by backpropagation.

    s^0 = x, s^l = f(W^l s^{l-1} + b^l), and the scores are the sums of the output units. The loss of an example is sent back,

        delta^l = f'(z^l) (W^{l+1})' delta^{l+1},

    and with g, its gradient by all weights, they take one step:

    * "pa": w -= min(C, loss / |g|^2) g, the smallest step that would bring the loss, linearised, to zero, or C;
      with `variant="II"`, loss / (|g|^2 + 1/(2C)) takes the place of the minimum;
    * "sgd": w -= rate g;
    * "adagrad", "adadelta", "adam": each weight has a rate of its own. The latter two change all weights at every step, so that sparse
      rows take as long as dense ones.

    "cross_entropy" is that of the softmax of the scores, or of the logistic function for two classes; "hinge" is max(0, 1 - margin),
    the margin of the label over its strongest rival; "squared" is the rule of the textbooks, half the squared error of output units
    that have the function f, too, and aim at its largest value for the label and at its least for the others.

    The first weights are drawn from U(-a, a), a = sqrt(6 / in) for ReLU and sqrt(6 / (in + out)) else, with biases of 0. An output
    counts as the only one, since classes may come, and of the features those that are known at the first example: all columns of a
    table. Standardise them first (:class:`onepass.StandardScaler`).

    References
    ----------
    D. Rumelhart, G. Hinton, R. Williams: Learning representations by back-propagating errors. Nature 323 (1986), 533-536.
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    The four corners of XOR:

    >>> from onepass import OnlineMLPClassifier
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> model = OnlineMLPClassifier(hidden=(16, 8), max_iter=100, random_state=0).fit(X, y)
    >>> model.predict(X)
    array([0, 1, 1, 0])
    >>> [layer.shape for layer in model.layers_]
    [(3, 16), (17, 8), (9, 1)]
    """

    loss: str = parameter("cross_entropy", among(*CLASSIFICATION))
    step: str = parameter()
    C: float | str = parameter(
        0.2,
        POSITIVE,
        among("auto"),
        more='"auto": five values from 1/256 to 1 learn side by side, and have shares in the scores that follow their losses so far. It'
        " takes five times as long, and no search.",
    )
    variant: str = parameter()
    rate: float | None = parameter()

    _: KW_ONLY
    calibrate: bool = parameter(more='With the loss "cross_entropy", `predict_proba` does not need it.')

    _candidates: ClassVar[tuple[float, ...]] = tuple(4.0**k for k in range(-4, 1))

    def _scores_are_logits(self) -> bool:
        return self.loss == "cross_entropy"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._hedges() and self.step != "pa":
            raise ValueError(f'C="auto" is for step="pa"; step={self.step!r} has a rate, and no C: leave C out.')

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        record = self._network(state, arrays, self._aggressiveness(), CLASSIFICATION[self.loss])
        return self._hedged(record, self._task(state), arrays)


@parametric
class OnlineMLPRegressor(Regressor, _Backpropagation):
    """A network with any number of hidden layers that learns numbers from one example at a time, by backpropagation.

    The same as :class:`OnlineMLPClassifier`, with one output, which has no function. "squared" is half the squared error,
    "epsilon_insensitive" max(0, |error| - epsilon).

    Standardise the features. Without `scale_target`, bring the targets to the scale of 1.

    References
    ----------
    D. Rumelhart, G. Hinton, R. Williams: Learning representations by back-propagating errors. Nature 323 (1986), 533-536.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import OnlineMLPRegressor
    >>> x = np.random.default_rng(0).uniform(-3, 3, (5000, 1))
    >>> model = OnlineMLPRegressor(hidden=50, average=True, random_state=0).fit(x, np.sinc(x[:, 0]))
    >>> bool(np.abs(model.predict([[0.0], [1.0], [2.5]]) - np.sinc([0.0, 1.0, 2.5])).max() < 0.2)
    True
    """

    loss: str = parameter("squared", among(*REGRESSION))
    step: str = parameter()
    C: float = parameter()
    variant: str = parameter()
    rate: float | None = parameter()
    epsilon: float = parameter(
        text='For "epsilon_insensitive": errors up to this size do not count; in deviations, with `scale_target`.'
    )

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return self._network(state, arrays, float(self.C), REGRESSION[self.loss])
