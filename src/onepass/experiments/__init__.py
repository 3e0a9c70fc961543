"""The experiments of the papers, again: each a function from a `Lab` to a `Section` of the report."""

from onepass.experiments.cells import Cells
from onepass.experiments.committees import auto
from onepass.experiments.figures import fig6, fig7, fig8, fig9
from onepass.experiments.lab import Lab
from onepass.experiments.neural import neural
from onepass.experiments.report import Section, index, page
from onepass.experiments.slides import budget, shifting
from onepass.experiments.structured import structured
from onepass.experiments.study import active
from onepass.experiments.tables import table1, table2
from onepass.experiments.textbook import sugiyama
from onepass.experiments.translation import choosing, translation, typing

EXPERIMENTS = {
    experiment.__name__: experiment
    for experiment in (
        *(table1, table2, fig6, fig7, fig8, fig9, sugiyama, budget, active, shifting, structured, neural, auto),
        *(translation, typing, choosing),
    )
}

__all__ = ["EXPERIMENTS", "Cells", "Lab", "Section", "index", "page"]
