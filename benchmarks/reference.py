"""The network as the paper states it, padded: a baseline for speed, and an oracle for tests.

Every text is padded to N words (or M sentences of N), the convolution runs over all of them, and
each head has a key and a value product for each word; fp32, dense updates by Adam. No layer of
`icaps.model` is used. `copy_weights` gives it the weights of an `ICapsNet`, with which it must
show the same norms.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icaps.config import ModelConfig
from icaps.model import ICapsNet
from icaps.text.batch import PAD, UNK, TokenBatch


class PaddedICapsNet(nn.Module):
    """The paper's equations 1 to 9 over padded ids: (texts, N), or (texts, M, N) for long texts."""

    fixed_embedding: Tensor

    def __init__(self, config: ModelConfig, vocabulary_size: int, num_classes: int) -> None:
        super().__init__()
        heads, width, size = config.num_capsules, config.region_dim, config.query_dim
        self.config = config
        self.register_buffer("fixed_embedding", torch.zeros(vocabulary_size, config.fixed_dim))
        self.trained_embedding = nn.Embedding(vocabulary_size, config.trained_dim)
        nn.init.uniform_(self.trained_embedding.weight, -0.25, 0.25)
        self.convolution = nn.Conv1d(config.embedding_dim, width, config.kernel_size)
        self.queries = nn.Parameter(torch.randn(heads, size))
        self.keys = nn.Parameter(torch.randn(heads, size, width) / width**0.5)
        self.values = nn.Parameter(torch.randn(heads, size, width) / width**0.5)
        self.sentence_keys = nn.Parameter(torch.randn(heads, size, size) / size**0.5)
        self.sentence_values = nn.Parameter(torch.eye(size).repeat(heads, 1, 1))
        self.weight = nn.Parameter(torch.randn(num_classes, config.class_dim, size) / size**0.5)
        self.bias = nn.Parameter(torch.zeros(heads, num_classes, config.class_dim))

    def forward(self, ids: Tensor) -> Tensor:
        """Class norms (texts, J)."""
        words = ids.flatten(0, -2)  # (texts or sentences, N)
        present = words != PAD
        if self.training:
            dropped = torch.rand(words.shape) < self.config.word_dropout
            words = words.masked_fill(dropped & present, UNK)
        regions = self._regions(words, present)
        capsules = self._attend(regions, present, self.keys, self.values)
        if self.config.hierarchical:
            sentences = capsules.unflatten(0, ids.shape[:-1])  # (texts, M, I, d_p)
            capsules = self._attend_sentences(sentences, present.view(ids.shape).any(2))
        if self.config.squash_primary:
            capsules = _squash(capsules)
        return torch.linalg.vector_norm(self._route(capsules), dim=2)

    def _regions(self, words: Tensor, present: Tensor) -> Tensor:
        embedding = torch.cat([self.fixed_embedding[words], self.trained_embedding(words)], dim=2)
        embedding = F.dropout(embedding, self.config.embedding_dropout, self.training)
        embedding = embedding * present[..., None]
        left = (self.config.kernel_size - 1) // 2
        padded = F.pad(embedding.transpose(1, 2), (left, self.config.kernel_size - 1 - left))
        regions = self.convolution(padded).transpose(1, 2)  # (texts, N, d_w)
        return F.dropout(regions, self.config.dropout, self.training)

    def _attend(self, values: Tensor, present: Tensor, key: Tensor, value: Tensor) -> Tensor:
        keys = torch.einsum("bnw,iqw->bniq", values, key)
        scores = torch.einsum("bniq,iq->bni", keys, self.queries) / self.queries.shape[1] ** 0.5
        scores = scores.masked_fill(~present[..., None], float("-inf"))
        weights = scores.softmax(1).nan_to_num()  # a sentence of padding has none
        return torch.einsum("bni,bnip->bip", weights, torch.einsum("bnw,ipw->bnip", values, value))

    def _attend_sentences(self, sentences: Tensor, present: Tensor) -> Tensor:
        keys = torch.einsum("bmid,iqd->bmiq", sentences, self.sentence_keys)
        scores = torch.einsum("bmiq,iq->bmi", keys, self.queries) / self.queries.shape[1] ** 0.5
        weights = scores.masked_fill(~present[..., None], float("-inf")).softmax(1).nan_to_num()
        values = torch.einsum("bmid,ipd->bmip", sentences, self.sentence_values)
        return torch.einsum("bmi,bmip->bip", weights, values)

    def _route(self, capsules: Tensor) -> Tensor:
        votes = torch.einsum("bip,jcp->bijc", capsules, self.weight) + self.bias
        logits = votes.new_zeros(votes.shape[:3])
        for step in range(self.config.routing_iterations):
            routing = logits.softmax(2)
            outputs = _squash((routing[..., None] * votes).sum(1))
            if step + 1 < self.config.routing_iterations:
                logits = logits + (votes * outputs[:, None]).sum(3)
        return outputs


def copy_weights(network: ICapsNet, reference: PaddedICapsNet) -> None:
    """Gives the reference the weights of a network of the same sizes."""
    attention, capsules = network.attention, network.capsules
    pairs = {
        "fixed_embedding": network.fixed_embedding,
        "trained_embedding.weight": network.trained_embedding.weight,
        "convolution.weight": network.region.weight.permute(2, 1, 0),
        "convolution.bias": network.region.bias,
        "queries": attention.primary_queries,
        "keys": attention.key_weight,
        "values": attention.value_weight,
        "weight": capsules.capsule_weight,
        "bias": capsules.capsule_bias,
    }
    if network.config.hierarchical:
        pairs["sentence_keys"] = attention.sentence_key_weight
        pairs["sentence_values"] = attention.sentence_value_weight
    state = reference.state_dict() | {name: value.detach() for name, value in pairs.items()}
    reference.load_state_dict(state)


def pad(batch: TokenBatch, config: ModelConfig) -> Tensor:
    """The ids of a batch, padded to N, or to M and N: (texts, N) or (texts, M, N)."""
    parts = torch.from_numpy(batch.ids).split(batch.words_per_sentence.tolist())
    ids = torch.full((len(parts), config.max_words or max(map(len, parts))), PAD)
    for row, part in zip(ids, parts, strict=True):
        row[: len(part)] = part
    if not config.hierarchical:
        return ids
    counts = batch.sentences_per_text.tolist()
    texts = torch.full((len(counts), config.max_sentences or max(counts), ids.shape[1]), PAD)
    for text, sentences in zip(texts, ids.split(counts), strict=True):
        text[: len(sentences)] = sentences
    return texts


def _squash(vectors: Tensor) -> Tensor:
    norm = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors * (norm / (1 + norm.square()))
