"""C="auto": candidates side by side in one pass, and the shares that they have in the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import onepass
from onepass import ActiveLearner, PAClassifier, PAMOClassifier, datasets
from onepass.compiled.hedge import ETA, SPREAD
from shared import dataset

MODELS = [
    PAClassifier(C="auto"),
    PAClassifier(C="auto", variant="II", average=True),
    PAMOClassifier(4, C="auto", random_state=3),
    PAMOClassifier(4, C="auto", C_r=0.1, average=True, random_state=3),
]
both_tasks = pytest.mark.parametrize("task", ["binary", "multiclass"])
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


def problem(task: str, n: int = 300, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    signal = X @ [1.0, -2.0, 0.5, 1.5, -1.0] + rng.normal(size=n)
    return X, (signal > 0).astype(int) if task == "binary" else np.digitize(signal, [-1.0, 1.0])


def losses(scores: Any, y: Any) -> Any:
    """What each candidate's scores are worth: (n, candidates), from (candidates, n) or (candidates, n, K)."""
    if scores.ndim == 2:
        margins = np.where(y == 1, 1, -1) * scores
    else:
        label = np.take_along_axis(scores, y[None, :, None], axis=2)[..., 0]
        rivals = np.where(np.arange(scores.shape[2]) == y[:, None], -np.inf, scores)
        margins = label - rivals.max(axis=2)
    return np.clip((1 - margins) / 2, 0, 1).T


def hedge(losses: Any) -> Any:
    """The shares before each example and after the last, in plain NumPy."""
    n = losses.shape[1]
    shares = [np.full(n, 1 / n)]
    for loss in losses:
        p = shares[-1]
        if loss.min() < loss.max():
            p = p * np.exp(-ETA * loss)
            p = (1 - SPREAD) * p / p.sum() + SPREAD / n
        shares.append(p)
    return np.array(shares)


def apart(model: Any, X: Any, y: Any) -> tuple[list[Any], Any]:
    """The candidates as models of their own, and the scores of each along the pass. For PA a C is relative to the mean |x|^2 so far,
    which is a matter of weights."""
    norms2 = (X**2).sum(axis=1) + model.fit_intercept
    pace = np.arange(1, len(y) + 1) / np.cumsum(norms2) if model._relative else np.ones(len(y))
    models = [onepass.learners()[type(model).__name__](**{**model.get_params(), "C": C}) for C in model._candidates]
    return models, np.array([one.test_then_train(X, y, classes=np.unique(y), sample_weight=pace) for one in models])


@pytest.mark.plain
@both_tasks
@every_model
@pytest.mark.parametrize("storage", [np.asarray, pytest.param(sp.csr_array, marks=pytest.mark.slow)], ids=["dense", "sparse"])
def test_candidates_are_models_of_their_own(model: Any, task: str, storage: Any) -> None:
    """The scores are the weighted sum of those of plain models, each with its C, and the weights those of the hedge."""
    X, y = problem(task)
    model = model.copy()
    scores = model.test_then_train(storage(X), y, classes=np.unique(y))
    _, each = apart(model, X, y)
    shares = hedge(losses(each, y))
    np.testing.assert_allclose(scores, np.einsum("tc,ct...->t...", shares[:-1], each), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.C_shares_, shares[-1], rtol=1e-7)
    assert model.C_shares_.sum() == pytest.approx(1)
    assert model.C_shares_.max() > 2 / len(model.C_shares_), "the data must tell the candidates apart"


@both_tasks
def test_the_loss_is_near_that_of_the_best_candidate(task: str) -> None:
    """The bound of the hedge, for the loss that it is about: within ln(n)/eta + eta T/8 of the best, and what spreading costs."""
    X, y = problem(task, 2000)
    model = PAClassifier(C="auto").fit(X, y)
    _, each = apart(model, X, y)
    loss = losses(each, y)
    mixed, n, T = (hedge(loss)[:-1] * loss).sum(), loss.shape[1], len(y)
    assert mixed <= loss.sum(axis=0).min() + (np.log(n) - T * np.log(1 - SPREAD)) / ETA + ETA * T / 8
    assert mixed <= 1.05 * loss.sum(axis=0).min(), "and in practice much nearer"


@both_tasks
@pytest.mark.parametrize("average", [None, pytest.param(True, marks=pytest.mark.plain)])
def test_linear_candidates_are_one_linear_model(task: str, average: Any) -> None:
    X, y = problem(task)
    model = PAClassifier(C="auto", average=average).fit(X, y)
    scores = (X @ model.coef_.T + model.intercept_).squeeze()
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-9, atol=1e-9)


@pytest.mark.plain
def test_the_embedding_is_that_of_the_largest_share() -> None:
    X, y = problem("binary")
    model = PAMOClassifier(4, C="auto", random_state=3).fit(X, y)
    models, _ = apart(model, X, y)
    np.testing.assert_allclose(model.embed(X), models[model.C_shares_.argmax()].embed(X), rtol=1e-7, atol=1e-9)


def test_c_follows_the_size_of_the_rows() -> None:
    """Rows that are a thousand times as large: the same model, a thousand times as small."""
    X, y = problem("binary")
    model, large = (PAClassifier(C="auto", fit_intercept=False).fit(X * size, y) for size in (1.0, 1000.0))
    np.testing.assert_allclose(large.C_, model.C_ / 1e6, rtol=1e-9)
    np.testing.assert_allclose(large.coef_, model.coef_ / 1e3, rtol=1e-6)
    np.testing.assert_allclose(large.C_shares_, model.C_shares_, rtol=1e-6)
    assert model.C_[0] == pytest.approx(len(y) / (X**2).sum() / 1024)


