"""Networks that learn online."""

from onepass.neural.elm import OSELMClassifier, OSELMRegressor
from onepass.neural.hedge import HedgeBackprop
from onepass.neural.mlp import OnlineMLPClassifier, OnlineMLPRegressor

__all__ = ["HedgeBackprop", "OSELMClassifier", "OSELMRegressor", "OnlineMLPClassifier", "OnlineMLPRegressor"]
