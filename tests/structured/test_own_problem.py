"""Problems of users: in plain Python, by lists and by a search of their own, and compiled, as docs/structured.md has it."""

from __future__ import annotations

import importlib.util
import pickle
import re
import sys
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import onepass
from naive_tags import LABELS, OPTIONS, Tagger, phi, sentences
from onepass import ActiveLearner, StructuredClassifier
from onepass.structured import outputs as engine
from shared import snapshot

pytestmark = pytest.mark.plain


def made(problem: Any, **options: Any) -> StructuredClassifier:
    return StructuredClassifier(**{"problem": problem, "random_state": 0, **options})


def weights(model: Any, name: str = "W") -> dict[str, float]:
    state = model._state
    return dict(zip(state.names.first(state.n_features), state.arrays[name][1 : state.n_features + 1].tolist(), strict=True))


def begin_anew(*models: Any) -> dict[str, float]:
    """The same random weights in all of them, so that no two outputs score the same."""
    rng = np.random.default_rng(5)
    drawn = {name: 0.1 * rng.normal() for name in sorted(set().union(*map(weights, models)))}
    for model in models:
        for name, array in model._state.arrays.items():
            if name in ("W", "Sigma"):
                known = model._state.names.first(model.n_features_in_)
                array[1 : len(known) + 1] = [drawn[one] for one in known] if name == "W" else 1
    return drawn


# --- every rule, on lists ---


class Tags:
    """Tags of sentences, with all sequences there are."""

    def phi(self, x: Any, y: Any) -> dict[str, float]:
        return {repr(key): value for key, value in phi(x, y).items()}

    def candidates(self, x: Any) -> Any:
        return product(LABELS, repeat=len(x))

    def cost(self, y: Any, z: Any) -> int:
        return sum(a != b for a, b in zip(y, z, strict=True))


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_every_rule(options: dict[str, Any]) -> None:
    """A tagger that lists its outputs is the twin of taggers."""
    model, twin = made(Tags(), average=None, **options), Tagger(LABELS, **options)
    data = [(x, tuple(y)) for x, y in sentences(7, longest=3)]
    model.partial_fit(*zip(*data, strict=True))
    keys = {repr(key): key for x, _ in data for z in Tags().candidates(x) for key in phi(x, z)}
    twin.w = {keys[name]: value for name, value in begin_anew(model).items()}
    weighs = options.get("variant", "hard") != "hard" or options.get("rule") == "AROW"
    for t, (x, y) in enumerate(data):
        weight = (0.4, 1.0, 2.5)[t % 3] if weighs else 1.0
        model.learn_one(x, y, weight)
        twin.learn(x, y, weight)
        for name, value in weights(model).items():
            assert value == pytest.approx(twin.w.get(keys[name], 0), abs=2e-6 if twin.rivals > 1 else 1e-9), name
    assert twin.updates >= 2


# --- lists and searches ---


class Matching:
    def phi(self, x: Any, y: Any) -> dict[str, float]:
        return {f"{worker} {job}": 1.0 for worker, job in zip(x[0], y, strict=True)}

    def candidates(self, x: Any) -> Any:
        return permutations(x[1])

    def cost(self, y: Any, z: Any) -> int:
        return sum(a != b for a, b in zip(y, z, strict=True))


class Assignment:
    phi, cost = Matching.phi, Matching.cost

    def decode(self, x: Any, score: Any, truth: Any = None) -> Any:
        gain = np.array([[score({f"{worker} {job}": 1.0}) for job in x[1]] for worker in x[0]])
        if truth is not None:
            gain += [[job != right for job in x[1]] for right in truth]
        return tuple(x[1][j] for j in linear_sum_assignment(gain, maximize=True)[1])


def matchings(n: int = 30, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Each worker is good at some jobs; who gets which is for the best of all, more or less."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=(6, 6))
    X, y = [], []
    for _ in range(n):
        workers, jobs = (np.sort(rng.choice(6, 3, replace=False)).tolist() for _ in range(2))
        gain = skill[np.ix_(workers, jobs)] + 0.3 * rng.normal(size=(3, 3))
        X.append((workers, jobs))
        y.append(tuple(jobs[j] for j in linear_sum_assignment(gain, maximize=True)[1]))
    return X, y


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"update": "prediction", "cost": "root", "average": "uniform"},
        {"rule": "AROW", "average": None},
        {"rule": "CW", "update": "prediction"},
        {"rule": "perceptron", "update": "prediction"},
        {"variant": "I", "C": 0.1, "dtype": "float32"},
    ],
    ids=str,
)
def test_lists_and_searches_are_the_same(options: dict[str, Any]) -> None:
    X, y = matchings()
    listed, searched = (made(one(), **options) for one in (Matching, Assignment))
    everything = [(list(range(6)), list(range(6)))]
    pairs = {f"{i} {j}" for i in range(6) for j in range(6)}
    for model in (listed, searched):
        model.partial_fit([((i,), (j,)) for i in range(6) for j in range(6)], [(j,) for _ in range(6) for j in range(6)])
        assert set(model.feature_names_in_) == pairs
    begin_anew(listed, searched)
    assert listed.test_then_train(X, y) == searched.test_then_train(X, y)
    for model in (listed, searched):
        assert model.t_ == 36 + len(X)
        assert model.updates_ > 5
    close = {"rel": 1e-4, "abs": 1e-4} if "dtype" in options else {"abs": 1e-9}
    assert weights(listed) == pytest.approx(weights(searched), **close)
    assert searched.predict(everything) == listed.predict(everything)
    assert listed.score(X, y) == searched.score(X, y) > 0.5


