"""Models from the words of a command line."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterable
from typing import Any

import click

# Short names beside those of the families: family, settings. A name whose family is not there means nothing.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "pa": ("PA", {"variant": "hard"}),
    "pa1": ("PA", {"variant": "I"}),
    "pa2": ("PA", {"variant": "II"}),
    "pa-auto": ("PA", {"C": "auto"}),
    "pamo1": ("PAMO", {"variant": "I"}),
    "pamo2": ("PAMO", {"variant": "II"}),
    "pamo-auto": ("PAMO", {"C": "auto"}),
    "mlp": ("OnlineMLP", {}),
    "mlp-auto": ("OnlineMLP", {"C": "auto"}),
    "hbp": ("HedgeBackprop", {}),
    "scw1": ("SCW", {"variant": "I"}),
    "scw2": ("SCW", {"variant": "II", "confidence": 0.9}),  # where LIBOL starts from
    "aromma": ("ROMMA", {"aggressive": True}),
    "stoptron": ("KernelPerceptron", {"budget": 100, "policy": "stop"}),
    "rbp": ("KernelPerceptron", {"budget": 100, "policy": "random"}),
    "bpa-s": ("BudgetPA", {"strategy": "simple"}),
    "bpa-nn": ("BudgetPA", {"strategy": "nearest"}),
    "bpa-p": ("BudgetPA", {"strategy": "projecting"}),
    "projectron++": ("Projectron", {"plus": True}),
    "bogd++": ("BOGD", {"sampling": "weighted"}),
    "lol": ("LocalPA", {"shared": True}),
    "i-lol": ("LocalPA", {"shared": False}),
    "sop": ("SecondOrderPerceptron", {}),
}
ENDINGS = ("Classifier", "Regressor")
AUTO = "auto"
# Kinds of data: arrays, tables with more than numbers, sparse rows, sentences; of strings, trees and graphs, the stage that takes them.
NUMBERS, MIXED, SPARSE, SENTENCES = "numbers", "mixed", "sparse", "sentences"
STAGES = {
    "strings": ("spectrum", "subsequences"),
    "trees": ("subtrees", "subset-trees", "partial-trees"),
    "graphs": ("weisfeiler-lehman", "shortest-paths", "random-walks"),
}
KEPT = ("subsequences", "subset-trees", "partial-trees", "random-walks")  # which a kernel learner keeps and compares
KEPT_AT_MOST = 1000
LEARNERS_OF_SENTENCES = {"tagging": "tagger", "parsing": "parser"}  # by task
LEARNERS_OF_OUTPUTS = {**LEARNERS_OF_SENTENCES, "ranking": "reranker"}
LISTS = {"reranker": "Reranker", "loglinear": "LogLinear", "ranker": "Ranker"}
HASHED = 2**18  # columns for what is not a number
FEW = 100  # distinct whole numbers that may still be classes
MANY_LABELS, OFTEN = 200, 10  # so many labels, and each but so many times: are these the classes?


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


def values_of(texts: Iterable[str]) -> dict[str, list[Any]]:
    """What to try, from `name=value,value`.

    >>> values_of(["C=0.1,1", "variant=I,II"])
    {'C': [0.1, 1], 'variant': ['I', 'II']}
    """
    grid = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not values:
            raise click.UsageError(f"--grid {text}: say name=value,value.")
        grid[name.strip()] = [literal(value) for value in values.split(",")]
    return grid


def family_of(name: str) -> str:
    """What a classifier and a regressor of one kind are called together.

    >>> family_of("PAClassifier"), family_of("PARegressor")
    ('PA', 'PA')
    """
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)


def offered() -> dict[str, dict[str, Any]]:
    """Family -> its classes, by task: those that learn a label or a number an example, as files have them."""
    from onepass import learners
    from onepass.base import Classifier, Regressor

    families: dict[str, dict[str, Any]] = {}
    for name, cls in learners().items():
        if issubclass(cls, Classifier | Regressor):
            task = "classification" if issubclass(cls, Classifier) else "regression"
            families.setdefault(family_of(name), {})[task] = cls
    return families


def short_names() -> dict[str, tuple[str, dict[str, Any]]]:
    """Short name -> family, settings."""
    families = offered()
    known = {family.lower(): (family, dict[str, Any]()) for family in families} | VARIANTS
    return {short: about for short, about in known.items() if about[0] in families}


def find(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The classes that a name means, by task, and the settings that it stands for."""
    if name in ("tagger", "SequenceTagger"):
        from onepass import SequenceTagger

        return {"tagging": SequenceTagger}, {}
    if name in ("parser", "DependencyParser"):
        from onepass import DependencyParser

        return {"parsing": DependencyParser}, {}
    if name.lower() in LISTS:
        import onepass

        return {"ranking": getattr(onepass, LISTS[name.lower()])}, {}
    families, short = offered(), short_names()
    classes = {cls.__name__: {task: cls} for family in families.values() for task, cls in family.items()}
    if name in classes:
        return classes[name], {}
    if name.lower() not in short:
        raise click.UsageError(f"There is no learner {name!r} for files. Known are: {', '.join([*short, *classes])}.")
    family, settings = short[name.lower()]
    return families[family], settings


