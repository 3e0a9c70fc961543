"""What docs show is what happens: their examples print what stands below them, their links lead somewhere, and the reference is that of
the classes as they are."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import onepass

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```\n(.*?)```", re.DOTALL)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """What links may name in a page: its headings, as GitHub calls them."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return names


@pytest.mark.plain
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("page", ["committees.md", "sequences.md", "trees.md", "lists.md", "structured_inputs.md"])
def test_the_first_example_prints_what_is_shown(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = EXAMPLE.findall(text_of(DOCS / page))[0]
    exec(compile(code, page, "exec"), {})
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    broken = []
    for target, anchor in re.findall(
        r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", re.sub(r"```.*?```", "", text_of(DOCS / page), flags=re.DOTALL)
    ):
        path = DOCS / target if target else DOCS / page
        if "://" not in target and (not path.exists() or (anchor and anchor not in anchors(text_of(path)))):
            broken.append(f"{target}#{anchor}")
    assert broken == []


def test_the_class_reference_is_up_to_date() -> None:
    """`make docs` writes it."""
    spec = importlib.util.spec_from_file_location("classes", DOCS / "tables" / "classes.py")
    assert spec
    assert spec.loader
    program: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    page = text_of(DOCS / "classes.md")
    assert page == program.page()
    public = [name for name in onepass.__all__ if inspect.isclass(getattr(onepass, name))]
    assert [name for name in public if f"### {name}\n" not in page and not issubclass(getattr(onepass, name), Exception)] == []
