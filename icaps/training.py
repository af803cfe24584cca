"""Training: margin loss, Adam, averaged weights, and the best epoch by validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import AveragedModel

from icaps.config import TrainConfig
from icaps.corpus import Corpus
from icaps.model import ICapsNet

PREDICT_BATCH = 512  # texts a pass where no gradient is kept


@dataclass(frozen=True)
class Step:
    """Where training stands after a step: counts from 1, the mean loss of the epoch so far."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    texts_per_second: float


@dataclass(frozen=True)
class Epoch:
    """One line of the history."""

    epoch: int
    loss: float
    validation_accuracy: float
    seconds: float


class Callback(Protocol):
    """What training notifies: after each step, and after each epoch with its validation."""

    def on_step(self, step: Step) -> None:
        """After each step."""

    def on_epoch(self, epoch: Epoch) -> None:
        """After each epoch."""


@dataclass
class Training:
    """The course of a training: history, the best epoch (from 1), and whether Ctrl-C ended it."""

    history: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    best_accuracy: float = 0.0
    interrupted: bool = False


def choose_device(name: str = "auto") -> torch.device:
    """`name` as a device; "auto" takes cuda, then mps, then cpu."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def margin_loss(class_norms: Tensor, labels: Tensor, config: TrainConfig) -> Tensor:
    """Mean over texts of the summed margin loss of the paper's section 4.

    Args:
        class_norms: (texts, J).
        labels: (texts,), class numbers.
        config: Gives m+, m- and lambda.
    """
    present = torch.nn.functional.one_hot(labels, class_norms.shape[1]).to(class_norms.dtype)
    missing = (config.margin_present - class_norms).clamp(min=0).square()
    wrong = (class_norms - config.margin_absent).clamp(min=0).square()
    return (present * missing + config.absent_weight * (1 - present) * wrong).sum(1).mean()


def predict_norms(network: ICapsNet, corpus: Corpus) -> Tensor:
    """Class norms (texts, J) of a corpus, on the CPU; the network is expected in eval mode."""
    device = network.fixed_embedding.device
    order = np.arange(len(corpus))
    batches = [
        order[start : start + PREDICT_BATCH] for start in range(0, len(order), PREDICT_BATCH)
    ]
    with torch.inference_mode():
        norms = [
            network(corpus.select(batch).pack().to(device)).class_norms.cpu() for batch in batches
        ]
    return torch.cat(norms)


def accuracy(network: ICapsNet, corpus: Corpus) -> float:
    """Share of the corpus's texts whose largest class norm is their label's."""
    predicted = predict_norms(network, corpus).argmax(1)
    return float((predicted == torch.from_numpy(corpus.labels)).double().mean())


def train(
    network: ICapsNet,
    training: Corpus,
    validation: Corpus,
    config: TrainConfig,
    callbacks: Sequence[Callback] = (),
) -> Training:
    """Trains `network` in place and leaves in it the weights of the best epoch.

    Each epoch's averaged weights are scored on `validation`; after `patience` epochs that bring
    nothing better, or at Ctrl-C, training ends. The network is left in eval mode. The same seed,
    data and machine give the same weights.
    """
    course = Training()
    updates = _Updates(network, config, steps_per_epoch(training, config))
    average = updates.average
    order = np.random.default_rng(config.seed)
    torch.manual_seed(config.seed)
    best: dict[str, Tensor] | None = None
    try:
        for epoch in range(1, config.epochs + 1):
            started = time.perf_counter()
            loss = _run_epoch(epoch, network, updates, training, order, config, callbacks)
            score = accuracy(average, validation)
            record = Epoch(epoch, loss, score, time.perf_counter() - started)
            course.history.append(record)
            if best is None or score > course.best_accuracy:
                course.best_epoch, course.best_accuracy = epoch, score
                best = _trained_weights(average)
            for callback in callbacks:
                callback.on_epoch(record)
            if epoch - course.best_epoch >= config.patience:
                break
    except KeyboardInterrupt:
        course.interrupted = True
    network.load_state_dict(best or _trained_weights(average), strict=False)
    network.eval()
    return course


class _Updates:
    """Adam under its schedule, and the average of the weights that it leaves step by step."""

    def __init__(self, network: ICapsNet, config: TrainConfig, steps: int) -> None:
        self._network = network
        self._clip_norm = config.clip_norm
        self._averaged = AveragedModel(network, avg_fn=_moving_average(config.average_decay))
        self.average = cast(ICapsNet, self._averaged.module).eval()
        trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        self._optimizer = torch.optim.Adam(trained, lr=config.learning_rate)
        self._schedule = LambdaLR(self._optimizer, rate_shares(config, steps))

    def step(self, loss: Tensor) -> None:
        """Moves the weights against the gradient of `loss`."""
        self._optimizer.zero_grad()
        loss.backward()
        if self._clip_norm:
            torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._clip_norm)
        self._optimizer.step()
        self._schedule.step()
        self._averaged.update_parameters(self._network)


def _run_epoch(
    epoch: int,
    network: ICapsNet,
    updates: _Updates,
    corpus: Corpus,
    order: np.random.Generator,
    config: TrainConfig,
    callbacks: Sequence[Callback],
) -> float:
    network.train()
    device = network.fixed_embedding.device
    steps = steps_per_epoch(corpus, config)
    started, seen, total = time.perf_counter(), 0, 0.0
    for step, batch in enumerate(_batches(corpus, config.batch_size, order), start=1):
        norms = network(batch.pack().to(device)).class_norms
        loss = margin_loss(norms, torch.from_numpy(batch.labels).to(device), config)
        updates.step(loss)
        seen += len(batch)
        total += loss.item() * len(batch)
        speed = seen / (time.perf_counter() - started)
        for callback in callbacks:
            callback.on_step(Step(epoch, config.epochs, step, steps, total / seen, speed))
    return total / seen


def steps_per_epoch(corpus: Corpus, config: TrainConfig) -> int:
    """Batches in an epoch, the last one perhaps smaller."""
    return -(-len(corpus) // config.batch_size)


def rate_shares(config: TrainConfig, steps_per_epoch: int) -> Callable[[int], float]:
    """The share of the learning rate for a step, from 0: a rise, then a line down to 0."""
    total = steps_per_epoch * config.epochs
    warmup = int(config.warmup_share * total)

    def share(step: int) -> float:
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return (total - step) / (total - warmup) if config.decay else 1.0

    return share


def _batches(corpus: Corpus, size: int, order: np.random.Generator) -> Iterator[Corpus]:
    texts = order.permutation(len(corpus))
    for start in range(0, len(texts), size):
        yield corpus.select(texts[start : start + size])


def _moving_average(decay: float) -> Callable[[Tensor, Tensor, Tensor | int], Tensor]:
    """Exponential, with a decay that grows to its value so that the first weights are forgotten."""

    def average(mean: Tensor, current: Tensor, updates: Tensor | int) -> Tensor:
        share = min(decay, (1 + int(updates)) / (10 + int(updates)))
        return mean.lerp(current, 1 - share)

    return average


def _trained_weights(network: ICapsNet) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in network.named_parameters()}
