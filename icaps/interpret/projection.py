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
    first, place = _distinct(vectors)
    count = len(first)
    used = min(perplexity, count - 1.0) if method == "tsne" and count > 1 else None
    points = _pca(vectors)
    if used is not None:
        start = points[first]
        start /= max(start[:, 0].std(), np.finfo(float).tiny) / 1e-4  # as in scikit-learn
        tsne = TSNE(perplexity=used, init=start, random_state=seed)
        points = tsne.fit_transform(vectors[first]).astype(np.float64)[place]
    random = np.random.default_rng(seed)
    permuted = [_preservation(vectors, random.permutation(points)) for _ in range(controls)]
    scores = [score for score in permuted if score is not None]
    shuffled = float(np.mean(scores)) if scores else None
    return PlaneMap(points, method, seed, used, _preservation(vectors, points), shuffled)


def _distinct(vectors: NDArray[np.floating]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of each group of equal vectors, in their order, and each vector's group.

    t-SNE moves vectors that are all but equal onto one point, where scikit-learn's tree of points
    gets so deep that the process crashes. Vectors count as equal up to 1e-5 of the largest number.
    """
    largest = np.abs(vectors).max(initial=0) or 1.0
    rounded = np.round(vectors / largest, 5)
    _, first, group = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[group.ravel()]


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


def _preservation(vectors: NDArray[np.floating], points: NDArray[np.float64]) -> float | None:
    neighbours = min(NEIGHBOURS, (len(vectors) - 1) // 2)  # the score is defined below n / 2
    if neighbours < 1 or len(vectors) < 4:
        return None
    return float(trustworthiness(vectors, points, n_neighbors=neighbours))
