"""A table of what each word of the vocabulary adds to a text: faster, once many texts are read.

Without an activation, all that comes before the softmax of the attention is linear in the K words
of a region. So the score that a word adds to each head from each of the K places of a window, and
its part of each head's value, depend on the word alone. With W_k the k-th slice of the kernel, b
its bias and q_i = W^k_i^T h_i / sqrt(d_q), the score of head i at word n is
q_i (b + sum_k W_k e_{n+k}), and its value is W^v_i (b + sum_k W_k e_{n+k}): a text takes K look-ups
per word and a weighted sum, and no matrix product before its capsules are routed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import torch
import torch.nn.functional as F
from torch import Tensor

from icaps.nn.packing import Layout

MAX_BYTES = 256_000_000  # of a table; a network that would need a larger one has none
PAYS = 2  # a table is made once the network has read so many times as many words as it knows
_CHUNK = 4_096  # words that are computed at a time


def table_bytes(vocabulary_size: int, kernel_size: int, value_weight: Tensor) -> int:
    """Size of the `LookupTable` of a network with such weights."""
    heads, size = value_weight.shape[:2]
    return 4 * (vocabulary_size + 1) * kernel_size * heads * (1 + size)


class LookupTable:
    """Scores and values of each word in each place of a window.

    Args:
        project: Gives the embeddings of word ids (n,) times each slice of the kernel (n, K, d_w).
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
            # One row per word, and a last one of zeros, which stands for no word.
            rows = columns.new_zeros(vocabulary_size + 1, kernel_size, columns.shape[1])
            for ids in torch.arange(vocabulary_size, device=columns.device).split(_CHUNK):
                rows[ids] = project(ids) @ columns
            self._rows = rows.flatten(0, 1)
            self._bias = value_weight @ bias  # (I, d_p)
        self._taps = torch.arange(kernel_size, device=rows.device)
        self._no_word = torch.tensor([vocabulary_size], dtype=torch.int32, device=rows.device)

    def embed_sentences(self, ids: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """As `TrainableAttention.embed_sentences` up to rounding, from word ids (T,)."""
        slots = torch.cat([ids, self._no_word])[layout.windows] * len(self._taps) + self._taps
        sums = F.embedding_bag(slots, self._rows, mode="sum")  # (C, I + d_p I)
        scores, values = sums.split([self._heads, self._heads * self._size], dim=1)
        weights = layout.softmax(scores)
        values = values.unflatten(1, (self._size, self._heads))
        pooled = layout.pool_by_head(weights, values)  # (S, d_p, I)
        # The bias moves all scores of a head alike, and the weights of a sentence add up to 1.
        attention = layout.of_words(weights)
        bias = layout.has_words()[:, None, None] * self._bias
        # Numbers of a capsule side by side, or its norm takes longer than all that comes before.
        return pooled.transpose(1, 2).contiguous() + bias, attention


class LookupCache:
    """The lookup table of one network, as soon as it has read enough words for the table to pay.

    Threads may share it. A copy, or a pickle, starts without a table.
    """

    def __init__(self) -> None:
        self._entry = _Entry(())

    def find(
        self,
        words: int,
        vocabulary_size: int,
        weights: Sequence[Tensor],
        make: Callable[[], LookupTable | None],
    ) -> LookupTable | None:
        """The table for a network that is about to read `words` words more, or None.

        The table is made anew once one of the weights was written or replaced. While one thread
        makes it, the others go on without, or each would make and hold one.

        Args:
            words: Counted from when the weights last changed.
            vocabulary_size: V.
            weights: All that the table is made of.
            make: Makes it; None if this network can have none.
        """
        if any(map(Tensor.is_inference, weights)):  # whose changes torch does not count
            return None
        versions = tuple((weight.data_ptr(), weight._version) for weight in weights)
        entry = self._entry
        if entry.versions != versions:
            entry = self._entry = _Entry(versions)
        entry.words += words
        pays = entry.words >= PAYS * vocabulary_size
        if entry.table is None and pays and entry.making.acquire(blocking=False):
            try:
                entry.table = entry.table or make()
            finally:
                entry.making.release()
        return entry.table

    def __reduce__(self) -> tuple[type[LookupCache], tuple[()]]:
        return LookupCache, ()


class _Entry:
    """Words read with weights of these versions, and their table."""

    def __init__(self, versions: tuple[tuple[int, int], ...]) -> None:
        self.versions = versions
        self.words = 0
        self.table: LookupTable | None = None
        self.making = Lock()
