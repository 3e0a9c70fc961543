"""One writer at a time, and readers that never see half of what it does.

Every estimator has a lock that its writers hold. Readers hold none: they take a state, which is one whole version of a model, and the
numbers in it are read as of one moment (`compiled/pulse.py`). Where a call learns from many rows, readers see a copy from before it
until all of it is learned (`guarded`), and that copy is what an error goes back to.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable
from itertools import starmap, takewhile
from operator import call, ior, is_, setitem
from typing import Any, Self

TRIES = 4  # so often does a reader read before it asks a writer to wait

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_held_for_fork: list[Any] = []


def new_lock() -> Any:
    """A lock that its holder may take again, and that forks wait for."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


class Locked:
    """What has writers. However it comes to be, it has a lock of its own, which is no part of what is pickled."""

    _lock: Any

    def __new__(cls, *_: Any, **__: Any) -> Self:
        made = super().__new__(cls)
        made._lock = new_lock()
        return made


def _before_fork() -> None:
    """Wait until nobody writes: a child would inherit half a step, and a lock that nobody opens."""
    locks = list(_locks)
    while True:
        for lock in locks:
            if not lock.acquire(timeout=0.02):
                break
            _held_for_fork.append(lock)
        else:
            return
        # Its holder may wait for one that is held here. It comes first next time, or a busy writer would never be without a lock.
        _after_fork()
        locks.remove(lock)
        locks.insert(0, lock)


def _after_fork() -> None:
    while _held_for_fork:
        _held_for_fork.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def at_once(*calls: tuple[Any, ...]) -> list[Any]:
    """Make some calls, each a function that is no Python and its arguments, with no Python in between: no Ctrl-C comes between them,
    and no other thread, unless a function lets go of the interpreter."""
    return list(starmap(call, calls))


def while_true(*calls: tuple[Any, ...]) -> list[Any]:
    """Make some calls as `at_once` does, up to the first that gives nothing; the answers of those before it."""
    return list(takewhile(bool, starmap(call, calls)))


# These are no context managers: Ctrl-C may come at the beginning of an `__exit__` that is written in Python, before it does anything.


def guarded(work: Callable[[], Any], *steps: Any) -> Any:
    """What `work` gives. Readers see the steps as they are now until it ends; if it raises, that is how they stay."""
    mine = [step for step in steps if step._shown is None]  # the others are guarded already
    saved = [None if step._state is None else step._state.set_aside() for step in mine]
    show: list[tuple[Any, ...]] = [
        (ior, vars(step), {"_bound": None, "_shown": (state,)}) for step, state in zip(mine, saved, strict=True)
    ]
    pulses = [step._state.pulse for step in mine if step._state is not None]
    show += [(setitem, pulse, 0, pulse[0] | 1) for pulse in pulses]  # for a reader that took the state a moment ago
    hide = [(ior, vars(step), {"_shown": None}) for step in mine]
    back = [
        (ior, vars(step), {"_bound": None, "_state": state, "_shown": None}) for step, state in zip(mine, saved, strict=True)
    ]
    undo = starmap(call, back)
    try:
        at_once(*show)
        answer = work()
        latest = [step._state.pulse for step in mine if step._state is not None]
        at_once(*[(setitem, pulse, 0, pulse[0] + pulse[0] % 2) for pulse in latest], *hide)
    except BaseException:
        _ = [*undo]  # not a call: no Ctrl-C comes before it
        raise
    return answer


def in_place(work: Callable[[], Any], learner: Any, kept: Iterable[tuple[Any, Any, Any]] = ()) -> Any:
    """What `work` gives, which may change the numbers of a learner whose state is too large to be copied. Readers are told: its pulse
    is odd, and so is that of every larger state that it becomes. If it raises, what was `kept` (arrays, places in them, and what
    was there) is put back."""
    back: list[tuple[Any, ...]] = [(setitem, *part) for part in kept]
    if back:
        back.append((ior, vars(learner), {"_bound": None, "_state": learner._state}))
    undo = starmap(call, back)
    try:
        learner._state.pulse[0] |= 1
        return work()
    except BaseException:
        _ = [*undo]  # as above
        raise
    finally:
        learner._state.pulse[0] += learner._state.pulse[0] % 2  # not a call either


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
        before = pulse[0]
        if not all(map(is_, taken, states())):
            continue  # the counter may be that of a state with more features, in the same arrays
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
