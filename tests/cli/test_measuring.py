"""Metrics by name on the command line, and what it says of labels."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import f1_score, recall_score, roc_auc_score

import onepass
from onepass.cli import main
from onepass.cli.origin import added

pytestmark = pytest.mark.plain

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)).round(3)


def run(*arguments: object, code: int = 0) -> Any:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done


def written(path: Path, labels: Any) -> Path:
    rows = "".join(f"{a},{b},{c},{label}\n" for (a, b, c), label in zip(X.tolist(), labels, strict=True))
    path.write_text(f"a,b,c,label\n{rows}")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path / "data.csv", np.where(X[:, 0] + RNG.normal(size=400) > 0, "yes", "no"))


@pytest.fixture
def whole_numbers(tmp_path: Path) -> Path:
    return written(tmp_path / "whole.csv", (500 * X[:, 0]).astype(int))


# --- metrics ---


def test_metrics_agree_with_prequential(table: Path) -> None:
    asked = ["auc", "log_loss", "recall", "f1"]
    options = [word for name in asked for word in ("--metric", name)]
    report = json.loads(run("learn", table, "--learner", "pa1", *options, "--json").stdout)
    model = onepass.pipeline(onepass.Imputer(), onepass.StandardScaler(), onepass.PAClassifier(calibrate=True))
    expected = onepass.evaluate.prequential(model, onepass.streams.open(table), ["mistake_rate", *asked])
    assert list(expected.metrics) == ["mistake_rate", "auc", "log_loss", "recall[no]", "recall[yes]", "f1"]
    for name, value in expected.metrics.items():
        assert report[name] == value
        assert report["curve"][name][-1] == value
    shown = run("learn", table, "--learner", "pa1", *options).stdout
    for name, value in expected.metrics.items():
        printed = f"{100 * value:.2f} %" if name == "mistake_rate" else f"{value:.4g}"
        assert re.search(rf"^{re.escape(name.replace('_', ' '))} +{re.escape(printed)} *$", shown, re.MULTILINE)


def test_metrics_of_probabilities_take_them_along(table: Path, tmp_path: Path) -> None:
    run("learn", table, "--learner", "pa1", "--metric", "brier", "--save", tmp_path / "model")
    assert len(run("predict", tmp_path / "model", table, "--proba").stdout.splitlines()) == 401
    run("learn", table, "--learner", "pa1", "--save", tmp_path / "without")
    error = run("learn", table, "--resume", tmp_path / "without", "--again", "--metric", "brier", code=2).stderr
    assert "without has no probabilities; learn it with: onepass learn --proba" in error


def test_a_metric_that_has_no_value_is_none(tmp_path: Path) -> None:
    three = written(tmp_path / "three.csv", np.array(["a", "b", "c"])[RNG.integers(3, size=400)])
    assert json.loads(run("learn", three, "--learner", "pa1", "--metric", "auc", "--json").stdout)["auc"] is None
    done = run(
        "learn", three, "--learner", "pa1", "--metric", "auc", "--save", tmp_path / "m", "--plot", tmp_path / "curve.svg"
    )
    assert re.search(r"^auc +none", done.stdout, re.MULTILINE)
    assert "mistake rate" in (tmp_path / "curve.svg").read_text()
    assert "auc" not in json.loads(run("info", tmp_path / "m", "--json").stdout)["metrics"]


def test_the_curve_is_that_of_the_first_metric(table: Path, tmp_path: Path) -> None:
    run("learn", table, "--learner", "pa1", "--metric", "recall", "--metric", "auc", "--plot", tmp_path / "curve.svg")
    text = (tmp_path / "curve.svg").read_text()
    assert "recall[no]" in text
    assert "auc" not in text


def test_what_is_kept_of_two_files_is_what_follows_from_both() -> None:
    before = {"n": 100, "mistake_rate": 0.1, "auc": 0.9, "rmse": 3.0}
    together = added(before, 300, {"mistake_rate": 0.2, "auc": 0.8, "rmse": 4.0, "kappa": 0.5})
    assert together == {"n": 400, "mistake_rate": pytest.approx(0.175), "rmse": pytest.approx(np.sqrt((900 + 4800) / 400))}


def test_metrics_that_are_not_there(table: Path, whole_numbers: Path) -> None:
    assert "there is no metric 'acc'; known are accuracy" in run("learn", table, "--metric", "acc", code=2).stderr
    assert "no metric 'r2' for classification" in run("learn", table, "--learner", "pa1", "--metric", "r2", code=1).stderr
    error = run("learn", whole_numbers, "--learner", "pa1", "--metric", "log_loss", code=1).stderr
    assert "no metric 'log_loss' for regression" in error


@pytest.mark.parametrize("metric", ["auc", "log_loss"])
def test_compare_and_tune_measure_the_same(table: Path, tmp_path: Path, metric: str) -> None:
    page = tmp_path / "page.html"
    command = ["compare", table, "--learners", "pa1,arow", "--permutations", 1, "--metric", metric]
    shown = run(*command, "--html", page).stdout
    assert metric.replace("_", " ") in shown
    assert f'aria-label="{metric.replace("_", " ")} along the stream"' in page.read_text()
    points = re.findall(r'points="([^"]*)"', page.read_text())
    assert len(points) == 2
    assert all(re.fullmatch(r"[-0-9., ]+", place) for place in points)  # the AUC of the first examples has no value
    tuned = run("tune", table, "--learner", "pa1", "--grid", "C=0.01,0.1", "--metric", metric).stdout
    (chosen,) = re.findall(r"--set C=(\S+)", tuned)
    best = json.loads(run("learn", table, "--learner", "pa1", "--set", f"C={chosen}", "--metric", metric, "--json").stdout)
    assert f"{best[metric]:.3f}" in tuned


# --- labels ---


@pytest.mark.parametrize("command", ["learn", "tune", "compare"])
def test_whole_numbers_that_are_taken_for_numbers_are_told_of(whole_numbers: Path, command: str) -> None:
    options = ["--learners", "pa1", "--permutations", 1] if command == "compare" else ["--learner", "pa1"]
    told = "holds whole numbers, [0-9,]+ different values in the first 400 rows: learned as numbers; --task classification if"
    assert re.search(told, run(command, whole_numbers, *options).stderr)
    assert "whole" not in run(command, whole_numbers, *options, "--task", "regression").stderr.replace("whole.csv", "")


def test_numbers_that_are_not_whole_need_no_word(tmp_path: Path) -> None:
    assert run("learn", written(tmp_path / "data.csv", X[:, 0]), "--learner", "pa1").stderr == ""


def test_whole_numbers_are_no_classes_unless_that_is_said(whole_numbers: Path) -> None:
    error = run("learn", whole_numbers, "--learner", "cw", code=1).stderr
    for words in ("the label 'label' of", "different values in the first 400 rows", "--learner pamo", "--task classification"):
        assert words in error
    report = json.loads(run("learn", whole_numbers, "--learner", "cw", "--task", "classification", "--json").stdout)
    assert len(report["classes"]) > 200


def test_few_whole_numbers_are_classes(tmp_path: Path) -> None:
    few = written(tmp_path / "few.csv", RNG.integers(5, size=400))
    done = run("learn", few, "--learner", "pa1", "--json")
    assert json.loads(done.stdout)["classes"] == [0, 1, 2, 3, 4]
    assert done.stderr == ""


def test_what_is_asked_for_is_measured_of_test_data_too(table: Path, tmp_path: Path) -> None:
    """A label that the model never met is a mistake, and leaves the AUC without a value."""
    options = [word for name in ("auc", "brier", "recall", "f1") for word in ("--metric", name)]
    command = ["learn", table, "--learner", "pa1", *options, "--save", tmp_path / "model", "--test"]
    report = json.loads(run(*command, table, "--json").stdout)["test"]
    model, (chunk,) = onepass.load(tmp_path / "model"), onepass.streams.open(table)
    predicted, y = model.predict(chunk.X), np.asarray(chunk.y)
    assert list(report) == ["error", "auc", "brier", "recall[no]", "recall[yes]", "f1"]
    assert report["error"] == (predicted != y).mean()
    assert report["auc"] == pytest.approx(roc_auc_score(y, model.decision_function(chunk.X)), abs=1e-3)
    assert report["brier"] == pytest.approx((((y == "yes") - model.predict_proba(chunk.X)[:, 1]) ** 2).mean())
    assert report["recall[yes]"] == pytest.approx(recall_score(y, predicted, pos_label="yes"))
    assert report["f1"] == pytest.approx(f1_score(y, predicted, pos_label="yes"))
    third = written(tmp_path / "third.csv", np.where(np.arange(len(y)) == 7, "perhaps", y))
    assert json.loads(run(*command, third, "--json").stdout)["test"]["auc"] is None
    assert re.search(r"^test auc +none", run(*command, third).stdout, re.MULTILINE)


def test_metrics_that_do_not_follow_from_parts_are_said_to_be_of_these_rows(table: Path, tmp_path: Path) -> None:
    learn = ["learn", table, "--learner", "pa1", "--save", tmp_path / "model"]
    assert "of all rows" not in run(*learn, "--metric", "auc").stderr
    again = ["learn", table, "--resume", tmp_path / "model", "--again", "--save", tmp_path / "model"]
    assert "auc and kappa of all rows can't be told" in run(*again, "--metric", "kappa").stderr
    assert "of all rows" not in run(*again, "--metric", "accuracy").stderr
