"""Online gradient descent.

M. Zinkevich: Online convex programming and generalized infinitesimal gradient ascent. ICML 2003, 928-936.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Field, Regressor, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import NOT_NEGATIVE, POSITIVE, among, parameter, parametric
from onepass.compiled.compiler import routine
from onepass.compiled.gradient import add_adaptively
from onepass.compiled.linear import linear, move, of_many_scores, vector
from onepass.compiled.losses import Targets, judge, loses_tie, mistaken, unrivalled
from onepass.compiled.rows import sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, rival
from onepass.compiled.verb import verb
from onepass.linear.model import LinearModel

ZERO_ONE, HINGE, SQUARED_HINGE, LOG, SQUARED, ABSOLUTE = range(6)
CLASSIFICATION = {"zero_one": ZERO_ONE, "hinge": HINGE, "squared_hinge": SQUARED_HINGE, "log": LOG}
REGRESSION = {"squared": SQUARED, "absolute": ABSOLUTE, "epsilon_insensitive": ABSOLUTE}  # the task knows epsilon

Descent = namedtuple("Descent", "w task pace loss")

# How far to go: rate / t^power along the gradient, or rate over the root of each weight's sum of squared gradients.
Decay = namedtuple("Decay", "t rate power")
AdaGrad = namedtuple("AdaGrad", "squares rate")

# The cross-entropy of the softmax of the scores.
CrossEntropy = namedtuple("CrossEntropy", "length2")

linear(Descent)
of_many_scores(CrossEntropy)


@verb(0)
def advance(pace: Any) -> None:
    """One more example has come."""


@verb(0)
def descend(pace: Any, task: Any, w: Any, a: Any, step: Any, x: Any) -> None:
    """A step from the weights against the gradient -a step x."""


@advance.form(Decay)
def _(pace: Any) -> Any:
    pace.t[0] += 1


@descend.form(Decay)
def _(pace: Any, task: Any, w: Any, a: Any, step: Any, x: Any) -> Any:
    move(task, w, pace.rate / pace.t[0] ** pace.power * a, step, x)


@advance.form(AdaGrad)
def _(pace: Any) -> Any:
    pass


@descend.form(AdaGrad)
def _(pace: Any, task: Any, w: Any, a: Any, step: Any, x: Any) -> Any:
    for k in range(len(step)):
        if step[k] != 0:
            add_adaptively(vector(task, w, k), pace.squares[k], pace.rate, a * step[k], x)


@judge.form(CrossEntropy)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    """The gradient is all in the direction, [k = y] - p_k."""
    r = rival(scores, y)
    if r < 0:
        return unrivalled(scores)
    top, total = max(scores[y], scores[r]), 0.0
    for k in range(len(scores)):
        total += np.exp(scores[k] - top)
    for k in range(len(scores)):
        step[k] = (k == y) - np.exp(scores[k] - top) / total
    return scores.dtype.type(-np.inf), scores.dtype.type(np.inf)


@loses_tie.form(CrossEntropy)
def _(task: Any, scores: Any, y: Any) -> Any:
    return False


@routine
def slope(kind: Any, margin: Any, loss: Any, wrong: Any) -> Any:
    """How fast the loss falls along the direction. The 0-1 loss is flat; a mistake counts as 1, which makes it the perceptron."""
    if kind == ZERO_ONE:
        return 1.0 if wrong else 0.0
    if kind in (HINGE, ABSOLUTE):
        return 1.0 if loss > 0 else 0.0
    if kind == SQUARED_HINGE:
        return 2.0 * max(loss, 0)
    if kind == LOG:
        return 1 / (1 + np.exp(margin))
    return loss * 1.0


@learn.form(Descent)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    margin, loss = judge(m.task, s.scores, y, s.step)
    a = slope(m.loss, margin, loss, mistaken(m.task, margin, s.scores, y))
    if a != 0 and not sqnorm(x) < np.inf:
        return TOO_LARGE
    advance(m.pace)
    if a == 0:
        return PASSIVE
    descend(m.pace, m.task, m.w, weight * a, s.step, x)
    return UPDATED


class _Descent(LinearModel):
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"rate": POWERS_OF_TWO}

    _offers: ClassVar[dict[str, Any]] = {
        "loss": parameter(matters=True, text="The loss to descend on."),
        "rate": parameter(
            0.3,
            POSITIVE,
            cautious="smaller",
            text="The length of the first step: of each weight with `adagrad`, else along the gradient.",
        ),
        "power": parameter(
            0.5,
            NOT_NEGATIVE,
            text="Without `adagrad`: how fast the steps become shorter; 0 leaves them as they are, for streams that drift.",
        ),
        "adagrad": parameter(
            True,
            "boolean",
            text="Whether to divide the step of each weight by the root of the sum of its squared gradients so far, so that it does not"
            " matter how large the features are, and weights of rare features go on moving. False: by t^power.",
        ),
    }
    rate: float
    power: float
    adagrad: bool

    def _fields_beside(self, form: str) -> dict[str, Field]:
        axes = "classes features" if form == "multiclass" else "features"
        return (
            {"squares": Field(axes, turn="copy", fades=True)} if self.adagrad else {"t": Field("one", exact=True, fades=True)}
        )

    def _pace(self, arrays: Mapping[str, Any]) -> Any:
        if self.adagrad:
            squares = arrays["squares"]
            return AdaGrad(squares if squares.ndim == 2 else squares[None], float(self.rate))
        return Decay(arrays["t"], float(self.rate), float(self.power))


@parametric
class OGDClassifier(Classifier, _Descent):
    r"""Online gradient descent for classification.

    w_j -= rate g_j / sqrt(the sum of all g_j^2 so far), or without `adagrad` w -= rate / t^power g, where g is the gradient of the loss
    of the t-th example, whose margin is m = y w.x:

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
    array([[0.44, 0.56]])
    """

    loss: str = parameter("hinge", among(*CLASSIFICATION))
    rate: float = parameter()
    power: float = parameter()
    _: KW_ONLY
    calibrate: bool = parameter(more='With the loss "log", `predict_proba` does not need it.')
    adagrad: bool = parameter()

    def _scores_are_logits(self) -> bool:
        return self.loss == "log"

    def _task(self, state: State) -> Any:
        return CrossEntropy(1.0) if state.form == "multiclass" and self.loss == "log" else super()._task(state)

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return Descent(w, task, self._pace(arrays), CLASSIFICATION[self.loss])


@parametric
class OGDRegressor(Regressor, _Descent):
    r"""Online gradient descent for regression.

    w_j -= rate g_j / sqrt(the sum of all g_j^2 so far), or without `adagrad` w -= rate / t^power g, where g is the gradient of the loss
    of the t-th example, whose error is e = y - w.x:

    * "squared": e^2 / 2, which is least mean squares,
    * "absolute": |e|,
    * "epsilon_insensitive": max(0, |e| - epsilon).

    Without `adagrad`, scale the features: with the squared loss, steps of more than 2 / |x|^2 times the error make the error grow.

    References
    ----------
    M. Zinkevich: Online convex programming and generalized infinitesimal gradient ascent. ICML 2003, 928-936.
    J. Duchi, E. Hazan, Y. Singer: Adaptive subgradient methods for online learning and stochastic optimization. JMLR 12 (2011),
    2121-2159.

    Examples
    --------
    >>> from onepass import OGDRegressor
    >>> model = OGDRegressor(rate=0.5, power=0, adagrad=False, scale_target=False, fit_intercept=False)
    >>> model.fit([[1.0, 0.0], [0.0, 2.0]], [2.0, 1.0]).coef_
    array([1., 1.])
    """

    loss: str = parameter("squared", among(*REGRESSION))
    rate: float = parameter(0.1)
    power: float = parameter()
    epsilon: float = parameter(text='For "epsilon_insensitive": errors up to this size do not count.')
    _: KW_ONLY
    adagrad: bool = parameter()

    def _task(self, state: State) -> Any:
        return Targets(1.0, float(self.epsilon) if self.loss == "epsilon_insensitive" else 0.0)

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return Descent(w, task, self._pace(arrays), REGRESSION[self.loss])
