"""Displays of learning curves and decision boundaries."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

from onepass import PAClassifier, PARegressor, datasets
from onepass.evaluate import ADWIN, compare, prequential
from onepass.plots import DecisionBoundaryDisplay, LearningCurveDisplay
from onepass.plots.curves import _spread

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.fixture
def results():
    stream = datasets.sea(2000, random_state=0)
    return {f"C={C}": prequential(PAClassifier(C=C), stream, ["mistake_rate", "kappa"], window=200) for C in (0.01, 1.0)}


def test_curves_of_several_results(results):
    display = LearningCurveDisplay.from_prequential(results, drifts=[500, 1000, 1500])
    for line, result in zip(display.lines_, results.values(), strict=True):
        assert np.array_equal(line.get_xdata(), result.curve.positions)
        assert np.array_equal(line.get_ydata(), result.curve["mistake_rate"])
    assert [text.get_text() for text in display.ax_.texts] == sorted(results, key=lambda n: results[n].metrics["mistake_rate"])
    assert len(display.ax_.lines) == 2 + 3
    assert display.figure_ is display.ax_.figure


def test_drifts_that_were_seen_are_marked():
    X, y = datasets.circles(2000, random_state=0)
    y[1000:] = 1 - y[1000:]
    slow = PAClassifier(C=0.01, average="uniform")
    result = prequential(slow, (X**2, y), ["mistake_rate", "recall"], window=500, drift=ADWIN())
    display = LearningCurveDisplay.from_prequential({"it": result})
    (line,) = display.lines_
    marks = [mark for mark in display.ax_.lines if mark is not line]
    assert [mark.get_xdata()[0] for mark in marks] == result.drifts
    assert marks
    assert {mark.get_color() for mark in marks} == {line.get_color()}


def test_a_metric_may_have_no_value_at_first():
    X, y = datasets.circles(200, random_state=0)
    y[100:] += 1
    display = LearningCurveDisplay.from_prequential(prequential(PAClassifier(), (X, y), "recall"), "recall[2]")
    assert np.isfinite(display.ax_.get_ylim()).all()


def test_a_curve_of_windows_and_another_metric_on_given_axes(results):
    _, ax = pyplot.subplots()
    result = results["C=1.0"]
    display = LearningCurveDisplay.from_prequential(result, "kappa", window=True, ax=ax)
    assert display.ax_ is ax
    assert ax.get_ylabel() == "kappa"
    assert np.array_equal(display.lines_[0].get_ydata(), result.window_curve["kappa"])
    assert not ax.texts


def test_curves_that_are_not_there(results):
    with pytest.raises(ValueError, match=r"'rmse' was not evaluated. There are: mistake_rate, kappa"):
        LearningCurveDisplay.from_prequential(results, "rmse")
    with pytest.raises(ValueError, match="evaluate with `window=` first"):
        LearningCurveDisplay.from_prequential(prequential(PAClassifier(), datasets.sea(100, random_state=0)), window=True)


def test_curves_of_a_comparison():
    comparison = compare({"a": PAClassifier(), "b": PAClassifier(C=0.1)}, datasets.circles(300, random_state=0), 2)
    display = LearningCurveDisplay.from_comparison(comparison)
    assert np.array_equal(display.lines_[1].get_ydata(), comparison.curves["b"])


def test_labels_are_moved_apart_but_not_further():
    assert _spread([0.1, 0.5], 0.1) == pytest.approx([0.1, 0.5])
    assert _spread([0.5, 0.5], 0.1) == pytest.approx([0.45, 0.55])
    assert _spread([0.2, 0.5, 0.5, 0.52], 0.1) == pytest.approx([0.2, 0.4067, 0.5067, 0.6067], abs=1e-4)
    assert np.diff(_spread([0.1, 0.11, 0.19, 0.2, 0.3], 0.1)) == pytest.approx([0.1] * 4)


def test_labels_stay_beside_the_picture():
    assert _spread([0.0, 0.0, 0.0, 0.6, 1.0, 1.0], 0.1) == pytest.approx([0.0, 0.1, 0.2, 0.6, 0.9, 1.0])
    assert _spread([0.5, 0.5, 0.5], 0.6) == pytest.approx([0.0, 0.6, 1.2])  # more than there is room for


def test_the_boundary_of_two_classes():
    X, y = datasets.circles(100, random_state=0)
    model = PAClassifier().fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, resolution=30, extent=(-2, 2, -3, 3))
    assert display.ax_.get_xlim() == (-2, 2)
    assert display.ax_.get_ylim() == (-3, 3)
    assert len(display.regions_) == 2
    assert sum(len(points.get_offsets()) for points in display.points_) == 100
    for path in display.boundaries_[0].get_paths():
        assert np.allclose(model.decision_function(path.vertices), 0, atol=1e-6)


def test_the_regions_of_many_classes_are_the_predictions():
    random = np.random.default_rng(0)
    y = random.integers(4, size=400)
    X = random.standard_normal((400, 2)) + 3 * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])[y]
    model = PAClassifier(average=True).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, resolution=20)
    left, right, bottom, top = display.extent
    grid = np.array([(x, z) for z in np.linspace(bottom, top, 20) for x in np.linspace(left, right, 20)])
    assert np.array_equal(display.margins.argmax(axis=2).ravel(), model.predict(grid))
    assert len(display.regions_) == len(set(model.predict(grid)))
    assert display.points_ == []


def test_a_model_that_predicts_one_class_everywhere():
    X = np.array([[0.0, 1.0], [1.0, 0.0]])
    model = PAClassifier().partial_fit(X, [1, 1], classes=[0, 1])
    display = DecisionBoundaryDisplay.from_estimator(model, X)
    assert len(display.regions_) == 1
    assert display.boundaries_ == []


def test_only_classifiers_of_two_features_have_boundaries():
    X, y = datasets.hyperplane(20, features=3, random_state=0)
    with pytest.raises(ValueError, match=r"shape \(n, 2\), got \(20, 3\)"):
        DecisionBoundaryDisplay.from_estimator(PAClassifier().fit(X, y), X)
    with pytest.raises(ValueError, match="PARegressor is not a classifier"):
        DecisionBoundaryDisplay.from_estimator(PARegressor().fit(X[:, :2], y), X[:, :2])


def test_without_matplotlib_the_error_names_the_extra(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "onepass\[plot\]"'):
        LearningCurveDisplay.from_prequential(results)
