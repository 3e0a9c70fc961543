"""Kernel learners with a budget whose step is made for it: Forgetron, Projectron and budget passive-aggressive."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from onepass.base import Classifier, Field, ModelFileError, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import COUNT, NOT_NEGATIVE, POSITIVE, among, parameter, parametric
from onepass.compiled.coefficients import now, push_all, share_out
from onepass.compiled.compiler import routine
from onepass.compiled.eviction import oldest
from onepass.compiled.losses import judge
from onepass.compiled.passive_aggressive import ONE, tau
from onepass.compiled.projection import LEAST, grow_inverse, importance, project_on, replace_by_projection, spanned
from onepass.compiled.rules import FULL, PASSIVE, TOO_LARGE, UPDATED
from onepass.compiled.support import OWN, expansion, full, has_capacity, insert, itself, occupy, shrink_all, strengthen
from onepass.kernel.model import GAMMAS, KernelModel, WithBudget

SIMPLE, NEAREST, PROJECTING = 0, 1, 2
STRATEGIES = {"simple": SIMPLE, "nearest": NEAREST, "projecting": PROJECTING}

Shrinking = namedtuple("Shrinking", "task A support progress")
Projecting = namedtuple("Projecting", "task A support threshold plus price")
Budget = namedtuple("Budget", "task A support C strategy nearest")

# The Forgetron's damage so far, and the number of its mistakes.
DAMAGE, MISTAKES = 0, 1


@expansion(Shrinking)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Figure 3 of the paper, self-tuned. A mistake joins the set; if that makes one too many, all shrink by phi, and the oldest, r,
    goes. With the coefficient delta that it had and its margin mu, that does psi = (phi delta)^2 + 2 phi delta (1 - phi mu) of
    damage; phi is as large as the damage of all steps stays below 15/32 of the mistakes."""
    margin, _ = judge(m.task, s.scores, y, s.step)
    if margin > 0:
        return PASSIVE
    if not itself(m, x, s) < np.inf:
        return TOO_LARGE
    if not has_capacity(m, x):
        return FULL
    support, progress = m.support, m.progress
    progress[MISTAKES] += 1
    if not full(m):
        return insert(m, x, 1.0, s)
    r, A = oldest(support, s.taken[0]), now(m.A)
    delta, mu = 0.0, 0.0
    for c in range(len(A)):
        delta = max(delta, np.float64(abs(A[c, r])))
        mu += A[c, r] * (support.response[c, r] + s.step[c] * s.k[r])
    mu /= delta if delta > 0 else 1.0
    a, b = m.task.length2 * delta * delta * support.itself[r] - 2 * delta * mu, 2 * delta
    c = progress[DAMAGE] - 15 / 32 * progress[MISTAKES]
    phi = 1.0
    if a + b + c > 0:  # the damage at 0 is within bounds and at 1 it is not: the parabola crosses 0 once in between
        phi = 2 * -c / (b + np.sqrt(b * b - 4 * a * c)) if c < 0 else 0.0
    progress[DAMAGE] += a * phi * phi + b * phi
    occupy(m, r, x, 0.0, s)
    strengthen(m, r, 1.0, s)
    shrink_all(m, phi, 0.0, s)
    return UPDATED


@expansion(Projecting)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Algorithms 2 and 4 of the paper. A mistake is projected on the span of the support vectors if it is near to it, or if there is
    no place for it; else it joins them. Projectron++ also learns from an example that is right by less than 1, if that is worth
    what the projection spoils; it never takes one in."""
    margin, loss = judge(m.task, s.scores, y, s.step)
    if margin > 0 and not (m.plus and loss > 0):
        return PASSIVE
    own = itself(m, x, s)
    if not own < np.inf:
        return TOO_LARGE
    if not has_capacity(m, x):
        return FULL
    delta2 = project_on(m.support, s)
    if margin > 0:
        step = gain(m, loss, m.task.length2 * (own - delta2), delta2)
        if not step > 0:
            return PASSIVE
        push_all(m.A, step, s.step, s.work[: s.taken[0]])
    elif full(m) or delta2 <= m.threshold:
        push_all(m.A, 1.0, s.step, s.work[: s.taken[0]])
    else:
        if delta2 > LEAST * own:  # else the others span it already: its place in the inverse stays empty
            grow_inverse(m.support, delta2, s)
        insert(m, x, 1.0, s)
    return UPDATED


@routine
def gain(m: Any, loss: Any, norm2: Any, delta2: Any) -> Any:
    """The step of Projectron++ along a projection of squared length norm2; 0 or less if the loss is not worth what it spoils. Without
    a budget the bound on mistakes asks for loss > delta2 / threshold (equation 10); with one, U delta is the price."""
    if norm2 <= 0:
        return 0.0
    step = min(loss / norm2, 1.0)
    if m.support.budget == 0:
        return min(step, 2 * (loss - delta2 / m.threshold) / norm2)
    return step if 2 * loss - step * norm2 >= 2 * m.price * np.sqrt(delta2) else 0.0


@expansion(Budget)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Section 3 of the paper: PA-I with the constraint that one vector r goes, and that only the coefficients of some others, V, may
    change. All V here hold x, so that f(x), the loss and tau are those of PA-I whatever r; what differs is what is left of
    A_r k(x_r, .) beyond its projection on V, and r is the vector for which that is least."""
    _, loss = judge(m.task, s.scores, y, s.step)
    if loss <= 0:
        return PASSIVE
    own = itself(m, x, s)
    if not m.task.length2 * own < np.inf:
        return TOO_LARGE
    if not has_capacity(m, x):
        return FULL
    step = tau(ONE, weight * m.C, loss, m.task.length2 * own)
    n = s.taken[0]
    if m.strategy == PROJECTING and spanned(m, x, step, s):
        return UPDATED
    if full(m):
        if m.strategy == PROJECTING:
            replace_by_projection(m, x, step, s)
        else:
            replace_by_few(m, x, step, s)
        return UPDATED
    insert(m, x, step, s)
    if m.strategy == NEAREST:
        meet(m, n, s)
    return UPDATED


