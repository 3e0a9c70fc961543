"""Methods that some objects of a class have, and others have not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any


def offered_if(check: Callable[[Any], object]) -> Any:
    """Decorate a method that is there only if `check(self)` raises no AttributeError. That error is what users see: unlike the one of
    scikit-learn's `available_if`, it can say what to do. `hasattr` is False all the same."""
    return partial(_Offered, check)


class _Offered:
    def __init__(self, check: Callable[[Any], object], method: Callable[..., Any]) -> None:
        self._check, self._method = check, method

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self._method
        self._check(owner)
        return MethodType(self._method, owner)
