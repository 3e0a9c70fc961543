"""The experiments again: what they measure is kept, goes on and comes again; and the figures in the docs are those of the program."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import clone

import onepass
from onepass import HedgeBackprop, OnlineMLPClassifier, PAMOClassifier, evaluate
from onepass.cli import main
from onepass.cli.reproduce import NAMES
from onepass.experiments import EXPERIMENTS, Cells, Lab
from onepass.experiments.cells import Task
from onepass.experiments.committees import Stream, arranged, one_pass
from onepass.experiments.lab import Problem, equalised
from onepass.experiments.neural import drawn, streamed
from onepass.experiments.published import DEPTHS, MISTAKE_RATE, ODL, PEERS, TEST_ERROR
from onepass.experiments.report import Aside, Section, Table
from onepass.experiments.structures import Part, asking, choosing, learning, lists_of, sureness, trees_on_the_way
from onepass.experiments.tables import SIZES, needs_scaling, reached, rows
from onepass.plots import style
from shared import dataset, golden

DOCS = Path(__file__).parents[2] / "docs" / "reproduced"
PAPER = {
    "svmguide1": "SVMGUIDE1",
    "cbcl": "CBCL",
    "ijcnn1": "IJCNN1",
    "webspam": "WEBSPAM",
    "a9a": "a9a",
    "w7a": "w7a",
    "w8a": "w8a",
}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["reproduce", *arguments])


def lines(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- what was published ---


@pytest.mark.parametrize(
    ("ours", "name"), [(TEST_ERROR, "table1_test_error_percent"), (MISTAKE_RATE, "table2_online_mistake_rate_percent")]
)
def test_published_figures_are_the_papers(ours: Any, name: str) -> None:
    paper = golden("paper_tables.json")[name]
    assert set(ours) == set(paper["rows"])
    for row, figures in ours.items():
        for data, figure in figures.items():
            assert list(figure) == paper["rows"][row][paper["columns"].index(PAPER[data])]


@pytest.mark.parametrize(("data", "measure"), [("ewt", "test_accuracy"), ("wikigold", "test_f1"), ("wnut17", "test_f1")])
def test_figures_of_crfsuite_are_those_of_its_best_runs(data: str, measure: str) -> None:
    runs = golden("crfsuite.json")["tasks"][data]["runs"]
    for passes, figure in zip((1, 10), PEERS[data][1], strict=True):
        assert figure == pytest.approx(100 * max(run[measure][0] for run in runs if run["passes"] == passes and measure in run))


def test_figures_of_mstparser_are_those_of_its_runs() -> None:
    first, last, *others = golden("parsing.json")["mstparser"]["runs"]
    assert [run["train"] for run in (first, last)] == ["ewt-train[::4]"] * 2
    assert PEERS["ewt-trees"][1] == pytest.approx([100 * run["uas"] for run in (first, last)])
    (lithuanian,) = [run for run in others if run["train"] == "alksnis-train" and run["decoder"] == "projective"]
    assert PEERS["alksnis-trees"][1] == (None, pytest.approx(100 * lithuanian["uas"]))


def test_figures_by_depth_agree_with_the_table() -> None:
    plain, hedged = DEPTHS.values()
    assert {count: ODL[f"BP-{count}"]["Higgs"] for count in (2, 4, 20)} == {count: plain[count] for count in (2, 4, 20)}
    assert hedged[20] == ODL["HBP-20"]["Higgs"]


def test_pamo_has_the_sizes_of_the_paper() -> None:
    paper = golden("paper_tables.json")["table1_test_error_percent"]
    sizes = dict(zip(paper["columns"], paper["pamo_dimensions_x_hyperplanes"], strict=True))
    assert {PAPER[data]: f"{h}x{k}" for data, (h, k) in SIZES.items()} == sizes


def test_every_row_of_the_paper_is_measured() -> None:
    assert set(rows(True, (64, 2))) >= set(TEST_ERROR) | set(MISTAKE_RATE)


def test_the_command_knows_all_experiments() -> None:
    assert set(NAMES) == set(EXPERIMENTS)


# --- what was measured is kept ---


def test_a_cell_is_measured_once(tmp_path: Path) -> None:
    calls = []

    def measure() -> dict[str, Any]:
        calls.append(1)
        return {"value": len(calls)}

    task = Task({"of": "this"}, measure)
    assert Cells(tmp_path).measured([task]) == [{"value": 1}]
    assert Cells(tmp_path).measured([task, Task({"of": "that"}, measure)]) == [{"value": 1}, {"value": 2}]
    assert len(calls) == 2


def test_a_broken_cell_is_measured_again(tmp_path: Path) -> None:
    task = Task({"of": "this"}, lambda: {"value": 1})
    Cells(tmp_path).measured([task])
    (path,) = tmp_path.iterdir()
    path.write_text("{")
    assert Cells(tmp_path).measured([task]) == [{"value": 1}]
    assert json.loads(path.read_text())["measured"] == {"value": 1}


def test_cells_of_other_code_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cells(tmp_path).measured([Task({"of": "this"}, lambda: {"value": 1})])
    monkeypatch.setattr("onepass.experiments.cells.source", lambda: "other")
    assert Cells(tmp_path).measured([Task({"of": "this"}, lambda: {"value": 2})]) == [{"value": 2}]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_run_keeps_what_was_done(tmp_path: Path, jobs: int) -> None:
    """An error in the third of six: the two before it are there, nothing of the last ones was begun, and the rest goes on."""
    begun: list[int] = []

    def task(i: int, broken: bool) -> Task:
        def measure() -> dict[str, Any]:
            begun.append(i)
            if broken and i == 2:
                raise KeyboardInterrupt
            return {"value": i}

        return Task({"of": i}, measure)

    with pytest.raises(KeyboardInterrupt):
        Cells(tmp_path, jobs).measured([task(i, broken=True) for i in range(3)])
    assert len(list(tmp_path.glob("*.json"))) == 2
    begun.clear()
    assert Cells(tmp_path, jobs).measured([task(i, broken=False) for i in range(6)]) == [{"value": i} for i in range(6)]
    assert sorted(begun) == [2, 3, 4, 5]


def test_answers_come_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    tasks = [Task({"of": i}, lambda i=i: {"value": i}) for i in range(50)]  # type: ignore[misc]
    progress: list[int] = []
    done = Cells(tmp_path, 4, progress.append, lambda: progress.append(-1)).measured(tasks)
    assert done == [{"value": i} for i in range(50)]
    assert progress[0] == 50
    assert progress.count(-1) == 50


# --- passes ---


def test_a_pass_is_that_of_compare(tmp_path: Path) -> None:
    """The mistake rate, its curve and the test error are what `prequential` and `score` say of the same permutation."""
    X, y = onepass.datasets.circles(500, random_state=0)
    problem = Problem("circles", X[:400], y[:400], X[400:], y[400:])
    lab = Lab(Cells(tmp_path), permutations=2)
    runs = lab.cells.measured(lab.passes(PAMOClassifier(8), problem))
    for seed, found in enumerate(runs):
        order = np.random.RandomState(seed).permutation(400)
        model = PAMOClassifier(8, random_state=seed)
        result = evaluate.prequential(model, (X[order], y[order]), "mistake_rate", classes=[0, 1])
        assert found["online"] == result.metrics["mistake_rate"]
        assert found["test"] == pytest.approx(1 - model.score(X[400:], y[400:]))
        assert found["curve"][-1] == pytest.approx(found["online"], abs=1e-6)


@pytest.mark.parametrize("tested", [False, True])
def test_a_pass_of_a_committee_is_that_of_prequential(tested: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    stream = Stream("drawn", Problem("drawn", X, X[:, 0] > 0, X[:50], X[:50, 1] > 0), True, tested)
    task = one_pass(OnlineMLPClassifier(4), stream, 7)
    rows, labels = arranged(stream, 7)
    assert (np.sort(rows, axis=0) == np.sort(X, axis=0)).all()
    assert (rows != X).any()
    model = OnlineMLPClassifier(4, random_state=7)
    result = evaluate.prequential(model, (rows, labels))
    expected = 1 - model.score(X[:50], X[:50, 1] > 0) if tested else result.metrics["mistake_rate"]
    assert task.measure() == {"error": expected}


def test_an_equalised_image_has_the_share_of_pixels_that_are_not_brighter() -> None:
    images = np.array([[10.0, 0, 10, 200], [7, 7, 7, 7]])
    assert equalised(images).tolist() == [[0.75, 0.25, 0.75, 1], [1, 1, 1, 1]]
    assert np.array_equal(equalised(sp.csr_array(images)), equalised(images))
    assert np.array_equal(equalised(3 * images + 20), equalised(images))  # more light and contrast


def test_experiments_have_faces_equalised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the data set itself has the grey levels as they are."""
    monkeypatch.delenv("ONEPASS_DATA", raising=False)
    for name in ("cbcl", "cbcl.t"):
        (tmp_path / name).write_text("+1 1:255 2:3\n-1 3:9\n")
    lab = Lab(Cells(tmp_path / "cells"), folder=tmp_path)
    problem = lab.parts("cbcl", scale=False)
    assert onepass.datasets.load("cbcl", folder=tmp_path).X[0, 0] == 255
    assert problem.X[0, :3].tolist() == problem.X_test[0, :3].tolist() == [1, 360 / 361, 359 / 361]


