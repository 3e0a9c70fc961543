"""Whether a step of passive-aggressive learning solves the problem that the paper states, told by a general solver and by trial.

The problem, for weights z, a loss L(z) = max(0, l(z)) with l convex, and the weights so far z0:

    hard:  minimise 1/2 |z - z0|^2             subject to l(z) <= 0
    I:     minimise 1/2 |z - z0|^2 + C L(z)
    II:    minimise 1/2 |z - z0|^2 + C L(z)^2
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize


def objective(variant: str, C: float, z0: Any, loss: Callable[[Any], float], z: Any) -> float:
    """What the step minimises."""
    over = max(0.0, loss(z))
    return 0.5 * float((z - z0) @ (z - z0)) + (0.0 if variant == "hard" else C * over ** (1 if variant == "I" else 2))


def solved(variant: str, C: float, z0: Any, loss: Callable[[Any], float]) -> Any:
    """The weights that SLSQP finds: over (z, xi) with xi >= l(z), xi >= 0, or xi = 0 for the hard problem."""
    power = 1 if variant == "I" else 2
    result = minimize(
        lambda v: 0.5 * ((v[:-1] - z0) @ (v[:-1] - z0)) + (0.0 if variant == "hard" else C * v[-1] ** power),
        np.append(z0 + 1e-3, 0.0 if variant == "hard" else max(0.0, loss(z0))),
        constraints=[{"type": "ineq", "fun": lambda v: v[-1] - loss(v[:-1])}],
        bounds=[(None, None)] * len(z0) + [(0.0, 0.0 if variant == "hard" else None)],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return result.x[:-1]


def check_step(variant: str, C: float, z0: Any, z: Any, loss: Callable[[Any], float], seed: int = 0) -> None:
    """The weights z after a step from z0 are those that the problem asks for: the solver agrees, and nothing near does better."""
    if variant == "hard":
        assert loss(z) <= 1e-9, "the constraint must be met"
    best = objective(variant, C, z0, loss, z)
    np.testing.assert_allclose(z, solved(variant, C, z0, loss), rtol=1e-5, atol=1e-5)
    rng = np.random.default_rng(seed)
    tried = 0
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(60):
            other = z + size * rng.normal(size=z.shape)
            if variant != "hard" or loss(other) <= 0:
                assert objective(variant, C, z0, loss, other) >= best - 1e-9
                tried += 1
    assert tried > 10
