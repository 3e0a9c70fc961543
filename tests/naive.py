"""Every algorithm once more, in the plainest NumPy, written from the papers and not from the kernels.

A twin has `score(m, x)` and `learn(m, x, y, weight)`, where m holds its arrays by name and x starts with the constant feature.
Two classes are -1 and 1, many classes 0 .. K-1. `learn` gives new arrays and leaves the old ones alone.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Arrays = dict[str, Array]


# --- passive-aggressive: Crammer et al. 2006 ---


def pa_step(variant: str, C: float, loss: float, norm2: float) -> float:
    """Figure 1: tau of PA, PA-I and PA-II."""
    if norm2 == 0:
        return 0.0
    return {"hard": loss / norm2, "I": min(C, loss / norm2), "II": loss / (norm2 + 1 / (2 * C))}[variant]


@dataclass
class PABinary:
    """Section 3."""

    variant: str = "I"
    C: float = 1.0

    def score(self, m: Arrays, x: Array) -> Any:
        return m["w"] @ x

    def learn(self, m: Arrays, x: Array, y: float, weight: float) -> Arrays:
        loss = max(0.0, 1 - y * (m["w"] @ x))
        return {"w": m["w"] + pa_step(self.variant, self.C * weight, loss, x @ x) * y * x}


@dataclass
class PAMulticlass:
    """Section 8: the label against its strongest rival, a step along x in one row and along -x in the other."""

    variant: str = "I"
    C: float = 1.0

    def score(self, m: Arrays, x: Array) -> Any:
        return m["W"] @ x

    def learn(self, m: Arrays, x: Array, y: int, weight: float) -> Arrays:
        W = m["W"].copy()
        r = rival(W @ x, y)
        loss = max(0.0, 1 - (W[y] - W[r]) @ x)
        tau = pa_step(self.variant, self.C * weight, loss, 2 * (x @ x))
        W[y] += tau * x
        W[r] -= tau * x
        return {"W": W}


@dataclass
class PARegression:
    """Section 5."""

    variant: str = "I"
    C: float = 1.0
    epsilon: float = 0.1

    def score(self, m: Arrays, x: Array) -> Any:
        return m["w"] @ x

    def learn(self, m: Arrays, x: Array, y: float, weight: float) -> Arrays:
        error = y - m["w"] @ x
        loss = max(0.0, abs(error) - self.epsilon)
        return {"w": m["w"] + np.sign(error) * pa_step(self.variant, self.C * weight, loss, x @ x) * x}


def rival(scores: Array, y: int) -> int:
    """The best of the wrong labels."""
    others = scores.copy()
    others[y] = -np.inf
    return int(np.argmax(others))


# --- PAMO: Jorge and Paredes 2018 ---


@dataclass
class PAMO:
    """Algorithm 1. U is (d+1, k h), column j h + i being the hyperplane u_ij; subclasses say what the loss is."""

    dimensions: int
    variant: str = "I"
    select: str = "largest"
    C: float = 0.125
    C_r: float = 0.125
    alpha: float = 0.9
    epsilon: float = 0.0

    def products(self, m: Arrays, x: Array) -> Array:
        """u_ij . x, (k, h)."""
        return (unit(x) @ m["U"]).reshape(-1, self.dimensions)

    def embed(self, m: Arrays, x: Array) -> Array:
        return unit(self.products(m, x).max(axis=0))

    def regress(self, m: Arrays, x: Array, target: Array, epsilon: float, weight: float) -> Array:
        """Each dimension's selected hyperplane meets its coordinate of the target, as far as C_r lets it."""
        U, products = m["U"].copy(), self.products(m, x)
        for i in range(self.dimensions):
            if self.select == "largest":
                j = np.argmax(products[:, i])
            else:
                j = np.argmin(np.abs(products[:, i] - target[i]))
            error = target[i] - products[j, i]
            step = min(weight * self.C_r, max(0.0, abs(error) - epsilon))
            U[:, j * self.dimensions + i] += np.sign(error) * step * unit(x)
        return U


class PAMOBinary(PAMO):
    def score(self, m: Arrays, x: Array) -> Any:
        return m["w"] @ self.embed(m, x)

    def learn(self, m: Arrays, x: Array, y: float, weight: float) -> Arrays:
        z = self.embed(m, x)
        loss = max(0.0, 1 - y * (m["w"] @ z))
        if loss == 0 and self.variant == "I":
            return m
        w = m["w"] + min(weight * self.C, (1 - self.alpha) * loss) * y * z
        target = z + max(0.0, 1 - y * (w @ z)) * y * w / (w @ w)
        return {"U": self.regress(m, x, target, self.epsilon, weight), "w": w}


