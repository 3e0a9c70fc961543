"""Random sequences of calls. However examples came to a model, it is what one learns that is given them one at a time, to the bit.

ONEPASS_FUZZ_SECONDS=3600 pytest -m slow tests/test_random_calls.py    goes on for that long, all kinds of models in turn
"""

from __future__ import annotations

import copy
import linecache
import os
import pickle
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from sklearn.base import clone

import onepass
from onepass import (
    ActiveLearner,
    AROWClassifier,
    Hasher,
    KernelPA,
    LocalPA,
    OGDRegressor,
    PAClassifier,
    PAMOClassifier,
    PAMultilabel,
    PARegressor,
    PAUniclass,
    StandardScaler,
    Table,
    pipeline,
)
from onepass.base import DivergedError
from onepass.base.inputs import one_row
from onepass.base.knowledge import Door
from onepass.base.tasks import table_door

D = 4
REFUSALS = (ValueError, TypeError)
# What NumPy, Numba or Python say of their own accord is no word to a user.
UNCLEAR = re.compile(
    r"broadcast|setting an array element(?!.*inhomogeneous)|out of bounds|'NoneType' object|unsupported operand|has no attribute|"
    r"subscriptable|positional argument|Failed in nopython|truth value|not enough values|unhashable|^\s*$"
)
SOURCES = tuple(str(Path(onepass.__file__).parent / name) for name in ("base", "stages", "active"))


# --- the models ---


@dataclass(frozen=True)
class Kind:
    """A model to call. `free` parameters may change while it learns; `shaping` ones may not."""

    make: Callable[..., Any]
    task: str = "labels"
    free: dict[str, list[Any]] = field(default_factory=dict)
    shaping: dict[str, Any] = field(default_factory=dict)
    of_learner: str = ""  # what the names of the learner's parameters begin with
    named_only: bool = False
    weighs: bool = True
    holes: bool = False  # whether NaN is a value that is missing


AVERAGE = {"average": "uniform"}
LINEAR = {"C": [0.01, 0.5, 1.0], "fit_intercept": [True, False]}
CLASSIFIER = {**AVERAGE, "calibrate": True, "class_weight": "balanced"}
GAMMA = {"gamma": 0.5, "random_state": 5}

