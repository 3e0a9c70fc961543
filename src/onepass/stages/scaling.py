"""Scaling inside the stream."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from onepass.base import Field, Stage, State
from onepass.base.inputs import Rows
from onepass.base.knowledge import Door
from onepass.base.parameters import POSITIVE, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.borrow import lent
from onepass.compiled.chain import after, change, keeps_places, result
from onepass.compiled.compiler import routine
from onepass.compiled.loop import T
from onepass.compiled.rows import DenseRows, SparseRows, row, sqnorm
from onepass.compiled.verb import verb

# columns: so many features are in every row; far: what is further away counts as being there.
Standardise = namedtuple("Standardise", "mean squares seen count columns far")
Normalise = namedtuple("Normalise", "count")
keeps_places(Normalise)


@routine
def moments(mean: Any, squares: Any, seen: Any, j: Any, n: Any) -> Any:
    """Mean and sum of squared deviations of feature j after n rows, of which those since seen[j] were zero (Chan et al. 1979)."""
    k = seen[j]
    if k == n:
        return mean[j], squares[j]
    return mean[j] * k / n, squares[j] + mean[j] * mean[j] * k * (n - k) / n


@routine
def within(z: Any, far: Any) -> Any:
    return min(max(z, -far), far)


@verb(1)
def standardise(stage: Any, X: Any, taught: Any, out: Any) -> None:
    """out = the rows scaled by what was known before each; a row t with taught[t] is then taken into the moments."""


@standardise.form(DenseRows)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    """Welford 1962. A feature that has not varied yet says nothing, and is 0."""
    mean, squares, seen, count, _, far = stage
    rows, width = X.values.shape
    changed = False
    both = np.zeros((2, width))  # one allocation: single examples notice
    m, s = both[0], both[1]
    n = count[T]
    for j in range(min(width, len(mean) - 1)):
        m[j], s[j] = moments(mean, squares, seen, j + 1, n)
    for t in range(rows):
        for j in range(width):
            x = X.values[t, j]
            error = x - m[j]
            out[t, j] = within(error / np.sqrt(s[j] / n), far) if s[j] > 0 else 0.0
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
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    """As for dense rows where a feature is a column; the others are not centred, which would fill their zeros."""
    place = 0
    for t in range(len(X.indptr) - 1):
        i, end = X.indptr[t], X.indptr[t + 1]
        for j in range(stage.columns):
            there = i < end and X.indices[i] == j
            out[place] = pass_by(stage, j + 1, X.values[i] if there else X.values.dtype.type(0), True, taught[t])
            i, place = i + there, place + 1
        for k in range(i, end):
            out[place] = pass_by(stage, X.indices[k] + 1, X.values[k], False, taught[t])
            place += 1
        if taught[t]:
            stage.count[T] += 1


@routine
def pass_by(stage: Any, j: Any, x: Any, centred: Any, taught: Any) -> Any:
    """One number of a sparse row, scaled, and then taken into the moments. While its feature has not varied it is 0, or x if not
    centred."""
    mean, squares, seen, count, _, far = stage
    n, m, s = count[T], 0.0, 0.0
    if j < len(mean):
        m, s = moments(mean, squares, seen, j, n)
    error = x - m
    if taught:
        mean[j] = m + error / (n + 1)
        squares[j] = s + error * (x - mean[j])
        seen[j] = n + 1
    shown = error if centred else x
    if s > 0:
        return within(shown / np.sqrt(s / n), far)
    return 0.0 if centred else np.float64(x)


@change.form(Standardise)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    standardise(stage, X, taught, out)


# --- one example on its way through a pipeline ---


@result.form(Standardise, DenseRows)
def _(stage: Any, X: Any) -> Any:
    return np.empty_like(X.values)


@after.form(Standardise, DenseRows)
def _(stage: Any, X: Any, out: Any) -> Any:
    return DenseRows(lent(out), X.bias)


@result.form(Standardise, SparseRows)
def _(stage: Any, X: Any) -> Any:
    entries = stage.columns
    for j in X.indices:
        entries += j >= stage.columns
    return np.empty(entries, X.values.dtype)


@after.form(Standardise, SparseRows)
def _(stage: Any, X: Any, out: Any) -> Any:
    both, rest = np.empty(len(out) + 2, X.indices.dtype), len(X.indices) - len(out)  # one allocation: single examples notice
    indptr, indices = both[:2], both[2:]
    indptr[0], indptr[1] = 0, len(out)
    for i in range(len(out)):
        indices[i] = i if i < stage.columns else X.indices[rest + i]
    return SparseRows(indptr, indices, lent(out), X.bias)


@parametric
class StandardScaler(Stage):
    """Scale each feature to mean 0 and deviation 1, by the rows seen so far.

    In a stream row t is scaled with the mean and deviation of the rows before t, then taken into them, so that learning and
    predicting agree. A feature that has not varied yet is 0. CSR rows are only divided by the deviation, where there is one, and not
    centred, since that would fill their zeros. The features of the first dict are columns, as those of a table are: where another dict
    leaves one of them out, it is 0, and all are centred. Features that come up in later dicts are treated as those of CSR rows.

    A number that is far from all before it is far from 0 behind the scaler, too, and a learner that makes steps along the row follows
    it: a pixel that is lit for the second time in thousands of images is a hundred deviations away. `clip` sets a bound to that.

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
    _: KW_ONLY
    clip: float | None = parameter(
        None,
        POSITIVE,
        None,
        text="What is further than so many deviations from the mean (or from 0 where rows are not centred) counts as being there."
        " None: nothing is too far.",
    )

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
        far = np.inf if self.clip is None else float(self.clip)
        return Standardise(arrays["mean"], arrays["squares"], arrays["seen"], arrays["count"], state.known, far)

    def _enter(self, X: Any, weights: Array | None, door: Door) -> Rows:
        fresh = self._state is None
        rows = super()._enter(X, weights, door)
        if fresh and rows.sparse and not rows.named:
            self._writable().known = 0  # none of the features is a column
        return rows

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        return super()._transformed(state, rows.with_columns(state.known), taught)


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
