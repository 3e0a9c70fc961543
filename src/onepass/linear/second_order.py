"""Second-order learning of linear models: a mean w and a covariance Sigma, which says how well each direction is known.

Every rule looks at the margin m and the variance v = x' Sigma x of an example, and answers with two numbers: w moves by
alpha y Sigma x, and the precision Sigma^-1 grows by c x x'. Two rules (SOP, NAROW) are stated by theta = Sigma^-1 w instead: theta
moves by g y x. With a diagonal covariance the rest of the precision is dropped, as Dredze et al. (2008) do.

More than two classes share one covariance. The label's weights and those of its strongest rival r move apart, so that the variance of
the margin (w_y - w_r).x is 2 v; `rows` is the number of weight vectors that move, 1 or 2.
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
from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.base.state import Array, State
from onepass.compiled.average import at, workspace
from onepass.compiled.compiler import routine
from onepass.compiled.covariance import Apart, Diagonal, Full, renew, shift, spread, tighten, unfold, variance
from onepass.compiled.linear import vector, weigh, width
from onepass.compiled.losses import ManyClasses, Targets, TwoClasses, judge, mistaken
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, rival, score, scratch
from onepass.compiled.verb import verb
from onepass.linear.model import LinearModel

Gaussian = namedtuple("Gaussian", "w task cov rule")
Dual = namedtuple("Dual", "w task cov rule")


# --- what a rule says ---


@verb(0)
def awake(rule: Any, loss: Any, wrong: Any) -> Any:
    """Whether an example is worth a look at its variance."""


@verb(0)
def step(rule: Any, margin: Any, loss: Any, v: Any, rows: Any, weight: Any) -> Any:
    """alpha and c for an example of variance v; both are 0 if nothing changes."""


@verb(0)
def dual_step(rule: Any, margin: Any, wrong: Any, v: Any, rows: Any) -> Any:
    """g and c for an example of variance v; both are 0 if nothing changes."""


# --- the same for all rules ---


@routine
def largest(scores: Any) -> Any:
    """Beyond this, c times the square of a large number overflows; a precision that grows by so much is certainty anyway."""
    return np.sqrt(np.finfo(scores.dtype).max)


@verb(0)
def along(task: Any, w: Any, scores: Any, y: Any) -> Any:
    """The weights that a step moves: one vector, or two that move apart."""


@along.form(TwoClasses)
@along.form(Targets)
def _(task: Any, w: Any, scores: Any, y: Any) -> Any:
    return w


@along.form(ManyClasses)
def _(task: Any, w: Any, scores: Any, y: Any) -> Any:
    return Apart(at(w, y), at(w, rival(scores, y)))


@verb(0)
def sign(task: Any, step: Any) -> Any:
    """The sign of a step along them."""


@sign.form(TwoClasses)
@sign.form(Targets)
def _(task: Any, step: Any) -> Any:
    return step[0]


@sign.form(ManyClasses)
def _(task: Any, step: Any) -> Any:
    return 1


@scratch.form(Gaussian)
@scratch.form(Dual)
def _(m: Any) -> Any:
    n = width(m.task, m.w)
    return spread(m.cov, workspace(m.w, n), workspace(m.w, n))


@score.form(Gaussian)
@score.form(Dual)
def _(m: Any, x: Any, s: Any) -> Any:
    weigh(m.task, m.w, x, s.scores)


@learn.form(Gaussian)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    margin, loss = judge(m.task, s.scores, y, s.step)
    if not awake(m.rule, loss, mistaken(m.task, margin, s.scores, y)):
        return PASSIVE
    v = variance(m.cov, x, s)
    if not m.task.length2 * v < np.inf:
        return TOO_LARGE
    alpha, c = step(m.rule, margin, loss, v, m.task.length2, weight) if v > 0 else (0.0, 0.0)
    if alpha == 0 and c == 0:
        return PASSIVE
    shift(m.cov, along(m.task, m.w, s.scores, y), sign(m.task, s.step) * alpha, min(c, largest(s.scores)), x, s)
    return UPDATED if alpha > 0 else PASSIVE


@learn.form(Dual)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """theta_y += g x, and theta_r -= g x for the rival; all weights follow the covariance."""
    margin, loss = judge(m.task, s.scores, y, s.step)
    wrong = mistaken(m.task, margin, s.scores, y)
    if not awake(m.rule, loss, wrong):
        return PASSIVE
    v = variance(m.cov, x, s)
    if not m.task.length2 * v < np.inf:
        return TOO_LARGE
    g, c = dual_step(m.rule, margin, wrong, v, m.task.length2) if v > 0 else (0.0, 0.0)
    if g == 0 and c == 0:
        return PASSIVE
    c = min(c, largest(s.scores))
    unfold(m.cov, s)
    for k in range(len(s.scores)):
        renew(m.cov, vector(m.task, m.w, k), g * s.step[k], c, (s.scores[k], v), x, s)
    tighten(m.cov, c, x, s)
    return UPDATED if g > 0 else PASSIVE


# --- what their learners have in common ---


@parametric
class SecondOrder(LinearModel):
    """Weights with a covariance."""

    _: KW_ONLY
    covariance: str = parameter(
        "diagonal",
        among("diagonal", "full"),
        matters=True,
        text="A variance for each weight, or a covariance for each pair of weights: a step takes O(nnz) or O(d^2).",
    )

    _offers: ClassVar[dict[str, Any]] = {
        "r": parameter(1.0, POSITIVE, cautious="larger", text="How much noise to expect; the larger, the smaller the steps."),
    }

    _Record: ClassVar[Any] = Gaussian

    def _rule(self, arrays: Mapping[str, Any]) -> Any:
        """The rule's record."""
        raise NotImplementedError

    def _fields_beside(self, form: str) -> dict[str, Field]:
        # Many classes share a covariance, and the margin over the rival has twice the variance of one class's score.
        axes = "features features" if self.covariance == "full" else "features"
        return {"Sigma": Field(axes, start=1.0, turn="halve", fades=True)}

    def _new_state(self, form: str, start: Start) -> State:
        try:
            return super()._new_state(form, start)
        except MemoryError:
            raise MemoryError(
                f"A full covariance of {start.n_features:,} features does not fit into memory: use covariance='diagonal'."
            ) from None

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        covariance = Full(arrays["Sigma"]) if self.covariance == "full" else Diagonal(arrays["Sigma"])
        return self._Record(w, task, covariance, self._rule(arrays))

    def _watched(self, state: State) -> dict[str, Array]:
        return {**super()._watched(state), "Sigma": self.covariance_}

    @property
    def covariance_(self) -> Array:
        """The covariance of the weights, which all classes share: (d+1,) variances, or (d+1, d+1). The intercept comes first."""
        state = self._attribute("covariance_")
        n = state.n_features + 1
        if self.covariance == "diagonal":
            return state.arrays["Sigma"][:n].copy()
        factor = state.arrays["Sigma"][:n, :n]
        U = np.tril(factor, -1).T + np.eye(n, dtype=factor.dtype)
        root = U * np.sqrt(factor.diagonal())
        return root @ root.T  # symmetric to the bit


@parametric
class SecondOrderClassifier(Classifier, SecondOrder):
    """A classifier with a covariance."""

    _offers: ClassVar[dict[str, Any]] = {
        "confidence": parameter(
            0.7,
            Interval(Real, 0.5, 1, closed="neither"),
            cautious="smaller",
            text="The probability with which each example is to be right, above 0.5 and below 1.",
        ),
        "multiclass": parameter(
            "exact",
            among("exact", "libol"),
            text="For more than two classes: the exact solution, for which the margin of the label over its strongest rival has the"
            " variance 2 x' Sigma x, or LIBOL's approximation.",
        ),
    }
