"""Every kernel against its plain NumPy twin: scores before learning, and the weights and the covariance in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import naive
import onepass
from onepass.base import Classifier, Regressor, state
from onepass.kernel.model import KernelModel

pytestmark = pytest.mark.plain

N, D, H = 100, 7, 6
TWINS: dict[str, Any] = {
    "ALMA": naive.ALMA,
    "AROWClassifier": naive.AROW,
    "AROWRegressor": naive.AROWRegressor,
    "Adaline": naive.Adaline,
    "AdalineRegressor": naive.Adaline,
    "CWClassifier": naive.CW,
    "IELLIPClassifier": naive.IELLIP,
    "MIRA": naive.MIRA,
    "NAROWClassifier": naive.NAROW,
    "NHERDClassifier": naive.NHERD,
    "OGDClassifier": naive.DescentClassifier,
    "OGDRegressor": naive.DescentRegressor,
    "PAClassifier": naive.PA,
    "PAMOClassifier": naive.PAMOClassifier,
    "PAMORegressor": naive.PAMORegressor,
    "PARegressor": naive.PARegressor,
    "Perceptron": naive.Perceptron,
    "ROMMA": naive.ROMMA,
    "SCWClassifier": naive.SCW,
    "SecondOrderPerceptron": naive.SOP,
    "ShiftingPerceptron": naive.Shifting,
}
STORAGE = {"dense": np.asarray, "csr": sp.csr_array}
every_storage = pytest.mark.parametrize("storage", STORAGE)


@dataclass(frozen=True)
class Case:
    name: str
    task: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, self.task, *(f"{k}={v}" for k, v in self.parameters.items())])

    @property
    def embeds(self) -> bool:
        return "PAMO" in self.name

    @property
    def sized(self) -> dict[str, Any]:
        return {"dimensions": H} if self.embeds else {}

    @property
    def stride(self) -> int:
        """Weights that change by the verbs for weights are averaged after every example, all others after every sixteenth."""
        return 16 if self.embeds or self.name == "ALMA" else 1

    def twin(self) -> Any:
        return TWINS[self.name](**self.sized, **self.parameters)

    def model(self, **more: Any) -> Any:
        seed = {"random_state": 3} if self.embeds else {}
        plain = {"scale_target": False} if self.task == "regression" else {}  # see base/test_targets.py
        return onepass.learners()[self.name](**self.sized, **self.parameters, **seed, **plain, **more)


def cases(name: str, *tasks: str, **parameters: Any) -> list[Case]:
    """A learner in these tasks, or in all that it has; one of the second order with both covariances."""
    tasks = tasks or (("regression",) if "Regressor" in name else ("binary", "multiclass"))
    found = [Case(name, task, parameters) for task in tasks]
    if hasattr(TWINS[name], "covariance"):
        found += [Case(name, task, {**parameters, "covariance": "full"}) for task in tasks]
    return found


DEFAULTS = [case for name in TWINS for case in cases(name)]
OPTIONS = [
    *cases("ALMA", p=4),
    *cases("ALMA", p=2.5, alpha=0.6, C=0.7),
    *cases("ALMA", normalize=False),
    *cases("AROWClassifier", r=0.2),
    *cases("AROWClassifier", "multiclass", multiclass="libol", r=3.0),
    *cases("AROWRegressor", r=0.2),
    *cases("Adaline", rate=0.05),
    *cases("CWClassifier", confidence=0.9),
    *cases("CWClassifier", form="variance", confidence=0.8),
    *cases("CWClassifier", "multiclass", multiclass="libol"),
    *cases("IELLIPClassifier", b=0.9, c=0.3),
    *cases("NAROWClassifier", b=0.3),
    *cases("NAROWClassifier", b=4.0),
    *cases("NHERDClassifier", C=0.1),
    *(case for loss in ("zero_one", "squared_hinge", "log") for case in cases("OGDClassifier", loss=loss, adagrad=False)),
    *(case for loss in ("hinge", "log") for case in cases("OGDClassifier", loss=loss, rate=1.0)),
    *cases("OGDClassifier", power=0.0, rate=0.1, adagrad=False),
    *(
        case
        for loss in ("absolute", "epsilon_insensitive")
        for case in cases("OGDRegressor", loss=loss, rate=0.5, adagrad=False)
    ),
    *cases("OGDRegressor", adagrad=False),
    *cases("OGDRegressor", rate=0.3),
    *(case for v in ("hard", "I", "II") for case in cases("PAClassifier", variant=v, C=0.3)),
    *(case for v in ("hard", "I", "II") for case in cases("PARegressor", variant=v, C=0.3, epsilon=0.2)),
    *(
        case
        for name in ("PAMOClassifier", "PAMORegressor")
        for variant in ("I", "II")
        for select in ("largest", "nearest")
        for case in cases(name, variant=variant, select=select)
    ),
    *cases("PAMOClassifier", "binary", C=0.5, C_r=0.05, alpha=0.6, epsilon=0.03),
    *cases("PAMOClassifier", "multiclass", C=0.02, C_r=0.5, alpha=0.3, epsilon=0.03, variant="II"),
    *cases("PAMORegressor", C=0.5, C_r=0.05, alpha=0.6, epsilon=0.3),
    *cases("Perceptron", margin=0.5, rate=0.3, shrink=0.9),
    *(
        case
        for multiclass in ("uniform", "proportional")
        for margin in (0.0, 0.7)
        for case in cases("Perceptron", "multiclass", multiclass=multiclass, margin=margin)
    ),
    *cases("ROMMA", aggressive=True),
    *cases("SCWClassifier", C=0.1, confidence=0.9),
    *cases("SCWClassifier", variant="II", C=0.2, confidence=0.9),
    *(case for v in ("I", "II") for case in cases("SCWClassifier", "multiclass", variant=v, multiclass="libol")),
    *cases("SecondOrderPerceptron", a=0.3),
    *cases("SecondOrderPerceptron", correlate="all", a=3.0),
    *cases("ShiftingPerceptron", lam=3.0),
]
# One learner of each kind of state, for what depends on that and not on the rule: there are many more to compile than to run.
ADDITIVE, SCALED, EMBEDDING = Case("PAClassifier", "binary"), Case("ROMMA", "binary"), Case("PAMOClassifier", "binary")
DIAGONAL, FULL = cases("AROWClassifier", "binary")
DUAL = Case("NAROWClassifier", "binary", {"covariance": "full"})
KINDS = ["PAClassifier", "ROMMA", "ALMA", "AROWClassifier", "NAROWClassifier", "PAMOClassifier"]


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


def started(model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Make a model's first weights, through a row of weight zero, and give a copy of them."""
    classes = {} if y.dtype.kind == "f" else {"classes": np.unique(y)}
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0], **classes)
    return {name: model._state.arrays[name].astype(float) for name in model._state.of_rules()}


