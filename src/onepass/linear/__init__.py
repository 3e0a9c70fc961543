"""Linear learners."""

from onepass.linear.passive_aggressive import PAClassifier, PARegressor
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
    "AROWClassifier",
    "AROWRegressor",
    "CWClassifier",
    "IELLIPClassifier",
    "NAROWClassifier",
    "NHERDClassifier",
    "PAClassifier",
    "PARegressor",
    "SCWClassifier",
    "SecondOrderPerceptron",
]
