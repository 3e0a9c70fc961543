"""No learner and no stage takes an index out of range, whatever the shape of its data; what a wrong one would do, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onepass
from apart import COMPILED, INTERPRETED, asked, failures, run
from bounds import Checked
from onepass.base import Stage

LEARNERS = sorted(onepass.learners())
STAGES = sorted(
    name for name in onepass.__all__ if isinstance(getattr(onepass, name), type) and issubclass(getattr(onepass, name), Stage)
)


@pytest.fixture(scope="module")
def interpreted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return failures("bounds.py", tmp_path_factory.mktemp("bounds") / "report", asked(request), INTERPRETED)


# A name that is only part of a word does not send the test to the worker of that learner: one worker runs the process for all.
@pytest.mark.parametrize("name", LEARNERS + STAGES, ids=lambda name: f"{name}_")
def test_every_index_is_within_its_array(name: str, interpreted: dict[str, list[str]]) -> None:
    assert not interpreted[name], "\n".join(interpreted[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_compiled_code_with_checked_bounds_runs_through(name: str, tmp_path: Path) -> None:
    failed = failures("bounds.py", tmp_path / "report", [name], COMPILED)[name]
    assert not failed, "\n".join(failed)


# --- the checks themselves ---

TINY = """
import sys
from numba.core import config
if config.DISABLE_JIT:
    from bounds import check_every_index
    check_every_index()
from collections import namedtuple
import numpy as np
from onepass.compiled.borrow import keep_alive
from onepass.compiled.compiler import entry_point, machine_code, routine
from onepass.compiled.loop import borrowed
from onepass.compiled.verb import verb

Record = namedtuple("Record", "values")

@verb(0)
def by_verb(m, i): ...

@by_verb.form(Record)
def _(m, i):
    return m.values[i]

@routine
def by_routine(m, i):
    return m.values[i]

@entry_point
def look(m, way, i):
    own = np.zeros(3)
    m, s = borrowed((m, own))
    found = by_verb(m, i) if way == 0 else by_routine(m, i) if way == 1 else m.values[i] if way == 2 else s[i]
    keep_alive(own)
    return found

m = Record(np.zeros(3))
entry = machine_code(look, m, 0, 0)
for i in map(int, sys.argv[1:]):
    for way in range(4):
        try:
            entry(m, way, i)
            print(i, "taken")
        except IndexError:
            print(i, "refused")
"""


def test_an_index_out_of_range_is_an_error_if_bounds_are_checked(tmp_path: Path) -> None:
    script, cache = tmp_path / "tiny.py", {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    script.write_text(TINY)

    def tried(*indices: str, **environment: str) -> list[str]:
        return run(script, *indices, **cache, **environment).splitlines()

    def every_way(*answers: str) -> list[str]:
        return [answer for answer in answers for _ in range(4)]

    tried("0")  # whose machine code must not be taken for that with checks
    for _ in range(2):  # compiled, and from the cache
        answers = tried("0", "2", "-1", "3", "-4", **COMPILED)
        assert answers == every_way("0 taken", "2 taken", "-1 taken", "3 refused", "-4 refused")
    assert len(list(tmp_path.rglob("*look*.nbc"))) == 2
    assert tried("0", "2", "-1", "3", **INTERPRETED) == every_way("0 taken", "2 taken", "-1 refused", "3 refused")


@pytest.mark.parametrize("key", [-1, 3, np.int64(-1), slice(0, 4), slice(-2, None), (0, 2), (slice(None), -1)], ids=str)
def test_checked_arrays_take_no_index_from_the_end_and_cut_no_slice(key: Any) -> None:
    array = np.zeros((3, 2)).view(Checked)
    with pytest.raises(IndexError, match="not within"):
        array[key]
    with pytest.raises(IndexError, match="not within"):
        array[key] = 1
    assert array[2, 1] == 0
    assert array[0:3, 0:0].shape == (3, 0)
    assert type(array[1:]) is Checked
