"""The tables of docs/nonlinear.md: the settings that were chosen there give the figures that it shows, and those are as good as the
published ones."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from onepass import evaluate
from shared import dataset

TABLES = Path(__file__).parents[1] / "docs/tables"
spec = importlib.util.spec_from_file_location("nonlinear", TABLES / "nonlinear.py")
assert spec is not None
assert spec.loader is not None
nonlinear = importlib.util.module_from_spec(spec)
spec.loader.exec_module(nonlinear)


def cells() -> list[dict[str, str]]:
    with (TABLES / "nonlinear_measured.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def chosen(text: str) -> dict[str, Any]:
    return {name: float(value) for name, value in (pair.split("=") for pair in text.split(", "))}


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell", cells(), ids=lambda cell: "-".join([cell["table"], cell["data"], cell["learner"], cell["tuned by"]])
)
def test_figures_come_again(cell: dict[str, str]) -> None:
    dataset(cell["data"])  # or skip
    learn, test = nonlinear.data(cell["table"], cell["data"], cell["learner"])
    learner = nonlinear.LEARNERS[cell["learner"]].set_params(**chosen(cell["chosen"]))
    result = evaluate.compare({"it": learner}, learn, nonlinear.PERMUTATIONS, test, random_state=nonlinear.SEED, jobs=2)
    assert 100 * result.mean("it", "test" if test else "online") == pytest.approx(float(cell["mean"]), abs=0.05)


def test_every_published_figure_is_reached() -> None:
    """By one way to choose the parameters, by one kind of average."""
    best: dict[tuple[str, ...], float] = {}
    published = {}
    for cell in cells():
        key = cell["table"], cell["data"], cell["learner"].removesuffix(", averaged")
        best[key] = min(float(cell["mean"]), best.get(key, 100.0))
        published[key] = float(cell["published"])
    assert len(published) == 26
    assert {key: (best[key], published[key]) for key in best if best[key] > published[key]} == {}
