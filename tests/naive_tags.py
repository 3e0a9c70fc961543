"""Structured learning in the plainest way: Phi as a dict, every output looked at, every step by its formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

Sparse = dict[Any, float]
COSTS = {"root": np.sqrt, "errors": float, "one": lambda e: float(e > 0)}


def phi(x: Sequence[dict[str, float]], y: Sequence[Any], order: int = 1) -> Sparse:
    """The features of words with their tags, of the first tag, and of two tags in a row, or three."""
    counts: Counter[Any] = Counter()
    for word, tag in zip(x, y, strict=True):
        counts["constant", tag] += 1
        for name, value in word.items():
            counts[name, tag] += value
    for before, tag in zip([None, *y][: len(y)], y, strict=True):
        counts["after", before, tag] += 1
    for three in zip([None, *y], y, y[1:], strict=False) if order == 2 else ():
        counts["after", *three] += 1
    return dict(counts)


def minus(a: Sparse, b: Sparse) -> Sparse:
    return {key: a.get(key, 0) - b.get(key, 0) for key in a.keys() | b.keys()}


def dot(a: Sparse, b: Sparse) -> float:
    return sum(value * b.get(key, 0) for key, value in a.items())


def allowed_bio(y: Sequence[str]) -> bool:
    return all(
        not tag.startswith("I-") or before in (f"B-{tag[2:]}", tag) for before, tag in zip(["O", *y][: len(y)], y, strict=True)
    )


@dataclass
class Tagger:
    labels: Sequence[Any]
    rule: str = "PA"
    C: float = 1.0
    variant: str = "hard"
    r: float = 1.0
    confidence: float = 0.75
    update: str = "max_loss"
    cost: str = "errors"
    rivals: int = 1
    constraints: str | None = None
    order: int = 1
    w: Sparse = field(default_factory=dict)
    sigma: Sparse = field(default_factory=dict)
    updates: int = 0
    moved: bool = False

    def phi(self, x: Any, y: Any) -> Sparse:
        return phi(x, y, self.order)

    def outputs(self, x: Any) -> Iterable[tuple[Any, ...]]:
        """All that there are, in the order in which the first among equals wins: the last tag counts first."""
        backwards = (y[::-1] for y in product(self.labels, repeat=len(x)))
        return [y for y in backwards if self.constraints is None or allowed_bio(y)]

    def score(self, x: Any, y: Any) -> float:
        return dot(self.phi(x, y), self.w)

    def n_best(self, x: Any, n: int) -> list[tuple[Any, ...]]:
        return sorted(self.outputs(x), key=lambda z: -self.score(x, z))[:n]

    def rho(self, y: Any, z: Any) -> float:
        return COSTS[self.cost](sum(a != b for a, b in zip(y, z, strict=True)))

    def learn(self, x: Any, y: Any, weight: float = 1.0) -> None:
        y = tuple(y)

        def rank(z: Any) -> float:
            return -self.score(x, z) - (self.rho(y, z) if self.update == "max_loss" else 0)

        found = [z for z in sorted(self.outputs(x), key=rank)[: self.rivals] if z != y]
        rows = [(minus(self.phi(x, y), self.phi(x, z)), self.rho(y, z)) for z in found]
        self.moved = False
        if self.rule == "PA":
            self.passive_aggressive(rows, self.C * weight)
        else:
            for D, rho in rows:
                {"perceptron": self.perceptron, "AROW": self.arow, "CW": self.cw}[self.rule](D, rho, weight)
        self.updates += self.moved

    def add(self, step: float, D: Sparse) -> None:
        self.moved = True
        for key, value in D.items():
            self.w[key] = self.w.get(key, 0) + step * value

    def perceptron(self, D: Sparse, rho: float, weight: float) -> None:
        if rho > dot(D, self.w):
            self.add(1.0, D)

    def passive_aggressive(self, rows: list[tuple[Sparse, float]], C: float) -> None:
        """One rival by the paper's formula; several by a general solver of the dual."""
        losses = np.array([rho - dot(D, self.w) for D, rho in rows])
        A = np.array([[dot(D, E) for E, _ in rows] for D, _ in rows])
        if len(rows) == 1 and losses[0] > 0 and A[0, 0] > 0:
            steps = {"hard": losses / A[0], "I": np.minimum(C, losses / A[0]), "II": losses / (A[0] + 1 / (2 * C))}[
                self.variant
            ]
        elif len(rows) > 1:
            A = A + (1 / (2 * C) if self.variant == "II" else 0)
            most = C if self.variant == "I" else np.inf
            steps = dual(A, losses, most)
        else:
            return
        for step, (D, _) in zip(steps, rows, strict=True):
            self.add(float(step), D)

    def spread(self, D: Sparse) -> Sparse:
        return {key: self.sigma.get(key, 1.0) * value for key, value in D.items()}

    def arow(self, D: Sparse, rho: float, weight: float) -> None:
        loss, r = rho - dot(D, self.w), self.r / weight
        if loss > 0 and any(D.values()):
            self.add(loss / (dot(D, self.spread(D)) + r), self.spread(D))
            self.tighten(1 / r, D)

    def cw(self, D: Sparse, rho: float, weight: float) -> None:
        """The exact convex form, by a search for the step after which P(w.D >= 0) = confidence."""
        phi_, m, v = norm.ppf(self.confidence), dot(D, self.w), dot(D, self.spread(D))
        if v == 0 or m >= phi_ * np.sqrt(v):
            return
        low, high = 0.0, 1.0
        while self.short(high, phi_, m, v) > 0:
            high *= 2
        for _ in range(200):
            alpha = (low + high) / 2
            low, high = (alpha, high) if self.short(alpha, phi_, m, v) > 0 else (low, alpha)
        self.add(low, self.spread(D))
        self.tighten(low * phi_ / self.root(low, phi_, v), D)

    @staticmethod
    def root(alpha: float, phi_: float, v: float) -> float:
        """The root of the new variance u, where 1/u = 1/v + alpha phi / sqrt(u)."""
        return (-alpha * phi_ * v + np.sqrt((alpha * phi_ * v) ** 2 + 4 * v)) / 2

    def short(self, alpha: float, phi_: float, m: float, v: float) -> float:
        return phi_ * self.root(alpha, phi_, v) - (m + alpha * v)

    def tighten(self, c: float, D: Sparse) -> None:
        for key, value in D.items():
            self.sigma[key] = 1 / (1 / self.sigma.get(key, 1.0) + c * value * value)


