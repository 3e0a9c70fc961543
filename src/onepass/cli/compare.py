"""`onepass compare`: learners side by side, over permutations of one data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from onepass.cli.models import build, classes_from, known_task, task_of
from onepass.cli.options import SCALE, SEED, TASK, Names, Picture, Target, reading
from onepass.cli.output import progress, save_figure, show


@click.command()
@click.argument("data")
@click.option("--learners", type=Names(), default="pa1,pa2,pamo", show_default=True, help="Which ones, with commas between.")
@click.option(
    "--permutations", type=click.IntRange(1), default=20, show_default=True, help="How many orders of the data to try."
)
@SCALE
@reading
@TASK
@click.option("--test", metavar="FILE", help="Data to predict after each pass.  [default: the test part of a named data set]")
@click.option("--plot", type=Picture(), metavar="PNG", help="Where to draw the learning curves.")
@click.option("--html", type=Target(), metavar="FILE", help="Where to write a page with curves and table, all in one file.")
@click.option("--csv", type=Target(), metavar="FILE", help="Where to write the table as CSV.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Permutations to run at the same time.")
@SEED
def compare(
    data: str,
    learners: tuple[str, ...],
    permutations: int,
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
    from onepass import evaluate

    if not learners:
        raise click.UsageError("--learners names none.")
    tasks = {named for named in map(known_task, learners) if named is not None}
    if len(tasks) == 2:
        raise click.UsageError("--learners names classifiers and regressors; they can't be compared with each other.")
    task = task or next(iter(tasks), None)
    (X, y), tests = _load(data, task, options)
    if test is not None:
        tests = _whole(test, task, options)
    if tests is not None:
        _widen(X, tests[0])
    task = task or task_of(y)
    labels = classes_from(y, None) if task == "classification" else None
    models = {name: build(name, task, scale=scale, seed=seed, classes=labels) for name in learners}
    with progress() as display:
        bar = display.add_task("comparing", total=permutations * len(models), facts="")

        def advance(done: int, total: int) -> None:
            display.update(bar, completed=done, facts=f"{done:,} of {total:,} passes")

        result = evaluate.compare(models, (X, y), permutations, tests, random_state=seed, jobs=jobs, callback=advance)
    show(result.table())
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


def _load(data: str, task: str | None, options: dict[str, Any]) -> tuple[tuple[Any, Any], tuple[Any, Any] | None]:
    """The data, and its test part if it has one."""
    from onepass import datasets

    if data not in datasets.names() or Path(data).exists():
        return _whole(data, task, options), None
    dataset = datasets.load(data)
    if isinstance(dataset.X, list):
        raise ValueError(f"the data set {data} holds texts; make numbers of them first, for example with onepass.Hasher")
    return (dataset.X, dataset.y), None if dataset.y_test is None else (dataset.X_test, dataset.y_test)


def _whole(data: str, task: str | None, options: dict[str, Any]) -> tuple[Any, Any]:
    """All rows and labels of a file."""
    import numpy as np
    import scipy.sparse as sp

    from onepass import streams

    with streams.open(data, task=task, **options) as stream:
        chunks = list(stream)
    if any(chunk.y is None for chunk in chunks):
        raise ValueError(f"{data} has no labels to learn from")
    y = np.concatenate([chunk.y for chunk in chunks])
    if not sp.issparse(chunks[0].X):
        return np.concatenate([chunk.X for chunk in chunks]), y
    _widen(*(chunk.X for chunk in chunks))
    return sp.vstack([chunk.X for chunk in chunks], format="csr"), y


def _widen(*parts: Any) -> None:
    """Make sparse parts equally wide: each is as wide as the largest index that came up in it."""
    import scipy.sparse as sp

    if all(sp.issparse(part) for part in parts):
        width = max(part.shape[1] for part in parts)
        for part in parts:
            part.resize(part.shape[0], width)
