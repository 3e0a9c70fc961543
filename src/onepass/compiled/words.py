"""Text as bags of hashed words and n-grams, at the level of bytes.

A word is a run of letters, digits and underscores; any other character that is no white space, such as an exclamation mark or a
currency sign, is a word of its own. Letters are compared in lower case. All that is decided by tables for characters of one or two
bytes in UTF-8 (Latin, Greek, Cyrillic, Hebrew, Arabic and more), as Python does; longer ones are letters, but for some punctuation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.compiled.borrow import borrowed, keep_alive
from onepass.compiled.compiler import entry_point, routine

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


@routine
def words(data: Any, start: Any, end: Any, seed: Any, found: Any) -> Any:
    """Write the hashes of the words of data[start:end] to `found`, which has place for as many as there are bytes; their number."""
    count, i = 0, start
    while i < end:
        code, kind, length = character(data, i, end)
        i += length
        if kind == SPACE:
            continue
        h = (seed ^ np.uint64(code)) * K0
        if kind == LETTER:
            while i < end:
                code, kind, length = character(data, i, end)
                if kind != LETTER:
                    break
                h = (h ^ np.uint64(code)) * K0
                i += length
        found[count] = h ^ (h >> HALF)
        count += 1
    return count


# How a word counts: how often it is there, whether it is, and both weighed by how few texts have had it so far.
COUNT, BINARY, TFIDF, BM25 = range(4)
K, B = 1.2, 0.75  # of BM25, as is usual


@routine
def gather(data: Any, start: Any, end: Any, seed: Any, orders: Any, letters: Any, columns: Any, found: Any, keys: Any) -> Any:
    """Write 2 j + s to `keys` for each n-gram of words, and of letters, of a text: j is its column, s is 1 if its sign is minus. How
    many there are."""
    count, used = words(data, start, end, seed, found), 0
    for i in range(count):
        h = found[i]
        for k in range(orders):
            if k > 0:
                if i + k == count:
                    break
                h = joined(h, found[i + k])
            keys[used] = key(h, columns)
            used += 1
    if letters[1] > 0:
        used = gather_letters(data, start, end, joined(seed, seed), letters, columns, found, keys, used)
    return used


@routine
def gather_letters(
    data: Any, start: Any, end: Any, seed: Any, letters: Any, columns: Any, found: Any, keys: Any, used: Any
) -> Any:
    """The same for n-grams of letters, where all that is no letter is one blank, also at the beginning and at the end."""
    found[0], count, i = 32, 1, start
    while i < end:
        code, kind, length = character(data, i, end)
        if kind == LETTER:
            found[count] = code
            count += 1
        elif found[count - 1] != 32:
            found[count] = 32
            count += 1
        i += length
    if found[count - 1] != 32:
        found[count] = 32
        count += 1
    for i in range(count):
        h = seed
        for k in range(min(letters[1], count - i)):
            h = joined(h, found[i + k])
            if k + 1 >= letters[0]:
                keys[used] = key(joined(h, k), columns)
                used += 1
    return used


@routine
def key(h: Any, columns: Any) -> Any:
    h = finished(h)
    return np.int64(((h >> HALF) * np.uint64(columns)) >> HALF) * 2 + np.int64(h & np.uint64(1))


@routine
def put_in_order(keys: Any) -> None:
    if len(keys) > 48:
        keys.sort()
        return
    for i in range(1, len(keys)):  # for a few, by insertion: a third of the time
        x, j = keys[i], i
        while j > 0 and keys[j - 1] > x:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = x


@routine
def bag(keys: Any, how: Any, documents: Any, totals: Any, taught: Any, normed: Any, indices: Any, values: Any) -> Any:
    """Write the columns and values of one text's n-grams, given their keys in order; how many there are. With `taught` they are then
    counted: documents[j + 1] is how many texts had something in column j, totals are the texts and their n-grams."""
    used, i, n = 0, 0, len(keys)
    texts = totals[0]
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
            value *= np.log((1 + texts) / (1 + documents[j + 1])) + 1
        elif how == BM25:
            rare = np.log(1 + (texts - documents[j + 1] + 0.5) / (documents[j + 1] + 0.5))
            value *= rare * (K + 1) / (count + K * share)
        if how >= TFIDF and taught:
            documents[j + 1] += 1
        indices[used], values[used] = j, value
        used += 1
    if taught:
        totals[0] += 1
        totals[1] += n
    if normed:
        scale_to_unit(values[:used])
    return used


@routine
def scale_to_unit(values: Any) -> None:
    """Scale a row to unit norm; one of zeros stays as it is."""
    norm2 = 0.0
    for i in range(len(values)):
        norm2 += values[i] * values[i]
    scale = 1 / np.sqrt(norm2) if norm2 > 0 else 0.0
    for i in range(len(values)):
        values[i] *= scale


INSIDE = 3  # of a character that began before


@entry_point
def ngrams_of(data: Any, seed: Any, orders: Any, letters: Any, columns: Any, kinds: Any, keys: Any) -> Any:
    """Write the kind of the character that begins at each byte of a text, and the keys of its n-grams; how many there are."""
    i = 0
    for j in range(len(data)):
        kinds[j] = INSIDE
    while i < len(data):
        _, kinds[i], length = character(data, i, len(data))
        i += length
    found = np.empty(len(data) + 2, np.uint64)
    return gather(data, 0, len(data), seed, orders, letters, columns, found, keys)


@entry_point
def bags(
    data: Any,
    offsets: Any,
    seed: Any,
    orders: Any,
    letters: Any,
    columns: Any,
    how: Any,
    documents: Any,
    totals: Any,
    taught: Any,
    normed: Any,
    indptr: Any,
    indices: Any,
    values: Any,
) -> None:
    """Texts as sparse rows: text t is data[offsets[t] : offsets[t + 1]]. The arrays have place for all n-grams there could be."""
    longest = 0
    for t in range(len(taught)):
        longest = max(longest, offsets[t + 1] - offsets[t])
    own = np.empty(longest + 2, np.uint64), np.empty((longest + 2) * (orders + letters[1]), np.int64)
    found, keys = borrowed(own)
    data, documents, totals, indices, values = borrowed((data, documents, totals, indices, values))
    indptr[0] = 0
    for t in range(len(taught)):
        used = gather(data, offsets[t], offsets[t + 1], seed, orders, letters, columns, found, keys)
        mine = keys[:used]
        put_in_order(mine)
        start = indptr[t]
        indptr[t + 1] = start + bag(mine, how, documents, totals, taught[t], normed, indices[start:], values[start:])
    keep_alive(own)
