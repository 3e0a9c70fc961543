"""onepass: online learning at the speed of the memory bus."""

from onepass.linear import PAClassifier, PARegressor
__version__ = "0.1.0"
