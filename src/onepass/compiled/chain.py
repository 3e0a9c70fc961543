"""Stages before a learner. A table passes them one after the other; a single example passes them and the learner in one call."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from onepass.compiled.borrow import borrowed, keep_alive, lent
from onepass.compiled.buckets import place_of
from onepass.compiled.checks import first_bad_row
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.entries import add_up, room
from onepass.compiled.kept import opened
from onepass.compiled.loop import Weights, run
from onepass.compiled.pulse import begin_step, end_step, moment, still
from onepass.compiled.rows import DenseRows, SparseRows
from onepass.compiled.verb import verb

# What an example comes through: a stage and then the rest. In the end it gets the constant feature, which is the learner's. `turns` are
# False and True: whether the stage learns from the row, when it comes and when it goes.
Before = namedtuple("Before", "stage rest turns")
TURNS = np.array([False, True])
End = namedtuple("End", "bias")

# Where columns are hashes, an entry of each that is known has a number in between; those that are not need a closer look, unless they
# count for nothing: then they are 0, at the end (see `Rows.with_blanks`).
Numbering = namedtuple("Numbering", "slots order known foresees rest")

# Behind a stage that brings features, there may be some that the learner does not know: they count for nothing, unless it foresees what
# they will count, or learns; then they need a closer look.
Narrowing = namedtuple("Narrowing", "known foresees rest")

# One raw example, as the first stage wants it: numbers, and the bytes of texts.
Raw = namedtuple("Raw", "values data bias")


@verb(0)
def change(stage: Any, X: Any, taught: Any, out: Any) -> None:
    """out = the numbers of the rows after the stage as it was before each; it then learns from a row t with taught[t]."""


@verb(0, 1)
def result(stage: Any, X: Any) -> Any:
    """An array for the numbers of the rows after the stage."""


@verb(0, 1)
def after(stage: Any, X: Any, out: Any) -> Any:
    """The rows after the stage, whose numbers are in `out`."""


@verb(0, otherwise=lambda stage, X: first_bad_row(X, 1) < 1)
def unsound(stage: Any, X: Any) -> Any:
    """Whether the stage does not take the row: by default one that is not finite."""


@verb(0)
def biased(X: Any, bias: Any) -> Any:
    """The rows with this constant feature."""


@biased.form(DenseRows)
def _(X: Any, bias: Any) -> Any:
    return DenseRows(X.values, bias)


@biased.form(SparseRows)
def _(X: Any, bias: Any) -> Any:
    return SparseRows(X.indptr, X.indices, X.values, bias)


def _as_before(stage: Any, X: Any) -> Any:
    return np.empty_like(X.values)


def _dense_after(stage: Any, X: Any, out: Any) -> Any:
    return DenseRows(lent(out), X.bias)


def _sparse_after(stage: Any, X: Any, out: Any) -> Any:
    return SparseRows(X.indptr, X.indices, lent(out), X.bias)


def keeps_places(*stages: type) -> None:
    """These are records of stages that change numbers and leave them where they are."""
    for stage in stages:
        result.form(stage, DenseRows)(_as_before)
        result.form(stage, SparseRows)(_as_before)
        after.form(stage, DenseRows)(_dense_after)
        after.form(stage, SparseRows)(_sparse_after)


def makes_columns(stage: type, columns: Callable[..., Any]) -> None:
    """This is a record of stages that give a row as many columns as the arrays that `columns` makes, whatever the row is."""
    for rows in (DenseRows, SparseRows, Raw):
        result.form(stage, rows)(columns)
        after.form(stage, rows)(_dense_after)


def _entries_after(stage: Any, X: Any, out: Any) -> Any:
    indptr, indices, values = out
    return SparseRows(lent(indptr), lent(indices[: indptr[1]]), lent(values[: indptr[1]]), X.bias)


def makes_entries(stage: type, entries: Callable[..., Any]) -> None:
    """This is a record of stages that make sparse rows of raw examples, in the arrays that `entries` makes (`compiled/entries.py`)."""
    result.form(stage, Raw)(entries)
    after.form(stage, Raw)(_entries_after)


@entry_point
def run_stage(stage: Any, X: Any, taught: Any, out: Any) -> Any:
    """Rows through a stage."""
    change(stage, X, taught, out)


@verb(0)
def through(stages: Any, model: Any, average: Any, X: Any, y: Any, gate: Any, scores: Any, count: Any) -> Any:
    """The loop over one row that comes through stages; how many rows were done.

    The learner learns first, and the stages on the way back: where it refuses a row, nobody has learned.
    """


@through.form(End)
def _(stages: Any, model: Any, average: Any, X: Any, y: Any, gate: Any, scores: Any, count: Any) -> Any:
    return run(model, average, biased(X, stages.bias), y, gate, scores, count)


@through.form(Before)
def _(stages: Any, model: Any, average: Any, X: Any, y: Any, gate: Any, scores: Any, count: Any) -> Any:
    if unsound(stages.stage, X):
        return 0
    out = result(stages.stage, X)
    run_stage(stages.stage, X, stages.turns[:1], out)
    done = through(stages.rest, model, average, after(stages.stage, X, out), y, gate, scores, count)
    if done == 1 and gate.every > 0:
        run_stage(stages.stage, X, stages.turns[1:], out)
    keep_alive(out)
    return done


@routine
def blanks(indices: Any, values: Any, used: Any, known: Any) -> Any:
    """The rest of the entries as zeros, in the last of the columns that are known, if there are any; how many there are then."""
    if known == 0:
        return used
    indices[used:], values[used:] = known - 1, 0
    return len(indices)


@through.form(Numbering)
def _(stages: Any, model: Any, average: Any, X: Any, y: Any, gate: Any, scores: Any, count: Any) -> Any:
    out, used = room(len(X.indices)), 0
    indptr, indices, values = borrowed(out)
    for i in range(len(X.indices)):
        place = stages.slots[place_of(X.indices[i], stages.slots, stages.order, stages.known)]
        if 0 < place <= stages.known:
            indices[used], values[used] = place - 1, X.values[i]
            used += 1
        elif stages.foresees or gate.every > 0:
            return 0
    add_up(indices[:used], values[:used])
    indptr[1] = used = blanks(indices, values, used, stages.known)
    row = SparseRows(lent(indptr), lent(indices[:used]), lent(values[:used]), X.bias)
    done = through(stages.rest, model, average, row, y, gate, scores, count)
    keep_alive(out)
    return done


@through.form(Narrowing)
def _(stages: Any, model: Any, average: Any, X: Any, y: Any, gate: Any, scores: Any, count: Any) -> Any:
    known = len(X.indices)
    while known > 0 and X.indices[known - 1] >= stages.known:
        known -= 1
    if known == len(X.indices):
        return through(stages.rest, model, average, X, y, gate, scores, count)
    if stages.foresees or gate.every > 0:
        return 0
    out = room(len(X.indices))
    indptr, indices, values = borrowed(out)
    indices[:known], values[:known] = X.indices[:known], X.values[:known]
    indptr[1] = used = blanks(indices, values, known, stages.known)
    row = SparseRows(lent(indptr), lent(indices[:used]), lent(values[:used]), X.bias)
    done = through(stages.rest, model, average, row, y, gate, scores, count)
    keep_alive(out)
    return done


# One row, with flat arguments and one number for an answer: to make and take apart records and arrays of rows and scores costs more
# than to learn from them. The answer is the score, or the index of the largest of several; NaN for a bad row.
# Single examples are learned from in place, whoever reads: a reader whose row a step came between scores it again, and after so many
# times has no answer either.
PATIENCE = 1000


@routine
def answer(fixed: Any, X: Any, y: Any, share: Any) -> Any:
    stages, model, average, width, count, pulse = fixed
    own = np.empty((1, width), X.values.dtype)
    scores = borrowed(own)
    gate = Weights(scores[0, :0], share)
    if share > 0:
        begin_step(pulse)
        done = through(stages, model, average, X, y, gate, scores, count)
        end_step(pulse)
    else:
        done = 0
        for _ in range(PATIENCE):
            before = moment(pulse)
            done = through(stages, model, average, X, y, gate, scores, count)
            if still(pulse, before):
                break
            done = 0
    best = 0
    for k in range(1, width):
        if scores[0, k] > scores[0, best]:
            best = k
    said = np.float64(best) if width > 1 else np.float64(scores[0, 0])
    keep_alive(own)
    return said if done == 1 else np.nan


# `fixed` is what stays the same from call to call: stages, model, average, width, count and pulse.


@entry_point
def run_dense(fixed: Any, values: Any, y: Any, share: Any) -> Any:
    """The loop on one dense row, of weight `share`."""
    if values.strides[0] != values.itemsize:
        return np.nan  # a column of a table, or the like: numbers that do not lie side by side need a closer look
    values, y = borrowed((values, y))
    return answer(opened(fixed), DenseRows(values.reshape(1, len(values)), values.dtype.type(0)), y, share)


@entry_point
def run_sparse(fixed: Any, indptr: Any, indices: Any, values: Any, y: Any, share: Any) -> Any:
    """The loop on one sparse row, of weight `share`."""
    X, y = borrowed((SparseRows(indptr, indices, values, values.dtype.type(0)), y))
    return answer(opened(fixed), X, y, share)


@entry_point
def run_raw(fixed: Any, values: Any, data: Any, y: Any, share: Any) -> Any:
    """The loop on one raw example, of weight `share`."""
    X, y = borrowed((Raw(values, data, values.dtype.type(0)), y))
    return answer(opened(fixed), X, y, share)
