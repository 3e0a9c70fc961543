"""The contract of every learner: parameters, a state, and one loop behind every door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from operator import ior
from typing import Any, ClassVar, Self

import numpy as np

from onepass.base.binding import Bound
from onepass.base.engine import Engine
from onepass.base.estimator import are_named
from onepass.base.inputs import check_values, named_values, one_row
from onepass.base.knowledge import Door
from onepass.base.parameters import COUNT, POSITIVE, among, parameter, parameters, parametric
from onepass.base.river import Riverine
from onepass.base.state import Array, Field, State
from onepass.base.writing import guarded, steadily, while_true
from onepass.compiled.average import DECAY, HALF_LIFE, UNIFORM
from onepass.compiled.rows import SparseRows

# What parameter selection tries for C and its like, as LIBOL does.
POWERS_OF_TWO = tuple(2.0**k for k in range(-4, 5))


@parametric
class Learner(Riverine, Engine):
    """Base of all learners. A subclass declares its forms and makes records for the loop; see CONTRIBUTING.md.

    The methods `learn_one`, `partial_fit`, `test_then_train` and `predict` all run the same compiled loop, so the same examples in the
    same order give the same model to the bit, however they are cut into calls.
    """

    # What every learner has. A learner is a dataclass: its fields are its parameters.
    _: KW_ONLY
    fit_intercept: bool = parameter(True, "boolean", text="Whether to append the constant feature 1 to each row.")
    average: bool | str | float | None = parameter(
        None,
        "boolean",
        among("uniform"),
        POSITIVE,
        None,
        text="Predict with an average of all models along the way: True is polynomial decay, which forgets the start;"
        ' "uniform" is the plain mean; a number is a half-life in examples, for streams that drift.',
    )
    max_iter: int = parameter(1, COUNT, text="The largest number of passes that `fit` makes over the data.")
    grow: bool | str | None = parameter(
        None,
        "boolean",
        among("features", "labels"),
        None,
        text="Whether new features and labels may turn up at any time: both, neither, or only one of the two. None: labels may turn up"
        " in `learn_one`, dicts and streams, features in dicts and LIBSVM text.",
    )

    # What some learners have, each at its own place.
    _offers: ClassVar[dict[str, Any]] = {
        "random_state": parameter(None, "random_state", text="The seed of everything that is drawn at random."),
    }

    # --- what a subclass says ---

    def _task(self, state: State) -> Any:
        """What an example asks of the scores, for rules that serve any task (`compiled/losses.py`)."""
        raise NotImplementedError

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        """What parameter selection tries if it is told nothing else: name -> values, in the order of the search."""
        return {}

    _scales: ClassVar[bool] = False  # whether it scales the features itself

    def _takes_objects(self) -> bool:
        """Whether its rows are objects (`compiled/objects.py`)."""
        return False

    def _through_origin(self) -> bool:
        """Whether the score of a row of zeros is to be 0."""
        return False

    def _remedy(self) -> str:
        said = {one.name: about["cautious"] for one, about in parameters(type(self))}
        shorter = " and ".join(f"a {said[name]} {name}" for name in self._grid if said[name])
        return f"Scale the features, or use {shorter}." if shorter else super()._remedy()

    def _for_stages(self, target: Any) -> Any:
        """Targets as stages learn from them: labels `Coded`, numbers in an array; None if a row has neither."""
        return None

    def _begin_pass(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """The data of one pass of `fit`, in the order in which it is learned from."""
        return X, y, sample_weight

    def _end_pass(self) -> None:
        """What follows a pass of `fit`."""

    def _said(self, one: Bound, answer: float) -> Any:
        """What the answer of `Bound.run_one` means to users; None where it takes more than one number to tell."""
        return None

    @property
    def n_iter_(self) -> int:
        """The number of passes that the last `fit` made; 1 without any `fit`."""
        return max(1, self._attribute("n_iter_").n_iter)

    @property
    def updates_(self) -> int:
        """The number of examples that changed the model."""
        return self._attribute("updates_").updates

    def _fields_of_options(self) -> dict[str, Field]:
        return {"clock": Field("4", start=self._clock(), exact=True, beside=True, fades=True)} if self._averages() else {}

    def _averages(self) -> bool:
        return bool(self.average) if isinstance(self.average, bool | np.bool_) else self.average is not None

    def _clock(self) -> tuple[float, ...]:
        """The clock of an average at the start (`compiled/average.py`)."""
        if self.average == "uniform":
            kind, life = UNIFORM, 0.0
        elif isinstance(self.average, bool | np.bool_):
            kind, life = DECAY, 0.0
        else:
            kind, life = HALF_LIFE, float(self.average)  # type: ignore[arg-type]
        return 0.0, 0.0, kind, life

    def _averaged(self, state: State, name: str, places: Any = slice(None)) -> Array:
        """An array of the state as predictions see it, or some places of its last axis: its average, where there is one."""
        arrays = {key: array[..., places] if key.rpartition(".")[2] == name else array for key, array in state.arrays.items()}
        if f"pocket.{name}" in arrays:
            return arrays[f"pocket.{name}"]
        scaled = state.fields[name].additive and "scale" in state.fields
        scale = state.dtype.type(arrays["scale"][0]) if scaled else 1
        if f"gap.{name}" in arrays and state.t > 0:
            share = state.dtype.type(arrays["mean.scale"][0]) if scaled else 1
            return share * arrays[name] - state.dtype.type(arrays["clock"][0]) * arrays[f"gap.{name}"]
        return arrays.get(f"mean.{name}", scale * arrays[name])

    # --- tables ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew, and learn from the rows in their order, `max_iter` times or until a pass changes nothing."""
        return self._fit(X, Door(whole=True, features_come=are_named(X)), y, sample_weight)

    def _fit(self, X: Any, door: Door, y: Any, sample_weight: Any) -> Self:
        self._ensure_parameters()
        if sample_weight is not None and not np.any(np.asarray(sample_weight)):
            raise ValueError("All sample weights are zero: there is nothing to learn from.")
        with self._lock:
            guarded(lambda: self._fit_anew(X, door, y, sample_weight), self)
            self._keep_bound()
        return self

    def _read(self, read: Callable[[State], Any]) -> Any:
        """What `read` finds in the state at one moment."""
        return steadily(lambda states: read(states[0]), lambda: [self._readable()], self._lock)

    def _fit_anew(self, X: Any, door: Door, y: Any, sample_weight: Any) -> None:
        self._state = None
        for passes in range(1, self.max_iter + 1):
            updates = 0 if self._state is None else self._state.updates
            self._learn(*self._begin_pass(X, y, sample_weight), door)
            self._end_pass()
            state = self._writable()
            state.n_iter = passes
            if state.updates == updates:
                break

    def _predicted(self, X: Any, state: State) -> Array:
        """What a state predicts for each row."""
        raise NotImplementedError

    def _decisions(self, X: Any, state: State) -> Array:
        """The scores of each row as users get them: (n,), or (n, K) in the form for many classes."""
        scores = self._scores(X, state)
        return scores if state.form == "multiclass" else scores[:, 0]

    # --- one example ---

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row. `w` is its weight."""
        with self._lock:
            one = self._bound
            if one is not None and one.quick and w == 1.0:
                try:
                    code = one.code(y)
                except TypeError:  # a list or the like, which a closer look will call no label
                    code = None
                if code is not None:
                    answer = one.run_one(x, code, one.full)
                    if answer is None and isinstance(x, Mapping) and one.state.names is not None:
                        answer = self._learn_named(x, code, one)
                    if answer is not None and answer == answer:
                        return
            door = Door(labels_come=True, features_come=isinstance(x, Mapping))
            self._learn(one_row(x), [y], None if w == 1.0 else [w], door)

    def _learn_named(self, x: Mapping[str, Any], code: Array, one: Bound) -> float | None:
        """Learn from a dict with text or new features. None or NaN, and nothing has changed, if it needs a closer look."""
        state, named = one.state, named_values(x)
        assert state.names is not None
        found = state.names.places(named, state.n_features)
        newcomers = [name for name, j in zip(named, found, strict=True) if j is None] if state.grow_features else []
        if not newcomers:
            return one.run_one(named, code, one.full)
        check_values(named)  # what has no weight yet does not show in the score
        wider = state.widened(state.n_features + len(newcomers), newcomers)
        bound = wider.bound = one.wider(wider) if wider.arrays is state.arrays else self._bind(wider)
        row = bound.row(named, bound.full)
        if row is None:
            return None
        block, scores = SparseRows(*row, bound.bias), np.empty((1, bound.width), bound.dtype)
        learn = bound.call(block, wider.n_features, code, bound.learn_all, scores)
        become = (ior, vars(self), {"_state": wider, "_bound": bound})
        pulse = wider.pulse  # that of the old state, too, if its arrays were long enough: odd until all see the new one
        try:
            pulse[0] |= 1
            done = while_true(learn, become)
        finally:
            pulse[0] += pulse[0] % 2
        return 0.0 if len(done) == 2 else None
