"""Perceptrons.

F. Rosenblatt: The perceptron. Psychological Review 65 (1958), 386-408.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Classifier, Field
from onepass.base.knowledge import Start
from onepass.base.parameters import NOT_NEGATIVE, POSITIVE, among, parameter, parametric
from onepass.base.state import SCALE, State
from onepass.compiled.average import at
from onepass.compiled.linear import linear
from onepass.compiled.rows import add, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, mistaken, outdone, rival
from onepass.compiled.scaled import shrink
from onepass.linear.model import LinearModel
from onepass.linear.passes import Passes

MAX, UNIFORM, PROPORTIONAL = 0, 1, 2
BLAME = {"max": MAX, "uniform": UNIFORM, "proportional": PROPORTIONAL}

# into: where the steps go, which is w itself but for the batch perceptron.
Binary = namedtuple("Binary", "w into margin rate keep")
Multiclass = namedtuple("Multiclass", "W into margin rate keep blame")
ShiftingBinary = namedtuple("ShiftingBinary", "w k lam")
ShiftingMulticlass = namedtuple("ShiftingMulticlass", "W k lam")

linear(Binary, Multiclass, ShiftingBinary, ShiftingMulticlass)


@learn.form(Binary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """On a mistake, or a margin below the one asked for: w <- keep w + rate y x."""
    if y * s.scores[0] >= m.margin and not mistaken(s.scores[0], y):
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    if m.keep != 1:
        shrink(m.w, m.keep)
    add(m.into, weight * m.rate * y, x)
    return UPDATED


@learn.form(Multiclass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Crammer and Singer's ultraconservative updates: what the label gains, the classes that are not below it lose."""
    scores, r = s.scores, rival(s.scores, y)
    if r < 0 or (scores[y] - scores[r] >= m.margin and not outdone(scores, y, r)):
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    if m.keep != 1:
        shrink(m.W, m.keep)
    step = weight * m.rate
    add(at(m.into, y), step, x)
    if m.blame == MAX:
        add(at(m.into, r), -step, x)
        return UPDATED
    floor, count, excess = scores[y] - m.margin, 0, 0.0
    for k in range(len(scores)):
        if k != y and scores[k] >= floor:
            count += 1
            excess += scores[k] - floor
    for k in range(len(scores)):
        if k != y and scores[k] >= floor:
            share = 1 / count if m.blame == UNIFORM or excess == 0 else (scores[k] - floor) / excess
            add(at(m.into, k), -step * share, x)
    return UPDATED


