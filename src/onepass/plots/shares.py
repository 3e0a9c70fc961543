"""The shares of a committee along a stream."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from onepass.evaluate import Curve, Prequential, prequential
from onepass.evaluate.shares import committee_of, leading
from onepass.plots.curves import label_ends
from onepass.plots.style import COLOURS, FAINT, INK, axes, colour, tidy


class SharesDisplay:
    """The shares of a committee, an area each, on top of each other; seven at most, and what is left of 1 is grey.

    Make one with `from_stream` or `from_prequential`.

    Parameters
    ----------
    shares : Curve
        The shares along a stream, by name.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    """

    def __init__(self, shares: Curve) -> None:
        self.shares = shares

    @classmethod
    def from_stream(cls, model: Any, stream: Any, *, ax: Any = None) -> Self:
        """Run a committee, or a pipeline that ends in one, over a stream, and plot its shares on `ax` or on a new figure.

        Examples
        --------
        >>> from onepass import Committee, datasets
        >>> display = SharesDisplay.from_stream(Committee(), datasets.sea(2000, random_state=0))
        >>> display.ax_.get_ylabel()
        'share'
        """
        if committee_of(model) is None:
            raise TypeError(f"A {type(model).__name__} has no shares: pass a committee, such as Auto.")
        return cls.from_prequential(prequential(model, stream), ax=ax)

    @classmethod
    def from_prequential(cls, result: Prequential, *, ax: Any = None) -> Self:
        """Plot the shares that `prequential` noted down, on `ax` or on a new figure."""
        if result.shares is None:
            raise TypeError("The run was not one of a committee: it has no shares.")
        return cls(result.shares).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the areas on `ax`, or on a new figure."""
        ax = axes(ax, 7.0, 4.0)
        from matplotlib.ticker import PercentFormatter, StrMethodFormatter

        self.ax_, self.figure_ = ax, ax.figure
        positions, values = self.shares.positions, {name: np.nan_to_num(of) for name, of in self.shares.values.items()}
        large = leading(self.shares, len(COLOURS))
        areas = [values[name] for name in large]
        rest = np.maximum(1 - np.sum(areas, axis=0), 0)  # grey, on top
        ax.stackplot(positions, *areas, rest, colors=[*map(colour, range(len(large))), FAINT], alpha=0.85, linewidth=0)
        ax.set_xlim(0, positions[-1])
        ax.set_ylim(0, 1)
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.set_xlabel("examples", color=INK)
        ax.set_ylabel("share", color=INK)
        tidy(ax)
        last = np.array([of[-1] for of in areas])
        middles = np.cumsum(last) - last / 2
        label_ends(ax, large, dict(enumerate(middles.tolist())))
        return self
