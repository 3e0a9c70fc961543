"""What a log-linear model looks at in a list of translations: the translator's own score, length, a lexicon and a language model.

So the n-best lists of a translator can be learned from by `Reranker` and `LogLinear`, which need a correction and few weights, not a
gradient of all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from onepass.base.state import Array
from onepass.translate.translator import Translator

NULL = ""  # the word that words without a counterpart come from
FEATURES = ("score", "length", "lexicon", "language model")


class Lexicon:
    """Which word is the translation of which: p(e | f), estimated from pairs by model 1 of IBM.

    P. Brown, S. Della Pietra, V. Della Pietra, R. Mercer: The mathematics of statistical machine translation. Computational Linguistics
    19 (1993), 263-311.

    >>> lexicon = Lexicon([("der Hund", "the dog"), ("der Baum", "the tree"), ("ein Hund", "a dog")])
    >>> lexicon.score("Hund", "dog") > lexicon.score("Hund", "tree")
    True
    """

    def __init__(self, pairs: Sequence[tuple[str, str]], passes: int = 5) -> None:
        sources, targets = dict[str, int](), dict[str, int]()
        f, e, words = list[int](), list[int](), 0
        place = list[int]()  # the word of a target that an entry is about, numbered through the corpus
        for source, target in pairs:
            known = [sources.setdefault(word, len(sources)) for word in (NULL, *source.split())]
            for word in target.split():
                f += known
                e += [targets.setdefault(word, len(targets))] * len(known)
                place += [words] * len(known)
                words += 1
        codes, entry = np.unique(np.array(f, np.int64) * max(len(targets), 1) + np.array(e, np.int64), return_inverse=True)
        origin, at = codes // max(len(targets), 1), np.array(place, np.int64)
        p = np.full(len(codes), 1 / max(len(targets), 1))
        for _ in range(passes):
            share = p[entry] / np.bincount(at, p[entry])[at]
            count = np.bincount(entry, share)
            p = count / np.bincount(origin, count)[origin]
        self._sources, self._targets = sources, targets
        self._p = dict(zip(codes.tolist(), p.tolist(), strict=True))

    def score(self, source: str, target: str) -> float:
        """log p(target | source), each word from any word of the source; unknown ones are as probable as one in a million."""
        known = [self._sources[word] for word in (NULL, *source.split()) if word in self._sources]
        total, n = 0.0, max(len(self._targets), 1)
        for word in target.split():
            e = self._targets.get(word)
            chances = [] if e is None else [self._p.get(f * n + e, 0.0) for f in known]
            total += math.log(max(sum(chances) / max(len(known), 1), 1e-6))
        return total


class Bigrams:
    """A language model: p(word | the word before), interpolated with p(word) after I. Witten, T. Bell (1991).

    >>> model = Bigrams(["the dog sleeps", "the dog runs"])
    >>> model.score("the dog runs") > model.score("dog the runs")
    True
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._pairs, self._before, self._words, self._kinds = (
            Counter[tuple[str, str]](),
            Counter[str](),
            Counter[str](),
            Counter[str](),
        )
        for text in texts:
            for pair in pairwise(("<s>", *text.split(), "</s>")):
                self._kinds[pair[0]] += pair not in self._pairs
                self._pairs[pair] += 1
                self._before[pair[0]] += 1
                self._words[pair[1]] += 1
        self._total = sum(self._words.values())

    def score(self, text: str) -> float:
        """The log-probability of a text."""
        found, vocabulary = 0.0, len(self._words) + 1
        for before, word in pairwise(("<s>", *text.split(), "</s>")):
            alone = (self._words[word] + 1) / (self._total + vocabulary)
            kinds = self._kinds[before]
            found += math.log((self._pairs[before, word] + kinds * alone) / (self._before[before] + kinds) if kinds else alone)
        return found


def candidates(
    translator: Translator, sentence: str, lexicon: Lexicon, language: Bigrams, n: int = 10
) -> tuple[list[str], Array]:
    """At most n translations of a sentence, the best by the translator first, and a row of FEATURES for each."""
    found = translator.n_best(sentence, n)
    rows = [[score, len(text.split()), lexicon.score(sentence, text), language.score(text)] for text, score in found]
    return [text for text, _ in found], np.array(rows, np.float64)
