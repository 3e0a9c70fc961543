"""Ways to break a model that once worked, each with its neighbours.

 no  what it was                                              test
  1  CSR whose indptr points beyond its indices               test_a_damaged_matrix_is_refused_by_every_door (also from .npz files)
  2  MemoryError while features, labels or slots are made     test_an_error_anywhere_leaves_the_model_before_or_after_the_call,
                                                              test_no_memory_for_more_leaves_the_model_whole
  3  indices that are floats, NaN, or beyond int64            test_a_damaged_matrix_is_refused_by_every_door
  4  copy.copy shares a state                                 test_a_shallow_copy_is_a_copy
  5  Ctrl-C while features are made                           test_ctrl_c_anywhere_leaves_the_model_before_or_after_the_call,
                                                              test_ctrl_c_by_a_real_signal
  6  a reader while features grow                             test_readers_see_versions_that_were
  7  a reader while labels grow                               test_readers_see_versions_that_were, test_readers_never_see_a_wrong_label
  8  a file that names a feature twice                        test_damaged_files.py: test_every_change_is_noticed_or_does_no_harm,
                                                              test_saving.py: test_damaged_names_are_noticed
  9  a file with an unknown form                              test_damaged_files.py: test_every_change_is_noticed_or_does_no_harm
 10  millions of names cannot be saved                        test_saving.py: test_any_text_is_a_name,
                                                              test_many_names_in_the_steps_of_a_model
 11  a weight that overflows single precision                 test_a_weight_beyond_single_precision_is_refused_by_every_door
 12  ROMMA's norm drifts                                      test_romma.py: test_the_kept_length_is_the_length
 13  CSR whose data has several axes                          test_a_damaged_matrix_is_refused_by_every_door
 14  CSR that changes during a call                           test_a_matrix_that_changes_during_a_call_does_no_harm
 15  two writers and two readers                              test_two_writers_lose_nothing, test_readers_see_versions_that_were
 16  calibration of small scores                              test_calibration.py: test_the_unit_of_the_scores_does_not_count,
                                                              test_as_good_as_platt_on_the_same_scores
 17  a fork while another thread learns                       test_a_fork_while_others_learn_does_not_hang
 18  parameters that files drop                               test_saving.py: test_tables_as_parameters_come_back,
                                                              test_what_a_file_cannot_hold_is_refused_before_it_is_touched
 19  names of steps that are mixed up in files                test_names_of_steps_that_files_would_mix_up_are_refused
 20  errors in a user's kernel function                       test_kernels.py: test_a_function_that_gives_no_number_changes_nothing
 21  a bad line loses what was learned                        test_cli.py: test_a_bad_line_saves_what_was_learned_before

ONEPASS_THREADS_SECONDS says how long the slow tests of threads take, each; 20 if it is not set.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import faulthandler
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import onepass
from onepass import (
    ActiveLearner,
    Hasher,
    KernelPA,
    OGDClassifier,
    PAClassifier,
    PAMOClassifier,
    PARegressor,
    StandardScaler,
    UnitNorm,
    evaluate,
    pipeline,
    streams,
)
from onepass.compiled.book import MORE_ENTRIES, MORE_SLOTS
from onepass.stages import Pipeline

SECONDS = float(os.environ.get("ONEPASS_THREADS_SECONDS", "20"))


def in_a_process(function: Callable[..., None], *arguments: str, seconds: int = 120) -> str:
    """What a function of this file prints in a process of its own, which has to end well."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", __file__, function.__name__, *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**os.environ, "MALLOC_PERTURB_": "165"},  # freed memory is overwritten: who reads it gets nonsense
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def in_turn(function: str, names: str, *arguments: str) -> None:
    """A function of this file for several models: to start a process takes longer."""
    for name in names.split("; "):
        globals()[function](name, *arguments)


# --- all of a model ---


def steps_of(model: Any) -> list[Any]:
    if isinstance(model, ActiveLearner):
        return steps_of(model.learner_) if "learner_" in vars(model) else []
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def snapshot(model: Any) -> Any:
    """Everything in a model that learning changes, to the bit. Spare room at the end of the features is no part of it."""
    counters = [(model.seen_, model.asked_)] if isinstance(model, ActiveLearner) and "learner_" in vars(model) else []
    return counters + [_content(step._state) for step in steps_of(model)]


def _content(state: Any) -> Any:
    if state is None:
        return None
    about = (state.form, state.dtype, state.seed, state.grow_features, state.grow_classes, state.n_features, state.n_iter)
    content = {
        "about": about,
        "classes": None if state.classes is None else state.classes.tolist(),
        "names": None if state.names is None else state.names.first(state.n_features),
    }
    for name, array in state.arrays.items():
        role = state.fields.get(name.split(".")[-1])
        if role is not None:
            array = array[tuple(slice(state.n_features + 1 if axis == "features" else None) for axis in role.axes.split())]
        if name == "book":  # what a rule asked for in vain is nothing that it knows
            array = array.copy()
            array[[MORE_SLOTS, MORE_ENTRIES]] = 0
        content[name] = (array.dtype, array.shape, array.tobytes())
    return content


def assert_sound(model: Any, where: str) -> None:
    """Nobody writes: readers see the latest state, no step is under way, and no lock is held."""
    steps, taken = steps_of(model), []
    locks = [step._lock for step in steps] + ([model._lock] if isinstance(model, ActiveLearner) else [])

    def take() -> None:
        for lock in locks:
            taken.append(lock.acquire(blocking=False))
            if taken[-1]:
                lock.release()

    other = threading.Thread(target=take)
    other.start()
    other.join()
    assert all(taken), f"{where}: a lock was left locked"
    assert all(step._shown is None for step in steps), f"{where}: readers still see an old state"
    assert all(step._state is None or step._state.pulse[0] % 2 == 0 for step in steps), f"{where}: a step seems under way"


# --- 1, 3, 13: sparse matrices whose parts do not fit ---


def good() -> Any:
    return sp.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0], [5.0, 6.0, 7.0], [0.0, 0.0, 8.0]]))


ONE_ROW = {"row": 2}  # what doors for one example get


