"""Online gradient descent with kernels on a budget, and on the span of landmarks."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Classifier, State
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import COUNT, POSITIVE, among, parameter, parametric
from onepass.compiled.book import CAME, MORE_ENTRIES, draw
from onepass.compiled.coefficients import amplify, now, push, push_all, rescale, share_out
from onepass.compiled.compiler import routine
from onepass.compiled.kernels import norm
from onepass.compiled.losses import judge
from onepass.compiled.projection import coordinates, fix_landmarks, importance, replace_by_projection, spanned
from onepass.compiled.rules import FULL, PASSIVE, TOO_LARGE, UPDATED
from onepass.compiled.stores import compare, cramped, entries, mix_slots, slot_row
from onepass.compiled.support import expansion, full, has_capacity, insert, itself, occupy, release, shrink_all, strengthen
from onepass.compiled.verb import verb
from onepass.kernel.model import GAMMAS, Shrinking, WithBudget

GOLDEN = (5**0.5 - 1) / 2

# What parameter selection tries for the regularisation.
LAMBDAS = tuple(10.0**-k for k in range(2, 8))

Sampling = namedtuple("Sampling", "task A support rate lam limit weighted")
Pegasos = namedtuple("Pegasos", "task A support lam")
Merging = namedtuple("Merging", "task A support lam")
Landmarks = namedtuple("Landmarks", "task A support rate rank")


@expansion(Sampling)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Algorithm 1 of the paper. What a dropped vector said is given to the others, so that f is the same on average."""
    _, loss = judge(m.task, s.scores, y, s.step)
    if not itself(m, x, s) < np.inf:
        return TOO_LARGE
    if loss > 0 and not has_capacity(m, x):
        return FULL
    i, n = s.taken[0], s.taken[0]
    if loss > 0 and full(m):
        i = leave_out(m, n, s)
    if m.lam > 0:
        shrink_all(m, 1 - m.rate * m.lam, 0.0, s)
    if loss <= 0:
        return UPDATED if m.lam > 0 else PASSIVE
    occupy(m, i, x, 0.0, s)
    strengthen(m, i, m.rate * weight, s)
    largest, A = 0.0, now(m.A)
    for j in range(s.taken[0]):
        largest = max(largest, np.sqrt(np.float64(importance(A, j))))
    if largest > m.rate * m.limit:
        shrink_all(m, m.rate * m.limit / largest, 0.0, s)
    return UPDATED


@routine
def leave_out(m: Any, n: Any, s: Any) -> Any:
    """Draw the vector to be dropped, and give its part to the others: each A_i is divided by the probability that i stays."""
    A, itself_ = now(m.A), m.support.itself
    total = 0.0
    for i in range(n):
        total += np.sqrt(np.float64(importance(A, i) * itself_[i]))
    drops = 0.0  # the sum of the probabilities, which is 1 but where a vector is so large that it always stays
    for i in range(n):
        s.work[i] = 1.0 / n
        if m.weighted and total > 0:
            s.work[i] = max(1 - (n - 1) * np.sqrt(np.float64(importance(A, i) * itself_[i])) / total, 0.0)
        drops += s.work[i]
    aim, r = draw(m.support) * drops, n - 1
    for i in range(n):
        aim -= s.work[i]
        if aim < 0:
            r = i
            break
    for i in range(n):
        stays = 1 - s.work[i] / drops
        if i != r and stays > 0:
            amplify(m.A, i, 1 / stays)
    return r


@verb(0)
def maintain(m: Any, x: Any, step: Any, s: Any) -> None:
    """Take x in, with `step` times the direction, where the budget is used up."""


@verb(0)
def prepared(m: Any, x: Any, s: Any) -> Any:
    """Whether there is room for what `maintain` does."""


