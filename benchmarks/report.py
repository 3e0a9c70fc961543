"""What the race measured, as its part of benchmarks/RESULTS.md and its figures."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.growth import Growth
from benchmarks.pages import RESULTS, between
from benchmarks.race import FOREST, LONG, SHORT, Facts, Line, Results
from onepass.plots.style import COLOURS, FAINT, GREY, INK, MARKERS, tidy

FIGURES = Path(__file__).parent / "figures"
LIBRARIES = ("onepass", "scikit-learn", "river", "Vowpal Wabbit")
LOOK = {name: (COLOURS[i], MARKERS[i]) for i, name in enumerate(LIBRARIES)}
NEAR = 0.5  # points by which the errors of one algorithm in two libraries may differ
ENOUGH = 5000  # rows from which on errors tell something about that


# --- tables ---


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Markdown; all columns but the first are numbers or short."""
    lines = [heads, ["---"] + ["--:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def streams_table(facts: list[Facts]) -> str:
    heads = ["stream", "rows", "features", "classes", "last label repeated", "most frequent label", "PA-I, shuffled"]
    rows = [
        [f"{f.name}: {f.about}", f"{f.rows:,}", f"{f.features}", f"{f.classes}"]
        + [f"{value:.2f}" for value in (f.repeated, f.common, f.shuffled)]
        for f in facts
    ]
    return table(heads, rows)


def lines_table(lines: list[Line]) -> str:
    heads = ["learner", "library", "rows", "error %", "onepass, same rows", "examples/s"]
    rows = [
        [x.learner, x.library, f"{x.n:,}", f"{x.error:.2f}", "" if x.library == "onepass" else f"{x.ours:.2f}", rate(x.rate)]
        for x in lines
    ]
    return table(heads, rows)


def rate(value: float) -> str:
    """Three digits are all that a clock is good for."""
    return f"{float(f'{value:.3g}'):,.0f}"


def agreement(results: Results) -> str:
    """How far PA-I of the others is from ours, on the streams of two classes of which they got to enough rows."""
    two = {f.name for f in results.facts if f.classes == 2}
    gaps = [
        (abs(x.error - x.ours), f"{x.library} on {name}, {x.error:.2f} % and {x.ours:.2f} %")
        for name in two
        for x in results.same[name]
        if x.learner == "PA-I" and x.library != "onepass" and x.n >= ENOUGH
    ]
    gap, where = max(gaps)
    verdict = "as expected" if gap <= NEAR else f"**more than the {NEAR} that we expect**"
    return (
        f"On streams of two classes, and for peers that reached {ENOUGH:,} rows, the errors of PA-I differ by at most {gap:.2f} points"
        f" ({where}): {verdict}."
    )


def winners(results: Results) -> str:
    """For each stream the best of onepass and the best of each peer, on the rows that the peer got to."""
    heads = ["stream", "best of onepass", "error %", "against", "its rows", "its error %", "onepass, same rows", "ahead"]
    rows = []
    for name, lines in results.best.items():
        ours = min((x for x in lines if x.library == "onepass"), key=lambda x: x.error)
        for library in LIBRARIES[1:]:
            theirs = min((x for x in lines if x.library == library), key=lambda x: x.error - x.ours)
            ahead = "nobody" if unclear(theirs) else "onepass" if theirs.ours < theirs.error else library
            cells = [name, ours.learner, f"{ours.error:.2f}", f"{theirs.learner} ({library})", f"{theirs.n:,}"]
            rows.append([*cells, f"{theirs.error:.2f}", f"{theirs.ours:.2f}", ahead])
    return table(heads, rows)


def unclear(line: Line) -> bool:
    """Whether two errors differ by less than the standard error of their difference, had they nothing to do with each other."""
    p, gap = line.error / 100, abs(line.error - line.ours) / 100
    return gap < sqrt(2 * p * (1 - p) / line.n)


# --- figures ---


def draw_speed(results: Results) -> None:
    """Examples a second, a panel a learner."""
    learners = ("PA-I", "perceptron", "logistic regression")
    names = list(results.same)
    figure, axes = plt.subplots(1, len(learners), figsize=(11, 3.4), sharey=True, sharex=True, layout="constrained")
    for axis, learner in zip(axes, learners, strict=True):
        for library in LIBRARIES:
            points = [(x.rate, i) for i, name in enumerate(names) for x in results.same[name] if is_of(x, learner, library)]
            if points:
                colour, marker = LOOK[library]
                axis.plot(*zip(*points, strict=True), marker, color=colour, label=library, markersize=7)
        axis.set(xscale="log", title=learner, xlabel="examples a second", yticks=range(len(names)), yticklabels=names)
        axis.set_xlim(1e2, 1e8)
        axis.grid(axis="both", color=FAINT)
        axis.set_axisbelow(True)
        tidy(axis)
    axes[0].invert_yaxis()
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=len(LIBRARIES), frameon=False)
    save(figure, "speed")


def is_of(line: Line, learner: str, library: str) -> bool:
    return (line.learner, line.library) == (learner, library)


def draw_best(results: Results) -> None:
    """A row a peer: its error, and that of the best of onepass on the same rows."""
    figure, axes = plt.subplots(2, 3, figsize=(15, 8.4), layout="constrained")
    for axis, (name, lines) in zip(axes.flat, results.best.items(), strict=True):
        peers = [x for x in lines if x.library != "onepass"]
        for i, x in enumerate(peers):
            colour, marker = LOOK[x.library]
            axis.plot([x.ours, x.error], [i, i], color=FAINT, linewidth=3, zorder=1)
            axis.plot(x.ours, i, "o", color=LOOK["onepass"][0], markersize=6, zorder=2)
            axis.plot(x.error, i, marker, color=colour, markersize=7, zorder=3)
        axis.set_yticks(range(len(peers)), [f"{x.learner}, {thousands(x.n)}" for x in peers], fontsize=8)
        axis.set(title=name, xlabel="prequential error, %")
        axis.set_xlim(left=0)
        axis.invert_yaxis()
        tidy(axis)
    handles = [plt.Line2D([], [], color=c, marker=m, linestyle="", label=library) for library, (c, m) in LOOK.items()]
    handles[0].set_label("the best of onepass, same rows")
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    save(figure, "best")


def thousands(n: int) -> str:
    return f"{n / 1000:.0f}k rows" if n >= 10_000 else f"{n / 1000:.1f}k rows"


def draw_growth(growth: list[Growth]) -> None:
    """Microseconds an example, log-log, a panel a size."""
    styles = {name: (COLOURS[i], MARKERS[i]) for i, name in enumerate(growth[1].lines)}
    styles |= {"PAMO": styles["PAMO 64x2"], "kernel PA-I": styles["kernel PA-I, B=100"]}
    figure, axes = plt.subplots(1, len(growth), figsize=(16, 4.4), sharey=True, layout="constrained")
    for axis, g in zip(axes, growth, strict=True):
        for name, points in g.lines.items():
            colour, marker = styles[name]
            dashed = "--" if name.startswith(("scikit-learn", "river")) else "-"
            axis.loglog(*zip(*points, strict=True), marker=marker, color=colour, linestyle=dashed, markersize=4, label=name)
        low = min(points[0][0] for points in g.lines.values())
        high = max(points[-1][0] for points in g.lines.values())
        if not g.size.startswith("rows"):
            axis.loglog([low, high], [0.02, 0.02 * high / low], color=GREY, linestyle=":", label="linear")
        axis.set_xlabel(f"{g.size}\n({g.fixed})")
        axis.grid(color=FAINT)
        axis.set_axisbelow(True)
        axis.legend(fontsize=7, frameon=False, labelcolor=INK)
        tidy(axis)
    axes[0].set_ylabel("microseconds an example")
    save(figure, "growth")


def save(figure: Any, name: str) -> None:
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"{name}.png", dpi=100)
    plt.close(figure)


