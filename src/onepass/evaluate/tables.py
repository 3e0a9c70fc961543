"""Results as tables: in a terminal, as text, and in a notebook."""

from __future__ import annotations

import html
import io
import math
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from onepass.evaluate.metrics import PER_CENT

WORDS = ("learner", "settings")  # columns that are read from the left


class Tabled:
    """A result that shows itself. A subclass gives the cells, the first line being the header, and says what won."""

    def _cells(self) -> list[list[str]]:
        raise NotImplementedError

    def _caption(self) -> str:
        raise NotImplementedError

    def _won(self) -> set[tuple[int, str]]:
        """Which cells are the best: the number of the line, from 0, and the title of the column."""
        raise NotImplementedError

    def table(self) -> Table:
        """The result as a table for the terminal, the best in bold."""
        table = Table(caption=self._caption())
        header, *lines = self._cells()
        for name in header:
            folds = {"overflow": "fold", "min_width": 16} if name == "settings" else {"no_wrap": True}
            table.add_column(name, justify="left" if name in WORDS else "right", **folds)
        for i, line in enumerate(lines):
            bold = ["bold" if (i, name) in self._won() else "" for name in header]
            table.add_row(*(Text(cell, style=style) for cell, style in zip(line, bold, strict=True)))
        return table

    def __str__(self) -> str:
        text = io.StringIO()
        Console(file=text, width=120).print(self.table())
        return text.getvalue()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, *lines = self._cells()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
        body = ""
        for i, line in enumerate(lines):
            cells = [(html.escape(cell), (i, name) in self._won()) for name, cell in zip(header, line, strict=True)]
            body += "<tr>" + "".join(f"<td>{f'<b>{cell}</b>' if bold else cell}</td>" for cell, bold in cells) + "</tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def title(metric: str) -> str:
    """What the column of a metric is called.

    >>> title("mistake_rate"), title("mae")
    ('mistake rate %', 'mae')
    """
    return metric.replace("_", " ") + (" %" if metric in PER_CENT else "")


def figure(metric: str, value: float, spread: float | None = None) -> str:
    """A value of a metric, and how it varies, in as many digits as make sense.

    >>> figure("mistake_rate", 0.07123), figure("mae", 12.345, 0.5)
    ('7.12', '12.3 ± 0.5')
    """
    if metric in PER_CENT:
        factor, decimals = 100, 2
    else:
        factor, decimals = 1, min(max(2 - math.floor(math.log10(abs(value) or 1)), 0), 9)
    return " ± ".join(f"{factor * number:,.{decimals}f}" for number in (value, spread) if number is not None)


def words(parameters: Mapping[str, Any]) -> str:
    """Parameters as people write them.

    >>> words({"paclassifier__C": 0.25, "variant": "II"})
    'C=0.25, variant=II'
    """
    return ", ".join(f"{bare(name)}={plain(value)}" for name, value in parameters.items())


def bare(name: str) -> str:
    """The name of a parameter without that of a pipeline's step.

    >>> bare("paclassifier__C"), bare("C")
    ('C', 'C')
    """
    return name.rpartition("__")[2]


def plain(value: Any) -> Any:
    """A value of a parameter as JSON takes it: NumPy's numbers as Python's, objects as their text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return value if value is None or isinstance(value, bool | int | float | str | list | dict) else str(value)
