"""`onepass learners`: what there is."""

from __future__ import annotations

import inspect
import json
from typing import Any

import click

from onepass.cli.models import family_of, short_names
from onepass.cli.output import show


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def learners(as_json: bool) -> None:
    """List all learners, with their papers and their parameters, first those that matter most."""
    from rich.table import Table
    from rich.text import Text

    import onepass

    described = {name: describe(cls) for name, cls in onepass.learners().items()}
    if as_json:
        click.echo(json.dumps(described))
        return
    table = Table(show_lines=True)
    for column in ("learner", "what it is", "parameters: what matters most, and the others"):
        table.add_column(column)
    for name, about in described.items():
        table.add_row(
            Text.assemble((name, "bold"), "\n", (" ".join(about["short"]), "dim")),
            Text.assemble(about["description"], "\n", (about["paper"], "dim")),
            Text.assemble((_listed(about, True), "bold"), "\n", (_listed(about, False), "dim")),
        )
    show(table)


def _listed(about: dict[str, Any], matters: bool) -> str:
    """The parameters of a learner that matter most, or the others."""
    return ", ".join(f"{key}={value!r}" for key, value in about["parameters"].items() if (key in about["matters"]) == matters)


def describe(cls: type[Any]) -> dict[str, Any]:
    """What a learner's signature and docstring say.

    >>> from onepass import PAClassifier
    >>> about = describe(PAClassifier)
    >>> about["parameters"]["C"], about["matters"], about["short"]
    (1.0, ['C'], ['pa', 'pa1', 'pa2', 'pa-auto'])
    """
    from onepass.base.parameters import parameters

    text = inspect.getdoc(cls) or ""
    return {
        "description": text.partition("\n")[0],
        "parameters": {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()},
        "matters": [one.name for one, about in parameters(cls) if about["matters"]],
        "paper": section(text, "References"),
        "short": [short for short, (family, _) in short_names().items() if family == family_of(cls.__name__)],
    }


def section(text: str, title: str) -> str:
    """A section of a docstring, on one line.

    >>> section("Summary.\\n\\nReferences\\n----------\\nA. Uthor: Paper.\\nJMLR 7.\\n\\nExamples\\n--------\\n", "References")
    'A. Uthor: Paper. JMLR 7.'
    """
    _, _, rest = text.partition(f"\n{title}\n{'-' * len(title)}\n")
    return " ".join(rest.partition("\n\n")[0].split())
