"""Perceptrons.

F. Rosenblatt: The perceptron. Psychological Review 65 (1958), 386-408.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Classifier, Field
from onepass.base.parameters import NOT_NEGATIVE, POSITIVE, among, parameter, parametric
from onepass.base.state import SCALE, State
from onepass.compiled.linear import linear, move, of_many_scores
from onepass.compiled.losses import judge, loses_tie, mistaken, unrivalled
from onepass.compiled.rows import sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, rival
from onepass.compiled.scaled import shrink
from onepass.linear.passes import Passes

# into: where the steps go, which is w itself but for the batch perceptron.
Rosenblatt = namedtuple("Rosenblatt", "w task into margin rate keep")

# All classes that come within `margin` of the label, or above it, lose: the same, or in proportion to how far they do.
Blame = namedtuple("Blame", "length2 margin proportional")

linear(Rosenblatt)
of_many_scores(Blame)


@judge.form(Blame)
def _(task: Any, scores: Any, y: Any, step: Any) -> Any:
    """Crammer and Singer's ultraconservative updates: what the label gains, the classes that are not below it lose."""
    r = rival(scores, y)
    if r < 0:
        return unrivalled(scores)
    floor, count, excess = scores[y] - task.margin, 0, 0.0
    for k in range(len(scores)):
        if k != y and scores[k] >= floor:
            count += 1
            excess += scores[k] - floor
    for k in range(len(scores)):
        step[k] = 0
        if k != y and scores[k] >= floor:
            step[k] = -((scores[k] - floor) / excess if task.proportional and excess != 0 else 1 / count)
    step[y] = 1
    margin = scores[y] - scores[r]
    return margin, 1 - margin


@loses_tie.form(Blame)
def _(task: Any, scores: Any, y: Any) -> Any:
    return rival(scores, y) < y


@learn.form(Rosenblatt)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """On a mistake, or a margin below the one asked for: w <- keep w + rate y x."""
    margin, _ = judge(m.task, s.scores, y, s.step)
    if margin >= m.margin and not mistaken(m.task, margin, s.scores, y):
        return PASSIVE
    if not sqnorm(x) < np.inf:
        return TOO_LARGE
    if m.keep != 1:
        shrink(m.w, m.keep)
    move(m.task, m.into, weight * m.rate, s.step, x)
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

    margin: float = parameter(
        0.0, NOT_NEGATIVE, matters=True, text="Correct examples with a margin below this are learned from, too."
    )
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
        among("max", "uniform", "proportional"),
        text="Which classes lose: the strongest one; all that score no less than the label, by the same amount; or these in"
        " proportion to how far they are above it.",
    )
    _: KW_ONLY
    random_state: Any = parameter()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.pocket and (self._averages() or self.mode == "batch"):
            raise ValueError("pocket=True keeps one of the weights along the way: leave `average` and mode='batch' out.")

    def _fields_beside(self, form: str) -> dict[str, Field]:
        return {"scale": SCALE, **self._pending(form)}

    def _fields_of_options(self) -> dict[str, Field]:
        pocket = {"pocket": Field("3", whole=True, beside=True, fades=True)} if self.pocket else {}
        return {**super()._fields_of_options(), **pocket}

    def _kept(self) -> float:
        return float(self.shrink)

    def _task(self, state: State) -> Any:
        if state.form != "multiclass" or self.multiclass == "max":
            return super()._task(state)
        return Blame(2.0, float(self.margin), self.multiclass == "proportional")

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        batch = self.mode == "batch"
        keep = 1.0 if batch else float(self.shrink)
        return Rosenblatt(w, task, arrays["pending"] if batch else w, float(self.margin), float(self.rate), keep)