both = pytest.mark.parametrize("problem", [Matching(), Assignment()], ids=["listed", "searched"])


@both
@pytest.mark.compiled
def test_cuts_do_not_matter(problem: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = matchings()
    whole = made(problem)
    told = whole.test_then_train(X, y)
    monkeypatch.setattr(engine, "BLOCK", 4)
    for cuts in (range(1, len(X)), [1, 7, 8, 20]):
        model, answers = made(problem), []
        for a, b in pairwise([0, *cuts, len(X)]):
            answers += model.test_then_train(X[a:b], y[a:b])
        assert snapshot(model) == snapshot(whole)
        assert answers == told
    single = made(problem)
    for t, (x, right) in enumerate(zip(X, y, strict=True)):
        assert single.predict_one(x) == told[t]
        single.learn_one(x, right)
    assert snapshot(single) == snapshot(whole)
    other = made(problem).partial_fit(X[:9], y[:9])
    for again in (pickle.loads(pickle.dumps(other)), other.copy()):
        assert snapshot(again.partial_fit(X[9:], y[9:])) == snapshot(whole)
    passes = made(problem, max_iter=3).fit(X, y)
    assert passes.score(X, y) > 0.7
    assert snapshot(passes) == snapshot(clone(passes).fit(X, y))


class Moody(Matching):
    """Fails where it is asked for worker 5."""

    def phi(self, x: Any, y: Any) -> dict[str, float]:
        if 5 in x[0]:
            raise RuntimeError("not today")
        return super().phi(x, y)


@pytest.mark.parametrize("problem", [Moody(), type("Search", (Assignment,), {"phi": lambda self, x, y: Moody().phi(x, y)})()])
def test_errors_change_nothing(problem: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "COPIED_ALWAYS", 0)
    X, y = matchings(60)
    sound = [t for t, x in enumerate(X) if 5 not in x[0]]
    model = made(problem).partial_fit([X[t] for t in sound], [y[t] for t in sound])
    before = snapshot(model)
    for call in (model.partial_fit, model.test_then_train, model.fit):
        with pytest.raises(RuntimeError, match="not today"):
            call(X, y)
        assert snapshot(model) == before
    X, y = [X[t] for t in sound], [y[t] for t in sound]
    for bad_X, bad_y, said in ((X, y[1:], "and outputs for"), (X, None, "y is None"), ("text", y, "list of examples")):
        with pytest.raises((TypeError, ValueError), match=said):
            model.partial_fit(bad_X, bad_y)
        assert snapshot(model) == before


def test_what_is_refused(tmp_path: Path) -> None:
    X, y = matchings(5)
    for problem in (None, object(), type("P", (), {"phi": Matching.phi})()):
        with pytest.raises(TypeError, match="`problem` must be"):
            made(problem).fit(X, y)
    for options in ({"rivals": 2}, {"cost": "root"}):
        with pytest.raises(ValueError, match="gives one rival"):
            made(Assignment(), **options).fit(X, y)
    with pytest.raises(ValueError, match="leave `grow` out"):
        made(Assignment(), grow=False).fit(X, y)
    model = made(Matching())
    assert model.predict_one(X[0]) == next(permutations(X[0][1]))
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="is none of its candidates"):
        model.fit(X, [("sleep",) * 3] * 5)
    for cost in (-1.0, float("nan"), float("inf")):
        strange = type("Strange", (Matching,), {"cost": lambda self, y, z, cost=cost: cost})()
        with pytest.raises(ValueError, match="must be finite"):
            made(strange).fit(X, y)
    with pytest.raises(ValueError, match="Feature 'a' of example 0 is nan"):
        made(type("P", (Matching,), {"phi": lambda self, x, y: {"a": np.nan}})()).fit(X, y)
    with pytest.raises(ValueError, match="are no classes"):
        model.partial_fit(X, y, classes=["a"])
    model.fit(X, y)
    with pytest.raises(ValueError, match="are no classes"):
        model.partial_fit(X, y, classes=["a"])
    with pytest.raises(ValueError, match="can't be saved"):
        model.save(tmp_path / "model")
    with pytest.raises(TypeError, match="`candidates` only"):
        made(Assignment()).fit(X, y).decision_function(X)


