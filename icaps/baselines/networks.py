"""Three text classifiers, plainly written in torch, over padded ids.

Words past a text's end count as nothing, so that a text's result is the same in any batch. Rows of
the large tables of words get sparse gradients, as a batch has few of the words.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icaps.nn.layers import squash
from icaps.text.batch import PAD

_SPREAD = 0.1  # of the first numbers of a word


class WordCNN(nn.Module):
    """The largest value of each filter over the text (Kim 2014, section 2; CNN-rand).

    Filters of 3, 4 and 5 words, ReLU, dropout of a half before the linear layer.
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
        embedded = self.embedding(ids).transpose(1, 2) * present
        found = [F.relu(layer(embedded)[..., : ids.shape[1]]) for layer in self.convolutions]
        pooled = torch.cat([(values * present).amax(2) for values in found], dim=1)
        scores: Tensor = self.classes(F.dropout(pooled, 0.5, self.training))
        return scores


class RegionEmbeddings(nn.Module):
    """Sums of word-context region embeddings (Qiao et al. 2018, sections 3.1 to 3.4).

    A word has an embedding, and a unit K of a column for each of the 2c + 1 places around it. Its
    region is, number by number, the largest of the neighbours' embeddings times their columns.
    """

    margin_loss = False

    def __init__(self, vocabulary_size: int, num_classes: int, dim: int = 128, c: int = 3) -> None:
        super().__init__()
        self.places = 2 * c + 1
        self.embedding = _word_table(vocabulary_size, dim)
        self.units = _word_table(vocabulary_size, dim * self.places)
        self.classes = nn.Linear(dim, num_classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores (texts, J) of ids (texts, N)."""
        units = self.units(ids).unflatten(2, (self.places, -1))  # (texts, N, 2c + 1, dim)
        side = self.places // 2
        around = F.pad(ids, (side, side), value=PAD).unfold(1, self.places, 1)
        regions = (units * self.embedding(around)).amax(2)  # (texts, N, dim)
        scores: Tensor = self.classes((regions * (ids != PAD)[..., None]).sum(1))
        return scores


class CapsNet(nn.Module):
    """Capsules of a convolution at every second place, routed by agreement.

    Sabour, Frosst and Hinton (2017), sections 2 and 4, over words as Yang et al. (2018): an n-gram
    convolution, a convolution whose outputs in groups are primary capsules, and one matrix a
    channel and class for the votes, whatever the place.
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
        capsules = self.primary(ngrams) * present[..., ::2]  # (texts, channels * d_p, places)
        capsules = squash(capsules.unflatten(1, (-1, self.primary_dim)).transpose(2, 3))
        votes = torch.einsum("tcnp,cjdp->tcnjd", capsules, self.votes).flatten(1, 2)
        logits = votes.new_zeros(votes.shape[:3])  # (texts, capsules, J)
        for step in range(self.iterations):
            found = squash(torch.einsum("tij,tijd->tjd", logits.softmax(2), votes))
            if step + 1 < self.iterations:
                logits = logits + torch.einsum("tijd,tjd->tij", votes, found)
        norms: Tensor = found.norm(dim=2)
        return norms


def _word_table(vocabulary_size: int, dim: int) -> nn.Embedding:
    """Numbers of each word, small at first, so that Adam's steps move them; those of PAD stay 0."""
    table = nn.Embedding(vocabulary_size, dim, padding_idx=PAD, sparse=True)
    nn.init.normal_(table.weight, std=_SPREAD)
    with torch.no_grad():
        table.weight[PAD] = 0
    return table
