"""The cases: each returns its lines of the table."""

from __future__ import annotations

import contextlib
import itertools
import lzma
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from river import compose, feature_extraction, linear_model, preprocessing, stats
from scipy.linalg import blas
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from vowpalwabbit import Workspace

import onepass
from benchmarks.measure import Result, best
from benchmarks.raw import DATA
from benchmarks.structures import structures
from benchmarks.tags import tagging
from benchmarks.trees import parsing

GB, MB = 1e9, 1e6


def scikit_learn_pa() -> Any:
    return SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0)


def dense_pa() -> list[Result]:
    """A linear concept, first as it is and then with one label in twenty flipped: an update costs two more rounds over the row."""
    clean, sklearn = dense_pa_with(flipped=0.0)
    noisy, _ = dense_pa_with(flipped=0.05)
    return [clean, sklearn, replace(noisy, what="the same, 5 % of labels flipped", at_least=None)]


def dense_pa_with(flipped: float) -> list[Result]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500_000, 50))
    y = np.sign(X @ rng.normal(size=50)) * np.where(rng.random(len(X)) < flipped, -1, 1)
    classes = np.unique(y)
    ours, peer = onepass.PAClassifier(), scikit_learn_pa()
    learn, total = best(lambda: ours.partial_fit(X, y, classes=classes), X.sum, repeats=25)
    (theirs,) = best(lambda: peer.partial_fit(X, y, classes=classes), repeats=3)
    speed = f"{len(X) / learn / 1e6:.1f} M examples/s, {X.nbytes / learn / GB:.1f} GB/s, {ours.updates_ / ours.t_:.0%} updating"
    return [
        Result("PA-I dense 500k x 50", speed, total / learn, 0.8, f"`numpy.sum`, {X.nbytes / total / GB:.1f} GB/s"),
        Result("PA-I dense 500k x 50", speed, theirs / learn, 3, f"scikit-learn, {len(X) / theirs / 1e6:.1f} M/s"),
    ]


def sparse_data(n: int = 500_000, nnz: int = 15, d: int = 100_000) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    indices = np.sort((d * rng.random((n, nnz)) ** 2).astype(np.int32), axis=1)
    indices += np.arange(nnz, dtype=np.int32)  # ascending, each once
    values = rng.uniform(0.1, 1, indices.size)
    X = sp.csr_array((values, indices.ravel(), np.arange(0, indices.size + 1, nnz, dtype=np.int32)), (n, d + nnz))
    y = np.sign(X @ rng.normal(size=d + nnz) + 0.1 * rng.normal(size=n))
    return X, y


def sparse_pa() -> list[Result]:
    X, y = sparse_data()
    classes = np.unique(y)
    ours, peer = onepass.PAClassifier(), scikit_learn_pa()
    learn, theirs = best(
        lambda: ours.partial_fit(X, y, classes=classes), lambda: peer.partial_fit(X, y, classes=classes), repeats=4
    )
    speed = f"{len(y) / learn / 1e6:.1f} M examples/s"
    return [Result("PA-I CSR 500k x 15 of 100k", speed, theirs / learn, 2, f"scikit-learn, {len(y) / theirs / 1e6:.1f} M/s")]


