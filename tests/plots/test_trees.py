"""Dependency trees as pictures."""

from __future__ import annotations

from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch

from onepass.plots import draw_tree
from onepass.plots.style import colour
from onepass.plots.trees import _heights

matplotlib.use("Agg")

WORDS = ["the", "dog", "barks", "loudly"]
TREE = [(2, "det"), (3, "nsubj"), (0, "root"), (3, "advmod")]


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    pyplot.close("all")


def curves(ax: Any) -> list[Any]:
    return [patch for patch in ax.patches if isinstance(patch, PathPatch)]


def test_every_word_but_the_root_has_an_arc() -> None:
    ax = draw_tree(WORDS, TREE)
    assert len(curves(ax)) == 3
    assert [text.get_text() for text in ax.texts] == [*WORDS, "det", "nsubj", "root", "advmod"]
    assert {to_hex(arc.get_edgecolor()).upper() for arc in curves(ax)} == {colour(0)}


def test_wrong_arcs_and_relations_stand_out() -> None:
    """A wrong head changes the arc, a wrong relation its text only."""
    ax = draw_tree(WORDS, [(3, "det"), (3, "obj"), (0, "root"), (3, "advmod")], TREE)
    assert [to_hex(arc.get_edgecolor()).upper() for arc in curves(ax)] == [colour(1), colour(0), colour(0)]
    shades = {text.get_text(): text.get_color() for text in ax.texts}
    assert [name for name, shade in shades.items() if shade == colour(1)] == ["det", "obj"]


@pytest.mark.parametrize("words", [WORDS, [(word, "X") for word in WORDS], [{"form": word, "upos": "X"} for word in WORDS]])
def test_words_as_parsers_take_them_and_heads_alone(words: Any) -> None:
    figure, ax = pyplot.subplots()
    assert draw_tree(words, [head for head, _ in TREE], [head for head, _ in TREE], ax=ax) is ax
    assert [text.get_text() for text in ax.texts] == WORDS
    assert ax.figure is figure


def test_an_arc_is_above_those_between_its_ends() -> None:
    assert _heights([2, 3, 0, 3]) == [1, 1, 0, 1]
    assert _heights([0, 1, 1, 1]) == [0, 1, 2, 3]
    assert _heights([3, 4, 0, 3]) == [1, 2, 0, 1]  # crossing arcs need no order, but the longer one is not below


def test_a_sentence_without_words_is_an_empty_picture() -> None:
    assert len(draw_tree([], []).texts) == 0


@pytest.mark.parametrize(
    ("tree", "right", "message"),
    [
        ([2, 0], None, "`tree` has 2 heads for 4 words"),
        ([2, 3, 0, 5], None, "The head of word 4 in `tree` is 5: heads are other words, 1 to 4, or 0"),
        ([2, 3, 0, 4], None, "The head of word 4 in `tree` is 4"),
        ([2, 3, 0, 3], [2, 3, 0], "`right` has 3 heads"),
    ],
)
def test_bad_trees_are_named(tree: Any, right: Any, message: str) -> None:
    before = len(pyplot.get_fignums())
    with pytest.raises(ValueError, match=message):
        draw_tree(WORDS, tree, right)
    assert len(pyplot.get_fignums()) == before
