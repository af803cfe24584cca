"""One plain training loop for the three networks."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from icaps.baselines.neural import Network, padded, predict_scores
from icaps.config import TrainConfig
from icaps.errors import TrainingError
from icaps.train.callbacks import Callback, Epoch, Step
from icaps.train.dataset import Corpus
from icaps.train.loop import margin_loss

CHUNK = 4_096  # validation texts that are held at a time


@dataclass(frozen=True)
class Course:
    """What came of a training: the best epoch, from 1, and the scores (texts, J) of its network.

    They are of the validation texts.
    """

    best_epoch: int
    validation_accuracy: float
    scores: Tensor


def train_network(
    network: Network,
    training: Corpus,
    validation: Corpus,
    config: TrainConfig,
    callbacks: Sequence[Callback] = (),
) -> Course:
    """Trains in place by Adam and leaves the weights of the epoch that is best on `validation`.

    The loss is the margin loss for a network of capsules and cross-entropy for the others. Of
    `config` the learning rate, batch size, epochs, patience, seed and margins count.

    Raises:
        TrainingError: The loss is no number any more.
    """
    torch.manual_seed(config.seed)
    optimizers = _optimizers(network, config.learning_rate)
    best: Course | None = None
    kept: dict[str, Any] = {}
    for epoch in range(1, config.epochs + 1):
        started = time.perf_counter()
        loss = _train_epoch(network, training, config, optimizers, epoch, callbacks)
        scores = _scores_of(network.eval(), validation)
        score = float((scores.argmax(1).numpy() == validation.labels).mean())
        if best is None or score > best.validation_accuracy:
            best, kept = Course(epoch, score, scores), copy.deepcopy(network.state_dict())
        for callback in callbacks:
            callback.on_epoch(Epoch(epoch, loss, score, time.perf_counter() - started))
        if epoch - best.best_epoch >= config.patience:
            break
    assert best is not None
    network.load_state_dict(kept)
    return best


def _train_epoch(
    network: Network,
    training: Corpus,
    config: TrainConfig,
    optimizers: Sequence[torch.optim.Optimizer],
    epoch: int,
    callbacks: Sequence[Callback],
) -> float:
    """The mean loss of an epoch's texts, in an order of the seed and the epoch."""
    network.train()
    order = np.random.default_rng([config.seed, epoch]).permutation(len(training))
    steps = -(-len(order) // config.batch_size)
    total, started = 0.0, time.perf_counter()
    for step in range(1, steps + 1):
        done = (step - 1) * config.batch_size
        batch = training.select(order[done : done + config.batch_size])
        loss = _loss(network, batch, config)
        if not math.isfinite(loss.item()):
            raise TrainingError(f"The loss is no number any more in step {step} of epoch {epoch}.")
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        done += len(batch)
        total += loss.item() * len(batch)
        rate = done / (time.perf_counter() - started)
        told = Step(epoch, config.epochs, step, steps, total / done, rate, config.learning_rate)
        for callback in callbacks:
            callback.on_step(told)
    return total / len(order)


def _loss(network: Network, batch: Corpus, config: TrainConfig) -> Tensor:
    scores, labels = network(padded(texts_of(batch))), torch.from_numpy(batch.labels)
    if network.margin_loss:
        return margin_loss(scores, labels, config)
    return F.cross_entropy(scores, labels)


def texts_of(corpus: Corpus) -> list[Tensor]:
    """The ids (words,) of each text of a corpus whose texts are not split into sentences."""
    return [torch.from_numpy(text.ids).long() for text in corpus.tokens()]


def _scores_of(network: Network, corpus: Corpus) -> Tensor:
    """Scores (texts, J); a part of the texts is held at a time."""
    parts = np.array_split(np.arange(len(corpus)), 1 + len(corpus) // CHUNK)
    classes = int(corpus.all_labels.max()) + 1
    return torch.cat(
        [predict_scores(network, texts_of(corpus.select(part)), classes) for part in parts]
    )


def _optimizers(network: nn.Module, rate: float) -> list[torch.optim.Optimizer]:
    """Adam, and the one for tables whose gradients are sparse, which moves rows that were read."""
    tables = [
        module.weight
        for module in network.modules()
        if isinstance(module, nn.Embedding) and module.sparse
    ]
    kept = {id(table) for table in tables}
    others = [weight for weight in network.parameters() if id(weight) not in kept]
    return [torch.optim.Adam(others, lr=rate), torch.optim.SparseAdam(tables, lr=rate)]
