"""The same examples through every way into a model, for all learners. `test_doors.py` runs this file in a process of its own:

    NUMBA_DISABLE_JIT=1 python doors.py REPORT NAME...        all cases, where kernels are Python and nothing has to be compiled

The report is JSON: for each name the cases that failed, with what they raised.
"""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import is_classifier

import onepass
from apart import Case, choices, own, write_report
from onepass import ActiveLearner, evaluate, streams
from onepass.base import Classifier, Regressor
from onepass.cli import main as command_line
from onepass.evaluate.tables import figure
from shared import snapshot

LEARNERS = {name: cls for name, cls in onepass.learners().items() if issubclass(cls, Classifier | Regressor)}
WIDTH, ROWS = 4, 32
CUTS = (0, 1, 2, 9, 10, 23, ROWS)
HALF = 13

# The codes of the labels in the order in which they come, some of them late. A code is a place among the sorted labels.
ORDERS = {
    2: [1, 1, 1, 0, 1, 0],
    3: [2, 2, 0, 2, 0, 0, 2, 0, 2, 2, 0, 0, 2, 0, 2, 0, 1, 2, 0],
    5: [3, 3, 0, 3, 0, 0, 4, 3, 0, 4, 0, 3, 3, 4, 1, 0, 1, 3, 4, 1, 0, 3, 2, 0, 1],
}
NAMES = {2: ["no", "yes"], 3: ["ash", "birch", "oak"], 5: ["a", "b", "ca", "d", "e"]}


# --- examples in all their forms ---


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows and targets, and the files that hold them. The first row names all features, so that dicts have them in order."""

    X: Any
    y: Any
    labels: Any = None  # all of them, if they are declared
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(dir=FOLDER.name)))

    @property
    def asks_alike(self) -> bool:
        """Whether all doors count the first prediction alike. Who asks a model that has nothing learned yet for one example is told
        None, or 0; the others see what it starts with, as far as labels are known."""
        return self.labels is None and self.y.dtype.kind != "f"

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The rows of a table, zeros included."""
        return [{f"f{j}": value for j, value in enumerate(row)} for row in self.X.tolist()]

    @cached_property
    def csr(self) -> Any:
        return sp.csr_array(self.X)

    @cached_property
    def dicts(self) -> list[dict[str, float]]:
        return [{name: value for name, value in row.items() if value} for row in self.columns]

    def part(self, start: int, stop: int) -> Examples:
        return type(self)(self.X[start:stop], self.y[start:stop], self.labels)

    def declaring(self) -> Examples:
        return Examples(self.X, self.y, np.unique(self.y).tolist(), self.folder)

    def frame(self, library: str) -> Any:
        columns = {name: [row[name] for row in self.columns] for name in self.columns[0]}
        return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](columns)

    def file(self, ending: str) -> Path:
        """A file with these examples; made when it is first asked for."""
        path = self.folder / f"data.{ending}"
        if not path.exists():
            WRITERS[ending](path, [{**x, "label": y} for x, y in zip(self.columns, self.y.tolist(), strict=True)])
        return path


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)


def write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)


def write_libsvm(path: Path, rows: list[dict[str, Any]]) -> None:
    def line(x: dict[str, Any]) -> str:
        *values, label = x.values()
        return " ".join([str(label), *(f"{j}:{value}" for j, value in enumerate(values, 1) if value)])

    path.write_text("".join(f"{line(x)}\n" for x in rows))


TABLES = "csv", "tsv", "jsonl", "parquet"
WRITERS = {"csv": write_table, "tsv": write_table, "jsonl": write_json, "parquet": write_parquet, "libsvm": write_libsvm}
FOLDER = tempfile.TemporaryDirectory()


@cache
def rows() -> tuple[Any, Any]:
    """Rows, of which the first is full, and a number for each."""
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(ROWS, WIDTH)) * (rng.random((ROWS, WIDTH)) < 0.7)).round(3)
    X[0] = [0.5, -1.25, 0.75, 1.0]
    return X, (X @ [1.0, -2.0, 0.5, 1.5] / 3 + 0.1 * rng.normal(size=ROWS)).round(4)


