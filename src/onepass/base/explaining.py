"""Why an example has the score that it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.base.inputs import Rows, one_row
from onepass.base.learner import Learner
from onepass.base.state import Array, State

SHOWN = 10  # contributions that are printed


@dataclass(frozen=True, repr=False)
class Explanation:
    """The score of one example, feature by feature: the bias and all contributions add up to it, but for rounding.

    Parameters
    ----------
    label : label or None
        Whose score it is; None where numbers are predicted.
    score : float
        The score. Of two classes, the score of the first is minus that of the second.
    bias : float
        What the constant feature adds.
    contributions : dict
        What each feature of the example adds, by its name or the number of its column, the largest first.

    Examples
    --------
    >>> from onepass import PAClassifier
    >>> model = PAClassifier()
    >>> model.learn_one({"free": 1, "offer": 1}, "spam")
    >>> model.learn_one({"meeting": 1, "noon": 1}, "ham")
    >>> model.learn_one({"free": 1, "prize": 1}, "spam")
    >>> model.explain_one({"free": 1, "noon": 1})
    free             +0.4444
    noon             -0.3333
    (bias)           +0.1111
    score of 'spam'  +0.2222
    """

    label: Any
    score: float
    bias: float
    contributions: dict[Any, float]

    def __repr__(self) -> str:
        shown = list(self.contributions.items())[:SHOWN]
        rest = len(self.contributions) - len(shown)
        lines = [(str(name), value) for name, value in shown]
        if rest:
            lines.append((f"({rest} more)", sum(list(self.contributions.values())[SHOWN:])))
        lines += [("(bias)", self.bias), ("score" if self.label is None else f"score of {self.label!r}", self.score)]
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:{width}}  {value:+.4g}" for name, value in lines)


class Explained(Learner):
    """A learner whose scores are linear in an example, at least near it."""

    def _linear_at(self, x: Array, places: Array, state: State) -> Array:
        """The weights of the entries of an example, of which the first is the constant feature, at their places in the arrays of the
        state: (width, entries), so that weights times entries are the scores."""
        raise NotImplementedError

    def _watched(self, state: State) -> dict[str, Array]:
        """Copies of what a step may change, "w" first."""
        raise NotImplementedError

    def _along(self, X: Any, state: State) -> Array:
        """The vector that "w" is multiplied with, for one row."""
        raise NotImplementedError

    def explain_one(self, x: Any, label: Any = None) -> Explanation:
        """What each feature adds to the score of one example, exactly: that of the label that is predicted, or of another one."""
        return self._read(lambda state: self._explained(one_row(x), state, label))

    def _explained(self, X: Any, state: State, label: Any, names: Sequence[Any] | dict[int, Any] | None = None) -> Explanation:
        scores = self._scores(X, state)[0]
        k, sign, label = self._explained_score(scores, state, label)
        rows = self._rows(X, state).checked()
        called = self._names_for(X, state) if names is None else names
        bound = self._bind_for(rows.width, state)
        columns, values = (rows.data.indices, rows.data.data) if rows.sparse else (np.arange(rows.width), rows.data[0])
        columns, values = columns[values != 0], values[values != 0]
        x = np.append(bound.bias, values.astype(state.dtype)).astype(np.float64)
        mean, deviation = state.units
        parts = (
            sign * deviation * x * self._linear_at(x, np.append(0, columns + 1), bound.state)[k] + 0.0
        )  # which makes 0 of -0
        parts[0] += mean
        added = dict[Any, float]()
        for j, part in zip(self._columns_of(X, state, columns), parts[1:].tolist(), strict=True):
            added[called[j]] = added.get(called[j], 0.0) + part
        by_size = dict(sorted(added.items(), key=lambda pair: -abs(pair[1])))
        return Explanation(label, sign * float(scores[k]), float(parts[0]), by_size)

    def _columns_of(self, X: Any, state: State, features: Array) -> list[int]:
        """The columns of X that some features are."""
        if state.buckets is None or not isinstance(X, Rows):
            return features.tolist()
        _, newcomers = self._hashed_rows(X, state, state.buckets, grow=True)
        return np.append(state.buckets.first(state.n_features), newcomers)[features].tolist()

    def _explained_score(self, scores: Array, state: State, label: Any) -> tuple[int, float, Any]:
        """The number of the score to explain, its sign, and the label that it belongs to."""
        if state.classes is None:
            if label is not None:
                raise ValueError(f"This {type(self).__name__} predicts numbers: there is no label to explain.")
            return 0, 1.0, None
        labels, two = state.classes.tolist(), state.form == "binary"
        if state.undecided or not labels:
            raise ValueError(f"This {type(self).__name__} has not met enough labels: there is no score to explain yet.")
        if label is None:
            label = labels[int(scores[0] >= 0) if two else int(scores.argmax())]
        elif label not in labels:
            raise ValueError(f"{label!r} is none of the labels {labels}.")
        k = labels.index(label)
        return (0, 1.0 if k else -1.0, labels[k]) if two else (k, 1.0, labels[k])
