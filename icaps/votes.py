"""Prediction vectors of the capsule layer, u_j|i = W_j p_i + b_ij (equation 5): formed, or implied.

Routing asks two things of them: their weighted sums over capsules (equation 7), and their products
with class capsules (equation 10). With W_j shared by all capsules both can be had without them,

    sum_i beta_ij u_j|i = W_j sum_i beta_ij p_i + sum_i beta_ij b_ij
    u_j|i . v = p_i . (W_j^T v) + b_ij . v

which for many classes or capsules takes a tenth of the time, and a d_c-th of the memory.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

FORMED = 4_096  # most numbers of a text's votes (I, J, d_c) that are quicker to form (measured)


class Votes(Protocol):
    """The votes of some texts; classes come first, as each has a weight."""

    @property
    def texts(self) -> int:
        """How many texts there are."""

    def weigh(self, routing: Tensor) -> Tensor:
        """Sums over capsules, routing (J, texts, sets, I) to (J, texts, sets, d_c)."""

    def agree(self, outputs: Tensor) -> Tensor:
        """Products with class capsules, (J, texts, sets, d_c) to (J, texts, sets, I)."""

    def detach(self) -> Votes:
        """The same, of which no gradient is computed."""


class FormedVotes(NamedTuple):
    """votes (J texts, I, d_c), those of the first class for all texts, then of the next one."""

    votes: Tensor
    texts: int

    @classmethod
    def of(cls, primary_capsules: Tensor, weight: Tensor, bias: Tensor) -> FormedVotes:
        """Votes of primary capsules (texts, I, d_p).

        Args:
            primary_capsules: (texts, I, d_p).
            weight: (J, d_c, d_p), or (I, J, d_c, d_p) where each capsule has its own.
            bias: (I, J, d_c).
        """
        if weight.dim() == 4:
            votes = torch.einsum("bip,ijcp->bijc", primary_capsules, weight) + bias
        else:
            flat = primary_capsules @ weight.flatten(0, 1).T  # (texts, I, J d_c)
            votes = flat.unflatten(2, weight.shape[:2]) + bias
        return cls(votes.permute(2, 0, 1, 3).flatten(0, 1), len(primary_capsules))

    def weigh(self, routing: Tensor) -> Tensor:
        """As `Votes`."""
        sums = torch.bmm(routing.flatten(0, 1), self.votes)
        return sums.view(*routing.shape[:3], self.votes.shape[2])

    def agree(self, outputs: Tensor) -> Tensor:
        """As `Votes`."""
        products = torch.bmm(outputs.flatten(0, 1), self.votes.transpose(1, 2))
        return products.view(*outputs.shape[:3], self.votes.shape[1])

    def detach(self) -> FormedVotes:
        """As `Votes`."""
        return FormedVotes(self.votes.detach(), self.texts)


class ImpliedVotes(NamedTuple):
    """Primary capsules (texts, I, d_p), weight (J, d_c, d_p), bias (I, J, d_c)."""

    primary_capsules: Tensor
    weight: Tensor
    bias: Tensor

    @property
    def texts(self) -> int:
        """As `Votes`."""
        return len(self.primary_capsules)

    def weigh(self, routing: Tensor) -> Tensor:
        """As `Votes`."""
        classes, texts, sets, _ = routing.shape
        pooled = torch.bmm(_texts_first(routing), self.primary_capsules)
        biases = torch.bmm(routing.flatten(1, 2), self.bias.transpose(0, 1))
        sums = torch.baddbmm(
            biases, _classes_first(pooled, classes, sets).flatten(1, 2), self.weight.transpose(1, 2)
        )
        return sums.view(classes, texts, sets, self.weight.shape[1])

    def agree(self, outputs: Tensor) -> Tensor:
        """As `Votes`."""
        classes, texts, sets, _ = outputs.shape
        flat = outputs.flatten(1, 2)
        directions = torch.bmm(flat, self.weight).view(classes, texts, sets, self.weight.shape[2])
        products = torch.bmm(_texts_first(directions), self.primary_capsules.transpose(1, 2))
        biases = torch.bmm(flat, self.bias.permute(1, 2, 0))
        return _classes_first(products, classes, sets) + biases.view(
            classes, texts, sets, len(self.bias)
        )

    def detach(self) -> ImpliedVotes:
        """As `Votes`."""
        return ImpliedVotes(*(part.detach() for part in self))


def _texts_first(values: Tensor) -> Tensor:
    """(J, texts, sets, n) to (texts, J sets, n)."""
    return values.transpose(0, 1).flatten(1, 2)


def _classes_first(values: Tensor, classes: int, sets: int) -> Tensor:
    """(texts, J sets, n) to (J, texts, sets, n)."""
    return values.view(len(values), classes, sets, values.shape[2]).transpose(0, 1)
