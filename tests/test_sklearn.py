"""scikit-learn's own checks, on every learner."""

from __future__ import annotations

from typing import Any

import pytest
from numba.core import config
from sklearn.utils.estimator_checks import parametrize_with_checks

import onepass

pytestmark = pytest.mark.plain

ONLINE = "a row of weight 2 is one step with twice the loss term, not two steps: the order of the rows matters"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}
# Rules without a loss to weigh take the weights 0 and 1 only, and say so.
SWITCHES = "the rule has no loss term to weigh: weights may only be 0 or 1"
WEIGHING = (
    "check_sample_weights_list",
    "check_sample_weights_not_overwritten",
    "check_class_weight_classifiers",
)
# Least mean squares with a fixed rate: features around 100 need a rate below 2 / |x|^2, and the learners say that they diverge.
UNSCALED = "steps above 2 / |x|^2 times the error make it grow, and the features of this check are around 100"
GROWING = dict.fromkeys(("check_fit_idempotent", "check_n_features_in", "check_fit_check_is_fitted"), UNSCALED)

# One class weighs ten million times as much as the other: the last rows of one pass decide for rules with steps of a fixed length, and
# a herd that is certain after its first heavy row hardly moves again.
HEAVY = {"check_class_weight_classifiers": "of one pass, with a weight of 1000 on one class and 0.0001 on the other"}

# As many prototypes or hidden units as there are rows: a thousand passes fit each of them, whatever its weight.
FITTED = {"check_class_weight_classifiers": "of 1000 passes over 50 rows, which the model can fit one by one"}
# Rows are some ten widths of the kernel away from each other, and the score of a new one is nothing but the noise of the features.
FAR = {"check_class_weight_classifiers": "of features around 20, where one row says nothing of another"}

ONLY = {
    "Adaline": GROWING | HEAVY,
    "AdalineRegressor": GROWING,
    "OGDRegressor": GROWING,
    **dict.fromkeys(("BOGD", "BSGD", "BudgetPA", "FOGD", "KernelOGD", "KernelPA", "NOGD", "SparsePA"), FAR),
    "LocalPA": FITTED,
    "NHERDClassifier": HEAVY,
    "OSELMClassifier": FITTED,
    "Perceptron": HEAVY,
}


THOUSAND_PASSES = {"check_class_weight_classifiers"}


def expected_failures(estimator: Any) -> dict[str, str]:
    switches = dict.fromkeys(WEIGHING, SWITCHES) if estimator._weights_are_switches() else {}
    return EXPECTED_FAILURES | switches | ONLY.get(type(estimator).__name__, {})


@parametrize_with_checks(
    [cls() for name, cls in onepass.learners().items() if name != "PAMultilabel"],  # for sets of labels: `test_multilabel.py`
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    if config.DISABLE_JIT and check.func.__name__ in THOUSAND_PASSES:
        pytest.skip("a thousand passes take too long without the compiler; `make test-slow` compiles it")
    check(estimator)
