"""Translators that learn from their corrections. They need an extra: pip install "onepass[translate]"."""

from onepass.translate.interactive import Effort
from onepass.translate.translator import Translator

__all__ = ["Effort", "Translator"]