@contextlib.contextmanager
def text_files() -> Iterator[tuple[Path, Path]]:
    """The sparse data as LIBSVM text and as Vowpal Wabbit's, 60 MB or more each."""
    X, y = sparse_data(n=350_000)
    words = [f"{j + 1}:{value:.6g}" for j, value in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
    rows = [" ".join(words[a:b]) for a, b in itertools.pairwise(X.indptr)]
    with tempfile.TemporaryDirectory() as folder:
        libsvm, vw = Path(folder, "data.svm"), Path(folder, "data.vw")
        libsvm.write_text("".join(f"{int(label)} {row}\n" for label, row in zip(y, rows, strict=True)))
        vw.write_text("".join(f"{int(label)} | {row}\n" for label, row in zip(y, rows, strict=True)))
        yield libsvm, vw


def from_file() -> list[Result]:
    with text_files() as (libsvm, vw):
        size = libsvm.stat().st_size

        def read() -> None:
            with onepass.streams.open(libsvm) as stream:
                for _ in stream:
                    pass

        def learn() -> None:
            model = onepass.PAClassifier(classes=[-1, 1], grow=True)
            with onepass.streams.open(libsvm) as stream:
                for chunk in stream:
                    model.partial_fit(chunk.X, chunk.y)

        def learn_vw() -> None:
            Workspace(f"-d {vw} --quiet --loss_function hinge -b 18").finish()

        def learn_sklearn() -> None:
            X, y = load_svmlight_file(str(libsvm))
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # it reads what it does not accept
            scikit_learn_pa().partial_fit(X, y, classes=[-1, 1])

        block = np.random.default_rng(0).random(25_000_000)
        learn()  # compile
        reading, learning, wabbit, total = best(read, learn, learn_vw, block.sum, repeats=6)
        (sklearn,) = best(learn_sklearn, repeats=1)
    speed = f"{size / learning / MB:.0f} MB/s"
    bandwidth = block.nbytes / total / GB
    return [
        Result(
            f"PA-I from LIBSVM text, {size / MB:.0f} MB",
            speed,
            wabbit / learning,
            5,
            f"Vowpal Wabbit, {size / wabbit / MB:.0f} MB/s",
        ),
        Result("the same", speed, sklearn / learning, 15, f"scikit-learn load + partial_fit, {size / sklearn / MB:.0f} MB/s"),
        Result(
            "reading alone",
            f"{size / reading / MB:.0f} MB/s",
            size / reading / MB / 40 / bandwidth,
            1,
            f"400 MB/s on a machine where `numpy.sum` reads 10 GB/s; this one reads {bandwidth:.1f} GB/s",
        ),
    ]


def one_by_one(model: Any, examples: Any, labels: Any) -> Any:
    def run() -> None:
        for x, y in zip(examples, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, y)

    return run


def one_at_a_time() -> list[Result]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 22))
    names = [f"feature {j}" for j in range(22)]
    dicts = [dict(zip(names, row.tolist(), strict=True)) for row in X]
    labels = (X[:, 0] + 0.5 * X[:, 1] > 0).tolist()

    def stream(model: Any, examples: Any) -> Any:
        return one_by_one(model, examples, labels)

    arrays = list(X)

    def piped() -> Any:
        return onepass.pipeline(onepass.StandardScaler(), onepass.PAClassifier())

    dict_model, array_model, dict_pipeline, array_pipeline = onepass.PAClassifier(), onepass.PAClassifier(), piped(), piped()
    ours = (dict_model, dicts), (array_model, arrays), (dict_pipeline, dicts), (array_pipeline, arrays)
    for model, examples in ours:
        stream(model, examples)()  # compile
    river, river_pipeline, of_dicts, of_arrays, of_dicts_piped, of_arrays_piped = best(
        stream(linear_model.PAClassifier(C=1.0, mode=1), dicts),
        stream(preprocessing.StandardScaler() | linear_model.PAClassifier(C=1.0, mode=1), dicts),
        *(stream(model, examples) for model, examples in ours),
        repeats=15,
    )
    us = 1e6 / len(labels)
    peer, piped_peer = f"river, {river * us:.1f} µs", f"river, {river_pipeline * us:.1f} µs"
    return [
        Result("`predict_one` + `learn_one`, dict of 22", f"{of_dicts * us:.1f} µs", river / of_dicts, 3, peer),
        Result("`predict_one` + `learn_one`, array of 22", f"{of_arrays * us:.1f} µs", river / of_arrays, 6, peer),
        Result(
            "the same after a scaler, dict", f"{of_dicts_piped * us:.1f} µs", river_pipeline / of_dicts_piped, 2.5, piped_peer
        ),
        Result(
            "the same after a scaler, array", f"{of_arrays_piped * us:.1f} µs", river_pipeline / of_arrays_piped, 3, piped_peer
        ),
    ]


