"""Online gradient descent, and its oldest member, Adaline."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax

from onepass.base import Classifier, Field, Regressor, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import NOT_NEGATIVE, POSITIVE, among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.average import at
from onepass.compiled.compiler import routine
from onepass.compiled.gradient import add_adaptively
from onepass.compiled.linear import linear
from onepass.compiled.rows import add, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, mistaken, outdone, rival
from onepass.compiled.verb import verb
from onepass.linear.model import LinearModel
from onepass.linear.passes import Passes

ZERO_ONE, HINGE, SQUARED_HINGE, LOG = 0, 1, 2, 3
CLASSIFICATION = {"zero_one": ZERO_ONE, "hinge": HINGE, "squared_hinge": SQUARED_HINGE, "log": LOG}
SQUARED, ABSOLUTE, INSENSITIVE = 0, 1, 2
REGRESSION = {"squared": SQUARED, "absolute": ABSOLUTE, "epsilon_insensitive": INSENSITIVE}


Binary = namedtuple("Binary", "w pace loss")
Multiclass = namedtuple("Multiclass", "W pace loss")
Regression = namedtuple("Regression", "w pace loss epsilon")

# How far to go: rate / t^power along the gradient, or rate over the root of each weight's sum of squared gradients.
Decay = namedtuple("Decay", "t rate power")
AdaGrad = namedtuple("AdaGrad", "squares rate")

# into: where the steps go, which is w itself but for the batch mode.
AdalineBinary = namedtuple("AdalineBinary", "w into rate")
AdalineMulticlass = namedtuple("AdalineMulticlass", "W into rate")

linear(Binary, Multiclass, Regression, AdalineBinary, AdalineMulticlass)


# --- online gradient descent ---


@verb(0)
def advance(pace: Any) -> None:
    """One more example has come."""


@verb(0)
def rate_of(pace: Any) -> Any:
    """The rate of this example's step."""


@verb(0)
def descend(pace: Any, w: Any, k: Any, rate: Any, a: Any, x: Any) -> None:
    """A step from w, the weights of class k, against the gradient -a x."""


@advance.form(Decay)
def _(pace: Any) -> Any:
    pace.t[0] += 1


@rate_of.form(Decay)
def _(pace: Any) -> Any:
    return pace.rate / pace.t[0] ** pace.power


@descend.form(Decay)
def _(pace: Any, w: Any, k: Any, rate: Any, a: Any, x: Any) -> Any:
    add(w, rate * a, x)


@advance.form(AdaGrad)
def _(pace: Any) -> Any:
    pass


@rate_of.form(AdaGrad)
def _(pace: Any) -> Any:
    return pace.rate


@descend.form(AdaGrad)
def _(pace: Any, w: Any, k: Any, rate: Any, a: Any, x: Any) -> Any:
    add_adaptively(w, pace.squares[k], rate, a, x)


@routine
def slope(loss: Any, m: Any, wrong: Any) -> Any:
    """- d loss / d m, m being the margin. The 0-1 loss has no slope; a mistake counts as one, which makes it the perceptron."""
    if loss == ZERO_ONE:
        return 1.0 if wrong else 0.0
    if loss == HINGE:
        return 1.0 if m < 1 else 0.0
    if loss == SQUARED_HINGE:
        return 2.0 * max(1 - m, 0)
    return 1 / (1 + np.exp(m))


