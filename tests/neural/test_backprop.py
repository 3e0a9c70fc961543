"""Online backpropagation: what JAX and PyTorch compute, finite differences, and what each step promises."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from onepass import DivergedError, HedgeBackprop, OnlineMLPClassifier, OnlineMLPRegressor, StandardScaler, pipeline
from onepass.base.state import State
from onepass.compiled.compiler import entry_point
from onepass.compiled.rows import DenseRows, row
from onepass.compiled.rules import learn, score, scratch
from onepass.neural.blame import blame
from onepass.neural.layered import ACTIVATIONS
from onepass.neural.mlp import Network
from onepass.neural.steps import Plain
from onepass.neural.units import activate, times_slope
from shared import dataset, golden, snapshot

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
    pytest.param("hinge_relu_pa1", marks=pytest.mark.compiled),
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


@pytest.mark.plain
@pytest.mark.parametrize("name", ["hinge_relu_pa1", "softmax_relu_adagrad", "softmax_relu_adam"])
def test_single_precision_follows(name: str) -> None:
    run = golden("backprop.json")["runs"][name]
    double = started(run)
    X, y = np.array(run["X"], np.float32), np.ravel(run["y"])
    model = OnlineMLPClassifier(**double.get_params()).partial_fit(X[:1], y[:1], classes=np.unique(y), sample_weight=[0.0])
    put(model, run["first"])
    scores = model.test_then_train(X, y)
    assert scores.dtype == model._state.arrays["A"].dtype == np.float32
    np.testing.assert_allclose(scores, run["outputs_before"], rtol=0, atol=1e-4)
    for layer, expected in zip(model.layers_, run["final"], strict=True):
        np.testing.assert_allclose(layer, joined(expected), rtol=0, atol=1e-4)


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
    model = HedgeBackprop((7, 7, 7), "relu", rate=run["rate"], beta=run["beta"], floor=run["smoothing"])
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


# --- twins in the plainest NumPy ---

FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2),
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0),
}


def sums(layers: list[Any], activation: str, x: Any, bias: float) -> list[Any]:
    """The sums z of each layer."""
    found, below = [], x
    for W in layers:
        found.append(W.T @ np.append(bias, below))
        below = FUNCTIONS[activation][0](found[-1])
    return found


def loss_of(z: Any, y: Any, kind: str, activation: str) -> float:
    """y is -1 or 1, the number of a class, or a number."""
    if kind == "squared" and isinstance(y, np.floating) and y not in (-1.0, 1.0):
        return float((y - z[0]) ** 2 / 2)
    if kind == "epsilon_insensitive":
        return max(0.0, abs(y - z[0]) - 0.1)
    if kind == "squared":
        low = 0.0 if activation == "sigmoid" else -1.0
        target = np.where([y > 0] if len(z) == 1 else np.arange(len(z)) == y, 1.0, low)
        return float(((target - (z if activation == "relu" else FUNCTIONS[activation][0](z))) ** 2).sum() / 2)
    if len(z) == 1:
        return float(np.log1p(np.exp(-y * z[0])) if kind == "cross_entropy" else max(0.0, 1 - y * z[0]))
    if kind == "cross_entropy":
        return float(np.log(np.exp(z).sum()) - z[y])
    return max(0.0, 1 - z[y] + np.delete(z, y).max())


def gradient(layers: list[Any], x: Any, y: Any, kind: str, activation: str, bias: float) -> list[Any]:
    """By finite differences, weight by weight."""
    found = []
    for W in layers:
        g, h = np.empty_like(W), 1e-6
        for place in np.ndindex(W.shape):
            kept, ends = W[place], []
            for step in (h, -h):
                W[place] = kept + step
                ends.append(loss_of(sums(layers, activation, x, bias)[-1], y, kind, activation))
            W[place] = kept
            g[place] = (ends[0] - ends[1]) / (2 * h)
        found.append(g)
    return found


TASKS = {"binary": OnlineMLPClassifier, "multiclass": OnlineMLPClassifier, "regression": OnlineMLPRegressor}
CASES = [
    *(("binary", kind, activation) for kind in ("cross_entropy", "hinge", "squared") for activation in FUNCTIONS),
    *(("multiclass", kind, activation) for kind in ("cross_entropy", "hinge", "squared") for activation in FUNCTIONS),
    *(("regression", kind, activation) for kind in ("squared", "epsilon_insensitive") for activation in FUNCTIONS),
]


def problem(task: str, n: int = 12) -> tuple[Any, Any, Any]:
    """Rows, targets, and targets as the twins take them."""
    rng = np.random.default_rng(1)
    X, numbers = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.8), rng.normal(size=n)
    if task == "regression":
        return X, numbers, numbers
    labels = np.digitize(numbers, [0.0] if task == "binary" else [-0.4, 0.4])
    labels[:3] = [0, 1, labels.max()]
    return X, labels, np.where(labels > 0, 1.0, -1.0) if task == "binary" else labels


def begun(task: str, **parameters: Any) -> Any:
    X, y, _ = problem(task)
    more = {"scale_target": False} if task == "regression" else {"classes": np.unique(y)}
    model = TASKS[task](**{"hidden": (5, 4), "random_state": 3, **parameters, **more})
    return model.partial_fit(X[:1], y[:1], sample_weight=[0.0])


@pytest.mark.plain
@STORAGE
@pytest.mark.parametrize("bias", [1.0, 0.0], ids=["bias", "plain"])
@pytest.mark.parametrize(("task", "kind", "activation"), CASES)
def test_a_step_goes_against_the_gradient(task: str, kind: str, activation: str, bias: float, storage: Any) -> None:
    """SGD with a weight moves all weights by -rate weight g, g by finite differences, also of what the slide calls squared."""
    X, y, codes = problem(task)
    model = begun(task, loss=kind, activation=activation, step="sgd", rate=0.1, fit_intercept=bias > 0)
    for name in ("A", "inner"):  # a sum of 0 would be where ReLU has no slope
        model._state.arrays[name] += np.random.default_rng(2).normal(0, 0.3, model._state.arrays[name].shape)
    for t in range(len(y)):
        before = model.layers_
        z = sums(before, activation, X[t], bias)[-1]
        scores = model.test_then_train(storage(X[t : t + 1]), y[t : t + 1], sample_weight=[0.5])
        np.testing.assert_allclose(np.ravel(scores), z, rtol=1e-9, atol=1e-12)
        for W, after, g in zip(before, model.layers_, gradient(before, X[t], codes[t], kind, activation, bias), strict=True):
            np.testing.assert_allclose(after, W - 0.05 * g, rtol=0, atol=1e-8)


@pytest.mark.plain
@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize(("task", "kind", "activation"), [case for case in CASES if case[2] == "tanh"])
def test_the_passive_aggressive_step_is_the_nearest_that_mends_the_linearised_loss(
    task: str, kind: str, activation: str, variant: str
) -> None:
    """It is along g; with tau below C the linearised loss is 0, with C it is not yet; the second form solves its own problem, the
    minimum over d of |d|^2 / 2 + C (loss + g.d)^2. A weight multiplies C."""
    X, y, codes = problem(task)
    C, weight, capped = 0.2, 0.5, set()
    model = begun(task, loss=kind, activation=activation, C=C, variant=variant)
    for t in range(len(y)):
        before = model.layers_
        loss = loss_of(sums(before, activation, X[t], 1.0)[-1], codes[t], kind, activation)
        g = np.concatenate([part.ravel() for part in gradient(before, X[t], codes[t], kind, activation, 1.0)])
        model.partial_fit(X[t : t + 1], y[t : t + 1], sample_weight=[weight])
        d = np.concatenate([(after - W).ravel() for W, after in zip(before, model.layers_, strict=True)])
        if loss == 0:
            assert not d.any()
            continue
        tau = -(d @ g) / (g @ g)
        np.testing.assert_allclose(d, -tau * g, atol=1e-7)
        if variant == "II":
            assert tau == pytest.approx(2 * C * weight * (loss + g @ d), rel=1e-5)
        elif tau < C * weight * (1 - 1e-6):
            assert loss + g @ d == pytest.approx(0, abs=1e-6)
            capped.add(False)
        else:
            assert tau == pytest.approx(C * weight)
            assert loss + g @ d > -1e-6
            capped.add(True)
    assert variant == "II" or capped, "the data must make the learner move"


@pytest.mark.plain
@pytest.mark.parametrize("step", ["adagrad", "adadelta", "adam"])
@pytest.mark.parametrize("kind", ["cross_entropy", "hinge"])
@STORAGE
def test_adaptive_steps_are_their_formulas(step: str, kind: str, storage: Any) -> None:
    """Also of rows without loss, of features that a row lacks, and with weights, which multiply the gradient."""
    X, y, codes = problem("binary", n=30)
    rate = 0.05
    model = begun("binary", loss=kind, step=step, rate=rate)
    w = [W.copy() for W in model.layers_]
    n, m = ([np.zeros_like(W) for W in w] for _ in "nm")
    for t in range(len(y)):
        weight = [1.0, 2.0][t % 2]
        g = [weight * part for part in gradient(w, X[t], codes[t], kind, "tanh", 1.0)]
        for i, G in enumerate(g):
            if step == "adagrad":
                n[i] += G**2
                w[i] -= rate * G / (np.sqrt(n[i]) + 1e-10)
            elif step == "adadelta":
                n[i] = 0.9 * n[i] + 0.1 * G**2
                u = np.sqrt((m[i] + 1e-6) / (n[i] + 1e-6)) * G
                m[i] = 0.9 * m[i] + 0.1 * u**2
                w[i] -= rate * u
            else:
                m[i], n[i] = 0.9 * m[i] + 0.1 * G, 0.999 * n[i] + 0.001 * G**2
                w[i] -= rate * (m[i] / (1 - 0.9 ** (t + 1))) / (np.sqrt(n[i] / (1 - 0.999 ** (t + 1))) + 1e-8)
        model.partial_fit(storage(X[t : t + 1]), y[t : t + 1], sample_weight=[weight])
    for W, expected in zip(model.layers_, w, strict=True):
        np.testing.assert_allclose(W, expected, rtol=0, atol=2e-4)


# --- first weights ---


@pytest.mark.plain
@pytest.mark.parametrize("activation", FUNCTIONS)
def test_first_weights(activation: str) -> None:
    X = np.random.default_rng(0).normal(size=(2, 40))
    model = OnlineMLPClassifier((30, 20), activation, random_state=0).partial_fit(X, [0, 1], [0, 1], sample_weight=[0, 0])
    fans = [(40, 30), (30, 20), (20, 1)]
    for W, (n_in, n_out) in zip(model.layers_, fans, strict=True):
        a = np.sqrt(6 / (n_in if activation == "relu" else n_in + n_out))
        assert not W[0].any(), "biases are 0"
        assert 0.8 * a < np.abs(W[1:]).max() <= a
        assert np.std(W[1:]) == pytest.approx(a / np.sqrt(3), rel=0.25)


@pytest.mark.plain
def test_the_first_weights_of_a_label_that_comes_are_drawn_as_all_are() -> None:
    X, y, _ = problem("multiclass")
    model = OnlineMLPClassifier(6, random_state=0, grow=True, rate=1e-12, step="sgd").partial_fit(X, y)
    W = model._state.arrays["W"]
    a = np.sqrt(6 / 7)
    assert abs(W[2, 0]) < 1e-9, "its bias is 0"
    assert 0 < np.abs(W[2, 1:]).max() <= a


@pytest.mark.plain
def test_a_dead_start_never_learns() -> None:
    """What is drawn must not be zero: no gradient passes weights of 0, and only the bias of the output moves."""
    X, y, _ = problem("binary")
    model = begun("binary", hidden=(5, 4))
    for name in ("A", "inner", "W"):
        model._state.arrays[name][:] = 0
    model.partial_fit(X, y)
    first, second, last = model.layers_
    assert not any(part.any() for part in (first, second, last[1:]))
    assert last[0] != 0


# --- what is refused ---


@pytest.mark.plain
@pytest.mark.parametrize("hidden", [(), 0, -1, (3, 0), (2.5,), [[3, 4]], "many", None])
def test_layers_are_numbers_of_units(hidden: Any) -> None:
    with pytest.raises(ValueError, match="hidden"):
        OnlineMLPClassifier(hidden).fit(np.eye(2), [0, 1])


@pytest.mark.plain
def test_auto_is_for_the_step_that_has_a_bound() -> None:
    with pytest.raises(ValueError, match='C="auto" is for step="pa"'):
        OnlineMLPClassifier(C="auto", step="sgd").fit(np.eye(2), [0, 1])


@pytest.mark.plain
@pytest.mark.parametrize("make", [OnlineMLPClassifier, HedgeBackprop])
def test_a_row_too_large_is_refused(make: Any) -> None:
    """Its units would be finite all the same."""
    X, y, _ = problem("binary")
    model = make((4, 3), "tanh", random_state=0).fit(X, y)
    before = snapshot(model)
    for value in (np.inf, 1e200):
        X[-1] = 0
        X[-1, 0] = value
        for door in (lambda: model.partial_fit(X, y), lambda: model.learn_one(X[-1], 0), lambda: model.predict(X)):
            with pytest.raises(ValueError, match=r"too large|infinity"):
                door()
    assert snapshot(model) == before


@pytest.mark.plain
def test_a_rate_that_diverges_is_told_and_nothing_is_lost() -> None:
    X, y, _ = problem("regression", n=60)
    model = OnlineMLPRegressor((4, 3), "relu", step="sgd", rate=1e-3, random_state=0).fit(X, y)
    before = snapshot(model)
    model.set_params(rate=1e30)
    with pytest.raises(DivergedError, match="a smaller rate"):
        model.partial_fit(X, y)
    assert snapshot(model) == before


@pytest.mark.plain
def test_no_candidate_learns_what_another_refuses() -> None:
    """A gradient is too large or not by the weights, too, in which candidates differ."""
    X, y, _ = problem("binary")
    model = OnlineMLPClassifier(4, "relu", C="auto", random_state=0).fit(X, y)
    model._state.arrays["A"][-1] *= 1e60  # the last candidate has the same scores, by larger units
    model._state.arrays["W"][-1] /= 1e60
    model.learn_one(X[0], int(y[0]))
    x, before = 1e100 * X[0], snapshot(model)
    with pytest.raises(DivergedError):
        model.learn_one(x, 1 - model.predict_one(x))
    assert snapshot(model) == before


WIDE: dict[str, Any] = {
    "pa": OnlineMLPClassifier(),
    "auto": OnlineMLPClassifier(C="auto"),
    "sgd": OnlineMLPClassifier(step="sgd"),
    "adagrad": OnlineMLPClassifier(step="adagrad"),
    "adam": OnlineMLPClassifier(step="adam"),
    "average": OnlineMLPClassifier(average=True),
    "hedge": HedgeBackprop(),
}


@pytest.fixture(params=WIDE)
def wide(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any, Any, Any]:
    """A network whose state is larger than its data, and sparse rows, of which the last has too large a gradient."""
    monkeypatch.setattr("onepass.base.engine.COPIED_ALWAYS", 0)
    rng = np.random.default_rng(0)
    X, y = sp.random_array((20, 300), density=0.01, rng=rng).tolil(), rng.integers(0, 2, 20)
    model = clone(WIDE[request.param]).set_params(hidden=4, activation="relu", random_state=0)
    model.partial_fit(X.tocsr(), y, classes=[0, 1])
    model._state.arrays["W"][:] *= 1e4
    X[-1, 7] = -4e-4 * np.sqrt(np.finfo(np.float64).max)
    X = X.tocsr()
    y[-1] = 1 - model.predict(X[-1:])[0]
    return request.param, model, X, y


@pytest.mark.plain
def test_a_gradient_too_large_leaves_no_trace_in_a_wide_network(wide: Any) -> None:
    _, model, X, y = wide
    twin = model.copy()
    with pytest.raises(DivergedError):
        model.partial_fit(X, y)
    assert snapshot(model) == snapshot(twin)
    assert snapshot(model.partial_fit(X[:-1], y[:-1])) == snapshot(twin.partial_fit(X[:-1], y[:-1]))


@pytest.mark.plain
def test_a_wide_network_is_not_copied_for_a_few_sparse_rows(wide: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name, model, X, y = wide
    copies = list[State]()
    set_aside = State.set_aside
    monkeypatch.setattr(State, "set_aside", lambda state: copies.append(state) or set_aside(state))
    model.partial_fit(X[:-1], y[:-1])
    assert bool(copies) == (name in ("adam", "average")), "which change all weights"


# --- readings of hedge backpropagation ---


class Hedge:
    """All three readings, in the plainest NumPy: whether there is a classifier on the row, whether losses are brought to [0, 1], and
    whether scores are sums of probabilities."""

    def __init__(self, first: Any, run: Any, on_row: bool, to_unit: bool, likely: bool, shares: float) -> None:
        self.hidden = [joined(layer) for layer in first["hidden"]]
        self.heads = [joined(layer) for layer in ([first["output_on_input"]] if on_row else []) + first["output"]]
        self.alpha, self.on_row, self.to_unit, self.likely = np.full(len(self.heads), shares), on_row, to_unit, likely
        self.rate, self.beta, self.floor = run["rate"], run["beta"], run["smoothing"] / len(self.hidden)

    def step(self, x: Any, y: int) -> Any:
        layers, s = [np.append(1, x)], x
        for W in self.hidden:
            s = np.maximum(W.T @ np.append(1, s), 0)
            layers.append(np.append(1, s))
        seen = layers if self.on_row else layers[1:]
        logits = [W.T @ h for W, h in zip(self.heads, seen, strict=True)]
        p = [np.exp(z) / np.exp(z).sum() for z in logits]
        scores = np.sum([a * q for a, q in zip(self.alpha, p if self.likely else logits, strict=True)], axis=0)
        losses = np.array([-np.log(q[y]) for q in p])
        errors = [a * (np.eye(len(q))[y] - q) for a, q in zip(self.alpha, p, strict=True)]
        from_above = np.zeros(len(layers[-1]) - 1)
        for i in reversed(range(len(self.hidden))):
            head = i + self.on_row
            delta = (from_above + self.heads[head][1:] @ errors[head]) * (layers[i + 1][1:] > 0)
            from_above = self.hidden[i][1:] @ delta
            self.hidden[i] = self.hidden[i] + self.rate * np.outer(layers[i], delta)
        self.heads = [W + self.rate * np.outer(h, e) for W, h, e in zip(self.heads, seen, errors, strict=True)]
        if self.to_unit:
            losses = (losses - losses.min()) / np.ptp(losses)
        self.alpha = np.maximum(self.alpha * self.beta**losses, self.floor)
        self.alpha /= self.alpha.sum()
        return scores


READINGS = {"paper": (True, True, True, 1 / 4), "authors": (False, True, True, 1 / 3), "onn": (False, False, False, 1 / 4)}


@pytest.mark.parametrize("pace", ["slow", "fast"])
@pytest.mark.parametrize("reading", READINGS)
def test_readings_of_hedge_backpropagation(reading: str, pace: str) -> None:
    """The authors' code has no classifier on the row; the package onn has none either, adds logits, takes losses as they are, and
    starts from shares of 1/(L+1) for L classifiers. Ours is the paper's, see above."""
    content = golden("hbp.json")
    run = content["runs"][f"{reading}_{pace}"]
    twin = Hedge(content["first"], run, *READINGS[reading])
    for t, (x, y) in enumerate(zip(content["X"], content["y"], strict=True)):
        scores = twin.step(np.array(x), y)
        if t in run["rows"]:
            seen = run["trace"][run["rows"].index(t)]
            np.testing.assert_allclose(scores, seen["scores"], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(twin.alpha, seen["alpha_after"], rtol=1e-9)


@pytest.mark.plain
@pytest.mark.parametrize("task", ["binary", "multiclass"])
@STORAGE
def test_hedge_backpropagation_of_two_classes_is_that_of_many(task: str, storage: Any) -> None:
    """Two classes have one logit: the difference of two. A weight multiplies the rate and the losses of the hedge."""
    X, y, _ = problem(task, n=40)
    K, own = (
        len(np.unique(y)),
        {"hidden": (5, 4), "rate": 0.2, "beta": 0.8, "floor": 0.3, "activation": "relu", "random_state": 2},
    )
    model = HedgeBackprop(**own, classes=np.unique(y)).partial_fit(X[:1], y[:1], sample_weight=[0.0])
    arrays = model._state.arrays
    A, inner, V, W = (arrays[name].copy() for name in ("A", "inner", "V", "W"))
    if K == 2:
        V, W = (np.vstack([-part / 2, part / 2]) for part in (V, W))
    twin = Hedge.__new__(Hedge)
    twin.hidden, twin.heads = [A, inner.reshape(6, 4)], [V.T, W[:, :6].T, W[:, 6:].T]
    twin.alpha, twin.on_row, twin.to_unit, twin.likely = np.full(3, 1 / 3), True, True, True
    for t in range(len(y)):
        weight = [1.0, 0.5][t % 2]
        # What one logit moves by, the difference of two would move by twice: they have half the rate.
        twin.rate, twin.beta, twin.floor = 0.2 * weight, 0.8**weight, 0.3 / 2
        before = model.predict_proba(storage(X[t : t + 1]))[0]
        if K == 2:
            keep = [W.copy() for W in twin.heads]
            scores = twin.step(X[t], int(y[t]))
            twin.heads = [old + (new - old) / 2 for old, new in zip(keep, twin.heads, strict=True)]
        else:
            scores = twin.step(X[t], int(y[t]))
        np.testing.assert_allclose(before, scores, rtol=1e-9)
        model.partial_fit(storage(X[t : t + 1]), y[t : t + 1], sample_weight=[weight])
        np.testing.assert_allclose(model.shares_, twin.alpha, rtol=1e-9)


# --- figures ---


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "name", "error"),
    [
        *((OnlineMLPClassifier(C=C), "elec2", 7.7) for C in (0.1, 0.2, 0.4)),
        *((OnlineMLPClassifier(C=C), "covtype", 9.5) for C in (0.1, 0.2, 0.4)),
        *((OnlineMLPClassifier(C=C), "ijcnn1", 2.45) for C in (0.1, 0.2, 0.4)),
        (HedgeBackprop(), "elec2", 9.25),
        (HedgeBackprop(), "covtype", 9.5),
        (HedgeBackprop(), "ijcnn1", 2.2),
        (OnlineMLPClassifier(activation="relu", C=0.05), "mnist", 6.7),
        (OnlineMLPClassifier(activation="relu", step="sgd"), "mnist", 6.7),
        (HedgeBackprop(floor=1.0), "mnist", 6.7),
    ],
    ids=str,
)
def test_one_pass(model: Any, name: str, error: float) -> None:
    """Each row is predicted first, by features that are standardised by the rows before it; pixels stay as they are."""
    most = 60_000 if name == "mnist" else 50_000
    X, y = dataset(name).X[:most], dataset(name).y[:most]
    X, classes = (X.toarray() if sp.issparse(X) else X).astype(np.float32), np.unique(y)
    model = clone(model).set_params(random_state=0)
    learner = model if name == "mnist" else pipeline(StandardScaler(), model)
    scores = learner.test_then_train(X, y, classes=classes)
    predicted = classes[scores.argmax(axis=1) if scores.ndim > 1 else (scores >= 0).astype(int)]
    assert 100 * np.mean(predicted != y) <= error
