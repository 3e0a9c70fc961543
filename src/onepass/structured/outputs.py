"""Learners of structured outputs: the parameters of the rule, a state, and one pass over examples.

The engine of other learners takes rows of one width, targets that are one code each and scores of one length; here an example is
several rows, its output as long as it is, and what a pass returns are outputs, not scores. So the pass is written again, for examples
of any length; states, growing, averages, weights, files, locks and the way back are those of all learners.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from numbers import Real
from operator import call
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from onepass.base.engine import COPIED_ALWAYS
from onepass.base.errors import DivergedError
from onepass.base.knowledge import Start
from onepass.base.labels import Coded
from onepass.base.learner import POWERS_OF_TWO, Learner
from onepass.base.parameters import COUNT, POSITIVE, among, parameter, parametric
from onepass.base.state import Array, Field, State
from onepass.base.writing import guarded, in_place, while_true
from onepass.compiled.average import Averaged, Lazy, NoAverage
from onepass.compiled.compiler import machine_code
from onepass.compiled.covariance import Diagonal
from onepass.compiled.loop import Weights
from onepass.compiled.passive_aggressive import VARIANTS
from onepass.linear.arow import AROW
from onepass.linear.confidence_weighted import Confidence, quantile
from onepass.linear.passive_aggressive import PA
from onepass.linear.second_order import Gaussian
from onepass.structured.loop import run, run_several
from onepass.structured.problem import COSTS
from onepass.structured.rules import Collins, Ordered, Structured

BLOCK = 1024  # examples, for which the loop runs at once


class Bound:
    """A state as the records that the loop takes, and the loop's entry points for them; checked once, here."""

    def __init__(self, learner: Any, state: State) -> None:
        flaw = state.flaw() or learner._flaw(state)
        if flaw:
            raise RuntimeError(f"This {type(learner).__name__} can't be used any more: {flaw}. Load it again, or call fit.")
        self.edition = learner._edition
        arrays = state.arrays
        self.model: Any = learner._structured(state, arrays["W"], None)
        self.average: Any = NoAverage(0)
        if "clock" in arrays:
            gap, clock = arrays["gap.W"], arrays["clock"]
            self.model = learner._structured(state, arrays["W"], Averaged(arrays["W"].reshape(-1), gap.reshape(-1), clock))
            self.average = Lazy(learner._problem(state, gap), gap.reshape(-1), clock)
        self.count, self.dtype = arrays["count"], state.dtype
        self.labels: list[Any] = learner._labels(state)
        one = state.dtype.type(1)
        self.learn_all, self.predict_only = Weights(np.empty(0, state.dtype), one), Weights(np.empty(0, state.dtype), 0 * one)
        self._learner = learner

    def call(self, X: Any, codes: Array, gate: Any, out: Array) -> tuple[Any, ...]:
        """The entry point for some examples, and its arguments."""
        arguments = self.model, self.average, X, codes, gate, out, self.count
        known: tuple[Any, ...] = self._learner._entry
        if known[:2] != (
            self.edition,
            self.dtype,
        ):  # these decide on all types, and to look at types takes longer than a sentence
            known = self._learner._entry = self.edition, self.dtype, machine_code(run, *arguments)
        return known[2], *arguments

    def predict(self, X: Any) -> tuple[Array, int]:
        """The outputs of examples, one after the other, and how many examples were done."""
        out = np.empty(X.offsets[-1], np.int64)
        return out, call(*self.call(X, self._learner._no_targets, self.predict_only, out))


