"""What the commands show: tables on standard output, progress on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

RATES = ("error", "mistake_rate", "entity_f1")


def show(table: Any, *, wide: bool = False) -> None:
    """Print a table. Not by rich itself, which ends with its own exit code when a pipe breaks.

    A wide table takes all the room that it needs where the output is no terminal, so that no figure is cut off.
    """
    from rich.console import Console

    console = Console()
    if wide and not console.is_terminal:
        unbounded = console.options.update(max_width=1000)
        console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    with console.capture() as captured:
        console.print(table)
    click.echo(captured.get(), nl=False)


def facts(rows: dict[str, str]) -> Any:
    """A table of names and values."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def metric(name: str, value: float) -> str:
    """The value of a metric, rates in per cent.

    >>> metric("mistake_rate", 0.0431), metric("mae", 1.23456)
    ('4.31 %', '1.235')
    """
    return f"{100 * value:.2f} %" if name in RATES else f"{value:.4g}"


def plain(value: Any) -> str:
    """A label or scores as people write them: 1 and not 1.0.

    >>> plain(1.0), plain(0.25), plain("spam"), plain([0.5, -1.0])
    ('1', '0.25', 'spam', '0.5\\t-1')
    """
    if isinstance(value, list):
        return "\t".join(map(plain, value))
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def speed(rate: float) -> str:
    """Examples a second, in few digits.

    >>> speed(1_234_567.0), speed(12_345.0), speed(99.0)
    ('1.2 M', '12 k', '99')
    """
    return f"{rate / 1e6:.1f} M" if rate >= 1e6 else f"{rate / 1e3:.0f} k" if rate >= 1e3 else f"{rate:.0f}"


@contextmanager
def progress() -> Iterator[Any]:
    """A progress display of rich on standard error; nothing at all where that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = Console(stderr=True)
    shown = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[facts]}")
    with Progress(*shown, console=console, transient=True, disable=not console.is_terminal) as display:
        yield display


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as its path ends, .svg or .pdf, else as PNG."""
    kind = {".svg": "svg", ".pdf": "pdf"}.get(path.suffix.lower(), "png")
    figure.savefig(path, format=kind, dpi=150, bbox_inches="tight")
