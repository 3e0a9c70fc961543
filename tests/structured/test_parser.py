"""The parser: what users may hand in, relations that come up, and figures of real treebanks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onepass
from onepass import DependencyParser
from onepass.structured import learner as engine
from sentences import made, tagged
from shared import snapshot

plain = pytest.mark.plain
both = pytest.mark.parametrize("form", ["trees", "spanning trees"])

DOG = [("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")]
TREE = [(2, "det"), (3, "nsubj"), (0, "root")]


@plain
@both
def test_what_is_told(form: str) -> None:
    """Heads alone while no relation is known; pairs from then on, with one word on the root."""
    model = made(form)
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
    assert model.n_features_in_ == len(model.coef_) == 2**12


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
        ({"rivals": 2}, "one rival"),
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
