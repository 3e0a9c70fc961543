"""A day with messy files on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import onepass
from onepass.cli import main
from people import people

pytestmark = pytest.mark.plain


def run(*arguments: object, code: int = 0) -> Any:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done


def messy(path: Path, start: int, stop: int) -> None:
    """Semicolons, decimal commas, a byte order mark, holes, a column of row numbers."""
    X, y = people(900)
    lines = ["\ufeff;age;city;joined;note;stays?"]
    for t in range(start, stop):
        age, city, joined, note = X.iloc[t]
        number = "" if np.isnan(age) else f"{age + 0.5:.1f}".replace(".", ",")
        lines.append(f'{t};{number};{city or ""};{joined:%Y-%m-%d};"{note}";{y[t]}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_day(tmp_path: Path) -> None:
    monday, tuesday, model = tmp_path / "monday.csv", tmp_path / "tuesday.csv", tmp_path / "model"
    messy(monday, 0, 600)
    messy(tuesday, 600, 900)
    done = run("learn", monday, "--save", model, "--json")
    for words in ("separated by ';'", "comma for the decimal point", "taken for row numbers", "'note' holds texts"):
        assert words in done.stderr
    report = json.loads(done.stdout)
    assert report["mistake_rate"] < 0.2
    assert report["classes"] == ["leaves", "stays"]

    predicted = run("predict", model, tuesday)  # nothing is said again
    assert len(predicted.stdout.split()) == 300
    assert float(predicted.stderr.split("error ")[-1].split()[0]) < 15
    one = {"age": 80.5, "city": "Bilbao", "joined": "2020-05-05", "note": "unhappy, and wants to talk about the price"}
    assert onepass.load(model).predict_one(one) == "leaves"

    run("learn", tuesday, "--resume", model, "--save", model)
    facts = json.loads(run("info", model, "--json").stdout)
    assert (facts["label"], facts["metrics"]["n"], facts["learned_from"]) == ("stays?", 900, str(tuesday))

    typo = tmp_path / "typo.csv"
    text = tuesday.read_text(encoding="utf-8").splitlines()
    text[7] = text[7].replace(";", ";1o,5", 1).replace(";1o,5", ";1o,5;", 1)
    typo.write_text("\n".join(text) + "\n", encoding="utf-8")
    assert "line 8" in run("predict", model, typo, code=1).stderr
    assert "left out" in run("predict", model, typo, "--skip-bad", 1).stderr
