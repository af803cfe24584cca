"""Processes that train or evaluate one model together, as `torchrun` starts them.

In a single process nothing is sent, and each function gives what one process would.
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
    """Joins the other processes that torchrun started; without torchrun it does nothing.

    Args:
        device: As `choose_device` takes it. Unless it is "cpu", each process takes a GPU of its
            own where there are GPUs.
        timeout: Seconds after which a process that waits for another gives up with an error.
    """
    if not (dist.is_available() and dist.is_torchelastic_launched()):
        yield
        return
    # Torch's optimizers import this one. Its default arguments are the group of that moment, which
    # then outlives its end, and gloo's threads crash or hang the process as it exits.
    import torch.distributed.nn.functional

    cuda = device != "cpu" and torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    backend = "cpu:gloo,cuda:nccl" if cuda else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
    try:
        yield
        total(0)  # torchrun ends all when one ends with an error code, and 0 may be writing yet
    finally:
        dist.destroy_process_group()  # without it, the end of the process may hang or crash


def world() -> int:
    """How many processes work together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0; 0 alone writes and reports."""
    return dist.get_rank() if world() > 1 else 0


def share() -> slice:
    """Which items of a sequence are this process's; each item is one process's."""
    return slice(rank(), None, world())


def add_up(values: Tensor) -> Tensor:
    """The sum of `values` over all processes, in place."""
    if world() > 1:
        dist.all_reduce(values)
    return values


def total(value: float) -> float:
    """The sum of a number over all processes."""
    return float(add_up(torch.tensor(value, dtype=torch.float64)))


def add_up_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Replaces each gradient by its sum over all processes; a process without one adds zero.

    DistributedDataParallel would average over processes, which is the mean over the batch only
    where all shards are alike, and wants a forward and a backward pass of an empty shard too. A
    sum needs neither, and accumulation needs nothing more. Gradients here are a few megabytes, so
    sending them while others are still computed would gain little.
    """
    if world() == 1:
        return
    parameters = [parameter for parameter in parameters if parameter.requires_grad]
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = add_up(torch.cat([gradient.flatten() for gradient in gradients]))
    parts = flat.split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def copy_from_first(values: Iterable[Tensor]) -> None:
    """Gives each tensor the values that it has in process 0."""
    if world() > 1:
        for value in values:
            dist.broadcast(value, 0)


def gathered(value: Value) -> list[Value]:
    """What each process gave, in their order; it travels as pickles between these processes."""
    values = [value] * world()
    if world() > 1:
        dist.all_gather_object(values, value)
    return values


def same_everywhere(text: str) -> bool:
    """Whether all processes call this with the same text."""
    if world() == 1:
        return True
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
    extremes = torch.tensor([number, -number])
    dist.all_reduce(extremes, dist.ReduceOp.MAX)
    return int(extremes[0]) == -int(extremes[1])
