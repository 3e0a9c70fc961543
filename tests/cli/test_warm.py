"""Compiling ahead."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from onepass.cli import main
from onepass.cli.output import be_patient
from onepass.compiled import compiler

pytestmark = pytest.mark.plain


def test_all_kinds_of_files_are_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    from onepass import streams

    opened = streams.open
    monkeypatch.setattr(streams, "open", lambda source, **options: seen.append(str(source)) or opened(source, **options))
    done = CliRunner().invoke(main, ["warm", "pa1"])
    assert done.exit_code == 0, done.output
    assert str(compiler.folder_of_code()) in done.stdout
    assert len(seen) == 3 * 4 * 3  # learned, predicted and taken row by row; four files; two, three and no labels
    assert CliRunner().invoke(main, ["warm"]).exit_code == 0


def test_single_rows_need_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each table, some row takes the quick way, with the record that it has in programs."""
    from onepass.base.binding import Bound

    kinds: set[str] = set()
    entry = Bound._entry

    def note(self: Any, function: Any, *example: Any) -> Any:
        kinds.update(_records(self._chain))
        return entry(self, function, *example)

    monkeypatch.setattr(Bound, "_entry", note)
    assert CliRunner().invoke(main, ["warm", "pa1"]).exit_code == 0
    assert {"Impute", "Laid", "NoTexts", "Texts"} <= kinds


def _records(record: Any) -> set[str]:
    """The names of all records that a chain is made of."""
    return {type(record).__name__}.union(*(_records(part) for part in record if isinstance(part, tuple)))


def test_what_can_not_be_kept_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "folder_of_code", lambda: None)
    done = CliRunner().invoke(main, ["warm"])
    assert done.exit_code == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    (tmp_path / "data.csv").write_text("a,y\n1,u\n2,v\n")
    done = CliRunner().invoke(main, ["learn", str(tmp_path / "data.csv")])
    assert done.exit_code == 0
    assert "NUMBA_CACHE_DIR" in done.stderr


def test_that_something_is_compiled_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("onepass.compiled.compiler")
    with click.Context(click.Command("learn")) as context:
        be_patient(context)
        log.debug("compiled %s in %.2f s", "run", 2.0)
        log.debug("compiled %s in %.2f s", "run", 3.0)
    log.debug("compiled %s in %.2f s", "run", 4.0)
    assert capsys.readouterr().err.count("compiling") == 1
    assert not log.isEnabledFor(logging.DEBUG)