def test_a_task_gives_the_same_each_time(tmp_path: Path) -> None:
    """All draws follow from the seed, those of a learner inside a pipeline as well, and no task goes on with what another learned."""
    X, y = onepass.datasets.sea(500, random_state=0)
    lab = Lab(Cells(tmp_path))
    for model in (PAMOClassifier(4), onepass.pipeline(onepass.StandardScaler(), PAMOClassifier(4))):
        task = lab.one_pass(model, Problem("sea", X, y), None)
        assert task.measure() == task.measure() == lab.one_pass(model, Problem("sea", X, y), None).measure()


def test_a_stream_is_predicted_before_it_is_learned() -> None:
    """The error is that of `prequential`, and the shares at the end are the model's."""
    problem = drawn("deep", 600)
    model = onepass.pipeline(onepass.StandardScaler(), HedgeBackprop((8, 8), random_state=0))
    found = streamed(HedgeBackprop((8, 8)), problem).measure()
    result = evaluate.prequential(model, (problem.X, problem.y), "mistake_rate", classes=[0, 1])
    assert found["error"] == pytest.approx(100 * result.metrics["mistake_rate"])
    assert found["shares"][-1] == np.round(model.learner.shares_, 4).tolist()
    assert found["at"][-1] == 600


def test_a_stream_that_diverges_has_no_error() -> None:
    model = OnlineMLPClassifier(8, "relu", step="sgd", rate=1e30)
    assert np.isnan(streamed(model, drawn("deep", 300)).measure()["error"])


