"""Data that is held in memory: files and data sets as rows and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

FILLS: dict[str, str | float] = {"mean": "mean", "zero": 0.0}  # what --missing fills in


def opened(data: str, task: str | None, options: dict[str, Any]) -> Any:
    """The stream of a file. `--features` is not for tables: their columns are the features, or are hashed to so many by a model. What
    is filled in is kept missing up to then."""
    from onepass import streams
    from onepass.streams.opening import TABLES, guess

    table = (options["format"] or guess(data)) in TABLES
    own = {"missing": "keep"} if options.get("missing") in FILLS else {}
    return streams.open(data, task=task, **options | own | ({"features": None} if table else {}))


def say_notes(stream: Any, said: int = 0) -> int:
    """Tell what was guessed about a file, and what was left out of it since so many notes were told; how many there are now."""
    for note in stream.notes[said:]:
        click.echo(f"onepass: {note}", err=True)
    return len(stream.notes)


def is_named(data: str) -> bool:
    """Whether it is the name of a data set of onepass.datasets, and no file."""
    from onepass import datasets

    return data in datasets.names() and not Path(data).exists()


def load(
    data: str, task: str | None, options: dict[str, Any], test: str | None = None
) -> tuple[tuple[Any, Any], tuple[Any, Any] | None]:
    """The data, and the test data or else its own test part if it has one. Strings are hashed here, once for all passes."""
    from onepass import Hasher, datasets
    from onepass.cli.fitting import hashed_to

    if not is_named(data):
        chunks = chunks_of(data, task, options)
        hashed = hashed_to(chunks[-1], options["features"])
        hasher = None if hashed is None else Hasher(n_features=hashed)
        return _joined(chunks, hasher), None if test is None else _joined(chunks_of(test, task, options), hasher)
    dataset = datasets.load(data)
    if isinstance(dataset.X, list):
        raise ValueError(f"the data set {data} holds texts; make numbers of them first, for example with onepass.Hasher")
    if test is not None:
        return (dataset.X, dataset.y), _joined(chunks_of(test, task, options), None)
    return (dataset.X, dataset.y), None if dataset.y_test is None else (dataset.X_test, dataset.y_test)


def chunks_of(data: str, task: str | None, options: dict[str, Any]) -> list[Any]:
    """All of a file."""
    with opened(data, task, options) as stream:
        chunks = list(stream)
    if any(chunk.y is None for chunk in chunks):
        raise ValueError(f"{data} has no labels to learn from")
    return chunks


def _joined(chunks: list[Any], hasher: Any) -> tuple[Any, Any]:
    """The rows and labels of chunks, hashed if there is something to do so."""
    import numpy as np
    import scipy.sparse as sp

    from onepass.evaluate.feeding import refuse_strings, rows_for

    y = np.concatenate([chunk.y for chunk in chunks])
    if hasher is None:
        refuse_strings(chunks[0])
    parts = [chunk.X if hasher is None else hasher.transform(rows_for(hasher, chunk)) for chunk in chunks]
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
