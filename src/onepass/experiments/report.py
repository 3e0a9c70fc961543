"""What an experiment reports: a table, a picture, the search for parameters; as files, in the terminal, and on one page of HTML."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from onepass.base.saving import replace_file
from onepass.plots.style import html_page

TITLE = "The experiments again"

IMAGES = (
    "The images of cbcl (CBCL Face) are equalised, each by itself: a grey level becomes the share of the image's pixels that are not"
    " brighter. The data was published so too, as normgrey; the paper does not say which form it had."
)

PROSE = 40  # characters from which on a column is one of sentences


@dataclass(frozen=True)
class Table:
    """A table to be read. Cells in `strong` (line, column) stand out."""

    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    strong: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Aside:
    """A further question of an experiment, with a table, a picture or both; `name` is that of the picture."""

    name: str
    title: str
    about: str
    table: Table | None = None
    figure: Any = None


@dataclass(frozen=True)
class Section:
    """One experiment's report.

    Attributes
    ----------
    name, title : str
        What it is called on the command line, and on the page.
    about : list of str
        Paragraphs: what is shown, and what to know about it.
    table : Table
        What is read at a glance.
    records : list of dict
        All figures, for the CSV file.
    figure : matplotlib figure
        The picture.
    searches : list of dict
        What parameter selection tried, and what it chose; empty if nothing was searched.
    asides : list of Aside
        What else was measured; their figures are among the records.
    command : str
        What writes it.
    """

    name: str
    title: str
    about: list[str]
    table: Table
    records: list[dict[str, Any]]
    figure: Any
    searches: list[dict[str, Any]] = field(default_factory=list)
    asides: list[Aside] = field(default_factory=list)
    command: str = ""

    def write(self, folder: Path) -> None:
        """Write NAME.csv, NAME.png, NAME.md and, if there are any, NAME-search.csv and the pictures of asides, NAME-ASIDE.png."""
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / f"{self.name}.csv", csv_of(self.records))
        replace_file(folder / f"{self.name}.png", _picture(self.figure, 150))
        for aside in self._drawn:
            replace_file(folder / f"{self.name}-{aside.name}.png", _picture(aside.figure, 150))
        if self.searches:
            replace_file(folder / f"{self.name}-search.csv", csv_of(self.searches))
        replace_file(folder / f"{self.name}.md", self.markdown().encode())

    @property
    def _drawn(self) -> list[Aside]:
        return [aside for aside in self.asides if aside.figure is not None]

    def markdown(self) -> str:
        """The section for a page of Markdown beside the files."""
        lines = [f"## {self.title}", "", *(line for paragraph in self.about for line in (paragraph, ""))]
        lines += [*table_markdown(self.table), "", f"![{self.title}]({self.name}.png)", ""]
        for aside in self.asides:
            lines += [f"### {aside.title}", "", aside.about, ""]
            if aside.table is not None:
                lines += [*table_markdown(aside.table), ""]
            if aside.figure is not None:
                lines += [f"![{aside.title}]({self.name}-{aside.name}.png)", ""]
        files = f"[{self.name}.csv]({self.name}.csv)"
        if self.searches:
            files += f", [{self.name}-search.csv]({self.name}-search.csv)"
        return "\n".join([*lines, f"All figures: {files}. Written by `{self.command}`.", ""])

    def html(self) -> str:
        """The section for the page that holds everything itself."""
        about = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.about)
        search = ""
        if self.searches:
            lines = [[str(value) for value in record.values()] for record in self.searches]
            tried = table_html(Table(list(self.searches[0]), lines))
            search = f"<details><summary>The search for parameters: {len(lines):,} candidates</summary>{tried}</details>"
        asides = ""
        for aside in self.asides:
            asides += f"<h3>{escape(aside.title)}</h3><p>{escape(aside.about)}</p>"
            asides += "" if aside.table is None else table_html(aside.table)
            asides += "" if aside.figure is None else image_html(aside.figure, aside.title)
        return (
            f'<section id="{self.name}"><h2>{escape(self.title)}</h2>{about}{table_html(self.table)}'
            f"{image_html(self.figure, self.title)}{search}{asides}</section>"
        )


def absence(name: str) -> str:
    """What is to be said of a data set that is absent."""
    return f"The data set {name} is not at hand: onepass.datasets.load says how to get it."


STYLE = """
body { max-width: 76rem; }
nav { margin: 0 0 2rem; }
nav a { margin-right: 1rem; }
a { color: var(--c0); }
section { margin: 0 0 4rem; }
section p { color: var(--ink); max-width: 44rem; margin: .3rem 0 .8rem; }
img { display: block; max-width: 100%; margin: 1.4rem 0; border-radius: 4px; background: #fff; }
.table { margin-top: 1.2rem; }
th.words, td.words { text-align: left; white-space: normal; }
details { color: var(--soft); max-height: 24rem; overflow: auto; }
summary { cursor: pointer; }"""


def page(sections: Sequence[Section], command: str, versions: str) -> str:
    """All sections on one page of HTML that needs nothing else."""
    links = "".join(f'<a href="#{section.name}">{escape(section.title)}</a>' for section in sections)
    body = "\n".join(section.html() for section in sections)
    about = f"<p>Written by <code>{escape(command)}</code> with {escape(versions)}.</p>"
    return html_page(TITLE, f"{about}\n<nav>{links}</nav>\n{body}", STYLE)


def index(folder: Path, names: Sequence[str]) -> str:
    """A page of Markdown that shows all sections that a folder has, in the order of their names here."""
    found = [path.read_text(encoding="utf-8") for path in (folder / f"{name}.md" for name in names) if path.exists()]
    return "\n".join([f"# {TITLE}\n", *found])


def table_html(table: Table) -> str:
    """A table in HTML."""
    kinds = [' class="words"' if max(map(len, column)) > PROSE else "" for column in zip(*table.lines, strict=True)]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.header, strict=True))
    lines = ""
    for i, line in enumerate(table.lines):
        cells = [f"<b>{escape(cell)}</b>" if (i, j) in table.strong else escape(cell) for j, cell in enumerate(line)]
        lines += "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, cells, strict=True)) + "</tr>"
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def table_markdown(table: Table) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [_row(table.header), _row(["---"] * len(table.header))]
    for i, line in enumerate(table.lines):
        lines.append(_row([f"**{cell}**" if (i, j) in table.strong else cell for j, cell in enumerate(line)]))
    return lines


def image_html(figure: Any, title: str) -> str:
    """A picture in HTML, which is part of the page."""
    source = base64.b64encode(_picture(figure, 110)).decode()
    return f'<img src="data:image/png;base64,{source}" alt="{escape(title)}">'


def csv_of(records: Sequence[Mapping[str, Any]]) -> bytes:
    """One line a record."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


def _picture(figure: Any, dpi: int) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, dpi=dpi, format="png")
    return picture.getvalue()


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
