"""Scaling inside the stream."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, ClassVar

import numpy as np

from onepass.base import Field, Stage, State
from onepass.base.parameters import parameter, parametric
from onepass.base.state import Array
from onepass.compiled.chain import change, keeps_places
from onepass.compiled.compiler import routine
from onepass.compiled.loop import T
from onepass.compiled.rows import DenseRows, SparseRows, row, sqnorm
from onepass.compiled.verb import verb

Standardise = namedtuple("Standardise", "mean squares seen count")
Normalise = namedtuple("Normalise", "count")
keeps_places(Standardise, Normalise)


@routine
def moments(mean: Any, squares: Any, seen: Any, j: Any, n: Any) -> Any:
    """Mean and sum of squared deviations of feature j after n rows, of which those since seen[j] were zero (Chan et al. 1979)."""
    k = seen[j]
    if k == n:
        return mean[j], squares[j]
    return mean[j] * k / n, squares[j] + mean[j] * mean[j] * k * (n - k) / n


@verb(4)
def standardise(mean: Any, squares: Any, seen: Any, count: Any, X: Any, taught: Any, out: Any) -> None:
    """out = the rows scaled by what was known before each; a row t with taught[t] is then taken into the moments."""


@standardise.form(DenseRows)
def _(mean: Any, squares: Any, seen: Any, count: Any, X: Any, taught: Any, out: Any) -> Any:
    """Welford 1962. A feature that has not varied yet says nothing, and is 0."""
    rows, width = X.values.shape
    changed = False
    m, s = np.zeros(width), np.zeros(width)
    n = count[T]
    for j in range(min(width, len(mean) - 1)):
        m[j], s[j] = moments(mean, squares, seen, j + 1, n)
    for t in range(rows):
        for j in range(width):
            x = X.values[t, j]
            error = x - m[j]
            out[t, j] = error / np.sqrt(s[j] / n) if s[j] > 0 else 0.0
            if taught[t]:
                m[j] += error / (n + 1)
                s[j] += error * (x - m[j])
        if taught[t]:
            n, changed = n + 1, True
    if changed:
        for j in range(width):
            mean[j + 1], squares[j + 1], seen[j + 1] = m[j], s[j], n
        count[T] = n


@standardise.form(SparseRows)
def _(mean: Any, squares: Any, seen: Any, count: Any, X: Any, taught: Any, out: Any) -> Any:
    """As for dense rows, without centring, which would fill the zeros: x / deviation, and x while a feature has not varied."""
    start = X.indptr[0]
    for t in range(len(X.indptr) - 1):
        n = count[T]
        for i in range(X.indptr[t], X.indptr[t + 1]):
            x, j = X.values[i], X.indices[i] + 1
            m, s = 0.0, 0.0
            if j < len(mean):
                m, s = moments(mean, squares, seen, j, n)
            out[i - start] = x / np.sqrt(s / n) if s > 0 else x
            if taught[t]:
                error = x - m
                mean[j] = m + error / (n + 1)
                squares[j] = s + error * (x - mean[j])
                seen[j] = n + 1
        if taught[t]:
            count[T] = n + 1


@change.form(Standardise)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    standardise(stage.mean, stage.squares, stage.seen, stage.count, X, taught, out)


@parametric
class StandardScaler(Stage):
    """Scale each feature to mean 0 and deviation 1, by the rows seen so far.

    In a stream row t is scaled with the mean and deviation of the rows before t, then taken into them, so that learning and
    predicting agree. A feature that has not varied yet is 0. CSR rows and dicts are only divided by the deviation, where there is one,
    and not centred, since that would fill their zeros.

    References
    ----------
    B. P. Welford: Note on a method for calculating corrected sums of squares and products. Technometrics 4 (1962), 419-420.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import StandardScaler
    >>> scaler = StandardScaler()
    >>> scaler.learn_transform(np.array([[1.0], [3.0], [4.0]]))
    array([[0.],
           [0.],
           [2.]])
    >>> scaler.mean_
    array([2.66666667])
    """

    grow: bool | str | None = parameter()

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "stage": {"mean": Field("features"), "squares": Field("features"), "seen": Field("features")}
    }

    @property
    def mean_(self) -> Array:
        """The mean of each feature."""
        return self._moments()[0]

    @property
    def var_(self) -> Array:
        """The variance of each feature."""
        return self._moments()[1] / max(1, self.t_)

    def _moments(self) -> tuple[Array, Array]:
        state = self._attribute("mean_")
        mean, squares, seen = (state.arrays[name][1 : state.n_features + 1] for name in ("mean", "squares", "seen"))
        n = max(1, state.t)
        return mean * seen / n, squares + mean * mean * seen * (n - seen) / n

    def _record(self, state: State) -> Standardise:
        arrays = state.arrays
        return Standardise(arrays["mean"], arrays["squares"], arrays["seen"], arrays["count"])


@verb(0)
def normalise(X: Any, out: Any) -> None:
    """out = each row divided by its norm."""


@normalise.form(DenseRows)
def _(X: Any, out: Any) -> Any:
    for t in range(len(out)):
        norm = np.sqrt(sqnorm(row(X, t)))
        for j in range(out.shape[1]):
            out[t, j] = X.values[t, j] / norm if norm > 0 else 0.0


@normalise.form(SparseRows)
def _(X: Any, out: Any) -> Any:
    start = X.indptr[0]
    for t in range(len(X.indptr) - 1):
        norm = np.sqrt(sqnorm(row(X, t)))
        for i in range(X.indptr[t], X.indptr[t + 1]):
            out[i - start] = X.values[i] / norm if norm > 0 else 0.0


@change.form(Normalise)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    normalise(X, out)
    for t in range(len(taught)):
        if taught[t]:
            stage.count[T] += 1


@parametric
class UnitNorm(Stage):
    """Scale each row to unit Euclidean norm; a zero row stays zero.

    Examples
    --------
    >>> from onepass import UnitNorm
    >>> UnitNorm().fit_transform([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """

    grow: bool | str | None = parameter()

    _forms: ClassVar[dict[str, dict[str, Field]]] = {"stage": {}}

    def _record(self, state: State) -> Normalise:
        return Normalise(state.arrays["count"])
