"""Errors of our own."""

from __future__ import annotations


class DivergedError(FloatingPointError):
    """The weights have grown beyond what floating point can hold, though the data is finite."""


class ModelFileError(ValueError):
    """The file is not a model that this version of onepass can read."""