@expansion(Pegasos)
@expansion(Merging)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Algorithm 1 of the paper with the steps of Pegasos: all coefficients shrink by 1 - 1/t, and an example with loss is taken in
    with y / (lam t). Where that makes one vector too many, the budget is maintained."""
    _, loss = judge(m.task, s.scores, y, s.step)
    if not itself(m, x, s) < np.inf:
        return TOO_LARGE
    if loss > 0 and not (has_capacity(m, x) and prepared(m, x, s)):
        return FULL
    t = m.support.book[CAME] + 1
    shrink_all(m, 1 - 1 / t, 0.0, s)
    step = weight / (m.lam * t)
    if loss <= 0 or (len(m.support.inverse) > 0 and spanned(m, x, step, s)):
        return UPDATED
    if full(m):
        maintain(m, x, step, s)
    else:
        insert(m, x, step, s)
    return UPDATED


@prepared.form(Pegasos)
def _(m: Any, x: Any, s: Any) -> Any:
    return True


@maintain.form(Pegasos)
def _(m: Any, x: Any, step: Any, s: Any) -> Any:
    """Removal, or projection of the vector that loses least by it."""
    if len(m.support.inverse) > 0:
        replace_by_projection(m, x, step, s)
    else:
        i = least_important(m, s)
        occupy(m, i, x, 0.0, s)
        strengthen(m, i, step, s)


@routine
def least_important(m: Any, s: Any) -> Any:
    """The slot of the smallest |A_i|^2 k(x_i, x_i), the oldest of those that are equal but for rounding, as the vectors that were
    never merged are."""
    A, support, best, least = now(m.A), m.support, 0, np.inf
    for i in range(s.taken[0]):
        size = importance(A, i) * support.itself[i]
        if size < least * (1 - 1e-6) or (size < least * (1 + 1e-6) and support.born[i] < support.born[best]):
            best, least = i, size
    return best


@prepared.form(Merging)
def _(m: Any, x: Any, s: Any) -> Any:
    m.support.book[MORE_ENTRIES] = cramped(m.support.store, s.taken[0], entries(x)) if full(m) else 0
    return m.support.book[MORE_ENTRIES] == 0


@maintain.form(Merging)
def _(m: Any, x: Any, step: Any, s: Any) -> Any:
    """Section 6.3: the least important vector p and another, q, become z = h x_p + (1 - h) x_q. With k = k(x_p, x_q), the coefficient
    of z that spoils least is A_z = A_p k^((1-h)^2) + A_q k^(h^2), and the best h makes |A_z|^2 largest. q is chosen by a good guess
    of h, which is then worked out for it."""
    support, n, bias2 = m.support, s.taken[0], x.bias * x.bias
    p = least_important(m, s)
    occupy(m, n, x, 0.0, s)  # the guest's slot: the set is not larger, as long as its book does not say so
    push(m.A, n, step, s.step)
    A, q, least = now(m.A), -1, np.inf
    for i in range(n + 1):
        if i != p:
            pp, pq, qq, k = importance(A, p), product(A, p, i), importance(A, i), support.gram[p, i] - bias2
            loss = pp + qq + 2 * k * pq - guess(pp, pq, qq, k)[1]
            if loss < least:
                q, least = i, loss
    k = support.gram[p, q] - bias2
    h = best_mix(importance(A, p), product(A, p, q), importance(A, q), k)
    mix_slots(support.store, p, h, q)
    rescale(m.A, p, k ** ((1 - h) * (1 - h)))
    s.work[: n + 1] = 0
    s.work[p] = k ** (h * h)
    share_out(m.A, q, s.work[: n + 1])
    z = slot_row(support.store, p, x.bias)
    support.store.norms[p] = norm(support.kernel, z)
    compare(support.kernel, support.store, z, support.store.norms[p], s.work[: n + 1])
    for i in range(n + 1):
        support.gram[p, i] = support.gram[i, p] = s.work[i]
    support.gram[p, p] = support.itself[p] = 1 + bias2
    support.born[p] = max(support.born[p], support.born[q])
    release(m, q, s)


@routine
def product(A: Any, i: Any, j: Any) -> Any:
    total = A.dtype.type(0)
    for c in range(len(A)):
        total += A[c, i] * A[c, j]
    return total


@routine
def merged(pp: Any, pq: Any, qq: Any, k: Any, h: Any) -> Any:
    """|A_z|^2"""
    u, v = k ** ((1 - h) * (1 - h)), k ** (h * h)
    return u * u * pp + 2 * u * v * pq + v * v * qq


@routine
def guess(pp: Any, pq: Any, qq: Any, k: Any) -> Any:
    """A good h, and its |A_z|^2: the mean of the two by their strengths, or, if that is better, the stronger one as it is."""
    h, value = (1.0, pp + k * k * qq + 2 * k * pq) if pp > qq else (0.0, k * k * pp + qq + 2 * k * pq)
    if qq > 0:
        mean = np.sqrt(pp) / (np.sqrt(pp) + np.sqrt(qq))
        if merged(pp, pq, qq, k, mean) > value:
            return mean, merged(pp, pq, qq, k, mean)
    return h, value


@routine
def best_mix(pp: Any, pq: Any, qq: Any, k: Any) -> Any:
    """h in [0, 1] for which |A_z|^2 is largest: by golden section around the guess and on both sides of it."""
    start, largest = guess(pp, pq, qq, k)
    best = start
    for side in range(2):
        low, high = (0.0, start) if side == 0 else (start, 1.0)
        for _ in range(24):
            a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            if merged(pp, pq, qq, k, a) > merged(pp, pq, qq, k, b):
                high = b
            else:
                low = a
        h = 0.5 * (low + high)
        value = merged(pp, pq, qq, k, h)
        if value > largest:
            best, largest = h, value
    return best


@expansion(Landmarks)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Algorithm 2 of the paper. Until the budget is used up, kernel gradient descent. From then on the landmarks stay, and an example
    is what they see of it, z = D^-1/2 V' k with z.z' ~ k(x, x'). A step w += rate y z is A += rate y K^-1 k, K^-1 of rank k."""
    _, loss = judge(m.task, s.scores, y, s.step)
    if loss <= 0:
        return PASSIVE
    if not itself(m, x, s) < np.inf:
        return TOO_LARGE
    n = s.taken[0]
    if full(m):
        coordinates(m.support, s.k[:n], s.work)
        push_all(m.A, m.rate * weight, s.step, s.work[:n])
        return UPDATED
    if not has_capacity(m, x):
        return FULL
    insert(m, x, m.rate * weight, s)
    if full(m):
        fix_landmarks(m, m.rank)
    return UPDATED


