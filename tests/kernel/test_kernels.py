"""Every kernel against scikit-learn's, whatever the rows look like; functions of the user's own; kernel values that are given."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from numba.core import config
from sklearn.metrics import pairwise

import onepass
from onepass import ActiveLearner, KernelPA, KernelPARegressor, KernelPerceptron
from onepass.kernel.model import NARROW
from test_contract import snapshot

pytestmark = pytest.mark.plain

OPTIONS: dict[str, dict[str, Any]] = {
    "linear": {},
    "poly": {"gamma": 0.3, "degree": 3, "coef0": 0.7},
    "rbf": {"gamma": 0.4},
    "laplacian": {"gamma": 0.2},
    "sigmoid": {"gamma": 0.1, "coef0": -0.2},
    "cosine": {},
    "chi2": {"gamma": 0.6},
    "intersection": {},
}
REFERENCE: dict[str, Callable[..., Any]] = {
    "linear": pairwise.linear_kernel,
    "poly": pairwise.polynomial_kernel,
    "rbf": pairwise.rbf_kernel,
    "laplacian": pairwise.laplacian_kernel,
    "sigmoid": pairwise.sigmoid_kernel,
    "cosine": pairwise.cosine_similarity,
    "chi2": pairwise.chi2_kernel,
    "intersection": lambda Z, X: np.minimum(Z[:, None], X[None]).sum(axis=2),
}
WIDE = NARROW + 300
every_kernel = pytest.mark.parametrize("kernel", OPTIONS)


def as_dicts(X: Any) -> list[dict[str, float]]:
    return [{f"f{j}": row[j] for j in np.flatnonzero(row)} for row in X]


FORMS: dict[str, Callable[[Any], Any]] = {"dense": np.asarray, "csr": sp.csr_array, "dicts": as_dicts}


def rows(kernel: str, n: int = 24, width: int = 6, seed: int = 0) -> Any:
    """Rows with holes, twins among them, and a row of zeros; those of no negative number where the kernel wants them so."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * (rng.random((n, width)) < max(0.5 if width < 100 else 0.01, 1 / width))
    X[3] = X[5]
    X[7] = 0
    return np.abs(X) if kernel in ("chi2", "intersection") else X


def alone(model: Any, z: Any, label: int = 1) -> Any:
    """The model after one example, which is always a mistake: its score of x is then k(z, x) itself."""
    return model.partial_fit(z, [label], classes=[0, 1])


def labels(X: Any) -> Any:
    return (np.abs(X).sum(axis=1) > np.median(np.abs(X).sum(axis=1))).astype(int)


# --- the values ---


@pytest.mark.compiled
@every_kernel
@pytest.mark.parametrize(
    ("taught", "asked", "width"),
    [
        ("dense", "dense", 6),
        ("dense", "csr", 6),
        ("csr", "dense", 6),
        ("csr", "csr", 6),
        ("csr", "csr", WIDE),
        ("csr", "dense", WIDE),
        ("dense", "csr", WIDE),
        ("dicts", "dicts", 6),
    ],
)
def test_values(kernel: str, taught: str, asked: str, width: int) -> None:
    Z, X = rows(kernel, 8, width), rows(kernel, 24, width, seed=1)
    X[:4] = Z[:4]
    expected = REFERENCE[kernel](Z, X, **OPTIONS[kernel])
    seen, queries = FORMS[taught](Z), FORMS[asked](X)
    values = [alone(KernelPerceptron(kernel=kernel, **OPTIONS[kernel]), seen[i : i + 1]) for i in range(len(Z))]
    np.testing.assert_allclose([one.decision_function(queries) for one in values], expected, rtol=1e-12, atol=1e-12)
    sparse = taught == "dicts" or (taught == "csr" and width > NARROW)
    assert all(sp.issparse(one.support_vectors_) == sparse for one in values)


