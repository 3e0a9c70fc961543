"""Stages and a learner as one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition

from onepass.base import Learner, ModelFileError, Stage
from onepass.base.binding import Bound
from onepass.base.engine import Piece, Pieces
from onepass.base.estimator import are_named
from onepass.base.explaining import Explanation
from onepass.base.inputs import ABOUT_OBJECTS, BLOCK_ROWS, Rows, rows_of
from onepass.base.knowledge import WHOLE, Door
from onepass.base.offering import offered_if, refuse
from onepass.base.river import Riverine
from onepass.base.saving import Saved, pack_steps
from onepass.base.state import Array
from onepass.base.tasks import table_door
from onepass.base.writing import guarded, one_lock, steadily
from onepass.stages.foreign import Foreign, is_foreign

SEEN = attrgetter("_shown", "_state")
NOW = attrgetter("_lock", "_state", "_edition", "_shown")


def pipeline(*steps: Any) -> Pipeline:
    """Join stages and a learner into one model. Stages may also be transformers of scikit-learn and river: see
    :class:`onepass.stages.Foreign`.

    >>> from onepass import PAMOClassifier, StandardScaler, pipeline
    >>> model = pipeline(StandardScaler(), PAMOClassifier(random_state=0))
    >>> [name for name, _ in model.steps]
    ['standardscaler', 'pamoclassifier']
    """
    names = [type(step).__name__.lower() for step in steps]
    return Pipeline(
        [
            (name if names.count(name) == 1 else f"{name}-{i}", _stage(step) if i < len(steps) else step)
            for i, (name, step) in enumerate(zip(names, steps, strict=True), 1)
        ]
    )


def _stage(step: Any) -> Any:
    """A step before the learner; transformers of other libraries are made stages."""
    if not is_foreign(step):
        return step
    stage = Foreign(step)
    stage._ensure_parameters()
    return stage


def _length(X: Any) -> int:
    """The number of rows of a table of any kind."""
    return X.n if isinstance(X, Rows) else X.shape[0] if hasattr(X, "shape") else len(X)


def _learner_has(name: str) -> Any:
    return offered_if(lambda self: getattr(self.learner, name))


class Chain:
    """All steps in one call of machine code, for single examples that nothing new comes with. It holds as long as the steps are the
    versions that it was made of; `one` is None where each example needs a closer look, and `lock` where the steps have several."""

    def __init__(self, steps: list[tuple[str, Any]], versions: list[tuple[Any, ...]], one: Bound | None) -> None:
        self.one = one
        self.lock = versions[0][0] if len({id(lock) for lock, *_ in versions}) == 1 else None
        self._steps = steps[:]
        self._versions = [(step, *version[:3]) for (_, step), version in zip(steps, versions, strict=True)]

    def holds(self, steps: list[tuple[str, Any]]) -> bool:
        """Whether these are the steps that it was made of, as they were then."""
        if steps != self._steps:
            return False
        for step, lock, state, edition in self._versions:
            if step._state is not state or step._lock is not lock or step._edition is not edition or step._shown is not None:
                return False
        return True

    def learned(self, x: Any, y: Any) -> bool:
        """Learn from one example, by whoever has the lock; False if it needs a closer look."""
        one = self.one
        if one is None:
            return False
        try:
            code = one.code(y)
        except TypeError:  # a list or the like, which a closer look will call no label
            return False
        answer = None if code is None else one.run_one(x, code, one.full)
        return answer is not None and answer == answer


NO_CHAIN = Chain([], [], None)


class Pipeline(Saved, Riverine, _BaseComposition):
    """Stages, then a learner, with the learner's methods. Make one with :func:`pipeline`.

    While learning, each row passes the stages as they were before it; then the learner, and then the stages, learn from it.
    Predicting changes nothing. An error anywhere puts all steps back as they were.

    Parameters
    ----------
    steps : list of (name, estimator)
        Stages, and a learner at the end.

    Examples
    --------
    >>> from onepass import PARegressor, StandardScaler, pipeline
    >>> model = pipeline(StandardScaler(), PARegressor(epsilon=0.01))
    >>> for t in range(200):
    ...     size = 77.0 * t % 200
    ...     model.learn_one({"metres": size}, size / 100)
    >>> print(round(model.predict_one({"metres": 150.0}), 1))
    1.5
    """

    _chained = NO_CHAIN  # what `_chain` made last

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
            refuse(self, name)
        first = name in ("n_features_in_", "feature_names_in_")
        return getattr(self.steps[0][1] if first else self.learner, name)

    def copy(self) -> Self:
        """An independent copy, state included."""
        with self._writing():
            return type(self)([(name, step.copy()) for name, step in self.steps])

    def __getstate__(self) -> dict[str, Any]:
        """All steps as of one moment."""
        content = {**super().__getstate__(), "steps": self.copy().steps}
        content.pop("_chained", None)
        return content

    def __copy__(self) -> Self:
        return self.copy()  # two pipelines on the same steps would each learn for both

    def _check_steps(self) -> None:
        if not isinstance(self.learner, Learner) or not all(isinstance(stage, Stage) for stage in self.stages):
            raise TypeError(
                "A pipeline is made of stages (StandardScaler, UnitNorm, Hasher) and a learner of onepass at the end. Transformers of"
                " scikit-learn and river become stages in onepass.pipeline(...)."
            )
        before = [False, *(stage._gives_objects for stage in self.stages)]
        if any(before[:-1]) or before[-1] != self.learner._takes_objects():
            raise ValueError(ABOUT_OBJECTS)
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
            n = _length(X)
            target, weights = self.learner._targets(y, n), self.learner._weights(sample_weight, n)
            rows, told = self._through(X, target, weights, replace(WHOLE, features_come=are_named(X)))
            self.learner._fit(rows, told, target, weights)

        with self._writing():
            guarded(fit_anew, *self._all)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, once, going on from where the model is."""
        self._learn(X, y, sample_weight, table_door(X, classes))
        return self

    def test_then_train(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Array:
        """`partial_fit` that returns the scores each row had before it was learned from."""
        pieces = Pieces()
        with self._writing():
            self._learn(X, y, sample_weight, table_door(X, classes), pieces)
            return self._joined(pieces)

    def learn_one(self, x: Any, y: Any = None, w: float = 1.0) -> None:
        """Learn from one example: a dict of features, a 1-d array or a sparse row. `w` is its weight."""
        chain = self._chained
        with chain.lock or self._writing():
            if w == 1.0 and chain.holds(self.steps) and chain.learned(x, y):
                return
        with self._writing():
            latest = self._chain()
            if w == 1.0 and latest is not chain and latest.learned(x, y):
                return
            door = Door(labels_come=True, features_come=isinstance(x, Mapping))
            self._learn(self._all[0]._one_row(x), [y], None if w == 1.0 else [w], door)

    def _chain(self) -> Chain:
        """The chain of the steps as they are."""
        chain, steps = self._chained, self.steps
        if chain.holds(steps):
            return chain
        versions = list(map(NOW, self._all))  # in one go: what readers see belongs together
        if any(state is None or shown is not None for _, state, _, shown in versions):
            return NO_CHAIN  # there is a version for a while only
        self._chained = Chain(steps, versions, self._join([state for _, state, _, _ in versions]))
        return self._chained

    def _join(self, states: list[Any]) -> Bound | None:
        stages = self.stages
        if not stages or any(stage._takes_raw for stage in stages[1:]):
            return None
        one = self.learner._bind(states[-1])
        read = stages[0]._reader(states[0]) if stages[0]._takes_raw else None
        if not one.quick or (read is None and stages[0]._takes_raw):
            return None
        parts = [(stage._record(state), state, stage._width(state)) for stage, state in zip(stages, states, strict=False)]
        return one.behind(parts, read=read, holes=stages[0]._takes_missing, brings=stages[0]._brings_features)

    @property
    def _all(self) -> list[Any]:
        return [step for _, step in self.steps]

    def _writing(self) -> Any:
        """The lock of all steps."""
        return one_lock(self._all)

    def _joined(self, pieces: Pieces) -> Array:
        return self.learner._joined(pieces)

    def _learn(self, X: Any, y: Any, sample_weight: Any, door: Door, pieces: Pieces | None = None) -> None:
        self._check_steps()
        first = self._all[0]
        with self._writing():
            if not are_named(X) and not self._hashes():
                X = rows_of(X, first, fitted=first._state is not None)
            n = _length(X)
            target = self.learner._targets(y, n)
            weights = self.learner._weights(sample_weight, n)
            if self.learner._state is not None:  # a call tells its classes once, whatever it is cut into
                self.learner._check_classes(self.learner._state, door.classes)
                door = replace(door, classes=None)
            guarded(lambda: self._learn_parts(X, target, weights, door, pieces), *self._all)

    def _learn_parts(self, X: Any, target: Any, weights: Array | None, door: Door, pieces: Pieces | None) -> None:
        for start in range(0, len(target), BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, len(target))
            part = X.part(start, stop) if isinstance(X, Rows) else X[start:stop]
            share = None if weights is None else weights[start:stop]
            self._learn_part(part, target[start:stop], share, door, pieces)

    def _learn_part(self, part: Any, target: Any, weights: Array | None, door: Door, pieces: Pieces | None) -> None:
        """Learn from a block. Where features grow, rows of weight 0 bring none: they are only predicted."""
        cuts = [0, len(target)]
        if weights is not None and (door.features_come or self._grows() or any(s._brings_features for s in self.stages)):
            cuts = [0, *(np.flatnonzero(np.diff(weights > 0)) + 1).tolist(), len(target)]
        for start, stop in pairwise(cuts):
            some = part.part(start, stop) if isinstance(part, Rows) else part[start:stop]
            share = None if weights is None else weights[start:stop]
            if share is None or share.any():
                rows, told = self._through(some, target[start:stop], share, door)
                self.learner._learn(rows, target[start:stop], share, told, pieces)
            else:
                predicted = self._predicted_now(some, stop - start, pieces is not None and pieces.chances)
                if pieces is not None:
                    pieces.append(predicted)

    def _predicted_now(self, X: Any, n: int, chances: bool) -> Piece:
        """The scores of n rows that are not learned from, and their probabilities, if they are asked for."""
        state = self.learner._state
        if state is None:
            self._all[0]._check_rows(X)
        scores = np.full((n, 1), np.nan) if state is None else self._scores_now(X)
        return self.learner._foretold(scores, state, chances)

    def _grows(self) -> bool:
        return any(step._state is not None and step._state.grow_features for step in self._all)

    def _through(self, X: Any, target: Any, weights: Array | None, door: Door) -> tuple[Any, Door]:
        """Rows on their way to the learner, which the stages learn from, and what they tell it."""
        targets = None
        if any(stage._learns_targets for stage in self.stages):  # nobody looks at the labels of rows that weigh nothing
            targets = self.learner._for_stages(target if weights is None else target[weights > 0])
        for stage in self.stages:
            X, door = stage._learn_transform(X, weights, door, targets), door.behind(stage)
        return X, door

    def _hashes(self) -> bool:
        return getattr(self._all[0], "_takes_raw", False)

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
        return float(self.score_samples(self._all[0]._one_row(x))[0]) if self.__sklearn_is_fitted__() else None

    @_learner_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, a column a class."""
        learner = self.learner
        return self._read(lambda states: learner._chances(learner._scores(self._seen(X, states), states[-1]), states[-1]))

    def predict_one(self, x: Any) -> Any:
        """The label or number of one example; None or 0 before anything was learned."""
        one, answer = self._answer_one(x)
        said = None if answer is None else self.steps[-1][1]._said(one, answer)
        if said is not None:
            return said
        if not self.__sklearn_is_fitted__():
            return self.learner.predict_one(x)
        return self._read(lambda states: self.learner._decided(self._scores_one(x, states), states[-1]))

    def _answer_one(self, x: Any) -> tuple[Any, float | None]:
        """The answer to one example, and the binding that gave it; None if it needs a closer look."""
        chain = self._chain()
        one = chain.one
        answer = None if one is None else one.run_one(x, one.no_targets, one.none)
        # See Classifier.predict_one: by now there may be another version of the model in the same arrays.
        return one, None if answer is None or answer != answer or not chain.holds(self.steps) else answer

    @_learner_has("predict_proba_one")
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of each class, by label."""
        if not self.__sklearn_is_fitted__():
            return {}
        return self._read(lambda states: self.learner._chances_by_label(self._scores_one(x, states), states[-1]))

    def _scores_one(self, x: Any, states: list[Any]) -> Array:
        """The scores of one example, (1, width)."""
        return self.learner._scores(self._seen(self._all[0]._one_row(x), states), states[-1])

    @_learner_has("explain_one")
    def explain_one(self, x: Any, label: Any = None) -> Explanation:
        """What each feature adds to the score of one example, exactly: that of the label that is predicted, or of another one.

        Features are called what they are called before the stages, also where these hash: a column by what went into it.
        """
        return self._read(lambda states: self._explained(self._all[0]._one_row(x), states, label))

    def _explained(self, X: Any, states: list[Any], label: Any) -> Explanation:
        called: Any = None
        for stage, state in zip(self.stages, states, strict=False):
            seen = stage._seen_by(state, X)
            called = stage._called(state, X, called)
            X = seen
        return self.learner._explained(X, states[-1], label, called)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of a classifier, or R^2 of a regressor."""
        return self._read(lambda states: self.learner.score(self._seen(X, states), y, sample_weight))

    # --- files ---

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        self._check_steps()
        with self._writing():
            headers, arrays = pack_steps(self.steps)
        return {"class": type(self).__name__, "steps": headers}, arrays

    @classmethod
    def _unpack(cls, header: dict[str, Any], steps: dict[str, Any]) -> Self:
        model = cls([(name, steps[name]) for name, _ in header["steps"]])
        model._check_steps()
        if len({step.__sklearn_is_fitted__() for step in model._all if not getattr(step, "_takes_raw", False)}) > 1:
            raise ModelFileError("The model file is damaged: some of its steps have learned, and others have not.")
        if model.__sklearn_is_fitted__():
            states = [step._readable() for step in model._all]
            for stage, state, following in zip(model.stages, states, states[1:], strict=False):
                if not following.can_follow(stage._width(state)):
                    raise ModelFileError("The model file is damaged: its steps do not have the same number of features.")
        return model
