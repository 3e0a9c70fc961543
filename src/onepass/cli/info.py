"""`onepass info`: what a model is, and what it knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from onepass.cli.options import reading
from onepass.cli.origin import as_before, origin_of, rows_before
from onepass.cli.output import facts, show

CHUNKS = 64  # of a file that are looked through for names


@click.command()
@click.argument("model")
@click.option(
    "--data",
    metavar="FILE",
    help="Where to look for the names of hashed columns.  [default: the file that MODEL has learned from, if it is still there]",
)
@reading
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.pass_context
def info(context: click.Context, /, model: str, data: str | None, as_json: bool, **options: Any) -> None:
    """Show what MODEL is: its parts and settings, its columns and classes, where it learned, how much and how well."""
    import onepass
    from onepass.evaluate import describe

    learned = onepass.load(model)
    description = describe(learned, _examples(learned, data, as_before(context, origin_of(learned), options)))
    if as_json:
        click.echo(json.dumps(description.facts, default=str))
    else:
        show(facts(description.lines()))


def _examples(model: Any, data: str | None, options: dict[str, Any]) -> Iterator[Any]:
    """Raw rows that the model can be shown."""
    from onepass.cli.data import opened
    from onepass.cli.fitting import fills, width_of
    from onepass.cli.models import task_of_model
    from onepass.evaluate.feeding import rows_for

    origin = origin_of(model)
    file = data or origin.get("file")
    if not isinstance(file, str) or (data is None and not (Path(file).is_file() and rows_before(origin, file))):
        return
    options |= {"missing": "keep" if fills(model) else "error", "features": width_of(model, options["features"])}
    with opened(file, task_of_model(model), options) as stream:
        for chunk in islice(stream, CHUNKS):
            yield rows_for(model, chunk)
