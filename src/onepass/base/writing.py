"""One writer at a time, and readers that never see half of what it does.

Every estimator has a lock that its writers hold. Readers hold none: they take a state, which is one whole version of a model, and the
numbers in it are read as of one moment (`compiled/pulse.py`). Where a call learns from many rows, readers see a copy from before it
until all of it is learned (`guarded`), and that copy is what an error goes back to.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from itertools import starmap
from operator import call
from typing import Any

TRIES = 4  # so often does a reader read before it asks a writer to wait

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_held_for_fork: list[Any] = []


def new_lock() -> Any:
    """A lock that its holder may take again, and that forks wait for."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _before_fork() -> None:
    """Wait until nobody writes: a child would inherit half a step, and a lock that nobody opens."""
    while True:
        for lock in list(_locks):
            if not lock.acquire(blocking=False):
                break
            _held_for_fork.append(lock)
        else:
            return
        _after_fork()
        time.sleep(0.001)  # to wait with some locks in hand could be to wait for oneself


def _after_fork() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def at_once(*calls: tuple[Any, ...]) -> list[Any]:
    """Make some calls, each a function that is no Python and its arguments, with no Python in between: no Ctrl-C comes between them,
    and no other thread, unless a function lets go of the interpreter."""
    return list(starmap(call, calls))


class guarded:  # noqa: N801  (it reads as a verb)
    """Let readers see some steps as they are now until the block ends. If it raises, that is how they stay."""

    __slots__ = ("_mine", "_saved")

    def __init__(self, *steps: Any) -> None:
        self._mine = [step for step in steps if step._shown is None]  # the others are guarded already
        self._saved = [None if step._state is None else step._state.set_aside() for step in self._mine]

    def __enter__(self) -> None:
        for step in self._mine:
            step._bound = None
        at_once(*_assignments(self._mine, "_shown", [(state,) for state in self._saved]))
        _begin(self._mine)  # for a reader that took the state a moment ago

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _end(self._mine)
        back = [] if kind is None else _assignments(self._mine, "_state", self._saved)
        at_once(*back, *_assignments(self._mine, "_shown", [None] * len(self._mine)))


class in_place:  # noqa: N801
    """Let readers know that the numbers of a learner, whose state is too large to be copied, change for as long as the block takes."""

    __slots__ = ("_learners",)

    def __init__(self, learner: Any) -> None:
        self._learners = [learner]

    def __enter__(self) -> None:
        _begin(self._learners)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _end(self._learners)


def _begin(steps: list[Any]) -> None:
    for step in steps:
        if step._state is not None:
            step._state.pulse += 1


def _end(steps: list[Any]) -> None:
    for step in steps:
        if step._state is not None:  # which may be another than in the beginning
            step._state.pulse += step._state.pulse % 2


def _assignments(steps: list[Any], name: str, values: list[Any]) -> list[tuple[Any, ...]]:
    return [(object.__setattr__, step, name, value) for step, value in zip(steps, values, strict=True)]


def one_lock(steps: list[Any]) -> Any:
    """The lock of the first step, which all of them share from now on: whoever writes to one of them writes to all."""
    lock = steps[0]._lock
    for step in steps:
        if step._lock is not lock:
            with step._lock:
                step._lock = lock
    return lock


def steadily(read: Callable[[list[Any]], Any], states: Callable[[], list[Any]], lock: Any) -> Any:
    """What `read` finds in the states that `states` gives, the learner's last, at one moment: if somebody wrote meanwhile it reads
    again, and in the end a copy, for which a writer has to wait."""
    for _ in range(TRIES):
        taken = states()
        pulse = taken[-1].pulse
        before = int(pulse[0])
        try:
            answer = read(taken)
        except Exception:
            if before % 2 == 0 and pulse[0] == before:
                raise
        else:
            if before % 2 == 0 and pulse[0] == before:
                return answer
    with lock:
        taken = [state.set_aside() for state in states()]
    return read(taken)
