"""ICapsNet: the network of the paper's Figure 1, on one screen."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icaps.config import ModelConfig
from icaps.nn.dropout import dropout
from icaps.nn.layers import (
    Attended,
    CapsuleLayer,
    HierarchicalAttention,
    RegionEmbedding,
    TrainableAttention,
    squash,
)
from icaps.nn.packing import Layout, lay_out
from icaps.text.batch import UNK, TokenBatch

_ACTIVATIONS = {"none": nn.Identity, "relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


class Activity(NamedTuple):
    """Everything that a pass through the network shows, for B texts of T tokens in all.

    class_norms (B, J), the scores; class_capsules (B, J, d_c); routing (B, I, J), beta_ij of
    the last iteration; agreement (B, I, J), u_j|i . cc_j; primary_capsules (B, I, d_p); attention
    (T, I), alpha^i_n, and sentence_attention (S, I), rho^i_m, packed as the texts are.
    """

    class_norms: Tensor
    class_capsules: Tensor
    routing: Tensor
    agreement: Tensor
    primary_capsules: Tensor
    attention: Tensor
    sentence_attention: Tensor


class ICapsNet(nn.Module):
    """iCapsNet for short texts (sections 2.2 to 2.4), or for long ones (section 2.5).

    Args:
        config: Sizes and options.
        vocabulary_size: V, `<pad>` and `<unk>` included.
        num_classes: J.
        vectors: (V, fixed_dim), the frozen first part of the embeddings; zeros when not given.
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
            iterations=config.routing_iterations,
            share_weight=config.share_class_weight,
            route_gradient=config.route_gradient,
        )

    def forward(self, batch: TokenBatch, kept: Tensor | None = None) -> Activity:
        """Runs the texts of a batch; an empty text has no attention and zero primary capsules.

        `kept` (I,) is 0 for each primary capsule that is switched off, and 1 for the others.
        """
        ids = self._drop_words(self.ids_of(batch))
        layout = lay_out(batch.words_per_sentence, self.config.kernel_size, ids.device)
        regions = self.regions(ids, layout)  # (cells, d_w)
        return self.route(self.attention(regions, layout, batch.sentences_per_text), kept)

    def ids_of(self, batch: TokenBatch) -> Tensor:
        """The word ids (tokens,) of a batch, on the network's device."""
        return torch.from_numpy(batch.ids).to(self.fixed_embedding.device)

    def route(self, attended: Attended, kept: Tensor | None = None) -> Activity:
        """From primary capsules on; `kept` as in `forward`."""
        primary, *attention = attended
        if self.config.squash_primary:
            primary = squash(primary)
        class_capsules, routing, agreement = self.capsules(primary, kept)
        norms = torch.linalg.vector_norm(class_capsules, dim=2)  # (B, J)
        return Activity(norms, class_capsules, routing, agreement, primary, *attention)

    def regions(self, ids: Tensor, layout: Layout) -> Tensor:
        """Region embeddings (cells, d_w) of sentences end to end: ids (T,), and their layout."""
        words, rows = ids.unique(return_inverse=True)  # each distinct word is projected once
        words = F.pad(words, (0, 1))  # one more, which the layer takes for zeros
        regions = self.region(self.projected(words), rows, layout)
        return dropout(self.activation(regions), self.config.dropout, self.training)

    def projected(self, words: Tensor) -> Tensor:
        """Words (n,) through each slice of the kernel: (n, K, d_w)."""
        share = self.config.embedding_dropout
        fixed = dropout(self.fixed_embedding.index_select(0, words), share, self.training)
        trained = dropout(self.trained_embedding(words), share, self.training)
        return self.region.project(fixed, trained)

    def _drop_words(self, ids: Tensor) -> Tensor:
        if not self.training or self.config.word_dropout == 0:
            return ids
        dropped = torch.rand(ids.shape, device=ids.device) < self.config.word_dropout
        return ids.masked_fill(dropped, UNK)
