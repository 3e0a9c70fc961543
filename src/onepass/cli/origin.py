"""What a model keeps of where it learned: the file, its columns, how far it came, how well it did. It is part of the model's metadata,
so that `predict`, `--resume` and `info` need not be told again."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

HEAD = 1 << 16  # bytes by which a file is known again, as long as it has them
MEANS = ("mistake_rate", "accuracy", "log_loss", "brier", "mae")  # metrics that are means over examples


def origin_of(model: Any) -> dict[str, Any]:
    """What is known of where a model learned; nothing of one that did not learn by the command line."""
    known = model.metadata.get("origin")
    return known if isinstance(known, dict) else {}


def as_before(context: click.Context, origin: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options to read with: those that were said, and else those that the model was learned with. Data may lack the label, and
    what was dropped."""
    from onepass.streams.tables import IfThere

    kept = {
        name: value
        for name, value in origin.get("options", {}).items()
        if name in options and context.get_parameter_source(name) in (None, ParameterSource.DEFAULT)
    }
    if isinstance(kept.get("label"), str):
        kept["label"] = IfThere(kept["label"])
    if "drop" in kept:
        kept["drop"] = [IfThere(name) for name in kept["drop"]]
    return options | kept


def check_columns(origin: dict[str, Any], stream: Any) -> None:
    """Refuse data that lacks a column of the model's, or has it in another kind; say which columns the model does not know."""
    before, now = origin.get("columns"), stream.about.get("columns")
    if not before or not now:
        return
    if missing := [name for name in before if name not in now]:
        raise ValueError(
            f"the model was learned from a feature {missing[0]!r}, and {stream.name} has no such column; its columns are"
            f" {', '.join(now)} (if it has no label at all, say --no-label)"
        )
    for name, kind in before.items():
        if now[name] != kind:
            raise ValueError(f"the column {name!r} of {stream.name} holds {now[name]}s, and the model was learned from {kind}s")
    if new := [name for name in now if name not in before]:
        click.echo(f"onepass: the model does not know {', '.join(map(repr, new))}: left out", err=True)


def head_of(path: str, length: int = HEAD) -> tuple[int, str]:
    """The first bytes of a file: how many of them, and their hash. A file that only grows keeps them."""
    with open(path, "rb") as file:
        head = file.read(length)
    return len(head), hashlib.sha256(head).hexdigest()


def rows_before(origin: dict[str, Any], data: str) -> int:
    """How many rows of a file the model has learned from already: none, unless it is the file that it stopped in."""
    head = origin.get("head")
    if head is None or not Path(data).is_file():
        return 0
    return int(origin["position"]["rows"]) if list(head_of(data, head[0])) == head else 0


def follows(name: str) -> bool:
    """Whether a metric of all examples follows from those of two parts of them."""
    return name in MEANS or name == "rmse"


def not_added(before: dict[str, Any], metrics: dict[str, float]) -> list[str]:
    """The metrics, from before or of now, of which nothing is known of all examples together."""
    found = [*(name for name in before if name != "n"), *(name for name, value in metrics.items() if not math.isnan(value))]
    return [name for name in dict.fromkeys(found) if not follows(name)] if before.get("n") else []


def added(before: dict[str, Any], n: int, metrics: dict[str, float]) -> dict[str, Any]:
    """The metrics of `n` more examples together with those from before, as far as they follow from each other."""
    m = before.get("n", 0)
    metrics = {name: value for name, value in metrics.items() if not math.isnan(value)}

    def mean(one: float, other: float) -> float:
        return (m * one + n * other) / (m + n)

    together = {
        name: math.sqrt(mean(before[name] ** 2, value**2)) if name == "rmse" else mean(before[name], value)
        for name, value in metrics.items()
        if m and name in before and follows(name)
    }
    return {"n": m + n, **(together if m else metrics)}
