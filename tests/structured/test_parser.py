"""The parser against its twin, which looks at all trees; what users may hand in, and what it tells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onepass
from naive_tags import minus
from naive_trees import Arcs, Relations, is_tree
from onepass import DependencyParser
from onepass.compiled.compiler import entry_point
from onepass.structured import outputs as engine
from onepass.structured.rules import room
from optimum import check_step
from sentences import STRANGE, made, tagged
from shared import snapshot

plain = pytest.mark.plain
both = pytest.mark.parametrize("form", ["trees", "spanning trees"])

DOG = [("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")]
TREE = [(2, "det"), (3, "nsubj"), (0, "root")]


@plain
@both
def test_what_is_told(form: str) -> None:
    """Heads alone while no relation is known; pairs from then on, with one word on the root."""
    model = made(form, n_features=2**16)
    assert model.predict_one(DOG) == [0, 1, 1]
    assert model.predict_one([]) == []
    assert model.test_then_train([[], DOG, DOG], [[], [2, 3, 0], TREE]) == [[], [0, 1, 1], [2, 3, 0]]
    assert model.classes_.tolist() == ["det", "nsubj", "root"]
    assert model.predict([DOG, [], [("dog", "NOUN")]]) == [TREE, [], [(0, model.predict_one(DOG[1:2])[0][1])]]
    unrelated = [(str(i), "X") for i in range(9)]
    assert [head for head, _ in model.predict_one(unrelated)].count(0) == 1
    model.learn_one([("dog", "NOUN"), ("dog", "NOUN")], [(0, "root"), (1, "flat:name")])
    assert model.classes_.tolist() == ["det", "flat:name", "nsubj", "root"]
    model.partial_fit([DOG], [[2, 3, 0]])  # a tree without relations teaches nothing about them
    assert model.score([DOG, []], [[3, 3, 0], []]) == pytest.approx(2 / 3)
    assert model.score([DOG, DOG[:1]], [TREE, [0]], sample_weight=[0, 1]) == 1
    assert model.n_features_in_ == len(model.coef_) == 2**16


@plain
def test_dicts_are_words_with_tags() -> None:
    X, y = tagged(12)
    dicts = [[{"id": i, "form": word, "upos": tag, "misc": None} for i, (word, tag) in enumerate(x)] for x in X]
    assert snapshot(made("trees").partial_fit(X, y)) == snapshot(made("trees").partial_fit(dicts, y))
    lists = [[list(word) for word in x] for x in X], [[list(arc) for arc in tree] for tree in y]
    assert snapshot(made("trees").partial_fit(X, y)) == snapshot(made("trees").partial_fit(*lists))


@plain
def test_crossing_arcs_can_be_learned_from() -> None:
    """Eisner's algorithm can't find such a tree, and still the model moves towards its arcs; a spanning tree is found."""
    X, y = [[(word, word) for word in "abcd"]] * 4, [[3, 4, 0, 3]] * 4
    model = made("trees").partial_fit(X, y)
    assert model.updates_ > 0
    assert model.score(X, y) == 0.75
    assert made("spanning trees").partial_fit(X, y).score(X, y) == 1


BAD: dict[str, tuple[Any, Any, str]] = {
    "range": ([DOG], [[2, 4, 0]], r"sentence 5 are no tree: the head of word 2 is 4"),
    "negative": ([DOG], [[2, -1, 0]], "the head of word 2 is -1"),
    "itself": ([DOG], [[2, 2, 0]], "word 2 is its own head"),
    "circle": ([DOG], [[2, 1, 0]], "below itself"),
    "no root": ([DOG], [[2, 3, 1]], "no word has the head 0"),
    "two roots": ([DOG], [[0, 3, 0]], "word 3 is a second one with the head 0"),
    "more heads": ([DOG], [[2, 3, 0, 1]], "has 3 words and 4 heads"),
    "fewer trees": ([DOG, DOG], [TREE], "sentences, and outputs"),
    "some relations": ([DOG], [[(2, "det"), 3, 0]], "Some words of sentence 5"),
    "fraction": ([DOG], [[2.0, 3, 0]], "whole numbers"),
    "text": ([DOG], ["230"], "list of heads"),
    "truth": ([DOG], [[True, 3, 0]], "whole numbers"),
    "relation": ([DOG], [[(2, 1), (3, 1), (0, 1)]], "a relation is a text"),
    "no tree": ([DOG], [None], "list of heads"),
    "no y": ([DOG], None, "y is None"),
    "no tags": ([["the", "dog"]], [[2, 0]], r"a pair \(word, tag\)"),
    "no upos": ([[{"form": "dog"}]], [[0]], "SequenceTagger"),
    "a sentence": (["the dog"], [[2, 0]], "is a str"),
    "a text": ("the dog", [[2, 0]], "list of sentences"),
}


@plain
@pytest.mark.parametrize("bad", BAD)
def test_bad_input_changes_nothing(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "COPIED_ALWAYS", 0)
    X, y, said = BAD[bad]
    good = tagged(5)
    model = made("trees").partial_fit(*good)
    before = snapshot(model)
    together = [*good[0], *X] if isinstance(X, list) else X, y if y is None else [*good[1], *y]
    for method in (model.partial_fit, model.test_then_train, model.fit, model.score):
        with pytest.raises((TypeError, ValueError), match=said):
            method(*together)
        assert snapshot(model) == before
    fresh = made("trees")
    with pytest.raises((TypeError, ValueError), match=said.replace("sentence 5", "sentence 0")):
        fresh.partial_fit(X, y)
    assert fresh._state is None


@plain
def test_parameters() -> None:
    for options, said in (
        ({"n_features": 5000}, "a power of two"),
        ({"update": "max_loss", "cost": "root"}, "no sums over arcs"),
    ):
        with pytest.raises(ValueError, match=said):
            DependencyParser(**options).fit([DOG], [TREE])
    model = made("trees").fit([DOG], [TREE])
    model.n_features = 2**13
    with pytest.raises(ValueError, match="no longer fit"):
        model.predict([DOG])


@plain
def test_relations_may_be_fixed() -> None:
    for options in ({"classes": ["det", "nsubj", "root"]}, {"grow": False}, {"grow": "features"}):
        model = made("trees", **options).partial_fit([DOG], [TREE])
        before = snapshot(model)
        with pytest.raises(ValueError, match="classes should include"):
            model.partial_fit([DOG], [[(2, "det"), (3, "obj"), (0, "root")]])
        assert snapshot(model) == before
        model.partial_fit([DOG], [[2, 3, 0]])


@plain
def test_many_relations() -> None:
    """More than a block has place for, of which each is told from the others."""
    X = [[(f"w{i}", "N"), ("top", "V")] for i in range(80)]
    y = [[(2, f"r{i}"), (0, "root")] for i in range(80)]
    model = made("trees", n_features=2**18, max_iter=3).fit(X, y)
    assert len(model.classes_) == 81
    assert np.mean([told == given for told, given in zip(model.predict(X), y, strict=True)]) > 0.95


# --- what is easily forgotten ---


@plain
def test_strange_words(tmp_path: Path) -> None:
    X = [[(word, "N"), ("top", "V")] for word in STRANGE]
    y = [[(2, f"r{i:02}"), (0, "root")] for i in range(len(STRANGE))]
    model = made("trees", n_features=2**18, max_iter=30).fit(X, y)
    assert model.predict(X) == y
    model.save(tmp_path / "model")
    assert onepass.load(tmp_path / "model").predict(X) == y


@plain
def test_punctuation_counts() -> None:
    X, y = [[*DOG, (".", "PUNCT")]], [[*TREE, (3, "punct")]]
    model = made("trees", max_iter=5).fit(X, y)
    assert model.score(X, y) == 1
    assert model.score(X, [[2, 3, 0, 2]]) == 0.75


@plain
def test_a_sentence_is_one_step_of_an_average() -> None:
    """Though it has heads and relations, and whether or not it changes anything."""
    X, y = tagged(12)
    model, plainly = made("trees", average="uniform").partial_fit(X, y), made("trees", average=None)
    total = np.zeros(model.coef_.shape)
    for x, tree in zip(X, y, strict=True):
        plainly.learn_one(x, tree)
        total += plainly.coef_
    np.testing.assert_allclose(model.coef_, total / len(X), atol=1e-12)
    assert plainly.updates_ < len(X)


@entry_point
def bytes_of_room(model: Any, X: Any) -> Any:
    """What the scores of arcs, the decoder and differences take while sentences are learned from."""
    s = room(model, X).first
    chart = s.desk.chart
    decoder = s.desk.costly.nbytes + chart.left.nbytes + chart.right.nbytes + chart.arcs.nbytes + chart.spans.nbytes
    return s.parts.nbytes + s.spare.nbytes + decoder + s.book.places.nbytes + s.book.values.nbytes + s.book.slots.nbytes


@plain
def test_features_of_arcs_are_not_stored() -> None:
    """60 for each of n^2 arcs, of 8 bytes each, would be three times as much as all work space is."""
    model = made("trees").fit([DOG], [TREE])
    long = model._examples([DOG * 170]).known_to(model._state)
    assert bytes_of_room(model._bind(model._state).model, long) < 60 * 8 * 510**2 / 3


def test_long_sentences() -> None:
    words, chain = DOG * 170, [*range(2, 511), 0]
    model = made("trees")
    model.learn_one(words, chain)
    model.learn_one(words, chain)
    told = model.predict_one(words)
    assert is_tree(told)
    assert np.mean(np.equal(told, chain)) > 0.9


@plain
@pytest.mark.parametrize("damage", ["columns", "W"])
def test_damaged_files(damage: str, tmp_path: Path) -> None:
    X, y = tagged()
    model = made("trees").fit(X, y)
    array = model._state.arrays[damage]
    array[:] = np.random.default_rng(0).integers(-(2**40), 2**40, array.shape)
    model._state.bound = model._bound = None
    if damage == "columns":
        with pytest.raises(RuntimeError, match="not numbered"):
            model.predict(X)
        return
    model.save(tmp_path / "model.onepass")
    loaded = onepass.load(tmp_path / "model.onepass")
    assert [len(tree) for tree in loaded.predict(X)] == [*map(len, X)]
    loaded.partial_fit(X, y)


@plain
def test_weights_that_overflow() -> None:
    """An example is refused before it changes anything, also where only its relations are at fault."""
    model = made("trees", average=None).partial_fit([DOG], [TREE])
    W = model._state.arrays["W"]
    arcs = made("trees", average=None).partial_fit([DOG], [[2, 3, 0]])._state.arrays["W"]
    W[(arcs == 0) & (W != 0)] *= 1e200  # weights of relations alone
    before = snapshot(model)
    with pytest.raises(onepass.DivergedError):
        model.learn_one(DOG, [(0, "det"), (1, "root"), (1, "nsubj")])
    assert snapshot(model) == before


# --- the twin ---


def sentences(n: int, seed: int = 0) -> Iterator[tuple[list[tuple[str, str]], list[int], list[int]]]:
    """Random sentences of up to 4 words with random trees and random numbers of relations."""
    rng = np.random.default_rng(seed)
    words = ["a", "dog", "dogs", "running", "running", "internationalisation", "İ"]
    for _ in range(n):
        x = [(str(rng.choice(words)), str(rng.choice(["N", "V", "D"]))) for _ in range(rng.integers(2, 5))]
        trees = [heads for heads in product(range(len(x) + 1), repeat=len(x)) if is_tree(heads)]
        yield x, list(trees[rng.integers(len(trees))]), rng.integers(0, 3, len(x)).tolist()


OPTIONS: list[dict[str, Any]] = [
    {},
    {"projective": False},
    {"update": "max_loss"},
    {"update": "prediction", "cost": "root"},
    {"update": "prediction", "cost": "one", "variant": "II", "C": 0.01},
    {"variant": "I", "C": 0.003, "projective": False},
    {"rule": "perceptron", "update": "prediction"},
    {"rule": "AROW", "r": 0.5},
    {"rule": "CW", "update": "prediction"},
    {"rivals": 4},
    {"rivals": 3, "update": "prediction", "cost": "root", "projective": False},
    {"rivals": 5, "variant": "I", "C": 0.003, "projective": False},
    {"rivals": 3, "update": "prediction", "rule": "AROW"},
]


@plain
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_twin(options: dict[str, Any]) -> None:
    """From random weights, so that no two outputs have equal scores: all weights agree after each sentence."""
    names = ["r0", "r1", "r2"]
    model = DependencyParser(average=None, classes=names, n_features=2**22, **options)
    defaults = {name: getattr(model, name) for name in ("update", "cost")}
    common = {name: value for name, value in {**defaults, **options}.items() if name != "projective"}
    arcs = Arcs([], **common, projective=options.get("projective", True))
    labels = Relations(range(3), **{**common, "rivals": 1})  # of which each word has its own
    weighs = options.get("variant", "hard") != "hard" or options.get("rule") == "AROW"
    for t, (x, heads, relations) in enumerate(sentences(6)):
        tree = [(h, names[k]) for h, k in zip(heads, relations, strict=True)]
        if t == 0:
            model.learn_one(x, tree)
            W = model._state.arrays["W"]
            W[:] = 0.03 * np.random.default_rng(5).normal(size=len(W))
            arcs.w = labels.w = _Numbers(W.copy())
            if "Sigma" in model._state.arrays:
                model._state.arrays["Sigma"][:] = 1
            arcs.sigma = labels.sigma
            continue
        weight = (0.4, 1.0, 2.5)[t % 3] if weighs else 1.0
        best = arcs.n_best(x, 1)[0]
        told = model.predict_one(x)
        assert tuple(head for head, _ in told) == best
        assert tuple(int(name[1]) for _, name in told) == labels.n_best((x, best), 1)[0]
        model.learn_one(x, tree, weight)
        arcs.learn(x, heads, weight)
        labels.learn((x, heads), relations, weight)
        np.testing.assert_allclose(W, arcs.w.numbers, atol=2e-6 if arcs.rivals > 1 else 1e-9)
        for place, sigma in arcs.sigma.items():
            assert model._state.arrays["Sigma"][place] == pytest.approx(sigma, abs=1e-9)
    assert arcs.updates >= 2
    assert labels.updates >= 2


class _Numbers(dict[Any, float]):
    """An array that can be asked as a dict."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def get(self, place: Any, otherwise: Any = None) -> Any:
        return self.numbers[place]

    def __setitem__(self, place: Any, number: float) -> None:
        self.numbers[place] = number


