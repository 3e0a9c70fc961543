"""What a fresh model knows of the examples to come: labels, features, their names and their type.

It is decided here, for every way into a model, so that the same examples make the same model whichever way they come. What a way can
tell is a `Door`; the parameter `grow` of a model goes before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onepass.base.buckets import Buckets
from onepass.base.inputs import Rows
from onepass.base.state import Array


@dataclass(frozen=True)
class Door:
    """What a way into a model can tell a fresh one."""

    classes: Any = None  # all labels, where somebody names them
    whole: bool = False  # all examples are there: their labels are all labels
    labels_come: bool = False  # labels may come up that nobody named
    features_come: bool = False  # and so may features

    def behind(self, stage: Any) -> Door:
        """What a stage's rows tell the next step: some stages decide on the number of features, or give names."""
        return replace(self, features_come=(self.features_come or stage._brings_features) and not stage._fixes_width)


# `fit` has all there is; a stream goes on, and nobody looks ahead.
WHOLE = Door(whole=True)
STREAM = Door(labels_come=True)
OPEN_STREAM = Door(labels_come=True, features_come=True)


@dataclass(frozen=True)
class Start:
    """What a fresh model knows. `labels` are all there can be, or None where they come up as they may, or there are none."""

    dtype: np.dtype[Any]
    n_features: int
    names: list[str] | None
    labels: Array | None
    grow_features: bool
    grow_classes: bool
    buckets: Buckets | None = None


def no_labels(whole: bool, come: bool) -> None:
    """The labels of what has none."""


def start_of(
    grow: bool | str | None,
    door: Door,
    rows: Rows,
    names: list[str] | None,
    first: int,
    find_labels: Callable[[bool, bool], Any],
) -> Start:
    """What a model with this parameter `grow` knows, given the rows that come first.

    Features are all columns of a table, or where features may come, those of the first example that is learned from, number `first`:
    however the examples are cut, that is the same one. `find_labels(whole, come)` gives the labels: an array of them, one
    without any where they may come up, or None where there are no labels.
    """
    features_come = door.features_come if grow is None else grow in (True, "features")
    labels_come = door.labels_come if grow is None else grow in (True, "labels")
    labels = find_labels(door.whole and grow not in (True, "labels"), labels_come)
    known = rows.width_of(first) if features_come else rows.width
    return Start(
        rows.dtype,
        known,
        names if names is None else names[:known],
        labels,
        features_come,
        labels is not None and len(labels) == 0,
    )
