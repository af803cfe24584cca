"""Lookup table of each word's attention scores and values, for fast inference on many texts.

Without an activation, everything before the softmax of the attention is linear in the K words of a
region. So what a word adds to the score and to the value of each head, from each of the K positions
in a window, depends on the word alone. With W_k the k-th slice of the kernel, b its bias and
q_i = W^k_i^T h_i / sqrt(d_q), the score of head i at word n is q_i (b + sum_k W_k e_{n+k}), and its
value is W^v_i (b + sum_k W_k e_{n+k}). With the table, a text needs K look-ups per word and a
weighted sum, and no matrix product before routing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import torch
import torch.nn.functional as F
from torch import Tensor

from icaps.nn.packing import Layout

MAX_BYTES = 256_000_000  # of a table; a network that would need a larger one gets none
MIN_READS = 2  # a table is built after the network has read this many times V words
_CHUNK = 4_096  # words that are computed at a time


def table_bytes(vocabulary_size: int, kernel_size: int, value_weight: Tensor) -> int:
    """Size in bytes of the `LookupTable` of a network with such weights."""
    heads, size = value_weight.shape[:2]
    return 4 * (vocabulary_size + 1) * kernel_size * heads * (1 + size)


class LookupTable:
    """Attention scores and values of each word at each position in a window.

    Args:
        project: Maps word ids (n,) to their embeddings times each slice of the kernel (n, K, d_w).
        vocabulary_size: V.
        kernel_size: K.
        queries: q_i (I, d_w).
        value_weight: W^v_i (I, d_p, d_w).
        bias: b (d_w,).
    """

    def __init__(
        self,
        project: Callable[[Tensor], Tensor],
        vocabulary_size: int,
        kernel_size: int,
        queries: Tensor,
        value_weight: Tensor,
        bias: Tensor,
    ) -> None:
        self._heads, self._size = value_weight.shape[:2]
        with torch.inference_mode():
            values = value_weight.transpose(0, 1).flatten(0, 1)  # (d_p I, d_w)
            columns = torch.cat([queries, values]).T  # (d_w, I + d_p I)
            # One row per word, and a last one of zeros as padding: (V + 1, K, I + d_p I).
            rows = columns.new_zeros(vocabulary_size + 1, kernel_size, columns.shape[1])
            for ids in torch.arange(vocabulary_size, device=columns.device).split(_CHUNK):
                rows[ids] = project(ids) @ columns
            self._rows = rows.flatten(0, 1)
            self._bias = value_weight @ bias  # (I, d_p)
        self._offsets = torch.arange(kernel_size, device=rows.device)
        self._padding = torch.tensor([vocabulary_size], dtype=torch.int32, device=rows.device)

    def embed_sentences(self, ids: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """As `TrainableAttention.embed_sentences` up to rounding, from word ids (T,)."""
        words = torch.cat([ids, self._padding])[layout.windows]  # (C, K); -1 is the padding
        sums = F.embedding_bag(words * len(self._offsets) + self._offsets, self._rows, mode="sum")
        scores, values = sums.split([self._heads, self._heads * self._size], dim=1)
        weights = layout.softmax(scores)  # alpha^i_n (C, I), eq. 3
        values = values.unflatten(1, (self._size, self._heads))  # (C, d_p, I)
        pooled = layout.pool_by_head(weights, values)  # (S, d_p, I)
        attention = layout.gather_words(weights)  # (T, I)
        # The bias changes all scores of a head alike, which the softmax ignores. The weights of a
        # sentence add up to 1 (eq. 5), so each embedding gets the bias once.
        bias = layout.has_words()[:, None, None] * self._bias  # (S, I, d_p)
        # Contiguous capsules, or their norms take longer than everything before.
        return pooled.transpose(1, 2).contiguous() + bias, attention


class LookupCache:
    """The lookup table of one network, built after the network has read enough words.

    It is safe to share between threads. A copy or a pickle starts without a table.
    """

    def __init__(self) -> None:
        self._entry = _Entry(())

    def get(
        self,
        words: int,
        vocabulary_size: int,
        weights: Sequence[Tensor],
        build: Callable[[], LookupTable | None],
    ) -> LookupTable | None:
        """The table for a network that is about to read `words` more words; None if there is none.

        The table is built again after a weight was written or replaced. While one thread builds it,
        the others continue without it, as otherwise each would build and hold one.

        Args:
            words: Added to the count of words since the weights last changed.
            vocabulary_size: V.
            weights: The weights that the table is computed from.
            build: Builds the table; returns None if this network cannot have one.
        """
        if any(map(Tensor.is_inference, weights)):  # torch does not count their changes
            return None
        versions = tuple((weight.data_ptr(), weight._version) for weight in weights)
        entry = self._entry
        if entry.versions != versions:
            entry = self._entry = _Entry(versions)
        entry.words += words
        enough = entry.words >= MIN_READS * vocabulary_size
        if entry.table is None and enough and entry.building.acquire(blocking=False):
            try:
                entry.table = entry.table or build()
            finally:
                entry.building.release()
        return entry.table

    def __reduce__(self) -> tuple[type[LookupCache], tuple[()]]:
        return LookupCache, ()


class _Entry:
    """The number of words read with these versions of the weights, and their table."""

    def __init__(self, versions: tuple[tuple[int, int], ...]) -> None:
        self.versions = versions
        self.words = 0
        self.table: LookupTable | None = None
        self.building = Lock()
