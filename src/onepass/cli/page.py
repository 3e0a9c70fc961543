"""A comparison as one page of HTML that needs nothing else: no scripts, no fonts, no pictures from elsewhere."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from onepass.evaluate.metrics import PER_CENT
from onepass.plots.curves import WARM_UP

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 74, 26, 44, 62

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1c1e21; --soft: #686d75; --faint: #e3e5e8; --paper: #fff;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b5568f; --c4: #b07a00; --c5: #3a93c9; --c6: #555; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e8eaed; --soft: #9aa0a8; --faint: #33373d; --paper: #16181b;
  --c0: #56b4e9; --c1: #ff9147; --c2: #2fc79b; --c3: #e39ac6; --c4: #f0b93a; --c5: #8fd0f5; --c6: #bbb; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; max-width: 56rem; padding: 2rem 1.1rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }}
h1 {{ margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }}
p {{ margin: .3rem 0 1.4rem; color: var(--soft); }}
svg {{ display: block; width: 100%; height: auto; }}
svg text {{ fill: var(--soft); font-size: 14px; font-variant-numeric: tabular-nums; }}
svg .grid {{ stroke: var(--faint); }}
svg .curve {{ fill: none; stroke-width: 2.2; stroke-linejoin: round; }}
ul {{ display: flex; flex-wrap: wrap; gap: .2rem 1.3rem; margin: .4rem 0 1.8rem; padding: 0; list-style: none; }}
li::before {{ content: ""; display: inline-block; width: 1.1em; height: .22em; margin-right: .5em; border-radius: 1em;
  vertical-align: .25em; background: var(--curve); }}
.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; white-space: nowrap; }}
th, td {{ padding: .45rem .8rem; text-align: right; border-bottom: 1px solid var(--faint); }}
th {{ color: var(--soft); font-weight: 500; }}
th:first-child, td:first-child {{ padding-left: 0; text-align: left; }}
@media (max-width: 32rem) {{ svg text {{ font-size: 23px; }} svg .fine {{ display: none; }} }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{about}</p>
{chart}
<ul>{legend}</ul>
<div class="table">{table}</div>
</body>
</html>
"""


def page(comparison: Any, data: str) -> str:
    """The page: what was compared on which data, the mean learning curves, the table."""
    result = comparison.to_dict()
    legend = "".join(f'<li style="--curve: {_colour(i)}">{escape(name)}</li>' for i, name in enumerate(result["models"]))
    return PAGE.format(
        title=escape(f"Learners compared on {data}"),
        about=escape(comparison.table().caption),
        chart=chart(comparison.curves, result["metric"]),
        legend=legend,
        table=comparison._repr_html_(),
    )


def chart(curves: Any, metric: str) -> str:
    """Curves as an SVG that takes its colours from the page."""
    positions = curves.positions
    settled = [values[positions >= WARM_UP * positions[-1]] for values in curves.values.values()]
    low, high = min(float(v.min()) for v in settled), max(float(v.max()) for v in settled)
    step, ticks = ticks_between(0.0 if 0 <= low < 0.35 * high else low, high, 5)
    bottom, top = ticks[0], ticks[-1]
    in_per_cent = metric in PER_CENT

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
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in zip(positions.tolist(), values.tolist(), strict=True))
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
    return f"var(--c{i % 7})"
