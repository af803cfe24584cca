"""Dropout from cheap random bits: torch's own draws a whole random number for each value."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

_LEVELS = 256  # of a random byte, to whole ones of which shares are rounded


class _Masked(torch.autograd.Function):
    """values * mask * scale, in one pass forward and one backward."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, mask: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(mask)
        ctx.scale = scale
        return torch.ops.aten.native_dropout_backward(values, mask, scale)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (mask,) = ctx.saved_tensors
        (gradient,) = gradients
        return torch.ops.aten.native_dropout_backward(gradient, mask, ctx.scale), None, None


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
    kept = (torch.from_numpy(numbers) >= dropped).view(values.shape)
    masked: Tensor = _Masked.apply(  # type: ignore[no-untyped-call]
        values, kept, _LEVELS / (_LEVELS - dropped)
    )
    return masked
