"""The queries of the primary capsules: where they lie, and which words each looks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness

from icaps.errors import ConfigError
from icaps.model import ICapsNet
from icaps.text import PAD, UNK, Vocabulary

SPACES = ("effective", "queries")  # W^k_i^T h_i, which share one space; h_i, as in the paper
METHODS = ("tsne", "pca")
PERPLEXITY = 10.0
NEIGHBOURS = 5  # that the score asks for
_CHUNK = 8_192  # words that are scored at a time
_CONTROLS = 100


@dataclass(frozen=True)
class QueryMap:
    """The queries in the plane.

    Attributes:
        points: (I, 2).
        space, method, seed: How it was made.
        perplexity: Of t-SNE, brought below I; None for PCA.
        preservation: Trustworthiness (Venna and Kaski 2001): 1 where the neighbours in the plane
            are neighbours in the space. None for fewer than four queries, of which all are near.
        shuffled: The mean of the same with the points dealt out anew, about 0.5.
    """

    points: NDArray[np.float64]
    space: str
    method: str
    seed: int
    perplexity: float | None
    preservation: float | None
    shuffled: float | None


def query_vectors(network: ICapsNet, space: str) -> NDArray[np.float64]:
    """The queries h_i (I, d_q), or the effective ones W^k_i^T h_i / sqrt(d_q) (I, d_w).

    Each h_i is read through a key weight of its own, so that their distances say little by
    themselves; effective queries meet the same regions.

    Raises:
        ConfigError: There is no such space.
    """
    _check(space, SPACES, "space")
    attention = network.attention
    vectors = attention.primary_queries if space == "queries" else attention.effective_queries()
    values: NDArray[np.float64] = vectors.detach().cpu().double().numpy()
    return values


def map_queries(
    vectors: NDArray[np.float64],
    space: str,
    method: str = "tsne",
    seed: int = 0,
    perplexity: float = PERPLEXITY,
) -> QueryMap:
    """Vectors (I, d) in the plane, by t-SNE from a PCA start (scikit-learn), or by PCA alone.

    Raises:
        ConfigError: There is no such method, or the perplexity isn't above 0.
    """
    _check(method, METHODS, "method")
    if not perplexity > 0:
        raise ConfigError(f"The perplexity is {perplexity}; it must be above 0.")
    count = len(vectors)
    used = min(perplexity, count - 1.0) if method == "tsne" and count > 1 else None
    if used is None:
        points = _pca(vectors)
    else:
        start = _pca(vectors)
        start = start / max(start[:, 0].std(), np.finfo(float).tiny) * 1e-4  # as scikit-learn does
        tsne = TSNE(perplexity=used, init=start, random_state=seed)
        points = tsne.fit_transform(vectors).astype(np.float64)
    random = np.random.default_rng(seed)
    controls = [_preservation(vectors, random.permutation(points)) for _ in range(_CONTROLS)]
    scored = [score for score in controls if score is not None]
    shuffled = float(np.mean(scored)) if scored else None
    return QueryMap(points, space, method, seed, used, _preservation(vectors, points), shuffled)


def cosines(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosine of each pair of vectors (I, d): (I, I); 0 with a vector of zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(units @ units.T)


def pointed_words(
    network: ICapsNet, vocabulary: Vocabulary, top: int
) -> list[list[tuple[str, float]]]:
    """Of each capsule the `top` words whose region scores highest, with their scores.

    A word's region is that of a text of this word alone, and its score the exponent of its
    attention, k . h_i / sqrt(d_q) (equation 3). No data is needed.
    """
    scores: list[torch.Tensor] = []
    with torch.inference_mode():
        queries = network.attention.effective_queries().T  # (d_w, I)
        for ids in torch.arange(len(vocabulary), device=queries.device).split(_CHUNK):
            regions = network.regions(ids, torch.ones_like(ids))
            scores.append((regions @ queries).cpu())
    table = torch.cat(scores)  # (V, I)
    table[[PAD, UNK]] = -torch.inf
    values, ids = table.topk(min(top, max(len(vocabulary) - 2, 0)), dim=0)
    return [
        [(vocabulary.words[n], score) for n, score in zip(column, of_words, strict=True)]
        for column, of_words in zip(ids.T.tolist(), values.T.tolist(), strict=True)
    ]


def _pca(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two directions of largest variance; zeros where there are fewer."""
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2))
    size = min(2, *vectors.shape)
    points = PCA(size, random_state=0).fit_transform(vectors)
    return np.asarray(np.pad(points, [(0, 0), (0, 2 - size)]))


def _preservation(vectors: NDArray[np.float64], points: NDArray[np.float64]) -> float | None:
    neighbours = min(NEIGHBOURS, (len(vectors) - 1) // 2)  # the score is defined below I / 2
    if neighbours < 1 or len(vectors) < 4:
        return None
    return float(trustworthiness(vectors, points, n_neighbors=neighbours))


def _check(value: str, choices: tuple[str, ...], name: str) -> None:
    if value not in choices:
        raise ConfigError(f"The {name} is {value!r}; it must be {' or '.join(choices)}.")
