"""Dependency trees of sentences.

R. McDonald, K. Crammer, F. Pereira: Online large-margin training of dependency parsers. ACL 2005, 91-98.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base.parameters import parameter, parametric
from onepass.base.state import Array, Field, State
from onepass.structured.arcs import Arcs, OneTree, SeveralTrees
from onepass.structured.cascade import SPAN, Cascade, first_of, run_second, second_of
from onepass.structured.learner import StructuredLearner
from onepass.structured.outputs import Bound
from onepass.structured.problem import COSTS
from onepass.structured.relations import Relations
from onepass.structured.rules import Structured
from onepass.structured.tokens import NO_RELATION, TaggedWords, Trees, tagged_words, trees_of

UNKNOWN = -2


@parametric
class DependencyParser(StructuredLearner):
    r"""Dependency trees of sentences: the head of each word, and its relation to it.

    The score of a tree y for a sentence x is that of its arcs, w.Phi(x, y) = sum_d w.f(x, y_d, d), where f has what the head and the
    word below it are like, the tags around and between them, and their direction and distance. The best tree is found by Eisner's
    algorithm, without crossing arcs, in O(n^3), or by that of Chu, Liu and Edmonds among all trees, in O(n^2); exactly one word hangs
    on the root. With D = Phi(x, y) - Phi(x, z) for a rival tree z and the number of its wrong heads rho,

        loss = rho(y, z) - w.D,        w += tau D,        tau = loss / |D|^2  (or as C says).

    The relations of the arcs are learned by the same rule, on the right trees, and then asked of the predicted ones. New ones may
    come up at any time; if there are none, heads alone are learned. Trees with crossing arcs can be learned from in any case. With
    `rivals=k` a step looks at the k best trees (k-best MIRA), which are found in O(n^3 k log k), or among all trees in O(k n^3).

    A sentence is a list of words, each a pair (word, tag) or a dict with "form" and "upos", as CoNLL-U has them. A tree is a list of
    heads, which count the words from 1, 0 being the root; or of pairs (head, relation). Before anything was learned, all words hang on
    the first.

    References
    ----------
    R. McDonald, K. Crammer, F. Pereira: Online large-margin training of dependency parsers. ACL 2005, 91-98.
    R. McDonald, F. Pereira, K. Ribarov, J. Hajic: Non-projective dependency parsing using spanning tree algorithms. HLT-EMNLP 2005,
    523-530.
    L. Huang, D. Chiang: Better k-best parsing. IWPT 2005, 53-64.
    E. L. Lawler: A procedure for computing the k best solutions to discrete optimization problems and its application to the shortest
    path problem. Management Science 18 (1972), 401-405.
    J. Eisner: Three new probabilistic models for dependency parsing: an exploration. COLING 1996, 340-345.
    R. E. Tarjan: Finding optimum branchings. Networks 7 (1977), 25-35.

    Examples
    --------
    >>> from onepass import DependencyParser
    >>> parser = DependencyParser(n_features=2**16)
    >>> parser.learn_one([("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")], [(2, "det"), (3, "nsubj"), (0, "root")])
    >>> parser.predict_one([("a", "DET"), ("cat", "NOUN"), ("sleeps", "VERB")])
    [(2, 'det'), (3, 'nsubj'), (0, 'root')]
    """

    _: KW_ONLY
    projective: bool = parameter(
        True, "boolean", matters=True, text="Whether arcs may not cross: Eisner's algorithm, or else the best of all trees."
    )
    n_features: int = parameter(
        2**22,
        Interval(Integral, 2**10, 2**32, closed="both"),
        text="How many weights there are, a power of two; features are hashed to them.",
    )
    fit_intercept: bool = field(default=False, init=False)  # all trees of a sentence have as many arcs

    # --- what users ask ---

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of words with the right head (UAS), punctuation included."""
        examples = self._examples(X)
        given = self._targets(y, examples).heads
        told = self._read(lambda state: self._told(examples, state))
        found = np.array([one[0] if isinstance(one, tuple) else one for tree in told for one in tree], np.int64)
        weights = np.ones(len(examples)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        weights = np.repeat(weights, np.diff(examples.offsets))
        return float(weights @ (found == given) / weights.sum()) if weights.sum() else float("nan")

    @property
    def coef_(self) -> Array:
        """The weights that predict."""
        return np.array(self._averaged(self._attribute("coef_"), "W"))

    # --- what the base asks ---

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_features & (self.n_features - 1):
            raise ValueError(f"n_features must be a power of two, got {self.n_features}.")
        if self.update == "max_loss" and self.cost != "errors":
            raise ValueError(
                'The tree of the largest loss can be found for cost="errors" only: other costs are no sums over arcs. Or set'
                ' update="prediction".'
            )

    def _known_by(self) -> tuple[None, None]:
        return None, None

    def _sizes(self) -> dict[str, int]:
        return {"slots": int(self.n_features)}

    def _fields(self, form: str) -> dict[str, Field]:
        """Columns: the number of each relation, in the order in which they came."""
        second = {"Sigma": Field("slots", start=1.0, fades=True)} if self.rule in ("AROW", "CW") else {}
        return {"W": Field("slots", additive=True), **second, "columns": Field("classes", whole=True)}

    def _flaw(self, state: State) -> str | None:
        columns = np.sort(state.arrays["columns"])
        return None if np.array_equal(columns, np.arange(len(columns))) else "its relations are not numbered"

    def _labels(self, state: State) -> list[Any]:
        assert state.classes is not None
        return state.classes[np.argsort(state.arrays["columns"])].tolist()

    def _begun(self, labels: Any, come: bool) -> State:
        state = super()._begun(labels, come)
        state.arrays["columns"][:] = np.arange(len(state.arrays["columns"]))
        state.n_features = int(self.n_features)
        return state

    def _admitted(self, state: State, label: Any) -> State:
        state, k = state.with_class(label)
        state.arrays["columns"][k] = len(state.arrays["columns"]) - 1
        return state

    def _problem(self, state: State, W: Array) -> Cascade:
        shift = np.uint64(64 - int(self.n_features).bit_length() + 1)
        trees = (OneTree if self.rivals == 1 else SeveralTrees)(bool(self.projective))
        return Cascade(Arcs(W, shift, trees), Relations(W, shift, len(state.arrays["columns"])))

    def _structured(self, state: State, W: Array, averaged: Any) -> Any:
        problem, rule = self._problem(state, W), self._rule(W if averaged is None else averaged, state)
        common = rule, self.update == "max_loss", COSTS[self.cost]
        return Cascade(Structured(problem.first, *common, int(self.rivals)), Structured(problem.second, *common, 1))

    def _examples(self, X: Any) -> TaggedWords:
        return tagged_words(X)

    def _targets(self, y: Any, n: Any) -> Trees:
        return trees_of(y, n.offsets)

    def _codes(self, state: State, y: Any) -> tuple[Array, int]:
        """Trees as the loop takes them (`cascade.py`), and up to which word the relations are known."""
        numbers = {label: k for k, label in enumerate(self._labels(state))}
        found = np.array([*(numbers.get(label, UNKNOWN) for label in y.labels.tolist()), NO_RELATION], np.int64)[y.codes]
        unknown = np.flatnonzero(found == UNKNOWN)
        return y.heads + SPAN * (found + 1), int(unknown[0]) if len(unknown) else len(found)

    def _foretold(self, X: TaggedWords) -> list[Any]:  # type: ignore[override]
        """What weights of 0 say (`trees.py`)."""
        return [[0, *[1] * (int(n) - 1)][: int(n)] for n in np.diff(X.offsets)]

    def _can_tell(self, state: State) -> bool:
        return True

    def _ranked(self, bound: Bound) -> tuple[Any, Any]:
        arcs = bound.model.first.problem._replace(trees=SeveralTrees(bool(self.projective)))
        return bound.model.first._replace(problem=arcs), first_of(bound.average)

    def _best(self, examples: Any, state: State, n: int) -> tuple[Array, Array]:
        """The trees with the best sums over arcs, each with the relations that are the best for it."""
        outputs, scores = super()._best(examples, state, n)
        bound = self._bind(state)
        if bound.labels:
            run_second(bound.model.second, second_of(bound.average), examples.known_to(state), outputs, scores)
        return outputs, scores

    def _spelled(self, out: Array, examples: Any, labels: list[Any]) -> list[Any]:
        words: list[Any] = (out % SPAN).tolist()
        if labels:
            words = list(zip(words, [labels[k] for k in (out // SPAN - 1).tolist()], strict=True))
        return [words[start:end] for start, end in pairwise(examples.offsets.tolist())]
