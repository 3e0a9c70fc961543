"""Writes the tables of docs/nonlinear.md: budget learners and their kin beside the published figures (nonlinear.csv).

Table 2 is the online mistake rate at B = 100 and D = 400, Table 1 the test error after one pass. Parameters are chosen by 5-fold
cross-validation on the data that is learned from ("cv"), or by the mistakes on one permutation of it ("libol"); then 5 permutations.
What nonlinear_measured.csv holds already is not measured again: remove it to start anew.

ONEPASS_DATA=../shared/data python docs/tables/nonlinear.py
"""

import csv
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import onepass
from onepass import BOGD, BSGD, FOGD, NOGD, BudgetPA, LocalPA, evaluate

HERE = Path(__file__).parent
PAGE = HERE.parent / "nonlinear.md"
PUBLISHED, MEASURED = HERE / "nonlinear.csv", HERE / "nonlinear_measured.csv"
PERMUTATIONS, SEED = 5, 0
LEARNERS = {
    "BPA-S": BudgetPA(budget=100),
    "BOGD": BOGD(budget=100, random_state=0),
    "FOGD": FOGD(components=400, random_state=0),
    "NOGD": NOGD(budget=100),
    "BSGD": BSGD(budget=100),
    "LOL": LocalPA(prototypes=75),
    "I-LOL": LocalPA(prototypes=75, shared=False),
    "BSGD, averaged": BSGD(budget=100, average=True),
    "FOGD, averaged": FOGD(components=400, average=True, random_state=0),
    "NOGD, averaged": NOGD(budget=100, average=True),
    "LOL, averaged": LocalPA(prototypes=75, average=True),
    "I-LOL, averaged": LocalPA(prototypes=75, shared=False, average=True),
}


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def data(table, name, learner):
    """What is learned from, and what is asked about afterwards. The features of svmguide1 are standardised, which are of very different
    sizes, and so are all for local models, whose prototypes are means."""
    found = onepass.datasets.load(name)
    if table == "2":
        if name == "w7a":
            return (found.X, found.y), None
        return (sp.vstack([found.X, found.X_test], format="csr"), np.concatenate([found.y, found.y_test])), None
    X, X_test = found.X.toarray(), found.X_test.toarray()
    if name == "svmguide1" or "LOL" in learner:
        scaler = onepass.StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return (X, found.y), (X_test, found.y_test)


def measure(line):
    """One cell: what was chosen, and the mean and the deviation of all permutations, in percent."""
    learn, test = data(line["table"], line["data"], line["learner"])
    result = evaluate.compare(
        {"it": LEARNERS[line["learner"]]}, learn, PERMUTATIONS, test, tune=line["tuned by"], random_state=SEED, jobs=2
    )
    what = "test" if test else "online"
    chosen = ", ".join(f"{name}={value:g}" for name, value in result.settings["it"].items())
    return {
        **line,
        "mean": f"{100 * result.mean('it', what):.3f}",
        "std": f"{100 * result.std('it', what):.3f}",
        "chosen": chosen,
    }


def table(lines):
    header = ["| learner | data | here | published | tuned by | chosen |", "|---|---|---|---|---|---|"]
    cells = [
        f"| {line['learner']} | {line['data']} | {float(line['mean']):.2f} ± {float(line['std']):.2f} | {line['published']} |"
        f" {line['tuned by']} | {line['chosen']} |"
        for line in lines
    ]
    return "\n".join(header + cells)


def same(a, b):
    return all(a[key] == b[key] for key in ("table", "data", "learner", "tuned by"))


if __name__ == "__main__":
    measured = rows(MEASURED) if MEASURED.exists() else []  # what was measured before is not measured again
    lines = rows(PUBLISHED)
    for i, line in enumerate(lines):
        lines[i] = next((known for known in measured if same(known, line)), None) or measure(line)
        print(", ".join(lines[i].values()), flush=True)
        with open(MEASURED, "w", newline="") as file:
            writer = csv.DictWriter(file, lines[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines[: i + 1] + [known for known in measured if not any(same(known, x) for x in lines[: i + 1])])
    text = PAGE.read_text()
    for name in ("1", "2"):
        start, end = f"<!-- table {name} -->", f"<!-- /table {name} -->"
        filled = table([line for line in lines if line["table"] == name])
        text = f"{text.split(start)[0]}{start}\n\n{filled}\n\n{end}{text.split(end)[1]}"
    PAGE.write_text(text)