def damaged(**parts: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that puts other parts into a matrix."""

    def damage(X: Any) -> Any:
        for name, change in parts.items():
            setattr(X, name, change(getattr(X, name)))
        return X

    return damage


def put(i: int, value: Any, dtype: Any = None) -> Callable[[Any], Any]:
    def change(part: Any) -> Any:
        part = part.astype(dtype or part.dtype)
        part[i] = value
        return part

    return change


def read_only(part: Any) -> Any:
    part = part.copy()
    part.flags.writeable = False
    return part


HUGE = 2**30
DAMAGES: dict[str, Callable[[Any], Any]] = {
    "indptr beyond the end in the middle": damaged(indptr=put(-2, HUGE)),
    "indptr beyond the end": damaged(indptr=put(-1, HUGE)),
    "indptr far beyond the end": damaged(indptr=put(-1, 2**62, np.int64)),
    "indptr that falls": damaged(indptr=lambda part: np.r_[part[:-2], part[-1] + 1, part[-1] - 1].astype(np.int32)),
    "indptr that begins below zero": damaged(indptr=put(0, -HUGE)),
    "indptr that begins late": damaged(indptr=put(0, HUGE)),
    "indptr below zero": damaged(indptr=put(-2, -1)),
    "indptr that ends below zero": damaged(indptr=put(-1, -1)),
    "indptr too short": damaged(indptr=lambda part: part[:-1]),
    "indptr too long": damaged(indptr=lambda part: np.r_[part, part[-1]]),
    "indptr without entries": damaged(indptr=lambda part: part[:0]),
    "indptr of floats": damaged(indptr=lambda part: part.astype(float)),
    "indptr of objects": damaged(indptr=lambda part: part.astype(object)),
    "indptr with two axes": damaged(indptr=lambda part: part[:, None]),
    "indptr beyond int64": damaged(indptr=put(-1, 2**63 + 1, np.uint64)),
    "indptr that is a list": damaged(indptr=lambda part: part.tolist()),
    "an index too large": damaged(indices=put(-1, 3)),
    "an index far too large": damaged(indices=put(-1, 2**31 - 1)),
    "an index beyond int32": damaged(indices=put(-1, 2**40, np.int64)),
    "an index that int32 would make small": damaged(indices=lambda part: part.astype(np.uint64) + np.uint64(2**32)),
    "an index that int64 would make small": damaged(indices=put(-1, 2**63 + 1, np.uint64)),
    "an index below zero": damaged(indices=put(-1, -1)),
    "an index far below zero": damaged(indices=put(-1, -(2**31))),
    "indices of floats": damaged(indices=lambda part: part.astype(float)),
    "an index that is NaN": damaged(indices=put(-1, np.nan, float)),
    "indices of objects": damaged(indices=lambda part: part.astype(object)),
    "indices of truth values": damaged(indices=lambda part: part > 0),
    "indices with two axes": damaged(indices=lambda part: part[:, None]),
    "indices too short": damaged(indices=lambda part: part[:-1]),
    "indices too long": damaged(indices=lambda part: np.r_[part, part[-1]]),
    "data too short": damaged(data=lambda part: part[:-1]),
    "data without entries": damaged(data=lambda part: part[:0]),
    "data with two axes": damaged(data=lambda part: np.repeat(part[:, None], 3, axis=1)),
    "data with many axes": damaged(data=lambda part: part.reshape((-1,) + (1,) * 31)),
    "data of objects": damaged(data=lambda part: np.array(["a"] * len(part), object)),
    "data that is NaN": damaged(data=put(-1, np.nan)),
}
# What is no damage: every door does with it what it does with the matrix in order.
HARMLESS: dict[str, Callable[[Any], Any]] = {
    "indices out of order": damaged(
        indices=lambda part: (
            np.r_[part[:-3], part[-3:][::-1]] if len(part) == 3 else np.r_[part[:4], part[4:7][::-1], part[7:]]
        ),
        data=lambda part: np.r_[part[:-3], part[-3:][::-1]] if len(part) == 3 else np.r_[part[:4], part[4:7][::-1], part[7:]],
    ),
    "an index twice": damaged(
        indices=lambda part: np.r_[part, part[-1:]],
        data=lambda part: np.r_[part[:-1], part[-1:] - 1, [1.0]],
        indptr=put(-1, 0),
    ),
    "entries behind the end": damaged(indices=lambda part: np.r_[part, [77]], data=lambda part: np.r_[part, [np.nan]]),
    "indices of int64": damaged(indices=lambda part: part.astype(np.int64), indptr=lambda part: part.astype(np.int64)),
    "indices of uint64": damaged(indices=lambda part: part.astype(np.uint64), indptr=lambda part: part.astype(np.uint64)),
    "indices of int8": damaged(indices=lambda part: part.astype(np.int8), indptr=lambda part: part.astype(np.int8)),
    "indices that can't be written": damaged(indices=read_only, data=read_only),
}


def _twice(X: Any) -> Any:
    X = HARMLESS["an index twice"](X)
    X.indptr[-1] = len(X.indices)
    return X


Y = np.array([0, 1, 0, 1])


def learner() -> Any:
    return PAClassifier().partial_fit(good(), Y, classes=[0, 1])


def growing() -> Any:
    return PAClassifier(grow=True).partial_fit(good(), Y)


def stage() -> Any:
    return StandardScaler().fit(good().toarray())


def whole() -> Any:
    return pipeline(StandardScaler(), PAClassifier()).partial_fit(good().toarray(), Y, classes=[0, 1])


def chain() -> Any:
    return pipeline(UnitNorm(), PAClassifier()).partial_fit(good(), Y, classes=[0, 1])


def asking() -> Any:
    return ActiveLearner(PAClassifier(), delta=float("inf"), random_state=0).partial_fit(good(), Y, classes=[0, 1])


def kernel() -> Any:
    return KernelPA(gamma=0.5, random_state=0).partial_fit(good(), Y, classes=[0, 1])


def from_npz(model: Any, X: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        parts = {"indptr": X.indptr, "indices": X.indices, "data": X.data}
        np.savez(path, format=np.array(b"csr"), shape=np.array(X.shape), y=Y, **{k: np.asarray(v) for k, v in parts.items()})
        with streams.open(path) as stream:
            evaluate.prequential(model, stream)


TABLE_DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda m, X: m.predict(X),
    "decision_function": lambda m, X: m.decision_function(X),
    "score": lambda m, X: m.score(X, Y),
    "partial_fit": lambda m, X: m.partial_fit(X, Y),
    "test_then_train": lambda m, X: m.test_then_train(X, Y),
    "fit": lambda m, X: m.fit(X, Y),
    "prequential": lambda m, X: evaluate.prequential(m, (X, Y)),
    "prequential with a delay": lambda m, X: evaluate.prequential(m, (X, Y), delay=1),
    "a stream of arrays": lambda m, X: evaluate.prequential(m, streams.open((X, Y), chunk=2)),
    "a file": from_npz,
}
ROW_DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "learn_one": lambda m, x: m.learn_one(x, 1),
    "predict_one": lambda m, x: m.predict_one(x),
}
STAGE_DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "transform": lambda m, X: m.transform(X).toarray(),
    "learn_transform": lambda m, X: m.learn_transform(X).toarray(),
    "stage.partial_fit": lambda m, X: m.partial_fit(X),
    "stage.fit": lambda m, X: m.fit(X),
}
STAGE_ROW_DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "transform_one": lambda m, x: m.transform_one(x),
    "stage.learn_one": lambda m, x: m.learn_one(x),
}
MODELS: dict[str, tuple[Callable[[], Any], dict[str, Any], dict[str, Any]]] = {
    "learner": (learner, TABLE_DOORS, ROW_DOORS),
    "growing learner": (growing, TABLE_DOORS, ROW_DOORS),
    "kernel learner": (kernel, TABLE_DOORS, ROW_DOORS),
    "pipeline": (chain, TABLE_DOORS, ROW_DOORS),
    "pipeline with a scaler": (whole, TABLE_DOORS, ROW_DOORS),
    "ActiveLearner": (asking, TABLE_DOORS, {**ROW_DOORS, "query": lambda m, x: m.query(x)}),
    "stage": (lambda: UnitNorm().fit(good()), STAGE_DOORS, STAGE_ROW_DOORS),
    "stage with a scaler": (stage, STAGE_DOORS, STAGE_ROW_DOORS),
}


def other_formats() -> Iterator[tuple[str, Any]]:
    """Other formats, which scipy turns into CSR in machine code that checks nothing."""
    for name in ("indptr beyond the end in the middle", "indptr that falls", "an index far too large", "an index below zero"):
        yield f"CSC, {name}", DAMAGES[name](good().tocsc())
        yield f"BSR, {name}", DAMAGES[name](good().tobsr((1, 1)))
    for axis in (0, 1):
        for wrong in (HUGE, -1):
            X = good().tocoo()
            coords = [part.copy() for part in X.coords]
            coords[axis][2] = wrong
            X.coords = tuple(coords)
            yield f"COO, axis {axis} at {wrong}", X
    X = good().tolil()
    X.rows[1] = [1, HUGE]
    yield "LIL", X


def damage_everything(name: str) -> None:
    """Try every damage on every door of a model, and say what went wrong."""
    faulthandler.enable()
    make, table_doors, row_doors = MODELS[name]
    tables = [(what, damage(good())) for what, damage in DAMAGES.items()]
    rows = [(what, damage(good()[[2]])) for what, damage in DAMAGES.items() if "in the middle" not in what]
    column = good()[[2]].T.tocsr()
    column.indptr[1] = HUGE
    tries = [(door, call, case) for door, call in table_doors.items() for case in [*tables, *other_formats()]]
    tries += [(door, call, case) for door, call in row_doors.items() for case in [*rows, ("a damaged column", column)]]
    for door, call, (what, X) in tries:
        if door == "a file" and not (isinstance(X, sp.csr_array) and _can_be_written(X)):
            continue
        model = make()
        before = snapshot(model)
        print(f"{door}: {what}", file=sys.stderr, flush=True)  # the last line tells where it crashed
        try:
            call(model, X)
        except (ValueError, TypeError, EOFError):  # the last of a file that says it has more than it has
            pass
        except Exception as error:
            print(f"{door} ended in {error!r} for a matrix with {what}")
        else:
            print(f"{door} took a matrix with {what}")
        if "prequential" not in door and door not in ("a stream of arrays", "a file") and snapshot(model) != before:
            print(f"{door} left a trace of a matrix with {what}")
        assert_sound(model, f"{door}: {what}")
        if hasattr(model, "predict"):
            model.predict(good())
    for what, change in {**HARMLESS, "an index twice": _twice}.items():
        for door, call in table_doors.items():
            if door != "a file":
                _compare(f"{door}: {what}", make, call, change(good()), good())
        for door, call in row_doors.items():
            _compare(f"{door}: {what}", make, call, change(good()[[2]]), good()[[2]])


def _can_be_written(X: Any) -> bool:
    return all(
        isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind in "iuf" for part in (X.indptr, X.indices, X.data)
    )


def _compare(what: str, make: Callable[[], Any], call: Callable[[Any, Any], Any], X: Any, in_order: Any) -> None:
    model, other = make(), make()
    kept = X.indices.copy(), X.data.copy()
    answer, expected = call(model, X), call(other, in_order)
    if isinstance(expected, np.ndarray) and not np.array_equal(answer, expected):
        print(f"{what} gives {answer}, not {expected}")
    if snapshot(model) != snapshot(other):
        print(f"{what} gives another model")
    if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(kept, (X.indices, X.data), strict=True)):
        print(f"{what} changed the user's matrix")


def test_a_damaged_matrix_is_refused_by_every_door() -> None:
    assert in_a_process(in_turn, "damage_everything", "learner; stage") == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("learner", "stage")])
def test_a_damaged_matrix_is_refused_by_every_door_of_every_model(name: str) -> None:
    assert in_a_process(damage_everything, name, seconds=600) == ""


# --- 2, 5: Ctrl-C, or no memory, anywhere ---

SOURCE = str(Path(onepass.__file__).parent)
COMPILED = str(Path(onepass.__file__).parent / "compiled")
# Python looks for signals at the beginning of a function, after a call of what is no Python, and where a loop jumps back.
LOOKS = {code for name, code in dis.opmap.items() if name.startswith("CALL") or "JUMP_BACKWARD" in name}
CALLED_PYTHON = -1


class Raise:
    """A trace function that raises an error in the k-th place in the library's Python where a signal could do so."""

    def __init__(self, k: int, error: type[BaseException]) -> None:
        self.k, self.error, self.seen, self.where = k, error, 0, ""
        self._last: dict[Any, int | None] = {}

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        file = frame.f_code.co_filename
        if self._last.get(frame.f_back) in LOOKS:
            self._last[frame.f_back] = CALLED_PYTHON
        if file == contextlib.__file__ and frame.f_back is not None:  # a context manager of the library's
            file = frame.f_back.f_code.co_filename
        if not file.startswith(SOURCE) or file.startswith(COMPILED):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self._last[frame] = None
        return self._step

    def _step(self, frame: Any, event: str, arg: Any) -> Any:
        if event == "return":
            self._last.pop(frame, None)
        elif event == "opcode":
            code, at, last = frame.f_code.co_code, frame.f_lasti, self._last.get(frame)
            self._last[frame] = code[at]
            if last in LOOKS if last is not None else at >= 2 and code[at - 2] == dis.opmap["RESUME"]:
                self.seen += 1
                if self.seen == self.k:
                    self.where = f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}, {frame.f_code.co_name}"
                    raise self.error
        return self._step


