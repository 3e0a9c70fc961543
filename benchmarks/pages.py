"""The parts of README.md and RESULTS.md that the benchmarks write: each stands between two markers."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from benchmarks.measure import Result

README = Path(__file__).parent.parent / "README.md"
RESULTS = Path(__file__).parent / "RESULTS.md"
CHOSEN = ("PA-I dense", "`predict_one` + `learn_one`, dict", "PA-I from LIBSVM text")  # the lines that the README has


def between(page: Path, name: str, content: str) -> None:
    """Put content between the markers of that name; the rest of the page stays as it is."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = page.read_text(encoding="utf-8").split(start)
    _, after = rest.split(end)
    page.write_text(f"{before}{start}\n\n{content}\n\n{end}{after}", encoding="utf-8")


def write_speed(results: list[Result], machine: str) -> None:
    """The whole table into RESULTS.md, and the chosen lines into the README."""
    measured_on = f"Written by `make bench` on: {machine}"
    between(RESULTS, "speed", f"{whole(results)}\n\n{measured_on}")
    between(README, "speed", f"{short(results)}\n\n{measured_on}")


def whole(results: list[Result]) -> str:
    lines = ["| what | measured | ratio | promised | against |", "|---|---|---|---|---|"]
    for r in results:
        promised = "" if r.at_least is None else f"{r.at_least:g}" + ("" if r.met else " (**missed**)")
        lines.append(f"| {r.what} | {r.measured} | {ratio(r)} | {promised} | {r.against} |")
    return "\n".join(lines)


def short(results: list[Result]) -> str:
    """One line for each measurement that was chosen, with everything that it is compared with."""
    lines = ["| what | measured | compared with |", "|---|---|---|"]
    chosen = [r for r in results if r.what.startswith(CHOSEN)]
    for what, group in groupby(chosen, key=lambda r: r.what):
        same = list(group)
        lines.append(f"| {what} | {same[0].measured} | {'; '.join(map(comparison, same))} |")
    return "\n".join(lines)


def comparison(r: Result) -> str:
    """How many times as fast as whom, and whether that is what was promised.

    >>> comparison(Result("PA-I", "6 M examples/s", 2.0, 3, "scikit-learn, 3 M examples/s"))
    '2.00 times the speed of scikit-learn, 3 M examples/s (promised: 3, **missed**)'
    """
    promised = "" if r.at_least is None else f" (promised: {r.at_least:g}{'' if r.met else ', **missed**'})"
    return f"{ratio(r)} times the speed of {r.against}{promised}"


def ratio(r: Result) -> str:
    return "" if r.ratio is None else f"{r.ratio:.2f}" if r.ratio < 10 else f"{r.ratio:.0f}"
