"""Draws docs/figures/noise.png: AROW and passive-aggressive learning where one label in ten is wrong.

python docs/figures/noise.py
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot

from onepass import AROWClassifier, PAClassifier
from onepass.plots import DecisionBoundaryDisplay
from onepass.plots.style import GREY, axes, colour, tidy

LEARNERS = {
    "PA": PAClassifier(variant="hard"),
    "PA-I, C=0.01": PAClassifier(C=0.01),
    "AROW": AROWClassifier(covariance="full"),
}


def clusters(n, rng, flipped=0.1):
    """The two clusters of Sugiyama's Figure 31.8; one label in ten is wrong."""
    truth = rng.choice([-1, 1], n)
    X = rng.normal(size=(n, 2)) + np.outer(-10 - 5 * truth, [1.0, 0.0])
    return X, truth, np.where(rng.random(n) < flipped, -truth, truth)


def hyperplane(n, rng, d=20, flipped=0.1):
    """A linear concept in d dimensions; one label in ten is wrong."""
    X = rng.normal(size=(n, d))
    truth = np.sign(X @ np.random.default_rng(1).normal(size=d))
    return X, truth, np.where(rng.random(n) < flipped, -truth, truth)


def main():
    figure, panels = pyplot.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
    X, _, y = clusters(100, np.random.default_rng(4))
    for ax, (name, learner) in zip(panels, LEARNERS.items(), strict=False):
        model = learner.copy().partial_fit(X, y, classes=[-1, 1])
        DecisionBoundaryDisplay.from_estimator(model, X, y, ax=ax, extent=(-20, 0, -3, 3))
        ax.set_title(name)
    ax = axes(panels[3], 4, 3.4)
    test, truth, _ = hyperplane(20_000, np.random.default_rng(2))
    at = np.unique(np.geomspace(20, 20_000, 40).astype(int))
    X, _, y = hyperplane(at[-1], np.random.default_rng(3))
    for k, (name, learner) in enumerate(LEARNERS.items()):
        model, start, errors = learner.copy(), 0, []
        for stop in at:
            model.partial_fit(X[start:stop], y[start:stop], classes=[-1, 1])
            errors.append(100 * np.mean(model.predict(test) != truth))
            start = stop
        ax.plot(at, errors, color=colour(k))
        ax.annotate(name, (at[-1], errors[-1]), (4, 0), textcoords="offset points", va="center", color=colour(k))
    ax.set(xscale="log", xlabel="examples learned", ylabel="error on true labels, %", xlim=(20, 90_000), ylim=(0, None))
    ax.set_title("20 features")
    ax.yaxis.grid(True, color=GREY, alpha=0.2)
    tidy(ax)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
