"""The neural baselines: three networks in plain PyTorch over padded word ids.

Padding is masked, so that the result of a text does not depend on its batch. The large embedding
tables get sparse gradients, because a batch contains few of the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn

from icaps.baselines.base import (
    CAPSNET,
    REGION_EMBEDDINGS,
    WEIGHTS,
    WORD_CNN,
    Baseline,
    read_inverse_temperature,
)
from icaps.errors import ConfigError
from icaps.model import squash
from icaps.text.batch import PAD
from icaps.text.vocabulary import Vocabulary
from icaps.train.checkpoint import build_on_meta, read_weights, shapes
from icaps.train.checkpoint_files import BASELINE, VOCABULARY

MAX_WORDS = 400  # words of a text that are read at most
BATCH_WORDS = 16_384  # words of a prediction batch with padding, which bounds memory
_SPREAD = 0.1  # standard deviation of the initial word embeddings


class WordCNN(nn.Module):
    """Convolutions over words, max-pooled over the text (Kim 2014, section 2; CNN-rand).

    Filters of 3, 4 and 5 words, ReLU, and dropout of 0.5 before the linear layer.
    """

    margin_loss = False

    def __init__(
        self, vocabulary_size: int, num_classes: int, dim: int = 128, filters: int = 100
    ) -> None:
        super().__init__()
        self.embedding: nn.Module = _word_table(vocabulary_size, dim)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(dim, filters, width, padding=width // 2) for width in (3, 4, 5)
        )
        self.classes = nn.Linear(3 * filters, num_classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores (texts, J) of ids (texts, N)."""
        present = (ids != PAD)[:, None]
        embedded = self.embedding(ids).transpose(1, 2) * present  # (texts, dim, N)
        features = [F.relu(layer(embedded)[..., : ids.shape[1]]) for layer in self.convolutions]
        pooled = torch.cat([(values * present).amax(2) for values in features], dim=1)
        scores: Tensor = self.classes(F.dropout(pooled, 0.5, self.training))
        return scores


