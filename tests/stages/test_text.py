"""Text: bags of words against the plainest Python, and what a model makes of them."""

from __future__ import annotations

import math
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onepass import (
    ModelFileError,
    PAClassifier,
    PAMOClassifier,
    SCWClassifier,
    StandardScaler,
    Table,
    Text,
    UnitNorm,
    load,
    pipeline,
)
from onepass.compiled.words import K0, K1, K2
from onepass.evaluate import describe, prequential
from shared import dataset_file, snapshot

TEXTS = [
    "Win a PRIZE now!!! Call 0800-123, it's £1000",
    "",
    "  \t\n ",
    "snake_case under_score x",
    "Über ÄRGER über ärger; ΑΒΓ αβγ; ПРИВЕТ привет",
    "日本語 のテキスト。 「引用」 — “quotes” …",
    "the cat and the hat and the bat",
    "eighteen EIGHTEEN_ seventeenth abcdefgh.ijklmnop. eighteené naïveté Überraschungen x\x7fy @[`{ az09_",
    "a" * 300 + " b " * 200,
    "\u00df \u0130 \u01c5 🙂 🙂🙂",
]
LONG = 2**64


# --- the same again, in plain Python ---


def kind(character: str) -> str:
    code = ord(character)
    if code >= 0x800:
        signs = 0x2000 <= code < 0x2070 or 0x3000 <= code < 0x3040 or 0xFF00 <= code < 0xFF10
        blank = code == 0x3000 or 0x2000 <= code <= 0x200A or 0x2028 <= code <= 0x202F
        return "space" if signs and blank else "sign" if signs else "letter"
    if character.isalnum() or character == "_":
        return "letter"
    return "space" if code <= 32 or character.isspace() else "sign"


def lower(character: str) -> str:
    small = character.lower()
    same = len(small) == 1 and (ord(small) < 0x80) == (ord(character) < 0x80) and ord(small) < 0x800
    return small if same and ord(character) < 0x800 else character


def words(text: str) -> list[str]:
    found: list[str] = []
    before = "space"
    for character in text:
        now = kind(character)
        if now == "letter" and before == "letter":
            found[-1] += lower(character)
        elif now != "space":
            found.append(lower(character))
        before = now
    return found


def runs(text: str) -> str:
    blank = "".join(lower(c) if kind(c) == "letter" else " " for c in text)
    return " " + "".join(f"{part} " for part in blank.split(" ") if part)


def folded(h: int) -> int:
    return h ^ (h >> 32)


def joined(h: int, part: int) -> int:
    return folded((h ^ part) * int(K0) % LONG)


def word_hash(word: str) -> int:
    h, data = 0, word.encode("utf-8", "surrogatepass")
    for i in range(0, len(data), 8):
        h = joined(h, int.from_bytes(data[i : i + 8], "little"))
    return h


def column(h: int, width: int) -> tuple[int, int]:
    for factor in (K1, K2):
        h = (h ^ (h >> 33)) * int(factor) % LONG
    h ^= h >> 33
    return ((h >> 32) * width) >> 32, -1 if h & 1 else 1


def grams(text: str, ngrams: int, letters: tuple[int, int] | None) -> list[int]:
    hashes, found = [word_hash(word) for word in words(text)], []
    for i in range(len(hashes)):
        for n in range(1, ngrams + 1):
            if i + n <= len(hashes):
                h = hashes[i]
                for part in hashes[i + 1 : i + n]:
                    h = joined(h * int(K1) % LONG, part)
                found.append(h)
    low, high = letters or (1, 0)
    line = runs(text)
    for i in range(len(line)):
        for n in range(low, min(high, len(line) - i) + 1):
            h = joined(0, 0)
            for character in line[i : i + n]:
                h = joined(h, ord(character))
            found.append(joined(h, n - 1))
    return found


