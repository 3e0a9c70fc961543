"""Every algorithm once more, in the plainest NumPy, written from the papers and not from the kernels.

A twin has `first(w)`, its arrays before anything was learned, `score(m, x)` and `learn(m, x, y, weight)`, where m holds arrays by name
and x starts with the constant feature. Two classes are -1 and 1, many classes 0 .. K-1. `learn` gives new arrays and leaves the old
ones alone; a number that it passes on is an array too, as far as averages go.

Weights are w, (d+1,) for two classes and for regression, (K, d+1) for many classes. Most papers state their rule for two classes, by
y x; for many classes that is `contrast`: x in the place of the label, -x in that of its strongest rival, and all weights one vector.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

Array = NDArray[np.float64]
Arrays = dict[str, Any]


def rival(scores: Array, y: int) -> int:
    """The best of the wrong labels, the first among equals."""
    others = scores.copy()
    others[y] = -np.inf
    return int(np.argmax(others))


def contrast(w: Array, x: Array, y: Any) -> Array:
    """The vector whose product with all weights is the margin of the example."""
    if w.ndim == 1:
        return y * x
    z = np.zeros_like(w)
    z[y], z[rival(w @ x, y)] = x, -x
    return z


def wrong(w: Array, x: Array, y: Any) -> bool:
    """Whether another label would be predicted: a score of 0 is that of the label 1, and of equal scores the first wins."""
    scores = w @ x
    return bool((scores >= 0) != (y > 0) if w.ndim == 1 else np.argmax(scores) != y)


class Linear:
    """A twin that scores by w.x."""

    def first(self, w: Array) -> Arrays:
        return {"w": w}

    def weights(self, m: Arrays) -> Array:
        return m["w"]

    def score(self, m: Arrays, x: Array) -> Any:
        return self.weights(m) @ x


# --- perceptrons ---


@dataclass
class Perceptron(Linear):
    """Rosenblatt 1958; for many classes, Crammer and Singer 2003: what the label gains, the classes not below it lose."""

    margin: float = 0.0
    rate: float = 1.0
    shrink: float = 1.0
    multiclass: str = "max"

    def step(self, w: Array, x: Array, y: Any) -> Array | None:
        z = contrast(w, x, y)
        if (w * z).sum() >= self.margin and not wrong(w, x, y):
            return None
        if w.ndim == 2 and self.multiclass != "max":
            above = w @ x - (w @ x)[y] + self.margin
            above[y] = -1
            alike = self.multiclass == "uniform" or above.max() == 0
            shares = np.where(above >= 0, 1.0, 0.0) if alike else np.maximum(above, 0.0)
            z = np.outer(-shares / shares.sum(), x)
            z[y] = x
        return self.rate * z

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        step = self.step(m["w"], x, y)
        return m if step is None else {"w": self.shrink * m["w"] + weight * step}


@dataclass
class Shifting(Linear):
    """Cavallanti, Cesa-Bianchi and Gentile 2006."""

    lam: float = 1.0

    def first(self, w: Array) -> Arrays:
        return {"w": w, "k": 0}

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        if not wrong(m["w"], x, y):
            return m
        share = self.lam / (self.lam + m["k"])
        return {"w": (1 - share) * m["w"] + share * contrast(m["w"], x, y), "k": m["k"] + 1}


# --- gradient descent ---


@dataclass
class Adaline(Linear):
    """Widrow and Hoff 1960: half the squared error, of labels -1 and 1 or of numbers; for many classes, one unit a class."""

    rate: float = 0.01

    def step(self, w: Array, x: Array, y: Any) -> Array:
        target = y if w.ndim == 1 else np.where(np.arange(len(w)) == y, 1, -1)
        return self.rate * np.multiply.outer(target - w @ x, x)

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        return {"w": m["w"] + weight * self.step(m["w"], x, y)}


@dataclass
class Descent(Linear):
    """Zinkevich 2003; with `adagrad` Duchi, Hazan and Singer 2011, figure 1 with delta = 0. Subclasses say what the slope is."""

    loss: str = "hinge"
    rate: float = 0.3
    power: float = 0.5
    adagrad: bool = True
    epsilon: float = 0.1

    def first(self, w: Array) -> Arrays:
        return {"w": w, "t": 0, "squares": np.zeros_like(w)}

    def downhill(self, w: Array, x: Array, y: Any) -> Array:
        raise NotImplementedError

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        g, t = weight * self.downhill(m["w"], x, y), m["t"] + 1
        squares = m["squares"] + g**2
        if self.adagrad:
            step = self.rate * np.divide(g, np.sqrt(squares), out=np.zeros_like(g), where=squares > 0)
        else:
            step = self.rate / t**self.power * g
        return {"w": m["w"] + step, "t": t, "squares": squares}


class DescentClassifier(Descent):
    def downhill(self, w: Array, x: Array, y: Any) -> Array:
        z = contrast(w, x, y)
        margin = (w * z).sum()
        if self.loss == "log" and w.ndim == 2:
            shares = np.exp(w @ x) / np.exp(w @ x).sum()
            return np.outer((np.arange(len(w)) == y) - shares, x)
        slope = {
            "zero_one": float(wrong(w, x, y)),
            "hinge": float(margin < 1),
            "squared_hinge": 2 * max(0.0, 1 - margin),
            "log": 1 / (1 + np.exp(margin)),
        }
        return slope[self.loss] * z


@dataclass
class DescentRegressor(Descent):
    loss: str = "squared"
    rate: float = 0.1

    def downhill(self, w: Array, x: Array, y: Any) -> Array:
        error = y - w @ x
        far = abs(error) > self.epsilon
        return {"squared": error, "absolute": np.sign(error), "epsilon_insensitive": far * np.sign(error)}[self.loss] * x


# --- large margins ---


@dataclass
class ROMMA(Linear):
    """Li and Long 2002: the shortest vector of margin 1 on the far side of the hyperplane through w, orthogonal to it."""

    aggressive: bool = False

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        w, z = m["w"], contrast(m["w"], x, y)
        margin, n, norm2 = (w * z).sum(), (w * w).sum(), (z * z).sum()
        if margin >= 1 if self.aggressive else not wrong(w, x, y):
            return m
        shortest = z / norm2
        if (shortest * w).sum() >= n:
            return {"w": shortest}
        rest = norm2 * n - margin**2
        return {"w": (norm2 * n - margin) / rest * w + n * (1 - margin) / rest * z}


@dataclass
class ALMA(Linear):
    """Gentile 2001, figure 1: w = grad |theta|_p^2 / 2, and |w|_q = |theta|_p is kept at 1 or below."""

    alpha: float = 0.9
    p: float = 2
    C: float = sqrt(2)
    normalize: bool = True

    def first(self, w: Array) -> Arrays:
        return {"theta": w, "k": 1}

    def weights(self, m: Arrays) -> Array:
        theta: Array = m["theta"]
        length = np.linalg.norm(theta.ravel(), self.p)
        return np.sign(theta) * np.abs(theta) ** (self.p - 1) / (length or 1.0) ** (self.p - 2)

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        w, k = self.weights(m), m["k"]
        z = contrast(w, x, y)
        if self.normalize:
            z = z / np.linalg.norm(z.ravel(), self.p)
        if (w * z).sum() > (1 - self.alpha) / self.alpha * sqrt((self.p - 1) / k):
            return m
        theta = m["theta"] + self.C / sqrt((self.p - 1) * k) * z
        return {"theta": theta / max(1.0, np.linalg.norm(theta.ravel(), self.p)), "k": k + 1}


class MIRA(Linear):
    """Crammer and Singer 2003, section 5: tau_k = [k = y] - p_k, where p is the point of the simplex nearest to
    score / |x|^2 + [k = y], found by sorting. Equal scores would give no step for good: there it is a perceptron's."""

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        w, scores, norm2 = m["w"], m["w"] @ x, x @ x
        if not wrong(w, x, y):
            return m
        if np.max(scores) == (0 if w.ndim == 1 else scores[y]):
            return {"w": w + contrast(w, x, y)}
        if w.ndim == 1:
            return {"w": w + min(1.0, -y * scores / norm2) * y * x}
        label = np.arange(len(w)) == y
        b = scores / norm2 + label
        falling = np.sort(b)[::-1]
        excess = (np.cumsum(falling) - 1) / np.arange(1, len(b) + 1)
        theta = excess[falling > excess][-1]
        return {"w": w + np.outer(label - np.maximum(b - theta, 0), x)}