def dual(A: Any, b: Any, most: float) -> Any:
    """argmin alpha'A alpha / 2 - b'alpha over alpha >= 0 with a sum of at most `most`."""
    start = np.full(len(b), 1e-3 if most == np.inf else min(1e-3, most / (2 * len(b))))
    sums = [] if most == np.inf else [{"type": "ineq", "fun": lambda a: most - a.sum(), "jac": lambda a: -np.ones_like(a)}]
    found = minimize(
        lambda a: 0.5 * a @ A @ a - b @ a,
        start,
        jac=lambda a: A @ a - b,
        bounds=[(0, None)] * len(b),
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 2000},
    )
    return found.x


# --- what is tried ---

LABELS = ["A", "B", "C"]


def sentences(n: int, seed: int = 0, longest: int = 4) -> Iterator[tuple[list[dict[str, float]], list[str]]]:
    """Random sentences with features that come again, also in the same sentence, and random tags."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        T = int(rng.integers(0 if _ else 1, longest + 1))
        x = [{f"f{j}": float(rng.choice([1.0, 0.5, -2.0])) for j in rng.choice(6, 2, replace=False)} for _ in range(T)]
        yield x, rng.choice(LABELS, T).tolist()


OPTIONS: list[dict[str, Any]] = [
    *({"update": update, "cost": cost} for update in ("prediction", "max_loss") for cost in ("root", "errors", "one")),
    {"variant": "I", "C": 0.05},
    {"variant": "II", "C": 0.05},
    {"update": "prediction", "cost": "root", "variant": "II", "C": 0.05},
    {"rule": "perceptron", "update": "prediction"},
    {"rule": "AROW", "r": 0.5},
    {"rule": "AROW", "update": "prediction", "cost": "root"},
    {"rule": "AROW", "update": "prediction", "rivals": 3},
    {"rule": "CW", "update": "prediction"},
    {"rule": "CW", "confidence": 0.9, "update": "prediction", "rivals": 4},
    {"rivals": 4},
    {"rivals": 4, "update": "prediction"},
    {"rivals": 3, "update": "prediction", "cost": "root"},
    {"rivals": 5, "variant": "I", "C": 0.03},
    {"rivals": 5, "variant": "II", "C": 0.1},
]