@plain
@both
@pytest.mark.parametrize(("average", "rivals"), [(None, 2), ("uniform", 1)])
def test_the_best_trees(form: str, average: Any, rivals: int) -> None:
    """Those with the largest sums over arcs, with their scores, each with the relations that are the best for it."""
    model = made(form, average=average, n_features=2**22, rivals=rivals)
    X, y = [*zip(*((x, [(h, f"r{k}") for h, k in zip(*tree, strict=True)]) for x, *tree in sentences(5)), strict=True)]
    model.partial_fit(X, [[head for head, _ in tree] for tree in y])
    assert all(isinstance(head, int) for head in model.predict_n_best(X[:1], 1)[0][0][0])
    model.partial_fit(X, y)
    arcs, labels = Arcs([], projective=form == "trees"), Relations(range(len(model.classes_)))
    arcs.w = labels.w = _Numbers(model.coef_)
    for x in [[], *X]:
        trees = arcs.n_best(x, 7)
        (found,) = model.predict_n_best([x], 7)
        assert [score for _, score in found] == pytest.approx([arcs.score(x, tree) for tree in trees])
        assert found[0][0] == model.predict_one(x)
        for tree, score in found:
            heads = tuple(head for head, _ in tree)
            assert score == pytest.approx(arcs.score(x, heads))
            told = tuple(model._labels(model._state).index(name) for _, name in tree)
            assert labels.score((x, heads), told) == pytest.approx(labels.score((x, heads), labels.n_best((x, heads), 1)[0]))
        assert len({tuple(tree) for tree, _ in found}) == len(found) == len(trees)
        lead = found[0][1] - found[1][1] if len(found) > 1 else np.inf
        assert model.decision_function([x])[0] == pytest.approx(lead)
    with pytest.raises(ValueError, match="at least 1"):
        model.predict_n_best(X, 0)


@plain
@pytest.mark.parametrize("variant", ["hard", "I", "II"])
def test_steps_solve_their_problem(variant: str) -> None:
    """min |w' - w|^2 / 2 + C L(w') with L = rho - w'.D, its square, or such that it is 0, on the weights of the arcs that differ."""
    C, moved = 0.01, 0
    model = DependencyParser(variant=variant, C=C, update="prediction", average=None, n_features=2**22)
    twin = Arcs([])
    for t, (x, heads, _) in enumerate(sentences(4, seed=3)):
        if t > 0:
            W = model._state.arrays["W"]
            W[:] = 0.03 * np.random.default_rng(t).normal(size=len(W))
            twin.w = _Numbers(W.copy())
            z = twin.n_best(x, 1)[0]
            D = {key: value for key, value in minus(twin.phi(x, heads), twin.phi(x, z)).items() if value}
            if not D:
                continue
            places, values, rho = list(D), np.array([*D.values()]), twin.rho(heads, z)
        model.learn_one(x, heads)
        if t > 0:
            check_step(variant, C, twin.w.numbers[places], W[places], lambda w, values=values, rho=rho: rho - float(values @ w))
            moved += 1
    assert moved >= 2