@routine
def replace_by_few(m: Any, x: Any, step: Any, s: Any) -> Any:
    """The projection of the vector that goes on x alone ("simple"), or on x and its nearest neighbour ("nearest")."""
    support, n, own = m.support, s.taken[0], s.facts[OWN]
    A, r, least, on_neighbour, on_x = now(m.A), 0, np.inf, 0.0, 0.0
    for i in range(n):
        first, second = shares(m, i, own, s)
        rest = support.itself[i] - second * s.k[i]
        if m.strategy == NEAREST:
            rest -= first * support.gram[i, m.nearest[i]]
        loss = importance(A, i) * rest
        if loss < least:
            r, least, on_neighbour, on_x = i, loss, first, second
    if m.strategy == NEAREST and m.nearest[r] != r:
        s.work[:n] = 0
        s.work[m.nearest[r]] = on_neighbour
        share_out(m.A, r, s.work[:n])
    occupy(m, r, x, on_x, s)
    strengthen(m, r, step, s)
    if m.strategy == NEAREST:
        meet(m, r, s)


@routine
def shares(m: Any, i: Any, own: Any, s: Any) -> Any:
    """The coordinates of the projection of vector i: on its nearest neighbour, if that takes part, and on x."""
    alone = s.k[i] / own if own > 0 else 0.0 * own
    if m.strategy == SIMPLE or m.nearest[i] == i:
        return 0.0 * own, alone
    j = m.nearest[i]
    a, b, c, v, w = m.support.itself[j], s.k[j], own, m.support.gram[i, j], s.k[i]
    determinant = a * c - b * b
    if determinant <= LEAST * a * c:  # the neighbour is x again
        return 0.0 * own, alone
    return (c * v - b * w) / determinant, (a * w - b * v) / determinant


@routine
def meet(m: Any, i: Any, s: Any) -> Any:
    """The nearest neighbours again, now that x is in slot i."""
    support, n = m.support, s.taken[0]
    look_around(support, m.nearest, i, n)
    for j in range(n):
        if j != i:
            if m.nearest[j] in (i, j):  # its neighbour is no more, or it had none
                look_around(support, m.nearest, j, n)
            elif apart(support, j, i) < apart(support, j, m.nearest[j]):
                m.nearest[j] = i


@routine
def look_around(support: Any, nearest: Any, i: Any, n: Any) -> Any:
    """The nearest neighbour of vector i: the first of the nearest; i itself if there is no other."""
    best, least = i, np.inf
    for j in range(n):
        if j != i and apart(support, i, j) < least:
            best, least = j, apart(support, i, j)
    nearest[i] = best


@routine
def apart(support: Any, i: Any, j: Any) -> Any:
    """The squared distance of two support vectors."""
    return support.itself[i] + support.itself[j] - 2 * support.gram[i, j]


