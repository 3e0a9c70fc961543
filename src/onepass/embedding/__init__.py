"""Learned nonlinear embeddings."""

from onepass.embedding.pamo import PAMOClassifier, PAMORegressor

__all__ = ["PAMOClassifier", "PAMORegressor"]
