"""Plots in the shape of scikit-learn's displays. They need matplotlib: pip install "onepass[plot]"."""

from __future__ import annotations

from onepass.plots.boundary import DecisionBoundaryDisplay
from onepass.plots.curves import LearningCurveDisplay

__all__ = ["DecisionBoundaryDisplay", "LearningCurveDisplay"]
