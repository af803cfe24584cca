"""What each word of the vocabulary brings to a text, computed once: for texts by the thousand.

Without an activation all that comes before the softmax of the attention is linear in the K words of
a region. So the score that a word gives each head from each of the K places, and its part of each
head's value, are numbers of the word alone. With W_k the k-th slice of the kernel (equation 1),
the score of head i is q_i (b + sum_k W_k e_{n+k}) and its value W^v_i (b + sum_k W_k e_{n+k}): a
text takes K look-ups a word and a weighted sum, and no matrix product until its capsules vote.
"""

from __future__ import annotations

import math
from threading import Lock
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor

from icaps.model import Activity, ICapsNet
from icaps.nn.layers import Attended, weighted_sums
from icaps.nn.packing import lay_out
from icaps.nn.table_files import file_of, keep_rows, map_rows
from icaps.text.batch import TokenBatch

MOST_BYTES = 256_000_000  # of a table; with more words and sizes than that there is none
PAYS = 2  # times the vocabulary that a network has to read, until a table has paid for itself
MAPPING_PAYS = 4_096  # words, until a table that lies in a file has
_CHUNK = 4_096  # words that are computed at a time


class WordTable:
    """The table of a network in eval mode, of the weights that it has now.

    rows (words + 2, K, I + d_p I): a score for each head, then values; the last two are what a
    region has in a blank cell, and where there is no word.
    """

    def __init__(self, network: ICapsNet, rows: Tensor) -> None:
        self._rows = rows.flatten(0, 1)
        with torch.inference_mode():
            self._bias = network.attention.value_weight @ network.region.bias  # (I, d_p)
        places = network.config.kernel_size
        self._taps = torch.arange(places, device=rows.device)
        last = range(len(rows) - 2, len(rows))
        self._last = torch.tensor(last, dtype=torch.int32, device=rows.device)  # as ids are

    def attend(self, network: ICapsNet, batch: TokenBatch) -> Attended:
        """As that network's own attention; equal to it up to rounding."""
        heads, size = network.attention.value_weight.shape[:2]
        ids = network.ids_of(batch)
        layout = lay_out(batch.words_per_sentence, network.config.kernel_size, ids.device)
        slots = torch.cat([ids, self._last])[layout.regions] * len(self._taps)
        found = F.embedding_bag(slots + self._taps, self._rows, mode="sum")
        scores, values = found.split([heads, heads * size], dim=1)
        weights = layout.softmax_of_rows(scores)
        embeddings = weighted_sums(weights, values.unflatten(1, (size, heads)), layout)
        # The bias moves all scores of a head alike, and each value: their weights add up to 1.
        filled = torch.from_numpy(batch.words_per_sentence > 0)
        words = filled[:, None, None].to(embeddings.device)
        # Side by side, else the norm of each takes longer than all that comes before.
        embeddings = embeddings.transpose(1, 2).contiguous() + words * self._bias
        attention = weights.index_select(0, layout.cells)
        return network.attention.join_sentences(embeddings, attention, batch.sentences_per_text)


def make_rows(network: ICapsNet) -> Tensor:
    """The rows of a `WordTable`."""
    attention = network.attention
    values = attention.value_weight.transpose(0, 1).flatten(0, 1)  # (d_p I, d_w)
    columns = torch.cat([attention.effective_queries(), values]).T  # (d_w, I + d_p I)
    rows = columns.new_zeros(_shape(network))
    blank = len(rows) - 2
    rows[blank, :, : len(attention.primary_queries)] = -torch.inf
    with torch.inference_mode():
        for part in torch.arange(blank, device=columns.device).split(_CHUNK):
            rows[part] = network.projected(part) @ columns
    return rows


class _Reader:
    """What one network has read, and the table that it has by now."""

    def __init__(self, network: ICapsNet, *, kept: bool) -> None:
        self.making = Lock()
        self.words = 0
        self.table: WordTable | None = None
        self.versions = _versions(network)
        self.kept = kept  # whether its table is looked for in a file, and left there
        self.missing = False  # whether there was no such file

    def find(self, network: ICapsNet) -> WordTable | None:
        """The table, if the network has read enough to have one."""
        made = self.words >= PAYS * len(network.fixed_embedding)
        looked_for = self.kept and not self.missing and self.words >= MAPPING_PAYS
        if not (made or looked_for) or not _has_table(network):
            return None
        path = file_of(_weights(network)) if self.kept else None
        rows = None if path is None else map_rows(path, _shape(network))
        self.missing = rows is None
        if rows is None and made:
            rows = make_rows(network)
            if path is not None:
                keep_rows(path, rows)
        return None if rows is None else WordTable(network, rows.to(network.region.bias.device))


_READERS: WeakKeyDictionary[ICapsNet, _Reader] = WeakKeyDictionary()


def keep_table(network: ICapsNet) -> None:
    """Says that the network will be read with in other processes too, with the weights it has."""
    _READERS[network] = _Reader(network, kept=True)


def run(network: ICapsNet, batch: TokenBatch, kept: Tensor | None) -> Activity:
    """`network(batch, kept)` of a network in eval mode, from a table once it has read enough words.

    The table is made anew when what it is made of has changed.
    """
    table = _table(network, len(batch.ids))
    if table is None:
        activity: Activity = network(batch, kept)
        return activity
    return network.route(table.attend(network, batch), kept)


def _table(network: ICapsNet, words: int) -> WordTable | None:
    """The network's table, if it has one when it is to read so many more words."""
    reader = _READERS.get(network)
    if reader is None or reader.versions != _versions(network):
        reader = _READERS[network] = _Reader(network, kept=False)
    reader.words += words
    # While one thread makes it the others do without, or each would make and hold one.
    if reader.table is None and reader.making.acquire(blocking=False):
        try:
            reader.table = reader.table or reader.find(network)
        finally:
            reader.making.release()
    return reader.table


def _shape(network: ICapsNet) -> tuple[int, int, int]:
    config = network.config
    columns = config.num_capsules * (1 + config.query_dim)
    return len(network.fixed_embedding) + 2, config.kernel_size, columns


def _has_table(network: ICapsNet) -> bool:
    return network.config.activation == "none" and 4 * math.prod(_shape(network)) <= MOST_BYTES


def _weights(network: ICapsNet) -> list[Tensor]:
    """All that a table is made of."""
    region, attention = network.region, network.attention
    return [
        *(network.fixed_embedding, network.trained_embedding.weight, region.weight, region.bias),
        *(attention.primary_queries, attention.key_weight, attention.value_weight),
    ]


def _versions(network: ICapsNet) -> tuple[tuple[int, int], ...]:
    """What changes when any of these is written or replaced."""
    return tuple((tensor.data_ptr(), tensor._version) for tensor in _weights(network))