def interrupted(k: int, error: type[BaseException], call: Callable[[], Any]) -> str | None:
    """Where a call was ended by an error in its k-th place; None if it has fewer."""
    trace, before = Raise(k, error), sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except error:
        return trace.where or None
    finally:
        sys.settrace(before)
    return None


def features(*names: str) -> dict[str, float]:
    return {name: 1.0 + j for j, name in enumerate(names)}


def taught(model: Any, *examples: tuple[Any, Any]) -> Any:
    for x, y in examples:
        model.learn_one(x, y)
    return model


def of_two_labels(model: Any) -> Any:
    return taught(model, (features("a"), 0), (features("a", "b"), 1), (features("b"), 0))


def of_three_labels(model: Any) -> Any:
    return taught(of_two_labels(model), (features("a"), 5))


def of_one_label(model: Any) -> Any:
    return taught(model, (features("a"), 0))


def fresh(model: Any) -> Any:
    return model


def full(model: Any) -> Any:
    """A support set without room."""
    rng = np.random.default_rng(0)
    model.partial_fit(rng.normal(size=(2, 3)), [0, 1], classes=[0, 1])
    while model.support_size_ < model._state.capacities["support"]:
        x = rng.normal(size=3)
        model.learn_one(x, 1 - model.predict_one(x))
    return model


