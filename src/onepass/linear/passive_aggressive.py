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

from onepass.base import Classifier, Field, Regressor
from onepass.base.learner import POWERS_OF_TWO
from onepass.compiled.average import at
from onepass.compiled.linear import linear
from onepass.compiled.passive_aggressive import VARIANTS, tau
from onepass.compiled.rows import add, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, rival
from onepass.linear.model import LinearModel

Binary = namedtuple("Binary", "w C variant")
Multiclass = namedtuple("Multiclass", "W C variant")
Regression = namedtuple("Regression", "w C variant epsilon")


linear(Binary, Multiclass, Regression)


@learn.form(Binary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Section 3. loss = max(0, 1 - y w.x); w += tau y x."""
    loss = 1 - y * s.scores[0]
    if loss <= 0:
        return PASSIVE
    norm2 = sqnorm(x)
    if not np.isfinite(norm2):
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
    if not np.isfinite(norm2):
        return TOO_LARGE
    step = tau(m.variant, weight * m.C, loss, norm2)
    add(at(m.W, y), step, x)
    add(at(m.W, r), -step, x)
    return UPDATED


@learn.form(Regression)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Section 5. loss = max(0, |y - w.x| - epsilon); w += sign(y - w.x) tau x."""
    error = y - s.scores[0]
    loss = abs(error) - m.epsilon
    if loss <= 0:
        return PASSIVE
    norm2 = sqnorm(x)
    if not np.isfinite(norm2):
        return TOO_LARGE
    add(m.w, np.sign(error) * tau(m.variant, weight * m.C, loss, norm2), x)
    return UPDATED


@dataclass(eq=False, repr=False)
class _PassiveAggressive(LinearModel):
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
class PAClassifier(Classifier, _PassiveAggressive):
    r"""Passive-aggressive classification: the smallest step that would have got the example right.

    For two classes, with loss = max(0, 1 - y w.x), the weights move by w += tau y x, where tau is

    * loss / |x|^2 for the variant "hard" (PA),
    * min(C, loss / |x|^2) for "I" (PA-I),
    * loss / (|x|^2 + 1/(2C)) for "II" (PA-II).

    For more classes the label's weights and those of its strongest rival r move apart, with
    loss = max(0, 1 - (W_y - W_r).x) and 2 |x|^2 in place of |x|^2.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: how far one example may move the weights. Without effect for "hard".
    variant : {"hard", "I", "II"}, default="I"
        How an example that does not fit is traded against the weights so far.
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
    grow : bool, default=None
        Whether new features and labels may appear at any time. None: with dicts and `learn_one` they may.

    Attributes
    ----------
    coef_, intercept_ : arrays
        The weights: (1, d) and (1,) for two classes, (K, d) and (K,) for more.
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
    """

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {"w": Field("features", additive=True)},
        "multiclass": {"W": Field("classes features", additive=True)},
    }
    def _record(self, form: str, arrays: Mapping[str, Any]) -> Any:
        if form == "binary":
            return Binary(arrays["w"], float(self.C), VARIANTS[self.variant])
        return Multiclass(arrays["W"], float(self.C), VARIANTS[self.variant])


@dataclass(eq=False, repr=False)
class PARegressor(Regressor, _PassiveAggressive):
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

    _forms: ClassVar[dict[str, dict[str, Field]]] = {"regression": {"w": Field("features", additive=True)}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def _record(self, form: str, arrays: Mapping[str, Any]) -> Any:
        return Regression(arrays["w"], float(self.C), VARIANTS[self.variant], float(self.epsilon))