@parametric
class BOGD(Shrinking, WithBudget, Classifier):
    """Online gradient descent on a budget (BOGD): a random support vector makes room, and the others make up for it.

    While there is room, this is :class:`KernelOGD`. When the budget is used up, a support vector is dropped with the probability p_i,
    the others are divided by 1 - p_i, so that f is the same on average, and the example joins them with rate y. p_i is 1/B ("uniform"),
    or the smaller, the more a vector contributes ("weighted", BOGD++): 1 - p_i is proportional to |A_i| sqrt(k(x_i, x_i)). No
    coefficient may be larger than rate limit: then all are scaled down.

    References
    ----------
    P. Zhao, J. Wang, P. Wu, R. Jin, S. Hoi: Fast bounded online gradient descent algorithms for scalable kernel-based online
    learning. ICML 2012.

    Examples
    --------
    >>> from onepass import BOGD
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> BOGD(budget=4, gamma=1.0).fit(X, y).predict(X)
    array([0, 1, 1, 0])
    """

    rate: float = parameter(0.2)
    lam: float = parameter(1e-4)
    sampling: str = parameter("uniform", among("uniform", "weighted"), text="How the vector to be dropped is drawn.")
    budget: int = parameter()
    limit: float = parameter(
        10.0,
        Interval(Real, 1, None, closed="left"),
        text="The largest coefficient, as a multiple of that of a new support vector (gamma in the paper).",
    )
    _: KW_ONLY
    random_state: Any = parameter(text="The seed of the draws.")

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        steps = float(self.rate), float(self.lam), float(self.limit), self.sampling == "weighted"
        return Sampling(self._task(state), arrays["A"], self._support(state, arrays), *steps)

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS, "rate": POWERS_OF_TWO}