FAR = np.full(3, 9.0)  # from all support vectors, so that it has to be one itself
X_NEW = np.random.default_rng(7).normal(size=(40, 3))
ROWS = [features("a", "c"), features("e"), features("f", "a")]
THINGS_TO_MAKE: dict[str, Callable[[], Any]] = {
    "PA": PAClassifier,
    "averaged PA": lambda: PAClassifier(average=True, class_weight="balanced", calibrate=True),
    "PAR": PARegressor,
    "OGD": OGDClassifier,
    "PAMO": lambda: PAMOClassifier(4, random_state=0),
    "kernel": lambda: KernelPA(gamma=0.5, random_state=0),
    "pipeline": lambda: pipeline(StandardScaler(), PAClassifier()),
    "active": lambda: ActiveLearner(PAClassifier(), delta=float("inf"), random_state=0),
    "active pipeline": lambda: ActiveLearner(pipeline(StandardScaler(), PAClassifier()), delta=float("inf"), random_state=0),
    "scaler": StandardScaler,
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "learn_one": lambda m: m.learn_one(features("a"), 1),
    "learn_one with features": lambda m: m.learn_one(features("a", "c", "d"), 1),
    "learn_one with a label": lambda m: m.learn_one(features("a", "c"), 2),
    "partial_fit": lambda m: m.partial_fit(ROWS, [1, 2, 0]),
    "test_then_train": lambda m: m.test_then_train(ROWS, [1, 2, 0]),
    "fit": lambda m: m.fit(ROWS, [1, 2, 0]),
    "learn_one of a stage": lambda m: m.learn_one(features("a", "z")),
    "learn_one in a full set": lambda m: m.learn_one(FAR, 1),
    "partial_fit in a full set": lambda m: m.partial_fit(X_NEW, np.arange(40) % 2),
    "answer": lambda m: m.answer(features("a", "q"), 3),
    "query": lambda m: m.query(features("a", "q")),
}


def taught_stage(model: Any) -> Any:
    for x in (features("a"), features("a", "b"), features("b")):
        model.learn_one(x)
    return model


# (what is made, what it knows, what is called, every how many places, and whether a state is too large to be copied)
QUICK = [
    ("PA", of_two_labels, "learn_one", 1, False),
    ("PA", of_two_labels, "learn_one with features", 2, False),
    ("PA", of_two_labels, "learn_one with a label", 3, False),
    ("PA", of_two_labels, "learn_one with a label", 3, True),
    ("PA", of_one_label, "learn_one with a label", 5, False),
    ("PA", fresh, "learn_one with a label", 5, False),
    ("PA", of_two_labels, "partial_fit", 11, False),
    ("PA", of_two_labels, "fit", 11, False),
    ("pipeline", of_two_labels, "learn_one", 1, False),
    ("pipeline", of_two_labels, "learn_one with a label", 7, False),
    ("active", of_two_labels, "learn_one", 1, False),
    ("active", of_two_labels, "learn_one with a label", 7, False),
    ("active", of_two_labels, "partial_fit", 29, False),
    ("active", of_two_labels, "fit", 29, False),
    ("active", fresh, "learn_one with a label", 7, False),
    ("kernel", full, "learn_one in a full set", 5, False),
    ("kernel", full, "partial_fit in a full set", 5, False),
    ("scaler", taught_stage, "learn_one of a stage", 3, False),
]
LONG = [
    *((name, known, call, 1, large) for name, known, call, _, large in QUICK),
    *(
        (name, known, call, 3, False)
        for name in ("averaged PA", "PAR", "OGD", "PAMO", "pipeline", "active pipeline")
        for known in (of_two_labels, of_one_label, fresh)
        for call in ("learn_one with features", "learn_one with a label", "test_then_train")
    ),
    *(("active", known, call, 1, False) for known in (fresh, of_two_labels) for call in ("answer", "query")),
    *(
        (name, known, call, 1, True)
        for name in ("PA", "PAR", "PAMO")
        for known in (of_one_label, of_two_labels, of_three_labels)
        for call in ("learn_one with features", "learn_one with a label")
    ),
]


