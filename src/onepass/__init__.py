"""onepass: fast online learning, one example after the other.

Every example is predicted first, learned from once, and let go. What is decided and noticed on the way is logged under "onepass".
"""

from importlib import import_module
from importlib.util import find_spec
from logging import NullHandler, getLogger
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` finds, for those who read and don't run
    from onepass import datasets as datasets
    from onepass import evaluate as evaluate
    from onepass import plots as plots
    from onepass import streams as streams
    from onepass.active import ActiveLearner as ActiveLearner
    from onepass.base import DivergedError as DivergedError
    from onepass.base import ModelFileError as ModelFileError
    from onepass.committee import *  # noqa: F403
    from onepass.embedding import *  # noqa: F403
    from onepass.kernel import *  # noqa: F403
    from onepass.linear import *  # noqa: F403
    from onepass.local import *  # noqa: F403
    from onepass.neural import *  # noqa: F403
    from onepass.registry import learners as learners
    from onepass.registry import load as load
    from onepass.stages import Hasher as Hasher
    from onepass.stages import Imputer as Imputer
    from onepass.stages import OneHot as OneHot
    from onepass.stages import PartialTrees as PartialTrees
    from onepass.stages import RandomWalks as RandomWalks
    from onepass.stages import RBFBasis as RBFBasis
    from onepass.stages import ShortestPaths as ShortestPaths
    from onepass.stages import Spectrum as Spectrum
    from onepass.stages import StandardScaler as StandardScaler
    from onepass.stages import Subsequences as Subsequences
    from onepass.stages import SubsetTrees as SubsetTrees
    from onepass.stages import Subtrees as Subtrees
    from onepass.stages import Table as Table
    from onepass.stages import Text as Text
    from onepass.stages import UnitNorm as UnitNorm
    from onepass.stages import WeisfeilerLehman as WeisfeilerLehman
    from onepass.stages import pipeline as pipeline
    from onepass.structured import DependencyParser as DependencyParser
    from onepass.structured import LogLinear as LogLinear
    from onepass.structured import Ranker as Ranker
    from onepass.structured import Reranker as Reranker
    from onepass.structured import SequenceTagger as SequenceTagger
    from onepass.structured import StructuredClassifier as StructuredClassifier
    from onepass.translate import Translator as Translator

__version__ = "0.1.0"

getLogger(__name__).addHandler(NullHandler())  # quiet, unless the program says where logs go

_FAMILIES = ("linear", "kernel", "embedding", "local", "neural", "committee")  # whose lists of learners are the only ones
_PARTS = ("datasets", "evaluate", "plots", "streams")
_OTHERS = {
    "ActiveLearner": "active",
    "DependencyParser": "structured",
    "DivergedError": "base",
    "Hasher": "stages",
    "Imputer": "stages",
    "LogLinear": "structured",
    "ModelFileError": "base",
    "OneHot": "stages",
    "PartialTrees": "stages",
    "RBFBasis": "stages",
    "RandomWalks": "stages",
    "Ranker": "structured",
    "Reranker": "structured",
    "SequenceTagger": "structured",
    "ShortestPaths": "stages",
    "Spectrum": "stages",
    "StandardScaler": "stages",
    "StructuredClassifier": "structured",
    "Subsequences": "stages",
    "SubsetTrees": "stages",
    "Subtrees": "stages",
    "Table": "stages",
    "Text": "stages",
    "Translator": "translate",
    "UnitNorm": "stages",
    "WeisfeilerLehman": "stages",
    "learners": "registry",
    "load": "registry",
    "pipeline": "stages",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and no more: Numba and scikit-learn take a second, which no help page should have to wait for."""
    value = globals()[name] = _find(name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


def _find(name: str) -> Any:
    if name == "__all__":
        return [*_OTHERS, *_PARTS, *(learner for family in _FAMILIES for learner in _module(family).__all__)]
    if name in _OTHERS:
        return getattr(_module(_OTHERS[name]), name)
    if not name.startswith("_"):
        if find_spec(f"onepass.{name}") is not None:
            return _module(name)
        for family in map(_module, _FAMILIES):
            if name in family.__all__:
                return getattr(family, name)
    raise AttributeError(f"module 'onepass' has no attribute {name!r}")


def _module(name: str) -> Any:
    return import_module(f"onepass.{name}")