def known_task(name: str) -> str | None:
    """The task that a learner's name decides, if it does; an error if there is no such learner."""
    if name == AUTO:
        return None
    classes, _ = find(name)
    return next(iter(classes)) if len(classes) == 1 else None


def class_for(name: str, task: str) -> Any:
    """The class that a name means for a task."""
    classes, _ = find(name)
    if task not in classes:
        endings = {
            **dict.fromkeys(LEARNERS_OF_SENTENCES, "sentences end in .conll or .conllu"),
            "ranking": "lists end in .letor",
        }
        hint = "".join(f"; files of {known}, or say --format" for name, known in endings.items() if name in classes)
        raise click.UsageError(f"{name} is for {next(iter(classes))}, not for {task}{hint}.")
    return classes[task]


def check_names(cls: Any, names: Iterable[str]) -> None:
    """Refuse parameters that a learner does not have."""
    parameters = list(inspect.signature(cls).parameters)
    if unknown := [name for name in names if name not in parameters]:
        raise click.UsageError(f"{cls.__name__} has no parameter {unknown[0]!r}. It has: {', '.join(parameters)}.")


def stage_of(kind: str) -> Any:
    """The class of the stage that takes objects of a kind; None for other data.

    >>> stage_of("subset-trees").__name__
    'SubsetTrees'
    """
    import onepass

    known = any(kind in stages for stages in STAGES.values())
    return getattr(onepass, kind.title().replace("-", "")) if known else None


def shared(settings: dict[str, Any], names: dict[str, str], task: str, kind: str) -> dict[str, dict[str, Any]]:
    """For each learner, by what it is called, those of the settings that it has, or the stage before it; an error for one that none of
    them has."""
    stage = stage_of(kind)
    common = set() if stage is None else set(inspect.signature(stage).parameters)
    parameters = {called: common | set(inspect.signature(class_for(name, task)).parameters) for called, name in names.items()}
    if unknown := [key for key in settings if not any(key in own for own in parameters.values())]:
        raise click.UsageError(f"None of the learners has a parameter {unknown[0]!r}.")
    return {name: {key: value for key, value in settings.items() if key in own} for name, own in parameters.items()}


