"""Regret: the loss of a learner along a stream, against that of the best fixed linear model in hindsight.

The best model minimises the sum of losses over all of the data, over all weights or over those in a ball:

* without a ball, losses made of hinges (hinge, absolute, epsilon-insensitive) are a linear programme, which HiGHS solves, and
  smooth losses go to L-BFGS-B;
* in a ball, a barrier keeps the weights inside, hinges are rounded off, and a trust-region method follows the solution while
  barrier and rounding fade.

Whatever found the weights, their distance from the optimum is known by duality. If a convex function is not above the loss, neither
is its tangent at the weights u; over a ball of radius R the sum of the tangents is least in the direction of minus its slope g, and
there it is value - u.g - R |g|. So no weights in the ball have a smaller loss than that, and the gap is what u is above it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from scipy.sparse.linalg import lsqr
from scipy.special import expit
from sklearn.base import clone, is_classifier

from onepass.base.inputs import as_csr
from onepass.base.labels import classes_of, label_array
from onepass.evaluate.feeding import steps_of
from onepass.evaluate.metrics import Array
from onepass.evaluate.online import arrays, refuse_other_kinds

ACCURACY = 1e-6  # the gap that is small enough, in units of the loss of no weights at all
FADING = 10.0 ** -np.arange(11)  # of the barrier and of the rounding of hinges


@dataclass(frozen=True, eq=False, repr=False)
class Regret:
    """The loss of a learner along a stream, beside that of the best fixed linear model.

    Attributes
    ----------
    loss : str
        Which loss.
    cumulative : array
        The sum of the learner's losses up to each example, each from before the example was learned from.
    best : array
        The sum of the losses of the best fixed model up to each example.
    comparator : array of shape (d,)
        The weights of that model.
    intercept : float
        Its intercept; 0 if the learner has none.
    gap : float
        How much better, at most, the best model could be than the one that was found: no weights in the ball have a loss of less
        than `best[-1] - gap`. Without a radius, the ball is as large as the norm of the comparator, with features scaled to a
        mean square of 1.
    """

    loss: str
    cumulative: Array
    best: Array
    comparator: Array
    intercept: float
    gap: float

    @property
    def curve(self) -> Array:
        """The regret up to each example."""
        return self.cumulative - self.best

    @property
    def final(self) -> float:
        """The regret over the whole stream."""
        return float(self.curve[-1])

    def __repr__(self) -> str:
        figures = f"final={self.final:.4g}, cumulative={self.cumulative[-1]:.4g}, best={self.best[-1]:.4g}, gap={self.gap:.1g}"
        return f"Regret(loss={self.loss!r}, n={len(self.best)}, {figures})"


def regret(learner: Any, data: Any, *, loss: str | None = None, radius: float | None = None) -> Regret:
    """Run a learner once over data, in its order, and compare its losses with those of the best fixed linear model.

    The best model is linear in the rows as they are given, with an intercept if the learner has one. Its weights may be any, or
    only those in a ball (the intercept included), as in regret bounds.

    Parameters
    ----------
    learner : learner
        A learner of two classes or of numbers; a fresh clone of it is run.
    data : (X, y)
        The stream: dense or CSR.
    loss : str, optional
        For classes, where m is the margin: "hinge" max(0, 1 - m), "squared_hinge", "log" log(1 + exp(-m)), or "squared" (1 - m)^2;
        for numbers, where e is the error: "squared" e^2, "absolute" |e|, or "epsilon_insensitive" max(0, |e| - epsilon) with the
        learner's epsilon, times the deviation of all targets where the learner scales them. If not given, the learner's own: its
        `loss` if it has one; else "hinge" for classes, and for numbers "epsilon_insensitive" if it has an epsilon and "squared" if
        not.
    radius : float, optional
        The largest norm that the weights of the best model may have.

    Returns
    -------
    Regret

    Examples
    --------
    >>> from onepass import PAClassifier, datasets
    >>> result = regret(PAClassifier(C=0.01), datasets.sea(1000, random_state=0), radius=10.0)
    >>> result.loss, len(result.curve), result.gap < 1e-4
    ('hinge', 1000, True)
    >>> bool(result.final == result.cumulative[-1] - result.best[-1])
    True
    """
    if radius is not None and not 0 < radius < np.inf:
        raise ValueError(f"`radius` must be a positive number, got {radius}.")
    if not hasattr(learner, "test_then_train"):
        raise TypeError(f"Regret is of scores from before learning, and {type(learner).__name__} has no `test_then_train`.")
    refuse_other_kinds(learner)
    X, y = arrays(data)
    own = steps_of(learner)[-1]
    if is_classifier(learner):
        classes = classes_of(label_array(y))
        if len(classes) != 2:
            raise ValueError(f"Regret is for two classes or for numbers, and there are {len(classes)} classes.")
        name = loss or str(getattr(own, "loss", "hinge"))
        measure = _Loss(name, MARGINS, np.where(y == classes[1], 1.0, -1.0))
        scores = clone(learner).test_then_train(X, y, classes=classes)
    else:
        name = loss or str(getattr(own, "loss", "epsilon_insensitive" if hasattr(own, "epsilon") else "squared"))
        taught = clone(learner)
        scores = taught.test_then_train(X, y)
        unit = getattr(steps_of(taught)[-1], "target_scale_", 1.0)
        measure = _Loss(name, ERRORS, y.astype(float), unit * own.epsilon if hasattr(own, "epsilon") else None)
    rows = sp.csr_array(as_csr(X), dtype=float) if sp.issparse(X) else np.asarray(X, float)
    if own.fit_intercept:
        ones = np.ones((len(y), 1))
        rows = sp.hstack([ones, rows], format="csr") if sp.issparse(X) else np.hstack([ones, rows])
    weights, gap = _best_weights(rows, measure, radius)
    best, _, _ = measure(rows @ weights)
    if measure.name == "log" and radius is None and best.sum() < np.log(2):  # then each loss is, so each margin is positive
        raise ValueError(
            "A linear model separates the classes, so its log loss falls for ever as its weights grow, and no model is the best."
            " Pass a `radius`."
        )
    intercept = float(weights[0]) if own.fit_intercept else 0.0
    losses, _, _ = measure(scores.astype(float))
    return Regret(measure.name, losses.cumsum(), best.cumsum(), weights[int(own.fit_intercept) :], intercept, gap)


# --- losses, as functions of the scores f ---

Parts = tuple[Array, Array, Array]  # of each example: the loss, and its first and second derivative


def _squared(y: Array, f: Array) -> Parts:
    return (y - f) ** 2, 2 * (f - y), np.full(len(y), 2.0)


def _squared_hinge(y: Array, f: Array) -> Parts:
    short = np.maximum(0, 1 - y * f)
    return short**2, -2 * y * short, 2.0 * (short > 0)


def _log(y: Array, f: Array) -> Parts:
    p = expit(-y * f)
    return np.logaddexp(0, -y * f), -y * p, p * (1 - p)


SMOOTH: dict[str, Callable[[Array, Array], Parts]] = {"squared": _squared, "squared_hinge": _squared_hinge, "log": _log}
MARGINS = ("hinge", "squared_hinge", "log", "squared")
ERRORS = ("squared", "absolute", "epsilon_insensitive")


class _Loss:
    """A loss on given targets. Those that are not smooth are sums of hinges max(0, b - s f), of which there is a list (s, b)."""

    def __init__(self, name: str, known: tuple[str, ...], y: Array, epsilon: float | None = None) -> None:
        if name not in known:
            raise ValueError(f"There is no best model known for the loss {name!r}. Known are: {', '.join(known)}.")
        if name == "epsilon_insensitive" and epsilon is None:
            raise ValueError("The learner has no epsilon; the loss 'absolute' is the same with an epsilon of 0.")
        self.name, self.y, self.hinges = name, y, list[tuple[Array, Array]]()
        if name == "hinge":
            self.hinges = [(y, np.ones(len(y)))]
        elif name not in SMOOTH:
            slack, one = 0.0 if name == "absolute" else epsilon or 0.0, np.ones(len(y))
            self.hinges = [(one, y - slack), (-one, -y - slack)]

    def __call__(self, f: Array, mu: float = 0.0) -> Parts:
        """The parts of the loss; hinges are rounded off, from below and by no more than mu."""
        if not self.hinges:
            return SMOOTH[self.name](self.y, f)
        value, slope, curvature = np.zeros((3, len(f)))
        for s, b in self.hinges:
            z = b - s * f
            root = np.sqrt(z * z + 4 * mu * mu)
            value += (z + root) / 2 - mu
            slope -= s * (1 + np.divide(z, root, out=np.zeros(len(z)), where=root > 0)) / 2
            curvature += np.divide(2 * mu**2, root**3, out=np.zeros(len(z)), where=root > 0)
        return value, slope, curvature


# --- the best weights, each with the sum of tangents that shows how good they are: its constant, and its slope in each score ---

Found = tuple[Array, float, Array]


def _best_weights(X: Any, loss: _Loss, radius: float | None) -> tuple[Array, float]:
    """The weights, and the gap."""
    scale = np.sqrt(np.asarray((X * X).mean(axis=0)).ravel())
    scale[scale == 0] = 1
    scaled = X @ sp.diags_array(1 / scale) if sp.issparse(X) else X / scale
    found = _linear_programme(scaled, loss) if loss.hinges else _smooth_minimum(scaled, loss)
    weights = found[0] / scale
    if radius is None:
        return weights, _gap(scaled, loss, found, float(np.linalg.norm(found[0])))
    if np.linalg.norm(weights) > radius:
        weights = lsqr(X, X @ weights, atol=0, btol=0)[0]  # the least weights with the same scores
    gap = _gap(X, loss, (weights, *found[1:]), radius)
    if np.linalg.norm(weights) <= radius and gap <= _small(loss):
        return weights, gap
    return _best_in_ball(X, loss, radius)


def _gap(X: Any, loss: _Loss, found: Found, radius: float) -> float:
    weights, constant, slope = found
    gap = loss(X @ weights)[0].sum() - constant + radius * np.linalg.norm(X.T @ slope)
    return max(0.0, float(gap))


def _small(loss: _Loss) -> float:
    return ACCURACY * float(loss(np.zeros(len(loss.y)))[0].sum())


def _tangent(X: Any, loss: _Loss, weights: Array, mu: float = 0.0) -> Found:
    f = X @ weights
    value, slope, _ = loss(f, mu)
    return weights, float(value.sum() - slope @ f), slope


def _linear_programme(X: Any, loss: _Loss) -> Found:
    """min sum(xi), A u + xi >= b, xi >= 0, by its dual: max b.p, p A = 0, 0 <= p <= 1, which has only d equations."""
    A = sp.vstack([sp.diags_array(s) @ sp.csr_array(X) for s, _ in loss.hinges])
    b = np.concatenate([b for _, b in loss.hinges])
    solution = linprog(-b, A_eq=A.T, b_eq=np.zeros(X.shape[1]), bounds=(0, 1))
    if solution.status != 0:
        raise RuntimeError(f"The linear programme of the best model was not solved: {solution.message}")
    shares = np.split(solution.x, len(loss.hinges))
    slope = -sum(s * p for (s, _), p in zip(loss.hinges, shares, strict=True))
    return -solution.eqlin.marginals, float(b @ solution.x), slope


def _smooth_minimum(X: Any, loss: _Loss) -> Found:
    def objective(u: Array) -> tuple[float, Array]:
        value, slope, _ = loss(X @ u)
        return value.sum(), X.T @ slope

    start = np.zeros(X.shape[1])
    flat = 1e-13 * np.abs(objective(start)[1]).max()
    patient = {"maxiter": 10_000, "maxfun": 100_000, "maxcor": 30, "ftol": 0.0, "gtol": flat}
    weights = minimize(objective, start, jac=True, method="L-BFGS-B", options=patient).x
    return _tangent(X, loss, weights)


def _best_in_ball(X: Any, loss: _Loss, radius: float) -> tuple[Array, float]:
    n, d = X.shape
    weights, gap = np.zeros(d), np.inf
    for mu in float(loss(np.zeros(n))[0].mean()) * FADING:
        inside = _Inside(X, loss, radius, mu)
        near = 0.01 * n * mu / radius  # so near the end of this stage that the gap hardly shows it
        options = {"initial_trust_radius": radius / 4, "max_trust_radius": 2 * radius, "gtol": near, "maxiter": 500}
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that are tried and not taken
            nearer = minimize(
                inside.value, weights, jac=inside.slope, hessp=inside.curving, method="trust-krylov", options=options
            ).x
        bound = _gap(X, loss, _tangent(X, loss, nearer, mu), radius)
        if bound < gap:
            weights, gap = nearer, bound
        if gap <= _small(loss):
            break
    return weights, gap


class _Inside:
    """The loss of weights u in a ball, hinges rounded off by mu, and a barrier: - n mu log(radius^2 - |u|^2)."""

    def __init__(self, X: Any, loss: _Loss, radius: float, mu: float) -> None:
        self._X, self._loss, self._mu, self._radius2, self._share = X, loss, mu, radius**2, mu * X.shape[0]
        self._u: Array | None = None  # where the solver is: it asks for several things of the same weights

    def _at(self, u: Array) -> tuple[float, Parts]:
        if self._u is None or not np.array_equal(u, self._u):
            self._u, self._here = u.copy(), (float(self._radius2 - u @ u), self._loss(self._X @ u, self._mu))
        return self._here

    def value(self, u: Array) -> float:
        slack, (value, _, _) = self._at(u)
        return value.sum() - self._share * np.log(slack) if slack > 0 else np.inf

    def slope(self, u: Array) -> Array:
        slack, (_, slope, _) = self._at(u)
        return self._X.T @ slope + 2 * self._share * u / slack

    def curving(self, u: Array, v: Array) -> Array:
        slack, (_, _, curvature) = self._at(u)
        return self._X.T @ (curvature * (self._X @ v)) + 2 * self._share * (v / slack + 2 * u * (u @ v) / slack**2)
