"""Tags of words beside CRFsuite: the same sentences, the same features, already indexed, one thread each."""

from __future__ import annotations

import lzma
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

from benchmarks.measure import Result
from onepass import SequenceTagger
from onepass.structured.templates import shape

PASSES = 10


def tagging() -> list[Result]:
    """Words a second of training on EWT, mean of ten passes after a first run that compiles. CRFsuite's seconds are those of its log,
    without the indexing of features, and ours those of the pass; the rule is the same, prediction-based PA."""
    X, y = sentences()
    features = [[described(words, i) for i in range(len(words))] for words in X]
    words = sum(map(len, X))
    same: dict[str, Any] = {"update": "prediction", "cost": "root", "average": "uniform"}
    train(features, y, 1, **same)
    theirs, ours = crfsuite(features, y), train(features, y, PASSES, **same)
    default, text = train(features, y, PASSES), from_words(X, y)
    peer = f"CRFsuite `pa`, {words / theirs / 1e6:.2f} M words/s"

    def line(what: str, seconds: float, least: float | None) -> Result:
        return Result(what, f"{words / seconds / 1e6:.2f} M words/s", theirs / seconds, least, peer)

    return [
        line("Tagging EWT, the same rule and features", ours, 3),
        line("the same, margin rescaling (default)", default, None),
        line("the same, from words, one pass", text, None),
    ]


def crfsuite(features: Any, y: Any) -> float:
    trainer = pycrfsuite.Trainer(algorithm="pa", verbose=False)
    for x, tags in zip(features, y, strict=True):
        trainer.append(x, tags)
    trainer.set_params({"type": 0, "max_iterations": PASSES})
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(os.path.join(folder, "model"))
    return float(np.mean([one["time"] for one in trainer.logparser.iterations]))


def train(features: Any, y: Any, passes: int, **options: Any) -> float:
    """Seconds of a pass over features that are numbered already, in another order each time."""
    model = SequenceTagger(random_state=0, **options)
    examples = model._examples(features)
    target = model._targets(y, examples)
    model._state, examples = examples.learned_by(model._begun(target.labels, True))
    seconds = []
    for t in range(passes):
        order = np.random.default_rng(t).permutation(len(examples))
        shuffled, codes = examples.taken(order), target[examples.places(order)]
        start = time.process_time()
        model._pass(shuffled, codes, None, None)
        seconds.append(time.process_time() - start)
    return float(np.mean(seconds))


def from_words(X: Any, y: Any) -> float:
    """Seconds of one pass from words, with our templates."""
    model = SequenceTagger(templates="tags").partial_fit(X[:10], y[:10])
    start = time.process_time()
    model.partial_fit(X, y)
    return time.process_time() - start


def sentences() -> tuple[list[list[str]], list[list[str]]]:
    with lzma.open(Path(os.environ["ONEPASS_DATA"], "ewt-train.conll.xz"), "rt", encoding="utf-8") as file:
        blocks = [[line.split("\t") for line in block.split("\n")] for block in file.read().strip("\n").split("\n\n")]
    return [[row[0] for row in block] for block in blocks], [[row[1] for row in block] for block in blocks]


def described(words: list[str], i: int) -> list[str]:
    """Features after Ratnaparkhi (1996), as texts."""
    lower = ["<s>", "<s>", *(word.lower() for word in words[max(0, i - 2) : i + 3]), "</s>", "</s>"]
    at = 2 + min(i, 2)
    word, before, after = lower[at], lower[at - 1], lower[at + 1]
    found = ["b", f"w={word}", f"c={words[i]}", f"h={shape(words[i])}"]
    found += [f"p{k}={word[:k]}" for k in (1, 2, 3) if len(word) > k]
    found += [f"s{k}={word[-k:]}" for k in (1, 2, 3, 4) if len(word) > k]
    found += [f"w-1={before}", f"w-2={lower[at - 2]}", f"w+1={after}", f"w+2={lower[at + 2]}"]
    return [*found, f"w-1w={before} {word}", f"ww+1={word} {after}", f"s3-1={before[-3:]}", f"s3+1={after[-3:]}"]
