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
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from icaps.nn.packing import Layout

MAX_BYTES = 256_000_000  # of a table; a network that would need a larger one gets none
MIN_READS = 2  # a table is built after the network has read this many times V_t words
_CHUNK = 4_096  # words that are computed at a time

Project = Callable[[Tensor], Tensor]  # word ids (n,) to (n, K, d_w), as `ICapsNet.project_words`


def table_bytes(trained_words: int, kernel_size: int, value_weight: Tensor) -> int:
    """Size in bytes of the `LookupTable` of a network with such weights."""
    heads, size = value_weight.shape[:2]
    return 4 * (trained_words + 1) * kernel_size * heads * (1 + size)


class WordRows(NamedTuple):
    """What each of n words adds to attention scores and values, and the place of a batch's words.

    Attributes:
        rows: ((n + 1) K, I + d_p I), K rows per word, one per position in a window: scores of the
            heads, then values with the head as the last dimension. The last K rows are zeros, for
            padding and for words that are not among the n.
        numbers: (T,), number of each word of the batch among the n; n if it is not among them.
    """

    rows: Tensor
    numbers: Tensor


def score_and_value_columns(queries: Tensor, value_weight: Tensor) -> Tensor:
    """The matrix (d_w, I + d_p I) from regions to scores and values, of q_i and W^v_i."""
    return torch.cat([queries, value_weight.transpose(0, 1).flatten(0, 1)]).T


def compute_rows(project: Project, ids: Tensor, kernel_size: int, columns: Tensor) -> Tensor:
    """`WordRows.rows` of words (n,), from the matrix of `score_and_value_columns`."""
    rows = columns.new_zeros(len(ids) + 1, kernel_size, columns.shape[1])
    for start in range(0, len(ids), _CHUNK):
        part = ids[start : start + _CHUNK]
        rows[start : start + len(part)] = project(part) @ columns
    return rows.flatten(0, 1)


class LookupTable:
    """Attention scores and values of each trained word at each position in a window.

    Vector words have no row, as they are many and each is rare: what a batch needs of them is
    computed when it is read.

    Args:
        project: Maps word ids (n,) to their embeddings times each slice of the kernel (n, K, d_w).
        trained_words: V_t; larger ids are those of vector words.
        kernel_size: K.
        queries: q_i (I, d_w).
        value_weight: W^v_i (I, d_p, d_w).
        bias: b (d_w,).
    """

    def __init__(
        self,
        project: Project,
        trained_words: int,
        kernel_size: int,
        queries: Tensor,
        value_weight: Tensor,
        bias: Tensor,
    ) -> None:
        self._heads, self._size = value_weight.shape[:2]
        self._trained_words = trained_words
        with torch.inference_mode():
            self._columns = score_and_value_columns(queries, value_weight)
            ids = torch.arange(trained_words, device=queries.device)
            self._rows = compute_rows(project, ids, kernel_size, self._columns)
            self._bias = value_weight @ bias  # (I, d_p)
        self._offsets = torch.arange(kernel_size, device=queries.device)
        self._padding = torch.tensor([trained_words], dtype=torch.int32, device=queries.device)

    def embed_sentences(
        self, ids: Tensor, layout: Layout, project: Project | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `TrainableAttention.embed_sentences` up to rounding, from word ids (T,).

        `project` is that of the constructor, for vector words; None if the network has none.
        """
        trained, *others = self.word_rows(ids, project)
        numbers = torch.cat([trained.numbers, self._padding])
        sums = self._add_windows(numbers[layout.windows], trained.rows)
        for rows, numbers in others:
            words = len(rows) // len(self._offsets) - 1
            windows = F.pad(numbers, (0, 1), value=words)[layout.windows]  # (C, K)
            cells = (windows < words).any(1).nonzero()[:, 0]
            sums.index_add_(0, cells, self._add_windows(windows[cells], rows))
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

    def word_rows(self, ids: Tensor, project: Project | None = None) -> list[WordRows]:
        """The rows of trained words, then those of a batch's vector words, if it has any.

        Args:
            ids: (T,), word ids of the batch.
            project: As for `embed_sentences`.
        """
        trained = WordRows(self._rows, ids.clamp(max=self._trained_words))
        if project is None or not (others := ids >= self._trained_words).any():
            return [trained]
        words, places = ids[others].unique(return_inverse=True)
        numbers = torch.full_like(ids, len(words), dtype=places.dtype)
        numbers[others] = places
        rows = compute_rows(project, words, len(self._offsets), self._columns)
        return [trained, WordRows(rows, numbers)]

    def _add_windows(self, words: Tensor, rows: Tensor) -> Tensor:
        """Scores and values (n, I + d_p I) of windows (n, K) of positions in `rows`."""
        bags = words * len(self._offsets) + self._offsets
        return F.embedding_bag(bags, rows, mode="sum")


class LookupCache:
    """The lookup table of one network, built after the network has read enough words.

    It is safe to share between threads. A copy or a pickle starts without a table.
    """

    def __init__(self) -> None:
        self._entry = _Entry(())

    def get(
        self,
        words: int,
        trained_words: int,
        weights: Sequence[Tensor],
        build: Callable[[], LookupTable | None],
    ) -> LookupTable | None:
        """The table for a network that is about to read `words` more words; None if there is none.

        The table is built again after a weight was written or replaced. While one thread builds it,
        the others continue without it, as otherwise each would build and hold one.

        Args:
            words: Added to the count of words since the weights last changed.
            trained_words: V_t.
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
        enough = entry.words >= MIN_READS * trained_words
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
