"""Beam search: the most probable translations, word by word, the best few kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from onepass.translate.extra import torch
from onepass.translate.network import BEGIN, END, NEVER, Weights

# Which subwords may follow those that a translation was continued with; None: all of them.
Allowed = Callable[[Sequence[int]], Any]


class Hypothesis(NamedTuple):
    """A translation: its subwords without BEGIN and END, and the sum of their log-probabilities, that of END included."""

    tokens: tuple[int, ...]
    score: float

    @property
    def mean(self) -> float:
        """The log-probability of a subword in the mean, by which translations of different lengths are compared."""
        return self.score / (len(self.tokens) + 1)


def search(
    network: Any,
    w: Weights,
    source: Sequence[int],
    beam: int,
    most: int,
    forced: Sequence[int] = (),
    allowed: Allowed = lambda tokens: None,
) -> list[Hypothesis]:
    """The best translations first, at most `beam`, which begin with `forced` and have at most `most` subwords beyond that.

    A translation that is still without END when it has `most` is taken as it is.
    """
    memory = network.encode(w, torch.tensor([source]))
    tokens, scores, cache = torch.tensor([[BEGIN, *forced]]), torch.zeros(1, dtype=torch.float64), None
    done, start = list[Hypothesis](), 1 + len(forced)
    for _ in range(most):
        top, cache = network.decode(w, tokens if cache is None else tokens[:, -1:], _for(memory, len(tokens)), cache)
        chances = torch.log_softmax(network.logits(w, top[:, -1]).double(), 1)
        chances[:, NEVER] = -torch.inf
        for i, line in enumerate(tokens[:, start:].tolist()):
            if (may := allowed(line)) is not None:
                chances[i, ~may] = -torch.inf
        sums = (scores[:, None] + chances).flatten()
        found, places = sums.topk(min(2 * beam, len(sums)))
        alive = list[tuple[int, int, float]]()
        for score, place in zip(found.tolist(), places.tolist(), strict=True):
            line, token = divmod(place, chances.shape[1])
            if score == -torch.inf or len(alive) == beam:
                break
            if token == END:
                done.append(Hypothesis(tuple(tokens[line, 1:].tolist()), score))
            else:
                alive.append((line, token, score))
        if len(done) >= beam or not alive:
            break
        lines = torch.tensor([line for line, _, _ in alive])
        tokens = torch.cat([tokens[lines], torch.tensor([[token] for _, token, _ in alive])], 1)
        scores = torch.tensor([score for _, _, score in alive], dtype=torch.float64)
        cache = [(keys[lines], values[lines]) for keys, values in cache]
    else:
        done += [Hypothesis(tuple(line[1:]), score) for line, score in zip(tokens.tolist(), scores.tolist(), strict=True)]
    return sorted(done, key=lambda one: one.mean, reverse=True)[:beam]


def _for(memory: Any, n: int) -> Any:
    return memory._replace(layers=[tuple(part.expand(n, -1, -1, -1) for part in layer) for layer in memory.layers])