def texts() -> list[Result]:
    """English sentences as bags of words, and learned from as they come."""
    with lzma.open(DATA / "multi30k-train.en.xz", "rt", encoding="utf-8") as file:
        sentences = file.read().splitlines()
    labels = np.array([len(sentence) % 2 for sentence in sentences])
    size = sum(map(len, sentences)) / MB
    ours, theirs = onepass.Text(), HashingVectorizer(n_features=2**18)

    def learn() -> None:
        onepass.pipeline(onepass.Text(), onepass.PAClassifier()).partial_fit(sentences, labels, classes=[0, 1])

    def learn_theirs() -> None:
        scikit_learn_pa().partial_fit(theirs.transform(sentences), labels, classes=[0, 1])

    learn()  # compile
    bags, pipe, peer, peers = best(
        lambda: ours.transform(sentences), learn, lambda: theirs.transform(sentences), learn_theirs, repeats=7
    )
    return [
        Result(
            "texts as bags of words", f"{size / bags:.0f} MB/s", peer / bags, 20, f"`HashingVectorizer`, {size / peer:.1f} MB/s"
        ),
        Result(
            "the same, and PA-I on them", f"{size / pipe:.0f} MB/s", peers / pipe, 10, f"scikit-learn, {size / peers:.1f} MB/s"
        ),
    ]


def raw_one_at_a_time() -> list[Result]:
    """Rows as people have them: numbers and categories, with a short text, with holes; and texts."""
    rng = np.random.default_rng(0)
    n, words = 3000, np.array([f"word{i}" for i in range(3000)])

    def text() -> str:
        return " ".join(words[(3000 * rng.random(15) ** 2).astype(int)])

    numbers = [dict(zip(("age", "hours", "gain", "loss"), row, strict=True)) for row in rng.normal(size=(n, 4)).tolist()]
    labels = [bool(x["age"] > 0) for x in numbers]
    named = {"city": 200, "job": 30, "colour": 3}
    tables = [{**x, **{name: f"{name} {rng.integers(k)}" for name, k in named.items()}} for x in numbers]
    with_text = [{**x, "note": text()} for x in tables]
    with_holes = [
        {f"x{j}": None if value > 1.3 else value for j, value in enumerate(row)} for row in rng.normal(size=(n, 10)).tolist()
    ]

    def river_pa() -> Any:
        return linear_model.PAClassifier(C=1.0, mode=1)

    def river_table() -> Any:
        scaled = compose.Select(*numbers[0]) | preprocessing.StandardScaler()
        return scaled + (compose.Select(*named) | preprocessing.OneHotEncoder())

    means = [(name, stats.Mean()) for name in with_holes[0]]
    pa = onepass.PAClassifier
    cases: dict[str, tuple[Any, Any, Any]] = {
        "a row of 4 numbers and 3 categories, `Table`": (
            tables,
            onepass.pipeline(onepass.Table(), pa()),
            river_table() | river_pa(),
        ),
        "the same with a text of 15 words": (
            with_text,
            onepass.pipeline(onepass.Table(), pa()),
            river_table() + feature_extraction.BagOfWords(on="note") | river_pa(),
        ),
        "a text of 15 words, `Text`": (
            [x["note"] for x in with_text],
            onepass.pipeline(onepass.Text(), pa()),
            feature_extraction.BagOfWords() | river_pa(),
        ),
        "a row of 4 numbers and 3 categories, `Hasher`": (
            tables,
            onepass.pipeline(onepass.Hasher(), pa()),
            preprocessing.FeatureHasher(n_features=2**20) | river_pa(),
        ),
        "a row of 10 with holes, `Imputer` and a scaler": (
            with_holes,
            onepass.pipeline(onepass.Imputer(), onepass.StandardScaler(), pa()),
            preprocessing.StatImputer(*means) | preprocessing.StandardScaler() | river_pa(),
        ),
    }

    results = []
    for what, (examples, ours, theirs) in cases.items():
        one_by_one(ours, examples, labels)()  # compile
        mine, river = best(one_by_one(ours, examples, labels), one_by_one(theirs, examples, labels), repeats=9)
        us = 1e6 / n
        results.append(
            Result(
                f"`predict_one` + `learn_one`, {what}", f"{mine * us:.1f} µs", river / mine, 3, f"river, {river * us:.1f} µs"
            )
        )
    return results


