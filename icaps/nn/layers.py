"""The layers of the paper's sections 2.2 to 2.5, over texts packed end to end.

A batch is one row of tokens, the length of each sentence and how many sentences each text has, so
there is no padding for attention to see and a text's result does not depend on its neighbours. To
the network for short texts a text is one sentence (section 2.2). Three rewritings, exact up to
rounding, make the layers fast:

- a convolution over embeddings is a sum of K look-ups: each distinct word of the batch is
  projected once through the K slices of the kernel, then gathered and added;
- h_i^T W^k_i w_n = (W^k_i^T h_i)^T w_n, so a head's query and key weight fold into one vector;
- sum_n alpha_n W^v_i w_n = W^v_i (sum_n alpha_n w_n), so pooling comes before projection.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icaps.config import BFLOAT16, FLOAT32
from icaps.nn.packing import Layout, joined, lay_out
from icaps.nn.pooling import pool
from icaps.nn.votes import FORMED, FormedVotes, ImpliedVotes, Votes
from icaps.text.batch import Numbers


class Routed(NamedTuple):
    """What the capsule layer gives, for each text.

    class_capsules (texts, J, d_c); routing (texts, I, J), the weights that formed them;
    agreement (texts, I, J), the product of each prediction vector with its class capsule.
    """

    class_capsules: Tensor
    routing: Tensor
    agreement: Tensor


def squash(vectors: Tensor) -> Tensor:
    """Shrinks each vector (..., d) to a norm below 1: ||x||^2 / (1 + ||x||^2) x / ||x|| (eq. 6).

    Written as x ||x|| / (1 + ||x||^2), which is the same and needs no division by a norm that
    may be zero; value and gradient at zero are zero.
    """
    norm: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors * (norm / (1 + norm.square()))


class RegionEmbedding(nn.Module):
    """1-D convolution of K words with zero padding: (tokens, d_e) to (tokens, d_w).

    An even K looks at one word more on the right than on the left.

    Attributes:
        precision: Of `project` while it is trained, "float32" or "bfloat16" (`precision.py`).
    """

    def __init__(self, embedding_dim: int, region_dim: int, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.precision = FLOAT32
        self.weight = nn.Parameter(torch.empty(kernel_size, embedding_dim, region_dim))
        self.bias = nn.Parameter(torch.zeros(region_dim))
        bound = 1 / math.sqrt(kernel_size * embedding_dim)
        nn.init.uniform_(self.weight, -bound, bound)

    def project(self, fixed: Tensor, trained: Tensor) -> Tensor:
        """Each word through each slice of the kernel: (words, K, d_w).

        The parts of embeddings come apart, so that no gradient of the frozen one is computed.

        Args:
            fixed: (words, the first numbers of d_e).
            trained: (words, the others).
        """
        kernel = self.weight.transpose(0, 1).flatten(1)  # (d_e, K d_w)
        parts = kernel.split([fixed.shape[1], trained.shape[1]])
        low = self.training and self.precision == BFLOAT16
        # Some devices have no autocast, not even one that is off.
        with torch.autocast(kernel.device.type, torch.bfloat16) if low else nullcontext():
            projected = torch.addmm(fixed @ parts[0], trained, parts[1])
        return projected.to(kernel.dtype).view(-1, self.kernel_size, self.weight.shape[2])

    def forward(self, projected: Tensor, rows: Tensor, layout: Layout) -> Tensor:
        """Adds up the K projected words around each token.

        Args:
            projected: (words + 1, K, d_w), from `project`; the last row counts as zeros.
            rows: (tokens,), the row of `projected` that each token has.
            layout: Of the sentences; no token looks into the next one.

        Returns:
            (cells, d_w).
        """
        nothing = projected.shape[0] * self.kernel_size - 1
        taps = torch.arange(self.kernel_size, device=rows.device)
        bags = rows[layout.regions.clamp(min=0)] * self.kernel_size + taps
        bags = bags.masked_fill(layout.regions < 0, nothing)
        table = projected.flatten(0, 1)
        return F.embedding_bag(bags, table, mode="sum", padding_idx=nothing) + self.bias


class Attended(NamedTuple):
    """Primary capsules (texts, I, d_p), zero for an empty text, and the weights that formed them.

    attention (tokens, I), alpha, adds up to 1 over each sentence; sentence_attention
    (sentences, I), rho, over each text. To the network for short texts rho is 1.
    """

    primary_capsules: Tensor
    attention: Tensor
    sentence_attention: Tensor


class TrainableAttention(nn.Module):
    """Trainable multi-head attention of section 2.3: region embeddings to primary capsules."""

    def __init__(self, num_capsules: int, region_dim: int, query_dim: int) -> None:
        super().__init__()
        self.primary_queries = nn.Parameter(torch.empty(num_capsules, query_dim))
        self.key_weight = nn.Parameter(torch.empty(num_capsules, query_dim, region_dim))
        self.value_weight = nn.Parameter(torch.empty(num_capsules, query_dim, region_dim))
        nn.init.normal_(self.primary_queries)
        for weight in (self.key_weight, self.value_weight):
            nn.init.normal_(weight, std=1 / math.sqrt(region_dim))

    def effective_queries(self) -> Tensor:
        """W^k_i^T h_i / sqrt(d_q), the direction that each head looks for: (I, d_w)."""
        return _fold(self.primary_queries, self.key_weight)

    def forward(self, regions: Tensor, layout: Layout, sentences: Numbers) -> Attended:
        """Each head's weighted sum of a text's values (equations 1 to 4).

        Args:
            regions: (cells, d_w).
            layout: Of the sentences.
            sentences: (texts,), one each.
        """
        return self.join_sentences(*self.embed_sentences(regions, layout), sentences)

    def join_sentences(self, embeddings: Tensor, attention: Tensor, sentences: Numbers) -> Attended:
        """The sentences of each text, from what `embed_sentences` gives; here a text is one."""
        return Attended(embeddings, attention, attention.new_ones(embeddings.shape[:2]))

    def embed_sentences(self, regions: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Each head's weighted sum of a sentence's values: (sentences, I, d_p), (tokens, I)."""
        embeddings, weights = pool(regions, self.effective_queries(), self.value_weight, layout)
        return embeddings.index_select(0, layout.rows), weights.index_select(0, layout.cells)


