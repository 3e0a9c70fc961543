"""Sparse passive-aggressive learning with kernels: a sample of the examples with loss becomes the support set.

J. Lu, P. Zhao, S. Hoi: Online sparse passive aggressive learning with kernels. SIAM International Conference on Data Mining 2016,
675-683.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from onepass.base import Classifier, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.compiled.book import draw
from onepass.compiled.losses import judge
from onepass.compiled.passive_aggressive import ONE, tau
from onepass.compiled.rules import FULL, PASSIVE, TOO_LARGE
from onepass.compiled.support import expansion, has_capacity, insert, itself
from onepass.kernel.model import GAMMAS, KernelModel

Sampled = namedtuple("Sampled", "task A support C alpha beta")


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


@parametric
class SparsePA(KernelModel, Classifier):
    """Sparse passive-aggressive learning with kernels (SPA): of the examples with loss, a sample becomes support vectors.

    With loss = max(0, 1 - y f(x)), an example is taken in with the probability rho = min(alpha, loss) / beta, with the coefficient
    tau y, tau = min(C / rho, loss / k(x, x)): the rarer examples are taken in, the larger their coefficients. Predictions are those of
    the plain average of all f along the way, for which the paper has its bound; `average=None` predicts with the last f.

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

    C: float = parameter(
        0.25,
        POSITIVE,
        cautious="smaller",
        text="Aggressiveness: the largest coefficient that one example may get on average (eta in the paper).",
    )
    alpha: float = parameter(1.0, POSITIVE, text="Examples whose loss is at least alpha are all equally likely to be taken in.")
    beta: float = parameter(
        4.0,
        POSITIVE,
        matters=True,
        text="How rarely examples are taken in: of those with a large loss, one in beta / alpha. At least alpha.",
    )
    _: KW_ONLY
    average: bool | str | float | None = parameter("uniform")
    random_state: Any = parameter(text="The seed of the sample.")

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
