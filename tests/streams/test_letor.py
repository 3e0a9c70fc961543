"""LIBSVM text with the number of a query: lists of candidates."""

from __future__ import annotations

import io
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from onepass import streams

pytestmark = pytest.mark.plain

X = [[{"1": 0.5, "3": -2.0}, {}], [{"2": 1.0}], [{"1": 1.5}, {"12": 3.0}, {"1": 0.0}]]
Y = [[0.3, 1.0], [-1.0], [0.0, 0.0, 2.5]]


def text(X: list[Any], y: list[Any]) -> str:
    return "# a comment\n" + "".join(
        f"{mu} qid:{t} " + " ".join(f"{j}:{v}" for j, v in h.items()) + " # and another\n"
        for t, (H, qualities) in enumerate(zip(X, y, strict=True))
        for h, mu in zip(H, qualities, strict=True)
    )


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_the_format(chunk: int) -> None:
    with streams.open(io.BytesIO(text(X, Y).encode()), "letor", chunk) as stream:
        chunks = list(stream)
    assert [H for part in chunks for H in part.X] == X
    assert [mu for part in chunks for mu in part.y] == Y
    assert [len(part.X) for part in chunks[:-1]] == [chunk] * (len(chunks) - 1)
    assert [part.position.rows for part in chunks] == list(range(0, len(X), chunk))
    assert chunks[0].position.line == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 1:0.5", "line 1: no qid:"),
        ("1", "line 1: no qid:"),
        ("x qid:1 1:0.5", "'x' is not a finite number"),
        ("1 qid:1 1:inf", "'inf' is not a finite number"),
        ("1 qid:1 a:1", "a:1 is not a feature"),
        ("1 qid:1 1:1 1:2", "1:2 is not a feature"),
    ],
)
def test_what_is_wrong_with_a_line(line: str, said: str) -> None:
    with pytest.raises(ValueError, match=said), streams.open(io.BytesIO(line.encode() + b"\n"), "letor") as stream:
        list(stream)


def test_a_file_that_is_followed(tmp_path: Path) -> None:
    """A list ends when the next one begins: what there is of it so far is waited with."""
    path, found = tmp_path / "lists.letor", list[Any]()
    path.write_text(text(X[:2], Y[:2]))
    with streams.open(path, follow=True) as stream:

        def follow() -> None:
            for chunk in stream:
                found.extend(chunk.X)
                if len(found) == 2:
                    return

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        for _ in range(200):
            if found:
                break
            time.sleep(0.02)
        assert found == X[:1]
        with path.open("a") as file:
            file.write("2.5 qid:1 4:1\n0 qid:2 1:1\n")
        thread.join(10)
    assert found == [X[0], [*X[1], {"4": 1.0}]]
