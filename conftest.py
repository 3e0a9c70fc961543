"""What all tests share: where the data is, and a clear word when it is not there."""

from __future__ import annotations

import gc
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem
from xdist.scheduler import LoadScopeScheduling

import onepass
from shared import SHARED, representatives, traits

if "ONEPASS_DATA" not in os.environ and (SHARED / "data").is_dir():
    os.environ["ONEPASS_DATA"] = str(SHARED / "data")

LEARNERS = set(onepass.learners())
TRANSLATE = "it needs the extra, which `make test-translate` installs"


class ByLearner(LoadScopeScheduling):
    """Tests of one learner, or else of one file, go to one worker: two that compile the same kernels at once would do it twice. Where
    slow ones run, those of a file are shared out: a few of them may take as long as all of another file."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        slow = self.config.option.markexpr.startswith("slow")
        return next((name for name in re.findall(r"\w+", test) if name in LEARNERS), nodeid if slow else path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Groups by marker, xdist's own, do not work with pytest 9.2: they rename tests by an attribute that is no more."""
    return ByLearner(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Compiling takes far longer than to run a test without the compiler. So tests that are `plain` run without it for all cases, and
    compiled for those that represent the other cases of their file: see `shared.representatives`. So are the examples of docstrings."""
    for item in items:
        if isinstance(item, DoctestItem):
            item.add_marker(pytest.mark.plain)
            if "onepass.translate.translator" in item.name and find_spec("torch") is None:
                item.add_marker(pytest.mark.skip(reason=TRANSLATE))
    plain = [item for item in items if item.get_closest_marker("plain") and hasattr(item, "callspec")]
    plain = [item for item in plain if "case" in item.callspec.params]
    cases: dict[Path, dict[str, Any]] = {}
    for item in plain:
        case = item.callspec.params["case"]
        cases.setdefault(item.path, {})[str(case)] = case
    chosen = {
        path: representatives({name: traits(case.model(), case.task) for name, case in found.items()})
        for path, found in cases.items()
    }
    for item in plain:
        if str(item.callspec.params["case"]) in chosen[item.path]:
            item.add_marker(pytest.mark.compiled)


def pytest_collection_finish() -> None:
    """Thousands of tests, and what the compiler makes, live to the end: to look through them for garbage takes a tenth of its time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say so when proofs were left out: a green run without data proves less."""
    absent = [report for report in terminalreporter.stats.get("skipped", []) if "ONEPASS_DATA" in str(report.longrepr)]
    if absent:
        terminalreporter.section("data absent", yellow=True, bold=True)
        terminalreporter.write_line(f"{len(absent)} tests were skipped because their data is absent: {absent[0].longrepr[-1]}")
    if any(TRANSLATE in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.section("translation untested", yellow=True, bold=True)
        terminalreporter.write_line(f"PyTorch is not installed, and nothing that needs it was tested: {TRANSLATE}")
