"""Strings, trees and graphs from files of text, one object a line behind its label and a tab.

strings   label TAB string
trees     label TAB (S (NP it) (VP works))
graphs    label TAB C C O TAB 0-1 1-2:double        labels of the nodes, counted from 0, and edges, which may have a label, too
kelp      label |BT:name| (S (NP it)) |ET|          KeLP's own: the first tree or graph of a line, or else its first string
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from onepass.streams.lines import texts
from onepass.streams.stream import Chunk, Chunks, Position

EDGE = re.compile(r"(\d+)-(\d+)(?::(\S+))?")
PART = re.compile(r"\|B([TGS]):[^|]*\|(.*?)\|E\1\|")
LETTERS_OF_A_LABEL = 40  # that are shown

Graph = tuple[list[str], list[tuple[Any, ...]]]


def string(text: str) -> str:
    """A string is itself, blanks and all."""
    return text


def tree(text: str) -> str:
    """A tree in brackets, which stages read."""
    text = text.strip()
    if not text:
        raise ValueError("there is no tree")
    if text.count("(") != text.count(")"):
        raise ValueError(f"{text.count('(')} brackets open, and {text.count(')')} close")
    return text


def graph(text: str) -> Graph:
    """The labels of nodes and the edges between them."""
    nodes, _, links = text.partition("\t")
    labels, edges = nodes.split(), list[tuple[Any, ...]]()
    for link in links.split():
        found = EDGE.fullmatch(link)
        if found is None:
            raise ValueError(f"{link!r} is no edge: write 0-1, or 0-1:label")
        ends = int(found[1]), int(found[2])
        if max(ends) >= len(labels):
            raise ValueError(f"the edge {link} leads to node {max(ends)}, and there are {len(labels)}, counted from 0")
        edges.append(ends if found[3] is None else (*ends, found[3]))
    if len({len(edge) for edge in edges}) > 1:
        raise ValueError("some of its edges have a label and others have none")
    return labels, edges


def kelp_graph(text: str) -> Graph:
    """KeLP's way to write one: `1 label&&2 label%%1 2&&2 1`."""
    nodes, _, links = text.strip().partition("%%")
    try:
        labels = dict(node.split(None, 1) for node in nodes.split("&&"))
        places = {name: i for i, name in enumerate(labels)}
        edges = [tuple(places[name] for name in link.split()[:2]) for link in links.split("&&") if link]
    except (KeyError, ValueError):
        raise ValueError("its graph is none of KeLP's: write 1 label&&2 label%%1 2") from None
    return list(labels.values()), edges


def kelp(text: str) -> Any:
    """The first tree or graph of a line, or else its first string."""
    parts = PART.findall(text)
    for kind, body in parts:
        if kind != "S":
            return tree(body) if kind == "T" else kelp_graph(body)
    if parts:
        return str(parts[0][1]).strip()
    raise ValueError("it has no tree, graph or string, such as |BT:name| (S (NP it)) |ET|")


READERS: dict[str, Callable[[str], Any]] = {"strings": string, "trees": tree, "graphs": graph, "kelp": kelp}


def read(file: Any, raw: Any, name: str, chunk: int, kind: str, labelled: bool, numbers: bool) -> Chunks:
    """The objects of a file, so many in a chunk, and their labels: texts, or numbers if that is what they are to be."""
    X, y, rows, first = list[Any](), list[Any](), 0, 1
    parse, gap = READERS[kind], " " if kind == "kelp" else "\t"

    def taken() -> Chunk:
        nonlocal X, y, rows
        made = Chunk(X, np.array(y) if labelled else None, Position(rows, first, raw.count))
        rows += len(X)
        X, y = [], []
        return made

    for number, line in texts(file, name):
        if line is None:  # a file that is followed has no more for the time being
            if X:
                yield taken()
            continue
        if not line.strip():
            continue
        label, found, rest = line.partition(gap) if labelled else ("", "found", line)
        try:
            if not found:
                raise ValueError(f"there is no {'blank' if kind == 'kelp' else 'tab'} behind a label")
            x, target = parse(rest), _number(label) if numbers else label.strip()
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}") from None
        first = first if X else number
        X.append(x)
        y.append(target)
        if len(X) == chunk:
            yield taken()
    if X:
        yield taken()


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        shown = label if len(label) <= LETTERS_OF_A_LABEL else f"{label[:LETTERS_OF_A_LABEL]}..."
        raise ValueError(f"the label {shown!r} is no number") from None