def task_of(y: Any) -> str:
    """What labels are for: text, truth values and few whole numbers are classes.

    >>> import numpy as np
    >>> task_of(np.array(["ham", "spam"])), task_of(np.array([1.0, -1.0])), task_of(np.array([1.5, 2.0]))
    ('classification', 'classification', 'regression')
    """
    import numpy as np

    if isinstance(y, list):
        return "ranking" if isinstance(y[0][0], float) else "tagging"
    if y.dtype.kind in "bUS":
        return "classification"
    distinct = np.unique(y)
    few = len(distinct) <= max(2, min(FEW, len(y) // 2))
    return "classification" if few and (distinct == np.round(distinct)).all() else "regression"


def decided_task(y: Any, said: str | None, known: str | None, what: str) -> str:
    """The task that was said, or that the learner is for, or that labels like these are for. Where nobody said it, labels that are more
    likely names, sentences or numbers than classes are asked about, and whole numbers that are taken for numbers are told of."""
    import numpy as np

    task = said or known or task_of(y)
    if task in LEARNERS_OF_OUTPUTS:
        return task
    distinct = len(np.unique(y))
    counted = f"{distinct:,} different values in the first {len(y):,} rows"
    if said is None and task == "classification" and distinct > max(MANY_LABELS, len(y) // OFTEN):
        numbers = (
            ""
            if y.dtype.kind in "US"
            else " a learner for numbers, such as --learner pamo, if they are to be predicted as such,"
        )
        raise ValueError(
            f"{what} has {counted}. Say --label COLUMN if it is another column,{numbers} or --task classification if these are the"
            " classes"
        )
    if said is known is None and task == "regression" and (y == np.round(y)).all():
        click.echo(
            f"onepass: {what} holds whole numbers, {counted}: learned as numbers; --task classification if these are classes",
            err=True,
        )
    return task


def learned_probabilities(settings: dict[str, Any], metrics: Iterable[str], task: str) -> dict[str, Any]:
    """The settings of a learner, with those that metrics of probabilities take."""
    from onepass.evaluate.probability import PROBABILITY_METRICS

    wanted = task == "classification" and not PROBABILITY_METRICS.isdisjoint(metrics)
    return {**settings, "calibrate": True} if wanted else settings


def task_of_model(model: Any) -> str:
    """What a model has learned."""
    from sklearn.base import is_classifier

    from onepass import DependencyParser, SequenceTagger, Translator
    from onepass.structured.listwise import ListLearner

    if isinstance(model, Translator):
        raise ValueError("the model is a translator: see onepass translate --help for what it can do")
    for cls, task in ((SequenceTagger, "tagging"), (DependencyParser, "parsing"), (ListLearner, "ranking")):
        if isinstance(model, cls):
            return task
    return "classification" if is_classifier(model) else "regression"


def classes_from(y: Any, names: tuple[str, ...]) -> list[Any]:
    """The classes that were named, as labels like those at hand."""
    if isinstance(y, list):
        return list(names)
    return list(names) if y.dtype.kind in "US" else [literal(name) for name in names]


def resolved(name: str, kind: str, task: str) -> str:
    """The learner that a name means for data of a kind; "auto" is a committee, or for what that can't take another that does well."""
    if name != AUTO:
        return name
    if task in LEARNERS_OF_OUTPUTS:
        return LEARNERS_OF_OUTPUTS[task]
    if kind in KEPT:
        return "kernelpa"
    if stage_of(kind) is not None:
        return "arow" if task == "classification" else "ogd"
    return AUTO


def build(
    name: str,
    task: str,
    settings: dict[str, Any] | None = None,
    *,
    kind: str = NUMBERS,
    fill: str | float | None = None,
    scale: str = "none",
    features: int | None = None,
    text: Iterable[str] = (),
    categories: Iterable[str] = (),
    encode: Iterable[str] = (),
    seed: int = 0,
    classes: list[Any] | None = None,
) -> Any:
    """A fresh model: a learner by name, and the stages that data of this kind needs, or that were asked for.

    >>> build("pamo2", "classification", {"dimensions": 8}, seed=1)
    PAMOClassifier(dimensions=8, random_state=1, variant='II')
    """
    from onepass import Imputer, StandardScaler, Table, UnitNorm, pipeline

    name = resolved(name, kind, task)
    cls = class_for(name, task)
    given, stage = find(name)[1] | (settings or {}), stage_of(kind)
    if task == "tagging":
        given = {"templates": "tags"} | given
    if (task in LEARNERS_OF_OUTPUTS or stage is not None) and scale not in ("auto", "none"):
        raise click.UsageError("Sentences, lists, strings, trees and graphs are not scaled; leave --scale out.")
    parameters = inspect.signature(cls).parameters
    if kind in KEPT:
        if "kernel" not in parameters:
            raise click.UsageError(f"--stage {kind} is for kernel learners, such as kernelpa, and {cls.__name__} is none.")
        given = {"kernel": "structure", "budget": KEPT_AT_MOST} | given
    stages = list[Any]()
    if stage is not None:
        own = {} if features is None or kind in KEPT else {"n_features": features}
        own |= {key: given.pop(key) for key in list(given) if key not in parameters}
        check_names(stage, own)
        stages.append(_sound(stage(**own)))
    check_names(cls, given)
    if classes is not None and "classes" not in parameters:
        raise click.UsageError(f"{cls.__name__} does not learn classes; leave --classes out.")
    offered = {"classes": classes, "random_state": seed}
    learner = _sound(cls(**({key: value for key, value in offered.items() if key in parameters} | given)))
    if kind == MIXED:
        holes = "mean" if fill is None else fill
        scaled = scale in ("auto", "standard")
        columns = list(text), list(categories)
        stages.append(Table(features or HASHED, *columns, missing=holes, scale=scaled, encode=list(encode) or None))
    elif fill is not None:
        stages.append(Imputer(fill))
    if (scale == "standard" and kind != MIXED) or (scale == "auto" and kind == NUMBERS and not cls._scales):
        stages.append(StandardScaler())
    if scale == "unit" or (scale == "auto" and kind == MIXED):
        stages.append(UnitNorm())
    return pipeline(*stages, learner) if stages else learner


def _sound(estimator: Any) -> Any:
    """The same, if its parameters may be what they are."""
    try:
        estimator._ensure_parameters()
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return estimator
