"""Gaussian bases, for models that are linear in their parameters but not in the rows."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from onepass.base import Field, Stage, State
from onepass.base.inputs import Rows, one_row
from onepass.base.knowledge import Start
from onepass.base.parameters import COUNT, POSITIVE, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.chain import change, makes_columns
from onepass.compiled.loop import T
from onepass.compiled.prototypes import Prototypes, differs, gap2, in_use, take_in
from onepass.compiled.rows import row

Bases = namedtuple("Bases", "sums squares counts gamma count")


def _bases(stage: Any, X: Any) -> Any:
    return np.empty((1, len(stage.counts)), X.values.dtype)


makes_columns(Bases, _bases)


@change.form(Bases)
def _(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    """out = the bases of each row, at the centres that were known before it; a row t with taught[t] may then become a centre."""
    centres = Prototypes(stage.sums, stage.squares, stage.counts)
    held = in_use(centres)
    for t in range(len(out)):
        x, new = row(X, t), True
        for k in range(held):
            distance2 = gap2(centres, x, k)
            out[t, k] = np.exp(-stage.gamma * distance2)
            new &= differs(centres, k, distance2)
        for k in range(held, out.shape[1]):
            out[t, k] = 0
        if taught[t]:
            stage.count[T] += 1
            if new and held < len(stage.counts):
                take_in(centres, x, held)
                held += 1


@parametric
class RBFBasis(Stage):
    r"""Gaussian bases at some centres: phi_k(x) = exp(-gamma |x - c_k|^2), a feature for each.

    A linear learner behind it learns a model that is linear in its parameters and smooth in x. The centres are given, or they are the
    first rows that differ from each other; a base whose centre is still to come is 0. A row that becomes a centre was handled with
    those before it, as in every stage.

    References
    ----------
    M. Sugiyama: Introduction to statistical machine learning (2016), sections 21.1 and 31.

    Examples
    --------
    The function sinc, by passive-aggressive regression:

    >>> import numpy as np
    >>> from onepass import PARegressor, RBFBasis, pipeline
    >>> x = np.random.default_rng(0).uniform(-3, 3, (2000, 1))
    >>> model = pipeline(RBFBasis(count=30, gamma=2.0), PARegressor(epsilon=0.01, average=True)).fit(x, np.sinc(x[:, 0]))
    >>> bool(np.abs(model.predict([[0.0], [0.5], [1.5]]) - np.sinc([0.0, 0.5, 1.5])).max() < 0.05)
    True
    """

    centres: Any = parameter(
        None, "array-like", None, kind="array-like of shape (count, d)", text="The centres. None: the first rows."
    )
    count: int = parameter(100, COUNT, text="How many rows become centres. Without effect if `centres` are given.")
    gamma: float = parameter(1.0, POSITIVE, text="How narrow the bases are: they fall to 1/e at the distance 1 / sqrt(gamma).")
    grow: bool | str | None = parameter(
        more="A centre is 0 in features that came after it; centres that are given have all of their features, in columns."
    )

    _fixes_width = True
    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "stage": {
            "sums": Field("bases features", foreseen=True),
            "squares": Field("bases"),
            "counts": Field("bases"),
        }
    }

    @property
    def centres_(self) -> Array:
        """The centres so far, (k, d)."""
        state = self._attribute("centres_")
        held = np.count_nonzero(state.arrays["counts"])
        return state.arrays["sums"][:held, 1 : state.n_features + 1].copy()

    def transform_one(self, x: Any) -> Any:
        """One example after the stage: a dict of bases for a dict, else a 1-d array."""
        bases = self._seen_by(self._readable(), one_row(x), foreseen=False).data[0]
        return dict(zip(self.get_feature_names_out(), bases.tolist(), strict=True)) if isinstance(x, Mapping) else bases

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the bases: their numbers."""
        return np.array([f"basis{k}" for k in range(self._readable().sizes["bases"])], dtype=object)

    def _called(self, state: State, X: Any, names: Any) -> Any:
        return self.get_feature_names_out()

    def _sizes(self) -> dict[str, int]:
        return {"bases": self.count if self.centres is None else len(self.centres)}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.centres is not None:
            self._given()

    def _given(self) -> Array:
        """The centres that were given."""
        try:
            centres = np.asarray(self.centres, np.float64)
        except (TypeError, ValueError):
            raise ValueError("`centres` must be a matrix of numbers.") from None
        if centres.ndim != 2 or 0 in centres.shape:
            raise ValueError(f"`centres` must be a matrix, with a row for each centre; got shape {centres.shape}.")
        with np.errstate(over="ignore"):
            if not np.isfinite((centres * centres).sum(axis=1)).all():
                raise ValueError("`centres` must be finite, and so must be their squared norms.")
        return centres

    def _new_state(self, form: str, start: Start) -> State:
        if self.centres is None:
            return super()._new_state(form, start)
        self._check_parameters()
        if start.grow_features and start.names is not None:
            raise ValueError(
                "The columns of `centres` have no names: pass arrays, or let the stage find its centres in the dicts."
            )
        centres = self._given()
        state = super()._new_state(form, replace(start, n_features=centres.shape[1], grow_features=False))
        state.arrays["sums"][:, 1:] = centres
        state.arrays["squares"][:] = (centres * centres).sum(axis=1)
        state.arrays["counts"][:] = 1
        return state

    def _transformed(self, state: State, rows: Rows, taught: Array) -> Rows:
        if rows.width > state.capacity:  # features that are still to come count in the distance
            state = state.foreseeing(rows.width)
        return super()._transformed(state, rows, taught)

    def _width(self, state: State) -> int:
        return state.sizes["bases"]

    def _out(self, state: State, rows: Rows) -> Any:
        return np.empty((rows.n, state.sizes["bases"]), rows.dtype)

    def _record(self, state: State) -> Bases:
        arrays = state.arrays
        return Bases(arrays["sums"], arrays["squares"], arrays["counts"], float(self.gamma), arrays["count"])