@every_kernel
@pytest.mark.parametrize(("form", "width"), [("dense", 6), ("csr", 6), ("csr", WIDE), ("dicts", 6)])
def test_a_score_is_the_sum_over_the_support_vectors(kernel: str, form: str, width: int) -> None:
    Z, X = rows(kernel, 90, width), rows(kernel, 40, width, seed=1)
    model = KernelPA(kernel=kernel, C=0.5, **OPTIONS[kernel]).fit(FORMS[form](Z), labels(Z))
    assert model.support_size_ > 20
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sp.issparse(vectors) else vectors
    if form == "dicts":
        order = [int(name[1:]) for name in model.feature_names_in_]
        assert model.n_features_in_ == width
        vectors = vectors[:, np.argsort(order)]
    np.testing.assert_array_equal(vectors, Z[model.support_])
    expected = model.dual_coef_[0] @ REFERENCE[kernel](vectors, X, **OPTIONS[kernel])
    np.testing.assert_allclose(model.decision_function(FORMS[form](X)), expected, rtol=1e-10, atol=1e-10)


@every_kernel
@pytest.mark.parametrize("width", [6, WIDE])
def test_single_precision(kernel: str, width: int) -> None:
    Z, X = (rows(kernel, 30, width, seed).astype(np.float32) for seed in (0, 1))
    scores = {}
    for form in ("dense", "csr"):
        model = KernelPA(kernel=kernel, **OPTIONS[kernel]).fit(FORMS[form](Z), labels(Z))
        scores[form] = model.decision_function(FORMS[form](X))
        assert scores[form].dtype == model.dual_coef_.dtype == np.float32
        expected = model.dual_coef_[0].astype(float) @ REFERENCE[kernel](
            Z[model.support_].astype(float), X.astype(float), **OPTIONS[kernel]
        )
        np.testing.assert_allclose(scores[form], expected, rtol=2e-5, atol=2e-5)


@pytest.mark.compiled
@every_kernel
@pytest.mark.parametrize(("form", "width"), [("dense", 6), ("csr", 6), ("csr", WIDE)])
def test_an_intercept_adds_one(kernel: str, form: str, width: int) -> None:
    Z, X = rows(kernel, 8, width), rows(kernel, 24, width, seed=1)
    for i in (0, 7):  # 7 is the row of zeros
        model = alone(KernelPerceptron(kernel=kernel, **OPTIONS[kernel], fit_intercept=True), FORMS[form](Z)[i : i + 1])
        expected = 1 + REFERENCE[kernel](Z[i : i + 1], X, **OPTIONS[kernel])[0]
        np.testing.assert_allclose(model.decision_function(FORMS[form](X)), expected, rtol=1e-12, atol=1e-12)


@every_kernel
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_the_value_of_a_row_with_itself(kernel: str, fit_intercept: bool, form: str) -> None:
    """The hard step makes up for all of the loss, if it was divided by k(x, x)."""
    Z = rows(kernel, 12)
    for z in range(len(Z)):
        row = FORMS[form](Z)[z : z + 1]
        model = alone(KernelPA(variant="hard", kernel=kernel, **OPTIONS[kernel], fit_intercept=fit_intercept), row)
        itself = REFERENCE[kernel](Z[z : z + 1], Z[z : z + 1], **OPTIONS[kernel])[0, 0] + fit_intercept
        if itself > 0:
            np.testing.assert_allclose(model.decision_function(row), 1, rtol=1e-12)
        else:  # no step is long enough
            assert model.decision_function(row) == 0


def test_gamma_follows_the_number_of_features() -> None:
    Z = rows("rbf")
    expected = pairwise.rbf_kernel(Z[:1], Z)[0]
    np.testing.assert_allclose(alone(KernelPerceptron(), Z[:1]).decision_function(Z), expected, rtol=1e-12)
    (first,) = as_dicts(Z[:1])  # of dicts, those of the first are known; what comes later does not change what was decided
    assert len(first) < Z.shape[1]
    expected = pairwise.rbf_kernel(Z[:1], Z, gamma=1 / len(first))[0]
    np.testing.assert_allclose(alone(KernelPerceptron(), [first]).decision_function(as_dicts(Z)), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_features_that_come_later_count(kernel: str) -> None:
    """A distance grows with a feature that the support vectors do not have."""
    model = KernelPerceptron(kernel=kernel, gamma=0.3, classes=[0, 1])
    model.learn_one({"a": 1.0}, 1)
    for asked, distance in (({"a": 1.0, "b": 2.0}, 4.0 if kernel == "rbf" else 2.0), ({}, 1.0), ({"a": 1.0}, 0.0)):
        np.testing.assert_allclose(model.decision_function([asked]), math.exp(-0.3 * distance), rtol=1e-12)
    model.learn_one({"a": 1.0, "b": 2.0}, 1)
    assert model.n_features_in_ == 2


def test_rows_far_from_the_origin_keep_their_order() -> None:
    """Squared distances come from norms, and rounding must not make one negative."""
    X = 1e8 + np.random.default_rng(0).normal(size=(30, 3))
    model = alone(KernelPerceptron(gamma=1.0), X[:1])
    scores = model.decision_function(X)
    assert scores[0] == 1
    assert ((scores >= 0) & (scores <= 1)).all()


# --- functions of the user's own ---


def gaussian(x: Any, z: Any) -> float:
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - z[j]) ** 2
    return math.exp(-0.4 * total)


