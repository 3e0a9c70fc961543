"""`onepass learn`: one pass over a file, in constant memory."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from click.core import ParameterSource

from onepass.cli.data import FILLS, opened, say_notes
from onepass.cli.models import build, classes_from, known_task, settings_of, task_of, task_of_model
from onepass.cli.options import FILLED, LEARNER, SCALE, SEED, SET, TASK, Names, Picture, Target, reading
from onepass.cli.output import facts, metric, plain, progress, save_figure, show, speed

METRICS = {"classification": ["mistake_rate"], "regression": ["mae", "rmse"]}
DECIDED = {
    "learner": "--learner",
    "settings": "--set",
    "scale": "--scale",
    "classes": "--classes",
    "task": "--task",
    "proba": "--proba",
    "seed": "--seed",
}


@click.command()
@click.argument("data")
@LEARNER
@SET
@SCALE
@reading
@FILLED
@TASK
@click.option("--classes", type=Names(), metavar="LABELS", help="All labels: a,b.  [default: new ones may appear at any time]")
@click.option("--proba", is_flag=True, help="Learn probabilities, too, for `onepass predict --proba`.")
@click.option("--test", metavar="FILE", help="Data to predict afterwards.")
@click.option("--save", type=Target(), metavar="MODEL", help="Where to write the model; Ctrl-C saves what was learned so far.")
@click.option("--resume", metavar="MODEL", help="A saved model to continue with.")
@click.option("--plot", type=Picture(), metavar="PNG", help="Where to draw the learning curve.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@SEED
@click.pass_context
def learn(
    context: click.Context,
    /,
    data: str,
    learner: str,
    settings: tuple[str, ...],
    scale: str,
    task: str | None,
    classes: tuple[str, ...] | None,
    proba: bool,
    test: str | None,
    save: Path | None,
    resume: str | None,
    plot: Path | None,
    as_json: bool,
    seed: int,
    **options: Any,
) -> None:
    """Learn from DATA in one pass, and show how well each example was predicted before it was learned from.

    DATA is a file of LIBSVM text, CSV, TSV, Parquet, JSON lines or .npz, plain or compressed; - is standard input. Strings
    in tables are hashed. The default learner, pa1, is fast and needs no scaling; pamo learns curved boundaries, and works best
    with --scale standard.
    """
    import onepass
    from onepass import evaluate
    from onepass.cli.fitting import fills, hashed_to, width_of
    from onepass.cli.fitting import test as errors_on

    given = settings_of(settings)
    if resume is None:
        model, task = None, task or known_task(learner)
    else:
        _refuse_decided(context)
        model = onepass.load(resume)
        task = task_of_model(model)
        if options["missing"] in FILLS:
            raise click.UsageError(
                "--resume goes on with a model as it is; it fills in what is missing if it was told to.", context
            )
        if fills(model) and options["missing"] == "error":
            options["missing"] = "keep"
        options["features"] = width_of(model, options["features"])

    with opened(data, task, options) as stream, Interruptions() as interruptions:
        chunks = interruptions.until_pressed(stream)
        first = next(chunks, None)
        if first is None:
            click.echo("onepass: interrupted before a first chunk was complete; nothing was learned or saved", err=True)
            context.exit(130)
        if first.y is None:
            raise ValueError(f"{stream.name} has no labels to learn from")
        task = task or task_of(first.y)
        if model is None:
            if proba:
                if task == "regression":
                    raise click.UsageError("--proba is for classes; say --task classification if the labels are some.", context)
                given["calibrate"] = True
            labels = None if classes is None else classes_from(first.y, classes)
            hashed = hashed_to(first, options["features"])
            fill = FILLS.get(options["missing"])
            model = build(learner, task, given, hashed=hashed, fill=fill, scale=scale, seed=seed, classes=labels)
        said = say_notes(stream)
        start = perf_counter()
        with progress() as display:
            watched = _Watched(chain([first], chunks), stream, display)
            with _saving_on_error(model, watched, save):
                result = evaluate.prequential(model, watched, METRICS[task], callback=_report(display))
        if save is not None:
            model.save(save)
        say_notes(stream, said)
    size, seconds = stream.position.bytes or 0, perf_counter() - start

    tested = None
    if test is not None and not interruptions.pressed:
        with opened(test, task, {**options, "features": width_of(model, options["features"])}) as stream:
            tested = errors_on(model, task, stream)
    if plot is not None:
        _draw(result, plot)
    report = {
        **_about(model, task),
        "examples": result.n,
        **result.metrics,
        "updates": result.updates,
        "seconds": seconds,
        "learning_seconds": result.seconds,
        "bytes": size,
        "test": tested,
        "model": None if save is None else str(save),
        "interrupted": interruptions.pressed,
        "curve": result.curve.to_dict(),
    }
    if as_json:
        click.echo(json.dumps(report))
    else:
        show(facts(_summary(report)))
    if interruptions.pressed:
        saved = "nothing was saved" if save is None else f"what was learned so far is in {save}"
        click.echo(f"onepass: interrupted after {result.n:,} examples; {saved}", err=True)
        context.exit(130)


def _refuse_decided(context: click.Context) -> None:
    for name, option in DECIDED.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--resume goes on with a model as it is; leave {option} out.", context)


class Interruptions:
    """Ctrl-C ends the wait for data at once, but never cuts learning short: the chunk at hand is finished first."""

    def __init__(self) -> None:
        self.pressed = False
        self._waiting = False

    def __enter__(self) -> Interruptions:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, *_: object) -> None:
        ends_the_wait = self._waiting and not self.pressed
        self.pressed = True
        if ends_the_wait:
            raise KeyboardInterrupt

    def until_pressed(self, chunks: Any) -> Iterator[Any]:
        """The same chunks, and no more of them once Ctrl-C was pressed."""
        try:
            self._waiting = True
            for chunk in chunks:
                self._waiting = False
                yield chunk
                self._waiting = True
                if self.pressed:
                    break
            self._waiting = False
        except KeyboardInterrupt:
            pass


@contextmanager
def _saving_on_error(model: Any, watched: _Watched, path: Path | None) -> Iterator[None]:
    """If the data can't be read to its end, save what was learned from the rows before, and let the error say so."""
    try:
        yield
    except Exception as error:
        learned = watched.examples
        if path is not None and learned:
            try:
                model.save(path)
                error.add_note(f"(what was learned from the {learned:,} examples before is in {path})")
            except OSError as failure:
                error.add_note(f"(what was learned from the {learned:,} examples before can't be saved: {failure})")
        raise


