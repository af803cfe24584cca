"""Dropout of values, from random bytes on a CPU, and dropout of words."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

_LEVELS = 256  # values of a random byte; shares are rounded to multiples of 1 / _LEVELS


def dropout(values: Tensor, share: float, training: bool) -> Tensor:
    """Sets a share of the values to zero at random and scales the others up, in training only.

    As `F.dropout`, and it follows torch's seed too. On a CPU it is faster: it draws one random byte
    per value, so the share is rounded to a multiple of 1/256.
    """
    if not training or not share:
        return values
    if values.device.type != "cpu":
        return F.dropout(values, share)
    dropped = min(max(round(share * _LEVELS), 1), _LEVELS - 1)
    bits = np.random.SFC64(int(torch.randint(2**62, ())))
    numbers = bits.random_raw(-(-values.numel() // 8)).view(np.uint8)[: values.numel()]
    mask = (numbers >= dropped).view(np.uint8)  # torch converts bytes faster than bools
    factors = torch.from_numpy(mask).to(values.dtype).mul_(_LEVELS / (_LEVELS - dropped))
    return values * factors.view(values.shape)


def dropped_words(lengths: Tensor, shares: Tensor, generator: torch.Generator) -> Tensor:
    """Random mask of the words to drop (words,); at least one word of each sentence is retained.

    Args:
        lengths: (sentences,), words of each sentence.
        shares: (sentences,), share of its words to drop, from 0 to 1.
        generator: Source of random numbers.
    """
    word_draws = torch.rand(int(lengths.sum()), generator=generator)  # (words,)
    sentence_draws = torch.rand(len(lengths), generator=generator)
    dropped = word_draws < shares.repeat_interleave(lengths)
    retained = lengths.cumsum(0) - lengths + (sentence_draws * lengths).long()  # one per sentence
    dropped[retained[lengths > 0]] = False
    return dropped
