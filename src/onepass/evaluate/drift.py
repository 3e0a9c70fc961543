"""Detectors of drift: they watch the errors of a model, one after the other, and say when there are more of them than there were.

Each has river's `update(x)` and `drift_detected`, and `watch`, which takes in many errors at the speed of machine code. Errors that
become fewer are no drift: that is what learning is for.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine
from onepass.evaluate.metrics import Array

log = logging.getLogger(__name__)

SOON = 30  # so many errors are seen before anything is said


class Detector:
    """Base of all detectors: a subclass has a compiled loop over errors that ends at a drift."""

    drift_detected: bool = False

    def update(self, x: float) -> None:
        """Take in one error; `drift_detected` then says whether it showed a drift."""
        self.watch(np.array([x], float))

    def watch(self, errors: Array) -> int:
        """Take in errors up to the first that shows a drift, and that one; how many these are."""
        errors = np.ascontiguousarray(errors, float)
        if not np.isfinite(errors).all():
            raise ValueError("A detector takes finite numbers, got NaN or infinity.")
        taken = int(self._run(errors))
        self.drift_detected = taken > 0
        return taken or len(errors)

    def _run(self, errors: Array) -> int:
        """How many errors were taken in when a drift showed; 0 if none did."""
        raise NotImplementedError


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low < value < high:
        raise ValueError(f"`{name}` must be between {low:g} and {high:g}, got {value!r}.")


# --- adaptive windowing ---

BUCKETS = 5  # so many of each size are kept, and two of them become one of the next size when there is one more
SIZES = 48
CLOCK = 32  # the window is looked at once in so many errors
LEAST = 5  # the smallest part of a window that is compared with the rest

WIDTH, TOTAL, VARIANCE, TICKS = 0, 1, 2, 3


@dataclass
class ADWIN(Detector):
    """Adaptive windowing: a window of errors that is as long as nothing has changed in it.

    Whenever two parts of the window, n0 older errors and n1 newer ones, have means that differ by more than

        sqrt(2/m sigma^2 ln(2 ln(n) / delta)) + 2/(3m) ln(2 ln(n) / delta),    1/m = 1/n0 + 1/n1,

    with sigma^2 the variance of the window and n its length, its oldest errors are dropped until no two parts do. Where the newer ones
    are larger it is a drift, and as in river a new window begins. The window is kept in O(log n) buckets, and looked at every 32
    errors. Errors are to lie in [0, 1]: of larger ones, as regression may have, the bound says nothing.

    Parameters
    ----------
    delta : float
        How likely a drift is seen where there is none, at one look: the smaller, the surer and the later.

    References
    ----------
    A. Bifet, R. Gavalda: Learning from time-changing data with adaptive windowing. SIAM International Conference on Data Mining (2007),
    443-448.

    Examples
    --------
    >>> detector = ADWIN()
    >>> for t, error in enumerate([0, 0, 0, 1] * 250 + [1, 1, 0, 1] * 250, 1):
    ...     detector.update(error)
    ...     if detector.drift_detected:
    ...         print(t)
    1056
    """

    delta: float = 0.002

    def __post_init__(self) -> None:
        _check("delta", self.delta, 0, 1)
        self._totals, self._variances = np.zeros((2, SIZES, BUCKETS + 1))
        self._filled = np.zeros(SIZES, np.int64)
        self._window = np.zeros(4)

    def _run(self, errors: Array) -> int:
        return adwin(self._totals, self._variances, self._filled, self._window, self.delta, errors)


@entry_point
def adwin(totals: Any, variances: Any, filled: Any, window: Any, delta: Any, errors: Any) -> Any:
    for t in range(len(errors)):
        append(totals, variances, filled, 0, errors[t], 0.0)
        if window[WIDTH] > 0:
            window[VARIANCE] += spread(1.0, errors[t], window[WIDTH], window[TOTAL])
        window[WIDTH] += 1
        window[TOTAL] += errors[t]
        size = 0
        while filled[size] > BUCKETS and size + 1 < SIZES:
            n, (a, b) = 2.0**size, totals[size, :2]
            variance = variances[size, 0] + variances[size, 1] + spread(n, a, n, b)
            drop(totals, variances, filled, size, 2)
            size += 1
            append(totals, variances, filled, size, a + b, variance)
        window[TICKS] += 1
        if window[TICKS] % CLOCK == 0 and shorten(totals, variances, filled, window, delta):
            filled[:], window[:] = 0, 0
            return t + 1
    return 0


@routine
def shorten(totals: Any, variances: Any, filled: Any, window: Any, delta: Any) -> Any:
    """Drop the oldest bucket while some older part of the window differs from the rest; True as soon as the rest is larger."""
    differs = True
    while differs:
        differs = False
        n, total = window[WIDTH], window[TOTAL]
        doubt = np.log(2 * np.log(max(n, 3.0)) / delta)
        n0, total0 = 0.0, 0.0
        for size in range(SIZES - 1, -1, -1):
            for k in range(filled[size]):
                n0 += 2.0**size
                total0 += totals[size, k]
                if differs or n0 < LEAST or n - n0 < LEAST:
                    continue
                m1 = 1 / n0 + 1 / (n - n0)
                rise = (total - total0) / (n - n0) - total0 / n0
                if abs(rise) > np.sqrt(2 * m1 * window[VARIANCE] / n * doubt) + 2 / 3 * m1 * doubt:
                    if rise > 0:
                        return True
                    differs = True
        if differs:
            size = SIZES - 1
            while filled[size] == 0:
                size -= 1
            window[WIDTH] -= 2.0**size
            window[TOTAL] -= totals[size, 0]
            gone = variances[size, 0] + spread(2.0**size, totals[size, 0], window[WIDTH], window[TOTAL])
            window[VARIANCE] = max(window[VARIANCE] - gone, 0.0)
            drop(totals, variances, filled, size, 1)
    return False


@routine
def spread(n0: Any, total0: Any, n1: Any, total1: Any) -> Any:
    """What the distance of two means adds to the sum of squares when their samples are joined."""
    apart = total0 / n0 - total1 / n1
    return n0 * n1 / (n0 + n1) * apart * apart


@routine
def append(totals: Any, variances: Any, filled: Any, size: Any, total: Any, variance: Any) -> None:
    totals[size, filled[size]], variances[size, filled[size]] = total, variance
    filled[size] += 1


@routine
def drop(totals: Any, variances: Any, filled: Any, size: Any, n: Any) -> None:
    """Drop the n oldest buckets of a size."""
    for k in range(n, filled[size]):
        totals[size, k - n], variances[size, k - n] = totals[size, k], variances[size, k]
    filled[size] -= n


# --- Page and Hinkley ---

SEEN, MEAN, SUM, LOWEST = 0, 1, 2, 3


@dataclass
class PageHinkley(Detector):
    """The test of Page and Hinkley: how far errors have added up beyond their mean.

    After each error x_t the sum becomes alpha S + x_t - mean - delta, where the mean is that of all errors since the last drift. A sum
    that is `threshold` above its lowest value is a drift, after which all begins anew.

    Parameters
    ----------
    threshold : float
        How much is a drift: so many more mistakes than usual, roughly.
    delta : float
        How much more than usual an error may be without being counted.
    alpha : float
        The share of the sum that is kept from one error to the next.

    References
    ----------
    E. S. Page: Continuous inspection schemes. Biometrika 41 (1954), 100-115.

    Examples
    --------
    >>> detector = PageHinkley(threshold=20)
    >>> for t, error in enumerate([0, 0, 0, 1] * 250 + [1, 1, 0, 1] * 250, 1):
    ...     detector.update(error)
    ...     if detector.drift_detected:
    ...         print(t)
    1040
    """

    threshold: float = 50.0
    delta: float = 0.005
    alpha: float = 0.9999

    def __post_init__(self) -> None:
        _check("threshold", self.threshold, 0, math.inf)
        _check("delta", self.delta, -math.inf, math.inf)
        if not 0 < self.alpha <= 1:
            raise ValueError(f"`alpha` must be above 0 and at most 1, got {self.alpha!r}.")
        self._state = np.zeros(4)

    def _run(self, errors: Array) -> int:
        return page_hinkley(self._state, self.threshold, self.delta, self.alpha, errors)


@entry_point
def page_hinkley(state: Any, threshold: Any, delta: Any, alpha: Any, errors: Any) -> Any:
    for t in range(len(errors)):
        state[SEEN] += 1
        state[MEAN] += (errors[t] - state[MEAN]) / state[SEEN]
        state[SUM] = alpha * state[SUM] + errors[t] - state[MEAN] - delta
        state[LOWEST] = state[SUM] if state[SEEN] == 1 else min(state[LOWEST], state[SUM])
        if state[SEEN] >= SOON and state[SUM] - state[LOWEST] > threshold:
            state[:] = 0
            return t + 1
    return 0


# --- a window of errors ---

OLDER, OLDER_SUM, OLDER_SQUARES, RECENT, RECENT_SUM, RECENT_SQUARES = 0, 1, 2, 3, 4, 5


@dataclass
class ErrorWindow(Detector):
    """A window of the latest errors, against all errors before it since the last drift.

    It is a drift where the mean of the window is larger than the older mean by more than z standard errors, the root of
    v1 / n1 + v0 / n0 with the variance and the number of errors of either (Welch's test), and z the quantile of the normal distribution
    at 1 - `significance`. After a drift all begins anew. Errors may be of any size.

    Parameters
    ----------
    window : int
        How many errors are recent. Nothing is said before twice as many were seen.
    significance : float
        How likely such a difference is by chance, at one look.

    References
    ----------
    K. Nishida, K. Yamauchi: Detecting concept drift using statistical testing. Discovery Science (2007), 264-269.
    B. L. Welch: The generalization of "Student's" problem when several different population variances are involved. Biometrika 34
    (1947), 28-35.

    Examples
    --------
    >>> detector = ErrorWindow(window=100)
    >>> for t, error in enumerate([0, 0, 0, 1] * 250 + [1, 1, 0, 1] * 250, 1):
    ...     detector.update(error)
    ...     if detector.drift_detected:
    ...         print(t)
    1045
    """

    window: int = 200
    significance: float = 1e-5
    _z: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ValueError(f"`window` must be at least 2, got {self.window!r}.")
        _check("significance", self.significance, 0, 0.5)
        self._z = -NormalDist().inv_cdf(self.significance)
        self._recent, self._sums = np.zeros(self.window), np.zeros(6)

    def _run(self, errors: Array) -> int:
        return error_window(self._recent, self._sums, self._z, errors)


@entry_point
def error_window(recent: Any, sums: Any, z: Any, errors: Any) -> Any:
    n1 = len(recent)
    for t in range(len(errors)):
        place = int(sums[RECENT]) % n1
        if sums[RECENT] >= n1:
            sums[OLDER] += 1
            sums[OLDER_SUM] += recent[place]
            sums[OLDER_SQUARES] += recent[place] ** 2
        sums[RECENT_SUM] += errors[t] - recent[place]
        sums[RECENT_SQUARES] += errors[t] ** 2 - recent[place] ** 2
        recent[place] = errors[t]
        sums[RECENT] += 1
        if place == n1 - 1:  # afresh, before what sums lose by rounding adds up
            sums[RECENT_SUM], sums[RECENT_SQUARES] = recent.sum(), (recent * recent).sum()
        n0 = sums[OLDER]
        if n0 >= n1:
            mean0, mean1 = sums[OLDER_SUM] / n0, sums[RECENT_SUM] / n1
            v0 = max(sums[OLDER_SQUARES] / n0 - mean0 * mean0, 0.0)
            v1 = max(sums[RECENT_SQUARES] / n1 - mean1 * mean1, 0.0)
            if mean1 - mean0 > z * np.sqrt(v0 / n0 + v1 / n1):
                recent[:], sums[:] = 0, 0
                return t + 1
    return 0


DETECTORS: dict[str, type[Detector]] = {"adwin": ADWIN, "page-hinkley": PageHinkley, "window": ErrorWindow}


# --- what watches a stream ---


class Watch:
    """A detector over a stream, and where it saw a drift."""

    def __init__(self, detector: Any) -> None:
        if not (hasattr(detector, "update") and hasattr(detector, "drift_detected")):
            raise TypeError(f"A detector of drift has `update(x)` and `drift_detected`, as ADWIN() does, got {detector!r}.")
        self._detector, self._n = detector, 0
        self.drifts: list[int] = []

    @property
    def drifted(self) -> bool:
        """Whether the latest error showed a drift."""
        return bool(self._detector.drift_detected)

    def take(self, errors: Array) -> int:
        """Show errors to the detector, up to the first that shows a drift; how many these are."""
        taken = self._detector.watch(errors) if isinstance(self._detector, Detector) else self._one_by_one(errors)
        self._n += taken
        if self.drifted:
            self.drifts.append(self._n)
            log.info("%s saw a drift at example %d", type(self._detector).__name__, self._n)
        return taken

    def _one_by_one(self, errors: Array) -> int:
        for taken, error in enumerate(errors.tolist(), 1):
            self._detector.update(error)
            if self.drifted:
                return taken
        return len(errors)


def check_action(on_drift: Any, watch: Watch | None) -> None:
    """Refuse what can't be done about a drift."""
    if not (on_drift in (None, "reset", "forget") or callable(on_drift)):
        raise ValueError(f"`on_drift` must be 'reset', 'forget', a function of the model, or None, got {on_drift!r}.")
    if on_drift is not None and watch is None:
        raise ValueError("`on_drift` needs a detector: pass drift=ADWIN(), or another one.")
