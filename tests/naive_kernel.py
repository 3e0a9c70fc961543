"""Every kernel learner once more, in the plainest NumPy: a list of support vectors, and kernel values worked out when they are needed.

A twin learns beside its model: `learn` is told what the model holds after the step, rows by the numbers of their examples. It follows
the model where the paper leaves a choice (which of equally good vectors goes, or any at random; whether a loss that is zero but for
rounding counts), and fails if the model chose otherwise than it may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

import naive

Array = NDArray[np.float64]

# Numbers that are nearer than this are equal but for rounding.
NEAR = 1e-9


@dataclass
class Vector:
    """A support vector: the row, its number, its code, its coefficients (one a score) and their average."""

    x: Array
    born: int
    y: Any
    a: Array
    mean: Array


@dataclass
class Expansion:
    """f(x) = sum_i a_i k(x_i, x). `scores` is 1 for two classes (-1 and 1) and for numbers, and the number of classes for many."""

    k: Callable[[Array, Array], float]
    scores: int = 1
    average: Any = None
    vectors: list[Vector] = field(default_factory=list)
    came: int = 0
    held: dict[int, Array] = field(default_factory=dict)

    def f(self, x: Array) -> Array:
        return sum((v.a * self.k(v.x, x) for v in self.vectors), np.zeros(self.scores))

    def shown(self, x: Array) -> Array:
        """What the outside sees: the scores of the average, where there is one."""
        if self.average is None:
            return self.f(x)
        return sum((v.mean * self.k(v.x, x) for v in self.vectors), np.zeros(self.scores))

    def learn(self, x: Array, y: Any, weight: float, held: dict[int, Array]) -> None:
        self.held = held
        self.step(x, y, weight)
        self.came += 1
        for v in self.vectors:
            if self.average is not None:
                v.mean = v.mean + naive.rate(self.average, self.came) * (v.a - v.mean)

    def step(self, x: Array, y: Any, weight: float) -> None:
        raise NotImplementedError

    def direction(self, x: Array, y: Any) -> Array:
        """Which way the coefficients of an example go: y; or 1 for the label and -1 for its strongest rival."""
        if self.scores == 1:
            return np.array([float(y)])
        e = np.eye(self.scores)
        return e[y] - e[naive.rival(self.f(x), y)]

    def margin(self, x: Array, y: Any) -> float:
        return float(self.direction(x, y) @ self.f(x))

    def norm2(self, x: Array, direction: Array) -> float:
        """The squared length of a step of 1 in that direction. A kernel that is no product may be negative, and then counts as 0."""
        return float(direction @ direction) * max(self.k(x, x), 0.0)

    def add(self, x: Array, y: Any, a: Array) -> None:
        self.vectors.append(Vector(x, self.came, y, a, np.zeros(self.scores)))

    def drop(self, candidates: list[Vector]) -> Vector:
        """Let that one of the candidates go which the model has let go."""
        gone = [v for v in candidates if v.born not in self.held]
        assert gone, f"the model may drop {[v.born for v in candidates]}, and holds {sorted(self.held)}"
        self.vectors = [v for v in self.vectors if v is not gone[0]]
        return gone[0]

    def counts(self, loss: float) -> bool:
        """Whether there is loss. Where that is a matter of rounding, the model says."""
        return self.came in self.held if abs(loss) < NEAR and self.came > 0 else loss > 0

    def gram(self, vectors: list[Vector], others: list[Vector]) -> Array:
        return np.array([[self.k(v.x, w.x) for w in others] for v in vectors]).reshape(len(vectors), len(others))

    def shadow(self, v: Vector, others: list[Vector]) -> Array:
        """The coordinates of the projection of v on the span of the others."""
        return np.linalg.solve(self.gram(others, others), self.gram(others, [v])[:, 0])


# --- a budget and a policy ---


@dataclass
class Budgeted(Expansion):
    budget: int | None = None
    policy: str = "oldest"

    def insert(self, x: Array, y: Any, a: Array) -> None:
        if self.budget is None or len(self.vectors) < self.budget:
            self.add(x, y, a)
        elif self.policy != "stop":
            others = list(self.vectors)
            self.add(x, y, a)
            allowed = {
                "random": lambda: others,
                "oldest": lambda: [min(others, key=lambda v: v.born)],
                "redundant": self.redundant,
            }
            self.drop([v for v in allowed[self.policy]() if v.born != self.came])

    def redundant(self) -> list[Vector]:
        """Crammer, Kandola and Singer 2003: the vector that stays best classified without itself."""
        old = self.vectors[:-1]
        without = [self.f(v.x) - v.a * self.k(v.x, v.x) for v in old]
        standing = [self.standing(v, rest) for v, rest in zip(old, without, strict=True)]
        return [v for v, value in zip(old, standing, strict=True) if value > max(standing) - NEAR]

    def standing(self, v: Vector, rest: Array) -> float:
        return float(v.y * rest[0]) if self.scores == 1 else float(rest[v.y] - rest[naive.rival(rest, v.y)])


class KernelPerceptron(Budgeted):
    """Freund and Schapire 1999."""

    def step(self, x: Array, y: Any, weight: float) -> None:
        if self.margin(x, y) <= 0:
            self.insert(x, y, self.direction(x, y))


@dataclass
class KernelPA(Budgeted):
    """Crammer et al. 2006, figure 1, with k(x, x) for |x|^2."""

    C: float = 1.0
    variant: str = "I"

    def loss(self, x: Array, y: Any) -> float:
        return 1 - self.margin(x, y)

    def step(self, x: Array, y: Any, weight: float) -> None:
        loss, direction = self.loss(x, y), self.direction(x, y)
        if self.counts(loss):
            self.insert(x, y, self.tau(weight * self.C, loss, self.norm2(x, direction)) * direction)

    def tau(self, C: float, loss: float, norm2: float) -> float:
        if norm2 == 0:
            return 0.0
        return {"hard": loss / norm2, "I": min(C, loss / norm2), "II": loss / (norm2 + 1 / (2 * C))}[self.variant]


@dataclass
class KernelPARegressor(KernelPA):
    epsilon: float = 0.1

    def loss(self, x: Array, y: Any) -> float:
        return abs(y - self.f(x)[0]) - self.epsilon

    def direction(self, x: Array, y: Any) -> Array:
        return np.sign(y - self.f(x))

    def redundant(self) -> list[Vector]:
        """There is no label to look at: the vector that says least."""
        says = [float(v.a[0] ** 2 * self.k(v.x, v.x)) for v in self.vectors[:-1]]
        return [v for v, value in zip(self.vectors, [*says, np.inf], strict=True) if value < min(says) + NEAR]


@dataclass
class KernelOGD(Budgeted):
    """Kivinen, Smola and Williamson 2004, equations 11 to 13."""

    rate: float = 0.5
    lam: float = 0.0

    def step(self, x: Array, y: Any, weight: float) -> None:
        loss, direction = 1 - self.margin(x, y), self.direction(x, y)
        for v in self.vectors:
            v.a = (1 - self.rate * self.lam) * v.a
        if self.lam > 0:
            self.vectors = [v for v in self.vectors if np.abs(v.a).max() >= self.rate * 1e-6]
        if self.counts(loss):
            self.insert(x, y, self.rate * weight * direction)


@dataclass
class SparsePA(KernelPA):
    """Lu, Zhao and Hoi 2016, algorithm 1. The draws are the model's; `odds` keeps the probabilities and what came of them."""

    C: float = 0.25
    alpha: float = 1.0
    beta: float = 4.0
    odds: list[tuple[float, bool]] = field(default_factory=list)

    def step(self, x: Array, y: Any, weight: float) -> None:
        loss, direction = self.loss(x, y), self.direction(x, y)
        if loss > 0:
            rho, taken = min(self.alpha, loss) / self.beta, self.came in self.held
            self.odds.append((rho, taken))
            if taken:
                self.add(x, y, min(weight * self.C / rho, loss / self.norm2(x, direction)) * direction)


