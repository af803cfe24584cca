"""iCapsNet (Wang, Hu and Ji 2020): words, regions, attention, capsules and loss, as data flows.

Numbers of equations and sections are the paper's; ARCHITECTURE.md has a table of its symbols. In
shapes, T words stand in S sentences of B texts, packed end to end (`text.batch.TokenBatch`): no
padding is attended to, and a text's result does not depend on the other texts of its batch. For
attention, sentences of like lengths are laid out as rows of one width, in C >= T cells, some of
them blank (`nn.packing`). Three rewritings, exact up to rounding, make the layers fast:

- the convolution is a sum of K look-ups: each distinct word of a batch is multiplied once by the K
  slices of the kernel, then gathered and added up;
- h_i^T W^k_i w_n = (W^k_i^T h_i)^T w_n: a head's query and key weight are one vector;
- sum_n alpha_n W^v_i w_n = W^v_i (sum_n alpha_n w_n): regions are pooled first, then projected.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from icaps.config import ModelConfig, TrainConfig
from icaps.nn.dropout import dropout
from icaps.nn.lookup import LookupCache
from icaps.nn.packing import Layout, lay_out
from icaps.text.batch import UNK, TokenBatch

_ACTIVATIONS = {"none": nn.Identity, "relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


class Attended(NamedTuple):
    """Output of an attention layer.

    Attributes:
        primary_capsules: pc_i (B, I, d_p), zero for an empty text.
        attention: alpha^i_n (T, I), which adds up to 1 over each sentence.
        sentence_attention: rho^i_m (S, I), which adds up to 1 over each text.
    """

    primary_capsules: Tensor
    attention: Tensor
    sentence_attention: Tensor


class Routed(NamedTuple):
    """Output of the capsule layer.

    Attributes:
        class_capsules: cc_j (B, J, d_c).
        routing: beta_ij (B, I, J) of the last iteration, which formed the class capsules.
        agreement: pc_j|i . cc_j (B, I, J).
    """

    class_capsules: Tensor
    routing: Tensor
    agreement: Tensor


class Activity(NamedTuple):
    """Everything that a forward pass shows: ||cc_j|| (B, J), and what `Routed` and `Attended` have.

    The class norms are the scores.
    """

    class_norms: Tensor
    class_capsules: Tensor
    routing: Tensor
    agreement: Tensor
    primary_capsules: Tensor
    attention: Tensor
    sentence_attention: Tensor


def squash(x: Tensor) -> Tensor:
    """Squash(x) = ||x||^2 / (1 + ||x||^2) x / ||x|| of each vector (..., d) (eq. 6).

    Computed as x ||x|| / (1 + ||x||^2), which has value and gradient zero at zero.
    """
    norm: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x * (norm / (1 + norm.square()))


class RegionEmbedding(nn.Module):
    """1-D convolution over K words, with zero padding: e_n to w_n (section 2.2).

    An even K looks one word further to the right than to the left.
    """

    def __init__(self, embedding_dim: int, region_dim: int, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.weight = nn.Parameter(torch.empty(kernel_size, embedding_dim, region_dim))
        self.bias = nn.Parameter(torch.zeros(region_dim))
        bound = 1 / math.sqrt(kernel_size * embedding_dim)
        nn.init.uniform_(self.weight, -bound, bound)

    def project(self, fixed: Tensor, trained: Tensor) -> Tensor:
        """Word embeddings (n, d_e) times each slice of the kernel: (n, K, d_w).

        Args:
            fixed: (n, first part of d_e), frozen: no gradient of it is computed.
            trained: (n, second part of d_e).
        """
        kernel = self.weight.transpose(0, 1).flatten(1)  # (d_e, K d_w)
        of_fixed, of_trained = kernel.split([fixed.shape[1], trained.shape[1]])
        projected = torch.addmm(fixed @ of_fixed, trained, of_trained)  # (n, K d_w)
        return projected.view(-1, self.kernel_size, self.weight.shape[2])

    def forward(self, projected: Tensor, rows: Tensor, layout: Layout) -> Tensor:
        """Adds up the K projected words around each word: w_n (C, d_w).

        Args:
            projected: (n + 1, K, d_w), from `project`; the last row stands for no word.
            rows: (T,), the row of `projected` of each word.
            layout: Of the sentences. No region reaches into another sentence.
        """
        padding = projected.shape[0] * self.kernel_size - 1
        taps = torch.arange(self.kernel_size, device=rows.device)
        bags = rows[layout.windows.clamp(min=0)] * self.kernel_size + taps  # (C, K)
        bags = bags.masked_fill(layout.windows < 0, padding)
        table = projected.flatten(0, 1)  # ((n + 1) K, d_w)
        return F.embedding_bag(bags, table, mode="sum", padding_idx=padding) + self.bias


class TrainableAttention(nn.Module):
    """Trainable multi-head attention: regions w_n to primary capsules pc_i (section 2.3)."""

    def __init__(self, num_capsules: int, region_dim: int, query_dim: int) -> None:
        super().__init__()
        self.primary_queries = nn.Parameter(torch.empty(num_capsules, query_dim))  # h_i
        self.key_weight = nn.Parameter(torch.empty(num_capsules, query_dim, region_dim))  # W^k_i
        self.value_weight = nn.Parameter(torch.empty(num_capsules, query_dim, region_dim))  # W^v_i
        nn.init.normal_(self.primary_queries)
        for weight in (self.key_weight, self.value_weight):
            nn.init.normal_(weight, std=1 / math.sqrt(region_dim))

    def forward(
        self, regions: Tensor, layout: Layout, sentences_per_text: NDArray[np.int64]
    ) -> Attended:
        """Attention to the words of each text, w_n (C, d_w)."""
        embeddings, attention = self.embed_sentences(regions, layout)
        return self.join_sentences(embeddings, attention, sentences_per_text)

    def effective_queries(self) -> Tensor:
        """W^k_i^T h_i / sqrt(d_q) (I, d_w), the direction in region space that a head looks for."""
        return fold(self.primary_queries, self.key_weight)

    def embed_sentences(self, regions: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Attention within each sentence: embeddings (S, I, d_p) and alpha^i_n (T, I)."""
        scores = regions @ self.effective_queries().T  # h_i^T k^i_n / sqrt(d_q) (C, I), eq. 2
        attention = layout.softmax(scores)  # alpha^i_n (C, I), eq. 3
        pooled = layout.pool(attention, regions)  # sum_n alpha^i_n w_n (I, S, d_w), as rows lie
        embeddings = torch.bmm(pooled, self.value_weight.transpose(1, 2))  # eq. 1 and 4
        return layout.of_sentences(embeddings.transpose(0, 1)), layout.of_words(attention)

    def join_sentences(
        self, embeddings: Tensor, attention: Tensor, sentences_per_text: NDArray[np.int64]
    ) -> Attended:
        """Primary capsules of texts, here of one sentence each."""
        return Attended(embeddings, attention, attention.new_ones(embeddings.shape[:2]))


