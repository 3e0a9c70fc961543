"""Real data sets and golden figures: found beside the checkout, or skipped with a clear word."""

from __future__ import annotations

import json
import lzma
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onepass import datasets

SHARED = Path(__file__).resolve().parents[2] / "shared"


@cache
def dataset(name: str) -> datasets.Dataset:
    """A data set of the folder ONEPASS_DATA; the test is skipped where there is no such folder."""
    folder = os.environ.get("ONEPASS_DATA", "")
    if not Path(folder).is_dir() or not folder:
        pytest.skip(
            f"the data set {name} is absent: there is no folder {folder or SHARED / 'data'}; set ONEPASS_DATA to the folder of"
            " the data sets"
        )
    return datasets.load(name, folder=folder)


def golden(name: str) -> Any:
    """A file of golden figures, JSON or numbers in CSV; they lie in `golden`, beside the folder ONEPASS_DATA."""
    folder = Path(os.environ.get("ONEPASS_DATA", SHARED / "data")).resolve().parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"the golden figures {name} are absent: there is no folder {folder}; it must lie beside ONEPASS_DATA")
    if name.endswith(".json"):
        return json.loads((folder / name).read_text())
    with lzma.open(folder / name, "rt") as file:
        return np.loadtxt(file, delimiter=",")
