"""The same examples through every way into a model, for all learners. `test_doors.py` runs this file in a process of its own:

    NUMBA_DISABLE_JIT=1 python doors.py REPORT NAME...        all cases, where kernels are Python and nothing has to be compiled

The report is JSON: for each name the cases that failed, with what they raised.
"""

from __future__ import annotations

import csv
import json
import math
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
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import clone, is_classifier

import onepass
from apart import Case, choices, own, write_report
from onepass import ActiveLearner, evaluate, streams
from onepass.base import Classifier, Regressor
from onepass.cli import main as command_line
from shared import snapshot

LEARNERS = {name: cls for name, cls in onepass.learners().items() if issubclass(cls, Classifier | Regressor)}
WIDTH, ROWS = 4, 32
CUTS = (0, 1, 2, 9, 10, 23, ROWS)
HALF = 13

# The codes of the labels in the order in which they come, some of them late and none in its place. Codes are places among the sorted labels.
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
    def columns(self) -> list[str]:
        return [f"f{j}" for j in range(self.X.shape[1])]

    @cached_property
    def csr(self) -> Any:
        return sp.csr_array(self.X)

    @cached_property
    def dicts(self) -> list[dict[str, float]]:
        return [{f"f{j}": value for j, value in enumerate(row) if value} for row in self.X.tolist()]

    def part(self, start: int, stop: int) -> Examples:
        return Examples(self.X[start:stop], self.y[start:stop], self.labels)

    def declaring(self) -> Examples:
        return Examples(self.X, self.y, np.unique(self.y).tolist(), self.folder)

    def frame(self, library: str) -> Any:
        columns = dict(zip(self.columns, self.X.T, strict=True))
        return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](columns)

    def file(self, ending: str) -> Path:
        """A file with these examples; made when it is first asked for."""
        path = self.folder / f"data.{ending}"
        if not path.exists():
            rows = [dict(zip([*self.columns, "label"], [*x, y], strict=True)) for x, y in zip(self.X, self.y, strict=True)]
            plain = [{name: np.asarray(value).item() for name, value in row.items()} for row in rows]
            WRITERS[ending](path, plain)
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


# --- models, and what is compared ---

Steps = tuple[str, ...]  # what the command line calls the stages before a learner
Walk = tuple[Any, float | None]  # a model that has learned, and its rate along the way, where the door tells it
STAGES: dict[str, Any] = {"standard": onepass.StandardScaler, "unit": onepass.UnitNorm}


@dataclass(frozen=True)
class Maker:
    """Makes fresh models of a kind, in Python and by the command line."""

    cls: Any
    parameters: dict[str, Any] = field(default_factory=dict)
    scale: str | None = None

    def __call__(self, **more: Any) -> Any:
        learner = self.cls(**own(self.cls, **self.parameters, **more))
        return learner if self.scale is None else onepass.pipeline(STAGES[self.scale](), learner)

    @property
    def arguments(self) -> list[str]:
        settings = {name: value for name, value in own(self.cls, **self.parameters).items() if name != "random_state"}
        chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        task = "classification" if issubclass(self.cls, Classifier) else "regression"
        scaled = [] if self.scale is None else ["--scale", self.scale]
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


def differences(one: Any, other: Any) -> list[str]:
    """What is not the same in two models."""
    a, b = all_of(one), all_of(other)
    found = [f"only one has {name}" for name in sorted(a.keys() ^ b.keys())]
    for name in [name for name in a if name in b and a[name] != b[name]]:
        words = [value if name.rpartition(".")[2] in ("about", "classes") else str(value[:2]) for value in (a[name], b[name])]
        found.append(f"{name} differs: {words[1]} for {words[0]}")
    return found


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


