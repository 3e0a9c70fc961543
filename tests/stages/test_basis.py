"""RBFBasis: Gaussian bases at centres that are given, or at the first rows that differ."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import onepass
from onepass import PAClassifier, PARegressor, RBFBasis, StandardScaler, pipeline

N, D = 60, 3
STORAGE = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def problem() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.8)
    X[2] = X[0]
    return X, np.sin(X[:, 0]) + X[:, 1]


def as_dicts(X: Any) -> list[dict[str, float]]:
    return [{f"f{j}": value for j, value in enumerate(x)} for x in X.tolist()]


def bases(X: Any, centres: Any, gamma: float) -> Any:
    return np.exp(-gamma * ((X[:, None] - np.asarray(centres)[None]) ** 2).sum(axis=2))


@STORAGE
def test_given_centres(storage: Any) -> None:
    X, _ = problem()
    centres = np.random.default_rng(1).normal(size=(7, D))
    stage = RBFBasis(centres, gamma=0.6).fit(storage(X))
    expected = bases(X, centres, 0.6)
    np.testing.assert_allclose(stage.transform(storage(X)), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        RBFBasis(centres.tolist(), gamma=0.6).learn_transform(storage(X)), expected, rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(stage.transform_one(X[5]), expected[5], rtol=1e-12)
    np.testing.assert_array_equal(stage.centres_, centres)
    assert stage.t_ == N
    assert stage.get_feature_names_out().tolist() == [f"basis{k}" for k in range(7)]


@STORAGE
def test_the_first_rows_that_differ(storage: Any) -> None:
    """A row is handled with the centres from before it; bases without a centre are 0."""
    X, _ = problem()
    stage = RBFBasis(count=6, gamma=0.6)
    out = stage.learn_transform(storage(X))
    centres = X[[0, 1, 3, 4, 5, 6]]
    np.testing.assert_array_equal(stage.centres_, centres)
    expected = bases(X, centres, 0.6)
    for t, held in enumerate([0, 1, 2, 2, 3, 4, 5]):
        expected[t, held:] = 0
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(stage.transform(storage(X)), bases(X, centres, 0.6), rtol=1e-12, atol=1e-14)


def test_fewer_rows_than_centres() -> None:
    X, _ = problem()
    out = RBFBasis(count=10).fit(X[:4]).transform(X)
    assert out.shape == (N, 10)
    assert (out[:, 3:] == 0).all()
    assert (out[:, :3] > 0).all()


@STORAGE
def test_cuts_do_not_matter(storage: Any) -> None:
    X, _ = problem()
    X = storage(X)
    whole, pieces = RBFBasis(count=9), RBFBasis(count=9)
    expected = whole.learn_transform(X)
    found = [pieces.learn_transform(X[:3]), pieces.learn_transform(X[3:4])]
    pieces.partial_fit(X[4:20])
    pieces.learn_one(X[20] if isinstance(X, np.ndarray) else X[20:21])
    found.append(pieces.learn_transform(X[21:]))
    np.testing.assert_array_equal(np.vstack(found), np.delete(expected, range(4, 21), axis=0))
    np.testing.assert_array_equal(pieces.transform(X), whole.transform(X))
    assert pieces.t_ == whole.t_ == N


def test_single_precision() -> None:
    """Distances are taken in double precision: numbers around 2000 that differ by 1 are not the same."""
    X = (2000 + np.arange(5.0)[:, None]).astype(np.float32)
    out = RBFBasis(count=5, gamma=0.5).fit(X).transform(X)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, bases(X.astype(float), X.astype(float), 0.5), rtol=1e-6)


def test_dicts_and_features_that_come_late() -> None:
    """A centre is 0 in features that came after it, and a feature counts in the distance when it is first seen."""
    stage = RBFBasis(count=3, gamma=0.5)
    stage.learn_one({"a": 1.0})
    stage.learn_one({"a": 1.0, "b": 2.0})
    new = stage.transform_one({"a": 1.0, "c": 3.0})
    assert new == pytest.approx({"basis0": np.exp(-4.5), "basis1": np.exp(-0.5 * 13), "basis2": 0.0})
    assert stage.n_features_in_ == 2
    stage.learn_one({"c": 1.0})
    np.testing.assert_array_equal(stage.centres_, [[1, 0, 0], [1, 2, 0], [0, 0, 1]])
    X, _ = problem()
    np.testing.assert_allclose(
        RBFBasis(count=4).learn_transform(as_dicts(X)), RBFBasis(count=4).learn_transform(X), rtol=1e-12, atol=1e-14
    )
    grown = RBFBasis(count=4, grow=True).fit(X[:, :2])
    np.testing.assert_allclose(grown.transform(X), bases(X, np.pad(X[[0, 1, 3, 4], :2], ((0, 0), (0, 1))), 1.0), rtol=1e-12)


WAYS: dict[str, Any] = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "copy": lambda model, folder: model.copy(),
    "save": lambda model, folder: (model.save(folder / "model"), onepass.load(folder / "model"))[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("centres", [None, [[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]], ids=["found", "given"])
def test_going_on_is_never_having_stopped(way: str, centres: Any, tmp_path: Path) -> None:
    X, y = problem()
    model = pipeline(RBFBasis(centres, count=8), PARegressor()).partial_fit(X[:5], y[:5])
    other = WAYS[way](model, tmp_path)
    np.testing.assert_array_equal(other.test_then_train(X[5:], y[5:]), model.test_then_train(X[5:], y[5:]))
    assert len(model["rbfbasis"].centres_) == (8 if centres is None else 2)


@pytest.mark.parametrize("count", [D, 8], ids=["as many as features", "more"])
@pytest.mark.parametrize("named", [False, True], ids=["arrays", "dicts"])
def test_pipeline_by_every_door(count: int, named: bool) -> None:
    """One by one and as a table, to the bit; also where a row has as many numbers after the stage as before it."""
    X, y = problem()
    rows = as_dicts(X) if named else X
    table, one = (pipeline(RBFBasis(count=count), PARegressor(grow=True)) for _ in range(2))
    scores = table.test_then_train(rows, y)
    for t in range(N):
        if t:
            assert one.predict_one(rows[t]) == pytest.approx(scores[t], rel=1e-12, abs=1e-14)
        one.learn_one(rows[t], y[t])
    np.testing.assert_allclose(one.predict(rows), table.predict(rows), rtol=1e-12)
    expected = PARegressor(grow=True).test_then_train(RBFBasis(count=count).learn_transform(rows), y)
    np.testing.assert_array_equal(scores, expected)


def test_pipeline_of_more_stages() -> None:
    X, y = problem()
    model = pipeline(StandardScaler(), RBFBasis(count=5), PAClassifier()).fit(X, y > 0)
    scaled = StandardScaler().learn_transform(X)
    expected = PAClassifier().fit(RBFBasis(count=5).learn_transform(scaled), y > 0)
    np.testing.assert_array_equal(model.learner.coef_, expected.coef_)
    assert model.learner.n_features_in_ == 5
    assert model.n_features_in_ == D


def test_a_weight_of_zero_makes_no_centre() -> None:
    X, y = problem()
    model = pipeline(RBFBasis(count=4), PARegressor())
    model.partial_fit(X, y, sample_weight=(np.arange(N) >= 10).astype(float))
    np.testing.assert_array_equal(model["rbfbasis"].centres_, X[10:14])


def test_names_of_columns() -> None:
    X, _ = problem()
    frame = pd.DataFrame(X, columns=list("abc"))
    stage = RBFBasis(X[:2]).fit(frame)
    assert stage.feature_names_in_.tolist() == list("abc")
    np.testing.assert_allclose(
        list(stage.transform_one(dict(zip("abc", X[4], strict=True))).values()), stage.transform(frame)[4]
    )


def test_bad_rows_leave_no_trace() -> None:
    X, _ = problem()
    stage = RBFBasis(count=10).fit(X[:5])
    before = stage.centres_, stage.t_
    for value in (np.nan, np.inf, 1e200):
        bad = X.copy()
        bad[-1, 1] = value
        for door in (stage.learn_transform, stage.partial_fit, stage.transform, stage.fit):
            with pytest.raises(ValueError, match=r"NaN|infinity|too large"):
                door(bad)
    with pytest.raises(ValueError, match="features"):
        stage.partial_fit(X[:, :2])
    np.testing.assert_array_equal(stage.centres_, before[0])
    assert stage.t_ == before[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"centres": [1.0, 2.0, 3.0]}, "matrix"),
        ({"centres": np.empty((0, D))}, "matrix"),
        ({"centres": [["a", "b", "c"]]}, "numbers"),
        ({"centres": [[1.0, np.nan, 0.0]]}, "finite"),
        ({"centres": [[1.0, 1e200, 0.0]]}, "finite"),
        ({"centres": np.ones((2, D + 1))}, "features"),
        ({"count": 0}, "count"),
        ({"gamma": 0.0}, "gamma"),
    ],
    ids=str,
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    X, _ = problem()
    stage = RBFBasis(**parameters)
    with pytest.raises(ValueError, match=message):
        stage.fit(X)
    assert stage._state is None


def test_given_centres_and_dicts() -> None:
    stage = RBFBasis([[0.0, 1.0]])
    with pytest.raises(ValueError, match="no names"):
        stage.learn_one({"a": 1.0, "b": 1.0})
    assert stage._state is None
    stage.learn_one(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(stage.transform_one(np.array([0.0, 1.0])), [1.0])


def test_clone_keeps_the_parameters() -> None:
    copied = clone(RBFBasis(np.eye(2), gamma=3.0))
    np.testing.assert_array_equal(copied.centres, np.eye(2))
    assert copied.gamma == 3.0
