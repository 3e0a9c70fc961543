"""Learning curves: a metric along a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from onepass.evaluate import Comparison, Prequential
from onepass.evaluate.metrics import PER_CENT
from onepass.plots.style import FAINT, GREY, INK, axes, colour, tidy

# The share of the stream that does not decide how far the axis reaches: the first few examples swing from 0 to 1.
WARM_UP = 0.02


class LearningCurveDisplay:
    """Curves of one metric, one per learner, each labelled where it ends.

    Make one with `from_prequential` or `from_comparison`.

    Parameters
    ----------
    curves : dict
        Name -> (positions, values).
    metric : str
        What the values are.
    drifts : list of int, optional
        Positions to mark, where the stream is known to change.
    seen : dict, optional
        Name -> positions where a detector saw the stream change: marked by dotted lines, in the colour of the curve.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    lines_ : list of matplotlib lines, one per learner
    """

    def __init__(
        self,
        curves: Mapping[str, tuple[Any, Any]],
        metric: str,
        drifts: Iterable[int] | None = None,
        seen: Mapping[str, Iterable[int]] | None = None,
    ) -> None:
        self.curves, self.metric, self.drifts, self.seen = curves, metric, drifts, seen

    @classmethod
    def from_prequential(
        cls,
        results: Prequential | Mapping[str, Prequential],
        metric: str | None = None,
        *,
        window: bool = False,
        ax: Any = None,
        drifts: Iterable[int] | None = None,
    ) -> Self:
        """Plot one result of `onepass.evaluate.prequential`, or several by name, with the drifts that were seen.

        Parameters
        ----------
        results : Prequential, or dict of name -> Prequential
            What to plot.
        metric : str, optional
            Which metric; the first of the result, if not given.
        window : bool
            Plot the metric of windows instead of that of everything so far.
        ax : matplotlib axes, optional
            Where to plot; a new figure, if not given.
        drifts : list of int, optional
            Positions to mark.

        Examples
        --------
        >>> from onepass import PAClassifier, datasets, evaluate
        >>> result = evaluate.prequential(PAClassifier(), datasets.sea(2000, random_state=0))
        >>> display = LearningCurveDisplay.from_prequential({"PA-I": result}, drifts=[500, 1000, 1500])
        >>> display.ax_.get_ylabel()
        'mistake rate'
        """
        named = {"": results} if isinstance(results, Prequential) else dict(results)
        first = next(iter(named.values()))
        metric = metric or next(iter(first.metrics))
        curves = {}
        for name, result in named.items():
            curve = result.window_curve if window else result.curve
            if curve is None:
                raise ValueError("There is no curve of windows: evaluate with `window=` first.")
            if metric not in curve.values:
                raise ValueError(f"The metric {metric!r} was not evaluated. There are: {', '.join(curve.values)}.")
            curves[name] = (curve.positions, curve[metric])
        return cls(curves, metric, drifts, {name: result.drifts for name, result in named.items()}).plot(ax)

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None) -> Self:
        """Plot the mean curves of `onepass.evaluate.compare`, on `ax` or on a new figure."""
        curves = {name: (comparison.curves.positions, values) for name, values in comparison.curves.values.items()}
        return cls(curves, comparison.metric).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves on `ax`, or on a new figure."""
        ax = axes(ax, 7.0, 4.0)
        from matplotlib.ticker import FuncFormatter, StrMethodFormatter

        self.ax_, self.figure_ = ax, ax.figure
        ax.set_axisbelow(True)
        ax.grid(axis="y", color=FAINT, linewidth=0.8)
        for drift in self.drifts or ():
            ax.axvline(drift, color=GREY, linewidth=0.9, linestyle=(0, (3, 3)), zorder=1)
        self.lines_ = [
            ax.plot(positions, values, color=colour(i), linewidth=1.8, solid_capstyle="round", label=name or None)[0]
            for i, (name, (positions, values)) in enumerate(self.curves.items())
        ]
        for i, name in enumerate(self.curves):
            for place in (self.seen or {}).get(name, ()):
                ax.axvline(place, color=colour(i), linewidth=1.0, linestyle=(0, (1, 2)), zorder=1)
        low, high = self._reach()
        ax.set_ylim(low, high)
        ax.set_xlim(0, max(positions[-1] for positions, _ in self.curves.values()))
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        if self.metric in PER_CENT:
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
        ax.set_xlabel("examples", color=INK)
        ax.set_ylabel(self.metric.replace("_", " "), color=INK)
        tidy(ax)
        self._label_ends(low, high)
        return self

    def _reach(self) -> tuple[float, float]:
        settled = [values[positions >= WARM_UP * positions[-1]] for positions, values in self.curves.values()]
        low, high = min(map(np.nanmin, settled)), max(map(np.nanmax, settled))
        room = 0.06 * (high - low) or 0.5
        return (0.0 if 0 <= low < 0.35 * high else low - room), high + room

    def _label_ends(self, low: float, high: float) -> None:
        ends = {i: (values[-1] - low) / (high - low) for i, (name, (_, values)) in enumerate(self.curves.items()) if name}
        label_ends(self.ax_, list(self.curves), ends)


def label_ends(ax: Any, names: list[str], ends: Mapping[int, float]) -> None:
    """Names beside what they belong to, in its colour, moved apart where they would overlap. `ends` are heights, in parts of the axes,
    by the place of the name."""
    size = 9.5
    line = 1.25 * size / 72 * ax.figure.dpi / ax.get_window_extent().height
    order = sorted(ends, key=ends.__getitem__)
    for i, height in zip(order, _spread([ends[i] for i in order], line), strict=True):
        ax.annotate(
            names[i], (1.0, height), (6, 0), "axes fraction", "offset points", color=colour(i), fontsize=size, va="center"
        )


def _spread(heights: list[float], gap: float) -> list[float]:
    """Ascending heights moved as little as it takes to lie `gap` apart, and from 0 to 1 if there is room: neighbours that collide share
    their middle."""
    groups: list[list[float]] = []  # [sum of the wanted heights of the lowest, members]
    for height in heights:
        groups.append([height, 1])
        while len(groups) > 1 and _bottom(groups[-2], gap) + groups[-2][1] * gap > _bottom(groups[-1], gap):
            total, members = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += members
    apart = [_bottom(group, gap) + k * gap for group in groups for k in range(int(group[1]))]
    above = max(1 - (len(apart) - 1) * gap, 0)  # the height of the lowest when all are moved up
    return [min(max(height, k * gap), above + k * gap) for k, height in enumerate(apart)]


def _bottom(group: list[float], gap: float) -> float:
    total, members = group
    return total / members - gap * (members - 1) / 2
