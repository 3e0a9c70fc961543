"""Verbs: functions with one form for each kind of data, chosen by type, in plain Python and under Numba alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

import numpy as np
from numba.core import types
from numba.extending import overload

from onepass.compiled.compiler import INNER, OPTIONS

Form = TypeVar("Form", bound=Callable[..., Any])


class Verb(Protocol):
    """A function with forms."""

    def __call__(self, *arguments: Any) -> Any: ...

    def form(self, *classes: type) -> Callable[[Form], Form]:
        """Register the form for arguments of these classes."""


def verb(*positions: int, otherwise: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]], Verb]:
    """Make a verb whose form is chosen by the classes of the arguments at `positions`; `otherwise` is for classes without a form.

    Called in Python (also with `NUMBA_DISABLE_JIT=1`) it looks its form up by class; in machine code Numba does, at compile
    time, so that the choice costs nothing. A form is registered with `@name.form(Class, ...)`, a class for each position.
    """

    def make(function: Callable[..., Any]) -> Verb:
        forms: dict[tuple[type | None, ...], Callable[..., Any]] = {}

        @wraps(function)
        def call(*arguments: Any) -> Any:
            kinds = tuple(type(arguments[p]) for p in positions)
            return (forms[kinds] if otherwise is None else forms.get(kinds, otherwise))(*arguments)

        @overload(call, strict=False, jit_options={**OPTIONS, **INNER, "forceinline": True})  # type: ignore[untyped-decorator]
        def choose(*arguments: Any) -> Any:
            return forms.get(tuple(_class(arguments[p]) for p in positions), otherwise)

        def form(*classes: type) -> Callable[[Form], Form]:
            def register(implementation: Form) -> Form:
                forms[classes] = implementation
                return implementation

            return register

        call.form = form
        return call  # type: ignore[return-value]

    return make


def _class(numba_type: Any) -> type | None:
    """The Python class of a value of this Numba type."""
    if isinstance(numba_type, types.BaseNamedTuple):
        return numba_type.instance_class
    return np.ndarray if isinstance(numba_type, types.Array) else None
