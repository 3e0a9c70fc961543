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


# Learners that stand for all of their kind where a test is about the base: additive, scaled, second-order, nonlinear, of numbers.
REPRESENTATIVE = {"PAClassifier", "PARegressor", "ROMMA", "AROWClassifier", "PAMOClassifier"}
COMPILING = {  # tests that compile for other storages and types than the rest
    "test_dense_and_csr_agree",
    "test_cuts_do_not_matter_to_a_growing_model",
    "test_scores_of_a_growing_model_are_those_of_just_before",
    "test_single_precision_stays",
    "test_whole_numbers_are_floats",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Tests of one learner, or else of one file, go to one worker: two that compile the same kernels at once would do it twice.

    Compiling is what takes time. Of the learners that are not representative, what needs more kernels, and scikit-learn's checks, are
    among the slow tests.
    """
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        case, estimator = parameters.get("case"), parameters.get("estimator")
        learner = getattr(case, "name", None) or (type(estimator).__name__ if estimator is not None else None)
        item.add_marker(pytest.mark.xdist_group(learner or item.path.stem))
        costly = estimator is not None or item.originalname in COMPILING if learner else False
        if costly and learner not in REPRESENTATIVE:
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say so when proofs were left out: a green run without data proves less."""
    absent = [report for report in terminalreporter.stats.get("skipped", []) if "ONEPASS_DATA" in str(report.longrepr)]
    if absent:
        terminalreporter.section("data absent", yellow=True, bold=True)
        terminalreporter.write_line(f"{len(absent)} tests were skipped because their data is absent: {absent[0].longrepr[-1]}")
