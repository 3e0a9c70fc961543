"""Linear learners."""

from onepass.linear.gradient import Adaline, AdalineRegressor, OGDClassifier, OGDRegressor
from onepass.linear.margin import ALMA, MIRA, ROMMA
from onepass.linear.passive_aggressive import PAClassifier, PARegressor
from onepass.linear.perceptron import Perceptron, ShiftingPerceptron
from onepass.linear.second_order import (
    AROWClassifier,
    AROWRegressor,
    CWClassifier,
    IELLIPClassifier,
    NAROWClassifier,
    NHERDClassifier,
    SCWClassifier,
    SecondOrderPerceptron,
)

__all__ = [
    "ALMA",
    "AROWClassifier",
    "AROWRegressor",
    "Adaline",
    "AdalineRegressor",
    "CWClassifier",
    "IELLIPClassifier",
    "MIRA",
    "NAROWClassifier",
    "NHERDClassifier",
    "OGDClassifier",
    "OGDRegressor",
    "PAClassifier",
    "PARegressor",
    "Perceptron",
    "ROMMA",
    "SCWClassifier",
    "SecondOrderPerceptron",
    "ShiftingPerceptron",
]
