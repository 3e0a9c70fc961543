"""Learning with few labels."""

from onepass.active.selective import ActiveLearner

__all__ = ["ActiveLearner"]
