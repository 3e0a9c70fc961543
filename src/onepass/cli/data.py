"""Data that is held in memory: files and data sets as rows and labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from onepass.cli.models import LEARNERS_OF_SENTENCES, MIXED, NUMBERS, SENTENCES, SPARSE, STAGES
from onepass.cli.output import is_verbose

ONE_BY_ONE = (
    "{} has several labels an example, as sentences and lists have: learn it with onepass learn, one learner after the other"
)
FILLS: dict[str, str | float] = {"mean": "mean", "zero": 0.0}  # what --missing fills in


def opened(data: str, task: str | None, options: dict[str, Any]) -> Any:
    """The stream of a file. `--features` is not for tables: their columns are the features, or are hashed to so many by a model. What
    is filled in is kept missing up to then."""
    from onepass import streams
    from onepass.streams.opening import OBJECTS, TABLES, guess
    from onepass.streams.opening import SENTENCES as OF_SENTENCES
    from onepass.streams.tables import IfThere

    given, kind = dict(options), options["format"] or guess(data)
    if given.pop("stage", None) is not None and kind not in OBJECTS:
        raise click.UsageError(f"--stage is for files of strings, trees and graphs, and {data} is {kind}.")
    given["text"] = [*options["text"], *given.pop("categories"), *given.pop("encode")]
    if options["missing"] in FILLS:
        given["missing"] = "keep"
    if task in LEARNERS_OF_SENTENCES:
        if kind not in OF_SENTENCES:
            learner = LEARNERS_OF_SENTENCES[task]
            raise click.UsageError(
                f"A {learner} takes sentences, and {data} is {kind}: say --format conll or conllu if they are."
            )
        given |= {"features": None, "drop": ()}
        task = None if task == "tagging" else task
    elif task == "ranking":
        if kind not in ("letor", "libsvm"):
            raise click.UsageError(f"Lists are LIBSVM text with qid:, and {data} is {kind}: say --format letor if they are.")
        given |= {"format": "letor", "features": None}
        task = None
    elif kind in (*TABLES, *OBJECTS):
        given["features"] = None
    elif isinstance(options["label"], IfThere):  # of the table that the model was learned from
        given |= {"label": None, "drop": ()}
    return streams.open(data, task=task, **given)


def say_notes(stream: Any, said: int = 0) -> int:
    """Tell what was guessed about a file, and what was left out of it since so many notes were told; how many there are now. Where the
    log is shown, it has told already."""
    for note in () if is_verbose() else stream.notes[said:]:
        click.echo(f"onepass: {note}", err=True)
    return len(stream.notes)


def is_named(data: str) -> bool:
    """Whether it is the name of a data set of onepass.datasets, and no file."""
    from onepass import datasets

    return data in datasets.names() and not Path(data).exists()


@dataclass(frozen=True)
class Held:
    """Data in memory: rows, labels, what to test on, and what `build` has to know of it."""

    X: Any
    y: Any
    tests: tuple[Any, Any] | None
    about: dict[str, Any]


def load(data: str, task: str | None, options: dict[str, Any], test: str | None = None) -> Held:
    """The data, and the test data or else its own test part if it has one."""
    import scipy.sparse as sp

    from onepass import datasets
    from onepass.evaluate.feeding import refuse_strings

    tests = None
    if test is not None:
        chunks = chunks_of(test, task, options)
        tests = _joined(chunks)
        tested = chunks[0]
    if not is_named(data):
        chunks = chunks_of(data, task, options)
        known = about(chunks[-1], data, options)
        if tests is not None and known["kind"] != MIXED:
            refuse_strings(tested)
        return Held(*_joined(chunks), tests, known)
    dataset = datasets.load(data)
    own = None if dataset.y_test is None else (dataset.X_test, dataset.y_test)
    if isinstance(dataset.X, list):
        if isinstance(dataset.y, list):
            raise ValueError(ONE_BY_ONE.format(data))
        if dataset.objects not in STAGES:
            raise ValueError(
                f"the data set {data} holds {dataset.objects}; make numbers of them first, for example with onepass.Text"
            )
        kind = stage_for(dataset.objects, options)
        return Held(dataset.X, dataset.y, tests or own, {"kind": kind, "features": options["features"]})
    return Held(dataset.X, dataset.y, tests or own, {"kind": SPARSE if sp.issparse(dataset.X) else NUMBERS})


def about(chunk: Any, data: str, options: dict[str, Any]) -> dict[str, Any]:
    """What `build` has to know of data that has such chunks."""
    from onepass.cli.fitting import kind_of, strings_of

    if isinstance(chunk.X, list):
        if isinstance(chunk.y, list):
            return {"kind": SENTENCES}
        return {"kind": stage_for(objects_in(data, options, chunk.X[0]), options), "features": options["features"]}
    kind = kind_of(chunk, options)
    fill = FILLS.get(options["missing"]) if kind != SPARSE else None
    return {
        "kind": kind,
        "fill": fill,
        "features": options["features"],
        **(strings_of(chunk, options) if kind == MIXED else {}),
    }


def objects_in(data: str, options: dict[str, Any], x: Any) -> str:
    """What the objects of a file are, of which x is one."""
    from onepass.streams.opening import guess

    kind = str(options["format"] or guess(data))
    if kind != "kelp":
        return kind
    return "graphs" if isinstance(x, tuple) else "trees" if x.startswith("(") else "strings"


def stage_for(objects: str, options: dict[str, Any]) -> str:
    """The stage that was asked for, or else the usual one, for objects of a kind."""
    stage = str(options["stage"] or STAGES[objects][0])
    if stage not in STAGES[objects]:
        raise click.UsageError(f"--stage {stage} does not take {objects}; {', '.join(STAGES[objects])} do.")
    return stage


def chunks_of(data: str, task: str | None, options: dict[str, Any]) -> list[Any]:
    """All of a file."""
    with opened(data, task, options) as stream:
        chunks = list(stream)
    if any(chunk.y is None for chunk in chunks):
        raise ValueError(f"{data} has no labels to learn from")
    return chunks


def _joined(chunks: list[Any]) -> tuple[Any, Any]:
    """The rows and labels of chunks."""
    import narwhals.stable.v2 as nw
    import numpy as np
    import scipy.sparse as sp

    if isinstance(chunks[0].y, list):
        raise ValueError(ONE_BY_ONE.format("the data"))
    parts, y = [chunk.X for chunk in chunks], np.concatenate([chunk.y for chunk in chunks])
    if nw.dependencies.is_into_dataframe(parts[0]):
        return nw.concat([nw.from_native(part, eager_only=True) for part in parts]).to_native(), y
    if isinstance(parts[0], list):
        return [x for part in parts for x in part], y
    if not sp.issparse(parts[0]):
        return np.concatenate(parts), y
    widen(*parts)
    return sp.vstack(parts, format="csr"), y


def widen(*parts: Any) -> None:
    """Make sparse parts equally wide: each is as wide as the largest index that came up in it."""
    import scipy.sparse as sp

    if all(sp.issparse(part) for part in parts):
        width = max(part.shape[1] for part in parts)
        for part in parts:
            part.resize(part.shape[0], width)