KINDS: dict[str, Kind] = {
    "PAClassifier": Kind(PAClassifier, free={**LINEAR, "variant": ["hard", "I", "II"]}, shaping=CLASSIFIER),
    "PAClassifier averaged": Kind(
        lambda **more: PAClassifier(average=True, calibrate=True, class_weight="balanced", **more),
        free=LINEAR,
        shaping={"average": False, "calibrate": False, "class_weight": None},
    ),
    "PAClassifier auto": Kind(
        lambda **more: PAClassifier(C="auto", **more), free={"variant": ["I", "II"]}, shaping={"C": 1.0, **CLASSIFIER}
    ),
    "AROW full": Kind(
        lambda **more: AROWClassifier(covariance="full", average=True, **more),
        free={"r": [0.1, 1.0, 10.0]},
        shaping={"covariance": "diagonal", "calibrate": True},
        weighs=False,
    ),
    "PRank": Kind(onepass.PRank, free={"fit_intercept": [True, False]}, shaping={**AVERAGE, "calibrate": True}, weighs=False),
    "ROMMA": Kind(onepass.ROMMA, shaping={**AVERAGE, "calibrate": True}, weighs=False),
    "PAMO": Kind(
        lambda **more: PAMOClassifier(dimensions=4, random_state=5, **more),
        free={"C": [0.01, 0.5, 1.0]},
        shaping={"dimensions": 5, **CLASSIFIER},
    ),
    "KernelPA budget": Kind(
        lambda **more: KernelPA(budget=5, **GAMMA, **more),
        free={"C": [0.01, 0.5, 1.0]},
        shaping={"kernel": "linear", **CLASSIFIER},
    ),
    "KernelPA": Kind(
        lambda **more: KernelPA(**GAMMA, **more), free={"C": [0.01, 0.5, 1.0]}, shaping={"kernel": "linear", **CLASSIFIER}
    ),
    "LocalPA": Kind(LocalPA, free={"C": [0.01, 0.5, 1.0]}, shaping=CLASSIFIER),
    "OGDRegressor": Kind(OGDRegressor, "numbers", shaping=AVERAGE),
    "PARegressor": Kind(PARegressor, "numbers", free={**LINEAR, "epsilon": [0.0, 0.1]}, shaping=AVERAGE),
    "PARegressor averaged": Kind(
        lambda **more: PARegressor(average=3.0, **more), "numbers", free=LINEAR, shaping={"average": 4.0}
    ),
    "PAMultilabel": Kind(PAMultilabel, "sets", free={"C": [0.01, 0.5, 1.0]}, shaping=AVERAGE),
    "PAUniclass": Kind(PAUniclass, "nothing", free={"C": [0.01, 0.5, 1.0]}, shaping=AVERAGE),
    "ActiveLearner": Kind(
        lambda **more: ActiveLearner(PAClassifier(**more), delta=0.5, random_state=5), free={"delta": [0.1, 0.5, np.inf]}
    ),
    "scaled": Kind(
        lambda **more: pipeline(StandardScaler(), PAClassifier(**more)),
        free={"paclassifier__C": [0.01, 0.5, 1.0]},
        shaping={f"paclassifier__{name}": value for name, value in CLASSIFIER.items()},
        of_learner="paclassifier__",
    ),
    "hashed": Kind(
        lambda **more: pipeline(Hasher(n_features=16), PAClassifier(**more)),
        free={"paclassifier__C": [0.01, 0.5, 1.0]},
        shaping={f"paclassifier__{name}": value for name, value in CLASSIFIER.items()},
        of_learner="paclassifier__",
        named_only=True,
    ),
    "raw": Kind(
        lambda **more: pipeline(Table(n_features=16), PAClassifier(**more)),
        free={"paclassifier__C": [0.01, 0.5, 1.0]},
        shaping={f"paclassifier__{name}": value for name, value in CLASSIFIER.items()},
        of_learner="paclassifier__",
        named_only=True,
        holes=True,
    ),
}
QUICK = ["PAClassifier averaged", pytest.param("PARegressor", marks=pytest.mark.plain), "scaled"]

POOLS: list[list[Any]] = [[2, 3, 5, 7], ["a", "bb", "ccc", "dd"], [True, False], [1.0, 2.5, 4.0], [-1, 1]]


def steps_of(model: Any) -> list[Any]:
    if isinstance(model, ActiveLearner):
        return steps_of(model.learner_) if "learner_" in vars(model) else []
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def is_fresh(model: Any) -> bool:
    steps = steps_of(model)
    return not steps or steps[-1]._state is None


def snapshot(model: Any) -> Any:
    """All that a model knows, to the bit. Spare room at the end of the features is no part of it."""
    contents: list[Any] = []
    if isinstance(model, ActiveLearner) and "learner_" in vars(model):
        contents.append((model.seen_, model.asked_, model._seed))
    for step in steps_of(model):
        state = step._state
        if state is None or isinstance(step, Hasher):
            contents.append(None)
            continue
        about = (state.form, state.dtype, state.seed, state.grow_features, state.grow_classes, state.n_features)
        content: dict[str, Any] = {"about": (*about, state.known, state.turned, state.n_iter)}
        content["classes"] = None if state.classes is None else state.classes.tolist()
        content["names"] = None if state.names is None else state.names.first(state.n_features)
        for name, array in state.arrays.items():
            role = state.fields.get(name.split(".")[-1])
            if role is not None:
                array = array[tuple(slice(state.n_features + 1 if axis == "features" else None) for axis in role.axes.split())]
            content[name] = (array.dtype, array.shape, array.tobytes())
        contents.append(content)
    return contents if any(content is not None for content in contents) else None  # nothing is known


def differences(a: Any, b: Any) -> list[str]:
    if a is None or b is None or len(a) != len(b):
        return [f"{a} or {b}"]
    return [
        f"{key}: {one.get(key)} or {other.get(key)}"
        if isinstance(one, dict) and isinstance(other, dict)
        else f"{one} or {other}"
        for one, other in zip(a, b, strict=True)
        if one != other
        for key in ([k for k in {**one, **other} if one.get(k) != other.get(k)] if isinstance(one, dict) and other else [""])
    ]


