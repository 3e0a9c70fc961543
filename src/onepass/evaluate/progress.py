"""How far a long run is: a bar in a terminal or a notebook, and nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

PAUSE = 0.1  # seconds between two looks: more often nobody can see

Show = Callable[[float | None, str], None]  # the share that is done, if that is known, and some words


class Bar:
    """A bar that is drawn a few times a second, however often it is told of progress."""

    def __init__(self, show: Show) -> None:
        self._show, self._next = show, 0.0
        self._latest: tuple[Callable[[], float | None], Callable[[], str]] | None = None

    def update(self, share: Callable[[], float | None], facts: Callable[[], str]) -> None:
        """The share that is done, None where nobody knows, and some words; neither is asked for unless it is shown."""
        self._latest, now = (share, facts), monotonic()
        if now >= self._next:
            self._next = now + PAUSE
            self.draw()

    def draw(self) -> None:
        """Show what is known by now."""
        if self._latest is not None:
            share, facts = self._latest
            self._show(share(), facts())


def counted(shown: Bar | None, unit: str, callback: Callable[[int, int], object] | None) -> Callable[[int, int], object] | None:
    """What to call after each of several runs with how many are done and how many there are: it tells the bar and the callback."""
    if shown is None:
        return callback

    def advance(done: int, total: int) -> None:
        shown.update(lambda: done / total, lambda: f"{done:,} of {total:,} {unit}")
        if callback is not None:
            callback(done, total)

    return advance


@contextmanager
def bar(what: str, wanted: bool = True) -> Iterator[Bar | None]:
    """A bar under a name; None if it is not wanted, or if there is neither a notebook nor a terminal to show it."""
    if wanted and in_notebook():
        yield (made := Bar(_in_notebook(what)))
        made.draw()
    elif wanted and not (display := terminal()).disable:
        with display:
            task = display.add_task(what, total=None, facts="")

            def show(share: float | None, facts: str) -> None:
                display.update(task, completed=share or 0.0, total=None if share is None else 1.0, facts=facts)

            yield Bar(show)
    else:
        yield None


def terminal() -> Progress:
    """A display of rich on standard error, which is gone when it ends; nothing at all where that is no terminal, such as a log, even if
    colours are wanted there."""
    console = Console(stderr=True)
    facts = TextColumn("{task.fields[facts]}", markup=False)  # rich would take recall[spam] for a style
    shown = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), facts
    seen = console.is_terminal and console.file.isatty()
    return Progress(*shown, console=console, transient=True, disable=not seen)


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _in_notebook(what: str) -> Show:
    """A bar below the cell, which stays there when all is done. Rich has one, too, but only with ipywidgets."""
    from IPython.display import display

    handle: Any = None

    def show(share: float | None, facts: str) -> None:
        nonlocal handle
        value = "" if share is None else f' value="{share:.4f}"'
        html = f"<div><code>{escape(what)}</code> <progress{value}></progress> {escape(facts)}</div>"
        content = {"text/html": html, "text/plain": f"{what}: {facts}"}
        if handle is None:
            handle = display(content, raw=True, display_id=True)
        else:
            handle.update(content, raw=True)

    return show
