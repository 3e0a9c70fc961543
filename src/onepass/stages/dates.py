"""Dates as numbers: days, and where they are in the day, the week and the year."""

from __future__ import annotations

import datetime
import math
import re
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from onepass.base.state import Array

PARTS = ("", " (day, sine)", " (day, cosine)", " (week, sine)", " (week, cosine)", " (year, sine)", " (year, cosine)")
DAY, YEAR = 86400.0, 365.2425
LOOKS_LIKE_A_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d.*)?\Z")


def days_of(values: Any) -> Array:
    """Dates as days since 1970, NaN for what is no date."""
    if not isinstance(values, list) and values.dtype.is_temporal():
        stamps = values.cast(nw.Datetime("us")).to_numpy().astype("datetime64[us]").astype(np.float64)
        return np.where(values.is_null().to_numpy(), np.nan, stamps / 1e6 / DAY)
    known: dict[Any, float] = {}
    listed = values if isinstance(values, list) else values.to_list()
    return np.array([known[v] if v in known else known.setdefault(v, seconds_of(v) / DAY) for v in listed], float)


def seconds_of(value: Any) -> float:
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            return math.nan
    if not isinstance(value, datetime.date):
        return math.nan
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).timestamp()


def cycles_of(days: Array) -> Array:
    """Sine and cosine of the time of day, of the week and of the year; 0 where there is no date."""
    turns = np.array([days, (days + 4) / 7, days / YEAR]) * 2 * np.pi
    return np.nan_to_num(np.stack([np.sin(turns), np.cos(turns)], axis=1).reshape(6, -1))


def parts_of(value: Any) -> tuple[float, ...]:
    """One date as its days and its cycles."""
    days = seconds_of(value) / DAY
    return days, *cycles_of(np.array([days]))[:, 0].tolist()


parts_of_known = lru_cache(2**12)(parts_of)  # many rows have the same date
