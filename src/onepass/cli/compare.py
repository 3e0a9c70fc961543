"""`onepass compare`: learners side by side, over permutations of one data set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from onepass.cli.data import load, widen
from onepass.cli.models import build, decided_task, known_task, learned_probabilities, resolved, settings_of, shared
from onepass.cli.options import METRIC, MISSING, SCALE, SEED, STAGE, TASK, Names, Picture, Target, reading
from onepass.cli.output import save_figure, show


@click.command()
@click.argument("data")
@click.option(
    "--learners", type=Names(), default="pa1,pa2,pamo", show_default=True, help="Which learners, separated by commas."
)
@click.option(
    "--permutations", type=click.IntRange(1), default=20, show_default=True, help="How many orders of the data to try."
)
@click.option(
    "--tune",
    type=click.Choice(("libol", "cv")),
    is_flag=False,
    flag_value="libol",
    help="Choose each learner's parameters first: by its mistakes on one permutation, as LIBOL does (--tune alone), or by"
    " cross-validation.",
)
@METRIC
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter, for all learners that have it.")
@click.option("--whole", is_flag=True, help="Learn from the test part as well, as LIBOL's tables do.")
@SCALE
@STAGE
@reading
@MISSING
@TASK
@click.option("--test", metavar="FILE", help="Data to predict after each pass.  [default: the test part of a named data set]")
@click.option("--plot", type=Picture(), metavar="PNG", help="Where to draw the learning curves.")
@click.option("--html", type=Target(), metavar="FILE", help="Where to write one self-contained page with curves and table.")
@click.option("--csv", type=Target(), metavar="FILE", help="Where to write the table as CSV.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Permutations to run at the same time.")
@SEED
def compare(
    data: str,
    learners: tuple[str, ...],
    permutations: int,
    tune: str | None,
    metric: str | None,
    settings: tuple[str, ...],
    whole: bool,
    scale: str,
    task: str | None,
    test: str | None,
    plot: Path | None,
    html: Path | None,
    csv: Path | None,
    jobs: int,
    seed: int,
    **options: Any,
) -> None:
    """Compare learners on DATA: mistake rate, test error, updates and seconds.

    DATA is a file, as for `onepass learn`, or the name of a data set of onepass.datasets, such as digits or a9a. It is held in
    memory, and each learner makes one pass over each permutation of it.
    """
    import numpy as np

    from onepass import evaluate
    from onepass.evaluate.online import stack
    from onepass.evaluate.tables import bare

    if not learners:
        raise click.UsageError("--learners names none.")
    tasks = {named for named in map(known_task, learners) if named is not None}
    if len(tasks) == 2:
        raise click.UsageError("--learners names classifiers and regressors; they can't be compared with each other.")
    said, task = task, task or next(iter(tasks), None)
    held = load(data, task, options, test)
    X, y, tests = held.X, held.y, held.tests
    if tests is not None:
        widen(X, tests[0])
    if whole:
        if tests is None:
            raise click.UsageError(f"--whole: {data} has no test part.")
        X, y, tests = stack(X, tests[0]), np.concatenate([y, tests[1]]), None
    task = decided_task(y, said, task, f"the label of {data}")
    meant = {name: resolved(name, held.about["kind"], task) for name in learners}
    wanted = learned_probabilities(settings_of(settings), [] if metric is None else [metric], task)
    given = shared(wanted, meant, task, held.about["kind"])
    models = {name: build(meant[name], task, given[name], **held.about, scale=scale, seed=seed) for name in learners}
    result = evaluate.compare(
        models, (X, y), permutations, tests, tune=tune, metric=metric, random_state=seed, jobs=jobs, progress=True
    )
    chosen = {name: {bare(key): value for key, value in result.settings.get(name, {}).items()} for name in models}
    result = replace(result, settings={name: given[name] | chosen[name] for name in models})
    show(result.table(), wide=True)
    if csv is not None:
        result.to_csv(csv)
    if html is not None:
        from onepass.cli.page import page

        html.write_text(page(result, data), encoding="utf-8")
    if plot is not None:
        import matplotlib

        matplotlib.use("Agg")
        from onepass.plots import LearningCurveDisplay

        save_figure(LearningCurveDisplay.from_comparison(result).figure_, plot)
