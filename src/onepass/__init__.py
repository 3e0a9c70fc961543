"""onepass: online learning at the speed of the memory bus.

Every example is predicted first, learned from once, and let go.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onepass import embedding, kernel, linear, local, neural
from onepass.active import ActiveLearner
from onepass.base import DivergedError, ModelFileError
from onepass.embedding import *  # noqa: F403  (the families' lists of learners are the only ones)
from onepass.kernel import *  # noqa: F403
from onepass.linear import *  # noqa: F403
from onepass.local import *  # noqa: F403
from onepass.neural import *  # noqa: F403
from onepass.registry import learners, load
from onepass.stages import Hasher, RBFBasis, StandardScaler, UnitNorm, pipeline

if TYPE_CHECKING:
    from onepass import datasets, evaluate, plots, streams

__version__ = "0.1.0"

__all__ = [
    "ActiveLearner",
    "DivergedError",
    "Hasher",
    "ModelFileError",
    "RBFBasis",
    "StandardScaler",
    "UnitNorm",
    "datasets",
    "evaluate",
    "learners",
    "load",
    "pipeline",
    "plots",
    "streams",
]
__all__ += linear.__all__
__all__ += kernel.__all__
__all__ += embedding.__all__
__all__ += local.__all__
__all__ += neural.__all__


def __getattr__(name: str) -> Any:
    """Import the parts that not every program needs when they are first asked for."""
    if name in ("datasets", "evaluate", "plots", "streams"):
        return import_module(f"onepass.{name}")
    raise AttributeError(f"module 'onepass' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
