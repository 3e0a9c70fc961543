"""Kernel learners whose support set grows by an example at a time, with a budget or without.

The perceptron, passive-aggressive and gradient steps of linear models, with k(x, x) in place of |x|^2. When a budget is used up, its
policy says which support vector goes:

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
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from onepass.base import Classifier, Regressor, State
from onepass.base.aggressive import PassiveAggressive
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import parameter, parametric
from onepass.compiled.losses import judge
from onepass.compiled.passive_aggressive import VARIANTS, tau
from onepass.compiled.rules import FULL, PASSIVE, TOO_LARGE, UPDATED
from onepass.compiled.support import expansion, has_capacity, insert, itself, shrink_all
from onepass.kernel.model import GAMMAS, Budgeted, Shrinking

Perceptron = namedtuple("Perceptron", "task A support")
PA = namedtuple("PA", "task A support C variant")
Gradient = namedtuple("Gradient", "task A support rate lam")

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


@expansion(PA)
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


@parametric
class KernelPerceptron(Budgeted, Classifier):
    """The perceptron in the space of a kernel: every mistake becomes a support vector.

    f(x) = sum_i y_i k(x_i, x) over the mistakes so far; an example with y f(x) <= 0 joins them. With more than two classes, the label
    gets +1 and its strongest rival -1.

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


@parametric
class _KernelPA(Budgeted, PassiveAggressive):
    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        step = float(self.C), VARIANTS[self.variant]
        return PA(self._task(state), arrays["A"], self._support(state, arrays), *step)

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS} | super()._grid


@parametric
class KernelPA(_KernelPA, Classifier):
    """Passive-aggressive classification in the space of a kernel.

    :class:`PAClassifier` with k(x, x) in place of |x|^2: an example with loss = max(0, 1 - y f(x)) becomes a support vector of the
    coefficient tau y, where tau is

    * loss / k(x, x) for the variant "hard" (PA),
    * min(C, loss / k(x, x)) for "I" (PA-I),
    * loss / (k(x, x) + 1/(2C)) for "II" (PA-II).

    With more than two classes the label gets tau and its strongest rival -tau, with 2 k(x, x) in place of k(x, x).

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    >>> from onepass import KernelPA
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> KernelPA(gamma=1.0).fit(X, y).predict(X)
    array([0, 1, 1, 0])

    The oldest of three support vectors goes when a fourth comes:

    >>> KernelPA(gamma=1.0, budget=3).fit(X, y).support_
    array([3, 1, 2])
    """


@parametric
class KernelPARegressor(_KernelPA, Regressor):
    """Passive-aggressive regression in the space of a kernel.

    With loss = max(0, |y - f(x)| - epsilon), an example with loss becomes a support vector of the coefficient
    sign(y - f(x)) tau, with the tau of :class:`KernelPA`.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import KernelPARegressor
    >>> x = np.linspace(-3, 3, 60)[:, None]
    >>> model = KernelPARegressor(epsilon=0.01, gamma=1.0, max_iter=20).fit(x, np.sinc(x[:, 0]))
    >>> bool(np.abs(model.predict(x) - np.sinc(x[:, 0])).max() < 0.05)
    True
    """

    epsilon: float = parameter()
    _: KW_ONLY
    policy: str = parameter(
        more='Numbers have no classes: "redundant" then drops the vector that contributes least, with the smallest'
        " A_i^2 k(x_i, x_i)."
    )


@parametric
class KernelOGD(Shrinking, Budgeted, Classifier):
    """Online gradient descent on the hinge loss in the space of a kernel (NORMA).

    f <- (1 - rate lam) f + rate y k(x, .), the second part only if y f(x) < 1. With lam = 0 nothing shrinks: plain kernel gradient
    descent. With lam > 0 a coefficient that has shrunk to a millionth of a fresh one is let go: the set holds the last
    14 / (rate lam) examples at the most. The paper's truncation to the last vectors is `budget` with the policy "oldest".

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

    rate: float = parameter()
    lam: float = parameter()

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Gradient(self._task(state), arrays["A"], self._support(state, arrays), float(self.rate), float(self.lam))

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS, "rate": POWERS_OF_TWO}
