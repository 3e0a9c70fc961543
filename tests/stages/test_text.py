"""Text: bags of words against the plainest Python, and what a model makes of them."""

from __future__ import annotations

import math
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onepass import SCWClassifier, Text, load, pipeline
from onepass.compiled.words import K0, K1, K2
from onepass.evaluate import prequential
from shared import dataset_file, snapshot

TEXTS = [
    "Win a PRIZE now!!! Call 0800-123, it's £1000",
    "",
    "  \t\n ",
    "snake_case under_score x",
    "Über ÄRGER über ärger; ΑΒΓ αβγ; ПРИВЕТ привет",
    "日本語 のテキスト。 「引用」 — “quotes” …",
    "the cat and the hat and the bat",
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
    h = 0
    for character in word:
        h = (h ^ ord(character)) * int(K0) % LONG
    return folded(h)


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
                    h = joined(h, part)
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
    for text, label in zip(texts[5:9], labels[5:9], strict=True):
        model.learn_one(text, label)
    model.save(tmp_path / "model")
    model = load(tmp_path / "model")
    scores = model.test_then_train(np.array(texts[9:], object), labels[9:])
    assert [snapshot(step) for _, step in model.steps] == [snapshot(step) for _, step in whole.steps]
    again = pipeline(Text(64, **options), SCWClassifier(classes=[0, 1])).partial_fit(texts[:9], labels[:9])
    for t in range(9, len(texts)):
        assert again.decision_function([texts[t]])[0] == scores[t - 9]
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
