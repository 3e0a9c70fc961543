"""Measurements that are made once: each is a cell, known by what it is of, and kept in a file of its own.

So an interrupted experiment goes on where it stopped, more permutations add to those that are there, and experiments share what they
measure alike. What it is of includes the data, the source of the learners and of the measurement, and the libraries: figures of other
code are not taken for those of this one.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import onepass
from onepass.base.saving import replace_file

# What learns nothing: it may change without any figure changing. The module of a measurement counts all the same.
ELSEWHERE = {"cli", "experiments", "plots"}
LIBRARIES = ("numpy", "numba", "scikit-learn")


class Task(NamedTuple):
    """A measurement to be made: what it is of, as JSON takes it, and the function that makes it, with an answer of the same kind."""

    key: Mapping[str, Any]
    measure: Callable[[], dict[str, Any]]


class Cells:
    """The measurements below a folder. `jobs` are made at the same time, each in a thread. `begin` is called with the number of
    measurements that are wanted next, `advance` after each."""

    def __init__(
        self,
        folder: Path,
        jobs: int = 1,
        begin: Callable[[int], object] = lambda count: None,
        advance: Callable[[], object] = lambda: None,
    ) -> None:
        self.folder, self._jobs, self._begin, self._advance = folder, jobs, begin, advance

    def measured(self, tasks: list[Task]) -> list[dict[str, Any]]:
        """What was measured, in the order of the tasks; what is known already is read."""
        self._begin(len(tasks))
        found = [self._read(task) for task in tasks]
        waiting = [i for i, answer in enumerate(found) if answer is None]
        for _ in range(len(tasks) - len(waiting)):
            self._advance()
        pool = ThreadPoolExecutor(self._jobs)
        try:
            running = {pool.submit(self._measure, tasks[i]): i for i in waiting}
            for future in as_completed(running):
                found[running[future]] = future.result()
                self._advance()
        finally:  # after an error or Ctrl-C nothing new is begun; what was finished is kept
            pool.shutdown(cancel_futures=True)
        return [answer for answer in found if answer is not None]

    def _measure(self, task: Task) -> dict[str, Any]:
        answer = task.measure()
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self._path(task), json.dumps({"of": task.key, "measured": answer}).encode())
        return answer

    def _read(self, task: Task) -> dict[str, Any] | None:
        try:
            content: dict[str, Any] = json.loads(self._path(task).read_text(encoding="utf-8"))
            return content["measured"]
        except (OSError, ValueError, KeyError):  # not there, or broken: measure it again
            return None

    def _path(self, task: Task) -> Path:
        measure = task.measure.func if isinstance(task.measure, partial) else task.measure
        text = json.dumps({**task.key, "source": source(), "measure": _content(inspect.getfile(measure))}, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


@cache
def source() -> str:
    """A stamp of all that learns: our source, and the libraries."""
    root = Path(onepass.__file__).parent
    files = [path for path in sorted(root.rglob("*.py")) if path.relative_to(root).parts[0] not in ELSEWHERE]
    libraries = " ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return hashlib.sha256(b"\0".join([libraries.encode(), *(path.read_bytes() for path in files)])).hexdigest()


@cache
def _content(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
