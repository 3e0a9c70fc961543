"""The cache of machine code: it notices every edit, is shared by all that mean the same, and never stands in the way."""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numba.core import config

import onepass
from apart import run
from onepass.compiled import compiler
from onepass.compiled.rules import rival

# Steps of a learner from the package, one with its record as a table's loop has it and one with its address as a single example's: all
# that keys an entry, and far less to compile than whole loops.
STEP = """
import numpy as np
from onepass.compiled.compiler import entry_point
from onepass.compiled.kept import Kept, opened
from onepass.compiled.losses import TwoClasses
from onepass.compiled.rows import DenseRows, row
from onepass.compiled.rules import learn, score, scratch
from onepass.linear.passive_aggressive import PA

@entry_point
def step(m, X, y):
    s, x = scratch(m), row(X, 0)
    score(m, x, s)
    learn(m, x, y, 1.0, s)

@entry_point
def step_at(kept, X, y):
    m = opened(kept)
    s, x = scratch(m), row(X, 0)
    score(m, x, s)
    learn(m, x, y, 1.0, s)

X = DenseRows(np.array([[1.0, 2.0]]), 0.0)
table, single = (PA(np.zeros(3), TwoClasses(1.0), 1.0, 2) for _ in range(2))
step(table, X, 1.0)
step_at(Kept(single), X, -1.0)
print(table.w.tolist(), step._cache.cache_path)
print(single.w.tolist())
"""