def naive(texts: list[str], width: int, ngrams: int, letters: Any, weight: str, normed: bool) -> np.ndarray:
    rows, had, n, total = np.zeros((len(texts), width)), Counter[int](), 0, 0
    for t, text in enumerate(texts):
        found = [column(h, width) for h in grams(text, ngrams, letters)]
        for j, count in Counter(j for j, _ in found).items():
            value = float(sum(sign for k, sign in found if k == j))
            if weight == "binary":
                value = float(np.sign(value))
            elif weight == "tfidf":
                value *= math.log((1 + n) / (1 + had[j])) + 1
            elif weight == "bm25":
                share = 0.25 + 0.75 * len(found) * n / total if total else 1.0
                value *= math.log(1 + (n - had[j] + 0.5) / (had[j] + 0.5)) * 2.2 / (count + 1.2 * share)
            rows[t, j] = value
        if normed and rows[t].any():
            rows[t] /= np.linalg.norm(rows[t])
        had.update({j for j, _ in found})
        n, total = n + 1, total + len(found)
    return rows


@pytest.mark.plain
@pytest.mark.parametrize("weight", ["count", "binary", "tfidf", "bm25"])
@pytest.mark.parametrize(("ngrams", "letters"), [(1, None), (3, None), (0, (2, 4)), (2, (1, 1))])
@pytest.mark.parametrize("width", [37, 2**16])
def test_the_same_as_in_plain_python(weight: str, ngrams: int, letters: Any, width: int) -> None:
    texts = TEXTS + TEXTS[::-1]
    for normed in (False, True):
        stage = Text(width, ngrams, letters, weight, normed)
        rows = stage.learn_transform(texts).toarray()
        np.testing.assert_allclose(rows, naive(texts, width, ngrams, letters, weight, normed), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("options", [{}, {"weight": "tfidf"}, {"weight": "bm25", "ngrams": 2}, {"letters": (2, 3)}])
def test_cuts_saving_and_single_texts_do_not_matter(options: dict[str, Any], tmp_path: Path) -> None:
    texts, labels = TEXTS * 3, [t % 2 for t in range(3 * len(TEXTS))]
    whole = pipeline(Text(64, **options), SCWClassifier(classes=[0, 1])).partial_fit(texts, labels)
    model = pipeline(Text(64, **options), SCWClassifier(classes=[0, 1])).partial_fit(texts[:5], labels[:5])
    for text, label in zip(texts[5:10], labels[5:10], strict=True):
        model.learn_one(text, label)
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    scores = model.test_then_train(np.array(texts[10:], object), labels[10:])
    assert [snapshot(step) for _, step in model.steps] == [snapshot(step) for _, step in whole.steps]
    again = pipeline(Text(64, **options), SCWClassifier(classes=[0, 1])).partial_fit(texts[:10], labels[:10])
    for t in range(10, len(texts)):
        assert again.decision_function([texts[t]])[0] == scores[t - 10]
        again.learn_one(texts[t], labels[t])
    assert model.predict_one("win") == model.predict(["win"])[0]


def test_texts_may_be_missing_and_come_in_many_ways() -> None:
    pandas, polars, arrow = (import_module(name) for name in ("pandas", "polars", "pyarrow"))
    texts = ["a b", None, "c ü"]
    expected = Text(16).transform(["a b", "", "c ü"]).toarray()
    for X in (texts, np.array(texts, object), pandas.Series(texts), polars.Series(texts), arrow.chunked_array([texts])):
        assert np.array_equal(Text(16).transform(X).toarray(), expected)
    assert np.array_equal(Text(16).transform(np.array(["a b", "", "c ü"])).toarray(), expected)
    assert Text(16).transform([]).shape == (0, 16)


def test_bad_texts_change_nothing() -> None:
    model = pipeline(Text(64, weight="tfidf"), SCWClassifier()).fit(["a b", "b c"], [0, 1])
    before = [snapshot(step) for _, step in model.steps]
    for bad in (["a", 3], ["a", ["b"]], [{"text": "a"}, "b"], "ab"):
        with pytest.raises(TypeError, match="Text takes"):
            model.partial_fit(bad, [0, 1])
    for bad in (3, ["a"], b"bytes"):
        with pytest.raises((TypeError, ValueError), match=r"Text takes|one example"):
            model.learn_one(bad, 0)
    with pytest.raises(ValueError, match=r"lengths|inconsistent"):
        model.partial_fit(["a", "b"], [0])
    assert [snapshot(step) for _, step in model.steps] == before


@pytest.mark.parametrize(
    "options", [{"letters": (3,)}, {"letters": (0, 2)}, {"letters": (4, 3)}, {"ngrams": 0}, {"weight": "idf"}, {"ngrams": 9}]
)
def test_bad_parameters_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"letters|weight|ngrams"):
        Text(**options).fit(["a"])