# --- steps that are made for a budget ---


@dataclass
class Forgetron(Expansion):
    """Dekel, Shalev-Shwartz and Singer 2008, figure 3 with the self-tuned phi of section 5."""

    budget: int = 100
    damage: float = 0.0
    mistakes: int = 0

    def step(self, x: Array, y: Any, weight: float) -> None:
        if self.margin(x, y) > 0:
            return
        self.mistakes += 1
        self.add(x, y, self.direction(x, y))
        if len(self.vectors) <= self.budget:
            return
        oldest = min(self.vectors, key=lambda v: v.born)
        sign, delta = np.sign(oldest.a), np.abs(oldest.a).max()
        mu = sign @ self.f(oldest.x)

        def psi(phi: float) -> float:
            return (phi * delta) ** 2 * self.norm2(oldest.x, sign) + 2 * phi * delta * (1 - phi * mu)

        def excess(phi: float) -> float:
            return self.damage + psi(phi) - 15 / 32 * self.mistakes

        phi = 1.0 if excess(1) <= 0 else brentq(excess, 0, 1, xtol=1e-15)
        self.damage += psi(phi)
        for v in self.vectors:
            v.a = phi * v.a
        self.drop([oldest])


@dataclass
class Projectron(Expansion):
    """Orabona, Keshet and Caputo 2009, algorithms 2 and 4; with a budget, a mistake is projected when there is no place for it."""

    threshold: float | None = None
    plus: bool = False
    budget: int | None = None

    def step(self, x: Array, y: Any, weight: float) -> None:
        margin, direction = self.margin(x, y), self.direction(x, y)
        if margin >= 1 or (margin > 0 and not self.plus):
            return
        x_itself = Vector(x, -1, y, direction, direction)
        d = self.shadow(x_itself, self.vectors) if self.vectors else np.zeros(0)
        delta2 = self.k(x, x) - self.gram([x_itself], self.vectors)[0] @ d
        threshold = self.threshold if self.threshold is not None else 0.1 if self.budget is None else 0.0
        if margin > 0:
            self.project(d, self.gain(1 - margin, direction, delta2, self.k(x, x) - delta2, threshold) * direction)
        elif delta2 <= threshold or len(self.vectors) == self.budget:
            self.project(d, direction)
        else:
            self.add(x, y, direction)

    def project(self, d: Array, a: Array) -> None:
        for v, share in zip(self.vectors, d, strict=True):
            v.a = v.a + share * a

    def gain(self, loss: float, direction: Array, delta2: float, length2: float, threshold: float) -> float:
        norm2 = direction @ direction * length2
        tau = min(loss / norm2, 1.0)
        if self.budget is None:
            return max(min(tau, 2 * (loss - delta2 / threshold) / norm2), 0.0)
        U = np.sqrt((self.budget + 1) / np.log(self.budget + 1)) / 4
        return tau if tau * (2 * loss - tau * norm2 - 2 * U * np.sqrt(delta2)) >= 0 else 0.0


