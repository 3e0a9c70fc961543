"""Parameters: the order of those that may be given by position, as users were told, and what docstrings say of all of them."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

import onepass
from onepass.base.parameters import POSITIVE, among, parameter, parameters, parametric

ORDER = {
    "Perceptron": "margin rate shrink mode pocket multiclass",
    "ShiftingPerceptron": "lam",
    "Adaline": "rate mode",
    "AdalineRegressor": "rate mode",
    "OGDClassifier": "loss rate power",
    "OGDRegressor": "loss rate power epsilon",
    "ROMMA": "aggressive",
    "ALMA": "alpha p C",
    "MIRA": "",
    "PRank": "",
    "PAClassifier": "C variant costs update",
    "PARegressor": "C variant epsilon",
    "PAMultilabel": "C variant",
    "PAUniclass": "C variant epsilon learn_radius",
    "SecondOrderPerceptron": "a correlate",
    "CWClassifier": "confidence form",
    "AROWClassifier": "r",
    "AROWRegressor": "r",
    "SCWClassifier": "variant C confidence",
    "NHERDClassifier": "C",
    "NAROWClassifier": "b",
    "IELLIPClassifier": "b c",
    "KernelPerceptron": "",
    "KernelPA": "C variant",
    "KernelPARegressor": "C variant epsilon",
    "KernelOGD": "rate lam",
    "SparsePA": "C alpha beta",
    "Forgetron": "budget",
    "Projectron": "threshold plus budget",
    "BudgetPA": "C strategy budget",
    "BOGD": "rate lam sampling budget limit",
    "BSGD": "lam maintenance budget",
    "NOGD": "rate budget rank",
    "PAMOClassifier": "dimensions hyperplanes C C_r alpha epsilon variant select",
    "PAMORegressor": "dimensions hyperplanes C C_r alpha epsilon variant select",
    "FOGD": "components rate gamma",
    "LocalPA": "prototypes C shared lam",
    "OSELMClassifier": "hidden activation ridge",
    "OSELMRegressor": "hidden activation ridge",
    "HedgeBackprop": "hidden activation rate beta floor",
    "OnlineMLPClassifier": "hidden activation loss step C variant rate",
    "OnlineMLPRegressor": "hidden activation loss step C variant rate epsilon",
    "Committee": "members",
    "CommitteeRegressor": "members",
    "Auto": "budget",
    "AutoRegressor": "budget",
}


def test_what_is_tuned_is_said_to_matter() -> None:
    for name, cls in onepass.learners().items():
        assert set(cls()._grid) <= {one.name for one, about in parameters(cls) if about["matters"]}, name


def test_every_learner_is_listed() -> None:
    assert set(ORDER) == set(onepass.learners())


@pytest.mark.parametrize("name", ORDER)
def test_order(name: str) -> None:
    parameters = inspect.signature(onepass.learners()[name]).parameters.values()
    assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == ORDER[name].split()
    assert all(p.default is not p.empty for p in parameters)


# --- docstrings ---

STAGES = "Hasher", "Imputer", "OneHot", "RBFBasis", "StandardScaler", "Table", "Text", "UnitNorm"
KEPT = "PartialTrees", "RandomWalks", "Subsequences", "SubsetTrees"
COUNTED = "ShortestPaths", "Spectrum", "Subtrees", "WeisfeilerLehman"
STRUCTURED = "DependencyParser", "LogLinear", "Ranker", "Reranker", "SequenceTagger", "StructuredClassifier"
OTHERS = "ActiveLearner", "Translator", *STRUCTURED, *STAGES, *KEPT, *COUNTED
CLASSES: dict[str, Any] = {**onepass.learners(), **{name: getattr(onepass, name) for name in OTHERS}}
SOURCES = sorted(Path(onepass.__file__).parent.rglob("*.py"))

every_class = pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES)


def entries(cls: Any, title: str) -> dict[str, tuple[str, str]]:
    """What a section of a docstring says: name -> type, sentence."""
    sections = re.split(r"^(\w+)\n-+\n", inspect.getdoc(cls) or "", flags=re.MULTILINE)
    text = dict(zip(sections[1::2], sections[2::2], strict=True)).get(title, "")
    found = re.findall(r"^(\w+(?:, \w+)*) : (.+)\n((?:    .+\n?)+)", text, re.MULTILINE)
    return {name: (kind, " ".join(said.split())) for names, kind, said in found for name in names.split(", ")}


@every_class
def test_parameters_are_documented(cls: Any) -> None:
    said = entries(cls, "Parameters")
    parameters = inspect.signature(cls).parameters
    assert list(said) == list(parameters)
    for name, (kind, sentence) in said.items():
        default = parameters[name].default
        told = f'"{default}"' if isinstance(default, str) else repr(default)
        kind, _, shown = kind.partition(", default=")
        assert kind, name
        assert shown == ("" if default is inspect.Parameter.empty else told), name
        assert sentence.endswith("."), name


@every_class
def test_attributes_are_documented(cls: Any) -> None:
    said = entries(cls, "Attributes")
    readable = [name for name in dir(cls) if name.endswith("_") and not name.startswith("_")]
    assert set(readable) == {name for name in said if hasattr(cls, name)}
    assert said
    assert all(kind and sentence.endswith(".") for kind, sentence in said.values())


@every_class
def test_docstrings_are_whole(cls: Any) -> None:
    titles = re.findall(r"^(\w+)\n---", inspect.getdoc(cls) or "", flags=re.MULTILINE)
    order = ["Parameters", "Attributes", "Notes", "References", "Examples"]
    assert titles == [title for title in order if title in titles]
    assert "Examples" in titles


@every_class
def test_every_parameter_has_constraints(cls: Any) -> None:
    has_defaults = [one.name for one in fields(cls) if one.init and one.default is not MISSING]
    assert sorted(cls._parameter_constraints) == sorted(has_defaults)
    if hasattr(cls, "_check_parameters"):
        cls()._check_parameters()


def calls(name: str) -> Iterator[ast.Call]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield node


def test_sentences_stand_once() -> None:
    said = [word.value for call in calls("parameter") for word in call.keywords if word.arg in ("text", "more")]
    texts = Counter(text.value for text in said if isinstance(text, ast.Constant))
    assert len(said) == texts.total() > 90
    assert [text for text, times in texts.items() if times > 1] == []


def test_docstrings_refer_to_no_other() -> None:
    assert [str(path) for path in SOURCES if "As in :class:" in path.read_text()] == []


# --- inheritance ---


@parametric
class Base:
    """A base.

    Examples
    --------
    None.
    """

    _offers = {"later": parameter(3, among("b", "a"), None, text="Comes later.")}  # noqa: RUF012

    first: float = parameter(1.0, POSITIVE, text="The first.")

    @property
    def result_(self) -> int:
        """The
        result."""
        return 1


def test_a_subclass_says_what_is_new() -> None:
    @parametric
    class Derived(Base):
        """Derived."""

        first: float = parameter(2.0, more="There is more.")
        later: Any = parameter()

        @property
        def result_(self) -> int:
            return 2

    assert str(inspect.signature(Derived)) == "(first: 'float' = 2.0, later: 'Any' = 3) -> None"
    assert Derived._parameter_constraints["first"] == [POSITIVE]
    assert Derived.__doc__ == "\n".join(
        [
            *("Derived.", "", "Parameters", "----------"),
            *("first : float, default=2.0", "    The first. There is more."),
            *('later : {"b", "a"} or None, default=3', "    Comes later.", ""),
            *("Attributes", "----------", "result_ : int", "    The result."),
        ]
    )
    assert (Base.__doc__ or "").endswith("    The result.\n\nExamples\n--------\nNone.")


def test_fields_may_be_plain() -> None:
    @parametric
    class Plain(Base):
        first: float = 3.0
        new: int = 4

    assert (Plain().first, Plain().new) == (3.0, 4)
    assert Plain._parameter_constraints == {"first": [POSITIVE]}
    assert "first : float, default=3.0\n    The first." in (Plain.__doc__ or "")


def test_what_a_nearer_base_says_is_told() -> None:
    """Also if a base before it inherits the parameter from where it came from."""

    @parametric
    class Changed(Base):
        first: float = parameter(text="Changed.")

    @parametric
    class Same(Base):
        pass

    @parametric
    class Both(Same, Changed):
        pass

    assert "Changed." in (Both.__doc__ or "")