def test_spam_is_found() -> None:
    """A bag of words with SCW was measured at 2.2 % before there was this stage."""
    lines = dataset_file("sms-spam.tsv").splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    result = prequential(pipeline(Text(), SCWClassifier()), (list(texts), np.array(labels)))
    assert result.metrics["mistake_rate"] < 0.021


@pytest.mark.plain
@pytest.mark.parametrize("before", ["count", "bm25"])
def test_what_decides_on_the_arrays_stays(before: str) -> None:
    """Machine code would follow the new number of columns out of the old array."""
    texts = ["a b", "c d"]
    text = Text(64, weight=before).fit(texts)
    text.set_params(**({"weight": "tfidf"} if before == "count" else {"n_features": 2**12}))
    for use in (text.transform, text.partial_fit):
        with pytest.raises(ValueError, match="call fit to start anew"):
            use(texts)
    assert text.fit(texts).transform(texts).shape == (2, text.n_features)


# --- columns of their own ---


def spelled(text: str, ngrams: int, letters: tuple[int, int] | None) -> list[str]:
    found, line = words(text), runs(text)
    low, high = letters or (1, 0)
    return [" ".join(found[i : i + n]) for i in range(len(found)) for n in range(1, ngrams + 1) if i + n <= len(found)] + [
        f"'{line[i : i + n]}'" for i in range(len(line)) for n in range(low, high + 1) if i + n <= len(line)
    ]


def naive_own(texts: list[str], most: int, weight: str, ngrams: int, letters: Any) -> tuple[list[str], list[dict[str, float]]]:
    """The vocabulary, and each text by its n-grams, when it came."""
    known, had, rows, total = list[str](), Counter[str](), list[dict[str, float]](), 0
    for n, text in enumerate(texts):
        found = spelled(text, ngrams, letters)
        known += [ngram for ngram in dict.fromkeys(found) if ngram not in known][: most - len(known)]
        counts = Counter(ngram for ngram in found if ngram in known)
        row = {}
        for ngram, f in counts.items():
            share = 0.25 + 0.75 * counts.total() * n / total if total else 1.0
            rare = math.log(1 + (n - had[ngram] + 0.5) / (had[ngram] + 0.5))
            row[ngram] = {
                "count": f,
                "binary": 1.0,
                "tfidf": f * (math.log((1 + n) / (1 + had[ngram])) + 1),
                "bm25": rare * f * 2.2 / (f + 1.2 * share),
            }[weight]
        norm = math.sqrt(sum(value * value for value in row.values()))
        rows.append({ngram: value / norm for ngram, value in row.items()})
        had.update(set(counts))
        total += counts.total()
    return known, rows


@pytest.mark.plain
@pytest.mark.compiled
@pytest.mark.parametrize("weight", ["count", "binary", "tfidf", "bm25"])
@pytest.mark.parametrize(("ngrams", "letters"), [(1, None), (3, None), (2, (1, 3))])
@pytest.mark.parametrize("most", [20, 2**18])
def test_columns_of_their_own_are_those_of_plain_python(weight: str, ngrams: int, letters: Any, most: int) -> None:
    texts = TEXTS + TEXTS[::-1]
    stage = Text(ngrams=ngrams, letters=letters, weight=weight, grow=True, max_features=most)
    rows, (known, expected) = stage.learn_transform(texts), naive_own(texts, most, weight, ngrams, letters)
    assert stage.get_feature_names_out().tolist() == known
    assert rows.shape == (len(texts), len(known))
    for t, row in enumerate(expected):
        mine = rows[t : t + 1]
        assert {known[j]: value for j, value in zip(mine.indices.tolist(), mine.data.tolist(), strict=True)} == pytest.approx(
            row
        )


OWN: list[dict[str, Any]] = [
    {"weight": "tfidf"},
    {"weight": "bm25", "ngrams": 2, "max_features": 50},
    {"letters": (2, 3), "max_features": 30},
]


