"""The account: the exact split of each class norm over the words of the text.

With attention, routing and squash scales as the forward pass had them, and without an activation,
all from word embeddings to class capsules is linear. So the length of a class capsule before its
squash, s_j, is a sum over words m, capsules i and taps k of the kernel, and a bias:

    ||s_j|| = sum_m c_mj + bias_j,   s_j = v sum_i beta_ij (W_j pc_i + b_ij),   u_j = s_j / ||s_j||
    c_mij   = v beta_ij g_i sum_k rho_i alpha_i,(m-k) u_j . W_j V_i P_k e_m,    c_mj = sum_i c_mij
    bias_j  = v sum_i beta_ij u_j . (b_ij + g_i W_j V_i b)

P_k is a slice of the kernel and b its bias, V_i the values W^v_i (for long texts W~^v_i W^v_i), g_i
the scale of the squash of pc_i or 1, rho_i the attention to the sentence of the position or 1, and
v the factor of votes. All is multiplied by ||s_j|| / (1 + ||s_j||^2), which makes the sum the norm
||cc_j|| after the squash (eq. 6). A share is signed: a negative one lowers the norm.

With an activation the same holds for regions in place of words, whose share is given to the word
in the middle; the kernel's bias is then inside of the regions.

Words and capsules that an edit of the model makes neutral for a class (`interpret.edits`) have no
share in its norm.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from icaps.inference import Reading, find_table, to_classes
from icaps.model import HierarchicalAttention, ICapsNet
from icaps.nn.lookup import WordRows, compute_rows, score_and_value_columns
from icaps.nn.packing import lay_out

Shares = NDArray[np.floating[Any]]

with warnings.catch_warnings():  # torch says once per process that such tensors are in beta
    warnings.simplefilter("ignore")
    torch.zeros(1, 1).to_sparse_csr()

_BLOCK = 2_048  # words whose products are computed at a time, so that they stay in the cache
_AT_ONCE = 16_384  # numbers of class capsules whose directions are computed at a time


class TextAccount(NamedTuple):
    """The account of one text of W words, in factors: a share of word m is `values` @ `directions`.

    Attributes:
        values: (W, d_p, I), what each word adds to each primary capsule, before its squash (for
            long texts to sum_m rho_i s^i_m, which is before W~^v_i).
        directions: (J, d_p, I), the derivative of each class norm by such an addition.
        bias: (J, I), what each capsule adds whatever the words are.
        counts: (W, J), whether each word counts for each class; None if all do.
    """

    values: Shares
    directions: Shares
    bias: Shares
    counts: NDArray[np.bool_] | None = None

    def shares(self) -> Shares:
        """What each word adds through each capsule to the norm of each class (W, I, J).

        The norm of a class is the sum of its shares and of its biases.
        """
        shares: Shares = np.einsum("mpi,jpi->mij", self.values, self.directions)
        return shares if self.counts is None else shares * self.counts[:, None]

    def by_class(self) -> Shares:
        """What each word adds to the norm of each class (W, J)."""
        values, directions = (
            factor.reshape(len(factor), math.prod(factor.shape[1:]))
            for factor in (self.values, self.directions)
        )
        by_class: Shares = values @ directions.T
        return by_class if self.counts is None else by_class * self.counts

    def by_capsule(self, target: int) -> Shares:
        """What each word adds through each capsule to the norm of a class (W, I)."""
        by_capsule: Shares = np.einsum("mpi,pi->mi", self.values, self.directions[target])
        return by_capsule if self.counts is None else by_capsule * self.counts[:, target, None]


class BatchAccount:
    """The accounts of a batch of B texts with T words.

    Args:
        network: In eval mode; the one that read the texts.
        batch: The texts and the network's activity for them.
    """

    def __init__(self, network: ICapsNet, batch: Reading) -> None:
        self.network, self.batch = network, batch
        lengths = batch.tokens.words_per_sentence
        self._sentences = torch.from_numpy(np.repeat(np.arange(len(lengths)), lengths))  # (T,)
        words = batch.tokens.words_per_text
        self._texts = torch.from_numpy(np.repeat(np.arange(len(batch)), words))  # (T,)
        self._last: tuple[NDArray[np.int64], Shares] | None = None  # of `word_shares`

    def window_shares(self, targets: NDArray[np.int64]) -> Shares:
        """What each word of each window adds to the norm of one class per text (T, K).

        The sum over a row is what the K-gram around a position adds through the attention to it.

        Args:
            targets: (B,), class numbers.
        """
        with torch.inference_mode():
            directions = self._directions(torch.arange(len(self.batch)), torch.from_numpy(targets))
            directions = F.pad(directions.transpose(1, 2), (0, 0, 1, 0))  # (B, 1 + d_p, I)
            result = []
            for start in range(0, len(self._texts), _BLOCK):
                block = slice(start, start + _BLOCK)
                weights = directions.index_select(0, self._texts[block])  # (n, 1 + d_p, I)
                weights *= self._attention[block, None]
                result.append(self._dot_rows(weights.flatten(1), block))
            shares: Shares = torch.cat([*result, self._attention.new_zeros(0, self._taps)]).numpy()
        if (counts := self.counts(targets)) is not None:
            shares *= np.append(counts, False)[self._windows.numpy()]  # of the windows' words
        return shares

    def word_shares(self, targets: NDArray[np.int64]) -> Shares:
        """What each word adds to the norm of one class per text (T,); see `sum_by_word`."""
        if self._last is None or not np.array_equal(self._last[0], targets):
            self._last = targets, sum_by_word(self.window_shares(targets))
        return self._last[1]

    def by_capsule(self, targets: NDArray[np.int64]) -> Shares:
        """What each word adds through each capsule to the norm of one class per text (T, I).

        Args:
            targets: (B,), class numbers.
        """
        attention = F.pad(self._attention, (0, 0, 0, 1))  # zero beyond a sentence
        total = attention.new_zeros(self._attention.shape)
        with torch.inference_mode():
            directions = self._directions(torch.arange(len(self.batch)), torch.from_numpy(targets))
            directions = directions.transpose(1, 2).contiguous()  # (B, d_p, I)
            for start in range(0, len(total), _BLOCK):
                block = slice(start, start + _BLOCK)
                along = directions.index_select(0, self._texts[block])  # (n, d_p, I)
                for tap, position in enumerate(self._positions[block].T):
                    weights = attention.index_select(0, position)  # (n, I)
                    added = (self._values_at(block, tap) * along).sum(1)  # (n, I)
                    total[block] += added * weights
        by_capsule: Shares = total.numpy()
        counts = self.counts(targets)
        return by_capsule if counts is None else by_capsule * counts[:, None]

    def capsules_of(
        self, positions: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The capsule through which each window adds most to a class norm (n,).

        Args:
            positions: (n,), the middle words of windows, among all words of the batch.
            targets: (n,), class numbers.
        """
        heads, middle = self.network.config.num_capsules, torch.from_numpy(positions)
        with torch.inference_mode():
            directions = self._directions(self._texts[middle], torch.from_numpy(targets))
            values = directions.new_zeros(())
            for rows in self._rows:  # (n, d_p I)
                values = values + rows.rows[self._row_numbers(rows, middle)][:, :, heads:].sum(1)
            added = values.unflatten(1, (-1, heads)) * directions.transpose(1, 2)
            capsules: NDArray[np.int64] = (added.sum(1) * self._attention[middle]).argmax(1).numpy()
        return capsules

    def weights(self, targets: NDArray[np.int64]) -> tuple[Shares, Shares]:
        """Routing weight and contribution of each capsule to one class per text, (B, I) each.

        As `inference.to_classes`, but 0 for a capsule that an edit makes neutral for the class, and
        a contribution is that of the words that count.
        """
        activity, edits = self.batch.activity, self.network.edits
        routing, contribution = to_classes(activity, np.arange(len(self.batch)), targets)
        if edits is None:
            return routing, contribution
        lengths = contribution.sum(1, keepdims=True)  # ||s_j||
        shares, factor = self.capsule_shares(targets), lengths / (1 + lengths**2)
        contribution = np.divide(shares, factor, out=np.zeros_like(contribution), where=factor > 0)
        if edits.capsules is not None:
            routing = routing * edits.capsules[:, targets].T
        return routing, contribution

    def windows_count(self, targets: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Whether any word of the window at each position counts (T,); None if all words do."""
        counts = self.counts(targets)
        if counts is None:
            return None
        counted: NDArray[np.bool_] = np.append(counts, False)[self._windows.numpy()].any(1)
        return counted

    def capsule_shares(self, targets: NDArray[np.int64]) -> Shares:
        """What each capsule adds to one class norm per text (B, I), its biases included."""
        if self.network.edits is not None:
            return self._edited_capsule_shares(targets)
        _, contribution = to_classes(self.batch.activity, np.arange(len(self.batch)), targets)
        lengths = contribution.sum(1, keepdims=True)  # ||s_j||
        shares: Shares = contribution * lengths / (1 + lengths**2)
        shares[self.batch.blank] = 0
        return shares

    def _edited_capsule_shares(self, targets: NDArray[np.int64]) -> Shares:
        """As `capsule_shares`, by the sum over words, of which some do not count."""
        texts, classes = torch.arange(len(self.batch)), torch.from_numpy(targets)
        with torch.inference_mode():
            directions = self._directions(texts, classes)[:, None]
            total = self._bias(texts, classes, directions)[:, 0]  # (B, I)
            by_capsule = torch.from_numpy(self.by_capsule(targets))
            shares: Shares = total.index_add(0, self._texts, by_capsule).numpy()
        return shares

    def biases(self, targets: NDArray[np.int64]) -> Shares:
        """What is added to one class norm per text whatever the words are (B,)."""
        texts, classes = torch.arange(len(self.batch)), torch.from_numpy(targets)
        with torch.inference_mode():
            directions = self._directions(texts, classes)[:, None]
            biases: Shares = self._bias(texts, classes, directions).sum((1, 2)).numpy()
        return biases

    def texts(self) -> Iterator[TextAccount]:
        """The whole account of each text."""
        count, classes = len(self.batch), self.network.num_classes
        at_once = max(1, _AT_ONCE // (classes * self.network.config.query_dim))
        ends, values = self.batch.tokens.word_offsets.tolist(), self.word_values
        edits = self.network.edits
        counts = None if edits is None else edits.words(self.batch.tokens)  # (T, J)
        for start in range(0, count, at_once):
            numbers = range(start, min(start + at_once, count))
            pairs = torch.cartesian_prod(torch.tensor(numbers), torch.arange(classes))
            with torch.inference_mode():
                texts, columns = pairs.T
                directions = self._directions(texts, columns).unflatten(0, (-1, classes))
                bias = self._bias(texts, columns, directions)
                directions = directions.transpose(2, 3).contiguous()
            for n, along, added in zip(numbers, directions.numpy(), bias.numpy(), strict=True):
                words = slice(ends[n], ends[n + 1])
                counted = None if counts is None else counts[words]
                yield TextAccount(values[words], along, added, counted)

    def counts(self, targets: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Whether each word counts for one class per text (T,); None if all do."""
        edits = self.network.edits
        counts = None if edits is None else edits.words(self.batch.tokens)
        if counts is None:
            return None
        of_words: NDArray[np.bool_] = counts[np.arange(len(counts)), targets[self._texts.numpy()]]
        return of_words

    def _keep(self, classes: Tensor) -> Tensor | None:
        """1 for each capsule that counts for these classes (n, I), else 0; None if all do."""
        edits = self.network.edits
        if edits is None or edits.capsules is None:
            return None
        return torch.from_numpy(edits.capsules).T[classes].to(self._attention.dtype)

    @property
    def _taps(self) -> int:
        """K, or 1 with an activation, where regions have the shares."""
        return self.network.config.kernel_size if self._linear else 1

    @property
    def _linear(self) -> bool:
        return self.network.config.activation == "none"

    @cached_property
    def _attention(self) -> Tensor:
        """rho_i alpha_i,n (T, I): the weight of each position in the primary capsules."""
        activity = self.batch.activity
        return activity.attention * activity.sentence_attention.index_select(0, self._sentences)

    @cached_property
    def _rows(self) -> list[WordRows]:
        """What words add to the values of the heads, by tap; the scores are not used."""
        network, tokens = self.network, self.batch.tokens
        value_weight = network.attention.value_weight
        columns = score_and_value_columns(network.attention.effective_queries(), value_weight)
        ids = network.word_ids(tokens).long()
        if not self._linear:
            layout = lay_out(tokens.words_per_sentence, network.config.kernel_size, ids.device)
            regions = layout.gather_words(network.embed_regions(ids, layout))  # (T, d_w)
            rows = F.pad(regions @ columns, (0, 0, 0, 1)).cpu()
            return [WordRows(rows, torch.arange(len(ids)))]
        if (table := find_table(network, 0)) is not None:
            project = network.project_words if len(network.vector_words) else None
            return [WordRows(rows.cpu(), n.cpu()) for rows, n in table.word_rows(ids, project)]
        words, numbers = ids.unique(return_inverse=True)
        rows = compute_rows(network.project_words, words, self._taps, columns)
        return [WordRows(rows.cpu(), numbers.cpu())]

    @cached_property
    def _windows(self) -> Tensor:
        """The words of the window at each position (T, K); T where the sentence has none."""
        return self._neighbours(_offsets(self._taps))

    @cached_property
    def _positions(self) -> Tensor:
        """The positions whose windows have each word, by tap (T, K); T where there is none."""
        return self._neighbours(-_offsets(self._taps))

    def _neighbours(self, offsets: NDArray[np.int64]) -> Tensor:
        """The words at these offsets (K,) from each word (T, K); T beyond its sentence."""
        lengths = self.batch.tokens.words_per_sentence
        ends = np.repeat(lengths.cumsum(), lengths)[:, None]
        starts = ends - np.repeat(lengths, lengths)[:, None]
        words = np.arange(len(ends))[:, None] + offsets
        return torch.from_numpy(np.where((words >= starts) & (words < ends), words, len(ends)))

    def _row_numbers(self, rows: WordRows, block: slice | Tensor) -> Tensor:
        """The row of each word of the windows at some positions (n, K)."""
        padding = len(rows.rows) // self._taps - 1
        numbers = F.pad(rows.numbers, (0, 1), value=padding)[self._windows[block]]
        return numbers * self._taps + torch.arange(self._taps)

    def _dot_rows(self, weights: Tensor, block: slice) -> Tensor:
        """Products (n, K) of weights (n, I + d_p I) of positions with the rows of their words."""
        total = weights.new_zeros(len(weights), self._taps)
        for rows in self._rows:
            total += _dot(weights, rows.rows, self._row_numbers(rows, block))
        return total

    @cached_property
    def word_values(self) -> Shares:
        """`TextAccount.values` of all texts (T, d_p, I)."""
        heads, size = self.network.config.num_capsules, self.network.config.query_dim
        attention = F.pad(self._attention, (0, 0, 0, 1))  # zero beyond a sentence
        values = attention.new_zeros(len(self._texts), size, heads)
        with torch.inference_mode():
            for start in range(0, len(values), _BLOCK):
                block = slice(start, start + _BLOCK)
                for tap, position in enumerate(self._positions[block].T):
                    weights = attention[position][:, None]  # (n, 1, I)
                    values[block] += self._values_at(block, tap) * weights
        return values.numpy()

    def _values_at(self, block: slice, tap: int) -> Tensor:
        """What the words of a block add to the value of each head at one tap (n, d_p, I)."""
        heads = self.network.config.num_capsules
        values = self._attention.new_zeros(())
        for rows, numbers in self._rows:  # (n, d_p I)
            values = values + rows.index_select(0, numbers[block] * self._taps + tap)[:, heads:]
        by_head: Tensor = values.unflatten(1, (-1, heads))
        return by_head

    def _directions(self, texts: Tensor, classes: Tensor) -> Tensor:
        """The derivative of a class norm by each primary capsule before its squash (n, I, d_p).

        Along it, all is linear with the weights of the pass: v beta_ij g_i W_j^T u_j times
        ||s_j|| / (1 + ||s_j||^2). For long texts by sum_m rho_i s^i_m.

        Args:
            texts: (n,), numbers of texts.
            classes: (n,), numbers of classes.
        """
        units, scale = self._units(texts, classes)
        weight = self.network.capsules.capsule_weight.cpu()[classes]  # (n, d_c, d_p)
        along = torch.bmm(units[:, None], weight)  # (W_j^T u_j) (n, 1, d_p)
        activity = self.batch.activity
        beta = activity.routing[texts, :, classes] * activity.squash_scale[texts]
        if (keep := self._keep(classes)) is not None:
            beta = beta * keep
        directions = (scale[:, None] * beta)[:, :, None] * along
        attention = self.network.attention
        if isinstance(attention, HierarchicalAttention):
            value_weight = attention.sentence_value_weight.cpu()
            directions = torch.einsum("nip,ipd->nid", directions, value_weight)
        return directions

    def _units(self, texts: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        """u_j (n, d_c), and v ||s_j|| / (1 + ||s_j||^2) (n,); zero for a class capsule of zero."""
        activity = self.batch.activity
        capsules = activity.class_capsules[texts, classes]  # cc_j (n, d_c)
        norms = torch.linalg.vector_norm(capsules, dim=1)
        blank = torch.from_numpy(self.batch.blank)[texts]  # their norms are 0 by definition
        inverse = torch.where((norms > 0) & ~blank, 1 / norms, 0)
        votes = activity.routing[texts, :, classes] * activity.agreement[texts, :, classes]
        length = votes.sum(1) * inverse  # ||s_j||
        scale = self.network.capsules.vote_scale * length / (1 + length.square())
        return capsules * inverse[:, None], scale

    def _bias(self, texts: Tensor, classes: Tensor, directions: Tensor) -> Tensor:
        """`TextAccount.bias` of texts (n, J, I), from all pairs of text and class and directions.

        Args:
            texts, classes: (n J,), the pairs.
            directions: (n, J, I, d_p).
        """
        network, activity = self.network, self.batch.activity
        units, scale = self._units(texts, classes)
        biases = network.capsules.capsule_bias.cpu().transpose(0, 1)  # b_ij (J, I, d_c)
        routing = activity.routing[texts, :, classes] * scale[:, None]
        if (keep := self._keep(classes)) is not None:
            routing = routing * keep
        bias = (torch.bmm(biases[classes], units[:, :, None])[:, :, 0] * routing).view(
            directions.shape[:3]
        )
        if self._linear:
            values = (network.attention.value_weight @ network.region.bias).cpu()  # V_i b (I, d_p)
            attended = self._attended[texts[:: directions.shape[1]]]  # (n, I)
            bias = bias + (directions * values).sum(3) * attended[:, None]
        return bias

    @cached_property
    def _attended(self) -> Tensor:
        """The sum of rho_i (B, I) over the sentences that have words, and so a kernel's bias."""
        tokens, rho = self.batch.tokens, self.batch.activity.sentence_attention
        full = torch.from_numpy(tokens.words_per_sentence > 0)
        texts = torch.from_numpy(np.repeat(np.arange(len(tokens)), tokens.sentences_per_text))
        return rho.new_zeros(len(tokens), rho.shape[1]).index_add(0, texts[full], rho[full])


def sum_by_word(window_shares: Shares) -> Shares:
    """The sum per word (T,) of the shares (T, K) of the words of the window at each position.

    Those of words beyond the sentence must be zero.
    """
    count, taps = window_shares.shape
    total = np.zeros_like(window_shares[:, 0])
    for tap, offset in enumerate(_offsets(taps).tolist()):
        places = np.arange(max(-offset, 0), min(count - offset, count))
        total[places + offset] += window_shares[places, tap]
    return total


def _offsets(taps: int) -> NDArray[np.int64]:
    """The places of a window's words relative to its middle; of even K one more on the right."""
    return np.arange(taps) - (taps - 1) // 2


def _dot(left: Tensor, right: Tensor, columns: Tensor) -> Tensor:
    """left[n] . right[columns[n, k]] of (n, d), (r, d) and (n, K): (n, K).

    As a sampled product, which reads each row where it lies: gathering the rows first takes some
    four times as long.
    """
    count, taps = columns.shape
    starts = torch.arange(0, count * taps + 1, taps)
    where = torch.sparse_csr_tensor(
        starts,
        columns.flatten(),
        left.new_zeros(count * taps),
        size=(count, len(right)),
        check_invariants=False,  # they are right, and checking them takes longer than the product
    )
    products: Tensor = torch.sparse.sampled_addmm(where, left, right.T, beta=0).values()
    return products.view(count, taps)
