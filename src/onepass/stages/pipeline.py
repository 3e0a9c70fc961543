"""Stages and a learner as one model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise, starmap
from operator import attrgetter, call
from typing import Any, Self

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition, available_if

from onepass.base import Learner, ModelFileError, Stage
from onepass.base.estimator import are_named
from onepass.base.inputs import BLOCK_ROWS, Rows, one_row, rows_of
from onepass.base.knowledge import WHOLE, Door
from onepass.base.learner import Piece
from onepass.base.saving import pack_steps, write
from onepass.base.stage import entry_of, run
from onepass.base.state import Array
from onepass.base.tasks import table_door
from onepass.base.writing import guarded, one_lock, steadily

TAUGHT, NOT_TAUGHT = np.ones(1, bool), np.zeros(1, bool)
SEEN = attrgetter("_shown", "_state")


def pipeline(*steps: Any) -> Pipeline:
    """Join stages and a learner into one model.

    >>> from onepass import PAMOClassifier, StandardScaler, pipeline
    >>> model = pipeline(StandardScaler(), PAMOClassifier(random_state=0))
    >>> [name for name, _ in model.steps]
    ['standardscaler', 'pamoclassifier']
    """
    names = [type(step).__name__.lower() for step in steps]
    return Pipeline(
        [
            (name if names.count(name) == 1 else f"{name}-{i}", step)
            for i, (name, step) in enumerate(zip(names, steps, strict=True), 1)
        ]
    )


def _learner_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.learner, name))


class Pipeline(_BaseComposition):
    """Stages, then a learner, with the learner's doors. Make one with :func:`pipeline`.

    While learning, each row passes the stages as they were before it; then the learner, and then the stages, learn from it.
    Predicting changes nothing. An error anywhere puts all steps back as they were.

    Parameters
    ----------
    steps : list of (name, estimator)
        Stages, and a learner at the end.

    Examples
    --------
    >>> from onepass import PARegressor, StandardScaler, pipeline
    >>> model = pipeline(StandardScaler(), PARegressor())
    >>> for size in range(1, 200):
    ...     model.learn_one({"metres": float(size)}, size / 100)
    >>> round(model.predict_one({"metres": 150.0}), 1)
    1.5
    """

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        self.steps = steps

    # --- the steps ---

    @property
    def stages(self) -> list[Stage]:
        """All steps but the last."""
        return [step for _, step in self.steps[:-1]]

    @property
    def learner(self) -> Any:
        """The last step."""
        return self.steps[-1][1]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the pipeline and, with `deep`, of its steps as step__parameter."""
        return self._get_params("steps", deep=deep)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, those of the steps as step__parameter."""
        self._set_params("steps", **parameters)
        return self

    def __getitem__(self, key: int | str) -> Any:
        return dict(self.steps)[key] if isinstance(key, str) else self.steps[key][1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_learner = get_tags(self.learner)
        tags.estimator_type = of_learner.estimator_type
        tags.classifier_tags, tags.regressor_tags = of_learner.classifier_tags, of_learner.regressor_tags
        tags.target_tags, tags.input_tags.sparse = of_learner.target_tags, True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return self.learner.__sklearn_is_fitted__()

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes: of the features from the first step, all others from the learner."""
        if name.startswith("_") or not name.endswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        first = name in ("n_features_in_", "feature_names_in_")
        return getattr(self.steps[0][1] if first else self.learner, name)

    def copy(self) -> Self:
        """An independent copy, state included."""
        with self._writing():
            return type(self)([(name, step.copy()) for name, step in self.steps])

    def __getstate__(self) -> dict[str, Any]:
        """All steps as of one moment."""
        return {**super().__getstate__(), "steps": self.copy().steps}

    def __copy__(self) -> Self:
        return self.copy()  # two pipelines on the same steps would each learn for both

    def _check_steps(self) -> None:
        if not isinstance(self.learner, Learner) or not all(isinstance(stage, Stage) for stage in self.stages):
            raise TypeError("A pipeline is made of stages (StandardScaler, UnitNorm, Hasher) and a learner at the end.")
        names = [name for name, _ in self.steps]
        self._validate_names(names)  # scikit-learn's: text, each once, without "__"
        if slashed := [name for name in names if "/" in name]:
            raise ValueError(f"Names of steps must not hold '/', which files use: got {slashed[0]!r}.")

    # --- learning ---

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Start anew, and learn from the rows in their order. The learner may pass over the rows, as its stages saw them, again."""
        self._check_steps()

        def fit_anew() -> None:
            for step in self._all:
                step._state = None
            n = len(X) if isinstance(X, list) else X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
            weights = self.learner._weights(sample_weight, n)
            self.learner._fit(*self._through(X, weights, replace(WHOLE, features_come=are_named(X))), y, weights)

        with self._writing():
            guarded(fit_anew, *self._all)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, once, going on from where the model is."""
        self._learn(X, y, sample_weight, table_door(X, classes))
        return self

    def test_then_train(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Array:
        """`partial_fit` that returns the scores each row had before it was learned from."""
        pieces: list[Piece] = []
        with self._writing():
            self._learn(X, y, sample_weight, table_door(X, classes), pieces)
            return self._joined(pieces)

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row. `w` is its weight."""
        with self._writing():
            if w != 1.0 or not self._learn_quickly(x, y):
                door = Door(labels_come=True, features_come=isinstance(x, Mapping))
                self._learn(one_row(x), [y], None if w == 1.0 else [w], door)
                self.learner._keep_bound()

    @property
    def _all(self) -> list[Any]:
        return [step for _, step in self.steps]

    def _writing(self) -> Any:
        """The lock of all steps."""
        return one_lock(self._all)

    def _joined(self, pieces: list[Piece]) -> Array:
        return self.learner._joined(pieces)

    def _learn_quickly(self, x: Any, y: Any) -> bool:
        """Learn from an example that brings nothing new. False, and nothing changed, if it needs a closer look."""
        one = self.learner._bound
        try:
            code = one.code(y) if one is not None and one.quick else None
        except TypeError:  # a list or the like, which a closer look will call no label
            code = None
        states: list[Any] = [stage._state for stage in self.stages]
        seen = None if code is None else self._blocks(x, one, states)
        if seen is None:
            return False
        blocks, width = seen
        # Learner and stages learn in one go, which no Ctrl-C comes between. The learner is first: if it refuses, nobody learns.
        learning = [
            entry_of(stage._call(state, block, TAUGHT, stage._room_for_one(state, block)))
            for stage, state, block in zip(self.stages, states, blocks, strict=False)
        ]
        own = one.call(blocks[-1], width, code, one.learn_all, np.empty((1, one.width), one.dtype))
        count_up = (np.add, one.pulse, 1, one.pulse)
        try:
            return all(starmap(call, [count_up, own, *learning, count_up]))
        finally:
            one.pulse += one.pulse % 2

    def _blocks(self, x: Any, one: Any, states: list[Any]) -> tuple[list[Any], int] | None:
        """One example before the first stage, and after each, and its width in the end; None if it needs a closer look."""
        stages = self.stages
        if not stages or states[0] is None or self._hashes():
            return None
        widths = {state.n_features for state in (*states, one.state)}
        block = stages[0]._row(x, states[0])
        if len(widths) != 1 or block is None or block.values.dtype != one.dtype:
            return None
        numbers = block.values.ravel()
        if not np.isfinite(numbers.dot(numbers)):
            return None
        blocks = [block]
        for stage, state in zip(stages, states, strict=True):
            out = stage._room_for_one(state, blocks[-1])
            run(stage._call(state, blocks[-1], NOT_TAUGHT, out))
            blocks.append(stage._one(state, blocks[-1], out))
        blocks[-1] = blocks[-1]._replace(bias=one.bias)
        return blocks, one.state.n_features

    def _learn(self, X: Any, y: Any, sample_weight: Any, door: Door, pieces: list[Piece] | None = None) -> None:
        self._check_steps()
        first = self._all[0]
        with self._writing():
            if not are_named(X) and not self._hashes():
                X = rows_of(X, first, fitted=first._state is not None)
            n = X.n if isinstance(X, Rows) else len(X)
            target = self.learner._targets(y, n)
            weights = self.learner._weights(sample_weight, n)
            guarded(lambda: self._learn_parts(X, target, weights, door, pieces), *self._all)

    def _learn_parts(self, X: Any, target: Any, weights: Array | None, door: Door, pieces: list[Piece] | None) -> None:
        for start in range(0, len(target), BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, len(target))
            part = X.part(start, stop) if isinstance(X, Rows) else X[start:stop]
            share = None if weights is None else weights[start:stop]
            self._learn_part(part, target[start:stop], share, door, pieces)

    def _learn_part(self, part: Any, target: Any, weights: Array | None, door: Door, pieces: list[Piece] | None) -> None:
        """Learn from a block. Where features grow, rows of weight 0 bring none: they are only predicted."""
        cuts = [0, len(target)]
        if weights is not None and (door.features_come or self._grows()):
            cuts = [0, *(np.flatnonzero(np.diff(weights > 0)) + 1).tolist(), len(target)]
        for start, stop in pairwise(cuts):
            some = part.part(start, stop) if isinstance(part, Rows) else part[start:stop]
            share = None if weights is None else weights[start:stop]
            if share is None or share.any():
                rows, told = self._through(some, share, door)
                self.learner._learn(rows, target[start:stop], share, told, pieces)
            elif pieces is not None:
                state = self.learner._state
                unknown = np.empty(0), np.full((stop - start, 1), np.nan)
                pieces.append(unknown if state is None else (state.classes, self._scores_now(some)))

    def _grows(self) -> bool:
        return any(step._state is not None and step._state.grow_features for step in self._all)

    def _through(self, X: Any, weights: Array | None, door: Door) -> tuple[Any, Door]:
        """Rows on their way to the learner, which the stages learn from, and what they tell it."""
        for stage in self.stages:
            X, door = stage._learn_transform(X, weights, door), door.behind(stage)
        return X, door

    def _hashes(self) -> bool:
        return getattr(self._all[0], "_takes_names_only", False)

    # --- predicting ---

    def _read(self, read: Callable[[list[Any]], Any]) -> Any:
        """What `read` finds in the states of all steps at one moment."""
        return steadily(read, self._states, self._writing())

    def _states(self) -> list[Any]:
        """The states of all steps as readers see them, taken in one go."""
        taken = list(map(SEEN, self._all))
        states = [state if shown is None else shown[0] for shown, state in taken]
        if states[-1] is None:
            self.learner._readable()
        return [step._readable() if state is None else state for step, state in zip(self._all, states, strict=True)]

    def _seen(self, X: Any, states: list[Any]) -> Any:
        """Rows as the learner sees them."""
        for stage, state in zip(self.stages, states, strict=False):
            X = stage._seen_by(state, X)
        return X

    def _scores_now(self, X: Any) -> Array:
        """The scores of rows, (n, width), as the writer of this pipeline sees them."""
        return self.learner._scores(self._seen_now(X), self.learner._writable())

    def _seen_now(self, X: Any) -> Any:
        """Rows as the learner sees them, as the writer of this pipeline sees the stages."""
        return self._seen(X, [stage._readable() if stage._state is None else stage._state for stage in self.stages])

    def predict(self, X: Any) -> Array:
        """The label or number of each row."""
        return self._read(lambda states: self.learner._predicted(self._seen(X, states), states[-1]))

    @_learner_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """The scores of each row."""
        return self._read(lambda states: self.learner._decisions(self._seen(X, states), states[-1]))

    @_learner_has("score_samples")
    def score_samples(self, X: Any) -> Array:
        """How usual each row is, to a learner of one class."""
        return self._read(lambda states: self.learner._samples(self._seen(X, states), states[-1]))

    @_learner_has("score_one")
    def score_one(self, x: Any) -> float | None:
        """How usual one example is, to a learner of one class; None before anything was learned."""
        return float(self.score_samples(one_row(x))[0]) if self.__sklearn_is_fitted__() else None

    @_learner_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, a column a class."""
        learner = self.learner
        return self._read(lambda states: learner._chances(learner._scores(self._seen(X, states), states[-1]), states[-1]))

    def predict_one(self, x: Any) -> Any:
        """The label or number of one example; None or 0 before anything was learned."""
        if not self.__sklearn_is_fitted__():
            return self.learner.predict_one(x)
        return self._read(lambda states: self.learner._decided(self._scores_one(x, states), states[-1]))

    @_learner_has("predict_proba_one")
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of each class, by label."""
        if not self.__sklearn_is_fitted__():
            return {}
        return self._read(lambda states: self.learner._chances_by_label(self._scores_one(x, states), states[-1]))

    def _scores_one(self, x: Any, states: list[Any]) -> Array:
        """The scores of one example, (1, width)."""
        one = self.learner._bind(states[-1])
        seen = self._blocks(x, one, states[:-1])
        if seen is not None:
            blocks, width = seen
            scores = np.empty((1, one.width), one.dtype)
            if one.run(blocks[-1], width, one.no_targets, one.predict_only, scores) == 1:
                return scores
        return self.learner._scores(self._seen(one_row(x), states), states[-1])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of a classifier, or R^2 of a regressor."""
        return self._read(lambda states: self.learner.score(self._seen(X, states), y, sample_weight))

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `onepass.load` reads."""
        write(path, *self._pack())

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        self._check_steps()
        with self._writing():
            headers, arrays = pack_steps(self.steps)
        return {"class": type(self).__name__, "steps": headers}, arrays

    @classmethod
    def _unpack(cls, header: dict[str, Any], steps: dict[str, Any]) -> Self:
        model = cls([(name, steps[name]) for name, _ in header["steps"]])
        model._check_steps()
        if len({step.__sklearn_is_fitted__() for step in model._all if not getattr(step, "_takes_names_only", False)}) > 1:
            raise ModelFileError("The model file is damaged: some of its steps have learned, and others have not.")
        return model