def named(case: Any) -> str:
    return ", ".join([case[0], case[1].__name__, case[2], *(["large"] if case[4] else [])])


def check_every_place(case: Any, error: type[BaseException], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, known, which, stride, large = case
    if large:
        monkeypatch.setattr("onepass.base.engine.COPIED_ALWAYS", -1)
    call, first = CALLS[which], known(THINGS_TO_MAKE[name]())

    def make() -> Any:
        """The model with its quick road open, as after any single example."""
        model = first.copy()
        for step in steps_of(model)[-1:]:
            if hasattr(step, "_keep_bound"):
                step._keep_bound()
        return model

    twin = make()
    before = snapshot(twin)
    call(twin)
    after, places, seen = snapshot(twin), 0, set()
    for k in range(1, 1_000_000, stride):
        model = make()
        where = interrupted(k, error, lambda model=model: call(model))
        if where is None:
            break
        places += 1
        now = snapshot(model)
        assert now in (before, after), f"{where}: half of the call was learned"
        assert_sound(model, where)
        seen.add(now == after)
        if now == before:
            call(model)
            assert snapshot(model) == after, f"{where}: it goes on otherwise"
        elif places % 10 == 0 or now == after:
            model.save(folder / "model")
            assert snapshot(onepass.load(folder / "model")) == after
    assert places > 5
    assert False in seen


@pytest.mark.parametrize("scenario", QUICK, ids=named)
def test_ctrl_c_anywhere_leaves_the_model_before_or_after_the_call(
    scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_every_place(scenario, KeyboardInterrupt, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", LONG, ids=named)
def test_ctrl_c_in_every_place_of_every_door(scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_every_place(scenario, KeyboardInterrupt, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "scenario",
    [
        ("PA", of_two_labels, "learn_one with a label", 7, False),
        ("PA", of_two_labels, "learn_one with features", 7, True),
        ("pipeline", of_two_labels, "learn_one with a label", 23, False),
    ],
    ids=named,
)
def test_an_error_anywhere_leaves_the_model_before_or_after_the_call(
    scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_every_place(scenario, MemoryError, tmp_path, monkeypatch)


def real_signals() -> None:
    """Ctrl-C by a timer, while single examples bring many features."""
    import random
    import signal

    faulthandler.enable()

    def ctrl_c(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, ctrl_c)
    new = {f"f{j}": 1.0 for j in range(5_000)}
    base = of_two_labels(PAMOClassifier(16, random_state=0))
    base.learn_one({"a": 1.0}, 1)
    twin = base.copy()
    begin = time.perf_counter()
    twin.learn_one(new, 1)
    took, before, after, hits = time.perf_counter() - begin, snapshot(base), snapshot(twin), 0
    for _ in range(60):
        model = base.copy()
        model._keep_bound()
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, took))
            model.learn_one(new, 1)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            hits += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        now = snapshot(model)
        assert now in (before, after)
        assert_sound(model, "a signal")
        assert model.predict_one({"f4999": 1.0}) in (0, 1)
        if now == before:
            model.learn_one(new, 1)
            assert snapshot(model) == after
    print(hits > 0)


def test_ctrl_c_by_a_real_signal() -> None:
    assert in_a_process(real_signals) == "True\n"


def no_memory(what: str) -> None:
    """Let memory run out while a model makes room, and look at it then."""
    import resource

    faulthandler.enable()

    def row(d: int, *places: int) -> Any:
        return sp.csr_array(
            (np.ones(len(places)), np.array(places, np.int32), np.array([0, len(places)], np.int32)), shape=(1, d)
        )

    d, rng = 400_000, np.random.default_rng(0)
    model: Any
    if what in ("features", "features of a table"):
        model = PAMOClassifier(2000, classes=[0, 1], random_state=0)
        for t in range(3):
            model.learn_one({"a": 1.0, "b": float(t)}, t % 2)
        wide = {f"f{j}": 1.0 for j in range(30_000)}  # 30,000 x 4,000 numbers are 960 MB
        step = (lambda: model.learn_one(wide, 1)) if what == "features" else (lambda: model.partial_fit([wide], [1]))
        small, room = (lambda: model.learn_one({"a": 1.0, "c": 1.0}, 0)), 300_000_000
    elif what == "a label":
        model = PAClassifier(grow=True, average=True)
        for t, label in enumerate([0, 1, 2, 0, 1, 2]):
            model.partial_fit(row(d, t % 3, 5), [label])
        step, small, room = (
            (lambda: model.partial_fit(row(d, 7), [3])),
            (lambda: model.partial_fit(row(d, 1, 9), [2])),
            12_000_000,
        )
    else:
        X, y = rng.normal(size=(200, 20_000)), rng.integers(0, 2, 200)
        model = KernelPA(gamma=1e-9, C=1.0, random_state=0)
        model.partial_fit(X[:1], y[:1], classes=[0, 1])
        t = 1
        while model.support_size_ < model._state.capacities["support"] or t < 60:
            model.partial_fit(X[t : t + 1], y[t : t + 1])
            t += 1
        flipped = 1 - model.predict(X[t : t + 1])
        step, small = (lambda: model.partial_fit(X[t : t + 1], flipped)), (lambda: model.predict(X[:3]))
        room = 8_000_000
    before = snapshot(model)
    used, old = int(Path("/proc/self/statm").read_text().split()[0]) * 4096, resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + room, old[1]))
    try:
        step()
    except MemoryError:
        print("MemoryError")
    resource.setrlimit(resource.RLIMIT_AS, old)
    assert snapshot(model) == before
    assert model._state.flaw() is None
    assert_sound(model, what)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        other = onepass.load(Path(folder) / "model")
    assert snapshot(other) == before
    small()
    step()
    assert snapshot(model) != before
    model.copy().set_params(C=0.5)
    step()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited as Linux does it")
@pytest.mark.parametrize("what", ["a label", pytest.param("slots", marks=pytest.mark.slow)])
def test_no_memory_for_more_leaves_the_model_whole(what: str) -> None:
    assert in_a_process(no_memory, what) == "MemoryError\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited as Linux does it")