class HierarchicalAttention(TrainableAttention):
    """Trainable multi-head hierarchical attention, for long documents (section 2.5).

    The same queries attend to words, then to sentences; d_s = d_q = d_p (section 4). The paper does
    not give initial weights: the sentences' W~^v_i starts as the identity, so that at first a
    capsule is a mean of sentence embeddings, not a random rotation of them.
    """

    def __init__(self, num_capsules: int, region_dim: int, query_dim: int) -> None:
        super().__init__(num_capsules, region_dim, query_dim)
        shape = num_capsules, query_dim, query_dim
        self.sentence_key_weight = nn.Parameter(torch.empty(shape))  # W~^k_i
        self.sentence_value_weight = nn.Parameter(torch.eye(query_dim).expand(shape).clone())
        nn.init.normal_(self.sentence_key_weight, std=1 / math.sqrt(query_dim))

    def join_sentences(
        self, embeddings: Tensor, attention: Tensor, sentences_per_text: NDArray[np.int64]
    ) -> Attended:
        """Attention to sentence embeddings s^i_m (S, I, d_s); each sentence has a word."""
        directions = fold(self.primary_queries, self.sentence_key_weight)  # (I, d_s)
        scores = torch.einsum("sid,id->si", embeddings, directions)  # eq. 13
        layout = lay_out(sentences_per_text, 1, embeddings.device)  # a text is a row of sentences
        rho = layout.softmax(scores.index_select(0, layout.source))  # rho^i_m (C, I), eq. 14
        values = embeddings.transpose(1, 2).index_select(0, layout.source)  # (C, d_s, I)
        pooled = layout.pool_by_head(rho, values)  # sum_m rho^i_m s^i_m (B, d_s, I)
        capsules = torch.einsum("bdi,ipd->bip", pooled, self.sentence_value_weight)  # eq. 13 and 15
        return Attended(capsules, attention, layout.of_words(rho))


