"""A researcher who needs the baselines, a table and a figure."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from onepass import PAClassifier, PAMOClassifier, datasets, evaluate
from onepass.cli import main

pytestmark = pytest.mark.plain


def test_baselines_with_tuned_parameters(tmp_path: Path) -> None:
    X, y = datasets.rotating_xor(300, random_state=0)
    learners = {"PA": PAClassifier(), "PAMO": PAMOClassifier(4, random_state=0)}
    result = evaluate.compare(learners, (X, y), 2, random_state=0)
    result.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        assert [row["learner"] for row in csv.DictReader(file)] == ["PA", "PAMO"]
    tuned = evaluate.tune(PAClassifier(variant="II"), {"C": [1.0, 0.5]}, (X, y))
    assert min(found.score for found in tuned.candidates) == next(
        found.score for found in tuned.candidates if found.params == tuned.best_params
    )
    known = evaluate.regret(PAClassifier(), (X, y))
    assert len(known.curve) == 300


def test_the_same_from_the_command_line(tmp_path: Path) -> None:
    outputs = ["--csv", tmp_path / "it.csv", "--html", tmp_path / "it.html"]
    words = ["compare", "svmguide1", "--learners", "pa1,perceptron", "--permutations", 1, *outputs]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert "perceptron" in (tmp_path / "it.html").read_text()
