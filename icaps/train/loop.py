"""Training: margin loss, Adam, averaged weights, and the best epoch by validation."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from icaps.config import TrainConfig
from icaps.errors import TrainingError
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.train.corpus import Corpus
from icaps.train.objectives import specialisation_loss
from icaps.train.optimizer import Updates
from icaps.train.precision import choose_precision
from icaps.train.resume import Last, State
from icaps.train.signals import Interruption

PREDICT_BATCH = 512  # texts a pass where no gradient is kept
SAVE_EVERY = 300.0  # seconds between states that are kept within a long epoch


@dataclass(frozen=True)
class Step:
    """Where training stands after a step: counts from 1, the mean loss of the epoch so far.

    `learning_rate` is that of the step.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    texts_per_second: float
    learning_rate: float


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
    """The course of a training: history, the best epoch (from 1), and whether Ctrl-C ended it.

    It stands in `epoch` (from 1), of which `step` steps are done, in `seconds`; the losses of
    their texts add up to `loss`. Its products are of `precision`; "" before it is chosen.
    """

    history: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    best_accuracy: float = 0.0
    interrupted: bool = False
    epoch: int = 1
    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    precision: str = ""

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Training:
        """The course that `dataclasses.asdict` wrote."""
        history = [Epoch(**record) for record in facts["history"]]
        return cls(**facts | {"history": history})


# What is called after an epoch: with the averaged weights in eval mode, their class norms of the
# validation texts (texts, J), and the course so far.
EachEpoch = Callable[[ICapsNet, Tensor, Training], None]


def choose_device(name: str = "auto") -> torch.device:
    """`name` as a device; "auto" takes cuda, then mps (for one process alone), then cpu."""
    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    mps = torch.backends.mps.is_available() and distributed.world() == 1
    return torch.device("mps" if mps else "cpu")


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
    """Class norms (texts, J) of a corpus, on the CPU; the network is expected in eval mode.

    Each process computes its share, and all get the whole.
    """
    order = np.arange(len(corpus))[distributed.share()]
    norms = torch.zeros(len(corpus), network.num_classes)
    with torch.inference_mode():
        for start in range(0, len(order), PREDICT_BATCH):
            batch = order[start : start + PREDICT_BATCH]
            norms[batch] = network(corpus.select(batch).tokens()).class_norms.cpu()
    return distributed.add_up(norms)  # a text's row is zero in all processes but one


def accuracy(norms: Tensor, corpus: Corpus) -> float:
    """Share of the corpus's texts whose largest class norm, of (texts, J), is their label's."""
    return float((norms.argmax(1) == torch.from_numpy(corpus.labels)).double().mean())


def train(
    network: ICapsNet,
    training: Corpus,
    validation: Corpus,
    config: TrainConfig,
    callbacks: Sequence[Callback] = (),
    last: Last | None = None,
    each_epoch: EachEpoch | None = None,
    say: Callable[[str], None] | None = None,
) -> Training:
    """Trains `network` in place and leaves in it the weights of the best epoch.

    Each epoch's averaged weights are scored on `validation`; after `patience` epochs that bring
    nothing better, or at Ctrl-C after the step that it meets, training ends. The network is left
    in eval mode. The same seed, data, machine, precision and number of processes give the same
    weights, and so does a training that was stopped and goes on.

    Args:
        network: As it was built with the seed.
        training: Texts that gradients come from.
        validation: Texts that choose the best epoch.
        config: Settings.
        callbacks: Notified in process 0 alone.
        last: Where the state is kept after each epoch, every few minutes and at Ctrl-C, and what
            to go on from.
        each_epoch: Called in process 0 alone after each epoch.
        say: Called with a line on the precision of products, before the first step.

    Raises:
        CheckpointError: The state can't be written.
        TrainingError: The loss is no number any more.
    """
    run = _Run(network, training, config, callbacks if distributed.rank() == 0 else (), last)
    if last is not None and last.state is not None:
        run.restore(last.state)
    run.settle_precision(say)
    with run.stop:
        while not run.finished():
            run.train_epoch()
            if not run.course.interrupted:
                run.close_epoch(validation, each_epoch if distributed.rank() == 0 else None)
            run.save()
            if run.course.interrupted:
                break
    network.load_state_dict(run.updates.best or run.updates.averaged_weights(), strict=False)
    network.eval()
    return run.course


