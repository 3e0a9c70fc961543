"""Kernel learners whose support set grows by an example at a time, with a budget or without.

The perceptron, passive-aggressive and gradient steps of linear models, with k(x, x) in place of |x|^2. When a budget is used up, its
policy says which support vector makes place:

* "stop": none; the model learns no more (Stoptron);
* "random": any (G. Cavallanti, N. Cesa-Bianchi, C. Gentile: Tracking the best hyperplane with a simple budget perceptron.
  Machine Learning 69 (2007), 143-167);
* "oldest": the one that came first (the least recent budget perceptron of the same paper);
* "redundant": the one that is served best by the others (K. Crammer, J. Kandola, Y. Singer: Online classification on a budget.
  NIPS 2003).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from onepass.base import Classifier, Regressor, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.compiled.losses import judge
from onepass.compiled.passive_aggressive import ONE, VARIANTS, tau
from onepass.compiled.rules import FULL, PASSIVE, TOO_LARGE, UPDATED
from onepass.compiled.support import draw, expansion, has_capacity, insert, itself, shrink_all
from onepass.kernel.model import GAMMAS, Budgeted, KernelModel, check_shrinking

Perceptron = namedtuple("Perceptron", "task A support")
PassiveAggressive = namedtuple("PassiveAggressive", "task A support C variant")
Gradient = namedtuple("Gradient", "task A support rate lam")
Sampled = namedtuple("Sampled", "task A support C alpha beta")

# A coefficient that has shrunk to this share of a fresh one says nothing more.
NEGLIGIBLE = 1e-6


@expansion(Perceptron)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """A mistake is taken in with the coefficient y; a margin of 0 is one."""
    margin, _ = judge(m.task, s.scores, y, s.step)
    if margin > 0:
        return PASSIVE
    if not itself(m, x, s) < np.inf:
        return TOO_LARGE
    return insert(m, x, 1.0, s) if has_capacity(m, x) else FULL


@expansion(PassiveAggressive)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Figure 1 of the paper, the step in the space of the kernel: an example with loss is taken in with tau y."""
    _, loss = judge(m.task, s.scores, y, s.step)
    if loss <= 0:
        return PASSIVE
    norm2 = m.task.length2 * itself(m, x, s)
    if not norm2 < np.inf:
        return TOO_LARGE
    return insert(m, x, tau(m.variant, weight * m.C, loss, norm2), s) if has_capacity(m, x) else FULL


@expansion(Gradient)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Equations 11 to 13: all coefficients shrink by 1 - rate lam, and an example with loss is taken in with rate y."""
    _, loss = judge(m.task, s.scores, y, s.step)
    if not itself(m, x, s) < np.inf:
        return TOO_LARGE
    if loss > 0 and not has_capacity(m, x):
        return FULL
    if m.lam > 0:
        shrink_all(m, 1 - m.rate * m.lam, m.rate * NEGLIGIBLE, s)
    if loss > 0:
        return max(insert(m, x, m.rate * weight, s), UPDATED if m.lam > 0 else PASSIVE)
    return UPDATED if m.lam > 0 else PASSIVE


@expansion(Sampled)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Algorithm 1 of the paper: an example is taken in with the probability rho = min(alpha, loss) / beta, and then counts 1/rho as
    much, up to what would make its loss 0."""
    _, loss = judge(m.task, s.scores, y, s.step)
    if loss <= 0:
        return PASSIVE
    norm2 = m.task.length2 * itself(m, x, s)
    if not norm2 < np.inf:
        return TOO_LARGE
    if not has_capacity(m, x):
        return FULL
    rho = min(m.alpha, np.float64(loss)) / m.beta
    if draw(m.support) >= rho:
        return PASSIVE
    return insert(m, x, tau(ONE, weight * m.C / rho, loss, norm2), s)


