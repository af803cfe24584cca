"""Prediction vectors of the capsule layer, u_j|i = W_j p_i + b_ij (equation 5): formed, or implied.

Routing asks two things of them: their weighted sums over capsules (equation 7), and their products
with class capsules (equation 10). With W_j shared by all capsules both can be had without them,

    sum_i beta_ij u_j|i = W_j sum_i beta_ij p_i + sum_i beta_ij b_ij
    u_j|i . v = p_i . (W_j^T v) + b_ij . v

which for many texts, classes or capsules takes as little as a tenth of the time, and a d_c-th of
the memory.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

FORMED = (
    262_144  # most numbers of a batch's votes that are quicker to form: they fit a core's cache
)


class Votes(Protocol):
    """The votes of some texts."""

    @property
    def texts(self) -> int:
        """How many texts there are."""

    def weigh(self, routing: Tensor) -> Tensor:
        """Sums over capsules, routing (texts, J, sets, I) to (texts, J, sets, d_c)."""

    def agree(self, outputs: Tensor) -> Tensor:
        """Products with class capsules, (texts, J, sets, d_c) to (texts, J, sets, I)."""

    def detach(self) -> Votes:
        """The same, of which no gradient is computed."""


class FormedVotes(NamedTuple):
    """votes (texts J, I, d_c), those of the first text for all classes, then of the next one."""

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
        return cls(votes.transpose(1, 2).flatten(0, 1), len(primary_capsules))

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
        shape = routing.shape[:3]
        pooled = torch.bmm(routing.flatten(1, 2), self.primary_capsules)
        biases = torch.bmm(_classes_first(routing), self.bias.transpose(0, 1))
        by_class = _classes_first(pooled.view(*shape, self.weight.shape[2]))
        return _texts_first(torch.baddbmm(biases, by_class, self.weight.transpose(1, 2)), shape)

    def agree(self, outputs: Tensor) -> Tensor:
        """As `Votes`."""
        shape, by_class = outputs.shape[:3], _classes_first(outputs)
        directions = _texts_first(torch.bmm(by_class, self.weight), shape).flatten(1, 2)
        products = torch.bmm(directions, self.primary_capsules.transpose(1, 2))
        biases = _texts_first(torch.bmm(by_class, self.bias.permute(1, 2, 0)), shape)
        return products.view(*shape, len(self.bias)) + biases

    def detach(self) -> ImpliedVotes:
        """As `Votes`."""
        return ImpliedVotes(*(part.detach() for part in self))


def _classes_first(values: Tensor) -> Tensor:
    """(texts, J, sets, n) to (J, texts sets, n), as each class has a weight."""
    return values.transpose(0, 1).flatten(1, 2)


def _texts_first(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """(J, texts sets, n) to (texts, J, sets, n), where `shape` is all of it but n."""
    texts, classes, sets = shape
    return values.view(classes, texts, sets, values.shape[2]).transpose(0, 1)
