"""The README's Python example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(README), "exec"), {})
    assert "mistake" in capsys.readouterr().out


def test_it_opens_with_the_two_commands() -> None:
    opening = README.read_text().splitlines()[:6]
    assert any("make run" in line for line in opening)
    assert any("make test" in line for line in opening)
