"""The experiment with translators, on next to nothing: every cell is measured, every section written, and nothing twice."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="it needs the extra, which `make test-translate` installs")
pytest.importorskip("matplotlib")

from onepass.experiments import Cells, Lab, translators
from onepass.experiments.translation import choosing, translation, typing
from onepass.translate import Translator

NOUNS = {"Hund": "dog", "Katze": "cat", "Baum": "tree", "Haus": "house"}
VERBS = {"lebt": "lives", "ruht": "rests", "steht": "stands"}
PAIRS = [(f"der {a} {b}", f"the {c} {d}") for a, c in NOUNS.items() for b, d in VERBS.items()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    for part in ("train", "test_2016_flickr"):
        for i, side in enumerate(("de", "en")):
            (tmp_path / f"multi30k-{part}.{side}").write_text("".join(f"{pair[i]}\n" for pair in PAIRS))
    for name in ("tatoeba", "godot"):
        text = "".join(f"{a} {name}\t{b} {name}\n" for a, b in PAIRS)
        (tmp_path / f"{name}.de-en.tsv").write_text(text)
    for name, value in {"EVERYDAY": 4, "SEARCHED": 3, "TYPED": 2, "LISTED": 4, "CAPTIONS": 3}.items():
        monkeypatch.setattr(translators, name, value)
    monkeypatch.setattr(translators, "RATES", {"sgd": (0.1, 1e9), "pa": (0.1,), "adam": (0.001,)})
    report = import_module("onepass.experiments.translation")  # as an attribute of the package it is the function
    monkeypatch.setattr(report, "RATES", translators.RATES)
    monkeypatch.setattr(report, "SEARCHED", translators.SEARCHED)
    (tmp_path / "out" / "cells").mkdir(parents=True)
    corpus = list(zip(*PAIRS, strict=True))
    Translator(max_iter=30, d=16, inner=32, random_state=0).fit(*corpus).save(tmp_path / "out" / "cells" / "translator.onepass")
    return tmp_path


@pytest.mark.slow
def test_the_sections(folder: Path) -> None:

    def lab() -> Lab:
        return Lab(Cells(folder / "out" / "cells"), 1, folder)

    sections = [experiment(lab()) for experiment in (translation, typing, choosing)]
    assert [section.name for section in sections] == ["translation", "typing", "choosing"]
    for section in sections:
        section.write(folder / "out")
        assert (folder / "out" / f"{section.name}.md").stat().st_size > 500
    cells = {path: path.stat().st_mtime_ns for path in (folder / "out" / "cells").glob("*.json")}
    steps = [(line[0], line[1]) for line in sections[0].table.lines]
    assert steps[0] == ("godot, 12", "none")
    assert {step for _, step in steps} == {"none", "sgd", "pa", "adam"}
    tried = {(record["step"], record["rate"]): record["BLEU"] for record in sections[0].searches}
    assert tried["sgd", "1e+09"] == "diverged"
    (aside,) = sections[0].asides
    assert [(line[0], line[1]) for line in aside.table.lines[:3]] == [("godot", "behind the first 3")] * 2 + [
        ("godot", "whole")
    ]
    assert sum(line[2].endswith("4 times") for line in aside.table.lines) == 2
    translation(lab())
    assert cells == {path: path.stat().st_mtime_ns for path in (folder / "out" / "cells").glob("*.json")}
