"""Structured outputs: tags of sentences, trees, and what else is made of parts."""

from onepass.structured.classifier import StructuredClassifier
from onepass.structured.parser import DependencyParser
from onepass.structured.tagger import SequenceTagger

__all__ = ["DependencyParser", "SequenceTagger", "StructuredClassifier"]
