"""The queries of the primary capsules: projected to the plane, and the nearest words of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.interpret.projection import PlaneMap, check_choice, map_vectors
from icaps.model import ICapsNet
from icaps.nn.packing import lay_out
from icaps.text.batch import PAD, UNK
from icaps.text.vocabulary import Vocabulary

SPACES = ("effective", "queries")  # W^k_i^T h_i, all in one space; h_i, as in the paper
PERPLEXITY = 10.0
_CHUNK = 8_192  # words at a time
_CONTROLS = 100  # random permutations of the points


@dataclass(frozen=True)
class QueryMap(PlaneMap):
    """The queries projected to the plane (I, 2), and the space that they are from."""

    space: str


def query_vectors(network: ICapsNet, space: str) -> NDArray[np.float64]:
    """The queries h_i (I, d_q), or the effective ones W^k_i^T h_i / sqrt(d_q) (I, d_w).

    Each h_i has a key weight of its own, so that distances between them mean little; effective
    queries are compared with the same regions.

    Raises:
        ConfigError: There is no such space.
    """
    check_choice(space, SPACES, "space")
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
    """Projects query vectors (I, d) of a space to the plane: see `projection.map_vectors`.

    Raises:
        ConfigError: There is no such method, or the perplexity is not above 0.
    """
    plane = map_vectors(vectors, method, seed, perplexity, _CONTROLS)
    return QueryMap(**vars(plane), space=space)


def cosines(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cosine of each pair of vectors (I, d), as (I, I); 0 for a vector of zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(units @ units.T)


def nearest_words(
    network: ICapsNet, vocabulary: Vocabulary, top: int
) -> list[list[tuple[str, float]]]:
    """The trained words that each capsule attends to most, with scores; no data is needed.

    The score of a word is the exponent of its attention, k . h_i / sqrt(d_q) (equation 3), in a
    text of this word alone.

    Args:
        network: A network in eval mode.
        vocabulary: The vocabulary of the network.
        top: Number of words per capsule.
    """
    scores: list[torch.Tensor] = []
    with torch.inference_mode():
        queries = network.attention.effective_queries().T  # (d_w, I)
        for ids in torch.arange(vocabulary.trained_words, device=queries.device).split(_CHUNK):
            alone = np.ones(len(ids), np.int64)
            layout = lay_out(alone, network.config.kernel_size, ids.device)
            regions = layout.gather_words(network.embed_regions(ids, layout))  # (words, d_w)
            scores.append((regions @ queries).cpu())  # (words, I)
    table = torch.cat(scores)  # (V_t, I)
    table[[PAD, UNK]] = -torch.inf
    values, ids = table.topk(min(top, max(len(table) - 2, 0)), dim=0)
    return [
        [(vocabulary.words[n], score) for n, score in zip(column, word_scores, strict=True)]
        for column, word_scores in zip(ids.T.tolist(), values.T.tolist(), strict=True)
    ]
