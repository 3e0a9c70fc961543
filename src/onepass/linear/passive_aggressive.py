"""Passive-aggressive learning of linear models.

K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. Journal of Machine Learning
Research 7 (2006), 551-585.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from onepass.base import Classifier, Learner, Regressor, SelfTuning, State
from onepass.base.learner import POWERS_OF_TWO
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


@dataclass(eq=False, repr=False)
class PassiveAggressive(Learner):
    """The parameters of a passive-aggressive step."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "variant": [StrOptions(set(VARIANTS))],
    }

    C: float = 1.0
    variant: str = "I"

    def _weights_are_switches(self) -> bool:
        return self.variant == "hard"

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {} if self.variant == "hard" else {"C": POWERS_OF_TWO}


@dataclass(eq=False, repr=False)
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

    Parameters
    ----------
    C : float or "auto", default=1.0
        Aggressiveness: how far one example may move the weights. Without effect for "hard". "auto" needs no search: seven values, from
        1/1024 to 4 divided by the mean |x|^2 so far, learn side by side, and each has a share in the scores that its losses so far (or
        costs) decide on.
    variant : {"hard", "I", "II"}, default="I"
        How an example that does not fit is traded against the weights so far.
    costs : array-like of shape (K, K), default=None
        The cost of each mistake, not negative: a row for each true label, a column for each predicted one, in the order of
        `classes_`; the diagonal is 0. The classes have to be known from the start. None: no costs, and `update` is without effect.
    update : {"prediction", "max_loss"}, default="prediction"
        Which wrong label the weights move away from, where there are costs.
    fit_intercept : bool, default=True
        Whether to append the constant feature 1 to each row.
    average : bool, "uniform" or float, default=None
        Predict with an average of the weights along the way: True is polynomial decay, which forgets the start; "uniform" is the
        plain mean; a number is a half-life in examples, for streams that drift.
    classes : array-like, default=None
        The labels, where they are known beforehand.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced" follows the running counts.
    calibrate : bool, default=False
        Learn probabilities along the way: `predict_proba` by an online Platt step on the scores from before each example.
    max_iter : int, default=1
        The most passes that `fit` makes over the data.
    grow : bool, "features" or "labels", default=None
        Whether new features and labels may come up at any time: both, neither, or one of them. None: labels may in `learn_one`,
        dicts and streams, features in dicts and LIBSVM text.

    Attributes
    ----------
    coef_, intercept_ : arrays
        The weights: (1, d) and (1,) for two classes, (K, d) and (K,) for more.
    C_, C_shares_ : arrays
        The values of C that learn side by side, and the shares that they have.
    classes_ : array
        The labels, sorted.
    n_features_in_, t_, updates_, n_iter_ : int
        The number of features, of examples learned from, of examples that had loss, and of passes.

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

    C: float | str = 1.0  # type: ignore[assignment]
    costs: Any = None
    update: str = "prediction"

    _candidates: ClassVar[tuple[float, ...]] = tuple(4.0**k for k in range(-5, 2))
    _relative: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [*PassiveAggressive._parameter_constraints["C"], StrOptions({"auto"})],
        "costs": ["array-like", None],
        "update": [StrOptions({"prediction", "max_loss"})],
    }

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return self._hedged(PA(w, task, self._aggressiveness(), VARIANTS[self.variant]), task, arrays)

    def _task(self, state: State) -> Any:
        if self.costs is None:
            return super()._task(state)
        margins, max_loss = self._margins(state), self.update == "max_loss"
        return CostsOfMany(2.0, margins, max_loss) if state.form == "multiclass" else CostsOfTwo(1.0, margins, max_loss)

    def _weights_now(self) -> Array:
        weights = super()._weights_now()
        return np.tensordot(self.C_shares_, weights, 1) if "shares" in self._attribute("coef_").arrays else weights

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


@dataclass(eq=False, repr=False)
class PARegressor(Regressor, PassiveAggressive, LinearModel):
    r"""Passive-aggressive regression: the smallest step that would have met the target within epsilon.

    With loss = max(0, |y - w.x| - epsilon), the weights move by w += sign(y - w.x) tau x, tau as in :class:`PAClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: how far one example may move the weights. Without effect for "hard".
    variant : {"hard", "I", "II"}, default="I"
        How an example that does not fit is traded against the weights so far.
    epsilon : float, default=0.1
        The error that is not worth a step.
    fit_intercept, average, max_iter, grow
        As in :class:`PAClassifier`.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (d,) and (1,)
        The weights.
    n_features_in_, t_, updates_, n_iter_ : int
        The number of features, of examples learned from, of examples that had loss, and of passes.

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

    epsilon: float = 0.1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def _linear_record(self, w: Any, task: Any, arrays: Mapping[str, Any]) -> Any:
        return PA(w, task, float(self.C), VARIANTS[self.variant])