@pytest.mark.parametrize("what", ["features", "features of a table"])
def test_no_memory_for_features_leaves_the_model_whole(what: str) -> None:
    assert in_a_process(no_memory, what, seconds=600) == "MemoryError\n"


# --- 4: copies ---


@pytest.mark.parametrize("name", ["PA", "scaler", "active", "pipeline"])
def test_a_shallow_copy_is_a_copy(name: str) -> None:
    """Two models on one state would each bind its arrays, and growth in one would leave the other with the old ones."""
    make = THINGS_TO_MAKE[name]
    known = taught_stage if name == "scaler" else of_two_labels
    original = known(make())
    before = snapshot(original)
    shallow = copy.copy(original)
    example = {f"f{j}": 1.0 for j in range(3000)}
    shallow.learn_one(example) if name == "scaler" else shallow.learn_one(example, 1)
    twin = known(make())
    twin.learn_one(example) if name == "scaler" else twin.learn_one(example, 1)
    assert snapshot(original) == before
    assert snapshot(shallow) == snapshot(twin)
    for model in (original, shallow):
        model.learn_one({"f2999": 1e-3}) if name == "scaler" else model.learn_one({"f2999": 1e-3}, 0)
        assert_sound(model, name)


# --- 6, 7, 15: readers and writers ---


def as_key(answer: Any) -> Any:
    return (answer.shape, str(answer.dtype), answer.tobytes()) if isinstance(answer, np.ndarray) else repr(answer)


PROBE = {"f0": 1.0, "f3": -2.0, "f50": 0.5, "f120": 1.5}
PROBE_ROW = np.array([[0.5, -1.0, 0.25, 2.0]])


