"""PAMO: passive-aggressive learning of max-out embeddings.

J. Jorge, R. Paredes: Passive-Aggressive online learning with nonlinear embeddings. Pattern Recognition 79 (2018), 162-171.

The embedding z of x has h dimensions, each the largest of k products: z_i = max_j u_ij . x. A linear model sits on top. Each example
is learned in three closed-form steps: the linear model takes a share 1 - alpha of the loss, the point z is moved to where the loss
would be zero, and the winning hyperplane of each dimension is regressed towards its coordinate of that point.

x = (1, x) and z are scaled to unit norm. Equation 22 of the paper divides by |z|^2 where the projection on w.z = const needs
|w|^2; the authors' experiments used the latter, and so do we.

U is stored as (d+1, k h), the columns piece by piece (all first hyperplanes, then all second ones): projection, maximum and update
are then long loops over contiguous memory.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onepass.base import Classifier, Field, Regressor, SelfTuning, State
from onepass.base.explaining import Explained
from onepass.base.learner import POWERS_OF_TWO
from onepass.base.parameters import COUNT, NOT_NEGATIVE, POSITIVE, among, parameter, parametric
from onepass.base.state import Array
from onepass.compiled.borrow import borrowed, keep_alive
from onepass.compiled.compiler import entry_point, routine
from onepass.compiled.hedge import candidates, part, side_by_side
from onepass.compiled.rows import DenseRows, add_outer, project, row, unit
from onepass.compiled.rules import PASSIVE, UPDATED, blend, learn, mix, rival, score, scratch

LARGEST, NEAREST = 0, 1
SELECT = {"largest": LARGEST, "nearest": NEAREST}

Binary = namedtuple("Binary", "U w C C_r alpha epsilon always select")
Multiclass = namedtuple("Multiclass", "U W C C_r alpha epsilon always select")
Regression = namedtuple("Regression", "U w C C_r alpha epsilon tolerance always select")

# products: all u_ij . x; z: the embedding; winner: which piece gave z_i (in the type of the data, to be compared in vectors);
# norm: |z|, one entry; target: the z to aim at; step: how far each hyperplane moves along x.
Scratch = namedtuple("Scratch", "scores products z winner norm target step")


@routine
def work_space(U: Any, w: Any, n_scores: Any) -> Any:
    h, width = w.shape[-1], U.shape[1]
    return Scratch(
        np.empty(n_scores, U.dtype),
        np.empty(width, U.dtype),
        np.empty(h, U.dtype),
        np.empty(h, U.dtype),
        np.empty(1, U.dtype),
        np.empty(h, U.dtype),
        np.empty(width, U.dtype),
    )


@routine
def embed(U: Any, x: Any, s: Any) -> Any:
    """Algorithm 1, lines 4 to 8: the embedding of x, its winning pieces and its norm. z stays as it is; s.norm divides later."""
    z, winner, h = s.z, s.winner, len(s.z)
    project(U, unit(x), s.products)
    for i in range(h):
        z[i], winner[i] = s.products[i], 0
    for first in range(h, len(s.products), h):
        products, piece = s.products[first : first + h], z.dtype.type(first // h)
        for i in range(h):
            larger = products[i] > z[i]
            winner[i] = piece if larger else winner[i]
            z[i] = products[i] if larger else z[i]
    norm2 = z.dtype.type(0)
    for i in range(h):
        norm2 += z[i] * z[i]
    s.norm[0] = np.sqrt(norm2) if norm2 > 0 else norm2 + 1  # a zero z has nothing to normalise; NaN stays NaN


@routine
def normalised_dot(w: Any, s: Any) -> Any:
    """w . z/|z|"""
    z, total = s.z, w.dtype.type(0)
    for i in range(len(w)):
        total += w[i] * z[i]
    return total / s.norm[0]


@routine
def add_normalised(w: Any, a: Any, s: Any) -> Any:
    """w += a z/|z|"""
    step = w.dtype.type(a / s.norm[0])
    for i in range(len(w)):
        w[i] += step * s.z[i]


@routine
def aim(w: Any, gap: Any, s: Any) -> Any:
    """Equations 20 to 22: s.target = the point nearest to z/|z| where w.z is larger by `gap`."""
    norm2 = w.dtype.type(0)
    for i in range(len(w)):
        norm2 += w[i] * w[i]
    tau = w.dtype.type(gap / norm2 if norm2 > 0 else 0.0)
    scale = w.dtype.type(1 / s.norm[0])
    for i in range(len(w)):
        s.target[i] = scale * s.z[i] + tau * w[i]


@routine
def regress(m: Any, x: Any, weight: Any, s: Any) -> Any:
    """Equations 26 to 30: in each dimension the selected hyperplane moves towards the target, by C_r at the most; |x| = 1."""
    h = len(s.z)
    if m.select == NEAREST:
        for i in range(h):
            best = 0
            for first in range(h, len(s.products), h):
                if abs(s.products[first + i] - s.target[i]) < abs(s.products[best + i] - s.target[i]):
                    best = first
            s.winner[i] = best // h
            s.z[i] = s.products[best + i]
    zero, limit, epsilon = s.z.dtype.type(0), s.z.dtype.type(weight * m.C_r), s.z.dtype.type(m.epsilon)
    z, target, winner = s.z, s.target, s.winner
    for i in range(h):
        error = target[i] - z[i]
        length = min(limit, max(abs(error) - epsilon, zero))
        target[i] = length if error > 0 else -length
    for first in range(0, len(s.step), h):
        step, piece = s.step[first : first + h], z.dtype.type(first // h)
        for i in range(h):
            step[i] = target[i] if winner[i] == piece else zero
    add_outer(m.U, s.step, unit(x))


# --- two classes ---


@scratch.form(Binary)
@scratch.form(Regression)
def _(m: Any) -> Any:
    return work_space(m.U, m.w, 1)


@score.form(Binary)
@score.form(Regression)
def _(m: Any, x: Any, s: Any) -> Any:
    embed(m.U, x, s)
    s.scores[0] = normalised_dot(m.w, s)


@learn.form(Binary)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """Algorithm 1, lines 11 to 21; PAMO-II also regresses when there is no loss (`always`)."""
    loss = max(1 - y * s.scores[0], 0)
    if loss == 0 and not m.always:
        return PASSIVE
    tau = min(weight * m.C, (1 - m.alpha) * loss)
    rest = loss - tau
    add_normalised(m.w, y * tau, s)
    aim(m.w, y * rest, s)
    regress(m, x, weight, s)
    return UPDATED


# --- many classes: one embedding, a row of W a class, PA against the strongest rival ---


@scratch.form(Multiclass)
def _(m: Any) -> Any:
    return work_space(m.U, m.W, m.W.shape[0])


@score.form(Multiclass)
def _(m: Any, x: Any, s: Any) -> Any:
    embed(m.U, x, s)
    for k in range(len(s.scores)):
        s.scores[k] = normalised_dot(m.W[k], s)


@learn.form(Multiclass)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """As for two classes, with w_y - w_r in place of y w: z moves along the difference of the label's and the rival's weights."""
    W, r = m.W, rival(s.scores, y)
    loss = max(1 - (s.scores[y] - s.scores[r]), 0) if r >= 0 else 0.0
    if loss == 0 and not m.always:
        return PASSIVE
    tau = min(weight * m.C, (1 - m.alpha) * loss / 2)
    rest = loss - 2 * tau
    for i in range(len(s.target)):
        s.target[i] = 0
    if r >= 0:
        add_normalised(W[y], tau, s)
        add_normalised(W[r], -tau, s)
        for i in range(len(s.target)):
            s.target[i] = W[y, i] - W[r, i]
    aim(s.target, rest, s)
    regress(m, x, weight, s)
    return UPDATED


# --- regression ---


@learn.form(Regression)
def _(m: Any, x: Any, y: Any, weight: Any, s: Any) -> Any:
    """As for two classes, with the epsilon-insensitive loss: z moves to where w.z meets the target within epsilon."""
    error = y - s.scores[0]
    loss = max(abs(error) - m.tolerance, 0)
    if loss == 0 and not m.always:
        return PASSIVE
    tau = min(weight * m.C, (1 - m.alpha) * loss)
    rest = loss - tau
    add_normalised(m.w, np.sign(error) * tau, s)
    aim(m.w, np.sign(error) * rest, s)
    regress(m, x, weight, s)
    return UPDATED


@blend.form(Binary)
@blend.form(Regression)
def _(m: Any, other: Any, share: Any) -> Any:
    mix(m.U, other.U, share)
    mix(m.w, other.w, share)


@blend.form(Multiclass)
def _(m: Any, other: Any, share: Any) -> Any:
    mix(m.U, other.U, share)
    mix(m.W, other.W, share)


# --- candidates side by side ---


candidates(Binary, "U w C C_r")
candidates(Multiclass, "U W C C_r")


@side_by_side.form(Scratch)
def _(s: Any, n: Any) -> Any:
    return Scratch(
        np.empty((n, len(s.scores)), s.z.dtype),
        np.empty((n, len(s.products)), s.z.dtype),
        np.empty((n, len(s.z)), s.z.dtype),
        np.empty((n, len(s.winner)), s.z.dtype),
        np.empty((n, len(s.norm)), s.z.dtype),
        np.empty((n, len(s.target)), s.z.dtype),
        np.empty((n, len(s.step)), s.z.dtype),
    )


@part.form(Scratch)
def _(s: Any, i: Any) -> Any:
    return Scratch(s.scores[i], s.products[i], s.z[i], s.winner[i], s.norm[i], s.target[i], s.step[i])


@parametric
class _MaxOut(Explained):
    """What PAMO's classifier and regressor share: the embedding."""

    dimensions: int = parameter(64, COUNT, matters=True, text="The number h of dimensions of the embedding.")
    hyperplanes: int = parameter(2, COUNT, text="The number k of hyperplanes of each dimension.")
    C: float = parameter(
        0.125, POSITIVE, cautious="smaller", text="Aggressiveness: how far one example may move the linear model."
    )
    C_r: float | None = parameter(None, POSITIVE, None, text="How far one example may move a hyperplane. None: the same as C.")
    alpha: float = parameter(
        0.9, Interval(Real, 0, 1, closed="both"), text="The share of the loss that is left to the embedding."
    )
    epsilon: float = parameter(0.0, NOT_NEGATIVE, text="A hyperplane whose value is this close to z*_i does not move.")
    variant: str = parameter(
        "I", among("I", "II"), text="Whether the embedding learns only from examples with loss, or always."
    )
    select: str = parameter(
        "largest",
        among(*SELECT),
        text="Which hyperplane of a dimension moves: the one that gave z_i, or the one that is nearest to z*_i.",
    )
    _: KW_ONLY
    average: bool | str | float | None = parameter(more="On a stream that does not drift, True helps a lot.", matters=True)
    random_state: Any = parameter(text="The seed of the first weights.")

    @property
    def _grid(self) -> dict[str, tuple[Any, ...]]:
        return {"C": POWERS_OF_TWO}

    def _sizes(self) -> dict[str, int]:
        return {"dimensions": self.dimensions, "pieces": self.dimensions * self.hyperplanes}

    def _prepare(self, state: State) -> None:
        U = state.arrays["U"]
        for own in U.reshape(-1, *U.shape[-2:]):
            if not self.fit_intercept:
                own[0] = 0
            orthonormalise(own, self.dimensions)

    def _settings(self) -> tuple[float, bool, int]:
        return float(self.alpha), self.variant == "II", SELECT[self.select]

    # --- what users read ---

    def _shares(self, state: State) -> Array:
        """The share of each candidate in the scores."""
        return state.arrays.get("shares", np.ones(1))

    def _candidates_of(self, state: State, name: str) -> Array:
        """An array as predictions see it, an entry a candidate."""
        array = self._averaged(state, name)
        return array if "shares" in state.arrays else array[None]

    def _best(self, state: State, name: str) -> Array:
        return self._candidates_of(state, name)[self._shares(state).argmax()]

    @property
    def hyperplanes_(self) -> Array:
        """The hyperplanes u_ij, (dimensions, hyperplanes, d+1), the constant feature first; the average's, where there is one, and with
        C="auto" those of the value of C that has the largest share."""
        state = self._attribute("hyperplanes_")
        U = self._best(state, "U")[: state.n_features + 1]
        return np.ascontiguousarray(U.reshape(len(U), self.hyperplanes, self.dimensions).T)

    @property
    def weights_(self) -> Array:
        """The weights of the linear model on the embedding: (1, dimensions) for two classes, (K, dimensions) for more, (dimensions,)
        for regression; of the same model as `hyperplanes_`."""
        state = self._attribute("weights_")
        weights = self._best(state, "W" if state.form == "multiclass" else "w").copy()
        return weights[None] if state.form == "binary" else weights

    def _watched(self, state: State) -> dict[str, Array]:
        return {"w": self.weights_, "U": self.hyperplanes_}

    def _along(self, X: Any, state: State) -> Array:
        return self._embedded(X, state)[0][0]

    def embed(self, X: Any) -> Array:
        """The embedding of each row, (n, dimensions), scaled to unit norm, by `hyperplanes_`."""
        return self._read(lambda state: self._embedded(X, state)[0])

    def winners(self, X: Any) -> Array:
        """Which hyperplane gave each dimension of the embedding of each row, the first being 0: (n, dimensions)."""
        return self._read(lambda state: self._embedded(X, state)[1])

    def _embedded(self, X: Any, state: State) -> tuple[Array, Array]:
        rows = self._rows(X, state)
        bound = self._bind_for(rows.width, state)
        U, shape = self._best(bound.state, "U"), (rows.n, state.sizes["dimensions"])
        z, winner, norm = np.empty(shape, state.dtype), np.empty(shape, np.int64), np.empty(rows.n, state.dtype)
        for start, stop in rows.blocks():
            block = rows.block(start, stop, state.dtype, bound.bias)
            embed_rows(U, block, z[start:stop], winner[start:stop], norm[start:stop])
        return z, winner

    def _linear_at(self, x: Array, places: Array, state: State) -> Array:
        """Near x the pieces that won are all that there is: the score is sum_i w_i u_i . x / (|x| |z|), u_i being the winner of i."""
        h = state.sizes["dimensions"]
        row_, total = DenseRows(x[None, 1:].astype(state.dtype), state.dtype.type(x[0])), 0.0
        weights = self._candidates_of(state, "W" if state.form == "multiclass" else "w")
        for share, U, w in zip(self._shares(state), self._candidates_of(state, "U"), weights, strict=True):
            own = np.ascontiguousarray(U[places])
            z, winner, norm = np.empty((1, h), U.dtype), np.empty((1, h), np.int64), np.empty(1, U.dtype)
            embed_rows(own, row_, z, winner, norm)
            won = own[:, winner[0] * h + np.arange(h)].astype(np.float64)
            total = total + share * (w.reshape(-1, h) @ won.T) / norm[0]
        length = np.sqrt(x @ x)
        return np.asarray(total / (length if length > 0 else 1.0))


