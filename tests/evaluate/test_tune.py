"""Parameter selection: LIBOL's protocol and cross-validation, side by side in threads."""

from __future__ import annotations

import csv
import json
import math
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import metrics as reference
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

import onepass
from onepass import (
    ALMA,
    MIRA,
    ROMMA,
    AROWClassifier,
    CWClassifier,
    DivergedError,
    IELLIPClassifier,
    NAROWClassifier,
    NHERDClassifier,
    OGDClassifier,
    OGDRegressor,
    PAClassifier,
    PAMOClassifier,
    PARegressor,
    Perceptron,
    SCWClassifier,
    SecondOrderPerceptron,
    StandardScaler,
    pipeline,
)
from onepass.evaluate import compare, standard_grid, tune, tuning

CS = [0.001, 0.01, 0.1, 1.0]


def blobs(n: int = 300, classes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    return random.standard_normal((n, 4)) + np.eye(classes, 4)[y], y


def online(model: Any, X: Any, y: Any, seed: int = 0) -> float:
    """The mistake rate of one pass over LIBOL's permutation, by hand."""
    order = np.random.RandomState(seed).permutation(len(y))
    scores = model.test_then_train(X[order], y[order], classes=np.unique(y))
    return float(np.mean(scores.argmax(axis=1) != y[order]))


LARGEST = 80.0  # of the answers of `Lost`


def last_best(rates: list[float]) -> int:
    return max(i for i, rate in enumerate(rates) if rate == min(rates))


def same(one: Any, other: Any) -> bool:
    return one.to_dict() == other.to_dict()


# --- LIBOL's protocol ---


@pytest.mark.parametrize("seed", [0, 7])
def test_all_values_are_tried_on_one_permutation(seed: int) -> None:
    X, y = blobs()
    result = tune(PAClassifier(), {"C": CS}, (X, y), random_state=seed, beyond=0)
    expected = [online(PAClassifier(C=C), X, y, seed) for C in CS]
    assert [params for params, _ in result.candidates] == [{"C": C} for C in CS]
    assert [score for _, score in result.candidates] == pytest.approx(expected)
    assert result.best_params == {"C": CS[last_best(expected)]}
    assert result.best_score == pytest.approx(min(expected))
    assert (result.metric, result.n) == ("mistake_rate", 300)


def test_parameters_are_searched_one_after_another() -> None:
    X, y = blobs()
    grid = {"C": CS, "variant": ["I", "II"], "average": [None, True]}
    result = tune(PAClassifier(C=5.0, variant="II"), grid, (X, y), beyond=0)
    C = CS[last_best([online(PAClassifier(C=C, variant="II"), X, y) for C in CS])]
    assert [params for params, _ in result.candidates[4:6]] == [{"C": C, "variant": "I"}, {"C": C, "variant": "II"}]
    rates = [online(PAClassifier(C=C, variant=variant), X, y) for variant in ("I", "II")]
    assert [score for _, score in result.candidates[4:6]] == pytest.approx(rates)
    variant = ["I", "II"][last_best(rates)]
    assert [params for params, _ in result.candidates[6:]] == [
        {"C": C, "variant": variant, "average": None},
        {"C": C, "variant": variant, "average": True},
    ]
    assert result.best == 6 + last_best([score for _, score in result.candidates[6:]])


def test_the_last_wins_among_equals_in_one_pass_and_the_first_in_cross_validation() -> None:
    X, y = blobs()
    grid = {"C": [4.0, 1.0, 2.0]}  # without effect on the variant "hard"
    assert tune(PAClassifier(variant="hard"), grid, (X, y)).best_params == {"C": 2.0}
    assert tune(PAClassifier(variant="hard"), grid, (X, y), protocol="cv").best_params == {"C": 4.0}


def test_a_metric_may_want_to_be_high() -> None:
    X, y = blobs()
    by_rate, by_accuracy = (tune(PAClassifier(), {"C": CS}, (X, y), metric=m) for m in ("mistake_rate", "accuracy"))
    assert by_rate.best_params == by_accuracy.best_params
    assert by_accuracy.best_score == pytest.approx(1 - by_rate.best_score)


def test_the_learner_that_won_is_fresh_and_the_one_given_is_left_alone() -> None:
    X, y = blobs()
    model = pipeline(StandardScaler(), PAClassifier(C=3.0))
    result = tune(model, {"paclassifier__C": CS}, (X, y))
    assert result.learner.get_params()["paclassifier__C"] == result.best_params["paclassifier__C"]
    assert model.get_params()["paclassifier__C"] == 3.0
    assert not hasattr(model, "t_")
    assert not hasattr(result.learner, "t_")


# --- cross-validation ---


@pytest.mark.parametrize("folds", [3, 5])
def test_cross_validation_is_that_of_scikit_learn_on_permuted_data(folds: int) -> None:
    X, y = blobs()
    X, y = X[np.argsort(y)], np.sort(y)  # sorted by label: without a permutation nothing could be learned
    result = tune(PAClassifier(), {"C": CS}, (X, y), protocol="cv", folds=folds, metric="f1")
    order = np.random.RandomState(0).permutation(len(y))
    for params, score in result.candidates:
        predicted = cross_val_predict(PAClassifier(**params), X[order], y[order], cv=StratifiedKFold(folds))
        assert score == pytest.approx(reference.f1_score(y[order], predicted, average="macro"))


def test_cross_validation_of_regressors() -> None:
    X, y = blobs()
    target = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * y
    result = tune(pipeline(StandardScaler(), PARegressor()), {"paregressor__C": CS}, (X, target), protocol="cv")
    order = np.random.RandomState(0).permutation(len(y))
    for params, score in result.candidates:
        model = pipeline(StandardScaler(), PARegressor()).set_params(**params)
        predicted = cross_val_predict(model, X[order], target[order], cv=KFold(5))
        assert score == pytest.approx(reference.mean_absolute_error(target[order], predicted))


def test_cross_validation_tries_all_combinations() -> None:
    grid = {"variant": ["I", "II"], "C": CS}
    result = tune(PAClassifier(), grid, blobs(), protocol="cv", beyond=0)
    assert sorted((params["variant"], params["C"]) for params, _ in result.candidates) == sorted(
        (variant, C) for variant in grid["variant"] for C in CS
    )
    assert result.best_score == min(score for _, score in result.candidates)
    several = tune(PAClassifier(), [{"C": CS}, {"variant": ["hard"]}], blobs(), protocol="cv", beyond=0)
    assert [params for params, _ in several.candidates] == [*({"C": C} for C in CS), {"variant": "hard"}]


def test_log_loss_is_that_of_the_held_out_probabilities() -> None:
    X, y = blobs(classes=2)
    models = {"PA": PAClassifier(calibrate=True)}
    result = tune(models["PA"], {"C": [0.01, 1.0]}, (X, y), protocol="cv", metric="log_loss")
    order = np.random.RandomState(0).permutation(len(y))
    for params, score in result.candidates:
        model = PAClassifier(calibrate=True, **params)
        chances = cross_val_predict(model, X[order], y[order], cv=StratifiedKFold(5), method="predict_proba")
        assert score == pytest.approx(reference.log_loss(y[order], chances))
    tested = compare(models, (X, y), 1, test=(X, y), metric="log_loss")
    order = np.random.RandomState(np.random.RandomState(0).randint(2**31 - 1, size=1)[0]).permutation(len(y))
    model = PAClassifier(calibrate=True).partial_fit(X[order], y[order], classes=[0, 1])
    assert tested.mean("PA", "test") == pytest.approx(reference.log_loss(y, model.predict_proba(X)))
    with pytest.raises(ValueError, match="needs probabilities"):
        tune(PAClassifier(), {"C": CS}, (X, y), protocol="cv", metric="log_loss")


def test_a_label_that_was_never_learned_is_a_mistake() -> None:
    X, y = blobs(classes=2)
    result = compare({"PA": PAClassifier()}, (X, y), 1, test=(X[:4], np.array([2, 2, 2, 2])))
    assert result.mean("PA", "test") == 1.0
    unseen = compare({"PA": PAClassifier(calibrate=True)}, (X, y), 1, test=(X[:1], np.array([2])), metric="log_loss")
    assert unseen.mean("PA", "test") == pytest.approx(-math.log(1e-15))


# --- threads ---


@pytest.mark.parametrize("protocol", ["libol", "cv"])
def test_the_result_does_not_depend_on_the_number_of_threads(protocol: str) -> None:
    X, y = blobs()
    grid = {"C": CS, "variant": ["I", "II"]}
    model = PAMOClassifier(dimensions=4, random_state=0)
    one, *others = (tune(model, grid, (sp.csr_array(X), y), protocol=protocol, jobs=jobs) for jobs in (1, 2, 7, None))
    assert all(same(one, other) for other in others)


class Meeting(ClassifierMixin, BaseEstimator):
    """Learns when another one does, or not at all."""

    barrier = threading.Barrier(2)

    def __init__(self, place: int = 0) -> None:
        self.place = place

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Meeting:
        self.barrier.wait(60)
        self.classes_, self.t_ = np.array([0, 1]), 1
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), int)


