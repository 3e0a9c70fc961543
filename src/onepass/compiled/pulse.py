"""How a reader knows that a writer was at work: a counter that is odd while the numbers of a state change (a sequence lock).

A writer counts up before and after each step. A reader looks at the counter before and after it reads, and reads again if they differ
or a step was under way: nobody waits for anybody, and what is read belongs to one moment. The fences keep compiler and processor from
moving reads and writes of the numbers past those of the counter.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.core.extending import intrinsic, overload


def begin_step(pulse: Any) -> None:
    """The numbers are about to change. Without the JIT nothing runs beside a step."""


def end_step(pulse: Any) -> None:
    """The numbers have changed."""


def moment(pulse: Any) -> Any:
    """The counter, to be asked before numbers are read."""
    return 0


def still(pulse: Any, before: Any) -> Any:
    """Whether what was read since the moment `before` belongs to it."""
    return True


def _counter(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    from numba.np.arrayobj import make_array  # only compiling needs it, and it takes long to import

    return make_array(kind)(context, builder, value).data


@intrinsic
def _begin(typing_context: Any, pulse: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counter = _counter(context, builder, signature.args[0], arguments[0])
        count = builder.load_atomic(counter, "monotonic", 8)
        builder.store_atomic(builder.add(count, ir.Constant(ir.IntType(64), 1)), counter, "monotonic", 8)
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(pulse), generate


@intrinsic
def _end(typing_context: Any, pulse: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counter = _counter(context, builder, signature.args[0], arguments[0])
        builder.fence("release")
        count = builder.load_atomic(counter, "monotonic", 8)
        builder.store_atomic(builder.add(count, ir.Constant(ir.IntType(64), 1)), counter, "monotonic", 8)
        return context.get_dummy_value()

    return types.void(pulse), generate


@intrinsic
def _moment(typing_context: Any, pulse: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_counter(context, builder, signature.args[0], arguments[0]), "acquire", 8)

    return types.int64(pulse), generate


@intrinsic
def _still(typing_context: Any, pulse: Any, before: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("acquire")
        now = builder.load_atomic(_counter(context, builder, signature.args[0], arguments[0]), "monotonic", 8)
        one = ir.Constant(ir.IntType(64), 1)
        even = builder.icmp_signed("==", builder.and_(arguments[1], one), ir.Constant(ir.IntType(64), 0))
        return builder.and_(even, builder.icmp_signed("==", now, arguments[1]))

    return types.boolean(pulse, types.int64), generate


@overload(begin_step, strict=False)
def _(pulse: Any) -> Any:
    return lambda pulse: _begin(pulse)  # type: ignore[call-arg]  # noqa: PLW0108  (Numba wants a function, not an intrinsic)


@overload(end_step, strict=False)
def _(pulse: Any) -> Any:
    return lambda pulse: _end(pulse)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(moment, strict=False)
def _(pulse: Any) -> Any:
    return lambda pulse: _moment(pulse)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(still, strict=False)
def _(pulse: Any, before: Any) -> Any:
    return lambda pulse, before: _still(pulse, before)  # type: ignore[call-arg]  # noqa: PLW0108
