"""Networks that learn online."""

from onepass.neural.elm import OSELMClassifier, OSELMRegressor
from onepass.neural.mlp import OnlineMLPClassifier, OnlineMLPRegressor

__all__ = ["OSELMClassifier", "OSELMRegressor", "OnlineMLPClassifier", "OnlineMLPRegressor"]
