"""Networks that learn online."""

from onepass.neural.elm import OSELMClassifier, OSELMRegressor

__all__ = ["OSELMClassifier", "OSELMRegressor"]
