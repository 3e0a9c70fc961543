"""The promises that all learners keep, of those of structured outputs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from onepass.structured import outputs as engine
from promised import check_cuts, check_going_on, check_one_by_one, check_weights, ways_to_go_on
from sentences import FORMS, TAGS, data, made
from shared import snapshot

plain = pytest.mark.plain
compiled = pytest.mark.compiled
every = pytest.mark.parametrize("form", FORMS)
most = pytest.mark.parametrize(
    "form", [form for form in FORMS if form != "spanning trees"]
)  # which differ by their decoder alone
one_of_each = pytest.mark.parametrize("form", ["words", "trees"])


@plain
@every
@pytest.mark.parametrize("options", [{}, {"average": None, "rule": "AROW"}, {"average": 10.0, "dtype": "float32"}], ids=str)
def test_cuts_do_not_matter(form: str, options: dict[str, Any]) -> None:
    check_cuts(lambda: made(form, **options), *data(form))


@compiled
@plain
@every
def test_compiled_cuts(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(form, 40, 0, 12)
    whole = made(form)
    told = whole.test_then_train(X, y)
    monkeypatch.setattr(engine, "BLOCK", 3)
    monkeypatch.setattr(engine, "COPIED_ALWAYS", 0)  # in place, where the state is larger than the data
    check_one_by_one(made(form), X, y, whole, told)


@plain
@most
def test_fit_is_passes(form: str) -> None:
    X, y = data(form)
    model = made(form, shuffle=False).fit(X, y)
    other = made(form).partial_fit(X, y, classes=TAGS)
    other._state.grow_classes, other._state.n_iter = True, 1
    assert snapshot(model) == snapshot(other)
    model = made(form, shuffle=False, max_iter=3, classes=TAGS).fit(X, y)
    other = made(form, classes=TAGS)
    for _ in range(3):
        other.partial_fit(X, y)
    assert snapshot(model) == snapshot(other)
    assert model.n_iter_ == 3
    assert model.t_ == 3 * len(X)
    again = [made(form, max_iter=2, random_state=7).fit(X, y) for _ in range(2)]
    assert snapshot(again[0]) == snapshot(again[1]) != snapshot(made(form, max_iter=2, random_state=8).fit(X, y))


@plain
@most
@ways_to_go_on
def test_going_on_is_never_having_stopped(form: str, way: str, tmp_path: Path) -> None:
    check_going_on(lambda: made(form, rule="AROW"), *data(form), way, tmp_path)


@plain
@most
def test_weights(form: str) -> None:
    X, y = data(form)
    options: Any = {"variant": "I", "C": 0.05}
    weights = np.arange(len(X)) % 3 / 2
    check_weights(lambda: made(form, **options), X, y, weights)
    heavy = made(form, **options).partial_fit(X, y, sample_weight=np.full(len(X), 2.0))
    assert np.array_equal(heavy.coef_, made(form, variant="I", C=0.1).partial_fit(X, y).coef_)
    with pytest.raises(ValueError, match="only be 0 or 1"):
        made(form).partial_fit(X, y, sample_weight=weights)


@plain
@one_of_each
def test_readers_in_other_threads(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a reader gets is what some whole version of the model would say."""
    monkeypatch.setattr(engine, "COPIED_ALWAYS", 0)
    X, y = data(form, 60)
    model, stop, seen = made(form).partial_fit(X[:2], y[:2]), threading.Event(), []
    versions = [model.predict(X[:5])]

    def read() -> None:
        while not stop.is_set():
            seen.append(model.predict(X[:5]))

    reader = threading.Thread(target=read)
    reader.start()
    for x, tags in zip(X[2:], y[2:], strict=True):
        model.learn_one(x, tags)
        versions.append(model.predict(X[:5]))
    stop.set()
    reader.join()
    assert seen
    assert all(one in versions for one in seen)


@plain
@one_of_each
def test_an_error_or_ctrl_c_within_a_call_leaves_no_trace(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data(form)
    model = made(form).partial_fit(X[:9], y[:9])
    before, told = snapshot(model), model.predict(X)
    monkeypatch.setattr(engine, "BLOCK", 4)
    runs, run = [], engine.OutputLearner._run

    def interrupted(self: Any, *arguments: Any) -> None:
        run(self, *arguments)
        runs.append(1)
        if len(runs) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(engine.OutputLearner, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[9:], y[9:])
    assert snapshot(model) == before
    assert model.predict(X) == told
    model.partial_fit(X[9:], y[9:])
    assert snapshot(model) == snapshot(made(form).partial_fit(X, y))


@plain
@one_of_each
def test_scikit_learn(form: str) -> None:
    X, y = data(form, 40)
    model = made(form)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(model, {"max_iter": [1, 3], "rule": ["PA", "perceptron"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
