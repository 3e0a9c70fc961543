"""What the PAMO paper reports, reached again; and what averaging and many classes add to it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import onepass
from shared import dataset, golden

TABLE_2 = ["a9a", "w7a", "w8a", "ijcnn1"]


@cache
def whole(name: str) -> tuple[Any, Any]:
    """A data set as Table 2 has it: train and test together (w7a: train alone), standardised over the data set."""
    data = dataset(name)
    X, y = data.X.toarray(), data.y
    if name != "w7a":
        X, y = np.vstack([X, data.X_test.toarray()]), np.concatenate([y, data.y_test])
    return standardised(X), y


def standardised(X: Any) -> Any:
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def equalised(X: Any) -> Any:
    """For each pixel, the share of its image's pixels that are not brighter."""
    return np.array([np.searchsorted(np.sort(image), image, side="right") for image in X]) / X.shape[1]


def mistake_rate(model: Any, X: Any, y: Any) -> float:
    """Percent of the rows that were wrongly predicted just before they were learned from."""
    scores = model.test_then_train(X, y, classes=[-1, 1])
    return 100 * float(np.mean(np.where(scores >= 0, 1, -1) != y))


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("name", TABLE_2)
def test_table_2(name: str, variant: str) -> None:
    mean, deviation = golden("paper_tables.json")["table2_online_mistake_rate_percent"]["rows"][f"PAMO-{variant}"][
        TABLE_2.index(name)
    ]
    X, y = whole(name)
    rates = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(y))
        rates.append(mistake_rate(onepass.PAMOClassifier(variant=variant, random_state=seed), X[order], y[order]))
    print(f"{name} PAMO-{variant}: {np.mean(rates):.2f} +- {np.std(rates):.2f}, paper {mean} +- {deviation}")
    assert abs(np.mean(rates) - mean) <= 2 * deviation + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("name", ["svmguide1", "cbcl", "ijcnn1"])
def test_table_1(name: str, variant: str) -> None:
    """One pass over the training part, standardised by its own statistics, then the test part; images are equalised before."""
    table = golden("paper_tables.json")["table1_test_error_percent"]
    column = table["columns"].index(name.upper())
    mean, deviation = table["rows"][f"PAMO-{variant}"][column]
    dimensions, hyperplanes = map(int, table["pamo_dimensions_x_hyperplanes"][column].split("x"))
    data = dataset(name)
    X, X_test = data.X.toarray(), data.X_test.toarray()
    if name == "cbcl":
        assert (data.y == 1).sum() == 2429
        assert (data.y_test == 1).sum() == 472
        X, X_test = equalised(X), equalised(X_test)
    X, X_test = standardised(X), (X_test - X.mean(axis=0)) / X.std(axis=0)
    errors = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(X))
        model = onepass.PAMOClassifier(dimensions, hyperplanes, variant=variant, random_state=seed).fit(X[order], data.y[order])
        errors.append(100 * (1 - model.score(X_test, data.y_test)))
    print(f"{name} PAMO-{variant}: {np.mean(errors):.2f} +- {np.std(errors):.2f}, paper {mean} +- {deviation}")
    assert abs(np.mean(errors) - mean) <= 2 * deviation + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_averaged_ijcnn1(seed: int) -> None:
    """One pass over the training part, standardised by its own statistics, then the test part.

    The rows are shuffled: the file is in time order, and its end is not like the test part (7 % error when it is learned last).
    """
    data = dataset("ijcnn1")
    X, X_test = data.X.toarray(), data.X_test.toarray()
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    order = np.random.default_rng(seed).permutation(len(X))
    model = onepass.PAMOClassifier(dimensions=256, variant="II", average=True, random_state=seed)
    model.fit(((X - mean) / deviation)[order], data.y[order])
    error = 100 * (1 - model.score((X_test - mean) / deviation, data.y_test))
    print(f"ijcnn1 PAMO-II 256x2 averaged: {error:.2f} % test error")
    assert error < 2.0


@pytest.mark.slow
def test_mnist() -> None:
    """Ten classes, one pass in file order, pixels between 0 and 1 in single precision."""
    data = dataset("mnist")
    model = onepass.PAMOClassifier(average=True, random_state=0).fit(data.X, data.y)
    error = 100 * (1 - model.score(data.X_test, data.y_test))
    print(f"mnist PAMO-I 64x2 averaged: {error:.2f} % test error")
    assert model.decision_function(data.X_test[:1]).dtype == np.float32
    assert error <= 3.2


@pytest.mark.parametrize("variant", ["I", "II"])
def test_a_part_of_ijcnn1(variant: str) -> None:
    """On 20,000 rows PAMO makes 4.1 to 5.6 % mistakes, whatever the seed, and the linear PA-I never less than 9 %."""
    X, y = whole("ijcnn1")
    part = np.random.default_rng(0).permutation(len(y))[:20_000]
    X, y = X[part], y[part]
    assert mistake_rate(onepass.PAMOClassifier(variant=variant, random_state=0), X, y) < 6.5
    assert mistake_rate(onepass.PAMOClassifier(variant=variant, random_state=0), sp.csr_array(X), y) < 6.5
    assert mistake_rate(onepass.PAClassifier(), X, y) > 8.5
