"""The scores of linear models: records whose weights are `w`, for one score, or the rows of `W`, for a score a class."""

from __future__ import annotations

from typing import Any

from onepass.compiled.average import at, height, workspace
from onepass.compiled.rows import dot
from onepass.compiled.rules import Scores, score, scratch


def linear(*records: type) -> None:
    """Give records the scores of linear models, and the least work space."""
    for Record in records:
        one = "w" in Record._fields
        scratch.form(Record)(_room_for_one if one else _room_for_each)
    scored(*records)


def scored(*records: type) -> None:
    """Give records the scores of linear models."""
    for Record in records:
        score.form(Record)(_score_one if "w" in Record._fields else _score_each)


def _room_for_one(m: Any) -> Any:
    return Scores(workspace(m.w, 1))


def _room_for_each(m: Any) -> Any:
    return Scores(workspace(m.W, height(m.W)))


def _score_one(m: Any, x: Any, s: Any) -> Any:
    s.scores[0] = dot(m.w, x)


def _score_each(m: Any, x: Any, s: Any) -> Any:
    for k in range(len(s.scores)):
        s.scores[k] = dot(at(m.W, k), x)
