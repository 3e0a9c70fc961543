"""Strings, trees and graphs on the command line: learned, predicted, gone on with, tuned and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import onepass
from onepass import AROWClassifier, KernelPA, SubsetTrees, WeisfeilerLehman, pipeline
from onepass.cli import main
from shared import snapshot

pytestmark = pytest.mark.plain

RING, CHAIN = "ring\tC C C\t0-1 1-2 0-2\n", "chain\tC C O\t0-1 1-2\n"
GRAPHS = (RING + CHAIN + CHAIN + RING) * 6
TREES = ("it\t(S (N it) (V is))\nno\t(S (V is) (N no))\n") * 6


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def test_the_file_and_the_arrays_give_one_model(tmp_path: Path) -> None:
    path, model = tmp_path / "rings.graphs", tmp_path / "model.onepass"
    path.write_text(GRAPHS)
    report = json.loads(run("learn", path, "--set", "rounds=2", "--set", "r=0.5", "--save", model, "--json").stdout)
    assert report["stages"] == ["WeisfeilerLehman"]
    assert report["learner"] == "AROWClassifier"
    ring, chain = (["C", "C", "C"], [(0, 1), (1, 2), (0, 2)]), (["C", "C", "O"], [(0, 1), (1, 2)])
    twin = pipeline(WeisfeilerLehman(2), AROWClassifier(r=0.5))
    for x, y in [(ring, "ring"), (chain, "chain"), (chain, "chain"), (ring, "ring")] * 6:
        twin.learn_one(x, y)
    learned = onepass.load(model)
    assert snapshot(learned[-1]) == snapshot(twin[-1])
    told = run("predict", model, path)
    assert told.stdout == "".join(line.split("\t")[0] + "\n" for line in GRAPHS.splitlines())
    assert "24 examples, error 0.00 %" in told.stderr
    bare = tmp_path / "bare.graphs"
    bare.write_text("C C C\t0-1 1-2 0-2\n")
    assert run("predict", model, bare, "--no-label").stdout == "ring\n"


def test_going_on(tmp_path: Path) -> None:
    path, part, once = tmp_path / "part.graphs", tmp_path / "part.onepass", tmp_path / "once.onepass"
    path.write_text(GRAPHS[: len(RING + CHAIN) * 3])
    run("learn", path, "--save", part)
    path.write_text(GRAPHS)
    assert "going on after row 6" in run("learn", path, "--resume", part, "--save", part).stderr
    run("learn", path, "--save", once)
    assert snapshot(onepass.load(part)[-1]) == snapshot(onepass.load(once)[-1])


def test_objects_that_are_kept(tmp_path: Path) -> None:
    path, model = tmp_path / "sentences.trees", tmp_path / "model.onepass"
    path.write_text(TREES)
    run("learn", path, "--stage", "subset-trees", "--set", "decay=0.5", "--save", model)
    twin = pipeline(SubsetTrees(0.5), KernelPA(kernel="structure", budget=1000, random_state=0))
    for line in TREES.splitlines():
        label, tree = line.split("\t")
        twin.learn_one(tree, label)
    assert snapshot(onepass.load(model)[-1]) == snapshot(twin[-1])


def test_tune_and_compare(tmp_path: Path) -> None:
    path = tmp_path / "rings.graphs.tsv"
    path.write_text(GRAPHS)
    assert "--set" in run("tune", path, "--learner", "pa1", "--grid", "C=0.1,1").stdout
    table = run("compare", path, "--learners", "pa1,perceptron", "--permutations", 2, "--set", "rounds=1").stdout
    assert "pa1" in table


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--stage", "subtrees"], "--stage subtrees does not take graphs; weisfeiler-lehman,"),
        (["--stage", "random-walks", "--learner", "pa1"], "is for kernel learners"),
        (["--set", "decay=1"], "WeisfeilerLehman has no parameter 'decay'"),
        (["--set", "rounds=-1"], "'rounds' parameter"),
        (["--scale", "unit"], "trees and graphs are not scaled"),
        (["--learner", "tagger"], "A tagger takes sentences"),
        (["--format", "csv", "--stage", "subtrees"], "--stage is for files of strings, trees and graphs"),
    ],
)
def test_what_does_not_go_together_is_said(arguments: list[str], why: str, tmp_path: Path) -> None:
    path = tmp_path / "rings.graphs"
    path.write_text(GRAPHS)
    result = run("learn", path, *arguments, code=2)
    assert why in " ".join(result.stderr.replace("│", " ").split())