@parametric
class Forgetron(WithBudget, Classifier):
    """The Forgetron: a kernel perceptron that forgets its oldest support vector slowly enough to keep a bound on its mistakes.

    When a mistake makes one vector too many, all coefficients are multiplied by phi and the oldest vector r is dropped. With
    delta = |A_r| and mu = y_r f(x_r) that does psi = (phi delta)^2 k(x_r, x_r) + 2 phi delta (1 - phi mu) of damage. phi is the
    largest number up to 1 for which the damage of all steps so far is at most 15/32 of the number of mistakes (self-tuned).

    For more than two classes, A_r has two entries, delta for the label and -delta for its rival, and mu is the difference of their
    scores: the same argument with a removed part twice as long.

    References
    ----------
    O. Dekel, S. Shalev-Shwartz, Y. Singer: The Forgetron: a kernel-based perceptron on a budget. SIAM Journal on Computing 37
    (2008), 1342-1372.

    Examples
    --------
    >>> from onepass import Forgetron
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> Forgetron(budget=4, gamma=1.0).fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    budget: int = parameter()

    def _fields(self, form: str) -> dict[str, Field]:
        return {**super()._fields(form), "progress": Field("progress", exact=True)}

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "progress": 2}

    def _keeps(self) -> set[str]:
        return {"pairs", "response"}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        return Shrinking(self._task(state), arrays["A"], self._support(state, arrays), arrays["progress"])

    def _weights_are_switches(self) -> bool:
        return True

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS}


@parametric
class Projectron(KernelModel, Classifier):
    """The Projectron: a kernel perceptron that takes a mistake in only if the support vectors can't stand for it.

    delta^2 = k(x, x) - k' K^-1 k is the squared distance of x from the span of the support vectors. A mistake with delta^2 at most
    the threshold is projected on them, A += y K^-1 k; any other joins them. When a budget is used up, all are projected.
    Projectron++ (`plus=True`) also learns from examples with 0 < y f(x) < 1, by a projected step of at most 1, if the loss is worth
    what the projection spoils.

    References
    ----------
    F. Orabona, J. Keshet, B. Caputo: Bounded kernel-based online learning. JMLR 10 (2009), 2643-2666.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Projectron
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = Projectron(gamma=1.0, plus=True).fit(X, y)
    >>> model.support_size_ < 20
    True
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    threshold: float | None = parameter(
        None,
        NOT_NEGATIVE,
        None,
        matters=True,
        text="The squared distance up to which a mistake is projected. None: 0.1 without a budget; with one, mistakes are projected"
        " only when it is used up.",
    )
    plus: bool = parameter(
        False, "boolean", text="Whether to learn also from correct examples whose margin is less than 1 (Projectron++)."
    )
    budget: int | None = parameter(
        None,
        COUNT,
        None,
        more="None: as many as the threshold calls for, which is a finite number.",
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.plus and self.threshold == 0 and self.budget is None:
            raise ValueError("Projectron(plus=True) needs a threshold above 0, or a budget.")

    def _most(self) -> int:
        return int(self.budget or 0)

    def _keeps(self) -> set[str]:
        return {"inverse"}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        threshold = self.threshold if self.threshold is not None else 0.1 if self.budget is None else -1.0
        more = self._most() + 1
        price = np.sqrt(more / np.log(more)) / 4 if self.budget is not None else 0.0
        return Projecting(
            self._task(state), arrays["A"], self._support(state, arrays), float(threshold), bool(self.plus), float(price)
        )

    def _weights_are_switches(self) -> bool:
        return True

    def _advice(self) -> str:
        return "a budget or a larger threshold"

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS}


@parametric
class BudgetPA(WithBudget, Classifier):
    """Passive-aggressive learning on a budget (BPA): the smallest step that learns the example and gives up one support vector.

    While there is room, this is PA-I (:class:`KernelPA`). When the budget is used up, f moves by
    min 1/2 |f' - f|^2 + C loss(f') subject to one vector r having gone, over r and over the coefficients of V: of x alone ("simple",
    BPA-S), of x and the nearest neighbour of r ("nearest", BPA-NN), or of all ("projecting", BPA-P). x is in V, so that the solution
    is the projection of A_r k(x_r, .) on V, and the step tau y of PA-I; r is the vector that loses least by its projection.

    A step costs O(B) for "simple" and (nearly always) "nearest", and O(B^2) for "projecting".

    References
    ----------
    Z. Wang, S. Vucetic: Online passive-aggressive algorithms on a budget. AISTATS 2010, 908-915.

    Examples
    --------
    >>> from onepass import BudgetPA
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> model = BudgetPA(strategy="projecting", budget=4, gamma=1.0).fit(X, y)
    >>> model.predict(X)
    array([0, 1, 1, 0])
    """

    C: float = parameter(
        1.0, POSITIVE, cautious="smaller", text="Aggressiveness: the largest coefficient that one example may get."
    )
    strategy: str = parameter(
        "simple",
        among(*STRATEGIES),
        text="Which vectors V make up for the one that goes: the example alone; the example and the nearest neighbour of that vector;"
        " or all of them.",
    )
    budget: int = parameter()

    def _fields(self, form: str) -> dict[str, Field]:
        return {**super()._fields(form), "nearest": Field("pairs", whole=True)}

    def _check_support(self, state: State) -> None:
        super()._check_support(state)
        nearest = state.arrays["nearest"]
        if (nearest < 0).any() or (nearest >= len(nearest)).any():
            raise ModelFileError("The model file is damaged: its support set is not one.")

    def _guests(self) -> int:
        return int(self.strategy == "projecting")

    def _keeps(self) -> set[str]:
        return {"simple": set[str](), "nearest": {"pairs"}, "projecting": {"pairs", "inverse"}}[self.strategy]

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        strategy = STRATEGIES[self.strategy]
        return Budget(self._task(state), arrays["A"], self._support(state, arrays), float(self.C), strategy, arrays["nearest"])

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS, "C": POWERS_OF_TWO}
