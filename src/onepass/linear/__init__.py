"""Linear learners."""

from onepass.linear.gradient import Adaline, AdalineRegressor, OGDClassifier, OGDRegressor
from onepass.linear.margin import ALMA, MIRA, ROMMA
from onepass.linear.multilabel import PAMultilabel
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
from onepass.linear.uniclass import PAUniclass

__all__ = [
    "ALMA",
    "MIRA",
    "ROMMA",
    "AROWClassifier",
    "AROWRegressor",
    "Adaline",
    "AdalineRegressor",
    "CWClassifier",
    "IELLIPClassifier",
    "NAROWClassifier",
    "NHERDClassifier",
    "OGDClassifier",
    "OGDRegressor",
    "PAClassifier",
    "PAMultilabel",
    "PARegressor",
    "PAUniclass",
    "Perceptron",
    "SCWClassifier",
    "SecondOrderPerceptron",
    "ShiftingPerceptron",
]
