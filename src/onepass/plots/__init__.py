"""Plots in the style of scikit-learn's displays. They need matplotlib: pip install "onepass[plot]"."""

from __future__ import annotations

from onepass.plots.boundary import DecisionBoundaryDisplay, draw_boundaries
from onepass.plots.curves import LearningCurveDisplay
from onepass.plots.shares import SharesDisplay
from onepass.plots.trees import draw_tree

__all__ = ["DecisionBoundaryDisplay", "LearningCurveDisplay", "SharesDisplay", "draw_boundaries", "draw_tree"]
