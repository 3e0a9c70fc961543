"""Sequences of calls that once broke something: each was found by hunting for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import onepass
from onepass import PAClassifier, PAMOClassifier, PARegressor, StandardScaler, UnitNorm, pipeline

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5))
Y = np.arange(40) % 2


def taught_on(names: str, *steps: Any) -> Any:
    model = pipeline(*steps)
    for i in range(6):
        model.learn_one({name: float(i - 2 + j) for j, name in enumerate(names)}, "xy"[i % 2])
    return model


def test_a_row_of_weight_zero_brings_no_feature_to_a_pipeline() -> None:
    model = taught_on("a", StandardScaler(), PAClassifier())
    wide = {f"f{j}": 1.0 for j in range(40)}
    model.learn_one(wide, "x", w=0)
    assert model.n_features_in_ == model.learner.n_features_in_ == 1
    for i in range(6):
        model.learn_one(wide, "xy"[i % 2])
    assert model.n_features_in_ == model.learner.n_features_in_ == 41


def test_steps_of_different_widths_are_refused_by_every_door() -> None:
    model = pipeline(StandardScaler().fit(X), PAClassifier().fit(X[:, :3], Y))
    for door in (lambda: model.predict(X), lambda: model.predict_one(X[0]), lambda: model.learn_one(X[0], 1)):
        with pytest.raises(ValueError, match="expecting 3 features"):
            door()


def test_a_pipeline_from_a_memory_map_learns(tmp_path: Path) -> None:
    model = pipeline(StandardScaler(), PAClassifier()).fit(X, Y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    mapped.learn_one(X[0], 1)
    model.learn_one(X[0], 1)
    np.testing.assert_array_equal(mapped.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("damage", ["short data", "negative start", "long end"])
def test_parts_of_csr_that_do_not_fit(damage: str) -> None:
    data = sp.csr_matrix(np.ones((200, 20)))
    if damage == "short data":
        data.data = data.data[:5].copy()
    elif damage == "negative start":
        data.indptr[0] = -(10**8)
    else:
        data.indptr[-1] = 10**8
    with pytest.raises(ValueError, match=r"not a valid CSR|index|indptr"):
        PARegressor().partial_fit(data, np.ones(200))
    with pytest.raises(ValueError, match="2D"):
        PAClassifier(classes=[0, 1]).partial_fit(sp.csr_array(np.ones(3)), [1])


def test_a_model_that_has_seen_only_weight_zero() -> None:
    model = PAClassifier()
    model.learn_one({"a": 1.0}, "x", w=0)
    assert model.predict_one({"a": 1.0}) is None
    with pytest.raises(NotFittedError):
        model.predict([{"a": 1.0}])


def test_a_number_in_a_text_is_text_through_every_door() -> None:
    examples = [{"a": 1.0}, {"a": 2.0}, {"a": 3.0}, {"a": 4.0}, {"a": "1.5"}]
    one, many = PARegressor(), PARegressor()
    for x, y in zip(examples, range(5), strict=True):
        one.learn_one(x, y)
    many.partial_fit(examples, range(5))
    assert one.feature_names_in_.tolist() == many.feature_names_in_.tolist() == ["a", "a=1.5"]
    assert one.predict_one({"a": "2.5"}) == one.predict([{"a": "2.5"}])[0]
    model = taught_on("a", StandardScaler(), PAClassifier())
    model.learn_one({"a": "red"}, "x")
    assert model.feature_names_in_.tolist() == ["a", "a=red"]


def test_columns_do_not_join_features_with_names() -> None:
    model = PARegressor()
    model.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(ValueError, match="expecting 1 features"), pytest.warns(UserWarning, match="feature names"):
        model.partial_fit(np.ones((1, 5)), [9.0])


def test_divergence_in_the_middle_leaves_no_trace() -> None:
    data = sp.csr_matrix((np.ones(3), ([0, 1, 2], [0, 0, 0])), shape=(3, 1000))
    model = PARegressor(variant="hard").partial_fit(data, [1.0, 1.0, 1.0])
    before = model.coef_
    with pytest.raises(onepass.DivergedError):
        model.partial_fit(data, [2.0, 1e200, 3.0])
    assert model.t_ == 3
    np.testing.assert_array_equal(model.coef_, before)


def test_all_stages_of_a_pipeline_grow_with_its_dicts() -> None:
    model = pipeline(StandardScaler(), UnitNorm(), PAClassifier())
    model.partial_fit([{"a": 1.0}, {"a": 2.0}], ["x", "y"])
    model.partial_fit([{"b": 1.0}], ["x"])
    model.learn_one({"c": 1.0}, "x")
    assert model.n_features_in_ == model.learner.n_features_in_ == 3


@pytest.mark.plain
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param((UnitNorm(), PAClassifier()), marks=pytest.mark.compiled),
        (StandardScaler(), PAMOClassifier(8, random_state=0)),
    ],
    ids=str,
)
def test_a_new_feature_counts_in_a_pipeline_as_it_will_when_learned(steps: Any) -> None:
    model = taught_on("ab", *(step.copy() for step in steps))
    x = [{"a": 1.0, "n": 5.0}]
    np.testing.assert_array_equal(model.decision_function(x), model.copy().test_then_train(x, ["x"]))


def test_truth_of_numpy_is_truth() -> None:
    expected, model = PAClassifier(average=True).fit(X, Y), PAClassifier(average=np.True_).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_weights_of_a_pipeline_are_checked_first() -> None:
    model = pipeline(StandardScaler(), PAClassifier())
    assert model.fit(X, Y, sample_weight=1.0).t_ == 40
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, Y, sample_weight=[1.0])


def test_a_file_that_could_not_be_loaded_is_not_written(tmp_path: Path) -> None:
    model = PAClassifier().fit(X, Y)
    model.save(tmp_path / "model")
    model.set_params(average=True)
    with pytest.raises(ValueError, match="start anew"):
        model.save(tmp_path / "model")
    onepass.load(tmp_path / "model").predict(X)


def test_declared_labels_are_taken_as_they_are() -> None:
    assert PAClassifier(classes=[0.5, 1.5]).partial_fit(X[:2], [0.5, 1.5]).classes_.tolist() == [0.5, 1.5]
    assert PAClassifier(class_weight={0: np.int64(2), 1: np.float32(1)}).fit(X, Y).t_ == 40


def test_numbers_beyond_all_floats() -> None:
    model, regressor = PAClassifier(), PARegressor()
    for i in range(4):
        model.learn_one({"a": 1.0}, i % 2)
        regressor.learn_one({"a": 1.0}, float(i))
    with pytest.raises(ValueError, match="too large"):
        model.learn_one({"a": 10**400}, 1)
    with pytest.raises(ValueError, match="too large"):
        regressor.learn_one({"a": 1.0}, 10**400)
