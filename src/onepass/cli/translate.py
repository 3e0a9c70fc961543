"""`onepass translate`: train a translator, let it learn along a stream of corrections, and translate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import truediv
from pathlib import Path
from time import monotonic
from typing import Any

import click
from click.core import ParameterSource

from onepass.cli.learn import Interruptions, rescue, say_no_checkpoint
from onepass.cli.options import SEED, Duration, Target
from onepass.cli.output import show

STEPS = ("pa", "sgd", "adagrad", "adadelta", "adam")


@click.group()
def translate() -> None:
    """Translate by a small Transformer that learns from its corrections; needs pip install "onepass[translate]"."""


@translate.command()
@click.argument("source")
@click.argument("target", required=False)
@click.option("--save", type=Target(), required=True, metavar="MODEL", help="Where to write the translator; Ctrl-C saves, too.")
@click.option("--add", multiple=True, metavar="TSV", help="More pairs: a file of two columns; may be repeated.")
@click.option(
    "--validate", metavar="TSV", help="Pairs to measure BLEU on after each pass.  [default: every hundredth, left out]"
)
@click.option("--passes", type=click.IntRange(1), default=10, show_default=True, help="Passes over the corpus.")
@click.option("--resume", type=click.Path(exists=True), metavar="MODEL", help="A training that was stopped, to go on with.")
@click.option("--checkpoint", type=Duration(), default="5m", show_default=True, metavar="TIME", help="How often to save.")
@click.option("--vocabulary", type=click.IntRange(300), default=4000, show_default=True, help="The most subwords.")
@click.option(
    "--width", type=click.IntRange(4), default=128, show_default=True, help="The width of the network, a multiple of 4."
)
@SEED
@click.pass_context
def train(
    context: click.Context,
    source: str,
    target: str | None,
    save: Path,
    add: tuple[str, ...],
    validate: str | None,
    passes: int,
    resume: str | None,
    checkpoint: float,
    vocabulary: int,
    width: int,
    seed: int,
) -> None:
    """Train a translator on a corpus: SOURCE and TARGET have a sentence a line, or SOURCE has two columns with a tab between them.

    Files may be packed (.gz, .xz, ...). Stopped by Ctrl-C it goes on with --resume and the same corpus, to the same bits.
    """
    if width % 4:
        raise click.UsageError(f"--width must be a multiple of 4, got {width}.", context)
    import onepass
    from onepass.evaluate.progress import bar
    from onepass.evaluate.translations import measure
    from onepass.streams.parallel import pairs
    from onepass.translate import Translator

    corpus = list(chain(pairs(source, target), *(pairs(more) for more in add)))
    held = list(pairs(validate)) if validate else corpus[99::100]
    if not validate:
        corpus = [pair for i, pair in enumerate(corpus) if i % 100 != 99]
    if resume is None:
        model = Translator(max_iter=passes, vocabulary=vocabulary, d=width, inner=4 * width, random_state=seed)
    else:
        model = _translator(onepass.load(resume), resume)
        begun = {"passes": model.max_iter, "vocabulary": model.vocabulary, "width": model.d, "seed": model.random_state}
        for name, value in begun.items():
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and context.params[name] != value:
                raise ValueError(f"{resume} was begun with --{name} {value}: go on with that")
    saved = monotonic()
    with Interruptions() as interruptions, bar("training") as shown:
        for progress in model.train(*map(list, zip(*corpus, strict=True)) if corpus else ([], [])):
            if shown is not None:
                facts = f"pass {progress.passes + 1}, loss {progress.loss:.3f}"
                shown.update(partial(truediv, progress.step, progress.total), partial(str, facts))
            ended, over = progress.step == progress.total, interruptions.pressed
            if ended or over or progress.ends_pass or monotonic() - saved > checkpoint:
                try:
                    model.save(save)
                except OSError as error:
                    if ended or over:
                        rescue(error, f"what was learned in {progress.step:,} steps", save, model.save)
                        raise
                    say_no_checkpoint(f"{progress.step:,} steps", error)
                saved = monotonic()
            if progress.ends_pass and (held := [pair for pair in held if model.takes(*pair)]):
                quick = model.copy().set_params(beam=1)
                sources, references = zip(*held, strict=True)
                bleu = measure(quick.predict(sources), references)["BLEU"].value
                click.echo(f"pass {progress.passes}: loss {progress.loss:.3f}, BLEU {bleu:.2f} on {len(held):,} pairs (greedy)")
            if over and not ended:
                click.echo(
                    f"onepass: interrupted after step {progress.step:,} of {progress.total:,}; go on with --resume {save}",
                    err=True,
                )
                context.exit(interruptions.code)
    click.echo(f"{save} has the translator: {model.size_:,} weights.")


@translate.command()
@click.argument("model")
@click.argument("stream")
@click.option(
    "--step", type=click.Choice(STEPS), help="How to step along the gradient of a correction.  [default: the model's]"
)
@click.option(
    "--rate", type=click.FloatRange(0, min_open=True), help="The rate of the step, or C of pa.  [default: the model's]"
)
@click.option("--repeats", type=click.IntRange(1), help="Steps for each correction.  [default: the model's]")
@click.option("--beam", type=click.IntRange(1), help="Translations that are kept while searching.  [default: the model's]")
@click.option(
    "--static/--no-static", default=True, show_default=True, help="Whether MODEL translates beside it without learning."
)
@click.option("--save", type=Target(), metavar="MODEL", help="Where to write what was learned; Ctrl-C saves what was so far.")
@click.option(
    "--resume", type=click.Path(exists=True), metavar="MODEL", help="What --save wrote when the same stream was stopped."
)
@click.option("--checkpoint", type=Duration(), metavar="TIME", help="How often to save on the way: 30s, 5m, 1h.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.pass_context
def adapt(
    context: click.Context,
    model: str,
    stream: str,
    step: str | None,
    rate: float | None,
    repeats: int | None,
    beam: int | None,
    static: bool,
    save: Path | None,
    resume: str | None,
    checkpoint: float | None,
    as_json: bool,
) -> None:
    """Translate each sentence of STREAM with MODEL, then learn from its correction, which is the second column.

    BLEU, chrF and TER (sacrebleu) of the learning translator and of one that does not learn are shown, for the stream and its halves.
    """
    import onepass
    from onepass.evaluate.progress import bar
    from onepass.evaluate.translations import METRICS, Adaptation, behind
    from onepass.evaluate.translations import adapt as along
    from onepass.streams.parallel import pairs

    if checkpoint is not None and save is None:
        raise click.UsageError("--checkpoint needs --save, which says where.", context)
    first = _translator(onepass.load(model), model)
    learner = first.copy() if resume is None else _translator(onepass.load(resume), resume)
    wanted: dict[str, Any] = {"step": step, "repeats": repeats, "beam": beam}
    wanted |= {"C" if (step or learner.step) == "pa" else "rate": rate}
    learner.set_params(**{name: value for name, value in wanted.items() if value is not None})
    learner._check_parameters()  # before anything is written
    first.set_params(beam=learner.beam)
    found = Adaptation(**learner._said) if resume else Adaptation()
    if found.references and static != bool(found.static):
        raise ValueError(f"{resume} was stopped with {'--no-static' if static else '--static'}: go on with that")
    began = first._stamp()
    if found.references and found.began != began:
        raise ValueError(f"{resume} did not begin as {model}: go on with the model that it began as")
    found.began = began
    saved, kept = monotonic(), _Kept(learner, found, stream, save)
    with Interruptions() as interruptions, kept, bar("adapting") as shown:
        rest = interruptions.until_pressed(behind(found.references.copy(), pairs(stream)))
        for _ in along(learner, rest, first if static else None, found):
            if shown is not None:
                shown.update(lambda: None, lambda: f"{len(found.references):,} sentences")
            if checkpoint is not None and monotonic() - saved > checkpoint:
                kept.on_the_way()
                saved = monotonic()
    if not found.references and interruptions.pressed:
        click.echo("onepass: interrupted before a first sentence; nothing was learned or saved", err=True)
        context.exit(interruptions.code)
    if not found.references:
        raise ValueError(f"{stream} is empty")
    figures, n = found.figures(), len(found.references)
    if as_json:
        report = {
            part: {side: {name: m.value for name, m in metrics.items()} for side, metrics in sides.items()}
            for part, sides in figures.items()
        }
        signatures = {name: m.signature for name, m in figures["whole"]["learning"].items()}
        click.echo(json.dumps({"sentences": n, "figures": report, "signatures": signatures}))
    else:
        show(_table(figures, METRICS), wide=True)
        for name, m in figures["whole"]["learning"].items():
            click.echo(f"{name}: {m.signature}")
        translating, stepping = 1000 * found.translating / n, 1000 * found.stepping / n
        click.echo(f"{n:,} sentences, on one core: {translating:.0f} ms to translate, {stepping:.0f} ms a step")
    if kept.failure is not None:
        raise kept.failure
    if interruptions.pressed:
        click.echo(
            f"onepass: interrupted after {n:,} sentences; {'nothing was saved' if save is None else f'go on with --resume {save}'}",
            err=True,
        )
        context.exit(interruptions.code)


@translate.command()
@click.argument("model")
@click.argument("data", default="-")
def run(model: str, data: str) -> None:
    """Translate each line of DATA, or of standard input, with MODEL; an empty line stays empty."""
    import onepass
    from onepass.evaluate.translations import located
    from onepass.streams.parallel import sentences

    translator = _translator(onepass.load(model), model)
    for number, line in enumerate(sentences(data), 1):
        with located(f"line {number:,} of {data}"):
            translation = translator.translate(line) if line.strip() else ""
        click.echo(translation)


def _translator(model: Any, path: str) -> Any:
    from onepass.translate import Translator

    if not isinstance(model, Translator):
        raise ValueError(f"{path} holds a {type(model).__name__}, which is no translator")
    return model


@dataclass
class _Kept:
    """What is learned along a stream, saved on the way and in the end, also from the sentences before one that can't be."""

    learner: Any
    found: Any
    stream: str
    path: Path | None
    failure: OSError | None = None  # to save in the end

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.path is None or not self.found.references:
            return
        learned = f"what was learned from the {len(self.found.references):,} sentences before"
        if isinstance(error, Exception):
            rescue(error, learned, self.path, self._save_to)
            return
        try:
            self._save_to(self.path)
        except OSError as failure:  # figures can be shown all the same
            self.failure = failure
            rescue(failure, learned, self.path, self._save_to)

    def on_the_way(self) -> None:
        """A checkpoint."""
        try:
            self._save_to(self.path)
        except OSError as error:
            say_no_checkpoint(f"{len(self.found.references):,} sentences", error)

    def _save_to(self, path: Any) -> None:
        self.learner._said = vars(self.found)
        self.learner.save(path, {**self.learner.metadata, "origin": {"file": self.stream}})


def _table(figures: Any, metrics: tuple[str, ...]) -> Any:
    from rich.table import Table

    table = Table()
    table.add_column("")
    for side in figures["whole"]:
        for name in metrics:
            table.add_column(f"{side} {name}", justify="right")
    for part, sides in figures.items():
        table.add_row(part, *(f"{measured.value:.2f}" for side in sides.values() for measured in side.values()))
    return table
