"""Outputs and inputs with a structure: tags, names, trees, strings and graphs, against passes and against examples seen."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from onepass.evaluate.sequences import SENTENCE_METRICS, count
from onepass.experiments.cells import Task
from onepass.experiments.lab import Lab, seeded
from onepass.experiments.published import PEERS
from onepass.experiments.report import Section, Table
from onepass.kernel import BudgetPA
from onepass.linear import AROWClassifier, PAClassifier
from onepass.plots.style import FAINT, INK, colour, figure, tidy
from onepass.stages import Spectrum, Subtrees, WeisfeilerLehman, pipeline
from onepass.structured import DependencyParser, SequenceTagger

ORDERS = 3  # of the data, at most
FOLDS = 10
STARTS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)  # how much of the first pass was seen when its test error is measured
PENALTIES = [10.0**k for k in range(-2, 4)]  # of the SVM
BUDGET = 200


@dataclass(frozen=True)
class Part:
    """One of the experiments: data, learners, how many passes they make and what is measured, in per cent."""

    title: str
    data: str
    learners: dict[str, Any]
    passes: int
    measure: str = "accuracy"
    folds: bool = False


def taggers(templates: str, **more: Any) -> dict[str, Any]:
    """Rules for tags."""
    tagger = SequenceTagger(templates=templates, **more)
    rules: dict[str, dict[str, Any]] = {
        "margin rescaling": {},
        "prediction-based PA": {"update": "prediction", "cost": "root"},
        "perceptron": {"rule": "perceptron", "update": "prediction"},
        "5-best MIRA": {"update": "prediction", "rivals": 5},
    }
    return {name: clone(tagger).set_params(**rule) for name, rule in rules.items()}


def parsers() -> dict[str, Any]:
    """Rules for trees."""
    rules: dict[str, dict[str, Any]] = {
        "margin rescaling": {},
        "prediction-based PA": {"update": "prediction"},
        "perceptron": {"rule": "perceptron", "update": "prediction"},
    }
    return {name: DependencyParser(**rule) for name, rule in rules.items()}


def of_counts(stage: Any) -> dict[str, Any]:
    """Learners of the counts of a stage. One keeps vectors on a budget, and what comes when it is full goes to the nearest of them, so
    that a vector that comes again takes no place. Its kernel, x.z + 1, has a constant, too."""
    kept = BudgetPA(kernel="poly", degree=1, gamma=1.0, coef0=1.0, budget=BUDGET, strategy="nearest", average=True)
    return {
        "PA-I, averaged": pipeline(stage, PAClassifier(average=True)),
        "AROW": pipeline(stage, AROWClassifier()),
        f"BPA-NN, B = {BUDGET}": pipeline(stage, kept),
    }


PARTS = (
    Part("Tags of EWT", "ewt", taggers("tags"), 10),
    Part("Names of Wikigold", "wikigold", taggers("names", constraints="BIO"), 10, "F1"),
    Part("Trees of EWT", "ewt-trees", parsers(), 10, "UAS"),
    Part("Questions, by subtrees", "questions", of_counts(Subtrees()), 10),
    Part("Promoters, by 5-spectrum", "promoters", of_counts(Spectrum(5)), 20, folds=True),
    Part("MUTAG, by Weisfeiler-Lehman", "mutag", of_counts(WeisfeilerLehman(3)), 20, folds=True),
    Part("PTC, by Weisfeiler-Lehman", "ptc", of_counts(WeisfeilerLehman(3)), 20, folds=True),
    Part("ENZYMES, by Weisfeiler-Lehman", "enzymes", of_counts(WeisfeilerLehman(3)), 20, folds=True),
)
F1 = SENTENCE_METRICS["entity_f1"]


def score_of(model: Any, X: Any, y: Any, measure: str) -> float:
    """How good a model is, in per cent."""
    return 100 * float(F1(count(y, model.predict(X)).sum(axis=0)) if measure == "F1" else model.score(X, y))


def learning(part: Part, learner: str, data: Sequence[Any], seed: int) -> Task:
    """Test scores of a learner along its first pass, and after each pass, every one in another order."""
    fresh, (X, y, X_test, y_test), stamp = seeded(part.learners[learner], seed), data, stamp_of(data)

    def measure() -> dict[str, Any]:
        model, rng = clone(fresh), np.random.default_rng(seed)
        seen = sorted({max(round(share * len(X)), 1) for share in STARTS})
        scores, known = list[float](), {} if part.data in PEERS else {"classes": np.unique(y)}
        for ends in [seen, *[[len(X)]] * (part.passes - 1)]:
            order = rng.permutation(len(X))
            for begin, end in pairwise([0, *ends]):
                chosen = order[begin:end]
                model.partial_fit([X[i] for i in chosen], [y[i] for i in chosen], **known)
                scores.append(score_of(model, X_test, y_test, part.measure))
        return {"seen": seen, "start": scores[: len(seen)], "passes": scores[len(seen) - 1 :]}

    key = {
        "passes": repr(fresh),
        "of": part.data,
        "content": stamp,
        "count": part.passes,
        "seed": seed,
        "measure": part.measure,
    }
    return Task(key, measure)


def machine(part: Part, data: Sequence[Any]) -> Task:
    """The test score of an SVM with the same kernel, its C by cross-validation in what it learns from."""
    stage, (X, y, X_test, y_test), stamp = next(iter(part.learners.values()))[0], data, stamp_of(data)

    def measure() -> dict[str, Any]:
        rows, tested = (clone(stage).transform(objects) for objects in (X, X_test))
        found = GridSearchCV(SVC(kernel="precomputed"), {"C": PENALTIES}, cv=5).fit((rows @ rows.T).toarray(), y)
        return {"score": 100 * float(found.score((tested @ rows.T).toarray(), y_test)), "C": found.best_params_["C"]}

    return Task({"svm": repr(stage), "of": part.data, "content": stamp}, measure)


def stamp_of(data: Sequence[Any]) -> str:
    """A stamp of objects and outputs of any kind."""
    return hashlib.blake2b(repr([list(part) for part in data]).encode(), digest_size=16).hexdigest()


def parts_of(lab: Lab, part: Part) -> list[list[Sequence[Any]]]:
    """For each order of the data, what is learned from and what is tested on: one pair of parts, or as many as there are folds."""
    data, orders = lab.load(part.data), range(min(lab.permutations, ORDERS))
    keep = np.sort(np.random.RandomState(0).permutation(len(data.X))[: lab.rows])
    X, y = [data.X[i] for i in keep], data.y[keep] if isinstance(data.y, np.ndarray) else [data.y[i] for i in keep]
    if not part.folds:
        return [[(X, y, data.X_test[: lab.rows], data.y_test[: lab.rows])] for _ in orders]
    found = list[list[Sequence[Any]]]()
    for p in orders:
        halves = StratifiedKFold(FOLDS, shuffle=True, random_state=p).split(np.zeros(len(X)), y)
        found.append([([X[i] for i in a], y[a], [X[i] for i in b], y[b]) for a, b in halves])
    return found


def structured(lab: Lab) -> Section:
    """Tags, names, trees, questions, promoters and molecules."""
    records, lines, strong = list[dict[str, Any]](), list[list[str]](), set[tuple[int, int]]()
    height = (len(PARTS) + 1) // 2
    fig = figure(14, 3.3 * height)
    axes = fig.subplots(height, 4).reshape(-1)
    for ax in axes[2 * len(PARTS) :]:
        ax.set_visible(False)
    for i, part in enumerate(PARTS):
        along, after = axes[2 * i : 2 * i + 2]
        orders = parts_of(lab, part)
        name, figures = peer(lab, part, orders)
        best = len(lines), -np.inf
        for j, learner in enumerate(part.learners):
            tasks = [learning(part, learner, data, p) for p, several in enumerate(orders) for data in several]
            runs = lab.cells.measured(tasks)
            seen, start, passes = (np.mean([run[key] for run in runs], axis=0) for key in ("seen", "start", "passes"))
            for what, at, scores in (("examples", seen, start), ("passes", np.arange(1, part.passes + 1), passes)):
                named = {"data": part.data, "learner": learner, "measure": part.measure}
                records += [
                    {**named, "after": f"{t:.0f} {what}", "%": f"{score:.3f}"} for t, score in zip(at, scores, strict=True)
                ]
            along.plot(seen, 100 - start, color=colour(j), marker="o", markersize=3)
            after.plot(np.arange(1, part.passes + 1), 100 - passes, color=colour(j), marker="o", markersize=2, label=learner)
            best = max(best, (len(lines), passes[-1]), key=lambda pair: pair[1])
            lines.append([part.title, learner, part.measure, f"{passes[0]:.2f}", f"{passes[-1]:.2f}", str(part.passes)])
        strong.add((best[0], 4))
        lines.append([part.title, name, part.measure, *("" if x is None else f"{x:.2f}" for x in figures), ""])
        for ax, value in ((along, figures[0]), (after, figures[1])):
            if value is not None:
                ax.axhline(100 - value, color=INK, linewidth=1, label=name)
        draw(part, along, after)
    about = [
        "Test error in per cent (100 - F1 for names), along the first pass and after each pass; every pass has another order. Tags and"
        " names: templates of onepass, beside CRFsuite's best of pa, ap and arow with its own features. Trees: heads with given tags,"
        " beside MSTParser, which learned from every fourth sentence."
        " Questions: the test part of TREC. Promoters and molecules: ten folds. The SVM has the same kernel, k(x, z) / sqrt(k(x, x)"
        " k(z, z)), and its C was found by cross-validation in what it learned from. BPA-NN"
        f" keeps at most {BUDGET} vectors.",
        f"Mean of {min(lab.permutations, ORDERS)} orders, or shuffles of the folds.",
    ]
    header = ["data", "learner", "measure", "1 pass", "last pass", "passes"]
    table = Table(header, lines, frozenset(strong))
    return Section("structured", "Structured outputs and inputs", about, table, records, fig)


def peer(lab: Lab, part: Part, orders: list[list[Sequence[Any]]]) -> tuple[str, tuple[float | None, float | None]]:
    """The rival of a part, and its scores after one pass and after the last."""
    if part.data in PEERS:
        return PEERS[part.data]
    found = lab.cells.measured([machine(part, data) for several in orders for data in several])
    return "SVM", (None, float(np.mean([one["score"] for one in found])))


def draw(part: Part, along: Any, after: Any) -> None:
    """What both pictures of a part have beside their lines."""
    along.set_xscale("log")
    along.set(
        title=part.title, xlabel="examples of the first pass", ylabel="error, %" if part.measure != "F1" else "100 - F1, %"
    )
    after.set(xlabel="passes")
    after.legend(frameon=False, fontsize=7)
    for ax in (along, after):
        ax.grid(color=FAINT)
        tidy(ax)