@entry_point
def embed_rows(U: Any, X: Any, out: Any, winner: Any, norm: Any) -> Any:
    """The embeddings of rows, scaled to unit norm, the pieces that won, and the norms before."""
    own = work_space(U, out[0], 1)
    s = borrowed(own)
    for t in range(len(out)):
        embed(U, row(X, t), s)
        norm[t] = s.norm[0]
        for i in range(out.shape[1]):
            out[t, i] = s.z[i] / s.norm[0]
            winner[t, i] = np.int64(s.winner[i])
    keep_alive(own)


def orthonormalise(U: Array, h: int) -> None:
    """Make the hyperplanes of each dimension orthonormal (Gram-Schmidt), as far as there is room for them."""
    d, width = U.shape
    pieces = U.reshape(d, width // h, h)  # (d, piece, dimension)
    for j in range(pieces.shape[1]):
        u = pieces[:, j].astype(np.float64)
        for i in range(min(j, d - 1)):
            before = pieces[:, i].astype(np.float64)
            u -= before * (before * u).sum(axis=0)
        norm = np.sqrt((u * u).sum(axis=0))
        pieces[:, j] = np.divide(u, norm, out=u, where=norm > 0)


@parametric
class PAMOClassifier(Classifier, SelfTuning, _MaxOut):
    """Passive-aggressive max-out: a nonlinear embedding and a linear classifier on it, learned together in closed form.

    z_i = max_j u_ij . x for `dimensions` i and `hyperplanes` j, x and z scaled to unit norm, score = w.z. On an example with
    loss = max(0, 1 - y w.z),

    1. w += min(C, (1 - alpha) loss) y z,
    2. z* = z + y (1 - y w.z) w / |w|^2, where the loss would be zero,
    3. the selected hyperplane of each dimension is regressed towards z*_i by a PA step of at most C_r.

    PAMO-I does so when there is loss; PAMO-II always takes step 3, which teaches the embedding its own normalisation. With more
    than two classes the embedding is shared, and w_y - w_r takes the place of y w, r being the strongest wrong class.

    Standardise the features first (:class:`onepass.StandardScaler`), as the paper does. The first hyperplanes are drawn from
    U(-0.1, 0.1), and those of a dimension made orthonormal, over the features that are known at the first example: all columns of a
    table. Features that come later, as they may in dicts, leave them as drawn.

    References
    ----------
    J. Jorge, R. Paredes: Passive-Aggressive online learning with nonlinear embeddings. Pattern Recognition 79 (2018), 162-171.

    Examples
    --------
    The four corners of XOR, which no linear model can tell apart:

    >>> from onepass import PAMOClassifier
    >>> X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [0, 1, 1, 0]
    >>> PAMOClassifier(dimensions=8, max_iter=50, random_state=0).fit(X, y).predict(X)
    array([0, 1, 1, 0])

    What was learned can be read. The score of a row is that of its embedding; which hyperplanes won says where the row is, and there
    the score is linear in its features:

    >>> model = PAMOClassifier(dimensions=8, max_iter=50, random_state=0).fit(X, y)
    >>> model.hyperplanes_.shape, model.weights_.shape, model.winners(X).shape
    ((8, 2, 3), (1, 8), (4, 8))
    >>> import numpy as np
    >>> np.allclose(model.embed(X) @ model.weights_[0], model.decision_function(X))
    True
    >>> explanation = model.explain_one([1.0, -1.0])
    >>> explanation.label, bool(np.isclose(explanation.bias + sum(explanation.contributions.values()), explanation.score))
    (1, True)
    """

    C: float | str = parameter(  # type: ignore[assignment]
        0.125,
        POSITIVE,
        among("auto"),
        more='"auto" spares the search: five values from 1/256 to 1 learn side by side, and the losses so far decide on the share'
        " that each has in the scores. It takes five times as long.",
    )

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "binary": {"U": Field("features pieces", draw="uniform"), "w": Field("dimensions", draw="uniform")},
        "multiclass": {"U": Field("features pieces", draw="uniform"), "W": Field("classes dimensions", draw="uniform")},
    }

    _candidates: ClassVar[tuple[float, ...]] = tuple(4.0**k for k in range(-4, 1))

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        alpha, always, select = self._settings()
        C = self._aggressiveness()
        C_r = C if self.C_r is None else np.full_like(C, self.C_r)[()]  # one for each candidate, if there are any
        Record, weights = (Binary, "w") if state.form == "binary" else (Multiclass, "W")
        record = Record(arrays["U"], arrays[weights], C, C_r, alpha, float(self.epsilon), always, select)
        return self._hedged(record, self._task(state), arrays)


