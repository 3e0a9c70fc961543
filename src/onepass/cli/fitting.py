"""Data and models that fit each other: what kind of data it is, and how well a model that has learned already predicts it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from onepass.cli.models import MIXED, NUMBERS, SPARSE
from onepass.evaluate.feeding import has_strings, rows_for, steps_of
from onepass.evaluate.held_out import Figures
from onepass.evaluate.sequences import COUNTINGS, GIVEN
from onepass.stages.dates import LOOKS_LIKE_A_DATE
from onepass.streams import Chunk

WORDS = 4  # in the mean of a column's values, and it holds texts
USUAL = {"parsing": ["uas", "las"], "ranking": ["quality", "oracle_quality"]}  # metrics of outputs
SAME = 0.5  # of the values that come again at the most, in a column of texts


def kind_of(chunk: Chunk, options: dict[str, Any]) -> str:
    """What kind of data a stream holds, by its first chunk."""
    if sp.issparse(chunk.X):
        return SPARSE
    if has_strings(chunk) or options["text"] or options["categories"] or options["encode"]:
        return MIXED
    if options["features"] not in (None, chunk.X.shape[1]):
        raise ValueError(f"the data has {chunk.X.shape[1]} features, but --features says {options['features']}")
    return NUMBERS


def strings_of(chunk: Chunk, options: dict[str, Any]) -> dict[str, list[str]]:
    """The columns of texts, of categories and of those to encode: those that were named, and what the others look like, of which none
    is to encode. Dates are none of these."""
    found = {name: list(options[name]) for name in ("text", "categories", "encode")}
    named = {name for columns in found.values() for name in columns}
    columns = nw.from_native(chunk.X, eager_only=True).columns if chunk.names is None else chunk.names
    for option, names in found.items():
        if absent := [name for name in names if name not in columns]:
            raise ValueError(f"--{option} names {absent[0]!r}, and there is no such feature; there are {', '.join(columns)}")
    if not has_strings(chunk):
        return found
    frame = nw.from_native(chunk.X, eager_only=True)
    for name in (name for name in frame.columns if frame[name].dtype == nw.String):
        values = [value for value in frame[name].to_list() if value and value.strip()]
        if name in named or not values or LOOKS_LIKE_A_DATE.match(values[0]):
            continue
        plainly = np.mean([len(value.split()) for value in values]) >= WORDS and len(set(values)) > SAME * len(values)
        found["text" if plainly else "categories"].append(name)
    return found


def width_of(model: Any, features: int | None = None) -> int | None:
    """The number of features to read for a model, if it was not said; None if the data may decide."""
    first = steps_of(model)[0]
    if getattr(first, "_takes_raw", False):
        if features not in (None, first.n_features):
            raise ValueError(f"the model hashes strings to {first.n_features} features, not {features}; leave --features out")
        return None
    state = first._latest()
    return features or (None if state is None or state.grow_features or state.names is not None else state.n_features)


def fills(model: Any) -> bool:
    """Whether a model fills in what is missing."""
    return bool(steps_of(model)[0]._takes_missing)


def predictions(model: Any, stream: Iterable[Chunk], check: Callable[[], None]) -> Iterator[tuple[Any, Any, Any]]:
    """Rows, labels (or None) and predictions, chunk by chunk; the stream is checked when the first is there."""
    for i, chunk in enumerate(stream):
        if i == 0:
            check()
        X = chunk.X if isinstance(chunk.X, list) else rows_for(model, chunk)
        yield X, chunk.y, model.predict(X)


class Errors:
    """The errors of predictions, added up chunk by chunk."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.examples = 0
        self._mistakes = 0
        self._absolute = self._squared = 0.0
        self._counted: Any = 0

    def add(self, y: Any, predicted: Any) -> None:
        """Take in a chunk."""
        self.examples += len(y)
        if self.task in COUNTINGS:
            self._counted += COUNTINGS[self.task].of(y, predicted).sum(axis=0)
            return
        if self.task == "classification":
            same_kind = (y.dtype.kind in "US") == (predicted.dtype.kind in "US")
            self._mistakes += int((y != predicted).sum()) if same_kind else len(y)
        else:
            error = predicted - y
            self._absolute += float(np.abs(error).sum())
            self._squared += float(error @ error)

    def metrics(self, asked: Iterable[str] = ()) -> dict[str, float]:
        """The error rate of a classifier, and of a tagger that of words, and F1 if there are entities; UAS and LAS of a parser; the
        quality of what was chosen of lists, and of the best; MAE and RMSE of a regressor. Of outputs also what was asked for."""
        if self.task in COUNTINGS:
            known, first = COUNTINGS[self.task].metrics, dict[str, float]()
            usual = USUAL.get(self.task, [])
            if self.task == "tagging":
                first = {"error": float(known["mistake_rate"](self._counted))}
                usual = ["entity_f1"] if self._counted[GIVEN] else []
            return first | {name: float(known[name](self._counted)) for name in dict.fromkeys([*usual, *asked])}
        if self.task == "classification":
            return {"error": self._mistakes / self.examples}
        return {"mae": self._absolute / self.examples, "rmse": float(np.sqrt(self._squared / self.examples))}


def test(model: Any, task: str, stream: Iterable[Chunk], asked: Sequence[str]) -> dict[str, float]:
    """The errors of a model on a stream, and the metrics that were asked for beside them."""
    errors = Errors(task)
    figures = Figures(asked, model.classes_ if task == "classification" else None) if asked and task not in COUNTINGS else None
    for X, y, predicted in predictions(model, stream, lambda: None):
        if y is None:
            raise ValueError("the test data has no labels")
        errors.add(y, predicted)
        if figures is not None:
            figures.ask(model, X, y, predicted)
    return errors.metrics(asked) | ({} if figures is None else figures.values())
