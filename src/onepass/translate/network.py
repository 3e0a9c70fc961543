"""A small Transformer, as functions of its weights.

A. Vaswani et al.: Attention is all you need. NeurIPS 2017. Norms come before each sublayer (R. Xiong et al.: On layer normalization
in the Transformer architecture. ICML 2020), and the outputs share the weights of the embedding.

All weights are one vector, of which every matrix is a view: the rules that learn (`steps.py`) are then formulas of vectors, and a
version of the model is replaced by one assignment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from onepass.translate.extra import functional, torch

PAD, UNKNOWN, BEGIN, END = range(4)
Weights = dict[str, Any]
Shapes = dict[str, tuple[int, ...]]
Drop = Callable[[Any], Any]


class Memory(NamedTuple):
    """A source as the decoder sees it: keys and values for each of its layers, and where there are words."""

    layers: Sequence[tuple[Any, Any]]
    words: Any

    def spread(self, n: int) -> Memory:
        """The memory of one source for n translations of it."""
        return self._replace(
            layers=[(keys.expand(n, -1, -1, -1), values.expand(n, -1, -1, -1)) for keys, values in self.layers]
        )


def unchanged(x: Any) -> Any:
    """No dropout."""
    return x


@dataclass(frozen=True)
class Transformer:
    """The sizes of a network: subwords, width d, width inside a layer, layers of both stacks, and heads."""

    vocabulary: int
    d: int = 128
    inner: int = 512
    encoders: int = 2
    decoders: int = 2
    heads: int = 4

    pad: ClassVar[int] = PAD
    begin: ClassVar[int] = BEGIN
    end: ClassVar[int] = END

    @cached_property
    def shapes(self) -> Shapes:
        """The names of all weights, in the order of the vector, and their shapes."""
        d, inner = self.d, self.inner
        attention: Shapes = {"qkv": (d, 3 * d), "o": (d, d)}
        across: Shapes = {"cq": (d, d), "ckv": (d, 2 * d), "co": (d, d)}
        forward: Shapes = {"a": (d, inner), "ab": (inner,), "c": (inner, d), "cb": (d,)}
        found: Shapes = {"emb": (self.vocabulary, d), "ob": (self.vocabulary,)}

        def layer(name: str, *sublayers: Shapes) -> None:
            for i, sublayer in enumerate(sublayers, 1):
                found.update({f"{name}.n{i}.g": (d,), f"{name}.n{i}.b": (d,)})
                found.update({f"{name}.{key}": shape for key, shape in sublayer.items()})

        for i in range(self.encoders):
            layer(f"e{i}", attention, forward)
        for i in range(self.decoders):
            layer(f"d{i}", attention, across, forward)
        return found | {f"{stack}n.{part}": (d,) for stack in "ed" for part in "gb"}

    @cached_property
    def size(self) -> int:
        """The number of weights."""
        return sum(map(math.prod, self.shapes.values()))

    def views(self, vector: Any) -> Weights:
        """The weights by name."""
        parts = torch.split(vector, [math.prod(shape) for shape in self.shapes.values()])
        return {name: part.view(shape) for part, (name, shape) in zip(parts, self.shapes.items(), strict=True)}

    def drawn(self, seed: int) -> Any:
        """First weights: U(-a, a) with a = sqrt(6 / (in + out)) for matrices, N(0, 1/d) for the embedding, no bias."""
        generator, parts = torch.Generator().manual_seed(seed), []
        single = torch.float32  # whatever PyTorch's default is: files hold nothing else
        for name, shape in self.shapes.items():
            if name == "emb":
                part = torch.randn(shape, generator=generator, dtype=single) / math.sqrt(self.d)
            elif len(shape) == 2:
                part = (2 * torch.rand(shape, generator=generator, dtype=single) - 1) * math.sqrt(6 / sum(shape))
            else:
                part = torch.full(shape, float(name.endswith(".g")), dtype=single)
            parts.append(part.flatten())
        return torch.cat(parts)

    # --- forwards ---

    def encode(self, w: Weights, sources: Any, drop: Drop = unchanged) -> Memory:
        """What the decoder attends to, of sources (a row each, padded)."""
        words = (sources != PAD)[:, None, None, :] if len(sources) > 1 else None
        x = drop(self._embed(w, sources, 0))
        for i in range(self.encoders):
            name = f"e{i}"
            queries, keys, values = self._split(_norm(w, f"{name}.n1", x) @ w[f"{name}.qkv"], 3)
            x = x + drop(_attend(queries, keys, values, words) @ w[f"{name}.o"])
            x = x + drop(_forward(w, name, _norm(w, f"{name}.n2", x)))
        x = _norm(w, "en", x)
        return Memory(
            [(keys, values) for keys, values in (self._split(x @ w[f"d{i}.ckv"], 2) for i in range(self.decoders))], words
        )

    def decode(
        self, w: Weights, targets: Any, memory: Memory, cache: Any = None, drop: Drop = unchanged
    ) -> tuple[Any, list[tuple[Any, Any]]]:
        """What comes out on top for each word of targets, and the keys and values of these words and of those before (`cache`), so
        that a translation that grows by a word is not computed anew."""
        before = 0 if cache is None else cache[0][0].shape[2]
        x, kept = drop(self._embed(w, targets, before)), []
        for i in range(self.decoders):
            name = f"d{i}"
            queries, keys, values = self._split(_norm(w, f"{name}.n1", x) @ w[f"{name}.qkv"], 3)
            if before:
                keys, values = torch.cat([cache[i][0], keys], 2), torch.cat([cache[i][1], values], 2)
            kept.append((keys, values))
            x = x + drop(_attend(queries, keys, values, causal=not before) @ w[f"{name}.o"])
            (queries,) = self._split(_norm(w, f"{name}.n2", x) @ w[f"{name}.cq"], 1)
            x = x + drop(_attend(queries, *memory.layers[i], memory.words) @ w[f"{name}.co"])
            x = x + drop(_forward(w, name, _norm(w, f"{name}.n3", x)))
        return _norm(w, "dn", x), kept

    def logits(self, w: Weights, top: Any) -> Any:
        """The scores of all subwords."""
        return functional.linear(top, w["emb"], w["ob"])

    def _embed(self, w: Weights, tokens: Any, start: int) -> Any:
        x = functional.embedding(tokens, w["emb"]) * math.sqrt(self.d)
        frequencies = 10000.0 ** (-2 * torch.arange(self.d // 2, dtype=torch.float64) / self.d)
        angles = torch.arange(start, start + tokens.shape[1], dtype=torch.float64)[:, None] * frequencies
        return x + torch.cat([angles.sin(), angles.cos()], 1).to(x.dtype)

    def _split(self, x: Any, n: int) -> Sequence[Any]:
        """n matrices that stand side by side, each by its heads: (sentence, head, word, d / heads)."""
        return x.view(*x.shape[:2], n, self.heads, -1).permute(2, 0, 3, 1, 4).unbind()


def loss_of(network: Any, w: Weights, sources: Any, targets: Any, smoothing: float = 0.0, drop: Drop = unchanged) -> Any:
    """The mean cross-entropy of the subwords of targets, each of which has a beginning and an end."""
    top, _ = network.decode(w, targets[:, :-1], network.encode(w, sources, drop), drop=drop)
    wanted = targets[:, 1:].flatten()
    real = wanted != network.pad
    return functional.cross_entropy(network.logits(w, top.flatten(0, 1)[real]), wanted[real], label_smoothing=smoothing)


def padded(sentences: Sequence[Sequence[int]]) -> Any:
    """Sentences of our own subwords as the rows of a matrix."""
    longest = max(map(len, sentences))
    return torch.tensor([[*tokens, *[PAD] * (longest - len(tokens))] for tokens in sentences])


def _norm(w: Weights, name: str, x: Any) -> Any:
    return torch.layer_norm(x, x.shape[-1:], w[f"{name}.g"], w[f"{name}.b"], 1e-5)


def _forward(w: Weights, name: str, x: Any) -> Any:
    return torch.relu(x @ w[f"{name}.a"] + w[f"{name}.ab"]) @ w[f"{name}.c"] + w[f"{name}.cb"]


def _attend(queries: Any, keys: Any, values: Any, words: Any = None, causal: bool = False) -> Any:
    found = functional.scaled_dot_product_attention(queries, keys, values, words, is_causal=causal)
    return found.transpose(1, 2).flatten(2)
