"""Decision boundaries of classifiers in the plane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from onepass.plots.style import GREY, INK, MARKERS, axes, colour, figure, tidy

TINT = 0.22  # how much of a label's colour its region has


class DecisionBoundaryDisplay:
    """What a classifier of two features predicts everywhere, and the examples on top.

    Make one with `from_estimator`.

    Parameters
    ----------
    classes : array
        The labels, in the order of their colours.
    extent : (left, right, bottom, top)
        The part of the plane.
    margins : array of shape (height, width, number of labels)
        At each point of a grid, from the bottom up, by how much each label's score exceeds that of its best rival: the label
        with a positive margin is predicted.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    regions_ : list of contour sets, the region of each label that is predicted somewhere
    boundaries_ : list of contour sets, the lines between them
    points_ : list of scatter plots, one per label; empty if no labels were given
    """

    def __init__(self, classes: NDArray[Any], extent: tuple[float, float, float, float], margins: NDArray[Any]) -> None:
        self.classes, self.extent, self.margins = classes, extent, margins

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        ax: Any = None,
        extent: tuple[float, float, float, float] | None = None,
        resolution: int = 200,
    ) -> Self:
        """Plot the boundary of a fitted classifier around the examples X, and the examples themselves if their labels are given.

        Parameters
        ----------
        model : classifier
            Fitted on two features.
        X : array of shape (n, 2)
            The examples.
        y : array of shape (n,), optional
            Their labels.
        ax : matplotlib axes, optional
            Where to plot; a new figure, if not given.
        extent : (left, right, bottom, top), optional
            The part of the plane to show, the same for several panels; around X, if not given.
        resolution : int
            How many points the grid has in each direction.

        Examples
        --------
        >>> from onepass import PAClassifier, datasets
        >>> X, y = datasets.circles(200, random_state=0)
        >>> display = DecisionBoundaryDisplay.from_estimator(PAClassifier().fit(X, y), X, y)
        >>> len(display.points_)
        2
        """
        X = np.asarray(X, float)
        if not is_classifier(model):
            raise ValueError(f"{type(model).__name__} is not a classifier, so it has no decision boundary.")
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(f"A decision boundary is drawn for two features: X must have the shape (n, 2), got {X.shape}.")
        if extent is None:
            low, high = X.min(axis=0), X.max(axis=0)
            room = 0.08 * (high - low) + 1e-9
            (left, bottom), (right, top) = (low - room).tolist(), (high + room).tolist()
            extent = (left, right, bottom, top)
        across, up = np.meshgrid(np.linspace(*extent[:2], resolution), np.linspace(*extent[2:], resolution))
        grid = np.column_stack([across.ravel(), up.ravel()])
        scores = np.asarray(model.decision_function(grid), float)
        margins = _margins(scores).reshape(resolution, resolution, -1)
        return cls(model.classes_, extent, margins).plot(X, y, ax=ax)

    def plot(self, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw the regions, and examples on top if they come with labels."""
        ax = axes(ax, 4.2, 4.2)
        from matplotlib.colors import to_rgb

        self.ax_, self.figure_ = ax, ax.figure
        height, width, _ = self.margins.shape
        plane = np.linspace(*self.extent[:2], width), np.linspace(*self.extent[2:], height)
        winners = np.unique(self.margins.argmax(axis=2)).tolist()
        beyond = float(np.abs(self.margins).max()) + 1.0
        self.regions_, self.boundaries_ = [], []
        for k in winners:
            tint = tuple(1 - TINT * (1 - part) for part in to_rgb(colour(k)))
            self.regions_.append(ax.contourf(*plane, self.margins[..., k], levels=[0, beyond], colors=[tint]))
        for k in winners[:-1]:
            self.boundaries_.append(ax.contour(*plane, self.margins[..., k], levels=[0], colors=INK, linewidths=1.3))
        self.points_ = []
        if y is not None:
            X, y = np.asarray(X, float), np.asarray(y)
            for k, label in enumerate(self.classes):
                chosen = y == label
                self.points_.append(
                    ax.scatter(
                        X[chosen, 0],
                        X[chosen, 1],
                        s=18,
                        color=colour(k),
                        marker=MARKERS[k % len(MARKERS)],
                        edgecolors="white",
                        linewidths=0.5,
                        label=str(label),
                        zorder=3,
                    )
                )
        ax.set_xlim(self.extent[:2])
        ax.set_ylim(self.extent[2:])
        ax.set_box_aspect(1)
        ax.locator_params(nbins=4)
        tidy(ax)
        ax.spines[:].set_visible(False)
        return self


def _margins(scores: NDArray[Any]) -> NDArray[Any]:
    if scores.ndim == 1:
        return np.column_stack([-scores, scores])
    margins = np.empty_like(scores)
    for k in range(scores.shape[1]):
        margins[:, k] = scores[:, k] - np.delete(scores, k, axis=1).max(axis=1, initial=-np.inf)
    return margins


def draw_boundaries(
    snapshots: Mapping[str, Sequence[Any]],
    rates: Mapping[str, Sequence[float]],
    X: Any,
    y: Any,
    pieces: Sequence[slice],
    titles: Sequence[str],
    extent: tuple[float, float, float, float],
    advance: Callable[[], object] = lambda: None,
) -> Any:
    """A row of panels for each learner, as it was after each piece of a stream of two features: its boundary, the examples of the
    piece, and how many of them it had got wrong."""
    panels = figure(2 * len(pieces), 2.18 * len(snapshots) + 0.4)
    panels.get_layout_engine().set(w_pad=0.04, h_pad=0.05, wspace=0.02, hspace=0.04)
    grid = panels.subplots(len(snapshots), len(pieces), squeeze=False)
    for row, (name, models) in zip(grid, snapshots.items(), strict=True):
        for i, (ax, model, piece) in enumerate(zip(row, models, pieces, strict=True)):
            DecisionBoundaryDisplay.from_estimator(model, X[piece], y[piece], ax=ax, extent=extent)
            ax.set(xticks=[], yticks=[])
            ax.set_xlabel(f"{100 * rates[name][i]:.0f} % wrong", fontsize=11, color=GREY)
            advance()
        row[0].set_ylabel(name, fontsize=15, fontweight="bold", labelpad=8)
    for ax, title in zip(grid[0], titles, strict=True):
        ax.set_title(title, fontsize=11, color=INK)
    return panels
