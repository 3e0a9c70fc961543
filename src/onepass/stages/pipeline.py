"""Stages and a learner as one model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition, available_if

from onepass.base import Learner, Stage
from onepass.base.estimator import are_named
from onepass.base.inputs import BLOCK_ROWS, Rows, one_row, rows_of
from onepass.base.learner import Piece
from onepass.base.saving import pack_steps, write
from onepass.base.state import Array

TAUGHT, NOT_TAUGHT = np.ones(1, bool), np.zeros(1, bool)


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
        return type(self)([(name, step.copy()) for name, step in self.steps])

    def _check_steps(self) -> None:
        if not isinstance(self.learner, Learner) or not all(isinstance(stage, Stage) for stage in self.stages):
            raise TypeError("A pipeline is made of stages (StandardScaler, UnitNorm, Hasher) and a learner at the end.")

    # --- learning ---

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Start anew, and learn from the rows in their order. The learner may pass over the rows, as its stages saw them, again."""
        with self._undone_on_error():
            for _, step in self.steps:
                step._state, step._bound = None, None
            n = len(X) if isinstance(X, list) else X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
            weights = self.learner._weights(sample_weight, n)
            self.learner.fit(self._through(X, weights), y, weights)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, once, going on from where the model is."""
        self._learn(X, y, classes, sample_weight, None)
        return self

    def test_then_train(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Array:
        """`partial_fit` that returns the scores each row had before it was learned from."""
        pieces: list[Piece] = []
        self._learn(X, y, classes, sample_weight, pieces)
        return self.learner._joined(pieces)

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row. `w` is its weight."""
        if w != 1.0 or not self._learn_quickly(x, y):
            self._learn(one_row(x), [y], None, None if w == 1.0 else [w], None, one=True)
            if self.stages:
                self.learner._bind()

    def _learn_quickly(self, x: Any, y: Any) -> bool:
        """Learn from an example that brings nothing new. False, and nothing changed, if it needs a closer look."""
        one = self.learner._bound
        code = one.code(y) if one is not None and one.quick else None
        blocks = None if code is None else self._blocks(x, one.dtype)
        if blocks is None or one.run(blocks[-1], code, one.learn_all, np.empty((1, one.width), one.dtype)) != 1:
            return False
        for stage, block in zip(self.stages, blocks, strict=False):
            stage._one(stage._fitted(), block, TAUGHT)
        return True

    def _blocks(self, x: Any, dtype: Any) -> list[Any] | None:
        """One example before the first stage, and after each; None if it needs a closer look."""
        stages = self.stages
        if not stages or stages[0]._state is None or self._hashes():
            return None
        widths = {step._state.n_features for _, step in self.steps if step._state is not None}
        block = stages[0]._row(x, stages[0]._state)
        if len(widths) != 1 or block is None or block.values.dtype != dtype:
            return None
        numbers = block.values.ravel()
        if not np.isfinite(numbers.dot(numbers)):
            return None
        blocks = [block]
        for stage in stages:
            blocks.append(stage._one(stage._fitted(), blocks[-1], NOT_TAUGHT))
        blocks[-1] = blocks[-1]._replace(bias=self.learner._bound.bias)
        return blocks

    def _learn(self, X: Any, y: Any, classes: Any, weights: Any, pieces: Any, *, one: bool = False) -> None:
        self._check_steps()
        if not are_named(X) and not self._hashes():
            X = rows_of(X, self.steps[0][1], fitted=self.steps[0][1].__sklearn_is_fitted__())
        n = X.n if isinstance(X, Rows) else len(X)
        target = self.learner._targets(y, n)
        weights = self.learner._weights(weights, n)
        with self._undone_on_error():
            for start in range(0, n, BLOCK_ROWS):
                stop = min(start + BLOCK_ROWS, n)
                part = X.part(start, stop) if isinstance(X, Rows) else X[start:stop]
                share = None if weights is None else weights[start:stop]
                self._learn_part(part, target[start:stop], classes, share, pieces, one or are_named(part))

    def _learn_part(self, part: Any, target: Any, classes: Any, weights: Array | None, pieces: Any, grows: bool) -> None:
        """Learn from a block. In a growing model rows of weight 0 bring neither features nor labels: they are only predicted."""
        cuts = [0, len(target)]
        if weights is not None and (grows or self._grows()):
            cuts = [0, *(np.flatnonzero(np.diff(weights > 0)) + 1).tolist(), len(target)]
        for start, stop in pairwise(cuts):
            some = part.part(start, stop) if isinstance(part, Rows) else part[start:stop]
            share = None if weights is None else weights[start:stop]
            if share is None or share.any():
                rows = self._through(some, share, one=grows)
                self.learner._learn(rows, target[start:stop], share, classes, pieces, one=grows)
            elif pieces is not None:
                scores = self.learner._scores(self._seen(some)).reshape(stop - start, -1)
                pieces.append((self.learner._fitted().classes, scores))

    def _grows(self) -> bool:
        return any(step._state is not None and step._state.grow_features for _, step in self.steps)

    def _through(self, X: Any, weights: Array | None, *, one: bool = False) -> Rows:
        for stage in self.stages:
            X = stage._learn_transform(X, weights, one=one)
        return X

    def _hashes(self) -> bool:
        return getattr(self.steps[0][1], "_takes_names_only", False)

    @contextlib.contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for _, step in self.steps:
                stack.enter_context(step._undone_on_error())
            yield

    # --- predicting ---

    def _seen(self, X: Any) -> Any:
        for stage in self.stages:
            state = stage._fitted()
            rows = stage._foreseen(X, state)
            stage._check_finite(rows, rows.dtype)
            X = stage._transformed(state, rows, np.zeros(rows.n, bool))
        return X

    def predict(self, X: Any) -> Array:
        """The label or number of each row."""
        return self.learner.predict(self._seen(X))

    @_learner_has("decision_function")
    def decision_function(self, X: Any) -> Array:
        """The scores of each row."""
        return self.learner.decision_function(self._seen(X))

    @_learner_has("score_samples")
    def score_samples(self, X: Any) -> Array:
        """How usual each row is, to a learner of one class."""
        return self.learner.score_samples(self._seen(X))

    @_learner_has("score_one")
    def score_one(self, x: Any) -> float | None:
        """How usual one example is, to a learner of one class; None before anything was learned."""
        return float(self.score_samples(one_row(x))[0]) if self.__sklearn_is_fitted__() else None

    @_learner_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, a column a class."""
        return self.learner.predict_proba(self._seen(X))

    def predict_one(self, x: Any) -> Any:
        """The label or number of one example; None or 0 before anything was learned."""
        if not self.__sklearn_is_fitted__():
            return self.learner.predict_one(x)
        one = self.learner._bind()
        blocks = self._blocks(x, one.dtype)
        if blocks is not None:
            scores = np.empty((1, one.width), one.dtype)
            if one.run(blocks[-1], one.no_targets, one.predict_only, scores) == 1:
                return self.learner._decided(scores)
        return self.learner._decided(self.learner._scores(self._seen(one_row(x))).reshape(1, -1))

    @_learner_has("predict_proba_one")
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of each class, by label."""
        if not self.__sklearn_is_fitted__():
            return {}
        return dict(zip(self.learner.classes_.tolist(), self.predict_proba(one_row(x))[0].tolist(), strict=True))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of a classifier, or R^2 of a regressor."""
        return self.learner.score(self._seen(X), y, sample_weight)

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `onepass.load` reads."""
        write(path, *self._pack())

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        headers, arrays = pack_steps(self.steps)
        return {"class": type(self).__name__, "steps": headers}, arrays

    @classmethod
    def _unpack(cls, header: dict[str, Any], steps: dict[str, Any]) -> Self:
        return cls([(name, steps[name]) for name, _ in header["steps"]])
