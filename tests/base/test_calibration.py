"""Probabilities from scores of any size: as good as Platt's, which are fitted afterwards."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

import onepass
from onepass import ActiveLearner, AROWClassifier, PAClassifier, StandardScaler, pipeline
from onepass.base.saving import read
from onepass.compiled.calibration import (
    AA,
    BB,
    FEW,
    OFFSET,
    RESERVE,
    SLOPE,
    START,
    calibrate_binary,
    calibrate_multiclass,
    probabilities,
)
from shared import dataset, snapshot

NO_WEIGHTS, NO_CHANCES = np.empty(0), np.empty((0, 0))
RNG = np.random.default_rng(0)
N = 20_000
LOGITS = 2 * RNG.normal(size=N) - 1
Y = np.where(RNG.random(N) < expit(LOGITS), 1.0, -1.0)
MANY = 2 * RNG.normal(size=(N, 5))
LABELS = (softmax(MANY, axis=1).cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)


def of_classes(K: int) -> tuple[Any, Any]:
    """Fresh numbers of each class, and their sums of squares."""
    shape = K, K + 1 if K <= FEW else 1
    return np.zeros(shape), np.full(shape, RESERVE)


def learned(scores: Any, y: Any, platt: Any = START) -> Any:
    """Platt's numbers, and those of each class."""
    platt, (A, G) = np.array(platt), of_classes(2 if scores.ndim == 1 else scores.shape[1])
    if scores.ndim == 1:
        calibrate_binary(platt, scores.reshape(len(y), 1), y, NO_WEIGHTS, NO_CHANCES)
    else:
        calibrate_multiclass(platt, A, G, scores, y, NO_WEIGHTS, NO_CHANCES)
    return platt, A


def proba(calibrated: Any, scores: Any) -> Any:
    out = np.empty((len(scores), 2 if scores.ndim == 1 else scores.shape[1]))
    probabilities(*calibrated, scores.reshape(len(scores), -1), out)
    return out


def log_loss(p: Any, y: Any) -> float:
    return float(-np.log(p[np.arange(len(y)), y]).mean())


PROBLEMS = {"two": ((LOGITS + 1) / 3, Y), "many": (MANY / 3, LABELS)}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_the_unit_of_the_scores_does_not_count(problem: str, factor: float, n: int) -> None:
    scores, y = PROBLEMS[problem]
    expected = proba(learned(scores[:n], y[:n]), scores)
    np.testing.assert_allclose(proba(learned(factor * scores[:n], y[:n]), factor * scores), expected, rtol=1e-6, atol=1e-9)


def slope_of(calibrated: Any, scores: Any) -> float:
    """How much the logits of these scores grow with them."""
    if scores.ndim == 1:
        return float(calibrated[0][SLOPE])
    logits = np.log(proba(calibrated, scores))
    logits, scores = (each - each.mean(axis=1, keepdims=True) for each in (logits, scores))
    return float((logits * scores).sum() / (scores * scores).sum())


@pytest.mark.parametrize("factor", [1e-5, 1.0, 1e5])
def test_slope_and_offset_are_found(factor: float) -> None:
    scores, y = PROBLEMS["two"]
    platt, _ = learned(factor * scores, y)
    assert platt[SLOPE] * factor == pytest.approx(3, rel=0.05)
    assert platt[OFFSET] == pytest.approx(-1, abs=0.1)
    scores, y = PROBLEMS["many"]
    assert slope_of(learned(factor * scores, y), factor * scores) * factor == pytest.approx(3, rel=0.05)


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
    slope = slope_of(learned(changing, y), scores * ALONG[along][-1]) * ALONG[along][-1]
    assert 3 / 1.5 < slope < 3 * 1.5


def test_scores_of_zero_teach_the_offset() -> None:
    platt, _ = learned(np.zeros(N), Y)
    assert np.isfinite(platt).all()
    assert platt[SLOPE] == 0
    assert expit(platt[OFFSET]) == pytest.approx(np.mean(Y > 0), abs=0.01)
    rare = np.where(LABELS == 4, RNG.integers(0, 5, N), LABELS)
    many = learned(np.zeros((N, 5)), rare)
    assert many[0][SLOPE] == 0
    np.testing.assert_allclose(proba(many, np.zeros((1, 5)))[0], np.bincount(rare) / N, atol=0.03)


