"""Dependency trees of EWT: words a second of learning, one thread, and how the cost of a word grows with the length of its sentence."""

from __future__ import annotations

import lzma
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Result
from onepass import DependencyParser

MST = 1900  # words a second of MSTParser 0.5.1, projective, with its features read from its file, on such a machine
LENGTHS = ((1, 10), (11, 20), (21, 40), (41, 80), (81, 160))


def parsing() -> list[Result]:
    """A pass from words and tags to a model that has learned from all of them, after a first one that compiles."""
    X, y = sentences()
    heads = [[head for head, _ in tree] for tree in y]
    words = sum(map(len, X))
    lines = []
    for what, options, trees in (
        ("Parsing EWT, Eisner, with relations", {}, y),
        ("the same, heads alone", {}, heads),
        ("the same, spanning trees", {"projective": False}, heads),
    ):
        speed = words / seconds(X, trees, **options)
        peer = f"MSTParser, {MST:,} words/s, measured apart"
        lines.append(Result(what, f"{speed / 1e3:.1f} k words/s", speed / MST, round(40_000 / MST), peer))
    grown = [f"{least} to {most}: {1e6 * cost_of_a_word(X, heads, least, most):.0f}" for least, most in LENGTHS]
    return [*lines, Result("the same, us a word by length of sentence", ", ".join(grown), None, None, "")]


def cost_of_a_word(X: Any, y: Any, least: int, most: int) -> float:
    some = [t for t, x in enumerate(X) if least <= len(x) <= most]
    return seconds([X[t] for t in some], [y[t] for t in some]) / sum(len(X[t]) for t in some)


def seconds(X: Any, y: Any, **options: Any) -> float:
    model = DependencyParser(**options).partial_fit(X[:2], y[:2])
    start = time.process_time()
    model.partial_fit(X, y)
    return time.process_time() - start


def sentences() -> tuple[list[Any], list[Any]]:
    with lzma.open(Path(os.environ["ONEPASS_DATA"], "ewt-train.conll.xz"), "rt", encoding="utf-8") as file:
        blocks = [[line.split("\t") for line in block.split("\n")] for block in file.read().strip("\n").split("\n\n")]
    return [[(row[0], row[1]) for row in block] for block in blocks], [[(int(row[3]), row[4]) for row in b] for b in blocks]
