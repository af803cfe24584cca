"""The queries of the primary capsules: where they lie, and which words each looks for."""

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

SPACES = ("effective", "queries")  # W^k_i^T h_i, which share one space; h_i, as in the paper
PERPLEXITY = 10.0
_CHUNK = 8_192  # words that are scored at a time
_CONTROLS = 100


@dataclass(frozen=True)
class QueryMap(PlaneMap):
    """The queries in the plane, (I, 2), and the space that they are from."""

    space: str


def query_vectors(network: ICapsNet, space: str) -> NDArray[np.float64]:
    """The queries h_i (I, d_q), or the effective ones W^k_i^T h_i / sqrt(d_q) (I, d_w).

    Each h_i is read through a key weight of its own, so that their distances say little by
    themselves; effective queries meet the same regions.

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
    """Vectors (I, d) of a space in the plane: see `plane.map_vectors`.

    Raises:
        ConfigError: There is no such method, or the perplexity isn't above 0.
    """
    made = map_vectors(vectors, method, seed, perplexity, _CONTROLS)
    return QueryMap(**vars(made), space=space)


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
            alone = np.ones(len(ids), np.int64)
            layout = lay_out(alone, network.config.kernel_size, ids.device)
            regions = network.regions(ids, layout)[layout.cells]
            scores.append((regions @ queries).cpu())
    table = torch.cat(scores)  # (V, I)
    table[[PAD, UNK]] = -torch.inf
    values, ids = table.topk(min(top, max(len(vocabulary) - 2, 0)), dim=0)
    return [
        [(vocabulary.words[n], score) for n, score in zip(column, of_words, strict=True)]
        for column, of_words in zip(ids.T.tolist(), values.T.tolist(), strict=True)
    ]
