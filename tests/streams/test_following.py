"""Files that grow while they are read, and files that are read on from where somebody stopped."""

from __future__ import annotations

import gzip
import json
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onepass import streams

ROWS = [(t, t % 3 / 2, "ab"[t % 2]) for t in range(20)]
FORMATS = ("csv", "tsv", "jsonl", "libsvm")


def lines_of(kind: str, rows: Any) -> list[str]:
    if kind == "libsvm":
        return [f"{'ab'.index(y)} 1:{a} 2:{b}\n" for a, b, y in rows]
    if kind == "jsonl":
        return [json.dumps({"a": a, "b": b, "y": y}) + "\n" for a, b, y in rows]
    sep = "," if kind == "csv" else "\t"
    return [sep.join(map(str, row)) + "\n" for row in (("a", "b", "y"), *rows)]


def numbers(chunks: Any) -> list[Any]:
    return [
        (*row, label)
        for chunk in chunks
        for row, label in zip(
            np.asarray(chunk.X.todense() if hasattr(chunk.X, "todense") else chunk.X).tolist(), chunk.y, strict=True
        )
    ]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("skip", [0, 1, 7, 8, 16, 19])
def test_rows_that_were_read_before_are_left_out(kind: str, skip: int, tmp_path: Path) -> None:
    path = tmp_path / f"data.{kind}"
    path.write_text("".join(lines_of(kind, ROWS)))
    with streams.open(path, chunk=8) as stream:
        whole = numbers(stream)
    with streams.open(path, chunk=8, skip_rows=skip) as stream:
        chunks = list(stream)
        assert chunks[0].position.rows == skip
        assert numbers(chunks) == whole[skip:]
        assert numbers(stream) == whole[skip:]  # also when it is read again


def test_rows_with_holes_that_were_left_out_do_not_count(tmp_path: Path) -> None:
    """Where a stream stopped is a number of rows that were handed out; the file may have grown since."""
    path = tmp_path / "data.csv"
    lines = ["a,b,y\n", *(f"{'' if t % 3 == 0 else t},{t},{'ab'[t % 2]}\n" for t in range(30))]
    path.write_text("".join(lines[:12]))
    with streams.open(path, chunk=8, missing="skip") as stream:
        before = numbers(stream)
    path.write_text("".join(lines))
    with streams.open(path, chunk=8, missing="skip") as stream:
        whole = numbers(stream)
    with streams.open(path, chunk=8, missing="skip", skip_rows=len(before)) as stream:
        assert before + numbers(stream) == whole


def test_all_rows_may_have_been_read_before(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("".join(lines_of("csv", ROWS)))
    with streams.open(path, skip_rows=20) as stream:
        assert list(stream) == []
    with streams.open((np.eye(4), np.arange(4)), skip_rows=3) as stream:
        assert [chunk.X.tolist() for chunk in stream] == [[[0, 0, 0, 1]]]
    with pytest.raises(ValueError, match="skip_rows=-1"):
        streams.open(path, skip_rows=-1)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("threads", [False, True])
def test_a_file_is_followed_while_it_grows(kind: str, threads: bool, tmp_path: Path) -> None:
    """Rows come as soon as their lines are whole, whatever the size of a chunk; what is not whole is waited for."""
    lines, path = lines_of(kind, ROWS), tmp_path / f"data.{kind}"
    text = "".join(lines)
    cuts = [0, 3, len(lines[0]) + 2, len("".join(lines[:9])), len("".join(lines[:9])) + 4, len(text)]
    path.write_bytes(b"")

    def grow() -> None:
        for start, stop in pairwise(cuts):
            time.sleep(0.15)
            with path.open("a") as file:
                file.write(text[start:stop])

    writer = threading.Thread(target=grow)
    writer.start()
    chunks: list[Any] = []
    with streams.open(path, follow=True, threads=threads) as stream:
        for chunk in stream:
            chunks.append(chunk)
            if sum(map(len, chunks)) == 20:
                break
    writer.join()
    path.write_text(text)
    with streams.open(path) as stream:
        assert numbers(chunks) == numbers(stream)
    assert len(chunks) > 1


def test_what_can_not_be_followed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(b"a,y\n1,2\n"))
    with streams.open(tmp_path / "data.csv.gz", follow=True) as stream, pytest.raises(ValueError, match="packed with gzip"):
        next(iter(stream))
    with pytest.raises(ValueError, match="parquet files do not grow"):
        streams.open(__file__, format="parquet", follow=True)
    with pytest.raises(ValueError, match="data in memory does not grow"):
        streams.open(np.eye(2), follow=True)


def test_a_table_tells_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(",when,colour,size,price\n0,2024-01-02,red,1,2\n1,2024-01-03,blue,3,4\n")
    with streams.open(path, drop=["size"]) as stream:
        next(iter(stream))
        assert stream.about == {"label": "price", "columns": {"when": "text", "colour": "text"}, "dropped": ["size", ""]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("price\n1\n2\n", "one column only, 'price'.*--sep"),
        ("a" + ",b" * 40_000 + "\n", "first row has 40,001 columns.*up to 32,768"),
        ("1" + "," * 140_000 + "\n1,2\n", "first row has 140,001 columns"),
    ],
)
def test_tables_that_nothing_can_be_learned_from(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(text)
    with streams.open(tmp_path / "data.csv") as stream, pytest.raises(ValueError, match=message):
        next(iter(stream))


def test_a_table_of_which_all_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b,y\n1,2,3\n")
    with (
        streams.open(tmp_path / "data.csv", label="y", drop=["a", "b"]) as stream,
        pytest.raises(ValueError, match="no columns left"),
    ):
        next(iter(stream))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shape", np.array([(3, 3), (1, 2)], dtype="i4,i4")),
        ("shape", np.array([3.0, 3.0])),
        ("shape", np.array([3, 3, 3])),
        ("format", np.array(3)),
        ("format", np.array("csr")),
        ("data", np.ones(3, complex)),
        ("indptr", np.zeros(4, "i4,i4")),
        ("y", np.array(["2020-01-01"] * 3, "M8[D]")),
    ],
)
def test_parts_of_a_matrix_that_are_no_such_parts(key: str, value: Any, tmp_path: Path) -> None:
    parts = {"format": np.array(b"csr"), "shape": np.array([3, 3]), "indptr": np.arange(4), "indices": np.arange(3)}
    sound = {**parts, "data": np.ones(3), "y": np.arange(3)}
    np.savez(tmp_path / "sound.npz", **sound)
    with streams.open(tmp_path / "sound.npz") as stream:
        assert [len(chunk) for chunk in stream] == [3]
    np.savez(tmp_path / "data.npz", **{**sound, key: value})
    with streams.open(tmp_path / "data.npz") as stream, pytest.raises(ValueError, match=r"data\.npz"):
        next(iter(stream))
