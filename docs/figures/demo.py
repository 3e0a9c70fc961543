"""Draws docs/demo.png: five of the ten turns that `onepass demo` draws, large enough for the README.

python docs/figures/demo.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from onepass import PAClassifier, PAMOClassifier, datasets
from onepass.cli.demo import DEGREES, EXAMPLES, EXTENT, SEED, TURN
from onepass.plots import draw_boundaries

SHOWN = (0, 2, 4, 6, 9)  # turns


def main():
    X, y = datasets.rotating_xor(EXAMPLES, TURN, random_state=SEED)
    models = {
        "PA-I": PAClassifier(),
        "PAMO-II": PAMOClassifier(dimensions=16, hyperplanes=2, C=0.5, variant="II", random_state=SEED),
    }
    pieces = [slice(start, start + TURN) for start in range(0, EXAMPLES, TURN)]
    snapshots, rates = {name: [] for name in models}, {name: [] for name in models}
    for i, piece in enumerate(pieces):
        for name, model in models.items():
            scores = model.test_then_train(X[piece], y[piece], classes=[0, 1])
            if i in SHOWN:
                rates[name].append(((scores >= 0) != y[piece]).mean())
                snapshots[name].append(model.copy())
    titles = [f"{pieces[i].stop} examples\nturned by {DEGREES * i}°" for i in SHOWN]
    figure = draw_boundaries(snapshots, rates, X, y, [pieces[i] for i in SHOWN], titles, EXTENT)
    path = Path(__file__).parents[1] / "demo.png"
    figure.savefig(path, dpi=150, bbox_inches="tight")


if __name__ == "__main__":
    main()
