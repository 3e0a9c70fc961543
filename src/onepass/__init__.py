"""onepass: online learning at the speed of the memory bus.

Every example is predicted first, learned from once, and let go.
"""

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
    "learners",
    "load",
    "pipeline",
]
