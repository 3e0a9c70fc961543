"""A comparison as one page of HTML that needs nothing else: no scripts, no fonts, no pictures from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from onepass.evaluate import Curve
from onepass.evaluate.metrics import PER_CENT
from onepass.evaluate.shares import leading
from onepass.plots.curves import WARM_UP
from onepass.plots.style import html_page

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 74, 26, 44, 62
COLOURS = 7


def page(comparison: Any, data: str) -> str:
    """The page: what was compared on which data, the mean learning curves, the table."""
    result = comparison.to_dict()
    about = f"<p>{escape(comparison.table().caption)}</p>"
    curves = chart(comparison.curves, result["metric"]) + _legend(result["models"])
    shares = "".join(_shares(name, of) for name, of in comparison.shares.items())
    table = f'<div class="table">{comparison._repr_html_()}</div>'
    return html_page(f"Learners compared on {data}", f"{about}{curves}{table}{shares}")


def _legend(names: Iterable[str]) -> str:
    entries = "".join(f'<li style="--curve: {_colour(i)}">{escape(name)}</li>' for i, name in enumerate(names))
    return f"<ul>{entries}</ul>"


def _shares(name: str, shares: Any) -> str:
    """The shares of a committee along the pass, the largest of them."""
    curves = Curve(shares.positions, {voice: shares[voice] for voice in leading(shares, COLOURS)})
    return f"<h2>Shares of {escape(name)}</h2>{chart(curves, 'share')}{_legend(curves.values)}"


def chart(curves: Any, metric: str) -> str:
    """Curves as an SVG that takes its colours from the page."""
    positions = curves.positions
    settled = [values[positions >= WARM_UP * positions[-1]] for values in curves.values.values()]
    low, high = min(float(np.nanmin(v)) for v in settled), max(float(np.nanmax(v)) for v in settled)
    step, ticks = ticks_between(0.0 if 0 <= low < 0.35 * high else low, high, 5)
    bottom, top = ticks[0], ticks[-1]
    in_per_cent = metric in PER_CENT or metric == "share"

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * x / float(positions[-1])

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (min(max(y, bottom), top) - bottom) / (top - bottom)

    name = escape(metric.replace("_", " "))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name} along the stream">',
        f'<text x="8" y="20">{name}</text>',
    ]
    decimals = max(0, -math.floor(math.log10(step * (100 if in_per_cent else 1))))
    for tick in ticks:
        y = f"{up(tick):.1f}"
        text = f"{100 * tick:.{decimals}f}%" if in_per_cent else f"{tick:,.{decimals}f}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y}" text-anchor="end" dominant-baseline="middle">{text}</text>')
    for i, tick in enumerate(ticks_between(0.0, float(positions[-1]), 5)[1]):
        if tick <= positions[-1]:
            fine = ' class="fine"' if i % 2 else ""
            parts.append(
                f'<text{fine} x="{across(tick):.1f}" y="{HEIGHT - BOTTOM + 24}" text-anchor="middle">{tick:,.0f}</text>'
            )
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">examples</text>')
    for i, values in enumerate(curves.values.values()):
        places = [(x, y) for x, y in zip(positions.tolist(), values.tolist(), strict=True) if not math.isnan(y)]
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in places)
        parts.append(f'<polyline class="curve" style="stroke: {_colour(i)}" points="{points}"/>')
    return "".join(parts) + "</svg>"


def ticks_between(low: float, high: float, count: int) -> tuple[float, list[float]]:
    """A round step, and its multiples from just below `low` to just above `high`, about `count` steps.

    >>> ticks_between(0.0, 0.43, 5)
    (0.1, [0.0, 0.1, 0.2, 0.30000000000000004, 0.4, 0.5])
    """
    rough = ((high - low) or abs(high) or 1.0) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(m for m in (1, 2, 5, 10) if m * unit >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return step, [step * i for i in range(first, max(last, first + 1) + 1)]


def _colour(i: int) -> str:
    return f"var(--c{i % COLOURS})"
