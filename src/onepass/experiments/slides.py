"""What the lecture slides say about learning on a budget and about concepts that shift."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from onepass import datasets
from onepass.embedding import PAMOClassifier
from onepass.experiments.lab import Lab, Problem, deviation
from onepass.experiments.report import Section, Table
from onepass.kernel import BudgetPA, Forgetron, KernelPA, KernelPerceptron, Projectron
from onepass.linear import PAClassifier, Perceptron, ShiftingPerceptron
from onepass.plots.style import FAINT, GREY, colour, figure, tidy
from onepass.stages import StandardScaler, pipeline

BUDGETS = (25, 50, 100, 200, 400)
# In the order of the slides, those that throw vectors away first.
POLICIES: dict[str, Any] = {
    "Stoptron": KernelPerceptron(policy="stop"),
    "random": KernelPerceptron(policy="random"),
    "redundant": KernelPerceptron(policy="redundant"),
    "oldest": KernelPerceptron(policy="oldest"),
    "Forgetron": Forgetron(),
    "Projectron": Projectron(),
    "BPA-S": BudgetPA(),
    "BPA-NN": BudgetPA(strategy="nearest"),
    "BPA-P": BudgetPA(strategy="projecting"),
}
UNBOUNDED = {"kernel perceptron": KernelPerceptron(), "kernel PA-I": KernelPA()}


def budget(lab: Lab) -> Section:
    """Mistakes of each policy against the budget, on a settled and on a shifting concept."""
    still = lab.some(lab.parts("a9a", scale=False), 10_000)
    settled, turning = f"a9a, {len(still.y):,} examples", f"rotating XOR, {len(rotating(lab, 0).y):,} examples"
    gammas = {settled: 0.01, turning: 1.0}
    names = [(name, B) for name in POLICIES for B in BUDGETS] + [(name, None) for name in UNBOUNDED]
    records, rates = [], {}
    for concept, gamma in gammas.items():
        tasks = []
        for name, B in names:
            learner = clone((POLICIES | UNBOUNDED)[name]).set_params(gamma=gamma, budget=B)
            for p in range(lab.permutations):
                problem = still if concept == settled else rotating(lab, p)
                tasks.append(lab.one_pass(learner, problem, p if concept == settled else None))
        answers = iter(lab.cells.measured(tasks))
        for name, B in names:
            runs = [100 * next(answers)["online"] for _ in range(lab.permutations)]
            rates[concept, name, B] = float(np.mean(runs))
            row = {"concept": concept, "policy": name, "B": B or "unbounded"}
            records.append({**row, "mistake rate %": f"{np.mean(runs):.3f}", "std": f"{deviation(runs):.3f}"})
    fig = figure(12, 4.8)
    for ax, concept in zip(fig.subplots(1, 2), gammas, strict=True):
        for i, name in enumerate(POLICIES):
            style = {"color": colour(i), "linestyle": "-" if i < 7 else "--"}
            ax.plot(BUDGETS, [rates[concept, name, B] for B in BUDGETS], marker="o", markersize=3, label=name, **style)
        for name, dash in zip(UNBOUNDED, ((1, 1), (4, 2)), strict=True):
            ax.axhline(rates[concept, name, None], color=GREY, linestyle=(0, dash), label=f"{name}, unbounded")
        ax.loglog()
        ax.set_xticks(BUDGETS, map(str, BUDGETS))
        ticks = [t for t in (2, 3, 4, 5, 7, 10, 15, 20, 25, 30, 40) if ax.get_ylim()[0] <= t <= ax.get_ylim()[1]]
        ax.set_yticks(ticks, map(str, ticks))
        ax.minorticks_off()
        ax.set(title=concept, xlabel="budget B", ylabel="mistake rate, %")
        ax.grid(color=FAINT)
        tidy(ax)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
    lines = [[name, *(f"{rates[concept, name, B]:.1f}" for concept in gammas for B in (25, 100, 400))] for name in POLICIES] + [
        [f"{name}, unbounded", *(text for concept in gammas for text in ("", "", f"{rates[concept, name, None]:.1f}"))]
        for name in UNBOUNDED
    ]
    header = ["policy", *(f"{concept.split(',')[0]}, B = {B}" for concept in gammas for B in (25, 100, 400))]
    about = [
        "Mistake rate in per cent along one pass, with an RBF kernel (gamma 0.01 for a9a, 1 for the rotating XOR, which turns by ten"
        " degrees after every hundred examples). The slides say that a budget bounds memory and time, and that on shifting concepts"
        " learners with a budget may beat those without, because they forget. The lines without a budget are the ones to compare with.",
        f"Mean of {lab.counted} of a9a, and of so many draws of the XOR.",
    ]
    return Section("budget", "Learning on a budget", about, Table(header, lines), records, fig)


def rotating(lab: Lab, seed: int) -> Problem:
    """A draw of the rotating XOR."""
    X, y = datasets.rotating_xor(5000, 100, random_state=seed)
    return lab.some(Problem("rotating_xor", X, y), shuffle=False)


def shifting(lab: Lab) -> Section:
    """Shifting concepts: elec2 and SEA, in their order, with their drifts marked."""
    streams = {name: lab.load(name) for name in ("elec2", "sea")}
    joined = int(np.flatnonzero(np.diff(streams["elec2"].X[:, 5]))[0]) + 1  # before, the prices of Victoria are constant
    drifts = {"elec2": [joined], "sea": [12_500, 25_000, 37_500]}
    learners = {
        "perceptron": Perceptron(),
        "shifting perceptron": ShiftingPerceptron(lam=2.0),
        "PA-I": PAClassifier(C="auto"),
        "PA-I, averaged": PAClassifier(C="auto", average=True),
        "PA-I, half-life 500": PAClassifier(C="auto", average=500),
        "PAMO-I": PAMOClassifier(C="auto"),
        "PAMO-I, half-life 500": PAMOClassifier(C="auto", average=500),
    }
    records, rates = [], {}
    fig = figure(12, 7.4)
    for ax, (name, data) in zip(fig.subplots(2, 1), streams.items(), strict=True):
        problem = lab.some(Problem(name, data.X, data.y), shuffle=False)
        runs = lab.cells.measured(
            [lab.one_pass(pipeline(StandardScaler(), model), problem, None) for model in learners.values()]
        )
        for i, (learner, run) in enumerate(zip(learners, runs, strict=True)):
            rates[name, learner] = 100 * run["online"]
            at, windows = np.array(run["window at"]), 100 * np.array(run["windows"])
            records += [
                {"data": name, "learner": learner, "examples": int(end), "mistake rate % of the window": f"{rate:.3f}"}
                for end, rate in zip(at, windows, strict=True)
            ]
            smooth = np.convolve(np.pad(windows, 2, mode="edge"), np.ones(5) / 5, mode="valid")
            ax.plot(at, smooth, color=colour(i), label=f"{learner}: {rates[name, learner]:.1f} %")
        for drift in drifts[name]:
            ax.axvline(drift, color=GREY, linestyle="--", linewidth=0.9)
        ax.set(title=f"{name}: mistakes in windows of {at[0]:,} examples, smoothed over five", ylabel="mistake rate, %")
        ax.set_xlabel("examples")
        ax.legend(frameon=False, fontsize=8, ncols=4)
        ax.set_ylim(0)
        ax.grid(axis="y", color=FAINT)
        tidy(ax)
    lines = [[learner, *(f"{rates[name, learner]:.2f}" for name in streams)] for learner in learners]
    best = frozenset((int(np.argmin([rates[name, x] for x in learners])), 1 + j) for j, name in enumerate(streams))
    about = [
        'Both streams in their own order, scaled inside the stream, parameters as they are; C is found by C="auto". Dashed lines mark'
        " the drifts: SEA has another concept after every 12,500 examples; in elec2 the market of Victoria joins, of which the prices"
        " are constant before. Averages with a half-life forget, those without trust that a concept stays. One pass each; the first"
        " weights of PAMO are drawn with seed 0.",
    ]
    table = Table(["learner", *(f"{name}, mistake rate %" for name in streams)], lines, best)
    return Section("shifting", "Shifting concepts", about, table, records, fig)
