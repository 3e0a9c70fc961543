"""Methods that some objects of a class have, and others have not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import getattr_static
from types import MethodType
from typing import Any, NoReturn


def offered_if(check: Callable[[Any], object]) -> Any:
    """Decorate a method that is there only if `check(self)` raises no AttributeError. That error is what users see: unlike the one of
    scikit-learn's `available_if`, it can say what to do. `hasattr` is False all the same."""
    return partial(_Offered, check)


def refuse(owner: Any, name: str) -> NoReturn:
    """The AttributeError for what is not there. Where a class has `__getattr__`, Python asks that, and forgets the error of a method
    that is not offered."""
    method = getattr_static(type(owner), name, None)
    if isinstance(method, _Offered):
        method.__get__(owner)
    raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")


class _Offered:
    def __init__(self, check: Callable[[Any], object], method: Callable[..., Any]) -> None:
        self._check, self._method = check, method

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self._method
        self._check(owner)
        return MethodType(self._method, owner)