def growth_table(growth: list[Growth]) -> str:
    heads = ["against", "learner", "from", "to", "µs per example, from", "to", "exponent at the end"]
    return table(heads, [row for g in growth for row in growth_rows(g)])


def growth_rows(g: Growth) -> list[list[str]]:
    """The exponent is the slope of the last step of the log-log line: 1 is linear."""
    rows = []
    for name, points in g.lines.items():
        (a, start), (b, end) = points[0], points[-1]
        (c, before) = points[-2]
        slope = log(end / before) / log(b / c)
        rows.append([g.size, name, f"{a:,}", f"{b:,}", f"{start:.3g}", f"{end:.3g}", f"{slope:.2f}"])
    return rows


# --- the page ---


def write(results: Results, machine: str) -> None:
    """All of it, from what was measured."""
    draw_speed(results)
    draw_best(results)
    draw_growth(results.growth)
    same = "\n\n".join(f"#### {name}\n\n{lines_table(lines)}" for name, lines in results.same.items())
    best = "\n\n".join(f"#### {name}\n\n{lines_table(lines)}" for name, lines in results.best.items())
    counts = ", ".join(f"{sum(x.library == one for x in next(iter(results.best.values())))} of {one}" for one in LIBRARIES)
    between(
        RESULTS,
        "race",
        PAGE.format(
            machine=machine,
            short=SHORT,
            long=LONG,
            forest=FOREST,
            streams=streams_table(results.facts),
            agreement=agreement(results),
            same=same,
            counts=counts,
            winners=winners(results),
            best=best,
            growth=growth_table(results.growth),
        ),
    )


