"""Strings as counts of their short words, inside the stream."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from math import comb
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base.inputs import readonly
from onepass.base.parameters import parameter, parametric
from onepass.base.state import Array
from onepass.compiled.objects import LONGEST, SUBSEQUENCES
from onepass.compiled.structures import Strings
from onepass.stages.structures import Kept, Structures, bounds_of, codes_of, numbers_of, symbols_of, texts_of

STRINGS = "strings or lists of tokens"
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

    _objects: ClassVar[str] = STRINGS

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
        symbols, bounds = _letters(type(self).__name__, examples)
        shortest, longest = 1 if self.blended else int(self.k), int(self.k)
        letters, near = symbols_of(list(self._letters())), self._near()
        record = Strings(bounds, symbols, shortest, longest, int(self.mismatches), letters, near)
        return record, np.diff(bounds) * (near * (longest - shortest + 1))

    def _parts(self, example: Any) -> Iterable[str]:
        string = _string(type(self).__name__, 0, example)
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


@parametric
class Subsequences(Kept):
    """Strings for kernel learners with kernel="structure": the kernel of subsequences with gaps.

    K(s, t) is the sum, over all words u of n letters and all places where the letters of u stand in this order in s and in t, of
    decay^(the length that they span in s + the length that they span in t). So words with gaps count, and less so the longer the gaps.
    A pair takes O(n |s| |t|) steps. Strings are given as to :class:`Spectrum`.

    References
    ----------
    H. Lodhi, C. Saunders, J. Shawe-Taylor, N. Cristianini, C. Watkins: Text classification using string kernels. JMLR 2 (2002),
    419-444.

    Examples
    --------
    >>> from onepass import KernelPA, Subsequences, pipeline
    >>> model = pipeline(Subsequences(2), KernelPA(kernel="structure", budget=100))
    >>> for string, label in [("cat", "pet"), ("car", "thing"), ("cart", "thing"), ("cats", "pet")]:
    ...     model.learn_one(string, label)
    >>> model.predict_one("carts")
    'thing'
    >>> Subsequences(2, decay=0.5, normed=False).gram(["car", "cat"])  # "ca" spans 2 letters in both: 0.5^4
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    n: int = parameter(3, Interval(Integral, 1, LONGEST, closed="both"), text="How many letters the words have.")
    decay: float = parameter(
        0.5, Interval(Real, 0, 1, closed="right"), text="What each letter that a word spans multiplies it by."
    )
    normed: bool = parameter()

    _objects: ClassVar[str] = STRINGS

    def _kernel(self) -> tuple[float, float, float, float]:
        return SUBSEQUENCES, self.n, self.decay, 1

    def _bodies(self, examples: list[Any]) -> tuple[Array, Array]:
        symbols, bounds = _letters(type(self).__name__, examples)
        return numbers_of(symbols), bounds


def _letters(taker: str, examples: list[Any]) -> tuple[Array, Array]:
    """The hashes of the letters of strings, one string after the other, and where each begins and ends."""
    strings = [_string(taker, t, x) for t, x in enumerate(examples)]
    if all(type(string) is str for string in strings):
        codes, bounds = codes_of(strings)
        return readonly(codes.astype(np.uint64)), bounds
    return symbols_of(list(chain.from_iterable(strings))), bounds_of(list(map(len, strings)))


def _string(taker: str, t: int, x: Any) -> Any:
    """A string as a text, or as a list of tokens. What is missing is a string without letters."""
    if isinstance(x, str | list | tuple):
        return x
    if isinstance(x, bytes | bytearray):
        return x.decode("latin-1")
    if x is None or (isinstance(x, float) and x != x):
        return ""
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return x.tolist()
    raise TypeError(f"{taker} takes {STRINGS}, and example {t} is {type(x).__name__}.")
