"""Sentences on the command line: learned, tagged, parsed, gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import onepass
from onepass import DependencyParser, SequenceTagger
from onepass.cli import main

pytestmark = pytest.mark.plain

LOCATIONS = "in O\nNew B-LOC\nYork I-LOC\n\na O\ndog O\n\nYork B-LOC\n\n" * 8
TREES = "".join(f"# {t}\n1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n\n" for t in range(6))


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def conll(tmp_path: Path) -> Path:
    path = tmp_path / "places.conll"
    path.write_text(LOCATIONS)
    return path


def test_learn_and_predict(conll: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.onepass"
    report = json.loads(run("learn", conll, "--learner", "tagger", "--test", conll, "--save", model, "--json").stdout)
    assert report["task"] == "tagging"
    assert report["classes"] == ["B-LOC", "I-LOC", "O"]
    assert report["parameters"]["templates"] == "names"
    assert report["examples"] == 24
    assert report["test"] == {"error": 0.0, "entity_f1": 1.0}
    words = [block.split("\n") for block in LOCATIONS.strip().split("\n\n")]
    X, y = [[w.split()[0] for w in block] for block in words], [[w.split()[1] for w in block] for block in words]
    twin = SequenceTagger(templates="names", random_state=0).partial_fit(X, y)
    learned = onepass.load(model)
    assert (learned.coef_ == twin.coef_).all()
    told = run("predict", model, conll)
    assert told.stdout == LOCATIONS.replace(" ", "\t")
    assert "24 examples, error 0.00 %, entity_f1 100.00 %" in told.stderr
    line = run("predict", model, conll, "--scores").stdout.split("\n")[0].split("\t")
    assert line[:2] == ["in", "O"]
    assert float(line[2]) == pytest.approx(learned.predict_confidence([X[0]])[0][0], rel=1e-3)
    bare = tmp_path / "bare.conll"
    bare.write_text("New\nYork\n\n")
    assert run("predict", model, bare, "--no-label").stdout == "New\tB-LOC\nYork\tI-LOC\n\n"


def test_treebanks_and_going_on(tmp_path: Path) -> None:
    whole, part, model = tmp_path / "whole.conllu", tmp_path / "part.conllu", tmp_path / "model.onepass"
    whole.write_text(TREES)
    part.write_text(TREES[: len(TREES) // 2])
    run("learn", whole, "--label", "xpos", "--save", tmp_path / "once.onepass")
    table = run("learn", part, "--label", "xpos", "--save", model).stdout
    assert "SequenceTagger" in table
    assert "entity" not in table
    part.write_text(TREES)
    assert "going on after row 3" in run("learn", part, "--resume", model, "--save", model).stderr
    once, again = (onepass.load(path) for path in (tmp_path / "once.onepass", model))
    assert again.classes_.tolist() == ["DT", "NN"]
    assert (again.coef_ == once.coef_).all()


SMALL = ("--learner", "parser", "--set", "n_features=4096")


def test_trees(tmp_path: Path) -> None:
    """A parser learns the trees of a file, goes on where it stopped, and fills trees into the lines of another."""
    whole, model, bare = tmp_path / "whole.conllu", tmp_path / "model.onepass", tmp_path / "bare.conllu"
    whole.write_text(TREES[: len(TREES) // 2])
    run("learn", whole, *SMALL, "--save", model)
    whole.write_text(TREES)
    going_on = run("learn", whole, "--resume", model, "--save", model, "--json", "--test", whole)
    report = json.loads(going_on.stdout)
    assert report["task"] == "parsing"
    assert report["classes"] == ["det", "root"]
    assert report["uas"] == report["las"] == 1
    assert report["test"] == {"uas": 1.0, "las": 1.0}
    X, y = [[("the", "DET"), ("dog", "NOUN")]] * 6, [[(2, "det"), (0, "root")]] * 6
    twin = DependencyParser(n_features=4096, random_state=0).partial_fit(X, y)
    assert (onepass.load(model).coef_ == twin.coef_).all()
    described = run("info", model).stdout
    assert "DependencyParser" in described
    assert "4,096" in described
    told = run("predict", model, whole)
    assert told.stdout == TREES
    assert "6 examples, uas 100.00 %, las 100.00 %" in told.stderr
    bare.write_text(TREES.replace("2\tdet", "_\t_").replace("0\troot", "_\t_"))
    assert run("predict", model, bare, "--no-label").stdout == TREES
    assert "say --no-label" in run("predict", model, bare, code=1).stderr
    assert "--scores is for" in run("predict", model, bare, "--scores", code=2).stderr
    assert "A parser takes sentences" in run("learn", tmp_path / "data.csv", *SMALL, code=2).stderr


def test_what_is_wrong(conll: Path, tmp_path: Path) -> None:
    table = tmp_path / "data.csv"
    table.write_text("a,y\n1,2\n")
    assert "is csv: say --format" in run("learn", table, "--learner", "tagger", code=2).stderr
    assert "pa1 is for classification" in run("learn", conll, "--learner", "pa1", code=2).stderr
    assert "not scaled" in run("learn", conll, "--scale", "unit", code=2).stderr
    assert "--proba is for classes" in run("learn", conll, "--proba", code=2).stderr
    assert "are for classifiers" in run("learn", conll, "--drift", "adwin", code=1).stderr


def test_sentences_and_lists_are_not_compared(conll: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists.letor"
    lists.write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    for path in (conll, lists):
        for command in (["compare"], ["tune", "--protocol", "cv", "--grid", "C=1,2"]):
            assert "learn it with onepass learn" in run(*command, path, code=1).stderr
