"""Every kernel against its plain NumPy twin: scores before learning and the weights in the end."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import naive
import onepass

N, D, H = 100, 7, 6
AVERAGES = [True, "uniform", 25.0]
TWINS = {
    ("PAClassifier", "binary"): naive.PABinary,
    ("PAClassifier", "multiclass"): naive.PAMulticlass,
    ("PARegressor", "regression"): naive.PARegression,
    ("PAMOClassifier", "binary"): naive.PAMOBinary,
    ("PAMOClassifier", "multiclass"): naive.PAMOMulticlass,
    ("PAMORegressor", "regression"): naive.PAMORegression,
}


@dataclass
class Case:
    name: str
    task: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, self.task, *(f"{k}={v}" for k, v in self.parameters.items())])

    @property
    def sized(self) -> dict[str, Any]:
        return {"dimensions": H} if "PAMO" in self.name else {}

    @property
    def stride(self) -> int:
        """Weights that change by `add` alone are averaged after every example, all others after every sixteenth."""
        return 16 if "PAMO" in self.name else 1

    def twin(self) -> Any:
        return TWINS[self.name, self.task](**self.sized, **self.parameters)

    def model(self, **more: Any) -> Any:
        seed = {"random_state": 3} if "PAMO" in self.name else {}
        return onepass.learners()[self.name](**self.sized, **self.parameters, **seed, **more)


CASES = [
    *(Case("PAClassifier", task, {"variant": v, "C": 0.3}) for task in ("binary", "multiclass") for v in ("hard", "I", "II")),
    *(Case("PARegressor", "regression", {"variant": v, "C": 0.3, "epsilon": 0.2}) for v in ("hard", "I", "II")),
    *(
        Case(name, task, {"variant": variant, "select": select})
        for name, task in TWINS
        if "PAMO" in name
        for variant in ("I", "II")
        for select in ("largest", "nearest")
    ),
    Case("PAMOClassifier", "binary", {"C": 0.5, "C_r": 0.05, "alpha": 0.6, "epsilon": 0.03}),
    Case("PAMOClassifier", "multiclass", {"C": 0.02, "C_r": 0.5, "alpha": 0.3, "epsilon": 0.03, "variant": "II"}),
    Case("PAMORegressor", "regression", {"C": 0.5, "C_r": 0.05, "alpha": 0.6, "epsilon": 0.3}),
]
ONE_OF_EACH = [Case(*key) for key in TWINS]


def problem(task: str, n: int = N) -> tuple[Any, Any, Any]:
    """Sparse rows, targets as the learners take them and as the twins do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.6)
    signal = X @ rng.normal(size=D) + 0.3 * rng.normal(size=n) + 0.5
    if task == "binary":
        return X, signal > 0, np.where(signal > 0, 1.0, -1.0)
    if task == "multiclass":
        labels = np.digitize(signal, [-1.0, 0.5, 1.5])
        return X, np.array(["a", "b", "c", "d"])[labels], labels
    return X, signal / 3, signal / 3


def start(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Make a model's first weights, through a row of weight zero, and give a copy of them."""
    classes = {} if y.dtype.kind == "f" else {"classes": np.unique(y)}
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0], **classes)
    model._state.widen(X.shape[1])  # a row of weight zero brings a growing model no features
    return {name: model._state.arrays[name].astype(float) for name in model._state.fields}


def weights_of(model: Any) -> dict[str, Any]:
    return {name: model._averaged(model._state, name) for name in model._state.fields}


