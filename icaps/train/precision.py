"""The precision of training's largest products, chosen by a short measurement.

A third of a step is the product of the batch's distinct words with the kernel, and that of its
gradient (`layers.RegionEmbedding.project`). Processors with units for bfloat16 (AMX, CUDA) may do
it several times as fast in that; others emulate it, at many times the time. All the rest of a step
stays in float32, as little would be won there, and so do the sums (but where torch, on a GPU,
splits one and adds its parts in bfloat16: `allow_bf16_reduced_precision_reduction`). So each
projected number of a word w is within 2^-6 sum_d |w_d W_d| of that in float32: of what is rounded
to 8 bits, w, W, the part of the frozen numbers and the whole, each adds 2^-8 at most. What is
trained is read in float32: validation, prediction and explanation don't differ.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from icaps.config import AUTO, BFLOAT16, FLOAT32
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.nn.layers import RegionEmbedding

_WORDS = 16, 256  # of which the products are measured, at least and at most: fewer than a batch
_SUMMANDS = 2**26  # has, so that a product has so many, as those that are emulated take long
_ROUNDS = 5  # that are counted, at most, after a first one, which sets things up
_SECONDS = 0.5  # after which no round begins but the second
_WORTH = 0.9  # bfloat16 is taken where it needs less than this share of the time


class Choice(NamedTuple):
    """A precision, and the time of bfloat16 over that of float32 if it was measured, else None."""

    precision: str
    ratio: float | None

    def __str__(self) -> str:
        line = f"products of words with the kernel in {self.precision}"
        if self.ratio is None:
            return line
        return f"{line}: in bfloat16 they take {self.ratio:.2g} times as long as in float32"


def choose_precision(wanted: str, network: ICapsNet) -> Choice:
    """What `TrainConfig.product_precision` comes to for a network where it is.

    All processes choose alike.
    """
    if wanted != AUTO:
        return Choice(wanted, None)
    device = network.fixed_embedding.device
    if device.type not in ("cpu", "cuda"):  # others may not know bfloat16 at all
        return Choice(FLOAT32, None)
    config = network.config
    sizes = config.fixed_dim, config.trained_dim, config.region_dim, config.kernel_size
    full, low = map(distributed.total, _measured(device, *sizes))
    return Choice(BFLOAT16 if low < _WORTH * full else FLOAT32, low / full)


@lru_cache
def _measured(
    device: torch.device, fixed_dim: int, trained_dim: int, region_dim: int, kernel_size: int
) -> tuple[float, float]:
    """Seconds of the products in float32 and in bfloat16: the least of some rounds by turns."""
    with torch.random.fork_rng(devices=[]):
        layer = RegionEmbedding(fixed_dim + trained_dim, region_dim, kernel_size).to(device)
    fewest, most = _WORDS
    count = min(max(fewest, _SUMMANDS // layer.weight.numel()), most)
    fixed = torch.ones(count, fixed_dim, device=device)
    trained = torch.ones(count, trained_dim, device=device, requires_grad=True)
    times: dict[str, list[float]] = {FLOAT32: [], BFLOAT16: []}
    end = time.perf_counter() + _SECONDS
    while len(times[BFLOAT16]) < 2 or (
        len(times[BFLOAT16]) <= _ROUNDS and time.perf_counter() < end
    ):
        for layer.precision, found in times.items():
            found.append(_seconds(layer, fixed, trained))
    full, low = (min(found[1:]) for found in times.values())
    return full, low


def _seconds(layer: RegionEmbedding, fixed: Tensor, trained: Tensor) -> float:
    started = time.perf_counter()
    projected = layer.project(fixed, trained)
    gradients = torch.autograd.grad(projected.sum(), (layer.weight, trained))
    gradients[0].sum().item()  # waits for a device that computes on its own
    return time.perf_counter() - started
