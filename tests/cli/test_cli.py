"""The command line: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import csv
import errno
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result
from scipy.sparse import csr_array

import onepass
from onepass.cli import main
from onepass.cli.models import build, classes_from, short_names, task_of
from onepass.streams.lines import BLOCK
from shared import dataset

COMMAND = [sys.executable, "-c", "from onepass.cli import main; main()"]
CHUNK = 8192


def run(*arguments: object, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)


def good(*arguments: object, stdin: bytes | None = None) -> Result:
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result


def failed(code: int, *arguments: object, stdin: bytes | None = None) -> str:
    """The message of a command line that must end with this code."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("onepass: error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.standard_normal((400, 3)).round(3)
    return X, np.where(X @ [1.0, -2.0, 0.5] > 0, 1, -1)


@pytest.fixture
def libsvm(tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> Path:
    path = tmp_path / "data.libsvm"
    lines = [f"{y:+d} " + " ".join(f"{j}:{v}" for j, v in enumerate(x, 1)) for x, y in zip(*rows, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def table(tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> Path:
    path = tmp_path / "data.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "class"])
        writer.writerows([*x, "yes" if y > 0 else "no"] for x, y in zip(*rows, strict=True))
    return path


# --- learn ---


def test_learn_saves_the_model_that_python_learns(libsvm: Path, tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> None:
    good("learn", libsvm, "--learner", "pa1", "--save", tmp_path / "model", "--set", "C=0.5")
    model = onepass.load(tmp_path / "model")
    assert model.get_params()["C"] == 0.5
    assert model.classes_.tolist() == [-1, 1]
    expected = onepass.PAClassifier(C=0.5, grow=True)
    expected.partial_fit(onepass.streams.open(libsvm).__iter__().__next__().X, rows[1].astype(float))
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_json_agrees_with_prequential(libsvm: Path) -> None:
    report = json.loads(good("learn", libsvm, "--json", "--test", libsvm, "--learner", "pa2").stdout)
    with onepass.streams.open(libsvm) as stream:
        expected = onepass.evaluate.prequential(onepass.PAClassifier(variant="II"), stream)
    assert report["mistake_rate"] == expected.metrics["mistake_rate"]
    assert report["updates"] == expected.updates
    assert report["examples"] == 400
    assert report["features"] == 3
    assert report["classes"] == [-1, 1]
    assert 0 <= report["test"]["error"] < 0.2


def test_summary_names_what_was_learned(table: Path) -> None:
    out = good("learn", table, "--scale", "standard", "--learner", "pa1").stdout
    for words in ("Imputer + StandardScaler + PAClassifier", "classification", "400", "no, yes", "mistake rate"):
        assert words in out


def test_learn_is_quiet_without_a_terminal(libsvm: Path) -> None:
    assert good("learn", libsvm).stderr == ""


def test_standard_input(libsvm: Path) -> None:
    assert json.loads(good("learn", "-", "--json", stdin=libsvm.read_bytes()).stdout)["examples"] == 400


def test_resuming_is_exact(libsvm: Path, tmp_path: Path) -> None:
    lines = libsvm.read_text().splitlines(keepends=True)
    halves = [tmp_path / "first", tmp_path / "second"]
    halves[0].write_text("".join(lines[:200]))
    halves[1].write_text("".join(lines[200:]))
    good("learn", libsvm, "--learner", "pamo", "--scale", "standard", "--save", tmp_path / "whole")
    good("learn", halves[0], "--learner", "pamo", "--scale", "standard", "--save", tmp_path / "model")
    good("learn", halves[1], "--resume", tmp_path / "model", "--save", tmp_path / "model")
    whole, resumed = (good("predict", tmp_path / name, libsvm, "--scores").stdout for name in ("whole", "model"))
    assert whole == resumed


def test_resume_refuses_what_the_model_has_decided(libsvm: Path, tmp_path: Path) -> None:
    good("learn", libsvm, "--save", tmp_path / "model")
    assert "--scale" in failed(2, "learn", libsvm, "--resume", tmp_path / "model", "--scale", "unit")


def test_labels_and_features_grow(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("3 1:1\n5 2:1\n7 9:1\n" * 20)
    report = json.loads(good("learn", tmp_path / "data", "--json").stdout)
    assert report["classes"] == [3, 5, 7]
    assert report["features"] == 9


def test_features_and_classes_fix_the_model(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("3 1:1\n5 2:1\n" * 20)
    good("learn", tmp_path / "data", "--features", 12, "--classes", "3,5", "--save", tmp_path / "model")
    model = onepass.load(tmp_path / "model")
    assert model.n_features_in_ == 12
    (tmp_path / "wide").write_text("3 13:1\n")
    failed(1, "learn", tmp_path / "wide", "--resume", tmp_path / "model")
    (tmp_path / "more").write_text("4 1:1\n")
    failed(1, "learn", tmp_path / "more", "--resume", tmp_path / "model")


@pytest.fixture
def fruit(tmp_path: Path) -> Path:
    """A table with strings, numbers and truth values."""
    random = np.random.default_rng(0)
    path = tmp_path / "fruit.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["colour", "size", "shop", "ripe", "price"])
        for _ in range(200):
            colour, shop = random.choice(["red", "green", "blau ö"]), random.integers(40)
            size, ripe = round(random.normal(3), 2), random.integers(2)
            price = round(size * len(colour) + shop % 7 + ripe, 2)
            writer.writerow([colour, size, f"s{shop}", ["false", "true"][ripe], price])
    return path


def fruit_of(path: Path) -> dict[str, list[object]]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    kinds = {"colour": str, "size": float, "shop": str, "ripe": "true".__eq__, "price": float}
    return {name: [kind(row[name]) for row in rows] for name, kind in kinds.items()}  # type: ignore[operator]


def test_strings_are_hashed_by_the_model(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("colour,size,label\n" + "red,1,apple\ngreen,9,melon\n" * 30)
    good("learn", tmp_path / "data.csv", "--save", tmp_path / "wide")
    report = json.loads(good("learn", tmp_path / "data.csv", "--save", tmp_path / "narrow", "--features", 64, "--json").stdout)
    assert report["stages"] == ["Table", "UnitNorm"]
    for name, width in (("wide", 2**18), ("narrow", 64)):
        model = onepass.load(tmp_path / name)
        assert model[0].transform([{"colour": "red", "size": 3.0}]).shape == (1, 1 + width)
        assert model.learner.n_features_in_ == 3  # of these columns, all that ever came
        assert model.predict_one({"colour": "red", "size": 3.0}) == "apple"
        assert good("predict", tmp_path / name, tmp_path / "data.csv").stdout.split()[:2] == ["apple", "melon"]
    assert "hashes strings to 64 features" in failed(1, "predict", tmp_path / "narrow", tmp_path / "data.csv", "--features", 32)


@pytest.mark.plain
@pytest.mark.parametrize("scale", ["none", "standard", "unit"])
def test_a_model_of_strings_agrees_with_itself(fruit: Path, tmp_path: Path, scale: str) -> None:
    options = ["--label", "price", "--features", 512, "--scale", scale, "--learner", "pa2"]
    report = json.loads(good("learn", fruit, *options, "--save", tmp_path / "model", "--test", fruit, "--json").stdout)
    model = onepass.load(tmp_path / "model")
    columns = fruit_of(fruit)
    price = columns.pop("price")
    lines = [float(line) for line in good("predict", tmp_path / "model", fruit, "--label", "price").stdout.splitlines()]
    assert [model.predict_one(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)] == lines
    for frame in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        assert model.predict(frame(columns)).tolist() == lines
    assert report["test"]["mae"] == np.abs(np.array(lines) - np.array(price)).sum() / 200


def test_resuming_with_strings_is_exact(fruit: Path, tmp_path: Path) -> None:
    header, *lines = fruit.read_text().splitlines(keepends=True)
    (tmp_path / "first.csv").write_text(header + "".join(lines[:90]))
    (tmp_path / "second.csv").write_text(header + "".join(lines[90:]))
    options = ["--label", "colour", "--features", 128, "--scale", "standard"]
    good("learn", fruit, *options, "--save", tmp_path / "whole")
    good("learn", tmp_path / "first.csv", *options, "--save", tmp_path / "model")
    good("learn", tmp_path / "second.csv", "--label", "colour", "--resume", tmp_path / "model", "--save", tmp_path / "model")
    assert content(tmp_path / "model") == content(tmp_path / "whole")


def content(path: Path) -> Any:
    """All of a model but for where it learned."""
    header, arrays = onepass.load(path)._pack()
    return header, {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def test_the_format_of_a_table_with_strings_does_not_matter(fruit: Path, tmp_path: Path) -> None:
    columns = fruit_of(fruit)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "fruit.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "fruit.parquet")
    models = []
    for ending in ("csv", "jsonl", "parquet"):
        good("learn", tmp_path / f"fruit.{ending}", "--label", "shop", "--features", 256, "--save", tmp_path / "model")
        models.append(content(tmp_path / "model"))
    assert models[0] == models[1] == models[2]


def test_a_model_names_the_columns_that_are_not_as_it_knows_them(fruit: Path, tmp_path: Path) -> None:
    good("learn", fruit, "--label", "price", "--save", tmp_path / "model")
    header, *lines = fruit.read_text().splitlines()
    whole = good("predict", tmp_path / "model", fruit).stdout
    (tmp_path / "unlabelled.csv").write_text("\n".join(line.rpartition(",")[0] for line in (header, *lines)))
    assert good("predict", tmp_path / "model", tmp_path / "unlabelled.csv").stdout == whole
    (tmp_path / "more.csv").write_text("\n".join([f"extra,{header}", *(f"7,{line}" for line in lines)]))
    more = good("predict", tmp_path / "model", tmp_path / "more.csv")
    assert more.stdout == whole
    assert "does not know 'extra'" in more.stderr
    for command in (["predict", tmp_path / "model"], ["learn", "--resume", tmp_path / "model"]):
        (tmp_path / "less.csv").write_text("colour,shop,ripe,price\nred,s1,true,1\n")
        assert "learned from a feature 'size'" in failed(1, *command, tmp_path / "less.csv")
        (tmp_path / "other.csv").write_text("colour,size,shop,ripe,price\nred,small,s1,true,1\n")
        assert "'size' of" in failed(1, *command, tmp_path / "other.csv")
    (tmp_path / "unnamed").write_text("1 1:1\n")
    assert "the data has no names" in failed(1, "predict", tmp_path / "model", tmp_path / "unnamed")


def test_a_model_of_numbers_refuses_strings(table: Path, tmp_path: Path) -> None:
    good("learn", table, "--save", tmp_path / "model")
    (tmp_path / "dirty.csv").write_text("a,b,c,class\n1,2,3,yes\n1,oops,3,no\n")
    for command in (["predict", tmp_path / "model"], ["learn", "--resume", tmp_path / "model"]):
        message = failed(1, *command, tmp_path / "dirty.csv")
        assert "column 'b' of" in message
        assert "holds texts, and the model was learned from numbers" in message
    assert "column 'b' holds strings" in failed(1, "learn", table, "--test", tmp_path / "dirty.csv")
    assert "column 'b' holds strings" in failed(1, "compare", table, "--test", tmp_path / "dirty.csv")
    assert "3 features, but --features says 7" in failed(1, "learn", table, "--features", 7)


def test_compare_and_tune_hash_strings(fruit: Path, tmp_path: Path) -> None:
    columns = fruit_of(fruit)
    y = np.array(columns.pop("colour"))
    model = onepass.pipeline(onepass.Table(64), onepass.PAClassifier())
    data = pandas.DataFrame(columns), y
    options = ["--label", "colour", "--features", 64, "--scale", "standard"]
    (tmp_path / "test.csv").write_text("colour,size,shop,ripe\nred,1.5,s1,true\ngreen,2.5,s2,false\n")
    outputs = ["--csv", tmp_path / "it.csv", "--test", tmp_path / "test.csv"]
    good("compare", fruit, *options, "--learners", "pa1", "--permutations", 2, *outputs)
    with (tmp_path / "it.csv").open() as file:
        (row,) = csv.DictReader(file)
    table = pandas.DataFrame({"size": [1.5, 2.5], "shop": ["s1", "s2"], "ripe": [True, False]})
    test = table, np.array(["red", "green"])
    onepass.evaluate.compare({"pa1": model}, data, 2, test).to_csv(tmp_path / "expected.csv")
    with (tmp_path / "expected.csv").open() as file:
        (expected,) = csv.DictReader(file)
    assert {key: value for key, value in row.items() if "seconds" not in key} == {
        key: value for key, value in expected.items() if "seconds" not in key
    }
    found = onepass.evaluate.tune(model, {"paclassifier__C": [0.001, 1]}, data)
    words = good("tune", fruit, *options, "--learner", "pa1", "--grid", "C=0.001,1").stdout.splitlines()[-1]
    assert words == f"--set C={found.best_params['paclassifier__C']}"


def test_regression(tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = rows
    np.savez(tmp_path / "data.npz", X=X, y=X @ [1.0, 2.0, 3.0])
    options = ["--learner", "pa1", "--scale", "none", "--json"]
    report = json.loads(good("learn", tmp_path / "data.npz", *options, "--test", tmp_path / "data.npz").stdout)
    assert report["learner"] == "PARegressor"
    assert report["mae"] <= report["rmse"]
    assert set(report["test"]) == {"mae", "rmse"}
    assert report["test"]["mae"] < 0.2


def test_label_and_drop(table: Path, tmp_path: Path) -> None:
    report = json.loads(good("learn", table, "--label", "a", "--drop", "class,c", "--json").stdout)
    assert report["task"] == "regression"
    assert report["features"] == 1


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([1.0, -1.0, 1.0], "classification"),
        ([0, 1], "classification"),
        ([1, 2, 3] * 5, "classification"),
        (range(50), "regression"),
        ([0.5, 1.0], "regression"),
    ],
)
def test_the_labels_decide(labels: list[object], task: str) -> None:
    assert task_of(np.array(labels)) == task


def test_named_classes_have_the_type_of_the_labels() -> None:
    assert classes_from(np.array([1, 2]), ("1", "2")) == [1, 2]
    assert classes_from(np.array(["1", "x"]), ("1", "x")) == ["1", "x"]


def test_learning_curve_is_drawn(libsvm: Path, tmp_path: Path) -> None:
    good("learn", libsvm, "--plot", tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


# --- predict ---


@pytest.mark.plain
def test_drifts_are_seen_and_shown(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((1200, 2)).round(3)
    y = np.where((X[:, 0] > 0.2) ^ (np.arange(1200) >= 600), "up", "down")
    path = tmp_path / "turning.csv"
    path.write_text("a,b,class\n" + "".join(f"{a},{b},{label}\n" for (a, b), label in zip(X, y, strict=True)))
    slowly = ("--learner", "pamo", "--set", "average=uniform", "--set", "C=0.01", "--json")
    for drift in ("adwin", "page-hinkley", "window"):
        seen = json.loads(good("learn", path, *slowly, "--drift", drift).stdout)
        anew = json.loads(good("learn", path, *slowly, "--drift", drift, "--on-drift", "reset").stdout)
        assert 600 < anew["drifts"][0] == seen["drifts"][0] < 800
        assert anew["mistake_rate"] < seen["mistake_rate"]
    out = good("learn", path, *slowly[:-1], "--drift", "adwin", "--plot", tmp_path / "curve.png").stdout
    assert re.search(r"drifts +1 at 6\d\d", out)
    assert "drifts" not in good("learn", path).stdout
    assert json.loads(good("learn", path, "--json").stdout)["drifts"] is None
    assert "--on-drift needs --drift" in run("learn", path, "--on-drift", "reset").stderr


def test_predictions_and_their_error(table: Path, tmp_path: Path) -> None:
    good("learn", table, "--save", tmp_path / "model")
    result = good("predict", tmp_path / "model", table)
    answers = result.stdout.splitlines()
    with table.open() as file:
        truth = [row["class"] for row in csv.DictReader(file)]
    assert set(answers) == {"yes", "no"}
    wrong = sum(answer != true for answer, true in zip(answers, truth, strict=True))
    assert result.stderr == f"400 examples, error {wrong / 4:.2f} %\n"


def test_scores_and_output(libsvm: Path, tmp_path: Path) -> None:
    good("learn", libsvm, "--save", tmp_path / "model")
    result = good("predict", tmp_path / "model", libsvm, "--scores", "--output", tmp_path / "scores")
    labels = good("predict", tmp_path / "model", libsvm).stdout.split()
    scores = [float(line) for line in (tmp_path / "scores").read_text().splitlines()]
    assert result.stdout == ""
    assert labels == ["1" if score >= 0 else "-1" for score in scores]


def test_probabilities(table: Path, tmp_path: Path) -> None:
    good("learn", table, "--learner", "arow", "--proba", "--save", tmp_path / "model")
    header, *lines = good("predict", tmp_path / "model", table, "--proba").stdout.splitlines()
    assert header == "no\tyes"
    model = onepass.load(tmp_path / "model")
    with table.open() as file:
        rows = [{name: float(row[name]) for name in "abc"} for row in csv.DictReader(file)]
    chances = [[float(chance) for chance in line.split("\t")] for line in lines]
    np.testing.assert_allclose(chances, [list(model.predict_proba_one(row).values()) for row in rows], rtol=1e-12)
    assert "contradict" in failed(2, "predict", tmp_path / "model", table, "--proba", "--scores")
    assert "leave --proba out" in failed(2, "learn", table, "--proba", "--resume", tmp_path / "model")


def test_probabilities_that_were_not_learned(table: Path, tmp_path: Path) -> None:
    good("learn", table, "--learner", "arow", "--save", tmp_path / "model")
    assert "onepass learn --proba" in failed(2, "predict", tmp_path / "model", table, "--proba")
    assert "--proba is for classes" in failed(2, "learn", table, "--label", "a", "--drop", "class", "--proba")


def test_columns_are_found_by_name(table: Path, tmp_path: Path) -> None:
    good("learn", table, "--save", tmp_path / "model")
    with table.open() as file:
        shuffled = [[row["c"], row["a"], row["b"]] for row in csv.DictReader(file)]
    other = tmp_path / "other.csv"
    other.write_text("c,a,b\n" + "".join(",".join(row) + "\n" for row in shuffled))
    result = good("predict", tmp_path / "model", other, "--no-label")
    assert result.stdout == good("predict", tmp_path / "model", table).stdout
    assert result.stderr == ""
    assert (
        good("predict", tmp_path / "model", other).stdout == result.stdout
    )  # the model knows its label, and that it is not there


def test_a_table_of_another_width_is_refused(tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = rows
    np.savez(tmp_path / "data.npz", X=X, y=y)
    np.savez(tmp_path / "narrow.npz", X=X[:, :2], y=y)
    good("learn", tmp_path / "data.npz", "--save", tmp_path / "model")
    assert "2 features" in failed(1, "predict", tmp_path / "model", tmp_path / "narrow.npz")


# --- compare ---


def test_compare_writes_table_csv_picture_and_page(libsvm: Path, tmp_path: Path) -> None:
    outputs = [item for kind in ("csv", "html", "plot") for item in (f"--{kind}", tmp_path / f"it.{kind}")]
    result = good("compare", libsvm, "--learners", "pa1,pa2", "--permutations", 3, "--test", libsvm, *outputs)
    assert "test error %" in result.stdout
    with (tmp_path / "it.csv").open() as file:
        assert [row["learner"] for row in csv.DictReader(file)] == ["pa1", "pa2"]
    assert (tmp_path / "it.plot").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "it.html").read_text()
    assert page.count('<polyline class="curve"') == 2
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"https?:|src=|href=|url\(|@import|<script|<link", page)


def test_compare_knows_data_sets_by_name() -> None:
    assert "1,797 examples" in good("compare", "digits", "--learners", "pa1", "--permutations", 1).stdout


def test_compare_tunes_and_shows_the_settings(libsvm: Path, tmp_path: Path, rows: tuple[np.ndarray, np.ndarray]) -> None:
    outputs = ["--csv", tmp_path / "it.csv", "--html", tmp_path / "it.html"]
    command = ["compare", libsvm, "--learners", "pa,pa1", "--permutations", 2, "--set", "fit_intercept=false", *outputs]
    for option, protocol in ((["--tune"], "libol"), (["--tune", "cv"], "cv")):
        shown = good(*command, *option).stdout
        model = onepass.PAClassifier(fit_intercept=False)
        X, y = rows[0], rows[1].astype(float)
        found = onepass.evaluate.tune(model, onepass.evaluate.standard_grid(model), (X, y), protocol=protocol, beyond=0)
        words = f"fit_intercept=False, C={found.best_params['C']}"
        assert words in shown
        assert f"<td>{words}</td>" in (tmp_path / "it.html").read_text()
        with (tmp_path / "it.csv").open() as file:
            assert [row["settings"] for row in csv.DictReader(file)] == ["fit_intercept=False", words]
    assert "settings" not in good("compare", libsvm, "--learners", "pa1", "--permutations", 1).stdout


def test_compare_sets_parameters_of_those_that_have_them(libsvm: Path) -> None:
    command = ["compare", libsvm, "--learners", "pa1,perceptron", "--permutations", 1, "--scale", "standard"]
    shown = good(*command, "--set", "C=0.5", "--set", "margin=0.25").stdout
    assert re.search(r"pa1 .* C=0.5 +│", shown)
    assert re.search(r"perceptron .* margin=0.25 +│", shown)
    tuned = good(*command, "--set", "C=0.5", "--tune").stdout
    assert len(re.findall(r" C=", tuned)) == 1  # what was chosen takes the place of what was set
    assert "None of the learners has a parameter 'dimensions'" in failed(2, *command, "--set", "dimensions=3")
    assert "'C'" in failed(2, *command, "--set", "C=-1")


def test_compare_learns_from_the_whole_data(libsvm: Path) -> None:
    command = ["compare", libsvm, "--learners", "pa1", "--permutations", 1]
    assert "test error" in good(*command, "--test", libsvm).stdout
    whole = good(*command, "--test", libsvm, "--whole").stdout
    assert "800 examples" in whole
    assert "test error" not in whole
    assert "no test part" in failed(2, *command, "--whole")


def test_compare_joins_the_parts_of_a_named_data_set() -> None:
    known = dataset("svmguide1")
    shown = good("compare", "svmguide1", "--learners", "pa1", "--permutations", 1, "--whole").stdout
    assert f"{len(known.y) + len(known.y_test):,} examples" in shown


def test_no_figure_of_a_comparison_is_cut_off(libsvm: Path) -> None:
    command = ["--learners", "PAClassifier,SecondOrderPerceptron", "--permutations", 2, "--test", libsvm, "--tune"]
    shown = good("compare", libsvm, *command).stdout
    assert "…" not in shown
    for words in ("SecondOrderPerceptron", "mistake rate %", "test error %", "updates", "seconds", "settings"):
        assert words in shown


def test_a_page_escapes_what_it_is_told(tmp_path: Path, libsvm: Path) -> None:
    path = libsvm.rename(tmp_path / "<b>&.libsvm")
    good("compare", path, "--learners", "pa1", "--permutations", 1, "--html", tmp_path / "page")
    page = (tmp_path / "page").read_text()
    assert "&lt;b&gt;&amp;.libsvm" in page
    assert "<b>&" not in page


# --- tune ---


def test_tune_prints_what_learn_takes(libsvm: Path, rows: tuple[np.ndarray, np.ndarray]) -> None:
    for scale in ("none", "standard"):
        *table, words = good("tune", libsvm, "--learner", "pa2", "--scale", scale).stdout.splitlines()
        model = onepass.PAClassifier(variant="II")
        if scale == "standard":
            model = onepass.pipeline(onepass.StandardScaler(), model)
        data = csr_array(rows[0]), rows[1].astype(float)
        found = onepass.evaluate.tune(model, onepass.evaluate.standard_grid(model), data, protocol="stream")
        assert len([line for line in table if line.startswith("│")]) == len(found.candidates)
        (C,) = found.best_params.values()
        assert words == f"--set C={C}"
        report = json.loads(good("learn", libsvm, "--json", "--learner", "pa2", "--scale", scale, *words.split()).stdout)
        assert report["parameters"]["C"] == C
        assert report["mistake_rate"] == found.candidates[found.best].score  # what it won with


def test_tune_with_a_grid(libsvm: Path) -> None:
    grid = ["--learner", "pa1", "--grid", "C=0.01,1", "--grid", "variant=I,II,hard", "--set", "fit_intercept=false"]
    one = good("tune", libsvm, *grid).stdout.splitlines()
    assert sum(line.startswith("│") for line in one) == 2 + 1 + 3  # the best C is at the edge, and the next is not better
    assert any("beyond the grid: C" in line for line in one)
    assert re.fullmatch(r"--set C=(0.01|1) --set variant=(I|II|hard)", one[-1])
    all_pairs = good("tune", libsvm, *grid, "--protocol", "cv", "--folds", 3).stdout
    assert sum(line.startswith("│") for line in all_pairs.splitlines()) == 2 * 3 + 2
    assert "400 examples, 3-fold cross-validation" in " ".join(all_pairs.split())


def test_tune_knows_data_sets_by_name_and_regression() -> None:
    shown = good("tune", "diabetes", "--learner", "pa1", "--grid", "epsilon=0.1,10", "--scale", "standard").stdout
    assert "442 examples" in " ".join(shown.split())
    assert "mae" in shown
    assert shown.splitlines()[-1] in ("--set epsilon=0.1", "--set epsilon=10")


def test_wrong_searches(libsvm: Path, tmp_path: Path) -> None:
    assert "nothing that is usually tuned" in failed(2, "tune", libsvm, "--learner", "pa")
    assert "PAClassifier has no parameter 'D'" in failed(2, "tune", libsvm, "--learner", "pa1", "--grid", "D=1,2")
    assert "name=value,value" in failed(2, "tune", libsvm, "--grid", "C")
    assert "name=value,value" in failed(2, "tune", libsvm, "--grid", "C=")
    assert "'C' parameter" in failed(1, "tune", libsvm, "--learner", "pa1", "--grid", "C=1,-1")
    (tmp_path / "one").write_text("7 1:1\n" * 20)
    message = failed(1, "tune", tmp_path / "one", "--learner", "pa1", "--protocol", "cv", "--task", "classification")
    assert "number of classes" in message
    assert "while C=0.0625 was tried" in message


# --- learners, demo, help ---


@pytest.mark.parametrize(
    ("short", "task", "model"),
    [
        ("pa", "classification", onepass.PAClassifier(variant="hard")),
        ("PA2", "regression", onepass.PARegressor(variant="II")),
        ("pamo", "classification", onepass.PAMOClassifier(random_state=0)),
        ("perceptron", "classification", onepass.Perceptron(random_state=0)),
        ("adaline", "classification", onepass.Adaline(random_state=0)),
        ("adaline", "regression", onepass.AdalineRegressor(random_state=0)),
        ("ogd", "regression", onepass.OGDRegressor()),
        ("romma", "classification", onepass.ROMMA()),
        ("aromma", "classification", onepass.ROMMA(aggressive=True)),
        ("alma", "classification", onepass.ALMA()),
        ("mira", "classification", onepass.MIRA()),
        ("sop", "classification", onepass.SecondOrderPerceptron()),
        ("cw", "classification", onepass.CWClassifier()),
        ("arow", "classification", onepass.AROWClassifier()),
        ("arow", "regression", onepass.AROWRegressor()),
        ("scw", "classification", onepass.SCWClassifier()),
        ("scw1", "classification", onepass.SCWClassifier(variant="I")),
        ("scw2", "classification", onepass.SCWClassifier(variant="II", confidence=0.9)),  # where LIBOL starts
        ("nherd", "classification", onepass.NHERDClassifier()),
        ("narow", "classification", onepass.NAROWClassifier()),
        ("iellip", "classification", onepass.IELLIPClassifier()),
    ],
)
def test_short_names(short: str, task: str, model: onepass.base.Learner) -> None:
    built = build(short, task)
    assert type(built) is type(model)
    assert built.get_params() == model.get_params()
    assert short.lower() in json.loads(good("learners", "--json").stdout)[type(model).__name__]["short"]


def test_a_short_name_without_a_learner_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onepass, "learners", lambda: {"PAClassifier": onepass.PAClassifier})
    assert set(short_names()) == {"pa", "pa1", "pa2", "pa-auto"}


def test_a_learner_may_be_for_one_task_only(libsvm: Path) -> None:
    assert "cw is for classification, not for regression" in failed(
        2, "learn", libsvm, "--learner", "cw", "--task", "regression"
    )
    assert "can't be compared" in failed(2, "compare", libsvm, "--learners", "cw,PARegressor")


def test_learners_lists_all() -> None:
    listed = json.loads(good("learners", "--json").stdout)
    assert set(listed) == set(onepass.learners())
    for about in listed.values():
        assert about["description"]
        assert about["paper"]
        assert about["parameters"]
        assert set(about["matters"]) <= set(about["parameters"])
    assert listed["PAMOClassifier"]["matters"] == ["dimensions", "C", "average"]
    shown = good("learners").stdout
    assert all(name in shown for name in listed)


def test_demo(tmp_path: Path) -> None:
    result = good("demo", "--output", tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    rates = {name: float(re.search(rf"{name} .* ([\d.]+) │", result.stdout)[1]) for name in ("PA-I", "PAMO-II")}  # type: ignore[index]
    assert rates["PAMO-II"] < 3 < 30 < rates["PA-I"]


def test_demo_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("onepass.cli.demo.find_spec", lambda name: None)
    result = good("demo", "--output", tmp_path / "demo.png")
    assert "PAMO-II" in result.stdout
    assert "onepass[plot]" in result.stderr
    assert not (tmp_path / "demo.png").exists()
    assert "onepass[plot]" in failed(2, "learn", "x", "--plot", tmp_path / "curve.png")


def test_version_and_help() -> None:
    assert good("--version").stdout == f"onepass {onepass.__version__}\n"
    assert good().stdout == good("-h").stdout
    for command in main.commands:
        assert "Usage:" in good(command, "-h").stdout


# --- errors ---


def test_wrong_command_lines(libsvm: Path, tmp_path: Path) -> None:
    assert "dimensions" in failed(2, "learn", libsvm, "--learner", "pamo", "--set", "width=3")
    assert "pamo2" in failed(2, "learn", libsvm, "--learner", "nonesuch")
    assert "pauniclass" in failed(2, "learn", libsvm, "--learner", "pauniclass")  # it learns from rows without labels
    assert "'C'" in failed(2, "learn", libsvm, "--set", "C=-1")
    assert "name=value" in failed(2, "learn", libsvm, "--set", "C")
    assert "regression" in failed(2, "learn", libsvm, "--learner", "PARegressor", "--task", "classification")
    assert "--nonsense" in failed(2, "learn", libsvm, "--nonsense")
    assert "learnt" in failed(2, "learnt")
    failed(2, "compare", libsvm, "--learners", "PAClassifier,PARegressor")
    failed(2, "predict", "model", libsvm, "--label", "a", "--no-label")


def test_bad_data_and_models(libsvm: Path, tmp_path: Path) -> None:
    assert "nowhere: No such file" in failed(1, "learn", tmp_path / "nowhere")
    (tmp_path / "broken").write_text("1 1:1\n-1 1:x\n")
    assert "broken, line 2" in failed(1, "learn", tmp_path / "broken")
    (tmp_path / "empty").write_text("")
    assert "empty" in failed(1, "learn", tmp_path / "empty")
    assert "not a model" in failed(1, "predict", libsvm, libsvm)
    assert "column 'z'" in failed(1, "learn", "-", "--format", "csv", "--label", "z", stdin=b"a,b\n1,2\n")


def test_an_error_leaves_the_old_model(libsvm: Path, tmp_path: Path) -> None:
    good("learn", libsvm, "--save", tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    (tmp_path / "broken").write_text(libsvm.read_text() + "1 1:x\n")
    failed(1, "learn", tmp_path / "broken", "--save", tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before


@pytest.fixture
def long(tmp_path: Path) -> Path:
    path = tmp_path / "long"
    path.write_text("".join(f"{i % 2 * 2 - 1} 1:{i % 7} 2:{i % 5}\n" for i in range(2 * CHUNK)))
    return path


def test_a_bad_line_saves_what_was_learned_before(long: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    good("learn", long, "--learner", "arow", "--save", model)
    whole = onepass.load(model)
    model.unlink()
    long.write_text(long.read_text() + "1 1:oops\n")
    message = failed(1, "learn", long, "--learner", "arow", "--save", model)
    assert f"long, line {2 * CHUNK + 1}" in message
    assert f"{2 * CHUNK:,} examples before is in {model}" in message
    assert onepass.load(model).t_ == 2 * CHUNK - 1  # with the second example there are two labels to tell apart
    np.testing.assert_array_equal(onepass.load(model).coef_, whole.coef_)
    assert "before" not in failed(1, "learn", long)

    assert "before" not in failed(1, "learn", long, "--resume", model, "--save", model)  # it goes on with the bad line
    long.write_text(long.read_text().replace("oops", "1"))
    assert "going on after row" in good("learn", long, "--resume", model, "--save", model).stderr
    assert onepass.load(model).t_ == 2 * CHUNK
    assert "has learned from all" in failed(1, "learn", long, "--resume", model)
    good("learn", long, "--resume", model, "--save", model, "--again")
    assert onepass.load(model).t_ == 4 * CHUNK + 1


def test_a_file_that_ends_too_soon_saves_what_was_learned_before(tmp_path: Path) -> None:
    line = b"+1 1:1 2:0.5\n-1 1:-1 3:0.5\n"
    packed = gzip.compress(line * ((2 * BLOCK) // len(line) + 6 * CHUNK))
    (tmp_path / "data.gz").write_bytes(packed[:-9])
    assert "examples before is in" in failed(1, "learn", tmp_path / "data.gz", "--save", tmp_path / "model")
    assert onepass.load(tmp_path / "model").t_ >= CHUNK


@pytest.mark.parametrize("broken", [False, True], ids=["sound", "broken"])
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_a_full_disk_is_an_error_that_names_the_file(
    long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, broken: bool
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "a file beside it")

    if broken:
        long.write_text(long.read_text() + "1 1:oops\n")
    monkeypatch.setattr(os, function, full)
    message = failed(1, "learn", long, "--save", tmp_path / "model")
    assert "No space left on device" in message
    assert str(tmp_path / "model") in message
    assert "beside" not in message
    assert ("line" in message) == broken
    assert not (tmp_path / "model").exists()


def test_unwritable_places_are_found_before_learning(tmp_path: Path) -> None:
    for option in ("--save", "--plot"):
        assert "can't write" in failed(2, "learn", "no such data", option, tmp_path / "no" / "folder")
    assert "directory" in failed(2, "learn", "no such data", "--save", tmp_path)


def test_debugging_shows_the_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEPASS_DEBUG", "1")
    assert isinstance(run("learn", tmp_path / "nowhere").exception, FileNotFoundError)


def test_ctrl_c_anywhere_else(libsvm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(onepass, "load", interrupted)
    assert run("predict", "model", libsvm).exit_code == 130


# --- processes ---


@pytest.fixture
def environment() -> dict[str, str]:
    source = str(Path(onepass.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source}


def test_ctrl_c_saves_what_was_learned_so_far(tmp_path: Path, environment: dict[str, str]) -> None:
    """The writer is let go when all but a pipe's worth was read, and the reader is only a block and a few chunks ahead."""
    line = b"+1 1:1 2:0.5\n-1 1:-1 3:0.5\n"
    model = tmp_path / "model"
    command = [*COMMAND, "learn", "-", "--learner", "arow", "--save", str(model), "--json"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write(line * ((2 * BLOCK) // len(line) + 6 * CHUNK))
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        report, complaint = json.loads(process.stdout.read()), process.stderr.read().decode()
    assert report["interrupted"]
    assert report["examples"] >= CHUNK
    assert report["examples"] % CHUNK == 0
    assert complaint.startswith("onepass: interrupted after")
    assert complaint.count("\n") == 1
    assert onepass.load(model).t_ == report["examples"] - 1  # with the second example there are two labels to tell apart


def test_a_closed_pipe_ends_quietly(libsvm: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    good("learn", libsvm, "--save", tmp_path / "model")
    libsvm.write_text(libsvm.read_text() * 100)
    command = [*COMMAND, "predict", str(tmp_path / "model"), str(libsvm)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() in (b"1", b"-1")
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_pipe_as_standard_input(libsvm: Path, environment: dict[str, str]) -> None:
    command = [*COMMAND, "learn", "-", "--json"]
    done = subprocess.run(command, check=True, env=environment, input=libsvm.read_bytes(), capture_output=True, timeout=300)
    assert json.loads(done.stdout)["examples"] == 400
    assert done.stderr == b""


# --- files as they are found ---


def run_on(path: Path, content: str, *arguments: str) -> Result:
    path.write_text(content)
    return CliRunner().invoke(main, ["learn", str(path), *arguments, "--json"])


def test_what_is_guessed_about_a_file_is_said(tmp_path):
    rows = "".join(f"{t};{t % 7};{'yes' if t % 7 > 3 else 'no'}\n" for t in range(50))
    done = run_on(tmp_path / "a.csv", rows)
    assert done.exit_code == 0
    assert "separated by ';'" in done.stderr
    assert "no header" in done.stderr
    assert json.loads(done.stdout)["features"] == 2
    done = run_on(tmp_path / "a.csv", rows, "--sep", ";", "--no-header")
    assert done.exit_code == 0
    assert done.stderr == ""


@pytest.mark.parametrize("missing", ["mean", "zero", "skip"])
def test_holes_in_a_file(tmp_path, missing):
    rows = "a,b,y\n" + "".join(f"{'' if t % 5 == 0 else t},{t % 7},{'yes' if t % 7 > 3 else 'no'}\n" for t in range(50))
    refused = run_on(tmp_path / "a.csv", rows, "--missing", "error")
    assert refused.exit_code == 1
    assert "line 2: the value of 'a' is missing; say" in refused.stderr
    assert "--missing" in refused.stderr
    done = run_on(tmp_path / "a.csv", rows, "--missing", missing, "--scale", "none", "--save", str(tmp_path / "m"))
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["examples"] == (40 if missing == "skip" else 50)
    assert report["stages"] == ([] if missing == "skip" else ["Imputer"])
    if missing == "skip":
        return
    predicted = CliRunner().invoke(main, ["predict", str(tmp_path / "m"), str(tmp_path / "a.csv")])
    assert predicted.exit_code == 0
    assert len(predicted.stdout.split()) == 50
    again = CliRunner().invoke(main, ["learn", str(tmp_path / "a.csv"), "--resume", str(tmp_path / "m"), "--again"])
    assert again.exit_code == 0, again.stderr


def test_holes_and_strings_in_a_file(tmp_path):
    rows = "a,b,y\n" + "".join(f"{'' if t % 5 == 0 else t},{'uvw'[t % 3]},{'yes' if t % 3 else 'no'}\n" for t in range(90))
    done = run_on(tmp_path / "a.csv", rows, "--missing", "mean", "--scale", "unit", "--save", str(tmp_path / "m"))
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["stages"] == ["Table", "UnitNorm"]
    model = onepass.load(tmp_path / "m")
    assert model.predict_one({"a": None, "b": "u"}) == model.predict([{"b": "u"}])[0]
    assert model[0].kinds_ == {"a": "number", "b": "category"}


def test_lines_that_can_not_be_read(tmp_path):
    rows = "a,b,y\n" + "".join(f"{t},{t % 7},{'yes' if t % 7 > 3 else 'no'}\n" for t in range(50)) + "1,2\n"
    refused = run_on(tmp_path / "a.csv", rows)
    assert refused.exit_code == 1
    assert "line 52" in refused.stderr
    done = run_on(tmp_path / "a.csv", rows, "--skip-bad", "3")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["examples"] == 50
    assert f"left out {tmp_path / 'a.csv'}, line 52" in done.stderr


def test_words_are_found_in_the_file_that_was_learned(tmp_path: Path) -> None:
    file = tmp_path / "mails.tsv"
    lines = [f"spam\twin a prize now at noon today {t}\nham\tat noon today {t}\n" for t in range(20)]
    file.write_text("label\ttext\n" + "".join(lines))
    good("learn", file, "--learner", "arow", "--text", "text", "--save", tmp_path / "model")

    def largest(*options: Any) -> list[str]:
        return list(json.loads(good("info", tmp_path / "model", "--json", *options).stdout)["largest_weights"])

    assert set(largest()[:4]) == {f"text: {word}" for word in ("win", "a", "prize", "now")}
    moved = file.rename(tmp_path / "moved.tsv")
    assert all(name.startswith("hash") for name in largest())
    assert set(largest("--data", moved)[:4]) == {f"text: {word}" for word in ("win", "a", "prize", "now")}


def test_the_shares_of_a_committee_are_said_and_drawn(table: Path, tmp_path: Path) -> None:
    """A committee learns where no learner is named."""
    assert "shares" in good("learn", table, "--plot", tmp_path / "plot.png").stdout
    assert (tmp_path / "plot.png").stat().st_size > 10_000
    report = json.loads(good("learn", table, "--json").stdout)
    assert (report["learner"], report["stages"]) == ("Auto", ["Imputer"])
    assert list(report["shares"]) == ["arow", "pa", "product", "product now"]
    assert json.loads(good("learn", table, "--learner", "arow", "--json").stdout)["shares"] is None


def test_the_shares_of_a_committee_are_on_the_page(table: Path, tmp_path: Path) -> None:
    good("compare", table, "--learners", "auto,arow", "--permutations", 2, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 2
    assert "Shares of auto" in page