class Replacing(Expansion):
    """Twins in which a vector that goes leaves a part of itself with others."""

    def stand_in(self, x: Array, y: Any, a: Array) -> bool:
        """Whether the others span x, and so stand in for it; for those that project, whose Gram matrix needs an inverse."""
        new = self.fresh(x, y)
        d = self.shadow(new, self.vectors) if self.vectors else np.zeros(0)
        if self.k(x, x) - self.gram([new], self.vectors)[0] @ d > 1e-5 * self.k(x, x):
            return False
        for v, share in zip(self.vectors, d, strict=True):
            v.a = v.a + share * a
        return True

    def replace(self, r: Vector, heirs: list[Vector], shares: Array, a: Array) -> None:
        """r goes, its heirs get these shares of it, and the last of them, a newcomer, the coefficients a as well."""
        for v, share in zip(heirs, shares, strict=True):
            v.a, v.mean = v.a + share * r.a, v.mean + share * r.mean
        heirs[-1].a = heirs[-1].a + a
        self.vectors.append(heirs[-1])
        self.drop([r])

    def fresh(self, x: Array, y: Any) -> Vector:
        return Vector(x, self.came, y, np.zeros(self.scores), np.zeros(self.scores))


@dataclass
class BudgetPA(Replacing):
    """Wang and Vucetic 2010, section 3: for each vector r that may go, the best coefficients of those that may change, by the general
    solution of the paper; then the r with the least value of the objective."""

    C: float = 1.0
    strategy: str = "simple"
    budget: int = 100

    def step(self, x: Array, y: Any, weight: float) -> None:
        direction, new, C = self.direction(x, y), self.fresh(x, y), weight * self.C
        loss = 1 - self.margin(x, y)
        if loss <= 0:
            return
        step = min(C, loss / self.norm2(x, direction))
        if self.strategy == "projecting" and self.stand_in(x, y, step * direction):
            return
        if len(self.vectors) < self.budget:
            self.add(x, y, step * direction)
            return
        best: tuple[float, Any] = (np.inf, None)
        for r in self.vectors:
            heirs = [*self.others(r), new]
            K, kr, kx = self.gram(heirs, heirs), self.gram(heirs, [r])[:, 0], self.gram(heirs, [new])[:, 0]
            without = self.f(x) - r.a * self.k(r.x, x)
            solved_r, solved_x = np.linalg.solve(K, kr), np.linalg.solve(K, kx)
            length2 = direction @ direction * (kx @ solved_x)
            tau = np.clip((1 - direction @ (without + r.a * (kx @ solved_r))) / length2, 0, C)
            beta = np.outer(solved_r, r.a) + tau * np.outer(solved_x, direction)
            change = (beta * (K @ beta)).sum() - 2 * (kr @ beta) @ r.a + r.a @ r.a * self.k(r.x, r.x)
            value = change / 2 + C * max(0.0, 1 - direction @ (without + kx @ beta))
            if value < best[0]:
                best = value, (r, heirs, solved_r, tau * solved_x)
        r, heirs, shares, steps = best[1]
        for v, step in zip(heirs[:-1], steps, strict=False):
            v.a = v.a + step * direction
        self.replace(r, heirs, shares, steps[-1] * direction)

    def others(self, r: Vector) -> list[Vector]:
        """Whose coefficients may change, beside that of x."""
        rest = [v for v in self.vectors if v is not r]
        if self.strategy == "nearest" and rest:
            return [min(rest, key=lambda v: self.k(v.x, v.x) - 2 * self.k(v.x, r.x))]
        return rest if self.strategy == "projecting" else []


