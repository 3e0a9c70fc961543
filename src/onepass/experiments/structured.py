"""Outputs and inputs with a structure: tags, names, trees, strings and graphs, against passes and against examples seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from onepass.experiments.cells import Task
from onepass.experiments.lab import Lab
from onepass.experiments.published import PEERS
from onepass.experiments.report import Aside, Section, Table
from onepass.experiments.structures import Part, asking, choosing, learning, machine, sureness, trees_on_the_way
from onepass.kernel import BudgetPA
from onepass.linear import AROWClassifier, PAClassifier
from onepass.plots.style import FAINT, INK, colour, figure, tidy
from onepass.plots.trees import draw_tree
from onepass.stages import Spectrum, Subtrees, WeisfeilerLehman, pipeline
from onepass.structured import DependencyParser, LogLinear, Ranker, Reranker, SequenceTagger

Record = dict[str, Any]

# --- settings ---

ORDERS = 3  # of the data, at most
FOLDS = 10
STARTS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)  # how much of the first pass was seen when its test error is measured
BUDGET = 200
# What keeps vectors on a budget: what goes is projected onto all that stay. Its kernel, x.z + 1, has a constant, too.
KEEPS = BudgetPA(kernel="poly", degree=1, gamma=1.0, coef0=1.0, budget=BUDGET, strategy="projecting", average=True)

TAGS: dict[str, Record] = {
    "margin rescaling": {},
    "prediction-based PA": {"update": "prediction", "cost": "root"},
    "perceptron": {"rule": "perceptron", "update": "prediction"},
    "5-best MIRA": {"update": "prediction", "rivals": 5},
    "second order": {"order": 2},
}
BEST = "margin rescaling", "5-best MIRA"  # of these, where not all are tried
TREES: dict[str, Record] = {
    "margin rescaling": {},
    "prediction-based PA": {"update": "prediction"},
    "perceptron": {"rule": "perceptron", "update": "prediction"},
    "5-best MIRA": {"update": "prediction", "rivals": 5},
}

SURE = 800  # sentences, for how sure their tags are
RULES = ("AROW", "CW", "PA")
WAYS: dict[str, Record] = {
    "lead": {"method": "lead"},
    "50 draws": {"method": "drawn", "n": 50, "random_state": 0},
    "30 best": {"method": "n_best", "n": 30},
}
SHARES = (0.6, 0.8)
DELTA = 0.1  # of active learning

# What each of the weak taggers sees of a word and its neighbours; the first of them makes the lists.
VIEWS = {
    "word": ["lower[0]"],
    "suffix": ["suffix3[0]", "suffix2[0]"],
    "prefix": ["prefix3[0]", "shape[0]"],
    "before": ["lower[-1]", "suffix2[0]"],
    "after": ["lower[1]", "suffix1[0]"],
}
LISTS = 2000, 3000, 20  # sentences for the taggers, other ones for the lists, and candidates of a list
CHOOSERS = {
    "Reranker()": Reranker(),
    "perceptron": Reranker(rule="perceptron"),
    "hope and fear, C = 0.1": Reranker(update="hope_fear", variant="I", C=0.1),
    "AROW": Reranker(rule="AROW"),
    "LogLinear()": LogLinear(),
    "each list alone, alpha = 0.01": LogLinear(keep=0, alpha=0.01),
    "the same, beta = 0": LogLinear(keep=0, alpha=0.01, beta=0),
    'LogLinear("bayes")': LogLinear(method="bayes"),
    'Ranker("AROW", r=10)': Ranker(rule="AROW", r=10.0),
}

SENTENCE = 14  # of the test part, which is drawn
SEEN = (10, 100, 1000)  # sentences before it is parsed, and then all


def taggers(templates: str, **more: Any) -> dict[str, Any]:
    """Rules for tags."""
    return {name: SequenceTagger(templates=templates, **more, **rule) for name, rule in TAGS.items()}


def of_counts(stage: Any) -> dict[str, Any]:
    """Learners of the counts of a stage."""
    return {
        "PA-I, averaged": pipeline(stage, PAClassifier(average=True)),
        "AROW": pipeline(stage, AROWClassifier()),
        f"BPA-P, B = {BUDGET}": pipeline(clone(stage), clone(KEEPS)),
    }


def outputs(title: str, data: str, learners: dict[str, Any], *measures: str, passes: int = 10, shuffled: bool = True) -> Part:
    """A part whose outputs are structured."""
    return Part(title, data, learners, passes, measures, outputs=True, shuffled=shuffled)


PARTS = (
    outputs("Tags of EWT", "ewt", taggers("tags"), "accuracy"),
    outputs("Names of Wikigold", "wikigold", taggers("names", constraints="BIO"), "F1"),
    outputs("Trees of EWT", "ewt-trees", {name: DependencyParser(**rule) for name, rule in TREES.items()}, "UAS", "LAS"),
    Part("Questions, by subtrees", "questions", of_counts(Subtrees()), 10),
    Part("Promoters, by 5-spectrum", "promoters", of_counts(Spectrum(5)), 20, folds=True),
    Part("MUTAG, by Weisfeiler-Lehman", "mutag", of_counts(WeisfeilerLehman(3)), 20, folds=True),
    Part("PTC, by Weisfeiler-Lehman", "ptc", of_counts(WeisfeilerLehman(3)), 20, folds=True),
    Part("ENZYMES, by Weisfeiler-Lehman", "enzymes", of_counts(WeisfeilerLehman(3)), 20, folds=True),
)
MORE = (
    outputs("Tags of EWT", "ewt", {"uniform average": SequenceTagger(templates="tags", average="uniform")}, "accuracy"),
    outputs(
        "Tags of EWT",
        "ewt",
        {"in the order of the file": SequenceTagger(templates="tags")},
        "accuracy",
        passes=1,
        shuffled=False,
    ),
    outputs("Names of Wikigold", "wikigold", {"without constraints": SequenceTagger(templates="names")}, "F1"),
    outputs("Names of WNUT-17", "wnut17", {name: taggers("names", constraints="BIO")[name] for name in BEST}, "F1"),
    outputs(
        "Trees of ALKSNIS",
        "alksnis-trees",
        {"without crossing arcs": DependencyParser(), "all trees": DependencyParser(projective=False)},
        "UAS",
        "LAS",
    ),
)


# --- what is measured ---


def parts_of(lab: Lab, part: Part) -> list[list[Sequence[Any]]]:
    """For each order of the data, what is learned from and what is tested on: one pair of parts, or as many as there are folds."""
    data, orders = lab.load(part.data), range(min(lab.permutations, ORDERS))
    keep = np.sort(np.random.RandomState(0).permutation(len(data.X))[: lab.rows])
    X, y = [data.X[i] for i in keep], data.y[keep] if isinstance(data.y, np.ndarray) else [data.y[i] for i in keep]
    if not part.folds:
        return [[(X, y, data.X_test[: lab.rows], data.y_test[: lab.rows])] for _ in orders]
    found = list[list[Sequence[Any]]]()
    for p in orders:
        halves = StratifiedKFold(FOLDS, shuffle=True, random_state=p).split(np.zeros(len(X)), y)
        found.append([([X[i] for i in a], y[a], [X[i] for i in b], y[b]) for a, b in halves])
    return found


def curves(lab: Lab, part: Part, orders: list[list[Sequence[Any]]], shares: Sequence[float]) -> dict[str, dict[str, Any]]:
    """For each learner of a part, how many examples it had seen and its scores then, and those after each pass: means."""
    tasks = {
        learner: [learning(part, learner, data, p, shares) for p, several in enumerate(orders) for data in several]
        for learner in part.learners
    }
    return {
        learner: {key: np.mean([run[key] for run in runs], axis=0) for key in ("seen", "start", "passes")}
        for learner, runs in together(lab, tasks).items()
    }


def together(lab: Lab, tasks: dict[str, list[Task]]) -> dict[str, list[dict[str, Any]]]:
    """What was measured by the tasks of each name, all of which may run at the same time."""
    runs = iter(lab.cells.measured([task for several in tasks.values() for task in several]))
    return {name: [next(runs) for _ in several] for name, several in tasks.items()}


def peer(lab: Lab, part: Part, orders: list[list[Sequence[Any]]]) -> tuple[str, tuple[float | None, float | None]]:
    """The rival of a part, and its scores after one pass and after the last."""
    if part.outputs:
        return PEERS[part.data]
    found = lab.cells.measured([machine(part, data) for several in orders for data in several])
    return "SVM", (None, float(np.mean([one["score"] for one in found])))


def record(data: str, learner: str, measure: str, after: str, value: float) -> Record:
    """One line of the CSV file."""
    return {"data": data, "learner": learner, "measure": measure, "after": after, "%": f"{value:.3f}"}


# --- what is told ---

HEADER = ["data", "learner", "measure", "1 pass", "last pass", "passes"]


def told(part: Part, found: dict[str, dict[str, Any]]) -> tuple[list[list[str]], list[Record]]:
    """The lines of a part in the table, by measure, and its records."""
    lines, records = list[list[str]](), list[Record]()
    for k, measure in enumerate(part.measures):
        for learner, one in found.items():
            after = [f"{n:.0f} examples" for n in one["seen"]] + [f"{n} passes" for n in range(1, part.passes + 1)]
            scores = [*one["start"][:, k], *one["passes"][:, k]]
            records += [record(part.data, learner, measure, *pair) for pair in zip(after, scores, strict=True)]
            first, last = one["passes"][0, k], one["passes"][-1, k]
            lines.append([part.title, learner, measure, f"{first:.2f}", f"{last:.2f}", str(part.passes)])
    return lines, records


def beside(part: Part, name: str, figures: tuple[float | None, float | None]) -> list[str]:
    """The line of the rival."""
    return [part.title, name, part.measures[0], *("" if x is None else f"{x:.2f}" for x in figures), ""]


def known(part: Part, name: str, figures: tuple[float | None, float | None]) -> list[Record]:
    """The records of the rival."""
    after = "1 passes", f"{part.passes} passes"
    return [
        record(part.data, name, part.measures[0], when, value)
        for when, value in zip(after, figures, strict=True)
        if value is not None
    ]


def structured(lab: Lab) -> Section:
    """Tags, names, trees, questions, promoters and molecules."""
    records, lines, strong = list[Record](), list[list[str]](), set[tuple[int, int]]()
    height = (len(PARTS) + 1) // 2
    fig = figure(14, 3.3 * height)
    axes = fig.subplots(height, 4).reshape(-1)
    for ax in axes[2 * len(PARTS) :]:
        ax.set_visible(False)
    for i, part in enumerate(PARTS):
        orders = parts_of(lab, part)
        name, figures = peer(lab, part, orders)
        found = curves(lab, part, orders, STARTS)
        mine, its = told(part, found)
        for measure in part.measures:
            places = [len(lines) + k for k, line in enumerate(mine) if line[2] == measure]
            strong.add((max(places, key=lambda k, first=len(lines): float(mine[k - first][4])), 4))  # type: ignore[misc]
        lines += [*mine, beside(part, name, figures)]
        records += [*its, *known(part, name, figures)]
        draw(part, found, name, figures, *axes[2 * i : 2 * i + 2])
    counted = min(lab.permutations, ORDERS)
    about = [
        "Test error in per cent (100 - F1 for names), along the first pass and after each pass; every pass has another order. Tags and"
        " names: templates of onepass, beside CRFsuite's best of pa, ap and arow with its own features. Trees: given tags, heads (UAS)"
        " and heads with relations (LAS), beside MSTParser, which learned from every fourth sentence."
        " Questions: the test part of TREC. Promoters and molecules: ten folds. The SVM has the same kernel, k(x, z) / sqrt(k(x, x)"
        " k(z, z)), and its C was found by cross-validation in what it learned from: all examples, also where its line stands beside"
        f" learners that have seen a part of them. BPA-NN keeps at most {BUDGET} vectors.",
        f"Mean of {counted} order{'' if counted == 1 else 's'}, or shuffles of the folds.",
    ]
    asides = list[Aside]()
    for question in (more, while_learned, how_sure, asked, chosen):
        aside, its = question(lab)
        asides.append(aside)
        records += its
    table = Table(HEADER, lines, frozenset(strong))
    return Section("structured", "Structured outputs and inputs", about, table, records, fig, asides=asides)


def draw(
    part: Part, found: dict[str, Any], name: str, figures: tuple[float | None, float | None], along: Any, after: Any
) -> None:
    """Both pictures of a part: the first pass, and all of them."""
    for j, (learner, one) in enumerate(found.items()):
        along.plot(one["seen"], 100 - one["start"][:, 0], color=colour(j), marker="o", markersize=3)
        passes = np.arange(1, part.passes + 1)
        after.plot(passes, 100 - one["passes"][:, 0], color=colour(j), marker="o", markersize=2, label=learner)
    first, last = figures
    for ax, value in ((along, last if first is None else first), (after, last)):
        if value is not None:
            ax.axhline(100 - value, color=INK, linewidth=1, label=name)
    along.set_xscale("log")
    along.set_xticks(one["seen"], [f"{n:,.0f}" for n in one["seen"]], fontsize=8)
    along.minorticks_off()
    along.set(
        title=part.title,
        xlabel="examples of the first pass",
        ylabel="100 - F1, %" if part.measures[0] == "F1" else "error, %",
    )
    after.set(xlabel="passes")
    after.legend(frameon=False, fontsize=7)
    for ax in (along, after):
        ax.grid(color=FAINT)
        tidy(ax)


def more(lab: Lab) -> tuple[Aside, list[Record]]:
    """Other averages, orders, data and decoders."""
    lines, records, data = list[list[str]](), list[Record](), {part.data for part in PARTS}
    for part in MORE:
        orders = parts_of(lab, part)[: None if part.shuffled else 1]
        mine, its = told(part, curves(lab, part, orders, (1.0,)))
        lines += mine
        records += its
        if part.data not in data:
            lines.append(beside(part, *peer(lab, part, orders)))
            records += known(part, *peer(lab, part, orders))
    about = (
        "Margin rescaling where nothing else is said. Nearly all names of the test part of WNUT-17 are new. MSTParser learned"
        " without relations."
    )
    return Aside("more", "Other averages, orders, data and decoders", about, Table(HEADER, lines)), records


def while_learned(lab: Lab) -> tuple[Aside, list[Record]]:
    """One sentence of EWT, parsed again and again."""
    ((data,), *_) = parts_of(lab, next(part for part in PARTS if part.data == "ewt-trees"))
    whole, n = lab.load("ewt-trees"), len(data[0])
    words, right = whole.X_test[SENTENCE], whole.y_test[SENTENCE]
    after = [*(few for few in SEEN if few < n), n]
    (found,) = lab.cells.measured([trees_on_the_way(DependencyParser(), words, after, data, 0)])
    fig = figure(9, 2.1 * len(after))
    records = list[Record]()
    for ax, n, heads in zip(np.ravel(fig.subplots(len(after), 1)), after, found["heads"], strict=True):
        good = sum(head == given for head, (given, _) in zip(heads, right, strict=True))
        draw_tree(words, heads, right, ax=ax)
        ax.set_title(f"after {n:,} sentences: {good} of {len(words)} heads are right", fontsize=10, loc="left")
        records.append(record("ewt-trees", "one sentence", "UAS", f"{n} examples", 100 * good / len(words)))
    about = (
        "One sentence of the test part, as `DependencyParser()` sees it along one pass; wrong arcs have another colour."
        " `onepass.plots.draw_tree` draws any tree."
    )
    return Aside("tree", "A tree while it is learned", about, figure=fig), records


def tags_of(lab: Lab) -> list[Sequence[Any]]:
    """The tags of EWT, once for each order."""
    return [several[0] for several in parts_of(lab, PARTS[0])]


def how_sure(lab: Lab) -> tuple[Aside, list[Record]]:
    """How well confidence finds wrong tags."""
    lines, records = list[list[str]](), list[Record]()
    orders = [(X, y, X_test[:SURE], y_test[:SURE]) for X, y, X_test, y_test in tags_of(lab)]
    tasks = {
        rule: [sureness(SequenceTagger(rule, templates="tags"), WAYS, SHARES, data, p) for p, data in enumerate(orders)]
        for rule in RULES
    }
    for rule, runs in together(lab, tasks).items():
        wrong = float(np.mean([run["wrong"] for run in runs]))
        for way in WAYS:
            precision = float(np.mean([run["ways"][way]["precision"] for run in runs]))
            near = [
                [x for x in column if x is not None]
                for column in zip(*(run["ways"][way]["right"] for run in runs), strict=True)
            ]
            right = [f"{np.mean(column):.0f}" if column else "" for column in near] or [""] * len(SHARES)
            lines.append([rule, way, f"{wrong:.1f}", f"{precision:.2f}", *right])
            records.append(record("ewt", f"{rule}, {way}", "average precision of wrong tags", "1 passes", 100 * precision))
    about = (
        f"`predict_confidence` after a pass over EWT, the first {SURE} sentences of the test part: the share of wrong tags in per"
        " cent, and the average precision with which the least sure tags are the wrong ones. Then how many of the tags are right, in"
        f" per cent, whose share of draws, or of sequences, is {SHARES[0]} and {SHARES[1]}, give or take 0.05. Draws have the default"
        " scale."
    )
    header = ["rule", "sure by", "wrong", "average precision", *(f"share {share}: right" for share in SHARES)]
    return Aside("sure", "How sure a tag is", about, Table(header, lines)), records


def asked(lab: Lab) -> tuple[Aside, list[Record]]:
    """Active learning of tags."""
    tagger = SequenceTagger(templates="tags")
    runs = lab.cells.measured([asking(tagger, DELTA, data, p) for p, data in enumerate(tags_of(lab))])
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    names = {
        "active": f"those that ActiveLearner asks for, delta = {DELTA}",
        "sentences": "as many at random",
        "words": "random ones with as many words",
        "all": "all",
    }
    lines = [[name, f"{mean[key]:.2f}"] for key, name in names.items()]
    records = [record("ewt", name, "accuracy", "1 passes", mean[key]) for key, name in names.items()]
    about = (
        f"One pass over EWT. `ActiveLearner` asks for {mean['asked']:.0f} % of the sentences, which have {mean['paid']:.0f} % of all"
        " words."
    )
    return Aside("asked", "Tags of sentences that are asked for", about, Table(["learned from", "accuracy"], lines)), records


def chosen(lab: Lab) -> tuple[Aside, list[Record]]:
    """Reranking of lists of tags."""
    (weak, others, n), orders = LISTS, tags_of(lab)
    weak = min(weak, len(orders[0][0]) // 2)
    runs = lab.cells.measured([choosing(CHOOSERS, VIEWS, (weak, others, n), data, p) for p, data in enumerate(orders)])
    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    about = (
        f"The {n} best tags of each sentence by a tagger that sees nothing but the word, from {weak:,} sentences of EWT; six features,"
        " which are what five taggers with a narrow view each think of them; quality is the share of right tags. One pass over the"
        f" lists of {others:,} other sentences, mean quality on the test part in per cent. No parameter was chosen by these figures."
    )
    lines = [[name, f"{value:.1f}"] for name, value in mean.items()]
    records = [record("ewt", name, "quality", "1 passes", value) for name, value in mean.items()]
    return Aside("chosen", "The best of a list", about, Table(["chosen by", "quality"], lines)), records
