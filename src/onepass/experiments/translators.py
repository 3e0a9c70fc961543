"""What the experiment with translators measures: a base, trained once, and streams of corrections along which it learns."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from onepass.base.errors import DivergedError
from onepass.evaluate.translations import Adaptation, adapt, effort, measure
from onepass.experiments.cells import Task
from onepass.experiments.lab import Lab
from onepass.registry import load
from onepass.structured import LogLinear, Reranker
from onepass.translate import Translator
from onepass.translate.extra import sacrebleu
from onepass.translate.features import Bigrams, Lexicon, candidates

log = logging.getLogger(__name__)

Pairs = Sequence[tuple[str, str]]
EVERYDAY = 25_000  # sentences of tatoeba that the base is trained on; the others are a stream
PASSES = 4
SEARCHED = 200  # sentences of a stream that rates are chosen on
LONG = 1000  # sentences of tatoeba's stream that results are of
CAPTIONS = 500  # that show what was forgotten
TYPED = 100  # sentences that a user gets right
LISTED = 300  # sentences whose lists are learned from
N_BEST = 10
RATES: dict[str, tuple[float, ...]] = {
    "sgd": (0.03, 0.1, 0.3),
    "pa": (0.1, 0.3, 1.0),
    "adagrad": (0.001, 0.003, 0.01),
    "adadelta": (0.1, 0.3, 1.0),
    "adam": (0.0001, 0.0003, 0.001),
}


class Bench:
    """The corpus, the base, and the streams."""

    def __init__(self, lab: Lab, base: Path) -> None:
        captions, everyday, messages = (lab.load(name) for name in ("multi30k", "tatoeba", "godot"))
        both = list(zip(everyday.X, everyday.y, strict=True))
        software = [
            pair
            for pair in zip(messages.X, messages.y, strict=True)
            if pair[0] != pair[1] and all(3 <= len(side.split()) <= 30 for side in pair)
        ]
        self.corpus: Pairs = [*zip(captions.X, captions.y, strict=True), *both[:EVERYDAY]]
        self.streams: dict[str, Pairs] = {
            "godot": software[: lab.rows],
            "tatoeba": both[EVERYDAY:][: min(LONG, lab.rows or LONG)],
        }
        self.captions: Pairs = list(zip(captions.X_test, captions.y_test, strict=True))
        self.lab, self._path = lab, base

    def base(self, beam: int = 1) -> Translator:
        """The base; it is trained if it is not there, and goes on with its training if that was stopped."""
        return _base(self).copy().set_params(beam=beam)

    def key(self, pairs: Pairs, **more: Any) -> dict[str, Any]:
        """What a measurement along some pairs is of."""
        stamp = hashlib.blake2b(repr(list(pairs)).encode(), digest_size=16).hexdigest()
        return {"base": hashlib.sha256(self._path.read_bytes()).hexdigest(), "pairs": stamp, **more}

    # --- measurements ---

    def along(self, pairs: Pairs, step: str, rate: float, *, forgotten: bool = False, **more: Any) -> Task:
        """A translator that learns along a stream; with `forgotten` the captions are translated afterwards."""

        def measured() -> dict[str, Any]:
            translator = self.base().set_params(step=step, **{"C" if step == "pa" else "rate": rate}, **more)
            found = Adaptation()
            try:
                for _ in adapt(translator, pairs, before=found):
                    pass
            except DivergedError as error:
                return {"diverged": str(error)}
            answer = figures(found)
            if forgotten:
                sources, references = zip(*self.captions[:CAPTIONS], strict=True)
                answer["captions"] = measure(translator.predict(sources), references)["BLEU"].value
            return answer

        return Task(self.key(pairs, step=step, rate=rate, forgotten=forgotten, **more), measured)

    def static(self, pairs: Pairs, beam: int = 1) -> Task:
        """The base along a stream, or on any pairs."""

        def measured() -> dict[str, Any]:
            sources, references = zip(*pairs, strict=True)
            return figures(Adaptation(list(references), learning=self.base(beam).predict(sources)))

        return Task(self.key(pairs, static=beam), measured)

    def typing(self, pairs: Pairs, unit: str, parameters: Mapping[str, Any] | None) -> Task:
        """A user's effort along a stream; nothing is learned without parameters."""

        def measured() -> dict[str, Any]:
            found = effort(self.base().set_params(**(parameters or {})), pairs, unit, learn=parameters is not None)
            strokes, mouse, length = np.sum(found, axis=0).tolist()
            return {"strokes": strokes, "mouse": mouse, "length": length}

        return Task(self.key(pairs, typing=unit, parameters=parameters and dict(parameters)), measured)

    def choosing(self, pairs: Pairs) -> Task:
        """Log-linear models choose among the translations of the base, and learn from the quality of each, its BLEU."""

        def measured() -> dict[str, Any]:
            translator, lexicon = self.base(), Lexicon(self.corpus)
            language = Bigrams([target for _, target in self.corpus])
            first = np.array([1.0, 0.0, 0.0, 0.0])  # the order of the translator
            models = {
                "translator's own order": None,
                "PA": Reranker(coef_init=first, C=0.01),
                "DRR": LogLinear(method="ridge", coef_init=first),
                "Bayesian": LogLinear(method="bayes", coef_init=first, sigma=0.3, delta=0.1, random_state=0),
                "the best of each list": None,
            }
            said: dict[str, list[str]] = {name: [] for name in models}
            for source, reference in pairs:
                texts, rows = candidates(translator, source, lexicon, language, N_BEST)
                quality = [sacrebleu.sentence_bleu(text, [reference]).score / 100 for text in texts]
                for name, model in models.items():
                    place = 0 if name.startswith("translator") else int(np.argmax(quality))
                    if model is not None:
                        place = int(model.predict([rows])[0]) if model.__sklearn_is_fitted__() else 0
                        model.learn_one(rows, quality)
                    said[name].append(texts[place])
            references = [reference for _, reference in pairs]
            return {name: {key: one.value for key, one in measure(texts, references).items()} for name, texts in said.items()}

        return Task(self.key(pairs, choosing=N_BEST), measured)


def figures(found: Adaptation) -> dict[str, Any]:
    """What is kept of a run: figures of the whole stream and of its halves, and milliseconds a sentence."""
    answer: dict[str, Any] = {
        part: {name: one.value for name, one in sides["learning"].items()} for part, sides in found.figures().items()
    }
    n = len(found.references)
    signatures = {name: one.signature for name, one in measure(found.learning[:1], found.references[:1]).items()}
    milliseconds = {"translate": 1000 * found.translating / n, "step": 1000 * found.stepping / n}
    return {**answer, "curve": curve(found), "signatures": signatures, "ms": milliseconds}


def curve(found: Adaptation, points: int = 16) -> list[list[float]]:
    """BLEU of the sentences so far, at some places along the stream."""
    ends = sorted({max(round(n), 1) for n in np.linspace(0, len(found.references), points + 1)[1:]})
    return [[n, sacrebleu.corpus_bleu(found.learning[:n], [found.references[:n]]).score] for n in ends]


@lru_cache(maxsize=1)
def _base(bench: Bench) -> Translator:
    path = bench._path
    translator = load(path) if path.exists() else Translator(max_iter=PASSES, random_state=0)
    if not path.exists() or not translator.trained_:
        sources, targets = zip(*bench.corpus, strict=True)
        for progress in translator.train(sources, targets):
            if progress.step % 100 == 0 or progress.step == progress.total:
                log.info("training the translator: step %d of %d, loss %.3f", progress.step, progress.total, progress.loss)
            if progress.ends_pass:
                translator.save(path)
    return translator
