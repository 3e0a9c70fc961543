"""One writer at a time, and readers that never see half of what it does.

Every estimator has a lock that its writers hold. Readers hold none: they take a state, which is one whole version of a model, and the
numbers in it are read as of one moment (`compiled/pulse.py`). Where a call learns from many rows, readers see a copy from before it
until all of it is learned (`guarded`), and that copy is what an error goes back to.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Iterator
from itertools import starmap
from operator import call
from typing import Any

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


@contextlib.contextmanager
def guarded(*steps: Any) -> Iterator[None]:
    """Let readers see the steps as they are now until the block ends. If it raises, that is how they stay."""
    mine = [step for step in steps if step._shown is None]  # the others are guarded already
    saved = [None if step._state is None else step._state.set_aside() for step in mine]
    unbind, show_all = (_assignments(mine, name, [None] * len(mine)) for name in ("_bound", "_shown"))
    show = [*_assignments(mine, "_shown", [(state,) for state in saved]), *unbind]
    go_back = starmap(call, [*unbind, *_assignments(mine, "_state", saved), *show_all])
    try:  # a Ctrl-C may come in any of these lines
        at_once(*show)
        yield
        at_once(*show_all)
    except BaseException:
        list(go_back)  # one call that is no Python, before which no Ctrl-C comes
        raise


def _assignments(steps: list[Any], name: str, values: list[Any]) -> list[tuple[Any, ...]]:
    return [(object.__setattr__, step, name, value) for step, value in zip(steps, values, strict=True)]


@contextlib.contextmanager
def locked(*steps: Any) -> Iterator[None]:
    """Hold the locks of all steps, always in the same order, so that two writers do not wait for each other."""
    with contextlib.ExitStack() as stack:
        for step in sorted(steps, key=id):
            stack.enter_context(step._lock)
        yield
