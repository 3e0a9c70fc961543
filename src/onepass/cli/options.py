"""What the commands take: data, places to write to, learners by name."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from onepass.cli.models import STAGES

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("libsvm", "csv", "tsv", "parquet", "jsonl", "npz", "conll", "conllu", "strings", "trees", "graphs", "kelp", "letor")
TASKS = ("classification", "regression")
SCALES = ("auto", "standard", "unit", "none")
DETECTORS = ("adwin", "page-hinkley", "window")


class Names(click.ParamType):
    """Names with commas between them."""

    name = "names"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> tuple[str, ...]:
        """The names as a tuple; click also passes defaults through here."""
        return value if isinstance(value, tuple) else tuple(name.strip() for name in value.split(",") if name.strip())


class Duration(click.ParamType):
    """A time: 30s, 5m, 2h."""

    name = "time"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        """The time in seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(value))
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r} is no time; say 30s, 5m or 2h", parameter, context)
        return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


class Target(click.ParamType):
    """A file to write. A place that can't be written to is found out before any work is done."""

    name = "file"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Path:
        """The path, if a file can be made there."""
        path = Path(value)
        if path.is_dir():
            self.fail(f"{path} is a directory", parameter, context)
        try:
            with tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            self.fail(f"can't write {path}: {error.strerror}", parameter, context)
        if path.exists() and not os.access(path, os.W_OK):
            self.fail(f"can't write {path}: it is write-protected", parameter, context)
        return path


class Picture(Target):
    """A picture to write, for which matplotlib is needed."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Path:
        """The path, if there is something to draw with."""
        from importlib.util import find_spec

        if find_spec("matplotlib") is None:
            self.fail('pictures need matplotlib: pip install "onepass[plot]"', parameter, context)
        return super().convert(value, parameter, context)


class Metric(click.ParamType):
    """A metric by its name, or that of one label, as recall[spam]."""

    name = "metric"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:
        """The name, if there is such a metric."""
        from onepass.evaluate.lists import LIST_METRICS
        from onepass.evaluate.metrics import PER_LABEL
        from onepass.evaluate.sequences import SENTENCE_METRICS, TREE_METRICS
        from onepass.evaluate.tally import NAMES

        others = *SENTENCE_METRICS, *TREE_METRICS, *LIST_METRICS
        known = list(dict.fromkeys([*(name for names in NAMES.values() for name in names), *others]))
        name, _, label = value.partition("[")
        if value not in known and not (name in PER_LABEL and label.endswith("]")):
            self.fail(f"there is no metric {value!r}; known are {', '.join(known)}", parameter, context)
        return str(value)


READING = (
    click.option(
        "--format", type=click.Choice(FORMATS), help="The format of DATA.  [default: by the ending of its name, else libsvm]"
    ),
    click.option(
        "--label", metavar="COLUMN", help="The column of the label.  [default: label, class, target or y, else the last]"
    ),
    click.option("--drop", type=Names(), default=(), metavar="COLUMNS", help="Columns to leave out: a,b,c."),
    click.option(
        "--features",
        type=click.IntRange(1),
        metavar="N",
        help="The number of features; what is not a number is hashed to that many.  [default: as many as there are; 2**18 hashed]",
    ),
    click.option("--sep", metavar="CHARACTER", help="What separates the columns of CSV.  [default: what the first rows show]"),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether CSV begins with names of columns.  [default: what the first rows show]",
    ),
    click.option(
        "--text", type=Names(), default=(), metavar="COLUMNS", help="Columns of sentences, to be learned word by word."
    ),
    click.option(
        "--categories",
        type=Names(),
        default=(),
        metavar="COLUMNS",
        help="Columns whose values, also numbers, are names of kinds.",
    ),
    click.option(
        "--encode",
        type=Names(),
        default=(),
        metavar="COLUMNS",
        help="Columns of categories with many values, to be learned by the labels of earlier rows with the same value.",
    ),
    click.option(
        "--skip-bad", type=click.IntRange(0), default=0, metavar="N", help="How many lines that can't be read may be left out."
    ),
    click.option("--zero-based", is_flag=True, help="The feature indices of LIBSVM data start at 0, not 1."),
)

MISSING = click.option(
    "--missing",
    type=click.Choice(("mean", "zero", "skip", "error")),
    default="mean",
    show_default=True,
    help="What to do about missing numbers of a table: fill in the mean so far, or 0; leave their rows out; or stop.",
)
LEARNER = click.option(
    "--learner",
    default="auto",
    show_default=True,
    help="A name that `onepass learners` lists: pa1, pamo, PAClassifier, ... auto: a committee of several, which finds out along the"
    " way whom to follow; --set budget=fast is twice as fast.",
)
SET = click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the learner, or of --stage; may be repeated."
)
TASK = click.option(
    "--task",
    type=click.Choice(TASKS),
    help="What to learn.  [default: classification if the labels are text or few whole numbers]",
)
SCALE = click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="auto",
    show_default=True,
    help="How to scale: each feature (standard), each row to unit norm (unit). auto: standard for tables; then unit as well if"
    " they hold more than numbers; nothing else is scaled.",
)
STAGE = click.option(
    "--stage",
    type=click.Choice([stage for stages in STAGES.values() for stage in stages]),
    help="How strings, trees or graphs are compared: by counts of their parts, for any learner, or pair by pair, for kernel learners"
    " (subsequences, subset-trees, partial-trees, random-walks).  [default: spectrum, subtrees, weisfeiler-lehman]",
)
METRIC = click.option(
    "--metric",
    type=Metric(),
    metavar="NAME",
    help="What to measure: accuracy, balanced_accuracy, kappa, f1, auc, log_loss, brier, recall[LABEL], ...; rmse, r2.  [default: the"
    " mistake rate, or the mae]",
)
SEED = click.option("--seed", type=int, default=0, show_default=True, help="The seed for everything random.")


def reading(command: Command) -> Command:
    """The options that say how to read data; their names are those of `onepass.streams.open`."""
    for option in reversed(READING):
        command = option(command)
    return command