@dataclass
class BOGD(Expansion):
    """Zhao et al. 2012, algorithm 1, uniform and not. The draws are the model's."""

    rate: float = 0.2
    lam: float = 1e-4
    sampling: str = "uniform"
    budget: int = 100
    limit: float = 10.0

    def step(self, x: Array, y: Any, weight: float) -> None:
        loss, direction = 1 - self.margin(x, y), self.direction(x, y)
        if loss > 0 and len(self.vectors) == self.budget:
            p = dict(zip([v.born for v in self.vectors], self.probabilities(), strict=True))
            self.drop([v for v in self.vectors if p[v.born] > 0])
            for v in self.vectors:
                v.a = v.a / (1 - p[v.born])
        for v in self.vectors:
            v.a = (1 - self.rate * self.lam) * v.a
        if loss > 0:
            self.add(x, y, self.rate * weight * direction)
            largest = max(np.linalg.norm(v.a) for v in self.vectors)
            for v in self.vectors:
                v.a = min(1.0, self.rate * self.limit / largest) * v.a

    def probabilities(self) -> Array:
        """Of each vector to be dropped. What is left of 1 - s |a_i| sqrt(k_ii) above 0, and then made to sum up to 1."""
        B = len(self.vectors)
        sizes = np.array([np.linalg.norm(v.a) * np.sqrt(self.k(v.x, v.x)) for v in self.vectors])
        if self.sampling == "uniform" or sizes.sum() == 0:
            return np.full(B, 1 / B)
        p = np.maximum(1 - (B - 1) * sizes / sizes.sum(), 0)
        return p / p.sum()


