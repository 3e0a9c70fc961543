"""Machine code that is called by its address.

What calls a function by its address is compiled without it, and need not know its types: arguments are whole numbers, floating-point
numbers and addresses of records (`compiled/kept.py`), and so is the answer, a whole number or an address. In plain Python an address is
the function, or the record, itself.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, config, types
from numba.core.extending import intrinsic, overload

from onepass.compiled.borrow import without_owners
from onepass.compiled.kept import Kept, KeptType, _store


def address(compiled: Any, *arguments: Any) -> tuple[Any, Any]:
    """Where the machine code of an entry point for arguments like these, or of these types, is; and the type of its answer."""
    if config.DISABLE_JIT:
        return compiled, None
    signature = tuple(one if isinstance(one, types.Type) else numba.typeof(one) for one in arguments)
    compiled.compile(signature)
    result = compiled.overloads[signature]
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name), result.signature.return_type


def addresses(found: list[Any]) -> Any:
    """Addresses side by side."""
    together = np.empty(len(found), object if config.DISABLE_JIT else np.int64)
    together[:] = found
    return together


def reach(function: Any, *arguments: Any) -> Any:
    """Call a function by its address."""
    return function(*arguments)


def laid(record: Any, place: Any) -> Any:
    """The address of a record, which is laid out at a place: an array of int64, large enough."""
    return Kept(record)


def put_away(record: Any) -> Any:
    """The address of a record, which is held until it is thrown away."""
    return Kept(record)


def throw_away(kept: Any) -> None:
    """Let go of what was put away."""


@intrinsic
def _reach(typing_context: Any, function: Any, arguments: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given = [builder.extract_value(values[1], i) for i in range(len(arguments))]
        kind = ir.FunctionType(ir.IntType(64), [value.type for value in given])
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), given)

    return types.int64(function, arguments), generate


@overload(reach, strict=False)
def _(function: Any, *arguments: Any) -> Any:
    return lambda function, *arguments: _reach(function, arguments)  # type: ignore[call-arg]


@overload(laid, strict=False)
def _(record: Any, place: Any) -> Any:
    def implementation(record: Any, place: Any) -> Any:
        _store(record, place)  # type: ignore[call-arg]
        return np.int64(place.ctypes.data)

    return implementation


# What is put away lies there twice: without owners, for those who read it, and with them, to give it back.
@intrinsic
def _hold(typing_context: Any, record: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        layout = context.get_data_type(record)
        place = context.nrt.allocate(builder, context.get_constant(types.intp, 2 * context.get_abi_sizeof(layout)))
        twice = builder.bitcast(place, layout.as_pointer())
        context.pack_value(builder, record, without_owners(context, builder, record, values[0]), twice)
        context.pack_value(builder, record, values[0], cgutils.gep(builder, twice, 1))
        context.nrt.incref(builder, record, values[0])
        return builder.ptrtoint(place, ir.IntType(64))

    return KeptType(record)(record), generate


@intrinsic
def _release(typing_context: Any, kept: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        twice = builder.inttoptr(values[0], context.get_data_type(kept.content).as_pointer())
        owners = context.unpack_value(builder, kept.content, cgutils.gep(builder, twice, 1))
        context.nrt.decref(builder, kept.content, owners)
        context.nrt.free(builder, builder.bitcast(twice, ir.IntType(8).as_pointer()))
        return context.get_dummy_value()

    return types.void(kept), generate


@overload(put_away, strict=False)
def _(record: Any) -> Any:
    return lambda record: _hold(record)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(throw_away, strict=False)
def _(kept: Any) -> Any:
    return lambda kept: _release(kept)  # type: ignore[call-arg]  # noqa: PLW0108
