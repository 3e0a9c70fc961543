"""Models from the words of a command line."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterable
from typing import Any

import click

# Short name -> family, variant. A family's classifier or regressor is taken as the task wants it.
SHORT = {
    "pa": ("PA", "hard"),
    "pa1": ("PA", "I"),
    "pa2": ("PA", "II"),
    "pamo": ("PAMO", "I"),
    "pamo1": ("PAMO", "I"),
    "pamo2": ("PAMO", "II"),
}
ENDINGS = {"classification": "Classifier", "regression": "Regressor"}
FEW = 100  # distinct whole numbers that may still be classes


def literal(text: str) -> Any:
    """A value as Python or JSON writes it; anything else is text.

    >>> literal("128"), literal("true"), literal("None"), literal("largest")
    (128, True, None, 'largest')
    """
    for parse in (ast.literal_eval, json.loads):
        try:
            return parse(text)
        except (ValueError, SyntaxError):
            continue
    return text


def settings_of(pairs: Iterable[str]) -> dict[str, Any]:
    """Parameters from `name=value`.

    >>> settings_of(["dimensions=128", "variant=II"])
    {'dimensions': 128, 'variant': 'II'}
    """
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--set {pair}: say name=value.")
        settings[name.strip()] = literal(value)
    return settings


def known_task(name: str) -> str | None:
    """The task that a learner's name decides, if it does; an error if there is no such learner."""
    from onepass import learners

    if name.lower() in SHORT:
        return None
    if name not in learners():
        raise click.UsageError(f"There is no learner {name!r}. Known are: {', '.join([*SHORT, *learners()])}.")
    return next((task for task, ending in ENDINGS.items() if name.endswith(ending)), None)


def task_of(y: Any) -> str:
    """What labels are for: text, truth values and few whole numbers are classes.

    >>> import numpy as np
    >>> task_of(np.array(["ham", "spam"])), task_of(np.array([1.0, -1.0])), task_of(np.array([1.5, 2.0]))
    ('classification', 'classification', 'regression')
    """
    import numpy as np

    if y.dtype.kind in "bUS":
        return "classification"
    distinct = np.unique(y)
    few = len(distinct) <= max(2, min(FEW, len(y) // 2))
    return "classification" if few and (distinct == np.round(distinct)).all() else "regression"


def task_of_model(model: Any) -> str:
    """What a model has learned."""
    from sklearn.base import is_classifier

    return "classification" if is_classifier(model) else "regression"


def classes_from(y: Any, names: tuple[str, ...] | None) -> list[Any] | None:
    """The classes that were named, or the usual pairs -1, 1 and 0, 1 where the labels at hand are both of one."""
    import numpy as np

    if names is not None:
        return list(names) if y.dtype.kind in "US" else [literal(name) for name in names]
    if y.dtype.kind in "bUS":
        return None
    distinct = np.unique(y).tolist()
    return distinct if distinct in ([-1, 1], [0, 1]) else None


def build(
    name: str,
    task: str,
    settings: dict[str, Any] | None = None,
    *,
    scale: str = "none",
    seed: int = 0,
    classes: list[Any] | None = None,
    grow: bool | None = None,
) -> Any:
    """A fresh model: a learner by name, and a stage before it where scaling is asked for.

    >>> build("pamo2", "classification", {"dimensions": 8}, seed=1)
    PAMOClassifier(dimensions=8, random_state=1, variant='II')
    """
    from onepass import StandardScaler, UnitNorm, learners, pipeline

    own_task = known_task(name)
    if own_task is not None and own_task != task:
        raise click.UsageError(f"{name} is for {own_task}, not for {task}.")
    given = dict(settings or {})
    if own_task is None and name.lower() in SHORT:
        family, variant = SHORT[name.lower()]
        name = family + ENDINGS[task]
        given = {"variant": variant} | given
    cls = learners()[name]
    parameters = list(inspect.signature(cls).parameters)
    if unknown := [key for key in given if key not in parameters]:
        raise click.UsageError(f"{name} has no parameter {unknown[0]!r}. It has: {', '.join(parameters)}.")
    if classes is not None and "classes" not in parameters:
        raise click.UsageError(f"{name} does not learn classes; leave --classes out.")
    offered = {"classes": classes, "grow": grow, "random_state": seed}
    learner = cls(**({key: value for key, value in offered.items() if key in parameters} | given))
    try:
        learner._check_parameters()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if scale == "none":
        return learner
    stage = {"standard": StandardScaler, "unit": UnitNorm}[scale]
    return pipeline(stage(grow=learner.grow), learner)
