"""What a program waits for before it starts: names are imported when they are asked for, and help pages need nothing large."""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import onepass
from onepass.cli import main

SOURCE = Path(onepass.__file__).parent
LARGE = {"matplotlib", "narwhals", "numba", "numpy", "pandas", "pyarrow", "rich", "scipy", "sklearn"}


def imported(*arguments: str) -> set[str]:
    """The packages that a run of Python imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], *([command, "--help"] for command in main.commands)], ids=" ".join
)
def test_help_needs_nothing_large(arguments: list[str]) -> None:
    packages = imported("-m", "onepass", *arguments)
    assert "onepass" in packages
    assert not packages & LARGE


def test_a_name_is_imported_when_it_is_asked_for() -> None:
    assert not imported("-c", "import onepass") & LARGE
    assert {"numba", "sklearn"} <= imported("-c", "from onepass import PAClassifier")


def test_parts_are_there_without_being_imported_by_name() -> None:
    code = "import onepass; onepass.base.Learner, onepass.kernel.KernelPA, onepass.streams.open"
    assert "onepass" in imported("-c", code)


def test_all_names() -> None:
    names: dict[str, object] = {}
    exec("from onepass import *", names)
    assert set(onepass.__all__) == set(names) - {"__builtins__"}
    assert len(onepass.__all__) == len(set(onepass.__all__))
    assert {*onepass.__all__, "__version__"} <= set(dir(onepass))
    for name, learner in onepass.learners().items():
        assert names[name] is getattr(onepass, name) is learner
        assert pickle.loads(pickle.dumps(learner)) is learner


def test_names_that_are_not_there() -> None:
    for name in ("Unknown", "_unknown", "__unknown__"):
        with pytest.raises(AttributeError, match=f"module 'onepass' has no attribute '{name}'"):
            getattr(onepass, name)


def test_type_checkers_see_the_same_names() -> None:
    (block,) = (part for part in ast.parse((SOURCE / "__init__.py").read_text()).body if isinstance(part, ast.If))
    names: set[str] = set()
    for statement in block.body:
        assert isinstance(statement, ast.ImportFrom)
        assert statement.module is not None
        for alias in statement.names:
            if alias.name == "*":
                names |= set(sys.modules[statement.module].__all__)
            else:
                names.add(alias.name)
    assert names == set(onepass.__all__)
