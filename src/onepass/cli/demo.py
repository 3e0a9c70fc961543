"""`onepass demo`: a boundary that turns, and what a straight and a curved learner make of it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from onepass.cli.options import Target
from onepass.cli.output import progress, save_figure, show

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

    Four clouds of points, two classes crosswise, turn by ten degrees after every hundred examples. No straight line parts the
    classes; PAMO learns a curved boundary in one pass, and keeps up with the turning.
    """
    from onepass import PAClassifier, PAMOClassifier, datasets

    X, y = datasets.rotating_xor(EXAMPLES, TURN, random_state=SEED)
    models = {
        "PA-I": PAClassifier(),
        "PAMO-II": PAMOClassifier(dimensions=16, hyperplanes=2, C=0.5, variant="II", random_state=SEED),
    }
    pieces = [slice(start, start + TURN) for start in range(0, EXAMPLES, TURN)]
    drawn = find_spec("matplotlib") is not None
    rates: dict[str, list[float]] = {name: [] for name in models}
    snapshots: dict[str, list[Any]] = {name: [] for name in models}
    with progress() as display:
        bar = display.add_task("learning", total=len(models) * len(pieces) * (2 if drawn else 1), facts="")
        for piece in pieces:
            for name, model in models.items():
                scores = model.test_then_train(X[piece], y[piece], classes=[0, 1])
                rates[name].append(float(((scores >= 0) != y[piece]).mean()))
                snapshots[name].append(model.copy())
                display.update(bar, advance=1, facts=f"{name}: mistake rate {100 * rates[name][-1]:.0f} %")
        if drawn:
            display.update(bar, description="drawing", facts=str(output))
            draw(snapshots, rates, X, y, pieces, output, lambda: display.advance(bar))
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


def draw(snapshots: Any, rates: Any, X: Any, y: Any, pieces: list[slice], path: Path, advance: Any) -> None:
    """A row of panels for each learner: its boundary after each hundred examples, and those examples."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from onepass.plots import DecisionBoundaryDisplay

    figure, panels = pyplot.subplots(
        len(snapshots), len(pieces), figsize=(2 * len(pieces), 2.18 * len(snapshots) + 0.4), layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.04, h_pad=0.05, wspace=0.02, hspace=0.04)
    for row, (name, models) in zip(panels, snapshots.items(), strict=True):
        for i, (ax, model, piece) in enumerate(zip(row, models, pieces, strict=True)):
            DecisionBoundaryDisplay.from_estimator(model, X[piece], y[piece], ax=ax, extent=EXTENT)
            ax.set(xticks=[], yticks=[])
            ax.set_xlabel(f"{100 * rates[name][i]:.0f} % wrong", fontsize=11, color="#555555")
            advance()
        row[0].set_ylabel(name, fontsize=15, fontweight="bold", labelpad=8)
    for i, (ax, piece) in enumerate(zip(panels[0], pieces, strict=True)):
        ax.set_title(f"{piece.stop} examples\nturned by {DEGREES * i}°", fontsize=11, color="#222222")
    save_figure(figure, path)
    pyplot.close(figure)