@cache
def examples(labels: int, kind: str = "codes") -> Examples:
    """Examples of so many labels, by codes or by names; of numbers, where there are none."""
    X, numbers = rows()
    if labels == 0:
        return Examples(X, numbers)
    coming = np.array(ORDERS[labels])
    codes = np.concatenate([coming, np.digitize(numbers, np.linspace(-1, 1, labels - 1))[len(coming) :]])
    return Examples(X, np.array(NAMES[labels])[codes] if kind == "names" else codes)


@dataclass(frozen=True, eq=False)
class Texts(Examples):
    """Examples with a column of text."""

    @property
    def columns(self) -> list[dict[str, Any]]:
        words = ["red", "blue", "green, or so", "black"]
        return [{"f0": x[0], "colour": words[int(1000 * abs(x[2])) % 4], "f1": x[1]} for x in self.X.tolist()]


@cache
def texts(labels: int) -> Texts:
    data = examples(labels, "names")
    return Texts(data.X, data.y)


# --- models, and what is compared ---

Walk = tuple[Any, float | None]  # a model that has learned, and its rate along the way, where the door tells it
STAGES: dict[str, Any] = {"standard": onepass.StandardScaler, "unit": onepass.UnitNorm}


@dataclass(frozen=True)
class Maker:
    """Makes fresh models of a kind, in Python and by the command line."""

    cls: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    scale: str | None = None
    hashed: int | None = None
    active: bool = False  # asks for labels; the command line has no such models

    def __call__(self, **more: Any) -> Any:
        stages = [] if self.hashed is None else [onepass.Table(self.hashed, scale=self.scale == "standard")]
        stages += [] if self.scale is None or (stages and self.scale == "standard") else [STAGES[self.scale]()]
        learner = self.cls(**own(self.cls, **self.parameters, **more))
        model = onepass.pipeline(*stages, learner) if stages else learner
        return ActiveLearner(model, delta=0.3, random_state=0) if self.active else model

    @property
    def arguments(self) -> list[str]:
        settings = {name: value for name, value in own(self.cls, **self.parameters).items() if name != "random_state"}
        chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        task = "classification" if issubclass(self.cls, Classifier) else "regression"
        scaled = ["--scale", self.scale or "none", "--missing", "error"]
        scaled += [] if self.hashed is None else ["--features", str(self.hashed)]
        return ["--learner", self.cls.__name__, "--task", task, "--seed", "0", *chosen, *scaled]


def rate_of(result: Any) -> float:
    return next(iter(result.metrics.values()))  # type: ignore[no-any-return]


def all_of(model: Any) -> dict[str, Any]:
    """All that a model has learned, to the bit, but for the names of features, which some doors lack."""
    if isinstance(model, ActiveLearner):
        return {"draws": (model.seen_, model.asked_), **all_of(model.learner_)}
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return {
        f"{type(step).__name__}.{name}": value
        for step in steps
        for name, value in (snapshot(step, names=False) or {"nothing": None}).items()
    }


def unequal(one: Any, other: Any) -> list[str]:
    """The names of what is not the same in two models."""
    a, b = all_of(one), all_of(other)
    return [name for name in {**a, **b} if name not in a or name not in b or a[name] != b[name]]


def differences(one: Any, other: Any) -> list[str]:
    """What is not the same in two models."""
    a, b = all_of(one), all_of(other)
    return [f"{name} is {readable(b.get(name))} for {readable(a.get(name))}" for name in unequal(one, other)]


def readable(value: Any) -> str:
    """An entry of a snapshot; arrays are bytes there."""
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[2], bytes):
        dtype, shape, content = value
        return f"{dtype} {shape} {np.frombuffer(content, dtype).reshape(shape).tolist()}"[:160]
    return str(value)


def agree(walks: dict[str, Callable[[], Walk]]) -> None:
    """All doors lead to the same model, and to the same rate."""
    (first, walk), *others = walks.items()
    expected, rate = walk()
    assert rate is not None
    wrong = []
    for name, walk in others:
        model, own_rate = walk()
        found = differences(expected, model)
        if own_rate is not None and not math.isclose(own_rate, rate, rel_tol=1e-12):  # means of numbers are rounded
            found.append(f"the rate is {own_rate} for {rate}")
        if found:
            wrong.append(f"{name} is not {first}: {'; '.join(found)}")
    assert not wrong, "\n".join(wrong)


# --- doors ---


