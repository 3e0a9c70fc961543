"""The libraries of the extra `translate`. They are imported when something of them is used for the first time: who does not translate
need not have them, nor wait for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """A module that is imported by the first use of what is in it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # who looks at a module from outside, as doctest does, uses nothing of it
            raise AttributeError(name)
        try:
            value = getattr(import_module(self._name), name)
        except ModuleNotFoundError as error:
            if error.name != self._name.partition(".")[0]:
                raise
            raise ImportError(
                f'Translation needs {error.name}, which is not installed. Install it with: pip install "onepass[translate]"'
            ) from None
        setattr(self, name, value)
        return value


torch: Any = Later("torch")
functional: Any = Later("torch.nn.functional")
sentencepiece: Any = Later("sentencepiece")
sacrebleu: Any = Later("sacrebleu")
