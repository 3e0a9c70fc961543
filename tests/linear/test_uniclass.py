"""PAUniclass: its plain twin, the problem that a step solves, and the promises of every learner, for one class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_outlier_detector
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import naive
import onepass
from onepass import PAUniclass, StandardScaler, UnitNorm, pipeline
from optimum import check_step
from shared import checked
from test_contract import WAYS, snapshot

pytestmark = pytest.mark.plain

N, D = 60, 5
VARIANTS = ["hard", "I", "II"]
AVERAGES = [None, True, "uniform", 20.0]
RADII: dict[str, dict[str, Any]] = {
    "fixed": {"epsilon": 1.0},
    "learned": {"epsilon": 2.0, "learn_radius": True},
    "followed": {},
}
every_average = pytest.mark.parametrize("average", [None, True], ids=str)
every_radius = pytest.mark.parametrize("radius", RADII)
both_storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def data(n: int = N, seed: int = 0, d: int = D) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) + 1.0) * (rng.random((n, d)) < 0.7)


def as_dicts(X: Any) -> list[dict[str, float]]:
    return [{f"f{j}": value for j, value in enumerate(row) if value != 0} for row in X.tolist()]


# --- the plain twin, with the paper's extra coordinate at the end ---


class Twin:
    """w += tau (x - w)/|x - w|, in d + 1 dimensions; a fixed radius starts the extra coordinate at 0.

    Without an epsilon the first example is the centre, and the radius 1.5 times the root mean square of the distances since.
    """

    def __init__(self, C: float, variant: str, epsilon: float | None = None, learn_radius: bool = False) -> None:
        self.given, self.C, self.variant = epsilon, C, variant
        self.h = epsilon if learn_radius else 0.0
        self.distances: list[float] = []
        self.weights: list[float] = []

    def start(self, d: int) -> Any:
        return {"w": np.append(np.zeros(d), self.h)}

    def bound(self) -> float:
        if self.given is not None:
            return self.given
        return 1.5 * float(np.sqrt(np.average(np.square(self.distances), weights=self.weights))) if self.distances else 0.0

    def radius(self, m: Any) -> float:
        return float(np.sqrt(self.bound() ** 2 - m["w"][-1] ** 2))

    def score(self, m: Any, x: Any) -> Any:
        return self.radius(m) - np.linalg.norm(m["w"][:-1] - x[1:])

    def learn(self, m: Any, x: Any, y: Any, weight: float) -> Any:
        w, x = m["w"], np.append(x[1:], 0.0)
        first = self.given is None and not self.distances
        distance = 0.0 if first else float(np.linalg.norm(w - x))
        loss, C = max(0.0, distance - self.bound()), weight * self.C
        self.distances.append(distance)
        self.weights.append(weight)
        tau = {"hard": loss, "I": min(C, loss), "II": loss / (1 + 1 / (2 * C))}[self.variant]
        if first:
            return {"w": x}
        return {"w": w + tau * (x - w) / distance if loss > 0 else w}


@pytest.mark.compiled
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("average", AVERAGES, ids=str)
@every_radius
@both_storages
def test_kernel_is_its_twin(variant: str, average: Any, radius: str, storage: Any) -> None:
    X = data(150)
    weights = np.ones(150) if variant == "hard" else np.random.default_rng(1).choice([0.0, 0.3, 1.0, 2.0], size=150)
    twin = Twin(**RADII[radius], C=0.2, variant=variant)
    model = PAUniclass(0.2, variant, **RADII[radius], average=average)
    scores = model.test_then_train(storage(X), sample_weight=weights)
    watch = naive.averages(average, 16) if average else None
    expected, _, final = naive.run(twin, twin.start(D), X, np.zeros(150), weights, False, watch)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.center_, final["w"][:-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.radius_, twin.radius(final), rtol=1e-9, atol=1e-9)
    assert model.updates_ > (2 if radius == "followed" else 15)


@every_radius
@both_storages
def test_single_precision(radius: str, storage: Any) -> None:
    X = data(150).astype(np.float32)
    twin = Twin(**RADII[radius], C=0.2, variant="I")
    model = PAUniclass(0.2, **RADII[radius])
    scores = model.test_then_train(storage(X))
    expected, _, _ = naive.run(twin, twin.start(D), X.astype(float), np.zeros(150), None, False)
    assert scores.dtype == model.center_.dtype == model.score_samples(X).dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


# --- the paper's problem ---


@pytest.mark.parametrize("variant", VARIANTS)
@every_radius
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), sparse=st.booleans())
def test_a_step_solves_its_problem(variant: str, radius: str, seed: int, sparse: bool) -> None:
    """min 1/2 |w - w_t|^2 + the loss term of |w - x| - epsilon; for a learned radius in d + 1 dimensions, of |(w, h) - (x, 0)| - B."""
    rng = np.random.default_rng(seed)
    d, C, B = 3, float(rng.choice([0.01, 0.1, 1.0, 10.0])), float(rng.choice([0.5, 2.0]))
    learned = radius == "learned"
    model = PAUniclass(C, variant, epsilon=B, learn_radius=learned)
    storage = sp.csr_array if sparse else np.asarray
    model.partial_fit(storage(rng.normal(size=(5, d))))
    x = 2 * rng.normal(size=d)
    before, radius_before = model.center_, model.radius_
    loss = model.score_samples(x[None])[0]
    model.partial_fit(storage(x[None]))

    def lifted(center: Any, own: float) -> Any:
        return np.append(center, np.sqrt(max(0.0, B * B - own * own))) if learned else center

    def loss_of(z: Any) -> float:
        return float(np.linalg.norm(z - (np.append(x, 0.0) if learned else x)) - B)

    if -loss <= radius_before:
        np.testing.assert_array_equal(model.center_, before)
        return
    check_step(variant, C, lifted(before, radius_before), lifted(model.center_, model.radius_), loss_of, seed)
    assert model.radius_ >= radius_before


def test_a_hard_step_reaches_the_border() -> None:
    """The example is on the border afterwards, by the lifted rule too."""
    for radius in RADII.values():
        model = PAUniclass(variant="hard", **radius)
        for x in 3 * data(40):
            model.learn_one(x)
            assert model.decision_function(x[None])[0] > -1e-9


# --- distances on sparse rows ---


def test_the_norm_of_the_centre_does_not_drift() -> None:
    """It is carried along through 200,000 sparse steps; the entries are there to compare."""
    X = sp.random_array((200_000, 300), density=0.02, rng=np.random.default_rng(0), format="csr")
    for kind in (np.float64, np.float32):
        model = PAUniclass(0.05, epsilon=0.1).partial_fit(X.astype(kind))
        assert model.updates_ > 100_000
        state = model._state
        w = state.arrays["scale"][0] * state.arrays["w"].astype(float)
        np.testing.assert_allclose(state.arrays["norm2"][0], w @ w, rtol=1e-10)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_a_class_far_from_the_origin(offset: float) -> None:
    """|w|^2 - 2 w.x + |x|^2 would be off by offset^2 / 1e16; differences entry by entry are not."""
    X = data(300) + offset
    twin = Twin(0.5, "I", epsilon=1.0)
    m = twin.start(D)
    for x in X:
        m = twin.learn(m, np.append(0.0, x), 0.0, 1.0)
    for storage in (np.asarray, sp.csr_array):  # no entry is 0: sparse rows touch every coordinate
        model = PAUniclass(0.5, epsilon=1.0).partial_fit(storage(X))
        assert np.isfinite(model.decision_function(storage(X))).all()
        expected = np.linalg.norm(X - model.center_, axis=1)
        np.testing.assert_allclose(-model.score_samples(storage(X)), expected, rtol=1e-6, atol=3e-8 * offset)
        np.testing.assert_allclose(model.center_, m["w"][:-1], rtol=1e-9)


def test_distances_are_never_negative_nor_nan() -> None:
    """Where all that x does not touch is nothing, less than nothing must not be seen."""
    rng = np.random.default_rng(0)
    for scale in (1e-150, 1e-8, 1.0, 1e8, 1e150):
        X = sp.csr_array(scale * (rng.random((400, 8)) < 0.5) * rng.normal(size=(400, 8)))
        model = PAUniclass(variant="hard", epsilon=1e-3 * scale)
        scores = model.test_then_train(X)
        assert np.isfinite(scores).all()
        assert (scores <= 1e-3 * scale).all()
        assert model._state.arrays["norm2"][0] >= 0
        distances = -model.score_samples(X)
        np.testing.assert_allclose(distances, np.linalg.norm(X.toarray() - model.center_, axis=1), rtol=1e-6, atol=1e-7 * scale)


def test_dense_and_sparse_rows_take_turns() -> None:
    X = data(200)
    model, dense = PAUniclass(0.2), PAUniclass(0.2).partial_fit(X)
    for t in range(0, 200, 5):
        model.partial_fit(X[t : t + 5] if t % 2 else sp.csr_array(X[t : t + 5]))
    np.testing.assert_allclose(model.center_, dense.center_, rtol=1e-9, atol=1e-12)


# --- what it is for ---


def test_the_radius_grows_up_to_its_bound() -> None:
    model, last = PAUniclass(0.1, epsilon=2.0, learn_radius=True), 0.0
    assert model.partial_fit(np.zeros((1, D)), sample_weight=[0.0]).radius_ == 0.0
    for x in data(500):
        model.learn_one(x)
        assert last <= model.radius_ <= 2.0
        last = model.radius_
    assert last > 1.5
    assert model.center_.shape == (D,)
    assert model.offset_ == -model.radius_


def test_small_radii_are_exact_under_a_large_bound() -> None:
    """One hard step from (0, B) towards (2, 0) gives the radius 2B / sqrt(4 + B^2); from h near B it would lose its digits."""
    for B in (3.0, 1e3, 1e7, 1e12):
        model = PAUniclass(variant="hard", epsilon=B, learn_radius=True).partial_fit([[2.0]])
        np.testing.assert_allclose(model.radius_, 2 * B / np.hypot(2.0, B), rtol=1e-12)


def test_the_unusual_is_told_from_the_usual() -> None:
    rng = np.random.default_rng(0)
    usual, unusual = rng.normal(size=(3000, 8)) + 5, rng.normal(size=(200, 8))
    X, y = np.vstack([usual[2000:], unusual]), np.repeat([1, -1], [1000, 200])
    for parameters in ({"epsilon": 4.5}, {"epsilon": 4.5, "learn_radius": True}, {"epsilon": 4.5, "average": True}):
        model = PAUniclass(0.1, **parameters).fit(usual[:2000])
        assert np.abs(model.center_ - 5).max() < 1.0
        assert roc_auc_score(y, model.score_samples(X)) > 0.999
        assert (model.predict(X) == y).mean() > 0.95
    np.testing.assert_array_equal(model.fit_predict(usual), model.fit(usual).predict(usual))


def test_decisions() -> None:
    X = data()
    model = PAUniclass(epsilon=1.0).fit(X)
    distance = np.linalg.norm(X - model.center_, axis=1)
    np.testing.assert_allclose(model.score_samples(X), -distance, rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), 1.0 - distance, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(distance <= 1.0, 1, -1))
    for x in (X[0], sp.csr_array(X[:1])):
        np.testing.assert_allclose(model.score_one(x), -distance[0], rtol=1e-12)
        assert model.predict_one(x) == model.predict(X[:1])[0]
    assert is_outlier_detector(model)
    assert set(model.get_params()) == {"C", "variant", "epsilon", "learn_radius", "average", "max_iter", "grow"}
    with pytest.raises(TypeError, match="fit_intercept"):
        PAUniclass(fit_intercept=True)


def test_targets_are_ignored() -> None:
    X = data()
    expected = snapshot(PAUniclass().fit(X))
    assert snapshot(PAUniclass().fit(X, np.arange(N))) == expected
    one_by_one = PAUniclass(grow=False)
    for x in X:
        one_by_one.learn_one(x, "anything")
    assert snapshot(one_by_one) == expected


def test_before_anything_was_learned() -> None:
    assert PAUniclass().predict_one({"a": 1.0}) is None
    assert PAUniclass().score_one(np.ones(3)) is None
    with pytest.raises(ValueError, match="not fitted"):
        PAUniclass().predict(np.ones((2, 3)))
    with pytest.raises(AttributeError, match="center_"):
        _ = PAUniclass().center_


# --- promise 1 and 2: one loop behind every door, tested before trained ---


DOORS = st.sampled_from(["partial_fit", "test_then_train", "learn_one"])
CUTS = st.lists(st.tuples(st.integers(1, N), DOORS), max_size=6, unique_by=lambda cut: cut[0])


def through_doors(model: Any, X: Any, cuts: Any) -> None:
    start = 0
    for stop, door in [*sorted(cuts), (N, "partial_fit")]:
        if door == "learn_one":
            for t in range(start, stop):
                model.learn_one(X[t] if isinstance(X, np.ndarray | list) else X[t : t + 1])
        elif stop > start:
            getattr(model, door)(X[start:stop])
        start = stop


@every_average
@every_radius
@both_storages
@settings(max_examples=10, deadline=None)
@given(cuts=CUTS)
def test_cuts_do_not_matter(average: Any, radius: str, storage: Any, cuts: Any) -> None:
    X = storage(data())
    whole, pieces = (PAUniclass(0.2, **RADII[radius], average=average, grow=False) for _ in range(2))
    whole.partial_fit(X)
    through_doors(pieces, X, cuts)
    assert snapshot(pieces) == snapshot(whole)


def late(X: Any) -> Any:
    X[:20, 3:], X[:35, 4:] = 0, 0
    return as_dicts(X)


@every_average
@every_radius
@settings(max_examples=10, deadline=None)
@given(cuts=CUTS)
def test_cuts_do_not_matter_to_a_growing_model(average: Any, radius: str, cuts: Any) -> None:
    X = late(data())
    whole, pieces = (PAUniclass(0.2, **RADII[radius], average=average) for _ in range(2))
    whole.partial_fit(X)
    through_doors(pieces, X, cuts)
    assert whole.n_features_in_ == D
    assert snapshot(pieces) == snapshot(whole)


@every_average
@every_radius
@both_storages
def test_scores_are_those_of_just_before(average: Any, radius: str, storage: Any) -> None:
    X = storage(data())
    scores = PAUniclass(0.2, **RADII[radius], average=average).test_then_train(X)
    model = PAUniclass(0.2, **RADII[radius], average=average).partial_fit(X[:1])
    for t in range(1, N):
        x = X[t : t + 1]
        assert model.decision_function(x)[0] == scores[t]
        assert model.predict_one(X[t] if isinstance(X, np.ndarray) else x) == (1 if scores[t] >= 0 else -1)
        model.partial_fit(x)


@every_average
@every_radius
def test_a_feature_counts_before_it_is_known(average: Any, radius: str) -> None:
    """A centre is 0 in what it has never seen, and an example that is not lies so much further away."""
    X = late(data())
    whole, model = (PAUniclass(0.2, **RADII[radius], average=average) for _ in range(2))
    scores = whole.test_then_train(X)
    model.learn_one(X[0])
    for t in range(1, N):
        assert model.decision_function([X[t]])[0] == scores[t]
        np.testing.assert_allclose(model.score_one(X[t]), scores[t] - model.radius_, rtol=1e-12, atol=1e-12)
        model.learn_one(X[t])
    assert snapshot(model) == snapshot(whole)
    far = model.score_one({"never seen": 1e6})
    np.testing.assert_allclose(far, -1e6, rtol=1e-6)
    assert model.predict_one({"never seen": 1e6}) == -1
    assert model.n_features_in_ == D, "to predict brings no feature"


def test_narrow_rows_of_a_growing_model_are_zero_elsewhere() -> None:
    X = data()
    model = PAUniclass(0.2, grow=True).partial_fit(X)
    padded = np.hstack([X[:, :2], np.zeros((N, D - 2))])
    np.testing.assert_allclose(model.decision_function(X[:, :2]), model.decision_function(padded), rtol=1e-12, atol=1e-12)
    other = model.copy().partial_fit(padded)
    np.testing.assert_allclose(model.partial_fit(X[:, :2]).center_, other.center_, rtol=1e-12, atol=1e-12)


def test_blocks_do_not_matter() -> None:
    X = data(40_000)
    whole = PAUniclass(0.01, average=True).partial_fit(X)
    pieces = PAUniclass(0.01, average=True).partial_fit(X[:11_111]).partial_fit(X[11_111:])
    assert snapshot(whole) == snapshot(pieces)


def test_forms_of_rows() -> None:
    X = data()
    expected = snapshot(PAUniclass().partial_fit(X), names=False)
    for form in (np.asfortranarray, np.ndarray.tolist, lambda X: pd.DataFrame(X, columns=list("abcde"))):
        assert snapshot(PAUniclass().partial_fit(form(X)), names=False) == expected
    expected = snapshot(PAUniclass().partial_fit(sp.csr_array(X)))
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (sp.csc_array(X), sp.csr_matrix(X), wide):
        assert snapshot(PAUniclass().partial_fit(rows)) == expected


# --- promise 5: resuming is exact ---


@every_average
@every_radius
@pytest.mark.parametrize("way", WAYS)
def test_going_on_is_never_having_stopped(average: Any, radius: str, way: str, tmp_path: Path) -> None:
    for X in (data(), late(data())):
        model = PAUniclass(0.2, **RADII[radius], average=average).partial_fit(X[:23])
        other = WAYS[way](model, tmp_path)
        assert type(other) is PAUniclass
        assert other.get_params() == model.get_params()
        before = snapshot(model)
        assert snapshot(other) == before
        scores = other.test_then_train(X[23:])
        assert snapshot(model) == before, "the two must not share their arrays"
        np.testing.assert_array_equal(scores, model.test_then_train(X[23:]))
        assert snapshot(other) == snapshot(model)


# --- promise 6: bad input changes nothing ---


def with_value(value: float) -> Callable[[Any], Any]:
    def spoil(X: Any) -> Any:
        X = X.copy()
        X[30, 2] = value
        return X, {}

    return spoil


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "NaN": (with_value(np.nan), "NaN"),
    "infinity": (with_value(np.inf), "infinity"),
    "minus infinity": (with_value(-np.inf), "infinity"),
    "1e300": (with_value(1e300), "too large"),
    "too few features": (lambda X: (X[:, :-1], {}), "features"),
    "no rows": (lambda X: (X[:0], {}), "0 sample"),
    "one dimension": (lambda X: (X[0], {}), "1D array"),
    "negative weight": (lambda X: (X, {"sample_weight": np.full(N, -1.0)}), "sample_weight"),
    "weights too short": (lambda X: (X, {"sample_weight": np.ones(3)}), "sample_weight"),
}


@every_average
@both_storages
@pytest.mark.parametrize("bad", BAD)
def test_bad_input_changes_nothing(average: Any, storage: Any, bad: str) -> None:
    spoil, message = BAD[bad]
    X, more = spoil(data(seed=1))
    if X.ndim == 2 and len(X):
        X = storage(X)
    model, fresh = PAUniclass(average=average).fit(data()), PAUniclass(average=average)
    before = snapshot(model)
    for door in (model.partial_fit, model.test_then_train):
        with pytest.raises(ValueError, match=message):
            door(X, **more)
        assert snapshot(model) == before
    if bad != "too few features":
        for door in (model.fit, fresh.fit, fresh.partial_fit):
            with pytest.raises(ValueError, match=message):
                door(X, **more)
            assert snapshot(model) == before
            assert fresh._state is None
    if bad in ("NaN", "infinity", "1e300"):
        row = X[30] if isinstance(X, np.ndarray) else X[30:31]
        for call in (lambda: model.predict(X), lambda: model.score_one(row), lambda: model.learn_one(row)):
            with pytest.raises(ValueError, match=message):
                call()
            assert snapshot(model) == before


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_bad_value_in_a_dict_leaves_no_trace(value: float) -> None:
    model = PAUniclass().partial_fit(late(data()))
    before = snapshot(model)
    for name in ("f1", "new"):
        with pytest.raises(ValueError, match=r"NaN|infinity|too large"):
            model.learn_one({"f0": 1.0, name: value})
        assert snapshot(model) == before


def test_the_radius_cannot_become_learned_later() -> None:
    X = data()
    model = PAUniclass(epsilon=1.0).fit(X)
    for change in ({"learn_radius": True}, {"epsilon": None}):
        with pytest.raises(ValueError, match="start anew"):
            model.copy().set_params(**change).partial_fit(X)
    model.set_params(learn_radius=False, epsilon=2.0)
    assert model.radius_ == 2.0
    np.testing.assert_allclose(model.decision_function(X), 2.0 + model.score_samples(X), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("average", [None, True], ids=str)
def test_by_default_most_of_what_was_learned_is_usual(scale: float, average: Any) -> None:
    """Raw or standardised, around the origin or far from it; and what is far away is not."""
    rng = np.random.default_rng(0)
    for centre in (0.0, 50.0):
        X = scale * (rng.gamma(2.0, size=(500, 12)) + centre)
        for model in (PAUniclass(average=average), pipeline(StandardScaler(), PAUniclass(average=average))):
            assert (model.fit(X).predict(X) == 1).mean() > 0.9
            assert (model.predict(X + 20 * scale) == -1).all()


def test_a_followed_radius_leaves_out_less_than_half() -> None:
    """By Markov's inequality, of the distances from before each example was learned from."""
    X = np.random.default_rng(0).standard_cauchy(size=(400, 3))
    model = PAUniclass()
    distances = []
    for x in X:
        if distances or model.score_one(x) is not None:
            distances.append(-model.score_one(x))
        model.learn_one(x)
    assert (np.array(distances) > model.radius_).mean() < 4 / 9
    assert model.radius_ == pytest.approx(1.5 * np.sqrt(np.sum(np.square(distances)) / len(X)))


