"""The log: what is decided and noticed, under "onepass", quiet unless somebody listens, and never a record a row."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import onepass
from onepass import PAClassifier, streams
from onepass.cli import main
from onepass.compiled import compiler
from onepass.evaluate import ADWIN, compare, prequential, tune

pytestmark = pytest.mark.plain

MESSY = "a;city;y\n1,5;Rome;yes\n2,5;;no\n;Oslo;no\n2,5;Oslo;no;more\n" + 6 * "3,5;Rome;yes\n4,5;Oslo;no\n"


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.DEBUG, logger="onepass")

    def records(level: int = logging.INFO) -> list[tuple[str, str, str]]:
        ours = [record for record in caplog.records if record.name.partition(".")[0] == "onepass" and record.levelno >= level]
        return [(record.levelname, record.name.removeprefix("onepass."), record.getMessage()) for record in ours]

    return records


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "messy.csv"
    path.write_text(MESSY)
    return path


def drifting(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 2))
    y = (X[:, 0] > 0).astype(int)
    y[n // 2 :] = 1 - y[n // 2 :]
    return X, y


# --- the library ---


@pytest.mark.parametrize("threads", [True, False])
def test_streams_tell_what_they_guess_and_leave_out(messy: Path, told: Any, threads: bool) -> None:
    stream = streams.open(messy, missing="skip", skip_bad=1, threads=threads)
    assert sum(len(chunk) for chunk in stream) == 14
    found = told()
    assert [(level, text.replace(str(messy), "FILE")) for level, _, text in found[:4]] == [
        ("INFO", "FILE is read as csv"),
        ("INFO", "FILE: its columns are separated by ';'"),
        ("INFO", "FILE: its numbers have a comma for the decimal point"),
        ("INFO", "FILE: its label is 'y'; 1 columns hold numbers, 1 text, and 0 are left out"),
    ]
    (bad,) = [text for level, _, text in found if level == "WARNING"]
    assert re.match(r"left out .*, line 5: .*Expected 3 columns, got 4", bad)
    assert found[-1][2] == f"{messy}: rows left out since values are missing: 1"
    assert stream.notes == [text for _, name, text in found if name == "streams.stream"]


def test_rows_that_are_left_out_take_labels_that_stand_apart_along(told: Any) -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "city": ["x", "y", "z"]})
    (chunk,) = streams.open((frame, [1, 2, 3]), missing="skip")
    assert (len(chunk), chunk.y.tolist()) == (2, [1, 3])
    assert told()[-1][2] == "the table: rows left out since values are missing: 1"


def test_drifts_and_what_is_done_about_them(told: Any) -> None:
    result = prequential(PAClassifier(C=0.1), drifting(4000), drift=ADWIN(), on_drift="reset")
    assert len(result.drifts) > 0
    seen = [text for _, name, text in told() if name == "evaluate.drift"]
    assert seen == [f"ADWIN saw a drift at example {place}" for place in result.drifts]
    assert [text for _, name, text in told() if name == "evaluate.online"] == ["after the drift: reset"] * len(seen)
    assert told(logging.DEBUG)[-1] == ("DEBUG", "evaluate.online", repr(result))


def test_tuning_tells_every_candidate_and_the_edge(told: Any) -> None:
    X, y = drifting(200)
    result = tune(PAClassifier(), {"C": [0.1, 1.0]}, (X, y), beyond=1)
    said = [text for level, _, text in told() if level == "INFO"]
    assert said == [f"C={params['C']}: mistake_rate {score:.6g}" for params, score in result.candidates]
    edge = [f"C={result.best_params['C']} is still the best at the edge of what was tried"] if result.at_edge else []
    assert [text for level, _, text in told() if level == "WARNING"] == edge
    chosen = compare({"PA": PAClassifier()}, (X, y), 1, tune="libol").settings["PA"]
    assert told()[-1] == ("INFO", "evaluate.comparison", f"PA: C={chosen['C']} was chosen")


def test_models_that_are_written_and_loaded(told: Any, tmp_path: Path) -> None:
    path = tmp_path / "model"
    PAClassifier().fit([[1.0], [2.0]], [0, 1]).save(path)
    onepass.load(path)
    assert told() == [
        ("INFO", "base.saving", f"wrote {path}: PAClassifier, {path.stat().st_size} bytes"),
        ("INFO", "registry", f"loaded {path}: PAClassifier, written by onepass {onepass.__version__}"),
    ]


def test_no_folder_for_machine_code(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.Path, "mkdir", _refuse)
    assert compiler.folder_of_code.__wrapped__() is None
    ((level, name, text),) = told()
    assert (level, name) == ("WARNING", "compiled.compiler")
    assert "NUMBA_CACHE_DIR" in text


def _refuse(*_: Any, **__: Any) -> None:
    raise PermissionError("read-only")


@pytest.mark.parametrize("kind", ["chunks", "dicts"])
def test_there_are_as_many_records_for_ten_times_the_rows(kind: str, told: Any, tmp_path: Path) -> None:
    def records(n: int) -> int:
        before = len(told(logging.DEBUG))
        X, y = drifting(n)
        y = (X[:, 0] > 0).astype(int)
        path = tmp_path / f"{n}.csv"
        path.write_text("a,b,y\n" + "".join(f"{a},{b},{label}\n" for (a, b), label in zip(X, y, strict=True)))
        rows = [({"a": a, "b": b}, label) for (a, b), label in zip(X.tolist(), y.tolist(), strict=True)]
        prequential(PAClassifier(), streams.open(path, chunk=20) if kind == "chunks" else rows)
        return len(told(logging.DEBUG)) - before

    records(30)
    assert records(60) == records(600)


def test_nothing_is_shown_unless_somebody_listens(messy: Path) -> None:
    code = (
        "import sys\nfrom onepass import streams\n"
        f"assert sum(len(chunk) for chunk in streams.open({str(messy)!r}, missing='skip', skip_bad=1)) == 14\n"
        "assert 'logging' in sys.modules"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


# --- the command line ---


def run(*arguments: object) -> Any:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize("command", [["-v", "learn"], ["learn", "-v"], ["learn", "--verbose"]], ids=" ".join)
def test_the_log_on_the_command_line(messy: Path, command: list[str], tmp_path: Path) -> None:
    options = ["--skip-bad", 1, "--learner", "pa1", "--save", tmp_path / "model", "--json"]
    done = run(*command, messy, *options)
    lines = done.stderr.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ (INFO|WARNING) onepass\.[a-z.]+: ", line) for line in lines)
    for words in ("separated by ';'", ": left out ", "classification of mixed: Pipeline(", "wrote "):
        assert sum(words in line for line in lines) == 1
    quiet = run("learn", messy, *options)
    assert "INFO" not in quiet.stderr
    assert "onepass: left out" in quiet.stderr
    assert quiet.stdout.partition('"seconds"')[0] == done.stdout.partition('"seconds"')[0]


def test_twice_is_more_and_leaves_nothing_behind(messy: Path) -> None:
    before = list(logging.getLogger("onepass").handlers), logging.getLogger("onepass").level
    for command in (["-vv", "learn", messy], ["learn", messy, "-v", "-v"], ["-v", "learn", messy, "-v"]):
        lines = run(*command, "--skip-bad", 1, "--learner", "pa1").stderr.splitlines()
        assert sum(" DEBUG onepass.evaluate.online: Prequential(" in line for line in lines) == 1
        assert sum("is read as csv" in line for line in lines) == 1
        assert (list(logging.getLogger("onepass").handlers), logging.getLogger("onepass").level) == before
