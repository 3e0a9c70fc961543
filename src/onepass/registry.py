"""All learners by name, and models from files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from onepass import embedding, linear
from onepass.base import Learner, ModelFileError
from onepass.base.estimator import Estimator
from onepass.base.saving import read
from onepass.stages import Pipeline


def learners() -> dict[str, type[Learner]]:
    """All learners of onepass, name -> class.

    >>> import onepass
    >>> sorted(onepass.learners())
    ['PAClassifier', 'PAMOClassifier', 'PAMORegressor', 'PARegressor']
    """
    families = (linear, embedding)
    return {name: getattr(family, name) for family in families for name in family.__all__}


def load(path: str | os.PathLike[str]) -> Any:
    """The model in a file that `save` wrote.

    Files hold arrays and JSON, never code. The classes of onepass are known; one of your own must be imported first.
    """
    header, arrays = read(path)
    known = {cls.__name__: cls for cls in _subclasses(Estimator)}
    try:
        for _, part in header.get("steps") or [("", header)]:
            if part.get("class") not in known:
                raise ModelFileError(
                    f"it holds a {part.get('class')!r}, which this version of onepass does not have; if the class is yours,"
                    " import it first"
                )
        if "steps" in header:
            return Pipeline.unpack(header, arrays, known)
        return known[header["class"]]._unpack(header, arrays)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ModelFileError(f"{os.fspath(path)} can't be loaded: {error}") from error


def _subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
