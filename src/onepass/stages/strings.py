"""Strings as counts of their short words, inside the stream."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import comb
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base.inputs import readonly
from onepass.base.parameters import parameter, parametric
from onepass.base.state import Array
from onepass.compiled.structures import Strings
from onepass.stages.structures import Structures, bounds_of, codes_of, symbols_of, texts_of

NEAR = 2**20  # words that may be within `mismatches` of one, at most


@parametric
class Spectrum(Structures):
    """Strings as sparse rows: how often each word of k letters is in them.

    The dot product of two rows is the k-spectrum kernel, sum over words u of count_u(x) count_u(z). With m `mismatches` a word of
    the string also counts as each word of letters of the `alphabet` that differs from it in at most m places: the (k, m)-mismatch
    kernel. A string is a text, bytes, or a list of tokens, which are its letters then; letters are compared as they are, also in
    case. A string of fewer letters than k is a row of zeros.

    References
    ----------
    C. Leslie, E. Eskin, W. S. Noble: The spectrum kernel: a string kernel for SVM protein classification. PSB 2002, 564-575.
    C. Leslie, E. Eskin, J. Weston, W. S. Noble: Mismatch string kernels for discriminative protein classification. Bioinformatics
    20 (2004), 467-476.

    Examples
    --------
    >>> from onepass import PAClassifier, Spectrum, pipeline
    >>> model = pipeline(Spectrum(2), PAClassifier())
    >>> for string, label in [("gattaca", "gene"), ("banana", "fruit"), ("taccatta", "gene")]:
    ...     model.learn_one(string, label)
    >>> model.predict_one("attacca")
    'gene'
    """

    k: int = parameter(3, Interval(Integral, 1, 64, closed="both"), text="How many letters a word has.")
    mismatches: int = parameter(
        0, Interval(Integral, 0, 64, closed="both"), text="In how many places a word may differ. Needs an `alphabet`."
    )
    alphabet: str | None = parameter(None, str, None, text='All letters that there are, such as "acgt", for mismatches.')
    blended: bool = parameter(False, "boolean", text="Whether all words of up to k letters count.")
    n_features: int = parameter()
    normed: bool = parameter()

    _objects: ClassVar[str] = "strings or lists of tokens"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.mismatches and not self.alphabet:
            raise ValueError("With mismatches, `alphabet` must say all letters that there are.")
        if self._near() > NEAR:
            raise ValueError(
                f"{self._near()} words are near each word, which is too many: use a smaller k or fewer mismatches."
            )

    def _letters(self) -> str:
        return "".join(dict.fromkeys(self.alphabet or ""))

    def _near(self) -> int:
        """How many words are within the mismatches of one, at most: a letter may be none of the alphabet."""
        return sum(comb(self.k, i) * len(self._letters()) ** i for i in range(min(self.k, self.mismatches) + 1))

    def _flat(self, examples: list[Any]) -> tuple[Any, Array]:
        strings = [_string(t, x) for t, x in enumerate(examples)]
        if all(type(string) is str for string in strings):
            codes, bounds = codes_of(strings)
            symbols = readonly(codes.astype(np.uint64))
        else:
            symbols, bounds = symbols_of(list(chain.from_iterable(strings))), bounds_of(list(map(len, strings)))
        shortest, longest = 1 if self.blended else int(self.k), int(self.k)
        letters, near = symbols_of(list(self._letters())), self._near()
        record = Strings(bounds, symbols, shortest, longest, int(self.mismatches), letters, near)
        return record, np.diff(bounds) * (near * (longest - shortest + 1))

    def _parts(self, example: Any) -> Iterable[str]:
        string = _string(0, example)
        apart = "" if isinstance(string, str) else " "
        letters = texts_of(list(string))
        for i in range(len(letters)):
            words = [(list[str](), 0)]
            for p, own in enumerate(letters[i : i + self.k]):
                others = [letter for letter in self._letters() if letter != own]
                more = [([*word, other], missed + 1) for word, missed in words if missed < self.mismatches for other in others]
                words = [([*word, own], missed) for word, missed in words] + more
                if p + 1 == self.k or self.blended:
                    yield from (apart.join(word) for word, _ in words)


def _string(t: int, x: Any) -> Any:
    """A string as a text, or as a list of tokens. What is missing is a string without letters."""
    if isinstance(x, str | list | tuple):
        return x
    if isinstance(x, bytes | bytearray):
        return x.decode("latin-1")
    if x is None or (isinstance(x, float) and x != x):
        return ""
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return x.tolist()
    raise TypeError(f"Spectrum takes strings or lists of tokens, and example {t} is {type(x).__name__}.")
