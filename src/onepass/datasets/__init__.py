"""Data to learn from: generators of streams, and real data sets by name."""

from __future__ import annotations

from onepass.datasets.generators import circles, hyperplane, rotating_xor, sea
from onepass.datasets.loading import Dataset, load, names

__all__ = ["Dataset", "circles", "hyperplane", "load", "names", "rotating_xor", "sea"]
