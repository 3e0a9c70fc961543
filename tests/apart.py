"""Scripts in processes of their own, such as those that run all learners where kernels are plain Python, and what they report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sklearn.utils._param_validation import StrOptions

TESTS = Path(__file__).parent
INTERPRETED, COMPILED = {"NUMBA_DISABLE_JIT": "1"}, {"ONEPASS_BOUNDSCHECK": "1"}

Case = tuple[str, Callable[[], None]]  # what it is, and what it does

# --- processes ---


def run(script: Path, *arguments: str, **environment: str) -> str:
    """What a script prints in a process of its own."""
    import onepass  # not above: a script may have to see to Numba first

    path = os.pathsep.join(map(str, (TESTS, Path(onepass.__file__).parents[1])))
    kept = {name: value for name, value in os.environ.items() if name not in INTERPRETED | COMPILED}
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        check=False,
        env={**kept, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def failures(script: str, report: Path, names: list[str], environment: dict[str, str]) -> dict[str, list[str]]:
    """The cases of each name that failed, by a script of this folder that writes a report."""
    run(TESTS / script, str(report), *names, **environment)
    return json.loads(report.read_text())  # type: ignore[no-any-return]


def asked(request: Any) -> list[str]:
    """The names that a file's fixture of cases is asked for, by all its tests that were chosen."""
    items = [item for item in request.session.items if item.path == request.path]
    return [item.callspec.params["name"] for item in items if request.fixturename in item.fixturenames]


def write_report(path: str, names: Iterable[str], cases: Callable[[str], Iterable[Case]]) -> None:
    """Run the cases of all names, and write those that failed, with what they raised."""
    os.fsync = lambda _: None  # thousands of models are saved, none of which has to outlive a crash
    failed: dict[str, list[str]] = {name: [] for name in names}
    for name in failed:
        for told, do in cases(name):
            try:
                do()
            except Exception:
                failed[name].append(f"{told}\n{traceback.format_exc()}")
    Path(path).write_text(json.dumps(failed))


# --- parameters ---

SIZES = "dimensions", "hyperplanes", "components", "hidden", "prototypes", "rank"
SMALL = {"dimensions": 3, "components": 4, "hidden": 4, "prototypes": 4, "budget": 6, "n_features": 1, "random_state": 0}


def own(cls: Any, **more: Any) -> dict[str, Any]:
    """Small sizes for what a learner has."""
    return _small(cls) | more


@cache
def _small(cls: Any) -> dict[str, Any]:
    takes = {
        name for name, default in cls().get_params().items() if not isinstance(default, str)
    }  # a budget may be one of time
    return {name: value for name, value in SMALL.items() if name in takes}


def choices(cls: Any) -> Iterator[dict[str, Any]]:
    """Each size 1, each option by name and each switch that a learner has, one at a time."""
    apart = {"kernel", "class_weight", "grow", "mode", "max_iter"}
    default = cls().get_params()
    for name in sorted(default.keys() - apart):
        for rule in cls._parameter_constraints[name]:
            if name in SIZES and rule is not None:
                yield {name: 1}
            elif isinstance(rule, StrOptions):
                yield from ({name: option} for option in sorted(rule.options) if option != default[name])
            elif rule == "boolean":
                yield {name: not default[name]} | ({"epsilon": 1.0} if name == "learn_radius" else {})  # which it is part of
