"""Evaluation of learners on streams: every example is predicted first and learned from afterwards."""

from __future__ import annotations

from onepass.evaluate.comparison import Comparison, compare
from onepass.evaluate.online import Prequential, prequential
from onepass.evaluate.tally import Curve

__all__ = ["Comparison", "Curve", "Prequential", "compare", "prequential"]
