"""Subwords that both languages share, found by sentencepiece in the texts that a translator is trained on.

T. Kudo: Subword regularization. ACL 2018. What no subword spells is spelled by its bytes, so that there are no unknown letters.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from onepass.translate.extra import sentencepiece, torch
from onepass.translate.network import BEGIN, END, PAD, UNKNOWN

SPACE = "\u2581"  # sentencepiece's mark of a word's beginning


class Marked:
    """Subwords whose bytes are known."""

    pieces: Any

    def allowed(self, rest: bytes) -> Any:
        """Which of them can come next in a text that is to go on with `rest`, and then with anything."""
        fits = (bool(piece) and (piece.startswith(rest) or rest.startswith(piece)) for piece in self.pieces)
        return torch.tensor(list(fits))


class Subwords(Marked):
    """Texts as numbers of subwords, and back."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        p = self._processor
        if (p.pad_id(), p.unk_id(), p.bos_id(), p.eos_id()) != (PAD, UNKNOWN, BEGIN, END):
            raise ValueError("these are not subwords that onepass has found")

    @classmethod
    def found(cls, texts: Iterable[str], size: int) -> Subwords:
        """At most `size` subwords of some texts."""
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            vocab_size=size,
            hard_vocab_limit=False,
            byte_fallback=True,
            normalization_rule_name="identity",
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=BEGIN,
            eos_id=END,
            max_sentence_length=1 << 20,
            num_threads=1,
            minloglevel=2,
        )
        return cls(model.getvalue())

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's subwords."""
        return list(self._processor.encode(text))

    def source(self, text: str) -> list[int]:
        """A sentence as the encoder takes it."""
        return [*self.encode(text), END]

    def target(self, text: str) -> list[int]:
        """A translation as the decoder takes it."""
        return [BEGIN, *self.encode(text), END]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of subwords, without blanks around it."""
        return str(self._processor.decode(list(tokens))).strip()

    @cached_property
    def pieces(self) -> list[bytes]:
        """The bytes of each subword, a blank before the first of a word; those that are no text have none."""
        p, found = self._processor, list[bytes]()
        for i in range(len(self)):
            piece = p.id_to_piece(i)
            if p.is_byte(i):
                found.append(bytes([int(piece[1:-1], 16)]))
            else:
                found.append(b"" if p.is_control(i) or p.is_unknown(i) else piece.replace(SPACE, " ").encode())
        return found