def test_candidates_run_side_by_side() -> None:
    result = tune(Meeting(), {"place": [1, 2]}, (np.zeros((2, 1)), np.array([0, 1])), jobs=2, beyond=0)
    assert len(result.candidates) == 2


def test_the_permuted_data_is_made_once_and_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    made, seen = [], []
    take, prequential = tuning.take, tuning.prequential
    monkeypatch.setattr(tuning, "take", lambda X, chosen: made.append(take(X, chosen)) or made[-1])
    monkeypatch.setattr(
        tuning, "prequential", lambda model, data, *a, **k: seen.append(data[0]) or prequential(model, data, *a, **k)
    )
    tune(PAClassifier(), {"C": CS, "variant": ["I", "II"]}, blobs(), beyond=0)
    assert len(made) == 1
    assert len(seen) == 6
    assert all(X is made[0] for X in seen)
    tune(PAClassifier(), {"C": CS}, blobs(), protocol="cv", folds=3, beyond=0)
    assert len(made) == 1 + 2 * 3  # what is learned from and what is asked, for each fold


@pytest.mark.parametrize(("protocol", "runs"), [("libol", 6), ("cv", 24)])
def test_the_callback_hears_of_every_run(protocol: str, runs: int) -> None:
    heard: list[tuple[int, int]] = []
    tune(
        PAClassifier(),
        {"C": CS, "variant": ["I", "II"]},
        blobs(),
        protocol=protocol,
        folds=3,
        beyond=0,
        callback=lambda done, total: heard.append((done, total)),
    )
    assert heard == [(i, runs) for i in range(1, runs + 1)]


