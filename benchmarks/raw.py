"""The race on raw files: `onepass learn FILE` with nothing said but the label, against Vowpal Wabbit with all pairs of features
(`-q ::`) and the best of river's pipelines, on the same rows in the same order, each predicted before it is learned.

Vowpal Wabbit reads a text of its own, so that its clock runs while the file is converted, too: a line a row, numbers as name:value,
other values as name=value, and sentences word by word. river takes dicts; it gets the first rows only, and so does onepass beside it.
"""

from __future__ import annotations

import csv
import itertools
import json
import lzma
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from river import compose, feature_extraction, linear_model, multiclass, naive_bayes, optim, preprocessing, tree
from vowpalwabbit import Workspace

from benchmarks.report import table
from onepass import datasets

DATA = Path(os.environ.get("ONEPASS_DATA", Path(__file__).parents[2] / "shared" / "data"))
SHARED = 20_000  # rows that river learns from
WORDS = re.compile(r"\w+")
GROUPS = {  # the columns of a9a, each of so many binary features, as LIBSVM's page has made them of the Adult data
    "age": 5,
    "workclass": 8,
    "fnlwgt": 5,
    "education": 16,
    "education_num": 5,
    "marital": 7,
    "occupation": 14,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "capital_gain": 2,
    "capital_loss": 2,
    "hours": 5,
    "country": 41,
}
NUMBERS = {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours"}


@dataclass(frozen=True)
class Raw:
    """A file as users have it: a header, and strings, numbers and holes below it."""

    name: str
    path: Path
    label: str
    numbers: bool = False  # to learn
    text: str | None = None
    drop: tuple[str, ...] = ()

    def rows(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Dicts and labels; numbers are numbers, and holes are left out."""
        with self.path.open(newline="") as file:
            quoting: Any = {"quoting": csv.QUOTE_NONE, "delimiter": "\t"} if self.path.suffix == ".tsv" else {}
            for row in csv.DictReader(file, **quoting):
                y = row.pop(self.label)
                for name in self.drop:
                    del row[name]
                x = {name: value if name == self.text else number(value) for name, value in row.items() if value}
                yield x, number(y) if self.numbers else y

    def first(self, n: int, folder: Path) -> Raw:
        """The same file, cut short."""
        path = folder / f"first-{self.path.name}"
        with self.path.open() as whole, path.open("w") as short:
            short.writelines(itertools.islice(whole, n + 1))
        return Raw(self.name, path, self.label, self.numbers, self.text, self.drop)


def number(value: str) -> Any:
    try:
        return float(value)
    except ValueError:
        return value


# --- files ---


def all_files(folder: Path) -> list[Raw]:
    def unpacked(name: str, header: str = "") -> Path:
        path = folder / name
        with lzma.open(DATA / f"{name}.xz", "rt", encoding="utf-8", newline="") as file:
            path.write_text(header + file.read(), encoding="utf-8", newline="")
        return path

    return [
        Raw("SMS spam", unpacked("sms-spam.tsv", "label\ttext\n"), "label", text="text"),
        Raw("Adult, with holes and categories", adult(folder), "income"),
        Raw("elec2", unpacked("elec2.csv"), "class", drop=("",)),
        Raw("spambase", unpacked("spambase.csv", ",".join([*(f"x{j}" for j in range(57)), "spam"]) + "\n"), "spam"),
        Raw("phishing", as_csv("phishing", folder), "target"),
        Raw("covtype", unpacked("covtype.csv"), "Cover_Type"),
        Raw("cadata", as_csv("cadata", folder), "target", numbers=True),
    ]


def as_csv(name: str, folder: Path) -> Path:
    """A data set of LIBSVM as a table."""
    data = datasets.load(name)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    return write(
        folder / f"{name}.csv", [f"x{j}" for j in range(X.shape[1])] + ["target"], zip(X.tolist(), data.y.tolist(), strict=True)
    )


def adult(folder: Path) -> Path:
    """a9a with its columns back: categories, quantiles as numbers, and holes where Adult has them."""
    data = datasets.load("a9a")
    X, at, columns = data.X.toarray(), 0, []
    for name, size in GROUPS.items():
        part = X[:, at : at + size]
        at += size
        codes = [int(row.argmax()) if row.any() else None for row in part]
        columns.append(["" if k is None else k if name in NUMBERS else f"{name}-{k}" for k in codes])
    labels = [">50K" if y > 0 else "<=50K" for y in data.y.tolist()]
    return write(folder / "adult.csv", [*GROUPS, "income"], zip(zip(*columns, strict=True), labels, strict=True))


def write(path: Path, header: list[str], rows: Any) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([*x, y] for x, y in rows)
    return path


# --- who races ---


@dataclass(frozen=True)
class Outcome:
    """The error in per cent, or the RMSE; and seconds of the whole way, from the file on."""

    error: float
    seconds: float


def ours(raw: Raw) -> Outcome:
    """The command line, compiled beforehand; its start is left out, as that of the others is."""
    command = [sys.executable, "-m", "onepass", "learn", str(raw.path), "--label", raw.label, "--json"]
    subprocess.run(command, check=True, capture_output=True)
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return Outcome(report["rmse"] if raw.numbers else 100 * report["mistake_rate"], report["seconds"])


def wabbit(raw: Raw, folder: Path) -> Outcome:
    start = time.perf_counter()
    text, labels = folder / "text", dict[Any, int]()
    with text.open("w") as file:
        for x, y in raw.rows():
            label = y if raw.numbers else labels.setdefault(y, len(labels) + 1)
            file.write(f"{label} |f {' '.join(features(x, raw.text))}\n")
    if not raw.numbers and len(labels) == 2:
        text.write_text(re.sub("^2 ", "-1 ", text.read_text(), flags=re.MULTILINE))
    task = "" if raw.numbers else "--binary --loss_function logistic" if len(labels) == 2 else f"--oaa {len(labels)}"
    model = Workspace(f"-d {text} --quiet -b 22 {task} -q ::")
    loss = model.get_sum_loss() / model.get_weighted_examples()
    model.finish()
    return Outcome(math.sqrt(loss) if raw.numbers else 100 * loss, time.perf_counter() - start)


def features(x: dict[str, Any], text: str | None) -> Iterator[str]:
    for name, value in x.items():
        key = re.sub(r"[\s:|]", "_", name)
        if name == text:
            yield from WORDS.findall(str(value).lower())
        elif isinstance(value, float):
            yield f"{key}:{value}"
        else:
            yield re.sub(r"[\s:|]", "_", f"{key}={value}")


def rivers(raw: Raw) -> dict[str, Callable[[], Any]]:
    """Pipelines as river's users write them."""
    if raw.text is not None:
        return {"bag of words, naive Bayes": lambda: feature_extraction.BagOfWords(on=raw.text) | naive_bayes.MultinomialNB()}

    def front() -> Any:
        numbers = compose.SelectType(float) | preprocessing.StandardScaler()
        return numbers + (compose.SelectType(str) | preprocessing.OneHotEncoder())

    if raw.numbers:

        def linear() -> Any:  # with gradients as they are, one row of cadata throws it far off: RMSE 846,607
            return linear_model.LinearRegression(clip_gradient=1.0)

        def scaled(learner: Any) -> Any:
            return front() | preprocessing.TargetStandardScaler(learner)

        return {
            "linear, gradients clipped": lambda: scaled(linear()),
            "linear, AdaGrad": lambda: scaled(linear_model.LinearRegression(optim.AdaGrad(0.1))),
            "passive-aggressive": lambda: scaled(linear_model.PARegressor(C=0.01, mode=1)),
            "Hoeffding tree": lambda: scaled(tree.HoeffdingAdaptiveTreeRegressor(leaf_model=linear(), seed=0)),
        }
    return {
        "logistic": lambda: front() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
        "Hoeffding tree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0),
    }


def river(raw: Raw, make: Callable[[], Any]) -> Outcome:
    model, wrong, start = make(), list[float](), time.perf_counter()
    for x, y in itertools.islice(raw.rows(), SHARED):
        said = model.predict_one(x)
        wrong.append((y - (said or 0.0)) ** 2 if raw.numbers else float(said != y))
        model.learn_one(x, y)
    mean = sum(wrong) / len(wrong)
    return Outcome(math.sqrt(mean) if raw.numbers else 100 * mean, time.perf_counter() - start)


# --- the table ---


def raw_race() -> str:
    """The part of RESULTS.md."""
    heads = [
        "file",
        "rows",
        "onepass",
        "Vowpal Wabbit `-q ::`",
        "times its speed",
        "first rows",
        "onepass there",
        "best of river",
    ]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for raw in all_files(folder):
            n = sum(1 for _ in raw.rows())
            whole, theirs = ours(raw), wabbit(raw, folder)
            there = whole if n <= SHARED else ours(raw.first(SHARED, folder))
            found = {called: river(raw, make) for called, make in rivers(raw).items()}
            best = min(found, key=lambda called: found[called].error)
            line = [raw.name, f"{n:,}", shown(raw, whole), shown(raw, theirs), f"{theirs.seconds / whole.seconds:.1f}"]
            rows.append([*line, f"{min(n, SHARED):,}", shown(raw, there), f"{shown(raw, found[best])} ({best})"])
            print(*rows[-1], sep=" | ", flush=True)
    return PAGE.format(table=table(heads, rows))


def shown(raw: Raw, outcome: Outcome) -> str:
    return f"RMSE {outcome.error:,.0f}" if raw.numbers else f"{outcome.error:.2f} %"


PAGE = """## Raw files

What the command line makes of files as they are found, `onepass learn FILE --label LABEL` and nothing else, beside Vowpal Wabbit
with all pairs of features and the best of a few pipelines of river. Errors are prequential: every row is predicted before it is
learned. The time of Vowpal Wabbit includes the conversion to its text format. river gets the first rows only. Written by
`python -m benchmarks raw`.

{table}
"""