def test_lists_that_are_empty_or_have_one() -> None:
    """An empty list has no output, and one candidate no rival."""
    X, y = matchings(5)
    model = made(Matching()).fit(X, y)
    none = type("None", (Matching,), {"candidates": lambda self, x: permutations(x[1]) if x[0] else []})()
    model.set_params(problem=none)
    assert model.predict([([], []), X[0]])[0] is None
    assert model.decision_function([([], []), ([1], [1])]).tolist() == [np.inf, np.inf]
    with pytest.raises(ValueError, match="none of its candidates"):
        model.partial_fit([([], [])], [()])
    before = weights(model)
    model.learn_one(([1], [1]), (1,))
    assert {name: value for name, value in weights(model).items() if name in before} == before


def test_without_a_cost_any_other_output_costs_1() -> None:
    X, y = matchings()
    plain = type("Plain", (), {"phi": Matching.phi, "candidates": Matching.candidates})()
    found = made(plain).partial_fit(X, y)
    assert snapshot(found) == snapshot(made(Matching(), cost="one").partial_fit(X, y))


def test_weights_and_growing() -> None:
    X, y = matchings()
    w = np.arange(len(X)) % 3 / 2
    model, other = (made(Matching(), variant="I", C=0.05) for _ in range(2))
    model.partial_fit(X, y, sample_weight=w)
    for x, right, weight in zip(X, y, w, strict=True):
        if weight:
            other.learn_one(x, right, weight)
    assert snapshot(model) == snapshot(other)
    closed = made(Matching(), grow=False).partial_fit(X[:3], y[:3])
    n = closed.n_features_in_
    assert closed.partial_fit(X, y).n_features_in_ == n < model.n_features_in_


def test_how_sure_and_active_learning() -> None:
    X, y = matchings(60)
    model = made(Matching()).partial_fit(X, y)
    for x, lead in zip(X, model.decision_function(X), strict=True):
        scores = sorted(
            sum(dict(zip(model.feature_names_in_, model.coef_, strict=True)).get(f, 0) for f in Matching().phi(x, z))
            for z in permutations(x[1])
        )
        assert lead == pytest.approx(scores[-1] - scores[-2], abs=1e-12)
    active, live = (ActiveLearner(made(Matching()), 0.5, random_state=0) for _ in range(2))
    told = active.test_then_train(X, y)
    assert 5 < active.asked_ < 55
    for t, (x, right) in enumerate(zip(X, y, strict=True)):
        assert live.predict_one(x) == told[t]
        if live.query(x):
            live.answer(x, right)
    assert snapshot(live.learner_) == snapshot(active.learner_)


# --- compiled ---


class Spans:
    """The same as a list of all spans, in plain Python."""

    def phi(self, x: Any, y: Any) -> dict[str, float]:
        found: dict[str, float] = {}
        for item in x[y[0] : y[1]]:
            for name, value in item.items():
                found[name] = found.get(name, 0.0) + value
        return found

    def candidates(self, x: Any) -> Any:
        return [(a, b) for a in range(len(x)) for b in range(a + 1, len(x) + 1)]

    def cost(self, y: Any, z: Any) -> int:
        return len(set(range(*y)) ^ set(range(*z)))


@pytest.fixture(scope="module")
def span_finder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The class of docs/structured.md."""
    guide = (Path(__file__).parents[2] / "docs" / "structured.md").read_text()
    path = tmp_path_factory.mktemp("guide") / "spans.py"
    path.write_text(re.search(r"^```python\n(# spans.py\n.*?)^```", guide, re.MULTILINE | re.DOTALL)[1])  # type: ignore[index]
    spec = importlib.util.spec_from_file_location("spans", path)
    sys.modules["spans"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SpanFinder


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, marks=pytest.mark.compiled),
        {"rule": "AROW", "update": "prediction", "cost": "root", "average": None},
    ],
    ids=str,
)
def test_a_compiled_problem(span_finder: Any, options: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = [[{f"f{j}": float(rng.normal()) for j in range(4)} for _ in range(rng.integers(1, 6))] for _ in range(25)]
    y = [tuple(sorted(rng.choice(len(x) + 1, 2, replace=False).tolist())) for x in X]
    compiled, plain = span_finder(**options), made(Spans(), **options)
    for model in (compiled, plain):
        model.partial_fit(X[:1], y[:1])
    begin_anew(compiled, plain)
    assert compiled.test_then_train(X[1:], y[1:]) == plain.test_then_train(X[1:], y[1:])
    assert weights(compiled) == pytest.approx(weights(plain), abs=1e-9)
    assert compiled.updates_ == plain.updates_ > 5
    compiled.save(tmp_path / "model")
    loaded = onepass.load(tmp_path / "model")
    assert loaded.predict(X) == compiled.predict(X)
    assert snapshot(loaded.partial_fit(X, y)) == snapshot(compiled.partial_fit(X, y))
