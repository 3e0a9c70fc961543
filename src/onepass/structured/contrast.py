"""Differences of features, D = Phi(x, y) - Phi(x, z), as sparse rows of the weights.

A feature that both outputs have must cancel, and one that is used twice counts 2, and 4 in |D|^2: so entries are summed by place before
anything is squared. A small hash table finds the entry of a place. It need not be cleared: entries are numbered on and on, and
those of earlier rows have numbers below the first of this one.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from onepass.compiled.compiler import routine, spliced
from onepass.compiled.rows import SparseRow

# Rows one after the other: row j has the places and values from ends[j] to ends[j + 1]. slots: the numbers of entries, by the hashes of
# their places. now: the row that is looked into, and the number of its first entry.
Book = namedtuple("Book", "places values ends slots now")
ROW, FIRST = 0, 1


@routine
def new_book(rows: Any, entries: Any, like: Any) -> Any:
    """Place for so many rows of so many entries, of the type of an array."""
    size = 4
    while size < 2 * entries:
        size *= 2
    n = rows * entries
    slots = np.full(size, -1, np.int64)
    return Book(np.empty(n, np.int64), np.empty(n, like.dtype), np.zeros(rows + 1, np.int64), slots, np.zeros(2, np.int64))


@spliced
def turn_to(book: Any, j: Any) -> Any:
    """Look into row j from now on, and forget the places of the row before."""
    before = book.now[ROW]
    book.now[FIRST] += book.ends[before + 1] - book.ends[before]
    book.now[ROW] = j


@spliced
def begin(book: Any, j: Any) -> Any:
    """Write row j, behind those before it."""
    turn_to(book, j)
    book.ends[j + 1] = book.ends[j]


@spliced
def slot_of(book: Any, place: Any) -> Any:
    """The slot of a place, or the free one where it would be."""
    last = len(book.slots) - 1
    slot = ((place * 0x9E3779B1) >> 9) & last
    while book.slots[slot] >= book.now[FIRST] and book.places[entry_at(book, slot)] != place:
        slot = (slot + 1) & last
    return slot


@spliced
def entry_at(book: Any, slot: Any) -> Any:
    return book.slots[slot] - book.now[FIRST] + book.ends[book.now[ROW]]


@routine
def enter(book: Any, place: Any, amount: Any) -> Any:
    """Add an amount at a place of the row."""
    slot = slot_of(book, place)
    if book.slots[slot] >= book.now[FIRST]:
        book.values[entry_at(book, slot)] += amount
        return
    j = book.now[ROW]
    end = book.ends[j + 1]
    book.slots[slot] = book.now[FIRST] + end - book.ends[j]
    book.places[end], book.values[end] = place, amount
    book.ends[j + 1] = end + 1


@routine
def enter_rows(book: Any, x: Any, y: Any, z: Any) -> Any:
    """Enter what row y of x has more than row z."""
    for i in range(x.indptr[y], x.indptr[y + 1]):
        enter(book, np.int64(x.indices[i]) - 1, x.values[i])
    for i in range(x.indptr[z], x.indptr[z + 1]):
        enter(book, np.int64(x.indices[i]) - 1, -x.values[i])


@spliced
def difference(book: Any, j: Any) -> Any:
    """Row j. The entries of a row count from behind the constant feature, which is no part of a difference: its value is 0."""
    start, end = book.ends[j], book.ends[j + 1]
    kind = book.values.dtype.type
    return SparseRow(book.places[start:end], book.values[start:end], kind(0), kind(1))


@routine
def products(book: Any, n: Any, A: Any) -> Any:
    """A = the products of the first n rows with each other."""
    for j in range(n):
        turn_to(book, j)
        for e in range(book.ends[j], book.ends[j + 1]):
            book.slots[slot_of(book, book.places[e])] = book.now[FIRST] + e - book.ends[j]
        for i in range(j + 1):
            total = 0.0
            for e in range(book.ends[i], book.ends[i + 1]):
                slot = slot_of(book, book.places[e])
                if book.slots[slot] >= book.now[FIRST]:
                    total += np.float64(book.values[e]) * np.float64(book.values[entry_at(book, slot)])
            A[i, j] = A[j, i] = total
