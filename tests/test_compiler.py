"""The cache of machine code: it notices every edit, and never stands in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import onepass
from onepass.compiled.rules import rival

LEARN = """
import numpy as np
from onepass import PAClassifier
from onepass.compiled.chain import run_dense
model = PAClassifier(variant="II", C=1.0, fit_intercept=False, classes=[-1, 1])
model.partial_fit([[1.0, 2.0], [3.0, -1.0]], [1, -1])
one = model.copy().fit([[1.0, 2.0], [3.0, -1.0]], [1, -1])
one.learn_one(np.array([2.0, 1.0]), -1)
print(model.coef_.tolist(), type(run_dense._cache).__name__)
print((one.coef_ - one.copy().fit([[1.0, 2.0], [3.0, -1.0]], [1, -1]).coef_).tolist())
"""


class Copy:
    """A copy of the package with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "src" / "onepass"
        self.cache = folder / "cache"
        shutil.copytree(Path(onepass.__file__).parent, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def start(self, **environment: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
        own = {"PYTHONPATH": str(self.package.parent), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(self.cache)}
        command = [sys.executable, "-c", LEARN]
        return subprocess.Popen(
            command, env={**kept, **own, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def learned(self, **environment: str) -> str:
        """What the copy learns, in a process of its own."""
        return finished(self.start(**environment))

    def entries(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.cache.rglob("*.nbc")}

    def edit(self, path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


def finished(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy that two processes compiled at the same time, on an empty cache."""
    copy = Copy(tmp_path_factory.mktemp("warm"))
    together = [copy.start() for _ in range(2)]
    first, second = (finished(process) for process in together)
    assert first == second
    return copy


def test_processes_that_compile_at_once_leave_a_good_cache(warm: Copy) -> None:
    before = warm.entries()
    assert before
    assert "_Cache" in warm.learned()
    assert warm.entries() == before, "a second start must compile nothing"
    assert not list(warm.cache.rglob("*.tmp"))


def test_a_damaged_entry_is_compiled_again(warm: Copy) -> None:
    before, expected = warm.entries(), warm.learned()
    for k, (path, content) in enumerate(before.items()):
        path.write_bytes([b"", b"not a pickle", content[: len(content) // 2]][k % 3])
    assert warm.learned() == expected
    assert all(len(content) > 1000 for content in warm.entries().values())


def test_an_edited_verb_and_an_edited_learner_are_seen(warm: Copy) -> None:
    """Numba by itself would go on with the machine code of before: the kernel's own file has not changed."""
    before = warm.learned()
    rows, learner = warm.package / "compiled/rows.py", warm.package / "linear/passive_aggressive.py"
    originals = {path: path.read_text() for path in (rows, learner)}
    try:
        warm.edit(rows, "x.scale * x.scale * total", "2 * x.scale * x.scale * total")
        with_verb = warm.learned()
        assert not {*with_verb.splitlines()} & {*before.splitlines()}  # neither a table's step nor a single example's
        warm.edit(learner, "loss = 1 - y * s.scores[0]", "loss = 2 - y * s.scores[0]")
        with_both = warm.learned()
        assert not {*with_both.splitlines()} & {*before.splitlines(), *with_verb.splitlines()}
    finally:
        for path, text in originals.items():
            path.write_text(text)
    assert warm.learned() == before


def test_without_a_place_to_write(tmp_path: Path) -> None:
    """No folder can be made below a file, whoever asks: so every place that Numba would take is put there."""
    copy = Copy(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    for folder in [copy.package, *(path for path in copy.package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    below = str(file / "below")
    output = copy.learned(NUMBA_CACHE_DIR=below, HOME=below, XDG_CACHE_HOME=below, IPYTHONDIR=below)
    assert "NullCache" in output
    assert output.startswith("[[")


def test_a_routine_says_that_it_is_for_kernels_only() -> None:
    with pytest.raises(TypeError, match="no entry from Python"):
        rival(np.zeros(3), 0)
