"""Arrays without reference counting.

Numba counts a reference whenever an array is viewed or taken out of a record, with atomic instructions, in the innermost loops too:
for small models that is most of the time. Whatever a call was given outlives the call, so it need not be counted.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.extending import intrinsic, overload


def borrowed(value: Any) -> Any:
    """The same array, or record of arrays, without its owner: it is good as long as the owner is held elsewhere."""
    return value


def lent(array: Any) -> Any:
    """The same array, borrowed and not to be written: as all data that comes in is."""
    return array


def keep_alive(value: Any) -> None:
    """Hold the owner of borrowed arrays up to here."""


@intrinsic
def _without_owner(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return without_owners(context, builder, signature.return_type, arguments[0])

    return value(value), generate


@intrinsic
def _read_only(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return without_owners(context, builder, array, arguments[0])  # a type that can't be written has the same layout

    return array.copy(readonly=True)(array), generate


def without_owners(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The code for an array, or record of arrays, without its owner."""
    if isinstance(kind, types.BaseTuple):
        for i, part in enumerate(kind):
            stripped = without_owners(context, builder, part, builder.extract_value(value, i))
            value = builder.insert_value(value, stripped, i)
        return value
    if not isinstance(kind, types.Array):
        return value
    from numba.np.arrayobj import make_array  # only compiling needs it, and it takes long to import

    array = make_array(kind)(context, builder, value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


@overload(borrowed, strict=False)
def _(value: Any) -> Any:
    def implementation(value: Any) -> Any:
        return _without_owner(value)  # type: ignore[call-arg]

    return implementation


@overload(lent, strict=False)
def _(array: Any) -> Any:
    def implementation(array: Any) -> Any:
        return _read_only(array)  # type: ignore[call-arg]

    return implementation


@overload(keep_alive, strict=False)
def _(value: Any) -> Any:
    return lambda value: None