# --- passive-aggressive: Crammer et al. 2006 ---


@dataclass
class PA(Linear):
    """Sections 3 and 8, tau of figure 1."""

    variant: str = "I"
    C: float = 1.0

    def tau(self, loss: float, norm2: float, weight: float) -> float:
        C = self.C * weight
        return {"hard": loss / norm2, "I": min(C, loss / norm2), "II": loss / (norm2 + 1 / (2 * C))}[self.variant]

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        z = contrast(m["w"], x, y)
        loss = max(0.0, 1 - (m["w"] * z).sum())
        return {"w": m["w"] + self.tau(loss, (z * z).sum(), weight) * z}


@dataclass
class PARegressor(PA):
    """Section 5."""

    C: float = 0.03
    epsilon: float = 0.1

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        error = y - m["w"] @ x
        loss = max(0.0, abs(error) - self.epsilon)
        return {"w": m["w"] + np.sign(error) * self.tau(loss, x @ x, weight) * x}


# --- second order ---


@dataclass
class Gaussian(Linear):
    """A mean w and a covariance Sigma, which many classes share. `rule` gives alpha and c for w += alpha Sigma z, z the contrast, and
    Sigma^-1 += c x x', from the margin, the variance v = x' Sigma x and the number of weight vectors that move; None: nothing moves."""

    covariance: str = "diagonal"

    def first(self, w: Array) -> Arrays:
        return {"w": w, "Sigma": np.eye(w.shape[-1]), "k": 0}

    def rule(self, m: float, v: float, rows: int, weight: float, wrong: bool, k: int) -> tuple[float, float] | None:
        raise NotImplementedError

    def spread(self, m: Arrays) -> Array:
        return m["Sigma"]

    def tightened(self, Sigma: Array, c: float, x: Array) -> Array:
        """(Sigma^-1 + c x x')^-1; the diagonal form has only the diagonal of the precision."""
        precision = np.linalg.inv(Sigma) + c * np.outer(x, x)
        return np.linalg.inv(precision if self.covariance == "full" else np.diag(np.diag(precision)))

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        w, Sigma, z = m["w"], m["Sigma"], contrast(m["w"], x, y)
        step = self.rule((w * z).sum(), x @ Sigma @ x, w.ndim, weight, wrong(w, x, y), m["k"])
        if step is None:
            return m
        alpha, c = step
        return {"w": w + alpha * z @ Sigma, "Sigma": self.tightened(Sigma, c, x), "k": m["k"] + 1}


