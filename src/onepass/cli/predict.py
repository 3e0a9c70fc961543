"""`onepass predict`: a line for each example."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from onepass.cli.data import opened, say_notes
from onepass.cli.models import task_of_model
from onepass.cli.options import Target, reading
from onepass.cli.origin import as_before, check_columns, origin_of
from onepass.cli.output import metric, plain


def _sentence(words: list[str], tags: list[str], sure: Any) -> str:
    """A sentence as a file of columns has it."""
    columns = [words, tags] if sure is None else [words, tags, [f"{lead:.4g}" for lead in sure]]
    return "".join("\t".join(map(str, row)) + "\n" for row in zip(*columns, strict=True)) + "\n"


@click.command()
@click.argument("model")
@click.argument("data")
@reading
@click.option("--no-label", is_flag=True, help="DATA has no column for the label.")
@click.option("--scores", is_flag=True, help="Print scores instead of labels; those of several classes are separated by tabs.")
@click.option(
    "--proba", is_flag=True, help="Print a column of probabilities for each class, under its label, separated by tabs."
)
@click.option("--output", type=Target(), metavar="FILE", help="Where to write.  [default: standard output]")
@click.pass_context
def predict(
    context: click.Context,
    /,
    model: str,
    data: str,
    no_label: bool,
    scores: bool,
    proba: bool,
    output: Path | None,
    **options: Any,
) -> None:
    """Predict each example of DATA with a saved MODEL, and print one line for each; of a sentence, one for each word, with its tag
    behind a tab, and how sure that is with --scores; of a list of candidates, the place of the best, counted from 0. A parser fills the
    tree of each sentence into the lines of DATA.

    The model knows its columns and its label. --proba takes a model of `onepass learn --proba`. If the data has labels, the error of
    the predictions is printed on standard error.
    """
    import onepass
    from onepass.cli.fitting import Errors, fills, predictions, width_of

    if no_label and options["label"] is not None:
        raise click.UsageError("--label and --no-label contradict each other.")
    learned = onepass.load(model)
    task = task_of_model(learned)
    if scores and task == "regression":
        raise click.UsageError("--scores is for classifiers; a regressor predicts its score.")
    if scores and task == "parsing":
        raise click.UsageError("--scores is for classifiers and taggers.")
    if proba and scores:
        raise click.UsageError("--scores and --proba contradict each other.")
    if proba and not hasattr(learned, "predict_proba"):
        raise click.UsageError(f"{model} has no probabilities; learn it with: onepass learn --proba")
    origin = origin_of(learned)
    options = as_before(context, origin, options) | {"missing": "keep" if fills(learned) else "error"}
    options["features"] = width_of(learned, options["features"])
    if no_label:
        options["label"] = False
    errors = Errors(task)
    with opened(data, task, options) as stream, click.open_file(str(output or "-"), "w") as file:
        if proba and task != "ranking":
            file.write(f"{plain(learned.classes_.tolist())}\n")
        answer = learned.predict_proba if proba else learned.decision_function if scores else None
        for X, y, predicted in predictions(learned, stream, lambda: check_columns(origin, stream)):
            if task == "tagging":
                sure = learned.predict_confidence(X) if scores else None
                file.writelines(_sentence(*parts) for parts in zip(X, predicted, sure or [None] * len(X), strict=True))
            elif task == "parsing":
                file.writelines(sentence.filled(tree) for sentence, tree in zip(X, predicted, strict=True))
            elif task == "ranking":
                lines = predicted if answer is None else [values.tolist() for values in answer(X)]
                file.writelines(f"{plain(line)}\n" for line in lines)
            else:
                values = predicted if answer is None else answer(X)
                file.writelines(f"{plain(value)}\n" for value in values.tolist())
            if y is not None:
                errors.add(y, predicted)
        file.flush()
        say_notes(stream)
    if errors.examples:
        figures = ", ".join(f"{name} {metric(name, value)}" for name, value in errors.metrics().items())
        click.echo(f"{errors.examples:,} examples, {figures}", err=True)
