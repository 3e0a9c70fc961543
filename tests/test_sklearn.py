"""scikit-learn's own checks, on every learner."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import onepass

ONLINE = "a row of weight 2 is one step with twice the loss term, not two steps: the order of the rows matters"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


@parametrize_with_checks(
    [cls() for name, cls in onepass.learners().items() if name != "PAMultilabel"],  # for sets of labels: `test_multilabel.py`
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