@dataclass
class AROW(Gaussian):
    """Crammer, Kulesza and Dredze 2009."""

    r: float = 1.0
    multiclass: str = "exact"

    def rule(self, m: float, v: float, rows: int, weight: float, wrong: bool, k: int) -> tuple[float, float] | None:
        r = self.r / weight
        beta = 1 / ((1 if self.multiclass == "libol" else rows) * v + r)
        return ((1 - m) * beta, 1 / r) if m < 1 else None


@dataclass
class AROWRegressor(AROW):
    """Recursive least squares, where the covariance is full."""

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        w, Sigma, r = m["w"], m["Sigma"], self.r / weight
        gain = Sigma @ x / (x @ Sigma @ x + r)
        return {"w": w + (y - w @ x) * gain, "Sigma": self.tightened(Sigma, 1 / r, x)}


@dataclass
class SCW(Gaussian):
    """Wang, Zhao and Hoi 2012, propositions 1 and 2, for two classes. For many, alpha is where the constraint holds with equality:
    m + alpha n = phi sqrt(rows u), with the new variance u = v / (1 + c v) and c = alpha phi / sqrt(rows u)."""

    variant: str = "I"
    C: float = 1.0
    confidence: float = 0.75
    multiclass: str = "exact"

    def rule(self, m: float, v: float, rows: int, weight: float, wrong: bool, k: int) -> tuple[float, float] | None:
        phi, C = norm.ppf(self.confidence), self.C * weight
        libol = self.multiclass == "libol"
        if m >= phi * sqrt(v if libol else rows * v):
            return None
        n = rows * v + (1 / (2 * C) if self.variant == "II" else 0)
        psi, xi = 1 + phi**2 / 2, 1 + phi**2

        def root(alpha: float) -> float:
            """sqrt(rows u)"""
            return (-alpha * v * phi + sqrt((alpha * v * phi) ** 2 + 4 * rows * v)) / 2

        if rows == 2 and libol and self.variant == "I":
            alpha = (-m * psi + sqrt(m**2 * psi**2 - m**2 * psi + 2 * v * phi**2 * psi)) / (2 * v * psi)
        elif rows == 2:
            alpha = brentq(lambda a: m + a * n - phi * root(a), 0, (phi * root(0) - m) / n, xtol=1e-300, rtol=1e-15)
        elif self.variant == "II":
            gamma = phi * sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
            alpha = (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2))
        else:
            alpha = (-m * psi + sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi)
        alpha = max(0.0, alpha if self.variant == "II" else min(C, alpha))
        return alpha, alpha * phi / root(alpha)