# --- beyond the grid ---


@pytest.mark.parametrize("protocol", ["libol", "stream", "cv"])
@pytest.mark.parametrize(
    ("target", "grid", "further", "at_edge"),
    [
        (1.0, [4.0, 8.0], [2.0, 1.0, 0.5], []),  # down until it gets worse again
        (20.0, [1.0, 2.0, 4.0], [8.0, 16.0, 32.0], []),  # up
        (2.0, [1.0, 2.0, 4.0], [], []),  # inside from the start
        (1e-9, [1.0, 10.0], [0.1, 0.01, 1e-3, 1e-4, 1e-5], ["answer"]),  # as far as it may
        (6.5, [1.0, 1.5, 2.25], [3.375, 5.0625, 7.59375, 11.390625], []),  # by the factor at that edge
        (100.0, [LARGEST / 4, LARGEST / 2], [LARGEST], ["answer"]),  # beyond which the learner refuses
    ],
)
def test_the_search_goes_on_until_the_best_is_inside(
    protocol: str, target: float, grid: list[float], further: list[float], at_edge: list[str]
) -> None:
    """The score of a candidate is how far it is from the target."""
    data = (np.zeros((20, 1)), np.full(20, target))
    result = tune(Lost(), {"answer": grid}, data, protocol=protocol, beyond=5)
    assert [params["answer"] for params, _ in result.candidates] == [*grid, *further]
    assert result.best_score == pytest.approx(min(abs(params["answer"] - target) for params, _ in result.candidates))
    assert (result.beyond, result.at_edge) == (["answer"] if further else [], at_edge)
    assert ("beyond the grid: answer" in result.table().caption) == bool(further)
    assert ("best at the edge: answer" in result.table().caption) == bool(at_edge)
    assert result.to_dict()["at_edge"] == at_edge
    still = tune(Lost(), {"answer": grid}, data, protocol=protocol, beyond=0)
    assert still.candidates == result.candidates[: len(grid)]
    assert still.at_edge == (["answer"] if further else [])


