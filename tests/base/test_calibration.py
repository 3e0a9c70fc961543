"""Probabilities from scores of any size: as good as Platt's, which are fitted afterwards."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from onepass import PAClassifier
from onepass.compiled.calibration import AA, BB, OFFSET, SLOPE, START, calibrate_binary, calibrate_multiclass, probabilities
from shared import dataset

NO_WEIGHTS, NO_CHANCES = np.empty(0), np.empty((0, 0))
RNG = np.random.default_rng(0)
N = 20_000
LOGITS = 2 * RNG.normal(size=N) - 1
Y = np.where(RNG.random(N) < expit(LOGITS), 1.0, -1.0)
MANY = 2 * RNG.normal(size=(N, 5))
LABELS = (softmax(MANY, axis=1).cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)


def learned(scores: Any, y: Any, platt: Any = START) -> Any:
    platt = np.array(platt)
    step = calibrate_binary if scores.ndim == 1 else calibrate_multiclass
    step(platt, scores.reshape(len(y), -1), y, NO_WEIGHTS, NO_CHANCES)
    return platt


def proba(platt: Any, scores: Any) -> Any:
    out = np.empty((len(scores), 2 if scores.ndim == 1 else scores.shape[1]))
    probabilities(platt, scores.reshape(len(scores), -1), out)
    return out


PROBLEMS = {"two": ((LOGITS + 1) / 3, Y), "many": (MANY / 3, LABELS)}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_the_unit_of_the_scores_does_not_count(problem: str, factor: float, n: int) -> None:
    scores, y = PROBLEMS[problem]
    expected = proba(learned(scores[:n], y[:n]), scores)
    np.testing.assert_allclose(proba(learned(factor * scores[:n], y[:n]), factor * scores), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("factor", [1e-5, 1.0, 1e5])
def test_slope_and_offset_are_found(factor: float) -> None:
    scores, y = PROBLEMS["two"]
    platt = learned(factor * scores, y)
    assert platt[SLOPE] * factor == pytest.approx(3, rel=0.05)
    assert platt[OFFSET] == pytest.approx(-1, abs=0.1)
    scores, y = PROBLEMS["many"]
    assert learned(factor * scores, y)[SLOPE] * factor == pytest.approx(3, rel=0.05)


# How large the scores are along the way, beside their size in the end.
ALONG = {
    "growing": np.linspace(0, 1, N),
    "tiny at first": np.where(np.arange(N) < 300, 1e-4, 1.0),
    "shrinking": 1e4 / np.arange(100, N + 100),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("along", ALONG)
def test_scores_that_change_their_size(problem: str, along: str) -> None:
    """The slope for the scores of now, which are those that will be asked about."""
    scores, y = PROBLEMS[problem]
    changing = (ALONG[along] * scores.T).T
    slope = learned(changing, y)[SLOPE] * ALONG[along][-1]
    assert 3 / 1.5 < slope < 3 * 1.5


def test_scores_of_zero_teach_the_offset() -> None:
    platt = learned(np.zeros(N), Y)
    assert np.isfinite(platt).all()
    assert platt[SLOPE] == 0
    assert expit(platt[OFFSET]) == pytest.approx(np.mean(Y > 0), abs=0.01)
    many = learned(np.zeros((N, 5)), LABELS)
    assert np.isfinite(many).all()
    assert many[SLOPE] == 0


def test_a_confident_mistake_does_not_overshoot() -> None:
    scores, y = PROBLEMS["two"]
    platt = learned(np.append(scores[:1000], 100.0), np.append(y[:1000], -1.0))
    assert platt[SLOPE] > 0


def test_two_classes_mean_the_same_in_the_form_for_many() -> None:
    """A model of two classes with the score f may turn into one of many, with -f/2 and f/2."""
    scores, y = PROBLEMS["two"]
    platt = learned(scores[:1000], y[:1000])
    platt[OFFSET] = 0
    f, pair = scores[1000:1001], np.column_stack([-scores / 2, scores / 2])[1000:1001]
    np.testing.assert_allclose(proba(platt, pair), proba(platt, f), rtol=1e-12)
    one, other = learned(f, y[1000:1001], platt), learned(pair, (y[1000:1001] > 0).astype(int), platt)
    np.testing.assert_allclose(one[[AA, BB]], other[[AA, BB]], rtol=1e-12)


def test_a_slope_from_an_older_file_goes_on() -> None:
    """They had the curvature of the slope alone for many classes, and BB = 1."""
    scores, y = PROBLEMS["many"]
    for n in (1, 10, 100, 1000):
        assert learned(scores[:n], y[:n], (3.0, 0.0, 500.0, 0.0, 1.0))[SLOPE] == pytest.approx(3, rel=0.25)


@pytest.mark.parametrize("C", [1.0, 1e-2, 1e-4, 1e-6])
def test_as_good_as_platt_on_the_same_scores(C: float) -> None:
    data = dataset("a9a")
    assert data.y_test is not None
    model = PAClassifier(C=C, average=True, calibrate=True)
    scores, half = model.test_then_train(data.X, data.y, classes=[-1, 1]), len(data.y) // 2
    unit = scores.std()
    platt = LogisticRegression(C=1e6).fit(scores[half:, None] / unit, data.y[half:])
    theirs = platt.predict_proba(model.decision_function(data.X_test)[:, None] / unit)[:, 1]

    def brier(p: Any) -> float:
        return float(np.mean((p - (data.y_test > 0)) ** 2))

    assert brier(model.predict_proba(data.X_test)[:, 1]) < brier(theirs) + 0.003


@pytest.mark.parametrize("labels", [2, 3])
def test_scores_of_any_size_give_probabilities(labels: int) -> None:
    """Squares of scores may overflow or vanish, and one of each may come after the other."""
    for sizes in permutations([1e-170, 3e-161, 1e-150, 1.0, 1e150]):
        platt, out = np.array(START), np.empty((1, labels))
        for size in sizes:
            score = size * np.array([[0.7]] if labels == 2 else [[0.3, -0.5, 0.1]])
            if labels == 2:
                calibrate_binary(platt, score, np.array([-1.0]), NO_WEIGHTS, NO_CHANCES)
            else:
                calibrate_multiclass(platt, score, np.array([1]), NO_WEIGHTS, NO_CHANCES)
            probabilities(platt, score, out)
            np.testing.assert_allclose(out.sum(), 1)
        assert np.isfinite(platt).all()
