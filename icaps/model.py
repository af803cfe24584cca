"""iCapsNet (Wang, Hu and Ji 2020): words, regions, attention, capsules and loss, in forward order.

Numbers of equations and sections are the paper's; ARCHITECTURE.md has a table of its symbols. In
shapes, a batch has B texts with S sentences and T words in total, concatenated without padding
(`text.batch.TokenBatch`), so a text's result does not depend on the other texts of its batch. For
attention, sentences of similar lengths become rows of equal width: C >= T cells, of which the
blank ones have no weight (`nn.packing`). Three rewritings, exact up to rounding, make the layers
fast:

- the convolution is a sum of K look-ups: each distinct word of a batch is multiplied once by the K
  slices of the kernel, then gathered and added up;
- h_i^T W^k_i w_n = (W^k_i^T h_i)^T w_n: a head's query and key weight are one vector;
- sum_n alpha_n W^v_i w_n = W^v_i (sum_n alpha_n w_n): regions are pooled first, then projected.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from icaps.config import BY_CLASS, INDEPENDENT, VECTOR_STEP, ModelConfig, TrainConfig
from icaps.nn.dropout import dropout
from icaps.nn.lookup import LookupCache
from icaps.nn.packing import Layout, lay_out
from icaps.nn.thresholds import ClassThresholds
from icaps.text.batch import UNK, TokenBatch

_ACTIVATIONS = {"none": nn.Identity, "relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


class AttentionOutput(NamedTuple):
    """Output of an attention layer.

    Attributes:
        primary_capsules: pc_i (B, I, d_p), zero for an empty text.
        attention: alpha^i_n (T, I), which adds up to 1 over each sentence (eq. 5).
        sentence_attention: rho^i_m (S, I), which adds up to 1 over each text.
    """

    primary_capsules: Tensor
    attention: Tensor
    sentence_attention: Tensor


class CapsuleOutput(NamedTuple):
    """Output of the capsule layer.

    Attributes:
        class_capsules: cc_j (B, J, d_c).
        routing: beta_ij (B, I, J) of the last iteration, which formed the class capsules. It adds
            up to 1 over the classes (eq. 9), unless the routing is independent.
        agreement: v pc_j|i . cc_j (B, I, J), of votes as they are summed (`CapsuleLayer`).
    """

    class_capsules: Tensor
    routing: Tensor
    agreement: Tensor


class Activity(NamedTuple):
    """Output of `ICapsNet`: the scores, and all weights and capsules that led to them.

    Attributes:
        class_norms: ||cc_j|| (B, J), the scores.
        class_capsules, routing, agreement: As in `CapsuleOutput`.
        primary_capsules: pc_i (B, I, d_p) as they are routed, squashed if the network does so.
        squash_scale: (B, I), the factor by which this squash multiplied pc_i; 1 without it.
        attention, sentence_attention: As in `AttentionOutput`.
    """

    class_norms: Tensor
    class_capsules: Tensor
    routing: Tensor
    agreement: Tensor
    primary_capsules: Tensor
    squash_scale: Tensor
    attention: Tensor
    sentence_attention: Tensor


def squash(x: Tensor) -> Tensor:
    """Squash(x) = ||x||^2 / (1 + ||x||^2) x / ||x|| of each vector (..., d) (eq. 6)."""
    return x * squash_scale(x)


def squash_scale(x: Tensor) -> Tensor:
    """The factor ||x|| / (1 + ||x||^2) of x (..., d) in its squash, (..., 1).

    So written, the squash has value and gradient zero at zero.
    """
    norm: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return norm / (1 + norm.square())


class RegionEmbedding(nn.Module):
    """1-D convolution with kernel size K and zero padding: e_n to w_n (section 2.2).

    A window of even K has one word more on the right than on the left.
    """

    def __init__(self, embedding_dim: int, region_dim: int, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.weight = nn.Parameter(torch.empty(kernel_size, embedding_dim, region_dim))
        self.bias = nn.Parameter(torch.zeros(region_dim))
        bound = 1 / math.sqrt(kernel_size * embedding_dim)
        nn.init.uniform_(self.weight, -bound, bound)

    def project(self, fixed: Tensor, trained: Tensor) -> Tensor:
        """Word embeddings e_n (n, d_e) times each slice of the kernel: (n, K, d_w).

        Args:
            fixed: (n, fixed_dim), the first part of e_n. Frozen: its gradient is not computed.
            trained: (n, trained_dim), the second part of e_n.
        """
        kernel = self.weight.transpose(0, 1).flatten(1)  # (d_e, K d_w)
        fixed_kernel, trained_kernel = kernel.split([fixed.shape[1], trained.shape[1]])
        projected = torch.addmm(fixed @ fixed_kernel, trained, trained_kernel)  # (n, K d_w)
        return projected.view(-1, self.kernel_size, self.weight.shape[2])

    def forward(self, projected: Tensor, rows: Tensor, layout: Layout) -> Tensor:
        """Region embeddings w_n (C, d_w): the sum of the K projected words around each word.

        Args:
            projected: (n + 1, K, d_w), from `project`; the last row is padding.
            rows: (T,), the row of `projected` of each word.
            layout: Of the sentences. No region reaches into another sentence.
        """
        padding = projected.shape[0] * self.kernel_size - 1
        offsets = torch.arange(self.kernel_size, device=rows.device)
        bags = rows[layout.windows.clamp(min=0)] * self.kernel_size + offsets  # (C, K)
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
    ) -> AttentionOutput:
        """Primary capsules from region embeddings w_n (C, d_w)."""
        embeddings, attention = self.embed_sentences(regions, layout)
        return self.join_sentences(embeddings, attention, sentences_per_text)

    def effective_queries(self) -> Tensor:
        """W^k_i^T h_i / sqrt(d_q) (I, d_w): queries in the space of region embeddings."""
        return _fold(self.primary_queries, self.key_weight)

    def embed_sentences(self, regions: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Attention to the words of each sentence: s^i_m (S, I, d_s) and alpha^i_n (T, I).

        Equations 1 to 4; for the sentences of long documents they are equations 10 to 12.
        """
        # h_i^T k^i_n / sqrt(d_q) (C, I), with the keys k^i_n = W^k_i w_n of eq. 2 (10)
        scores = regions @ self.effective_queries().T
        attention = layout.softmax(scores)  # alpha^i_n (C, I), eq. 3 (11); adds up to 1, eq. 5
        pooled = layout.pool(attention, regions)  # sum_n alpha^i_n w_n (I, S, d_w), in row order
        # sum_n alpha^i_n v^i_n (I, S, d_p), eq. 4 (12), with the values v^i_n = W^v_i w_n of eq. 1
        embeddings = torch.bmm(pooled, self.value_weight.transpose(1, 2)).transpose(0, 1)
        return layout.gather_sentences(embeddings), layout.gather_words(attention)

    def join_sentences(
        self, embeddings: Tensor, attention: Tensor, sentences_per_text: NDArray[np.int64]
    ) -> AttentionOutput:
        """Primary capsules pc_i (B, I, d_p); here a text is one sentence."""
        return AttentionOutput(embeddings, attention, attention.new_ones(embeddings.shape[:2]))