@dataclass
class CW(Gaussian):
    """Crammer, Dredze and Pereira 2008: SCW-I without its bound. The form "variance": Dredze, Crammer and Pereira 2008, equation 9,
    or where m + 2 alpha v = phi 2 v / (1 + 2 alpha phi v) for many classes."""

    confidence: float = 0.7
    form: str = "stdev"
    multiclass: str = "exact"

    def rule(self, m: float, v: float, rows: int, weight: float, wrong: bool, k: int) -> tuple[float, float] | None:
        if self.form == "stdev":
            hard = SCW(self.covariance, "I", inf, self.confidence, self.multiclass)
            return hard.rule(m, v, rows, 1.0, wrong, k)
        phi = norm.ppf(self.confidence)
        if m >= phi * rows * v:
            return None
        if rows == 2:
            top = (phi * 2 * v - m) / (2 * v)
            alpha = brentq(lambda a: m + 2 * a * v - 2 * phi * v / (1 + 2 * a * phi * v), 0, top, xtol=1e-300, rtol=1e-15)
        else:
            b = 1 + 2 * phi * m
            alpha = (-b + sqrt(b**2 - 8 * phi * (m - phi * v))) / (4 * phi * v)
        return alpha, 2 * alpha * phi


@dataclass
class NHERD(Gaussian):
    """Crammer and Lee 2010, equations 8 and 9; the diagonal is that of the precision, "NHERD_P"."""

    C: float = 1.0

    def rule(self, m: float, v: float, rows: int, weight: float, wrong: bool, k: int) -> tuple[float, float] | None:
        C = self.C * weight
        return ((1 - m) / (rows * v + 1 / C), 2 * C + C**2 * rows * v) if m < 1 else None


@dataclass
class IELLIP(Gaussian):
    """Yang, Jin and Ye 2009, algorithm 2, with the factor 1 / (1 - c) of Sigma; c decays with the mistakes."""

    b: float = 0.3
    c: float = 0.1

    def rule(self, m: float, v: float, rows: int, weight: float, wrong: bool, k: int) -> tuple[float, float] | None:
        c = self.c * self.b**k
        return ((1 - m) / (rows * v), c / ((1 - c) * rows * v)) if wrong else None

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        after = super().learn(m, x, y, weight)
        return after if after is m else {**after, "Sigma": after["Sigma"] / (1 - self.c * self.b ** m["k"])}


@dataclass
class Dual(Linear):
    """Rules stated by theta and a matrix A: w = A^-1 theta."""

    covariance: str = "diagonal"
    a: float = 1.0

    def first(self, w: Array) -> Arrays:
        return {"w": w, "theta": w, "A": self.a * np.eye(w.shape[-1])}

    def spread(self, m: Arrays) -> Array:
        return self.a * np.linalg.inv(m["A"])

    def changed(self, m: Arrays, z: Array, c: float, x: Array) -> Arrays:
        """theta += z, A += c x x'"""
        theta, A = m["theta"] + z, m["A"] + c * np.outer(x, x)
        if self.covariance == "diagonal":
            A = np.diag(np.diag(A))
        return {"w": np.linalg.solve(A, theta.T).T, "theta": theta, "A": A}


@dataclass
class SOP(Dual):
    """Cesa-Bianchi, Conconi and Gentile 2005, figure 3."""

    correlate: str = "mistakes"

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        if wrong(m["w"], x, y):
            return self.changed(m, contrast(m["w"], x, y), 1.0, x)
        return self.changed(m, np.zeros_like(m["w"]), 1.0, x) if self.correlate == "all" else m


