"""The study of active learning: accuracy against the labels that were asked for, with the SVM as the line to reach."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from onepass.active import ActiveLearner
from onepass.experiments.cells import Task
from onepass.experiments.lab import Lab, Problem
from onepass.experiments.report import Section, Table
from onepass.kernel import KernelPA
from onepass.linear import PAClassifier
from onepass.plots.style import FAINT, INK, colour, figure, tidy

DELTAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
LEARNERS: dict[str, Any] = {
    "PA-I": PAClassifier(C=0.1),
    "PA-I, averaged": PAClassifier(C=0.1, average=True),
    "kernel PA-I": KernelPA(C=0.1),
    "kernel PA-I, averaged": KernelPA(C=0.1, average=True),
}
TESTED = 4000  # rows of phishing, which has no test part


def asking(model: Any, problem: Problem, delta: float, seed: int) -> Task:
    """One pass of an active learner: its accuracy, and the share of labels that it asked for."""
    learner = ActiveLearner(model, delta=delta, random_state=seed)

    def measure() -> dict[str, Any]:
        order = np.random.RandomState(seed).permutation(len(problem.y))
        asked = clone(learner).fit(problem.X[order], problem.y[order])
        return {"accuracy": float(asked.score(problem.X_test, problem.y_test)), "asked": asked.asked_ / asked.seen_}

    return Task({"active": repr(learner), "of": problem.key}, measure)


def timed(model: Any, problem: Problem) -> Task:
    """The accuracy of a model with all labels, and the shortest of three times that it takes to learn, after one to compile."""

    def measure() -> dict[str, Any]:
        seconds = []
        for _ in range(4):
            fresh, start = clone(model), time.perf_counter()
            fresh.fit(problem.X, problem.y)
            seconds.append(time.perf_counter() - start)
        return {"accuracy": float(fresh.score(problem.X_test, problem.y_test)), "seconds": min(seconds[1:])}

    return Task({"timed": repr(model), "of": problem.key}, measure)


def alone(lab: Lab, model: Any, problem: Problem) -> dict[str, Any]:
    """What `timed` measures, while nothing else runs here."""
    return lab.cells.measured([timed(model, problem)])[0]


def active(lab: Lab) -> Section:
    """Accuracy against labels asked for."""
    found = {
        "svmguide1": lab.parts("svmguide1", scale=True),
        "phishing": lab.parts("phishing", scale=True, tested=TESTED),
    }
    records, lines = [], []
    fig = figure(12, 4.6)
    for ax, (name, problem) in zip(fig.subplots(1, len(found)), found.items(), strict=True):
        places = [(learner, delta) for learner in LEARNERS for delta in (*DELTAS, np.inf)]
        tasks = [
            asking(LEARNERS[learner], problem, delta, seed) for learner, delta in places for seed in range(lab.permutations)
        ]
        told = iter(lab.cells.measured(tasks))
        line = alone(lab, SVC(), problem)  # its gamma is that of the kernel learners, 1/d on standardised features
        means = {}
        for learner, delta in places:
            runs = [next(told) for _ in range(lab.permutations)]
            mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            means[learner, delta] = mean
            records.append(record(name, learner, f"{delta:g}", mean))
        records.append(record(name, "SVC", "", {**line, "asked": 1.0}))
        for i, learner in enumerate(LEARNERS):
            points = [means[learner, delta] for delta in (*DELTAS, np.inf)]
            asked, accuracy = ([100 * point[key] for point in points] for key in ("asked", "accuracy"))
            style = "-" if "averaged" in learner else "--"
            ax.plot(asked, accuracy, style, marker="o", markersize=3, color=colour(i // 2), label=learner)
            full = means[learner, np.inf]
            cheap = min((p for p in points if p["accuracy"] >= full["accuracy"] - 0.01), key=lambda p: p["asked"])
            gap, times = (
                100 * (line["accuracy"] - full["accuracy"]),
                line["seconds"] / alone(lab, LEARNERS[learner], problem)["seconds"],
            )
            lines.append(
                [name, learner, f"{100 * full['accuracy']:.2f}", f"{100 * cheap['asked']:.0f} %", f"{gap:+.2f}", f"{times:.0f}"]
            )
        ax.axhline(100 * line["accuracy"], color=INK, linewidth=1, label="SVC, all labels")
        ax.set_xscale("log")
        ticks = (1, 2, 5, 10, 20, 50, 100)
        ax.set_xticks(ticks, map(str, ticks))
        ax.minorticks_off()
        low = min(100 * mean["accuracy"] for (learner, _), mean in means.items() if "averaged" in learner)
        ax.set(title=f"{name}, SVC {100 * line['accuracy']:.2f} %", xlabel="labels asked for, %", ylabel="test accuracy, %")
        ax.set_ylim(low - 2, 100 * line["accuracy"] + 1)
        ax.legend(frameon=False, fontsize=8, loc="lower right")
        ax.grid(color=FAINT)
        tidy(ax)
    about = [
        "One pass over the train part; a label is asked for with the probability delta / (delta + |score|), delta from 0.001 to"
        " infinity. Learners are PA-I with C = 0.1, linear and with an RBF kernel, gamma = 1/d; features are standardised. The line"
        " is scikit-learn's SVC with all labels. The study that this is after prints no figures.",
        "The table: accuracy with all labels in per cent; how many labels are enough for one point less; by how much SVC is better;"
        f" and how many times as long it took. Mean of {lab.counted}.",
    ]
    header = ["data", "learner", "accuracy", "enough labels", "SVC is better by", "SVC's time"]
    return Section("active", "Active learning", about, Table(header, lines), records, fig)


def record(data: str, learner: str, delta: str, mean: dict[str, float]) -> dict[str, Any]:
    """One line of the CSV file."""
    return {
        "data": data,
        "learner": learner,
        "delta": delta,
        "asked %": f"{100 * mean['asked']:.2f}",
        "accuracy %": f"{100 * mean['accuracy']:.3f}",
    }
