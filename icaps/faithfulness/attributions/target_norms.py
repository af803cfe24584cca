"""The norm of the explained class as a function that can be differentiated, with a model's edits.

What is neutral (`interpret.edits`) still takes part in attention and routing, so it may have a
gradient, although it adds nothing itself.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from icaps.faithfulness.texts import ExplainedTexts
from icaps.interpret.edits import edited_norms, scale_removed
from icaps.model import AttentionOutput, ICapsNet
from icaps.text.batch import TokenBatch


def target_norms(
    texts: ExplainedTexts,
    attended: AttentionOutput,
    neutral: Tensor | None,
    sentences_per_text: NDArray[np.int64],
    targets: Tensor,
) -> Tensor:
    """The norm of one class per text (B,).

    Args:
        texts: The network, and the capsules that are switched off.
        attended: Primary capsules and attention of B texts with S sentences.
        neutral: What neutral words add to each sentence embedding (S, I, d_s), from
            `neutral_embeddings`; None if no word is neutral.
        sentences_per_text: (B,).
        targets: (B,), class numbers.
    """
    network, edits = texts.network, texts.network.edits
    activity, rows = network.route(attended, texts.capsule_mask), torch.arange(len(targets))
    if edits is None:
        norms: Tensor = activity.class_norms[rows, targets]
        return norms
    removed = activity.primary_capsules[:, None][:, :0]
    if neutral is not None:
        of_text = rows.repeat_interleave(torch.from_numpy(sentences_per_text))
        weighted = neutral * activity.sentence_attention[:, :, None]
        sums = weighted.new_zeros(len(targets), *weighted.shape[1:])
        sums = sums.index_add(0, of_text.to(sums.device), weighted)
        groups = torch.from_numpy(edits.groups)[targets.cpu()]
        of_groups = F.one_hot(groups, int(edits.groups.max()) + 1).to(sums)  # (B, G)
        removed = sums[:, None] * of_groups[:, :, None, None]  # (B, G, I, d_s)
        removed = scale_removed(network, removed, activity)
    return edited_norms(network.capsules, activity, edits, removed)[rows, targets]


def neutral_words(network: ICapsNet, tokens: TokenBatch, target: int) -> NDArray[np.bool_] | None:
    """Whether each word is neutral for a class (T,); None if none is."""
    counts = None if network.edits is None else network.edits.words(tokens)
    if counts is None or counts[:, target].all():
        return None
    neutral: NDArray[np.bool_] = ~counts[:, target]
    return neutral


def neutral_embeddings(
    network: ICapsNet, alpha: Tensor, regions: Tensor, words_per_sentence: NDArray[np.int64]
) -> Tensor:
    """What neutral words add to the sentence embeddings s^i_m (S, I, d_s).

    Args:
        network: The network.
        alpha: (T, I), the attention to each position.
        regions: (T, d_w), what neutral words add to the region at each position; zeros where the
            window has none.
        words_per_sentence: (S,).
    """
    places = regions.detach().any(1).nonzero()[:, 0]
    sentences = np.repeat(np.arange(len(words_per_sentence)), words_per_sentence)
    of_sentence = torch.from_numpy(sentences).to(places.device)[places]
    values = torch.einsum("nw,ipw->nip", regions[places], network.attention.value_weight)
    weighted = values * alpha[places][:, :, None]
    embeddings = weighted.new_zeros(len(words_per_sentence), *weighted.shape[1:])
    return embeddings.index_add(0, of_sentence, weighted)