def first_of(case: Case, model: Any, X: Any, y: Any) -> dict[str, Any]:
    """The arrays that both start from: those that the model has drawn, or zeros."""
    drawn = started(model, X, y)
    return drawn if case.embeds else case.twin().first(np.zeros((4, D + 1) if case.task == "multiclass" else D + 1))


def compare(case: Case, model: Any, now: Any, predicting: Any, tolerance: float = 1e-9) -> None:
    """What can be seen of the model against its twin's arrays: those at the end, and those that predict."""
    if case.embeds:
        seen, expected = {name: model._averaged(model._state, name) for name in model._state.of_rules()}, predicting
    else:
        seen = {"w": np.column_stack([model.intercept_, np.atleast_2d(model.coef_)]).squeeze()}
        expected = {"w": case.twin().weights(predicting)}
    if hasattr(model, "covariance_"):
        Sigma, seen["Sigma"] = case.twin().spread(now), model.covariance_
        expected["Sigma"] = Sigma if model.covariance == "full" else np.diag(Sigma)
        if case.name == "IELLIPClassifier":  # up to a factor
            seen["Sigma"], expected["Sigma"] = (array / array.flat[0] for array in (seen["Sigma"], expected["Sigma"]))
    for name, array in seen.items():
        np.testing.assert_allclose(array, expected[name], rtol=tolerance, atol=tolerance, err_msg=name)