def small_pamo() -> list[Result]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 22))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3)
    U, x = rng.normal(size=(128, 23)), rng.normal(size=23)
    model = onepass.PAMOClassifier(random_state=0).partial_fit(X[:10], y[:10], classes=[-1, 1])

    def bare() -> None:
        dot = np.dot
        for _ in range(20_000):
            dot(U, x)

    learn, product = best(lambda: model.partial_fit(X, y), bare)
    rate, peer = len(X) / learn, 20_000 / product
    measured = f"{rate / 1e6:.2f} M examples/s, {model.updates_ / model.t_:.0%} updating"
    return [Result("PAMO 64x2, d=22", measured, rate / peer, 2, f"a bare `numpy.dot(U, x)` an example, {peer / 1e6:.2f} M/s")]


def large_pamo() -> list[Result]:
    rng = np.random.default_rng(0)
    n = 2000

    def calls(dtype: Any) -> tuple[Any, Any]:
        X, y = rng.normal(size=(n, 254)).astype(dtype), rng.choice([-1, 1], n)
        model = onepass.PAMOClassifier(256, 2, variant="II", random_state=0).partial_fit(X[:10], y[:10], classes=[-1, 1])
        gemv, ger = (blas.dgemv, blas.dger) if dtype == np.float64 else (blas.sgemv, blas.sger)
        U = np.asfortranarray(rng.normal(size=(512, 255)), dtype)
        x, out = rng.normal(size=255).astype(dtype), np.zeros(512, dtype)

        def products() -> None:
            for _ in range(n):
                gemv(1.0, U, x, y=out, overwrite_y=1)
                ger(1e-12, out, x, a=U, overwrite_a=1)

        return lambda: model.partial_fit(X, y), products

    double, blas_double = calls(np.float64)
    single, _ = calls(np.float32)
    learn, peer, learn_single = best(double, blas_double, single, repeats=9)
    measured = f"{n / learn:,.0f} examples/s, all updating"
    return [
        Result("PAMO 256x2, d=254", measured, peer / learn, 0.9, f"BLAS gemv + ger, {n / peer:,.0f}/s"),
        Result("the same in float32", f"{n / learn_single:,.0f} examples/s", learn / learn_single, 1.6, "float64"),
    ]


def network() -> list[Result]:
    """One hidden layer of 100 units. Products with its weights and a step of all of them are the least that there is to do; few
    features show what a call costs. Sparse rows, a few at a call, show what many features cost that they lack."""
    rng = np.random.default_rng(0)
    n, few = 4000, 200
    wide, narrow, y = rng.normal(size=(n, 254)), rng.normal(size=(n, 8)), rng.choice([-1, 1], n)
    U, x, out = np.asfortranarray(rng.normal(size=(100, 255))), rng.normal(size=255), np.zeros(100)
    relu = onepass.OnlineMLPClassifier(100, "relu", random_state=0).partial_fit(wide[:10], y[:10], classes=[-1, 1])
    ours = onepass.OnlineMLPClassifier(100, random_state=0).partial_fit(narrow[:10], y[:10], classes=[-1, 1])
    peer = MLPClassifier(100, "tanh", solver="sgd", random_state=0).partial_fit(narrow[:10], y[:10], classes=[-1, 1])

    def products() -> None:
        for _ in range(n):
            blas.dgemv(1.0, U, x, y=out, overwrite_y=1)
            blas.dger(1e-12, out, x, a=U, overwrite_a=1)

    def row_by_row() -> None:
        for t in range(few):
            peer.partial_fit(narrow[t : t + 1], y[t : t + 1])

    def sparse(features: int) -> Any:
        X = sp.random_array((100, features), density=15 / features, rng=rng, format="csr")
        model = onepass.OnlineMLPClassifier(100, "relu", random_state=0).partial_fit(X, y[:100], classes=[-1, 1])
        return lambda: model.partial_fit(X, y[:100])

    hedge = onepass.HedgeBackprop(random_state=0).partial_fit(narrow[:10], y[:10], classes=[-1, 1])
    learn, least, quick = best(lambda: relu.partial_fit(wide, y), products, lambda: ours.partial_fit(narrow, y), repeats=9)
    (theirs, deep, few_features, many_features) = best(
        row_by_row, lambda: hedge.partial_fit(narrow, y), sparse(1000), sparse(100_000), repeats=3
    )
    speed, small = f"{n / learn:,.0f} examples/s, all updating", f"{n / quick:,.0f} examples/s"
    return [
        Result("MLP 100, ReLU, d=254", speed, least / learn, 0.8, f"BLAS gemv + ger, {n / least:,.0f}/s"),
        Result("MLP 100, tanh, d=8", small, n / quick * theirs / few, 500, f"scikit-learn row by row, {few / theirs:,.0f}/s"),
        Result("HBP 5 x 100, tanh, d=8", f"{n / deep:,.0f} examples/s", None, None, ""),
        Result(
            "MLP 100, ReLU, CSR 100 x 15 of 100,000",
            f"{100 / many_features:,.0f} examples/s",
            few_features / many_features,
            None,
            f"15 of 1,000, {100 / few_features:,.0f}/s",
        ),
    ]