class Copy:
    """A copy of the package, with a cache of its own unless told."""

    said: str

    def __init__(self, folder: Path, cache: Path | None = None) -> None:
        self.package, self.script = folder / "src" / "onepass", folder / "step.py"
        self.cache = cache or folder / "cache"
        shutil.copytree(Path(onepass.__file__).parent, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        self.script.write_text(STEP)

    def start(self, **environment: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
        own = {"PYTHONPATH": str(self.package.parent), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(self.cache)}
        return subprocess.Popen(
            [sys.executable, self.script],
            env={**kept, **own, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def learned(self, **environment: str) -> str:
        """What the copy learns, in a process of its own."""
        return finished(self.start(**environment))

    def entries(self) -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in self.cache.rglob("*.nbc")}

    @contextmanager
    def edited(self, edits: dict[str, tuple[str, str]]) -> Iterator[None]:
        """Files with something in them replaced, for a while."""
        originals = {name: (self.package / name).read_text() for name in edits}
        try:
            for name, (old, new) in edits.items():
                assert old in originals[name]
                (self.package / name).write_text(originals[name].replace(old, new))
            yield
        finally:
            for name, text in originals.items():
                (self.package / name).write_text(text)


def finished(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy that two processes compiled at the same time, on an empty cache, and what both said."""
    copy = Copy(tmp_path_factory.mktemp("warm"))
    together = [copy.start() for _ in range(2)]
    first, second = (finished(process) for process in together)
    assert first == second
    copy.said = first
    return copy


def test_processes_that_compile_at_once_leave_a_good_cache(warm: Copy) -> None:
    before = warm.entries()
    assert before
    assert str(warm.cache / "onepass") in warm.said
    assert warm.learned() == warm.said
    assert warm.entries() == before, "a second start must compile nothing"
    assert not list(warm.cache.rglob("*.tmp"))


def test_a_damaged_entry_is_compiled_again(warm: Copy) -> None:
    for k, (path, content) in enumerate(warm.entries().items()):
        path.write_bytes([b"", b"not a pickle", content[: len(content) // 2]][k % 3])
    assert warm.learned() == warm.said
    assert all(len(content) > 1000 for content in warm.entries().values())


VERB = {"compiled/rows.py": ("x.scale * x.scale * total", "2 * x.scale * x.scale * total")}
LEARNER = {"linear/passive_aggressive.py": ("return tau(", "return 2 * tau(")}


def test_an_edited_verb_and_an_edited_learner_are_seen_and_the_entries_from_before_are_kept(warm: Copy) -> None:
    """Numba by itself would go on with the machine code of before: the entry point's own file has not changed."""
    before, entries = warm.said, warm.entries()
    with warm.edited(VERB):
        with_verb = warm.learned()
    assert not {*with_verb.splitlines()} & {*before.splitlines()}  # neither a table's step nor a single example's
    with warm.edited(VERB | LEARNER):
        with_both = warm.learned()
    assert not {*with_both.splitlines()} & {*before.splitlines(), *with_verb.splitlines()}
    later = warm.entries()
    assert {path: later[path] for path in entries} == entries
    assert len(later) > len(entries)
    assert warm.learned() == before
    assert warm.entries() == later, "the entries of another branch serve when it is back"


COMMENTS = {
    "compiled/rows.py": ("x.scale * x.scale * total, x.values)", "x.scale * x.scale * total, x.values)  # in words"),
    "compiled/chain.py": ('"""\n\nfrom __future__', 'Edited."""\n# and\n# longer\n\n\nfrom __future__'),
    "linear/passive_aggressive.py": (
        "    return tau(m.variant, weight * m.C, loss, norm2)",
        "\n    return (tau(m.variant, weight * m.C, loss, norm2))",
    ),
}


def test_comments_docstrings_and_lines_are_no_edits(warm: Copy) -> None:
    before, entries = warm.said, warm.entries()
    with warm.edited(COMMENTS):
        assert warm.learned() == before
    assert warm.entries() == entries


def test_a_copy_elsewhere_has_the_same_entries(warm: Copy, tmp_path: Path) -> None:
    before, entries = warm.said, warm.entries()
    assert Copy(tmp_path, warm.cache).learned() == before
    assert warm.entries() == entries


def test_without_a_place_to_write(tmp_path: Path) -> None:
    """No folder can be made below a file, whoever asks: so every place that could be taken is put there."""
    copy = Copy(tmp_path)
    file = tmp_path / "file"
    file.write_text("")
    below = str(file / "below")
    output = copy.learned(NUMBA_CACHE_DIR=below, HOME=below, XDG_CACHE_HOME=below)
    assert output.startswith("[0.0, ")
    assert "None" in output


SMALL = """
import pathlib, sys
from onepass.compiled.compiler import entry_point
one, two = entry_point(lambda x: x + 1), entry_point(lambda x: x + 2)
def closing(y):
    return entry_point(lambda x: x + y)
if "edit" in sys.argv:
    pathlib.Path(__file__).write_text("")
print(one(1), two(1), closing(3)(1), closing(4)(1))
"""


def test_functions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """What a function closes over is in no source: it is compiled every time."""
    (tmp_path / "small.py").write_text(SMALL)
    for _ in range(2):
        assert run(tmp_path / "small.py", NUMBA_CACHE_DIR=str(tmp_path)).split() == ["2", "3", "4", "5"]
        assert len(list(tmp_path.rglob("lambda*.nbc"))) == 2


def test_what_is_edited_after_the_start_is_not_kept(tmp_path: Path) -> None:
    """It would be kept as the machine code of what is written there now."""
    (tmp_path / "small.py").write_text(SMALL)
    run(tmp_path / "small.py", "edit", NUMBA_CACHE_DIR=str(tmp_path))
    assert not list(tmp_path.rglob("lambda*.nbc"))


def test_only_a_folder_of_this_user_alone_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "told"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    found = compiler.folder_of_code.__wrapped__
    told = tmp_path / "told" / "onepass"
    assert found() == told
    assert told.stat().st_mode & 0o777 == 0o700
    told.chmod(0o770)
    own = found()
    assert own == tmp_path / "own" / "onepass" / "machine_code"
    monkeypatch.setattr(os, "getuid", lambda: own.stat().st_uid + 1)
    assert found() is None


@pytest.mark.parametrize("home", ["", "here"])
def test_nothing_is_kept_in_the_working_directory(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    assert compiler.folder_of_code.__wrapped__() is None


def test_what_was_not_used_for_longest_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age in range(5):
        (tmp_path / f"{age}.nbc").write_bytes(bytes(100))
        os.utime(tmp_path / f"{age}.nbc", (0, 1_000_000 - age))
    monkeypatch.setattr(compiler, "CAPACITY", 350)
    compiler._drop_oldest.__wrapped__(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["0", "1", "2"]


def test_a_routine_says_that_it_is_for_entry_points_only() -> None:
    with pytest.raises(TypeError, match="no entry from Python"):
        rival(np.zeros(3), 0)


def test_compiling_is_logged_once_and_a_full_disk_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def successor(x: int) -> int:
        return x + 1

    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(compiler, "folder_of_code", lambda: tmp_path)
    monkeypatch.setattr(compiler, "_write", full)
    caplog.set_level(logging.DEBUG, logger="onepass")
    compiled = compiler.entry_point(successor)
    for x in range(3):
        assert compiled(x) == x + 1
    compiling, keeping = (record for record in caplog.records if record.name == "onepass.compiled.compiler")
    assert compiling.levelname == "DEBUG"
    assert re.match(r"compiled .*successor in \d+\.\d\d s", compiling.getMessage())
    assert keeping.levelname == "WARNING"
    assert "No space left" in keeping.getMessage()
