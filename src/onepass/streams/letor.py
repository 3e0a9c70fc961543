"""Lists of candidates from LIBSVM text with the number of a query, `quality qid:7 1:0.3 2:1.5`, as SVM-rank and LETOR have it."""

from __future__ import annotations

import math
from typing import Any

from onepass.streams.lines import texts
from onepass.streams.stream import Chunk, Chunks, Position


def read(file: Any, raw: Any, name: str, chunk: int) -> Chunks:
    """The lists of a file, so many in a chunk: neighbours with the same query are one. Candidates are dicts, of the numbers of features
    as texts; y has their qualities."""
    X, y, rows, first = list[list[dict[str, float]]](), list[list[float]](), 0, 1
    candidates, qualities, query, begun = list[dict[str, float]](), list[float](), "", 1

    def close() -> None:
        nonlocal candidates, qualities, first
        if candidates:
            first = first if X else begun
            X.append(candidates)
            y.append(qualities)
            candidates, qualities = [], []

    def taken() -> Chunk:
        nonlocal X, y, rows
        made = Chunk(X, y, Position(rows, first, raw.count))
        rows += len(X)
        X, y = [], []
        return made

    for number, line in texts(file, name):
        if line is None and X:  # a file that is followed has no more for the time being; the last list may go on
            yield taken()
        parts = [] if line is None else line.partition("#")[0].split()
        if not parts:
            continue
        quality, of, features = _candidate(parts, name, number)
        if of != query:
            close()
            if len(X) == chunk:
                yield taken()
            query, begun = of, number
        candidates.append(features)
        qualities.append(quality)
    close()
    if X:
        yield taken()


def _candidate(parts: list[str], name: str, number: int) -> tuple[float, str, dict[str, float]]:
    """The quality, the query and the features of a line."""
    if len(parts) < 2 or not parts[1].startswith("qid:"):
        raise ValueError(f"{name}, line {number}: no qid:, the number of the list, behind the quality {parts[0]}")
    features: dict[str, float] = {}
    for part in parts[2:]:
        index, _, value = part.partition(":")
        if not index.isdecimal() or index in features:
            raise ValueError(f"{name}, line {number}: {part} is not a feature; it must be index:value, each index only once")
        features[index] = _number(value, name, number)
    return _number(parts[0], name, number), parts[1], features


def _number(text: str, name: str, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{name}, line {number}: {text!r} is not a finite number")
    return value