def examples(n: int, labels: int) -> list[tuple[dict[str, float], int]]:
    """Features and labels that come up along the way."""
    rng = np.random.default_rng(0)
    stream = []
    for t in range(n):
        names = rng.choice(2 + t, size=min(6, 2 + t), replace=False)
        x = {f"f{j}": float(value) for j, value in zip(names, rng.normal(size=len(names)), strict=True)}
        stream.append((x, int(rng.integers(0, min(2 + t // 20, labels)))))
    return stream


def one_by_one(labels: int, n: int = 160) -> list[Callable[[Any], None]]:
    return [lambda m, x=x, y=y: m.learn_one(x, y) for x, y in examples(n, labels)]


def in_chunks(labels: int) -> list[Callable[[Any], None]]:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(400, 4)), np.minimum(np.arange(400) // 60, labels - 1)
    y = np.where(np.arange(400) % 3 == 0, y, np.minimum(y, rng.integers(0, labels, 400)))
    cuts = range(0, 400, 10)
    return [lambda m, a=a: m.partial_fit(X[a : a + 10], y[a : a + 10]) for a in cuts]


def dicts_in_chunks(labels: int) -> list[Callable[[Any], None]]:
    pairs = examples(160, labels)
    chunks = [pairs[start : start + 7] for start in range(0, 160, 7)]
    return [lambda m, part=part: m.partial_fit([x for x, _ in part], [y for _, y in part]) for part in chunks]


NAMED_READS: dict[str, Callable[[Any], Any]] = {
    "predict_one": lambda m: m.predict_one(PROBE),
    "predict": lambda m: m.predict([PROBE]),
    "decision_function": lambda m: m.decision_function([PROBE]) if hasattr(m, "decision_function") else None,
    "predict_proba": lambda m: m.predict_proba([PROBE]) if hasattr(m, "predict_proba") else None,
    "copy": lambda m: m.copy().predict([PROBE]),
}
ROW_READS: dict[str, Callable[[Any], Any]] = {
    "predict_one": lambda m: m.predict_one(PROBE_ROW[0]),
    "predict": lambda m: m.predict(PROBE_ROW),
    "decision_function": lambda m: m.decision_function(PROBE_ROW) if hasattr(m, "decision_function") else None,
}
CONCURRENT: dict[str, tuple[Callable[[], Any], list[Callable[[Any], None]], dict[str, Callable[[Any], Any]]]] = {
    "PAR, features": (PARegressor, one_by_one(9), NAMED_READS),
    "PA, features and labels": (PAClassifier, one_by_one(9), NAMED_READS),
    "PA, calibrated and averaged": (lambda: PAClassifier(average=True, calibrate=True), one_by_one(6), NAMED_READS),
    "PA, chunks": (PAClassifier, dicts_in_chunks(9), NAMED_READS),
    "OGD, chunks with labels": (lambda: OGDClassifier(grow="labels"), in_chunks(6), ROW_READS),
    "PAMO": (lambda: PAMOClassifier(4, random_state=0), one_by_one(5), NAMED_READS),
    "kernel, slots": (lambda: KernelPA(gamma=0.1, grow="labels", random_state=0), in_chunks(4), ROW_READS),
    "pipeline, features and labels": (
        lambda: pipeline(StandardScaler(), PAClassifier(calibrate=True)),
        one_by_one(6),
        NAMED_READS,
    ),
    "pipeline, chunks": (lambda: pipeline(StandardScaler(), PAClassifier()), dicts_in_chunks(6), NAMED_READS),
    "hashes and labels": (lambda: pipeline(Hasher(64), PAClassifier(calibrate=True)), one_by_one(6), NAMED_READS),
    "hashes, chunks": (lambda: pipeline(Hasher(64), PAClassifier()), dicts_in_chunks(6), NAMED_READS),
    "active": (lambda: ActiveLearner(PAClassifier(), random_state=0), one_by_one(6), NAMED_READS),
}


def readers_and_a_writer(name: str, seconds: str) -> None:
    """Learn a stream while others read. Each answer has to be one that some version of the model gives, to the bit."""
    faulthandler.enable()
    sys.setswitchinterval(1e-6)
    make, writes, reads = CONCURRENT[name]
    twin, large = make(), "large" in sys.argv
    if large:
        import onepass.base.engine

        onepass.base.engine.COPIED_ALWAYS = -1  # states are too large to be copied, so that tables are learned from in place
    writes[0](twin)
    allowed: dict[str, set[Any]] = {door: {as_key(read(twin))} for door, read in reads.items()}
    for write in writes[1:]:
        write(twin)
        for door, read in reads.items():
            allowed[door].add(as_key(read(twin)))
    versions, wrong, count, end = len(allowed["predict_one"]), [], 0, time.monotonic() + float(seconds)
    errors: list[BaseException] = []
    while time.monotonic() < end and not wrong and not errors:
        model, done = make(), threading.Event()
        writes[0](model)

        def look(doors: list[str], model: Any = model, done: threading.Event = done) -> None:
            nonlocal count
            try:
                while not done.is_set():
                    for door in doors:
                        answer = as_key(reads[door](model))
                        count += 1
                        if answer not in allowed[door]:
                            wrong.append((door, answer))
                            return
            except BaseException as error:
                errors.append(error)
                raise

        readers = [threading.Thread(target=look, args=(doors,)) for doors in (["predict_one"], [*reads])]
        for reader in readers:
            reader.start()
        for write in writes[1:]:
            write(model)
        done.set()
        for reader in readers:
            reader.join()
        assert snapshot(model) == snapshot(twin), "readers changed what was learned"
        assert_sound(model, name)
    print(f"{len(wrong)} wrong, {len(errors)} errors", wrong[:3], errors[:3])
    print(f"{count} answers, {versions} versions", file=sys.stderr)


def test_readers_see_versions_that_were() -> None:
    names = "PAR, features; pipeline, features and labels; kernel, slots"
    assert in_a_process(in_turn, "readers_and_a_writer", names, "0.5") == 3 * "0 wrong, 0 errors [] []\n"


@pytest.mark.slow
@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("name", CONCURRENT)
def test_readers_see_versions_that_were_for_long(name: str, size: str) -> None:
    said = in_a_process(readers_and_a_writer, name, str(SECONDS), size, seconds=int(3 * SECONDS) + 300)
    assert said == "0 wrong, 0 errors [] []\n"


def wrong_labels(seconds: str) -> None:
    """Labels come, and one row is always that of the same label, which it is best for in every version."""
    sys.setswitchinterval(1e-6)
    e, wrong, calls, end = np.eye(40), [], 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        model, done = OGDClassifier(loss="log", grow=True, rate=0.1, power=0, fit_intercept=False), threading.Event()
        for _ in range(20):
            model.partial_fit(e[[0, 1]], [1000, 1001])

        def look(model: Any = model, done: threading.Event = done) -> None:
            nonlocal calls
            while not done.is_set():
                for label in (model.predict(e[[0]])[0], model.predict_one(e[0])):
                    calls += 1
                    if label != 1000:
                        wrong.append(int(label))

        readers = [threading.Thread(target=look) for _ in range(2)]
        for reader in readers:
            reader.start()
        for k in range(2, 40):
            model.partial_fit(e[[k, 0]], [1000 - k, 1000])
        done.set()
        for reader in readers:
            reader.join()
    print(wrong[:5])


def test_readers_never_see_a_wrong_label() -> None:
    assert in_a_process(wrong_labels, "0.7") == "[]\n"


@pytest.mark.slow
def test_readers_never_see_a_wrong_label_for_long() -> None:
    assert in_a_process(wrong_labels, str(SECONDS), seconds=int(2 * SECONDS) + 120) == "[]\n"


def two_writers(name: str, seconds: str) -> None:
    """Two threads learn, each from examples of its own. Counts add up whatever the order."""
    faulthandler.enable()
    sys.setswitchinterval(1e-6)
    make = {
        "PA": lambda: PAClassifier(class_weight="balanced"),
        "pipeline": lambda: pipeline(StandardScaler(), PAClassifier(class_weight="balanced")),
        "kernel": lambda: KernelPA(gamma=0.1, class_weight="balanced", random_state=0),
        "active": lambda: ActiveLearner(PAClassifier(class_weight="balanced"), delta=float("inf"), random_state=0),
    }[name]
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        model, done, errors = make(), threading.Event(), []
        # both labels are known, and both have been learned from, before the race begins
        taught(model, ({"f0": 1.0}, 0), ({"f0": 1.0}, 1))
        t, counts = model.t_, steps_of(model)[-1]._state.arrays["class_counts"].copy()
        expected = dict(zip((0, 1), counts.tolist(), strict=True))

        def write(examples: Any, model: Any = model, errors: Any = errors) -> None:
            try:
                for j, (x, y) in enumerate(examples):
                    if j % 5 == 4:
                        model.partial_fit([x], [y])
                    else:
                        model.learn_one(x, y)
            except BaseException as error:
                errors.append(error)
                raise

        def look(model: Any = model, done: Any = done, errors: Any = errors) -> None:
            try:
                while not done.is_set():
                    model.predict_one(PROBE)
                    model.predict([PROBE])
            except BaseException as error:
                errors.append(error)
                raise

        rng = np.random.default_rng(0)
        mine = [
            [({f"f{j}": 1.0 for j in rng.integers(0, 300, 5)}, int(rng.integers(0, 5))) for _ in range(150)] for _ in range(2)
        ]
        for _, y in [*mine[0], *mine[1]]:
            expected[y] = expected.get(y, 0) + 1
        writers = [threading.Thread(target=write, args=(own,)) for own in mine]
        readers = [threading.Thread(target=look) for _ in range(2)]
        for thread in [*writers, *readers]:
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        for thread in readers:
            thread.join()
        assert not errors, errors
        assert model.t_ == t + 300, (model.t_, t)
        state = steps_of(model)[-1]._state
        assert dict(zip(state.classes.tolist(), state.arrays["class_counts"].tolist(), strict=True)) == expected
        if name == "active":
            assert model.seen_ == model.asked_ == 302
        if name == "pipeline":
            assert model[0].t_ == 302
        assert_sound(model, name)
        assert state.flaw() is None
    print("done")


def test_two_writers_lose_nothing() -> None:
    assert in_a_process(in_turn, "two_writers", "PA; pipeline; active", "0.3") == 3 * "done\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PA", "pipeline", "active", "kernel"])
def test_two_writers_lose_nothing_for_long(name: str) -> None:
    assert in_a_process(two_writers, name, str(SECONDS), seconds=int(3 * SECONDS) + 300) == "done\n"


# --- 11: weights ---


@pytest.mark.parametrize("make", [OGDClassifier, PAClassifier, lambda: pipeline(UnitNorm(), OGDClassifier())])
def test_a_weight_beyond_single_precision_is_refused_by_every_door(make: Callable[[], Any]) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    model = make().partial_fit(X[:5], y[:5], classes=[0, 1])
    before, weights = snapshot(model), np.ones(20)
    weights[-1] = 1e39
    for door in (
        lambda: model.learn_one(X[5], int(1 - model.predict(X[5:6])[0]), w=1e39),
        lambda: model.partial_fit(X, y, sample_weight=weights),
        lambda: model.test_then_train(X, y, sample_weight=weights),
        lambda: model.fit(X, y, sample_weight=weights),
        lambda: ActiveLearner(make(), random_state=0).partial_fit(X, y, classes=[0, 1], sample_weight=weights),
    ):
        with pytest.raises(ValueError, match="sample_weight holds 1e\\+39"):
            door()
        assert snapshot(model) == before
    with pytest.raises(ValueError, match="must be less than"):
        OGDClassifier(class_weight={0: 1e39}).partial_fit(X[:1], [0], classes=[0, 1])
    with pytest.raises(ValueError, match="must be less than"):
        PAClassifier(class_weight={0: 1e19}).partial_fit(X, y, classes=[0, 1], sample_weight=np.full(20, 1e19))


# --- 14: data that changes ---


def changing_matrix(seconds: str) -> None:
    """Another thread writes nonsense into a matrix and takes it back, while every door reads it."""
    faulthandler.enable()
    sys.setswitchinterval(1e-5)
    X = sp.random_array((20_000, 50), density=0.2, format="csr", rng=np.random.default_rng(0))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    y, k, j = np.arange(20_000) % 2, len(X.indices) - 5, len(X.indptr) - 3
    done = threading.Event()

    def spoil() -> None:
        good_index, good_bound = X.indices[k], X.indptr[j]
        while not done.is_set():
            X.indices[k] = 2**31 - 2
            X.indices[k] = good_index
            X.indptr[j] = 2**31 - 2
            X.indptr[j] = good_bound

    spoiler = threading.Thread(target=spoil)
    spoiler.start()
    models = [
        PAClassifier(classes=[0, 1]),
        pipeline(UnitNorm(), PAClassifier(classes=[0, 1])),
        ActiveLearner(PAClassifier(classes=[0, 1]), random_state=0),
    ]
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for model in models:
            for door in (
                lambda model=model: model.partial_fit(X, y),
                lambda model=model: model.test_then_train(X, y),
                lambda model=model: model.predict(X),
                lambda: UnitNorm().fit(X).transform(X),
                lambda model=model: evaluate.prequential(model, (X, y)),
            ):
                with contextlib.suppress(ValueError):
                    door()
    done.set()
    spoiler.join()
    print("survived")


def test_a_matrix_that_changes_during_a_call_does_no_harm() -> None:
    assert in_a_process(changing_matrix, "1") == "survived\n"


@pytest.mark.slow
def test_a_matrix_that_changes_during_a_call_does_no_harm_for_long() -> None:
    assert in_a_process(changing_matrix, str(SECONDS), seconds=int(3 * SECONDS) + 300) == "survived\n"


# --- 17: forks ---


def forks(count: str) -> None:
    """Processes that begin while another thread learns. Each learns with a model of its own, and with the one that was learning."""
    import warnings

    warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of forks where there are threads
    done, models = threading.Event(), [PAClassifier(), pipeline(StandardScaler(), PAClassifier())]

    def write() -> None:
        i = 0
        while not done.is_set():
            for model in models:
                model.learn_one({f"f{i % 500}": 1.0}, i % 3)
            i += 1

    for model in models:
        taught(model, ({"a": 1.0}, 0), ({"b": 1.0}, 1))
        model.predict_one({"a": 1.0})
    writer = threading.Thread(target=write)
    writer.start()
    hung = failed = 0
    for _ in range(int(count)):
        child = os.fork()
        if child == 0:
            try:
                own = taught(PAClassifier(), ({"a": 1.0}, 0), ({"b": 1.0}, 1))
                assert own.predict_one({"a": 1.0}) in (0, 1)
                for model in models:
                    t = model.t_
                    model.learn_one({"a": 1.0, "child": 1.0}, 1)
                    assert model.t_ == t + 1
                    model.copy().predict([{"a": 1.0}])
                    assert_sound(model, "a child")
                os._exit(0)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
        end, status = time.monotonic() + 20, 0
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.002)
        else:
            hung += 1
            os.kill(child, 9)
            os.waitpid(child, 0)
        failed += status != 0
    done.set()
    writer.join()
    print(f"{hung} hung, {failed} failed")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_while_others_learn_does_not_hang() -> None:
    assert in_a_process(forks, "10") == "0 hung, 0 failed\n"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_many_forks_while_others_learn_do_not_hang() -> None:
    assert in_a_process(forks, "500", seconds=900) == "0 hung, 0 failed\n"


# --- 19: names of steps ---


@pytest.mark.parametrize("names", [("s", "s"), ("a/b", "a"), ("a", "a/b"), ("a__b", "c"), ("steps", "c"), ("", "c/"), (3, "c")])
def test_names_of_steps_that_files_would_mix_up_are_refused(names: tuple[Any, Any], tmp_path: Path) -> None:
    model = Pipeline([(names[0], StandardScaler()), (names[1], PAClassifier())])
    X = np.random.default_rng(0).normal(size=(10, 3))
    for door in (
        lambda: model.partial_fit(X, np.arange(10) % 2, classes=[0, 1]),
        lambda: model.fit(X, np.arange(10) % 2),
        lambda: model.test_then_train(X, np.arange(10) % 2, classes=[0, 1]),
        lambda: model.learn_one({"a": 1.0}, 1),
        lambda: model.save(tmp_path / "model"),
    ):
        with pytest.raises((ValueError, TypeError)):
            door()
    assert not (tmp_path / "model").exists()


if __name__ == "__main__":
    globals()[sys.argv[1]](*[argument for argument in sys.argv[2:] if argument not in ("small", "large")])
