"""What networks have in common as learners: how many hidden layers there are, and the weights that they start from.

X. Glorot, Y. Bengio: Understanding the difficulty of training deep feedforward neural networks. AISTATS 2010, 249-256.
K. He, X. Zhang, S. Ren, J. Sun: Delving deep into rectifiers. ICCV 2015, 1026-1034.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any

import numpy as np

from onepass.base import Field, Learner
from onepass.base.parameters import COUNT, among, parameter, parametric
from onepass.base.state import Array
from onepass.neural.units import RELU, SIGMOID, TANH

ACTIVATIONS = {"tanh": TANH, "sigmoid": SIGMOID, "relu": RELU}


@parametric
class Layered(Learner):
    """A learner with hidden layers: how many, and how they start."""

    hidden: Any = parameter(
        100,
        COUNT,
        "array-like",
        kind="int or tuple of ints",
        matters=True,
        text="The number of units of the hidden layer, or of each where there are several.",
    )
    activation: str = parameter("tanh", among(*ACTIVATIONS), text="The function f of the hidden units.")
    _: KW_ONLY
    fit_intercept: bool = parameter(text="Whether all units have a bias.")
    random_state: Any = parameter(text="The seed of the weights that the network starts from.")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        try:
            sizes = np.atleast_1d(self.hidden)
        except ValueError:  # tuples of different lengths
            sizes = np.empty(0)
        if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
            raise ValueError(
                f"The 'hidden' parameter of {type(self).__name__} is {self.hidden!r}; it must be the number of hidden units, or that"
                " of each layer, such as (64, 32)."
            )

    def _layers(self) -> list[int]:
        """The numbers of units of the hidden layers."""
        return [int(n) for n in np.atleast_1d(self.hidden)]

    def _joints(self) -> list[tuple[int, int]]:
        """The numbers of units of each hidden layer and of that above it."""
        return list(pairwise(self._layers()))

    def _reach(self, n_in: int, n_out: int) -> float:
        """The largest first weight between so many units: He's for ReLU, else Glorot's."""
        return float(np.sqrt(6 / (n_in if self.activation == "relu" else n_in + n_out)))

    def _hidden_fields(self) -> dict[str, Field]:
        """The weights of the hidden layers."""
        layers = self._layers()
        reach = [run for a, b in self._joints() for run in ((b, 0.0), (a * b, self._reach(a, b)))]
        return {
            "A": Field("features hidden", draw="uniform", fan_out=0 if self.activation == "relu" else layers[0]),
            "inner": Field("inner", draw="uniform", reach=tuple(reach)),
        }

    def _sizes(self) -> dict[str, int]:
        inner = sum((a + 1) * b for a, b in self._joints())
        return {**super()._sizes(), "hidden": self._layers()[0], "inner": inner}

    def _hidden_layers(self, A: Array, inner: Array) -> list[Array]:
        """The weights of the hidden layers, (units below + 1, units) each."""
        used, found = 0, [A.copy()]
        for a, b in self._joints():
            found.append(inner[used : used + (a + 1) * b].reshape(a + 1, b).copy())
            used += (a + 1) * b
        return found

    def _fails_late(self) -> bool:
        return True  # a gradient may leave the range of numbers though its row is sound

    def _keeps_to_features(self) -> bool:
        return not self._averages()  # which take in all weights every now and then

    def _outputs(self, form: str) -> str:
        """The axis of the outputs."""
        return "classes" if form == "multiclass" else "one"
