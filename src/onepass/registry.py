"""All learners by name, and models from files."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import IO, Any

from onepass import committee, embedding, kernel, linear, local, neural
from onepass.active import ActiveLearner
from onepass.base import Learner, ModelFileError
from onepass.base.estimator import Estimator
from onepass.base.saving import name_of, read, unpack
from onepass.stages import Pipeline
from onepass.structured import DependencyParser, LogLinear, Ranker, Reranker, SequenceTagger
from onepass.translate import Translator

log = logging.getLogger(__name__)


def learners() -> dict[str, type[Learner]]:
    """All learners of onepass, name -> class.

    >>> import onepass
    >>> sorted(name for name in onepass.learners() if name.startswith("PA"))
    ['PAClassifier', 'PAMOClassifier', 'PAMORegressor', 'PAMultilabel', 'PARegressor', 'PAUniclass']
    """
    families = (linear, kernel, embedding, local, neural, committee)
    return {name: getattr(family, name) for family in families for name in family.__all__}


def load(path: str | os.PathLike[str] | IO[bytes]) -> Any:
    """The model in a file that `save` wrote, given by its path or open for reading in binary mode.

    Files hold arrays and JSON, never code. The classes of onepass are known; one of your own must be imported first.
    """
    header, arrays = read(path)
    outputs = [DependencyParser, LogLinear, Ranker, Reranker, SequenceTagger]
    classes: list[type[Any]] = [Pipeline, ActiveLearner, Translator, *outputs, *_subclasses(Estimator)]
    known = {cls.__name__: cls for cls in classes}
    try:
        model = unpack(header, arrays, known)
        model._metadata, model._version = dict(header.get("metadata") or {}), header.get("version")
    except Exception as error:  # whatever a damaged header leads to
        raise ModelFileError(f"{name_of(path)} can't be loaded: {error}") from error
    log.info("loaded %s: %s, written by onepass %s", name_of(path), header["class"], header.get("version"))
    return model


def _subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
