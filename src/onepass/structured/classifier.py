"""Structured outputs of a user's own kind, by a problem that is written in plain Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from onepass.base.parameters import parameter, parametric
from onepass.base.state import Array, State
from onepass.structured.candidates import Candidates, Listed
from onepass.structured.outputs import DecodingLearner
from onepass.structured.words import features_of, words_by_name


@dataclass(frozen=True, eq=False)
class Inputs:
    """Examples whose outputs are searched for when their turn comes."""

    inputs: list[Any]
    nbytes: int = sys.maxsize  # a user's function may fail at any example: what was learned before it is undone by a copy

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def offsets(self) -> Array:
        return np.arange(len(self) + 1)

    def part(self, start: int, stop: int) -> Inputs:
        return Inputs(self.inputs[start:stop])

    def taken(self, order: Array) -> Inputs:
        return Inputs([self.inputs[t] for t in order])

    def places(self, order: Array) -> Array:
        return order

    def learned_by(self, state: State) -> tuple[State, Inputs]:
        return state, self


@parametric
class StructuredClassifier(DecodingLearner):
    """Outputs of any kind, for a problem of your own: an object with a few methods in plain Python.

    `phi(x, y)` gives the features of an output as a dict, as words have them for `SequenceTagger`; the score of an output is
    w.phi(x, y), and that with the largest is predicted. How it is found is one of two:

    `candidates(x)` lists all outputs that there are. They are looked at once a call, and learned from in compiled code.

    `decode(x, score, truth=None)` finds the best output by itself. `score` is a function of features, linear in them, so that it can be
    asked for the parts of an output. With a `truth`, the output with the largest sum of its score and of its cost is wanted; that is
    for `update="max_loss"`, the default. All of this is done in Python, an example at a time.

    `cost(y, z)` says how wrong z is in place of y: a number that is 0 if nothing is. Without it any other output costs 1. Outputs are
    compared by `==`.

    The rules are those of `SequenceTagger`: a step w += tau D along D = phi(x, y) - phi(x, z) for a rival z of the right output y,
    with loss = cost(y, z) - w.D, or as `rule`, `update` and `cost` say.

    Notes
    -----
    Files hold no code: a model with a problem is copied by `copy` or pickled, not saved. The constant feature is the same for all
    outputs of an example, and has no part in anything.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.
    M. Collins: Discriminative training methods for hidden Markov models: theory and experiments with perceptron algorithms. EMNLP
    2002, 1-8.

    Examples
    --------
    Who does what, where each worker gets one of the jobs, and no two the same:

    >>> from itertools import permutations
    >>> from onepass import StructuredClassifier
    >>> class Matching:
    ...     def phi(self, x, y):
    ...         return {f"{worker} {job}": 1 for worker, job in zip(x["workers"], y)}
    ...
    ...     def candidates(self, x):
    ...         return permutations(x["jobs"])
    ...
    ...     def cost(self, y, z):
    ...         return sum(a != b for a, b in zip(y, z))
    >>> model = StructuredClassifier(problem=Matching())
    >>> model.learn_one({"workers": ["Ann", "Bob"], "jobs": ["cook", "dig"]}, ("dig", "cook"))
    >>> model.learn_one({"workers": ["Bob", "Eve"], "jobs": ["dig", "paint"]}, ("dig", "paint"))
    >>> model.predict_one({"workers": ["Eve", "Bob", "Ann"], "jobs": ["cook", "dig", "paint"]})
    ('paint', 'cook', 'dig')

    The same with a search in place of a list, for more workers than can be listed:

    >>> import numpy as np
    >>> from scipy.optimize import linear_sum_assignment
    >>> class Assignment(Matching):
    ...     def decode(self, x, score, truth=None):
    ...         gain = np.array([[score({f"{worker} {job}": 1}) for job in x["jobs"]] for worker in x["workers"]])
    ...         if truth is not None:
    ...             gain += [[job != right for job in x["jobs"]] for right in truth]
    ...         _, places = linear_sum_assignment(gain, maximize=True)
    ...         return tuple(x["jobs"][j] for j in places)
    >>> model = StructuredClassifier(problem=Assignment())
    >>> model.learn_one({"workers": ["Ann", "Bob"], "jobs": ["cook", "dig"]}, ("dig", "cook"))
    >>> model.predict_one({"workers": ["Bob", "Ann"], "jobs": ["cook", "dig"]})
    ('cook', 'dig')
    """

    _: KW_ONLY
    problem: Any = parameter(
        None,
        object,
        kind="object",
        text="What has the methods `phi`, `candidates` or `decode`, and `cost`; with both, `decode` is what counts.",
    )

    @property
    def coef_(self) -> Array:
        """The weights that predict, one a feature."""
        state = self._attribute("coef_")
        return self._averaged(state, "W")[1 : state.n_features + 1].copy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of examples with the right output."""
        right = [bool(found == truth) for found, truth in zip(self.predict(X), y, strict=True)]
        return float(np.average(right, weights=sample_weight))

    # --- what the base asks ---

    def _problem(self, state: State, W: Array) -> Listed:
        return Listed(W)

    def _check_problem(self) -> None:
        has = {name: callable(getattr(self.problem, name, None)) for name in ("phi", "candidates", "decode")}
        if not has["phi"] or not (has["candidates"] or has["decode"]):
            raise TypeError(
                f"`problem` must be an object with the methods phi(x, y), and candidates(x) or decode(x, score, truth=None); got"
                f" {self.problem!r}."
            )
        if has["decode"] and (self.rivals > 1 or (self.update == "max_loss" and self.cost != "errors")):
            raise ValueError(
                'A problem with `decode` gives one rival, of the largest loss for cost="errors" only: leave `rivals` at 1, and set'
                ' cost="errors" or update="prediction"; or give `candidates` instead.'
            )
        if has["decode"] and self.grow in (False, "labels"):
            raise ValueError("Features of a problem with `decode` come up while it is learned: leave `grow` out.")

    def _examples(self, X: Any) -> Candidates | Inputs:
        self._ensure_parameters()
        self._check_problem()
        if isinstance(X, str | Mapping) or not isinstance(X, Iterable):
            raise TypeError(f"Expected a list of examples, got {type(X).__name__}; for one use learn_one and predict_one.")
        inputs = list(X)
        if hasattr(self.problem, "decode"):
            return Inputs(inputs)
        return self._listed(inputs, [list(self.problem.candidates(x)) for x in inputs])

    def _listed(self, inputs: list[Any], outputs: list[list[Any]]) -> Candidates:
        features = [[self.problem.phi(x, y) for y in several] for x, several in zip(inputs, outputs, strict=True)]
        words = words_by_name(features, float(np.finfo(self.dtype).max) ** 0.25, "example")
        return Candidates(outputs, words, np.zeros(int(words.offsets[-1])))

    def _targets(self, y: Any, n: Any) -> Array:
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        outputs = list(y)
        if len(outputs) != len(n):
            raise ValueError(f"There are {len(n)} examples, and outputs for {len(outputs)}.")
        if isinstance(n, Inputs):
            truths = np.empty(len(outputs), object)
            for t, truth in enumerate(outputs):  # one by one, or NumPy would make a table of outputs that have one length
                truths[t] = truth
            return truths
        codes = np.empty(len(outputs), np.int64)
        for t, (truth, several) in enumerate(zip(outputs, n.outputs, strict=True)):
            codes[t] = next((j for j, z in enumerate(several) if z == truth), -1)
            if codes[t] < 0:
                raise ValueError(f"The output {truth!r} of example {t} is none of its candidates.")
            n.costs[n.words.offsets[t] : n.words.offsets[t + 1]] = [self._cost(truth, z) for z in several]
        return codes

    def _cost(self, y: Any, z: Any) -> float:
        cost = float(self.problem.cost(y, z) if hasattr(self.problem, "cost") else y != z)
        if not 0 <= cost < np.inf:
            raise ValueError(f"The cost of {z!r} in place of {y!r} is {cost}: it must be finite, and not below 0.")
        return cost

    def _spelled(self, out: Array, examples: Candidates, labels: list[Any]) -> list[Any]:
        return [None if j < 0 else several[j] for j, several in zip(out.tolist(), examples.outputs, strict=True)]

    # --- searching ---

    def _told(self, examples: Any, state: State) -> list[Any]:
        if isinstance(examples, Candidates):
            return super()._told(examples, state)
        score = _scorer(state, self._averaged(state, "W"))
        return [self.problem.decode(x, score) for x in examples.inputs]

    def _leads(self, examples: Any, state: State) -> Array:
        if isinstance(examples, Inputs):
            raise TypeError("How sure an output is can be told of a problem with `candidates` only.")
        return super()._leads(examples, state)

    def _learn_run(
        self, examples: Any, target: Any, weights: Array | None, answers: list[Any] | None, start: int, stop: int
    ) -> int:
        if isinstance(examples, Candidates):
            return super()._learn_run(examples, target, weights, answers, start, stop)
        state, x, y = self._writable(), examples.inputs[start], target[start]
        if answers is not None:
            answers.extend(self._told(examples.part(start, start + 1), state))
        score = _scorer(state, state.arrays["W"])
        z = self.problem.decode(x, score, y) if self.update == "max_loss" else self.problem.decode(x, score)
        pair = self._listed([x], [[z, y]])
        pair.costs[0] = self._cost(y, z)
        self._learn_part(state, pair, np.ones(1, np.int64), None if weights is None else weights[start : start + 1], None, 0, 1)
        return start + 1


def _scorer(state: State, W: Array) -> Callable[[Any], float]:
    """What some features score."""
    names, n = state.names, state.n_features
    assert names is not None

    def score(features: Any) -> float:
        total = 0.0
        for name, value in features_of(features, 0):
            j = names.place(name, n)
            total += 0.0 if j is None else float(W[j + 1]) * value
        return total

    return score
