"""What all tests share: where the data is, and a clear word when it is not there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # tests import `naive` and `shared` by name

from shared import SHARED

if "ONEPASS_DATA" not in os.environ and (SHARED / "data").is_dir():
    os.environ["ONEPASS_DATA"] = str(SHARED / "data")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Tests of one learner, or else of one file, go to one worker: two that compile the same kernels at once would do it twice."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        learner = getattr(parameters.get("case"), "name", None) or type(parameters.get("estimator", item)).__name__
        item.add_marker(pytest.mark.xdist_group(item.path.stem if learner == type(item).__name__ else learner))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say so when proofs were left out: a green run without data proves less."""
    absent = [report for report in terminalreporter.stats.get("skipped", []) if "ONEPASS_DATA" in str(report.longrepr)]
    if absent:
        terminalreporter.section("data absent", yellow=True, bold=True)
        terminalreporter.write_line(f"{len(absent)} tests were skipped because their data is absent: {absent[0].longrepr[-1]}")
