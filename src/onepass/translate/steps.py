"""One step of the weights along the gradient g of a loss; w, g and the moments n and m are vectors.

    sgd        w -= rate g
    adagrad    n += g^2;  w -= rate g / (sqrt(n) + 1e-10)
    adadelta   n = 0.9 n + 0.1 g^2;  u = sqrt((m + 1e-6) / (n + 1e-6)) g;  m = 0.9 m + 0.1 u^2;  w -= rate u
    adam       m = 0.9 m + 0.1 g;  n = 0.999 n + 0.001 g^2;  w -= rate m' / (sqrt(n') + 1e-8), where m' and n' are free of their start
    pa         w -= min(C, loss / |g|^2) g

Duchi, Hazan, Singer 2011; Zeiler 2012; Kingma, Ba 2015; for the last, Crammer et al. 2006: the smallest step that would bring the
loss, linearised, to zero. Nothing is changed in place: who reads the old weights may go on.
"""

from __future__ import annotations

from typing import Any

from onepass.translate.extra import torch

MOMENTS = {"sgd": (), "adagrad": ("n",), "adadelta": ("n", "m"), "adam": ("n", "m"), "pa": ()}
Moments = dict[str, Any]


def started(rule: str, w: Any) -> Moments:
    """The moments of a rule before its first step."""
    return {name: torch.zeros_like(w) for name in MOMENTS[rule]}


def step(rule: str, w: Any, g: Any, loss: float, rate: float, moments: Moments, t: int) -> tuple[Any, Moments]:
    """The weights and moments after step number t = 1, 2, ...; `rate` is C of the passive-aggressive step."""
    if rule == "sgd":
        return w - rate * g, moments
    if rule == "pa":
        norm2 = float(g.dot(g))
        return (w - min(rate, loss / norm2) * g if norm2 > 0 else w), moments
    if rule == "adagrad":
        n = moments["n"] + g * g
        return w - rate * g / (n.sqrt() + 1e-10), {"n": n}
    if rule == "adadelta":
        n = 0.9 * moments["n"] + 0.1 * (g * g)
        u = ((moments["m"] + 1e-6) / (n + 1e-6)).sqrt() * g
        return w - rate * u, {"n": n, "m": 0.9 * moments["m"] + 0.1 * (u * u)}
    n, m = 0.999 * moments["n"] + 0.001 * (g * g), 0.9 * moments["m"] + 0.1 * g
    return w - (rate / (1 - 0.9**t)) * m / ((n / (1 - 0.999**t)).sqrt() + 1e-8), {"n": n, "m": m}
