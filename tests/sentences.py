"""Sentences with tags and with trees, for tests of all learners of structured outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onepass import DependencyParser, SequenceTagger

WORDS = ["the", "a", "dog", "Dog", "cats", "bark", "barks", "3", "3.5", "in", "New", "York", "U.S.", "isn't", "reformation"]
TAGS = ["N", "V", "X", "D"]

# With blanks, marks that are composed or not, letters that grow when they are made small, half a pair of surrogates.
STRANGE = [
    "New York",
    "naïve",
    "nai\u0308ve",
    "İstanbul",
    "i\u0307stanbul",
    "👍🏽",
    "👍",
    "",
    " ",
    "\ud800",
    "ﬁn",
    "fin",
    "STRASSE",
    "straße",
]


def text(n: int = 30, seed: int = 0, longest: int = 6) -> tuple[list[list[str]], list[list[str]]]:
    """Random sentences, some empty; tags follow from words for the most part, and come up one after the other."""
    rng = np.random.default_rng(seed)
    X = [rng.choice(WORDS, rng.integers(0, longest)).tolist() for _ in range(n)]
    return X, [[TAGS[(len(word) + (rng.random() < 0.2)) % 4] for word in x] for x in X]


def tagged(n: int = 18, seed: int = 0, longest: int = 6) -> tuple[list[Any], list[Any]]:
    """The same with trees: words hang on their neighbours on the way to the longest of them, for the most part, or on that."""
    rng = np.random.default_rng(seed)
    X, tags = text(n, seed, longest)
    trees = []
    for words in X:
        top = max(range(len(words)), key=lambda i: len(words[i]), default=0)
        heads = [top if rng.random() < 0.2 else i + (1 if i < top else -1) for i in range(len(words))]
        trees.append([(0 if i == top else heads[i] + 1, TAGS[len(word) % 4]) for i, word in enumerate(words)])
    return [list(zip(*pair, strict=True)) for pair in zip(X, tags, strict=True)], trees


def dicts(X: list[list[str]]) -> list[list[dict[str, Any]]]:
    """Features by name: text, numbers, lists and dicts."""
    return [
        [{"w": word, "n": len(word), "ends": [word[-1:], word[-2:]], "first": {"up": word[:1].isupper()}} for word in x]
        for x in X
    ]


# A learner, its parameters, and its sentences and outputs.
FORMS: dict[str, tuple[Any, dict[str, Any], Callable[..., tuple[list[Any], list[Any]]]]] = {
    "words": (SequenceTagger, {"templates": "tags"}, text),
    "dicts": (SequenceTagger, {}, lambda *of: (dicts(text(*of)[0]), text(*of)[1])),
    "second order": (SequenceTagger, {"order": 2}, lambda *of: (dicts(text(*of)[0]), text(*of)[1])),
    "trees": (DependencyParser, {"n_features": 2**12}, tagged),
    "spanning trees": (DependencyParser, {"n_features": 2**12, "projective": False, "update": "prediction"}, tagged),
}
TAGGERS = ("words", "dicts")


def data(form: str, *of: int) -> tuple[list[Any], list[Any]]:
    """Sentences as a form takes them, and their outputs."""
    return FORMS[form][2](*of)


def made(form: str, **options: Any) -> Any:
    cls, own, _ = FORMS[form]
    return cls(**{"random_state": 0, **own, **options})
