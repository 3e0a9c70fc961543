"""Sentences from files: columns, treebanks, and what is wrong with them."""

from __future__ import annotations

import gzip
import io
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from onepass import streams

BIO = "-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\n\nPeter\tNNP\tB-PER\n"
TREES = (
    "# sent_id = 1\n# text = vámonos al mar\n1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tvamos\tir\tVERB\tV\t_\t0\troot\t_\t_\n2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_\n"
    "2.1\tx\tx\tX\tX\t_\t_\t_\t_\t_\n3\tal mar\tmar\tNOUN\tN\t_\t1\tobl\t_\t_\n\n"
    "1\t#\t#\tSYM\t#\t_\t0\troot\t_\t_\n"
)


def sentences(text: str | bytes, **options: Any) -> tuple[list[Any], list[Any], list[Any]]:
    data = text.encode() if isinstance(text, str) else text
    with streams.open(io.BytesIO(data), **{"format": "conll", **options}) as stream:
        chunks = list(stream)
    X = [x for chunk in chunks for x in chunk.X]
    return X, [y for chunk in chunks for y in chunk.y or []], [chunk.position for chunk in chunks]


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_columns(chunk: int) -> None:
    for text in (BIO, BIO.replace("\n", "\r\n"), "\ufeff" + BIO, BIO.rstrip("\n")):
        X, y, positions = sentences(text, chunk=chunk)
        assert X == [["EU", "rejects"], ["Peter"]]
        assert y == [["B-ORG", "O"], ["B-PER"]]
        assert positions[0].line == 3
        assert positions[-1].rows == (1 if chunk == 1 else 0)
    assert sentences(BIO, label=1)[1] == sentences(BIO, label="1")[1] == [["NNP", "VBZ"], ["NNP"]]
    assert sentences(BIO, label=False)[:2] == ([["EU", "rejects"], ["Peter"]], [])


def test_treebanks() -> None:
    X, y, _ = sentences(TREES, format="conllu")
    assert X == [["vamos", "nos", "al mar"], ["#"]]
    assert y == [["VERB", "PRON", "NOUN"], ["SYM"]]
    assert sentences(TREES, format="conllu", label="DEPREL")[1] == [["root", "obj", "obl"], ["root"]]


ROWS = "the DET 2 det\ndog NOUN 0 root\n\n"


def test_trees() -> None:
    """Words with tags, and their arcs; the lines can be written again with other trees, and are as they were but for those."""
    X, y, _ = sentences(TREES, format="conllu", task="parsing")
    assert X == [[("vamos", "VERB"), ("nos", "PRON"), ("al mar", "NOUN")], [("#", "SYM")]]
    assert y == [[(0, "root"), (1, "obj"), (1, "obl")], [(0, "root")]]
    assert X[0].filled(y[0]) + X[1].filled(y[1]) == TREES + "\n"
    other = TREES.replace("0\troot", "3\tx").replace("1\tobj", "3\ty:z").replace("1\tobl", "0\troot")
    assert X[0].filled([(3, "x"), (3, "y:z"), (0, "root")]) == other[: other.index("\n\n") + 2]
    assert X[0].filled([0, 1, 1]) == X[0].filled(y[0])  # heads alone leave the relations
    X, y, _ = sentences(ROWS, task="parsing")
    assert X == [[("the", "DET"), ("dog", "NOUN")]]
    assert y == [[(2, "det"), (0, "root")]]
    assert X[0].filled([(0, "root"), (1, "x")]) == "the\tDET\t0\troot\ndog\tNOUN\t1\tx\n\n"
    X, y, _ = sentences("the DET\ndog NOUN\n", task="parsing", label=False)
    assert X[0].filled([2, 0]) == "the\tDET\t2\t_\ndog\tNOUN\t0\t_\n\n"


def test_endings(tmp_path: Path) -> None:
    path = tmp_path / "trees.conllu.gz"
    path.write_bytes(gzip.compress(TREES.encode()))
    with streams.open(path) as stream:
        assert [len(chunk) for chunk in stream] == [2]
        assert stream.about["label"] == "upos"
    with streams.open(path, skip_rows=1) as stream:
        assert [chunk.X for chunk in stream] == [[["#"]]]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a b\nc\n", {}, "line 2: 1 columns, and 2 before"),
        ("a\n", {}, "no column -1 of tags among 1"),
        ("a b\n", {"label": 5}, "no column 5"),
        ("a b\n", {"label": 0}, "the first is the word"),
        ("a b\n", {"label": "tag"}, "have no names"),
        (b"a b\n\xff c\n", {}, "line 2: not UTF-8"),
        ("1\ta\n", {"format": "conllu"}, "CoNLL-U has 10"),
        (TREES, {"format": "conllu", "label": "form"}, "may be a tag"),
        ("\n\n", {}, "holds no rows"),
        (BIO, {"drop": ["a"]}, "hold sentences"),
        (BIO, {"task": "parsing"}, "line 3: 3 columns, and a parser takes 4"),
        (
            TREES.replace("0\troot", "_\troot"),
            {"format": "conllu", "task": "parsing"},
            "line 4: the head '_' is not the number",
        ),
        (TREES, {"format": "conllu", "task": "parsing", "label": "deprel"}, "leave it out"),
        (ROWS, {"format": "csv", "task": "parsing"}, "trees are in files of sentences"),
    ],
)
def test_what_is_wrong(text: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sentences(text, **options)


def test_a_file_that_grows(tmp_path: Path) -> None:
    """A sentence is handed out when the empty line behind it is there."""
    path = tmp_path / "tags.conll"
    path.write_text("a X\n\nb")
    found: list[Any] = []
    stream = streams.open(path, follow=True, threads=False)

    def read() -> None:
        for chunk in stream:
            found.extend(chunk.X)
            if len(found) == 2:
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    deadline = time.monotonic() + 30
    while not found and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found == [["a"]]
    with path.open("a") as file:
        file.write(" Y\n\n")
    reader.join(30)
    stream.close()
    assert found == [["a"], ["b"]]
