"""`onepass tune`: parameters chosen by trying them."""

from __future__ import annotations

import shlex
from typing import Any

import click

from onepass.cli.data import about, chunks_of, is_named, load
from onepass.cli.models import (
    build,
    check_names,
    class_for,
    decided_task,
    known_task,
    learned_probabilities,
    resolved,
    settings_of,
    values_of,
)
from onepass.cli.options import LEARNER, METRIC, MISSING, SCALE, SEED, SET, STAGE, TASK, reading
from onepass.cli.output import show


@click.command()
@click.argument("data")
@LEARNER
@SET
@click.option(
    "--grid",
    multiple=True,
    metavar="NAME=VALUES",
    help="Values to try: C=0.1,1,10; may be repeated.  [default: the values that LIBOL tries for such a learner]",
)
@click.option(
    "--protocol",
    type=click.Choice(("stream", "libol", "cv")),
    default="stream",
    show_default=True,
    help="How to search. stream: one parameter after another, by the mistakes along the data, as `learn` counts them. libol: the"
    " same along one permutation of the data, as LIBOL does. cv: all parameters together, by cross-validation.",
)
@METRIC
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="The number of folds for cv.")
@SCALE
@STAGE
@reading
@MISSING
@TASK
@SEED
def tune(
    data: str,
    learner: str,
    settings: tuple[str, ...],
    grid: tuple[str, ...],
    protocol: str,
    metric: str | None,
    folds: int,
    scale: str,
    task: str | None,
    seed: int,
    **options: Any,
) -> None:
    """Choose parameters of a learner on DATA, and show how each candidate did.

    DATA is a file, as for `onepass learn`, or the name of a data set of onepass.datasets; its test part is not used. The
    last line that is printed has the chosen values as options for `onepass learn`. Where the best value is the first or the last that
    was tried, the search goes on beyond it.
    """
    from onepass import evaluate
    from onepass.evaluate.tables import bare

    given, asked = settings_of(settings), values_of(grid)
    said, task = task, task or known_task(learner)
    rows: Any
    if protocol == "stream" and not is_named(data):
        rows = chunks_of(data, task, options)
        y, known = rows[0].y, about(rows[0], data, options)
    else:
        held = load(data, task, options)
        rows, y, known = (held.X, held.y), held.y, held.about
    task = decided_task(y, said, task, f"the label of {data}")
    given = learned_probabilities(given, [] if metric is None else [metric], task)
    learner = resolved(learner, known["kind"], task)
    check_names(class_for(learner, task), asked)
    model = build(learner, task, given, **known, scale=scale, seed=seed)
    step = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    tried = {step + name: values for name, values in asked.items()} or evaluate.standard_grid(model)
    if not tried:
        raise click.UsageError(f"{learner} has nothing that is usually tuned; say what to try with --grid.")
    result = evaluate.tune(model, tried, rows, protocol=protocol, folds=folds, metric=metric, random_state=seed, progress=True)
    show(result.table(), wide=True)
    for name in result.at_edge:
        best = result.best_params[name]
        click.echo(f"{bare(name)}={best} is still the best at the edge of what was tried: --grid takes other values.", err=True)
    click.echo(shlex.join(word for name, value in result.best_params.items() for word in ("--set", f"{bare(name)}={value}")))
