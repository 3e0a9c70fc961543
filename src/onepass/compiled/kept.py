"""Records that are taken apart once and not in every call.

To take a record of arrays apart takes Numba longer than to learn from an example. What stays the same from call to call is therefore
laid out once, as machine code wants it, and later calls pass its address.
"""

from __future__ import annotations

from typing import Any, Self

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import config, types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.extending import NativeValue, intrinsic, overload, register_model, typeof_impl, unbox

from onepass.compiled.borrow import without_owners
from onepass.compiled.compiler import entry_point, machine_code


class Kept(int):
    """The address of a record or tuple, which it holds, for calls that read it by `opened`."""

    record: Any
    kind: Any
    _layout: Any

    def __new__(cls, record: Any) -> Self:
        if config.DISABLE_JIT:
            made = super().__new__(cls, 0)
        else:
            layout = machine_code(_laid_out, record)(record)
            made = super().__new__(cls, layout.ctypes.data)
            made._layout, made.kind = layout, numba.typeof(record)
        made.record = record
        return made


def opened(kept: Any) -> Any:
    """The record, its arrays borrowed."""
    return kept.record


class KeptType(types.Type):
    """The Numba type of a `Kept`."""

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(name=f"Kept({content})")

    @property
    def key(self) -> Any:
        """What tells it from others: its name does not, since two records may have the same name and the same types of fields."""
        return self.content


@register_model(KeptType)
class _Address(PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@typeof_impl.register(Kept)  # type: ignore[untyped-decorator]
def _(kept: Kept, _: Any) -> Any:
    return KeptType(kept.kind)


@unbox(KeptType)  # type: ignore[untyped-decorator]
def _(kind: Any, value: Any, c: Any) -> Any:
    return NativeValue(c.pyapi.long_as_longlong(value))


@intrinsic
def _size(typing_context: Any, record: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(record)))

    return types.intp(record), generate


@intrinsic
def _store(typing_context: Any, record: Any, layout: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.np.arrayobj import make_array  # only compiling needs it, and it takes long to import

        place = make_array(layout)(context, builder, arguments[1]).data
        place = builder.bitcast(place, context.get_data_type(record).as_pointer())
        context.pack_value(builder, record, without_owners(context, builder, record, arguments[0]), place)
        return context.get_dummy_value()

    return types.void(record, layout), generate


@intrinsic
def _load(typing_context: Any, kept: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], context.get_data_type(kept.content).as_pointer())
        record = context.unpack_value(builder, kept.content, place)
        # It was laid out without owners. Said once more, the compiler knows, and leaves out all counting.
        return without_owners(context, builder, kept.content, record)

    return kept.content(kept), generate


@overload(opened, strict=False)
def _(kept: Any) -> Any:
    return lambda kept: _load(kept)  # type: ignore[call-arg]  # noqa: PLW0108  (Numba wants a function, not an intrinsic)


@entry_point
def _laid_out(record: Any) -> Any:
    """The record as it lies in memory."""
    layout = np.empty(-(-_size(record) // 8), np.int64)  # type: ignore[call-arg]
    _store(record, layout)
    return layout
