"""Values that are missing."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Field, Stage, State
from onepass.base.inputs import Rows
from onepass.base.parameters import among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.borrow import lent
from onepass.compiled.chain import after, change, result, unsound
from onepass.compiled.checks import first_bad_row_with_holes
from onepass.compiled.compiler import routine
from onepass.compiled.loop import T
from onepass.compiled.rows import DenseRows, SparseRows
from onepass.compiled.verb import verb

# `fill` is NaN for the mean; `columns` is 2 where each value is followed by its indicator, else 1.
Impute = namedtuple("Impute", "mean seen fill columns count")


@routine
def filled(stage: Any, j: Any) -> Any:
    """What stands for a missing value of feature j."""
    if stage.fill == stage.fill:
        return stage.fill
    return stage.mean[j + 1] if j + 1 < len(stage.mean) else 0.0


@routine
def take_in(stage: Any, j: Any, x: Any) -> None:
    stage.seen[j + 1] += 1
    stage.mean[j + 1] += (x - stage.mean[j + 1]) / stage.seen[j + 1]


@verb(1)
def impute(stage: Any, X: Any, taught: Any, out: Any) -> None:
    """out = the rows without holes, filled by what was known before each; a row t with taught[t] is then taken in."""


@impute.form(DenseRows)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    columns = stage.columns
    for t in range(len(out)):
        for j in range(X.values.shape[1]):
            x = X.values[t, j]
            there = x == x
            out[t, columns * j] = x if there else filled(stage, j)
            if columns == 2:
                out[t, 2 * j + 1] = 0 if there else 1
            if there and taught[t]:
                take_in(stage, j, x)


@impute.form(SparseRows)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    columns, start = stage.columns, X.indptr[0]
    for t in range(len(X.indptr) - 1):
        for i in range(X.indptr[t], X.indptr[t + 1]):
            x, j = X.values[i], X.indices[i]
            there = x == x
            out[columns * (i - start)] = x if there else filled(stage, j)
            if columns == 2:
                out[2 * (i - start) + 1] = 0 if there else 1
            if there and taught[t]:
                take_in(stage, j, x)


@change.form(Impute)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    impute(stage, X, taught, out)
    for t in range(len(taught)):
        if taught[t]:
            stage.count[T] += 1


# --- one example on its way through a pipeline ---


@result.form(Impute, DenseRows)
def _(stage: Any, X: Any) -> Any:
    return np.empty((1, stage.columns * X.values.shape[1]), X.values.dtype)


@result.form(Impute, SparseRows)
def _(stage: Any, X: Any) -> Any:
    return np.empty(stage.columns * len(X.values), X.values.dtype)


@after.form(Impute, DenseRows)
def _(stage: Any, X: Any, out: Any) -> Any:
    return DenseRows(lent(out), X.bias)


@after.form(Impute, SparseRows)
def _(stage: Any, X: Any, out: Any) -> Any:
    columns = stage.columns
    both = np.empty(len(out) + 2, X.indices.dtype)  # one allocation: single examples notice
    indptr, indices = both[:2], both[2:]
    indptr[0], indptr[1] = 0, len(out)
    for i in range(len(out)):
        indices[i] = columns * X.indices[i // columns] + i % columns
    return SparseRows(indptr, indices, lent(out), X.bias)


@unsound.form(Impute)
def _(stage: Any, X: Any) -> Any:
    return first_bad_row_with_holes(X, 1) < 1


@parametric
class Imputer(Stage):
    """Fill in values that are missing, by the mean of those seen so far or by a number.

    A value is missing if it is NaN or null (of a dict also None). In a stream row t is filled by the mean of the rows before t, 0
    before there is a value, and then taken into it. A feature that a dict or a CSR row does not mention is no missing value: it is
    absent, as always. Put it first in a pipeline; what comes behind it gets numbers only.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import Imputer, PAClassifier, pipeline
    >>> X = np.array([[1.0], [3.0], [np.nan], [2.0]])
    >>> Imputer().learn_transform(X).tolist()
    [[1.0], [3.0], [2.0], [2.0]]
    >>> Imputer(indicator=True).learn_transform(X).tolist()
    [[1.0, 0.0], [3.0, 0.0], [2.0, 1.0], [2.0, 0.0]]
    >>> model = pipeline(Imputer(), PAClassifier())
    >>> model.learn_one({"age": 40.0, "height": None}, True)
    """

    fill: str | float = parameter(
        "mean", among("mean"), Interval(Real, None, None, closed="neither"), text='The mean so far ("mean"), or a number.'
    )
    indicator: bool = parameter(
        False, "boolean", text="Whether each feature is followed by another that is 1 where its value is missing, else 0."
    )
    grow: bool | str | None = parameter()

    _takes_missing = True
    _forms: ClassVar[dict[str, dict[str, Field]]] = {"stage": {"mean": Field("features"), "seen": Field("features")}}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def mean_(self) -> Array:
        """The mean of the values of each feature that were there."""
        state = self._attribute("mean_")
        return state.arrays["mean"][1 : state.n_features + 1].copy()

    def _names_after(self, names: Sequence[Any]) -> list[Any]:
        return [each for name in names for each in (name, f"{name}=missing")[: self._columns]]

    @property
    def _columns(self) -> int:
        return 2 if self.indicator else 1

    def _width(self, state: State) -> int:
        return self._columns * state.n_features

    def _out(self, state: State, rows: Rows) -> Any:
        return rows.blank(self._columns)

    def _span(self, rows: Rows, start: int, stop: int) -> slice:
        return rows.span(start, stop, self._columns)

    def _result(self, rows: Rows, out: Any) -> Rows:
        return rows.with_values(out, None if rows.names is None else self._names_after(rows.names))

    def _record(self, state: State) -> Impute:
        arrays = state.arrays
        fill = np.nan if self.fill == "mean" else float(self.fill)
        return Impute(arrays["mean"], arrays["seen"], fill, self._columns, arrays["count"])
