"""Dropout of numbers from cheap random bits, where torch draws a number for each; and of words."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

_LEVELS = 256  # of a random byte, to whole ones of which shares are rounded


def dropout(values: Tensor, share: float, training: bool) -> Tensor:
    """Zeroes a share of the values at random and scales the others, when training.

    On a CPU the share is rounded to a multiple of 1/256, and follows from torch's seed as torch's
    own dropout does.
    """
    if not training or not share:
        return values
    if values.device.type != "cpu":
        return F.dropout(values, share)
    dropped = min(max(round(share * _LEVELS), 1), _LEVELS - 1)
    bits = np.random.SFC64(int(torch.randint(2**62, ())))
    numbers = bits.random_raw(-(-values.numel() // 8)).view(np.uint8)[: values.numel()]
    kept = (numbers >= dropped).view(np.uint8)  # torch turns bytes into floats, not bools, quickly
    factors = torch.from_numpy(kept).to(values.dtype).mul_(_LEVELS / (_LEVELS - dropped))
    return values * factors.view(values.shape)


def dropped_words(lengths: Tensor, shares: Tensor, generator: torch.Generator) -> Tensor:
    """Which words to leave out (tokens,), at random; one of each sentence stays.

    Args:
        lengths: (sentences,), words of each sentence, which lie end to end.
        shares: (sentences,), how many of its words, from 0 to 1.
        generator: Of random numbers.
    """
    drawn = torch.rand(int(lengths.sum()), generator=generator)
    staying = torch.rand(len(lengths), generator=generator)
    dropped = drawn < shares.repeat_interleave(lengths)
    stays = lengths.cumsum(0) - lengths + (staying * lengths).long()
    dropped[stays[lengths > 0]] = False
    return dropped
