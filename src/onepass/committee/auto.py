"""The learner for those who would rather not choose one."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from onepass.base import State
from onepass.base.knowledge import Start
from onepass.base.parameters import among, parameter, parametric
from onepass.committee.committee import Assembly, Averaging, Voting
from onepass.committee.scaling import Scaler
from onepass.committee.seats import Unscaled
from onepass.embedding import PAMOClassifier, PAMORegressor
from onepass.kernel import FOGD
from onepass.linear import AROWClassifier, AROWRegressor, OGDRegressor, PAClassifier, PARegressor
from onepass.neural import OnlineMLPClassifier, OnlineMLPRegressor

WIDE = 1000  # so many features are too many for members that mix them all
SCALER = "scaler"
LARGEST = 2**62  # of the sizes of members


class NarrowFOGD(FOGD):
    """FOGD with a kernel that is three times as narrow: gamma = 3 / n_features, for clusters that are small."""

    def _width_for(self, state: State) -> float:
        return 3 * super()._width_for(state)


@parametric
class _Budgeted(Assembly):
    """A committee that chooses its members, and scales its rows."""

    budget: str = parameter(
        "best", among("fast", "best"), matters=True, text="How much time an example may take, which decides on the members."
    )
    _: KW_ONLY
    random_state: Any = parameter()

    _linear: ClassVar[tuple[str, ...]] = ("arow", "pa", "ogd")  # which wide rows are for
    _scales: ClassVar[bool] = True

    def _drawn(self, cls: Any, size: Any, *, apart: int = 0, **settings: Any) -> Any:
        """A member of so many dimensions, components or hidden units; those that are `apart` are drawn from another seed."""
        size = min(size, LARGEST) if isinstance(size, int) else tuple(min(n, LARGEST) for n in size)
        seed = self.random_state
        if isinstance(seed, Integral):
            seed = (int(seed) + apart) % 2**32
        return cls(size, **settings, random_state=seed)

    def _elected(self, start: Start) -> list[str]:
        wide = start.buckets is not None or start.n_features > WIDE
        return [name for name in self._everyone() if name in self._linear or not wide]

    def _first_parts(self, form: str, start: Start, elected: list[str]) -> dict[str, State]:
        parts = super()._first_parts(form, start, elected)
        if start.buckets is not None:  # what is hashed has been scaled before, or are words
            return parts
        scaler = Scaler()._new_state(
            "stage", replace(start, dtype=np.dtype(np.float64), names=None, labels=None, grow_classes=False)
        )
        if start.n_features > WIDE:
            scaler.known = 0  # none of the features is centred, which would fill their zeros
        return {**parts, SCALER: scaler}

    def _forgets(self) -> bool:
        return False  # what scales the rows would forget where its features are

    def _scaling(self, state: State) -> Any:
        return Scaler()._record(state.parts[SCALER]) if SCALER in state.parts else Unscaled(0)

    def _with_parts(self, state: State) -> dict[str, Any]:
        parts = super()._with_parts(state)
        if SCALER in state.parts:
            parts[SCALER] = Scaler()
            parts[SCALER]._state = state.parts[SCALER]
        return parts

    def _knows(self, parts: dict[str, Any]) -> bool:
        scaler = parts.get(SCALER)
        members = {name: part for name, part in parts.items() if name != SCALER}
        return (scaler is None or type(scaler) is Scaler) and super()._knows(members)


@parametric
class Auto(Voting, _Budgeted):
    """The classifier for those who would rather not choose one: a committee that scales its rows, and needs no parameters.

    Rows are scaled to mean 0 and deviation 1 by those before them, as :class:`onepass.StandardScaler` does, and what is further than 4
    deviations away counts as being there. Where a feature moves away from its mean, or shrinks to less than half, its moments begin
    anew with the last hundred rows, and a few wild numbers hardly change them. (So where a feature is small in spells of hundreds of
    rows, and its size matters, a :class:`Committee` behind a scaler is better.) The members of the :class:`Committee` are, within a

    * `budget` of "best": AROW, PA with C="auto", PAMO-II of 170 dimensions with three hyperplanes each, PAMO-I of 64 dimensions, FOGD,
      and networks of 16 tanh and of 64 and 32 ReLU units with averages, FOGD with gamma = 3 / n_features, and a network of 16 tanh
      units with longer steps;
    * `budget` of "fast": AROW, PA with C="auto", PAMO-I of 64 dimensions and FOGD with averages, FOGD with gamma = 3 / n_features, and
      a network of 16 tanh units.

    An average and the present weights of a member have shares of their own. An example of 20 features takes 11 or 4 microseconds on one
    core.

    Rows of more than 1,000 features, and hashed ones, are for linear members alone; the former are not centred,
    and the latter are taken as they come. Features that come up after the first example are not centred either.

    References
    ----------
    Those of :class:`Committee`.

    Examples
    --------
    >>> from onepass import Auto, datasets, evaluate
    >>> model = Auto("fast", random_state=0)
    >>> result = evaluate.prequential(model, datasets.rotating_xor(3000, random_state=0))
    >>> bool(result.metrics["mistake_rate"] < 0.1)
    True
    >>> list(model.shares_)
    ['arow', 'pa', 'pamo', 'pamo now', 'fogd', 'fogd now', 'fogd-narrow', 'mlp', 'product', 'product now']
    """

    def _appointed(self) -> dict[str, Any]:
        linear = {"arow": AROWClassifier(), "pa": PAClassifier(C="auto")}
        if self.budget == "fast":
            return {
                **linear,
                "pamo": self._drawn(PAMOClassifier, 64, average=True),
                "fogd": self._drawn(FOGD, 400, average=True),
                "fogd-narrow": self._drawn(NarrowFOGD, 400),
                "mlp": self._drawn(OnlineMLPClassifier, 16, C=0.05),
            }
        return {
            **linear,
            "pamo": self._drawn(PAMOClassifier, 170, hyperplanes=3, variant="II", average=True),
            "pamo-small": self._drawn(PAMOClassifier, 64, apart=1, average=True),
            "fogd": self._drawn(FOGD, 400, average=True),
            "fogd-narrow": self._drawn(NarrowFOGD, 400),
            "mlp": self._drawn(OnlineMLPClassifier, 16, C=0.02, average=True),
            "mlp-quick": self._drawn(OnlineMLPClassifier, 16, C=0.2),
            "mlp-deep": self._drawn(OnlineMLPClassifier, (64, 32), activation="relu", C=0.02, average=True),
        }


@parametric
class AutoRegressor(Averaging, _Budgeted):
    """The regressor for those who would rather not choose one: a committee that scales its rows, and needs no parameters.

    Rows are scaled as by :class:`Auto`, and wide or hashed ones are for the linear members alone. The members of the
    :class:`CommitteeRegressor` are AROW, PA, gradient descent with AdaGrad, PAMO of 64 dimensions, and, within a `budget` of "best", a
    network of 100 tanh units; all but AROW with averages, which have shares of their own.

    References
    ----------
    Those of :class:`CommitteeRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import AutoRegressor
    >>> x = np.random.default_rng(0).uniform(-2, 2, (3000, 1))
    >>> model = AutoRegressor("fast", random_state=0).fit(x, np.abs(x[:, 0]))
    >>> bool(np.abs(model.predict([[-1.5], [1.5]]) - 1.5).max() < 0.3)
    True
    """

    def _appointed(self) -> dict[str, Any]:
        members = {
            "arow": AROWRegressor(),
            "pa": PARegressor(average=True),
            "ogd": OGDRegressor(average=True),
            "pamo": self._drawn(PAMORegressor, 64, average=True),
        }
        return members if self.budget == "fast" else members | {"mlp": self._drawn(OnlineMLPRegressor, 100, average=True)}
