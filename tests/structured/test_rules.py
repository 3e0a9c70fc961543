"""Every rule against its twin, which looks at all outputs; golden trajectories of CRFsuite; multiclass learning as a special case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba.core import config

from naive_tags import LABELS, OPTIONS, Tagger, minus, phi, sentences
from onepass import PAClassifier, SequenceTagger
from optimum import check_step, objective
from shared import golden

pytestmark = pytest.mark.plain


def weights(model: SequenceTagger, name: str = "W") -> dict[Any, float]:
    """The present numbers of a model, by feature and tag as the twin has them."""
    state = model._state
    assert state is not None
    assert state.names is not None
    labels, W = state.classes.tolist(), state.arrays[name]
    rows = {"constant": 0, **{feature: j + 1 for j, feature in enumerate(state.names.first(state.n_features))}}
    found = {}
    for feature, row in rows.items():
        after = [tag or None for tag in feature[1:].split("\0")] if feature.startswith("\0") else []
        for k, label in enumerate(labels):
            found["after", *after, label] = float(W[row, k])
            if not after:
                found[feature, label] = found.pop(("after", label))
    return found


def check_equal(model: SequenceTagger, twin: Tagger) -> None:
    found = weights(model)
    for key in found.keys() | twin.w.keys():
        assert found.get(key, 0) == pytest.approx(twin.w.get(key, 0), abs=2e-6 if twin.rivals > 1 else 1e-9), key
    if "Sigma" in model._state.arrays:
        found = weights(model, "Sigma")
        for key, sigma in twin.sigma.items():
            assert found[key] == pytest.approx(sigma, abs=1e-9)


SECOND_ORDER: list[dict[str, Any]] = [
    {"order": 2},
    {"order": 2, "cost": "root"},
    {"order": 2, "rule": "AROW", "update": "prediction"},
    {"order": 2, "rivals": 4},
]


@pytest.mark.parametrize("options", [*OPTIONS, *SECOND_ORDER], ids=lambda options: "-".join(map(str, options.values())))
def test_twin(options: dict[str, Any]) -> None:
    model, twin = SequenceTagger(average=None, classes=LABELS, **options), Tagger(LABELS, **options)
    weighs = options.get("variant", "hard") != "hard" or options.get("rule") == "AROW"
    for t, (x, y) in enumerate(sentences(8)):
        if t == 1:  # outputs with equal scores are several among the rivals; from here on there are none
            _begin_anew(model, twin)
        weight = (0.4, 1.0, 2.5)[t % 3] if weighs else 1.0
        if t > 0:
            model.learn_one(x, y, weight)
            twin.learn(x, y, weight)
            check_equal(model, twin)
        else:
            model.learn_one(x, y)
    assert twin.updates >= 2
    assert model.t_ == 8


def _begin_anew(model: SequenceTagger, twin: Tagger) -> None:
    """Random weights in all places, the same for both."""
    rng = np.random.default_rng(5)
    W = model._state.arrays["W"]
    W[: model.n_features_in_ + 1] = 0.1 * rng.normal(size=(model.n_features_in_ + 1, len(LABELS)))
    twin.w = weights(model)
    if "Sigma" in model._state.arrays:
        model._state.arrays["Sigma"][:] = 1


@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@pytest.mark.parametrize("rivals", [1, 3])
@pytest.mark.parametrize("cost", ["root", "errors"])
def test_steps_solve_their_problem(variant: str, rivals: int, cost: str) -> None:
    """min |w' - w|^2 / 2 + C L(w'), L the largest of rho_j - w'.D_j over the rivals, or its square, or such that it is 0. With one
    rival that is told by a general solver as well; with several, whose L has edges, by trial alone."""
    C = 0.05
    model = SequenceTagger(
        variant=variant, C=C, rivals=rivals, cost=cost, update="prediction", average=None, classes=LABELS, random_state=0
    )
    data = list(sentences(6, seed=3))
    model.partial_fit(*zip(*data, strict=True))  # all features are known
    twin = Tagger(LABELS, cost=cost)
    moved = 0
    for x, y in data[1:]:
        _begin_anew(model, twin)
        before = dict(twin.w)
        keys = sorted(before, key=repr)
        rows = [(minus(phi(x, y), phi(x, z)), twin.rho(y, z)) for z in twin.n_best(x, rivals) if z != tuple(y)]
        if not rows:
            continue
        D, rho = np.array([[row.get(key, 0.0) for key in keys] for row, _ in rows]), np.array([rho for _, rho in rows])
        model.learn_one(x, y)
        after = weights(model)
        z0, z = (np.array([w[key] for key in keys]) for w in (before, after))
        moved += not np.array_equal(z0, z)

        def loss(w: Any, D: Any = D, rho: Any = rho) -> float:
            return float((rho - D @ w).max())

        if len(rows) == 1:
            check_step(variant, C, z0, z, loss)
            continue
        best, rng = objective(variant, C, z0, loss, z), np.random.default_rng(0)
        assert variant != "hard" or loss(z) < 1e-7
        for size in np.geomspace(1e-5, 1, 200):
            other = z + size * rng.normal(size=len(D)) @ D
            if variant != "hard" or loss(other) <= 0:
                assert objective(variant, C, z0, loss, other) >= best - 1e-7
    assert moved


def test_first_sentence() -> None:
    """All scores are 0: the first tag wins, and a step of hard PA meets the root of the errors exactly."""
    model = SequenceTagger(average=None, classes=LABELS, update="prediction", cost="root")
    x, y = [{"a": 1.0}, {"b": 1.0}], ["B", "C"]
    model.learn_one(x, y)
    truth, rival = phi(x, y), phi(x, ["A", "A"])
    w = weights(model)
    assert sum(w.get(key, 0) * (truth.get(key, 0) - rival.get(key, 0)) for key in {*truth, *rival}) == pytest.approx(np.sqrt(2))


def test_outputs_with_the_same_features() -> None:
    """Two outputs that no feature tells apart: no step, and no division by 0."""
    model = SequenceTagger(
        average=None, classes=LABELS, fit_intercept=False, transitions=False, start=False, update="prediction"
    )
    model.learn_one([{}, {}], ["B", "C"])
    assert not model._state.arrays["W"].any()
    assert model.predict_one([{}]) == ["A"]


def test_crfsuite() -> None:
    """One sentence, again and again, with PA (three types, two costs), the averaged perceptron and AROW: all 69 runs. CRFsuite's
    average has the weights before the first sentence in it, which are 0, and among equals the label that was seen first wins."""
    toy = golden("crfsuite_toy.json")
    spell = {label: f"{i}{label}" for i, label in enumerate(toy["labels"])}
    X, Y = toy["X"], [spell[label] for label in toy["Y"]]
    assert len(toy["runs"]) == 69
    for run in toy["runs"]:
        params, passes = run["params"], run["passes"]
        common = {"fit_intercept": False, "start": False, "update": "prediction", "classes": list(spell.values())}
        if run["algorithm"] == "pa":
            rule = {
                "variant": ("hard", "I", "II")[params["type"]],
                "C": params["c"],
                "cost": "root" if params["error_sensitive"] else "one",
            }
        else:
            rule = {"rule": "perceptron"} if run["algorithm"] == "ap" else {"rule": "AROW", "r": params["gamma"]}
        averages = run["algorithm"] == "ap" or params.get("averaging")
        model = SequenceTagger(average="uniform" if averages else None, **common, **rule)
        for _ in range(passes):
            model.learn_one(X, Y)
        share = passes / (passes + 1) if averages else 1.0
        coef = dict(zip(model.feature_names_in_, (share * model.coef_).T, strict=True))
        edges = share * model.transitions_
        wanted = run["weights"]
        for i, a in enumerate(toy["labels"]):
            for j, b in enumerate(toy["labels"]):
                assert edges[i, j] == pytest.approx(wanted.get(f"{a}>{b}", 0.0), abs=1.01e-6), (run, a, b)
            for name in {name for word in X for name in word}:
                assert coef[name][i] == pytest.approx(wanted.get(f"{name}|{a}", 0.0), abs=1.01e-6), (run, name, a)
        best = [(tags, share * score) for tags, score in model.predict_n_best([X], 8)[0]]
        assert model.predict_one(X) == best[0][0]
        theirs = {tuple(tags): score for tags, score in best}[tuple(spell[label] for label in run["tags"])]
        assert theirs == pytest.approx(best[0][1], abs=1e-9)  # one of them has a tie that rounding decides


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("variant", ["hard", "I", "II"])
@pytest.mark.parametrize("average", [None, True])
def test_words_alone_are_classes(variant: str, dtype: str, average: bool | None) -> None:
    """Sentences of one word without transitions: passive-aggressive classification against the top rival, to the bit. Features are 0
    and 1, as those of words are: then |D|^2 = 2 |x|^2 is exact in whatever order it is summed."""
    rng = np.random.default_rng(1)
    X = (rng.random((60, 7)) < 0.3).astype(dtype)
    X[0] = 1  # features are numbered, and summed, in the order in which they come
    y = rng.choice(["a", "b", "c", "d"], 60)
    words = [[{f"x{j}": 1.0 for j in np.flatnonzero(row)}] for row in X]
    tagger = SequenceTagger(
        C=0.1, variant=variant, update="max_loss", cost="one", transitions=False, start=False, average=average, dtype=dtype
    )
    told = tagger.test_then_train(words, [[label] for label in y], classes=["a", "b", "c", "d"])
    model = PAClassifier(0.1, variant, average=average)
    scores = model.test_then_train(X, y, classes=["a", "b", "c", "d"])
    exact = config.DISABLE_JIT  # the compiler may sum the products of a row in another order
    for found, wanted in ((tagger.coef_, model.coef_), (tagger.intercept_, model.intercept_)):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wanted) if exact else np.testing.assert_allclose(found, wanted, rtol=1e-3)
    if exact:
        assert [tags[0] for tags in told] == np.array(["a", "b", "c", "d"])[scores.argmax(axis=1)].tolist()
    assert tagger.updates_ == model.updates_
