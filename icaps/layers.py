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
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_BLOCK = 16  # tokens that are pooled by one matrix product


class Packed(NamedTuple):
    """Texts end to end: word ids (tokens,), words of each sentence, sentences of each text."""

    ids: Tensor
    lengths: Tensor
    sentences: Tensor

    def to(self, device: torch.device) -> Packed:
        """The same texts on `device`."""
        return Packed(*(part.to(device) for part in self))


class Routed(NamedTuple):
    """What the capsule layer gives, for each text.

    class_capsules (texts, J, d_c); routing (texts, I, J), the weights that formed them;
    votes (texts, I, J, d_c), the prediction vectors.
    """

    class_capsules: Tensor
    routing: Tensor
    votes: Tensor


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
    """

    def __init__(self, embedding_dim: int, region_dim: int, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.weight = nn.Parameter(torch.empty(kernel_size, embedding_dim, region_dim))
        self.bias = nn.Parameter(torch.zeros(region_dim))
        bound = 1 / math.sqrt(kernel_size * embedding_dim)
        nn.init.uniform_(self.weight, -bound, bound)

    def project(self, fixed: Tensor, trained: Tensor) -> Tensor:
        """Each word through each slice of the kernel, and after the last word a row of zeros.

        The parts of embeddings come apart, so that no gradient of the frozen one is computed.

        Args:
            fixed: (words, the first numbers of d_e).
            trained: (words, the others).

        Returns:
            (words + 1, K, d_w).
        """
        kernel = self.weight.transpose(0, 1).flatten(1)  # (d_e, K d_w)
        parts = kernel.split([fixed.shape[1], trained.shape[1]])
        first, second = (F.pad(part, (0, 0, 0, 1)) for part in (fixed, trained))
        projected = torch.addmm(first @ parts[0], second, parts[1])
        return projected.view(-1, self.kernel_size, self.weight.shape[2])

    def forward(self, projected: Tensor, rows: Tensor, lengths: Tensor) -> Tensor:
        """Adds up the K projected words around each token.

        Args:
            projected: (words + 1, K, d_w), from `project`.
            rows: (tokens,), the row of `projected` that each token has.
            lengths: (sentences,), tokens of each sentence; none looks into the next.

        Returns:
            (tokens, d_w).
        """
        nothing = projected.shape[0] * self.kernel_size - 1  # a row of zeros
        table = projected.flatten(0, 1)
        bags = self.slots(rows, lengths, nothing)
        return F.embedding_bag(bags, table, mode="sum", padding_idx=nothing) + self.bias

    def slots(self, rows: Tensor, lengths: Tensor, nothing: int) -> Tensor:
        """Which row of a table (words x K, ...) each place of a region takes: (tokens, K).

        Args:
            rows: (tokens,), the number of each token's word in the table.
            lengths: (sentences,), tokens of each sentence.
            nothing: The row for a place outside the sentence.
        """
        taps = torch.arange(self.kernel_size, device=rows.device)
        offsets = taps - (self.kernel_size - 1) // 2
        ends = lengths.cumsum(0)
        first = (ends - lengths).repeat_interleave(lengths)[:, None]
        last = ends.repeat_interleave(lengths)[:, None]
        neighbours = torch.arange(len(rows), device=rows.device)[:, None] + offsets  # (tokens, K)
        inside = (neighbours >= first) & (neighbours < last)
        slots = rows[neighbours.clamp(0, max(len(rows) - 1, 0))] * self.kernel_size + taps
        return slots.where(inside, nothing)


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

    def forward(self, regions: Tensor, lengths: Tensor, sentences: Tensor) -> Attended:
        """Each head's weighted sum of a text's values (equations 1 to 4).

        Args:
            regions: (tokens, d_w).
            lengths: (sentences,), tokens of each.
            sentences: (texts,), one each.
        """
        return self.join_sentences(*self.embed_sentences(regions, lengths), sentences)

    def join_sentences(self, embeddings: Tensor, attention: Tensor, sentences: Tensor) -> Attended:
        """The sentences of each text, from what `embed_sentences` gives; here a text is one."""
        return Attended(embeddings, attention, attention.new_ones(embeddings.shape[:2]))

    def embed_sentences(self, regions: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Each head's weighted sum of a sentence's values: (sentences, I, d_p), (tokens, I)."""
        attention = segment_softmax(regions @ self.effective_queries().T, lengths)
        pooled = segment_pool(attention, regions, lengths)  # (sentences, I, d_w)
        return torch.einsum("siw,ipw->sip", pooled, self.value_weight), attention


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

    def join_sentences(self, embeddings: Tensor, attention: Tensor, sentences: Tensor) -> Attended:
        """Attention to the sentences of each text, each of which has a word."""
        directions = _fold(self.primary_queries, self.sentence_key_weight)  # (I, d_s)
        scores = torch.einsum("sid,id->si", embeddings, directions)
        weights = segment_softmax(scores, sentences)
        pooled = segment_sum(weights[..., None] * embeddings, sentences)  # (texts, I, d_s)
        primary = torch.einsum("bid,ipd->bip", pooled, self.sentence_value_weight)
        return Attended(primary, attention, weights)


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
        votes = self.vote(primary_capsules)
        kept = votes.new_ones(votes.shape[1]) if kept is None else kept
        class_capsules, routing = self.route(votes, kept[None])
        return Routed(class_capsules[:, 0], routing[:, 0], votes)

    def vote(self, primary_capsules: Tensor) -> Tensor:
        """The prediction vectors of primary capsules (texts, I, d_p): (texts, I, J, d_c)."""
        shared = self.capsule_weight.dim() == 3
        product = "bip,jcp->bijc" if shared else "bip,ijcp->bijc"
        return torch.einsum(product, primary_capsules, self.capsule_weight) + self.capsule_bias

    def route(self, votes: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Dynamic routing of the same votes from several sets of capsules (Algorithm 1).

        Args:
            votes: (texts, I, J, d_c).
            kept: (sets, I), 1 for each capsule of a set and 0 for the others, which vote for
                nothing and have no routing.

        Returns:
            Class capsules (texts, sets, J, d_c) and routing (texts, sets, I, J).
        """
        logits = votes.new_zeros(votes.shape[0], len(kept), *votes.shape[1:3])
        for step in range(self.iterations):
            # Over classes: outputs compete for inputs (eq. 9).
            routing = logits.softmax(dim=3) * kept[..., None]
            class_capsules = squash(torch.einsum("bsij,bijc->bsjc", routing, votes))
            if step + 1 == self.iterations:
                break
            seen = (votes, class_capsules)
            if not self.route_gradient:
                seen = (votes.detach(), class_capsules.detach())
            logits = logits + torch.einsum("bijc,bsjc->bsij", *seen)
        return class_capsules, routing


def segment_softmax(scores: Tensor, lengths: Tensor) -> Tensor:
    """Softmax of (tokens, heads) over each segment's own tokens."""
    if not len(scores):  # torch has no maximum of nothing
        return scores
    segment = _segment_of_each(lengths)
    highest = torch.segment_reduce(scores.detach(), "max", lengths=lengths, axis=0)
    exponents = (scores - highest[segment]).exp()
    return exponents / segment_sum(exponents, lengths)[segment]


def segment_sum(values: Tensor, lengths: Tensor) -> Tensor:
    """Sums of (tokens, ...) over each segment: (segments, ...), zero for an empty one."""
    empty = values.new_zeros(len(lengths), *values.shape[1:])
    return empty.index_add(0, _segment_of_each(lengths), values)


def _segment_of_each(lengths: Tensor) -> Tensor:
    return torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)


def segment_pool(weights: Tensor, values: Tensor, lengths: Tensor) -> Tensor:
    """Weighted sums over each segment: (tokens, heads), (tokens, d) to (segments, heads, d).

    Segments are cut into blocks of `_BLOCK` tokens, the last one of each filled up with tokens of
    no weight. All blocks are one batched matrix product, whose results are added up by segment, so
    memory follows the number of tokens and not the longest text.
    """
    blocks = -(lengths // -_BLOCK)
    segment = _segment_of_each(blocks)
    within = (
        torch.arange(len(segment), device=lengths.device) - (blocks.cumsum(0) - blocks)[segment]
    )
    first = (lengths.cumsum(0) - lengths)[segment] + _BLOCK * within
    step = torch.arange(_BLOCK, device=lengths.device)
    left = lengths[segment] - _BLOCK * within  # tokens of the segment from the block on
    inside = step < left[:, None]  # (blocks, tokens of each)
    places = (first[:, None] + step).where(inside, 0).flatten()
    weight, value = (
        side.index_select(0, places).view(*inside.shape, side.shape[1])
        for side in (weights, values)
    )
    pooled = (weight * inside[..., None]).transpose(1, 2) @ value  # (blocks, heads, d)
    return segment_sum(pooled, blocks)
