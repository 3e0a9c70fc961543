"""What all plots share: colours, axes, and the one place where matplotlib is imported."""

from __future__ import annotations

from html import escape
from typing import Any

# Okabe and Ito's palette: told apart by every kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
INK, GREY, FAINT = "#222222", "#767676", "#E4E4E4"

# The style of pages: light or dark as the reader likes it, nothing from elsewhere.
CSS = """:root { color-scheme: light dark; --ink: #1c1e21; --soft: #686d75; --faint: #e3e5e8; --paper: #fff;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #b5568f; --c4: #b07a00; --c5: #3a93c9; --c6: #555; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #9aa0a8; --faint: #33373d; --paper: #16181b;
  --c0: #56b4e9; --c1: #ff9147; --c2: #2fc79b; --c3: #e39ac6; --c4: #f0b93a; --c5: #8fd0f5; --c6: #bbb; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 2rem 1.1rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
p { margin: .3rem 0 1.4rem; color: var(--soft); }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 14px; font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--faint); }
svg .curve { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
ul { display: flex; flex-wrap: wrap; gap: .2rem 1.3rem; margin: .4rem 0 1.8rem; padding: 0; list-style: none; }
li::before { content: ""; display: inline-block; width: 1.1em; height: .22em; margin-right: .5em; border-radius: 1em;
  vertical-align: .25em; background: var(--curve); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .45rem .8rem; text-align: right; border-bottom: 1px solid var(--faint); }
th { color: var(--soft); font-weight: 500; }
th:first-child, td:first-child { padding-left: 0; text-align: left; }
@media (max-width: 32rem) { svg text { font-size: 23px; } svg .fine { display: none; } }"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{css}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


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


def figure(width: float, height: float) -> Any:
    """A figure of that size in inches, which no one has to close."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Plots need matplotlib. Install it with: pip install "onepass[plot]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def tidy(ax: Any) -> None:
    """Two light axes, and no box around them."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(colors=GREY, labelcolor=INK, length=3)


def html_page(title: str, body: str, css: str = "") -> str:
    """A page of HTML that needs nothing else: no scripts, no fonts, no pictures from elsewhere."""
    return PAGE.format(title=escape(title), css=CSS + css, body=body)
