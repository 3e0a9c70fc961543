"""onepass: online learning at the speed of the memory bus.

Every example is predicted first, learned from once, and let go.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onepass import datasets, evaluate, plots, streams
    from onepass.base import DivergedError, ModelFileError
    from onepass.embedding import PAMOClassifier, PAMORegressor
    from onepass.linear import PAClassifier, PARegressor
    from onepass.registry import learners, load
    from onepass.stages import Hasher, StandardScaler, UnitNorm, pipeline

__version__ = "0.1.0"

__all__ = [
    "DivergedError",
    "Hasher",
    "ModelFileError",
    "PAClassifier",
    "PAMOClassifier",
    "PAMORegressor",
    "PARegressor",
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

_HOMES = {
    "onepass.base": ("DivergedError", "ModelFileError"),
    "onepass.embedding": ("PAMOClassifier", "PAMORegressor"),
    "onepass.linear": ("PAClassifier", "PARegressor"),
    "onepass.registry": ("learners", "load"),
    "onepass.stages": ("Hasher", "StandardScaler", "UnitNorm", "pipeline"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: scikit-learn and Numba take a second, which `onepass --help` need not."""
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in __all__:
        value = import_module(f"onepass.{name}")
    else:
        raise AttributeError(f"module 'onepass' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