def test_labels_that_change_do_so_in_the_second_third() -> None:
    still, changing = drawn("deep", 900), drawn("drift", 900)
    assert np.array_equal(still.X, changing.X)
    differ = still.y != changing.y
    assert 0.2 < differ[300:600].mean() < 0.8
    assert not differ[:300].any()
    assert not differ[600:].any()
    assert still.y.mean() == 0.5


def test_other_data_of_the_same_name_is_measured_anew(tmp_path: Path) -> None:
    X, y = onepass.datasets.sea(500, random_state=0)
    lab = Lab(Cells(tmp_path), permutations=1)
    first, second = (lab.passes(PAMOClassifier(4), Problem("sea", X, labels)) for labels in (y, 1 - y[::-1]))
    assert lab.cells.measured(first) != lab.cells.measured(second)


def test_pamo_may_differ_by_two_deviations_and_others_may_not_be_worse() -> None:
    assert reached("PAMO-I", 16.99 + 0.19, 16.99, 0.07)
    assert not reached("PAMO-I", 16.99 + 0.20, 16.99, 0.07)
    assert reached("FOGD", 17.40, 17.4, 0.1)
    assert not reached("FOGD", 17.41, 17.4, 0.1)


# --- structures ---

WORDS, TAGS = [["the", "dog"], ["a", "cat", "sleeps"], ["dogs"]] * 10, [["D", "N"], ["D", "N", "V"], ["N"]] * 10


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scores_along_passes_are_those_of_a_model_that_is_taught_so() -> None:
    """In the shares and the orders that are said; trees by both measures."""
    tagger = onepass.SequenceTagger(templates="tags")
    part = Part("", "words", {"tagger": tagger}, 2, outputs=True)
    found = learning(part, "tagger", (WORDS, TAGS, WORDS[:3], [["D", "N"], ["D", "N", "N"], ["N"]]), 5, (0.1, 1)).measure()
    model, rng, scores = clone(tagger), np.random.default_rng(5), []
    for cuts in ((0, 3, 30), (0, 30)):
        order = rng.permutation(30)
        for begin, end in pairwise(cuts):
            model.partial_fit([WORDS[i] for i in order[begin:end]], [TAGS[i] for i in order[begin:end]])
            scores.append(pytest.approx([100 * model.score(WORDS[:3], [["D", "N"], ["D", "N", "N"], ["N"]])]))
    assert found["seen"] == [3, 30]
    assert found["start"] == scores[:2]
    assert found["passes"] == scores[1:]


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_asking_tagger_is_held_against_as_many_sentences_and_words() -> None:
    found = asking(onepass.SequenceTagger(templates="tags"), 0.1, (WORDS, TAGS, WORDS[:3], TAGS[:3]), 0).measure()
    order = np.random.default_rng(0).permutation(30)
    X, y = [WORDS[i] for i in order], [TAGS[i] for i in order]
    model = onepass.ActiveLearner(onepass.SequenceTagger(templates="tags", random_state=0), 0.1, random_state=0).partial_fit(
        X, y
    )
    assert found["asked"] == pytest.approx(100 * model.asked_ / 30)
    assert found["active"] == pytest.approx(100 * model.score(WORDS[:3], TAGS[:3]))
    assert 0 < found["paid"] < 100
    assert found["all"] == 100


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_lists_have_the_share_of_right_tags_as_quality() -> None:
    taggers = {name: onepass.SequenceTagger(templates=[name]).fit(WORDS, TAGS) for name in ("lower[0]", "suffix2[0]")}
    H, mu = lists_of(taggers, WORDS[:3], TAGS[:3], 4)
    assert [one.shape for one in H] == [(4, 3), (4, 3), (3, 3)]
    assert [max(one) for one in mu] == [1, 1, 1]
    assert all(h[0, 0] == 0 and (h <= 1e-12).all() for h in H)  # nothing is ahead of the best


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_chooses_is_held_against_the_first_and_the_best_of_a_list() -> None:
    views = {"word": ["lower[0]"], "suffix": ["suffix2[0]"]}
    learners = {"one": onepass.Reranker(), "order": onepass.Ranker()}  # a place, and the places of all
    found = choosing(learners, views, (10, 20, 3), (WORDS, TAGS, WORDS[:3], TAGS[:3]), 0).measure()
    assert set(found) == {"first choice", "best of the 3", *learners}
    assert all(found["best of the 3"] >= value >= 0 for value in found.values())


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_tags_are_told_from_right_ones() -> None:
    """One word of the test part has a tag that nobody knows: whatever is told of it is wrong."""
    ways = {"lead": {"method": "lead"}, "30 best": {"method": "n_best", "n": 30}}
    data = WORDS, TAGS, [["the", "dog"], ["zzz"]], [["D", "N"], ["unheard of"]]
    found = sureness(onepass.SequenceTagger(templates="tags"), ways, (0.0,), data, 0).measure()
    assert found["wrong"] == pytest.approx(100 / 3)
    assert found["ways"]["lead"] == {"precision": 1.0, "right": []}
    assert found["ways"]["30 best"]["right"] == [None]


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_tree_on_the_way_is_that_of_a_parser_that_has_seen_so_many() -> None:
    X = [[("the", "D"), ("dog", "N"), ("barks", "V")], [("dogs", "N"), ("bark", "V")]] * 2
    y = [[(2, "det"), (3, "nsubj"), (0, "root")], [(2, "nsubj"), (0, "root")]] * 2
    parser, order = onepass.DependencyParser(n_features=2**12), np.random.default_rng(3).permutation(4)
    found = trees_on_the_way(parser, X[0], [1, 4], (X, y), 3).measure()
    for n, heads in zip((1, 4), found["heads"], strict=True):
        model = clone(parser).partial_fit([X[i] for i in order[:n]], [y[i] for i in order[:n]])
        assert [head for head, _ in model.predict_one(X[0])] == heads


