"""Generated streams: known concepts, known drift, any length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Array = NDArray[np.float64]

SEA_THRESHOLDS = (8.0, 9.0, 7.0, 9.5)


def rotating_xor(
    n: int = 1000, rotate_every: int = 100, *, angle: float = np.pi / 18, deviation: float = 0.3, random_state: Any = None
) -> tuple[Array, Array]:
    """Four Gaussians at the corners of a square, opposite corners in one class, turned counterclockwise every `rotate_every` examples.

    The corners are (±1, ±1); class 1 has the two where the signs differ. No straight line separates the classes, and every
    turn makes the earlier boundary wrong. This is the test of adaptation in section 4.2 of the PAMO paper, which describes it
    but gives no numbers. With the angle chosen here, ten degrees, the tenth hundred is turned by ninety: the classes have
    changed places. With the deviation chosen here, about one example in twelve hundred lies on the wrong side of the best boundary.

    Parameters
    ----------
    n : int
        How many examples.
    rotate_every : int
        How many examples there are between two turns.
    angle : float
        The size of a turn, in radians.
    deviation : float
        The standard deviation of each Gaussian, in both directions.
    random_state : int, RandomState or None
        What makes the stream repeatable.

    Returns
    -------
    X : array of shape (n, 2)
    y : array of shape (n,), of 0 and 1

    Examples
    --------
    >>> X, y = rotating_xor(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((1000, 2), [0.0, 1.0])
    """
    random = check_random_state(random_state)
    signs = random.choice([-1.0, 1.0], size=(n, 2))
    turn = angle * (np.arange(n) // rotate_every)
    cos, sin = np.cos(turn), np.sin(turn)
    means = np.column_stack([cos * signs[:, 0] - sin * signs[:, 1], sin * signs[:, 0] + cos * signs[:, 1]])
    return means + deviation * random.standard_normal((n, 2)), (signs[:, 0] != signs[:, 1]).astype(float)


def sea(n: int = 50_000, noise: float = 0.1, *, random_state: Any = None) -> tuple[Array, Array]:
    """The SEA concepts: class 1 where the first two of three features sum to at most a threshold, which jumps three times.

    The features are uniform in [0, 10), the quarters of the stream have the thresholds 8, 9, 7 and 9.5; the third feature is
    irrelevant. `noise` is the share of labels that are flipped. W. N. Street and Y. Kim, A streaming ensemble algorithm
    (SEA) for large-scale classification, KDD 2001.

    Examples
    --------
    >>> X, y = sea(1000, noise=0.0, random_state=0)
    >>> bool(((X[:250, 0] + X[:250, 1] <= 8) == y[:250]).all())
    True
    """
    random = check_random_state(random_state)
    X = random.uniform(0, 10, size=(n, 3))
    threshold = np.array(SEA_THRESHOLDS)[np.arange(n) * len(SEA_THRESHOLDS) // max(n, 1)]
    return X, _flip(X[:, 0] + X[:, 1] <= threshold, noise, random)


def circles(n: int = 1000, noise: float = 0.1, *, factor: float = 0.5, random_state: Any = None) -> tuple[Array, Array]:
    """Two rings around the origin: class 0 of radius 1, class 1 of radius `factor`, each blurred by Gaussian `noise`.

    A problem that does not drift and that no straight line solves.

    Examples
    --------
    >>> X, y = circles(noise=0.0, random_state=0)
    >>> bool(np.allclose(np.hypot(*X.T), np.where(y == 1, 0.5, 1.0)))
    True
    """
    random = check_random_state(random_state)
    y = random.randint(2, size=n).astype(float)
    turn = random.uniform(0, 2 * np.pi, size=n)
    radius = np.where(y == 1, factor, 1.0)
    X = radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    return X + noise * random.standard_normal((n, 2)), y


def hyperplane(
    n: int = 10_000, features: int = 10, drift: float = 0.001, noise: float = 0.05, *, random_state: Any = None
) -> tuple[Array, Array]:
    """A hyperplane through the origin that turns by `drift` radians with every example; class 1 lies on its positive side.

    The features are uniform in [-1, 1), so both classes stay equally frequent. The normal vector turns in a plane drawn at
    random. `noise` is the share of labels that are flipped. After the moving hyperplane of G. Hulten, L. Spencer and P.
    Domingos, Mining time-changing data streams, KDD 2001, whose weights drift one by one.

    Examples
    --------
    >>> X, y = hyperplane(100, features=3, random_state=0)
    >>> X.shape, y.shape
    ((100, 3), (100,))
    """
    if features < 2:
        raise ValueError(f"A hyperplane needs a plane to turn in: at least 2 features, got {features}.")
    random = check_random_state(random_state)
    plane, _ = np.linalg.qr(random.standard_normal((features, 2)))
    turn = drift * np.arange(n)
    X = random.uniform(-1, 1, size=(n, features))
    across = X @ plane
    return X, _flip(np.cos(turn) * across[:, 0] + np.sin(turn) * across[:, 1] >= 0, noise, random)


def _flip(labels: NDArray[np.bool_], share: float, random: Any) -> Array:
    flipped: Array = (labels ^ (random.uniform(size=len(labels)) < share)).astype(float)
    return flipped
