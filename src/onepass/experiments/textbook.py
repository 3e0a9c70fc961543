"""The figures of the textbook's chapter on online learning: PA and AROW, separable data, outliers, and a curve of Gaussian bases.

M. Sugiyama: Introduction to Statistical Machine Learning. Morgan Kaufmann 2015, chapter 31.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from onepass.experiments.cells import Task
from onepass.experiments.lab import Lab
from onepass.experiments.report import Section, Table
from onepass.linear import AROWClassifier, AROWRegressor, PAClassifier, PARegressor
from onepass.plots.style import COLOURS, FAINT, GREY, INK, figure, tidy
from onepass.stages import RBFBasis, pipeline

# The book's lambda = 1 is C = 1 / (2 lambda) for PA-II, and r = lambda for AROW.
PA, AROW = PAClassifier(C=0.5, variant="II"), AROWClassifier(r=1.0, covariance="full")
WIDTH2 = 2 * 0.3**2  # of the bases: exp(-|x - c|^2 / WIDTH2)
GRID = np.linspace(-3, 3, 1000)[:, None]

Arrays = tuple[Any, Any]


def separable(seed: int, n: int = 200) -> Arrays:
    """Figure 31.4: two wide clouds, ten apart."""
    rng = np.random.RandomState(seed)
    y = np.repeat([1, -1], n // 2)
    X = np.column_stack([rng.randn(n) - 5 * y, 5 * rng.randn(n)])
    order = rng.permutation(n)
    return X[order], y[order]


def with_outliers(seed: int, n: int = 50, outliers: int = 2) -> Arrays:
    """Figure 31.8: two clouds ten apart, and two examples of the first that lie in the second."""
    rng = np.random.RandomState(seed)
    y = np.repeat([1, -1], n // 2)
    X = np.column_stack([rng.randn(n) - 10 - 5 * y, rng.randn(n)])
    X[:outliers, 0] += 10
    order = rng.permutation(n)
    return X[order], y[order]


def curve(seed: int, n: int = 50) -> Arrays:
    """Figures 31.5 and 31.9: points of sinc(x) + x/10, with noise, in random order. (In 31.9 the book has them in order, which is the
    same to least squares.)"""
    rng = np.random.RandomState(seed)
    X = rng.permutation(np.linspace(-3, 3, n))[:, None]
    return X, target(X[:, 0]) + 0.05 * rng.randn(n)


def target(x: Any) -> Any:
    """What the curve would be without noise."""
    return np.sinc(x) + 0.1 * x


def on_bases(learner: Any, X: Any) -> Any:
    """A linear model on a Gaussian base at each example."""
    return pipeline(RBFBasis(X, gamma=1 / WIDTH2), learner)


def regressors(X: Any) -> dict[str, Any]:
    """PA in one pass as in Figure 31.5; AROW in a hundred passes as in Figure 31.9."""
    pa = PARegressor(C=0.5, variant="II", epsilon=0.0, fit_intercept=False, scale_target=False)
    arow = AROWRegressor(r=1.0, covariance="full", fit_intercept=False, max_iter=100)
    return {"PA": on_bases(pa, X), "AROW": on_bases(arow, X)}


def angle(v: Any, w: Any) -> float:
    """Between two boundaries, in degrees."""
    cosine = v @ w / (np.linalg.norm(v) * np.linalg.norm(w))
    return float(np.degrees(np.arccos(min(cosine, 1.0))))


def measure(seed: int) -> dict[str, Any]:
    """All four figures, for one draw of their data."""
    X, y = separable(seed)
    early, late = PA.copy().partial_fit(X[:3], y[:3], classes=[-1, 1]), PA.copy().fit(X, y)
    fresh = separable(1000 + seed, 2000)
    answer = {
        "degrees from the third step to the last": angle(early.coef_[0], late.coef_[0]),
        "error after three, %": 100 - 100 * float(early.score(*fresh)),
        "error after all, %": 100 - 100 * float(late.score(*fresh)),
    }
    X, y = with_outliers(seed)
    clean = with_outliers(1000 + seed, 2000, 0)
    for name, model in (("PA", PA), ("AROW", AROW)):
        answer[f"{name} with outliers, %"] = 100 - 100 * float(model.copy().fit(X, y).score(*clean))
    X, y = curve(seed)
    for name, model in regressors(X).items():
        answer[f"RMSE of the {name} curve"] = float(np.sqrt(np.mean((model.fit(X, y).predict(GRID) - target(GRID[:, 0])) ** 2)))
    return answer


def sugiyama(lab: Lab) -> Section:
    """Figures 31.4, 31.5, 31.8 and 31.9."""
    draws = lab.cells.measured([Task({"textbook": seed}, partial(measure, seed)) for seed in range(lab.permutations)])
    records = [{"draw": seed, **{name: f"{value:.4f}" for name, value in draw.items()}} for seed, draw in enumerate(draws)]

    def mean(name: str) -> float:
        return float(np.mean([draw[name] for draw in draws]))

    def worst(name: str) -> float:
        return max(draw[name] for draw in draws)

    lines = [
        [
            "31.4",
            "after three examples nearly the final solution",
            f"{mean('error after three, %'):.2f} % error after three ({worst('error after three, %'):.1f} at worst),"
            f" {mean('error after all, %'):.2f} % after all; the boundary turns by"
            f" {mean('degrees from the third step to the last'):.0f}° in between"
            f" ({worst('degrees from the third step to the last'):.0f}° at worst)",
        ],
        ["31.5", "PA regression on Gaussian bases", f"RMSE {mean('RMSE of the PA curve'):.3f} after one pass over 50 examples"],
        [
            "31.8",
            "AROW suffers less from outliers",
            f"{mean('PA with outliers, %'):.2f} % error of PA, {mean('AROW with outliers, %'):.2f} % of AROW",
        ],
        [
            "31.9",
            "AROW regression is least squares",
            f"RMSE {mean('RMSE of the AROW curve'):.3f} after a hundred passes; the noise has 0.05",
        ],
    ]
    about = [
        "The data of the book's programs, drawn anew, and its settings: lambda = 1, which is C = 1/2 for PA-II and r = 1 for AROW."
        " Weights start from 0 (the curves of the book from random ones). The book shows pictures only: its words are held against"
        f" our figures, means of {lab.permutations} draws; errors are on 2,000 fresh examples without outliers.",
    ]
    table = Table(["figure", "the book", "here"], lines)
    return Section("sugiyama", "The textbook's figures", about, table, records, draw())


def draw() -> Any:
    """The four pictures, for the first draw."""
    fig = figure(11, 8)
    (first, outliers), (pa, arow) = fig.subplots(2, 2)
    X, y = separable(0)
    scatter(first, X, y)
    model = PA.copy()
    for t in range(len(X)):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
        if t < 3:
            line(first, model, (-10, 10), color=GREY, linewidth=0.8 + 0.3 * t, linestyle="--", label=f"after {t + 1}")
    line(first, model, (-10, 10), color=INK, label="after all")
    first.set(title="31.4: PA on separable data", xlim=(-10, 10), ylim=(-10, 10))
    X, y = with_outliers(0)
    scatter(outliers, X, y)
    for (name, learner), tint in zip((("PA", PA), ("AROW", AROW)), COLOURS[2:], strict=False):
        line(outliers, learner.copy().fit(X, y), (-2.5, 2.5), color=tint, label=name)
    outliers.set(title="31.8: PA and AROW with two outliers", xlim=(-20, 0), ylim=(-2.5, 2.5))
    X, y = curve(0)
    for ax, number, (name, model) in zip((pa, arow), ("31.5", "31.9"), regressors(X).items(), strict=True):
        ax.plot(GRID, target(GRID[:, 0]), color=GREY, linestyle=":", label="without noise")
        ax.plot(X, y, "o", color=COLOURS[0], markersize=4)
        ax.plot(GRID, model.fit(X, y).predict(GRID), color=COLOURS[2], label=name)
        ax.set(title=f"{number}: {name} regression", xlim=(-2.8, 2.8), ylim=(-0.5, 1.2))
    for ax in (first, outliers, pa, arow):
        ax.legend(frameon=False, fontsize=9)
        ax.grid(color=FAINT)
        tidy(ax)
    return fig


def scatter(ax: Any, X: Any, y: Any) -> None:
    """The examples: rings for one class, crosses for the other."""
    for label, marker, tint in ((1, "o", COLOURS[0]), (-1, "x", COLOURS[1])):
        ax.scatter(*X[y == label].T, marker=marker, color=tint, s=18, linewidths=1)


def line(ax: Any, model: Any, span: tuple[float, float], **style: Any) -> None:
    """The boundary w.x + b = 0, over the range `span` of the second feature."""
    (a, b), c = model.coef_[0], model.intercept_[0]
    up = np.array(span, float)
    ax.plot(-(c + b * up) / a, up, **style)
