"""What all tests share: where the data is, and a clear word when it is not there."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

import onepass
from onepass import kernel

sys.path.insert(0, str(Path(__file__).parent))  # tests import `naive` and `shared` by name

from shared import SHARED

if "ONEPASS_DATA" not in os.environ and (SHARED / "data").is_dir():
    os.environ["ONEPASS_DATA"] = str(SHARED / "data")


# Learners that stand for all of their kind where a test is about the base: additive, scaled, second-order, nonlinear, of numbers.
REPRESENTATIVE = {"PAClassifier", "PARegressor", "ROMMA", "AROWClassifier", "PAMOClassifier"}
KEPT = {"test_scores_are_those_of_just_before", "test_going_on_is_never_having_stopped"}  # for all learners
BUDGETED = {*kernel.__all__} - {"FOGD"}  # which compile longest: KernelPA stands for them
LONG = {"test_active", "test_multilabel", "test_uniclass", "test_costs"}  # of which the twins stay
QUICK = {  # what stays of other long files
    "test_kernels": {
        "test_values",
        "test_an_intercept_adds_one",
        "test_a_function_is_a_kernel",
        "test_a_function_that_gives_no_number_changes_nothing",
        "test_a_function_that_does_not_compile",
        "test_given_values_are_the_kernels_own",
        "test_what_shaped_the_support_set_cannot_change",
        "test_wrong_parameters",
    },
    "test_support": {
        "test_a_budget_is_never_exceeded",
        "test_the_oldest_goes_first",
        "test_the_redundant_is_served_best_by_the_others",
        "test_growth_is_amortised",
        "test_a_damaged_file_is_refused",
        "test_a_large_set_warns_once",
    },
}


LEARNERS = set(onepass.learners())


class ByLearner(LoadScopeScheduling):
    """Tests of one learner, or else of one file, go to one worker: two that compile the same kernels at once would do it twice."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        return next((name for name in re.findall(r"\w+", test) if name in LEARNERS), path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Groups by marker, xdist's own, do not work with pytest 9.2: they rename tests by an attribute that is no more."""
    return ByLearner(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Compiling is what takes time, and the whole suite takes longer than a change should wait. So of the learners that are not
    representative, only what is in `KEPT` and their proofs (test_golden, test_optimal, test_kol, twins) are among the quick tests.
    """
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        case, estimator = parameters.get("case"), parameters.get("estimator")
        learner = getattr(case, "name", None) or (type(estimator).__name__ if estimator is not None else None)
        name = getattr(item, "originalname", None) or item.name
        other = learner is not None and learner not in REPRESENTATIVE and name not in KEPT
        if item.path.stem == "test_kernel_twins":
            other = learner != "KernelPA"
        elif learner in BUDGETED:
            other = learner != "KernelPA" or name not in KEPT
        stem = item.path.stem
        if other or (stem in LONG and "twin" not in name) or name not in QUICK.get(stem, {name}):
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say so when proofs were left out: a green run without data proves less."""
    absent = [report for report in terminalreporter.stats.get("skipped", []) if "ONEPASS_DATA" in str(report.longrepr)]
    if absent:
        terminalreporter.section("data absent", yellow=True, bold=True)
        terminalreporter.write_line(f"{len(absent)} tests were skipped because their data is absent: {absent[0].longrepr[-1]}")
