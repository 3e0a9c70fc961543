"""The committee for those who would rather not choose, beside each of the learners that they might have chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass import evaluate
from onepass.base.state import Array
from onepass.committee import Auto, Committee
from onepass.embedding import PAMOClassifier
from onepass.evaluate import Curve
from onepass.evaluate.online import take
from onepass.experiments.cells import Task
from onepass.experiments.lab import Lab, Problem, deviation, seeded
from onepass.experiments.report import Aside, Section, Table
from onepass.kernel import FOGD
from onepass.linear import AROWClassifier, PAClassifier
from onepass.neural import OnlineMLPClassifier
from onepass.plots import SharesDisplay
from onepass.plots.style import figure
from onepass.stages import StandardScaler, pipeline

COMMITTEES = {"Auto": Auto(), "Auto, fast": Auto("fast")}
SINGLES = {
    "AROW": AROWClassifier(),
    "PA-I": PAClassifier(C="auto"),
    "PAMO-I 64x2": PAMOClassifier(C="auto"),
    "PAMO-II 256x2, averaged": PAMOClassifier(256, variant="II", average=True),
    "FOGD": FOGD(),
    "FOGD, averaged": FOGD(average=True),
    "MLP": OnlineMLPClassifier(),
}
RULES = ("fixed", "hedge", "adahedge")
ROWS = 50_000  # of covtype


@dataclass(frozen=True)
class Stream:
    """Rows, in their order or permuted, and which error is asked for."""

    name: str
    problem: Problem
    permuted: bool
    tested: bool = False

    @property
    def kind(self) -> str:
        """What the error is of."""
        order = "permuted" if self.permuted else "in their order"
        return f"{order}, test error" if self.tested else order


def streams(lab: Lab) -> list[Stream]:
    """The streams of the race, and two of which a test part is predicted."""

    def ordered(name: str) -> Problem:
        data = lab.load(name)
        return lab.some(Problem(name, data.X, data.y), shuffle=False)

    return [
        Stream("elec2", ordered("elec2"), False),
        Stream("sea", ordered("sea"), False),
        Stream("ijcnn1", lab.whole("ijcnn1", scale=False), False),
        Stream("a9a", lab.whole("a9a", scale=False), True),
        Stream("spambase", ordered("spambase"), True),
        Stream("covtype", lab.some(ordered("covtype"), ROWS), True),
        Stream("ijcnn1", lab.parts("ijcnn1", scale=False), True, True),
        Stream("mnist", lab.parts("mnist", scale=False), False, True),
    ]


def auto(lab: Lab) -> Section:
    """Both budgets and the single learners on all streams; shares along those that are no test."""
    learners = COMMITTEES | {name: pipeline(StandardScaler(), learner) for name, learner in SINGLES.items()}
    lines, records, strong = list[list[str]](), list[dict[str, Any]](), set[tuple[int, int]]()
    several, shown = streams(lab), dict[str, Curve]()
    for stream in several:
        errors = {name: found(lab, learner, stream) for name, learner in learners.items()}
        means = {name: float(np.mean(values)) for name, values in errors.items()}
        best = min(SINGLES, key=lambda name: means[name])
        if means["Auto"] <= means[best]:
            strong.add((len(lines), 3))
        cells = [f"{means[name]:.2f} ± {deviation(errors[name].tolist()):.2f}" for name in COMMITTEES]
        place = [stream.name, stream.kind, f"{len(stream.problem.y):,}"]
        lines.append([*place, *cells, f"{means[best]:.2f}", best, f"{means['Auto'] - means[best]:+.2f}"])
        records += [
            {"data": stream.name, "of": stream.kind, "learner": name, "error %": f"{value:.4f}"}
            for name, values in errors.items()
            for value in values
        ]
        if not stream.tested:
            shown[stream.name] = shares(lab, stream)
    fig = figure(14, 3.6 * 3)
    for ax, (name, curve) in zip(fig.subplots(3, 2).reshape(-1), shown.items(), strict=True):
        SharesDisplay(curve).plot(ax)
        ax.set_title(name)
    about = [
        "`Auto` with its defaults, chosen by nobody, beside single learners behind a `StandardScaler`, of which the best is named in"
        f" hindsight. Errors in %, each row predicted before it is learned from, mean and deviation of {lab.permutations} draws of the"
        " first weights, and orders where rows are permuted; or the error on the test part after one pass over the train part.",
        "The picture has the shares of the voices of `Auto` along the streams: of its members, of their present weights (now) where"
        " they have an average, and of the products of all.",
    ]
    table = Table(["data", "rows", "n", *COMMITTEES, "best single", "which", "Auto less that"], lines, frozenset(strong))
    aside, more = rules(lab, [stream for stream in several if not stream.tested])
    return Section("auto", "A committee that needs no choice", about, table, records + more, fig, asides=[aside])


def rules(lab: Lab, several: list[Stream]) -> tuple[Aside, list[dict[str, Any]]]:
    """One committee, its shares following losses in each of the ways that there are."""
    members = [*Auto("fast")._appointed().items()]
    lines, records, strong = list[list[str]](), list[dict[str, Any]](), set[tuple[int, int]]()
    for stream in several:
        errors = {}
        for rule in RULES:
            errors[rule] = found(lab, pipeline(StandardScaler(clip=4.0), Committee(members, shares=rule)), stream)
        means = {rule: float(np.mean(values)) for rule, values in errors.items()}
        strong.add((len(lines), 2 + RULES.index(min(RULES, key=lambda rule: means[rule]))))
        cells = [f"{means[rule]:.2f} ± {deviation(errors[rule].tolist()):.2f}" for rule in RULES]
        lines.append([stream.name, stream.kind, *cells])
        records += [
            {"data": stream.name, "of": stream.kind, "learner": f'Committee(shares="{rule}")', "error %": f"{value:.4f}"}
            for rule, values in errors.items()
            for value in values
        ]
    about = (
        'A `Committee` of the members that `Auto` has within a budget of "fast", behind `StandardScaler(clip=4)`: by fixed share, which'
        " `Auto` uses, by hedge, and by AdaHedge. Errors as above."
    )
    return Aside(
        "auto-shares", "How shares follow losses", about, Table(["data", "rows", *RULES], lines, frozenset(strong))
    ), records


def found(lab: Lab, learner: Any, stream: Stream) -> Array:
    """The errors of a learner in %, by draw."""
    runs = lab.cells.measured([one_pass(learner, stream, seed) for seed in range(lab.permutations)])
    return 100 * np.array([run["error"] for run in runs])


def one_pass(learner: Any, stream: Stream, seed: int) -> Task:
    """One pass of a learner; the seed is that of its draws, and of the order where rows are permuted."""
    model, problem = seeded(learner, seed), stream.problem

    def measure() -> dict[str, Any]:
        X, y = arranged(stream, seed)
        if not stream.tested:
            return {"error": evaluate.prequential(model, (X, y), classes=np.unique(y)).metrics["mistake_rate"]}
        model.partial_fit(X, y, classes=np.unique(y))
        return {"error": 1 - float(model.score(problem.X_test, problem.y_test))}

    return Task({"committee": repr(model), "of": problem.key, "as": stream.kind, "seed": seed}, measure)


def shares(lab: Lab, stream: Stream) -> Curve:
    """The shares of Auto along a stream."""

    def measure() -> dict[str, Any]:
        told = evaluate.prequential(seeded(Auto(), 0), arranged(stream, 0)).shares
        assert told is not None
        return {"at": told.positions.tolist(), "shares": {name: values.tolist() for name, values in told.values.items()}}

    (run,) = lab.cells.measured(
        [Task({"shares": repr(seeded(Auto(), 0)), "of": stream.problem.key, "as": stream.kind}, measure)]
    )
    return Curve(np.array(run["at"]), {name: np.array(values) for name, values in run["shares"].items()})


def arranged(stream: Stream, seed: int) -> tuple[Any, Array]:
    """The rows of a stream in the order of a draw."""
    X, y = stream.problem.X, stream.problem.y
    if not stream.permuted:
        return X, y
    order = np.random.RandomState(seed).permutation(len(y))
    return take(X, order), y[order]
