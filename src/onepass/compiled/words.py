"""Text as bags of hashed words and n-grams, at the level of bytes.

A word is a run of letters, digits and underscores; any other character that is no white space, such as an exclamation mark or a
currency sign, is a word of its own. Letters are compared in lower case. All that is decided by tables for characters of one or two
bytes in UTF-8 (Latin, Greek, Cyrillic, Hebrew, Arabic and more), as Python does; longer ones are letters, but for some punctuation.

A word has the hash of its bytes, taken in eight at a time. Where all of eight are ASCII, what they are is found out for all of them at
once; so up to `BEYOND` bytes behind a text are read, which count for nothing.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.borrow import borrowed, keep_alive
from onepass.compiled.compiler import entry_point, routine, to_the_letter
from onepass.compiled.instructions import trailing_zeros, word

BEYOND = 8
PADDING = bytes(BEYOND)
SPACE, LETTER, SIGN = 0, 1, 2


def _tables() -> tuple[Any, Any]:
    """The kind of each character below U+0800, and the same character in lower case."""
    kinds, lower = np.empty(0x800, np.uint8), np.arange(0x800, dtype=np.uint32)
    for code in range(0x800):
        character = chr(code)
        kinds[code] = (
            LETTER if character.isalnum() or character == "_" else SPACE if code <= 32 or character.isspace() else SIGN
        )
        small = character.lower()
        if len(small) == 1 and (ord(small) < 0x80) == (code < 0x80) and ord(small) < 0x800:
            lower[code] = ord(small)
    return kinds, lower


KINDS, LOWER = _tables()
K0, K1, K2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
SHIFT, HALF = np.uint64(33), np.uint64(32)
SIX, LAST, MORE, NONE = map(np.uint64, (6, 0x3F, 0x80, 0))  # of UTF-8
BLANK = 32


@routine
def joined(h: Any, part: Any) -> Any:
    """The hash of what has the hash h, followed by a part."""
    h = (h ^ np.uint64(part)) * K0
    return h ^ (h >> HALF)


@routine
def finished(h: Any) -> Any:
    """All bits of a hash, each depending on all (the last step of MurmurHash3)."""
    h = (h ^ (h >> SHIFT)) * K1
    h = (h ^ (h >> SHIFT)) * K2
    return h ^ (h >> SHIFT)


@routine
def character(data: Any, i: Any, end: Any) -> Any:
    """The character that begins at byte i, in lower case, its kind, and how many bytes it has."""
    first = np.uint32(data[i])
    if first < 0x80:
        return LOWER[first], KINDS[first], 1
    if first < 0xE0:
        code = (
            ((first & np.uint32(0x1F)) << np.uint32(6)) | (np.uint32(data[i + 1]) & np.uint32(0x3F)) if i + 1 < end else first
        )
        code &= np.uint32(0x7FF)
        return LOWER[code], KINDS[code], 2
    length = 3 if first < 0xF0 else 4
    code = first & np.uint32(0x0F)
    for k in range(1, length):
        code = (code << np.uint32(6)) | (np.uint32(data[i + k]) & np.uint32(0x3F) if i + k < end else np.uint32(0))
    if 0x2000 <= code < 0x2070 or 0x3000 <= code < 0x3040 or 0xFF00 <= code < 0xFF10:
        return code, np.uint8(SPACE if code == 0x3000 or code <= 0x200A or 0x2028 <= code <= 0x202F else SIGN), length
    return code, np.uint8(LETTER), length


def each(byte: int) -> Any:
    """Eight times the same byte."""
    return np.uint64(byte * 0x0101010101010101)


HIGH, CASE, UNDERSCORES, BUT_ONE = each(0x80), each(0x20), each(ord("_")), each(0x7F)
FROM_A, BEYOND_Z, FROM_0, BEYOND_9 = (each(0x80 - ord(first)) for first in "a{0:")  # which carry into the highest bit
EIGHT, BYTE, ALL = np.uint64(8), np.uint64(0xFF), np.uint64(2**64 - 1)


@routine
def letters_among(x: Any) -> Any:
    """Of eight bytes of ASCII, the highest bit of each that is a letter, a digit or an underscore; and all of them in lower case."""
    small = x | CASE
    latin = (small + FROM_A) & ~(small + BEYOND_Z)
    digits = (x + FROM_0) & ~(x + BEYOND_9)
    return (latin | digits | ~((x ^ UNDERSCORES) + BUT_ONE)) & HIGH, x | ((latin & HIGH) >> np.uint64(2))


@routine
def words(data: Any, start: Any, end: Any, seed: Any, found: Any) -> Any:
    """Write the hashes of the words of data[start:end] to `found`, which has place for as many as there are bytes; their number."""
    count, i = 0, start
    while i < end:
        first, h, x = i, seed, word(data, i)
        length = 0
        while x & HIGH == 0:
            letters, small = letters_among(x)
            length = min(trailing_zeros(~letters & HIGH) >> 3, end - i)
            if length == 0:
                break
            h = joined(h, small & (ALL >> (EIGHT * np.uint64(8 - length))))
            i += length
            if length < 8:
                x >>= EIGHT * np.uint64(length)
                break
            x = word(data, i)
        if x & HIGH != 0:
            h, kind, i = word_by_letters(data, first, end, seed)
            if kind == SPACE:
                continue
        elif i == first:  # no letter
            i += 1
            if KINDS[x & BYTE] == SPACE:
                continue
            h = joined(seed, x & BYTE)
        elif x & BYTE == BLANK:
            i += 1
        found[count] = h
        count += 1
    return count


@routine
def word_by_letters(data: Any, i: Any, end: Any, seed: Any) -> Any:
    """The hash of the word that begins at i, the kind of its first character, and where it ends."""
    code, kind, length = character(data, i, end)
    first, h, some, filled = kind, seed, NONE, 0
    while True:
        i += length
        own, size = utf8(code)
        some |= own << (EIGHT * np.uint64(filled))
        if filled + size >= 8:
            h = joined(h, some)
            some = own >> (EIGHT * np.uint64(8 - filled)) if filled > 0 else NONE
            filled -= 8
        filled += size
        if first != LETTER or i >= end:
            break
        code, kind, length = character(data, i, end)
        if kind != LETTER:
            break
    return joined(h, some) if filled > 0 else h, first, i


@routine
def utf8(code: Any) -> Any:
    """The bytes of a character, the first one lowest, and how many there are."""
    code = np.uint64(code)
    if code < 0x80:
        return code, 1
    last = (code & LAST) | MORE
    if code < 0x800:
        return (code >> SIX) | np.uint64(0xC0) | (last << EIGHT), 2
    middle = ((code >> SIX) & LAST) | MORE
    if code < 0x10000:
        return (code >> np.uint64(12)) | np.uint64(0xE0) | (middle << EIGHT) | (last << np.uint64(16)), 3
    second = ((code >> np.uint64(12)) & LAST) | MORE
    first = (code >> np.uint64(18)) | np.uint64(0xF0)
    return first | (second << EIGHT) | (middle << np.uint64(16)) | (last << np.uint64(24)), 4


# Settings of n-grams, and what is counted of them, where it is: `documents` by column, `totals` of all.
Bag = namedtuple("Bag", "documents totals count orders letters columns how normed")

# How a word counts: how often it is there, whether it is, and both weighed by how few texts have had it so far.
COUNT, BINARY, TFIDF, BM25 = range(4)
K, B = 1.2, 0.75  # of BM25, as is usual


@routine
def gather(data: Any, start: Any, end: Any, seed: Any, orders: Any, letters: Any, found: Any, hashes: Any) -> Any:
    """Write the hash of each n-gram of words, and of letters, of a text; how many there are."""
    if orders == 1:
        count, used = 0, words(data, start, end, seed, hashes)
    else:
        count, used = words(data, start, end, seed, found), 0
    for i in range(count):
        h = found[i]
        for k in range(orders):
            if k > 0:
                if i + k == count:
                    break
                h = joined(h * K1, found[i + k])  # not h itself: words in another order, and one twice, would be the same
            hashes[used] = h
            used += 1
    if letters[1] > 0:
        used = gather_letters(data, start, end, joined(seed, seed), letters, found, hashes, used)
    return used


@routine
def gather_letters(data: Any, start: Any, end: Any, seed: Any, letters: Any, found: Any, hashes: Any, used: Any) -> Any:
    """The same for n-grams of letters, where all that is no letter is one blank, also at the beginning and at the end."""
    found[0], count, i = BLANK, 1, start
    while i < end:
        code, kind, length = character(data, i, end)
        if kind == LETTER:
            found[count] = code
            count += 1
        elif found[count - 1] != BLANK:
            found[count] = BLANK
            count += 1
        i += length
    if found[count - 1] != BLANK:
        found[count] = BLANK
        count += 1
    for i in range(count):
        h = seed
        for k in range(min(letters[1], count - i)):
            h = joined(h, found[i + k])
            if k + 1 >= letters[0]:
                hashes[used] = joined(h, k)
                used += 1
    return used


@routine
def key(h: Any, columns: Any) -> Any:
    """2 j + s, where j is the column of a hash, and s is 1 if its sign is minus."""
    h = finished(h)
    return np.int64(((h >> HALF) * np.uint64(columns)) >> HALF) * 2 + np.int64(h & np.uint64(1))


@routine
def put_in_order(keys: Any) -> None:
    if len(keys) > 48:
        keys.sort()
        return
    for i in range(1, len(keys)):  # for a few, by insertion without branches, which nothing could foretell: half the time
        x = keys[i]
        for j in range(i):
            y = keys[j]
            keys[j], x = min(x, y), max(x, y)
        keys[i] = x


@routine
def had(documents: Any, j: Any) -> Any:
    """How many texts had something in column j; none, of one that is still to come."""
    return documents[j + 1] if j + 1 < len(documents) else 0.0


@routine
def bag(stage: Any, keys: Any, taught: Any, indices: Any, values: Any) -> Any:
    """Write the columns and values of one text's n-grams, given their keys in order; how many there are. With `taught` they are then
    counted: documents[j + 1] is how many texts had something in column j, totals are the texts and their n-grams."""
    used, i, n = 0, 0, len(keys)
    how, documents, totals = stage.how, stage.documents, stage.totals
    texts, norm2 = totals[0], 0.0
    share = 1 - B + B * n * texts / totals[1] if totals[1] > 0 else 1.0
    while i < n:
        j = keys[i] >> 1
        count, value = 0.0, 0.0
        while i < n and keys[i] >> 1 == j:
            count += 1
            value += 1.0 - 2.0 * (keys[i] & 1)
            i += 1
        if how == BINARY:
            value = np.sign(value)
        elif how == TFIDF:
            value *= np.log((1 + texts) / (1 + had(documents, j))) + 1
        elif how == BM25:
            own = had(documents, j)
            rare = np.log(1 + (texts - own + 0.5) / (own + 0.5))
            value *= rare * (K + 1) / (count + K * share)
        if how >= TFIDF and taught:
            documents[j + 1] += 1
        indices[used], values[used] = j, value
        norm2 = with_square(norm2, value)
        used += 1
    if taught:
        totals[0] += 1
        totals[1] += n
    if stage.normed:
        divide(values[:used], norm2)
    return used


@to_the_letter
def with_square(norm2: Any, value: Any) -> Any:
    """A sum of squares with one more, with the same bits in whatever loop it is."""
    return norm2 + value * value


@to_the_letter
def divide(values: Any, norm2: Any) -> None:
    """Scale a row of this squared norm to unit norm; one of zeros stays as it is."""
    scale = 1 / np.sqrt(norm2) if norm2 > 0 else 0.0
    for i in range(len(values)):
        values[i] *= scale


@entry_point
def columns_of_ngrams(data: Any, seed: Any, orders: Any, letters: Any, columns: Any, keys: Any) -> Any:
    """Write the columns of the n-grams of a text; how many there are."""
    end = len(data) - BEYOND
    found, hashes = np.empty(end + 2, np.uint64), np.empty(len(keys), np.uint64)
    count = gather(data, 0, end, seed, orders, letters, found, hashes)
    for i in range(count):
        keys[i] = key(hashes[i], columns) >> 1
    return count


@routine
def put_character(code: Any, spelled: Any, at: Any) -> Any:
    """Write a character; where the next one goes."""
    some, size = utf8(code)
    for k in range(size):
        spelled[at + k] = (some >> (EIGHT * np.uint64(k))) & BYTE
    return at + size


@entry_point
def spell(data: Any, start: Any, end: Any, orders: Any, letters: Any, spelled: Any, begins: Any, ends: Any) -> Any:
    """The n-grams of data[start:end], in the order of `gather`: each is a part of `spelled`, which has the words in lower case with a
    blank between them, and then the letters as n-grams see them. How many there are, and how many of them are of words."""
    marks = np.empty((2, end - start + 3), np.int64)
    count, at, before, i = 0, 0, SPACE, start
    while i < end:
        code, kind, length = character(data, i, end)
        i += length
        if kind != SPACE:
            if kind != LETTER or before != LETTER:
                if at > 0:
                    spelled[at] = BLANK
                    at += 1
                marks[0, count] = at
                count += 1
            at = put_character(code, spelled, at)
            marks[1, count - 1] = at
        before = kind
    used = 0
    for i in range(count):
        for k in range(min(orders, count - i)):
            begins[used], ends[used] = marks[0, i], marks[1, i + k]
            used += 1
    of_words = used
    if letters[1] > 0:
        marks[0, 0], count, i = at, 1, start
        spelled[at] = BLANK
        at += 1
        while i < end or spelled[at - 1] != BLANK:
            code, kind, length = character(data, i, end) if i < end else (np.uint32(BLANK), np.uint8(SPACE), 1)
            i += length
            if kind == LETTER or spelled[at - 1] != BLANK:
                marks[0, count] = at
                count += 1
                at = put_character(code if kind == LETTER else np.uint32(BLANK), spelled, at)
        marks[0, count] = at
        for i in range(count):
            for k in range(letters[0], min(letters[1], count - i) + 1):
                begins[used], ends[used] = marks[0, i], marks[0, i + k]
                used += 1
    return used, of_words


@entry_point
def bags(stage: Any, data: Any, offsets: Any, seed: Any, taught: Any, indptr: Any, indices: Any, values: Any) -> None:
    """Texts as sparse rows: text t is data[offsets[t] : offsets[t + 1]]. The arrays have place for all n-grams there could be, and the
    data for `BEYOND` more bytes."""
    orders, letters = stage.orders, stage.letters
    longest = 0
    for t in range(len(taught)):
        longest = max(longest, offsets[t + 1] - offsets[t])
    most = (longest + 2) * (orders + letters[1])
    own = np.empty(longest + 2, np.uint64), np.empty(most, np.uint64), np.empty(most, np.int64)
    found, hashes, keys = borrowed(own)
    stage, data, indices, values = borrowed((stage, data, indices, values))
    indptr[0] = 0
    for t in range(len(taught)):
        used = gather(data, offsets[t], offsets[t + 1], seed, orders, letters, found, hashes)
        for i in range(used):
            keys[i] = key(hashes[i], stage.columns)
        mine = keys[:used]
        put_in_order(mine)
        start = indptr[t]
        indptr[t + 1] = start + bag(stage, mine, taught[t], indices[start:], values[start:])
    keep_alive(own)
