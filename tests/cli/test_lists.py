"""Lists of candidates on the command line: learned, chosen from, gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import onepass
from onepass import LogLinear, Ranker, Reranker, evaluate
from onepass.cli import main

pytestmark = pytest.mark.plain


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def lists(n: int = 20) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(0)
    X = [
        [{str(j + 1): round(float(v), 3) for j, v in enumerate(rng.normal(size=3))} for _ in range(rng.integers(1, 5))]
        for _ in range(n)
    ]
    return X, [[round(h["1"] - h["3"], 3) for h in H] for H in X]


def text(X: list[Any], y: list[Any]) -> str:
    return "# a comment\n" + "".join(
        f"{mu} qid:{t} " + " ".join(f"{j}:{v}" for j, v in h.items()) + " # and another\n"
        for t, (H, qualities) in enumerate(zip(X, y, strict=True))
        for h, mu in zip(H, qualities, strict=True)
    )


def test_learn_and_predict(tmp_path: Path) -> None:
    X, y = lists()
    data, model = tmp_path / "lists.libsvm", tmp_path / "model.onepass"
    data.write_text(text(X, y))
    report = json.loads(run("learn", data, "--learner", "reranker", "--test", data, "--save", model, "--json").stdout)
    twin = Reranker(random_state=0)
    told = twin.test_then_train(X, y)
    assert report["task"] == "ranking"
    assert report["examples"] == 20
    assert report["quality"] == pytest.approx(np.mean([mu[i] for mu, i in zip(y, told, strict=True)]))
    assert report["oracle_quality"] == pytest.approx(twin.oracle_score(y)) == pytest.approx(report["test"]["oracle_quality"])
    learned = onepass.load(model)
    assert (learned.coef_ == twin.coef_).all()
    shown = run("predict", model, data)
    assert [int(line) for line in shown.stdout.split()] == twin.predict(X)
    assert "20 examples, quality" in shown.stderr
    scores = [[float(v) for v in line.split("\t")] for line in run("predict", model, data, "--scores").stdout.splitlines()]
    assert all(np.allclose(a, b) for a, b in zip(scores, twin.decision_function(X), strict=True))


@pytest.mark.parametrize("name", ["ranker", "loglinear"])
def test_going_on(name: str, tmp_path: Path) -> None:
    X, y = lists()
    data, once, again = tmp_path / "lists.letor", tmp_path / "once.onepass", tmp_path / "again.onepass"
    data.write_text(text(X, y))
    table = run("learn", data, "--learner", name, "--save", once).stdout
    assert "oracle quality" in table
    data.write_text(text(X[:7], y[:7]))
    run("learn", data, "--learner", name, "--save", again)
    data.write_text(text(X, y))
    assert "going on after row 7" in run("learn", data, "--resume", again, "--save", again).stderr
    assert (onepass.load(once).coef_ == onepass.load(again).coef_).all()
    if name == "loglinear":
        chances = run("predict", once, data, "--proba").stdout.splitlines()
        assert sum(map(float, chances[0].split("\t"))) == pytest.approx(1)
    else:
        assert [list(map(int, line.split("\t"))) for line in run("predict", once, data).stdout.splitlines()] == Ranker(
            random_state=0
        ).partial_fit(X, y).predict(X)


def test_what_is_wrong(tmp_path: Path) -> None:
    X, y = lists(3)
    table, data = tmp_path / "data.csv", tmp_path / "lists.letor"
    table.write_text("a,y\n1,2\n")
    data.write_text(text(X, y))
    assert "is csv: say --format letor" in run("learn", table, "--learner", "reranker", code=2).stderr
    assert "pa1 is for classification" in run("learn", data, "--learner", "pa1", code=2).stderr
    assert "not scaled" in run("learn", data, "--scale", "unit", code=2).stderr
    assert "Reranker" in run("learn", data).stdout


def test_prequential() -> None:
    X, y = lists(30)
    y[4], X[4] = [], []
    told = Reranker().test_then_train(X, y)
    result = evaluate.prequential(Reranker(), (X, y), ["quality", "oracle_quality", "best_rate"], window=10)
    chosen = [(mu[i], max(mu)) for mu, i in zip(y, told, strict=True) if i is not None]
    assert result.metrics["quality"] == pytest.approx(np.mean([a for a, _ in chosen]))
    assert result.metrics["oracle_quality"] == pytest.approx(np.mean([b for _, b in chosen]))
    assert result.metrics["best_rate"] == pytest.approx(np.mean([a == b for a, b in chosen]))
    assert result.n == 30
    ranked = evaluate.prequential(Ranker(), (X, y), "pair_accuracy").metrics["pair_accuracy"]
    model, right, pairs = Ranker(), 0.0, 0
    for H, mu in zip(X, y, strict=True):
        places = {i: rank for rank, i in enumerate(model.predict_one(H))}
        better = [(i, j) for i in range(len(mu)) for j in range(len(mu)) if mu[i] > mu[j]]
        right, pairs = right + sum(places[i] < places[j] for i, j in better), pairs + len(better)
        model.learn_one(H, mu)
    assert ranked == pytest.approx(right / pairs)
    assert list(evaluate.prequential(LogLinear(), (X, y)).metrics) == ["quality"]
    with pytest.raises(ValueError, match="no metric 'accuracy'"):
        evaluate.prequential(Reranker(), (X, y), "accuracy")
