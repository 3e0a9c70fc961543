"""Local online learning: a linear model for each of some prototypes, and one that they share.

Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You: One-pass online learning: a local approach. Pattern Recognition 51 (2016), 346-357.
The idea is theirs: passive-aggressive hyperplanes on clusters that are found online, with a common component. The form is ours.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from onepass.base import Classifier, Field, State
from onepass.base.parameters import COUNT, POSITIVE, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.average import at, workspace
from onepass.compiled.compiler import routine
from onepass.compiled.linear import vector, width
from onepass.compiled.losses import judge
from onepass.compiled.passive_aggressive import ONE, tau
from onepass.compiled.prototypes import Prototypes, differs, gap2, in_use, take_in
from onepass.compiled.rows import add, dot, sqnorm
from onepass.compiled.rules import PASSIVE, TOO_LARGE, UPDATED, learn, score, score_again, scratch

# Row 0 of the weights is u, row k + 1 is v_k. A step of tau moves u by common tau x, and v_k by local tau x.
Local = namedtuple("Local", "w task prototypes C common local")

# nearest: the prototype that is nearest, one entry; distance2: how far it is, squared.
Scratch = namedtuple("Scratch", "scores step nearest distance2")


@routine
def find(prototypes: Any, x: Any, s: Any) -> Any:
    """The nearest prototype, the first among equals; 0 before there is any."""
    best, least = 0, np.inf
    for k in range(in_use(prototypes)):
        distance2 = gap2(prototypes, x, k)
        if distance2 < least:
            best, least = k, distance2
    s.nearest[0], s.distance2[0] = best, least


@routine
def join(prototypes: Any, x: Any, s: Any) -> Any:
    """Sequential k-means: the first rows that differ become prototypes, every other row moves the nearest one."""
    k, held = s.nearest[0], in_use(prototypes)
    if held < len(prototypes.counts) and (held == 0 or differs(prototypes, k, s.distance2[0])):
        k = held
    take_in(prototypes, x, k)


@scratch.form(Local)
def _(m: Any) -> Any:
    n = width(m.task, m.w)
    return Scratch(workspace(m.w, n), workspace(m.w, n), np.zeros(1, np.int64), np.zeros(1))


@score.form(Local)
def _(m: Any, x: Any, s: Any) -> Any:
    find(m.prototypes, x, s)
    score_again(m, x, s, s)


@score_again.form(Local)
def _(m: Any, x: Any, s: Any, spare: Any) -> Any:
    """(u + v_k).x"""
    for c in range(len(spare.scores)):
        models = vector(m.task, m.w, c)
        spare.scores[c] = dot(at(models, 0), x) + dot(at(models, s.nearest[0] + 1), x)


@learn.form(Local)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """loss = max(0, 1 - y (u + v_k).x); u += tau y x, v_k += tau/lam y x. Then the prototypes take x in."""
    norm2 = m.task.length2 * (m.common + m.local) * sqnorm(x)
    if not norm2 < np.inf:
        return TOO_LARGE
    _, loss = judge(m.task, s.scores, y, s.step)
    if loss > 0:
        length = tau(ONE, weight * m.C, loss, norm2)
        for c in range(len(s.step)):
            if s.step[c] != 0:
                models = vector(m.task, m.w, c)
                add(at(models, 0), m.common * length * s.step[c], x)
                add(at(models, s.nearest[0] + 1), m.local * length * s.step[c], x)
    join(m.prototypes, x, s)
    return UPDATED if loss > 0 else PASSIVE


@parametric
class LocalPA(Classifier):
    r"""Local online learning (LOL): passive-aggressive linear models around prototypes, with a component that all of them share.

    The score of x is (u + v_k).x, where p_k is the prototype nearest to x. An example of loss = max(0, 1 - y (u + v_k).x) solves

        min 1/2 |u - u_t|^2 + lam/2 |v_k - v_k,t|^2 + C loss,

    that is, with tau = min(C, loss / ((1 + 1/lam) |x|^2)): u += tau y x and v_k += tau/lam y x. Without the shared component (I-LOL)
    tau = min(C, loss / |x|^2) and v_k += tau y x. For more classes each has its own u and v_k, and those of the label and of its
    strongest rival move apart, with twice the norm.

    Prototypes come from sequential k-means: the first examples that differ from each other, then p_k += (x - p_k) / n_k. Until all are
    found, the example that starts one is scored and learned by the model of its nearest neighbour.

    Distances count, so scale the features first (:class:`onepass.StandardScaler`, or to [-1, 1]). The weight of an example counts for
    the step, not for the prototypes.

    References
    ----------
    Z. Zhou, W.-S. Zheng, J.-F. Hu, Y. Xu, J. You: One-pass online learning: a local approach. Pattern Recognition 51 (2016),
    346-357.

    Examples
    --------
    Stripes, which no single line can tell apart:

    >>> import numpy as np
    >>> from onepass import LocalPA
    >>> X = np.random.default_rng(0).uniform(-2, 2, (4000, 2))
    >>> y = np.floor(X[:, 0]) % 2
    >>> model = LocalPA(20, average=True).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > 0.9
    True
    """

    prototypes: int = parameter(50, COUNT, matters=True, text="The number of prototypes, and so of local models.")
    C: float = parameter(
        1.0, POSITIVE, cautious="smaller", text="Aggressiveness: the upper bound of tau, and so of how far one example moves u."
    )
    shared: bool = parameter(True, "boolean", text="Whether the local models share the component u.")
    lam: float = parameter(
        0.3,
        POSITIVE,
        matters=True,
        text="How reluctant the local models are to move, compared with the shared one. Without effect if nothing is shared.",
    )

    _means: ClassVar[dict[str, Field]] = {
        "sums": Field("prototypes features", exact=True, foreseen=True),
        "squares": Field("prototypes", exact=True),
        "counts": Field("prototypes", exact=True),
    }
    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {**_means, "w": Field("models features", additive=True)},
        "multiclass": {**_means, "W": Field("classes models features", additive=True)},
    }

    @property
    def prototypes_(self) -> Array:
        """The prototypes so far, (k, d)."""
        state = self._attribute("prototypes_")
        counts = state.arrays["counts"]
        held = np.count_nonzero(counts)
        return state.arrays["sums"][:held, 1 : state.n_features + 1] / counts[:held, None]

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"C": tuple(4.0**k for k in range(-5, 2))} | ({"lam": (0.1, 0.3, 1.0, 3.0)} if self.shared else {})

    def _sizes(self) -> dict[str, int]:
        return {"prototypes": self.prototypes, "models": self.prototypes + 1}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        prototypes = Prototypes(arrays["sums"], arrays["squares"], arrays["counts"])
        steps = (1.0, 1 / float(self.lam)) if self.shared else (0.0, 1.0)
        w = arrays["w" if state.form == "binary" else "W"]
        return Local(w, self._task(state), prototypes, float(self.C), *steps)
