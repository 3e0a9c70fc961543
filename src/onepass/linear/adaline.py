"""Adaline, the adaptive linear element.

B. Widrow, M. E. Hoff: Adaptive switching circuits. IRE WESCON Convention Record (1960), 96-104.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Field, Regressor, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.compiled.linear import linear, move, of_many_scores, of_one_score
from onepass.compiled.losses import judge
from onepass.compiled.rows import sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn
from onepass.linear.passes import Passes

# into: where the steps go, which is w itself but for the batch mode.
WidrowHoff = namedtuple("WidrowHoff", "w task into rate")

# The error itself, for labels -1 and 1 as for numbers; or one unit a class, whose target is 1 for the label and -1 for all others.
Error = namedtuple("Error", "length2")
Units = namedtuple("Units", "length2")

linear(WidrowHoff)
of_one_score(Error)
of_many_scores(Units)


@judge.form(Error)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    step[0] = y - scores[0]
    return 1 - abs(step[0]), abs(step[0])


@judge.form(Units)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    most = scores.dtype.type(0)
    for k in range(len(scores)):
        step[k] = (1 if k == y else -1) - scores[k]
        most = max(most, abs(step[k]))
    return 1 - most, most


@learn.form(WidrowHoff)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """w += rate (y - w.x) x"""
    _, loss = judge(m.task, s.scores, y, s.step)
    if loss == 0:
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    move(m.task, m.into, weight * m.rate, s.step, x)
    return UPDATED


@parametric
class _Adaline(Passes):
    rate: float = parameter(
        0.01,
        POSITIVE,
        cautious="smaller",
        text="The length of a step. Steps above 2 / |x|^2 make the error grow: scale the features.",
    )
    mode: str = parameter()
    _: KW_ONLY
    random_state: Any = parameter()

    loss: ClassVar[str] = "squared"

    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"rate": POWERS_OF_TWO}

    def _fields_beside(self, form: str) -> dict[str, Field]:
        return self._pending(form)

    def _task(self, state: State) -> Any:
        return Units(1.0) if state.form == "multiclass" else Error(1.0)

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return WidrowHoff(w, task, arrays["pending"] if self.mode == "batch" else w, float(self.rate))


@parametric
class Adaline(_Adaline, Classifier):
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
class AdalineRegressor(_Adaline, Regressor):
    r"""The adaptive linear element for numbers: least mean squares, the Widrow-Hoff rule.

    w += rate (y - w.x) x, for every example.

    References
    ----------
    B. Widrow, M. E. Hoff: Adaptive switching circuits. IRE WESCON Convention Record (1960), 96-104.

    Examples
    --------
    >>> from onepass import AdalineRegressor
    >>> model = AdalineRegressor(rate=0.5, fit_intercept=False, scale_target=False)
    >>> model.fit([[1.0, 0.0], [0.0, 1.0]], [2.0, 1.0]).coef_
    array([1. , 0.5])
    """