PAGE = """## The race

onepass against scikit-learn, river and Vowpal Wabbit: the same rows in the same order, one pass, every row predicted before it is
learned. All numbers were written by `python -m benchmarks race` on: {machine}

**error** is the prequential error: the share of rows that were predicted wrongly, each before it was learned. **rows** is how many rows
of the stream a learner reached. Libraries that take one row at a time are stopped after a few seconds; **onepass, same rows** is then
the error of onepass on exactly those rows, and only these two errors may be compared. What a learner would have done on the rest is
not shown, so learners that need many rows to become good, such as trees, look worse than they are.

**examples/s** counts predicting and learning, and nothing else. Before the clock starts, rows are put into the form that a library
wants: arrays of one row for scikit-learn, dicts for river, a binary cache file for Vowpal Wabbit, nothing for onepass, whose machine
code is compiled beforehand. onepass (`test_then_train`) and Vowpal Wabbit go over the stream in a compiled loop. A pass of theirs that
takes less than a second is timed up to three times, and the shortest time counts; decoding its cache is part of Vowpal Wabbit's time.
scikit-learn and river are called from Python for each row, because their interfaces offer no other way to predict a row before it is
learned: most of the difference in speed comes from that, not from arithmetic. scikit-learn's checks of input are switched off. Every
library uses one thread.

### The streams

{streams}

The last three columns are errors in per cent, for comparison: repeating the last label, always predicting the most frequent label of
the whole stream, and PA-I on the same rows in random order. Where the last is much larger than the error in the given order, a learner
does well mostly by following the stream, and less by knowing the classes.

Dense rows are standardised by the rows before them (`StandardScaler`). In the first part every library is given the standardised rows.

### Learners that several libraries have

The same algorithm with the same parameters, for at most {short:g} seconds each. The libraries treat the intercept differently: for
onepass it is the weight of a constant feature, which counts in the norm of a row; scikit-learn and river leave it out of the norm, and
scikit-learn makes its steps a hundred times smaller where rows are sparse. With more than two classes onepass moves the label and its
strongest rival apart, while the others learn each class against the rest. No peer has AROW. {agreement}

![examples a second](figures/speed.png)

{same}

### The best of each library

{counts}; the same settings on all streams. Learners that take one row at a time have at most {long:g} seconds each, adaptive random
forests {forest:g}. onepass scales the rows itself, and its time includes that. scikit-learn is given scaled rows; river's trees and
Vowpal Wabbit are given the rows as they are, since they need no scaling or do it themselves. For each of the two there is one entry
with scaled rows, which did better on some streams. Trees are also given the zeros of sparse rows. The learners were chosen by looking
at these streams, and for every library the best one is named in hindsight: the first table shows how good each library can be, not
what somebody would have got who had to choose beforehand.

For onepass the learner that is best on the whole stream counts, even where a peer reached fewer rows. For a peer it is the one that
does best compared with that, on the rows that it reached. Nobody is ahead where the errors differ by less than the standard error of
the difference of two independent errors.

{winners}

![errors of the best](figures/best.png)

{best}

### How cost grows

Microseconds per example: `partial_fit` on all rows in one call, and for river `learn_one` with dicts. Two classes, one label in ten
wrong. With few rows the call itself is most of the cost. The exponent is the slope at the right end of the line: 0 means constant cost,
1 linear.

![growth](figures/growth.png)

{growth}"""
