"""Steps that can be watched: what a rule saw of each example, and what it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepass.base import Classifier, Regressor
from onepass.base.explaining import Explained
from onepass.base.inputs import Rows, rows_of
from onepass.compiled.compiler import entry_point
from onepass.compiled.losses import judge

Array = NDArray[Any]


@dataclass(frozen=True, repr=False)
class Step:
    """One example, and the step on it.

    Parameters
    ----------
    t : int
        The number of the example, from 1.
    x : ndarray
        The example, as a dense row without the constant feature.
    y : label or number
        Its target.
    score : float or ndarray
        The score before the step: one number, or one for each class.
    loss : float
        The loss before the step: the hinge loss max(0, 1 - margin), the margin being y w.x or that over the strongest rival, with costs
        if there are any; max(0, abs(y - score) - epsilon) for numbers. Learners with a loss of their own are shown with this one, too.
    tau : float or None
        How far the weights moved along the example, of many classes those of its label: w += tau y x, or tau z for PAMO, z being the
        embedding. It is read off the weights before and after. None if they moved in another direction, too, as those of second-order
        rules do.
    before, after : dict of ndarray
        The arrays that the step changed: "w", the weights, the constant feature first; "Sigma", the covariance of second-order rules;
        and of PAMO "w", its weights on the embedding, and "U", its hyperplanes.
    """

    t: int
    x: Array
    y: Any
    score: Any
    loss: float
    tau: float | None
    before: dict[str, Array]
    after: dict[str, Array]

    def __repr__(self) -> str:
        tau = "" if self.tau is None else f"  tau {self.tau:.4g}"
        moves = [f"  {name} {_short(self.before[name])} -> {_short(self.after[name])}" for name in self.after]
        return f"{self.t}: y {self.y!r}  score {_short(self.score)}  loss {self.loss:.4g}{tau}{''.join(moves)}"


def _short(value: Any) -> str:
    text = np.array2string(np.asarray(value), precision=4, suppress_small=True, threshold=12, separator=" ")
    return " ".join(text.split())


def trace(model: Any, X: Any, y: Any) -> Iterator[Step]:
    """Learn from the rows of a table one by one, and tell of each step. The model is the same afterwards as by `partial_fit`.

    For linear learners and PAMO, without averages and with C that is a number: what is watched are the weights that the rule itself
    moves. A fresh classifier is told all labels of y, as by `fit`. To watch a learner behind stages, pass it what they make of the
    rows: trace(learner, scaler.learn_transform(X), y).

    Examples
    --------
    >>> from onepass import PAClassifier
    >>> from onepass.evaluate import trace
    >>> model = PAClassifier(variant="hard", fit_intercept=False)
    >>> for step in trace(model, [[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]], [1, -1, -1]):
    ...     print(step)
    1: y 1  score 0.  loss 1  tau 1  w [0. 0. 0.] -> [0. 1. 0.]
    2: y -1  score 1.  loss 2  tau 1  w [0. 1. 0.] -> [ 0. 0. -1.]
    3: y -1  score -2.  loss 0  tau 0
    """
    if not isinstance(model, Explained) or not isinstance(model, Classifier | Regressor):
        raise TypeError(f"trace watches linear learners and PAMO, for classes or numbers; got {type(model).__name__}.")
    if model._averages() or getattr(model, "pocket", False) or isinstance(getattr(model, "C", None), str):
        raise ValueError("trace watches the weights that a rule moves: leave `average` and `pocket` out, and give C a number.")
    if getattr(model, "scale_target", False):
        raise ValueError("trace watches steps in the units of the targets: say scale_target=False.")
    rows = rows_of(X, model, fitted=model._latest() is not None)
    targets = model._targets(y, rows.n)
    if model._latest() is None:
        told = {"classes": np.unique(targets)} if isinstance(model, Classifier) and model.classes is None else {}
        model.partial_fit(rows.part(0, 1), targets[:1], **told, sample_weight=[0.0])
    state = model._latest()
    if state is None or state.grow_features or state.grow_classes:
        raise ValueError("trace needs a model whose features and labels are known from the start: leave `grow` out.")
    model._check_targets(state, targets)
    return _steps(model, rows, targets)


def _steps(model: Any, rows: Rows, targets: Any) -> Iterator[Step]:
    for t in range(rows.n):
        row, target = rows.part(t, t + 1), targets[t : t + 1]
        state = model._readable()
        before, scores = model._watched(state), model._scores(row, state)[0]
        along = model._along(row, state)
        (code,), _ = model._codes(state, target)
        model.partial_fit(row, target)
        after = model._watched(model._readable())
        moved = (after["w"] - before["w"]).reshape(-1, len(along))[int(code) if len(scores) > 1 else 0]
        changed = [name for name in after if not np.array_equal(before[name], after[name])]
        yield Step(
            model.t_,
            row.data.toarray()[0] if row.sparse else np.array(row.data[0]),
            target[0].item(),
            scores.item() if state.form != "multiclass" else scores,
            max(0.0, float(_loss(model._task(state), scores, code))),
            _tau(moved, along),
            {name: before[name] for name in changed},
            {name: after[name] for name in changed},
        )


@entry_point
def _loss(task: Any, scores: Any, y: Any) -> Any:
    _, loss = judge(task, scores, y, np.empty_like(scores))
    return loss


def _tau(moved: Array, along: Array) -> float | None:
    """How many times `along` the weights moved; None if they moved elsewhere, too."""
    if not moved.any():
        return 0.0
    times = float(moved @ along / (along @ along)) if along.any() else 0.0
    close = np.sqrt(np.finfo(moved.dtype).eps)
    return abs(times) if np.linalg.norm(moved - times * along) <= close * np.linalg.norm(moved) else None