def test_later_parameters_are_searched_from_beyond_the_grid() -> None:
    data = (np.zeros((20, 1)), np.ones(20))
    result = tune(Lost(), {"answer": [4.0, 8.0], "fails": [False]}, data)
    assert result.candidates[-1].params == {"answer": 1.0, "fails": False}


@pytest.mark.parametrize(
    ("grid", "at_edge"),
    [({"C": [1.0]}, []), ({"variant": ["I", "II"]}, []), ({"max_iter": [2, 4]}, ["max_iter"]), ({"C": [1.0, 1.0]}, [])],
)
def test_what_has_no_edge_or_no_beyond_stays_as_it_is(grid: Any, at_edge: list[str]) -> None:
    result = tune(PAClassifier(variant="hard"), grid, blobs())
    assert len(result.candidates) == len(*grid.values())
    assert (result.beyond, result.at_edge) == ([], at_edge)


# --- candidates that lose ---


DIVERGING = OGDRegressor(power=0.0, adagrad=False)


@pytest.mark.parametrize("protocol", ["libol", "cv"])
def test_a_candidate_that_diverges_loses(protocol: str) -> None:
    X, _ = blobs()
    data = (X, X @ [1.0, -2.0, 0.5, 0.0])
    result = tune(DIVERGING, {"rate": [0.01, 1e9, 0.001]}, data, protocol=protocol)
    assert np.isnan([score for _, score in result.candidates]).tolist() == [False, True, False]
    assert result.best_params == {"rate": 0.01}
    assert "diverged" in str(result)
    assert json.loads(json.dumps(result.to_dict()))["candidates"][1] == {"params": {"rate": 1e9}, "score": None}


@pytest.mark.parametrize("protocol", ["libol", "cv"])
def test_it_is_an_error_if_all_diverge(protocol: str) -> None:
    X, _ = blobs()
    data = (X, X @ [1.0, -2.0, 0.5, 0.0])
    with pytest.raises(DivergedError, match=r"All candidates diverged: rate=1000000000.0; rate=10000000000.0\. Scale"):
        tune(DIVERGING, {"rate": [1e9, 1e10]}, data, protocol=protocol)


class Lost(RegressorMixin, BaseEstimator):
    """Predicts nothing useful, or fails."""

    def __init__(self, answer: float = 0.0, fails: bool = False) -> None:
        self.answer, self.fails = answer, fails

    def partial_fit(self, X: Any, y: Any) -> Lost:
        if self.fails:
            raise RuntimeError("out of order")
        if self.answer > LARGEST:
            raise ValueError("too large")
        self.t_ = 1
        return self

    fit = partial_fit

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.answer)


@pytest.mark.parametrize("protocol", ["libol", "cv"])
def test_a_candidate_whose_metric_is_not_a_number_loses(protocol: str) -> None:
    data = (np.zeros((20, 1)), np.ones(20))
    assert tune(Lost(), {"answer": [5.0, math.nan]}, data, protocol=protocol).best_params == {"answer": 5.0}


@pytest.mark.parametrize("protocol", ["libol", "cv"])
def test_any_other_error_names_the_candidate(protocol: str) -> None:
    with pytest.raises(RuntimeError, match="out of order") as caught:
        tune(Lost(), {"fails": [False, True]}, (np.zeros((20, 1)), np.ones(20)), protocol=protocol)
    assert caught.value.__notes__ == ["(while fails=True was tried)"]


# --- what is refused ---


