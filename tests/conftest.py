"""What all tests share: where the data is, and a clear word when it is not there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # tests import `naive` and `shared` by name

from shared import SHARED

if "ONEPASS_DATA" not in os.environ and (SHARED / "data").is_dir():
    os.environ["ONEPASS_DATA"] = str(SHARED / "data")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say so when proofs were left out: a green run without data proves less."""
    absent = [report for report in terminalreporter.stats.get("skipped", []) if "ONEPASS_DATA" in str(report.longrepr)]
    if absent:
        terminalreporter.section("data absent", yellow=True, bold=True)
        terminalreporter.write_line(f"{len(absent)} tests were skipped because their data is absent: {absent[0].longrepr[-1]}")