class HierarchicalAttention(TrainableAttention):
    """Trainable multi-head hierarchical attention of section 2.5: words, then sentences.

    The same queries attend to both; sentence embeddings have d_s = d_q = d_p (section 4). The
    paper says nothing of first weights: W^v of sentences starts as the identity, so that a text's
    capsules start as means of its sentences' embeddings, not as random turns of them.
    """

    def __init__(self, num_capsules: int, region_dim: int, query_dim: int) -> None:
        super().__init__(num_capsules, region_dim, query_dim)
        shape = num_capsules, query_dim, query_dim
        self.sentence_key_weight = nn.Parameter(torch.empty(shape))
        self.sentence_value_weight = nn.Parameter(torch.empty(shape))
        nn.init.normal_(self.sentence_key_weight, std=1 / math.sqrt(query_dim))
        with torch.no_grad():
            self.sentence_value_weight.copy_(torch.eye(query_dim).expand(shape))

    def join_sentences(self, embeddings: Tensor, attention: Tensor, sentences: Numbers) -> Attended:
        """Attention to the sentences of each text, each of which has a word."""
        directions = _fold(self.primary_queries, self.sentence_key_weight)  # (I, d_s)
        scores = torch.einsum("sid,id->si", embeddings, directions)
        layout = lay_out(sentences, 1, embeddings.device)
        weights = layout.softmax(scores.index_select(0, layout.source))
        values = embeddings.transpose(1, 2).index_select(0, layout.source)  # (cells, d_s, I)
        pooled = weighted_sums(weights, values, layout)  # (texts, d_s, I)
        primary = torch.einsum("bdi,ipd->bip", pooled, self.sentence_value_weight)
        return Attended(primary, attention, weights.index_select(0, layout.cells))


