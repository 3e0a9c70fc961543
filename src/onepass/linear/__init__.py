"""Linear learners."""

from onepass.linear.adaline import Adaline, AdalineRegressor
from onepass.linear.alma import ALMA
from onepass.linear.arow import AROWClassifier, AROWRegressor
from onepass.linear.confidence_weighted import CWClassifier, SCWClassifier
from onepass.linear.gradient import OGDClassifier, OGDRegressor
from onepass.linear.iellip import IELLIPClassifier
from onepass.linear.mira import MIRA
from onepass.linear.multilabel import PAMultilabel
from onepass.linear.narow import NAROWClassifier
from onepass.linear.nherd import NHERDClassifier
from onepass.linear.passive_aggressive import PAClassifier, PARegressor
from onepass.linear.perceptron import Perceptron
from onepass.linear.prank import PRank
from onepass.linear.romma import ROMMA
from onepass.linear.second_order_perceptron import SecondOrderPerceptron
from onepass.linear.shifting import ShiftingPerceptron
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
    "PRank",
    "Perceptron",
    "SCWClassifier",
    "SecondOrderPerceptron",
    "ShiftingPerceptron",
]
