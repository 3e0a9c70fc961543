"""`onepass reproduce`: the tables and figures of the papers, again."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from onepass import __version__
from onepass.cli.options import Target
from onepass.cli.output import show

NAMES = (
    *("table1", "table2", "fig6", "fig7", "fig8", "fig9", "sugiyama", "budget", "active", "shifting", "structured", "neural"),
    *("auto", "translation", "typing", "choosing"),
)


class Folder(click.ParamType):
    """A folder to write to. A place where none can be made is found out before any work is done."""

    name = "directory"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Path:
        """The folder, which is there afterwards."""
        path = Path(value)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.fail(f"can't make the directory {path}: {error.strerror}", parameter, context)
        Target().convert(path / "index.md", parameter, context)
        return path


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME... | all", type=click.Choice((*NAMES, "all")))
@click.option(
    "--permutations",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="How many orders, or draws, of the data to run.",
)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Passes to run at the same time.")
@click.option("--data", type=click.Path(exists=True, file_okay=False), metavar="DIR", help="Where to look for data sets first.")
@click.option("--out", type=Folder(), default="reproduced", show_default=True, metavar="DIR", help="Where to write.")
@click.option("--html", type=Target(), metavar="FILE", help="Where to write one page with everything in it.")
@click.option("--rows", type=click.IntRange(100), metavar="N", help="Use at most N rows of each data set, for a quick look.")
def reproduce(
    names: tuple[str, ...], permutations: int, jobs: int, data: str | None, out: Path, html: Path | None, rows: int | None
) -> None:
    """Reproduce the tables and figures of the papers, beside what was published.

    \b
    table1     test error after one pass        | the PAMO paper
    table2     mistake rate along one pass      |
    fig6       error over alpha and C           |
    fig7       cumulative error by alpha and C  |
    fig8       boundaries on the rotating XOR   |
    fig9       cumulative error by permutation  |
    sugiyama   PA and AROW, with outliers too   | the textbook
    budget     policies against their budget    | the slides
    shifting   streams that drift               |
    active     accuracy against labels asked    | the study of active learning
    structured tags, names, trees, graphs       | CRFsuite, and SVMs with the same kernel
    neural     steps, depth, hedged shares      | online deep learning
    auto       a committee, and single learners | nobody: what it costs not to choose
    translation  steps along streams            | a translator that is corrected; these need onepass[translate]
    typing       what its user has to do        |
    choosing     the best of its lists          |

    Each writes NAME.csv, NAME.png, NAME.md and, where parameters were searched, NAME-search.csv; index.md shows all that DIR has.
    Measurements are kept in DIR/cells: an interrupted run continues where it stopped, and further permutations are added to those
    already there.
    """
    from onepass.base.saving import replace_file
    from onepass.cli.options import Picture
    from onepass.evaluate.progress import terminal
    from onepass.experiments import EXPERIMENTS, Cells, Lab, index, page

    Picture().convert(out / "index.png", None, None)  # says what is missing before hours are spent
    wanted = list(NAMES) if "all" in names else list(dict.fromkeys(names))
    command = f"onepass reproduce {{}} --permutations {permutations}" + (f" --rows {rows}" if rows else "")
    sections, absent = [], {}
    with terminal() as display:
        whole = display.add_task("reproducing", total=len(wanted), facts="")
        for name in wanted:
            bar = display.add_task(name, total=0, facts="")

            def begin(count: int, bar: Any = bar) -> None:
                display.update(bar, total=display.tasks[bar].total + count)

            def advance(bar: Any = bar) -> None:
                done = int(display.tasks[bar].completed) + 1
                display.update(bar, completed=done, facts=f"{done:,} of {display.tasks[bar].total:,} measurements")

            lab = Lab(Cells(out / "cells", jobs, begin, advance), permutations, data, rows)
            try:
                section = replace(EXPERIMENTS[name](lab), command=command.format(name))
            except (FileNotFoundError, ImportError) as error:  # the others may have their data, and need no extra
                absent[name] = str(error)
            else:
                section.write(out)
                replace_file(out / "index.md", index(out, NAMES).encode())
                sections.append(section)
            display.update(whole, advance=1, facts=f"{len(sections)} of {len(wanted)}")
    if not sections:
        raise FileNotFoundError(" ".join(dict.fromkeys(absent.values())))
    if html is not None:
        versions = f"onepass {__version__}, Python {platform.python_version()}"
        replace_file(html, page(sections, command.format(" ".join(names)), versions).encode())
    for section in sections:
        show(_table(section), wide=True)
    click.echo(f"{out} has the tables, the pictures and all figures: index.md shows them.")
    for name, why in absent.items():
        click.echo(f"{name} was left out: {why}", err=True)
    if absent:
        click.get_current_context().exit(1)


def _table(section: Any) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=section.title, title_justify="left")
    for i, name in enumerate(section.table.header):
        table.add_column(name, justify="left" if i == 0 else "right")
    for i, line in enumerate(section.table.lines):
        table.add_row(*(Text(cell, style="bold" if (i, j) in section.table.strong else "") for j, cell in enumerate(line)))
    return table
