"""Structured outputs: tags of sentences, trees, the best of a list, and what else is made of parts."""

from onepass.structured.classifier import StructuredClassifier
from onepass.structured.loglinear import LogLinear
from onepass.structured.parser import DependencyParser
from onepass.structured.ranker import Ranker
from onepass.structured.reranker import Reranker
from onepass.structured.tagger import SequenceTagger

__all__ = ["DependencyParser", "LogLinear", "Ranker", "Reranker", "SequenceTagger", "StructuredClassifier"]
