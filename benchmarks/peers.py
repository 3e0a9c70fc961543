"""The libraries that race, each behind one method: run over a stream, predict every row, then learn it, and say what was wrong.

Data is brought into the form that a library wants before its clock starts: an array, a dict or a file of its own. The clock runs while
rows are predicted and learned, and nothing else. Whoever takes a row at a time is stopped when its seconds are used up.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.sparse import csr_array
from vowpalwabbit import Workspace

from benchmarks.streams import Stream

BLOCK = 250  # rows that are converted at once, while the clock stands still
REPEATS = 3  # of a pass that is one call, which may be over in a few milliseconds; the shortest time counts


@dataclass(frozen=True, eq=False)
class Run:
    """How a pass went: the rows that it got to, those of them that were predicted wrongly, and the seconds on the clock. `wrong` says
    which they were, where a library tells."""

    n: int
    mistakes: int
    seconds: float
    wrong: NDArray[np.bool_] | None = None

    @property
    def rate(self) -> float:
        """Examples a second."""
        return self.n / self.seconds

    @property
    def error(self) -> float:
        """The prequential error in per cent."""
        return 100 * self.mistakes / self.n

    def error_of_first(self, n: int) -> float:
        assert self.wrong is not None
        return 100 * float(self.wrong[:n].mean())


def row_by_row(wrong: Any, seconds: float) -> Run:
    return Run(len(wrong), int(np.sum(wrong)), seconds, np.array(wrong))


class Peer(Protocol):
    """A library with a learner."""

    library: str

    def run(self, stream: Stream) -> Run: ...


def block_by_block(
    stream: Stream, seconds: float, convert: Callable[[int, int], Any], learn: Callable[[Any], list[bool]]
) -> Run:
    """Convert a block, then learn it on the clock, until the rows or the seconds are at their end."""
    wrong: list[bool] = []
    spent = 0.0
    while len(wrong) < len(stream) and spent < seconds:
        block = convert(len(wrong), min(len(wrong) + BLOCK, len(stream)))
        start = time.perf_counter()
        wrong += learn(block)
        spent += time.perf_counter() - start
    return row_by_row(wrong, spent)


@dataclass(frozen=True)
class OnePass:
    """`test_then_train` over the whole stream, in one call. It is compiled beforehand."""

    make: Callable[[], Any]
    scaled: bool = True
    library: str = "onepass"

    def run(self, stream: Stream) -> Run:
        X = stream.scaled if self.scaled else stream.X
        self.make().test_then_train(X[:2], stream.y[:2], classes=stream.classes)
        shortest = np.inf
        for _ in range(REPEATS):
            model = self.make()
            start = time.perf_counter()
            scores = model.test_then_train(X, stream.y, classes=stream.classes)
            shortest = min(shortest, time.perf_counter() - start)
            if shortest > 1:
                break
        said = scores >= 0 if stream.binary else scores.argmax(axis=1)
        return row_by_row(said != stream.y, shortest)


@dataclass(frozen=True)
class ScikitLearn:
    """`predict` and `partial_fit` of one row at a time, with the checks of input switched off. The first row, before which nothing
    can be predicted, counts as a mistake."""

    make: Callable[[], Any]
    seconds: float
    library: str = "scikit-learn"

    def run(self, stream: Stream) -> Run:
        model = self.make()

        def convert(start: int, stop: int) -> Any:
            X, y = stream.scaled, stream.y
            return [(X[t : t + 1], y[t : t + 1]) for t in range(start, stop)]

        def learn(block: Any) -> list[bool]:
            wrong = []
            for x, y in block:
                wrong.append(not fitted(model) or model.predict(x)[0] != y[0])
                model.partial_fit(x, y, classes=stream.classes)
            return wrong

        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            return block_by_block(stream, self.seconds, convert, learn)


def fitted(model: Any) -> bool:
    return hasattr(model, "classes_")


@dataclass(frozen=True)
class River:
    """`predict_one` and `learn_one` of dicts. Of sparse rows they hold what is not zero, or everything: a tree can't split where a
    feature is 1 or absent."""

    make: Callable[[Stream], Any]
    seconds: float
    scaled: bool = True
    zeros: bool = False
    library: str = "river"

    def run(self, stream: Stream) -> Run:
        model = self.make(stream)
        X = stream.scaled if self.scaled else stream.X
        labels = (stream.y.astype(bool) if stream.binary else stream.y).tolist()

        def convert(start: int, stop: int) -> Any:
            rows = X[start:stop].toarray() if self.zeros and stream.sparse else X[start:stop]
            return list(zip(dicts(rows), labels[start:stop], strict=True))

        def learn(block: Any) -> list[bool]:
            wrong = []
            for x, y in block:
                wrong.append(model.predict_one(x) != y)
                model.learn_one(x, y)
            return wrong

        return block_by_block(stream, self.seconds, convert, learn)


def dicts(X: Any) -> list[dict[str, float]]:
    names = [f"x{j}" for j in range(X.shape[1])]
    if isinstance(X, csr_array):
        entries = [(names[j], value) for j, value in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
        return [dict(entries[a:b]) for a, b in itertools.pairwise(X.indptr)]
    return [dict(zip(names, row, strict=True)) for row in X.tolist()]


@dataclass(frozen=True)
class VowpalWabbit:
    """Its own loop over a cache file of its own, which it has made from text beforehand. It predicts each row before it learns it
    (progressive validation) and counts its mistakes; a file of its predictions would take longer to write than they take to make."""

    options: str
    scaled: bool = True
    library: str = "Vowpal Wabbit"

    def run(self, stream: Stream) -> Run:
        task = "--binary" if stream.binary else f"--oaa {len(stream.classes)}"
        X = csr_array(stream.scaled if self.scaled else stream.X)
        with tempfile.TemporaryDirectory() as folder:
            text, cache = Path(folder, "text"), Path(folder, "cache")
            text.write_text(wabbit_lines(X, labels_for_wabbit(stream)))
            Workspace(f"-d {text} --cache_file {cache} --quiet {task}").finish()  # the task decides how labels are stored
            shortest = np.inf
            for _ in range(REPEATS):
                model = Workspace(f"--cache_file {cache} --quiet {task} {self.options}")
                start = time.perf_counter()
                model.run_parser()
                shortest = min(shortest, time.perf_counter() - start)
                rows, mistakes = round(model.get_weighted_examples()), round(model.get_sum_loss())
                model.finish()
                if shortest > 1:
                    break
        if rows != len(stream):
            raise RuntimeError(f"Vowpal Wabbit has learned {rows} rows of {len(stream)}.")
        return Run(rows, mistakes, shortest)


def labels_for_wabbit(stream: Stream) -> NDArray[np.intp]:
    """-1 and 1, or 1 to K."""
    return 2 * stream.y - 1 if stream.binary else stream.y + 1


def wabbit_lines(X: csr_array, labels: Any) -> str:
    words = [f"{j}:{value:.6g}" for j, value in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
    rows = (" ".join(words[a:b]) for a, b in itertools.pairwise(X.indptr))
    return "".join(f"{label} | {row}\n" for label, row in zip(labels, rows, strict=True))
