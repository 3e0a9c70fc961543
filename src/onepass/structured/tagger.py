"""Tags of words, one after the other.

M. Collins: Discriminative training methods for hidden Markov models: theory and experiments with perceptron algorithms. EMNLP 2002,
1-8.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from onepass.base.buckets import Buckets
from onepass.base.inputs import readonly
from onepass.base.labels import Coded
from onepass.base.parameters import among, parameter, parametric
from onepass.base.state import Array, Field, State
from onepass.structured.chain import BARRED, Chain, run_marginals
from onepass.structured.drawing import run_drawn
from onepass.structured.learner import StructuredLearner, coded_outputs
from onepass.structured.templates import KEYS, TEMPLATES, table_of
from onepass.structured.words import Words, words_by_name, words_by_template


@parametric
class SequenceTagger(StructuredLearner):
    r"""Tags of the words of sentences, each with a score for the features of its word and one for the tag before.

    The score of tags y for a sentence x is w.Phi(x, y) = sum_t (W_(y_t).x_t + A_(y_(t-1), y_t)), and the best are found by Viterbi's
    algorithm. A sentence is one example: with D = Phi(x, y) - Phi(x, z) for rival tags z and the cost rho of their errors,

        loss = rho(y, z) - w.D,        w += tau D,        tau = loss / |D|^2  (or as C says).

    By default z has the largest loss and rho is the number of wrong tags (margin rescaling); `update="prediction", cost="root"` is
    what CRFsuite calls passive-aggressive. New features and tags may come up at any time.

    A sentence is a list of words. A word is a dict of features, as for sklearn-crfsuite: `{"word": "dog", "length": 3}` has the
    features "word=dog" of value 1 and "length" of value 3. With `templates` it is a text, and its features are found by themselves.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer: Online passive-aggressive algorithms. JMLR 7 (2006), 551-585.
    R. McDonald, K. Crammer, F. Pereira: Online large-margin training of dependency parsers. ACL 2005, 91-98.
    A. Mejer, K. Crammer: Confidence in structured-prediction using confidence-weighted models. EMNLP 2010, 971-981.

    Examples
    --------
    >>> from onepass import SequenceTagger
    >>> tagger = SequenceTagger(templates="tags")
    >>> tagger.learn_one(["the", "dog", "barks"], ["DET", "NOUN", "VERB"])
    >>> tagger.learn_one(["a", "cat", "sleeps"], ["DET", "NOUN", "VERB"])
    >>> tagger.predict_one(["the", "cat", "barks"])
    ['DET', 'NOUN', 'VERB']

    With features of your own:

    >>> X = [[{"word": "the"}, {"word": "dog", "bias": 1}], [{"word": "dogs"}]]
    >>> SequenceTagger(max_iter=5).fit(X, [["DET", "NOUN"], ["NOUN"]]).predict(X)
    [['DET', 'NOUN'], ['NOUN']]
    """

    _: KW_ONLY
    templates: Any = parameter(
        None,
        among(*TEMPLATES),
        "array-like",
        None,
        kind='{"tags", "names"} or list of str',
        text="Which features words of text have: those for parts of speech, those for names, or templates of your own, such as"
        ' "lower[0]" or "suffix3[-1] shape[0]". None: words are dicts of features.',
    )
    transitions: bool = parameter(True, "boolean", text="Whether the tag before counts.")
    start: bool = parameter(True, "boolean", text="Whether it counts that a tag is the first.")
    order: int = parameter(
        1,
        Interval(Integral, 1, 2, closed="both"),
        text="How many tags before count: with 2 also the two together, and decoding takes as many times longer as there are tags.",
    )
    constraints: str | None = parameter(
        None,
        among("BIO"),
        None,
        text='Which tags may follow each other. "BIO": I-x only after B-x or I-x, and not at the beginning. None: any.',
    )

    # --- what users ask ---

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of words with the right tag. Tags that the model does not know count as wrong."""
        found, given = self.predict(X), [list(tags) for tags in y]
        if [*map(len, found)] != [*map(len, given)]:
            raise ValueError("Sentences and their tags must have the same lengths.")
        right = [sum(a == b for a, b in zip(one, other, strict=True)) for one, other in zip(found, given, strict=True)]
        weights = np.ones(len(found)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        words = float(weights @ [*map(len, found)])
        return float(weights @ right) / words if words else float("nan")

    def max_marginals(self, X: Any) -> list[Array]:
        """For each sentence an array, a row a word and a column a tag in the order of `classes_`: the score of the best sequence of
        tags that has this tag at this word."""
        return self._read(lambda state: self._marginals(self._examples(X), state))

    def _marginals(self, words: Words, state: State) -> list[Array]:
        bound = self._bind(state)
        out = np.empty((int(words.offsets[-1]), len(bound.labels)), state.dtype)
        if bound.labels:
            run_marginals(bound.model, bound.average, words.known_to(state), out)
            out[out < BARRED / 2] = -np.inf
        return np.split(out, words.offsets[1:-1]) if len(words) else []

    def predict_confidence(
        self, X: Any, method: str = "lead", n: int = 50, *, scale: float = 0.01, random_state: Any = None
    ) -> list[Array]:
        """How sure each tag of each sentence is, in one of the ways of Mejer and Crammer (2010).

        "lead": by how much the best sequence beats the best that has another tag there (their Delta); infinite where there is no
        other. "drawn": the share of n weight vectors from N(w, scale Sigma) that give the same tag there, Sigma being what AROW and CW
        have learned (KD-PC), and 1 for other rules (KD-Fix). "n_best": the share of the n best sequences that have that tag there.

        >>> from onepass import SequenceTagger
        >>> X, y = [["the", "dog", "barks"], ["a", "cat"]], [["DET", "NOUN", "VERB"], ["DET", "NOUN"]]
        >>> tagger = SequenceTagger("AROW", templates="tags", max_iter=5, random_state=0).fit(X, y)
        >>> sure = tagger.predict_confidence([["the", "bird"]], "drawn", scale=0.1, random_state=0)
        >>> bool(sure[0][0] > sure[0][1] > 0.5)
        True
        """
        if method not in ("lead", "drawn", "n_best"):
            raise ValueError(f'`method` must be "lead", "drawn" or "n_best", got {method!r}.')
        if n < 1 or not 0 <= scale < np.inf:
            raise ValueError(f"`n` must be at least 1 and `scale` finite and not below 0, got {n} and {scale}.")
        if method == "lead":
            return [_lead(scores) for scores in self.max_marginals(X)]
        if method == "n_best":
            return [_agreement([tags for tags, _ in several]) for several in self.predict_n_best(X, n)]
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return self._read(lambda state: self._drawn(self._examples(X), state, int(n), float(scale), seed))

    def _drawn(self, words: Words, state: State, n: int, scale: float, seed: int) -> list[Array]:
        bound = self._bind(state)
        shares = np.ones(int(words.offsets[-1]))
        if bound.labels:
            Sigma = readonly(state.arrays.get("Sigma", np.empty((0, 0), state.dtype)))
            run_drawn(bound.model.problem, bound.average, Sigma, scale, words.known_to(state), seed, n, shares)
        return np.split(shares, words.offsets[1:-1]) if len(words) else []

    @property
    def coef_(self) -> Array:
        """The weights that predict: a row a label, a column a feature."""
        state = self._attribute("coef_")
        return self._averaged(state, "W")[1 : state.n_features + 1].T.copy()

    @property
    def intercept_(self) -> Array:
        """The weights of the constant feature that predict, one a label."""
        return self._averaged(self._attribute("intercept_"), "W")[0].copy()

    @property
    def transitions_(self) -> Array:
        """The score of each tag (a column) after each other (a row), in the order of `classes_`."""
        return self._edges("transitions_")[1:]

    @property
    def start_(self) -> Array:
        """The score of each tag at the beginning, in the order of `classes_`."""
        return self._edges("start_")[0]

    def _edges(self, name: str) -> Array:
        state = self._attribute(name)
        rows = state.arrays["rows"]
        return np.where(rows[:, None] > 0, self._averaged(state, "W")[rows], 0)

    # --- what the base asks ---

    def _fields(self, form: str) -> dict[str, Field]:
        pairs = {"pairs": Field("ranks classes", whole=True)} if self.order == 2 else {}
        return {**super()._fields(form), "rows": Field("ranks", whole=True), **pairs}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.order == 2 and not self.transitions:
            raise ValueError("With order=2 the tag before counts: leave `transitions` at True.")
        if self.templates is not None:
            self._table = table_of(self.templates)

    def _known_by(self) -> tuple[list[str] | None, Buckets | None]:
        return super()._known_by() if self.templates is None else (None, Buckets((), KEYS))

    def _examples(self, X: Any) -> Words:
        self._ensure_parameters()
        if self.templates is not None:
            return words_by_template(X, self._table)
        return words_by_name(X, float(np.finfo(self.dtype).max) ** 0.25)

    def _targets(self, y: Any, n: Any) -> Coded:
        return coded_outputs(y, n.offsets, "tags")

    def _foretold(self, X: Words) -> list[Any]:  # type: ignore[override]
        return [[None] * int(n) for n in np.diff(X.offsets)]

    def _leads(self, examples: Words, state: State) -> Array:
        return np.array([_lead(scores).min(initial=np.inf) for scores in self._marginals(examples, state)], np.float64)

    def _problem(self, state: State, W: Array) -> Chain:
        bias = state.dtype.type(1 if self.fit_intercept else 0)
        pairs = state.arrays.get("pairs", np.zeros((0, 0), np.int64))
        return Chain(W, bias, readonly(state.arrays["rows"]), readonly(pairs), readonly(self._barred(state)))

    def _barred(self, state: State) -> Array:
        """What keeps decoders from edges that are not allowed."""
        labels = [] if state.classes is None else state.classes.tolist()
        if self.constraints is None:
            return np.zeros((0, 0), state.dtype)
        barred = np.zeros((len(labels) + 1, len(labels)), state.dtype)
        for k, label in enumerate(labels):
            head, _, kind = str(label).partition("-")
            if head == "I":
                barred[:, k] = [BARRED, *(0 if one in (f"B-{kind}", f"I-{kind}") else BARRED for one in labels)]
        return barred

    def _flaw(self, state: State) -> str | None:
        rows = np.concatenate([state.arrays[name].ravel() for name in ("rows", "pairs") if name in state.arrays])
        return "its tags have no rows" if (rows < 0).any() or (rows > state.n_features).any() else None

    def _begun(self, labels: Any, come: bool) -> State:
        """The first state, with rows for the beginning and for the tags that are known."""
        return self._with_rows(super()._begun(labels, come))

    def _admitted(self, state: State, label: Any) -> State:
        return self._with_rows(super()._admitted(state, label))

    def _with_rows(self, state: State) -> State:
        """A state in which the beginning, the tags and pairs of them have rows, as features of the word behind: those without get
        new ones. Their names begin with a NUL; their keys are even, as those of no template are."""
        tags = [""] + [str(label) for label in state.classes.tolist()]  # type: ignore[union-attr]
        wanted: list[tuple[str, Any, str]] = [("rows", 0, "")] if self.start else []
        if self.transitions:
            wanted += [("rows", k, tags[k]) for k in range(1, len(tags))]
        if self.order == 2:
            pairs = product(range(0 if self.start else 1, len(tags)), range(1, len(tags)))
            wanted += [("pairs", (c, k - 1), f"{tags[c]}\0{tags[k]}") for c, k in pairs]
        wanted = [one for one in wanted if state.arrays[one[0]][one[1]] == 0]
        first, end = state.n_features + 1, state.n_features + 1 + len(wanted)
        names = [f"\0{name}" for _, _, name in wanted] if state.buckets is None else [2 * row for row in range(first, end)]
        state = state.widened(end - 1, names)
        for row, (field, place, _) in zip(range(first, end), wanted, strict=True):
            state.arrays[field][place] = row
        return state


def _agreement(several: list[list[Any]]) -> Array:
    """In what share of several sequences each tag of the first is at its place."""
    return np.array([np.mean([tag == tags[0] for tag in tags]) for tags in zip(*several, strict=True)])


def _lead(scores: Array) -> Array:
    """By how much the best of each row is ahead of the second."""
    if scores.shape[1] < 2:
        return np.full(len(scores), np.inf)
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2]
