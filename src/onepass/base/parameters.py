"""Parameters that are written once: default, constraints and sentence stand together, and docstrings are made of them.

    C: float = parameter(1.0, POSITIVE, text="Aggressiveness: how far one example may move the weights.")

is a field of a class that is decorated with `parametric`. A subclass that wants another default or another sentence says just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import cleandoc
from numbers import Integral, Real
from textwrap import fill, indent
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform, overload

from sklearn.utils._param_validation import Interval, StrOptions

T = TypeVar("T")

POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
COUNT = Interval(Integral, 1, None, closed="left")

# What constraints that are no intervals or options are called in docstrings.
KINDS = {"boolean": "bool", "random_state": "int or RandomState", dict: "dict", str: "str", callable: "function", None: "None"}

NOTHING: Mapping[str, Any] = {
    "constraints": (),
    "text": "",
    "kind": "",
    "matters": False,
    "cautious": "",
}  # of a field that is not made by `parameter`

WIDTH = 100  # of the lines about parameters
FITTED = re.compile(r"[A-Za-z]\w*_$")
SECTION = re.compile(r"^\w+\n---", re.MULTILINE)


def among(*options: str) -> StrOptions:
    """The constraint to be one of some texts, listed in this order."""
    return StrOptions(dict.fromkeys(options).keys())


@overload
def parameter(*, text: str = "", more: str = "", kind: str = "", matters: bool = False, cautious: str = "") -> Any: ...
@overload
def parameter(
    default: T, *constraints: Any, text: str = "", more: str = "", kind: str = "", matters: bool = False, cautious: str = ""
) -> T: ...
def parameter(
    default: Any = MISSING,
    *constraints: Any,
    text: str = "",
    more: str = "",
    kind: str = "",
    matters: bool = False,
    cautious: str = "",
) -> Any:
    """A parameter: its default, scikit-learn's constraints for it, and what it means.

    Whatever is left out is taken from the base class that has the parameter, or `_offers` it; `more` is added to the sentence of that
    one. `kind` is the type that readers are told, where the constraints do not say it. `matters` marks what is worth a try when a model
    is not good enough; `cautious` does so for how far a step may go, and says whether "smaller" or "larger" values make it shorter.
    """
    said = {"constraints": constraints, "text": text, "more": more, "kind": kind}
    return field(default=default, metadata={**said, "matters": matters or bool(cautious), "cautious": cautious})


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def parametric(cls: type[T]) -> type[T]:
    """Make a class a dataclass whose fields are its parameters, and complete its docstring.

    The fields of a dataclass come behind those of its bases. A base that leaves the place to its subclasses has no field, but
    `_offers` the parameter, by name.
    """
    made: Any = cls
    own = {name: value for name, value in vars(cls).items() if isinstance(value, Field) and value.metadata}
    for name, value in own.items():
        _inherit(value, _declared(name, cls.__mro__[1:]))
    made._offers = vars(cls).get("_offers", {}) | own
    dataclass(eq=False, repr=False)(cls)
    said = ((one.name, list(about["constraints"])) for one, about in parameters(cls))
    made._parameter_constraints = {name: constraints for name, constraints in said if constraints}
    made.__doc__ = Docstring(cls.__doc__)
    return cls


def parameters(cls: Any) -> list[tuple[Field[Any], Mapping[str, Any]]]:
    """The parameters of a class in the order of its signature, and what the nearest base says of each."""
    found = sorted((one for one in fields(cls) if one.init), key=lambda one: bool(one.kw_only))
    said = ((one, _declared(one.name, cls.__mro__)) for one in found)
    return [(one, NOTHING if about is None else about.metadata) for one, about in said]


def _declared(name: str, bases: Iterable[type]) -> Field[Any] | None:
    """A parameter as the nearest base has it, which a dataclass need not have: a base that inherits a field hides others' changes."""
    offers = (vars(base).get("_offers", {}) for base in bases)
    return next((known[name] for known in offers if name in known), None)


def _inherit(own: Field[Any], base: Field[Any] | None) -> None:
    if base is None:
        return
    if own.default is MISSING:
        own.default = base.default
    said = {key: own.metadata[key] or base.metadata[key] for key in ("constraints", "text", "kind", "matters", "cautious")}
    said["text"] = " ".join(filter(None, (said["text"], own.metadata["more"])))
    own.metadata = MappingProxyType(said)


# --- docstrings ---


class Docstring:
    """A docstring without its parameters and attributes, which are added when it is first read: importing does not wait for them."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: Any) -> str:
        owner.__doc__ = _completed(cleandoc(self.text or ""), owner)
        return str(owner.__doc__)


def _completed(text: str, cls: Any) -> str:
    found = SECTION.search(text)
    place = found.start() if found else len(text)
    given = [(f"{one.name} : {_kind(one.default, about)}", about["text"]) for one, about in parameters(cls)]
    fitted = [(f"{name} : {_result(read)}", " ".join((read.__doc__ or "").split())) for name, read in _attributes(cls).items()]
    parts = text[:place].rstrip(), _section("Parameters", given), _section("Attributes", fitted), text[place:]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, entries: list[tuple[str, str]]) -> str:
    lines = [f"{head}\n" + indent(fill(text, WIDTH, break_on_hyphens=False), "    ") for head, text in entries]
    return "\n".join([title, "-" * len(title), *lines]) if entries else ""


def _kind(default: Any, about: Mapping[str, Any]) -> str:
    """The type of a parameter and its default, such as `bool or {"features", "labels"}, default=None`."""
    words = [_word(rule) for rule in about["constraints"] if rule is not None or default is not None]
    kind = about["kind"] or " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
    if default is MISSING:
        return kind
    return f"{kind}, default=" + (f'"{default}"' if isinstance(default, str) else repr(default))


def _word(rule: Any) -> str:
    if isinstance(rule, Interval):
        return "int" if rule.type is Integral else "float"
    if isinstance(rule, StrOptions):
        options = ", ".join(f'"{option}"' for option in rule.options)
        return options if len(rule.options) == 1 else f"{{{options}}}"
    return KINDS.get(rule, str(rule))


def _attributes(cls: type) -> dict[str, property]:
    """What can be read of a fitted model. A property without a docstring has that of the one it overrides."""
    found: dict[str, property] = {}
    for base in cls.__mro__:
        for name, value in vars(base).items():
            if isinstance(value, property) and FITTED.match(name) and not (name in found and found[name].__doc__):
                found[name] = value
    return found


def _result(read: property) -> str:
    """The type of an attribute."""
    return str(read.fget.__annotations__["return"]).replace("Array", "array").replace(" | ", " or ")