class _Watched:
    """The same chunks, shown on the display as they are handed out. `examples` counts those that were dealt with."""

    def __init__(self, chunks: Any, stream: Any, display: Any) -> None:
        self.chunks, self.stream, self.display, self.examples = chunks, stream, display, 0

    def __iter__(self) -> Iterator[Any]:
        start = perf_counter()
        bar = self.display.add_task("learning", total=self.stream.size, facts="")
        for chunk in self.chunks:
            yield chunk
            self.examples += len(chunk)
            seconds, read = perf_counter() - start, chunk.position.bytes or 0
            rates = f"{speed(self.examples / seconds)} examples/s · {read / seconds / 1e6:.0f} MB/s"
            self.display.update(bar, completed=read, facts=f"{self.examples:,} examples · {rates}")


def _report(display: Any) -> Any:
    """A callback that shows the first metric beside the bar."""

    def report(n: int, metrics: dict[str, float]) -> None:
        name, value = next(iter(metrics.items()))
        for task in display.tasks:
            display.update(task.id, description=f"{name.replace('_', ' ')} {metric(name, value)}")

    return report


def _draw(result: Any, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from onepass.plots import LearningCurveDisplay

    save_figure(LearningCurveDisplay.from_prequential(result).figure_, path)


def _about(model: Any, task: str) -> dict[str, Any]:
    """What the model is, as JSON takes it."""
    learner = getattr(model, "learner", model)
    return {
        "learner": type(learner).__name__,
        "stages": [type(stage).__name__ for stage in getattr(model, "stages", [])],
        "task": task,
        "parameters": {name: value for name, value in learner.get_params().items() if name not in ("classes", "grow")},
        "features": model.n_features_in_,
        "classes": learner.classes_.tolist() if task == "classification" else None,
    }


def _summary(report: dict[str, Any]) -> dict[str, str]:
    stages = "".join(f"{stage} + " for stage in report["stages"])
    lines = {"learner": stages + report["learner"], "task": report["task"], "examples": f"{report['examples']:,}"}
    lines["features"] = f"{report['features']:,}"
    if report["classes"] is not None:
        shown = [plain(label) for label in report["classes"][:8]]
        lines["classes"] = ", ".join(shown) + (f", ... ({len(report['classes'])})" if len(report["classes"]) > 8 else "")
    for name in METRICS[report["task"]]:
        lines[name.replace("_", " ")] = metric(name, report[name])
    lines["updates"] = f"{report['updates']:,}"
    seconds = report["seconds"]
    lines["seconds"] = (
        f"{seconds:.2f} ({speed(report['examples'] / seconds)} examples/s, {report['bytes'] / seconds / 1e6:.0f} MB/s)"
    )
    for name, value in (report["test"] or {}).items():
        lines[f"test {name}"] = metric(name, value)
    if report["model"] is not None:
        lines["model"] = report["model"]
    return lines