@pytest.mark.parametrize(
    ("grid", "options", "message"),
    [
        ({"C": CS, "D": [1]}, {}, "PAClassifier has no parameter 'D'. It has: C, "),
        ([{"C": CS}, {"D": [1]}], {"protocol": "cv"}, "has no parameter 'D'"),
        ({"C": [1.0, -1.0]}, {}, "The 'C' parameter of PAClassifier must be"),
        ({"C": []}, {}, "non-empty"),
        ({"C": 1.0}, {}, "list"),
        ({}, {}, "nothing to tune"),
        ([], {"protocol": "cv"}, "nothing to tune"),
        ([{"C": CS}], {}, "lists of dicts are for the protocol 'cv'"),
        ({"C": CS}, {"protocol": "loo"}, "must be 'libol', 'stream' or 'cv', got 'loo'"),
        ({"C": CS}, {"folds": 1}, "`folds` must be at least 2, got 1"),
        ({"C": CS}, {"jobs": 0}, "`jobs` must be at least 1, got 0"),
        ({"C": CS}, {"metric": "mae"}, "no metric 'mae' for classification"),
    ],
)
def test_what_can_not_be_tuned_is_refused_before_anything_runs(grid: Any, options: Any, message: str) -> None:
    def callback(done: int, total: int) -> None:
        raise AssertionError("it ran")

    with pytest.raises((ValueError, TypeError), match=message):
        tune(PAClassifier(), grid, blobs(), callback=callback, **options)


def test_parameters_of_all_steps_are_checked() -> None:
    model = pipeline(StandardScaler(), PAClassifier())
    with pytest.raises(ValueError, match="Pipeline has no parameter 'C'"):
        tune(model, {"C": CS}, blobs())
    with pytest.raises(ValueError, match="The 'variant' parameter of PAClassifier must be"):
        tune(model, {"paclassifier__variant": ["III"]}, blobs())


# --- kinds of models and data ---


def test_models_of_scikit_learn_take_part() -> None:
    model = SGDClassifier(random_state=0)
    for protocol in ("libol", "cv"):
        result = tune(model, {"alpha": [1e-4, 10.0]}, blobs(60), protocol=protocol)
        assert result.best_params == min(result.candidates, key=lambda candidate: candidate.score).params
    assert standard_grid(model) == {}


@pytest.mark.parametrize("protocol", ["libol", "cv"])
def test_tables_and_labels_of_all_kinds_give_the_same(protocol: str) -> None:
    X, y = blobs(90)
    names = np.array(["a", "b", "c"])[y]
    expected = tune(PAClassifier(), {"C": CS}, (X, y), protocol=protocol)
    for table in (X.tolist(), sp.csr_array(X), pd.DataFrame(X, columns=list("pqrs"))):
        for labels in (names, names.tolist(), pd.Series(names, dtype=object)):
            assert same(tune(PAClassifier(), {"C": CS}, (table, labels), protocol=protocol), expected)


# --- what is usually tuned ---

POWERS = [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
SHARES = [0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (Perceptron(), {}),
        (ROMMA(), {}),
        (ROMMA(aggressive=True), {}),
        (PAClassifier(variant="hard"), {}),
        (SecondOrderPerceptron(), {}),
        (MIRA(), {}),
        (PAClassifier(variant="I"), {"C": POWERS}),
        (PAClassifier(variant="II"), {"C": POWERS}),
        (PARegressor(), {"C": POWERS}),
        (PAMOClassifier(), {"C": POWERS}),
        (OGDClassifier(), {"rate": POWERS}),
        (AROWClassifier(), {"r": POWERS}),
        (NAROWClassifier(), {"b": POWERS}),
        (NHERDClassifier(), {"C": POWERS}),
        (ALMA(), {"C": POWERS, "alpha": SHARES, "p": [2, 4, 6, 8, 10]}),
        (CWClassifier(), {"confidence": SHARES}),
        (SCWClassifier(), {"C": POWERS, "confidence": SHARES}),
        (IELLIPClassifier(), {"b": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}),
    ],
)
def test_standard_grids_are_those_of_libol(model: Any, grid: dict[str, list[float]]) -> None:
    found = standard_grid(model)
    assert list(found) == list(grid)  # the order is that of the search
    for name, values in grid.items():
        assert found[name] == pytest.approx(values)


@pytest.mark.parametrize("name", onepass.learners())
def test_standard_grids_can_be_set(name: str) -> None:
    for parameter, values in standard_grid(onepass.learners()[name]()).items():
        for value in values:
            model = onepass.learners()[name](**{parameter: value})
            model._check_parameters()
            assert parameter in model.get_params()


# --- tables ---


