"""Models of Hugging Face's `transformers` that translate (any class for sequence to sequence), as networks and subwords of ours.

A copy of the module is asked, in single precision and with weights from outside, so that it never changes: versions, undoing and files
are those of our own network. It is asked for a whole translation at every word, since what its kinds of models keep of earlier words
differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any, NamedTuple

from onepass.translate.extra import torch
from onepass.translate.network import Drop, Shapes, Weights, unchanged
from onepass.translate.subwords import SPACE, Marked


class Hidden(NamedTuple):
    """What an encoder gives."""

    states: Any

    def spread(self, n: int) -> Hidden:
        """For n translations of one source."""
        return Hidden(self.states.expand(n, -1, -1))


class Foreign:
    """A model for sequence to sequence, as a network. Weights that are not to be trained stay as they are."""

    def __init__(self, module: Any) -> None:
        self.module, config = deepcopy(module).to("cpu", torch.float32).eval(), module.config
        self.vocabulary = int(config.vocab_size)
        self.pad, self.begin, self.end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
        self._trained = {name: value for name, value in self.module.named_parameters() if value.requires_grad}
        self.shapes: Shapes = {name: tuple(value.shape) for name, value in self._trained.items()}
        self.size = sum(map(math.prod, self.shapes.values()))

    def vector(self) -> Any:
        """The weights that the module has."""
        return torch.cat([value.detach().flatten() for value in self._trained.values()])

    def views(self, vector: Any) -> Weights:
        """The weights by name."""
        parts = torch.split(vector, [math.prod(shape) for shape in self.shapes.values()])
        return {name: part.view(shape) for part, (name, shape) in zip(parts, self.shapes.items(), strict=True)}

    def encode(self, w: Weights, sources: Any, drop: Drop = unchanged) -> Hidden:
        """What the encoder makes of a source."""
        first = torch.full((len(sources), 1), self.begin)
        return Hidden(self._ask(w, input_ids=sources, decoder_input_ids=first).encoder_last_hidden_state)

    def decode(self, w: Weights, targets: Any, memory: Hidden, cache: None = None, drop: Drop = unchanged) -> tuple[Any, None]:
        """The scores of all subwords, for each word of targets."""
        return self._ask(w, encoder_outputs=(memory.states,), decoder_input_ids=targets).logits, None

    def logits(self, w: Weights, top: Any) -> Any:
        """The scores, which `decode` gives already."""
        return top

    def _ask(self, w: Weights, **inputs: Any) -> Any:
        return torch.func.functional_call(self.module, w, (), {**inputs, "use_cache": False})


class ForeignWords(Marked):
    """The subwords of a tokenizer that marks the beginnings of words as sentencepiece does."""

    def __init__(self, tokenizer: Any, network: Foreign) -> None:
        self._tokenizer, self._begin, self._size = tokenizer, network.begin, network.vocabulary

    def encode(self, text: str) -> list[int]:
        """The numbers of a translation's subwords."""
        return list(self._tokenizer(text_target=text, add_special_tokens=False).input_ids)

    def source(self, text: str) -> list[int]:
        """A sentence as the encoder takes it."""
        return list(self._tokenizer(text).input_ids)

    def target(self, text: str) -> list[int]:
        """A translation as the decoder takes it."""
        return [self._begin, *self._tokenizer(text_target=text).input_ids]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of subwords, without blanks around it."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True)).strip()

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes of each subword, a blank before the first of a word; those that are no text have none, and so have numbers of the
        network that the tokenizer does not use."""
        special = set(self._tokenizer.all_special_ids)
        used = self._tokenizer.convert_ids_to_tokens(range(min(len(self._tokenizer), self._size)))
        pieces = [b"" if i in special else piece.replace(SPACE, " ").encode() for i, piece in enumerate(used)]
        return pieces + [b""] * (self._size - len(pieces))
