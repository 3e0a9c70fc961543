"""What is tested here is the command line: of the committee that it uses by default, members that take little to compile will do."""

from __future__ import annotations

import pytest

from onepass.committee import auto


@pytest.fixture(autouse=True)
def _linear_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "WIDE", -1)
