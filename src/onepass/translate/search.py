"""Beam search: the most probable translations, word by word, the best few kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from onepass.translate.extra import torch
from onepass.translate.network import Weights

# Which subwords may follow those that a translation was continued with; None: all of them.
Allowed = Callable[[Sequence[int]], Any]


class Hypothesis(NamedTuple):
    """A translation: its subwords without beginning and end, and the sum of their log-probabilities, that of the end included."""

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

    If none is at its end by then, they are taken as they are.
    """
    memory = network.encode(w, torch.tensor([source]))
    tokens, scores, cache = torch.tensor([[network.begin, *forced]]), torch.zeros(1, dtype=torch.float64), None
    done, start = list[Hypothesis](), 1 + len(forced)
    for _ in range(most):
        top, cache = network.decode(w, tokens if cache is None else tokens[:, -1:], memory.spread(len(tokens)), cache)
        chances = torch.log_softmax(network.logits(w, top[:, -1]).double(), 1)
        chances[:, [network.pad, network.begin]] = -torch.inf
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
            if token == network.end:
                done.append(Hypothesis(tuple(tokens[line, 1:].tolist()), score))
            else:
                alive.append((line, token, score))
        done = sorted(done, key=lambda one: one.mean, reverse=True)[:beam]
        if not alive or (len(done) == beam and done[-1].mean >= alive[0][2] / tokens.shape[1]):
            break  # what is alive would have to go on better than it began
        lines = torch.tensor([line for line, _, _ in alive])
        tokens = torch.cat([tokens[lines], torch.tensor([[token] for _, token, _ in alive])], 1)
        scores = torch.tensor([score for _, _, score in alive], dtype=torch.float64)
        cache = cache and [(keys[lines], values[lines]) for keys, values in cache]
    cut = [Hypothesis(tuple(line[1:]), score) for line, score in zip(tokens.tolist(), scores.tolist(), strict=True)]
    return done or sorted(cut, key=lambda one: one.mean, reverse=True)
