"""Dependency trees: arcs over a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onepass.plots.style import GREY, INK, axes, colour

GAP = 1.6  # between words, in widths of a letter
ASIDE = 0.6  # how far beside the middle of its head an arc begins
STEP = 1.0  # how much higher an arc is than the highest below it


def draw_tree(words: Sequence[Any], tree: Sequence[Any], right: Sequence[Any] | None = None, *, ax: Any = None) -> Any:
    """Draw a dependency tree as arcs over its sentence, from each head to the words that hang on it.

    Parameters
    ----------
    words : list of str
        The sentence; pairs (word, tag) and dicts with "form", as `DependencyParser` takes them, will do.
    tree : list of int, or of pairs (int, str)
        The head of each word, counted from 1, and 0 for the root; or heads with relations, which are written on the arcs.
    right : list, optional
        The right tree: arcs of `tree` to another head are drawn in another colour, and relations that are not those of `right`.
    ax : matplotlib axes, optional
        Where to draw; a new figure, if not given.

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> from onepass.plots import draw_tree
    >>> ax = draw_tree(["the", "dog", "barks"], [(2, "det"), (3, "nsubj"), (0, "root")])
    >>> [text.get_text() for text in ax.texts]
    ['the', 'dog', 'barks', 'det', 'nsubj', 'root']
    """
    forms = [_form(word) for word in words]
    arcs = _arcs(tree, len(forms), "tree")
    given = arcs if right is None else _arcs(right, len(forms), "right")
    at, end = list[float](), 0.0
    for form in forms:
        at.append(end + len(form) / 2)
        end += len(form) + GAP
    heights = _heights([head for head, _ in arcs])
    top = max(heights, default=0.0) + STEP
    ax = axes(ax, max(0.11 * end, 2.0), 0.35 * top + 0.5)
    for i, form in enumerate(forms):
        ax.text(at[i], -0.25, form, ha="center", va="top", color=INK, fontsize=9)
    for i, (head, relation) in enumerate(arcs):
        wrong = head != given[i][0]
        shade = colour(1) if wrong else colour(0)
        if head:
            x = at[head - 1] + (ASIDE if head <= i else -ASIDE)
            _arc(ax, x, at[i], heights[i], shade)
        else:
            ax.plot([at[i], at[i]], [0, top], color=shade, linewidth=1.2)
        ax.plot(at[i], 0.08, marker="v", markersize=4, color=shade)
        if relation is not None:
            x, y = ((at[head - 1] + at[i]) / 2, heights[i]) if head else (at[i], top)
            known = relation == given[i][1] or given[i][1] is None
            ax.text(x, y, relation, ha="center", va="bottom", color=GREY if known and not wrong else colour(1), fontsize=7)
    ax.set(xlim=(-GAP, end), ylim=(-1.2, top + 0.6))
    ax.set_axis_off()
    return ax


def _form(word: Any) -> str:
    if isinstance(word, dict):
        return str(word["form"])
    return word if isinstance(word, str) else str(word[0])


def _arcs(tree: Sequence[Any], n: int, name: str) -> list[tuple[int, str | None]]:
    """The head of each word and its relation to it, which may be None."""
    arcs = [(int(one[0]), one[1]) if isinstance(one, tuple | list) else (int(one), None) for one in tree]
    if len(arcs) != n:
        raise ValueError(f"`{name}` has {len(arcs)} heads for {n} words: give one for each word.")
    for i, (head, _) in enumerate(arcs, 1):
        if not 0 <= head <= n or head == i:
            raise ValueError(f"The head of word {i} in `{name}` is {head}: heads are other words, 1 to {n}, or 0 for the root.")
    return arcs


def _heights(heads: Sequence[int]) -> list[float]:
    """How high each arc is: a step above the highest of those between its ends, so that arcs that do not cross do not touch."""
    ends = [(min(head, i), max(head, i)) if head else (i, i) for i, head in enumerate(heads, 1)]
    heights = [0.0] * len(heads)
    for i in sorted((i for i, head in enumerate(heads) if head), key=lambda i: ends[i][1] - ends[i][0]):
        left, end = ends[i]
        below = [heights[j] for j, (a, b) in enumerate(ends) if j != i and left <= a and b <= end]
        heights[i] = STEP + max(below, default=0.0)
    return heights


def _arc(ax: Any, start: float, end: float, height: float, shade: str) -> None:
    """A curve from the head to the word, `height` high."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    high = 4 / 3 * height  # where the handles of a Bezier curve of that height are
    path = Path([(start, 0), (start, high), (end, high), (end, 0)], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    ax.add_patch(PathPatch(path, fill=False, edgecolor=shade, linewidth=1.2))
