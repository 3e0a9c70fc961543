"""Passive-aggressive learning of linear models.

K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. Journal of Machine Learning
Research 7 (2006), 551-585.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Regressor, SelfTuning, State
from onepass.base.aggressive import PassiveAggressive
from onepass.base.parameters import POSITIVE, among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.hedge import Prices, candidates
from onepass.compiled.linear import rule
from onepass.compiled.losses import CostsOfMany, CostsOfTwo
from onepass.compiled.passive_aggressive import VARIANTS, tau
from onepass.linear.model import LinearModel

PA = namedtuple("PA", "w task C variant")


@rule(PA)
def _(m: Any, loss: Any, norm2: Any, weight: Any) -> Any:
    """Sections 3 (two classes), 5 (numbers), 8 (many classes, against the best wrong label) and the cost-sensitive one: the smallest
    step after which the example would have no loss, or for PA-I and PA-II a shorter one."""
    return tau(m.variant, weight * m.C, loss, norm2)


candidates(PA, "w C")


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

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return self._hedged(PA(w, task, self._aggressiveness(), VARIANTS[self.variant]), task, arrays)

    def _task(self, state: State) -> Any:
        if self.costs is None:
            return super()._task(state)
        margins, max_loss = self._margins(state), self.update == "max_loss"
        return CostsOfMany(2.0, margins, max_loss) if state.form == "multiclass" else CostsOfTwo(1.0, margins, max_loss)

    def _weights_of(self, state: State, places: Any) -> Array:
        weights = super()._weights_of(state, places)
        return np.tensordot(state.arrays["shares"], weights, 1) if "shares" in state.arrays else weights

    def _stakes(self, task: Any) -> Any:
        if self.costs is None:
            return super()._stakes(task)
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
    >>> model = PARegressor(C=1.0, epsilon=0.0, fit_intercept=False, scale_target=False)
    >>> model.fit([[1.0, 0.0], [0.0, 2.0]], [3.0, 2.0]).coef_
    array([1., 1.])
    """

    C: float = parameter(0.03, more="In deviations of the targets a step of 1 is large: the noise of one would be followed.")
    epsilon: float = parameter()

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return PA(w, task, float(self.C), VARIANTS[self.variant])
