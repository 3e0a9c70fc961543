"""How sure tags are by weights that are drawn: the share of vectors from N(w, c Sigma) whose best tags agree with those of w.

With the variances that AROW or CW have learned that is KD-PC of Mejer and Crammer (2010), with the same for all weights KD-Fix.

What is drawn for a weight depends on the seed, on the number of the draw and on the place of the weight, and on nothing else. So a
feature has one weight wherever it occurs, no vector is drawn but for the features of the sentence at hand, and how sure a sentence is
does not depend on those beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.rows import row
from onepass.compiled.words import HALF, finished, joined
from onepass.structured.chain import edges_of, nodes_of
from onepass.structured.loop import seen
from onepass.structured.problem import decode, desk, extent, weigh

LOW = np.uint64(2**32 - 1)


@routine
def normal(h: Any) -> Any:
    """A number from N(0, 1) out of a hash (Box and Muller 1958)."""
    h = finished(h)
    radius = np.sqrt(-2 * np.log((np.float64(h >> HALF) + 0.5) * 2.0**-32))
    return radius * np.cos(2 * np.pi * 2.0**-32 * np.float64(h & LOW))


@routine
def add_drawn(Sigma: Any, c: Any, feature: Any, h: Any, a: Any, out: Any) -> Any:
    """out += a e, with e from N(0, c Sigma) for the weights of a feature; Sigma is 1 if it has no rows."""
    h = joined(h, feature)
    for k in range(len(out)):
        variance = c * Sigma[feature, k] if len(Sigma) > 0 else c
        out[k] += out.dtype.type(a * np.sqrt(variance) * normal(joined(h, k)))


@routine
def disturb(p: Any, Sigma: Any, c: Any, h: Any, x: Any, parts: Any) -> Any:
    """parts += the scores that weights from N(0, c Sigma) give."""
    edges, nodes = edges_of(p, parts), nodes_of(p, x, parts)
    K = edges.shape[1]
    for e in range(len(edges)):
        first = p.rows[(e - 1) % K + 1 if e > 0 else 0]
        if first > 0:
            add_drawn(Sigma, c, first, h, 1.0, edges[e])
        if e > 0 and len(p.pairs) > 0 and p.pairs[(e - 1) // K, (e - 1) % K] > 0:
            add_drawn(Sigma, c, p.pairs[(e - 1) // K, (e - 1) % K], h, 1.0, edges[e])
    for t in range(len(nodes)):
        for i in range(x.indptr[t], x.indptr[t + 1]):
            add_drawn(Sigma, c, x.indices[i], h, x.values[i], nodes[t])
        if p.bias != 0:
            add_drawn(Sigma, c, 0, h, p.bias, nodes[t])


@entry_point
def run_drawn(p: Any, average: Any, Sigma: Any, c: Any, X: Any, seed: Any, n: Any, shares: Any) -> None:
    """shares[i] = in how many of n draws the tag of word i is what it is without a draw."""
    height, width, length, _ = extent(p, X)
    parts = np.empty((height, width), p.W.dtype)
    spare, drawn, d = np.empty_like(parts), np.empty_like(parts), desk(p, X, 1, False)
    best, other = np.empty(length, np.int64), np.empty(length, np.int64)
    for t in range(len(X.offsets) - 1):
        x, out = row(X, t), shares[X.offsets[t] : X.offsets[t + 1]]
        size = weigh(p, x, parts)
        shown = seen(average, x, parts[:size], spare[:size])
        z, y = other[: len(out)], best[: len(out)]
        decode(p, x, shown, d, y)
        out[:] = 0
        for draw in range(n):
            drawn[:size] = shown
            disturb(p, Sigma, c, joined(np.uint64(seed), draw), x, drawn[:size])
            decode(p, x, drawn[:size], d, z)
            for i in range(len(out)):
                out[i] += int(y[i] == z[i])
        for i in range(len(out)):
            out[i] /= n
