"""Translators along a stream: each sentence is translated first, and then its correction is learned from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
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
    """What a translator said along a stream while it learned, beside what it would have said without learning; the seconds of one core
    that its translations and its steps took; and a stamp of what it knew in the beginning."""

    references: list[str] = field(default_factory=list)
    static: list[str] = field(default_factory=list)
    learning: list[str] = field(default_factory=list)
    translating: float = 0.0
    stepping: float = 0.0
    began: str = ""

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


def behind(done: Sequence[str], pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The rest of a stream that was stopped, behind the sentences with the references `done`; another stream is refused."""
    stream, n = iter(pairs), 0
    for n, (wanted, (_, reference)) in enumerate(zip(done, stream, strict=False), 1):
        if reference != wanted:
            raise ValueError(f"Sentence {n} is not that of the stream that was stopped: go on with the same stream.")
    if n < len(done):
        raise ValueError(f"This stream has {n:,} sentences, and {len(done):,} were learned from: go on with the same stream.")
    yield from stream


@contextmanager
def located(place: str) -> Iterator[None]:
    """Errors say where."""
    try:
        yield
    except Exception as error:
        error.add_note(f"({place})")
        raise


def adapt(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    static: Translator | None = None,
    before: Adaptation | None = None,
) -> Iterator[Adaptation]:
    """Translate and learn along a stream of sentences and corrections; `static` translates, too, and does not learn.

    The result so far, which is one and the same object, comes out after each sentence. Of a run that was stopped it goes on with the
    result `before`, by what is `behind` that in the stream.
    """
    found = Adaptation() if before is None else before
    for source, reference in pairs:
        with located(f"sentence {len(found.references) + 1:,} of the stream"):
            start = thread_time()
            said = translator.translate(source)
            middle = thread_time()
            translator.learn_one(source, reference)
            end = thread_time()
            beside = None if static is None else static.translate(source)
        found.translating, found.stepping = found.translating + middle - start, found.stepping + end - middle
        if beside is not None:
            found.static.append(beside)
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
