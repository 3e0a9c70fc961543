"""Run the benchmarks: python -m benchmarks [case | race | mnist ...]

Without arguments everything runs, and the README and RESULTS.md are written. `race` writes RESULTS.md, `mnist` its line of the README;
cases by name only print.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.measure import Result, machine
from benchmarks.mnist import mnist, sentence
from benchmarks.race import race
from benchmarks.report import write

README = Path(__file__).parent.parent / "README.md"


def table(results: list[Result]) -> str:
    lines = ["| what | measured | ratio | promised | against |", "|---|---|---|---|---|"]
    for r in results:
        ratio = "" if r.ratio is None else f"{r.ratio:.2f}" if r.ratio < 10 else f"{r.ratio:.0f}"
        promised = "" if r.at_least is None else f"{r.at_least:g}" + ("" if r.met else " (**missed**)")
        lines.append(f"| {r.what} | {r.measured} | {ratio} | {promised} | {r.against} |")
    return "\n".join(lines)


def between(name: str, content: str) -> None:
    """Put content between the markers of that name in the README."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    text = README.read_text()
    before, after = text.split(start)[0], text.split(end)[1]
    README.write_text(f"{before}{start}\n\n{content}\n\n{end}{after}")


def run_cases(wanted: list[str]) -> list[Result]:
    results: list[Result] = []
    for case in CASES:
        if not wanted or case.__name__ in wanted:
            for result in case():
                results.append(result)
                print(
                    f"{result.what:45} {result.measured:60} {result.ratio or 0:8.2f}  (>= {result.at_least}) {result.against}"
                )
    return results


def main() -> None:
    wanted = sys.argv[1:]
    cases = [name for name in wanted if name not in ("race", "mnist")]
    if cases or not wanted:
        results = run_cases(cases)
    if not wanted:
        between("benchmarks", f"{table(results)}\n\nWritten by `make bench` on: {machine()}")
    if not wanted or "race" in wanted:
        write(race(), machine())
    if not wanted or "mnist" in wanted:
        between("mnist", sentence(mnist()))


if __name__ == "__main__":
    main()
