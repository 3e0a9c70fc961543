"""Online backpropagation: what JAX and PyTorch compute, finite differences, and what each step promises."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from onepass import HedgeBackprop, OnlineMLPClassifier, OnlineMLPRegressor
from onepass.compiled.compiler import entry_point
from onepass.compiled.rows import DenseRows, row
from onepass.compiled.rules import learn, score, scratch
from onepass.neural.blame import blame
from onepass.neural.layered import ACTIVATIONS
from onepass.neural.mlp import Network
from onepass.neural.steps import Plain
from onepass.neural.units import activate, times_slope
from shared import golden

LOSSES = {"softmax": "cross_entropy", "logistic": "cross_entropy", "hinge": "hinge", "squared": "squared"}
STORAGE = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
RUNS = [
    "regression_tanh_linear",
    "softmax_relu",
    "logistic_relu",
    "hinge_relu",
    "softmax_relu_adagrad",
    "softmax_relu_adadelta",
    "softmax_relu_adam",
    "hinge_relu_pa1",
    "hinge_relu_pa2",
    "softmax_relu_pa1",
]


def joined(layer: Any) -> Any:
    """Weights (out x in) and biases of a layer, as (in + 1, out)."""
    weights, bias = layer
    return np.vstack([bias, np.transpose(weights)])


def put(model: Any, layers: list[Any]) -> None:
    """Give a model its weights."""
    arrays, (first, *inner, last) = model._state.arrays, map(joined, layers)
    arrays["A"][:] = first
    arrays["inner"][:] = np.concatenate([np.empty(0), *(layer.ravel() for layer in inner)])
    arrays["W"][:] = last.T


def norm_of(model: Any) -> float:
    return float(np.sqrt(sum((layer**2).sum() for layer in model.layers_)))


def started(run: Any) -> Any:
    """The model of a golden run, with its first weights."""
    hidden, rule, given = run["sizes"][1:-1], run["rule"], run["parameters"]
    own = {"hidden": hidden, "activation": run["hidden"], "loss": LOSSES[run["loss"]]}
    if rule in ("pa1", "pa2"):
        own |= {"step": "pa", "variant": {"pa1": "I", "pa2": "II"}[rule], "C": given["C"]}
    else:
        own |= {"step": rule, "rate": given["rate"]}
    X, y = np.array(run["X"]), np.ravel(run["y"])
    if run["loss"] == "squared":
        model = OnlineMLPRegressor(**own, scale_target=False).partial_fit(X[:1], y[:1], sample_weight=[0.0])
    else:
        model = OnlineMLPClassifier(**own).partial_fit(X[:1], y[:1], classes=np.unique(y), sample_weight=[0.0])
    put(model, run["first"])
    return model


@pytest.mark.plain
@STORAGE
@pytest.mark.parametrize("name", RUNS)
def test_golden(name: str, storage: Any) -> None:
    run = golden("backprop.json")["runs"][name]
    model, X, y = started(run), np.array(run["X"]), np.ravel(run["y"])
    for t in range(len(y)):
        scores = model.test_then_train(storage(X[t : t + 1]), y[t : t + 1])
        np.testing.assert_allclose(np.ravel(scores), run["outputs_before"][t], rtol=1e-9, atol=1e-9)
        assert norm_of(model) == pytest.approx(run["norms"][t], rel=1e-9)
    for layer, expected in zip(model.layers_, run["final"], strict=True):
        np.testing.assert_allclose(layer, joined(expected), rtol=1e-9, atol=1e-9)


# --- the slide: output units have a function, too, and targets are vectors of numbers ---

Vector = namedtuple("Vector", "none")


@blame.form(Vector)
def _(task: Any, kind: Any, activation: Any, scores: Any, y: Any, out: Any) -> Any:
    h = scores.copy()
    activate(activation, h)
    out[:] = y - h
    loss = (out * out).sum() / 2
    times_slope(activation, h, out)
    return loss


@entry_point
def steps(m: Any, X: Any, y: Any, outputs: Any) -> Any:
    s = scratch(m)
    for t in range(len(outputs)):
        x = row(X, t)
        score(m, x, s)
        outputs[t] = s.scores
        activate(m.activation, outputs[t])
        learn(m, x, y[t], 1.0, s)


@pytest.mark.plain
@pytest.mark.parametrize("name", ["slide_sigmoid", "slide_tanh"])
def test_the_rule_of_the_slide(name: str) -> None:
    """delta^L = f'(z^L) (y - s^L), delta^l = f'(z^l) (W^{l+1})' delta^{l+1}, W^l += rho delta^l (s^{l-1})'."""
    run = golden("backprop.json")["runs"][name]
    first, *inner, last = map(joined, run["first"])
    flat = np.concatenate([np.empty(0), *(layer.ravel() for layer in inner)])
    W, sizes = np.ascontiguousarray(last.T), np.array(run["sizes"][1:-1])
    m = Network(first, flat, W, run["parameters"]["rate"], sizes, ACTIVATIONS[run["hidden"]], Vector(0), 0, Plain(0))
    outputs = np.empty((50, 2))
    steps(m, DenseRows(np.array(run["X"]), 1.0), np.array(run["y"]), outputs)
    np.testing.assert_allclose(outputs, run["outputs_before"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(first, joined(run["final"][0]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(W.T, joined(run["final"][-1]), rtol=1e-9, atol=1e-9)


# --- hedge backpropagation ---


def put_heads(model: Any, first: Any) -> None:
    arrays, (lowest, *inner) = model._state.arrays, map(joined, first["hidden"])
    arrays["A"][:] = lowest
    arrays["inner"][:] = np.concatenate([layer.ravel() for layer in inner])
    arrays["W"][:] = np.hstack([joined(layer).T for layer in first["output"]])
    arrays["V"][:] = joined(first["output_on_input"]).T


@pytest.mark.plain
@STORAGE
@pytest.mark.parametrize("name", ["paper_slow", "paper_fast"])
def test_golden_hedge(name: str, storage: Any) -> None:
    content = golden("hbp.json")
    run, X, y = content["runs"][name], np.array(content["X"]), np.array(content["y"])
    model = HedgeBackprop((7, 7, 7), rate=run["rate"], beta=run["beta"], floor=run["smoothing"])
    model.partial_fit(X[:1], y[:1], classes=[0, 1, 2], sample_weight=[0.0])
    put_heads(model, content["first"])
    mistakes = 0
    for t in range(len(y)):
        shares, chances = model.shares_, model.predict_proba(storage(X[t : t + 1]))
        model.partial_fit(storage(X[t : t + 1]), y[t : t + 1])
        mistakes += chances.argmax() != y[t]
        if t in run["rows"]:
            seen = run["trace"][run["rows"].index(t)]
            np.testing.assert_allclose(shares, seen["alpha_before"], rtol=1e-9)
            np.testing.assert_allclose(chances[0], seen["scores"], rtol=1e-9)
            np.testing.assert_allclose(model.shares_, seen["alpha_after"], rtol=1e-9)
    assert mistakes == run["mistakes"]
    arrays, final = model._state.arrays, run["final"]
    np.testing.assert_allclose(arrays["A"], joined(final["hidden"][0]), rtol=1e-9, atol=1e-9)
    inner = np.concatenate([joined(layer).ravel() for layer in final["hidden"][1:]])
    np.testing.assert_allclose(arrays["inner"], inner, rtol=1e-9, atol=1e-9)
    heads = [joined(layer).T for layer in final["output"]]
    np.testing.assert_allclose(np.hstack([arrays["V"], arrays["W"]]), np.hstack(heads), rtol=1e-9, atol=1e-9)