class HierarchicalAttention(TrainableAttention):
    """Trainable multi-head hierarchical attention, for long documents (section 2.5).

    The same queries attend to words, then to sentences; d_s = d_q = d_p (section 4). The paper does
    not give initial weights. W~^v_i starts as the identity, so that a capsule is at first a mean of
    sentence embeddings and not a random rotation of it.
    """

    def __init__(self, num_capsules: int, region_dim: int, query_dim: int) -> None:
        super().__init__(num_capsules, region_dim, query_dim)
        shape = num_capsules, query_dim, query_dim
        self.sentence_key_weight = nn.Parameter(torch.empty(shape))  # W~^k_i
        self.sentence_value_weight = nn.Parameter(torch.zeros(shape))
        # Not by torch.eye, which on "meta" imports torch's compiler, as a checkpoint is loaded.
        self.sentence_value_weight.detach().diagonal(dim1=1, dim2=2).fill_(1)
        nn.init.normal_(self.sentence_key_weight, std=1 / math.sqrt(query_dim))

    def sentence_queries(self) -> Tensor:
        """W~^k_i^T h_i / sqrt(d_q) (I, d_s): queries in the space of sentence embeddings."""
        return _fold(self.primary_queries, self.sentence_key_weight)

    def join_sentences(
        self, embeddings: Tensor, attention: Tensor, sentences_per_text: NDArray[np.int64]
    ) -> AttentionOutput:
        """Primary capsules pc_i (B, I, d_p) by attention to sentences s^i_m (S, I, d_s)."""
        # h_i^T k~^i_m / sqrt(d_q) (S, I), with the keys k~^i_m = W~^k_i s^i_m of eq. 13
        scores = torch.einsum("sid,id->si", embeddings, self.sentence_queries())
        layout = lay_out(sentences_per_text, 1, embeddings.device)  # a text is a row of sentences
        rho = layout.softmax(scores.index_select(0, layout.source))  # rho^i_m (C, I), eq. 14
        values = embeddings.transpose(1, 2).index_select(0, layout.source)  # (C, d_s, I)
        pooled = layout.pool_by_head(rho, values)  # sum_m rho^i_m s^i_m (B, d_s, I)
        # sum_m rho^i_m v~^i_m (B, I, d_p), eq. 15, with the values v~^i_m = W~^v_i s^i_m of eq. 13
        capsules = torch.einsum("bdi,ipd->bip", pooled, self.sentence_value_weight)
        return AttentionOutput(capsules, attention, layout.gather_words(rho))