def fold(queries: Tensor, key_weight: Tensor) -> Tensor:
    """W_i^T h_i / sqrt(d_q) of queries (I, d_q) and key weights (I, d_q, d): (I, d)."""
    return torch.einsum("iq,iqw->iw", queries, key_weight) / math.sqrt(queries.shape[1])


class CapsuleLayer(nn.Module):
    """Primary capsules pc_i to class capsules cc_j by dynamic routing (section 2.4, Algorithm 1).

    The votes pc_j|i = W_j pc_i + b_ij (eq. 8) are never formed. Since W_j is shared by all
    capsules, routing needs only

        sum_i beta_ij pc_j|i = W_j (sum_i beta_ij pc_i) + sum_i beta_ij b_ij
        pc_j|i . cc_j = pc_i . (W_j^T cc_j) + b_ij . cc_j
    """

    def __init__(
        self,
        num_capsules: int,
        num_classes: int,
        primary_dim: int,
        class_dim: int,
        iterations: int,
    ) -> None:
        super().__init__()
        self.iterations = iterations
        self.capsule_weight = nn.Parameter(torch.empty(num_classes, class_dim, primary_dim))  # W_j
        self.capsule_bias = nn.Parameter(torch.zeros(num_capsules, num_classes, class_dim))  # b_ij
        nn.init.normal_(self.capsule_weight, std=1 / math.sqrt(primary_dim))

    def forward(self, primary_capsules: Tensor, capsule_mask: Tensor | None = None) -> Routed:
        """Routes primary capsules pc_i (B, I, d_p).

        Args:
            primary_capsules: (B, I, d_p).
            capsule_mask: (I,), or (B, I) where it differs by text: 0 for each primary capsule that
                is switched off, 1 for the others. None keeps all.
        """
        texts, capsules, _ = primary_capsules.shape
        logits = primary_capsules.new_zeros(texts, len(self.capsule_weight), capsules)  # line 2
        for _ in range(self.iterations):
            routing = logits.softmax(1)  # beta_ij (B, J, I) over classes: line 4, eq. 9
            if capsule_mask is not None:
                routing = routing * capsule_mask.view(-1, 1, capsules)
            outputs = squash(self._sum_votes(primary_capsules, routing))  # cc_j: lines 5 and 6
            agreement = self._compare_votes(primary_capsules, outputs)  # pc_j|i . cc_j (B, J, I)
            logits = logits + agreement  # line 7
        return Routed(outputs, routing.transpose(1, 2), agreement.transpose(1, 2))

    def _sum_votes(self, primary_capsules: Tensor, routing: Tensor) -> Tensor:
        """s_j = sum_i beta_ij pc_j|i (B, J, d_c)."""
        pooled = torch.bmm(routing, primary_capsules)  # sum_i beta_ij pc_i (B, J, d_p)
        biases = torch.bmm(routing.transpose(0, 1), self.capsule_bias.transpose(0, 1))
        weight = self.capsule_weight.transpose(1, 2)  # (J, d_p, d_c)
        return torch.baddbmm(biases, pooled.transpose(0, 1), weight).transpose(0, 1)

    def _compare_votes(self, primary_capsules: Tensor, outputs: Tensor) -> Tensor:
        """pc_j|i . cc_j (B, J, I) of class capsules cc_j (B, J, d_c)."""
        by_class = outputs.transpose(0, 1)  # (J, B, d_c)
        directions = torch.bmm(by_class, self.capsule_weight).transpose(0, 1)  # W_j^T cc_j
        biases = torch.bmm(by_class, self.capsule_bias.permute(1, 2, 0)).transpose(0, 1)
        return torch.baddbmm(biases, directions, primary_capsules.transpose(1, 2))