def _fold(queries: Tensor, key_weight: Tensor) -> Tensor:
    folded = torch.einsum("iq,iqw->iw", queries, key_weight)
    return folded / math.sqrt(queries.shape[1])


class CapsuleLayer(nn.Module):
    """Primary to class capsules by dynamic routing (section 2.4, Algorithm 1)."""

    def __init__(
        self,
        num_capsules: int,
        num_classes: int,
        primary_dim: int,
        class_dim: int,
        *,
        iterations: int,
        share_weight: bool,
        route_gradient: bool,
    ) -> None:
        super().__init__()
        self.iterations = iterations
        self.route_gradient = route_gradient
        owners = () if share_weight else (num_capsules,)  # W_j, or W_ij
        self.capsule_weight = nn.Parameter(
            torch.empty(*owners, num_classes, class_dim, primary_dim)
        )
        self.capsule_bias = nn.Parameter(torch.zeros(num_capsules, num_classes, class_dim))
        nn.init.normal_(self.capsule_weight, std=1 / math.sqrt(primary_dim))

    def forward(self, primary_capsules: Tensor, kept: Tensor | None = None) -> Routed:
        """Routes primary capsules (texts, I, d_p) to class capsules.

        `kept` (I,) is 0 for each capsule that is switched off and 1 for the others; None keeps all.
        """
        votes = self._vote(primary_capsules)
        outputs, routing = self._route(votes, None if kept is None else kept[None])
        agreement = votes.agree(outputs)
        betas, products = (part[:, :, 0].transpose(1, 2) for part in (routing, agreement))
        return Routed(outputs[:, :, 0], betas, products)

    def route(self, primary_capsules: Tensor, kept: Tensor) -> Tensor:
        """Class capsules (texts, sets, J, d_c) of the same texts with several sets of capsules.

        Args:
            primary_capsules: (texts, I, d_p).
            kept: (sets, I), 1 for each capsule of a set and 0 for the others, which vote for
                nothing.
        """
        outputs, _ = self._route(self._vote(primary_capsules), kept)
        return outputs.transpose(1, 2)

    def _vote(self, primary_capsules: Tensor) -> Votes:
        weight, bias = self.capsule_weight, self.capsule_bias
        if weight.dim() == 3 and len(primary_capsules) * bias.numel() > FORMED:
            return ImpliedVotes(primary_capsules, weight, bias)
        return FormedVotes.of(primary_capsules, weight, bias)

    def _route(self, votes: Votes, kept: Tensor | None) -> tuple[Tensor, Tensor]:
        """Algorithm 1: class capsules (texts, J, sets, d_c) and routing (texts, J, sets, I).

        Without `kept` there is one set, of all capsules.
        """
        seen = votes if self.route_gradient else votes.detach()
        capsules, classes, _ = self.capsule_bias.shape
        sets = 1 if kept is None else len(kept)
        logits = self.capsule_bias.new_zeros(votes.texts, classes, sets, capsules)
        for step in range(self.iterations):
            # Over classes: outputs compete for inputs (eq. 9).
            routing = logits.softmax(dim=1)
            if kept is not None:
                routing = routing * kept
            outputs = squash(votes.weigh(routing))
            if step + 1 < self.iterations:
                agreeing = outputs if self.route_gradient else outputs.detach()
                logits = logits + seen.agree(agreeing)
        return outputs, routing


def weighted_sums(weights: Tensor, values: Tensor, layout: Layout) -> Tensor:
    """Each head's weights (cells, heads) over its own values (cells, d, heads).

    Heads come last, as what lies side by side is multiplied at once.

    Returns:
        (sentences, d, heads).
    """
    parts = zip(layout.split(weights[:, None]), layout.split(values), strict=True)
    sums = [(weight * value).sum(1) for weight, value in parts]
    return joined(sums).index_select(0, layout.rows)
