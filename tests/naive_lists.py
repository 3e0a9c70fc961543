"""Learners of lists in the plainest NumPy, written from the papers: what the compiled ones must agree with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import norm

Array = Any


def rho(cost: str, worse: float) -> float:
    return {"root": np.sqrt(worse), "errors": worse, "one": float(worse > 0)}[cost]


@dataclass
class Reranker:
    """Crammer et al. 2006; Chiang 2012; McDonald et al. 2005 for several rivals is left to the tests of rules."""

    w: Array
    rule: str = "PA"
    C: float = 1.0
    variant: str = "hard"
    r: float = 1.0
    confidence: float = 0.75
    update: str = "max_loss"
    cost: str = "errors"
    rivals: int = 1
    Sigma: Array = None
    updates: int = 0

    def __post_init__(self) -> None:
        self.Sigma = np.ones_like(self.w)

    def pairs(self, H: Array, mu: Array) -> list[tuple[Array, float]]:
        """D and the margin that is wanted, for each rival."""
        if not len(mu):
            return []
        scores = H @ self.w
        best = np.argmax(mu)
        y = np.argmax(scores + mu) if self.update == "hope_fear" else best
        costs = np.array([rho(self.cost, mu[best] - one) for one in mu])
        by = scores if self.update == "prediction" else scores + costs
        found = np.argsort(-by, kind="stable")[: self.rivals]
        return [(H[y] - H[z], rho(self.cost, mu[y] - mu[z])) for z in found if mu[y] > mu[z]]

    def learn(self, H: Array, mu: Array, weight: float = 1.0) -> None:
        for D, wanted in self.pairs(H, mu):
            self.step(D, wanted, weight)

    def step(self, D: Array, wanted: float, weight: float) -> None:
        margin, length2 = self.w @ D, D @ D
        loss, v = wanted - margin, D @ (self.Sigma * D)
        if self.rule == "CW":
            phi = norm.ppf(self.confidence)
            q = phi**2
            if margin < phi * np.sqrt(v):  # Crammer, Dredze and Pereira 2008, the form by the standard deviation
                alpha = (-margin * (2 + q) + np.sqrt(margin**2 * q**2 + 4 * (1 + q) * q * v)) / (2 * (1 + q) * v)
                t = alpha * phi * v
                self.w = self.w + alpha * self.Sigma * D
                self.Sigma = 1 / (1 / self.Sigma + alpha * phi * (t + np.sqrt(t**2 + 4 * v)) / (2 * v) * D * D)
            return
        if loss <= 0 or length2 == 0:
            return
        self.updates += 1
        if self.rule == "AROW":
            r = self.r / weight
            self.w = self.w + loss / (v + r) * self.Sigma * D
            self.Sigma = 1 / (1 / self.Sigma + D * D / r)
            return
        C = weight * self.C
        steps = {"hard": loss / length2, "I": min(C, loss / length2), "II": loss / (length2 + 0.5 / C)}
        self.w = self.w + (1.0 if self.rule == "perceptron" else steps[self.variant]) * D


@dataclass
class Ranker(Reranker):
    """Binary learning on the differences of all pairs."""

    def pairs(self, H: Array, mu: Array) -> list[tuple[Array, float]]:
        return [(H[i] - H[j], 1.0) for i in range(len(mu)) for j in range(len(mu)) if mu[i] > mu[j]]


def rows(H: Array, mu: Array) -> tuple[Array, Array]:
    """R and l of a list."""
    y = np.argmax(mu)
    return H[y] - H, mu[y] - mu


def ridge(R: Array, wanted: Array, beta: float) -> Array:
    return np.linalg.pinv(R) @ wanted if beta == 0 else np.linalg.solve(R.T @ R + beta * np.eye(R.shape[1]), R.T @ wanted)


@dataclass
class Bayes:
    """Sanchis-Trilles and Casacuberta 2010, with the resampling of Liu and West 2001."""

    draws: Array  # of N(0, 1), (features, samples)
    centre: Array
    seed: int
    sigma: float = 1.0
    delta: float = 1.0
    jitter: float = 0.1
    drawn: int = 0
    renewed: int = 0
    log_omega: Array = field(init=False)

    def __post_init__(self) -> None:
        self.log_omega = np.full(self.draws.shape[1], -np.log(self.draws.shape[1]))

    def chances(self, H: Array) -> Array:
        """p(y | x, lambda_s), a row a candidate."""
        scores = H @ (self.centre[:, None] + self.sigma * self.draws)
        odds = np.exp(scores - scores.max(axis=0))
        return odds / odds.sum(axis=0)

    def predict_proba(self, H: Array) -> Array:
        return self.chances(H) @ np.exp(self.log_omega)

    def learn(self, H: Array, mu: Array, weight: float = 1.0) -> None:
        if len(mu) < 2:
            return
        self.log_omega = self.log_omega + weight / self.delta * np.log(self.chances(H)[np.argmax(mu)])
        self.log_omega -= np.log(np.exp(self.log_omega - self.log_omega.max()).sum()) + self.log_omega.max()
        omega = np.exp(self.log_omega)
        if 1 / (omega**2).sum() < len(omega) / 2:
            self.renew(omega)

    def renew(self, omega: Array) -> None:
        self.renewed += 1
        S = len(omega)
        places = (self.uniform() + np.arange(S)) / S
        chosen = np.minimum(np.searchsorted(np.cumsum(omega), places), S - 1)
        mean = self.draws @ omega
        deviation = np.sqrt((self.draws - mean[:, None]) ** 2 @ omega)
        for i, old in enumerate(self.draws.copy()):
            noise = np.array([self.normal() for _ in range(S)])
            self.draws[i] = mean[i] + np.sqrt(1 - self.jitter**2) * (old[chosen] - mean[i]) + self.jitter * deviation[i] * noise
        self.log_omega = np.full(S, -np.log(S))

    def uniform(self) -> float:
        """SplitMix64 (Steele, Lea and Flood 2014)."""
        self.drawn += 1
        z, most = self.seed * 0xD1342543DE82EF95 + self.drawn * 0x9E3779B97F4A7C15, 2**64 - 1
        z = (z & most) ^ ((z & most) >> 30)
        z = z * 0xBF58476D1CE4E5B9 & most
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & most
        return float((z ^ (z >> 31)) >> 11) * 2.0**-53

    def normal(self) -> float:
        radius = np.sqrt(-2 * np.log(1 - self.uniform()))
        return float(radius * np.cos(2 * np.pi * self.uniform()))