@dataclass
class BSGD(Replacing):
    """Wang, Crammer and Vucetic 2012, algorithm 1 with the steps of Pegasos, and its three ways to keep a budget."""

    lam: float = 1e-4
    maintenance: str = "merge"
    budget: int = 100

    def step(self, x: Array, y: Any, weight: float) -> None:
        loss, direction, t = 1 - self.margin(x, y), self.direction(x, y), self.came + 1
        for v in self.vectors:
            v.a = (1 - 1 / t) * v.a
        if loss > 0:
            a = weight / (self.lam * t) * direction
            if self.maintenance == "project" and self.stand_in(x, y, a):
                return
            if len(self.vectors) < self.budget:
                self.add(x, y, a)
            else:
                getattr(self, self.maintenance)(x, y, a)

    def weakest(self) -> Vector:
        """The vector of the smallest |a|^2 k(x, x), the oldest of those that are equal but for rounding."""
        sizes = [v.a @ v.a * self.k(v.x, v.x) for v in self.vectors]
        return min(
            (v for v, size in zip(self.vectors, sizes, strict=True) if size < min(sizes) * (1 + NEAR)), key=lambda v: v.born
        )

    def remove(self, x: Array, y: Any, a: Array) -> None:
        weakest = self.weakest()
        self.add(x, y, a)
        self.drop([weakest])

    def project(self, x: Array, y: Any, a: Array) -> None:
        new = self.fresh(x, y)
        heirs = {r.born: [*(v for v in self.vectors if v is not r), new] for r in self.vectors}
        shares = {r.born: self.shadow(r, heirs[r.born]) for r in self.vectors}

        def lost(r: Vector) -> float:
            return float(r.a @ r.a * (self.k(r.x, r.x) - shares[r.born] @ self.gram(heirs[r.born], [r])[:, 0]))

        r = min(self.vectors, key=lost)
        self.replace(r, heirs[r.born], shares[r.born], a)

    def merge(self, x: Array, y: Any, a: Array) -> None:
        """Section 6.3. The mix h is the model's, if it is as good as the best."""
        p = self.weakest()
        self.add(x, y, a)
        others = [v for v in self.vectors if v is not p]

        def kept(q: Vector, h: float, part: str = "a") -> Array:
            k = self.k(p.x, q.x)
            return k ** ((1 - h) ** 2) * getattr(p, part) + k ** (h**2) * getattr(q, part)

        def lost(q: Vector) -> float:
            """With the best of three good mixes: what two vectors as they are say, without what is left of it."""
            both = p.a @ p.a + q.a @ q.a + 2 * self.k(p.x, q.x) * (p.a @ q.a)
            strengths = np.linalg.norm(p.a), np.linalg.norm(q.a)
            return float(both - max(kept(q, h) @ kept(q, h) for h in (0.0, 1.0, strengths[0] / sum(strengths))))

        q = min(others, key=lost)
        older, newer = sorted((p.born, q.born))
        assert older not in self.held, f"{p.born} and {q.born} become one"
        z, apart = self.held[newer], p.x - q.x
        h = float((z - q.x) @ apart / (apart @ apart))
        np.testing.assert_allclose(z, h * p.x + (1 - h) * q.x, rtol=1e-9, atol=1e-9)
        assert -NEAR <= h <= 1 + NEAR
        best = max(
            -minimize_scalar(lambda h: -(kept(q, h) @ kept(q, h)), bounds=(low, low + 0.1), method="bounded").fun
            for low in np.arange(10) / 10
        )
        assert kept(q, h) @ kept(q, h) >= best * (1 - 1e-7)
        merged = Vector(z, newer, y, kept(q, h), kept(q, h, "mean"))
        self.vectors = [*(v for v in self.vectors if v is not p and v is not q), merged]


@dataclass
class NOGD(Expansion):
    """Lu et al. 2016, algorithm 2: from the time that the budget is used up, weights w on the features z = M k."""

    rate: float = 0.5
    budget: int = 100
    rank: int | None = None
    M: Any = None
    w: Any = None

    def step(self, x: Array, y: Any, weight: float) -> None:
        if self.margin(x, y) >= 1:
            return
        a = self.rate * weight * self.direction(x, y)
        if self.M is None:
            self.add(x, y, a)
            if len(self.vectors) == self.budget:
                self.switch()
        else:
            z = self.M @ [self.k(v.x, x) for v in self.vectors]
            self.w = self.w + np.outer(z, a)
            for v, coefficients in zip(self.vectors, self.M.T @ self.w, strict=True):
                v.a = coefficients

    def switch(self) -> None:
        rank = self.budget if self.rank is None else self.rank
        values, V = np.linalg.eigh(self.gram(self.vectors, self.vectors))
        self.M = (V[:, -rank:] / np.sqrt(values[-rank:])).T
        self.w = np.linalg.pinv(self.M).T @ [v.a for v in self.vectors]
        mean = np.linalg.pinv(self.M).T @ [v.mean for v in self.vectors]
        for v, a, b in zip(self.vectors, self.M.T @ self.w, self.M.T @ mean, strict=True):
            v.a, v.mean = a, b
