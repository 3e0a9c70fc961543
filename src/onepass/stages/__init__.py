"""Stages that come before a learner, and pipelines of them."""

from onepass.stages.basis import RBFBasis
from onepass.stages.hashing import Hasher
from onepass.stages.pipeline import Pipeline, pipeline
from onepass.stages.scaling import StandardScaler, UnitNorm

__all__ = ["Hasher", "Pipeline", "RBFBasis", "StandardScaler", "UnitNorm", "pipeline"]
