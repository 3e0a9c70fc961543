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
from onepass.structured import outputs as engine
from onepass.structured.templates import ATTRIBUTES, TEMPLATES, hashed, table_of
from sentences import STRANGE, TAGGERS, TAGS, data, dicts, made, text
from shared import snapshot

plain = pytest.mark.plain
compiled = pytest.mark.compiled
both = pytest.mark.parametrize("form", TAGGERS)
GIVEN: dict[str, Any] = {"words": list, "dicts": dicts}  # how each form takes sentences

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
            if model.order == 2 and t > 0:
                row = model._state.arrays["pairs"][0 if t == 1 else tags[t - 2] + 1, tags[t - 1]]
                total += model.coef_[k, row - 1]
        scores[tuple(labels[k] for k in tags)] = total
    return scores


@plain
@compiled
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("constraints", [None, "BIO"])
@pytest.mark.parametrize("T", [0, 1, 2, 4])
def test_decoders(T: int, constraints: str | None, order: int) -> None:
    labels = ["B-x", "B-y", "I-x", "I-y", "O"]
    model = SequenceTagger(classes=labels, constraints=constraints, order=order)
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


def drawn_weights(model: SequenceTagger, seed: int, draw: int, scale: float) -> np.ndarray[Any, Any]:
    """What is added to all weights in one draw, by the formula of Box and Muller, in whole numbers of Python."""
    state, most = model._state, 2**64
    assert state is not None
    found = np.empty((state.n_features + 1, len(model.classes_)))

    def mixed(h: int, part: int) -> int:
        h = (h ^ part) * 0x9E3779B97F4A7C15 % most
        return h ^ h >> 32

    for i, k in np.ndindex(found.shape):
        h = mixed(mixed(mixed(seed, draw), i), k)
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            h = (h ^ h >> 33) * factor % most
        h ^= h >> 33
        found[i, k] = np.sqrt(-2 * np.log(((h >> 32) + 0.5) / 2**32)) * np.cos(2 * np.pi * (h % 2**32) / 2**32)
    return found * np.sqrt(scale * state.arrays["Sigma"][: len(found)] if "Sigma" in state.arrays else scale)


@plain
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"constraints": "BIO"}, marks=compiled),
        {"rule": "AROW"},
        {"rule": "CW", "average": None},
        {"rule": "AROW", "order": 2},
    ],
    ids=str,
)
def test_how_sure_by_draws(options: dict[str, Any]) -> None:
    """Every draw is a tagger with other weights: with all of them by hand the shares are the same."""
    labels = ["B-x", "I-x", "O"]
    rng = np.random.default_rng(0)
    X = [[{f"f{j}": 1.0 for j in rng.choice(8, 2, replace=False)} for _ in range(rng.integers(0, 5))] for _ in range(12)]
    model = SequenceTagger(classes=labels, **options).partial_fit(X, [rng.choice(labels, len(x)).tolist() for x in X])
    n, scale, seed = 7, 0.3, 5
    told = model.predict(X)
    agree = [np.zeros(len(x)) for x in X]
    noise = [drawn_weights(model, int(np.random.RandomState(seed).randint(2**31 - 1)), i, scale) for i in range(n)]
    for e in noise:
        other = model.copy()
        other._state.arrays["W"][: len(e)] += e
        for t, tags in enumerate(other.predict(X)):
            agree[t] += np.equal(tags, told[t]) / n
    found = model.predict_confidence(X, "drawn", n, scale=scale, random_state=seed)
    for one, wanted in zip(found, agree, strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-12)
    assert 0 < min(share.min(initial=1) for share in found) < 1
    assert all(
        np.array_equal(one, model.predict_confidence([x], "drawn", n, scale=scale, random_state=seed)[0])
        for one, x in zip(found, X, strict=True)
    )
    assert all((share == 1).all() for share in model.predict_confidence(X, "drawn", scale=0))
    assert np.concatenate(noise).std() > 0


@plain
def test_draws_are_normal() -> None:
    model = SequenceTagger(classes=TAGS).partial_fit([[{f"f{j}": 1.0} for j in range(300)]], [["N"] * 300])
    e = np.sort(np.concatenate([drawn_weights(model, 3, draw, 4.0).ravel() for draw in range(4)])) / 2
    assert abs(e.mean()) < 0.05
    np.testing.assert_allclose(np.quantile(e, [0.05, 0.25, 0.5, 0.75, 0.95]), [-1.645, -0.674, 0, 0.674, 1.645], atol=0.06)


