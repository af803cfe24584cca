"""What each word of the vocabulary brings to a text, computed once: for texts by the thousand.

Without an activation all that comes before the softmax of the attention is linear in the K words of
a region. So the score that a word gives each head from each of the K places, and its part of each
head's value, are numbers of the word alone. With W_k the k-th slice of the kernel (equation 1),
the score of head i is q_i (b + sum_k W_k e_{n+k}) and its value W^v_i (b + sum_k W_k e_{n+k}): a
text takes K look-ups a word and a weighted sum, and no matrix product until its capsules vote.
"""

from __future__ import annotations

from threading import Lock
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor

from icaps.layers import Attended, Packed, weighted_sums
from icaps.layout import lay_out
from icaps.model import Activity, ICapsNet

MOST_BYTES = 256_000_000  # of a table; with more words and sizes than that there is none
PAYS = 2  # times the vocabulary that a network has to read, until a table has paid for itself
_CHUNK = 4_096  # words that are computed at a time


class WordTable:
    """The table of a network in eval mode, of the weights that it has now."""

    def __init__(self, network: ICapsNet) -> None:
        attention = network.attention
        values = attention.value_weight.transpose(0, 1).flatten(0, 1)  # (d_p I, d_w)
        columns = torch.cat([attention.effective_queries(), values]).T  # (d_w, I + d_p I)
        words, places = len(network.fixed_embedding), network.config.kernel_size
        rows = columns.new_zeros(words + 1, places, columns.shape[1])  # the last one for nothing
        with torch.inference_mode():
            for part in torch.arange(words, device=columns.device).split(_CHUNK):
                rows[part] = network.projected(part) @ columns
            self._rows = rows.flatten(0, 1)
            self._bias = network.attention.value_weight @ network.region.bias  # (I, d_p)

    def attend(self, network: ICapsNet, batch: Packed) -> Attended:
        """As that network's own attention; equal to it up to rounding."""
        heads, size = network.attention.value_weight.shape[:2]
        layout = lay_out(batch.lengths, network.config.kernel_size)
        slots = network.region.slots(batch.ids, layout, len(self._rows) - 1)
        found = F.embedding_bag(slots, self._rows, mode="sum")
        scores, values = found.split([heads, heads * size], dim=1)
        weights = layout.softmax(scores)
        embeddings = weighted_sums(weights, values.unflatten(1, (size, heads)), layout)
        # The bias moves all scores of a head alike, and each value: their weights add up to 1.
        words = (batch.lengths > 0)[:, None, None]
        # Side by side, else the norm of each takes longer than all that comes before.
        embeddings = embeddings.transpose(1, 2).contiguous() + words * self._bias
        attention = weights.index_select(0, layout.cells)
        return network.attention.join_sentences(embeddings, attention, batch.sentences)


class _Reader:
    """What one network has read, and the table that it has by now."""

    def __init__(self) -> None:
        self.making = Lock()
        self.words = 0
        self.table: WordTable | None = None
        self.versions: tuple[tuple[int, int], ...] = ()


_READERS: WeakKeyDictionary[ICapsNet, _Reader] = WeakKeyDictionary()


def run(network: ICapsNet, batch: Packed, kept: Tensor | None) -> Activity:
    """`network(batch, kept)` of a network in eval mode, from a table once it has read enough words.

    The table is made anew when the weights have changed.
    """
    table = _table(network, len(batch.ids))
    if table is None:
        activity: Activity = network(batch, kept)
        return activity
    return network.route(table.attend(network, batch), kept)


def _table(network: ICapsNet, words: int) -> WordTable | None:
    """The network's table, if it has one when it is to read so many more words."""
    reader = _READERS.setdefault(network, _Reader())
    if reader.versions != (versions := _versions(network)):
        reader.versions, reader.table, reader.words = versions, None, 0
    reader.words += words
    table = reader.table
    # While one thread makes it the others do without, or each would make and hold one.
    if table is None and _pays(network, reader.words) and reader.making.acquire(blocking=False):
        try:
            table = reader.table = reader.table or WordTable(network)
        finally:
            reader.making.release()
    return table


def _pays(network: ICapsNet, read: int) -> bool:
    config, words = network.config, len(network.fixed_embedding)
    columns = config.num_capsules * (1 + config.query_dim)
    fits = 4 * words * config.kernel_size * columns <= MOST_BYTES
    return config.activation == "none" and fits and read >= PAYS * words


def _versions(network: ICapsNet) -> tuple[tuple[int, int], ...]:
    """What changes when any weight is written or replaced."""
    tensors = [*network.parameters(), network.fixed_embedding]
    return tuple((tensor.data_ptr(), tensor._version) for tensor in tensors)