class PAMOMulticlass(PAMO):
    """w_y - w_r in the place of y w: the PA step of a pair of rows moves the margin by 2 tau, as |z| = 1."""

    def score(self, m: Arrays, x: Array) -> Any:
        return m["W"] @ self.embed(m, x)

    def learn(self, m: Arrays, x: Array, y: int, weight: float) -> Arrays:
        z, W = self.embed(m, x), m["W"].copy()
        r = rival(W @ z, y)
        loss = max(0.0, 1 - (W[y] - W[r]) @ z)
        if loss == 0 and self.variant == "I":
            return m
        tau = min(weight * self.C, (1 - self.alpha) * loss / 2)
        W[y] += tau * z
        W[r] -= tau * z
        direction = W[y] - W[r]
        target = z + max(0.0, 1 - direction @ z) * direction / (direction @ direction)
        return {"U": self.regress(m, x, target, self.epsilon, weight), "W": W}


@dataclass
class PAMORegression(PAMO):
    """`epsilon` is how far the prediction may be off; the regression of U is exact."""

    epsilon: float = 0.1

    def score(self, m: Arrays, x: Array) -> Any:
        return m["w"] @ self.embed(m, x)

    def learn(self, m: Arrays, x: Array, y: float, weight: float) -> Arrays:
        z = self.embed(m, x)
        error = y - m["w"] @ z
        loss = max(0.0, abs(error) - self.epsilon)
        if loss == 0 and self.variant == "I":
            return m
        w = m["w"] + np.sign(error) * min(weight * self.C, (1 - self.alpha) * loss) * z
        left = y - w @ z
        target = z + np.sign(error) * max(0.0, abs(left) - self.epsilon) * w / (w @ w)
        return {"U": self.regress(m, x, target, 0.0, weight), "w": w}


def unit(x: Array) -> Array:
    norm = np.linalg.norm(x)
    return x / norm if norm > 0 else x


def orthonormal(U: Array, dimensions: int) -> Array:
    """U with the hyperplanes of each dimension orthonormal, each on its own side of those before it."""
    pieces = U.reshape(len(U), -1, dimensions)
    result = np.empty_like(pieces)
    for i in range(dimensions):
        Q, R = np.linalg.qr(pieces[:, :, i])
        result[:, :, i] = Q * np.sign(np.diag(R))
    return result.reshape(U.shape)


# --- averages ---


def rate(average: Any, t: int) -> float:
    """The share of w_t in the average after t examples."""
    if t == 1:
        return 1.0
    if average == "uniform":
        return 1 / t
    if average is True:
        return (3 + 1) / (t + 3)  # polynomial decay, eta = 3: Shamir and Zhang 2013
    return 1 - 0.5 ** (1 / average)  # a half-life


def averages(average: Any, stride: int = 1) -> Generator[Any, Arrays, None]:
    """A coroutine: send it the arrays after each example, and it yields their average.

    With a stride, the arrays of every stride-th example stand for those since the last; before the first of these all count.
    """
    mean: Arrays = {}
    t, last = 0, 0
    now = yield
    while True:
        t += 1
        if t < stride or t % stride == 0:
            for step in range(last + 1, t + 1):
                mean = {k: now[k] if step == 1 else mean[k] + rate(average, step) * (now[k] - mean[k]) for k in now}
            last = t
        now = yield mean


# --- weights, and the pass ---


def balanced(labels: Iterable[Any]) -> Array:
    """class_weight="balanced" with running counts: n / (classes seen x count of this class), the row itself included."""
    counts: dict[Any, int] = {}
    weights = []
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
        weights.append(sum(counts.values()) / (len(counts) * counts[label]))
    return np.array(weights)


def run(
    twin: Any, m: Arrays, X: Array, y: Any, weights: Any = None, intercept: bool = True, average: Any = None, stride: int = 1
) -> tuple[Array, Arrays]:
    """The scores of each row before it is learned from, and the arrays in the end; the average's, where there is one."""
    scores = []
    blend: Any = averages(average, stride) if average else None
    seen = m
    if blend:
        next(blend)
    for t, row in enumerate(X):
        x = np.concatenate([[1.0 if intercept else 0.0], row])
        scores.append(twin.score(seen, x))
        weight = 1.0 if weights is None else weights[t]
        if weight > 0:
            m = twin.learn(m, x, y[t], weight)
            seen = blend.send(m) if blend else m
    return np.array(scores), seen
