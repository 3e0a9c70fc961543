"""Array views without reference counting.

Numba counts a reference for every view, atomically: for a row of fifty numbers that is a third of the time. The arguments of a
kernel outlive the call, so views of them need no count.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils
from numba.core.extending import intrinsic, overload
from numba.np.arrayobj import make_array


def borrowed(array: Any) -> Any:
    """The same array, of which views may be taken for free as long as the kernel's caller holds it."""
    return array


@intrinsic
def _without_owner(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = make_array(signature.return_type)(context, builder, arguments[0])
        struct.meminfo = cgutils.get_null_value(struct.meminfo.type)
        struct.parent = cgutils.get_null_value(struct.parent.type)
        return struct._getvalue()

    return array(array), generate


@overload(borrowed, strict=False)
def _(array: Any) -> Any:
    return lambda array: _without_owner(array)  # noqa: PLW0108  (Numba wants a function here, not an intrinsic)
