"""Bars: in notebooks and terminals, and nowhere else; what is measured does not depend on them."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from onepass import PAClassifier, streams
from onepass.evaluate import compare, online, prequential, progress, tune

pytestmark = pytest.mark.plain

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] > 0).astype(int)


class Notebook:
    """What IPython has of a notebook, and what is shown in it."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []
        self.cells = 0

    def display(self, content: dict[str, str], raw: bool, display_id: bool) -> Notebook:
        assert raw
        assert display_id
        self.cells += 1
        self.update(content, raw)
        return self

    def update(self, content: dict[str, str], raw: bool) -> None:
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    made = Notebook()
    package, part = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    part.display = made.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", part)
    return made


def examples() -> list[Any]:
    return [(dict(zip("abc", x, strict=True)), y) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]


@pytest.mark.parametrize("form", ["arrays", "stream", "chunks", "dicts"])
def test_a_notebook_shows_one_bar_that_ends_full(
    notebook: Notebook, form: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(online, "GATHER", 16)  # so that arrays are cut
    path = tmp_path / "data.csv"
    path.write_text("a,b,c,y\n" + "".join(f"{a},{b},{c},{y}\n" for (a, b, c), y in zip(X, Y, strict=True)))
    made = {
        "arrays": lambda: (X, Y),
        "stream": lambda: streams.open(path, chunk=50),
        "chunks": lambda: [(X[:100], Y[:100]), (X[100:], Y[100:])],
        "dicts": examples,
    }[form]
    result = prequential(PAClassifier(), made(), ["mistake_rate", "auc"], progress=True)
    silent = prequential(PAClassifier(), made(), ["mistake_rate", "auc"])
    assert result.metrics == silent.metrics
    assert result.curve.to_dict() == silent.curve.to_dict()
    assert notebook.cells == 1
    last = notebook.shown[-1]
    figures = f"mistake_rate {result.metrics['mistake_rate']:.4g}, auc {result.metrics['auc']:.4g}"
    assert last["text/plain"] == f"prequential: 300 examples, {figures}"
    assert ('<progress value="1.0000">' in last["text/html"]) == (form in ("arrays", "stream"))


def test_runs_are_counted(notebook: Notebook) -> None:
    tune(PAClassifier(), {"C": [0.1, 1.0, 0.3]}, (X, Y), beyond=0, progress=True)
    assert notebook.shown[-1]["text/plain"] == "tuning: 3 of 3 runs"
    counts: list[tuple[int, int]] = []
    compare(
        {"one": PAClassifier(), "two": PAClassifier(C=0.1)},
        (X, Y),
        3,
        tune="libol",
        progress=True,
        callback=lambda done, total: counts.append((done, total)),
    )
    assert notebook.shown[-1]["text/plain"] == "comparing: 24 of 24 passes"
    assert notebook.cells == 2
    assert counts == [(done, 24) for done in range(1, 25)]


def test_a_bar_is_drawn_a_few_times_a_second_however_often_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now, shown = [0.0], list[tuple[Any, str]]()
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    bar = progress.Bar(lambda share, facts: shown.append((share, facts)))
    asked = 0
    for i in range(1000):

        def facts(i: int = i) -> str:
            nonlocal asked
            asked += 1
            return str(i)

        bar.update(lambda i=i: i / 1000, facts)  # type: ignore[misc]
        now[0] += 0.001
    assert len(shown) == asked == 10
    bar.draw()
    assert shown[-1] == (0.999, "999")


@pytest.mark.parametrize("wanted", [True, False])
def test_where_nobody_can_see_it_there_is_none(capfd: pytest.CaptureFixture[str], wanted: bool) -> None:
    with progress.bar("nothing", wanted) as made:
        assert made is None
    prequential(PAClassifier(), (X, Y), progress=wanted)
    assert capfd.readouterr() == ("", "")


def test_colours_in_a_log_make_no_terminal_of_it(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    prequential(PAClassifier(), (X, Y), progress=True)
    assert capfd.readouterr() == ("", "")


def test_markup_in_names_is_shown_as_it_is(notebook: Notebook) -> None:
    with progress.bar("<b>", True) as made:
        assert made is not None
        made.update(lambda: None, lambda: "recall[<a>]")
    assert "&lt;b&gt;" in notebook.shown[0]["text/html"]
    assert "recall[&lt;a&gt;]" in notebook.shown[0]["text/html"]


def test_a_terminal_shows_it_and_is_clean_afterwards() -> None:
    code = (
        "from onepass.evaluate.progress import bar\n"
        "with bar('learning') as made: made.update(lambda: 0.5, lambda: '3 examples, recall[spam] 0.9')\n"
        "print('done')"
    )
    master, slave = os.openpty()
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "TERM": "xterm", "COLUMNS": "120"}
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=slave, env=environment, check=True)
    os.close(slave)
    seen = os.read(master, 1 << 16).decode()
    os.close(master)
    assert done.stdout == b"done\n"
    assert "learning" in seen
    assert "50%" in seen
    assert "3 examples, recall[spam] 0.9" in seen
    assert seen.rstrip().endswith("\x1b[2K")  # the line was erased
