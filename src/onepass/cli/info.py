"""`onepass info`: what a model is, and what it knows."""

from __future__ import annotations

import json

import click

from onepass.cli.output import facts, show


@click.command()
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def info(model: str, as_json: bool) -> None:
    """Show what MODEL is: its parts and settings, its columns and classes, where it learned, how much and how well."""
    import onepass
    from onepass.evaluate import describe

    description = describe(onepass.load(model))
    if as_json:
        click.echo(json.dumps(description.facts, default=str))
    else:
        show(facts(description.lines()))
