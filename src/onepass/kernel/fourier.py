"""Gradient descent on random Fourier features, which stand for the RBF kernel without any support vectors.

J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu: Large scale online kernel learning. JMLR 17 (2016), 1-43.

Angles are kept in turns: the frequencies are N(0, I) numbers that are drawn feature by feature, and a row is scaled by sqrt(2 gamma)
and by 1 / (2 pi) before it is projected on them. With an intercept the constant feature turns all angles of a component alike, which
changes no product z.z'.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from math import pi
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Field, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import COUNT, POSITIVE, parameter, parametric
from onepass.compiled.average import workspace
from onepass.compiled.circle import circle
from onepass.compiled.compiler import routine
from onepass.compiled.linear import move, weigh, width
from onepass.compiled.losses import judge
from onepass.compiled.rows import DenseRow, project, scaled
from onepass.compiled.rules import PASSIVE, UPDATED, learn, score, score_again, scratch
from onepass.kernel.model import GAMMAS

Fourier = namedtuple("Fourier", "w task U gamma rate")

# turns: the angles; z: their cosines, then their sines.
Scratch = namedtuple("Scratch", "scores step turns z")


@routine
def embed(U: Any, gamma: Any, x: Any, s: Any) -> Any:
    """s.z = z(x)"""
    D = len(s.turns)
    project(U, scaled(x, np.sqrt(2 * gamma[0]) / (2 * pi)), s.turns)
    circle(s.turns, s.z[:D], s.z[D:], 1 / np.sqrt(D))


@routine
def features(x: Any, s: Any) -> Any:
    """z as a row, with the constant feature of x."""
    return DenseRow(s.z, x.bias, s.z.dtype.type(1))


@scratch.form(Fourier)
def _(m: Any) -> Any:
    D, n = m.U.shape[1], width(m.task, m.w)
    return Scratch(workspace(m.w, n), workspace(m.w, n), workspace(m.w, D), workspace(m.w, 2 * D))


@score.form(Fourier)
def _(m: Any, x: Any, s: Any) -> Any:
    embed(m.U, m.gamma, x, s)
    score_again(m, x, s, s)


@score_again.form(Fourier)
def _(m: Any, x: Any, s: Any, spare: Any) -> Any:
    weigh(m.task, m.w, features(x, s), spare.scores)


@learn.form(Fourier)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Algorithm 1, with the hinge loss: w += rate y z if y w.z < 1."""
    _, loss = judge(m.task, s.scores, y, s.step)
    if loss <= 0:
        return PASSIVE
    move(m.task, m.w, weight * m.rate, s.step, features(x, s))
    return UPDATED


@parametric
class FOGD(Classifier):
    r"""Fourier online gradient descent: an RBF kernel by random features, in constant time and memory.

    With D frequencies u_i drawn from N(0, 2 gamma I),

        z(x) = (cos u_1.x, ..., cos u_D.x, sin u_1.x, ..., sin u_D.x) / sqrt(D),

    so that z(x).z(x') is close to exp(-gamma |x - x'|^2), the nearer the larger D, with an error of about 1 / sqrt(D). On these
    features a linear model learns by gradient descent on the hinge loss: w += rate y z where y w.z < 1. For more classes the label's
    weights and those of its strongest rival r move apart, W_y += rate z and W_r -= rate z, where (W_y - W_r).z < 1.

    Distances are what counts, so scale the features first (:class:`onepass.StandardScaler`, or to [-1, 1]).

    References
    ----------
    J. Lu, S. C. H. Hoi, J. Wang, P. Zhao, Z.-Y. Liu: Large scale online kernel learning. JMLR 17 (2016), 1-43.
    A. Rahimi, B. Recht: Random features for large-scale kernel machines. NIPS 20 (2007), 1177-1184.

    Examples
    --------
    A disc and what is around it:

    >>> import numpy as np
    >>> from onepass import FOGD
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = (X**2).sum(axis=1) < 0.5
    >>> model = FOGD(components=50, gamma=2.0, average=True, random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.95
    True
    """

    components: int = parameter(400, COUNT, matters=True, text="The number D of frequencies; z has 2 D features.")
    rate: float = parameter(0.5, POSITIVE, cautious="smaller", text="The length of a step, as |z| = 1.")
    gamma: float | None = parameter(
        None,
        POSITIVE,
        None,
        matters=True,
        text="How narrow the kernel is. None: 1 / n_features, of the features that are known at the first example.",
    )
    _: KW_ONLY
    fit_intercept: bool = parameter(False, text="Whether to put the constant feature 1 beside z.")
    random_state: Any = parameter(text="The seed of the frequencies.")

    _frequencies: ClassVar[dict[str, Field]] = {
        "U": Field("features components", draw="normal"),
        "gamma": Field("one", exact=True),
    }
    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {**_frequencies, "w": Field("bases", additive=True)},
        "multiclass": {**_frequencies, "W": Field("classes bases", additive=True)},
    }
    _grid: ClassVar[dict[str, tuple[Any, ...]]] = {"gamma": GAMMAS, "rate": POWERS_OF_TWO}

    def _sizes(self) -> dict[str, int]:
        return {"components": self.components, "bases": 2 * self.components + 1}

    def _prepare(self, state: State) -> None:
        state.arrays["gamma"][0] = self._width_for(state)

    def _width_for(self, state: State) -> float:
        return 1.0 / max(state.known, 1) if self.gamma is None else float(self.gamma)

    def _check_unchanged(self, state: State) -> None:
        super()._check_unchanged(state)
        if state.arrays["gamma"][0] != self._width_for(state):
            raise ValueError(
                "`gamma` can't change once learning has begun: the weights are for the old one. Call fit to start anew."
            )

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        w = arrays["w" if state.form == "binary" else "W"]
        return Fourier(w, self._task(state), arrays["U"], arrays["gamma"], float(self.rate))
