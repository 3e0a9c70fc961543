"""Subwords that both languages share, found by sentencepiece in the texts that a translator is trained on.

T. Kudo: Subword regularization. ACL 2018. What no subword spells is spelled by its bytes, so that there are no unknown letters.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from onepass.translate.extra import sentencepiece, torch
from onepass.translate.network import BEGIN, END, PAD, UNKNOWN

SPACE = "\u2581"  # sentencepiece's mark of a word's beginning
BYTES = 256  # each is a subword


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
        self.pieces = [self._bytes_of(i) for i in range(len(self))]  # now: those of a damaged file may be no text

    @classmethod
    def found(cls, texts: Sequence[str], size: int) -> Subwords:
        """At most `size` subwords of some texts. If they have more letters than that the rare ones are left to their bytes."""
        room = size - BYTES - len((PAD, UNKNOWN, BEGIN, END, SPACE))
        rare = {ord(letter): " " for letter, _ in Counter(chain.from_iterable(texts)).most_common()[room:]}
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(text.translate(rare) for text in texts),
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
        except RuntimeError as error:
            raise ValueError(f"There are no subwords to be found in these texts ({error}).") from None
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

    def _bytes_of(self, i: int) -> bytes:
        """The bytes of a subword, a blank before the first of a word; one that is no text has none."""
        p = self._processor
        piece = p.id_to_piece(i)
        if p.is_byte(i):
            return bytes([int(piece[1:-1], 16)])
        return b"" if p.is_control(i) or p.is_unknown(i) else str(piece).replace(SPACE, " ").encode()
