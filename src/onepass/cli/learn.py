"""`onepass learn`: one pass over a file, in constant memory."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from click.core import ParameterSource

from onepass.cli.data import about, opened, say_notes
from onepass.cli.models import build, classes_from, decided_task, known_task, learned_probabilities, settings_of, task_of_model
from onepass.cli.options import (
    DETECTORS,
    LEARNER,
    MISSING,
    SCALE,
    SEED,
    SET,
    STAGE,
    TASK,
    Duration,
    Metric,
    Names,
    Picture,
    Target,
    reading,
)
from onepass.cli.origin import added, as_before, check_columns, head_of, not_added, origin_of, rows_before
from onepass.cli.output import facts, is_verbose, metric, plain, save_figure, show, speed

log = logging.getLogger(__name__)

SHOWN = 0.01  # smaller shares are not

METRICS = {
    "classification": ["mistake_rate"],
    "regression": ["mae", "rmse"],
    "tagging": ["mistake_rate", "entity_f1"],  # the second where there are entities
    "parsing": ["uas", "las"],
    "ranking": ["quality", "oracle_quality"],
}
DECIDED = {
    "learner": "--learner",
    "settings": "--set",
    "scale": "--scale",
    "stage": "--stage",
    "classes": "--classes",
    "task": "--task",
    "proba": "--proba",
    "seed": "--seed",
    "missing": "--missing",
    "text": "--text",
    "categories": "--categories",
    "encode": "--encode",
}


@click.command()
@click.argument("data")
@LEARNER
@SET
@SCALE
@STAGE
@reading
@MISSING
@TASK
@click.option("--classes", type=Names(), metavar="LABELS", help="All labels: a,b.  [default: new ones may appear at any time]")
@click.option("--proba", is_flag=True, help="Learn probabilities, too, for `onepass predict --proba`.")
@click.option(
    "--metric",
    "metrics",
    type=Metric(),
    multiple=True,
    metavar="NAME",
    help="What to measure beside the mistake rate, or mae and rmse: auc, f1, kappa, balanced_accuracy, recall, ...; log_loss, brier"
    " and calibration_error, which take --proba along; r2. May be repeated; --plot draws the first.",
)
@click.option("--test", metavar="FILE", help="Data to predict afterwards, measured in the same way.")
@click.option("--save", type=Target(), metavar="MODEL", help="Where to write the model; Ctrl-C saves what was learned so far.")
@click.option("--checkpoint", type=Duration(), metavar="TIME", help="How often to save on the way: 30s, 5m, 1h.")
@click.option("--resume", metavar="MODEL", help="A saved model to continue with; in the file it stopped in, from that row on.")
@click.option("--again", is_flag=True, help="With --resume: begin with the first row of DATA in any case.")
@click.option("--follow", is_flag=True, help="Wait for more when DATA is at its end, until Ctrl-C.")
@click.option("--drift", type=click.Choice(DETECTORS), help="What looks for changes of the stream in the errors.")
@click.option(
    "--on-drift",
    type=click.Choice(("reset", "forget")),
    help="What to do about one: start anew, or forget all but the weights (averages, covariances, learning rates).",
)
@click.option("--plot", type=Picture(), metavar="PNG", help="Where to draw the learning curve; drifts are marked.")
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
    metrics: tuple[str, ...],
    test: str | None,
    save: Path | None,
    checkpoint: float | None,
    resume: str | None,
    again: bool,
    follow: bool,
    drift: str | None,
    on_drift: str | None,
    plot: Path | None,
    as_json: bool,
    seed: int,
    **options: Any,
) -> None:
    """Learn from DATA in one pass, and show how well each example was predicted before it was learned from.

    DATA is a file of LIBSVM text, CSV, TSV, Parquet, JSON lines or .npz, plain or compressed; - is standard input. Tables may hold
    numbers, categories, dates and sentences, and may lack values. Files of words with tags (.conll, .conllu) are learned by a tagger,
    and their trees by --learner parser, lists of candidates (LIBSVM text with qid:, .letor) by a reranker. Files of strings, trees or
    graphs (.strings, .trees, .graphs) have one a line, behind its label and a tab.
    """
    import onepass
    from onepass import evaluate
    from onepass.cli.fitting import test as errors_on
    from onepass.cli.fitting import width_of
    from onepass.compiled.compiler import folder_of_code
    from onepass.evaluate import sequences
    from onepass.evaluate.drift import DETECTORS as DETECTOR_CLASSES
    from onepass.evaluate.progress import terminal
    from onepass.evaluate.tally import json_number

    if checkpoint is not None and save is None:
        raise click.UsageError("--checkpoint needs --save, which says where.", context)
    if again and resume is None:
        raise click.UsageError("--again goes with --resume.", context)
    if on_drift is not None and drift is None:
        raise click.UsageError("--on-drift needs --drift, which says what looks for one.", context)
    detector = None if drift is None else DETECTOR_CLASSES[drift]()
    if folder_of_code() is None and not is_verbose():
        click.echo(
            "onepass: compiling, which takes some seconds at every start: name a folder that only you can write to in NUMBA_CACHE_DIR",
            err=True,
        )
    given, said, origin, before = settings_of(settings), task, dict[str, Any](), 0
    if resume is None:
        model, task = None, task or known_task(learner)
    else:
        _refuse_decided(context)
        model = onepass.load(resume)
        task, origin = task_of_model(model), origin_of(model)
        if learned_probabilities({}, metrics, task) and not hasattr(model, "predict_proba"):
            raise click.UsageError(f"--metric: {resume} has no probabilities; learn it with: onepass learn --proba", context)
        options = as_before(context, origin, options)
        options["features"] = width_of(model, options["features"])
        before = 0 if again else rows_before(origin, data)

    with opened(data, task, {**options, "skip_rows": before, "follow": follow}) as stream, Interruptions() as interruptions:
        chunks = interruptions.until_pressed(stream)
        first = next(chunks, None)
        if first is None and interruptions.pressed:
            click.echo("onepass: interrupted before a first chunk was complete; nothing was learned or saved", err=True)
            context.exit(interruptions.code)
        if first is None:
            raise ValueError(
                f"the model has learned from all {before:,} rows of {stream.name} already; say --again to learn from them once more"
            )
        if first.y is None:
            raise ValueError(f"{stream.name} has no labels to learn from")
        if before:
            click.echo(f"onepass: going on after row {before:,} of {stream.name}, where the model stopped", err=True)
        if model is None:
            column = stream.about.get("label")
            what = f"the label of {stream.name}" if column is None else f"the label {column!r} of {stream.name}"
            task = decided_task(first.y, said, task, what)
        assert task is not None
        wanted = [*METRICS[task], *metrics]
        if task == "tagging":
            names = any(sequences.entities(tags) for tags in first.y)
            wanted = [name for name in wanted if names or name != "entity_f1"]
            given = {"templates": "names" if names else "tags"} | given
        if model is None:
            if proba:
                if task != "classification":
                    raise click.UsageError("--proba is for classes; say --task classification if the labels are some.", context)
                given["calibrate"] = True
            given = learned_probabilities(given, metrics, task)
            labels = None if classes is None else classes_from(first.y, classes)
            known = about(first, data, options)
            for name in set(known.get("text", ())) - set(options["text"]):
                click.echo(f"onepass: {name!r} holds texts, learned word by word; --categories {name} says otherwise", err=True)
            options |= {name: known[name] for name in ("text", "categories", "encode") if name in known}
            model = build(learner, task, given, **known, scale=scale, seed=seed, classes=labels)
            log.info("%s of %s: %s", task, known["kind"], " ".join(repr(model).split()))
        else:
            check_columns(origin, stream)
        told = say_notes(stream)
        start = perf_counter()
        head = list(head_of(data)) if Path(data).is_file() else None
        with terminal() as display:
            watched = _Watched(chain([first], chunks), stream, display, model)

            def save_to(path: Path) -> None:
                model.save(path, {**model.metadata, "origin": _origin(watched, stream, options, head, before, origin)})

            with _saving_on_error(watched, save, save_to):
                with watched.saved_every(checkpoint, save, save_to):
                    result = evaluate.prequential(
                        model, watched, wanted, drift=detector, on_drift=on_drift, callback=watched.report
                    )
                    watched.report(result.n, result.metrics)
                if save is not None:
                    save_to(save)
        if apart := not_added(origin.get("metrics", {}), result.metrics):
            click.echo(
                f"onepass: {' and '.join(apart)} of all rows can't be told from that of the rows before and that of these {result.n:,}:"
                " what is shown is of these alone, and the model keeps none",
                err=True,
            )
        say_notes(stream, told)
    size, seconds = stream.position.bytes or 0, perf_counter() - start

    tested = None
    if test is not None and not interruptions.pressed:
        with opened(test, task, {**options, "features": width_of(model, options["features"])}) as stream:
            tested = errors_on(model, task, stream, metrics)
    if plot is not None:
        _draw(result, plot, metrics)
    figures = result.to_dict()
    report = {
        **_about(model, task),
        "examples": result.n,
        **figures["metrics"],
        "updates": result.updates,
        "drifts": None if detector is None else result.drifts,
        "seconds": seconds,
        "learning_seconds": result.seconds,
        "bytes": size,
        "test": None if tested is None else {name: json_number(value) for name, value in tested.items()},
        "model": None if save is None else str(save),
        "interrupted": interruptions.pressed,
        "curve": figures["curve"],
        "shares_curve": figures["shares"],
    }
    if as_json:
        click.echo(json.dumps(report))
    else:
        show(facts(_summary(report, result.metrics, tested or {})))
    if interruptions.pressed:
        saved = "nothing was saved" if save is None else f"what was learned so far is in {save}"
        click.echo(f"onepass: interrupted after {result.n:,} examples; {saved}", err=True)
        context.exit(interruptions.code)


def _origin(
    watched: Any, stream: Any, options: dict[str, Any], head: Any, before: int, origin: dict[str, Any]
) -> dict[str, Any]:
    """What to keep of where the model learned."""
    kept = {name: options[name] for name in ("text", "categories", "encode", "missing", "zero_based")}
    position = {"rows": before + watched.examples, "bytes": stream.position.bytes}
    return {
        "file": stream.name,
        "head": head,
        "position": position,
        "rows": origin.get("rows", 0) + watched.examples,
        "metrics": added(origin.get("metrics", {}), *watched.measured),
        **{key: stream.about[key] for key in ("label", "columns", "dropped") if key in stream.about},
        "options": {**kept, "label": stream.about.get("label"), "drop": stream.about.get("dropped", [])},
    }


def _refuse_decided(context: click.Context) -> None:
    for name, option in DECIDED.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--resume goes on with a model as it is; leave {option} out.", context)


class Interruptions:
    """Ctrl-C, and a request to end, end the wait for data at once, but never cut learning short: the chunk at hand is finished."""

    def __init__(self) -> None:
        self.pressed = False
        self.code = 0  # to exit with, as other programs do that a signal ends
        self._waiting = False

    def __enter__(self) -> Interruptions:
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, _: object) -> None:
        ends_the_wait = self._waiting and not self.pressed
        self.pressed, self.code = True, 128 + number
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
def _saving_on_error(watched: _Watched, path: Path | None, save_to: Callable[[Path], None]) -> Iterator[None]:
    """If the data can't be read to its end, or the model can't be written, save what was learned."""
    try:
        yield
    except Exception as error:
        if path is not None and watched.examples:
            rescue(error, f"what was learned from the {watched.examples:,} examples before", path, save_to)
        raise


def rescue(error: Exception, learned: str, path: Path, save_to: Callable[[Path], None]) -> None:
    """Save what was learned before an error, which is to say where: if not where it belongs, as its disk may be full, then in the
    folder for temporary files."""
    failures = []
    for place in (path, Path(tempfile.gettempdir(), f"{path.name}.{os.getpid()}")):
        try:
            save_to(place)
        except OSError as failure:
            failures.append(failure)
        else:
            error.add_note(f"({learned} is in {place})")
            return
    error.add_note(f"({learned} can't be saved: {path}: {failures[0].strerror})")


def say_no_checkpoint(after: str, error: OSError) -> None:
    """Learning goes on: there may be room again when more was learned."""
    click.echo(f"onepass: no checkpoint after {after} ({error.strerror}); learning goes on", err=True)


class _Watched:
    """The same chunks, shown on the display as they are handed out. `examples` counts those that were dealt with, and `measured` has
    the metrics of as many of them as were accounted for."""

    def __init__(self, chunks: Any, stream: Any, display: Any, model: Any) -> None:
        self.chunks, self.stream, self.display, self.model, self.examples = chunks, stream, display, model, 0
        self.measured: tuple[int, dict[str, float]] = 0, {}
        self._saved, self._due, self._idle = 0, False, False

    @contextmanager
    def saved_every(self, seconds: float | None, path: Path | None, save_to: Callable[[Path], None]) -> Iterator[None]:
        """Save whenever so much time has passed: after the chunk at hand, or at once while the next is waited for."""
        if seconds is None or path is None:
            yield
            return

        def note(*_: object) -> None:
            self._due = True
            if self._idle:
                self._save_if_due()

        self._save = partial(save_to, path)
        before = signal.signal(signal.SIGALRM, note)
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _save_if_due(self) -> None:
        if self._due and self.examples > self._saved:
            self._saved, self._due = self.examples, False
            try:
                self._save()
            except OSError as error:
                say_no_checkpoint(f"{self.examples:,} examples", error)
                return
            log.info("checkpoint after %d examples", self.examples)

    def __iter__(self) -> Iterator[Any]:
        start = perf_counter()
        bar = self.display.add_task("learning", total=self.stream.size, facts="")
        for chunk in self._parts():
            self._idle = False
            yield chunk
            self.examples += len(chunk)
            self._idle = True
            self._save_if_due()
            seconds, read = perf_counter() - start, chunk.position.bytes or 0
            rates = f"{speed(self.examples / seconds)} examples/s · {read / seconds / 1e6:.0f} MB/s"
            self.display.update(bar, completed=read, facts=f"{self.examples:,} examples · {rates}")
        self._idle = False

    def _parts(self) -> Iterator[Any]:
        """The chunks as they are learned from: what `prequential` would cut, so that an error in one leaves those before it learned."""
        from onepass.evaluate.online import part
        from onepass.evaluate.shares import cuts

        for chunk in self.chunks:
            for start, stop in cuts(self.model, self.examples, len(chunk)):
                yield part(chunk, start, stop)

    def report(self, n: int, metrics: dict[str, float]) -> None:
        """Take note of the metrics, and show the first of them beside the bar."""
        self.measured = n, metrics
        name, value = next(iter(metrics.items()))
        for task in self.display.tasks:
            self.display.update(task.id, description=f"{name.replace('_', ' ')} {metric(name, value)}")


def _draw(result: Any, path: Path, asked: tuple[str, ...]) -> None:
    """Draw the curve of the first metric that was asked for and has a value, else that of the mistake rate or the MAE; and below it the
    shares of a committee."""
    import matplotlib

    matplotlib.use("Agg")
    from onepass.plots import LearningCurveDisplay, SharesDisplay
    from onepass.plots.style import figure

    found = {name for name, value in result.metrics.items() if not math.isnan(value)}
    chosen = next(
        (name for name in result.metrics if name in found and (name in asked or name.partition("[")[0] in asked)), None
    )
    if result.shares is None:
        save_figure(LearningCurveDisplay.from_prequential(result, chosen).figure_, path)
        return
    both = figure(7.0, 7.0)
    above, below = both.subplots(2, 1)
    LearningCurveDisplay.from_prequential(result, chosen, ax=above)
    SharesDisplay.from_prequential(result, ax=below)
    save_figure(both, path)


def _about(model: Any, task: str) -> dict[str, Any]:
    """What the model is, as JSON takes it."""
    from onepass.evaluate.shares import committee_of

    learner, committee = getattr(model, "learner", model), committee_of(model)
    return {
        "learner": type(learner).__name__,
        "stages": [type(stage).__name__ for stage in getattr(model, "stages", [])],
        "task": task,
        "parameters": {name: value for name, value in learner.get_params().items() if name not in ("classes", "grow")},
        "features": model.n_features_in_,
        "classes": None if task in ("regression", "ranking") else learner.classes_.tolist(),
        "shares": None if committee is None else committee.shares_,
    }


def _summary(report: dict[str, Any], metrics: dict[str, float], tested: dict[str, float]) -> dict[str, str]:
    stages = "".join(f"{stage} + " for stage in report["stages"])
    lines = {"learner": stages + report["learner"], "task": report["task"], "examples": f"{report['examples']:,}"}
    lines["features"] = f"{report['features']:,}"
    if report["classes"] is not None:
        shown = [plain(label) for label in report["classes"][:8]]
        lines["classes"] = ", ".join(shown) + (f", ... ({len(report['classes'])})" if len(report["classes"]) > 8 else "")
    for name, value in metrics.items():
        lines[name.replace("_", " ")] = metric(name, value)
    if report["shares"] is not None:
        largest = sorted(report["shares"].items(), key=lambda share: -share[1])
        lines["shares"] = ", ".join(f"{name} {100 * share:.0f}%" for name, share in largest if share >= SHOWN)
    lines["updates"] = f"{report['updates']:,}"
    if report["drifts"] is not None:
        shown = [f"{place:,}" for place in report["drifts"][:8]]
        lines["drifts"] = (
            f"{len(report['drifts'])}" + (" at " if shown else "") + " ".join(shown) + " ..." * (len(report["drifts"]) > 8)
        )
    seconds = report["seconds"]
    lines["seconds"] = (
        f"{seconds:.2f} ({speed(report['examples'] / seconds)} examples/s, {report['bytes'] / seconds / 1e6:.0f} MB/s)"
    )
    for name, value in tested.items():
        lines[f"test {name.replace('_', ' ')}"] = metric(name, value)
    if report["model"] is not None:
        lines["model"] = report["model"]
    return lines