def test_a_confident_mistake_does_not_overshoot() -> None:
    scores, y = PROBLEMS["two"]
    platt, _ = learned(np.append(scores[:1000], 100.0), np.append(y[:1000], -1.0))
    assert platt[SLOPE] > 0


def test_two_classes_mean_the_same_in_the_form_for_many() -> None:
    """A model of two classes with the score f may turn into one of many, with -f/2 and f/2."""
    scores, y = PROBLEMS["two"]
    platt, A = learned(scores[:1000], y[:1000])
    platt[OFFSET] = 0
    f, pair = scores[1000:1001], np.column_stack([-scores / 2, scores / 2])[1000:1001]
    np.testing.assert_allclose(proba((platt, A), pair), proba((platt, A), f), rtol=1e-12)
    one, other = learned(f, y[1000:1001], platt)[0], learned(pair, (y[1000:1001] > 0).astype(int), platt)[0]
    np.testing.assert_allclose(one[[AA, BB]], other[[AA, BB]], rtol=1e-12)


def test_a_slope_from_an_older_file_goes_on() -> None:
    """They had the curvature of the slope alone for many classes, and BB = 1."""
    scores, y = PROBLEMS["many"]
    for n in (1, 10, 100, 1000):
        calibrated = learned(scores[:n], y[:n], (3.0, 0.0, 500.0, 0.0, 1.0))
        assert slope_of(calibrated, scores) == pytest.approx(3, rel=0.25)


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
        platt, (A, G), out = np.array(START), of_classes(labels), np.empty((1, labels))
        for size in sizes:
            score = size * np.array([[0.7]] if labels == 2 else [[0.3, -0.5, 0.1]])
            if labels == 2:
                calibrate_binary(platt, score, np.array([-1.0]), NO_WEIGHTS, NO_CHANCES)
            else:
                calibrate_multiclass(platt, A, G, score, np.array([1]), NO_WEIGHTS, NO_CHANCES)
            probabilities(platt, A, score, out)
            np.testing.assert_allclose(out.sum(), 1)
        assert all(np.isfinite(array).all() for array in (platt, A, G))


@pytest.mark.plain
@pytest.mark.parametrize("wrap", [lambda learner: learner, lambda learner: pipeline(StandardScaler(), learner), ActiveLearner])
@pytest.mark.parametrize("name", ["predict_proba", "predict_proba_one"])
def test_what_to_do_without_probabilities_is_said(wrap: Any, name: str) -> None:
    model = wrap(PAClassifier())
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=re.escape("PAClassifier(calibrate=True)")):
        getattr(model, name)
    assert hasattr(wrap(PAClassifier(calibrate=True)), name)
    assert not hasattr(wrap(PAClassifier()), "score_samples")


# --- many classes ---


