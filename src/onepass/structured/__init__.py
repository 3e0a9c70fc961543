"""Structured outputs: tags of sentences, and what else is made of parts."""

from onepass.structured.classifier import StructuredClassifier
from onepass.structured.tagger import SequenceTagger

__all__ = ["SequenceTagger", "StructuredClassifier"]
