"""What a structured problem is to the rules that learn it: parts, a decoder, and features.

An output is an array of whole numbers: the tags of a sentence, the heads of its words, the place in a list. Its score is w.Phi(x, y),
which a problem takes apart: `weigh` makes the scores of all parts of an example (a tag at a word, two tags in a row, an arc), and every
decoder works on those alone. The weights are a matrix, and one long vector to the rules, which see only the difference
D = Phi(x, y) - Phi(x, z) as a sparse row of it.

A problem is a record and a form of each of these verbs for its class. Its examples are a record with a field `offsets`, which says
where the output of each of them begins and ends, and a form of `row`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import routine
from onepass.compiled.verb import verb

# Rho, what so many errors cost: their root, their number, or 1 for any.
ROOT, COUNT, ONE = 0, 1, 2
COSTS = {"root": ROOT, "errors": COUNT, "one": ONE}


@routine
def cost(kind: Any, errors: Any) -> Any:
    """Rho of so many errors, or of errors that weigh so much."""
    if kind == ROOT:
        return np.sqrt(np.float64(errors))
    return np.float64(errors) if kind == COUNT or errors == 0 else 1.0


@routine
def first_best(scores: Any) -> Any:
    """The place of the largest score, the first among equals."""
    best = 0
    for i in range(1, len(scores)):
        if scores[i] > scores[best]:
            best = i
    return best


@verb(0)
def extent(problem: Any, X: Any) -> Any:
    """How much the largest example of X takes: rows and columns of the scores of its parts, numbers of an output, and entries of a
    difference of two outputs."""


@verb(0)
def desk(problem: Any, X: Any, k: int, by_errors: bool) -> Any:
    """Work space of the decoder, for the largest example and up to k outputs; whether `decode_costly` will be asked for another
    cost than the number of errors."""


@verb(0)
def weigh(problem: Any, x: Any, parts: Any) -> int:
    """parts[:n] = the scores of the parts of x, a matrix, all linear in the weights; returns n."""


@verb(0)
def decode(problem: Any, x: Any, parts: Any, d: Any, z: Any) -> Any:
    """z = the best output, the first among equals."""


@verb(0)
def decode_costly(problem: Any, x: Any, parts: Any, y: Any, kind: Any, d: Any, z: Any) -> Any:
    """z = the output with the largest sum of its score and of the cost, of this kind, of its errors."""


@verb(0)
def decode_several(problem: Any, x: Any, parts: Any, y: Any, costly: Any, d: Any, outputs: Any) -> Any:
    """outputs[:n] = the n best outputs, the best first, where n is as many as there is place for, or as there are; `costly` adds the
    number of errors to each score."""


@verb(0)
def value(problem: Any, x: Any, parts: Any, y: Any) -> Any:
    """The score of an output."""


@verb(0)
def errors(problem: Any, x: Any, y: Any, z: Any) -> Any:
    """How much is wrong with z in place of y: 0 only if nothing is."""


@verb(0)
def differ(problem: Any, x: Any, y: Any, z: Any, book: Any) -> None:
    """Enter Phi(x, y) - Phi(x, z) into a book (`contrast.py`), each feature at its place among the weights as one vector, less 1: the
    entries of rows count from behind the constant feature."""