def one_by_one(model: Any, examples: Any, y: Any) -> Walk:
    """By `learn_one`, each example predicted before. With declared labels, a model that has not begun has no say yet."""
    errors, fresh = [], not hasattr(model, "t_")
    for x, target in zip(examples, y.tolist(), strict=True):
        answer = model.predict_one(x)
        model.learn_one(x, target)
        errors.append(answer != target if is_classifier(model) else abs(answer - target))
    assert fresh
    return model, float(np.mean(errors))


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
        "learn_one": lambda: one_by_one(make(**told), X, y),
        "a file halfway": lambda: halfway(make, data, X),
        "csv as a stream": lambda: opened(make, data, data.file("csv"), chunk=11),
        "parquet as a stream": lambda: opened(make, data, data.file("parquet")),
        "jsonl as a stream": lambda: opened(make, data, data.file("jsonl"), chunk=1),
        "learn and --resume": lambda: resumed(make, data, "csv"),
        "pandas": lambda: streamed(make(), (data.frame("pandas"), y), data),
        "polars in chunks": lambda: streamed(make(), cut(data.frame("polars"), y), data),
        "pyarrow as a stream": lambda: opened(make, data, (data.frame("pyarrow"), y), chunk=5),
    }
    for ending in ("csv", "tsv", "jsonl", "parquet"):
        walks[f"learn data.{ending}"] = partial(learn, make, data, data.file(ending))
    if data.labels is None and is_classifier(make()):
        walks['partial_fit with grow="labels"'] = lambda: by_calls(make(**grows(make, "labels")), X, y)
    else:
        walks["partial_fit"] = lambda: by_calls(make(), X, y, **told)
        walks["fit"] = lambda: whole(make(**told), X, y)
        walks["fit of a frame"] = lambda: whole(make(), data.frame("polars"), y)
    return walks


def grows(make: Maker, what: Any) -> dict[str, Any]:
    return {"grow": what}


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
        "learn_one": lambda: one_by_one(make(**told), [X[t : t + 1] for t in range(ROWS)], y),
        "a file halfway": lambda: halfway(make, data, X),
        "LIBSVM as a stream": lambda: opened(make, data, text, features=WIDTH, chunk=11),
        "learn data.libsvm": lambda: learn(make, data, text, "--features", WIDTH),
        "learn and --resume": lambda: resumed(make, data, "libsvm", "--features", WIDTH),
    }
    if data.labels is None and is_classifier(make()):
        walks['partial_fit with grow="labels"'] = lambda: by_calls(make(**grows(make, "labels")), X, y)
    else:
        walks["partial_fit"] = lambda: by_calls(make(), X, y, **told)
        walks["fit"] = lambda: whole(make(**told), X, y)
    return walks


def open_ended(make: Maker, data: Examples) -> dict[str, Callable[[], Walk]]:
    """The doors for sparse rows of which nobody knows how wide the next is, and for dicts."""
    X, dicts, y, told = data.csr, data.dicts, data.y, declared(data)
    text = data.file("libsvm")
    walks: dict[str, Callable[[], Walk]] = {
        "LIBSVM as a stream": lambda: opened(make, data, text),
        "LIBSVM in chunks": lambda: opened(make, data, text, chunk=5),
        "learn data.libsvm": lambda: learn(make, data, text),
        "learn and --resume": lambda: resumed(make, data, "libsvm"),
        "CSR in chunks": lambda: streamed(make(), cut(X, y), data),
        "dicts": lambda: streamed(make(), zip(dicts, y.tolist(), strict=True), data),
        "dicts in chunks": lambda: streamed(make(), cut(dicts, y), data),
        "learn_one": lambda: one_by_one(make(**told), dicts, y),
        "partial_fit of dicts": lambda: by_calls(make(), dicts, y, **told),
    }
    if make.scale is None:
        what = True if data.labels is None else "features"
        walks[f"partial_fit of CSR with grow={what!r}"] = lambda: by_calls(make(**grows(make, what)), X, y, **told)
    if data.labels is not None or not is_classifier(make()):
        walks["fit of dicts"] = lambda: whole(make(), dicts, y)
    return walks


# --- ways: the cases ---


def ways(make: Maker) -> Iterator[Case]:
    """The same examples through all doors, labels declared and not."""
    for labels in ORDERS if issubclass(make.cls, Classifier) else (0,):
        for told in (False, True) if labels else (False,):
            about = f"{labels} labels, {'declared' if told else 'undeclared'}" if labels else "numbers"
            numbers, names = (examples(labels, kind) for kind in ("codes", "names"))
            if told:
                numbers, names = numbers.declaring(), names.declaring()
            yield f"{about}: dense", lambda data=names: agree(dense(make, data))
            yield f"{about}: sparse", lambda data=numbers: agree(sparse(make, data))
            yield f"{about}: open-ended", lambda data=numbers: agree(open_ended(make, data))


def matrix(name: str) -> Iterator[Case]:
    yield from ways(Maker(LEARNERS[name]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write_report(sys.argv[1], sys.argv[2:], matrix)
