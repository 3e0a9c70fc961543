"""A user who corrects translations, simulated: what it takes to get a reference out of a translator.

The user reads up to the first mistake, moves there and types what should stand there; the translator then gives another end. Moving is
a mouse action, unless the mistake is just behind what was typed last; so is to accept the translation in the end.

S. Barrachina et al.: Statistical approaches to computer-assisted translation. Computational Linguistics 35 (2009), 3-28.
A. Peris, F. Casacuberta: Online learning for effort reduction in interactive neural machine translation. Computer Speech & Language 58
(2019), 98-126.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple


class Effort(NamedTuple):
    """What a user did: words or keys typed, mouse actions, and how many words or characters the reference has.

    >>> Effort(strokes=2, mouse=3, length=10).ratio
    0.2
    """

    strokes: int
    mouse: int
    length: int

    @property
    def ratio(self) -> float:
        """Strokes for each word or character; of words the word stroke ratio, WSR."""
        return self.strokes / self.length

    @property
    def ksmr(self) -> float:
        """Strokes and mouse actions for each word or character; of characters the KSMR."""
        return (self.strokes + self.mouse) / self.length


def simulated(complete: Callable[[str], str], reference: str, unit: str = "word") -> Effort:
    """The effort of a user whose translator gives `complete(prefix)` for what was accepted and typed so far.

    >>> simulated(lambda prefix: prefix + "dog runs"[len(prefix):], "dog sleeps")
    Effort(strokes=1, mouse=2, length=2)
    >>> simulated(lambda prefix: prefix + "dog runs"[len(prefix):], "dog ruins", unit="character")
    Effort(strokes=3, mouse=2, length=9)
    """
    if unit not in ("word", "character"):
        raise ValueError(f'unit is "word" or "character", got {unit!r}.')
    words = reference.split()
    if not words:
        raise ValueError("The reference is empty: there is nothing to correct towards.")
    wanted: Sequence[str] = words if unit == "word" else " ".join(words)
    strokes = mouse = typed = 0
    prefix = ""
    while True:
        shown = complete(prefix).split()
        found: Sequence[str] = shown if unit == "word" else " ".join(shown)
        right = max(typed, sum(takewhile(bool, (a == b for a, b in zip(found, wanted, strict=False)))))
        if right == len(wanted):
            end = int(len(found) > right)  # what is too much is deleted by one stroke
            return Effort(strokes + end, mouse + end + 1, len(wanted))
        mouse += not typed or right > typed
        strokes, typed = strokes + 1, right + 1
        prefix = " ".join(words[:typed]) + " " if unit == "word" else str(wanted[:typed])