@learn.form(ShiftingBinary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Cavallanti et al.: w <- (1 - lambda_k) w + lambda_k y x, lambda_k = lambda / (lambda + k)."""
    if not mistaken(s.scores[0], y):
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    rate = m.lam / (m.lam + m.k[0])
    shrink(m.w, 1 - rate)
    add(m.w, rate * y, x)
    m.k[0] += 1
    return UPDATED


@learn.form(ShiftingMulticlass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    r = rival(s.scores, y)
    if r < 0 or not outdone(s.scores, y, r):
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    rate = m.lam / (m.lam + m.k[0])
    shrink(m.W, 1 - rate)
    add(at(m.W, y), rate, x)
    add(at(m.W, r), -rate, x)
    m.k[0] += 1
    return UPDATED


@parametric
class Perceptron(Classifier, Passes):
    r"""The perceptron, with its margin, shrinking, batch, incremental, pocket and averaged forms.

    On an example that is got wrong, or whose margin y w.x is below `margin`: w <- shrink w + rate y x.

    With more than two classes the label gains rate x, and the classes that score no less than it lose as much in all.

    References
    ----------
    F. Rosenblatt: The perceptron. Psychological Review 65 (1958), 386-408.
    S. I. Gallant: Perceptron-based learning algorithms. IEEE Transactions on Neural Networks 1 (1990), 179-191 (pocket).
    K. Crammer, Y. Singer: Ultraconservative online algorithms for multiclass problems. JMLR 3 (2003), 951-991.

    Examples
    --------
    >>> from onepass import Perceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> model = Perceptron(max_iter=100).fit(X, y)
    >>> model.predict(X), model.n_iter_
    (array([0, 0, 0, 1]), 6)
    """

    margin: float = parameter(0.0, NOT_NEGATIVE, text="Correct examples with a margin below this are learned from, too.")
    rate: float = parameter(1.0, POSITIVE, text="The length of a step.")
    shrink: float = parameter(
        1.0,
        Interval(Real, 0, 1, closed="right"),
        text="The share of the weights that a step keeps; below 1 the model forgets the past.",
    )
    mode: str = parameter()
    pocket: bool = parameter(
        False,
        "boolean",
        text="Whether to predict with the weights that had the longest run of examples without a step.",
    )
    multiclass: str = parameter(
        "max",
        among(*BLAME),
        text="Which classes lose: the strongest one; all that score no less than the label, by the same amount; or these in"
        " proportion to how far they are above it.",
    )
    _: KW_ONLY
    random_state: Any = parameter()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.pocket and (self._averages() or self.mode == "batch"):
            raise ValueError("pocket=True keeps one of the weights along the way: leave `average` and mode='batch' out.")

    def _fields(self, form: str) -> dict[str, Field]:
        weights = Field("classes features" if form == "multiclass" else "features", additive=True)
        return {"W" if form == "multiclass" else "w": weights, "scale": SCALE, **self._pending(form)}

    def _new_state(self, form: str, start: Start) -> State:
        state = super()._new_state(form, start)
        if self.pocket:
            state.keep_best()
        return state

    def _companions(self) -> set[str]:
        return super()._companions() | ({"pocket"} if self.pocket else set())

    def _kept(self) -> float:
        return float(self.shrink)

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        batch = self.mode == "batch"
        settings = (float(self.margin), float(self.rate), 1.0 if batch else float(self.shrink))
        if state.form == "binary":
            return Binary(arrays["w"], arrays["pending" if batch else "w"], *settings)
        return Multiclass(arrays["W"], arrays["pending" if batch else "W"], *settings, BLAME[self.multiclass])


@parametric
class ShiftingPerceptron(Classifier, LinearModel):
    r"""The shifting perceptron: it forgets, so that it can follow a concept that moves.

    On the k-th mistake, k from 0: lambda_k = lambda / (lambda + k), w <- (1 - lambda_k) w + lambda_k y x. With more than two classes
    the label's weights gain lambda_k x, and those of its strongest rival lose as much.
    There is no loss to weigh, so sample weights may only be 0 or 1.

    References
    ----------
    G. Cavallanti, N. Cesa-Bianchi, C. Gentile: Tracking the best hyperplane with a simple budget perceptron. COLT 2006, 483-498.

    Examples
    --------
    >>> from onepass import ShiftingPerceptron
    >>> model = ShiftingPerceptron(lam=2.0, fit_intercept=False).fit([[1.0, 0.0], [0.0, 3.0], [0.0, 3.0]], [0, 0, 1])
    >>> model.coef_.round(3)
    array([[-0.167,  0.5  ]])
    """

    lam: float = parameter(
        1.0,
        POSITIVE,
        text="lambda: the larger, the faster the model forgets. With 1 the weights are the mean of y x over the mistakes.",
    )

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {"w": Field("features", additive=True), "scale": SCALE, "k": Field("one", exact=True)},
        "multiclass": {"W": Field("classes features", additive=True), "scale": SCALE, "k": Field("one", exact=True)},
    }

    def _weights_are_switches(self) -> bool:
        return True

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        if state.form == "binary":
            return ShiftingBinary(arrays["w"], arrays["k"], float(self.lam))
        return ShiftingMulticlass(arrays["W"], arrays["k"], float(self.lam))