@dataclass
class NAROW(Dual):
    """Orabona and Crammer 2010, figure 2."""

    b: float = 1.0

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        z = contrast(m["w"], x, y)
        v = m["w"].ndim * (x @ np.linalg.solve(m["A"], x))
        r = v / (self.b * v - 1) if v > 1 / self.b else inf
        margin = (m["w"] * z).sum() * (r / (r + v) if r < inf else 1)
        return self.changed(m, z, 1 / r, x) if margin < 1 else m


# --- PAMO: Jorge and Paredes 2018 ---


@dataclass
class PAMO:
    """Algorithm 1. U is (d+1, k h), column j h + i being the hyperplane u_ij; subclasses say what the loss is. The weights of the
    embedding are called w, or W for many classes."""

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

    def score(self, m: Arrays, x: Array) -> Any:
        return m["W" if "W" in m else "w"] @ self.embed(m, x)

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


class PAMOClassifier(PAMO):
    """w_y - w_r in the place of y w for many classes: the PA step of a pair of rows moves the margin by 2 tau, as |z| = 1."""

    def learn(self, m: Arrays, x: Array, y: Any, weight: float) -> Arrays:
        name = "W" if "W" in m else "w"
        z, w = self.embed(m, x), m[name]
        r = rival(w @ z, y) if w.ndim == 2 else None
        loss = max(0.0, 1 - (w * contrast(w, z, y)).sum())
        if loss == 0 and self.variant == "I":
            return m
        w = w + min(weight * self.C, (1 - self.alpha) * loss / w.ndim) * contrast(w, z, y)
        direction = y * w if r is None else w[y] - w[r]
        target = z + max(0.0, 1 - direction @ z) * direction / (direction @ direction)
        return {"U": self.regress(m, x, target, self.epsilon, weight), name: w}


@dataclass
class PAMORegressor(PAMO):
    """`epsilon` is how far the prediction may be off; the regression of U is exact."""

    epsilon: float = 0.1

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
    length = np.linalg.norm(x)
    return x / length if length > 0 else x


def orthonormal(U: Array, dimensions: int) -> Array:
    """U with the hyperplanes of each dimension orthonormal, each on its own side of those before it."""
    pieces = U.reshape(len(U), -1, dimensions)
    result = np.empty_like(pieces)
    for i in range(dimensions):
        Q, R = np.linalg.qr(pieces[:, :, i])
        result[:, :, i] = Q * np.sign(np.diag(R))
    return result.reshape(U.shape)


# --- averages, and the pocket ---


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


def pocket(first: Arrays) -> Generator[Any, Arrays, None]:
    """A coroutine like `averages`: of all arrays so far, those with the longest run of examples that left them alone (Gallant 1990)."""
    best, longest = first, 0
    now, run = first, 0
    while True:
        after = yield best
        run = run + 1 if after is now else 0
        now = after
        if run > longest:
            best, longest = now, run


# --- weights, and the pass ---


def balanced(labels: Iterable[Any]) -> Array:
    """class_weight="balanced" with running counts: n / (classes seen x count of this class), the row itself included."""
    counts: dict[Any, int] = {}
    weights = []
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
        weights.append(sum(counts.values()) / (len(counts) * counts[label]))
    return np.array(weights)


def rows(X: Array, intercept: bool) -> Array:
    """The rows with the constant feature, or with nothing in its place."""
    return np.column_stack([np.full(len(X), float(intercept)), X])


def run(
    twin: Any, m: Arrays, X: Array, y: Any, weights: Any = None, intercept: bool = True, watch: Any = None
) -> tuple[Array, Arrays, Arrays]:
    """The scores of each row before it is learned from, the arrays in the end, and those that predict: an average's or a pocket's,
    where `watch` is one."""
    scores, seen = [], m
    if watch:
        next(watch)
    for t, x in enumerate(rows(X, intercept)):
        scores.append(twin.score(seen, x))
        weight = 1.0 if weights is None else weights[t]
        if weight > 0:
            m = twin.learn(m, x, y[t], weight)
            seen = watch.send(m) if watch else m
    return np.array(scores), m, seen


def batch(twin: Any, w: Array, X: Array, y: Any, passes: int) -> Array:
    """One step a pass: the sum of those that all examples ask for, from the weights before it."""
    for _ in range(passes):
        steps = [twin.step(w, x, label) for x, label in zip(rows(X, True), y, strict=True)]
        if not any(step is not None for step in steps):
            break
        w = getattr(twin, "shrink", 1.0) * w + sum(step for step in steps if step is not None)
    return w