def agree(case: Case, X: Any, y: Any, codes: Any, tolerance: float = 1e-9, **more: Any) -> Any:
    """Run the model and its twin, and compare."""
    weights = more.pop("weights", None)
    model = case.model(**more)
    first = first_of(case, model, X, y)
    watch = naive.pocket(first) if more.get("pocket") else None
    if more.get("average"):
        watch = naive.averages(more["average"], case.stride)
    scores = model.test_then_train(X, y, sample_weight=weights)
    dense = (X.toarray() if sp.issparse(X) else X).astype(float)
    expected, now, predicting = naive.run(case.twin(), first, dense, codes, weights, more.get("fit_intercept", True), watch)
    np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)
    compare(case, model, now, predicting, tolerance)
    assert model.updates_ > len(y) // 10, "the data must make the learner move"
    return model, scores


# Their twins are in test_fourier.py, test_local.py, test_elm.py, test_backprop.py, test_prank.py and test_committee.py.
COMMITTEES = {"Auto", "AutoRegressor", "Committee", "CommitteeRegressor"}
NETWORKS = {"HedgeBackprop", "OnlineMLPClassifier", "OnlineMLPRegressor"}
ELSEWHERE = {"FOGD", "LocalPA", "OSELMClassifier", "OSELMRegressor", "PRank", *NETWORKS, *COMMITTEES}


def test_every_learner_has_a_twin() -> None:
    """Those of kernels are in test_kernel_twins.py."""
    learners = onepass.learners().items()
    assert set(TWINS) | ELSEWHERE == {
        name for name, cls in learners if issubclass(cls, Classifier | Regressor) and not issubclass(cls, KernelModel)
    }


def compiled(case: Case, storage: str) -> bool:
    """The rules of the second order share what they do with a covariance: two of them stand for all with a full one, in the storage
    that is not each task's own."""
    whole = case.parameters.get("covariance") == "full"
    return not whole or case.name in KINDS or storage == {"multiclass": "csr"}.get(case.task, "dense")


@pytest.mark.parametrize(
    ("case", "storage"),
    [(case, storage) for case in [*DEFAULTS, *OPTIONS] for storage in STORAGE if compiled(case, storage)],
    ids=str,
)
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "plain"])
def test_kernel_is_its_twin(case: Case, storage: str, fit_intercept: bool) -> None:
    X, y, codes = problem(case.task)
    agree(case, STORAGE[storage](X), y, codes, fit_intercept=fit_intercept)


@pytest.mark.parametrize(
    "case",
    [
        *(case for case in DEFAULTS if case.task != "multiclass" and "covariance" not in case.parameters),
        *(case for name in KINDS for case in cases(name, "multiclass") if "covariance" not in case.parameters),
        *cases("ALMA", "binary", p=4),
        *cases("OGDClassifier", "binary", adagrad=False),
        *cases("AROWRegressor", covariance="full"),
        FULL,
        DUAL,
    ],
    ids=str,
)
@pytest.mark.parametrize("average", [True, "uniform", 25.0], ids=str)
def test_average_is_its_formula(case: Case, average: Any) -> None:
    X, y, codes = problem(case.task)
    agree(case, X if case.task == "binary" else sp.csr_array(X), y, codes, average=average)


@pytest.mark.parametrize("case", DEFAULTS, ids=str)
def test_weight_multiplies_the_loss_term(case: Case) -> None:
    X, y, codes = problem(case.task)
    choice = [0.0, 1.0] if case.model()._weights_are_switches() else [0.0, 0.25, 1.0, 3.0]
    weights = np.random.default_rng(1).choice(choice, size=N)
    agree(case, sp.csr_array(X) if case.task == "multiclass" else X, y, codes, weights=weights)


@pytest.mark.parametrize("case", [ADDITIVE, SCALED, DIAGONAL, FULL, EMBEDDING], ids=str)
def test_an_average_counts_no_example_of_weight_zero(case: Case) -> None:
    X, y, codes = problem(case.task)
    agree(case, X, y, codes, average=True, weights=np.random.default_rng(1).choice([0.0, 1.0], size=N))


@pytest.mark.parametrize("case", [ADDITIVE, SCALED, DIAGONAL, Case("PARegressor", "regression")], ids=str)
def test_uniform_average_is_the_mean_of_all_weights(case: Case) -> None:
    X, y, codes = problem(case.task)
    model = case.model(average="uniform")
    m, history = first_of(case, model, X, y), []
    model.partial_fit(X, y)
    for x, code in zip(naive.rows(X, True), codes, strict=True):
        m = case.twin().learn(m, x, code, 1.0)
        history.append(m["w"])
    compare(case, model, m, {"w": np.mean(history, axis=0)})


