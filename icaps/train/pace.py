"""How fast a network trains on texts, and what a step keeps in memory: by taking some steps."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

from icaps.config import TrainConfig
from icaps.model import ICapsNet
from icaps.train.dataset import Corpus
from icaps.train.loop import margin_loss, validate
from icaps.train.objectives import specialisation_loss
from icaps.train.optimizer import AveragedAdam

_SECONDS = 1.0  # of steps
_FEWEST = 4  # steps, however long they take; the first, which sets things up, is not counted


class Pace(NamedTuple):
    """What training takes.

    step, word: Seconds of a step, and of each word in it on top; validated: of each text that is
    validated; kept: bytes a word that the forward pass keeps for the gradient.
    """

    step: float
    word: float
    validated: float
    kept: float


def measure_pace(network: ICapsNet, corpus: Corpus, train: TrainConfig, texts: int) -> Pace:
    """Takes steps of training as `training.train` does, on batches drawn from the corpus.

    The network is changed, and so is torch's random state.

    Args:
        network: Of the sizes that will be trained, on its device.
        corpus: Encoded texts like those to train on, at least one.
        train: Settings.
        texts: How many will be trained on.
    """
    random = np.random.default_rng(train.seed)

    def draw() -> Corpus:
        return corpus.select(random.integers(len(corpus), size=min(train.batch_size, texts)))

    network.train()
    kept = _kept_bytes(network, draw())
    updates = AveragedAdam(network, train, -(-texts // train.batch_size))
    words: list[int] = []
    times: list[float] = []
    end = time.perf_counter() + _SECONDS
    while len(times) < _FEWEST or time.perf_counter() < end:
        batch, started = draw(), time.perf_counter()
        words.append(_step(network, updates, batch, train))
        times.append(time.perf_counter() - started)
    # Neither can be negative, which a plain line through few points would not know.
    rows = np.stack([np.ones(len(words) - 1), words[1:]], axis=1)
    step, word = nnls(rows, np.array(times[1:]))[0].tolist()
    batch, started = draw(), time.perf_counter()
    validate(network.eval(), batch)
    return Pace(step, word, (time.perf_counter() - started) / len(batch), kept)


def _step(network: ICapsNet, updates: AveragedAdam, batch: Corpus, train: TrainConfig) -> int:
    """A step on a batch, in its parts; the number of its words."""
    words = 0
    for numbers in np.array_split(np.arange(len(batch)), train.accumulate):
        if not len(numbers):
            continue
        part = batch.select(numbers)
        tokens = part.tokens()
        activity = network(tokens)
        labels = torch.from_numpy(part.labels).to(activity.class_norms.device)
        loss = margin_loss(activity.class_norms, labels, train)
        if train.purity_weight or train.spread_weight:
            loss = loss + specialisation_loss(activity.routing, labels, train)
        loss.backward()
        loss.item()  # waits for a device that computes on its own
        words += len(tokens.ids)
    updates.step()
    return words


def _kept_bytes(network: ICapsNet, batch: Corpus) -> float:
    """Bytes a word that the forward pass keeps for the gradient, the weights aside."""
    own = {values.untyped_storage().data_ptr() for values in network.state_dict().values()}
    kept: dict[int, int] = {}

    def note(values: Tensor) -> Tensor:
        storage = values.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return values

    tokens = batch.tokens()
    with torch.autograd.graph.saved_tensors_hooks(note, lambda values: values):
        activity = network(tokens)
    del activity
    return sum(size for place, size in kept.items() if place not in own) / max(len(tokens.ids), 1)
