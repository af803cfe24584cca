"""Vectors projected to two dimensions by t-SNE or PCA, and how reliable the projection is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness

from icaps.errors import ConfigError

METHODS = ("tsne", "pca")
NEIGHBOURS = 5  # of a vector, for the trustworthiness


@dataclass(frozen=True)
class PlaneMap:
    """Vectors in the plane.

    Attributes:
        points: (n, 2).
        method, seed: Method and seed of the projection.
        perplexity: The perplexity that t-SNE used, below n; None for PCA.
        preservation: Trustworthiness (Venna and Kaski 2001): 1 if the neighbours in the plane are
            neighbours in the space. None for fewer than four vectors, which are all neighbours.
        shuffled: Mean of the same over random permutations of the points, about 0.5.
    """

    points: NDArray[np.float64]
    method: str
    seed: int
    perplexity: float | None
    preservation: float | None
    shuffled: float | None


def map_vectors(
    vectors: NDArray[np.floating], method: str, seed: int, perplexity: float, controls: int
) -> PlaneMap:
    """Projects vectors (n, d) to the plane, by t-SNE initialised with PCA, or by PCA alone.

    Args:
        vectors: (n, d).
        method: One of METHODS.
        seed: Seed of t-SNE and of the control.
        perplexity: Perplexity of t-SNE.
        controls: Number of random permutations, each as expensive as the score itself.

    Raises:
        ConfigError: There is no such method, or the perplexity is not above 0.
    """
    check_choice(method, METHODS, "method")
    if not perplexity > 0:
        raise ConfigError(f"The perplexity is {perplexity}; it must be above 0.")
    count = len(vectors)
    used = min(perplexity, count - 1.0) if method == "tsne" and count > 1 else None
    points = _pca(vectors)
    if used is not None:
        tsne = TSNE(perplexity=used, init=_start(points), random_state=seed)
        points = tsne.fit_transform(vectors).astype(np.float64)
    random = np.random.default_rng(seed)
    permuted = [_preservation(vectors, random.permutation(points)) for _ in range(controls)]
    scores = [score for score in permuted if score is not None]
    shuffled = float(np.mean(scores)) if scores else None
    return PlaneMap(points, method, seed, used, _preservation(vectors, points), shuffled)


def check_choice(value: str, choices: tuple[str, ...], name: str) -> None:
    """Raises ConfigError if the option `name` is none of the choices."""
    if value not in choices:
        raise ConfigError(f"The {name} is {value!r}; it must be {' or '.join(choices)}.")


def _pca(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """The first two principal components (n, 2); zeros where there are fewer."""
    if len(vectors) < 2 or not np.ptp(vectors, axis=0).any():
        return np.zeros((len(vectors), 2))
    size = min(2, *vectors.shape)
    points = PCA(size, random_state=0).fit_transform(vectors)
    return np.pad(points, [(0, 0), (0, 2 - size)]).astype(np.float64)


def _start(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Principal components (n, 2) scaled to a standard deviation of 1e-4, as in scikit-learn.

    Vectors that differ by rounding alone have components that are equal but not zero. Divided by
    their standard deviation of 0 they would be infinite, at which t-SNE crashes the process, so
    they start at 0.
    """
    deviation = float(points[:, 0].std())
    if deviation <= 1e-9 * np.abs(points).max():
        return np.zeros_like(points)
    return points / deviation * 1e-4


def _preservation(vectors: NDArray[np.floating], points: NDArray[np.float64]) -> float | None:
    neighbours = min(NEIGHBOURS, (len(vectors) - 1) // 2)  # the score is defined below n / 2
    if neighbours < 1 or len(vectors) < 4:
        return None
    return float(trustworthiness(vectors, points, n_neighbors=neighbours))