def _fold(queries: Tensor, key_weight: Tensor) -> Tensor:
    """Query and key weight of each head as one vector, W_i^T h_i / sqrt(d_q) (I, d).

    Args:
        queries: h_i (I, d_q).
        key_weight: W_i (I, d_q, d).
    """
    return torch.einsum("iq,iqw->iw", queries, key_weight) / math.sqrt(queries.shape[1])


class CapsuleLayer(nn.Module):
    """Primary capsules pc_i to class capsules cc_j by dynamic routing (section 2.4, Algorithm 1).

    The prediction vectors pc_j|i = W_ij pc_i + b_ij (eq. 7) are called votes. With one W_j for all
    primary capsules (eq. 8), they are never computed one by one, since routing needs only

        sum_i beta_ij pc_j|i = W_j (sum_i beta_ij pc_i) + sum_i beta_ij b_ij
        pc_j|i . cc_j = pc_i . (W_j^T cc_j) + b_ij . cc_j

    Routing weights start at 1/J, so with many classes the sums of votes are small, and so are the
    norms and their gradients. `vote_scale` is a factor v of the sums, which is 1 in the paper; the
    logits of the routing do not have it, so that routing stays as soft.

    Independent routing replaces the softmax over classes of eq. 9 for texts with several labels,
    for which a capsule need not choose between classes: beta_ij = sigmoid(b_ij - log(J - 1)). That
    is the softmax of b_ij against J - 1 logits of zero, so it starts at 1 / J too.
    """

    def __init__(
        self,
        num_capsules: int,
        num_classes: int,
        primary_dim: int,
        class_dim: int,
        iterations: int,
        vote_scale: float = 1.0,
        routing: str = BY_CLASS,
    ) -> None:
        super().__init__()
        self.iterations = iterations
        self.routing = routing
        self.vote_scale = vote_scale
        self.capsule_weight = nn.Parameter(torch.empty(num_classes, class_dim, primary_dim))  # W_j
        self.capsule_bias = nn.Parameter(torch.zeros(num_capsules, num_classes, class_dim))  # b_ij
        nn.init.normal_(self.capsule_weight, std=1 / math.sqrt(primary_dim))

    def forward(
        self, primary_capsules: Tensor, capsule_mask: Tensor | None = None
    ) -> CapsuleOutput:
        """Routes primary capsules to class capsules.

        Args:
            primary_capsules: pc_i (B, I, d_p).
            capsule_mask: (I,), or (B, I) if it differs by text: 0 for each primary capsule that is
                switched off, 1 for the others. None switches none off.
        """
        texts, capsules, _ = primary_capsules.shape
        # The routing logits b_ij of line 2 (B, J, I); the biases b_ij of eq. 8 are `capsule_bias`.
        logits = primary_capsules.new_zeros(texts, len(self.capsule_weight), capsules)
        for _ in range(self.iterations):
            routing = self._route(logits)  # beta_ij (B, J, I): line 4
            if capsule_mask is not None:
                routing = routing * capsule_mask.view(-1, 1, capsules)
            # cc_j (B, J, d_c): lines 5 and 6
            outputs = squash(self.vote_scale * self._sum_votes(primary_capsules, routing))
            agreement = self._compare_votes(primary_capsules, outputs)  # pc_j|i . cc_j (B, J, I)
            logits = logits + agreement  # line 7
        agreement = self.vote_scale * agreement
        return CapsuleOutput(outputs, routing.transpose(1, 2), agreement.transpose(1, 2))

    def _route(self, logits: Tensor) -> Tensor:
        """beta_ij (B, J, I) of the routing logits: eq. 9, or a sigmoid per class."""
        if self.routing == INDEPENDENT:
            return (logits - math.log(max(logits.shape[1] - 1, 1))).sigmoid()
        return logits.softmax(1)

    def _sum_votes(self, primary_capsules: Tensor, routing: Tensor) -> Tensor:
        """s_j = sum_i beta_ij pc_j|i (B, J, d_c)."""
        pooled = torch.bmm(routing, primary_capsules)  # sum_i beta_ij pc_i (B, J, d_p)
        # sum_i beta_ij b_ij (J, B, d_c)
        biases = torch.bmm(routing.transpose(0, 1), self.capsule_bias.transpose(0, 1))
        weight = self.capsule_weight.transpose(1, 2)  # (J, d_p, d_c)
        return torch.baddbmm(biases, pooled.transpose(0, 1), weight).transpose(0, 1)

    def _compare_votes(self, primary_capsules: Tensor, outputs: Tensor) -> Tensor:
        """pc_j|i . cc_j (B, J, I) of class capsules cc_j (B, J, d_c)."""
        by_class = outputs.transpose(0, 1)  # (J, B, d_c)
        # W_j^T cc_j (B, J, d_p) and b_ij . cc_j (B, J, I)
        directions = torch.bmm(by_class, self.capsule_weight).transpose(0, 1)
        biases = torch.bmm(by_class, self.capsule_bias.permute(1, 2, 0)).transpose(0, 1)
        return torch.baddbmm(biases, directions, primary_capsules.transpose(1, 2))


