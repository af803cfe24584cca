"""What a training minimises: a loss of the class norms, and a specialisation loss of the routing.

The paper has the margin loss alone. The cross-entropy of the norms is an alternative: its gradient
does not vanish when the norm of the true class is the largest but still close to another.

With several labels per text, the margin loss has the term of a true class for each of them, and the
cross-entropy is that of one sigmoid per class.

The specialisation loss makes primary capsules specialise in classes. With the classification loss
alone, the matrix C has little information. W_j is shared by all capsules, so the class depends on
the vector of a capsule and not on its number: a few capsules win the texts of every class, and the
others win none. The specialisation loss increases the mutual information of the winning capsule and
the class, and the number of capsules that win.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from icaps.config import TrainConfig
from icaps.model import margin_loss

NORM_FACTOR = 20.0  # of norms, which are below 1, in the softmax of the cross-entropy
MIDDLE_NORM = 0.5  # whose sigmoid is 1/2, with several labels per text


def classification_loss(
    class_norms: Tensor, labels: Tensor, config: TrainConfig, weights: Tensor | None = None
) -> Tensor:
    """The mean over texts of the margin loss, or of the cross-entropy, as `config.loss` says.

    Args:
        class_norms: ||cc_j|| (B, J).
        labels: (B,), class numbers; or (B, J), 1 for each class of a text and else 0.
        config: Has the name of the loss, and the constants of the margin loss.
        weights: As in `model.margin_loss`.
    """
    if config.loss == "margin":
        return margin_loss(class_norms, labels, config, weights)
    if labels.ndim == 2:
        scores = NORM_FACTOR * (class_norms - MIDDLE_NORM)  # (B, J)
        losses = F.binary_cross_entropy_with_logits(
            scores, labels.to(scores.dtype), weights, reduction="sum"
        )
        return losses / len(labels)
    text_losses = F.cross_entropy(NORM_FACTOR * class_norms, labels, reduction="none")  # (B,)
    return (text_losses if weights is None else weights * text_losses).mean()


def specialisation_loss(
    routing: Tensor, labels: Tensor, config: TrainConfig, done: float = 1.0
) -> Tensor:
    """purity_weight H(class | winner) + spread_weight (log I - H(winner)), in nats, over a batch.

    Both parts are at least 0; log I, the maximum of H(winner), has no gradient.

    The winner of a text is the capsule with the largest routing weight for the text's class
    (section 2.6, k1 = 1), relaxed to a softmax over capsules of winner_sharpness times beta.

    A text with several labels counts once for each of them.

    Args:
        routing: beta_ij (texts, I, J).
        labels: (texts,), class numbers; or (texts, J), 1 for each class of a text and else 0.
        config: Has the two weights, their ramp and the sharpness.
        done: Share of the training's steps that are done. Both weights rise linearly from 0 until
            `ramp_share` of the steps are done, so that the network first learns the classes.
    """
    texts = torch.arange(len(labels), device=labels.device)
    if labels.ndim == 2:
        texts, labels = labels.nonzero(as_tuple=True)  # pairs of a text and one of its classes
        if not len(labels):
            return routing.sum() * 0.0
    to_label = routing[texts, :, labels]  # (texts, I)
    winners = (config.winner_sharpness * to_label).softmax(1)  # (texts, I)
    joint = routing.new_zeros(routing.shape[2], routing.shape[1])  # (J, I), sums to 1
    joint = joint.index_add(0, labels, winners) / len(labels)
    winner_entropy = _entropy(joint.sum(0))
    class_entropy = _entropy(joint) - winner_entropy  # H(class | winner), by the chain rule
    unspread = math.log(routing.shape[1]) - winner_entropy
    loss = config.purity_weight * class_entropy + config.spread_weight * unspread
    return loss * (min(1.0, done / config.ramp_share) if config.ramp_share else 1.0)


def _entropy(shares: Tensor) -> Tensor:
    """-sum p log p in nats."""
    # Clamped, as the gradient at 0 would be infinite.
    bounded: Tensor = shares.clamp(min=torch.finfo(shares.dtype).tiny)
    return -(bounded * bounded.log()).sum()
