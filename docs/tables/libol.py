"""Writes the table of docs/libol.md: LIBOL's methods on ijcnn1, by its protocol, beside what its manual says (libol.csv).

ONEPASS_DATA=../shared/data python docs/tables/libol.py
"""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAGE, START, END = HERE.parent / "libol.md", "<!-- table -->", "<!-- /table -->"
COMMON = {"covariance": "full", "fit_intercept": "False"}


def rows(path):
    with open(path, newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def measured(learners):
    """The figures of `onepass compare`, from its CSV."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        words = ["compare", "ijcnn1", "--whole", "--tune", "libol", "--permutations", "20", "--learners", ",".join(learners)]
        for name, value in COMMON.items():
            words += ["--set", f"{name}={value}"]
        subprocess.run([sys.executable, "-m", "onepass", *words, "--csv", file.name], check=True)
        return rows(file.name)


def table(ours, theirs):
    lines = [
        "| learner | mistake rate | LIBOL | updates | LIBOL | seconds | LIBOL (MATLAB, on another machine) | chosen parameters |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, libol in theirs.items():
        columns = ("online_mean", "online_std", "updates_mean", "seconds_mean")
        mean, std, updates, seconds = (float(ours[name][column]) for column in columns)
        chosen = [pair for pair in ours[name]["settings"].split(", ") if pair.split("=")[0] not in COMMON]
        lines.append(
            f"| {name} | {mean:.4f} ± {std:.4f} | {libol['rate']} | {updates:,.0f} | {int(libol['updates']):,} | {seconds:.3f} |"
            f" {libol['seconds']} | {', '.join(chosen)} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    published = rows(HERE / "libol.csv")
    text = PAGE.read_text()
    before, after = text.split(START)[0], text.split(END)[1]
    PAGE.write_text(f"{before}{START}\n\n{table(measured(published), published)}\n\n{END}{after}")