def test_asides_are_written_beside_their_section(tmp_path: Path) -> None:
    table, drawn = Table(["a"], [["1"], ["2"]], frozenset({(1, 0)})), style.figure(2, 2)
    asides = [Aside("why", "Why?", "Because.", table), Aside("how", "How?", "Like that.", figure=drawn)]
    section = Section("x", "X", ["About."], table, [{"a": 1}], drawn, asides=asides, command="c")
    section.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"x.csv", "x.png", "x.md", "x-how.png"}
    text = (tmp_path / "x.md").read_text()
    assert "### Why?\n\nBecause.\n\n| a |\n| --- |\n| 1 |\n| **2** |\n" in text
    assert "### How?\n\nLike that.\n\n![How?](x-how.png)\n" in text
    assert section.html().count("data:image/png;base64,") == 2


# --- the command ---


def test_the_command_writes_everything(tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "page.html"
    result = run("sugiyama", "fig8", "--permutations", "1", "--out", str(out), "--html", str(page))
    assert result.exit_code == 0, result.output
    assert "AROW suffers less from outliers" in result.output
    for name in ("sugiyama.csv", "sugiyama.png", "sugiyama.md", "fig8.csv", "fig8.png", "fig8-search.csv", "index.md"):
        assert (out / name).stat().st_size > 100, name
    html = page.read_text()
    assert html.count("data:image/png;base64,") == 2
    assert "http" not in html.replace("http-equiv", "")
    assert "171 candidates" in html  # 9 for PA-I, 81 for each PAMO
    searched = lines(out / "fig8-search.csv")
    assert sum(line["chosen"] == "yes" for line in searched) == 3


def test_the_index_shows_what_earlier_commands_wrote(tmp_path: Path) -> None:
    for name in ("fig8", "sugiyama"):
        assert run(name, "--permutations", "1", "--out", str(tmp_path)).exit_code == 0
    text = (tmp_path / "index.md").read_text()
    assert text.index("## Figure 8") < text.index("## The textbook's figures")
    assert "Written by `onepass reproduce fig8 --permutations 1`" in text


def test_tables_without_any_data_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(lab: Lab, name: str) -> Any:
        raise FileNotFoundError(f"The file {name} was not found.")

    monkeypatch.setattr(Lab, "load", absent)
    result = run("table1", "table2", "--permutations", "1", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "The data set svmguide1 is not at hand" in result.output


def test_a_second_run_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("sugiyama", "--permutations", "1", "--out", str(tmp_path)).exit_code == 0
    before = (tmp_path / "sugiyama.csv").read_bytes()
    monkeypatch.setattr(Cells, "_measure", lambda *_: pytest.fail("measured again"))
    assert run("sugiyama", "--permutations", "1", "--out", str(tmp_path)).exit_code == 0
    assert (tmp_path / "sugiyama.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["fig6", "fig7"])
def test_figures_without_the_faces_show_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def load(lab: Lab, name: str) -> Any:
        if name == "cbcl":
            raise FileNotFoundError(f"The file {name} was not found.")
        X, y = onepass.datasets.circles(100, random_state=0)
        return onepass.datasets.Dataset(name, "binary", "", X, y, X, y)

    monkeypatch.setattr(Lab, "load", load)
    assert run(name, "--permutations", "1", "--out", str(tmp_path)).exit_code == 0
    assert "The data set cbcl is not at hand" in (tmp_path / f"{name}.md").read_text()
    assert {line["data"] for line in lines(tmp_path / f"{name}.csv")} == {"svmguide1"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table3"], "is not one of"),
        ([], "Missing argument"),
        (["fig8", "--permutations", "0"], "0 is not in the range"),
        (["fig8", "--data", "/nowhere"], "does not exist"),
        (["fig8", "--out", "/dev/null/x"], "can't make the directory"),
    ],
)
def test_wrong_command_lines(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_absent_data_is_named_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(lab: Lab) -> Any:
        raise FileNotFoundError("The file elec2.csv was not found.")

    monkeypatch.setitem(EXPERIMENTS, "shifting", absent)
    result = run("shifting", "sugiyama", "--permutations", "1", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "shifting was left out: The file elec2.csv was not found." in result.output
    assert (tmp_path / "sugiyama.csv").exists()
    alone = run("shifting", "--out", str(tmp_path))
    assert alone.exit_code == 1
    assert "error: The file elec2.csv was not found." in alone.output


@pytest.mark.slow  # test_translation.py has those with translators
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("translation", "typing", "choosing")])
def test_the_quick_form(tmp_path: Path, name: str) -> None:
    """One permutation of a part of the data: every experiment runs to its end and writes what it should."""
    dataset("a9a")  # or the test is skipped, loudly
    result = run(name, "--permutations", "1", "--rows", "1000", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert len(lines(tmp_path / f"{name}.csv")) > 0
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000


# --- the figures in the docs ---


def cell_again(table: str, data: str, learner: str) -> tuple[float, float]:
    """A cell of the docs, measured again with the parameters that were chosen: its figure there, and here."""
    (line,) = [x for x in lines(DOCS / f"{table}.csv") if x["data"] == data and x["learner"] == learner]
    model = eval(line["model"], {"nan": np.nan, **onepass.learners()})
    lab = Lab(Cells(Path("/nonexistent")), int(line["permutations"]))
    scaled = needs_scaling(data, learner)
    problem = lab.parts(data, scale=scaled) if table == "table1" else lab.whole(data, scale=scaled)
    runs = [task.measure()["test" if table == "table1" else "online"] for task in lab.passes(model, problem)]
    return float(line["mean"]), 100 * float(np.mean(runs))


@pytest.mark.parametrize(
    ("table", "data", "learner"),
    [
        ("table1", "svmguide1", "PA-I"),
        ("table1", "svmguide1", "onepass: averaged PAMO-II"),
        pytest.param("table2", "a9a", 'onepass: PAMO-I, C="auto"', marks=pytest.mark.slow),
        pytest.param("table2", "a9a", "BPA-S", marks=pytest.mark.slow),
        pytest.param("table1", "ijcnn1", "LOL", marks=pytest.mark.slow),
        pytest.param("table1", "cbcl", "SCW-II", marks=pytest.mark.slow),
        pytest.param("table1", "cbcl", "PAMO-II", marks=pytest.mark.slow),
    ],
)
def test_the_figures_in_the_docs_come_again(table: str, data: str, learner: str) -> None:
    dataset(data)
    written, measured = cell_again(table, data, learner)
    assert measured == pytest.approx(written, abs=6e-4)


def test_the_docs_hold_what_we_claim() -> None:
    """PAMO is within two published deviations in every cell, all others are within one; averaged it is ahead of the paper on two data
    sets of Table 1, with C="auto" in Table 2."""
    table1 = lines(DOCS / "table1.csv")
    cells = {(line["data"], line["learner"]): float(line["mean"]) for line in table1}
    assert {data for data, _ in cells} == {"svmguide1", "cbcl", "ijcnn1"}
    assert all(line["reached"] == "yes" for line in table1 if line["learner"].startswith("PAMO"))
    assert all(float(line["difference"]) <= float(line["published std"]) for line in table1 if line["reached"] == "no")
    for data, limit in (("svmguide1", 3.8), ("ijcnn1", 2.0)):
        ours = cells[data, "onepass: averaged PAMO-II"]
        assert ours < min(limit, *(row[data][0] for row in TEST_ERROR.values()))
    table2 = lines(DOCS / "table2.csv")
    assert all(line["reached"] == "yes" for line in table2 if line["learner"].startswith("PAMO"))
    for line in table2:
        if line["learner"] == 'onepass: PAMO-I, C="auto"':
            assert float(line["mean"]) < min(row[line["data"]][0] for row in MISTAKE_RATE.values())
            assert line["data"] != "a9a" or float(line["mean"]) < 16.2