def test_a_class_that_takes_scores_along_is_told_apart() -> None:
    """What one slope can't say: class 0 is rare, the scores of class 1 are twice as large as they should be, 2 follows 3."""
    logits = MANY.copy()
    logits[:, 0] -= 2
    logits[:, 2] += logits[:, 3]
    labels = (softmax(logits, axis=1).cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
    scores, half = MANY / 3, N // 2
    scores[:, 1] *= 2
    ours = log_loss(proba(learned(scores[:half], labels[:half]), scores[half:]), labels[half:])
    best = LogisticRegression(C=1e6, max_iter=1000).fit(scores[:half], labels[:half])
    assert ours < log_loss(best.predict_proba(scores[half:]), labels[half:]) + 0.01


def naive_many(scores: Any, labels: Any) -> Any:
    """The probabilities of each row before its label is known, by the formula."""
    K = scores.shape[1]
    few = K <= FEW
    slope, AA, BB, A, G, out = 0.0, 0.0, 1.0, np.zeros((K, K + 1)), np.full((K, K + 1), RESERVE), []
    for f, y in zip(scores, labels, strict=True):
        size = np.sqrt(AA / BB)
        x = np.append(1.0, np.clip(f / size, -8, 8) if size > 0 and few else 0 * f)
        p = softmax(slope * f + A @ x)
        out.append(p)
        g, miss = p @ f - f[y], 1 - p[y]
        left, before = 1 - miss**2 / BB / 2, AA / BB
        AA, BB = left * AA + g**2, left * BB + miss**2
        slope = slope * (np.sqrt(before * BB / AA) if before > 0 else 1) - g / (AA * (1 + 1 / BB))
        gradient = np.outer(p - (np.arange(K) == y), x)
        G += gradient**2
        A -= 0.3 * gradient / np.sqrt(G)
    return np.array(out)


@pytest.mark.plain
@pytest.mark.compiled
@pytest.mark.parametrize("K", [3, 5, FEW, FEW + 1])
def test_many_classes_by_the_formula(K: int) -> None:
    rng = np.random.default_rng(K)
    scores, labels = rng.normal(size=(100, K)), rng.integers(0, K, 100)
    platt, (A, G), out = np.array(START), of_classes(K), np.empty((100, K))
    for t in range(100):
        probabilities(platt, A, scores[t : t + 1], out[t : t + 1])
        calibrate_multiclass(platt, A, G, scores[t : t + 1], labels[t : t + 1], NO_WEIGHTS, NO_CHANCES)
    np.testing.assert_allclose(out, naive_many(scores, labels), rtol=1e-9)


def grown_to(K: int) -> Any:
    """A calibrated model that has met K labels, one after the other and not in their order, and its examples."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(K)[::-1], rng.integers(0, K, 200)])
    X = rng.normal(size=(len(y), 4)) + y[:, None] / 3
    return PAClassifier(calibrate=True, grow=True), X, y


@pytest.mark.plain
@pytest.mark.compiled
@pytest.mark.parametrize("K", [3, FEW, FEW + 2])
def test_labels_that_come_bring_their_numbers(K: int) -> None:
    """Whichever way the stream is cut; and what there was stays with its label."""
    (model, X, y), (other, _, _) = grown_to(K), grown_to(K)
    model.partial_fit(X, y)
    for x, label in zip(X, y, strict=True):
        other.learn_one(x, int(label))
    assert snapshot(model) == snapshot(other)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    state = model._state
    assert state.arrays["platt_classes"].shape == ((K, K + 1) if K <= FEW else (K, 1))
    wider = state.with_class(0.5)[0]
    kept = [0, *range(2, K + 1)]
    columns = [0, 1, *range(3, K + 2)] if K < FEW else [0]
    expected = state.arrays["platt_classes"][:, : len(columns)]
    np.testing.assert_array_equal(wider.arrays["platt_classes"][np.ix_(kept, columns)], expected)
    assert (wider.arrays["platt_squares"][1] == RESERVE).all()


def test_a_file_from_before_classes_had_numbers_loads_and_goes_on(tmp_path: Path) -> None:
    model, X, y = grown_to(4)
    model.fit(X, y).save(tmp_path / "new")
    header, arrays = read(tmp_path / "new")
    old = {name: array for name, array in arrays.items() if name not in ("platt_classes", "platt_squares")}
    for version in (1, 2):
        (tmp_path / "old").write_bytes(save(old, {"onepass": json.dumps({**header, "format": version})}))
        again = onepass.load(tmp_path / "old").partial_fit(X, y)
        assert log_loss(again.predict_proba(X), y) < np.log(4)


@pytest.mark.parametrize(
    ("learner", "most"),
    [(PAClassifier(0.01, calibrate=True), 0.72), (AROWClassifier(calibrate=True), 0.80)],
    ids=["PA", "AROW"],
)
def test_covtype(learner: Any, most: float) -> None:
    """Logistic regression has a log loss of 0.64 in many passes; with one slope for all classes these had 0.80 and 0.96."""
    data = dataset("covtype")
    order = np.random.default_rng(0).permutation(len(data.y))[:200_000]
    X, (classes, y) = data.X[order], np.unique(data.y[order], return_inverse=True)
    model, losses = pipeline(StandardScaler(), learner), []
    for start in range(0, len(y), 200):  # a block is predicted before it is learned from
        block = slice(start, start + 200)
        if start:
            losses.append(log_loss(model.predict_proba(X[block]), y[block]))
        model.partial_fit(X[block], y[block], classes=range(len(classes)))
    assert np.mean(losses) < most