def committees() -> list[Result]:
    """The members, each for itself on the same rows, are the least that there is to do."""
    rng = np.random.default_rng(0)
    n = 20_000
    X = rng.normal(size=(n, 20))
    y = np.sign(X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n))
    results = []
    for budget in ("best", "fast"):
        model = onepass.Auto(budget, random_state=0).fit(X, y)
        members = list(model.members_.values())
        for member in members:
            member.partial_fit(X[:10], y[:10])  # compile
        learn, *alone = best(
            lambda model=model: model.partial_fit(X, y), *(lambda member=member: member.partial_fit(X, y) for member in members)
        )
        us = 1e6 / n
        results.append(
            Result(
                f"`Auto`, budget of {budget}, d=20",
                f"{learn * us:.1f} µs an example",
                sum(alone) / learn,
                None,
                f"its {len(members)} members, each for itself: {sum(alone) * us:.1f} µs",
            )
        )
    return results


def start_up() -> list[Result]:
    """Fresh processes: importing, help pages, and the first call with machine code from the cache."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # as in a package that was installed, byte code is kept

    def python(*arguments: str) -> bytes:
        return subprocess.check_output([sys.executable, *arguments], env=environment)

    def seconds(*codes: str) -> list[float]:
        """The shortest time of each; they take turns."""
        timed = [f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)" for code in codes]
        rounds = [[float(python("-c", code)) for code in timed] for _ in range(10)]
        return [min(times) for times in zip(*rounds, strict=True)]

    importing = "from onepass import PAClassifier"  # `import onepass` alone puts off all work
    first = (
        f"import numpy as np; {importing}; X = np.eye(4); y = [0, 1, 0, 1]; start = time.perf_counter();"
        " PAClassifier().partial_fit(X, y, classes=[0, 1])"
    )
    ours, theirs, call = seconds(importing, "import sklearn.base", first)
    extra = ours - theirs
    help_page, of_learn = best(
        lambda: python("-m", "onepass", "--help"), lambda: python("-m", "onepass", "learn", "--help"), repeats=10
    )
    return [
        Result(f"`{importing}`", f"{extra:.2f} s more", 0.4 / max(extra, 1e-3), 1, "`import sklearn.base` + 0.4 s"),
        Result("`onepass --help`", f"{help_page:.2f} s", 0.3 / help_page, 1, "0.3 s"),
        Result("`onepass learn --help`", f"{of_learn:.2f} s", 0.3 / of_learn, 1, "0.3 s"),
        Result("first `partial_fit`, warm cache", f"{call:.2f} s", 0.5 / call, 1, "0.5 s"),
    ]


def memory() -> list[Result]:
    """`onepass learn` on a file of 1 GB."""
    with text_files() as (libsvm, _), tempfile.TemporaryDirectory() as folder:
        content, large = libsvm.read_bytes(), Path(folder, "large.svm")
        with large.open("wb") as file:
            while file.tell() < 1e9:
                file.write(content)
        command = [sys.executable, "-m", "onepass", "learn", str(large), "--learner", "pa1", "--json"]
        code = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
            " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        peak = int(subprocess.check_output([sys.executable, "-c", code, *command])) / 1024
    return [Result("`onepass learn` on a file of 1 GB", f"{peak:.0f} MB at the peak", 500 / peak, 1, "500 MB")]


def second_order() -> list[Result]:
    """A diagonal covariance, against PA-I on the same rows."""
    X, y = sparse_data()
    learners = {
        "AROW": onepass.AROWClassifier(),
        "CW": onepass.CWClassifier(),
        "SCW-I": onepass.SCWClassifier(),
        "SCW-II": onepass.SCWClassifier("II"),
        "NHERD": onepass.NHERDClassifier(),
        "NAROW": onepass.NAROWClassifier(),
    }
    everyone = [onepass.PAClassifier(), *learners.values()]
    for model in everyone:
        model.partial_fit(X[:10], y[:10], classes=[-1, 1])
    first, *others = best(*(lambda m=model: m.copy().partial_fit(X, y) for model in everyone), repeats=5)  # type: ignore[misc]
    peer = f"PA-I, {len(y) / first / 1e6:.1f} M/s"
    return [
        Result(f"{name} diagonal, CSR 500k x 15 of 100k", f"{len(y) / taken / 1e6:.1f} M examples/s", first / taken, 0.4, peer)
        for name, taken in zip(learners, others, strict=True)
    ]


def full_covariance() -> list[Result]:
    """AROW with all of its covariance, against the same rank-one update in NumPy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 123))
    y = np.sign(X @ rng.normal(size=123)) * np.where(rng.random(len(X)) < 0.1, -1, 1)
    model = onepass.AROWClassifier(covariance="full", fit_intercept=False).partial_fit(X[:1], y[:1], classes=[-1, 1])

    def in_numpy() -> None:
        w, Sigma = np.zeros(123), np.eye(123)
        for x, label in zip(X, y, strict=True):
            margin = label * (w @ x)
            if margin < 1:
                spread = Sigma @ x
                beta = 1 / (x @ spread + 1.0)
                w += (1 - margin) * beta * label * spread
                Sigma -= beta * np.outer(spread, spread)

    learn, numpy_loop = best(lambda: model.copy().partial_fit(X, y), in_numpy)
    rate = f"{len(y) / learn:,.0f} examples/s, {model.copy().partial_fit(X, y).updates_ / len(y):.0%} updating"
    return [Result("AROW full, d=123", rate, numpy_loop / learn, 5, f"the same in NumPy, {len(y) / numpy_loop:,.0f}/s")]