def agree(case: Case, X: Any, y: Any, codes: Any, tolerance: float = 1e-9, **more: Any) -> Any:
    """Run the model and its twin, and compare."""
    weights = more.pop("weights", None)
    model = case.model(**more)
    first = start(model, X, y)
    scores = model.test_then_train(X, y, sample_weight=weights)
    dense = (X.toarray() if sp.issparse(X) else X).astype(float)
    expected, final = naive.run(
        case.twin(), first, dense, codes, weights, more.get("fit_intercept", True), more.get("average"), case.stride
    )
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)
    for name, array in weights_of(model).items():
        np.testing.assert_allclose(array, final[name], rtol=tolerance, atol=tolerance)
    assert model.updates_ > len(y) // 10, "the data must make the learner move"
    return model, scores


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "plain"])
def test_kernel_is_its_twin(case: Case, storage: Any, fit_intercept: bool) -> None:
    X, y, codes = problem(case.task)
    agree(case, storage(X), y, codes, fit_intercept=fit_intercept)


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("average", AVERAGES, ids=str)
def test_average_is_its_formula(case: Case, storage: Any, average: Any) -> None:
    X, y, codes = problem(case.task)
    agree(case, storage(X), y, codes, average=average)


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=str)
@pytest.mark.parametrize("average", [None, True], ids=str)
def test_weight_multiplies_the_loss_term(case: Case, average: Any) -> None:
    X, y, codes = problem(case.task)
    weights = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 3.0], size=N)
    agree(case, X, y, codes, average=average, weights=weights)


@pytest.mark.parametrize("case", ONE_OF_EACH[:3], ids=str)
def test_uniform_average_is_the_mean_of_all_weights(case: Case) -> None:
    X, y, codes = problem(case.task)
    model = case.model(average="uniform")
    m, history = start(model, X, y), []
    model.partial_fit(X, y)
    for row, code in zip(X, codes, strict=True):
        m = case.twin().learn(m, np.concatenate([[1.0], row]), code, 1.0)
        history.append(m)
    for name, array in weights_of(model).items():
        np.testing.assert_allclose(array, np.mean([m[name] for m in history], axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", [Case("PAClassifier", "binary"), Case("PAMOClassifier", "binary")], ids=str)
def test_wide_indices(case: Case) -> None:
    X, y, codes = problem(case.task)
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    agree(case, X, y, codes)


@pytest.mark.parametrize("case", [Case("PAClassifier", "binary"), Case("PAMOClassifier", "binary")], ids=str)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("average", [None, True], ids=str)
def test_single_precision(case: Case, storage: Any, average: Any) -> None:
    X, y, codes = problem(case.task)
    model, scores = agree(case, storage(X.astype(np.float32)), y, codes, tolerance=2e-4, average=average)
    assert scores.dtype == np.float32
    assert model.decision_function(X).dtype == np.float32
    assert all(array.dtype == np.float32 for array in weights_of(model).values())


@pytest.mark.parametrize("hyperplanes", [1, 2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "plain"])
def test_first_hyperplanes_are_orthonormal(hyperplanes: int, fit_intercept: bool) -> None:
    X, y, _ = problem("binary")
    sizes = {"dimensions": H, "hyperplanes": hyperplanes, "fit_intercept": fit_intercept, "random_state": 3}
    U = start(onepass.PAMOClassifier(**sizes), X, y)["U"]
    drawn = start(onepass.PAMOClassifier(grow=True, classes=[False, True], **sizes), X, y)["U"][: D + 1]
    if not fit_intercept:
        drawn[0] = 0
    assert np.abs(drawn).max() <= 0.1
    np.testing.assert_allclose(U, naive.orthonormal(drawn, H), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["PAClassifier", "PAMOClassifier"])
def test_one_dict_at_a_time_is_the_twin(name: str) -> None:
    """A growing model: known labels from the start, and all features in the first example."""
    X, y, codes = problem("binary")
    X[0] = 1.0
    case = Case(name, "binary")
    model = case.model(classes=[False, True])
    first = start(case.model(classes=[False, True], grow=True), X, y)
    for row, label in zip(X, y, strict=True):
        model.learn_one({f"f{j}": value for j, value in enumerate(row) if value != 0}, label)
    _, final = naive.run(case.twin(), first, X, codes)
    for name, array in weights_of(model).items():
        np.testing.assert_allclose(array, final[name], rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="this is the run without the compiler")
def test_without_the_compiler() -> None:
    """NUMBA_DISABLE_JIT=1, for debuggers and coverage, runs the same rules as plain Python."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    source = str(Path(onepass.__file__).parents[1])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": source}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
