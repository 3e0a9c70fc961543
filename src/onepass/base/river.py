"""What river asks of the models in its pipelines and evaluations, beside the methods for single examples."""

from __future__ import annotations

import sys
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import is_classifier, is_regressor

from onepass.base.knowledge import OPEN_STREAM


class ClassifierOfRiver:
    """What a classifier of ours is to river's `isinstance`."""


class RegressorOfRiver:
    """The same for a regressor."""


class Riverine:
    """A model that can stand in river's pipelines (`|`) and in `progressive_val_score`."""

    _supervised = True

    @property
    def _multiclass(self) -> bool:
        return bool(is_classifier(self))

    @property
    def _last_step(self) -> Any:
        """Where river's `isinstance` looks for what a pipeline ends in: whether it is a `river.base.Classifier` or a `Regressor`."""
        base: Any = sys.modules.get("river.base")
        if base is None or not (is_classifier(self) or is_regressor(self)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute '_last_step'")
        base.Classifier.register(ClassifierOfRiver)
        base.Regressor.register(RegressorOfRiver)
        return ClassifierOfRiver() if is_classifier(self) else RegressorOfRiver()

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from the rows of a frame, as `learn_one` does from each as a dict. `w` are their weights."""
        this: Any = self
        this._learn(_dicts(X), np.asarray(y), w, OPEN_STREAM)

    def predict_many(self, X: Any) -> Any:
        """What `predict_one` gives for the rows of a frame, as a series."""
        this: Any = self
        rows = _dicts(X)
        answers = this.predict(rows) if this.__sklearn_is_fitted__() else [this.predict_one(x) for x in rows]
        frame = nw.from_native(X, eager_only=True)
        series, index = nw.new_series("", answers, backend=frame.implementation), nw.maybe_get_index(frame)
        return (series if index is None else nw.maybe_set_index(series, index=index)).to_native()


def _dicts(X: Any) -> list[dict[str, Any]]:
    return list(nw.from_native(X, eager_only=True).iter_rows(named=True))