# --- what is learned from ---


@dataclass(frozen=True)
class Example:
    x: Any  # a dict, a 1-d array or a sparse row
    y: Any
    w: float | None
    door: Door
    parameters: dict[str, Any]

    def teach(self, model: Any) -> None:
        if self.parameters:
            model.set_params(**self.parameters)
        model._learn(one_row(self.x), None if self.y is None else [self.y], None if self.w is None else [self.w], self.door)


NUMBERS = [0.0, 1.0, -1.0, 0.5, 0.1, -0.3, 2.0, 3.25, -7.0, 1e-3, 12345.0, 1e-160, 1e200]
WEIGHTS = [0.0, 1.0, 0.5, 2.0, 1e-3]
STORAGES = ["dense", "dense", "csr", "wide csr", "float32", "int"]

# A row is the values of its features; in dicts those of None are absent, and the last ones are new at the time.
ROWS = st.lists(st.sampled_from([None, *NUMBERS]), min_size=D, max_size=D + 2)
TABLES = st.lists(ROWS, min_size=1, max_size=5)
TARGETS = st.lists(st.integers(0, 15), min_size=5, max_size=5)
SHARES = st.none() | st.lists(st.sampled_from(WEIGHTS), min_size=5, max_size=5)
WEIGHT = st.none() | st.sampled_from(WEIGHTS)
STOPS = st.none() | st.none() | st.none() | st.integers(1, 250)  # where Ctrl-C comes
BAD_NUMBERS = [np.nan, np.inf, -np.inf]


def stored(rows: Any, storage: str) -> Any:
    if storage == "csr":
        return sp.csr_array(rows)
    if storage == "wide csr":
        table = sp.csr_array(rows)
        table.indices, table.indptr = table.indices.astype(np.int64), table.indptr.astype(np.int64)
        return table
    if storage == "float32":
        return rows.astype(np.float32)
    return rows.astype(np.int64) if storage == "int" else rows


PHASES = [Phase.generate, *([Phase.shrink] if "ONEPASS_FUZZ_SHRINK" in os.environ else [])]
COUNTS: Counter[str] = Counter()


@cache
def beginnings(code: Any) -> dict[int, int]:
    """Where the instructions of each line begin."""
    return {line: start for start, _, line in reversed(list(code.co_lines())) if line is not None}


def may_stop(frame: Any) -> bool:
    """Whether Ctrl-C may come before this line. The end of a with block counts as its first line, and is left for sure; so is an
    error that is being handled; and `try:` does nothing that could be interrupted, but lies outside of all blocks around it."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    ends = line.startswith("with ") and frame.f_lasti != beginnings(frame.f_code)[frame.f_lineno]
    return not ends and line != "try:" and not line.startswith("try:  #") and sys.exc_info()[0] is None


class Interrupting:
    """Ctrl-C at one line of the package's Python code, the n-th that is come by."""

    def __init__(self, n: int) -> None:
        self.left, self.where = n, ""

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        if event == "line" and may_stop(frame):
            self.left -= 1
            if self.left == 0:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self.trace

    def __enter__(self) -> Interrupting:
        self._before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


