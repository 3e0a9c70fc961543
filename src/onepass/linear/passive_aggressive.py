"""Passive-aggressive learning of linear models.

K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. Journal of Machine Learning
Research 7 (2006), 551-585.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Field, Learner, Regressor, SelfTuning, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.average import at
from onepass.compiled.hedge import Prices, candidate
from onepass.compiled.linear import linear
from onepass.compiled.passive_aggressive import VARIANTS, tau
from onepass.compiled.rows import add, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, mistaken, rival
from onepass.linear.model import LinearModel

Binary = namedtuple("Binary", "w C variant")
Multiclass = namedtuple("Multiclass", "W C variant")
CostBinary = namedtuple("CostBinary", "w C variant margins max_loss")
CostMulticlass = namedtuple("CostMulticlass", "W C variant margins max_loss")
Regression = namedtuple("Regression", "w C variant epsilon")


linear(Binary, Multiclass, CostBinary, CostMulticlass, Regression)


@learn.form(Binary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Section 3. loss = max(0, 1 - y w.x); w += tau y x."""
    loss = 1 - y * s.scores[0]
    if loss <= 0:
        return PASSIVE
    norm2 = sqnorm(x)
    if not norm2 < np.inf:
        return TOO_LARGE
    add(m.w, y * tau(m.variant, weight * m.C, loss, norm2), x)
    return UPDATED