compiled_gaussian = numba.njit(gaussian)


def vectorised(x: Any, z: Any) -> float:
    return np.exp(-0.4 * np.sum((x - z) ** 2))


@pytest.mark.parametrize("function", [gaussian, compiled_gaussian, vectorised], ids=["plain", "njit", "numpy"])
@pytest.mark.parametrize(
    ("form", "width"),
    [pytest.param("dense", 6, marks=pytest.mark.compiled), ("csr", 6), ("csr", WIDE)],
)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_function_is_a_kernel(function: Any, form: str, width: int, fit_intercept: bool) -> None:
    Z, X = rows("rbf", 80 if width < NARROW else 40, width), rows("rbf", 20, width, seed=1)
    y = labels(Z)
    for more in ({}, {"budget": 12, "policy": "redundant"}):
        own = KernelPA(kernel=function, fit_intercept=fit_intercept, **more)
        built_in = KernelPA(gamma=0.4, fit_intercept=fit_intercept, **more)
        scores = own.test_then_train(FORMS[form](Z), y, classes=[0, 1])
        expected = built_in.test_then_train(FORMS[form](Z), y, classes=[0, 1])
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(own.support_, built_in.support_)
        np.testing.assert_array_equal(own.support_vectors_, Z[own.support_])
        np.testing.assert_allclose(
            own.decision_function(FORMS[form](X)), built_in.decision_function(FORMS[form](X)), rtol=1e-9, atol=1e-12
        )


def test_a_function_of_single_precision() -> None:
    Z = rows("rbf", 40).astype(np.float32)
    own = KernelPA(kernel=gaussian).fit(Z, labels(Z))
    built_in = KernelPA(gamma=0.4).fit(Z, labels(Z))
    assert own.decision_function(Z).dtype == np.float32
    np.testing.assert_allclose(own.decision_function(Z), built_in.decision_function(Z), rtol=1e-4, atol=1e-5)


def test_a_function_may_give_whole_numbers_and_truth_values() -> None:
    Z = rows("rbf", 20)
    for function in (lambda x, z: 1, lambda x, z: len(x) == len(z), lambda x, z: np.float32(1)):
        np.testing.assert_array_equal(alone(KernelPerceptron(kernel=function), Z[:1]).decision_function(Z), 1)


def test_two_functions_do_not_mix() -> None:
    Z = rows("rbf", 20)
    steep, flat = (alone(KernelPerceptron(kernel=function), Z[:1]) for function in (gaussian, lambda x, z: 2.0))
    np.testing.assert_allclose(flat.decision_function(Z), 2)
    np.testing.assert_allclose(steep.decision_function(Z), pairwise.rbf_kernel(Z[:1], Z, gamma=0.4)[0], rtol=1e-12)


def test_a_function_and_one_example_at_a_time() -> None:
    Z = rows("rbf", 40)
    y = labels(Z)
    whole = KernelPA(kernel=gaussian, random_state=0, classes=[0, 1]).partial_fit(Z, y)
    one_by_one = KernelPA(kernel=gaussian, random_state=0, classes=[0, 1])
    for x, label in zip(Z, y, strict=True):
        one_by_one.learn_one(x, label)
    assert snapshot(one_by_one) == snapshot(whole)
    assert [one_by_one.predict_one(x) for x in Z] == whole.predict(Z).tolist()


