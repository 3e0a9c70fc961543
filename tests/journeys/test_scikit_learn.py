"""Somebody who comes from scikit-learn, with a raw frame."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from onepass import AROWClassifier, Table, UnitNorm, pipeline
from people import people

pytestmark = pytest.mark.plain


def test_a_raw_frame_goes_straight_into_a_pipeline() -> None:
    X, y = people(600)
    majority = max(np.mean(y == "stays"), np.mean(y == "leaves"))
    model = pipeline(Table(256), UnitNorm(), AROWClassifier())
    scores = cross_val_score(model, X, y, cv=3)
    assert scores.min() > majority + 0.15
    search = GridSearchCV(model, {"arowclassifier__r": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_estimator_[0].kinds_ == {"age": "number", "city": "category", "joined": "date", "note": "text"}
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(X) == search.predict(X)).all()
    assert not hasattr(clone(again).learner, "coef_")


def test_stages_of_scikit_learn_before_a_learner_of_ours() -> None:
    X, y = people(600)
    X = X.assign(age=X["age"].fillna(50), city=X["city"].fillna("nowhere"), note=X["note"].str.split().str[0])
    front = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["city", "note"]))
    theirs = make_pipeline(front, AROWClassifier()).fit(X[:400], y[:400])
    assert theirs.score(X[400:], y[400:]) > 0.85
    ours = pipeline(front.fit(X[:400]), AROWClassifier()).fit(X[:400], y[:400])
    assert (ours.predict(X[400:]) == theirs.predict(X[400:])).all()
