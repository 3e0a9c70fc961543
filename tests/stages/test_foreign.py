"""Transformers of scikit-learn and river as stages: the promises hold for them, too."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler

import onepass
from onepass import ActiveLearner, PAClassifier, PARegressor, UnitNorm, evaluate, pipeline
from shared import snapshot

pytestmark = pytest.mark.plain

RNG = np.random.default_rng(5)
N = 24
X = (RNG.normal(2.0, [1.0, 5.0, 0.2], (N, 3)) * (RNG.random((N, 3)) < 0.8)).round(3)
X[0] = [1.0, 2.0, 3.0]
Y = X @ [1.0, 0.3, -2.0] > 0.5
DICTS = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
WAYS: dict[str, Callable[[], Any]] = {
    "arrays": lambda: X,
    "csr": lambda: sp.csr_array(X),
    "dicts": lambda: DICTS,
    "pandas": lambda: pd.DataFrame(DICTS),
    "polars": lambda: pl.DataFrame(DICTS),
}


def of_river(name: str) -> Any:
    return getattr(import_module("river.preprocessing"), name)()


TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "MinMaxScaler": MinMaxScaler,
    "MaxAbsScaler": MaxAbsScaler,
    "fitted PCA": lambda: PCA(2).fit(X),
    "Normalizer": Normalizer,
    "river's StandardScaler": lambda: of_river("StandardScaler"),
    "river's MaxAbsScaler": lambda: of_river("MaxAbsScaler"),
}
every_transformer = pytest.mark.parametrize("make", TRANSFORMERS.values(), ids=TRANSFORMERS)


def some(table: Any, start: int, stop: int) -> Any:
    return table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]


@every_transformer
@pytest.mark.parametrize("way", WAYS)
def test_cuts_do_not_matter_and_rows_are_predicted_before_they_are_learned(make: Any, way: str) -> None:
    table = WAYS[way]()
    whole, cut = (pipeline(make(), PAClassifier(grow="labels")) for _ in range(2))
    if way == "csr" and isinstance(make(), MinMaxScaler):  # which takes no sparse rows, and says so
        whole.partial_fit(X, Y)
        before = snapshot(whole[-1])
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            whole.partial_fit(table, Y)
        assert snapshot(whole[-1]) == before
        return
    before = whole.test_then_train(table, Y)
    for start, stop in pairwise([0, 1, 2, 9, 20, N]):
        if start:
            assert cut.decision_function(some(table, start, start + 1))[0] == before[start] or np.isnan(before[start])
        cut.partial_fit(some(table, start, stop), Y[start:stop])
    assert whole.decision_function(table).tolist() == cut.decision_function(table).tolist()
    assert snapshot(whole[-1]) == snapshot(cut[-1])
    again = pickle.loads(pickle.dumps(cut))
    assert again.decision_function(table).tolist() == cut.decision_function(table).tolist()
    again.partial_fit(table, Y)
    cut.partial_fit(table, Y)
    assert again.decision_function(table).tolist() == cut.decision_function(table).tolist()


@every_transformer
def test_ways_in_do_not_matter(make: Any) -> None:
    """Arrays, frames, dicts, one by one, and a stream. Names are the only difference: a transformer of river sees them."""
    scores = []
    for way in ("arrays", "dicts", "pandas", "polars"):
        model = pipeline(make(), PAClassifier())
        evaluate.prequential(model, (WAYS[way](), Y))
        scores.append(model.decision_function(WAYS[way]()).tolist())
    model = pipeline(make(), PAClassifier(classes=[False, True]))
    for x, y in zip(DICTS, Y.tolist(), strict=True):
        model.predict_one(x)
        model.learn_one(x, y)
    scores.append(model.decision_function(DICTS).tolist())
    assert all(some == scores[0] for some in scores)


@pytest.mark.parametrize("make", [MinMaxScaler, StandardScaler])
def test_a_twin_by_hand(make: Any) -> None:
    model, scaler, learner = pipeline(make(), PAClassifier()), make(), PAClassifier()
    scores = model.test_then_train(X, Y, classes=[False, True])
    for t in range(N):
        row = X[t : t + 1]
        if t == 0:
            scaler.partial_fit(row)
        score = learner.test_then_train(scaler.transform(row), Y[t : t + 1], **({} if t else {"classes": [False, True]}))
        assert scores[t] == score[0]
        if t:
            scaler.partial_fit(row)


def test_a_twin_by_hand_of_river() -> None:
    model, scaler, learner = pipeline(of_river("StandardScaler"), PAClassifier()), of_river("StandardScaler"), PAClassifier()
    for x, y in zip(DICTS, Y.tolist(), strict=True):
        assert model.predict_one(x) == learner.predict_one(scaler.transform_one(x))
        model.learn_one(x, y)
        learner.learn_one(scaler.transform_one(x), y)
        scaler.learn_one(x)
    assert model.decision_function(DICTS).tolist() == learner.decision_function(list(map(scaler.transform_one, DICTS))).tolist()


def test_features_may_come_up_behind_a_transformer_of_river() -> None:
    words = import_module("river.feature_extraction").BagOfWords()
    texts, y = ["a good thing", "a bad thing", "good and good", "very bad"] * 5, [1, 0, 1, 0] * 5
    whole, single = (pipeline(words, onepass.StandardScaler(), PAClassifier()) for _ in range(2))
    evaluate.prequential(whole, (texts, y))
    for text, label in zip(texts, y, strict=True):
        single.learn_one(text, label)
    assert whole.predict([*texts, "unheard of"]).tolist()[:-1] == y
    assert whole.decision_function(texts).tolist() == single.decision_function(texts).tolist()
    assert whole[0].get_feature_names_out().tolist() == ["good", "thing", "bad", "and", "very"]


def test_stages_of_all_kinds_in_a_row() -> None:
    model = pipeline(UnitNorm(), MaxAbsScaler(), of_river("StandardScaler"), PARegressor()).fit(X, X @ [1.0, 0.3, -2.0])
    assert np.isfinite(model.predict(X)).all()
    asking = ActiveLearner(pipeline(MinMaxScaler(), PAClassifier(classes=[False, True])), delta=10.0, random_state=0)
    assert asking.partial_fit(X, Y).score(X, Y) > 0.6


def test_texts_categories_and_dicts() -> None:
    texts = ["free call now", "see you at home"] * 3
    model = pipeline(HashingVectorizer(n_features=64), PAClassifier()).fit(texts, [1, 0] * 3)
    assert model.predict(texts[:2]).tolist() == [1, 0]
    rows = [{"colour": "red", "size": 1.0}, {"colour": "blue", "size": 3.0}] * 4
    frame = pd.DataFrame(rows)
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough").fit(frame)
    y = ["a", "b"] * 4
    by_frame, by_dicts = (pipeline(encoder, PAClassifier()).fit(table, y) for table in (frame, rows))
    assert by_frame.decision_function(frame).tolist() == by_dicts.decision_function(rows).tolist()
    with pytest.raises(ValueError, match="has no feature 'size', which ColumnTransformer was fitted with"):
        by_dicts.predict_one({"colour": "red"})
    assert pipeline(DictVectorizer().fit(rows), PAClassifier()).fit(rows, y).predict(rows).tolist() == y


class Moody(BaseEstimator):
    """Adds up what it has seen, half of it before it fails at a bad value. What listens is called while it learns."""

    listeners: list[Any] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any = None) -> Moody:
        raise AssertionError("nobody asks for this")

    def partial_fit(self, X: Any, y: Any = None) -> Moody:
        self.sum_ = getattr(self, "sum_", 0.0) + float(X[0, 0])
        for listener in self.listeners:
            listener()
        if X[0, 0] == 99:
            raise ArithmeticError("a bad mood")
        return self

    def transform(self, X: Any) -> Any:
        return X + self.sum_


def test_errors_leave_all_steps_as_they_were() -> None:
    bad, nan = X.copy(), X.copy()
    bad[7, 0], nan[7, 1] = 99, np.nan
    model = pipeline(MaxAbsScaler().fit([[1.0] * 3]), Moody(), onepass.StandardScaler(), PAClassifier())
    model.partial_fit(X, Y, classes=[False, True])
    before = model.decision_function(X).tolist(), [step.t_ for _, step in model.steps]
    for table, y, error in ((bad, Y, ArithmeticError), (nan, Y, ValueError), (X, ["x", "y"] * (N // 2), ValueError)):
        with pytest.raises(error):
            model.partial_fit(table, y)
        assert before == (model.decision_function(X).tolist(), [step.t_ for _, step in model.steps])


def test_readers_see_all_of_a_call_or_nothing() -> None:
    model = pipeline(Moody(), PAClassifier()).partial_fit(X[:10], Y[:10], classes=[False, True])
    before, seen = model.decision_function(X).tolist(), []

    def listen() -> None:
        reader = Thread(target=lambda: seen.append(model.decision_function(X).tolist()))
        reader.start()
        reader.join()

    Moody.listeners.append(listen)
    try:
        model.partial_fit(X[10:13], Y[10:13])
    finally:
        Moody.listeners.clear()
    assert seen == [before] * 3
    assert model.decision_function(X).tolist() != before


def test_what_was_given_stays_as_it_is() -> None:
    scaler, fitted = MinMaxScaler(), PCA(2).fit(X)
    model = pipeline(scaler, PAClassifier()).fit(X, Y)
    assert not hasattr(scaler, "scale_")
    assert clone(model).fit(X, Y).decision_function(X).tolist() == model.decision_function(X).tolist()
    model = pipeline(fitted, PAClassifier()).fit(X, Y)
    copied = clone(model)
    assert not hasattr(copied, "t_")
    assert copied.fit(X, Y).decision_function(X).tolist() == model.decision_function(X).tolist()
    assert model.n_features_in_ == 3


def test_rows_without_weight_are_not_learned_from() -> None:
    weights = (np.arange(N) % 3 > 0).astype(float)
    weights[0] = 1
    some, kept = (pipeline(MinMaxScaler(), PAClassifier()) for _ in range(2))
    some.partial_fit(X, Y, classes=[False, True], sample_weight=weights)
    kept.partial_fit(X[weights > 0], Y[weights > 0], classes=[False, True])
    assert some.decision_function(X).tolist() == kept.decision_function(X).tolist()
    assert some[0].t_ == kept[0].t_ == weights.sum()


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="This PCA is not fitted, and has no partial_fit"):
        pipeline(PCA(), PAClassifier())
    with pytest.raises(TypeError, match="a learner of onepass at the end"):
        pipeline(MinMaxScaler(), SGDClassifier()).fit(X, Y)
    model = pipeline(MinMaxScaler(), PAClassifier()).fit(X, Y)
    with pytest.raises(ValueError, match=r"holds a MinMaxScaler of another library.*use pickle"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    supervised = import_module("river.feature_extraction").TargetAgg(by="a", how=import_module("river.stats").Mean())
    with pytest.raises(TypeError, match="TargetAgg learns from labels"):
        pipeline(supervised, PAClassifier())
