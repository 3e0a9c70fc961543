"""What all plots share: colours, axes, and the one place where matplotlib is imported."""

from __future__ import annotations

from typing import Any

# Okabe and Ito's palette: told apart by every kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
INK, GREY, FAINT = "#222222", "#767676", "#E4E4E4"


def colour(i: int) -> str:
    """The i-th colour, around and around."""
    return COLOURS[i % len(COLOURS)]


def axes(ax: Any, width: float, height: float) -> Any:
    """`ax`, or fresh axes of that size in inches."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('Plots need matplotlib. Install it with: pip install "onepass[plot]"') from error
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def tidy(ax: Any) -> None:
    """Two light axes, and no box around them."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=GREY, labelcolor=INK, length=3)
