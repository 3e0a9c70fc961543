"""Cosine and sine of whole arrays, in loops that the compiler turns into vectors, which it can't do with calls of the library's."""

from __future__ import annotations

from math import factorial, pi
from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point

QUARTER = pi / 2
C2, C4, C6, C8 = -1 / 2, 1 / factorial(4), -1 / factorial(6), 1 / factorial(8)
C10, C12, C14, C16 = -1 / factorial(10), 1 / factorial(12), -1 / factorial(14), 1 / factorial(16)
S3, S5, S7, S9 = -1 / 6, 1 / factorial(5), -1 / factorial(7), 1 / factorial(9)
S11, S13, S15 = -1 / factorial(11), 1 / factorial(13), -1 / factorial(15)


@entry_point
def circle(turns: Any, cosines: Any, sines: Any, radius: Any) -> Any:
    """The points at these angles on a circle; angles are in whole turns, of which only the fraction counts.

    Taylor's series of a quarter of the angle, at most pi/4, good to the last digits there; then the angle is doubled twice.
    """
    kind = turns.dtype.type
    quarter, one, two, radius = kind(QUARTER), kind(1), kind(2), kind(radius)
    c2, c4, c6, c8, c10, c12, c14, c16 = kind(C2), kind(C4), kind(C6), kind(C8), kind(C10), kind(C12), kind(C14), kind(C16)
    s3, s5, s7, s9, s11, s13, s15 = kind(S3), kind(S5), kind(S7), kind(S9), kind(S11), kind(S13), kind(S15)
    for i in range(len(turns)):
        a = quarter * (turns[i] - np.rint(turns[i]))
        b = a * a
        sine = a * (one + b * (s3 + b * (s5 + b * (s7 + b * (s9 + b * (s11 + b * (s13 + b * s15)))))))
        cosine = one + b * (c2 + b * (c4 + b * (c6 + b * (c8 + b * (c10 + b * (c12 + b * (c14 + b * c16)))))))
        half_sine, half_cosine = two * sine * cosine, one - two * sine * sine
        cosines[i] = radius * (one - two * half_sine * half_sine)
        sines[i] = radius * (two * half_sine * half_cosine)
