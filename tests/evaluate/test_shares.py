"""The shares of a committee along a stream: noted at regular places, whatever pieces the stream comes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onepass import Committee, PAClassifier, StandardScaler, datasets, pipeline
from onepass.evaluate import ADWIN, Prequential, prequential
from onepass.evaluate.shares import FIRST, POINTS, Shares, cuts, spacing

X, y = datasets.sea(10_000, random_state=0)


def assert_same(one: Prequential, other: Prequential) -> None:
    assert one.metrics == other.metrics
    assert one.shares is not None
    assert other.shares is not None
    np.testing.assert_array_equal(one.shares.positions, other.shares.positions)
    for name, values in one.shares.values.items():
        np.testing.assert_array_equal(values, other.shares[name])


def test_they_are_noted_at_regular_places_and_at_the_end() -> None:
    model = Committee()
    shares = prequential(model, (X, y)).shares
    assert shares is not None
    step = spacing(len(y))
    assert shares.positions.tolist() == [*range(0, len(y), step), len(y)]
    assert {name: values[-1] for name, values in shares.values.items()} == model.shares_
    np.testing.assert_allclose(np.sum(list(shares.values.values()), axis=0), 1)


def test_there_are_never_too_many() -> None:
    model = Committee().fit(X[:50], y[:50])
    places = Shares(model)
    for start, stop in cuts(model, 0, 50 * FIRST * POINTS):
        places.learned(stop - start)
        assert len(places._noted) <= POINTS + 1
    assert len(places._noted) > POINTS / 2


@pytest.mark.parametrize("size", [7, 100, 1000])
def test_pieces_do_not_matter(size: int) -> None:
    def pieces() -> Any:
        return [(X[i : min(i + size, 3000)], y[i : min(i + size, 3000)]) for i in range(0, 3000, size)]

    whole = prequential(pipeline(StandardScaler(), Committee()), (X[:3000], y[:3000]))
    assert_same(prequential(pipeline(StandardScaler(), Committee()), pieces()), whole)


def test_delays_and_drifts_do_not_stand_in_the_way() -> None:
    late = prequential(Committee(), (X, y), delay=10)
    assert late.shares is not None
    assert late.shares.positions[-1] == len(y)
    y2 = np.where(np.arange(len(y)) < 5000, y, 1 - y)
    watched = prequential(Committee(), (X, y2), drift=ADWIN(), on_drift="reset")
    assert watched.drifts
    assert watched.shares is not None
    assert watched.shares.positions[-1] == len(y)


def test_single_examples_have_them_and_other_models_none() -> None:
    singles = [({"a": a, "b": b}, label) for (a, b), label in zip(X[:2000, :2].tolist(), y[:2000].tolist(), strict=True)]
    shares = prequential(Committee(), singles).shares
    assert shares is not None
    assert len(shares.positions) > 3
    assert prequential(PAClassifier(), (X, y)).shares is None


def test_a_model_that_goes_on_begins_with_those_it_has() -> None:
    model = Committee().fit(X[:5000], y[:5000])
    before = model.shares_
    shares = prequential(model, (X[5000:], y[5000:])).shares
    assert shares is not None
    assert {name: values[0] for name, values in shares.values.items()} == before
