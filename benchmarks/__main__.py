"""Run the benchmarks and write their table into the README: python -m benchmarks [case ...]"""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.measure import Result

README = Path(__file__).parent.parent / "README.md"
START, END = "<!-- benchmarks -->", "<!-- /benchmarks -->"


def table(results: list[Result]) -> str:
    lines = ["| what | measured | ratio | promised | against |", "|---|---|---|---|---|"]
    for r in results:
        ratio = "" if r.ratio is None else f"{r.ratio:.2f}" if r.ratio < 10 else f"{r.ratio:.0f}"
        promised = "" if r.at_least is None else f"{r.at_least:g}" + ("" if r.met else " (**missed**)")
        lines.append(f"| {r.what} | {r.measured} | {ratio} | {promised} | {r.against} |")
    return "\n".join(lines)


def machine() -> str:
    names = ("numpy", "numba", "scikit-learn", "river", "vowpalwabbit")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if Path("/proc/cpuinfo").exists() else None
    return f"{cpu[1] if cpu else platform.processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; {versions}."


def main() -> None:
    wanted = sys.argv[1:]
    results: list[Result] = []
    for case in CASES:
        if not wanted or case.__name__ in wanted:
            for result in case():
                results.append(result)
                print(
                    f"{result.what:45} {result.measured:60} {result.ratio or 0:8.2f}  (>= {result.at_least}) {result.against}"
                )
    if wanted:
        return
    text = README.read_text()
    before, after = text.split(START)[0], text.split(END)[1]
    written = f"{START}\n\n{table(results)}\n\nWritten by `make bench` on: {machine()}\n\n{END}"
    README.write_text(before + written + after)


main()
