"""Specialisation loss: makes primary capsules specialise in classes. It is not in the paper.

With the paper's loss alone, the matrix C has little information. W_j is shared by all capsules, so
the class depends on the vector of a capsule and not on its number: a few capsules win the texts of
every class, and the others win none. This loss increases the mutual information of the winning
capsule and the class, and the number of capsules that win.
"""

from __future__ import annotations

import torch
from torch import Tensor

from icaps.config import TrainConfig


def specialisation_loss(routing: Tensor, labels: Tensor, config: TrainConfig) -> Tensor:
    """purity_weight H(class | winner) - spread_weight H(winner), in nats, over a batch.

    The winner of a text is the capsule with the largest routing weight for the text's class
    (section 2.6, k1 = 1), relaxed to a softmax over capsules of winner_sharpness times beta.

    Args:
        routing: beta_ij (texts, I, J).
        labels: (texts,), class numbers.
        config: Has the two weights and the sharpness.
    """
    to_label = routing[torch.arange(len(labels)), :, labels]  # (texts, I)
    winners = (config.winner_sharpness * to_label).softmax(1)  # (texts, I)
    joint = routing.new_zeros(routing.shape[2], routing.shape[1])  # (J, I), sums to 1
    joint = joint.index_add(0, labels, winners) / len(labels)
    winner_entropy = _entropy(joint.sum(0))
    class_entropy = _entropy(joint) - winner_entropy  # H(class | winner), by the chain rule
    return config.purity_weight * class_entropy - config.spread_weight * winner_entropy


def _entropy(shares: Tensor) -> Tensor:
    """-sum p log p in nats."""
    # Clamped, as the gradient at 0 would be infinite.
    bounded: Tensor = shares.clamp(min=torch.finfo(shares.dtype).tiny)
    return -(bounded * bounded.log()).sum()
