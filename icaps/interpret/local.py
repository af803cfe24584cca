"""Local explanation: the K-grams that the most routed capsules attend to (section 2.6)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from icaps.errors import ConfigError


@dataclass(frozen=True)
class Spotted:
    """A K-gram by word positions: words `first` to before `last` around `position`."""

    capsule: int
    position: int
    first: int
    last: int


def spot_kgrams(
    routing: Tensor,
    attention: Tensor,
    target: int,
    kernel_size: int,
    top_capsules: int,
    top_kgrams: int,
) -> list[Spotted]:
    """The K-grams that explain one text; ties go to the lower capsule, then the earlier word.

    Args:
        routing: (I, J), beta_ij.
        attention: (N, I), alpha^i_n of the text's words.
        target: The class j that is explained.
        kernel_size: K; the window is the one that the convolution reads, clipped at the ends.
        top_capsules: k1; more than I means all.
        top_kgrams: k2; more than N means all.

    Raises:
        ConfigError: k1 or k2 is below 1.
    """
    if top_capsules < 1 or top_kgrams < 1:
        raise ConfigError(
            f"top_capsules is {top_capsules} and top_kgrams {top_kgrams}; both must be at least 1."
        )
    left = (kernel_size - 1) // 2
    spotted = []
    for capsule in top(routing[:, target], top_capsules):
        for position in top(attention[:, capsule], top_kgrams):
            first = max(position - left, 0)
            last = min(position - left + kernel_size, len(attention))
            spotted.append(Spotted(capsule, position, first, last))
    return spotted


def top(weights: Tensor, count: int) -> list[int]:
    """Positions of the `count` largest of (n,) weights, largest first, the earlier on a tie."""
    order: list[int] = torch.argsort(weights, descending=True, stable=True)[:count].tolist()
    return order


def cover(spotted: list[Spotted], length: int) -> list[int]:
    """How many K-grams lie over each of a text's `length` words."""
    counts = [0] * length
    for kgram in spotted:
        for word in range(kgram.first, kgram.last):
            counts[word] += 1
    return counts
