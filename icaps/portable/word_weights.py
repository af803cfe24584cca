"""What an export has of the words: distinct frozen vectors, and one matrix for all that follows.

Without an activation, what a word adds to the attention scores and to the values of all heads is
linear in its embedding, and depends on the word and its position in the window alone
(`nn.lookup`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.config import VECTOR_STEP
from icaps.model import ICapsNet
from icaps.nn.lookup import score_and_value_columns


def distinct_vectors(network: ICapsNet) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct frozen vectors (U, fixed_dim), and the row of each word (V,).

    Vectors are in steps of `VECTOR_STEP`: int8, or float32 in a model of an earlier version, whose
    vectors are no whole steps.
    """
    steps: NDArray[Any] = network.fixed_embedding.cpu().numpy() / np.float32(VECTOR_STEP)
    whole = steps.clip(-128, 127).astype(np.int8)
    if np.array_equal(steps, whole):
        steps = whole
    others = np.zeros((len(network.vector_words), steps.shape[1]), steps.dtype)
    others[:, : network.vector_words.shape[1]] = network.vector_words.cpu().numpy()
    if not steps.shape[1]:
        return steps[:1], np.zeros(len(steps) + len(others), np.int64)
    vectors, rows = np.unique(np.concatenate([steps, others]), axis=0, return_inverse=True)
    return vectors, rows.ravel().astype(np.int64)


def word_matrix(network: ICapsNet) -> NDArray[np.float64]:
    """The matrix (d_e, K (I + d_p I)) from an embedding to scores and values by tap."""
    attention = network.attention
    weights = attention.effective_queries(), attention.value_weight, network.region.weight
    with torch.inference_mode():
        queries, value_weight, kernel = (weight.cpu().double() for weight in weights)
        columns = score_and_value_columns(queries, value_weight)  # (d_w, I + d_p I)
        matrix: NDArray[np.float64] = (kernel @ columns).transpose(0, 1).flatten(1).numpy()
    return matrix