class RegionEmbeddings(nn.Module):
    """Sums of word-context region embeddings (Qiao et al. 2018, sections 3.1 to 3.4).

    Each word has an embedding and a context unit K with a column for each of the 2c + 1 positions
    around it. The region of a word is the elementwise maximum, over these positions, of the
    neighbour's embedding times the column.
    """

    margin_loss = False

    def __init__(self, vocabulary_size: int, num_classes: int, dim: int = 128, c: int = 3) -> None:
        super().__init__()
        self.positions = 2 * c + 1
        self.embedding = _word_table(vocabulary_size, dim)
        self.units = _word_table(vocabulary_size, dim * self.positions)
        self.classes = nn.Linear(dim, num_classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores (texts, J) of ids (texts, N)."""
        units = self.units(ids).unflatten(2, (self.positions, -1))  # (texts, N, 2c+1, dim)
        side = self.positions // 2
        around = F.pad(ids, (side, side), value=PAD).unfold(
            1, self.positions, 1
        )  # (texts, N, 2c+1)
        regions = (units * self.embedding(around)).amax(2)  # (texts, N, dim)
        scores: Tensor = self.classes((regions * (ids != PAD)[..., None]).sum(1))
        return scores


class CapsNet(nn.Module):
    """A capsule network with dynamic routing, over words.

    Sabour, Frosst and Hinton (2017), sections 2 and 4, over words as in Yang et al. (2018): an
    n-gram convolution; a convolution of stride 2 whose outputs are grouped into primary capsules;
    and votes by one matrix per channel and class, shared over positions.
    """

    margin_loss = True

    def __init__(
        self,
        vocabulary_size: int,
        num_classes: int,
        dim: int = 128,
        filters: int = 128,
        channels: int = 8,
        primary_dim: int = 8,
        class_dim: int = 16,
        iterations: int = 3,
    ) -> None:
        super().__init__()
        self.iterations, self.primary_dim = iterations, primary_dim
        self.embedding = _word_table(vocabulary_size, dim)
        self.ngrams = nn.Conv1d(dim, filters, 3, padding=1)
        self.primary = nn.Conv1d(filters, channels * primary_dim, 3, stride=2, padding=1)
        shape = channels, num_classes, class_dim, primary_dim
        self.votes = nn.Parameter(torch.randn(shape) / primary_dim**0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """Norms of the class capsules (texts, J) of ids (texts, N), from 0 to below 1."""
        present = (ids != PAD)[:, None]
        embedded = self.embedding(ids).transpose(1, 2) * present
        ngrams = F.relu(self.ngrams(F.dropout(embedded, 0.3, self.training))) * present
        capsules = self.primary(ngrams) * present[..., ::2]  # (texts, channels * d_p, positions)
        capsules = squash(capsules.unflatten(1, (-1, self.primary_dim)).transpose(2, 3))
        votes = torch.einsum("tcnp,cjdp->tcnjd", capsules, self.votes).flatten(1, 2)
        logits = votes.new_zeros(votes.shape[:3])  # (texts, capsules, J)
        for step in range(self.iterations):
            outputs = squash(torch.einsum("tij,tijd->tjd", logits.softmax(2), votes))
            if step + 1 < self.iterations:
                logits = logits + torch.einsum("tijd,tjd->tij", votes, outputs)
        norms: Tensor = outputs.norm(dim=2)
        return norms


def _word_table(vocabulary_size: int, dim: int) -> nn.Embedding:
    """An embedding table with small initial values, which Adam's steps can change; PAD stays 0."""
    table = nn.Embedding(vocabulary_size, dim, padding_idx=PAD, sparse=True)
    nn.init.normal_(table.weight, std=_SPREAD)
    with torch.no_grad():
        table.weight[PAD] = 0
    return table


Network = WordCNN | RegionEmbeddings | CapsNet
_NETWORKS: dict[str, type[Network]] = {
    WORD_CNN: WordCNN,
    REGION_EMBEDDINGS: RegionEmbeddings,
    CAPSNET: CapsNet,
}


class NetworkBaseline(Baseline):
    """A trained network with its vocabulary, in eval mode, on the CPU."""

    def __init__(
        self,
        kind: str,
        classes: NDArray[Any],
        vocabulary: Vocabulary,
        network: Network,
        inverse_temperature: float,
    ) -> None:
        super().__init__(kind, classes)
        self.vocabulary_ = vocabulary
        self.network_ = network
        self.inverse_temperature_ = inverse_temperature

    def decision_function(self, X: Sequence[str]) -> NDArray[np.float64]:  # noqa: N803
        """Scores, or norms of class capsules, (texts, J)."""
        tokens = self.vocabulary_.encode(X, MAX_WORDS, spans=False)
        ids = [torch.from_numpy(text.ids).long() for text in tokens]
        scores: NDArray[np.float64] = (
            predict_scores(self.network_, ids, len(self.classes_)).double().numpy()
        )
        return scores

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Softmax of scores times the fitted factor, (texts, J)."""
        scaled = torch.from_numpy(scores) * self.inverse_temperature_
        shares: NDArray[np.float64] = scaled.softmax(1).numpy()
        return shares

    @property
    def num_weights(self) -> int:
        """The number of trained parameters."""
        return sum(weight.numel() for weight in self.network_.parameters())

    def write(self, folder: Path) -> dict[str, Any]:
        """Writes the vocabulary and the weights, as a checkpoint does."""
        self.vocabulary_.save(folder / VOCABULARY)
        weights = {name: value.contiguous() for name, value in self.network_.state_dict().items()}
        save_file(weights, folder / WEIGHTS)
        return {"inverse_temperature": self.inverse_temperature_}

    @classmethod
    def read(
        cls, folder: Path, kind: str, classes: NDArray[Any], settings: dict[str, Any]
    ) -> NetworkBaseline:
        """See `Baseline.read`."""
        factor = read_inverse_temperature(settings)
        vocabulary = Vocabulary.load(folder / VOCABULARY)
        network = build_on_meta(lambda: make_network(kind, len(vocabulary), len(classes)))
        weights = read_weights(folder / WEIGHTS, shapes(network), BASELINE)
        network.load_state_dict(
            {name: value.float() for name, value in weights.items()}, assign=True
        )
        return cls(kind, classes, vocabulary, network.eval(), factor)


def make_network(kind: str, vocabulary_size: int, num_classes: int) -> Network:
    """A new network with its default sizes.

    Raises:
        ConfigError: `kind` is not a neural baseline.
    """
    if kind not in _NETWORKS:
        raise ConfigError(f"Unknown network {kind!r}; choose one of {', '.join(_NETWORKS)}.")
    return _NETWORKS[kind](vocabulary_size, num_classes)


def padded(ids: Sequence[Tensor]) -> Tensor:
    """Ids (words,) of several texts as one tensor (texts, N) with N at least 1."""
    rows = nn.utils.rnn.pad_sequence(list(ids), batch_first=True, padding_value=PAD)
    return rows if rows.shape[1] else rows.new_full((len(rows), 1), PAD)


def predict_scores(network: Network, ids: Sequence[Tensor], num_classes: int) -> Tensor:
    """Scores or norms (texts, J) by a network in eval mode, from the ids (words,) of each text.

    Texts of similar length share a batch, so that there is little padding.
    """
    scores = torch.zeros(len(ids), num_classes)
    with torch.inference_mode():
        for batch in _batches([len(text) for text in ids]):
            scores[batch] = network(padded([ids[n] for n in batch]))
    return scores


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Batches of text numbers, shortest texts first, of at most BATCH_WORDS words with padding."""
    batch: list[int] = []
    for n in np.argsort(lengths, kind="stable").tolist():
        if batch and (len(batch) + 1) * lengths[n] > BATCH_WORDS:
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch
