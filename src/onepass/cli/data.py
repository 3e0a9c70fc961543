"""Data that is held in memory: files and data sets as rows and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def load(data: str, task: str | None, options: dict[str, Any]) -> tuple[tuple[Any, Any], tuple[Any, Any] | None]:
    """The data, and its test part if it has one."""
    from onepass import datasets

    if data not in datasets.names() or Path(data).exists():
        return read(data, task, options), None
    dataset = datasets.load(data)
    if isinstance(dataset.X, list):
        raise ValueError(f"the data set {data} holds texts; make numbers of them first, for example with onepass.Hasher")
    return (dataset.X, dataset.y), None if dataset.y_test is None else (dataset.X_test, dataset.y_test)


def read(data: str, task: str | None, options: dict[str, Any]) -> tuple[Any, Any]:
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
    widen(*(chunk.X for chunk in chunks))
    return sp.vstack([chunk.X for chunk in chunks], format="csr"), y


def widen(*parts: Any) -> None:
    """Make sparse parts equally wide: each is as wide as the largest index that came up in it."""
    import scipy.sparse as sp

    if all(sp.issparse(part) for part in parts):
        width = max(part.shape[1] for part in parts)
        for part in parts:
            part.resize(part.shape[0], width)