@parametric
class OutputLearner(Learner):
    """Base of the learners of structured outputs. A subclass says what its problem is, and takes its examples apart."""

    _known_forms: ClassVar[tuple[str, ...]] = ("outputs",)

    _: KW_ONLY
    average: bool | str | float | None = parameter(True)
    shuffle: bool = parameter(
        True, "boolean", text="Whether `fit` takes the examples in another order in each pass, drawn by `random_state`."
    )
    random_state: Any = parameter()
    dtype: str = parameter("float64", among("float64", "float32"), text="The type of the weights.")

    _entry: ClassVar[tuple[Any, ...]] = ()  # the machine code of the loop, and what it is for
    _no_targets: ClassVar[Array] = np.empty(0, np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_entry"}

    # --- what a subclass says ---

    def _problem(self, state: State, W: Array) -> Any:
        """The record of the problem, with these weights."""
        raise NotImplementedError

    def _examples(self, X: Any) -> Any:
        """What users hand in as examples that can be numbered, cut and shuffled (`words.py: Words`)."""
        raise NotImplementedError

    def _targets(self, y: Any, n: Any) -> Any:
        """The right outputs of examples, one after the other: what can be cut, and taken in another order."""
        raise NotImplementedError

    def _structured(self, state: State, W: Array, averaged: Any) -> Any:
        """The record of the problem and of how it is learned (`rules.py: teach`), with these weights, or behind their average."""
        raise NotImplementedError

    def _flaw(self, state: State) -> str | None:
        """What is wrong with the numbers in a state, if anything."""
        return None

    def _labels(self, state: State) -> list[Any]:
        """What the numbers of an output stand for."""
        return [] if state.classes is None else state.classes.tolist()

    def _spelled(self, out: Array, examples: Any, labels: list[Any]) -> list[Any]:
        """The outputs of examples, which the loop has as numbers, as users know them."""
        raise NotImplementedError

    def _foretold(self, X: Any) -> list[Any]:  # type: ignore[override]
        """What is predicted before anything was learned: what all weights of 0 say."""
        return self._told(X, self._first(X, None, None, None))

    def _first(self, examples: Any, target: Any, weights: Array | None, classes: Any, *, whole: bool = False) -> State:
        """The state before a first call; whether that is the whole data. Where features may not come up, it knows those of the call."""
        self._check_classes(None, classes)
        grows = self.grow in (None, True, "features")
        state = self._new_state("outputs", Start(np.dtype(self.dtype), 0, [], None, grows, False))
        return state if grows else taught(examples, target, weights)[0].learned_by(state)[0]

    def _check_classes(self, state: State | None, classes: Any) -> None:
        if classes is not None:
            raise ValueError(f"The outputs of {type(self).__name__} are no classes: leave `classes` out.")

    # --- records ---

    def _bind(self, state: State) -> Any:
        bound = state.bound
        if bound is None or bound.edition is not self._edition:
            self._ensure_parameters()
            self._check_unchanged(state)
            bound = state.bound = Bound(self, state)
        return bound

    # --- doors ---

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew, and learn from the examples, `max_iter` times or until a pass changes nothing."""
        self._ensure_parameters()
        with self._lock:
            examples = self._examples(X)
            target, weights = self._targets(y, examples), self._weights(sample_weight, len(examples))
            if weights is not None and not weights.any():
                raise ValueError("All sample weights are zero: there is nothing to learn from.")
            guarded(lambda: self._fit_examples(examples, target, weights), self)
            self._keep_bound()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the examples in their order, once, going on from where the model is."""
        self._learn_examples(X, y, classes, sample_weight, None)
        return self

    def test_then_train(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> list[Any]:
        """`partial_fit` that returns what was predicted of each example before it was learned from."""
        answers: list[Any] = []
        self._learn_examples(X, y, classes, sample_weight, answers)
        return answers

    def learn_one(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn from one example. `w` is its weight."""
        self._learn_examples([x], [y], None, None if w == 1.0 else [w], None)

    def predict(self, X: Any) -> list[Any]:
        """The output of each example."""
        return self._read(lambda state: self._predicted(X, state))

    def predict_one(self, x: Any) -> Any:
        """The output of one example."""
        if self._latest() is None:
            return self._foretold(self._examples([x]))[0]
        return self.predict([x])[0]

    def _predicted(self, X: Any, state: State) -> list[Any]:  # type: ignore[override]
        return self._told(self._examples(X), state)

    def _told(self, examples: Any, state: State) -> list[Any]:
        """What a state predicts of examples."""
        bound = self._bind(state)
        out, done = bound.predict(examples.known_to(state))
        if done < len(examples):
            self._refuse_example(done)
        return self._spelled(out, examples, bound.labels)

    # --- learning ---

    def _learn_examples(self, X: Any, y: Any, classes: Any, sample_weight: Any, answers: list[Any] | None) -> None:
        with self._lock:
            self._ensure_parameters()
            examples = self._examples(X)
            target, weights = self._targets(y, examples), self._weights(sample_weight, len(examples))

            def begin() -> None:
                if len(examples) and (weights is None or weights.any()):
                    self._state = self._first(examples, target, weights, classes)
                    self._go_on_with_examples(examples, target, weights, answers)
                elif answers is not None:
                    answers.extend(self._foretold(examples))

            if self._state is None:
                guarded(begin, self)
            else:
                self._check_classes(self._state, classes)
                self._go_on_with_examples(examples, target, weights, answers)
            self._keep_bound()

    def _begin_pass(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        if not self.shuffle:
            return X, y, sample_weight
        order = check_random_state(self._seed()).permutation(len(X))  # that of the first pass of `fit`
        return X.taken(order), y[X.places(order)], None if sample_weight is None else sample_weight[order]

    def _fit_examples(self, examples: Any, target: Any, weights: Array | None) -> None:
        self._state = None
        examples, target = taught(examples, target, weights)
        weights = None if weights is None else weights[weights > 0]
        state = self._first(examples, target, None, None, whole=True)
        self._check_examples(state, target, weights)
        state, examples = examples.learned_by(state)
        self._state = state
        draw = check_random_state(state.seed)
        for passes in range(1, self.max_iter + 1):
            updates = self._writable().updates
            order = draw.permutation(len(examples)) if self.shuffle else np.arange(len(examples))
            shuffled = examples.taken(order) if self.shuffle else examples
            codes = target[examples.places(order)] if self.shuffle else target
            self._pass(shuffled, codes, None if weights is None else weights[order], None)
            self._writable().n_iter = passes
            if self._writable().updates == updates:
                break

    def _go_on_with_examples(self, examples: Any, target: Any, weights: Array | None, answers: list[Any] | None) -> None:
        """Learn so that an error leaves no trace: by a copy of the state where that is small or smaller than the data. All else that
        could be wrong with the data was looked at before."""
        state = self._writable()
        self._check_examples(state, target, weights)
        small = state.nbytes <= max(examples.nbytes, COPIED_ALWAYS)
        copies = (small and len(examples) > 1) or self._shown is not None  # one example is refused before it changes anything
        (guarded if copies else in_place)(lambda: self._pass(examples, target, weights, answers), self)

    def _check_examples(self, state: State, target: Any, weights: Array | None) -> None:
        if weights is not None:
            self._check_weights(weights, state)

    def _pass(self, examples: Any, target: Any, weights: Array | None, answers: list[Any] | None) -> None:
        """Learn from examples in their order. Those that weigh nothing are only predicted: they bring no features, and nobody looks at
        their labels."""
        for start, stop in _runs(weights, len(examples)):
            if weights is not None and weights[start] == 0:
                if answers is not None:
                    answers.extend(self._told(examples.part(start, stop), self._writable()))
                continue
            while start < stop:
                start = self._learn_run(examples, target, weights, answers, start, stop)

    def _learn_run(
        self, examples: Any, target: Any, weights: Array | None, answers: list[Any] | None, start: int, stop: int
    ) -> int:
        """Learn from examples that all weigh something, some of them at least; where it ended."""
        ends = examples.offsets
        self._learn_part(self._writable(), examples, target[ends[start] : ends[stop]], weights, answers, start, stop)
        return stop

    def _learn_part(
        self,
        state: State,
        examples: Any,
        codes: Array,
        weights: Array | None,
        answers: list[Any] | None,
        start: int,
        stop: int,
    ) -> None:
        """Learn from some examples, whose outputs a state knows."""
        part = examples.part(start, stop)
        if state.grow_features:
            state, part = part.learned_by(state)
            record = part.record(state)
        else:
            record = part.known_to(state)
        out = np.empty(0 if answers is None else len(codes), np.int64)
        self._run(state, record, codes, None if weights is None else weights[start:stop], out, start)
        if answers is not None:
            answers.extend(self._spelled(out, part, self._bind(state).labels))

    def _run(self, state: State, X: Any, codes: Array, weights: Array | None, out: Array, start: int) -> None:
        """The loop over some examples. The state that has learned becomes the learner's with them: Ctrl-C finds no label or feature
        without its example."""
        bound = self._bind(state)
        gate = bound.learn_all if weights is None else Weights(np.ascontiguousarray(weights, state.dtype), state.dtype.type(1))
        learn = bound.call(X, codes, gate, out)
        if self._shown is None:
            state.pulse[0] |= 1  # see in_place
        self._bound = None
        done = sum(while_true(learn, (object.__setattr__, self, "_state", state))[:1])
        if done < len(X.offsets) - 1:
            self._refuse_example(start + done)

    def _refuse_example(self, t: int) -> None:
        raise DivergedError(
            f"The scores of {type(self).__name__} are no longer finite at example {t}, though the data is. {self._remedy()}"
        )


@parametric
class RuleLearner(OutputLearner):
    """A learner whose steps are those of a linear rule, along differences of features."""

    rule: str = parameter(
        "PA",
        among("PA", "perceptron", "AROW", "CW"),
        matters=True,
        text="How far a step goes: passive-aggressive, the perceptron's, or as sure of each weight as that is of itself.",
    )
    C: float = parameter(1.0, POSITIVE, cautious="smaller", text='Aggressiveness of the rule "PA", unless it is "hard".')
    variant: str = parameter(
        "hard",
        among(*VARIANTS),
        text='How C limits the step of "PA": not at all ("hard"), as an upper bound ("I"), or by making every step smaller ("II").',
    )
    r: float = parameter(1.0, POSITIVE, cautious="larger", text='How much noise "AROW" expects.')
    confidence: float = parameter(
        0.75,
        Interval(Real, 0.5, 1, closed="neither"),
        cautious="smaller",
        text='The probability with which "CW" wants the right output before its rival.',
    )

    _axes: ClassVar[str] = "features"  # of the weights

    def _fields(self, form: str) -> dict[str, Field]:
        second = {"Sigma": Field(self._axes, start=1.0, fades=True)} if self.rule in ("AROW", "CW") else {}
        return {"W": Field(self._axes, additive=True), **second}

    def _rule(self, w: Any, state: State) -> Any:
        task = Ordered(1.0)
        if self.rule == "PA":
            return PA(w, task, float(self.C), VARIANTS[self.variant])
        if self.rule == "perceptron":
            return Collins(w, task)
        arow, cw = AROW(float(self.r), False, False), Confidence(quantile(self.confidence), np.inf, False, False)
        return Gaussian(w, task, Diagonal(state.arrays["Sigma"].reshape(-1)), arow if self.rule == "AROW" else cw)

    def _weights_are_switches(self) -> bool:
        return self.rule in ("perceptron", "CW") or (self.rule == "PA" and self.variant == "hard")

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        limits = {
            "AROW": {"r": POWERS_OF_TWO},
            "PA": {} if self.variant == "hard" else {"C": tuple(2.0**k for k in range(-9, 1))},
        }
        return limits.get(self.rule, {})


@parametric
class DecodingLearner(RuleLearner):
    """A learner of the outputs that a decoder finds among all that there are."""

    update: str = parameter(
        "max_loss",
        among("prediction", "max_loss"),
        matters=True,
        text="The rival of the right output: the one that is predicted, so that only mistakes are learned from, or the one of the"
        " largest loss.",
    )
    cost: str = parameter(
        "errors",
        among(*COSTS),
        matters=True,
        text="The margin that is wanted over an output: the root of the number of its errors, their number, or 1.",
    )
    rivals: int = parameter(1, COUNT, text="How many rivals a step looks at.")

    def decision_function(self, X: Any) -> Array:
        """How sure each output is as a whole: by how much the best beats the second best."""
        return self._read(lambda state: self._leads(self._examples(X), state))

    def _leads(self, examples: Any, state: State) -> Array:
        """By how much the best output of each example beats the second best, in float64; infinite where there is no other."""
        _, scores = self._best(examples, state, 2)
        lead = scores[:, 0].astype(np.float64) - scores[:, 1]
        return np.where(np.isnan(lead), np.inf, lead)

    def _best(self, examples: Any, state: State, n: int) -> tuple[Array, Array]:
        """The n best outputs, a row each, and their scores, a row an example: NaN where there are no more."""
        X = examples.known_to(state)
        outputs, scores = np.zeros((max(n, 2), int(X.offsets[-1])), np.int64), np.empty((len(examples), n), state.dtype)
        run_several(*self._ranked(self._bind(state)), X, outputs, scores)
        return outputs, scores

    def _ranked(self, bound: Bound) -> tuple[Any, Any]:
        """The record by whose scores outputs are the best, and its average."""
        return bound.model, bound.average

    def _structured(self, state: State, W: Array, averaged: Any) -> Structured:
        kind = COSTS[self.cost]
        rule = self._rule(W.reshape(-1) if averaged is None else averaged, state)
        return Structured(self._problem(state, W), rule, self.update == "max_loss", kind, int(self.rivals))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.rivals > 1 and self.update == "max_loss" and self.cost != "errors":
            raise ValueError(
                'Several rivals of the largest loss can be found for cost="errors" only; or set update="prediction".'
            )


def taught(examples: Any, target: Coded, weights: Array | None) -> tuple[Any, Coded]:
    """The examples that weigh something, and their outputs."""
    if weights is None or weights.all():
        return examples, target
    learned = np.flatnonzero(weights)
    return examples.taken(learned), target[examples.places(learned)]


def _runs(weights: Array | None, n: int) -> Iterator[tuple[int, int]]:
    """Examples in blocks, of which all weigh something or none does."""
    edges = [] if weights is None else (np.flatnonzero(np.diff(weights > 0)) + 1).tolist()
    start = 0
    for end in [*edges, n]:
        while start < end:
            yield start, min(start + BLOCK, end)
            start = min(start + BLOCK, end)
