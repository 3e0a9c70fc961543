"""scikit-learn's own checks, on every learner."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn import preprocessing
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimators_pickle, parametrize_with_checks

import onepass
from shared import checked, plainest_first, representatives, traits

ONLINE = "a row of weight 2 is one step with twice the loss term, not two steps: the order of the rows matters"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}
EXACT = ("OSELMClassifier", "OSELMRegressor")  # the solution of all rows so far, in any order
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
    **dict.fromkeys(("BOGD", "BSGD", "BudgetPA", "FOGD", "KernelOGD", "KernelPA", "NOGD", "SparsePA"), FAR),
    "HedgeBackprop": HEAVY,
    "LocalPA": FITTED,
    "NHERDClassifier": HEAVY,
    "OSELMClassifier": FITTED,
    "Perceptron": HEAVY,
}


# Sets of labels are for `test_multilabel.py`. Layers are large enough for the checks, and no larger: most of the time would be theirs.
SIZES = {"hidden": 30, "components": 50}
LEARNERS = {
    name: cls(**{size: n for size, n in SIZES.items() if size in cls().get_params()})
    for name, cls in onepass.learners().items()
    if name != "PAMultilabel"
}


def expected_failures(estimator: Any) -> dict[str, str]:
    switches = dict.fromkeys(WEIGHING, SWITCHES) if estimator._weights_are_switches() else {}
    ordered = {} if type(estimator).__name__ in EXACT else EXPECTED_FAILURES
    return ordered | switches | ONLY.get(type(estimator).__name__, {})


@pytest.mark.plain
@parametrize_with_checks([*LEARNERS.values()], expected_failed_checks=expected_failures)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    checked(estimator, check)


@pytest.mark.parametrize("name", representatives({name: traits(LEARNERS[name]) for name in plainest_first(LEARNERS)}))
def test_a_pickle_whose_arrays_are_memory_mapped(name: str) -> None:
    check_estimators_pickle(name, LEARNERS[name], readonly_memmap=True)


@pytest.mark.plain
def test_in_a_pipeline_of_scikit_learn() -> None:
    """Behind a scaler of scikit-learn or of ours: what the steps do by hand."""
    X, y = make_classification(120, 5, random_state=0)
    scaler = preprocessing.StandardScaler().fit(X[:80])
    expected = onepass.PAClassifier().fit(scaler.transform(X[:80]), y[:80])
    model = make_pipeline(preprocessing.StandardScaler(), onepass.PAClassifier()).fit(X[:80], y[:80])
    model[-1].partial_fit(model[:-1].transform(X[80:]), y[80:])
    expected.partial_fit(scaler.transform(X[80:]), y[80:])
    assert model.decision_function(X).tolist() == expected.decision_function(scaler.transform(X)).tolist()
    assert model.predict(X).tolist() == expected.predict(scaler.transform(X)).tolist()
    ours = onepass.StandardScaler()
    model = make_pipeline(onepass.StandardScaler(), onepass.PAClassifier()).fit(X, y)
    expected = onepass.PAClassifier().fit(ours.fit_transform(X), y)
    assert model.decision_function(X).tolist() == expected.decision_function(ours.transform(X)).tolist()
