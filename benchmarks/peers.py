"""Two well-known text classifiers in plain PyTorch, as baselines for speed.

Kim, "Convolutional neural networks for sentence classification" (2014), and Yang et al.,
"Hierarchical attention networks for document classification" (2016), with the same width and
embeddings as the capsule network, over padded ids.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from icaps.baselines.networks import WordCNN
from icaps.config import ModelConfig
from icaps.text.batch import PAD


class Embedding(nn.Module):
    """Word embeddings with a frozen and a trained part: ids (...) to (..., d_e)."""

    fixed: Tensor

    def __init__(self, config: ModelConfig, vocabulary_size: int) -> None:
        super().__init__()
        self.register_buffer("fixed", torch.randn(vocabulary_size, config.fixed_dim))
        self.trained = nn.Embedding(vocabulary_size, config.trained_dim)

    def forward(self, ids: Tensor) -> Tensor:
        """The concatenation of both parts."""
        return torch.cat([self.fixed[ids], self.trained(ids)], dim=-1)


def kim_cnn(config: ModelConfig, vocabulary_size: int, num_classes: int) -> WordCNN:
    """The CNN of Kim (2014), with the width and embeddings of the capsule network."""
    filters = config.region_dim // 3
    network = WordCNN(vocabulary_size, num_classes, config.embedding_dim, filters)
    network.embedding = Embedding(config, vocabulary_size)
    return network


class _Attention(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.hidden, self.context = nn.Linear(size, size), nn.Linear(size, 1, bias=False)

    def forward(self, states: Tensor, present: Tensor) -> Tensor:
        scores = self.context(torch.tanh(self.hidden(states)))
        weights = scores.masked_fill(~present[..., None], float("-inf")).softmax(1).nan_to_num()
        return (weights * states).sum(1)


class HAN(nn.Module):
    """A bidirectional GRU with attention over words, and another one over sentences."""

    def __init__(self, config: ModelConfig, vocabulary_size: int, num_classes: int) -> None:
        super().__init__()
        self.embedding = Embedding(config, vocabulary_size)
        half = config.region_dim // 2
        options = {"batch_first": True, "bidirectional": True}
        self.words = nn.GRU(config.embedding_dim, half, **options)
        self.sentences = nn.GRU(2 * half, half, **options)
        self.of_words, self.of_sentences = _Attention(2 * half), _Attention(2 * half)
        self.classes = nn.Linear(2 * half, num_classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores (texts, J) of ids (texts, M, N), or (texts, N) of texts of one sentence."""
        ids = ids if ids.dim() == 3 else ids[:, None]
        present = ids != PAD
        words, _ = self.words(self.embedding(ids.flatten(0, 1)))
        sentences = self.of_words(words, present.flatten(0, 1)).unflatten(0, ids.shape[:2])
        states, _ = self.sentences(sentences)
        scores: Tensor = self.classes(self.of_sentences(states, present.any(2)))
        return scores
