"""A raw table such as people have: numbers with holes, categories, a date, a sentence, and a label that follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

CITIES = ["Valencia", "Bilbao", "Lugo", "Soria"]
PRAISE, COMPLAINT = "very happy with the new price", "unhappy, and wants to talk about the price"


def people(n: int, seed: int = 0) -> tuple[Any, Any]:
    """A frame of n people, and whether each of them leaves."""
    rng = np.random.default_rng(seed)
    age, city, unhappy = rng.integers(18, 90, n).astype(float), rng.choice(CITIES, n), rng.random(n) < 0.4
    leaves = (age - 50) / 20 + 1.5 * (city == "Bilbao") + 2.5 * unhappy - 1.2 + 0.5 * rng.normal(size=n) > 0
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "city": np.where(rng.random(n) < 0.05, None, city),
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D"),
            "note": [
                f"{COMPLAINT if sad else PRAISE}, no. {number}" for sad, number in zip(unhappy, rng.permutation(n), strict=True)
            ],
        }
    )
    return frame, np.where(leaves, "leaves", "stays")
