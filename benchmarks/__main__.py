"""Run the benchmarks: python -m benchmarks [case | race | raw | mnist ...]

Without arguments everything runs and is written: the table of speed, the race and the race on raw files into RESULTS.md, three lines of
the table and the sentence about MNIST into the README. `race`, `raw` and `mnist` write their parts alone; cases that are named are only
printed.
"""

from __future__ import annotations

import sys

from benchmarks.cases import CASES
from benchmarks.measure import Result, machine
from benchmarks.mnist import mnist, sentence
from benchmarks.pages import README, RESULTS, between, write_speed
from benchmarks.race import race
from benchmarks.raw import raw_race
from benchmarks.report import write


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
    cases = [name for name in wanted if name not in ("race", "raw", "mnist")]
    if cases or not wanted:
        results = run_cases(cases)
    if not wanted:
        write_speed(results, machine())
    if not wanted or "race" in wanted:
        write(race(), machine())
    if not wanted or "raw" in wanted:
        between(RESULTS, "raw", raw_race())
    if not wanted or "mnist" in wanted:
        between(README, "mnist", sentence(mnist()))


if __name__ == "__main__":
    main()
