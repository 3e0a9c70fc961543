"""Machine words: four instructions of the processor that Python has no operator for, each with its plain Python form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.core.extending import intrinsic, overload, register_jitable

from onepass.compiled.compiler import CHECKED

# Part of every kernel that calls it, for what runs at every byte; and floating point to the letter, unlike a kernel's own.
inlined: Callable[[Callable[..., Any]], Any] = register_jitable(nogil=True, error_model="numpy", forceinline=True, **CHECKED)


def word(data: Any, i: Any) -> Any:
    """The eight bytes from i on, the first one lowest. Nothing checks that there are eight."""
    return np.uint64(int.from_bytes(data[i : i + 8].tobytes(), "little"))


def leading_zeros(x: Any) -> Any:
    """The number of zero bits above the highest one."""
    return np.uint64(64 - int(x).bit_length())


def trailing_zeros(x: Any) -> Any:
    """The number of zero bits below the lowest one, 64 if there is none."""
    return (int(x) & -int(x)).bit_length() - 1 if x else 64


def product(a: Any, b: Any) -> Any:
    """The upper and the lower 64 bits of a * b."""
    whole = int(a) * int(b)
    return np.uint64(whole >> 64), np.uint64(whole & (2**64 - 1))


@intrinsic
def _word(typing_context: Any, data: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from numba.np.arrayobj import make_array  # only compiling needs it, and it takes long to import

        start = make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(start, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(data, types.int64), generate


@intrinsic
def _leading_zeros(typing_context: Any, x: Any) -> Any:
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctlz(
        arguments[0], ir.Constant(ir.IntType(1), 0)
    )


@intrinsic
def _trailing_zeros(typing_context: Any, x: Any) -> Any:
    return types.int64(types.uint64), lambda context, builder, signature, arguments: builder.cttz(
        arguments[0], ir.Constant(ir.IntType(1), 0)
    )


@intrinsic
def _product(typing_context: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, narrow = ir.IntType(128), ir.IntType(64)
        whole = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        high = builder.trunc(builder.lshr(whole, ir.Constant(wide, 64)), narrow)
        return context.make_tuple(builder, signature.return_type, [high, builder.trunc(whole, narrow)])

    pair = types.UniTuple(types.uint64, 2)
    return pair(types.uint64, types.uint64), generate


@overload(word, strict=False)
def _(data: Any, i: Any) -> Any:
    return lambda data, i: _word(data, i)  # type: ignore[call-arg]  # noqa: PLW0108  (Numba wants a function, not an intrinsic)


@overload(leading_zeros, strict=False)
def _(x: Any) -> Any:
    return lambda x: _leading_zeros(x)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(trailing_zeros, strict=False)
def _(x: Any) -> Any:
    return lambda x: _trailing_zeros(x)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(product, strict=False)
def _(a: Any, b: Any) -> Any:
    return lambda a, b: _product(a, b)  # type: ignore[call-arg]  # noqa: PLW0108