BAD_PARAMETERS: list[dict[str, Any]] = [
    {"learn_radius": True, "epsilon": None},
    {"epsilon": -1.0},
    {"epsilon": np.inf},
    {"C": 0.0},
    {"variant": "III"},
    {"learn_radius": 2},
]


@pytest.mark.parametrize("parameters", BAD_PARAMETERS, ids=str)
def test_bad_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        PAUniclass(**parameters).fit(data())


def test_hard_steps_cannot_be_weighed() -> None:
    with pytest.raises(ValueError, match="may only be 0 or 1"):
        PAUniclass(variant="hard").partial_fit(data(), sample_weight=np.full(N, 0.5))


def test_weight_zero_is_nothing_at_all() -> None:
    X, holes = data(), np.arange(N) % 3 > 0
    some = PAUniclass().partial_fit(X, sample_weight=holes.astype(float))
    assert snapshot(some) == snapshot(PAUniclass().partial_fit(X[holes]))
    growing = PAUniclass().partial_fit(late(data()))
    before = snapshot(growing)
    growing.learn_one({"new": 1.0}, w=0.0)
    assert snapshot(growing) == before


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("epsilon", [0.0, 1e-200, 1e-12, 1e12])
@pytest.mark.parametrize("C", [1e-12, 1e12])
@every_radius
def test_extremes_are_harmless(variant: str, epsilon: float, C: float, radius: str) -> None:
    X = data()
    X[::3] = 0
    X[1::5] = X[0]
    for average in (None, True):
        for storage in (np.asarray, sp.csr_array):
            model = PAUniclass(C, variant, epsilon=epsilon, learn_radius=radius == "learned", average=average)
            assert np.isfinite(model.test_then_train(storage(X))).all()
            assert all(np.isfinite(array).all() for array in model._state.arrays.values())
            assert 0 <= model.radius_ <= epsilon


# --- with the rest of the library ---


def test_in_a_pipeline(tmp_path: Path) -> None:
    X = data()
    model = pipeline(StandardScaler(), PAUniclass(0.1, epsilon=2.5))
    assert model.score_one(X[0]) is None
    model.fit(X)
    model.partial_fit(X).learn_one(X[0])
    np.testing.assert_allclose(model.score_one(X[3]), model.score_samples(X)[3], rtol=1e-12)
    assert model.predict_one(X[3]) == model.predict(X)[3]
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(onepass.load(tmp_path / "model").score_samples(X), model.score_samples(X))
    stream = pipeline(UnitNorm(), PAUniclass(0.1))
    for x in late(data()):
        stream.learn_one(x)
    assert stream.predict_one({"f0": 1.0}) in (1, -1)
    assert clone(stream).learner.C == 0.1


ONLINE = "a row of weight 2 is one step with twice the loss term, not two steps: the order of the rows matters"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


@parametrize_with_checks(
    [PAUniclass(0.01, epsilon=20.0, learn_radius=True)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    """With a fixed radius: `test_sklearn.py`."""
    checked(estimator, check)
