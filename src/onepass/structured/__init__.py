"""Structured outputs: tags of sentences, the best of a list, and what else is made of parts."""

from onepass.structured.loglinear import LogLinear
from onepass.structured.ranker import Ranker
from onepass.structured.reranker import Reranker
from onepass.structured.tagger import SequenceTagger

__all__ = ["LogLinear", "Ranker", "Reranker", "SequenceTagger"]