@learn.form(Multiclass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Section 8, against the best wrong label r. loss = max(0, 1 - (W_y - W_r).x); W_y += tau x, W_r -= tau x."""
    r = rival(s.scores, y)
    if r < 0:
        return PASSIVE
    loss = 1 - (s.scores[y] - s.scores[r])
    if loss <= 0:
        return PASSIVE
    norm2 = 2 * sqnorm(x)
    if not norm2 < np.inf:
        return TOO_LARGE
    step = tau(m.variant, weight * m.C, loss, norm2)
    add(at(m.W, y), step, x)
    add(at(m.W, r), -step, x)
    return UPDATED


@learn.form(CostBinary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Cost-sensitive classification with two labels, w being W_1 - W_0. loss = margin - y w.x, margin = sqrt(rho(y, other label))."""
    if not m.max_loss and not mistaken(s.scores[0], y):
        return PASSIVE
    loss = (m.margins[1, 0] if y > 0 else m.margins[0, 1]) - y * s.scores[0]
    if loss <= 0:
        return PASSIVE
    norm2 = sqnorm(x)
    if not norm2 < np.inf:
        return TOO_LARGE
    add(m.w, y * tau(m.variant, weight * m.C, loss, norm2), x)
    return UPDATED


@learn.form(CostMulticlass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Cost-sensitive classification, against the label q that is predicted, or the one with the largest loss.
    loss = margin - (W_y - W_q).x, margin = sqrt(rho(y, q)); W_y += tau x, W_q -= tau x."""
    margins = m.margins[y]
    q, best = 0, -np.inf
    for k in range(len(s.scores)):
        value = s.scores[k] + (margins[k] if m.max_loss else 0.0)
        if value > best:
            q, best = k, value
    loss = margins[q] - (s.scores[y] - s.scores[q])
    if loss <= 0:
        return PASSIVE
    norm2 = 2 * sqnorm(x)
    if not norm2 < np.inf:
        return TOO_LARGE
    step = tau(m.variant, weight * m.C, loss, norm2)
    add(at(m.W, y), step, x)
    add(at(m.W, q), -step, x)
    return UPDATED


@learn.form(Regression)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Section 5. loss = max(0, |y - w.x| - epsilon); w += sign(y - w.x) tau x."""
    error = y - s.scores[0]
    loss = abs(error) - m.epsilon
    if loss <= 0:
        return PASSIVE
    norm2 = sqnorm(x)
    if not norm2 < np.inf:
        return TOO_LARGE
    add(m.w, np.sign(error) * tau(m.variant, weight * m.C, loss, norm2), x)
    return UPDATED


@candidate.form(Binary)
def _(m: Any, i: Any) -> Any:
    return Binary(at(m.w, i), m.C[i], m.variant)


@candidate.form(Multiclass)
def _(m: Any, i: Any) -> Any:
    return Multiclass(at(m.W, i), m.C[i], m.variant)


@candidate.form(CostBinary)
def _(m: Any, i: Any) -> Any:
    return CostBinary(at(m.w, i), m.C[i], m.variant, m.margins, m.max_loss)


@candidate.form(CostMulticlass)
def _(m: Any, i: Any) -> Any:
    return CostMulticlass(at(m.W, i), m.C[i], m.variant, m.margins, m.max_loss)


@parametric
class PassiveAggressive(Learner):
    """The parameters of a passive-aggressive step."""

    C: float = parameter(
        1.0, POSITIVE, text='Aggressiveness: how far one example may move the model. Without effect for "hard".'
    )
    variant: str = parameter(
        "I",
        among(*VARIANTS),
        text='How C limits the step: not at all ("hard"), as an upper bound ("I"), or by making every step smaller ("II").',
    )

    def _weights_are_switches(self) -> bool:
        return self.variant == "hard"

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {} if self.variant == "hard" else {"C": POWERS_OF_TWO}


@parametric
class PAClassifier(Classifier, SelfTuning, PassiveAggressive, LinearModel):
    r"""Passive-aggressive classification: the smallest step that would have got the example right.

    For two classes, with loss = max(0, 1 - y w.x), the weights move by w += tau y x, where tau is

    * loss / |x|^2 for the variant "hard" (PA),
    * min(C, loss / |x|^2) for "I" (PA-I),
    * loss / (|x|^2 + 1/(2C)) for "II" (PA-II).

    For more classes the label's weights and those of its strongest rival r move apart, with
    loss = max(0, 1 - (W_y - W_r).x) and 2 |x|^2 in place of |x|^2.

    Mistakes may have different costs, rho(y, r) for r in place of y. Then loss = sqrt(rho(y, q)) - (W_y - W_q).x for one label q,
    and W_y and W_q move apart: q is the label that is predicted, so that only mistakes have loss (`update="prediction"`), or the one
    that makes the loss largest (`update="max_loss"`). The largest loss with rho = 1 for every mistake is the loss without costs. For
    two classes w stands for W_1 - W_0, with loss = sqrt(rho(y, other)) - y w.x and |x|^2: where two rows move by tau x, their
    difference moves by twice that, so that C is worth, with costs or without, as much as C/2 for two rows.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    >>> from onepass import PAClassifier
    >>> model = PAClassifier()
    >>> model.learn_one({"free": 1, "offer": 1}, "spam")
    >>> model.learn_one({"meeting": 1, "noon": 1}, "ham")
    >>> model.learn_one({"free": 1, "prize": 1}, "spam")
    >>> model.predict_one({"free": 1, "noon": 0})
    'spam'
    >>> PAClassifier(variant="II").fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).predict([[2.0, 1.0]])
    array([1])

    To miss class 1 costs four times as much as to see it where it is not:

    >>> X, y = [[1.0], [1.0], [1.0], [1.0]], [0, 1, 0, 1]
    >>> PAClassifier(C=0.1, costs=[[0, 1], [4, 0]], update="max_loss").fit(X, y).predict([[1.0]])
    array([1])

    A concept with much noise asks for small steps, and C="auto" finds that out while it learns:

    >>> from onepass import datasets
    >>> model = PAClassifier(C="auto").fit(*datasets.hyperplane(5000, drift=0.0, noise=0.2, random_state=0))
    >>> bool(model.C_[model.C_shares_.argmax()] < 0.05)
    True
    """

    C: float | str = parameter(  # type: ignore[assignment]
        1.0,
        POSITIVE,
        among("auto"),
        more='"auto" makes a search unnecessary: seven values, from 1/1024 to 4 divided by the mean |x|^2 so far, learn side by side,'
        " and their losses (or costs) so far decide on the share that each has in the scores.",
    )
    costs: Any = parameter(
        None,
        "array-like",
        None,
        kind="array-like of shape (K, K)",
        text="The cost of each mistake, not negative: a row for each true label, a column for each predicted one, in the order of"
        " `classes_`; the diagonal is 0. The classes have to be known from the start. None: no costs, and `update` has no effect.",
    )
    update: str = parameter(
        "prediction",
        among("prediction", "max_loss"),
        text="Which wrong label the weights move away from if there are costs: the predicted one, or the one with the largest loss.",
    )

    _candidates: ClassVar[tuple[float, ...]] = tuple(4.0**k for k in range(-5, 2))
    _relative: ClassVar[bool] = True
    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {"w": Field("features", additive=True)},
        "multiclass": {"W": Field("classes features", additive=True)},
    }

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        step: Any = self._aggressiveness(), VARIANTS[self.variant]
        Record: Any = Binary if state.form == "binary" else Multiclass
        if self.costs is not None:
            step = *step, self._margins(state), self.update == "max_loss"
            Record = CostBinary if state.form == "binary" else CostMulticlass
        return self._hedged(Record(arrays["w" if state.form == "binary" else "W"], *step), state.form, arrays)

    def _weights_now(self) -> Array:
        weights = super()._weights_now()
        return np.tensordot(self.C_shares_, weights, 1) if "shares" in self._attribute("coef_").arrays else weights

    def _stakes(self, form: str) -> Any:
        if self.costs is None:
            return super()._stakes(form)
        costs = np.asarray(self.costs, np.float64)
        return Prices(costs / max(costs.max(), np.finfo(float).tiny))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._hedges() and self.variant == "hard":
            raise ValueError('C="auto" is for the variants "I" and "II": without a limit to its steps, "hard" has no C.')
        if self.costs is None:
            return
        try:
            costs = np.asarray(self.costs, np.float64)
        except (TypeError, ValueError):
            raise ValueError("`costs` must be a matrix of numbers.") from None
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
            raise ValueError(
                f"`costs` must be a square matrix, with a row and a column for each class; got shape {costs.shape}."
            )
        if not np.isfinite(costs).all() or (costs < 0).any():
            raise ValueError("`costs` must be finite and not negative.")
        if costs.diagonal().any():
            raise ValueError("`costs` must have a diagonal of 0: to be right costs nothing.")

    def _margins(self, state: State) -> Array:
        """The margins that the costs ask for."""
        assert state.classes is not None
        if state.grow_classes:
            raise ValueError(
                "`costs` need classes that are known from the start, in the order of its rows: pass `classes`, or call `fit` without"
                " labels that grow."
            )
        costs = np.asarray(self.costs, np.float64)
        if len(costs) != len(state.classes):
            raise ValueError(
                f"`costs` is a matrix for {len(costs)} classes, but there are {len(state.classes)}: {state.classes.tolist()}."
            )
        return np.ascontiguousarray(np.sqrt(costs))


@parametric
class PARegressor(Regressor, PassiveAggressive, LinearModel):
    r"""Passive-aggressive regression: the smallest step that would have met the target within epsilon.

    With loss = max(0, |y - w.x| - epsilon), the weights move by w += sign(y - w.x) tau x, with the tau of :class:`PAClassifier`.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    >>> from onepass import PARegressor
    >>> model = PARegressor(epsilon=0.0, fit_intercept=False)
    >>> model.fit([[1.0, 0.0], [0.0, 2.0]], [3.0, 2.0]).coef_
    array([1., 1.])
    """

    epsilon: float = parameter()

    _forms: ClassVar[dict[str, dict[str, Field]]] = {"regression": {"w": Field("features", additive=True)}}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Regression(arrays["w"], float(self.C), VARIANTS[self.variant], float(self.epsilon))