def test_a_function_is_pickled_but_not_saved(tmp_path: Path) -> None:
    Z = rows("rbf", 20)
    model = KernelPA(kernel=gaussian).fit(Z, labels(Z))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(Z), model.decision_function(Z))
    with pytest.raises(ValueError, match="can't be saved"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_function_needs_rows_of_one_width() -> None:
    Z = rows("rbf", 20)
    for model in (KernelPA(kernel=gaussian), KernelPA(kernel=gaussian, grow=True)):
        data = as_dicts(Z) if model.grow is None else Z
        with pytest.raises(ValueError, match="width is known"):
            model.partial_fit(data, labels(Z), classes=[0, 1])
        assert model._state is None
    model = KernelPA(kernel=gaussian).fit(Z, labels(Z))
    before = snapshot(model)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(Z[:, :4], labels(Z))
    with pytest.raises(ValueError, match="without names"):
        model.learn_one({"f0": 1.0}, 1)
    assert snapshot(model) == before


def wary(x: Any, z: Any) -> float:
    if x[0] > 50:
        raise ArithmeticError("not in my domain")
    return 1.0


def silent(x: Any, z: Any) -> float:
    return math.nan if z[0] > 50 or x[0] > 50 else 1.0


def beyond(x: Any, z: Any) -> float:
    return x[len(x)] if x[0] > 50 else 1.0


@pytest.mark.parametrize(
    ("function", "said", "cause"),
    [
        (wary, "raised ArithmeticError: not in my domain", ArithmeticError),
        (numba.njit(wary), "raised ArithmeticError: not in my domain", ArithmeticError),
        (beyond, "raised IndexError", IndexError),
        (silent, "gave nan", type(None)),
    ],
    ids=["raises", "raises, njit", "index", "nan"],
)
@pytest.mark.parametrize("form", [pytest.param("dense", marks=pytest.mark.compiled), "csr"])
def test_a_function_that_gives_no_number_changes_nothing(
    function: Any, said: str, cause: type, form: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Z = rows("rbf", 20)
    y, bad = labels(Z), Z.copy()
    bad[15, 0] = 60
    table = FORMS[form](bad)
    one = table[15:16] if form == "csr" else table[15]
    model = KernelPA(kernel=function, classes=[0, 1]).fit(FORMS[form](Z), y)
    before = snapshot(model)

    def complaint(t: int) -> str:
        return f"{function.__name__} has no value for row {t} of X and support vector 0: it {said}"

    doors: list[tuple[int, Callable[[], Any]]] = [
        (15, lambda: model.partial_fit(table, y)),
        (15, lambda: model.test_then_train(table, y)),
        (15, lambda: model.fit(table, y)),
        (15, lambda: model.predict(table)),
        (0, lambda: model.learn_one(one, 1)),
        (0, lambda: model.predict_one(one)),
    ]
    for always in (1 << 20, 0):  # with a copy of the state set aside, and without
        monkeypatch.setattr("onepass.base.engine.COPIED_ALWAYS", always)
        for t, door in doors:
            with pytest.raises(ValueError, match=complaint(t)) as caught:
                door()
            assert type(caught.value.__cause__) is cause
            assert snapshot(model) == before
    fresh = KernelPA(kernel=function)
    with pytest.raises(ValueError, match=complaint(15)):
        fresh.fit(table, y)
    assert fresh._state is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
def test_a_function_without_a_value_for_a_row_and_itself(value: float) -> None:
    def unlike(x: Any, z: Any) -> float:
        return value if x[0] == z[0] else 1.0

    with pytest.raises(ValueError, match=f"unlike has no value for row 0 of X and itself: it gave {value}"):
        KernelPA(kernel=unlike).fit(rows("rbf", 20), labels(rows("rbf", 20)))


def test_a_bad_row_is_not_blamed_on_the_function() -> None:
    Z = rows("rbf", 20)
    model, bad = KernelPA(kernel=vectorised).fit(Z, labels(Z)), Z.copy()
    bad[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN \(row 3\)"):
        model.predict(bad)


def unknown(x: Any, z: Any) -> float:
    return x.product_with(z)


def sometimes(x: Any, z: Any) -> Any:
    return 1.0 if x[0] > 0 else None


def lonely(x: Any) -> float:
    return 1.0


@pytest.mark.compiled
@pytest.mark.parametrize(("function", "said"), [(unknown, "product_with"), (sometimes, "None|Optional"), (lonely, "argument")])
def test_a_function_that_does_not_compile(function: Any, said: str) -> None:
    model, Z = KernelPA(kernel=function), rows("rbf", 20)
    fails = "has no value" if config.DISABLE_JIT else "can't be compiled by Numba"
    with pytest.raises(ValueError, match=rf"(?s)The kernel function {function.__name__} {fails}.*({said})"):
        model.fit(Z, labels(Z))
    assert model._state is None


# --- kernel values that are given ---


@pytest.mark.parametrize("form", [pytest.param("dense", marks=pytest.mark.compiled), "csr"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("more", [{}, {"budget": 12}, {"budget": 12, "policy": "redundant"}], ids=str)
def test_given_values_are_the_kernels_own(form: str, fit_intercept: bool, more: dict[str, Any]) -> None:
    Z, X = rows("rbf", 80), rows("rbf", 30, seed=1)
    y, gram, asked = labels(Z), pairwise.rbf_kernel(Z, gamma=0.4), pairwise.rbf_kernel(X, Z, gamma=0.4)
    gram[gram < 1e-9], asked[asked < 1e-9] = 0, 0  # holes, for CSR
    for passes in (1, 2, 3):
        given = KernelPA(kernel="precomputed", max_iter=passes, fit_intercept=fit_intercept, **more).fit(FORMS[form](gram), y)
        built_in = KernelPA(gamma=0.4, max_iter=passes, fit_intercept=fit_intercept, **more).fit(Z, y)
        np.testing.assert_array_equal(given.support_, built_in.support_)
        np.testing.assert_allclose(given.dual_coef_, built_in.dual_coef_, rtol=1e-6, atol=1e-7)
        expected = built_in.decision_function(X)
        np.testing.assert_allclose(given.decision_function(FORMS[form](asked)), expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(given.decision_function(asked), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_given_values_in_pieces(form: str, tmp_path: Path) -> None:
    Z = rows("rbf", 60)
    y, gram = labels(Z), FORMS[form](pairwise.rbf_kernel(Z, gamma=0.4))
    whole = KernelPA(kernel="precomputed", random_state=0, max_iter=2).fit(gram, y)
    pieces = KernelPA(kernel="precomputed", random_state=0)
    for _ in range(2):
        for start, stop in ((0, 7), (7, 8), (8, 41), (41, 60)):
            pieces.partial_fit(gram[start:stop], y[start:stop], classes=[0, 1])
            pieces.save(tmp_path / "model")
            pieces = onepass.load(tmp_path / "model")
    one_by_one = KernelPA(kernel="precomputed", random_state=0, classes=[0, 1])
    for _ in range(2):
        for t in range(60):
            one_by_one.learn_one(gram[t] if form == "dense" else gram[t : t + 1], y[t])
    assert snapshot(pieces) == snapshot(whole) == snapshot(one_by_one)


def test_given_values_for_numbers() -> None:
    Z = rows("rbf", 50)
    y = np.sin(Z[:, 0])
    given = KernelPARegressor(kernel="precomputed", epsilon=0.01, max_iter=3).fit(pairwise.rbf_kernel(Z, gamma=0.4), y)
    built_in = KernelPARegressor(gamma=0.4, epsilon=0.01, max_iter=3).fit(Z, y)
    np.testing.assert_allclose(given.predict(pairwise.rbf_kernel(Z, gamma=0.4)), built_in.predict(Z), rtol=1e-9, atol=1e-12)


def test_given_values_know_no_vectors() -> None:
    gram = pairwise.rbf_kernel(rows("rbf", 20))
    model = KernelPA(kernel="precomputed").fit(gram, labels(gram))
    with pytest.raises(AttributeError, match="support_"):
        _ = model.support_vectors_


def test_examples_without_weight_have_no_number() -> None:
    """Their rows would be skipped, and all later numbers be wrong."""
    gram = pairwise.rbf_kernel(rows("rbf", 20))
    y = labels(gram)
    weights = np.ones(20)
    weights[4] = 0
    for model in (KernelPA(kernel="precomputed"), KernelPA(kernel="precomputed").fit(gram, y)):
        before = snapshot(model)
        with pytest.raises(ValueError, match="Leave their rows"):
            model.partial_fit(gram, y, classes=[0, 1], sample_weight=weights)
        assert snapshot(model) == before
    with pytest.raises(ValueError, match="no class_weight may be 0"):
        KernelPA(kernel="precomputed", class_weight={0: 0.0}).fit(gram, y)
    with pytest.raises(ValueError, match="all of them"):
        ActiveLearner(KernelPA(kernel="precomputed")).fit(gram, y)


def test_given_values_need_rows_of_one_width() -> None:
    gram = pairwise.rbf_kernel(rows("rbf", 20))
    y = labels(gram)
    with pytest.raises(ValueError, match="width is known"):
        KernelPA(kernel="precomputed").fit(as_dicts(gram), y)
    with pytest.raises(ValueError, match="width is known"):
        KernelPA(kernel="precomputed", grow=True).fit(gram, y)
    model = KernelPA(kernel="precomputed").fit(gram, y)
    with pytest.raises(ValueError, match="20 features"):
        model.predict(gram[:, :10])


# --- refusals ---


@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
@pytest.mark.parametrize("form", ["dense", "csr", "dicts"])
@pytest.mark.parametrize("always", [1 << 20, 0], ids=["small state", "large state"])
def test_negative_features_change_nothing(kernel: str, form: str, always: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onepass.base.engine.COPIED_ALWAYS", always)
    Z = rows(kernel, 40)
    y, bad = labels(Z), Z.copy()
    bad[30, 2] = -0.5
    model = KernelPA(kernel=kernel, classes=[0, 1]).partial_fit(FORMS[form](Z), y)
    before = snapshot(model)
    table = FORMS[form](bad)
    one = table[30] if form != "csr" else table[30:31]
    doors: list[Callable[[], Any]] = [
        lambda: model.partial_fit(table, y),
        lambda: model.test_then_train(table, y),
        lambda: model.fit(table, y),
        lambda: model.predict(table),
        lambda: model.learn_one(one, 1),
        lambda: model.predict_one(one),
    ]
    for door in doors:
        with pytest.raises(ValueError, match="negative"):
            door()
        assert snapshot(model) == before
    fresh = KernelPA(kernel=kernel)
    with pytest.raises(ValueError, match="negative"):
        fresh.fit(table, y)
    assert fresh._state is None


@pytest.mark.parametrize("width", [6, WIDE])
def test_a_value_that_overflows_changes_nothing(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of finite norm, and a power of it that is not."""
    Z = rows("poly", 40, width)
    form, bad = sp.csr_array if width > NARROW else np.asarray, Z.copy()
    bad[30, 0] = 1e120
    y, bad = labels(Z), form(bad)
    model = KernelPA(kernel="poly", gamma=1.0, degree=3).fit(form(Z), y)
    before = snapshot(model)
    for always in (1 << 20, 0):
        monkeypatch.setattr("onepass.base.engine.COPIED_ALWAYS", always)
        with pytest.raises(onepass.DivergedError, match="row 30"):
            model.partial_fit(bad, y)
        assert snapshot(model) == before


@pytest.mark.parametrize(
    "changes",
    [{"kernel": "poly"}, {"kernel": "precomputed"}, {"kernel": gaussian}, {"policy": "redundant"}, {"budget": 5}],
    ids=["poly", "precomputed", "a function", "policy", "budget"],
)
def test_what_shaped_the_support_set_cannot_change(changes: dict[str, Any]) -> None:
    Z = rows("rbf", 30)
    model = KernelPA(gamma=0.4, budget=10).fit(Z, labels(Z))
    assert model.support_size_ == 10
    before = snapshot(model)
    model.set_params(**changes)
    for call in (lambda: model.predict(Z), lambda: model.partial_fit(Z, labels(Z)), lambda: model.learn_one(Z[0], 1)):
        with pytest.raises(ValueError, match=r"start anew|budget can't be 5"):
            call()
        assert snapshot(model) == before
    model.set_params(kernel="rbf", policy="oldest", budget=15).partial_fit(Z, labels(Z))  # a larger budget is fine
    assert 10 < model.support_size_ <= 15


@pytest.mark.compiled
@pytest.mark.parametrize(
    "wrong",
    [{"kernel": "gauss"}, {"gamma": 0.0}, {"degree": 0}, {"coef0": np.nan}, {"budget": 0}, {"policy": "newest"}],
    ids=str,
)
def test_wrong_parameters(wrong: dict[str, Any]) -> None:
    Z = rows("rbf", 10)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        KernelPA(**wrong).fit(Z, labels(Z))