@learn.form(Binary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    a = slope(m.loss, y * s.scores[0], mistaken(s.scores[0], y))
    if a != 0 and not sqnorm(x) < np.inf:
        return TOO_LARGE
    advance(m.pace)
    if a == 0:
        return PASSIVE
    descend(m.pace, m.w, 0, rate_of(m.pace), weight * a * y, x)
    return UPDATED


@learn.form(Multiclass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """The loss of the margin over the strongest rival; for "log", the cross-entropy of the softmax of the scores."""
    scores, r = s.scores, rival(s.scores, y)
    a = 0.0
    if r >= 0:
        a = 1.0 if m.loss == LOG else slope(m.loss, scores[y] - scores[r], outdone(scores, y, r))
    if a != 0 and not sqnorm(x) < np.inf:
        return TOO_LARGE
    advance(m.pace)
    if a == 0:
        return PASSIVE
    rate = rate_of(m.pace)
    if m.loss != LOG:
        descend(m.pace, at(m.W, y), y, rate, weight * a, x)
        descend(m.pace, at(m.W, r), r, rate, -weight * a, x)
        return UPDATED
    top, total = max(scores[y], scores[r]), 0.0
    for k in range(len(scores)):
        total += np.exp(scores[k] - top)
    for k in range(len(scores)):
        descend(m.pace, at(m.W, k), k, rate, weight * ((k == y) - np.exp(scores[k] - top) / total), x)
    return UPDATED


@learn.form(Regression)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    error = y - s.scores[0]
    passive = error == 0 or (m.loss == INSENSITIVE and abs(error) <= m.epsilon)
    if not passive and not sqnorm(x) < np.inf:
        return TOO_LARGE
    advance(m.pace)
    if passive:
        return PASSIVE
    descend(m.pace, m.w, 0, rate_of(m.pace), weight * (error if m.loss == SQUARED else np.sign(error)), x)
    return UPDATED


class _Descent(LinearModel):
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"rate": POWERS_OF_TWO}

    _offers: ClassVar[dict[str, Any]] = {
        "loss": parameter(text="The loss to descend on."),
        "rate": parameter(1.0, POSITIVE, text="The length of the first step."),
        "power": parameter(
            0.5,
            NOT_NEGATIVE,
            text="How fast the steps become shorter; 0 leaves them as they are, for streams that drift.",
        ),
        "adagrad": parameter(
            False,
            "boolean",
            text="Whether to divide the step of each weight by the root of the sum of its squared gradients so far, instead of by"
            " t^power: weights of rare features then go on moving.",
        ),
    }
    rate: float
    power: float
    adagrad: bool

    def _fields(self, form: str) -> dict[str, Field]:
        axes = "classes features" if form == "multiclass" else "features"
        weights = {"W" if form == "multiclass" else "w": Field(axes, additive=True)}
        return {**weights, **({"squares": Field(axes, turn="copy")} if self.adagrad else {"t": Field("one", exact=True)})}

    def _pace(self, arrays: Mapping[str, Any]) -> Any:
        if self.adagrad:
            squares = arrays["squares"]
            return AdaGrad(squares if squares.ndim == 2 else squares[None], float(self.rate))
        return Decay(arrays["t"], float(self.rate), float(self.power))


@parametric
class OGDClassifier(Classifier, _Descent):
    r"""Online gradient descent for classification.

    w -= rate / t^power times the gradient of the loss of the t-th example, whose margin is m = y w.x:

    * "zero_one": 1 for a mistake, with the perceptron's step y x,
    * "hinge": max(0, 1 - m),
    * "squared_hinge": max(0, 1 - m)^2,
    * "log": log(1 + exp(-m)), which is logistic regression.

    With more than two classes m is the margin over the strongest rival, and "log" is the cross-entropy of the softmax of the scores.

    References
    ----------
    M. Zinkevich: Online convex programming and generalized infinitesimal gradient ascent. ICML 2003, 928-936.
    J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods for online learning and stochastic optimization. JMLR 12 (2011),
    2121-2159.

    Examples
    --------
    >>> from onepass import OGDClassifier
    >>> model = OGDClassifier(loss="log").fit([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"])
    >>> model.predict_proba([[1.0, 0.0]]).round(2)
    array([[0.41, 0.59]])
    """

    loss: str = parameter("hinge", among(*CLASSIFICATION))
    rate: float = parameter()
    power: float = parameter()
    _: KW_ONLY
    calibrate: bool = parameter(more='With the loss "log", `predict_proba` does not need it.')
    adagrad: bool = parameter()

    def _gives_probabilities(self) -> bool:
        return self.loss == "log" or super()._gives_probabilities()

    def _probabilities(self, scores: Array, state: State) -> Array:
        if self.calibrate:
            return super()._probabilities(scores, state)
        if state.form == "multiclass":
            return np.asarray(softmax(scores.astype(np.float64), axis=1))
        of_second = expit(scores[:, 0].astype(np.float64))
        return np.column_stack([1 - of_second, of_second])

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        if state.form == "binary":
            return Binary(arrays["w"], self._pace(arrays), CLASSIFICATION[self.loss])
        return Multiclass(arrays["W"], self._pace(arrays), CLASSIFICATION[self.loss])


@parametric
class OGDRegressor(Regressor, _Descent):
    r"""Online gradient descent for regression.

    w -= rate / t^power times the gradient of the loss of the t-th example, whose error is e = y - w.x:

    * "squared": e^2 / 2, which is least mean squares,
    * "absolute": |e|,
    * "epsilon_insensitive": max(0, |e| - epsilon).

    Scale the features: with the squared loss, steps of more than 2 / |x|^2 times the error make the error grow.

    References
    ----------
    M. Zinkevich: Online convex programming and generalized infinitesimal gradient ascent. ICML 2003, 928-936.
    J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods for online learning and stochastic optimization. JMLR 12 (2011),
    2121-2159.

    Examples
    --------
    >>> from onepass import OGDRegressor
    >>> model = OGDRegressor(rate=0.5, power=0, fit_intercept=False).fit([[1.0, 0.0], [0.0, 2.0]], [2.0, 1.0])
    >>> model.coef_
    array([1., 1.])
    """

    loss: str = parameter("squared", among(*REGRESSION))
    rate: float = parameter(0.1)
    power: float = parameter()
    epsilon: float = parameter(text='For "epsilon_insensitive": errors up to this size do not count.')
    _: KW_ONLY
    adagrad: bool = parameter()

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Regression(arrays["w"], self._pace(arrays), REGRESSION[self.loss], float(self.epsilon))


# --- Adaline ---


@learn.form(AdalineBinary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """w += rate (y - w.x) x, for labels -1 and 1 as for numbers."""
    error = y - s.scores[0]
    if error == 0:
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    add(m.into, weight * m.rate * error, x)
    return UPDATED


@learn.form(AdalineMulticlass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """One unit a class: its target is 1 for the label and -1 for all others."""
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    for k in range(len(s.scores)):
        add(at(m.into, k), weight * m.rate * ((1 if k == y else -1) - s.scores[k]), x)
    return UPDATED


@parametric
class _Adaline(Passes):
    rate: float = parameter(
        0.01, POSITIVE, text="The length of a step. Steps above 2 / |x|^2 make the error grow: scale the features."
    )
    mode: str = parameter()
    _: KW_ONLY
    random_state: Any = parameter()

    loss: ClassVar[str] = "squared"

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"rate": POWERS_OF_TWO}

    def _fields(self, form: str) -> dict[str, Field]:
        weights = Field("classes features" if form == "multiclass" else "features", additive=True)
        return {"W" if form == "multiclass" else "w": weights, **self._pending(form)}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        name, Record = ("W", AdalineMulticlass) if state.form == "multiclass" else ("w", AdalineBinary)
        return Record(arrays[name], arrays["pending" if self.mode == "batch" else name], float(self.rate))


@parametric
class Adaline(Classifier, _Adaline):
    r"""The adaptive linear element: least mean squares on labels -1 and 1.

    w += rate (y - w.x) x, for every example. With more than two classes, one unit a class.

    References
    ----------
    B. Widrow, M. E. Hoff: Adaptive switching circuits. IRE WESCON Convention Record (1960), 96-104.

    Examples
    --------
    >>> from onepass import Adaline
    >>> X, y = [[0.0, 1.0], [1.0, 0.0]], ["no", "yes"]
    >>> Adaline(rate=0.1, max_iter=100).fit(X, y).predict(X)
    array(['no', 'yes'], dtype='<U3')
    """


@parametric
class AdalineRegressor(Regressor, _Adaline):
    r"""The adaptive linear element for numbers: least mean squares, the Widrow-Hoff rule.

    w += rate (y - w.x) x, for every example.

    References
    ----------
    B. Widrow, M. E. Hoff: Adaptive switching circuits. IRE WESCON Convention Record (1960), 96-104.

    Examples
    --------
    >>> from onepass import AdalineRegressor
    >>> model = AdalineRegressor(rate=0.5, fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], [2.0, 1.0])
    >>> model.coef_
    array([1. , 0.5])
    """