def learn(make: Maker, data: Examples, path: Path, *more: object, to: str = "model") -> Walk:
    """By the command line."""
    target = data.folder / to
    declared = [] if data.labels is None else ["--classes", ",".join(map(str, data.labels))]
    resumes = "--resume" in more
    arguments = ["learn", path, *([] if resumes else make.arguments + declared), "--json", "--save", target, *more]
    done = CliRunner().invoke(command_line, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    rate = report["mistake_rate" if report["task"] == "classification" else "mae"]
    return onepass.load(target), rate


def resumed(make: Maker, data: Examples, ending: str, *more: object) -> Walk:
    """By the command line, in two halves."""
    first, second = data.part(0, HALF), data.part(HALF, ROWS)
    learn(make, first, first.file(ending), *more)
    model, _ = learn(make, data, second.file(ending), "--resume", first.folder / "model")
    return model, None


def streamed(model: Any, stream: Any, data: Examples) -> Walk:
    """By `prequential`, which leaves the parameters as they were."""
    before = model.get_params()
    result = evaluate.prequential(model, stream, classes=data.labels)
    after = model.get_params()
    assert before.keys() == after.keys()
    assert all(after[name] is value for name, value in before.items())
    return model, rate_of(result)


def opened(make: Maker, data: Examples, source: Any, **options: Any) -> Walk:
    with streams.open(source, task=None if is_classifier(make()) else "regression", **options) as stream:
        return streamed(make(), stream, data)


def cut(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Chunks of all sizes."""

    def some(start: int, stop: int) -> Any:
        return X.slice(start, stop - start) if isinstance(X, pa.Table) else X[start:stop]

    return [(some(start, stop), y[start:stop]) for start, stop in pairwise(CUTS)]


def declared(data: Examples) -> dict[str, Any]:
    return {} if data.labels is None else {"classes": data.labels}


def one_by_one(model: Any, examples: Any, data: Examples) -> Walk:
    """By `learn_one`, each example predicted before."""
    errors = []
    for x, target in zip(examples, data.y.tolist(), strict=True):
        answer = model.predict_one(x)
        model.learn_one(x, target)
        errors.append(answer != target if is_classifier(model) else abs(answer - target))
    return model, float(np.mean(errors)) if data.asks_alike else None


def single_dicts(model: Any, data: Examples) -> Walk:
    """By `prequential`, a dict at a time."""
    model, rate = streamed(model, zip(data.dicts, data.y.tolist(), strict=True), data)
    return model, rate if data.asks_alike else None


def by_calls(model: Any, X: Any, y: Any, **classes: Any) -> Walk:
    """By `partial_fit` and `test_then_train` in turn."""
    for i, (some, targets) in enumerate(cut(X, y)):
        door = model.test_then_train if i % 2 else model.partial_fit
        door(some, targets, **(classes if i == 0 else {}))
    return model, None


def whole(model: Any, X: Any, y: Any) -> Walk:
    return model.fit(X, y), None


def halfway(make: Maker, data: Examples, X: Any) -> Walk:
    """By `prequential`, through a file in the middle."""
    model, path = make(**declared(data)), data.folder / "halfway"
    evaluate.prequential(model, (X[:HALF], data.y[:HALF]))
    model.save(path)
    model = onepass.load(path)
    evaluate.prequential(model, (X[HALF:], data.y[HALF:]))
    return model, None


def dense(make: Maker, data: Examples) -> dict[str, Callable[[], Walk]]:
    """The doors for tables of numbers."""
    X, y, told = data.X, data.y, declared(data)
    walks: dict[str, Callable[[], Walk]] = {
        "arrays": lambda: streamed(make(), (X, y), data),
        "chunks": lambda: streamed(make(), cut(X, y), data),
        "a stream of arrays": lambda: opened(make, data, (X, y), chunk=7),
        "learn_one": lambda: one_by_one(make(**told), X, data),
        "a file halfway": lambda: halfway(make, data, X),
        "csv as a stream": lambda: opened(make, data, data.file("csv"), chunk=11),
        "parquet as a stream": lambda: opened(make, data, data.file("parquet")),
        "jsonl as a stream": lambda: opened(make, data, data.file("jsonl"), chunk=1),
        "pandas": lambda: streamed(make(), (data.frame("pandas"), y), data),
        "polars in chunks": lambda: streamed(make(), cut(data.frame("polars"), y), data),
        "pyarrow as a stream": lambda: opened(make, data, (data.frame("pyarrow"), y), chunk=5),
    }
    if not make.active:
        walks |= {f"learn data.{ending}": partial(learn, make, data, data.file(ending)) for ending in TABLES}
        walks["learn and --resume"] = lambda: resumed(make, data, "csv")
    if data.labels is None and is_classifier(make()):
        walks['partial_fit with grow="labels"'] = lambda: by_calls(make(grow="labels"), X, y)
    else:
        walks["partial_fit"] = lambda: by_calls(make(), X, y, **told)
        walks["fit"] = lambda: whole(make(**told), X, y)
        walks["fit of a frame"] = lambda: whole(make(), data.frame("polars"), y)
    return walks


def sparse(make: Maker, data: Examples) -> dict[str, Callable[[], Walk]]:
    """The doors for sparse rows whose width is known."""
    X, y, told = data.csr, data.y, declared(data)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    text = data.file("libsvm")
    walks: dict[str, Callable[[], Walk]] = {
        "CSR": lambda: streamed(make(), (X, y), data),
        "CSR of int64": lambda: streamed(make(), (wide, y), data),
        "a stream of CSR": lambda: opened(make, data, (X, y), chunk=7),
        "learn_one": lambda: one_by_one(make(**told), [X[t : t + 1] for t in range(ROWS)], data),
        "a file halfway": lambda: halfway(make, data, X),
        "LIBSVM as a stream": lambda: opened(make, data, text, features=WIDTH, chunk=11),
    }
    if not make.active:
        walks["learn data.libsvm"] = lambda: learn(make, data, text, "--features", WIDTH)
        walks["learn and --resume"] = lambda: resumed(make, data, "libsvm", "--features", WIDTH)
    if data.labels is None and is_classifier(make()):
        walks['partial_fit with grow="labels"'] = lambda: by_calls(make(grow="labels"), X, y)
    else:
        walks["partial_fit"] = lambda: by_calls(make(), X, y, **told)
        walks["fit"] = lambda: whole(make(**told), X, y)
    return walks


def unnamed(make: Maker, data: Examples) -> dict[str, Callable[[], Walk]]:
    """The doors for sparse rows of which nobody knows how wide the next is."""
    X, y, told = data.csr, data.y, declared(data)
    text = data.file("libsvm")
    walks: dict[str, Callable[[], Walk]] = {
        "LIBSVM as a stream": lambda: opened(make, data, text),
        "LIBSVM in chunks": lambda: opened(make, data, text, chunk=5),
        "CSR in chunks": lambda: streamed(make(), cut(X, y), data),
    }
    if not make.active:
        walks["learn data.libsvm"] = lambda: learn(make, data, text)
        walks["learn and --resume"] = lambda: resumed(make, data, "libsvm")
    if make.scale is None:
        what = True if data.labels is None else "features"
        walks[f"partial_fit of CSR with grow={what!r}"] = lambda: by_calls(make(grow=what), X, y, **told)
    return walks


def named(make: Maker, data: Examples) -> dict[str, Callable[[], Walk]]:
    """The doors for dicts."""
    dicts, y, told = data.dicts, data.y, declared(data)
    walks: dict[str, Callable[[], Walk]] = {
        "a list of dicts": lambda: streamed(make(), (dicts, y), data),
        "dicts": lambda: single_dicts(make(), data),
        "dicts in chunks": lambda: streamed(make(), cut(dicts, y), data),
        "learn_one": lambda: one_by_one(make(**told), dicts, data),
        "partial_fit of dicts": lambda: by_calls(make(), dicts, y, **told),
    }
    if make.scale == "standard":  # which takes the features of the first dict for columns
        walks["zeros that are told"] = lambda: by_calls(make(), data.columns, y, **told)
        walks["a file halfway"] = lambda: halfway(make, data, dicts)
    if data.labels is not None or not is_classifier(make()):
        walks["fit of dicts"] = lambda: whole(make(), dicts, y)
    return walks


def open_ended(make: Maker, data: Examples) -> dict[str, Callable[[], Walk]]:
    """The doors for rows of which nobody knows what features the next has."""
    return {**unnamed(make, data), **named(make, data)}


def with_text(make: Maker, data: Texts) -> dict[str, Callable[[], Walk]]:
    """The doors for tables with text, which a model hashes."""
    dicts, y = data.columns, data.y
    walks: dict[str, Callable[[], Walk]] = {
        "dicts": lambda: streamed(make(), zip(dicts, y.tolist(), strict=True), data),
        "a list of dicts": lambda: streamed(make(), (dicts, y), data),
        "learn_one": lambda: one_by_one(make(), dicts, data),
    }
    for library in ("pandas", "polars", "pyarrow"):
        walks[f"{library} in chunks"] = lambda library=library: streamed(make(), cut(data.frame(library), y), data)
        walks[f"{library} as a stream"] = lambda library=library: opened(make, data, (data.frame(library), y), chunk=5)
    for ending in TABLES:
        walks[f"{ending} as a stream"] = lambda ending=ending: opened(make, data, data.file(ending), chunk=11)
        if not make.active:
            walks[f"learn data.{ending}"] = lambda ending=ending: learn(make, data, data.file(ending))
            walks[f"learn data.{ending} and --resume"] = lambda ending=ending: resumed(make, data, ending)
    return walks


# --- the cases of the ways in ---

FEW = {
    *(
        "arrays",
        "chunks",
        "learn_one",
        "learn data.csv",
        "partial_fit",
        "fit",
        "CSR",
        "LIBSVM as a stream",
        "learn data.libsvm",
    ),
    *("CSR in chunks", "dicts", "partial_fit of dicts", "fit of dicts"),
}


def ways(make: Maker, labels: tuple[int, ...] = (2, 3, 5)) -> Iterator[Case]:
    """The same examples through all doors, labels declared and not."""
    for count in labels if issubclass(make.cls, Classifier) else (0,):
        for told in (False, True) if count else (False,):
            about = f"{count} labels, {'declared' if told else 'undeclared'}" if count else "numbers"
            numbers, names = (examples(count, kind) for kind in ("codes", "names"))
            if told:
                numbers, names = numbers.declaring(), names.declaring()
            apart = (unnamed, named) if make.scale == "standard" else (open_ended,)
            for doors, data in ((dense, names), (sparse, numbers), *((doors, numbers) for doors in apart)):
                few = count in (2, 5)
                yield f"{make}, {about}: {doors.__name__}", partial(compare, doors, make, data, few)


def compare(doors: Callable[[Maker, Examples], dict[str, Callable[[], Walk]]], make: Maker, data: Examples, few: bool) -> None:
    """All doors of a kind, or those of the few that matter most."""
    agree({name: walk for name, walk in doors(make, data).items() if not few or name in FEW})


def names_do_not_matter(make: Maker, labels: int) -> None:
    """Labels are no and yes, or 0 and 1: all but the labels is the same."""
    (one, rate), (other, other_rate) = (
        streamed(make(), (data.X, data.y), data) for data in (examples(labels, kind) for kind in ("codes", "names"))
    )
    assert rate == other_rate
    assert [name.rpartition(".")[2] for name in unequal(one, other)] == ["classes"]


def parameters_stay(make: Maker) -> None:
    """An error in the middle of a stream leaves the parameters as they were, too."""
    data = examples(3 if issubclass(make.cls, Classifier) else 0)
    X = data.X.copy()
    X[20, 1] = np.nan
    for stream in ((X, data.y), cut(X, data.y), list(zip(Examples(X, data.y).dicts, data.y.tolist(), strict=True))):
        model = make()
        before = model.get_params()
        with pytest.raises(ValueError, match="NaN"):
            evaluate.prequential(model, stream, classes=np.unique(data.y) if is_classifier(model) else None)
        assert all(model.get_params()[name] is value for name, value in before.items())


# --- the third label ---


def turnover_options(cls: Any) -> Iterator[dict[str, Any]]:
    yield {}
    yield from choices(cls)
    if not cls(**own(cls))._weights_are_switches():
        yield {"class_weight": "balanced"}
        yield {"class_weight": "balanced", "average": True, "calibrate": True}
    for option in [option for option in choices(cls) if option.keys() & {"covariance", "C", "policy", "adagrad"}]:
        yield {**option, "average": True, "calibrate": True}


TWO = np.where(rows()[1] > 0, "yes", "no")
TWO[:4] = ["yes", "yes", "yes", "no"]
LATE = 20  # where the third label comes
ASKED = 3


# These start from the features that they know, or have members that do.
KNOWING = "PAMOClassifier", "OSELMClassifier", "OnlineMLPClassifier", "HedgeBackprop", "Auto"
ROUNDED = "OSELMClassifier", "ALMA"  # all others have weights that are split by halves, which rounds nothing


def scores_stay(cls: Any, storage: Callable[[Any], Any], **parameters: Any) -> None:
    """A third label, whatever its place among the others, changes no score: what was one score is the difference of two."""
    model = cls(**own(cls, **parameters))
    X = storage(rows()[0])
    evaluate.prequential(model, (X[:LATE], TWO[:LATE]))
    before = model.decision_function(X[:ASKED])
    for third in ("maybe", "often", "zero"):
        place = sorted(["no", "yes", third]).index(third)
        after = np.vstack([model.copy().test_then_train(X[t : t + 1], [third]) for t in range(ASKED)])
        assert np.isnan(after[:, place]).all()
        no, yes = np.delete(after, place, axis=1).T
        assert (yes > no).tolist() == (before > 0).tolist()
        if cls.__name__ in ROUNDED:
            np.testing.assert_allclose(yes - no, before, rtol=1e-12, atol=1e-14)
        else:
            assert (yes - no).tolist() == before.tolist()


def two_are_two(cls: Any, storage: Callable[[Any], Any], **parameters: Any) -> None:
    """From the row on where both labels are known, a model that had to wait for them is one that was told."""
    X, y, first = storage(rows()[0]), TWO, 3
    grown, told = (cls(**own(cls, **parameters)) for _ in range(2))
    evaluate.prequential(grown, (X, y))
    told.partial_fit(X[first:], y[first:], classes=["no", "yes"])
    assert [name.rpartition(".")[2] for name in unequal(told, grown)] == ["about"]


def saved_on_the_way(cls: Any, **parameters: Any) -> None:
    """A file before, at and after the turn: going on gives the same bits."""
    X, y = rows()[0], np.where(np.arange(ROWS) % 5 == 0, "maybe", TWO)
    y[:LATE] = TWO[:LATE]
    y[LATE] = "maybe"
    whole = cls(**own(cls, **parameters))
    evaluate.prequential(whole, (X, y))
    assert whole.classes_.tolist() == ["maybe", "no", "yes"]
    with tempfile.TemporaryDirectory() as folder:
        for cut in (1, LATE, LATE + 1, LATE + 5):
            model = cls(**own(cls, **parameters))
            evaluate.prequential(model, (X[:cut], y[:cut]))
            model.save(Path(folder) / "model")
            model = onepass.load(Path(folder) / "model")
            evaluate.prequential(model, (X[cut:], y[cut:]))
            assert not unequal(whole, model), differences(whole, model)


def late_features(cls: Any, **parameters: Any) -> None:
    """Features that come after the third label are as those that were there before. Of the first example, with the only label so far,
    there is nothing to learn: it may name them all, or not."""
    X, y = rows()[0], np.where(np.arange(ROWS) % 5 == 0, "maybe", TWO)
    y[:LATE] = TWO[:LATE]
    y[LATE] = "maybe"
    dicts = Examples(X, y).dicts
    for t in range(LATE + 2, ROWS):
        dicts[t] |= {"late": 0.5 + 0.1 * t} | ({"later": -1.0} if t % 2 else {})
    early = [{**dicts[0], "late": 1.0, "later": 1.0}, *dicts[1:]]
    gamma = {"gamma": 0.5} if "gamma" in cls().get_params() else {}
    models = []
    for data in (dicts, early):
        model = cls(**own(cls, **gamma, **parameters))
        for x, label in zip(data, y.tolist(), strict=True):
            model.learn_one(x, label)
        models.append(model)
    different = [name for name in unequal(*models) if not same_numbers(*(all_of(model)[name] for model in models))]
    assert [name for name in different if not name.endswith(".gamma")] == []  # 1 / features, which nobody asks for here


def same_numbers(a: Any, b: Any) -> bool:
    """Whether two arrays of snapshots have equal numbers; of zeros, half may be -0."""
    return a[:2] == b[:2] and np.array_equal(np.frombuffer(a[2], a[0]), np.frombuffer(b[2], b[0]))


def stays_ridge(cls: Any) -> None:
    """OS-ELM, from the row on where two labels are known, is the batch solution for all classes."""
    X, y = rows()[0], np.where(np.arange(ROWS) % 5 == 0, "maybe", TWO)
    y[:LATE] = TWO[:LATE]
    for stop in (LATE, LATE + 1, ROWS):
        model = cls(hidden=6, ridge=0.1, random_state=0)
        evaluate.prequential(model, (X[:stop], y[:stop]))
        A = model._state.arrays["A"]
        H = 1 / (1 + np.exp(-(X[3:stop] @ A[1:] + A[0])))
        Y = (y[3:stop, None] == model.classes_).astype(float)
        beta = np.linalg.solve(H.T @ H + 0.1 * np.eye(6), H.T @ Y)
        scores = model.decision_function(X)
        expected = 1 / (1 + np.exp(-(X @ A[1:] + A[0]))) @ beta
        np.testing.assert_allclose(
            scores, expected if scores.ndim == 2 else expected[:, 1] - expected[:, 0], rtol=1e-6, atol=1e-6
        )


def turning(cls: Any) -> Iterator[Case]:
    for i, options in enumerate(turnover_options(cls)):
        told = ", ".join(f"{name}={value!r}" for name, value in options.items())
        storage = (np.asarray, sp.csr_array)[i % 2]
        yield f"scores_stay({told})", partial(scores_stay, cls, storage, **options)
        yield f"two_are_two({told})", partial(two_are_two, cls, storage, **options)
        if not options or "average" in options:
            yield f"saved_on_the_way({told})", partial(saved_on_the_way, cls, **options)
        if cls.__name__ not in KNOWING:
            yield f"late_features({told})", partial(late_features, cls, **options)
    yield "scores_stay, CSR", partial(scores_stay, cls, sp.csr_array)
    if cls.__name__ == "OSELMClassifier":
        yield "stays_ridge", partial(stays_ridge, cls)


# --- tuning ---


def tuned(learner: str, ending: str, *more: str) -> None:
    """`onepass tune` shows what `onepass learn` then measures."""
    path = examples(2).file(ending)
    done = CliRunner().invoke(command_line, ["tune", str(path), "--learner", learner, *more])
    assert done.exit_code == 0, done.output
    *table, settings = done.stdout.splitlines()
    cells = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in table if re.search("[│┃]", line)]
    chosen = dict(word.split("=") for word in shlex.split(settings) if word != "--set")
    names = cells[0][:-1]
    won = [line[-1] for line in cells if dict(zip(names, line, strict=False)) == {**dict.fromkeys(names, ""), **chosen}]
    done = CliRunner().invoke(command_line, ["learn", str(path), "--learner", learner, "--json", *more, *shlex.split(settings)])
    assert done.exit_code == 0, done.output
    assert won == [figure("mistake_rate", json.loads(done.stdout)["mistake_rate"])]


def tuning() -> Iterator[Case]:
    small = "--set", "dimensions=3", "--scale", "standard"
    for ending in ("csv", "libsvm"):
        for learner in ("pa2", "arow", "kernelpa"):
            yield f"{learner}, {ending}", partial(tuned, learner, ending)
        yield f"pamo, {ending}", partial(tuned, "pamo", ending, *small)


# --- all ---

STAGED = "PAClassifier", "PARegressor", "PAMOClassifier", "AROWClassifier", "KernelPA"


def matrix(name: str) -> Iterator[Case]:
    """All cases of a learner, or of tuning."""
    if name == "tune":
        yield from tuning()
        return
    cls = LEARNERS[name]
    make = Maker(cls)
    yield from ways(make)
    yield "parameters", lambda: parameters_stay(make)
    if issubclass(cls, Classifier):
        yield from ((f"names of {count} labels", partial(names_do_not_matter, make, count)) for count in ORDERS)
        yield from turning(cls)
    if name in STAGED:
        for scale in STAGES:
            yield from ways(Maker(cls, scale=scale), (3,))
        labels = 3 if issubclass(cls, Classifier) else 0
        models = [Maker(cls, scale=scale, hashed=16) for scale in (None, "standard")]
        if labels:
            yield from ways(Maker(cls, active=True), (3,))
            models.append(Maker(cls, scale="unit", hashed=16, active=True))
        for hashing in models:
            yield f"{hashing}: text", lambda hashing=hashing: agree(with_text(hashing, texts(labels)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_report(sys.argv[1], sys.argv[2:], matrix)