def test_results_as_table_html_and_json() -> None:
    result = tune(pipeline(StandardScaler(), PAClassifier()), {"paclassifier__C": np.array(CS)}, blobs(), beyond=0)
    table = result.table()
    assert [column.header for column in table.columns] == ["C", "mistake rate %"]
    assert table.row_count == 4
    assert table.caption == "300 examples, one permutation"
    assert tune(PAClassifier(), {"C": [1.0]}, blobs(), protocol="cv").table().caption == "300 examples, 5-fold cross-validation"
    assert "mistake rate %" in str(result)
    bold = f"<tr><td><b>{result.best_params['paclassifier__C']}</b></td><td><b>{100 * result.best_score:.2f}</b></td></tr>"
    assert bold in result._repr_html_()
    assert result._repr_html_().count("<b>") == 2
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["best_params"] == {"paclassifier__C": result.best_params["paclassifier__C"]}
    assert [candidate["score"] for candidate in plain["candidates"]] == [score for _, score in result.candidates]


def test_steps_are_named_where_their_parameters_are_called_the_same() -> None:
    grid = {"standardscaler__grow": [None], "paclassifier__grow": [None, True]}
    result = tune(pipeline(StandardScaler(), PAClassifier()), grid, blobs())
    assert [column.header for column in result.table().columns] == [*grid, "mistake rate %"]


# --- in comparisons ---


@pytest.mark.parametrize("protocol", ["libol", "cv"])
def test_compare_tunes_each_model_first(protocol: str) -> None:
    X, y = blobs()
    models = {"PA": PAClassifier(variant="hard"), "PA-I": PAClassifier(), "scaled": pipeline(StandardScaler(), PAClassifier())}
    heard: list[tuple[int, int]] = []
    result = compare(models, (X, y), 3, tune=protocol, random_state=4, callback=lambda *counts: heard.append(counts))
    chosen = {
        name: tune(model, standard_grid(model), (X, y), protocol=protocol, random_state=4, beyond=0).best_params
        for name, model in models.items()
        if name != "PA"
    }
    assert result.settings == {"PA": {}, **chosen}
    by_hand = {name: onepass.pipeline(*[s for _, s in m.steps]) if name == "scaled" else m for name, m in models.items()}
    for name, params in chosen.items():
        by_hand[name].set_params(**params)
    expected = compare(by_hand, (X, y), 3, random_state=4)
    for name in models:
        assert np.array_equal(result.results[name]["online"], expected.results[name]["online"])
    total = 9 + 2 * 9 * (5 if protocol == "cv" else 1)
    assert heard == [(i, total) for i in range(1, total + 1)]


def test_compare_leaves_the_models_as_they_were() -> None:
    model = PAClassifier(C=3.0)
    compare({"PA": model}, blobs(), 1, tune="libol")
    assert model.C == 3.0


def test_a_generator_gives_all_models_the_same_permutations() -> None:
    X, y = blobs()
    models = {"one": PAClassifier(), "same": PAClassifier()}
    result = compare(models, (X, y), 2, tune="libol", random_state=np.random.RandomState(3))
    assert result.settings["one"] == result.settings["same"]
    assert np.array_equal(result.results["one"]["online"], result.results["same"]["online"])
    plain = compare({"PA": PAClassifier(**result.settings["one"])}, (X, y), 2, random_state=np.random.RandomState(3))
    assert np.array_equal(result.results["one"]["online"], plain.results["PA"]["online"])


def test_settings_are_shown(tmp_path: Any) -> None:
    models = {"PA": PAClassifier(variant="hard"), "scaled": pipeline(StandardScaler(), PAClassifier())}
    result = compare(models, blobs(), 2, tune="libol")
    words = f"C={result.settings['scaled']['paclassifier__C']}"
    assert [column.header for column in result.table().columns][-1] == "settings"
    assert words in str(result)
    assert f"<td>{words}</td></tr>" in result._repr_html_()
    assert json.loads(json.dumps(result.to_dict()))["settings"] == result.settings
    result.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        assert [row["settings"] for row in csv.DictReader(file)] == ["", words]
    untuned = compare(models, blobs(), 1)
    assert untuned.settings == {}
    assert "settings" not in str(untuned)


def test_compare_refuses_a_protocol_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="must be 'libol', 'stream' or 'cv', got 'yes'"):
        compare({"PA": PAClassifier(variant="hard")}, blobs(), 1, tune="yes")
