"""Data parallelism: several processes, started by `torchrun`, train or evaluate one model.

In a single process nothing is sent, and each function returns the value of that process.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

Value = TypeVar("Value")


@contextmanager
def process_group(device: str, timeout: float) -> Iterator[None]:
    """Joins the process group of torchrun; does nothing without torchrun.

    Args:
        device: As for `choose_device`. Unless it is "cpu", each process uses its own GPU, if there
            are GPUs.
        timeout: Seconds after which a process that waits for another fails.
    """
    if not (dist.is_available() and dist.is_torchelastic_launched()):
        yield
        return
    # Torch's optimizers import this module, and its default arguments reference the process group
    # of that moment. If a group existed, it would never be freed, and gloo's threads would crash or
    # hang the process at its exit. So it is imported before the group exists.
    import torch.distributed.nn.functional

    cuda = device != "cpu" and torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
    try:
        yield
        total(0)  # a barrier: torchrun ends all when one fails, and process 0 may still be writing
    finally:
        dist.destroy_process_group()  # without it, the end of the process may hang or crash


def world_size() -> int:
    """Number of processes."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Rank of this process, from 0; only process 0 writes files and reports."""
    return dist.get_rank() if world_size() > 1 else 0


def share() -> slice:
    """The items of a sequence that this process works on; each item belongs to one process."""
    return slice(rank(), None, world_size())


def all_reduce(values: Tensor) -> Tensor:
    """The sum of `values` over all processes, in place."""
    if world_size() > 1:
        dist.all_reduce(values)
    return values


def total(value: float) -> float:
    """The sum of a number over all processes."""
    return float(all_reduce(torch.tensor(value, dtype=torch.float64)))


def sum_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Replaces each gradient by its sum over all processes; a missing gradient counts as zero.

    DistributedDataParallel averages over processes, which is the mean over the batch only if all
    shards have one size, and it needs a forward and backward pass for an empty shard as well. A sum
    needs neither, and works with accumulation. Gradients here are a few megabytes, so overlapping
    communication with the backward pass would gain little.
    """
    if world_size() == 1:
        return
    parameters = [parameter for parameter in parameters if parameter.requires_grad]
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = all_reduce(torch.cat([gradient.flatten() for gradient in gradients]))
    parts = flat.split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def broadcast(values: Iterable[Tensor]) -> None:
    """Overwrites each tensor with its values in process 0."""
    if world_size() > 1:
        for value in values:
            dist.broadcast(value, 0)


def all_gather(value: Value) -> list[Value]:
    """The values of all processes, by rank; sent as pickles between these processes."""
    values = [value] * world_size()
    if world_size() > 1:
        dist.all_gather_object(values, value)
    return values


def same_everywhere(text: str) -> bool:
    """Whether `text` is the same in all processes."""
    if world_size() == 1:
        return True
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
    extremes = torch.tensor([number, -number])
    dist.all_reduce(extremes, dist.ReduceOp.MAX)
    return int(extremes[0]) == -int(extremes[1])
