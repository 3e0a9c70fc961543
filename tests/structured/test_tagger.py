"""The tagger: decoders against all sequences there are, and what users may hand in."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import onepass
from naive_tags import Tagger, allowed_bio
from onepass import SequenceTagger
from onepass.structured import learner as engine
from onepass.structured.templates import ATTRIBUTES, TEMPLATES, hashed, table_of
from sentences import TAGGERS, data, dicts, made, text
from shared import snapshot

plain = pytest.mark.plain
compiled = pytest.mark.compiled
both = pytest.mark.parametrize("form", TAGGERS)

# --- decoders ---


def random_weights(model: SequenceTagger) -> None:
    """Other weights in all places, which are their own average."""
    W = model._state.arrays["W"]
    W[:], model._state.arrays["gap.W"][:] = np.random.default_rng(3).normal(size=W.shape), 0


def all_scores(model: SequenceTagger, x: list[dict[str, float]]) -> dict[tuple[str, ...], float]:
    labels, rows = model.classes_.tolist(), {name: j for j, name in enumerate(model.feature_names_in_)}
    scores = {}
    for tags in product(range(len(labels)), repeat=len(x)):
        total = 0.0
        for t, k in enumerate(tags):
            total += model.intercept_[k] + sum(v * model.coef_[k, rows[f]] for f, v in x[t].items() if f in rows)
            total += model.start_[k] if t == 0 else model.transitions_[tags[t - 1], k]
        scores[tuple(labels[k] for k in tags)] = total
    return scores


@plain
@compiled
@pytest.mark.parametrize("constraints", [None, "BIO"])
@pytest.mark.parametrize("T", [0, 1, 2, 4])
def test_decoders(T: int, constraints: str | None) -> None:
    labels = ["B-x", "B-y", "I-x", "I-y", "O"]
    model = SequenceTagger(classes=labels, constraints=constraints)
    model.learn_one([{"a": 1.0, "b": 0.5}, {"c": 2.0}], ["B-x", "O"])
    random_weights(model)
    x = [{"a": 1.0}, {"b": -1.0, "new": 7.0}, {"c": 1.0, "a": 0.5}, {}][:T]
    scores = {y: s for y, s in all_scores(model, x).items() if constraints is None or allowed_bio(y)}
    ranked = sorted(scores, key=lambda y: -scores[y])
    assert model.predict_one(x) == list(ranked[0])
    for n in (1, 3, 1000):
        (found,) = model.predict_n_best([x], n)
        assert [tuple(tags) for tags, _ in found] == ranked[:n]
        assert [score for _, score in found] == pytest.approx([scores[y] for y in ranked[:n]])
    (marginals,) = model.max_marginals([x])
    wanted = [[max((s for y, s in scores.items() if y[t] == label), default=-np.inf) for label in labels] for t in range(T)]
    np.testing.assert_allclose(marginals, np.array(wanted).reshape(T, len(labels)))
    if T:
        assert marginals.max(axis=1) == pytest.approx(scores[ranked[0]])
        (sure,) = model.predict_confidence([x])
        assert sure.min() == pytest.approx(scores[ranked[0]] - scores[ranked[1]])
        assert model.decision_function([x])[0] == sure.min()


@plain
def test_constraints_while_learning() -> None:
    """Rivals keep to the constraints, and a truth that does not is learned all the same."""
    labels = ["B-x", "I-x", "O"]
    model, twin = SequenceTagger(classes=labels, constraints="BIO", average=None), Tagger(labels, constraints="BIO")
    x, y = [{"a": 1.0}, {"b": 1.0}], ["O", "I-x"]
    model.learn_one(x, y)
    twin.learn(x, y)
    assert model.transitions_[2, 1] == pytest.approx(twin.w["after", "O", "I-x"])
    assert all(allowed_bio(model.predict_one([{"b": 1.0}] * n)) for n in range(4))
    only = SequenceTagger(classes=["I-x"], constraints="BIO")
    only.learn_one(x, ["I-x", "I-x"])
    assert only.predict_one(x) == ["I-x", "I-x"]  # where nothing is allowed, what there is


# --- the promises ---


BAD: dict[str, tuple[Any, Any, str]] = {
    "more tags": ([["a"]], [["N", "V"]], "has 1 words and 2 tags"),
    "fewer sentences": ([["a"], ["b"]], [["N"]], "sentences, and outputs"),
    "tags as text": ([["a"]], ["N"], "list of tags"),
    "a text": ("a dog", [["N"]], "list of sentences"),
    "sentence as text": (["dog"], [["N", "N", "N"]], "is a str"),
    "kind": ([["a"]], [[1]], "another kind|Labels must be"),
    "no label": ([["a"]], [[None]], "Labels must be"),
    "list": ([["a"]], [[["N"]]], "Labels must be"),
    "no y": ([["a"]], None, "y is None"),
}
BAD_DICTS: dict[str, tuple[Any, Any, str]] = {
    "NaN": ([[{"x": 1.0}], [{"n": float("nan")}]], [["N"], ["V"]], "NaN"),
    "infinity": ([[{"n": float("inf")}]], [["N"]], "must be less"),
    "name": ([[{3: 1.0}]], [["N"]], "names of text"),
    "value": ([[{"n": object()}]], [["N"]], "give a number or a text"),
    "word": ([["dog"]], [["N"]], 'templates="tags"'),
    "number": ([[3]], [["N"]], "dict of features"),
}


@plain
@pytest.mark.parametrize("bad", [*BAD, *BAD_DICTS])
def test_bad_input_changes_nothing(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "COPIED_ALWAYS", 0)
    form = "words" if bad in BAD else "dicts"
    X, y, said = (BAD if bad in BAD else BAD_DICTS)[bad]
    good_X, good_y = data(form, 5)
    model = made(form).partial_fit(good_X, good_y)
    before = snapshot(model)
    together = [*good_X, *X] if isinstance(X, list) and y is not None else X
    for method in (model.partial_fit, model.test_then_train, model.fit):
        if method == model.fit and bad == "kind":
            continue
        with pytest.raises((TypeError, ValueError), match=said):
            method(together, y if y is None or together is X else [*good_y, *y])
        assert snapshot(model) == before
    fresh = made(form)
    if bad != "kind":
        with pytest.raises((TypeError, ValueError), match=said):
            fresh.partial_fit(X, y)
        assert fresh._state is None
    model.partial_fit(good_X, good_y)
    assert snapshot(model) == snapshot(made(form).partial_fit(good_X, good_y).partial_fit(good_X, good_y))


@plain
def test_words_must_be_text() -> None:
    with pytest.raises(TypeError, match="templates=None"):
        SequenceTagger(templates="tags").partial_fit([[{"w": "a"}]], [["N"]])
    with pytest.raises(ValueError, match="is none"):
        SequenceTagger(templates=["lower"]).partial_fit([["a"]], [["N"]])
    with pytest.raises(ValueError, match="Several rivals"):
        SequenceTagger(rivals=2, cost="root").fit([[{}]], [["N"]])


@plain
@both
def test_labels_come(form: str) -> None:
    """A label exists from the sentence that brings it, before it nothing can be told; without leave it is refused."""
    first: Any = [["the"], ["dog", "barks"]]
    first = dicts(first) if form == "dicts" else first
    model = made(form)
    assert model.predict_one(first[1]) == [None, None]
    with pytest.raises(NotFittedError):
        model.predict(first)
    assert model.test_then_train(first, [["D"], ["N", "V"]]) == [[None], ["D", "D"]]
    assert model.classes_.tolist() == ["D", "N", "V"]
    for options in ({"classes": ["D", "N"]}, {"grow": False}, {"grow": "features"}):
        model = made(form, **options).fit(first[:1] * 2, [["D"], ["N"]] if "classes" not in options else [["D"], ["D"]])
        before = snapshot(model)
        with pytest.raises(ValueError, match="classes should include"):
            model.partial_fit(first, [["D"], ["N", "V"]])
        assert snapshot(model) == before
    model = made(form).fit(first, [["D"], ["N", "V"]])
    model.learn_one(first[1], ["N", "X"])
    assert model.classes_.tolist() == ["D", "N", "V", "X"]
    assert model.score(first, [["never seen"], model.predict(first)[1]]) == pytest.approx(2 / 3)


@plain
@both
def test_growing_may_be_forbidden(form: str) -> None:
    """Then the first call tells which features and labels there are; those that come later count for nothing, or are refused."""
    X, y = data(form, 20)
    model = made(form, grow=False).partial_fit(X[:10], y[:10])
    n, labels = model.n_features_in_, model.classes_.tolist()
    assert n == made(form, grow=False, shuffle=False).fit(X[:10], y[:10]).n_features_in_
    model.partial_fit(X[10:], [[labels[0]] * len(tags) for tags in y[10:]])
    assert model.n_features_in_ == n
    assert made(form).partial_fit(X[:10], y[:10]).partial_fit(X[10:], y[10:]).n_features_in_ > n
    weights = np.arange(10) % 2
    some = made(form, grow=False).partial_fit(X[:10], y[:10], sample_weight=weights)
    assert snapshot(some) == snapshot(made(form, grow=False).partial_fit(X[1:10:2], y[1:10:2]))
    assert made(form).partial_fit([], [])._state is None
    assert made(form).test_then_train([[]], [[]]) == [[]]


@plain
@pytest.mark.parametrize("damage", ["rows", "keys", "index", "W"])
def test_damaged_files(damage: str, tmp_path: Path) -> None:
    """Numbers that would lead out of bounds are found out when a file is loaded, or do no harm."""
    X, y = text()
    model = made("words").fit(X, y)
    array = model._state.arrays[damage]
    array[:] = np.random.default_rng(0).integers(-(2**40), 2**40, array.shape)
    model._state.bound = model._bound = None
    if damage == "rows":
        with pytest.raises(RuntimeError, match="have no rows"):
            model.save(tmp_path / "model.onepass")
        return
    model.save(tmp_path / "model.onepass")
    loaded = onepass.load(tmp_path / "model.onepass")
    assert [len(tags) for tags in loaded.predict(X)] == [*map(len, X)]
    loaded.partial_fit(X, y)


@plain
def test_the_order_of_a_dict_does_not_matter() -> None:
    X = dicts(text()[0])
    y = text()[1]
    model = made("dicts").partial_fit(X, y)
    before = snapshot(model)
    turned = [[dict(reversed(word.items())) for word in x] for x in X]
    other = made("dicts").partial_fit(X[:1], y[:1])
    model = model.partial_fit(turned, y)
    assert snapshot(model) == snapshot(made("dicts").partial_fit(X, y).partial_fit(X, y)) != before
    assert other.predict(turned) == other.predict(X)


@plain
def test_features_that_came_to_nothing() -> None:
    """Keys that a failed call entered into the index, in place, do not matter to later ones."""
    X, y = text()
    model, other = made("words").partial_fit(X[:9], y[:9]), made("words").partial_fit(X[:9], y[:9])
    state = model._state
    lost = model._examples([["entirely", "different", "words"]])
    lost.learned_by(state)
    model.partial_fit(X[9:], y[9:])
    other.partial_fit(X[9:], y[9:])
    assert {**snapshot(model), "index": None} == {**snapshot(other), "index": None}


@plain
def test_single_precision() -> None:
    X, y = text()
    model = made("words", dtype="float32").fit(X, y)
    assert model.coef_.dtype == np.float32
    assert model.score(X, y) > 0.7
    with pytest.raises(ValueError, match="must be less than"):
        made("dicts", dtype="float32").learn_one([{"a": 1e12}], ["N"])


# --- templates ---


@plain
def test_templates_find_what_they_say() -> None:
    """Two words have a key in common where they have the feature, spelled out, in common."""
    X = [["The", "USA", "the"], ["İstanbul", "naïve", "nai\u0308ve", "👍🏽", "a b"], [], ["the"]]
    offsets, indptr, keys = hashed(X, table_of("names"))
    assert offsets.tolist() == [0, 3, 8, 8, 9]
    spelled = [naive(x, i, TEMPLATES["names"]) for x in X for i in range(len(x))]
    found = [keys[a:b].tolist() for a, b in pairwise(indptr)]
    assert [len(set(one)) for one in found] == [len(one) for one in spelled]
    pairs = {(key, name) for one, other in zip(found, spelled, strict=True) for key, name in zip(one, other, strict=True)}
    assert len({key for key, _ in pairs}) == len({name for _, name in pairs}) == len(pairs)


def naive(words: list[str], i: int, templates: Any) -> list[str]:
    """The features of a word as texts."""
    features = []
    for template in templates:
        parts = []
        for part in template.split():
            name, j = part[:-1].split("[")[0], i + int(part[:-1].split("[")[1])
            if not 0 <= j < len(words):
                parts.append(f"<{'s' if j < 0 else 'e'}>")
                continue
            word, size = words[j], int(name[-1]) if name[-1].isdigit() else 0
            lower = word.lower()
            if size and len(lower) <= size:
                break
            parts.append(
                {"word": word, "lower": lower, "shape": _shape(word)}.get(name)
                or (lower[:size] if name.startswith("prefix") else lower[-size:])
            )
        else:
            features.append(f"{template}: {parts!r}")
    return features


def _shape(word: str) -> str:
    kinds = ["X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word]
    return "".join(kind for before, kind in pairwise(["", *kinds]) if kind != before)


@plain
def test_keys_are_the_same_everywhere() -> None:
    """Models are saved with keys: they must not change."""
    _, _, keys = hashed([["Dogs"]], table_of(["lower[0]", "suffix1[0] lower[-1]", "shape[0]"]))
    assert keys.tolist() == KEYS
    assert ATTRIBUTES[:3] == ("word", "lower", "shape")


KEYS = [4395560843295759289, 4018935053737468081, 21139663221727561]