class ICapsNet(nn.Module):
    """iCapsNet-Short, or iCapsNet-Long if `config.hierarchical` (Figure 1).

    Args:
        config: Sizes and options.
        vocabulary_size: V, `<pad>` and `<unk>` included.
        num_classes: J.
        vectors: (V, fixed_dim), the frozen first part of word embeddings; zeros by default.
    """

    fixed_embedding: Tensor

    def __init__(
        self,
        config: ModelConfig,
        vocabulary_size: int,
        num_classes: int,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.num_classes = num_classes
        if vectors is None:
            vectors = torch.zeros(vocabulary_size, config.fixed_dim)
        assert vectors.shape == (vocabulary_size, config.fixed_dim), vectors.shape
        self.register_buffer("fixed_embedding", vectors)
        self.trained_embedding = nn.Embedding(vocabulary_size, config.trained_dim)
        nn.init.uniform_(self.trained_embedding.weight, -0.25, 0.25)
        self.region = RegionEmbedding(config.embedding_dim, config.region_dim, config.kernel_size)
        self.activation = _ACTIVATIONS[config.activation]()
        attention = HierarchicalAttention if config.hierarchical else TrainableAttention
        self.attention = attention(config.num_capsules, config.region_dim, config.query_dim)
        self.capsules = CapsuleLayer(
            config.num_capsules,
            num_classes,
            config.query_dim,
            config.class_dim,
            config.routing_iterations,
        )
        self.lookup = LookupCache()  # of `inference`, which reads many texts faster by a table

    def forward(self, batch: TokenBatch, capsule_mask: Tensor | None = None) -> Activity:
        """Runs a batch of texts; an empty text has no attention and zero primary capsules.

        `capsule_mask` (I,) is 0 for each primary capsule that is switched off, 1 for the others.
        """
        ids = self._drop_words(self.ids_of(batch))  # (T,)
        layout = lay_out(batch.words_per_sentence, self.config.kernel_size, ids.device)
        regions = self.regions(ids, layout)  # w_n (C, d_w)
        attended = self.attention(regions, layout, batch.sentences_per_text)
        return self.route(attended, capsule_mask)

    def route(self, attended: Attended, capsule_mask: Tensor | None = None) -> Activity:
        """The forward pass from primary capsules on."""
        primary, attention, sentence_attention = attended
        if self.config.squash_primary:
            primary = squash(primary)
        capsules, routing, agreement = self.capsules(primary, capsule_mask)
        norms = torch.linalg.vector_norm(capsules, dim=2)  # ||cc_j|| (B, J)
        return Activity(norms, capsules, routing, agreement, primary, attention, sentence_attention)

    def regions(self, ids: Tensor, layout: Layout) -> Tensor:
        """Region embeddings w_n (C, d_w) of word ids (T,)."""
        words, rows = ids.unique(return_inverse=True)  # each distinct word is projected once
        words = F.pad(words, (0, 1))  # one more row, which stands for no word
        regions = self.region(self.projected(words), rows, layout)
        return dropout(self.activation(regions), self.config.dropout, self.training)

    def projected(self, words: Tensor) -> Tensor:
        """Embeddings e_n of words (n,) times each slice of the kernel: (n, K, d_w)."""
        share = self.config.embedding_dropout
        fixed = dropout(self.fixed_embedding.index_select(0, words), share, self.training)
        trained = dropout(self.trained_embedding(words), share, self.training)
        return self.region.project(fixed, trained)

    def ids_of(self, batch: TokenBatch) -> Tensor:
        """Word ids (T,) of a batch, on the network's device."""
        return torch.from_numpy(batch.ids).to(self.fixed_embedding.device)

    def _drop_words(self, ids: Tensor) -> Tensor:
        if not self.training or self.config.word_dropout == 0:
            return ids
        dropped = torch.rand(ids.shape, device=ids.device) < self.config.word_dropout
        return ids.masked_fill(dropped, UNK)


def margin_loss(class_norms: Tensor, labels: Tensor, config: TrainConfig) -> Tensor:
    """Margin loss summed over classes, mean over texts (eq. 16).

    Args:
        class_norms: ||cc_j|| (B, J).
        labels: j* (B,), class numbers.
        config: Has m+, m- and lambda.
    """
    present = F.one_hot(labels, class_norms.shape[1]).to(class_norms.dtype)  # eq. 17
    missing = (config.margin_present - class_norms).clamp(min=0).square()
    wrong = (class_norms - config.margin_absent).clamp(min=0).square()
    return (present * missing + config.absent_weight * (1 - present) * wrong).sum(1).mean()
