"""Every kernel learner once more, in the plainest NumPy: a list of support vectors, and kernel values worked out when they are needed.

A twin learns beside its model: `learn` is told which examples the model holds after the step. It follows the model where the paper
leaves a choice (which of equally good vectors goes, or any at random; whether a loss that is zero but for rounding counts), and fails
if the model chose otherwise than it may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    held: set[int] = field(default_factory=set)

    def f(self, x: Array) -> Array:
        return sum((v.a * self.k(v.x, x) for v in self.vectors), np.zeros(self.scores))

    def shown(self, x: Array) -> Array:
        """What the outside sees: the scores of the average, where there is one."""
        if self.average is None:
            return self.f(x)
        return sum((v.mean * self.k(v.x, x) for v in self.vectors), np.zeros(self.scores))

    def learn(self, x: Array, y: Any, weight: float, held: Iterable[int]) -> None:
        self.held = set(held)
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

    def least(self, values: list[float]) -> list[Vector]:
        """The vectors with the smallest of these values."""
        return [v for v, value in zip(self.vectors, values, strict=True) if value < min(values) + NEAR]


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