@plain
def test_how_sure_by_the_best() -> None:
    X, y = text()
    model = made("words").partial_fit(X, y)
    for x, share in zip(X, model.predict_confidence(X, "n_best", 4), strict=True):
        several = [tags for tags, _ in model.predict_n_best([x], 4)[0]]
        assert share.tolist() == [np.mean([tags[t] == several[0][t] for tags in several]) for t in range(len(x))]
    assert made("words", classes=TAGS).fit(X, y).predict_confidence([], "drawn") == []
    with pytest.raises(ValueError, match="must be"):
        model.predict_confidence(X, "best")
    for bad in ({"n": 0}, {"scale": -1.0}, {"scale": np.nan}):
        with pytest.raises(ValueError, match="`n` must be"):
            model.predict_confidence(X, "drawn", **bad)


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
    with pytest.raises(ValueError, match="leave `transitions` at True"):
        SequenceTagger(order=2, transitions=False).fit([[{}]], [["N"]])
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
@pytest.mark.parametrize("damage", ["rows", "hashes", "twice", "W"])
def test_damaged_files(damage: str, tmp_path: Path) -> None:
    """Numbers that would lead out of bounds are found out when a file is loaded, or do no harm."""
    X, y = text()
    model = made("words").fit(X, y)
    assert model._state.buckets is not None
    array = model._state.arrays[damage] if damage in model._state.arrays else model._state.buckets.table[1]
    array[:] = 8 if damage == "twice" else np.random.default_rng(0).integers(-(2**40), 2**40, array.shape)
    model._state.bound = model._bound = None
    if damage in ("hashes", "twice"):
        model.save(tmp_path / "model.onepass")
        with pytest.raises(onepass.ModelFileError, match="are not hashes"):
            onepass.load(tmp_path / "model.onepass")
        return
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
    """Keys that a failed call has numbered do not matter to later ones, nor to those who read meanwhile."""
    X, y = text()
    model, other = made("words").partial_fit(X[:9], y[:9]), made("words").partial_fit(X[:9], y[:9])
    state = model._state
    lost = model._examples([["entirely", "different", "words"]])
    wider, _ = lost.learned_by(state)
    assert wider.buckets is state.buckets
    assert lost.known_to(state).indices.max() <= state.n_features < lost.known_to(wider).indices.max() == wider.n_features
    model.partial_fit(X[9:], y[9:])
    other.partial_fit(X[9:], y[9:])
    assert snapshot(model) == snapshot(other)


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


# --- what is easily forgotten ---


@plain
@compiled
@pytest.mark.parametrize("T", [1, 2, 4])
def test_ties(T: int) -> None:
    """Where several sequences score the same, the first tag wins, from the last word backwards, as in the twin."""
    model, twin = SequenceTagger(classes=TAGS), Tagger(sorted(TAGS))
    x = [{"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0}, {}][:T]
    model.learn_one(x, ["N"] * T)
    W = model._state.arrays["W"]
    model._state.arrays["gap.W"][:] = 0
    for seed in range(20):
        W[:] = np.random.default_rng(seed).integers(0, 1 + seed % 3, W.shape)
        scores = all_scores(model, x)
        assert model.predict_one(x) == list(max(twin.outputs(x), key=scores.__getitem__))
        (several,) = model.predict_n_best([x], 5)
        assert several[0][1] == max(scores.values())
        assert len({tuple(tags) for tags, _ in several}) == min(5, 4**T)
        assert [score for _, score in several] == sorted(scores.values(), reverse=True)[:5]


@plain
@both
def test_empty_sentences(form: str) -> None:
    X, y = text()
    model = made(form, rule="AROW").partial_fit([[], *GIVEN[form](X)], [[], *y])
    assert model.t_ == len(X) + 1
    assert model.predict([[]]) == [[]]
    assert model.predict([]) == []
    assert model.predict_n_best([[]], 3) == [[([], 0.0)]]
    assert [scores.shape for scores in model.max_marginals([[]])] == [(0, len(TAGS))]
    for method in ("lead", "drawn", "n_best"):
        assert [sure.tolist() for sure in model.predict_confidence([[]], method)] == [[]]
    assert model.decision_function([[]]).tolist() == [np.inf]
    assert np.isnan(model.score([[]], [[]]))
    X = [[], *GIVEN[form](X)]
    assert model.score(X, model.predict(X)) == 1


@plain
@both
def test_strange_words(form: str, tmp_path: Path) -> None:
    """Forms may hold blanks; marks that are composed or not, and letters that grow when they are made small, are what they are."""
    X, y = [[word] for word in STRANGE], [[f"T{i:02}"] for i in range(len(STRANGE))]
    model = made(form, max_iter=30).fit(GIVEN[form](X), y)
    assert model.predict(GIVEN[form](X)) == y
    model.save(tmp_path / "model")
    assert onepass.load(tmp_path / "model").predict(GIVEN[form](X)) == y


@plain
@both
def test_a_sentence_is_one_step_of_an_average(form: str) -> None:
    """However many words it has: the average is the mean over sentences, those that change nothing too."""
    X, y = text(12)
    X = GIVEN[form](X)
    model, plain = made(form, average="uniform", classes=TAGS), made(form, average=None, classes=TAGS)
    model.partial_fit(X, y)
    total = np.zeros(model.coef_.shape)
    for x, tags in zip(X, y, strict=True):
        plain.learn_one(x, tags)
        total[:, : plain.n_features_in_] += plain.coef_
    np.testing.assert_allclose(model.coef_, total / len(X), atol=1e-12)
    assert plain.updates_ < len(X)


@plain
def test_tags_that_nobody_knows_are_wrong() -> None:
    X, y = text(10)
    model = made("words").fit(X, y)
    before = snapshot(model)
    assert model.score(X, [["?"] * len(tags) for tags in y]) == 0
    assert snapshot(model) == before


@plain
def test_a_usual_limit_never_binds() -> None:
    """A wrong word has some 40 features, so that tau is about 0.02: C counts beside |D|^2."""
    X, y = text(60)
    hard = made("words").fit(X, y)
    for C in (1.0, 0.1):
        assert np.array_equal(made("words", variant="I", C=C).fit(X, y).coef_, hard.coef_)
    assert not np.array_equal(made("words", variant="I", C=0.01).fit(X, y).coef_, hard.coef_)
