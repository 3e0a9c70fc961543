"""Translators along a stream: each sentence is translated first, and then its correction is learned from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import thread_time
from typing import NamedTuple

from onepass.translate import Effort, Translator
from onepass.translate.extra import sacrebleu

METRICS = ("BLEU", "chrF", "TER")


class Measured(NamedTuple):
    """A figure of sacrebleu, and the signature that says how it was computed."""

    value: float
    signature: str


def measure(translations: Sequence[str], references: Sequence[str]) -> dict[str, Measured]:
    """BLEU and chrF, of which more is better, and TER, of which less is, of a corpus."""
    if len(translations) != len(references) or not references:
        raise ValueError(f"There are {len(translations):,} translations of {len(references):,} references.")
    found = {}
    for name, metric in zip(METRICS, (sacrebleu.BLEU(), sacrebleu.CHRF(), sacrebleu.TER()), strict=True):
        score = metric.corpus_score(list(translations), [list(references)])
        found[name] = Measured(float(score.score), str(metric.get_signature()))
    return found


@dataclass
class Adaptation:
    """What a translator said along a stream while it learned, beside what it would have said without learning, and the seconds of one
    core that its translations and its steps took."""

    references: list[str] = field(default_factory=list)
    static: list[str] = field(default_factory=list)
    learning: list[str] = field(default_factory=list)
    translating: float = 0.0
    stepping: float = 0.0

    def parts(self) -> dict[str, slice]:
        """The whole stream and its halves, if it is long enough to have some."""
        n = len(self.references)
        halves = {"first half": slice(0, n // 2), "second half": slice(n // 2, n)} if n > 1 else {}
        return {"whole": slice(0, n), **halves}

    def figures(self) -> dict[str, dict[str, dict[str, Measured]]]:
        """part -> "static" or "learning" -> metric."""
        sides = {name: said for name, said in (("static", self.static), ("learning", self.learning)) if said}
        return {
            part: {name: measure(said[where], self.references[where]) for name, said in sides.items()}
            for part, where in self.parts().items()
        }


def adapt(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    static: Translator | None = None,
    before: Adaptation | None = None,
) -> Iterator[Adaptation]:
    """Translate and learn along a stream of sentences and corrections; `static` translates, too, and does not learn.

    The result so far, which is one and the same object, comes out after each sentence. It goes on with `before`, of a run that was
    stopped, behind the sentences of that.
    """
    found = Adaptation() if before is None else before
    done = len(found.references)
    for i, (source, reference) in enumerate(pairs):
        if i < done:
            if reference != found.references[i]:
                raise ValueError(f"Sentence {i + 1} is not that of the stream that was stopped: go on with the same stream.")
            continue
        start = thread_time()
        said = translator.translate(source)
        middle = thread_time()
        translator.learn_one(source, reference)
        found.translating, found.stepping = found.translating + middle - start, found.stepping + thread_time() - middle
        if static is not None:
            found.static.append(static.translate(source))
        found.learning.append(said)
        found.references.append(reference)
        yield found


def effort(translator: Translator, pairs: Iterable[tuple[str, str]], unit: str = "word", *, learn: bool = True) -> list[Effort]:
    """The :class:`Effort` of a user for each sentence of a stream, whose correction is then learned from if it is to be."""
    found = list[Effort]()
    for source, reference in pairs:
        found.append(translator.interactive(source, reference, unit))
        if learn:
            translator.learn_one(source, reference)
    return found
