"""Log-linear models over n-best lists that adapt to what users correct."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base.parameters import COUNT, NOT_NEGATIVE, POSITIVE, among, parameter, parametric
from onepass.base.state import Array, Field, State
from onepass.compiled.book import DRAWS, SIZE
from onepass.structured.bayes import Adapted, Sampled
from onepass.structured.listwise import Chooser
from onepass.structured.ridge import Ridge

SHARE = Interval(Real, 0, 1, closed="both")


@parametric
class LogLinear(Chooser):
    r"""A log-linear model p(y | x) = exp(lambda.h(x, y)) / Z over the candidates of a list, which goes on learning.

    Lists are those of :class:`Reranker`: candidates with few features h, such as the scores of the models that a translation system is
    made of, and a quality mu each; y* is the best by mu.

    `method="ridge"` is discriminative ridge regression: differences of scores should be differences of quality, so that all candidates
    teach. With the rows h(y*) - h(y) of R and l = mu(y*) - mu(y), for all candidates y,

        A = keep A + R'R,    b = keep b + R'l,    lambda = (1 - alpha) lambda + alpha (A + beta I)^-1 b.

    By default that is the ridge regression of all lists so far (recursive least squares); `keep=0` is that of each list alone, as in
    the paper. With beta = 0 it is the shortest least-squares solution (Moore-Penrose). The regression is in units of mu, and lambda
    need not be: `scale=True`, which is ours, gives the solution the length that lambda has. A list costs the cube of the number of
    features.

    `method="bayes"` is Bayesian predictive adaptation: p(lambda) ~ N(coef_init, sigma^2 I) prod p(y* | x, lambda)^(1/delta) is followed
    by weight vectors that are drawn from N(coef_init, sigma^2 I), each with a share omega_s, and a list is judged by all of them:

        log omega_s += log p(y* | x, lambda_s) / delta,        p(y | x) = sum_s omega_s p(y | x, lambda_s).

    When 1 / sum omega^2 falls below half their number, they are drawn anew among themselves, with a little noise.

    References
    ----------
    P. Martinez-Gomez, G. Sanchis-Trilles, F. Casacuberta: Online adaptation strategies for statistical machine translation in
    post-editing scenarios. Pattern Recognition 45 (2012), 3193-3203.
    G. Sanchis-Trilles, F. Casacuberta: Log-linear weight optimisation via Bayesian adaptation in statistical machine translation.
    COLING 2010, posters, 1077-1085.
    J. Liu, M. West: Combined parameter and state estimation in simulation-based filtering. In: Sequential Monte Carlo methods in
    practice (2001), 197-223.

    Examples
    --------
    >>> from onepass import LogLinear
    >>> model = LogLinear()
    >>> model.learn_one([[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]], [0.3, 0.7, 0.4])
    >>> model.predict([[[0.7, 0.3], [0.4, 0.6]]])
    [1]
    >>> adapted = LogLinear("bayes", delta=0.1, coef_init=[1.0, 1.0], random_state=0)
    >>> adapted.learn_one([[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]], [0.3, 0.7, 0.4])
    >>> adapted.predict_proba([[[0.7, 0.3], [0.4, 0.6]]])[0].round(1)
    array([0.3, 0.7])
    """

    method: str = parameter(
        "ridge",
        among("ridge", "bayes"),
        matters=True,
        text="Discriminative ridge regression, or Bayesian predictive adaptation.",
    )
    _: KW_ONLY
    beta: float = parameter(0.01, NOT_NEGATIVE, matters=True, text='How much "ridge" shrinks its solution; 0: Moore-Penrose.')
    alpha: float = parameter(1.0, SHARE, matters=True, text='The share of the solution of "ridge" in the weights after a list.')
    keep: float = parameter(1.0, SHARE, matters=True, text='The share of earlier lists that "ridge" keeps at each list.')
    scale: bool = parameter(False, "boolean", text='Whether the solution of "ridge" is given the length that the weights have.')
    samples: int = parameter(500, COUNT, text='The number S of weight vectors of "bayes".')
    sigma: float = parameter(1.0, POSITIVE, matters=True, text='How far the vectors of "bayes" are from `coef_init` at first.')
    delta: float = parameter(
        1.0, POSITIVE, cautious="larger", text='The leverage of "bayes": of so many lists each is worth one.'
    )
    jitter: float = parameter(
        0.1, SHARE, text='The noise of vectors of "bayes" that are drawn anew, in standard deviations of all of them.'
    )
    average: None = field(default=None, init=False)  # alpha, keep and the shares are averages already

    @property
    def coef_(self) -> Array:
        """The weights, one a feature; of "bayes" their mean."""
        state = self._attribute("coef_")
        if self.method == "ridge":
            return super().coef_
        weights = state.arrays["centre"][1 : state.n_features + 1].copy()
        n = int(state.arrays["book"][SIZE])
        weights[:n] += self.sigma * state.arrays["W"][1 : n + 1] @ np.exp(state.arrays["log_omega"])
        return weights

    def predict_proba(self, X: Any) -> list[Array]:
        """The probabilities of the candidates of each list."""
        return [_softmax(np.asarray(scores, np.float64)) for scores in self.decision_function(X)]

    # --- what the base asks ---

    @property
    def _centre(self) -> str:  # type: ignore[override]
        return "W" if self.method == "ridge" else "centre"

    def _fields(self, form: str) -> dict[str, Field]:
        if self.method == "ridge":
            return {
                "W": Field("features one"),
                "A": Field("features features", exact=True, fades=True),
                "b": Field("features", exact=True, fades=True),
                "seen": Field("one", whole=True),
            }
        return {
            "W": Field("features samples", draw="normal"),
            "centre": Field("features"),
            "log_omega": Field("samples", start=-float(np.log(self.samples)), exact=True),
            "book": Field(str(DRAWS + 1), whole=True),
        }

    def _sizes(self) -> dict[str, int]:
        return {"samples": int(self.samples)}

    def _problem(self, state: State, W: Array) -> Any:
        if self.method == "ridge":
            return super()._problem(state, W)
        arrays = state.arrays
        return Sampled(W, arrays["centre"], float(self.sigma), arrays["log_omega"], arrays["book"], state.seed)

    def _structured(self, state: State, W: Array, averaged: Any) -> Any:
        problem, arrays = self._problem(state, W), state.arrays
        if self.method == "bayes":
            return Adapted(problem, float(self.delta), float(self.jitter))
        how = float(self.beta), float(self.alpha), float(self.keep), bool(self.scale)
        return Ridge(problem, arrays["A"], arrays["b"], arrays["seen"], *how)

    def _flaw(self, state: State) -> str | None:
        counter = state.arrays["seen" if self.method == "ridge" else "book"]
        return None if 0 <= counter[SIZE] <= state.n_features else "it has learned from features that it does not have"


def _softmax(scores: Array) -> Array:
    chances = np.exp(scores - scores.max(initial=-np.inf))
    return chances / chances.sum() if len(scores) else chances
