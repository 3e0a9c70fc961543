"""Evaluation of learners on streams: every example is predicted first and learned from afterwards."""

from __future__ import annotations

from onepass.evaluate.comparison import Comparison, compare
from onepass.evaluate.description import Description, describe
from onepass.evaluate.drift import ADWIN, ErrorWindow, PageHinkley
from onepass.evaluate.online import Prequential, prequential
from onepass.evaluate.regret import Regret, regret
from onepass.evaluate.tally import Curve
from onepass.evaluate.trace import Step, trace
from onepass.evaluate.tuning import Candidate, Tuning, standard_grid, tune

__all__ = [
    "ADWIN",
    "Candidate",
    "Comparison",
    "Curve",
    "Description",
    "ErrorWindow",
    "PageHinkley",
    "Prequential",
    "Regret",
    "Step",
    "Tuning",
    "compare",
    "describe",
    "prequential",
    "regret",
    "standard_grid",
    "trace",
    "tune",
]
