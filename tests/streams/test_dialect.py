"""CSV as it is found: separators, headers, decimals, row numbers, holes and lines that can't be read."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from onepass import Imputer, PAClassifier, pipeline, streams
from onepass.evaluate import prequential
from onepass.streams.dialect import guess


def read(content: str | bytes, **options: Any) -> tuple[Any, Any, Any, list[str]]:
    data = content if isinstance(content, bytes) else content.encode()
    with streams.open(io.BytesIO(data), "csv", **options) as stream:
        chunks = list(stream)
    rows = [chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.to_pylist() for chunk in chunks]
    X = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else [row for part in rows for row in part]
    return X, np.concatenate([chunk.y for chunk in chunks]), chunks[0].names, stream.notes


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
@pytest.mark.parametrize("header", [True, False])
def test_separators_headers_and_byte_order_marks(separator: str, ending: str, mark: str, header: bool) -> None:
    names = [["age", "height", "class"]] if header else []
    rows = [["31", "1.5", "0"], ["-4", "2e1", "1"], ["7", ".5", "0"]]
    text = mark + "".join(separator.join(row) + ending for row in names + rows)
    X, y, found, notes = read(text)
    assert X.tolist() == [[31, 1.5], [-4, 20], [7, 0.5]]
    assert y.tolist() == [0, 1, 0]
    assert found == (("age", "height") if header else ("0", "1"))
    assert any("separated" in note for note in notes) == (separator != ",")
    assert any("no header" in note for note in notes) == (not header)


def test_what_is_said_is_not_guessed() -> None:
    text = "1;2\n3;4\n"
    assert read(text, sep=";", header=True)[2] == ("1",)
    assert read(text, header=False)[2] == ("0",)
    assert read("a;b,y\n1;2,0\n", sep=",")[0] == [{"a;b": "1;2"}]
    with pytest.raises(ValueError, match="sep="):
        streams.open("t.csv", sep=";;")


@pytest.mark.parametrize(
    ("first", "rest", "header"),
    [
        ("39,State-gov,77516", ["50,Self-emp,83311", "38,Private,215646"], False),  # numbers and texts, without names
        ("age,work,pay", ["50,Self-emp,83311"], True),
        ("name,2019,class", ["anna,3,1", "ben,4,0"], True),  # a name above numbers
        ("ham,Go until", ["ham,Ok lar", "spam,Free entry", "ham,U dun", "ham,Nah", "spam,WIN", "ham,Even"], False),
        ("label,text", ["ham,Ok lar", "spam,Free entry", "ham,U dun", "ham,Nah", "spam,WIN", "ham,Even"], True),
        ("a,b", ["x,y"], True),
        ("a,b", [], True),
        ("1,2", ["3,4"], False),
    ],
)
def test_headers(first: str, rest: list[str], header: bool) -> None:
    assert guess("\n".join([first, *rest, ""]).encode(), ",", None).header is header


def test_a_column_of_row_numbers_is_left_out() -> None:
    X, _, names, notes = read(",a,y\n0,5,1\n1,6,0\n")
    assert names == ("a",)
    assert X.tolist() == [[5], [6]]
    assert "row numbers" in notes[0]
    assert read(",a,y\n0,5,1\n1,6,0\n", drop=[""])[2] == ("a",)
    assert read("a,,y\n0,5,1\n1,6,0\n")[2] == ("a", "column 1")


def test_decimal_commas() -> None:
    X, _, _, notes = read("a;b;y\n1,5;2;0\n-2,25;3;1\n")
    assert X.tolist() == [[1.5, 2], [-2.25, 3]]
    assert any("comma" in note for note in notes)
    assert read("a;b;y\n1.5;2,x;0\n2.5;3,y;1\n")[0] == [{"a": 1.5, "b": "2,x"}, {"a": 2.5, "b": "3,y"}]


# --- holes ---

HOLES = "a,b,y\n1,2,0\n,3,1\n4,?,0\n5,NA,1\n6,7,0\n"


def test_holes_are_an_error_that_helps() -> None:
    with pytest.raises(ValueError, match=r"line 3: the value of 'a' is missing; say missing='skip'"):
        read(HOLES)


def test_holes_are_kept_or_their_rows_left_out() -> None:
    nan = np.nan
    X, y, _, _ = read(HOLES, missing="keep")
    np.testing.assert_array_equal(X, [[1, 2], [nan, 3], [4, nan], [5, nan], [6, 7]])
    assert y.tolist() == [0, 1, 0, 1, 0]
    X, y, _, _ = read(HOLES, missing="skip", chunk=2)
    assert X.tolist() == [[1, 2], [6, 7]]
    assert y.tolist() == [0, 0]
    with pytest.raises(ValueError, match="missing="):
        streams.open("t.csv", missing="mean")


def test_a_stream_with_holes_is_an_array_with_holes() -> None:
    X, y, _, _ = read(HOLES, missing="keep")
    whole, parts = pipeline(Imputer(), PAClassifier()), pipeline(Imputer(), PAClassifier())
    prequential(whole, (X, y))
    with streams.open(io.BytesIO(HOLES.encode()), "csv", missing="keep", chunk=2) as stream:
        prequential(parts, stream)
    assert np.array_equal(whole.learner.coef_, parts.learner.coef_)


# --- lines that can't be read ---

TYPO = "a,b,y\n" + "1,2,0\n" * 100 + "1,2x,1\n" + "3,4\n" + "5,6,1\n"


@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_bad_lines_are_named_or_left_out(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onepass.streams.tables.BLOCK", 100)
    monkeypatch.setattr("onepass.streams.lines.BLOCK", 100)
    with pytest.raises(
        ValueError, match=r"line 102: the value of 'b' is '2x', and the column holds numbers so far; skip_bad=N"
    ):
        read(TYPO, chunk=chunk)
    with pytest.raises(ValueError, match=r"line 103: .*Expected 3 columns, got 2"):
        read(TYPO, chunk=chunk, skip_bad=1)
    X, y, _, notes = read(TYPO, chunk=chunk, skip_bad=2)
    assert X.tolist() == [[1, 2]] * 100 + [[5, 6]]
    assert y.tolist() == [0] * 100 + [1]
    assert [note.split(":")[0] for note in notes] == ["left out the open file, line 102", "left out the open file, line 103"]


@pytest.mark.parametrize("line", [2, 30, 150])
def test_a_slip_does_not_make_a_category_of_a_number(line: int) -> None:
    """Also where it is in the first block, by which types are decided; rare values of a category are none, nor are odd labels."""
    rows = [f"{t / 8},{'x' if t % 50 == 0 else t},{t % 7 or 'none'}" for t in range(200)]
    rows[line - 2] = "1.5o,2,3"
    text = "\n".join(["a,b,y", *rows])
    with pytest.raises(ValueError, match=rf"line {line}: the value of 'a' is '1.5o', and the column holds numbers so far"):
        read(text)
    X, y, _, notes = read(text, skip_bad=1)
    assert len(X) == len(y) == 199
    assert {type(x["a"]) for x in X} == {float}
    assert {type(x["b"]) for x in X} == {str}
    assert [note.split(":")[0] for note in notes] == [f"left out the open file, line {line}"]
    assert {type(x["a"]) for x in read(text, text=["a"])[0]} == {str}


def test_a_column_may_be_read_as_text() -> None:
    X, _, _, _ = read("a,b,y\n1,2,0\n1,3,1\n", text=["b"])
    assert X == [{"a": 1.0, "b": "2"}, {"a": 1.0, "b": "3"}]


def test_bad_lines_of_json() -> None:
    lines = [b'{"a": 1, "y": 0}', b'{"a": 2, "y": ', b'{"a": 3, "y": 1}']
    with streams.open(io.BytesIO(b"\n".join(lines)), "jsonl", skip_bad=1) as stream:
        (chunk, other) = list(stream)
    assert chunk.X.tolist() == [[1]]
    assert other.X.tolist() == [[3]]
    assert len(stream.notes) == 1


def test_a_bad_row_does_not_hide_the_separator() -> None:
    """One row of fifty has a separator too many: it is the bad one, and named, whatever else there is in the file."""
    rows = [f"{t};{t % 7},5;{'ab'[t % 2]}" for t in range(40)]
    rows[9] += ";more"
    text = "\n".join(["x;y;label", *rows]).encode()
    with streams.open(io.BytesIO(text), format="csv") as stream, pytest.raises(ValueError, match="line 11"):
        list(stream)
    with streams.open(io.BytesIO(text), format="csv", skip_bad=1) as stream:
        assert sum(map(len, stream)) == 39
