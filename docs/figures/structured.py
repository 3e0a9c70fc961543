"""Draws docs/figures/sequences.png, trees.png and inputs.png from docs/reproduced/structured.csv.

make docs
"""

import csv
from pathlib import Path

import numpy as np

from onepass.experiments.structured import PARTS, PEERS, draw
from onepass.plots.style import figure

HERE = Path(__file__).parent
REPRODUCED = HERE.parent / "reproduced"
PICTURES = {
    "sequences": ("ewt", "wikigold"),
    "trees": ("ewt-trees",),
    "inputs": ("questions", "promoters", "mutag", "ptc", "enzymes"),
}


def records():
    """{(data, learner): {"examples" or "passes": [(how many, score by the first measure of the part), ...]}}"""
    measures = {part.data: part.measures[0] for part in PARTS}
    found = {}
    with open(REPRODUCED / "structured.csv", newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            count, what = line["after"].split()
            if line["measure"] == measures.get(line["data"]):
                curves = found.setdefault((line["data"], line["learner"]), {})
                curves.setdefault(what, []).append((float(count), float(line["%"])))
    return found


def main():
    told = records()
    for name, wanted in PICTURES.items():
        parts = [part for part in PARTS if part.data in wanted]
        height = (len(parts) + 1) // 2
        fig = figure(7 * min(len(parts), 2), 3.3 * height)
        axes = fig.subplots(height, 2 * min(len(parts), 2)).reshape(-1)
        for ax in axes[2 * len(parts) :]:
            ax.set_visible(False)
        for i, part in enumerate(parts):
            found = {}
            for learner in part.learners:
                if (part.data, learner) not in told:
                    print(f"{learner} on {part.data} is not among what was measured")
                    continue
                seen, start = np.transpose(told[part.data, learner]["examples"])
                passes = np.transpose(told[part.data, learner]["passes"])[1]
                found[learner] = {"seen": seen, "start": start[:, None], "passes": passes[:, None]}
            rival = PEERS[part.data] if part.outputs else ("SVM", (None, told[part.data, "SVM"]["passes"][-1][1]))
            draw(part, found, *rival, *axes[2 * i : 2 * i + 2])
        fig.savefig(HERE / f"{name}.png", dpi=120)


if __name__ == "__main__":
    main()