@pytest.mark.plain
@pytest.mark.parametrize("options", OWN, ids=str)
@pytest.mark.parametrize("behind", [[SCWClassifier], [StandardScaler, UnitNorm, SCWClassifier], [PAMOClassifier]], ids=str)
def test_grown_models_are_the_same_however_texts_come(options: dict[str, Any], behind: list[Any], tmp_path: Path) -> None:
    """Cut, one by one, saved on the way; and what was said of a text before is what it is learned with."""

    def make() -> Any:
        *between, learner = behind
        own = {"random_state": 0, "dimensions": 4} if learner is PAMOClassifier else {}
        return pipeline(Text(grow=True, **options), *(stage() for stage in between), learner(**own, classes=[0, 1]))

    texts = ["see you at lunch", *TEXTS[:7], "Win a car", "", "you win now", "see new words here", *TEXTS[8:], "see you"]
    labels = [t % 2 for t in range(len(texts))]
    whole = make()
    scores = whole.test_then_train(texts, labels)
    model = make().partial_fit(texts[:3], labels[:3])
    for text, label in zip(texts[3:9], labels[3:9], strict=True):
        said = model.decision_function([text, texts[-1], text])
        assert said[0] == said[2] == scores[texts.index(text)]
        quick = model._answer_one(text)[1]
        assert quick is None or quick == said[0]
        model.learn_one(text, label)
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    assert np.array_equal(model.test_then_train(np.array(texts[9:], object), labels[9:]), scores[9:])
    assert [snapshot(step) for _, step in model.steps] == [snapshot(step) for _, step in whole.steps]
    assert model[0].get_feature_names_out().tolist() == whole[0].get_feature_names_out().tolist()


@pytest.mark.plain
def test_to_grow_is_to_hash_without_collisions() -> None:
    lines = dataset_file("sms-spam.tsv").splitlines()[:60]
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    for options in ({}, {"weight": "bm25"}):
        scores = [
            pipeline(stage, PAClassifier(classes=["ham", "spam"])).test_then_train(list(texts), labels)
            for stage in (Text(2**20, **options), Text(grow=True, **options))
        ]
        np.testing.assert_allclose(*scores, rtol=1e-9, atol=1e-12)


@pytest.mark.plain
def test_words_are_called_by_their_names_without_examples() -> None:
    model = pipeline(Text(grow=True), PAClassifier())
    for text, label in [("Win a prize now", "spam"), ("See you at lunch", "ham"), ("You win!", "spam"), ("my lunch", "ham")]:
        model.learn_one(text, label)
    assert set(model.explain_one("Win lunch, stranger").contributions) == {"win", "lunch"}
    assert set(describe(model).facts["largest_weights"]) <= set(model[0].get_feature_names_out().tolist())
    assert model[0].transform(["win stranger"]).shape == (1, model[0].n_features_in_)
    assert model[0].transform(["win stranger"]).nnz == 1


@pytest.mark.plain
def test_what_comes_when_all_columns_are_taken_is_left_out() -> None:
    stage = Text(grow=True, max_features=2).fit(["a b c", "d a"])
    assert stage.get_feature_names_out().tolist() == ["a", "b"]
    assert stage.transform(["a c d e", "c"]).toarray().tolist() == [[1.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="call fit to start anew"):
        stage.set_params(grow=False).transform(["a"])


@pytest.mark.plain
@pytest.mark.parametrize("stage", [Text(64), Table(64, text=["note"])], ids=str)
def test_files_in_which_words_had_other_hashes_are_refused(stage: Any, tmp_path: Path) -> None:
    X: Any = ["a b", "c"] if isinstance(stage, Text) else [{"note": "a b"}, {"note": "c"}]
    pipeline(stage, PAClassifier()).fit(X, [0, 1]).save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    assert load(tmp_path / "model").predict(X).tolist() == [0, 1]
    before = content.replace(b'\\"format\\": 3', b'\\"format\\": 2')
    assert before != content
    (tmp_path / "model").write_bytes(before)
    with pytest.raises(ModelFileError, match=r"other hashes .* Learn it again"):
        load(tmp_path / "model")
