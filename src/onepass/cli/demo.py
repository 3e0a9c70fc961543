"""`onepass demo`: a linear and a nonlinear learner on a boundary that turns."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from onepass.cli.options import Target
from onepass.cli.output import save_figure, show

EXAMPLES, TURN = 1000, 100
DEGREES = 10  # a turn of `rotating_xor`
EXTENT = (-2.6, 2.6, -2.6, 2.6)
SEED = 1


@click.command()
@click.option(
    "--output", type=Target(), default="demo.png", show_default=True, metavar="PNG", help="Where to draw the picture."
)
def demo(output: Path) -> None:
    """Run PA-I and PAMO side by side on the rotating XOR stream.

    Four clouds of points, opposite ones in the same class, turn by ten degrees after every hundred examples. No straight line
    separates the classes; PAMO learns a curved boundary in one pass, and follows the turns.
    """
    from onepass import PAClassifier, PAMOClassifier, datasets
    from onepass.evaluate.progress import terminal

    X, y = datasets.rotating_xor(EXAMPLES, TURN, random_state=SEED)
    models = {
        "PA-I": PAClassifier(),
        "PAMO-II": PAMOClassifier(dimensions=16, hyperplanes=2, C=0.5, variant="II", random_state=SEED),
    }
    pieces = [slice(start, start + TURN) for start in range(0, EXAMPLES, TURN)]
    drawn = find_spec("matplotlib") is not None
    rates: dict[str, list[float]] = {name: [] for name in models}
    snapshots: dict[str, list[Any]] = {name: [] for name in models}
    with terminal() as display:
        bar = display.add_task("learning", total=len(models) * len(pieces) * (2 if drawn else 1), facts="")
        for piece in pieces:
            for name, model in models.items():
                scores = model.test_then_train(X[piece], y[piece], classes=[0, 1])
                rates[name].append(float(((scores >= 0) != y[piece]).mean()))
                snapshots[name].append(model.copy())
                display.update(bar, advance=1, facts=f"{name}: mistake rate {100 * rates[name][-1]:.0f} %")
        if drawn:
            display.update(bar, description="drawing", facts=str(output))
            from onepass.plots import draw_boundaries

            titles = [f"{piece.stop} examples\nturned by {DEGREES * i}°" for i, piece in enumerate(pieces)]
            figure = draw_boundaries(snapshots, rates, X, y, pieces, titles, EXTENT, lambda: display.advance(bar))
            save_figure(figure, output)
    show(_table(rates))
    if drawn:
        click.echo(f"{output} shows the boundary of each after every {TURN} examples.")
    else:
        click.echo(f'{output} was not drawn: that needs matplotlib. Install it with: pip install "onepass[plot]"', err=True)


def _table(rates: dict[str, list[float]]) -> Any:
    from rich.table import Table

    table = Table(title=f"Mistakes in % on the rotating XOR stream, {EXAMPLES:,} examples", title_justify="left")
    table.add_column("turned by", no_wrap=True)
    for i in range(len(next(iter(rates.values())))):
        table.add_column(f"{DEGREES * i}°", justify="right")
    table.add_column("all", justify="right", style="bold")
    for name, values in rates.items():
        table.add_row(name, *(f"{100 * value:.0f}" for value in values), f"{100 * sum(values) / len(values):.1f}")
    return table
