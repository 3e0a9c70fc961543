"""Training of a network on a corpus, before it learns online: Adam over many pairs at once, several passes.

What a step does depends on the seed and its number alone, so that a training that was stopped goes on to the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onepass.translate.extra import torch
from onepass.translate.network import loss_of, padded
from onepass.translate.steps import Moments, step

TOKENS = 1000  # of a batch
SORTED = 32  # batches, whose pairs are sorted by their lengths together: little is padded, and batches still differ from pass to pass
PEAK, WARM_UP = 0.002, 0.05  # the largest rate, and the share of steps before it
SMOOTHING, DROPOUT = 0.1, 0.1

Pair = tuple[Sequence[int], Sequence[int]]


def batches(pairs: Sequence[Pair], seed: int, number: int) -> list[list[int]]:
    """The batches of pass number 0, 1, ...: places of pairs of about the same length, TOKENS long together."""
    rng = np.random.default_rng([seed, number])
    lengths = np.array([max(len(source), len(target)) for source, target in pairs])
    order, found = rng.permutation(len(pairs)), list[list[int]]()
    size = max(int(SORTED * TOKENS / lengths.mean()), 1)
    for start in range(0, len(order), size):
        block = order[start : start + size]
        batch = list[int]()
        for place in block[np.argsort(lengths[block], kind="stable")].tolist():
            if batch and (len(batch) + 1) * lengths[place] > TOKENS:
                found.append(batch)
                batch = []
            batch.append(place)
        found.append(batch)
    return [found[i] for i in rng.permutation(len(found))]


def rate_of(t: int, total: int) -> float:
    """The rate of step t = 1, 2, ..., total: up to PEAK, and down to 0."""
    warm = max(WARM_UP * total, 1)
    return PEAK * min(t / warm, (total - t + 1) / (total - warm + 1))


class Dropout:
    """Sets a share of numbers to 0; which ones depends on the seed and on the number of the step."""

    def __init__(self, seed: int, t: int) -> None:
        self._generator = torch.Generator().manual_seed((seed << 32) + t)

    def __call__(self, x: Any) -> Any:
        return x * torch.empty_like(x).bernoulli_(1 - DROPOUT, generator=self._generator) / (1 - DROPOUT)


def gradient(network: Any, w: Any, sources: Any, targets: Any, **how: Any) -> tuple[float, Any]:
    """The loss of some pairs, and its gradient by the weights."""
    leaf = w.detach().requires_grad_()
    loss = loss_of(network, network.views(leaf), sources, targets, **how)
    (g,) = torch.autograd.grad(loss, leaf)
    return float(loss.detach()), g


def train_step(
    network: Any, w: Any, moments: Moments, pairs: Sequence[Pair], seed: int, t: int, total: int
) -> tuple[float, Any, Moments]:
    """The loss of a batch, and the weights and moments after a step along its gradient."""
    sources, targets = (padded(side) for side in zip(*pairs, strict=True))
    loss, g = gradient(network, w, sources, targets, smoothing=SMOOTHING, drop=Dropout(seed, t))
    return loss, *step("adam", w, g, loss, rate_of(t, total), moments, t)
