"""Dependency trees: the score of a tree is the sum of those of its arcs, each from a head h to a word d below it.

The features of an arc (McDonald, Crammer and Pereira 2005) are what the head is like together with what the word is like, each alone,
and with the direction and the distance; and the tags of the words in between. So a feature is known by hashes of 64 bits, of its head's
part, of its word's part and of the direction and distance, which are made once a sentence and joined by exclusive or. The first bits of
that are its place among the weights. Arcs are n^2 a sentence: their features are never stored, and what depends on the head or the word
alone is added up once.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine, spliced
from onepass.compiled.rows import row
from onepass.compiled.verb import verb
from onepass.compiled.words import finished, joined
from onepass.structured.contrast import enter
from onepass.structured.forest import eisner_several, new_charts, new_parts, spanning_trees
from onepass.structured.problem import decode, decode_costly, decode_several, desk, differ, errors, extent, value, weigh
from onepass.structured.trees import eisner, new_chart, new_graph, spanning_tree

# W: the weights, 2^bits of them. shift: 64 - bits. trees: whether arcs may not cross. What finds several trees takes as long to compile
# as all else, so that it has a record of its own.
Arcs = namedtuple("Arcs", "W shift trees")
OneTree = namedtuple("OneTree", "projective")
SeveralTrees = namedtuple("SeveralTrees", "projective")

# Sentences: hashes of each word, of its first letters (0 if there are no more), of its last ones, and of its tag: a row a word.
Tokens = namedtuple("Tokens", "offsets marks")
MARKS = ("word", "front", "end", "tag")

# One of them, with its root: the parts of features, a row a word and a column a template. long: whether a word has first letters.
Sentence = namedtuple("Sentence", "heads children middles long")

Desk = namedtuple("Desk", "costly chart graph charts parts")

# What a word is like: itself, its first and last letters, its tag, and with that the words and tags around it.
ATTRIBUTES = (
    *("word", "tag", "word tag", "front", "front tag", "end", "end tag"),
    *("tag- tag", "tag+ tag", "word- tag", "word-- tag", "word+ tag"),
    *("tag- tag+ tag", "tag-- tag- tag", "tag++ tag+ tag"),
)
WORD, TAG, WORD_TAG, FRONT, FRONT_TAG, END, END_TAG, BEFORE, BEHIND, LEFT, FAR_LEFT, RIGHT, AROUND, FAR_BEFORE, FAR_BEHIND = (
    range(15)
)

# What the head and the word are like, together, those first that say something of relations, too; then those that are for long words
# only; then each alone.
TELLING = (
    *((WORD_TAG, WORD_TAG), (TAG, WORD_TAG), (WORD, WORD_TAG), (WORD_TAG, TAG), (WORD_TAG, WORD), (WORD, WORD), (TAG, TAG)),
    *((TAG, BEFORE), (TAG, BEHIND), (BEFORE, TAG), (BEHIND, TAG)),
    *((END_TAG, END_TAG), (TAG, END_TAG), (END_TAG, TAG)),
    *((TAG, LEFT), (TAG, FAR_LEFT), (TAG, RIGHT), (WORD, LEFT), (WORD, FAR_LEFT), (LEFT, TAG), (RIGHT, TAG)),
)
PAIRS = (
    *TELLING,
    *((BEHIND, BEFORE), (BEFORE, BEFORE), (BEHIND, BEHIND), (BEFORE, BEHIND), (AROUND, AROUND), (AROUND, TAG), (TAG, AROUND)),
    *((TAG, FAR_BEFORE), (TAG, FAR_BEHIND), (FAR_BEFORE, TAG), (FAR_BEHIND, TAG)),
)
OF_LONG = ((FRONT_TAG, FRONT_TAG), (TAG, FRONT_TAG), (FRONT, FRONT_TAG), (FRONT_TAG, TAG), (FRONT_TAG, FRONT), (FRONT, FRONT))
ALONE = tuple((attribute, attribute) for attribute in (WORD_TAG, WORD, TAG, FRONT_TAG, END_TAG, BEFORE, BEHIND))
BETWEEN = ((TAG, TAG),)

TEMPLATES = np.array([*PAIRS, *OF_LONG, *ALONE, *BETWEEN])
COMMON, LONG, SINGLE = np.cumsum([len(PAIRS), len(OF_LONG), len(ALONE)]).tolist()

# Hashes of the direction and the distance, in this many steps; and of the direction alone.
STEPS = 7
DISTANCES = np.random.Philox(key=14).random_raw(2 * STEPS)
SIDES = np.random.Philox(key=2).random_raw(2)
ROOT, BEYOND = np.uint64(2), np.uint64(4)  # even, as no hash of a text is


@row.form(Tokens)
def _(X: Any, t: Any) -> Any:
    return sentence_of(X.marks[X.offsets[t] : X.offsets[t + 1]])


@routine
def sentence_of(marks: Any) -> Any:
    n = len(marks)
    words, tags = np.full(n + 5, BEYOND), np.full(n + 5, BEYOND)  # two before the root, and two behind the last word
    words[2] = tags[2] = ROOT
    for i in range(n):
        words[i + 3], tags[i + 3] = marks[i, 0], marks[i, 3]
    like, long = np.empty((n + 1, len(ATTRIBUTES)), np.uint64), np.zeros(n + 1, np.bool_)
    for i in range(n + 1):
        one, word, tag = like[i], words[i + 2], tags[i + 2]
        long[i] = i > 0 and marks[i - 1, 1] != 0
        front, end = marks[i - 1, 1] if long[i] else word, marks[i - 1, 2] if i > 0 else ROOT
        before, behind = tags[i + 1], tags[i + 3]
        one[WORD], one[TAG], one[FRONT], one[END] = word, tag, front, end
        one[WORD_TAG], one[FRONT_TAG], one[END_TAG] = joined(word, tag), joined(front, tag), joined(end, tag)
        one[BEFORE], one[BEHIND], one[AROUND] = joined(before, tag), joined(behind, tag), joined(joined(before, behind), tag)
        one[LEFT], one[FAR_LEFT], one[RIGHT] = joined(words[i + 1], tag), joined(words[i], tag), joined(words[i + 3], tag)
        one[FAR_BEFORE] = joined(joined(tags[i], before), tag)
        one[FAR_BEHIND] = joined(joined(tags[i + 4], behind), tag)
    heads, children = np.empty((n + 1, len(TEMPLATES)), np.uint64), np.empty((n + 1, len(TEMPLATES)), np.uint64)
    middles = np.empty(n + 1, np.uint64)
    for i in range(n + 1):
        for m in range(len(TEMPLATES)):
            heads[i, m] = finished(joined(np.uint64(2 * m + 1), like[i, TEMPLATES[m, 0]]))
            children[i, m] = finished(joined(np.uint64(2 * m + 2), like[i, TEMPLATES[m, 1]]))
        middles[i] = finished(like[i, TAG])
    return Sentence(heads, children, middles, long)


@routine
def longest(X: Any) -> Any:
    """The number of words of the longest sentence."""
    n = 0
    for t in range(len(X.offsets) - 1):
        n = max(n, X.offsets[t + 1] - X.offsets[t])
    return n


@routine
def step_of(h: Any, d: Any) -> Any:
    """The direction and the distance of an arc: 1 to 5, up to 10, more."""
    k = abs(h - d)
    return (k - 1 if k <= 5 else 5 if k <= 10 else 6) + (STEPS if h > d else 0)


@extent.form(Arcs)
def _(p: Any, X: Any) -> Any:
    n = longest(X)
    return n + 1, n + 1, n, 2 * n * (2 * LONG + 3 * (SINGLE - LONG) + n)


@desk.form(Arcs)
def _(p: Any, X: Any, k: Any, by_errors: Any) -> Any:
    n = longest(X)
    flat, free = (n, 0) if p.trees.projective else (0, n)
    several = int(k > 1)
    return Desk(
        np.empty((n + 1, n + 1), p.W.dtype),
        new_chart(flat, p.W.dtype),
        new_graph(free),
        new_charts(flat * several, k, p.W.dtype),
        new_parts(free * several, k),
    )


@weigh.form(Arcs)
def _(p: Any, x: Any, parts: Any) -> Any:
    return weigh_arcs(p, x, parts)


@routine
def weigh_arcs(p: Any, x: Any, parts: Any) -> Any:
    """parts[h, d] = the score of an arc."""
    n = len(x.heads) - 1
    of_heads, of_children = np.empty((n + 1, 2 * STEPS), p.W.dtype), np.empty((n + 1, 2 * STEPS), p.W.dtype)
    for i in range(n + 1):
        weigh_alone(p.W, p.shift, x.heads[i], True, of_heads[i])
        weigh_alone(p.W, p.shift, x.children[i], False, of_children[i])
    tags, counts = np.empty(n + 1, np.uint64), np.empty(n + 1, p.W.dtype)
    for h in range(n + 1):
        head, out = x.heads[h], parts[h]
        out[0] = out[h] = 0
        for side in range(2):
            d, found = h + 1 - 2 * side, 0
            while 0 < d <= n:
                child, step = x.children[d], step_of(h, d)
                end = LONG if x.long[h] or x.long[d] else COMMON
                total = weigh_pair(p.W, p.shift, head, child, end, DISTANCES[step])
                tagged = head[SINGLE] ^ child[SINGLE] ^ SIDES[side]
                for k in range(found):
                    total += counts[k] * p.W[(tagged ^ tags[k]) >> p.shift]
                out[d] = total + of_heads[h, step] + of_children[d, step]
                found = count(tags, counts, found, x.middles[d])
                d += 1 - 2 * side
    return n + 1


@routine
def weigh_alone(w: Any, shift: Any, codes: Any, plainly: Any, out: Any) -> Any:
    """out[step] = what the templates of one word score at each distance; of a head also without: below a word, that is the same for
    all of its heads."""
    always = w.dtype.type(0)
    if plainly:
        for m in range(LONG, SINGLE):
            always += w[codes[m] >> shift]
    for step in range(2 * STEPS):
        total = always
        for m in range(LONG, SINGLE):
            total += w[(codes[m] ^ DISTANCES[step]) >> shift]
        out[step] = total


@routine
def weigh_pair(w: Any, shift: Any, head: Any, child: Any, end: Any, distance: Any) -> Any:
    total = w.dtype.type(0)
    for m in range(end):
        code = head[m] ^ child[m]
        total += w[code >> shift] + w[(code ^ distance) >> shift]
    return total


@routine
def count(tags: Any, counts: Any, n: Any, tag: Any) -> Any:
    """Count a tag among n that were; how many there are then. There are few, however long a sentence is."""
    for k in range(n):
        if tags[k] == tag:
            counts[k] += 1
            return n
    tags[n], counts[n] = tag, 1
    return n + 1


@routine
def enter_arc(p: Any, x: Any, h: Any, d: Any, amount: Any, book: Any) -> Any:
    """Enter the features of an arc, those that `weigh` adds up."""
    head, child, shift, distance = x.heads[h], x.children[d], p.shift, DISTANCES[step_of(h, d)]
    for m in range(LONG if x.long[h] or x.long[d] else COMMON):
        code = head[m] ^ child[m]
        enter(book, np.int64(code >> shift) - 1, amount)
        enter(book, np.int64((code ^ distance) >> shift) - 1, amount)
    for m in range(LONG, SINGLE):
        enter(book, np.int64(head[m] >> shift) - 1, amount)
        enter(book, np.int64((head[m] ^ distance) >> shift) - 1, amount)
        enter(book, np.int64((child[m] ^ distance) >> shift) - 1, amount)
    tagged = head[SINGLE] ^ child[SINGLE] ^ SIDES[int(h > d)]
    for i in range(min(h, d) + 1, max(h, d)):
        enter(book, np.int64((tagged ^ x.middles[i]) >> shift) - 1, amount)


@spliced
def decode_by(p: Any, scores: Any, d: Any, z: Any) -> Any:
    if p.trees.projective:
        eisner(scores, d.chart, z)
    else:
        spanning_tree(scores, d.graph, z)


@decode.form(Arcs)
def _(p: Any, x: Any, parts: Any, d: Any, z: Any) -> Any:
    decode_by(p, parts, d, z)


@spliced
def costly_arcs(parts: Any, y: Any, d: Any) -> Any:
    """The scores of arcs with 1 more for each wrong head; other costs are no sums over arcs."""
    n = len(y)
    for h in range(n + 1):
        for i in range(n):
            d.costly[h, i + 1] = parts[h, i + 1] + int(h != y[i])
    return d.costly


@decode_costly.form(Arcs)
def _(p: Any, x: Any, parts: Any, y: Any, kind: Any, d: Any, z: Any) -> Any:
    decode_by(p, costly_arcs(parts, y, d), d, z)


@decode_several.form(Arcs)
def _(p: Any, x: Any, parts: Any, y: Any, costly: Any, d: Any, outputs: Any) -> Any:
    return decode_several_by(p.trees, costly_arcs(parts, y, d) if costly else parts, d, outputs)


@verb(0)
def decode_several_by(trees: Any, scores: Any, d: Any, outputs: Any) -> Any:
    """outputs[:n] = the n best trees."""


@decode_several_by.form(OneTree)
def _(trees: Any, scores: Any, d: Any, outputs: Any) -> Any:
    return 0  # nobody asks


@decode_several_by.form(SeveralTrees)
def _(trees: Any, scores: Any, d: Any, outputs: Any) -> Any:
    if trees.projective:
        return eisner_several(scores, d.charts, outputs)
    return spanning_trees(scores, d.graph, d.parts, outputs)


@value.form(Arcs)
def _(p: Any, x: Any, parts: Any, y: Any) -> Any:
    total = parts.dtype.type(0)
    for i in range(len(y)):
        total += parts[y[i], i + 1]
    return total


@errors.form(Arcs)
def _(p: Any, x: Any, y: Any, z: Any) -> Any:
    wrong = 0
    for i in range(len(y)):
        wrong += int(y[i] != z[i])
    return wrong


@differ.form(Arcs)
def _(p: Any, x: Any, y: Any, z: Any, book: Any) -> Any:
    one = p.W.dtype.type(1)
    for i in range(len(y)):
        if y[i] != z[i]:
            enter_arc(p, x, y[i], i + 1, one, book)
            enter_arc(p, x, z[i], i + 1, -one, book)
