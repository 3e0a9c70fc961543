"""Stages that come before a learner, and pipelines of them."""

from onepass.stages.basis import RBFBasis
from onepass.stages.foreign import Foreign
from onepass.stages.graphs import RandomWalks, ShortestPaths, WeisfeilerLehman
from onepass.stages.hashing import Hasher
from onepass.stages.missing import Imputer
from onepass.stages.onehot import OneHot
from onepass.stages.pipeline import Pipeline, pipeline
from onepass.stages.scaling import StandardScaler, UnitNorm
from onepass.stages.strings import Spectrum, Subsequences
from onepass.stages.table import Table
from onepass.stages.text import Text
from onepass.stages.trees import PartialTrees, SubsetTrees, Subtrees

__all__ = [
    "Foreign",
    "Hasher",
    "Imputer",
    "OneHot",
    "PartialTrees",
    "Pipeline",
    "RBFBasis",
    "RandomWalks",
    "ShortestPaths",
    "Spectrum",
    "StandardScaler",
    "Subsequences",
    "SubsetTrees",
    "Subtrees",
    "Table",
    "Text",
    "UnitNorm",
    "WeisfeilerLehman",
    "pipeline",
]
