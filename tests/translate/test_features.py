"""The lexicon against the plainest expectation-maximisation, the language model against sums to one."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

import pytest

from onepass.translate.features import NULL, Bigrams, Lexicon

PAIRS = [("der Hund lebt", "the dog lives"), ("der Baum", "the tree"), ("ein Hund", "a dog"), ("der Hund", "the dog")]


def test_lexicon_is_model_1() -> None:
    targets = sorted({word for _, text in PAIRS for word in text.split()})
    p: dict[tuple[str, str], float] = defaultdict(lambda: 1 / len(targets))
    for _ in range(5):
        count: dict[tuple[str, str], float] = defaultdict(float)
        for source, target in PAIRS:
            words = [NULL, *source.split()]
            for e in target.split():
                whole = sum(p[f, e] for f in words)
                for f in words:
                    count[f, e] += p[f, e] / whole
        p = defaultdict(
            float, {(f, e): c / sum(count.get((f, other), 0.0) for other in targets) for (f, e), c in count.items()}
        )
    lexicon = Lexicon(PAIRS)
    for source, target in product(("der Hund", "ein Baum lebt"), ("the dog", "a tree lives")):
        words = [NULL, *source.split()]
        wanted = sum(math.log(max(sum(p[f, e] for f in words) / len(words), 1e-6)) for e in target.split())
        assert lexicon.score(source, target) == pytest.approx(wanted, abs=1e-9)
    assert lexicon.score("der Hund", "zebra") == pytest.approx(math.log(1e-6))
    assert Lexicon([]).score("der Hund", "dog") == pytest.approx(math.log(1e-6))


def test_probabilities_of_words_sum_to_one() -> None:
    texts = [target for _, target in PAIRS]
    model = Bigrams(texts)
    words = [*sorted({word for text in texts for word in text.split()}), "</s>", "unknown"]
    for before in ("<s>", "the", "dog", "nowhere"):
        head = "" if before == "<s>" else before
        base = model.score(head) - end(model, before)
        chances = [math.exp(end(model, before) if word == "</s>" else following(model, head, word) - base) for word in words]
        assert sum(chances) == pytest.approx(1, abs=1e-9)


def end(model: Bigrams, before: str) -> float:
    kinds = model._kinds[before]
    alone = (model._words["</s>"] + 1) / (model._total + len(model._words) + 1)
    return math.log((model._pairs[before, "</s>"] + kinds * alone) / (model._before[before] + kinds) if kinds else alone)


def following(model: Bigrams, head: str, word: str) -> float:
    return model.score(f"{head} {word}") - end(model, word)
