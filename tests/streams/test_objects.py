"""Strings, trees and graphs from files, and what is wrong with them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onepass import streams

pytestmark = pytest.mark.plain

STRINGS = "yes\ta b\tc\n\nno\t\n"
TREES = "S\t(S (NP it))\nQ\t leaf \n"
GRAPHS = "1\tC C O\t0-1:1 1-2:2\n-1\tC\t\n2\tN N\n"
KELP = (
    "a |BS:text| it works |ES| |BT:one| (S(NP(it))) |ET| |BT:two| (no) |ET|\n"
    "b |BG:inline|1 C&&7 O x%%1 7&&7 1|EG|\nc |BS:text| bare |ES|\n"
)
READ: dict[str, tuple[str, list[str], list[Any]]] = {
    "strings": (STRINGS, ["yes", "no"], ["a b\tc", ""]),
    "trees": (TREES, ["S", "Q"], ["(S (NP it))", "leaf"]),
    "graphs": (GRAPHS, ["1", "-1", "2"], [(["C", "C", "O"], [(0, 1, "1"), (1, 2, "2")]), (["C"], []), (["N", "N"], [])]),
    "kelp": (KELP, ["a", "b", "c"], ["(S(NP(it)))", (["C", "O x"], [(0, 1), (1, 0)]), "bare"]),
}


def objects(text: str, **options: Any) -> tuple[list[Any], list[Any], list[Any]]:
    with streams.open(io.BytesIO(text.encode()), **options) as stream:
        chunks = list(stream)
    y = [label for chunk in chunks for label in ([] if chunk.y is None else chunk.y.tolist())]
    return [x for chunk in chunks for x in chunk.X], y, [chunk.position for chunk in chunks]


@pytest.mark.parametrize("format", READ)
@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_objects_and_their_labels(format: str, chunk: int) -> None:
    text, labels, expected = READ[format]
    for written in (text, text.replace("\n", "\r\n"), "\ufeff" + text, text.rstrip("\n")):
        X, y, positions = objects(written, format=format, chunk=chunk)
        assert expected == X
        assert y == labels
        assert [position.rows for position in positions] == list(range(0, len(X), chunk))
    assert positions[0].line == 1


def test_without_labels_and_with_numbers() -> None:
    assert objects("C C\t0-1\nO\n", format="graphs", label=False)[:2] == ([(["C", "C"], [(0, 1)]), (["O"], [])], [])
    X, y, _ = objects("1.5\tabc\n-2\td\n", format="strings", task="regression")
    assert (X, y) == (["abc", "d"], [1.5, -2.0])


@pytest.mark.parametrize("name", ["a.graphs", "a.graphs.tsv", "a.GRAPHS.TSV.gz"])
def test_endings(name: str, tmp_path: Path) -> None:
    import gzip

    path = tmp_path / name
    path.write_bytes(gzip.compress(GRAPHS.encode()) if name.endswith("gz") else GRAPHS.encode())
    with streams.open(path, skip_rows=1) as stream:
        (chunk,) = stream
    assert READ["graphs"][2][1:] == chunk.X
    assert np.array_equal(chunk.y, ["-1", "2"])


@pytest.mark.parametrize(
    ("format", "text", "why"),
    [
        ("strings", "yes\ta\nno\n", "line 2: there is no tab behind a label"),
        ("trees", "yes\t(S (NP)\n", "line 1: 2 brackets open, and 1 close"),
        ("trees", "yes\t \n", "line 1: there is no tree"),
        ("graphs", "1\tC C\t0-1 1-2\n", "line 1: the edge 1-2 leads to node 2, and there are 2"),
        ("graphs", "1\tC C\t0-1:x 1-0\n", "line 1: some of its edges have a label"),
        ("graphs", "1\tC C\t0->1\n", "line 1: '0->1' is no edge"),
        ("graphs", f"1\tC C\t0-{'9' * 30}\n", "leads to node 9"),
        ("kelp", "a |BV:bag| x:1 |EV|\n", "line 1: it has no tree, graph or string"),
        ("kelp", "a |BG:inline|1 C%%1 2|EG|\n", "its graph is none of KeLP's"),
        ("kelp", "a\n", "there is no blank behind a label"),
    ],
)
def test_what_is_wrong_is_said(format: str, text: str, why: str) -> None:
    with pytest.raises(ValueError, match="line ") as caught:
        objects(text, format=format)
    assert why in str(caught.value)


def test_columns_and_labels_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="behind its label"):
        objects(GRAPHS, format="graphs", drop=["a"])
    with pytest.raises(ValueError, match="line 1: the label 'yes' is no number"):
        objects(STRINGS, format="strings", task="regression")
    with (
        pytest.raises(ValueError, match="line 1: not UTF-8"),
        streams.open(io.BytesIO(b"a\t\xff\n"), format="strings") as stream,
    ):
        list(stream)