@dataclass(eq=False, repr=False)
class KernelPerceptron(Budgeted, Classifier):
    """The perceptron in the space of a kernel: every mistake becomes a support vector.

    f(x) = sum_i y_i k(x_i, x) over the mistakes so far; an example with y f(x) <= 0 joins them. With more than two classes, the label
    gets +1 and its strongest rival -1.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "chi2", "intersection", "precomputed"} or function
        x.z; (gamma x.z + coef0)^degree; exp(-gamma |x - z|^2); exp(-gamma |x - z|_1); tanh(gamma x.z + coef0); x.z / (|x| |z|);
        exp(-gamma sum (x - z)^2 / (x + z)) and sum min(x, z), both for features that are not negative. "precomputed": row t of X
        holds the kernel values of example t with all examples. A function takes two 1-d arrays and gives a number; it is compiled
        by Numba.
    gamma : float, default=None
        The scale of the kernel. None: 1 / n_features, of the features that are known at the first example.
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=1.0
        The constant of "poly" and "sigmoid".
    budget : int, default=None
        The most support vectors that are held. None: any number, and learning becomes slower with every mistake.
    policy : {"stop", "random", "oldest", "redundant"}, default="oldest"
        Who makes place when the budget is used up: no one, any vector, the one that came first, or the one that is served best by
        the others.
    random_state : int, RandomState or None, default=None
        The seed of the policy "random".
    fit_intercept : bool, default=False
        Whether to add 1 to the kernel.
    average : bool, "uniform" or float, default=None
        Predict with an average of the coefficients along the way, as in :class:`PAClassifier`. A vector that is dropped for the
        budget takes its share of the average with it: where vectors come and go quickly, the average knows little of any.
    classes, class_weight, calibrate, max_iter, grow
        As in :class:`PAClassifier`.

    Attributes
    ----------
    support_vectors_, dual_coef_, support_, support_size_
        The support vectors, their coefficients, the numbers of the examples that they were, and how many they are.
    classes_, n_features_in_, t_, updates_, n_iter_
        As in :class:`PAClassifier`.

    References
    ----------
    Y. Freund, R. Schapire: Large margin classification using the perceptron algorithm. Machine Learning 37 (1999), 277-296.

    Examples
    --------
    >>> from onepass import KernelPerceptron
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> model = KernelPerceptron(gamma=1.0).fit(X, y)
    >>> model.predict(X)
    array([0, 1, 1, 0])
    >>> model.support_size_
    4
    """

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Perceptron(self._task(state), arrays["A"], self._support(state, arrays))

    def _weights_are_switches(self) -> bool:
        return True

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS}


@dataclass(eq=False, repr=False)
class _PassiveAggressive(Budgeted):
    C: float = 1.0
    variant: str = "I"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "variant": [StrOptions(set(VARIANTS))],
    }

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        step = float(self.C), VARIANTS[self.variant]
        return PassiveAggressive(self._task(state), arrays["A"], self._support(state, arrays), *step)

    def _weights_are_switches(self) -> bool:
        return self.variant == "hard"

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS} | ({} if self.variant == "hard" else {"C": POWERS_OF_TWO})


@dataclass(eq=False, repr=False)
class KernelPA(_PassiveAggressive, Classifier):
    """Passive-aggressive classification in the space of a kernel.

    :class:`PAClassifier` with k(x, x) in place of |x|^2: an example with loss = max(0, 1 - y f(x)) becomes a support vector of the
    coefficient tau y, where tau is

    * loss / k(x, x) for the variant "hard" (PA),
    * min(C, loss / k(x, x)) for "I" (PA-I),
    * loss / (k(x, x) + 1/(2C)) for "II" (PA-II).

    With more than two classes the label gets tau and its strongest rival -tau, with 2 k(x, x) in place of k(x, x).

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the most that one example may count. Without effect for "hard".
    variant : {"hard", "I", "II"}, default="I"
        How an example that does not fit is traded against the model so far.
    kernel, gamma, degree, coef0, budget, policy, random_state, fit_intercept, average
        As in :class:`KernelPerceptron`.
    classes, class_weight, calibrate, max_iter, grow
        As in :class:`PAClassifier`.

    Attributes
    ----------
    support_vectors_, dual_coef_, support_, support_size_
        The support vectors, their coefficients, the numbers of the examples that they were, and how many they are.
    classes_, n_features_in_, t_, updates_, n_iter_
        As in :class:`PAClassifier`.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    >>> from onepass import KernelPA
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> KernelPA(gamma=1.0).fit(X, y).predict(X)
    array([0, 1, 1, 0])

    The oldest of three support vectors makes place for a fourth:

    >>> KernelPA(gamma=1.0, budget=3).fit(X, y).support_
    array([3, 1, 2])
    """


@dataclass(eq=False, repr=False)
class KernelPARegressor(_PassiveAggressive, Regressor):
    """Passive-aggressive regression in the space of a kernel.

    With loss = max(0, |y - f(x)| - epsilon), an example with loss becomes a support vector of the coefficient
    sign(y - f(x)) tau, tau as in :class:`KernelPA`.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the most that one example may count. Without effect for "hard".
    variant : {"hard", "I", "II"}, default="I"
        How an example that does not fit is traded against the model so far.
    epsilon : float, default=0.1
        The error that is not worth a step.
    kernel, gamma, degree, coef0, budget, policy, random_state, fit_intercept, average
        As in :class:`KernelPerceptron`. There are no labels by which one could be redundant: with the policy "redundant", the
        vector that says least goes, the one of the smallest A_i^2 k(x_i, x_i).
    max_iter, grow
        As in :class:`PAClassifier`.

    Attributes
    ----------
    support_vectors_, dual_coef_, support_, support_size_
        The support vectors, their coefficients, the numbers of the examples that they were, and how many they are.
    n_features_in_, t_, updates_, n_iter_
        As in :class:`PAClassifier`.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import KernelPARegressor
    >>> x = np.linspace(-3, 3, 200)[:, None]
    >>> model = KernelPARegressor(epsilon=0.01, gamma=1.0, max_iter=20).fit(x, np.sinc(x[:, 0]))
    >>> bool(np.abs(model.predict(x) - np.sinc(x[:, 0])).max() < 0.05)
    True
    """

    epsilon: float = 0.1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }


@dataclass(eq=False, repr=False)
class KernelOGD(Budgeted, Classifier):
    """Online gradient descent on the hinge loss in the space of a kernel (NORMA).

    f <- (1 - rate lam) f + rate y k(x, .), the second part only if y f(x) < 1. With lam = 0 nothing shrinks: plain kernel gradient
    descent. With lam > 0 a coefficient that has shrunk to a millionth of a fresh one is let go: the set holds the last
    14 / (rate lam) examples at the most. The paper's truncation to the last vectors is `budget` with the policy "oldest".

    Parameters
    ----------
    rate : float, default=0.5
        The step size.
    lam : float, default=0.0
        The regularisation lambda; rate lam must be less than 1.
    kernel, gamma, degree, coef0, budget, policy, random_state, fit_intercept, average
        As in :class:`KernelPerceptron`.
    classes, class_weight, calibrate, max_iter, grow
        As in :class:`PAClassifier`.

    Attributes
    ----------
    support_vectors_, dual_coef_, support_, support_size_
        The support vectors, their coefficients, the numbers of the examples that they were, and how many they are.
    classes_, n_features_in_, t_, updates_, n_iter_
        As in :class:`PAClassifier`.

    References
    ----------
    J. Kivinen, A. Smola, R. Williamson: Online learning with kernels. IEEE Transactions on Signal Processing 52 (2004), 2165-2176.

    Examples
    --------
    >>> from onepass import KernelOGD
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> KernelOGD(gamma=1.0).fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    rate: float = 0.5
    lam: float = 0.0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rate": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="left")],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_shrinking(self.rate, self.lam)

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Gradient(self._task(state), arrays["A"], self._support(state, arrays), float(self.rate), float(self.lam))

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS, "rate": POWERS_OF_TWO}


@dataclass(eq=False, repr=False)
class SparsePA(KernelModel, Classifier):
    """Sparse passive-aggressive learning with kernels (SPA): of the examples with loss, a sample becomes support vectors.

    With loss = max(0, 1 - y f(x)), an example is taken in with the probability rho = min(alpha, loss) / beta, with the coefficient
    tau y, tau = min(C / rho, loss / k(x, x)): rare, and so much the larger. Predictions are those of the plain average of all f along
    the way, for which the paper has its bound; `average=None` predicts with the last.

    Parameters
    ----------
    C : float, default=0.25
        Aggressiveness: the most that one example may count on average (eta in the paper).
    alpha : float, default=1.0
        The loss from which on examples are equally likely to be taken in.
    beta : float, default=4.0
        How rarely: beta / alpha examples of large loss for each support vector. At least alpha.
    kernel, gamma, degree, coef0, fit_intercept
        As in :class:`KernelPerceptron`.
    average : bool, "uniform" or float, default="uniform"
        As in :class:`PAClassifier`.
    random_state : int, RandomState or None, default=None
        The seed of the sample.
    classes, class_weight, calibrate, max_iter, grow
        As in :class:`PAClassifier`.

    Attributes
    ----------
    support_vectors_, dual_coef_, support_, support_size_
        The support vectors, their coefficients, the numbers of the examples that they were, and how many they are.
    classes_, n_features_in_, t_, updates_, n_iter_
        As in :class:`PAClassifier`.

    References
    ----------
    J. Lu, P. Zhao, S. Hoi: Online sparse passive aggressive learning with kernels. SIAM International Conference on Data Mining
    2016, 675-683.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import SparsePA
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = SparsePA(gamma=1.0, random_state=0).fit(X, y)
    >>> model.support_size_ < model.t_ / 10
    True
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    C: float = 0.25
    alpha: float = 1.0
    beta: float = 4.0
    average: bool | str | float | None = field(default="uniform", kw_only=True)
    random_state: Any = field(default=None, kw_only=True)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.beta < self.alpha:
            raise ValueError(f"beta must be at least alpha, got beta={self.beta} and alpha={self.alpha}.")

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        shape = float(self.C), float(self.alpha), float(self.beta)
        return Sampled(self._task(state), arrays["A"], self._support(state, arrays), *shape)

    def _advice(self) -> str:
        return "a larger beta"

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS, "C": POWERS_OF_TWO}
