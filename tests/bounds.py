"""All learners on data of odd shapes, so that an index out of range shows. `test_bounds.py` runs this file in processes of its own:

    NUMBA_DISABLE_JIT=1 python bounds.py REPORT NAME...        all cases, where kernels are Python, and every index is checked here
    ONEPASS_BOUNDSCHECK=1 python bounds.py REPORT NAME...      the few of `few`, since each has to be compiled

The report is JSON: for each name the cases that failed, with what they raised.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from numba.core import config

from apart import Case, choices, own, write_report

# --- indices that are checked ---


class Checked(np.ndarray):
    """An array that takes an index that lies within it only: none that counts from its end, no slice that is cut to what there is.
    Both hide a wrong index in Python, and in Numba the first does."""

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not int or not 0 <= key < len(self):  # nearly all are, and quickly
            check(key, self.shape)
        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is not int or not 0 <= key < len(self):
            check(key, self.shape)
        set_item(self, key, value)


get_item, set_item = np.ndarray.__getitem__, np.ndarray.__setitem__


def check(key: Any, shape: tuple[int, ...]) -> None:
    for i, size in zip(key if type(key) is tuple else (key,), shape, strict=False):
        if isinstance(i, slice):
            start, stop = i.start or 0, size if i.stop is None else i.stop
            within = 0 <= start <= size and 0 <= stop <= size
        else:
            within = not isinstance(i, int | np.integer) or 0 <= i < size
        if not within:
            raise IndexError(f"{i} is not within an axis of {size}")


def checked(value: Any) -> Any:
    """The same array, or record of arrays, with every index checked."""
    if isinstance(value, np.ndarray):
        return value.view(Checked)
    if isinstance(value, tuple):
        parts = [checked(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def check_every_index() -> None:
    """Hand checked arrays to all kernels, which are plain Python here. To be called before onepass is imported."""

    def njit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        inner = "no_cpython_wrapper" in options or "inline" in options  # what has its arrays from a kernel
        return lambda f: f if inner else lambda *arguments: f(*map(checked, arguments))

    numba.njit = njit
    from onepass.compiled import loop, verb

    loop.borrowed = checked  # the work space that a kernel makes for itself
    verb.type = lambda value: np.ndarray if isinstance(value, np.ndarray) else type(value)


# --- data ---


def rows(n: int, width: int = 5, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.random((n, width)) * (rng.random((n, width)) < 0.8)


def csr(X: Any, kind: Any = np.int32) -> Any:
    """CSR rows with indices of this kind, of which the first, the last and one between are empty."""
    X = X.copy()
    X[[0, len(X) // 2, -1]] = 0
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    return X


def dicts(X: Any) -> list[dict[str, float]]:
    return [{f"f{j}": value for j, value in enumerate(row) if value} for row in X.tolist()]


class Task:
    """What a learner is taught, and what is asked of it then."""

    def __init__(self, cls: Any) -> None:
        from onepass.base import Classifier, Regressor

        self.cls = cls
        self.classifies, self.estimates = issubclass(cls, Classifier), issubclass(cls, Regressor)
        self.labelled = "classes" in cls().get_params()

    def targets(self, n: int, labels: int) -> Any:
        rng = np.random.default_rng(7)
        if self.classifies:
            return rng.integers(labels, size=n)
        if self.labelled:
            return (rng.random((n, labels)) < 0.4).astype(int)
        return rng.normal(size=n) if self.estimates else np.ones(n)

    def target(self, t: int, labels: int) -> Any:
        """One target of as many labels as there are so far."""
        if self.classifies:
            return t % labels
        if self.labelled:
            return {k for k in range(labels) if t >> k & 1}
        return float(t % 3) if self.estimates else None

    def scores(self, model: Any, X: Any) -> None:
        assert np.isfinite(model.predict(X) if self.estimates else model.decision_function(X)).all()


# --- cases ---


def table(cls: Any, X: Any, labels: int = 2, **parameters: Any) -> None:
    """All doors for tables and arrays, and the way through a file."""
    task, model, n = Task(cls), cls(**parameters), X.shape[0]
    y, half = task.targets(n, labels), (n + 1) // 2
    classes = {"classes": np.arange(labels)} if task.labelled else {}
    model.partial_fit(X[:half], y[:half], **classes)
    if half < n:
        assert np.isfinite(model.test_then_train(X[half:], y[half:])).all()
    task.scores(model, X)
    one = X[:1] if sp.issparse(X) else X[0]
    model.learn_one(one, y[0])
    model.predict_one(one)
    go_on(task, model, X, y)


def go_on(task: Task, model: Any, X: Any, y: Any) -> None:
    """As it is, as a copy, and from a file."""
    import onepass

    models = [model, model.copy()]
    if not callable(getattr(model, "kernel", None)):
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            models.append(onepass.load(Path(folder) / "model"))
    for each in models:
        each.partial_fit(X, y)
        task.scores(each, X)


def passes(cls: Any, X: Any, labels: int = 2, **parameters: Any) -> None:
    """`fit`, with more than one pass."""
    task = Task(cls)
    task.scores(cls(max_iter=2, **parameters).fit(X, task.targets(X.shape[0], labels)), X)


def growth(cls: Any, most: int = 17, labels: int = 5, **parameters: Any) -> None:
    """Features and labels come one by one, past powers of two; rows are asked for before what they bring is known."""
    task, model = Task(cls), cls(**parameters)
    for t in range(most + 1):
        x = {f"f{j}": 0.1 * j for j in range(0, t, 1 + t % 3)} | {f"f{t}": 1.0}
        model.predict_one(x)
        model.learn_one(x, task.target(t, min(2 + t // 4, labels)))
        model.predict_one(x | {"unseen": 1.0})
    task.scores(model, [{"unseen": 1.0}, {f"f{most}": 1.0}, {}])
    several = [task.target(t, labels) for t in range(3)]
    go_on(
        task,
        model,
        [{"f0": 1.0, "new": 1.0}, {}, {f"g{j}": 1.0 for j in range(most)}],
        several if several[0] is not None else None,
    )


def filled(cls: Any, n: int, labels: int = 2, storage: Callable[[Any], Any] = np.asarray, **parameters: Any) -> None:
    """Rows that are unlike each other, with targets that the model does not expect: each joins the support set, up to and past its
    room."""
    task = Task(cls)
    classes = {"classes": np.arange(labels)} if task.labelled else {}
    model, X = cls(gamma=500.0, **parameters, **classes), storage(0.1 + np.random.default_rng(0).random((n, 3)))
    for t in range(n):
        x = X[t : t + 1] if sp.issparse(X) else X[t]
        answer = model.predict_one(x)
        model.learn_one(x, answer + 1 if task.estimates else 0 if answer is None else (answer + 1) % labels)
    assert model.support_size_ >= min(n, model.get_params().get("budget") or n) - 3  # of which some may have been empty
    go_on(task, model, X[:2], task.targets(2, labels))


def given(cls: Any, n: int, **parameters: Any) -> None:
    X = rows(n)
    task, gram = Task(cls), np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    model = cls(kernel="precomputed", max_iter=2, **parameters).fit(gram, task.targets(n, 2))
    task.scores(model, gram)


def staged(cls: Any, X: Any, **parameters: Any) -> None:
    """All doors of a stage, and a learner behind it. Its rows may be a table or dicts, of which each may bring features."""
    import onepass

    named = isinstance(X, list)
    n = len(X) if named else X.shape[0]
    one = X[-1] if named else X[:1] if sp.issparse(X) else X[0]
    stage = cls(**parameters).partial_fit(X[:1])
    for each in (stage, stage.copy()):
        each.learn_transform(X)
        each.learn_one(one)
        each.transform_one({**one, "unseen": 1.0} if isinstance(one, dict) else one)
        after = each.transform(X)
        assert np.isfinite(after.data if sp.issparse(after) else after).all()
    learner = (
        onepass.KernelPA(kernel="structure", classes=[0, 1]) if cls._gives_objects else onepass.PAClassifier(classes=[0, 1])
    )
    model, y = onepass.pipeline(cls(**parameters), learner), np.arange(n) % 2
    model.partial_fit(X[:1], y[:1])
    for t in range(n):
        x = X[t : t + 1] if sp.issparse(X) else X[t]
        model.predict_one(x)
        model.learn_one(x, t % 2)
    model.test_then_train(X, y)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        onepass.load(Path(folder) / "model").partial_fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def product(x: Any, z: Any) -> float:
    return float(x @ z)


def case(cls: Any, do: Callable[..., None], *arguments: Any, **parameters: Any) -> Case:
    told = [f"{type(a).__name__} {a.dtype} {a.shape}" if hasattr(a, "shape") else str(a)[:20] for a in arguments]
    told += [f"{name}={getattr(value, '__name__', repr(value))}" for name, value in parameters.items()]
    return f"{do.__name__}({', '.join(told)})", partial(do, cls, *arguments, **own(cls, **parameters))


def matrix(cls: Any) -> Iterator[Case]:
    """All cases of a learner."""
    this, X = partial(case, cls), rows(12)
    for labels in (2, 3, 5) if Task(cls).labelled else (2,):
        yield this(table, X[:, :1], labels)
        yield this(table, X[:1], labels)
        yield this(table, X, labels)
        yield this(table, csr(X), labels)
        yield this(growth, 17, labels)
    yield this(table, csr(X, np.int64))
    yield this(table, X.astype(np.float32))
    yield this(table, csr(X.astype(np.float32)), 3, average=True)
    yield this(growth, average=True)
    yield this(growth, 33)
    yield this(passes, X, 3)
    for options in choices(cls):
        yield this(table, X[:, :1], 3, **options)
        yield this(table, csr(X), **options)
        yield this(growth, 9, 3, **options)
    parameters = cls().get_params()
    if "mode" in parameters:
        yield from (this(passes, X, mode=mode) for mode in ("incremental", "batch"))
    if "kernel" in parameters:
        yield from of_kernels(cls, parameters)


def of_kernels(cls: Any, parameters: dict[str, Any]) -> Iterator[Case]:
    this, X = partial(case, cls), rows(12)
    any_kernel = {"maintenance": "project"} if "maintenance" in parameters else {}
    for kernel in sorted(cls._parameter_constraints["kernel"][0].options - {"precomputed", "structure"}):
        yield this(table, X, 3, kernel=kernel, **any_kernel)
        yield this(growth, 9, 3, kernel=kernel, **any_kernel)
    yield this(table, csr(X), kernel=product, **any_kernel)
    yield this(given, 10, **({"maintenance": "remove"} if any_kernel else {}))
    yield this(
        table, csr(rows(6, 1100) * (np.arange(1100) % 30 == 0)), 3
    )  # lists of entries, more of them than there is room for
    if "budget" in parameters:
        ways = [each for each in choices(cls) if {*each} & {"policy", "strategy", "maintenance", "sampling", "plus"}]
        for way in [{}, *ways]:
            for budget in (1, 64) if way else (1, 63, 64, 65):
                yield this(filled, budget + 4, budget=budget, **way)
            yield this(growth, 9, 3, budget=1, **way)
    if parameters.get("budget") is None:
        endless = {"budget": None} if "budget" in parameters else {"beta": 1.0}  # SparsePA takes all in that have loss
        yield this(filled, 67, 3, **endless)
        yield this(filled, 132, average=True, storage=csr, **endless)


# Of a learner's options those with the most indices.
DEEP = {"covariance": "full", "strategy": "projecting", "maintenance": "project", "plus": True}


def few(cls: Any) -> Iterator[Case]:
    """Cases of a learner for which little has to be compiled: two classes, and many that grow."""
    this = partial(case, cls, **{name: value for name, value in DEEP.items() if name in cls().get_params()})
    yield this(table, rows(12, 1))
    yield this(growth)
    if "kernel" in cls().get_params():
        yield this(filled, 68, **({"budget": 64} if "budget" in cls().get_params() else {"beta": 1.0}))


TEXTS = ["", " ", "a", "é", "日", "🙂", "a b", "x" * 130, "ü ß 日本 🙂! a", "one two three four five " * 20]
TEXT_OPTIONS: list[dict[str, Any]] = [
    {},
    {"ngrams": 3, "n_features": 7},
    {"ngrams": 0, "letters": (2, 5)},
    {"weight": "tfidf"},
    {"weight": "bm25", "letters": (1, 16), "n_features": 1000},
    {"weight": "tfidf", "ngrams": 2, "letters": (2, 3), "grow": True},
    {"weight": "bm25", "grow": True, "max_features": 3},
]


OBJECTS: dict[str, list[tuple[list[Any], dict[str, Any]]]] = {
    "Spectrum": [
        (TEXTS, {"k": 1}),
        (TEXTS, {"k": 5, "blended": True}),
        (["", "ab", "cabx"], {"mismatches": 2, "alphabet": "abc"}),
    ],
    "WeisfeilerLehman": [
        ([[], [(0, 0)], ([1], []), [(0, 1), (2, 3), (1, 3)], ([1] * 70, [(0, 69)])], {"rounds": r}) for r in (0, 2)
    ],
    "ShortestPaths": [([[], [(0, 0)], ([1], []), [(0, 1), (2, 3), (1, 3)], ([1] * 70, [(0, 69)])], {})],
    "RandomWalks": [([[], [(0, 0)], ([1], []), [(0, 1), (2, 3), (1, 3)]], {"steps": k}) for k in (None, 1)],
    "Subsequences": [(["", "a", "ab", "é日🙂a", "x" * 70], {"n": n}) for n in (1, 2, 9)],
    **{name: [(["x", "()", "(S)", "(S (A b) c)", "(" * 30 + ")" * 30], {})] for name in ("SubsetTrees", "PartialTrees")},
    "Subtrees": [(["x", "()", "(S)", "(S (A b) c)", "(" * 70 + ")" * 70], {"leaves": leaves}) for leaves in (True, False)],
}


def of_stages(cls: Any) -> Iterator[Case]:
    """All cases of a stage."""
    if cls.__name__ == "Text":
        for options in TEXT_OPTIONS:
            yield from (case(cls, staged, texts, **options) for texts in (TEXTS, *([text] for text in TEXTS)))
        return
    if cls.__name__ in OBJECTS:
        for objects, options in OBJECTS[cls.__name__]:
            yield from (case(cls, staged, some, **options) for some in (objects, *([one] for one in objects)))
        return
    X = rows(9)
    named = dicts(rows(9, 17) * np.tri(9, 17, 1))  # each row brings a feature
    tables = [] if cls._takes_raw else [X, X.astype(np.float32), csr(X), csr(X, np.int64)]
    if "centres" in cls().get_params():
        yield from (case(cls, staged, data, centres=X[:1]) for data in tables)
    for options in [{"count": 1}, {"count": 3}] if "count" in cls().get_params() else [{}]:
        yield from (case(cls, staged, data, **options) for data in [*tables, *(table[:1] for table in tables), named])
        yield from (case(cls, staged, data[:, :1], **options) for data in tables)


def main(report: str, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    if config.DISABLE_JIT:
        check_every_index()
    import onepass

    def cases(name: str) -> Iterator[Case]:
        of = few if not config.DISABLE_JIT else matrix if name in onepass.learners() else of_stages
        return of(getattr(onepass, name))

    write_report(report, names, cases)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
