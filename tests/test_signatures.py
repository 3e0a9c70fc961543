"""Parameters that may be given by position, in the order that users were told."""

from __future__ import annotations

import inspect

import pytest

import onepass

ORDER = {
    "Perceptron": "margin rate shrink mode pocket multiclass",
    "ShiftingPerceptron": "lam",
    "Adaline": "rate mode",
    "AdalineRegressor": "rate mode",
    "OGDClassifier": "loss rate power",
    "OGDRegressor": "loss rate power epsilon",
    "ROMMA": "aggressive",
    "ALMA": "alpha p C",
    "MIRA": "",
    "PAClassifier": "C variant costs update",
    "PARegressor": "C variant epsilon",
    "PAMultilabel": "C variant",
    "PAUniclass": "C variant epsilon learn_radius",
    "SecondOrderPerceptron": "a correlate",
    "CWClassifier": "confidence form",
    "AROWClassifier": "r",
    "AROWRegressor": "r",
    "SCWClassifier": "variant C confidence",
    "NHERDClassifier": "C",
    "NAROWClassifier": "b",
    "IELLIPClassifier": "b c",
    "KernelPerceptron": "",
    "KernelPA": "C variant",
    "KernelPARegressor": "C variant epsilon",
    "KernelOGD": "rate lam",
    "SparsePA": "C alpha beta",
    "Forgetron": "budget",
    "Projectron": "threshold plus budget",
    "BudgetPA": "C strategy budget",
    "BOGD": "rate lam sampling budget limit",
    "BSGD": "lam maintenance budget",
    "NOGD": "rate budget rank",
    "PAMOClassifier": "dimensions hyperplanes C C_r alpha epsilon variant select",
    "PAMORegressor": "dimensions hyperplanes C C_r alpha epsilon variant select",
    "FOGD": "components rate gamma",
    "LocalPA": "prototypes C shared lam",
    "OSELMClassifier": "hidden activation ridge",
    "OSELMRegressor": "hidden activation ridge",
}


def test_every_learner_is_listed() -> None:
    assert set(ORDER) == set(onepass.learners())


@pytest.mark.parametrize("name", ORDER)
def test_order(name: str) -> None:
    parameters = inspect.signature(onepass.learners()[name]).parameters.values()
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == ORDER[name].split()
    assert all(p.default is not p.empty for p in parameters)
