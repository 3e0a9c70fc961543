"""Targets that are scaled along the way: the learner learns other numbers, and says what it thinks in the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes

import onepass
from onepass import OGDRegressor, PAMORegressor, PARegressor, StandardScaler, pipeline
from onepass.base import Regressor

pytestmark = pytest.mark.plain

N, D = 80, 4
REGRESSORS = [name for name, cls in onepass.learners().items() if issubclass(cls, Regressor)]
LINEAR = ["PARegressor", "OGDRegressor", "AdalineRegressor", "AROWRegressor"]
EXACT = {"AROWRegressor", "OSELMRegressor"}  # least squares over all targets, as they are
COMMITTEES = {"AutoRegressor", "CommitteeRegressor"}  # whose members see to it
STORAGE = {"dense": np.asarray, "csr": sp.csr_array}
# One of each kind of average: there is more to compile than to run.
COMPILED = [("PARegressor", True, "csr"), ("PAMORegressor", True, "dense")]
every_regressor = pytest.mark.parametrize("name", REGRESSORS)


def made(name: str, **parameters: Any) -> Any:
    own = {"dimensions": 6, "hidden": 5, "random_state": 3}
    cls = onepass.learners()[name]
    return cls(**{key: value for key, value in own.items() if key in cls().get_params()}, **parameters)


def data(n: int = N) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.7)
    return X, 2e5 + 1e5 * (X @ [1.0, -0.5, 0.3, 0.0]) + 3e4 * rng.normal(size=n)


def units(y: Any, weights: Any, centred: bool) -> tuple[float, float]:
    """The mean and the deviation of some targets, by their definitions."""
    if not weights.any():
        return 0.0, 0.0
    mean = float(np.average(y, weights=weights)) if centred else 0.0
    return mean, float(np.sqrt(np.average((y - mean) ** 2, weights=weights)))


@pytest.mark.parametrize(
    ("name", "average", "storage"),
    [
        pytest.param(name, average, storage, marks=[pytest.mark.compiled] if (name, average, storage) in COMPILED else [])
        for name in REGRESSORS
        for average in (None, True)
        for storage in STORAGE
    ],
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_is_the_learner_of_scaled_targets(name: str, average: Any, storage: str, fit_intercept: bool) -> None:
    """The same learner without the option is taught z = (y - mean)/deviation, of all targets up to and with that of the row."""
    X, y = data()
    rows, centred = STORAGE[storage](X), fit_intercept or name not in LINEAR
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=N)
    model, plain = (made(name, fit_intercept=fit_intercept, average=average, scale_target=on) for on in (True, False))
    scores = model.test_then_train(rows, y, sample_weight=weights)
    before = [units(y[:t], weights[:t], centred) for t in range(N + 1)]
    z = np.array([(y[t] - mean) / (unit or 1) if weights[t] else 0 for t, (mean, unit) in enumerate(before[1:])])
    plain_scores = plain.test_then_train(rows, z, sample_weight=weights)
    expected = [mean + unit * score for (mean, unit), score in zip(before[:-1], plain_scores, strict=True)]
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    mean, unit = before[-1]
    np.testing.assert_allclose(model.predict(rows), mean + unit * plain.predict(rows), rtol=1e-9)
    np.testing.assert_allclose([model.target_mean_, model.target_scale_], [mean, unit], rtol=1e-12)
    assert (plain.target_mean_, plain.target_scale_) == (0.0, 1.0)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("average", [None, True], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_can_be_read_in_the_units_of_the_targets(name: str, average: Any, fit_intercept: bool) -> None:
    X, y = data()
    model = made(name, average=average, fit_intercept=fit_intercept, scale_target=True).fit(X, y)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-9)
    assert fit_intercept or not model.intercept_.any()


def test_coefficients_of_support_vectors_can_be_read_in_the_units_of_the_targets() -> None:
    X, y = data()
    model = made("KernelPARegressor", kernel="linear").fit(X, y)
    f = model.dual_coef_ @ model.support_vectors_ @ X.T
    np.testing.assert_allclose(model.target_mean_ + f[0], model.predict(X), rtol=1e-9)


@every_regressor
def test_it_is_on_where_steps_have_a_length_of_their_own(name: str) -> None:
    assert made(name).scale_target == (name not in EXACT | COMMITTEES)


@pytest.mark.parametrize("name", sorted(set(REGRESSORS) - EXACT))
@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
def test_the_unit_of_the_targets_does_not_matter(name: str, factor: float) -> None:
    """Powers of two: to the bit."""
    X, y = data()
    np.testing.assert_array_equal(made(name).test_then_train(X, factor * y), factor * made(name).test_then_train(X, y))


@pytest.mark.parametrize(
    ("name", "average"),
    [
        pytest.param(name, average, marks=[pytest.mark.compiled] if name == "PARegressor" else [])
        for name in REGRESSORS
        for average in (None, True)
    ],
)
def test_all_ways_in_give_the_same_bits(name: str, average: Any, tmp_path: Path) -> None:
    X, y = data()
    whole = made(name, average=average, scale_target=True)
    scores = whole.test_then_train(X, y)
    pieces, one = (made(name, average=average, scale_target=True) for _ in range(2))
    in_turn = []
    for t in range(N):
        in_turn.append(one.predict_one(X[t]))
        one.learn_one(X[t], float(y[t]))
    for part in np.split(np.arange(N), [1, 2, 30]):
        pieces.partial_fit(X[part], y[part])
        pieces.save(tmp_path / "model")
        pieces = onepass.load(tmp_path / "model")
    np.testing.assert_array_equal(scores, in_turn)
    for other in (pieces, one):
        for field, array in whole._state.arrays.items():
            np.testing.assert_array_equal(other._state.arrays[field], array, err_msg=field)
        np.testing.assert_array_equal(other.predict(X), whole.predict(X))


@every_regressor
def test_at_first_nothing_is_known_and_then_one_target(name: str) -> None:
    X, y = data(3)
    model = made(name, scale_target=True)
    assert model.predict_one(X[0]) == 0
    scores = model.test_then_train(X, y)
    assert scores[0] == 0
    assert scores[1] == y[0]
    constant = made(name, scale_target=True)
    assert set(constant.test_then_train(np.tile(X, (5, 1)), np.full(15, 7.5))[1:]) == {7.5}


@every_regressor
def test_targets_that_are_too_large_change_nothing(name: str) -> None:
    X, y = data(10)
    model = made(name, scale_target=True).partial_fit(X, y)
    before = {field: array.copy() for field, array in model._state.arrays.items()}
    with pytest.raises(onepass.DivergedError, match="row 1"):
        model.partial_fit(X, np.where(np.arange(10) == 1, 1e200, y))
    for field, array in before.items():
        np.testing.assert_array_equal(model._state.arrays[field], array)


def test_single_precision_scales_in_double() -> None:
    X, y = data()
    wide, narrow = PARegressor(C=0.1).fit(X, y), PARegressor(C=0.1).fit(X.astype(np.float32), y.astype(np.float32))
    assert narrow.predict(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(narrow.predict(X.astype(np.float32)), wide.predict(X), rtol=1e-4)
    assert narrow.target_mean_ == pytest.approx(wide.target_mean_, rel=1e-7)


def test_the_option_can_not_change_once_learning_has_begun() -> None:
    X, y = data()
    model = PARegressor().partial_fit(X, y).set_params(scale_target=False)
    with pytest.raises(ValueError, match="`scale_target`"):
        model.partial_fit(X, y)


def test_files_from_before_the_option_are_those_of_plain_targets(tmp_path: Path) -> None:
    X, y = data()
    model = PARegressor(scale_target=False).fit(X, y)
    header, arrays = model._pack()
    del header["parameters"]["scale_target"]
    again = PARegressor._unpack(header, arrays)
    assert again.scale_target is False
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "least"),
    [(OGDRegressor(), 0.4), (PAMORegressor(random_state=0), 0.25), (PARegressor(average=True), 0.25)],
    ids=str,
)
def test_defaults_learn_something_of_diabetes(model: Any, least: float) -> None:
    """Its targets are from 25 to 346. One pass, each row predicted before it is learned from; the mean of all targets has 0."""
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    scores = pipeline(StandardScaler(), model).test_then_train(X[order], y[order])
    assert 1 - ((scores - y[order]) ** 2).sum() / ((y - y.mean()) ** 2).sum() > least


# --- what to do when numbers leave the range ---


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (OGDRegressor(rate=1e9, adagrad=False, power=0.0), "or use a smaller rate."),
        (made("AdalineRegressor", rate=1e9), "or use a smaller rate."),
        (made("AdalineRegressor", rate=1e9, scale_target=False), "a smaller rate. Large targets need scale_target=True."),
    ],
    ids=str,
)
def test_advice_names_what_the_learner_has(model: Any, advice: str) -> None:
    X, y = data()
    with pytest.raises(onepass.DivergedError, match=advice):
        model.fit(X, y)


def test_advice_names_nothing_that_has_no_effect() -> None:
    assert onepass.PAClassifier()._remedy() == "Scale the features, or use a smaller C."
    assert onepass.PAClassifier(variant="hard")._remedy() == "Scale the features."
    assert onepass.SCWClassifier()._remedy() == "Scale the features, or use a smaller C and a smaller confidence."
    assert onepass.AROWClassifier()._remedy() == "Scale the features, or use a larger r."
    assert onepass.KernelPerceptron()._remedy() == "Scale the features."  # gamma makes no step shorter
