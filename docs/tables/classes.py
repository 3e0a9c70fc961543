"""Writes docs/classes.md: every class of onepass, from its signature and its docstring.

make docs
"""

import inspect
import re
from collections import Counter
from pathlib import Path

import onepass
from onepass import active, committee, embedding, kernel, linear, local, neural, stages, structured, translate

PAGE = Path(__file__).parents[1] / "classes.md"
FAMILIES = {
    "Linear learners": linear,
    "Kernel learners": kernel,
    "Learned embeddings": embedding,
    "Local learners": local,
    "Networks": neural,
    "Committees": committee,
    "Structured outputs": structured,
    "Translation": translate,
    "Active learning": active,
    "Stages": stages,
    "Evaluation": onepass.evaluate,
    "Data": onepass.datasets,
    "Streams": onepass.streams,
    "Pictures": onepass.plots,
}
SECTION = re.compile(r"^(\w+)\n-+$", re.MULTILINE)
TITLES = ("Parameters", "Attributes")
OFTEN = 8  # classes that say the same of a parameter or an attribute: it is explained once
OPENING = """# Classes

Written by `make docs` from signatures and docstrings, whose examples are run by the tests. What many classes have in common
comes first.

Parameters follow scikit-learn: `get_params`, `set_params` and `sklearn.base.clone` work as there. `onepass.load(path)` reads what
`save` wrote, `onepass.learners()` names all learners of rows, and `onepass.pipeline(...)` joins stages and a learner."""


def members(module):
    """The public classes and functions of a family, by name."""
    found = {name: getattr(module, name) for name in sorted(module.__all__)}
    return {name: one for name, one in found.items() if inspect.isclass(one) or inspect.isfunction(one)}


def opening_of(documented):
    """The first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(documented) or "").split("\n\n")[0].split())


def sections_of(documented):
    """The sections of a docstring by title; "" is what comes before the first."""
    opening, *rest = SECTION.split(inspect.getdoc(documented) or "")
    return {"": opening, **dict(zip(rest[::2], rest[1::2], strict=True))}


def methods(cls):
    """The public methods of a class that are ours, and what they are for."""
    found = {name: one for name, one in inspect.getmembers(cls, inspect.isroutine) if not name.startswith("_")}
    return {name: opening_of(one) for name, one in found.items() if getattr(one, "__module__", "").startswith("onepass")}


def prose(text):
    """Text in which blocks that are set in by four blanks are code."""
    blocks = []
    for block in text.strip("\n").split("\n\n"):
        code = all(line.startswith("    ") for line in block.split("\n"))
        blocks.append(f"```\n{inspect.cleandoc(block)}\n```" if code else block.replace("``", "`"))
    return "\n\n".join(blocks)


def entries(text):
    """A section of `name : kind` and what is said of each: name -> one line."""
    found, name = {}, ""
    for line in text.strip("\n").split("\n"):
        if line.startswith(" "):
            found[name] += " " + line.strip()
        elif line:
            name, _, kind = line.partition(" : ")
            found[name] = f"* **{name}**" + (f" ({kind.strip()}):" if kind.strip() else ":")
    return {name: line.rstrip(":") for name, line in found.items()}


def said_often(title, classes):
    """What most of the classes that have a parameter or an attribute say of it, a line a name, if they are many."""
    lines = Counter(pair for one in classes for pair in entries(sections_of(one).get(title, "")).items())
    found = {}
    for (name, line), count in lines.most_common():
        if count >= OFTEN:
            found.setdefault(name, line)
    return list(found.values())


def listed(said):
    """A list of names and what is said of them."""
    return "\n".join(f"* **{name}**: {text}" for name, text in said.items())


def described(name, one, often, common):
    """The entry of a class or a function: what is said `often` is only named, and `common` methods are not."""
    sections = sections_of(one)
    parts = [f"### {name}", prose(sections[""])]
    for title in ("Parameters", "Attributes", "Returns"):
        found = entries(sections.get(title, ""))
        own = [line for line in found.values() if line not in often]
        shared = [key for key, line in found.items() if line in often]
        if own:
            parts += [f"{title}:", "\n".join(own)]
        if shared:
            parts += [f"{title} explained above: {', '.join(shared)}."]
    own = {key: said for key, said in methods(one).items() if key not in common} if inspect.isclass(one) else {}
    if own:
        parts += ["Methods of its own:", listed(own)]
    if "References" in sections:
        parts += ["References: " + " ".join(sections["References"].split())]
    if "Examples" in sections:
        parts += ["```python\n" + sections["Examples"].strip("\n") + "\n```"]
    return "\n\n".join(parts)


def page():
    """The whole page."""
    families = {title: members(module) for title, module in FAMILIES.items()}
    classes = [one for found in families.values() for one in found.values() if inspect.isclass(one)]
    often = {title: said_often(title, classes) for title in TITLES}
    learners = [methods(cls) for cls in onepass.learners().values()]
    shared = [name for name, count in Counter(name for found in learners for name in found).items() if count >= OFTEN]
    common = {name: methods(onepass.PAClassifier)[name] for name in sorted(shared)}
    stage = methods(onepass.StandardScaler)
    parts = [OPENING, "| | |\n|---|---|"]
    anchors = Counter(title.lower().replace(" ", "-") for title in families)
    for title, found in families.items():
        links = []
        for name in found:
            anchor = name.lower()
            links.append(f"[{name}](#{anchor}{f'-{anchors[anchor]}' if anchors[anchor] else ''})")
            anchors[anchor] += 1
        parts[-1] += f"\n| {title} | {', '.join(links)} |"
    parts += ["## What many have in common", "Methods of learners:", listed(common), "Methods of stages:", listed(stage)]
    for title in TITLES:
        parts += [f"{title}:", "\n".join(often[title])]
    lines = {line for found in often.values() for line in found}
    for title, found in families.items():
        parts += [f"## {title}", *(described(name, one, lines, {*common, *stage}) for name, one in found.items())]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
