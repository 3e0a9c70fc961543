"""Local models: many small linear ones, each for a part of the space."""

from onepass.local.prototypes import LocalPA

__all__ = ["LocalPA"]
