"""Nothing learned is lost: a model knows where it stopped, whatever stopped it, and goes on there to the same bits."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import onepass
from onepass.base import saving
from onepass.cli import main
from onepass.cli.origin import added


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def good(*arguments: object) -> Any:
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done


def content(path: Path) -> Any:
    """All of a model but for where it learned."""
    header, arrays = onepass.load(path)._pack()
    return header, {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def lines(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).round(3)
    colours = rng.choice(["red", "green", "blue"], n)
    y = np.where(X[:, 0] + (colours == "red") > X[:, 1], "yes", "no")
    holes = rng.random(n) < 0.1
    rows = [
        f"{'' if hole else a},{b},{c},{colour},{label}\n"
        for hole, (a, b, c), colour, label in zip(holes, X.tolist(), colours, y, strict=True)
    ]
    return ["a,b,c,colour,clicked\n", *rows]


def started(folder: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "onepass", "learn", "data.csv", *map(str, arguments)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rows_of(path: Path) -> int:
    try:
        return int(onepass.load(path).metadata["origin"]["position"]["rows"])
    except (FileNotFoundError, KeyError):
        return 0


def wait_for(path: Path, rows: int) -> None:
    end = time.monotonic() + 120
    while rows_of(path) < rows:
        assert time.monotonic() < end, "no checkpoint came"
        time.sleep(0.1)


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_pass_that_is_stopped_goes_on_to_the_same_bits(stop: signal.Signals, tmp_path: Path) -> None:
    text, path = lines(500), tmp_path / "data.csv"
    path.write_text("".join(text[:301]))
    running = started(tmp_path, "--follow", "--checkpoint", "0.1s", "--save", "model")
    try:
        if stop == signal.SIGKILL:
            wait_for(tmp_path / "model", 300)
            with path.open("a") as file:
                file.write("".join(text[301:351]) + text[351][:3])  # in the middle of a line
            wait_for(tmp_path / "model", 350)
        else:
            wait_for(tmp_path / "model", 300)
        os.kill(running.pid, stop)
        _, said = running.communicate(timeout=300)
    finally:
        running.kill()
    if stop != signal.SIGKILL:
        assert running.returncode == 128 + stop, said
        assert "what was learned so far is in model" in said
    path.write_text("".join(text))
    resumed = good("learn", path, "--resume", tmp_path / "model", "--save", tmp_path / "model", "--json")
    assert json.loads(resumed.stdout)["examples"] == (150 if stop == signal.SIGKILL else 200)
    whole = good("learn", path, "--save", tmp_path / "whole", "--json")
    assert content(tmp_path / "model") == content(tmp_path / "whole")
    origin, other = (onepass.load(tmp_path / name).metadata["origin"] for name in ("model", "whole"))
    assert origin["rows"] == 500
    if stop != signal.SIGKILL:  # on the way, metrics are those of whole blocks
        assert origin["metrics"]["n"] == 500
        assert origin["metrics"]["mistake_rate"] == pytest.approx(json.loads(whole.stdout)["mistake_rate"], rel=1e-12)
    assert origin["columns"] == other["columns"]


def test_another_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    text = lines(60)
    (tmp_path / "monday.csv").write_text("".join(text[:31]))
    (tmp_path / "tuesday.csv").write_text(text[0] + "".join(text[31:]))
    (tmp_path / "both.csv").write_text("".join(text))
    good("learn", tmp_path / "monday.csv", "--save", tmp_path / "model")
    done = good("learn", tmp_path / "tuesday.csv", "--resume", tmp_path / "model", "--save", tmp_path / "model")
    assert "going on" not in done.stderr
    good("learn", tmp_path / "both.csv", "--save", tmp_path / "whole")
    assert content(tmp_path / "model") == content(tmp_path / "whole")


def test_nothing_is_learned_twice_unless_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("".join(lines(40)))
    good("learn", tmp_path / "data.csv", "--save", tmp_path / "model")
    done = run("learn", tmp_path / "data.csv", "--resume", tmp_path / "model")
    assert done.exit_code == 1
    assert "learned from all 40 rows" in done.stderr
    assert "--again" in done.stderr
    good("learn", tmp_path / "data.csv", "--resume", tmp_path / "model", "--again", "--save", tmp_path / "model")
    assert onepass.load(tmp_path / "model").metadata["origin"]["rows"] == 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--checkpoint", "30s"], "--checkpoint needs --save"),
        (["--checkpoint", "often", "--save", "model"], "is no time; say 30s"),
        (["--checkpoint", "0s", "--save", "model"], "is no time; say 30s"),
        (["--again"], "--again goes with --resume"),
    ],
)
def test_wrong_words(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("".join(lines(10)))
    done = run("learn", "data.csv", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_metrics_of_two_passes_are_those_of_one() -> None:
    errors = np.random.default_rng(1).normal(size=50)
    parts = [{"mae": np.abs(e).mean(), "rmse": np.sqrt((e**2).mean())} for e in (errors[:20], errors[20:], errors)]
    together = added(added({}, 20, parts[0]), 30, parts[1])
    assert together.pop("n") == 50
    assert together == pytest.approx(parts[2], rel=1e-12)


def test_labels_that_are_no_classes_are_questioned(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x,name\n" + "".join(f"{t},n{t}\n" for t in range(2000)))
    done = run("learn", tmp_path / "data.csv")
    assert done.exit_code == 1
    assert "'name' of" in done.stderr
    assert "2,000 different values" in done.stderr
    assert "--task classification" in done.stderr


def test_info_tells_what_a_model_knows(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("".join(lines(200)))
    report = json.loads(good("learn", tmp_path / "data.csv", "--drop", "b", "--save", tmp_path / "model", "--json").stdout)
    shown = "".join(good("info", tmp_path / "model").stdout.split())  # long paths are wrapped
    for words in ("Table, UnitNorm, Auto", "clicked", "a=number", "colour=text", "data.csv", "no, yes", "onepass 0."):
        assert words.replace(" ", "") in shown
    told = json.loads(good("info", tmp_path / "model", "--json").stdout)
    assert told["metrics"] == {"n": 200, "mistake_rate": report["mistake_rate"]}
    assert (told["label"], told["dropped"], told["rows_of_that"]) == ("clicked", ["b"], 200)


@pytest.mark.parametrize("label", ["clicked", "b"])
def test_encoded_columns_go_on_to_the_same_bits(label: str, tmp_path: Path) -> None:
    """An id of digits stays text, its zeros included; models need not be told again what they encode."""
    rng = np.random.default_rng(1)
    text = [f"id,{line}" if t == 0 else f"{rng.integers(40):05},{line}" for t, line in enumerate(lines(400))]
    path, options = tmp_path / "data.csv", ["--label", label, "--encode", "id"]
    path.write_text("".join(text))
    good("learn", path, *options, "--save", tmp_path / "whole")
    path.write_text("".join(text[:151]))
    good("learn", path, *options, "--save", tmp_path / "part")
    path.write_text("".join(text))
    good("learn", path, "--resume", tmp_path / "part", "--save", tmp_path / "part")
    assert content(tmp_path / "part") == content(tmp_path / "whole")
    model = onepass.load(tmp_path / "whole")
    assert model[0].kinds_["id"] == ("mean target" if label == "b" else "shares of labels")
    predicted = good("predict", tmp_path / "whole", path).stdout.split()
    names = text[0].strip().split(",")
    rows = [dict(zip(names, line.strip().split(","), strict=True)) for line in text[1:]]
    rows = [{name: value or None for name, value in row.items() if name != label} for row in rows]
    assert [str(model.predict_one(row)) for row in rows] == predicted
    assert "leave --encode out" in run("learn", path, "--resume", tmp_path / "part", "--encode", "id").output
    assert "'nothing'" in run("learn", path, "--encode", "nothing").output


@pytest.mark.parametrize("checkpoint", [False, True], ids=["at the end", "on the way"])
def test_what_was_learned_outlives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: bool) -> None:
    write, spare = saving.replace_file, tmp_path / "spare"

    def full(path: Path, content: bytes) -> None:
        if path.parent != spare:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, content)

    spare.mkdir()
    (tmp_path / "data.csv").write_text("".join(lines(40_000)))
    good("learn", tmp_path / "data.csv", "--save", tmp_path / "whole")
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    monkeypatch.setattr(saving, "replace_file", full)
    options = ["--checkpoint", "0.001s"] if checkpoint else []
    done = run("learn", tmp_path / "data.csv", "--save", tmp_path / "model", *options)
    (saved,) = spare.iterdir()
    assert done.exit_code == 1
    assert f"model: No space left on device (what was learned from the 40,000 examples before is in {saved})" in done.output
    assert ("learning goes on" in done.output) == checkpoint
    assert content(saved) == content(tmp_path / "whole")
