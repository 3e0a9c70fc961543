"""ROMMA on labels that no weights fit: what it keeps of |w|^2 stays true, though |w| grows without end."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import naive
from onepass import ROMMA
from onepass.compiled.compiler import OPTIONS
from onepass.compiled.scaled import AveragedScaled, Scaled, length2

STORAGE = {"dense": np.asarray, "csr": sp.csr_array}
FORMS = [{}, {"aggressive": True}, {"average": True}, {"average": 30.0, "aggressive": True}]


def in_every_form(*storages: str) -> Any:
    """Averages have machine code of their own: it is made for two classes and dense rows, and by `make test-slow` for the others."""
    cases = [
        pytest.param(
            storage,
            classes,
            form,
            marks=[pytest.mark.slow] if "average" in form and (storage, classes) != ("dense", 2) else [],
        )
        for storage in storages
        for classes in (2, 4)
        for form in FORMS
    ]
    return pytest.mark.parametrize(("storage", "classes", "form"), cases, ids=str)


def noisy(n: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, np.argmax(X @ rng.normal(size=(5, classes)) + rng.normal(size=(n, classes)), axis=1)


def weights(model: ROMMA) -> Any:
    arrays = model._state.arrays
    return arrays["scale"][0] * arrays["w" if "w" in arrays else "W"].astype(float)


def doubted(model: ROMMA) -> float:
    """How far what is kept is from |w|^2, relative to it."""
    return abs(model._state.arrays["norm2"][0] / (weights(model) ** 2).sum() - 1)


@in_every_form(*STORAGE)
def test_the_kept_length_is_the_length(storage: str, classes: int, form: dict[str, Any]) -> None:
    X, y = noisy(10_000, classes)
    model = ROMMA(**form)
    for start in range(0, len(y), 1000):
        rows = slice(start, start + 1000)
        model.partial_fit(STORAGE[storage](X[rows]), y[rows], classes=range(classes))
        assert doubted(model) < 1e-8
    assert (weights(model) ** 2).sum() > 1e10, "the data must make the terms of |w|^2 cancel"


@in_every_form("dense")
def test_single_precision(storage: str, classes: int, form: dict[str, Any]) -> None:
    X, y = noisy(5000, classes)
    model = ROMMA(**form)
    for start in range(0, len(y), 500):
        rows = STORAGE[storage](X[start : start + 500].astype(np.float32))
        model.partial_fit(rows, y[start : start + 500], classes=range(classes))
        assert doubted(model) < 1e-3


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("aggressive", [False, True])
def test_late_steps_are_those_of_the_twin(classes: int, aggressive: bool) -> None:
    """From the weights that are there after much noise, each step is still the one of the paper."""
    X, y = noisy(10_100, classes)
    model, twin = ROMMA(aggressive), naive.ROMMA(aggressive)
    model.partial_fit(X[:10_000], y[:10_000], classes=range(classes))
    for x, label in zip(X[10_000:], y[10_000:], strict=True):
        code = 2.0 * label - 1 if classes == 2 else label
        expected = twin.learn({"w": weights(model)}, np.append(1.0, x), code, 1.0)["w"]
        model.partial_fit([x], [label])
        np.testing.assert_allclose(weights(model), expected, rtol=1e-6, atol=1e-6 * abs(expected).max())


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("storage", STORAGE)
def test_decisions_are_those_of_the_twin(classes: int, storage: str) -> None:
    X, y = noisy(10_000, classes)
    scores = ROMMA().test_then_train(STORAGE[storage](X), y, classes=range(classes))
    first, codes = (np.zeros(6), 2.0 * y - 1) if classes == 2 else (np.zeros((classes, 6)), y)
    expected, _, _ = naive.run(naive.ROMMA(), {"w": first}, X, codes)
    decided = [s >= 0 if classes == 2 else s.argmax(axis=1) for s in (scores, expected)]
    np.testing.assert_array_equal(*decided)


@in_every_form("dense")
def test_weights_that_would_leave_the_range_of_numbers(storage: str, classes: int, form: dict[str, Any]) -> None:
    """|w| grows beyond float32, and beyond 1/eps of what it was, long before it does in float64: no decision depends on that."""
    X, y = noisy(60_000, classes)
    single, double = (
        ROMMA(**form).test_then_train(STORAGE[storage](X.astype(t)), y, classes=range(classes))
        for t in (np.float32, np.float64)
    )
    decided = [s >= 0 if classes == 2 else s.argmax(axis=1) for s in (single, double)]
    assert np.mean(decided[0] != decided[1]) < 1e-3
    assert abs(double).max() > 1e20, "the data must make the weights grow"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_with_both_labels_has_no_solution(dtype: Any) -> None:
    """The weights of one row are parallel to it, but for rounding: that must not be taken for an angle."""
    for x in np.random.default_rng(0).normal(size=(200, 1, 30)).astype(dtype):
        model = ROMMA().partial_fit(x, [0], classes=[0, 1])
        before = model.coef_
        np.testing.assert_array_equal(model.partial_fit(x, [1]).coef_, before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_spare_room_does_not_change_the_last_bit(dtype: Any) -> None:
    measured = numba.njit(**OPTIONS)(lambda w: length2(w))  # noqa: PLW0108  (Numba wants a function)
    rng = np.random.default_rng(0)
    for _ in range(20):
        u, scale = rng.normal(size=(3, 17)).astype(dtype), np.array([0.3])
        lengths = set()
        for spare in (0, 1, 6, 40):
            wide = np.pad(u, ((0, 0), (0, spare)))
            lengths |= {measured(Scaled(wide, scale)), measured(AveragedScaled(wide, scale, wide, scale, scale))}
        assert len(lengths) == 1
        assert lengths.pop() == pytest.approx(0.09 * (u.astype(float) ** 2).sum(), rel=1e-14)
        assert measured(Scaled(u[0], scale)) == pytest.approx(0.09 * (u[0].astype(float) ** 2).sum(), rel=1e-14)