@parametric
class BSGD(WithBudget, Classifier):
    """Stochastic gradient descent on a budget (BSGD): Pegasos with kernels, and care for what is lost when the budget is used up.

    f <- (1 - 1/t) f + y k(x, .) / (lam t), the second part only if y f(x) < 1: steps towards the least of
    lam/2 |f|^2 + mean hinge loss. A vector too many is maintained away:

    * "remove": the one with the smallest |A_i|^2 k(x_i, x_i) is dropped;
    * "project": one is projected on all others, the one that loses least by it; O(B^2);
    * "merge" (with kernel="rbf" only): the one with the smallest |A_p| and another become one, h x_p + (1 - h) x_q, such that as little
      as possible of their sum is lost.

    References
    ----------
    Z. Wang, K. Crammer, S. Vucetic: Breaking the curse of kernelization: budgeted stochastic gradient descent for large-scale SVM
    training. JMLR 13 (2012), 3103-3131.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import BSGD
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1500, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> model = BSGD(lam=0.001, budget=20, gamma=4.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    lam: float = parameter(1e-4, POSITIVE, matters=True, text="The regularisation lambda.")
    maintenance: str = parameter(
        "merge", among("remove", "project", "merge"), text="What is done when there is a vector too many."
    )
    budget: int = parameter()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.maintenance == "merge" and self.kernel != "rbf":
            raise ValueError('maintenance="merge" is for kernel="rbf" only: take "project" or "remove" with another kernel.')

    def _guests(self) -> int:
        return int(self.maintenance != "remove")

    def _keeps(self) -> set[str]:
        return {"remove": set[str](), "project": {"pairs", "inverse"}, "merge": {"pairs"}}[self.maintenance]

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        Record = Merging if self.maintenance == "merge" else Pegasos
        return Record(self._task(state), arrays["A"], self._support(state, arrays), float(self.lam))

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS, "lam": LAMBDAS}


@parametric
class NOGD(WithBudget, Classifier):
    """Online gradient descent on Nystrom features (NOGD): the first support vectors become landmarks, and the rest is linear.

    Kernel gradient descent on the hinge loss until B support vectors are held. Their Gram matrix K = V D V' gives every example the
    features z = D_k^-1/2 V_k' (k(x_1, x), ..., k(x_B, x)), of which the largest `rank` eigenvalues are kept: z.z' is near to
    k(x, x'), and equal to it among the landmarks if all are. The model so far is carried over, and goes on as w += rate y z wherever
    y w.z < 1. Written in the landmarks that is A += rate y K_k^-1 k, which is how it is done.

    References
    ----------
    J. Lu, S. Hoi, J. Wang, P. Zhao, Z. Liu: Large scale online kernel learning. JMLR 17 (2016), 1-43.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import NOGD
    >>> X = np.random.default_rng(0).uniform(-1, 1, (1500, 2))
    >>> y = np.sign(X[:, 0] * X[:, 1])
    >>> bool(NOGD(gamma=1.0).fit(X, y).score(X, y) > 0.95)
    True
    """

    rate: float = parameter(0.5, POSITIVE, cautious="smaller", text="The step size.")
    budget: int = parameter(text="The number of landmarks.")
    rank: int | None = parameter(
        None,
        COUNT,
        None,
        text="How many eigenvalues are kept. None: all that are more than rounding error. Fewer do not save time here; the"
        " literature keeps a fifth.",
    )

    def _keeps(self) -> set[str]:
        return {"pairs", "inverse"}

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        rank = int(self.budget if self.rank is None else self.rank)
        return Landmarks(self._task(state), arrays["A"], self._support(state, arrays), float(self.rate), rank)

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"gamma": GAMMAS, "rate": POWERS_OF_TWO}
