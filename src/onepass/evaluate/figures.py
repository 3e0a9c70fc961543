"""What metrics need to know of an example beside its label: the scores and the probabilities that a model gave it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from onepass.base.engine import Piece
from onepass.evaluate.metrics import Array
from onepass.evaluate.probability import judged
from onepass.evaluate.ranking import ranks


def beside(piece: Piece, true: Array, probabilities: bool, ranking: bool, by_label: bool = False) -> dict[str, Array]:
    """Columns for the tally. `true` has the places of the true labels among the classes of the piece, -1 where one is not there.
    With `by_label` the probabilities themselves are a column, too."""
    columns = {}
    if probabilities:
        assert piece.chances is not None
        columns["judged"] = judged(piece.chances, true)
        if by_label:
            columns["chances"] = _by_label(piece.classes, piece.scores, piece.chances)
    if ranking:
        if len(piece.classes) < 2:
            columns["ranks"] = ranks(np.full(len(true), np.nan), np.zeros(len(true), int))
        elif len(piece.classes) == 2:
            columns["ranks"] = ranks(piece.scores[:, 0], true)
        else:
            columns["ranks"] = ranks(np.zeros(len(true)), np.full(len(true), -1))
    return columns


def _by_label(classes: Any, scores: Array, chances: Array) -> Array:
    """The probabilities of each row as a dict, as `predict_proba_one` gives it: a label that comes with its row was not known before,
    and its score is NaN."""
    labels = np.asarray(classes).tolist()
    columns = np.empty(len(chances), object)
    columns[:] = [dict(zip(labels, row, strict=True)) for row in chances.tolist()]
    if scores.shape[1] > 1:
        for t, k in np.argwhere(np.isnan(scores)).tolist():
            del columns[t][labels[k]]
    return columns


def foretold(model: Any, X: Any, probabilities: bool, ranking: bool) -> Piece:
    """What any model says of rows, which it does not learn from: scores if `ranking` is set, probabilities if `probabilities` is."""
    try:
        chances = model.predict_proba(X) if probabilities or not hasattr(model, "decision_function") else None
        scores = model.decision_function(X) if ranking and hasattr(model, "decision_function") else log_odds(chances)
    except NotFittedError:
        n = len(X) if isinstance(X, list) else X.shape[0]
        return Piece([], np.full((n, 1), np.nan), np.empty((n, 0)))
    return Piece(model.classes_.tolist(), scores.reshape(len(scores), -1), chances)


def log_odds(chances: Any) -> Array:
    """Probabilities of two classes as scores: near 1 they lie as far apart as near 0."""
    if chances is None or chances.shape[1] != 2:
        return np.full((0 if chances is None else len(chances), 1), np.nan)
    with np.errstate(divide="ignore"):
        return np.log(chances[:, 1:]) - np.log(chances[:, :1])


def check_figures(model: Any, metric: str | None, ranking: bool, door: str = "") -> None:
    """Refuse a metric of probabilities, or the AUC, of a model that does not give what it takes."""
    chances = hasattr(model, f"predict_proba{door}")
    if metric is not None and not chances:
        way = " Set calibrate=True." if "calibrate" in getattr(model, "get_params", dict)() else ""
        raise ValueError(f"{metric!r} needs probabilities, and {type(model).__name__} gives none.{way}")
    if ranking and not chances and not hasattr(model, "decision_function"):
        raise ValueError(f"'auc' needs scores or probabilities, and {type(model).__name__} gives neither.")
