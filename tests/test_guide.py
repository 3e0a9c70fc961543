"""CONTRIBUTING.md, followed to the letter: its code blocks make a learner that passes all tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n# (\S+?)(?:, (.+?))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEW = "QuadraticPA"
# The files with tests of every learner: to collect all files would take longer than to run these.
ABOUT_ALL = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "tests").rglob("test_*.py")
    if re.search(r"^from doors|learners\(\)|__all__|^@for_classes", path.read_text(), re.MULTILINE)
)


def follow(guide: str, project: Path) -> None:
    """Put the code blocks of a guide where they say that they belong."""
    blocks = BLOCK.findall(guide)
    assert len(blocks) == guide.count("```python")
    for name, where, code in blocks:
        path = project / name
        text = path.read_text() if path.exists() else ""
        if where.startswith("in "):  # a table
            start = re.search(rf"^{where[3:]}\b.*= [{{\[]\n", text, re.MULTILINE)
            assert start, f"{name} has no {where}"
            text = text[: start.end()] + code + text[start.end() :]
        elif where:
            text = text.replace("\n__all__ = [\n", f'{code}\n__all__ = [\n    "{NEW}",\n')
        else:
            text += ("\n\n" if text else "") + code
        path.write_text(text)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guide") / "project"
    for name in ("src", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "cells"))
    for file in (*ROOT.glob("*.md"), ROOT / "conftest.py", ROOT / "pyproject.toml"):
        shutil.copy(file, folder)
    follow((ROOT / "CONTRIBUTING.md").read_text(), folder)
    return folder


def run(project: Path, *command: str) -> str:
    """What a command says in the copy, whose package it imports."""
    environment = {**os.environ, "PYTHONPATH": str(project / "src"), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


def test_the_learner_of_the_guide_passes_all_tests(project: Path) -> None:
    """In plain Python: twin, proof, contract, ways in, scikit-learn's checks, signature, docstring and example."""
    chosen = f"{NEW} or quadratic_pa"
    said = run(project, "pytest", "-v", "-m", "", "-k", chosen, *ABOUT_ALL, "src/onepass/linear/quadratic.py")
    passed = re.findall(r"^(\S+?)::\S+ PASSED", said, re.MULTILINE)
    assert len(passed) > 150
    assert {f"tests/test_{name}.py" for name in ("naive", "optimal", "contract", "doors", "sklearn", "signatures")} <= {*passed}


def test_the_learner_of_the_guide_is_well_typed_and_formatted(project: Path) -> None:
    new = "src/onepass/linear/quadratic.py"
    run(project, "ruff", "check", "--no-cache", new, "tests/naive.py", "tests/test_optimal.py")
    run(project, "ruff", "format", "--no-cache", "--check", new)
    known = ROOT / ".mypy_cache"  # what `make lint` has read: the copy is the same but for the learner
    if known.is_dir():
        shutil.copytree(known, project / ".mypy_cache", ignore=shutil.ignore_patterns("snippet"))
    run(project, "mypy", "--no-error-summary", new)