class Calls(RuleBasedStateMachine):
    kind: Kind

    @initialize(
        named=st.booleans(),
        pool=st.sampled_from(POOLS),
        declared=st.booleans(),
        grow=st.sampled_from([None, None, True, False, "labels", "features"]),
    )
    def begin(self, named: bool, pool: list[Any], declared: bool, grow: Any) -> None:
        kind = self.kind
        self.named, self.pool = named or kind.named_only, pool
        own: dict[str, Any] = {}
        if kind.task in ("labels", "sets") and declared:
            own["classes"] = pool[:3]
        if not kind.of_learner and (kind.task in ("labels", "sets") or grow in (None, True, False, "features")):
            own["grow"] = grow
        self.fresh = kind.make(**own)
        self.model: Any = clone(self.fresh)
        self.log: list[Example] = []
        self.set: dict[str, Any] = {}
        self.left: list[tuple[Any, Any]] = []  # models that others were made of, and what they knew
        COUNTS["sequences"] += 1

    # --- data ---

    def rows(self, table: list[list[Any]], storage: str) -> Any:
        """A table of arrays, or a list of dicts."""
        if self.named:
            # of 1e200, the quick way for a dict looks at the score alone, as it does for arrays; others refuse it at once
            return [{f"f{j}": value for j, value in enumerate(row) if value not in (None, 1e200)} for row in table]
        width = D
        if self.kind.task != "nothing" and len(table[0]) > D and sum(map(bool, table[0])) > D:
            width = len(table[0])  # now and then another number of columns
        values = np.array([[value or 0.0 for value in (*row, 0.0, 0.0)][:width] for row in table])
        return stored(values, storage)

    def target(self, n: int) -> Any:
        if self.kind.task == "labels":
            return self.pool[n % len(self.pool)]
        if self.kind.task == "sets":
            return {label for k, label in enumerate(self.pool) if n >> k & 1}
        return n / 4 - 2 if self.kind.task == "numbers" else None

    def targets(self, numbers: list[int], n: int) -> Any:
        if self.kind.task == "nothing":
            return None
        return [self.target(number) for number in numbers[:n]]

    def weights(self, shares: list[float] | None, n: int) -> Any:
        if shares is None:
            return None
        return [float(share > 0) if not self.kind.weighs else share for share in shares[:n]]

    def split(self, X: Any, y: Any, w: Any, door: Door) -> list[Example]:
        n = len(X) if isinstance(X, list) else X.shape[0]
        ones = X if isinstance(X, list) else [X[t : t + 1] if sp.issparse(X) else X[t] for t in range(n)]
        return [
            Example(ones[t], None if y is None else y[t], None if w is None else w[t], door, dict(self.set)) for t in range(n)
        ]

    # --- the heart: a call, and the same examples given to a copy one at a time ---

    def learn(self, call: Callable[[], Any], examples: list[Example], stop_at: int | None = None, scored: bool = False) -> Any:
        before, twin, refusal = snapshot(self.model), self.model.copy(), None
        scores: list[Any] = []
        try:
            for t, example in enumerate(examples):
                if scored:
                    scores.append(self.score(twin, example))
                if t and not is_fresh(twin):  # a call tells its classes once
                    examples[t] = example = replace(example, door=replace(example.door, classes=None))
                example.teach(twin)
        except (*REFUSALS, DivergedError) as error:
            refusal = error
        COUNTS["learning calls"] += 1
        answer, error_of_call, where = None, None, ""
        try:
            if stop_at is None:
                answer = call()
            else:
                with Interrupting(stop_at) as interruption:
                    answer = call()
        except KeyboardInterrupt:
            COUNTS["interrupts"] += 1
            where = f" after Ctrl-C in {interruption.where}"
            self.check_free(where)
            known = snapshot(self.model)
            if known == before and refusal is None and before == snapshot(twin):  # either is true
                return None
            if known != before:
                assert refusal is None, f"half of a refused call was learned{where}"
                assert known == snapshot(twin), f"half of a call was learned{where}: {differences(known, snapshot(twin))}"
                self.log += examples
            self.still_works(where)
            return None
        except (*REFUSALS, DivergedError) as error:
            error_of_call = error
        self.check_free("")
        if error_of_call is not None:
            COUNTS["refusals"] += 1
            self.check_clear(error_of_call)
            assert refusal is not None, f"refused, but one at a time all is learned: {error_of_call!r}"
            assert snapshot(self.model) == before, f"refused, and changed: {differences(snapshot(self.model), before)}"
            return None
        assert refusal is None, f"learned, but one at a time it is refused: {refusal!r}"
        assert snapshot(self.model) == snapshot(twin), differences(snapshot(self.model), snapshot(twin))
        self.log += examples
        COUNTS["examples"] += len(examples)
        if answer is not None:
            self.check_scores(answer, scores)
        return answer

    def score(self, twin: Any, example: Example) -> Any:
        """What the twin thinks of an example before it learns from it: labels and scores."""
        if steps_of(twin) == [] or steps_of(twin)[-1]._state is None:
            return None
        door = twin.predict if self.kind.task == "numbers" else twin.decision_function
        return getattr(twin, "classes_", None), door(one_row(example.x))[0]

    def check_scores(self, answer: Any, scores: list[Any]) -> None:
        """`test_then_train` gives what each row's score was just before, NaN where there was none."""
        classes = getattr(self.model, "classes_", None)
        for got, was in zip(answer, scores, strict=True):
            expected: Any = np.full(np.shape(got), np.nan)
            if was is None:  # where labels are declared, 0 is a score
                continue
            if np.ndim(got) == 0:
                expected = was[1]
            else:
                then, score = was
                if np.ndim(score) == 0 and len(then) == 2:
                    score = np.array([-score / 2, score / 2])
                expected[np.searchsorted(classes, then)] = score
            least = np.finfo(np.asarray(got).dtype).tiny  # the score of a rank that PRank predicts on a threshold
            np.testing.assert_allclose(got, expected, rtol=0, atol=least)

    def check_free(self, where: str) -> None:
        for step in [self.model, *steps_of(self.model)]:
            assert getattr(step, "_shown", None) is None, f"readers are shown an old state for ever{where}"
            assert not (hasattr(step, "_lock") and step._lock._is_owned()), f"a lock stays closed{where}"
        assert not getattr(self.model, "_pulse", np.zeros(1))[0] % 2, f"a pipeline is taken to be writing for ever{where}"

    def check_clear(self, error: BaseException) -> None:
        assert not UNCLEAR.search(str(error)), f"not a clear word: {error!r}"

    def still_works(self, where: str) -> None:
        """The bindings and the state belong together: what is learned next is what a copy learns."""
        if self.is_fresh() or not self.log:
            return
        twin, last = self.model.copy(), self.log[-1]
        again = replace(last, door=Door(labels_come=True, features_come=isinstance(last.x, dict)), parameters=dict(self.set))
        try:
            again.teach(twin)
        except (*REFUSALS, DivergedError):  # a label that was not asked for then, a model that has grown too large since
            return
        told = () if last.y is None else (last.y,)
        self.model.learn_one(last.x, *told, **({} if last.w is None else {"w": last.w}))
        assert snapshot(self.model) == snapshot(twin), f"what comes next goes wrong{where}"
        self.log.append(again)

    # --- rules that learn ---

    @rule(row=ROWS, number=st.integers(0, 15), storage=st.sampled_from(STORAGES), w=WEIGHT, stop=STOPS)
    def learn_one(self, row: list[Any], number: int, storage: str, w: float | None, stop: int | None) -> None:
        X, y = self.rows([row], storage), self.target(number)
        x = X[0] if not sp.issparse(X) else X
        if w is not None and not self.kind.weighs:
            w = float(w > 0)
        door = Door(labels_come=True, features_come=self.named)
        examples = [Example(x, y, w, door, dict(self.set))]
        arguments = (x,) if self.kind.task == "nothing" else (x, y)
        self.learn(lambda: self.model.learn_one(*arguments, **({} if w is None else {"w": w})), examples, stop)

    @rule(
        table=TABLES,
        numbers=TARGETS,
        shares=SHARES,
        storage=st.sampled_from(STORAGES),
        tell=st.booleans(),
        door=st.sampled_from(["partial_fit", "test_then_train"]),
        stop=STOPS,
    )
    def learn_table(
        self, table: Any, numbers: list[int], shares: Any, storage: str, tell: bool, door: str, stop: int | None
    ) -> None:
        X, n = self.rows(table, storage), len(table)
        y, w = self.targets(numbers, n), self.weights(shares, n)
        tell = tell and self.kind.task in ("labels", "sets")
        classes = {"classes": self.pool[:3]} if tell else {}
        told = {} if y is None else {"y": y}
        self.learn(
            lambda: self.model_call(door, X, **told, **classes, sample_weight=w),
            self.split(X, y, w, table_door(X, **classes)),
            stop,
            scored=door == "test_then_train",
        )

    def model_call(self, door: str, X: Any, **more: Any) -> Any:
        answer = getattr(self.model, door)(X, **more)
        return answer if door == "test_then_train" else None

    # --- what must be refused ---

    def refused(self, call: Callable[[], Any], what: str) -> None:
        before, parameters = snapshot(self.model), self.model.get_params()
        COUNTS["bad calls"] += 1
        try:
            call()
        except (*REFUSALS, DivergedError) as error:  # of rows before the bad one, where no step has a limit
            self.check_clear(error)
        else:
            raise AssertionError(f"{what} was taken")
        assert snapshot(self.model) == before, f"{what} left a trace: {differences(snapshot(self.model), before)}"
        assert_same_parameters(self.model.get_params(), parameters)
        self.check_free(f" after {what}")

    @rule(
        table=TABLES,
        numbers=TARGETS,
        storage=st.sampled_from(["dense", "csr", "float32"]),
        t=st.integers(0, 4),
        j=st.integers(0, D - 1),
        bad=st.sampled_from(BAD_NUMBERS),
        door=st.sampled_from(["partial_fit", "test_then_train", "learn_one"]),
    )
    def bad_number(self, table: Any, numbers: list[int], storage: str, t: int, j: int, bad: float, door: str) -> None:
        t %= len(table)
        table = [list(row) for row in table]
        table[t][j] = bad
        with np.errstate(over="ignore"):
            X = self.rows(table, storage)
        y = self.targets(numbers, len(table))
        if self.named and not self.kind.named_only and not self.is_fresh() and not self.grows():
            return  # a feature that is not known, and never will be, may be anything
        if np.isnan(bad) and self.kind.holes:
            return
        if door == "learn_one":
            x = X[t : t + 1] if sp.issparse(X) else X[t]
            arguments = (x,) if y is None else (x, y[t])
            self.refused(lambda: self.model.learn_one(*arguments), f"{bad} in {x}")
        else:
            self.refused(lambda: getattr(self.model, door)(X, *([] if y is None else [y])), f"{bad} in {X}")

    @rule(
        table=TABLES,
        numbers=TARGETS,
        t=st.integers(0, 4),
        bad=st.sampled_from([-1.0, -1e-300, np.nan, np.inf, 1e300, "a", None, [1.0], 1j]),
        one=st.booleans(),
    )
    def bad_weight(self, table: Any, numbers: list[int], t: int, bad: Any, one: bool) -> None:
        if bad == 1e300 and isinstance(self.model, ActiveLearner):  # which only those that it asks about have to fit
            return
        X, y, n = self.rows(table, "dense"), self.targets(numbers, len(table)), len(table)
        if one:
            arguments = (X[0],) if y is None else (X[0], y[0])
            self.refused(lambda: self.model.learn_one(*arguments, w=bad), f"the weight {bad!r}")
            return
        weights: list[Any] = [1.0] * n
        weights[t % n] = bad
        told = {} if y is None else {"y": y}
        self.refused(lambda: self.model.partial_fit(X, **told, sample_weight=weights), f"the weight {bad!r}")
        self.refused(lambda: self.model.partial_fit(X, **told, sample_weight=[1.0] * (n + 1)), "a weight too many")

    @precondition(lambda self: self.kind.task != "nothing" and not isinstance(self.model, ActiveLearner))
    @rule(table=TABLES, numbers=TARGETS, t=st.integers(0, 4), which=st.integers(0, 7), one=st.booleans())
    def bad_target(self, table: Any, numbers: list[int], t: int, which: int, one: bool) -> None:
        X, y, n = self.rows(table, "dense"), self.targets(numbers, len(table)), len(table)
        t %= n
        bads: list[Any] = [
            np.nan,
            np.inf,
            None,
            object(),
            1j,
            [[1, 2], [3]],
            "x" if self.kind.task == "numbers" else b"x",
            {"a": {}},
        ]
        bad: Any = bads[which]
        if self.kind.task == "sets":
            bad = [3.0, "text", None, object(), {np.nan}, {None}, {object()}, b"x"][which]
        if one:
            self.refused(lambda: self.model.learn_one(X[t], bad), f"the target {bad!r}")
            return
        y[t] = bad
        self.refused(lambda: self.model.partial_fit(X, y), f"the target {bad!r}")
        self.refused(lambda: self.model.test_then_train(X, self.targets(numbers, n)[:-1]), "a target too few")

    @rule(
        which=st.integers(0, 12), numbers=TARGETS, door=st.sampled_from(["partial_fit", "learn_one", "predict", "predict_one"])
    )
    def bad_kind(self, which: int, numbers: list[int], door: str) -> None:
        bads: list[Any] = [
            None,
            "text",
            3.0,
            [["a", "b", "c", "d"]],
            [[1, 2, 3, 4], [1, 2]],
            np.ones((1, 1, D)),
            np.ones((1, D), complex),
            np.empty((0, D)),
            np.empty((1, 0)),
            [{"f0": [1.0]}],
            [{3: 1.0}],
            [{("f0",): 1.0}],
            [{"f0": object()}],
        ]
        X = bads[which]
        one = door.endswith("one")
        if one and isinstance(X, list) and len(X) == 1:
            X = X[0]
        if one and isinstance(X, np.ndarray) and X.shape == (1, D):
            X = X[0]
        if door.startswith("predict") and self.is_fresh():
            return
        if (
            which in (10, 11)
            and not self.is_fresh()
            and not (self.kind.named_only or (self.grows() and not door.startswith("predict")))
        ):
            return  # what nobody knows counts for nothing
        if which in (9, 12) and door.startswith("predict") and self.kind.holes and "f0" not in self.model[0].kinds_:
            return  # nor does a column that never had a value
        y = self.targets(numbers, 1)
        told = [] if y is None or door.startswith("predict") else [y[0] if one else y]
        self.refused(lambda: getattr(self.model, door)(X, *told), f"{X!r} by {door}")

    @precondition(lambda self: not self.named)
    @rule(
        which=st.integers(0, 4),
        numbers=TARGETS,
        kind=st.sampled_from([np.int32, np.int64]),
        door=st.sampled_from(["partial_fit", "test_then_train", "learn_one", "predict"]),
    )
    def bad_csr(self, which: int, numbers: list[int], kind: Any, door: str) -> None:
        if door == "predict" and self.is_fresh():
            return
        X = sp.csr_array(np.arange(1.0, 2 * D + 1).reshape(2, D))
        X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
        if which == 0:
            X.indices[3] = D
        elif which == 1:
            X.indices[1] = -1
        elif which == 2:
            X.indptr[1] = 2 * D + 1
        elif which == 3:
            X.indptr[1], X.indptr[2] = D, D - 1
        else:
            X.indptr[:] = [-3, 0, 2]
        if door == "learn_one":
            X = sp.csr_array((1, D))
            X.data, X.indices, X.indptr = (
                np.ones(1),
                np.array([[D], [-1], [2**30], [D + 1], [-D]][which], kind),
                np.array([0, 1], kind),
            )
        y = self.targets(numbers, 2)
        told = [] if y is None or door == "predict" else [y[0] if door == "learn_one" else y]
        self.refused(lambda: getattr(self.model, door)(X, *told), f"a CSR that points outside ({which}) by {door}")

    # --- what changes nothing ---

    def is_fresh(self) -> bool:
        return is_fresh(self.model)

    def grows(self) -> bool:
        state = steps_of(self.model)[0]._state
        return state is not None and state.grow_features

    @rule(table=TABLES, storage=st.sampled_from(STORAGES), stop=STOPS)
    def predict(self, table: Any, storage: str, stop: int | None) -> None:
        before, X, COUNTS["predictions"] = snapshot(self.model), self.rows(table, storage), COUNTS["predictions"] + 1
        ones = X if isinstance(X, list) else [X[t : t + 1] if sp.issparse(X) else X[t] for t in range(X.shape[0])]
        try:
            with Interrupting(-1 if stop is None else stop) as interruption:
                answer = self.model.predict(X)
                singly = [self.model.predict_one(x) for x in ones]
                if self.kind.task != "numbers":
                    assert len(self.model.decision_function(X)) == len(ones)
                if hasattr(self.model, "predict_proba"):
                    chances = self.model.predict_proba(X)
                    np.testing.assert_allclose(chances.sum(axis=1), 1)
                    one = self.model.predict_proba_one(ones[0])
                    assert list(one.values()) == chances[0].tolist()
        except KeyboardInterrupt:
            self.check_free(f" after Ctrl-C in {interruption.where}")
        except (*REFUSALS, DivergedError) as error:
            self.check_clear(error)
            self.check_free("")
        else:
            self.check_free("")
            if self.kind.task == "sets":
                assert singly == [set(self.model.classes_[row == 1].tolist()) for row in answer]
            else:
                assert singly == answer.tolist()
        assert snapshot(self.model) == before

    @rule(way=st.sampled_from(["save", "copy", "copy.copy", "deepcopy", "pickle"]))
    def go_on_as_another(self, way: str) -> None:
        before = self.model
        if way == "save":
            with tempfile.TemporaryDirectory() as folder:
                before.save(Path(folder) / "model")
                self.model = onepass.load(Path(folder) / "model")
        elif way == "copy":
            self.model = before.copy()
        elif way == "pickle":
            self.model = pickle.loads(pickle.dumps(before))
        else:
            self.model = (copy.copy if way == "copy.copy" else copy.deepcopy)(before)
        COUNTS["copies"] += 1
        assert snapshot(self.model) == snapshot(before), differences(snapshot(self.model), snapshot(before))
        assert type(self.model) is type(before)
        assert_same_parameters(self.model.get_params(), before.get_params())
        self.left.append((before, snapshot(before)))

    @rule()
    def cloned(self) -> None:
        other = clone(self.model)
        assert snapshot(other) is None
        assert_same_parameters(other.get_params(), self.model.get_params())

    # --- parameters ---

    @precondition(lambda self: self.kind.free)
    @rule(which=st.integers(0, 5), value=st.integers(0, 5))
    def set_free(self, which: int, value: int) -> None:
        name = list(self.kind.free)[which % len(self.kind.free)]
        choice = self.kind.free[name][value % len(self.kind.free[name])]
        before = snapshot(self.model)
        self.model.set_params(**{name: choice})
        self.set[name] = choice
        assert snapshot(self.model) == before
        assert self.model.get_params()[name] == choice

    @precondition(lambda self: self.kind.shaping)
    @rule(which=st.integers(0, 5), table=TABLES, numbers=TARGETS, one=st.booleans())
    def set_shaping(self, which: int, table: Any, numbers: list[int], one: bool) -> None:
        """A parameter that shaped the state is refused until it is put back."""
        if self.is_fresh():
            return
        name = list(self.kind.shaping)[which % len(self.kind.shaping)]
        old = self.model.get_params()[name]
        self.model.set_params(**{name: self.kind.shaping[name]})
        X, y = self.rows([row[:D] for row in table], "dense"), self.targets(numbers, len(table))
        told = [] if y is None else [y]
        self.refused(lambda: self.model.partial_fit(X, *told), f"another {name}")
        self.refused(lambda: self.model.predict(X), f"another {name}")
        self.refused(lambda: self.model.learn_one(X[0], *([] if y is None else [y[0]])), f"another {name}")
        with tempfile.TemporaryDirectory() as folder:
            self.refused(lambda: self.model.save(Path(folder) / "model"), f"another {name}")
        self.model.set_params(**{name: old})

    # --- the twin ---

    @rule()
    def replay(self) -> None:
        twin = clone(self.fresh)
        for example in self.log:
            example.teach(twin)
        assert snapshot(self.model) == snapshot(twin), differences(snapshot(self.model), snapshot(twin))
        COUNTS["replays"] += 1

    def teardown(self) -> None:
        if hasattr(self, "model") and sys.exc_info()[0] is None:
            self.replay()
            for other, before in self.left:
                assert snapshot(other) == before, "a copy changed its original"


def assert_same_parameters(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert {name: repr(value) for name, value in a.items()} == {name: repr(value) for name, value in b.items()}


def run(name: str, examples: int, steps: int, **more: Any) -> None:
    machine = type(f"Calls of {name}", (Calls,), {"kind": KINDS[name]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
                phases=PHASES,
                **more,
            ),
        )


@pytest.mark.parametrize("name", QUICK)
def test_random_calls(name: str) -> None:
    run(name, 12, 25, derandomize=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_random_calls_of_all(name: str) -> None:
    """With ONEPASS_FUZZ_SECONDS, each kind of model has its share of that time."""
    end = time.monotonic() + float(os.environ.get("ONEPASS_FUZZ_SECONDS", "0")) / len(KINDS)
    COUNTS.clear()
    while True:
        run(name, 20, 30)
        if time.monotonic() >= end:
            break
    print(name, dict(COUNTS))
