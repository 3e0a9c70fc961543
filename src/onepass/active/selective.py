"""Selective sampling: a learner that asks for the label of an example only where it is unsure of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from onepass.active.outputs import OutputPass
from onepass.active.passes import Pass, check_unasked, examples, last_of, margin_of
from onepass.base import Classifier, ModelFileError
from onepass.base.conventions import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from onepass.base.engine import Pieces
from onepass.base.estimator import are_named
from onepass.base.explaining import Explanation
from onepass.base.inputs import Rows
from onepass.base.knowledge import Door
from onepass.base.offering import offered_if, refuse
from onepass.base.parameters import parameter, parametric
from onepass.base.saving import Saved, pack_steps, pack_value, unpack_value
from onepass.base.state import Array
from onepass.base.tasks import table_door
from onepass.base.writing import Locked, guarded, one_lock
from onepass.structured.outputs import DecodingLearner

# The draws have a stream of their own: those of a state are numbered from 0, and would be the same numbers for the same seed.
STREAM = (2**64 - 1) << 64

DRAWN_AHEAD = 256  # a generator takes longer to make than numbers

LEARNED = ("learner_", "_seed", "_ahead", "seen_", "asked_")  # all that learning makes


def _learner_has(name: str) -> Any:
    return offered_if(lambda self: getattr(vars(self).get("learner_", self.learner), name))


@parametric
class ActiveLearner(Saved, Locked, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that asks for labels, mostly those of examples that it is unsure of.

    The label of an example is asked for with probability delta / (delta + margin), where the margin is |score| for two classes,
    and the best score less the second best for more, as `decision_function` gives them just then; the tags of a sentence, where
    the margin is by how much the best sequence of tags beats the second best. It learns from the examples
    that it asked about, and those only: all others leave it as it is, whatever their labels and features are.

    With somebody who knows the answers: ``if active.query(x): active.answer(x, label)``. On data that has labels, `fit`,
    `partial_fit`, `test_then_train` and `learn_one` do the same by themselves. The draw for an example depends on the seed and on
    how many examples came before it, so the same examples give the same model to the bit, whichever way they come.

    Attributes
    ----------
    learner_ : classifier, pipeline or tagger
        What has learned. Its attributes (`classes_`, `coef_`, `t_` and so on) can be read here, too.
    seen_, asked_ : int
        The number of examples seen, and of labels asked for. Examples of weight 0 are not seen.

    Notes
    -----
    A learner that has no state yet asks. `fit` takes the classes from y, as `fit` of the learner does, unless they are declared or
    may come up; apart from that a label is looked at when it is asked for, and not before. The stages of a pipeline learn from the
    same examples as its learner. Each example is asked about once: `fit` makes one pass, and takes no learner with max_iter > 1.

    References
    ----------
    N. Cesa-Bianchi, C. Gentile, L. Zaniboni: Worst-case analysis of selective sampling for linear classification. JMLR 7 (2006),
    1205-1230.

    J. Lu, P. Zhao, S. C. H. Hoi: Online passive-aggressive active learning. Machine Learning 103 (2016), 141-183.

    Examples
    --------
    >>> from onepass import ActiveLearner, PAClassifier, datasets
    >>> X, y = datasets.sea(5000, noise=0, random_state=0)
    >>> model = ActiveLearner(PAClassifier(average=True), delta=0.3, random_state=0).fit(X, y)
    >>> model.seen_, model.asked_ < 2000
    (5000, True)
    >>> round(model.score(X, y), 2), round(PAClassifier(average=True).fit(X, y).score(X, y), 2)
    (0.93, 0.93)

    >>> live = ActiveLearner(PAClassifier(), random_state=0)
    >>> if live.query({"free": 1, "offer": 1}):
    ...     live.answer({"free": 1, "offer": 1}, "spam")
    >>> live.predict_one({"free": 1})
    'spam'

    Sentences, of which a tagger asks for all tags or none:

    >>> from onepass import SequenceTagger
    >>> tagger = ActiveLearner(SequenceTagger(templates="tags"), delta=0.1, random_state=0)
    >>> told = tagger.test_then_train([["the", "dog"], ["a", "cat"]] * 50, [["DET", "NOUN"]] * 100)
    >>> tagger.seen_, tagger.asked_ < 20, tagger.predict_one(["a", "dog"])
    (100, True, ['DET', 'NOUN'])
    """

    learner: Any = parameter(
        kind="classifier, pipeline or tagger",
        text="What learns: any classifier of this library, a pipeline that ends in one, or a `SequenceTagger`. It is cloned.",
    )
    delta: float = parameter(
        1.0,
        Interval(Real, 0, None, closed="right"),
        text="The margin at which half of the examples are asked about: the larger, the more labels; with infinity, all.",
    )
    _: KW_ONLY
    random_state: Any = parameter(None, "random_state", text="The seed of the random choice of questions.")

    # --- with somebody who knows the answers ---

    def query(self, x: Any) -> bool:
        """Whether to ask for the label of this example: a dict of features, a 1-d array or a sparse row; for the tags of a sentence.

        It counts as seen, and the draw is made; nothing else changes.
        """

        def ask() -> bool:
            margin = margin_of(self.learner_, x) if self.__sklearn_is_fitted__() else 0.0
            asks = margin <= float(self.delta) * self._odds(1).item()
            self.seen_ += 1
            self.asked_ += int(asks)
            return asks

        return self._write(ask)

    def answer(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from an example, asked for or not. `w` is its weight."""
        self._write(lambda: self.learner_.learn_one(x, y, w))

    # --- with labels at hand ---

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one example, if its label is asked for. `w` is its weight; an example of weight 0 is not asked about."""

        def learn() -> None:
            if (w != 1.0 and not self._core._weights([w], 1).any()) or self.query(x):
                self.learner_.learn_one(x, y, w)
            else:
                check_unasked(self.learner_, x)

        self._write(learn)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew, and learn from the rows in their order, from those whose label is asked for."""
        with self._lock:
            fresh = type(self)(self.learner, self.delta, random_state=self.random_state)  # readers have the old one meanwhile
            fresh._begin()
            if fresh._core.max_iter != 1:
                raise ValueError("An ActiveLearner asks about each example once: leave max_iter of its learner at 1.")
            fresh._learn(X, y, sample_weight, Door(whole=True, features_come=are_named(X)))
            if fresh.asked_ == 0:
                raise ValueError("All sample weights are zero: there is nothing to learn from.")
            self.__dict__.update({name: value for name, value in vars(fresh).items() if name in LEARNED})
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows in their order, from those whose label is asked for, going on from where the model is."""
        self._learn(X, y, sample_weight, table_door(X, classes))
        return self

    def test_then_train(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """`partial_fit` that returns the scores each row had before it was learned from or passed over; of sentences, their tags."""
        pieces = list[Any]() if isinstance(self.learner, DecodingLearner) else Pieces()
        with self._lock:
            self._learn(X, y, sample_weight, table_door(X, classes), pieces)
            return self._joined(pieces) if isinstance(pieces, Pieces) else pieces

    # --- predicting ---

    def decision_function(self, X: Any) -> Array:
        """The score of each row: (n,) for two classes, positive for `classes_[1]`; (n, K) for more. Of sentences, how sure each is."""
        return self._model().decision_function(X)

    def predict(self, X: Any) -> Any:
        """The label of each row, or the tags of each sentence."""
        return self._model().predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the labels that are right, of the tags of sentences."""
        return self._model().score(X, y, sample_weight)

    def predict_one(self, x: Any) -> Any:
        """The label of one example; None while no label is known."""
        if self.__sklearn_is_fitted__():
            return self.learner_.predict_one(x)
        return clone(self.learner).predict_one(x) if isinstance(self.learner, DecodingLearner) else None

    @_learner_has("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, a column a class, where the learner's `calibrate` is set."""
        return self._model().predict_proba(X)

    @_learner_has("predict_proba_one")
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """The probability of each class by label, where the learner's `calibrate` is set; empty while no label is known."""
        return self.learner_.predict_proba_one(x) if self.__sklearn_is_fitted__() else {}

    @_learner_has("explain_one")
    def explain_one(self, x: Any, label: Any = None) -> Explanation:
        """What each feature adds to the score of one example, exactly: that of the label that is predicted, or of another one."""
        return self._model().explain_one(x, label)

    # --- the learner inside ---

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.learner)
        tags.estimator_type, tags.classifier_tags, tags.target_tags = (
            inner.estimator_type,
            inner.classifier_tags,
            inner.target_tags,
        )
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self) and self.learner_.__sklearn_is_fitted__()

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes are those of the learner."""
        if name.startswith("_") or not name.endswith("_") or "learner_" not in vars(self):
            refuse(self, name)
        return getattr(self.learner_, name)

    def _model(self) -> Any:
        if "learner_" not in vars(self):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before using this"
                " estimator."
            )
        return self.learner_

    @property
    def _core(self) -> Any:
        """The classifier itself, without the stages before it."""
        return last_of(self.learner_)

    def _begin(self) -> None:
        """Check the parameters, and make what learns, unless it is there."""
        last = last_of(self.learner)
        if not isinstance(last, Classifier | DecodingLearner):
            raise TypeError(
                f"An ActiveLearner takes a classifier of onepass, a pipeline that ends in one, or a tagger, not {self.learner!r}."
            )
        if last._needs_whole_data():
            raise ValueError(f"{last!r} looks at all of its data before each step: it has no use for single labels.")
        if last.__sklearn_tags__().input_tags.pairwise:
            raise ValueError(f"{last!r} knows examples by their numbers: it has to learn from all of them.")
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), caller_name=type(self).__name__
        )
        if "learner_" not in vars(self):
            self.learner_: Any = clone(self.learner)
            self._seed: int = int(check_random_state(self.random_state).randint(2**31 - 1))
            self._ahead: tuple[int, Array] = (0, np.empty(0))
            self.seen_: int = 0
            self.asked_: int = 0

    def _write(self, work: Callable[[], Any]) -> Any:
        """What `work` gives, one writer at a time. If it raises, the counters, and with them the place in the draws, are put back,
        unless the learner, which undoes its part by itself, had learned already."""
        with self._lock:
            before, learned = dict(vars(self)), self._learned()
            try:
                self._begin()
                return work()
            except BaseException:
                if self._learned() == learned:
                    self.__dict__ = before
                raise

    def _learned(self) -> tuple[int, int, int] | None:
        """How many examples, features and labels the learner has learned. The first example may bring a label only."""
        state = self._core._latest() if "learner_" in vars(self) else None
        return None if state is None else (state.t, state.n_features, 0 if state.classes is None else len(state.classes))

    def _joined(self, pieces: Pieces) -> Array:
        return self._core._joined(pieces)

    def __getstate__(self) -> dict[str, Any]:
        content: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in content.items() if name != "_lock"}

    def __copy__(self) -> Self:
        return self.copy()

    def copy(self) -> Self:
        """An independent copy, state included."""
        with self._lock:
            other = clone(self)
            if "learner_" in vars(self):
                other.learner_, other._seed, other._ahead = self.learner_.copy(), self._seed, self._ahead
                other.seen_, other.asked_ = self.seen_, self.asked_
            return other

    # --- what is asked ---

    def _odds(self, n: int) -> Array:
        """(1 - u) / u for the draws u of the next n examples.

        u <= delta / (delta + margin) is margin <= delta (1 - u) / u: a comparison is all that is left to do in the loop, and it
        comes out the same wherever it is made.
        """
        first, odds = self._ahead
        skipped = self.seen_ - first
        if not 0 <= skipped <= len(odds) - n:
            u = uniform(self._seed, self.seen_, max(n, DRAWN_AHEAD))
            with np.errstate(divide="ignore"):
                odds, skipped = (1 - u) / u, 0
            if n < DRAWN_AHEAD:
                self._ahead = self.seen_, odds
        return odds[skipped : skipped + n]

    def _learn(self, X: Any, y: Any, sample_weight: Any, door: Door, pieces: Any = None) -> None:
        self._write(lambda: self._learn_table(X, y, sample_weight, door, pieces))

    def _learn_table(self, X: Any, y: Any, sample_weight: Any, door: Door, pieces: Any) -> None:
        core = self._core
        structured = isinstance(core, DecodingLearner)
        X = core._examples(X) if structured else examples(X, self.learner_)
        n = X.n if isinstance(X, Rows) else len(X)
        target, weights = core._targets(y, X if structured else n), core._weights(sample_weight, n)
        if door.whole:
            X, target, weights = core._begin_pass(X, target, weights)
        if door.whole and not structured:
            come = core.grow in (True, "labels")
            labels = core._find_labels(target, None, not come, come)
            door = replace(door, classes=labels if len(labels) else None)
        taught = np.ones(n, bool) if weights is None else weights > 0
        reach = np.full(n, -1.0)  # no margin is so small
        with np.errstate(over="ignore"):
            reach[taught] = float(self.delta) * self._odds(int(taught.sum()))
        one_pass: Any = (OutputPass if structured else Pass)(self.learner_, X, target, weights, reach, pieces)

        def learn() -> None:
            one_pass.go(door)
            self.seen_ += int(taught.sum())
            self.asked_ += int(one_pass.asked.sum())

        with one_lock(one_pass.steps):
            guarded(learn, *one_pass.steps)

    # --- files ---

    def _pack(self) -> tuple[dict[str, Any], dict[str, Array]]:
        with self._lock:
            return self._packed()

    def _packed(self) -> tuple[dict[str, Any], dict[str, Array]]:
        steps = [("learner", clone(self.learner))]
        parameters = {name: pack_value(getattr(self, name)) for name in ("delta", "random_state")}
        header: dict[str, Any] = {"class": type(self).__name__, "parameters": parameters}
        if "learner_" in vars(self):
            steps.append(("learner_", self.learner_))
            header["draws"] = [self._seed, self.seen_, self.asked_]
        headers, arrays = pack_steps(steps)
        return {**header, "steps": headers}, arrays

    @classmethod
    def _unpack(cls, header: dict[str, Any], steps: dict[str, Any]) -> Self:
        model = cls(steps["learner"], **{name: unpack_value(value) for name, value in header["parameters"].items()})
        if "learner_" in steps:
            model._begin()
            draws = header["draws"]
            known = isinstance(last_of(steps["learner_"]), Classifier | DecodingLearner)
            sound = known and all(type(n) is int and 0 <= n < 2**63 for n in draws)
            if not sound:
                raise ModelFileError("The model file is damaged: its learner or its draws are not those of an ActiveLearner.")
            model.learner_, (model._seed, model.seen_, model.asked_) = steps["learner_"], draws
        return model


def uniform(seed: int, first: int, n: int) -> Array:
    """Numbers first .. first + n of the draws of a seed, by a counter-based generator: each depends on its place alone."""
    bits = np.random.Philox(key=STREAM | seed)
    bits.advance(first // 4)  # four numbers a step of its counter
    return np.random.Generator(bits).random(first % 4 + n)[first % 4 :]
