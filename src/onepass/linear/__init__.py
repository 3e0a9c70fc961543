"""Linear learners."""

from onepass.linear.passive_aggressive import PAClassifier, PARegressor

__all__ = ["PAClassifier", "PARegressor"]