def test_costs_decide_on_the_shares() -> None:
    """With dear misses, the value of C that costs least has the largest share."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 5))
    y = (X @ [1.0, -2.0, 0.5, 1.5, -1.0] + 2 * rng.normal(size=6000) > 0).astype(int)
    costs = {"costs": [[0, 1], [20, 0]], "update": "max_loss"}
    model = PAClassifier(C="auto", **costs).fit(X, y)
    _, each = apart(model, X, y)
    paid = [(np.array(costs["costs"])[y, (scores >= 0).astype(int)]).sum() for scores in each]
    best = sorted(paid)[1]
    assert paid[model.C_shares_.argmax()] <= best


def test_what_was_learned_is_read_from_the_state() -> None:
    X, y = problem("binary")
    model = PAClassifier(C="auto").fit(X, y)
    weights = model.coef_
    np.testing.assert_array_equal(model.set_params(C=1.0).coef_, weights)
    assert len(model.C_shares_) == 7
    plain = PAClassifier().fit(X, y).set_params(C="auto")
    assert plain.coef_.shape == (1, 5)
    np.testing.assert_array_equal(plain.C_shares_, [1.0])


def test_shares_follow_a_drift() -> None:
    """Small steps are best while a noisy concept rests, large ones when it turns quickly."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    rest = (X[:3000, 0] > 0) ^ (rng.random(3000) < 0.2)
    turn = np.linspace(0, 60 * np.pi, 3000)
    labels = np.concatenate([rest, np.cos(turn) * X[3000:, 0] + np.sin(turn) * X[3000:, 1] > 0])
    model = PAClassifier(C="auto").partial_fit(X[:3000], labels[:3000], classes=[False, True])
    before = model.C_shares_ @ np.log(model.C_)
    after = model.partial_fit(X[3000:], labels[3000:]).C_shares_ @ np.log(model.C_)
    assert after > before + np.log(16)


def test_weights_count() -> None:
    """An example of weight 0 changes no share; a huge weight leaves the shares numbers."""
    X, y = problem("binary")
    model = PAClassifier(C="auto").fit(X, y)
    shares = model.C_shares_
    model.partial_fit(X[:5], y[:5], sample_weight=np.zeros(5))
    np.testing.assert_array_equal(model.C_shares_, shares)
    model.partial_fit(X[:5], 1 - y[:5], sample_weight=np.full(5, 1e6))
    assert np.isfinite(model.C_shares_).all()
    assert model.C_shares_.sum() == pytest.approx(1)


def test_labels_and_features_that_come_later() -> None:
    model, drawn = PAClassifier(C="auto"), PAMOClassifier(4, C="auto", random_state=0)
    for learner in (model, drawn):
        for _ in range(30):
            learner.learn_one({"free": 1}, "spam")
            learner.learn_one({"noon": 1}, "ham")
            learner.learn_one({"order": 1}, "bills")
        assert [learner.predict_one({name: 1}) for name in ("free", "noon", "order")] == ["spam", "ham", "bills"]
    assert model.coef_.shape == (3, 3)


def test_it_goes_with_the_rest() -> None:
    X, y = datasets.sea(2000, random_state=0)
    asked = ActiveLearner(PAClassifier(C="auto"), delta=0.1, random_state=0).fit(X, y)
    assert 0 < asked.asked_ < 2000
    proba = PAClassifier(C="auto", calibrate=True, class_weight="balanced").fit(X, y).predict_proba(X)
    assert ((proba >= 0) & (proba <= 1)).all()
    costs = PAClassifier(C="auto", costs=[[0, 1], [9, 0]], update="max_loss", classes=[0, 1]).fit(X, y)
    plain = PAClassifier(C="auto").fit(X, y)
    assert costs.predict(X).mean() > plain.predict(X).mean()


def test_clear_errors() -> None:
    X, y = problem("binary")
    with pytest.raises(ValueError, match=r'C="auto" is for the variants "I" and "II"'):
        PAClassifier(C="auto", variant="hard").fit(X, y)
    with pytest.raises(ValueError, match="The 'C' parameter of PAClassifier"):
        PAClassifier(C="best").fit(X, y)
    with pytest.raises(ValueError, match="The 'C' parameter of PAMORegressor"):
        onepass.PAMORegressor(C="auto").fit(X, y)
    with pytest.raises(ValueError, match="no longer fit what it has learned"):
        PAClassifier(C="auto").fit(X, y).set_params(C=1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="no longer fit what it has learned"):
        PAClassifier(C=1.0).fit(X, y).set_params(C="auto").partial_fit(X, y)


def test_it_spares_the_search() -> None:
    """a9a, the first 10,000 rows: near the best of its values, which the default is far from."""
    data = dataset("a9a")
    X, y = data.X[:10_000], data.y[:10_000]

    def mistakes(C: Any) -> float:
        scores = PAClassifier(C=C).test_then_train(X, y, classes=[-1, 1])
        return float(np.mean((scores >= 0) != (y > 0)))

    best = min(mistakes(C) for C in PAClassifier(C="auto").fit(X, y).C_)
    assert mistakes("auto") < best + 0.003 < mistakes(1.0) - 0.03