def many_classes() -> list[Result]:
    """Second order is linear in the number of classes, which share a covariance: ten times as many take at most ten times as long."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 50))

    def learn(K: int) -> Any:
        y = (X @ rng.normal(size=(50, K))).argmax(axis=1)
        model = onepass.AROWClassifier().partial_fit(X[:1], y[:1], classes=range(K))
        return lambda: model.copy().partial_fit(X, y)

    ten, hundred = best(learn(10), learn(100))
    speed = f"{len(X) / hundred / 1e3:,.0f} k examples/s"
    return [
        Result("AROW diagonal, 100 classes", speed, 10 * ten / hundred, 1, f"10 classes / 10, {len(X) / ten / 1e4:,.0f} k/s")
    ]


BUDGET_LEARNERS: dict[str, Any] = {
    "kernel perceptron, oldest": lambda B: onepass.KernelPerceptron(budget=B, gamma=0.01),
    "kernel PA-I, redundant": lambda B: onepass.KernelPA(budget=B, policy="redundant", gamma=0.01),
    "Forgetron": lambda B: onepass.Forgetron(budget=B, gamma=0.01),
    "Projectron++": lambda B: onepass.Projectron(budget=B, plus=True, gamma=0.01),
    "BPA-S": lambda B: onepass.BudgetPA(budget=B, gamma=0.01),
    "BPA-NN": lambda B: onepass.BudgetPA(budget=B, strategy="nearest", gamma=0.01),
    "BPA-P": lambda B: onepass.BudgetPA(budget=B, strategy="projecting", gamma=0.01),
    "BOGD": lambda B: onepass.BOGD(budget=B, gamma=0.01, random_state=0),
    "BSGD, remove": lambda B: onepass.BSGD(budget=B, maintenance="remove", gamma=0.01),
    "BSGD, project": lambda B: onepass.BSGD(budget=B, maintenance="project", gamma=0.01),
    "BSGD, merge": lambda B: onepass.BSGD(budget=B, gamma=0.01),
    "NOGD": lambda B: onepass.NOGD(budget=B, gamma=0.01),
}
PROJECTING = ("Projectron++", "BPA-P", "BSGD, project", "NOGD")  # of which a step is quadratic in the budget
FIGURE = Path(__file__).parent.parent / "docs/figures/budget.png"


def budgets() -> list[Result]:
    """Kernel learners on a budget of 100, on a9a, and how their cost grows with the budget (docs/figures/budget.png)."""
    a9a = onepass.datasets.load("a9a")
    X, y = a9a.X, a9a.y

    def learn(make: Any, B: int) -> Any:
        make(B).partial_fit(X[:200], y[:200], classes=[-1, 1])  # compile
        return lambda: make(B).partial_fit(X, y, classes=[-1, 1])

    dense = np.random.default_rng(0).normal(size=(200_000, 50))
    labels = np.sign(dense @ np.ones(50))
    linear = onepass.PAClassifier().partial_fit(dense[:10], labels[:10], classes=[-1, 1])
    first, *times = best(
        lambda: linear.partial_fit(dense, labels), *(learn(make, 100) for make in BUDGET_LEARNERS.values()), repeats=4
    )
    goal = 100_000 * (len(labels) / first) / 20e6
    peer = f"100 k/s on a machine where dense PA-I does 20 M/s; this one does {len(labels) / first / 1e6:.0f} M/s"
    draw_growth(X, y)
    return [
        Result(f"{name}, B=100, a9a", f"{len(y) / taken / 1e3:,.0f} k examples/s", len(y) / taken / goal, 1, peer)
        for name, taken in zip(BUDGET_LEARNERS, times, strict=True)
    ]


def draw_growth(X: Any, y: Any) -> None:
    """Microseconds an example against the budget, of a model whose budget is used up."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = [25, 50, 100, 200, 400, 800]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for name, make in BUDGET_LEARNERS.items():
        taken = []
        for B in sizes:
            model = make(B).partial_fit(X[:8000], y[:8000], classes=[-1, 1])
            (seconds,) = best(lambda model=model: model.partial_fit(X[8000:12000], y[8000:12000]), repeats=3)  # type: ignore[misc]
            taken.append(1e6 * seconds / 4000)
        axes[int(name in PROJECTING)].loglog(sizes, taken, marker="o", markersize=3, label=name)
    for axis, title, power in zip(axes, ("linear in B", "projecting: steps are quadratic in B"), (1, 2), strict=True):
        axis.loglog(sizes, [0.3 * (B / 25) ** power for B in sizes], color="grey", linestyle=":", label=f"~ B^{power}")
        axis.set(title=title, xlabel="budget B", xticks=sizes, xticklabels=sizes)
        axis.minorticks_off()
        axis.legend(fontsize=7)
    axes[0].set_ylabel("microseconds an example, a9a")
    figure.savefig(FIGURE, dpi=110)
    plt.close(figure)


CASES = [
    dense_pa,
    sparse_pa,
    second_order,
    full_covariance,
    many_classes,
    budgets,
    from_file,
    one_at_a_time,
    texts,
    raw_one_at_a_time,
    small_pamo,
    large_pamo,
    network,
    committees,
    start_up,
    memory,
    tagging,
    parsing,
    structures,
]
