"""Compiling ahead."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from onepass.cli import main
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
    assert len(seen) == 2 * 3 * 3  # learned and predicted; three files; two, three and no labels
    assert CliRunner().invoke(main, ["warm"]).exit_code == 0


def test_what_can_not_be_kept_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "folder_of_code", lambda: None)
    done = CliRunner().invoke(main, ["warm"])
    assert done.exit_code == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    (tmp_path / "data.csv").write_text("a,y\n1,u\n2,v\n")
    done = CliRunner().invoke(main, ["learn", str(tmp_path / "data.csv")])
    assert done.exit_code == 0
    assert "NUMBA_CACHE_DIR" in done.stderr
