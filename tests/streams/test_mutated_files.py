"""Files with random damage: a reader gives sound chunks or a clear error, and never crashes, hangs or eats the memory.

ONEPASS_FUZZ_SECONDS=3600 pytest -m slow tests/streams/test_mutated_files.py    goes on for that long
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import onepass
from apart import TESTS
from mutations import READERS


def mutated(folder: Path, seed: str, seconds: float, count: int, *readers: str) -> Any:
    """What came of damaged files, in a process of its own."""
    path = os.pathsep.join(str(path) for path in (TESTS, Path(onepass.__file__).parents[1]))
    command = [
        sys.executable,
        str(TESTS / "mutations.py"),
        str(folder),
        seed,
        str(seconds),
        str(count),
        *readers,
    ]
    done = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    now = (folder / "now").read_text() if (folder / "now").exists() else "nothing yet"
    assert done.returncode == 0, f"died at {now}: {done.stderr}"
    return json.loads((folder / "report").read_text())


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    report = mutated(tmp_path, "quick", 0, 40, *READERS)
    assert not report["wrong"], "\n".join(report["wrong"])
    for reader in READERS:  # the damage is neither so small nor so large that nothing is tested
        assert any(outcome.startswith(f"{reader}, refused") for outcome in report["counts"])
    assert sum(n for outcome, n in report["counts"].items() if outcome.endswith(("read", "loaded"))) > 20


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_more_damaged_files(reader: str, tmp_path: Path) -> None:
    end, counts = time.monotonic() + float(os.environ.get("ONEPASS_FUZZ_SECONDS", "0")) / len(READERS), Counter[str]()
    while True:  # in many processes: one alone comes near its limit in the end, by memory that is free but in pieces
        report = mutated(tmp_path, str(time.time_ns()), 0, 300, reader)
        counts += Counter(report["counts"])
        assert not report["wrong"], "\n".join(report["wrong"])
        if time.monotonic() >= end:
            break
    print(counts)
