"""The device on which a network runs."""

from __future__ import annotations

import torch

from icaps.nn import distributed


def choose_device(name: str = "auto") -> torch.device:
    """`name` as a device; "auto" is cuda, else mps (in a single process only), else cpu."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    mps = torch.backends.mps.is_available() and distributed.world_size() == 1
    return torch.device("mps" if mps else "cpu")
