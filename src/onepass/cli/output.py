"""What the commands show: tables on standard output, the log on standard error."""

from __future__ import annotations

import logging
import math
import sys
from pathlib import Path
from typing import Any

import click

LOGGER = logging.getLogger("onepass")


class Log(logging.Handler):
    """The log on standard error; a progress display there makes room for it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        click.echo(self.format(record), err=True)


class Compiling(logging.Handler):
    """Says once that machine code is being compiled."""

    said = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, the first time."""
        if not self.said:
            self.said = True
            click.echo("onepass: compiling, which only the first start does; `onepass warm` does it ahead", err=True)


def be_verbose(context: click.Context, _: click.Parameter, count: int) -> None:
    """Show the log until the command ends: what is decided and noticed, and if that is said twice, details."""
    before = context.meta.get(__name__, 0)  # said of the group, where commands say it, too
    context.meta[__name__] = before + count
    if count and not before:
        handler, level = Log(), LOGGER.level
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        LOGGER.addHandler(handler)

        def end() -> None:
            LOGGER.removeHandler(handler)
            LOGGER.setLevel(level)

        context.call_on_close(end)
    if count:
        LOGGER.setLevel(logging.INFO if before + count == 1 else logging.DEBUG)
    if context.parent is not None and not is_verbose() and sys.stderr.isatty():
        be_patient(context)


def be_patient(context: click.Context) -> None:
    """Say so when something is compiled, until the command ends: a minute without a word looks like the end of all."""
    compiler, handler = LOGGER.getChild("compiled.compiler"), Compiling()
    level = compiler.level
    compiler.addHandler(handler)
    compiler.setLevel(logging.DEBUG)

    def end() -> None:
        compiler.removeHandler(handler)
        compiler.setLevel(level)

    context.call_on_close(end)


def is_verbose() -> bool:
    """Whether the log is shown, which then says it all."""
    return LOGGER.isEnabledFor(logging.INFO)


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
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(Text(name), Text(value))  # rich would take recall[spam] for markup
    return table


def metric(name: str, value: float) -> str:
    """The value of a metric, rates in per cent.

    >>> metric("mistake_rate", 0.0431), metric("mae", 1.23456), metric("auc", float("nan"))
    ('4.31 %', '1.235', 'none')
    """
    from onepass.evaluate.metrics import PER_CENT

    if math.isnan(value):
        return "none"
    return f"{100 * value:.2f} %" if name == "error" or name in PER_CENT else f"{value:.4g}"


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


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure as its path ends, .svg or .pdf, else as PNG."""
    kind = {".svg": "svg", ".pdf": "pdf"}.get(path.suffix.lower(), "png")
    figure.savefig(path, format=kind, dpi=150, bbox_inches="tight")