class _Run:
    """A training under way: its course, and what it changes."""

    def __init__(
        self,
        network: ICapsNet,
        corpus: Corpus,
        config: TrainConfig,
        callbacks: Sequence[Callback],
        last: Last | None,
    ) -> None:
        distributed.copy_from_first(network.state_dict().values())
        self.course = Training()
        self.stop = Interruption()
        self.updates = Updates(network, config, steps_per_epoch(corpus, config))
        self._network, self._corpus = network, corpus
        self._config, self._callbacks = config, callbacks
        self._last, self._saved = last, time.perf_counter()

    def save(self) -> None:
        """Keeps what `restore` needs to go on from here."""
        if self._last is not None:
            self._last.save(State(self.updates.tensors(), dataclasses.asdict(self.course)))
            self._saved = time.perf_counter()

    def restore(self, state: State) -> None:
        """Goes on from where a training stood."""
        self.course = Training.from_facts(state.facts)
        self.course.interrupted = False
        self.updates.restore(state.tensors)

    def settle_precision(self, say: Callable[[str], None] | None) -> None:
        """Chooses that of the products, or takes what was chosen before a training was stopped."""
        wanted = self.course.precision or self._config.product_precision
        choice = choose_precision(wanted, self._network)
        self.course.precision = choice.precision
        if say is not None:
            say(str(choice))
        self._network.region.precision = self.course.precision

    def finished(self) -> bool:
        """Whether the epochs are done, or the last ones brought nothing better."""
        done = self.course.epoch - 1
        return done == self._config.epochs or done - self.course.best_epoch >= self._config.patience

    def train_epoch(self) -> None:
        """Takes the steps of the epoch that are left, unless Ctrl-C ends them."""
        course, size = self.course, self._config.batch_size
        self._network.train()
        started = time.perf_counter() - course.seconds
        # From the seed and the epoch alone, so that an epoch can be taken up in its middle.
        order = np.random.default_rng([self._config.seed, course.epoch])
        texts = order.permutation(len(self._corpus))
        steps = steps_per_epoch(self._corpus, self._config)
        while course.step < steps and not course.interrupted:
            start = course.step * size
            batch = self._corpus.select(texts[start : start + size])
            course.loss += self._step(batch) * len(batch)
            course.step += 1
            course.seconds = time.perf_counter() - started
            self._tell_step(steps, start + len(batch))
            course.interrupted = self._stopped()
            if time.perf_counter() - self._saved > SAVE_EVERY and course.step < steps:
                self.save()

    def close_epoch(self, validation: Corpus, each_epoch: EachEpoch | None) -> None:
        """Scores the averaged weights and moves on to the next epoch."""
        course, started = self.course, time.perf_counter()
        norms = predict_norms(self.updates.average, validation)
        score = accuracy(norms, validation)
        seconds = course.seconds + time.perf_counter() - started
        record = Epoch(course.epoch, course.loss / len(self._corpus), score, seconds)
        course.history.append(record)
        if not course.best_epoch or score > course.best_accuracy:
            course.best_epoch, course.best_accuracy = course.epoch, score
            self.updates.keep_best()
        course.epoch, course.step, course.loss, course.seconds = course.epoch + 1, 0, 0.0, 0.0
        with self.stop.noting():
            for callback in self._callbacks:
                callback.on_epoch(record)
            if each_epoch is not None:
                each_epoch(self.updates.average, norms, course)
        course.interrupted = self._stopped()

    def _step(self, batch: Corpus) -> float:
        """Moves the weights by the batch of all processes, and returns its mean loss.

        This process takes its share of the texts, in `accumulate` parts. Each part's loss counts
        by its share of the batch, so that losses and gradients add up to the batch's mean.
        """
        torch.manual_seed(self._seed_of_step())
        device, loss = self._network.fixed_embedding.device, 0.0
        texts = np.arange(len(batch))[distributed.share()]
        for numbers in np.array_split(texts, self._config.accumulate):
            if not len(numbers):
                continue
            part = batch.select(numbers)
            activity = self._network(part.tokens())
            labels = torch.from_numpy(part.labels).to(device)
            mean = margin_loss(activity.class_norms, labels, self._config)
            if self._config.purity_weight or self._config.spread_weight:
                mean = mean + specialisation_loss(activity.routing, labels, self._config)
            share = mean * (len(part) / len(batch))
            share.backward()
            loss += share.item()
        loss = distributed.total(loss)
        if not math.isfinite(loss):
            raise TrainingError(
                f"The loss is no number any more in step {self.course.step + 1} of epoch "
                f"{self.course.epoch}. Try a lower learning_rate, or a lower clip_norm above 0."
            )
        self.updates.step()
        return loss

    def _seed_of_step(self) -> int:
        """Dropout differs by step and process, and follows from these alone: nothing to keep."""
        place = (self.course.epoch, self.course.step, distributed.rank())
        return int(np.random.SeedSequence([self._config.seed, *place]).generate_state(1)[0])

    def _tell_step(self, steps: int, seen: int) -> None:
        course = self.course
        step = Step(
            course.epoch,
            self._config.epochs,
            course.step,
            steps,
            course.loss / seen,
            seen / course.seconds,
            self.updates.learning_rate,
        )
        with self.stop.noting():
            for callback in self._callbacks:
                callback.on_step(step)

    def _stopped(self) -> bool:
        """Whether Ctrl-C reached any process: all stop at the same step."""
        return distributed.total(self.stop.requested) > 0


def steps_per_epoch(corpus: Corpus, config: TrainConfig) -> int:
    """Batches in an epoch, the last one perhaps smaller."""
    return -(-len(corpus) // config.batch_size)