class ICapsNet(nn.Module):
    """iCapsNet-Short, or iCapsNet-Long if `config.hierarchical` (Figure 1).

    Args:
        config: Sizes and options.
        trained_words: V_t, the number of words with a trained part, `<pad>` and `<unk>` included.
        num_classes: J.
        vectors: (V_t, fixed_dim), the frozen first part of word embeddings; zeros by default.
        vector_words: (V_x, at most fixed_dim), vectors of words that follow the trained ones, int8
            multiples of `VECTOR_STEP`; missing columns are zeros. By default there are none.
        trained_rows: (V_x,), the trained word whose trained part such a word shares; -1 for none,
            so that its trained part is zero.
    """

    fixed_embedding: Tensor
    vector_words: Tensor
    trained_rows: Tensor

    def __init__(
        self,
        config: ModelConfig,
        trained_words: int,
        num_classes: int,
        vectors: Tensor | None = None,
        vector_words: Tensor | None = None,
        trained_rows: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.num_classes = num_classes
        if vectors is None:
            vectors = torch.zeros(trained_words, config.fixed_dim)
        assert vectors.shape == (trained_words, config.fixed_dim), vectors.shape
        if vector_words is None:
            vector_words = torch.zeros(0, config.fixed_dim, dtype=torch.int8)
        if trained_rows is None:
            trained_rows = torch.full((len(vector_words),), -1)
        self.register_buffer("fixed_embedding", vectors)
        self.register_buffer("vector_words", vector_words, persistent=len(vector_words) > 0)
        self.register_buffer("trained_rows", trained_rows, persistent=False)  # of the vocabulary
        self.trained_embedding = nn.Embedding(trained_words, config.trained_dim)
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
            math.sqrt(num_classes / 4) if config.scale_votes else 1.0,
            config.routing,
        )
        self.lookup = LookupCache()  # for `icaps.inference`, which is faster with a lookup table
        self.edits: Any = None  # `interpret.edits.Edits`, which `icaps.inference` applies
        self.thresholds: ClassThresholds | None = None  # of a model of several labels per text

    def forward(self, batch: TokenBatch, capsule_mask: Tensor | None = None) -> Activity:
        """The forward pass of a batch.

        Args:
            batch: B texts. An empty text has no attention, and primary capsules of zeros.
            capsule_mask: (I,), 0 for each primary capsule that is switched off, 1 for the others.
        """
        ids = self._drop_words(self.word_ids(batch))  # (T,)
        layout = lay_out(batch.words_per_sentence, self.config.kernel_size, ids.device)
        regions = self.embed_regions(ids, layout)  # w_n (C, d_w)
        attended = self.attention(regions, layout, batch.sentences_per_text)
        return self.route(attended, capsule_mask)

    def route(self, attended: AttentionOutput, capsule_mask: Tensor | None = None) -> Activity:
        """The part of the forward pass after attention."""
        primary, attention, sentence_attention = attended
        scale = primary.new_ones(*primary.shape[:2], 1)  # (B, I, 1)
        if self.config.squash_primary:
            scale = squash_scale(primary)
            primary = primary * scale
        capsules, routing, agreement = self.capsules(primary, capsule_mask)
        return Activity(
            class_norms=torch.linalg.vector_norm(capsules, dim=2),
            class_capsules=capsules,
            routing=routing,
            agreement=agreement,
            primary_capsules=primary,
            squash_scale=scale[:, :, 0],
            attention=attention,
            sentence_attention=sentence_attention,
        )

    def embed_regions(self, ids: Tensor, layout: Layout) -> Tensor:
        """Region embeddings w_n (C, d_w) of word ids (T,)."""
        words, rows = ids.unique(return_inverse=True)  # each distinct word is projected once
        words = F.pad(words, (0, 1))  # a last row as padding, whose values do not count
        regions = self.region(self.project_words(words), rows, layout)
        return dropout(self.activation(regions), self.config.dropout, self.training)

    def project_words(self, words: Tensor) -> Tensor:
        """Embeddings e_n of words (n,) times each slice of the kernel: (n, K, d_w)."""
        share = self.config.embedding_dropout
        fixed, trained = self.embed_words(words)
        if self.training and self.config.trained_dropout:
            retained = torch.rand(len(words), 1, device=words.device) >= self.config.trained_dropout
            trained = trained * retained
        fixed = dropout(fixed, share, self.training)
        trained = dropout(trained, share, self.training)
        return self.region.project(fixed, trained)

    def embed_words(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Word embeddings e_n of words (n,): fixed (n, fixed_dim) and trained (n, trained_dim)."""
        if not len(self.vector_words):
            return self.fixed_embedding.index_select(0, words), self.trained_embedding(words)
        count = len(self.fixed_embedding)  # V_t
        numbers = (words - count).clamp(min=0)  # of vector words
        rows = torch.where(words < count, words, self.trained_rows[numbers])
        known = rows.clamp(min=0)
        fixed = self.fixed_embedding.index_select(0, known)
        vectors = self.vector_words[numbers].to(fixed.dtype) * VECTOR_STEP
        vectors = F.pad(vectors, (0, fixed.shape[1] - vectors.shape[1]))
        fixed = torch.where((words < count)[:, None], fixed, vectors)
        return fixed, self.trained_embedding(known) * (rows >= 0)[:, None]

    def word_ids(self, batch: TokenBatch) -> Tensor:
        """Word ids (T,) of a batch, on the network's device."""
        return torch.from_numpy(batch.ids).to(self.fixed_embedding.device)

    def _drop_words(self, ids: Tensor) -> Tensor:
        if not self.training or self.config.word_dropout == 0:
            return ids
        dropped = torch.rand(ids.shape, device=ids.device) < self.config.word_dropout
        return ids.masked_fill(dropped, UNK)


def margin_loss(
    class_norms: Tensor, labels: Tensor, config: TrainConfig, weights: Tensor | None = None
) -> Tensor:
    """Margin loss, summed over classes and averaged over texts (eq. 16).

    Args:
        class_norms: ||cc_j|| (B, J).
        labels: j* (B,), class numbers; or I_j*(j) of eq. 17 itself, (B, J) of 0 and 1, which is 1
            for each class of a text with several.
        config: Has m+, m- and lambda.
        weights: (B,), the factor of each text's loss; None: 1. The sum over texts is divided by B
            and not by the sum of the weights, so that the mean over batches does not depend on
            which texts are in one batch. Or (B, J), of each class of each text.
    """
    present = labels if labels.ndim == 2 else F.one_hot(labels, class_norms.shape[1])
    present = present.to(class_norms.dtype)  # I_j*(j) (B, J), eq. 17
    too_small = (config.margin_present - class_norms).clamp(min=0).square()  # (B, J)
    too_large = (class_norms - config.margin_absent).clamp(min=0).square()  # (B, J)
    losses = present * too_small + config.absent_weight * (1 - present) * too_large  # L_j, eq. 16
    if weights is not None and weights.ndim == 2:
        losses, weights = weights * losses, None
    text_losses = losses.sum(1)  # (B,)
    return (text_losses if weights is None else weights * text_losses).mean()