@pytest.mark.parametrize("task", [pytest.param("binary", marks=pytest.mark.compiled), "multiclass"])
@every_storage
@pytest.mark.parametrize("shrink", [1.0, 0.9])
def test_pocket(task: str, storage: str, shrink: float) -> None:
    X, y, codes = problem(task)
    case = Case("Perceptron", task, {"shrink": shrink})
    agree(case, STORAGE[storage](X), y, codes, pocket=True)


@pytest.mark.parametrize(
    "case",
    [
        *cases("Perceptron", rate=0.3, margin=0.1, shrink=0.9),
        *cases("Perceptron", "multiclass", multiclass="proportional"),
        *cases("Adaline", rate=0.003),
        *cases("AdalineRegressor", rate=0.003),
    ],
    ids=str,
)
def test_batch_takes_the_steps_of_a_pass_together(case: Case) -> None:
    X, y, codes = problem(case.task)
    model = case.model(mode="batch", max_iter=7).fit(X, y)
    w = naive.batch(case.twin(), first_of(case, case.model(), X, y)["w"], X, codes, passes=7)
    compare(case, model, {}, {"w": w})
    assert model.n_iter_ == 7


@pytest.mark.parametrize("case", [*cases("Perceptron"), *cases("AdalineRegressor")], ids=str)
def test_incremental_shuffles_each_pass(case: Case) -> None:
    """In an order that is a permutation, drawn anew each pass: with it, the twin gets the same weights."""
    X, y, codes = problem(case.task)
    model = case.model(mode="incremental", max_iter=3, random_state=0).fit(X, y)
    orders = [np.random.default_rng([model._state.seed, k]).permutation(N) for k in range(3)]
    m = first_of(case, case.model(), X, y)
    for order in orders:
        _, m, _ = naive.run(case.twin(), m, X[order], codes[order])
    compare(case, model, m, m)


@pytest.mark.parametrize("case", [ADDITIVE, EMBEDDING], ids=str)
def test_wide_indices(case: Case) -> None:
    X, y, codes = problem(case.task)
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    agree(case, X, y, codes)


@pytest.mark.parametrize(
    ("case", "average"),
    [(ADDITIVE, None), (ADDITIVE, True), (SCALED, True), (DIAGONAL, None), (FULL, None), (EMBEDDING, None)],
    ids=str,
)
@every_storage
def test_single_precision(case: Case, storage: str, average: Any) -> None:
    X, y, codes = problem(case.task)
    model, scores = agree(case, STORAGE[storage](X.astype(np.float32)), y, codes, tolerance=2e-4, average=average)
    assert scores.dtype == np.float32
    assert model.decision_function(X).dtype == np.float32
    assert all(model._state.arrays[name].dtype == np.float32 for name, role in model._state.fields.items() if not role.exact)


@pytest.mark.compiled
@pytest.mark.parametrize("hyperplanes", [1, 2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "plain"])
def test_first_hyperplanes_are_orthonormal(hyperplanes: int, fit_intercept: bool) -> None:
    X, y, _ = problem("binary")
    sizes = {"dimensions": H, "hyperplanes": hyperplanes, "fit_intercept": fit_intercept, "random_state": 3}
    model = onepass.PAMOClassifier(**sizes)
    U = started(model, X, y)["U"]
    drawn = 0.2 * state.drawn(model._state.seed, 0, 0, D + 1, H * hyperplanes) - 0.1
    if not fit_intercept:
        drawn[0] = 0
    assert np.abs(drawn).max() <= 0.1
    np.testing.assert_allclose(U, naive.orthonormal(drawn, H), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", [ADDITIVE, DIAGONAL, EMBEDDING, *cases("ALMA", "binary", p=4)], ids=str)
def test_one_dict_at_a_time_is_the_twin(case: Case) -> None:
    """A growing model: known labels from the start, and all features in the first example."""
    X, y, codes = problem("binary")
    X[0] = 1.0
    model = case.model(classes=[False, True])
    first = first_of(case, case.model(classes=[False, True]), X, y)
    for row, label in zip(X, y, strict=True):
        model.learn_one({f"f{j}": value for j, value in enumerate(row) if value != 0}, label)
    _, now, _ = naive.run(case.twin(), first, X, codes)
    compare(case, model, now, now)