@parametric
class PAMORegressor(Regressor, _MaxOut):
    """Passive-aggressive max-out for regression: a nonlinear embedding and a linear model on it, learned together in closed form.

    The same as :class:`PAMOClassifier`, with loss = max(0, |y - w.z| - epsilon): w takes a share 1 - alpha of it, z* is the point
    nearest to z where w.z meets the target within epsilon, and the selected hyperplanes are regressed towards z*.

    Standardise the features. Without `scale_target`, bring the targets to the scale of 1: a step moves the prediction by C at the most.

    References
    ----------
    J. Jorge, R. Paredes: Passive-Aggressive online learning with nonlinear embeddings. Pattern Recognition 79 (2018), 162-171.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass import PAMORegressor
    >>> x = np.random.default_rng(0).uniform(-2, 2, (5000, 1))
    >>> model = PAMORegressor(average=True, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> bool(np.abs(model.predict([[-1.5], [0.0], [1.5]]) - [1.5, 0.0, 1.5]).max() < 0.2)
    True
    """

    epsilon: float = parameter()

    _forms: ClassVar[dict[str, dict[str, Field]]] = {
        "regression": {"U": Field("features pieces", draw="uniform"), "w": Field("dimensions", draw="uniform")}
    }

    def _record(self, state: State, arrays: Mapping[str, Any]) -> Any:
        alpha, always, select = self._settings()
        C, C_r = float(self.C), float(self.C if self.C_r is None else self.C_r)
        return Regression(arrays["U"], arrays["w"], C, C_r, alpha, 0.0, float(self.epsilon), always, select)
