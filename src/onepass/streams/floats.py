"""The float64 nearest to a decimal number, in whole-number arithmetic.

Lemire 2021, "Number parsing at a gigabyte per second": w * 10^q = (w * 5^q) * 2^q, and 128 bits of 5^q are nearly always enough
to know the 53 bits of the result. Where they are not, the caller is told so. There is no floating-point operation here on
purpose: kernels are compiled with rules that allow x * (1/y) for x / y, which rounds twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point
from onepass.compiled.instructions import leading_zeros, product

LIMIT = 64  # powers of ten from -LIMIT to LIMIT: all of these products are normal numbers, no overflow and no underflow
UNSURE = np.uint64(0x7FF0000000000000)  # the bits of infinity, which is never an answer


def _power_of_five(q: int) -> int:
    """The leading 128 bits of 5^q. The inverses of exact powers are rounded up: the paper's proof wants it so."""
    five: int = 5**q << 128 if q >= 0 else (1 << (256 - 5 * q)) // 5**-q
    leading = five >> (five.bit_length() - 128)
    return leading + 1 if -27 <= q < 0 else leading


POWERS = [_power_of_five(q) for q in range(-LIMIT, LIMIT + 1)]
HIGH = np.array([power >> 64 for power in POWERS], dtype=np.uint64)
LOW = np.array([power & (2**64 - 1) for power in POWERS], dtype=np.uint64)

ZERO, ONE, THREE = np.uint64(0), np.uint64(1), np.uint64(3)


@entry_point
def nearest(w: Any, q: Any) -> Any:
    """The bits of the float64 nearest to w * 10^q, for a uint64 w and |q| <= LIMIT; UNSURE where 128 bits do not tell."""
    if w == ZERO:
        return ZERO
    shift = leading_zeros(w)
    w = w << shift
    high, low = product(w, HIGH[q + LIMIT])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = product(w, LOW[q + LIMIT])
        if low > ~more:  # low + more does not fit
            high += ONE
            low = low - ~more - ONE
        else:
            low += more
        if low == ~ZERO:
            return UNSURE
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    if low <= ONE and -4 <= q <= 23 and mantissa & THREE == ONE and mantissa << (top + np.uint64(9)) == high:
        mantissa -= ONE  # exactly half-way: to even
    mantissa = (mantissa + ONE) >> ONE
    exponent = np.uint64((217706 * q >> 16) + 1086) + top - shift  # 217706 / 2^16 is log2(10); never negative for |q| <= LIMIT
    return mantissa + ((exponent - ONE) << np.uint64(52))  # the mantissa's leading bit adds the one; a carry out of it adds two
