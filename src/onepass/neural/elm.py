"""Online sequential extreme learning machines: a layer that is drawn and stays, and recursive least squares on it.

N.-Y. Liang, G.-B. Huang, P. Saratchandran, N. Sundararajan: A fast and accurate online sequential learning algorithm for feedforward
networks. IEEE Transactions on Neural Networks 17 (2006), 1411-1423.

The inverse of the correlations of the hidden units is kept as a covariance U D U' (`compiled/covariance.py`), which stays positive
whatever the rounding. A ridge takes the place of the paper's first batch, so that learning begins with the first example.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Field, Learner, Regressor, State
from onepass.base.parameters import COUNT, POSITIVE, among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.average import at, height, workspace
from onepass.compiled.compiler import routine
from onepass.compiled.covariance import Full, stretch, tighten, variance
from onepass.compiled.rows import dot, project, scaled
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, score, score_again, scratch
from onepass.neural.units import RELU, SIGMOID, SIN, TANH, activate, as_row

ACTIVATIONS = {"sigmoid": SIGMOID, "tanh": TANH, "sin": SIN, "relu": RELU}

Number = namedtuple("Number", "A w cov activation ridge")  # a number
Pair = namedtuple("Pair", "A w cov activation ridge")  # the margin of two classes, and the solution whose target is always 1
Classes = namedtuple("Classes", "A W cov activation ridge")

# f and spread: what the covariance needs; hidden: the outputs of the hidden units.
Scratch = namedtuple("Scratch", "scores f spread hidden")


@routine
def units(s: Any) -> Any:
    """The hidden units as a row; it has no constant feature."""
    return as_row(s.hidden, s.hidden.dtype.type(0))


@routine
def absorb(m: Any, weight: Any, s: Any) -> Any:
    """Take the row into the covariance. The factor of the step along s.spread for each unit of error; NaN if it leaves the range."""
    v = variance(m.cov, units(s), s)
    if not v < np.inf:
        return np.nan
    r = m.ridge / weight
    tighten(m.cov, min(1 / r, np.sqrt(np.finfo(s.scores.dtype).max)), units(s), s)
    return 1 / (v + r)


@scratch.form(Number)
def _(m: Any) -> Any:
    n = m.cov.factor.shape[0]
    return Scratch(workspace(m.w, 1), workspace(m.w, n), workspace(m.w, n), workspace(m.w, n - 1))


@scratch.form(Pair)
def _(m: Any) -> Any:
    n = m.cov.factor.shape[0]
    return Scratch(workspace(m.w, 1), workspace(m.w, n), workspace(m.w, n), workspace(m.w, n - 1))


@scratch.form(Classes)
def _(m: Any) -> Any:
    n = m.cov.factor.shape[0]
    return Scratch(workspace(m.W, height(m.W)), workspace(m.W, n), workspace(m.W, n), workspace(m.W, n - 1))


@score.form(Number)
@score.form(Pair)
@score.form(Classes)
def _(m: Any, x: Any, s: Any) -> Any:
    """The hidden units, and the scores of the weights on them."""
    project(m.A, scaled(x, 1.0), s.hidden)
    activate(m.activation, s.hidden)
    score_again(m, x, s, s)


@score_again.form(Number)
def _(m: Any, x: Any, s: Any, spare: Any) -> Any:
    spare.scores[0] = dot(m.w, units(s))


@score_again.form(Pair)
def _(m: Any, x: Any, s: Any, spare: Any) -> Any:
    spare.scores[0] = dot(at(m.w, 0), units(s))


@score_again.form(Classes)
def _(m: Any, x: Any, s: Any, spare: Any) -> Any:
    for k in range(len(spare.scores)):
        spare.scores[k] = dot(at(m.W, k), units(s))


@learn.form(Number)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """beta += P h (y - beta.h) / (h' P h + ridge), P^-1 += h h' / ridge."""
    gain, error = absorb(m, weight, s), y - s.scores[0]
    if not gain < np.inf:
        return TOO_LARGE
    stretch(m.w, gain * error, s.spread)
    return UPDATED if error != 0 else PASSIVE


@learn.form(Pair)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """The same, twice: if more classes come, each of the two has the half of the sum or of the difference."""
    gain, error = absorb(m, weight, s), y - s.scores[0]
    if not gain < np.inf:
        return TOO_LARGE
    stretch(at(m.w, 0), gain * error, s.spread)
    stretch(at(m.w, 1), gain * (1 - dot(at(m.w, 1), units(s))), s.spread)
    return UPDATED if error != 0 else PASSIVE


@learn.form(Classes)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """The same for each class, with the target 1 for the label and 0 for the others."""
    gain = absorb(m, weight, s)
    if not gain < np.inf:
        return TOO_LARGE
    for k in range(len(s.scores)):
        stretch(at(m.W, k), gain * ((1 if k == y else 0) - s.scores[k]), s.spread)
    return UPDATED


@parametric
class _OSELM(Learner):
    """What the classifier and the regressor share: the hidden layer, and the ridge."""

    hidden: int = parameter(100, COUNT, matters=True, text="The number of hidden units.")
    activation: str = parameter("sigmoid", among(*ACTIVATIONS), text="The function g of the hidden units.")
    ridge: float = parameter(
        1e-3, POSITIVE, cautious="larger", text="The weight of |beta|^2. A tiny one gives plain least squares."
    )
    _: KW_ONLY
    fit_intercept: bool = parameter(text="Whether the hidden units have the biases b_i.")
    max_iter: int = parameter(more="A second pass counts every example twice.")
    random_state: Any = parameter(text="The seed of the hidden layer.")

    _layer: ClassVar[dict[str, Field]] = {
        "A": Field("features hidden", draw="normal", fan_in=True),
        "Sigma": Field("units units", start=1.0, fades=True),
    }
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"ridge": tuple(10.0**k for k in range(-6, 3))}

    def _sizes(self) -> dict[str, int]:
        return {"hidden": self.hidden, "units": self.hidden + 1, "pair": 2}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        rest = Full(arrays["Sigma"]), ACTIVATIONS[self.activation], float(self.ridge)
        if state.form == "multiclass":
            return Classes(arrays["A"], arrays["W"], *rest)
        return (Pair if state.form == "binary" else Number)(arrays["A"], arrays["w"], *rest)


@parametric
class OSELMClassifier(Classifier, _OSELM):
    r"""Online sequential extreme learning machine: least squares on a random hidden layer, exact after every example.

    The hidden units h_i = g(a_i.x + b_i) are drawn once and stay. The output weights beta are, after each example, the solution of

        min sum_t weight_t (y_t - beta.h_t)^2 + ridge |beta|^2

    over all examples so far, by recursive least squares: O(hidden^2) a step. For two classes y is -1 or 1; for more, each class has
    its own beta, with the target 1 for its examples and 0 for the others, and the largest score wins. Targets of 1 and -1 would
    lead to the same labels, but with 0 a label that comes late has had its targets from the start.

    a_i is drawn from N(0, I/d), so that a_i.x is about as large as b_i, from N(0, 1), if the features are; standardise them first
    (:class:`onepass.StandardScaler`). d is the number of features that are known at the first example.

    References
    ----------
    N.-Y. Liang, G.-B. Huang, P. Saratchandran, N. Sundararajan: A fast and accurate online sequential learning algorithm for
    feedforward networks. IEEE Transactions on Neural Networks 17 (2006), 1411-1423.

    Examples
    --------
    A disc and what is around it:

    >>> import numpy as np
    >>> from onepass import OSELMClassifier
    >>> X = np.random.default_rng(0).uniform(-2, 2, (700, 2))
    >>> y = (X**2).sum(axis=1) < 2
    >>> model = OSELMClassifier(50, random_state=0).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.95
    True
    """

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {**_OSELM._layer, "w": Field("pair units", additive=True)},
        "multiclass": {**_OSELM._layer, "W": Field("classes units", additive=True)},
    }

    @classmethod
    def _upgrade(cls, form: str, arrays: dict[str, Array]) -> None:
        if form == "binary":
            for name in {"w", "gap.w"} & set(arrays):
                arrays[name] = np.stack([arrays[name], np.zeros_like(arrays[name])])


@parametric
class OSELMRegressor(Regressor, _OSELM):
    r"""Online sequential extreme learning machine for regression: least squares on a random hidden layer, exact after every example.

    The same as :class:`OSELMClassifier`, with the targets as they are.

    References
    ----------
    N.-Y. Liang, G.-B. Huang, P. Saratchandran, N. Sundararajan: A fast and accurate online sequential learning algorithm for
    feedforward networks. IEEE Transactions on Neural Networks 17 (2006), 1411-1423.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import OSELMRegressor
    >>> x = np.random.default_rng(0).uniform(-3, 3, (400, 1))
    >>> model = OSELMRegressor(30, random_state=0).fit(x, np.sinc(x[:, 0]))
    >>> bool(np.abs(model.predict([[0.0], [1.0], [2.5]]) - np.sinc([0.0, 1.0, 2.5])).max() < 0.05)
    True
    """

    _: KW_ONLY
    scale_target: bool = parameter(False, more="Least squares need the targets as they are.")

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "regression": {**_OSELM._layer, "w": Field("units", additive=True)},
    }
