"""What the README shows is what happens: its example prints what stands below it, and its figures are those of the benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ((code, shown),) = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_it_opens_with_the_two_commands() -> None:
    opening = README.splitlines()[:10]
    assert any("make run" in line for line in opening)
    assert any("make test" in line for line in opening)


def test_what_it_links_to_is_there() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in target]
    assert "docs/demo.png" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_its_speeds_are_those_of_the_whole_table() -> None:
    """Each of its lines has what was measured, and the ratio to whom it is compared with, from one line of RESULTS.md or more."""
    results = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
    whole = [line.strip("| ").split(" | ") for line in between("speed", results).splitlines() if line.startswith("|")]
    _, _, *lines = [line.strip("| ").split(" | ") for line in between("speed", README).splitlines() if line.startswith("|")]
    assert len(lines) == 3
    for what, measured, compared in lines:
        rows = [row for row in whole if row[:2] == [what, measured]]
        assert rows
        assert all(f"{ratio} times the speed of {against} (promised: " in compared for _, _, ratio, _, against in rows)


def between(name: str, page: str) -> str:
    return page.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]


@pytest.mark.parametrize("page", ["rosetta.md", "architecture.md"])
def test_the_files_that_docs_name_are_there(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_0-9]+/[a-z_0-9/]+\.py|test_\w+\.py)", text))
    assert named
    roots = ROOT, ROOT / "src/onepass", ROOT / "tests"
    assert [name for name in sorted(named) if not any((root / name).exists() for root in roots)] == []
