"""Learners of outputs that are made of labels, which may come up at any time: the tags of a sentence."""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from onepass.base.buckets import Buckets
from onepass.base.knowledge import Start
from onepass.base.labels import Coded, check_labels, declared_classes, encode_labels, label_array
from onepass.base.parameters import parameter, parametric
from onepass.base.state import Array, State
from onepass.structured.outputs import DecodingLearner, taught


@parametric
class StructuredLearner(DecodingLearner):
    """Base of the learners whose outputs are labels, a column of the weights each."""

    _known_forms: ClassVar[tuple[str, ...]] = ("multiclass",)
    _axes: ClassVar[str] = "features classes"

    _: KW_ONLY
    classes: Any = parameter(None, "array-like", None, text="The labels, if they are all known beforehand.")

    # --- what users read ---

    @property
    def classes_(self) -> Array:
        """The labels, sorted."""
        classes = self._attribute("classes_").classes
        assert classes is not None
        return classes

    # --- predicting ---

    def predict_n_best(self, X: Any, n: int = 5) -> list[list[tuple[list[Any], float]]]:
        """The n best outputs of each sentence and their scores, the best first; fewer where there are no more."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}.")
        return self._read(lambda state: self._several(self._examples(X), state, int(n)))

    def _several(self, examples: Any, state: State, n: int) -> list[list[tuple[list[Any], float]]]:
        if not self._can_tell(state):
            return [[] for _ in range(len(examples))]
        outputs, scores = self._best(examples, state, n)
        ranks = [self._spelled(outputs[i], examples, self._bind(state).labels) for i in range(n)]
        return [
            [(ranks[i][t], float(scores[t, i])) for i in range(n) if scores[t, i] == scores[t, i]] for t in range(len(examples))
        ]

    def _told(self, examples: Any, state: State) -> list[Any]:
        return super()._told(examples, state) if self._can_tell(state) else self._foretold(examples)

    def _can_tell(self, state: State) -> bool:
        """Whether there is anything to predict."""
        return bool(self._bind(state).labels)

    def _spelled(self, out: Array, examples: Any, labels: list[Any]) -> list[Any]:
        words = [labels[k] for k in out.tolist()]
        return [words[start:end] for start, end in pairwise(examples.offsets.tolist())]

    # --- learning ---

    def _first(self, examples: Any, target: Coded, weights: Array | None, classes: Any, *, whole: bool = False) -> State:
        """The state before a first call. Where labels or features may not come up, it knows those of the call; its labels also where
        that is the whole data."""
        if classes is not None:
            state = self._begun(declared_classes(classes, 1), False)
        else:
            come = self.grow in (None, True, "labels") and not whole
            known = target[:0] if come else taught(examples, target, weights)[1]
            state = self._begun(np.unique(np.asarray(known)), True)
        return state if state.grow_features else taught(examples, target, weights)[0].learned_by(state)[0]

    def _begun(self, labels: Any, come: bool) -> State:
        """The first state, with some labels; whether others may come."""
        if self.classes is not None:
            labels, come = declared_classes(self.classes, 1), False
        come = come and self.grow in (None, True, "labels")
        grows = self.grow in (None, True, "features")
        labels = np.asarray(labels)
        names, buckets = self._known_by()
        return self._new_state("multiclass", Start(np.dtype(self.dtype), 0, names, labels, grows, come, buckets))

    def _known_by(self) -> tuple[list[str] | None, Buckets | None]:
        """What features are known by, none of them yet: names or hashes."""
        return [], None

    def _check_examples(self, state: State, target: Any, weights: Array | None) -> None:
        super()._check_examples(state, target, weights)
        if state.grow_classes:
            check_labels(state.classes, target.labels)
        elif weights is None or weights.all():
            codes, known = self._codes(state, target)
            if known < len(codes):
                self._refuse_label(state, target[known], known)

    def _learn_run(
        self, examples: Any, target: Any, weights: Array | None, answers: list[Any] | None, start: int, stop: int
    ) -> int:
        """Learn from examples up to the next that brings a label, or from that one; where it ended."""
        state = self._writable()
        ends = examples.offsets
        codes, known = self._codes(state, target[ends[start] : ends[stop]])
        end = stop
        if known < len(codes):
            end = int(np.searchsorted(ends, ends[start] + known, side="right")) - 1
        if end == start:
            if not state.grow_classes:
                self._refuse_label(state, target[ends[start] + known], start)
            end = start + 1
            mine = target[ends[start] : ends[end]]
            if answers is not None:
                answers.extend(self._told(examples.part(start, end), state))
                answers = None
            for label in dict.fromkeys(np.asarray(mine).tolist()):
                if label not in state.classes.tolist():  # type: ignore[union-attr]
                    state = self._admitted(state, label)
            codes, _ = self._codes(state, mine)
        self._learn_part(state, examples, codes[: ends[end] - ends[start]], weights, answers, start, end)
        return end

    def _codes(self, state: State, y: Coded) -> tuple[Array, int]:
        assert state.classes is not None
        codes = np.empty(len(y), np.int64)
        return codes, encode_labels(y, state.classes, 1, 0, codes) if len(state.classes) else 0

    def _admitted(self, state: State, label: Any) -> State:
        """A state with one more label."""
        return state.with_class(label)[0]

    def _check_classes(self, state: State | None, classes: Any) -> None:
        assert state is not None
        assert state.classes is not None
        if classes is not None and not np.array_equal(declared_classes(classes, 1), state.classes):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {state.classes!r}")


def coded_outputs(y: Any, offsets: Array, what: str) -> Coded:
    """Lists of labels, one for each part of an example, as codes."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    outputs = [list(labels) if not isinstance(labels, str) else labels for labels in y]
    if len(outputs) != len(offsets) - 1:
        raise ValueError(f"There are {len(offsets) - 1} sentences, and outputs for {len(outputs)}.")
    for t, (labels, n) in enumerate(zip(outputs, np.diff(offsets).tolist(), strict=True)):
        if isinstance(labels, str):
            raise TypeError(f"The output of sentence {t} is the text {labels!r}: give a list of {what}.")
        if len(labels) != n:
            raise ValueError(f"Sentence {t} has {n} words and {len(labels)} {what}.")
    flat = [label for labels in outputs for label in labels]
    try:
        places = {label: i for i, label in enumerate(dict.fromkeys(flat))}
    except TypeError:
        raise TypeError("Labels must be bool, int, float or str.") from None
    found = label_array(list(places)) if places else np.empty(0, "U1")
    order = np.argsort(found)
    ranks = np.empty(len(order), np.intp)
    ranks[order] = np.arange(len(order))
    return Coded(found[order], ranks[np.fromiter(map(places.__getitem__, flat), np.intp, len(flat))])
