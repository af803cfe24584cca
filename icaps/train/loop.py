"""The training loop: margin loss, Adam, averaged weights, and the best epoch by validation."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from sklearn.metrics import confusion_matrix
from torch import Tensor

from icaps.config import TrainConfig
from icaps.errors import TrainingError
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.train.callbacks import Callback, Epoch, Step, Validation
from icaps.train.class_weights import balanced_weights
from icaps.train.dataset import Corpus
from icaps.train.objectives import classification_loss, specialisation_loss
from icaps.train.optimizer import AveragedAdam
from icaps.train.result_warnings import UNBALANCED, above_chance, sets_above_chance
from icaps.train.resume import State, StateFolder
from icaps.train.signals import DeferredInterrupt

VALIDATION_BATCH = 512  # texts
SAVE_EVERY = 300.0  # seconds between two states that are saved within a long epoch
# A training must have learned something after the warm-up, so many more steps, and two epochs.
TRIAL_STEPS, TRIAL_EPOCHS = 100, 2
TRIAL_TEXTS = 1_000  # training texts on which that is tested, beside the validation texts
_SURE = 0.998  # two-sided level of that test: it is run after each epoch


@dataclass
class TrainingProgress:
    """The position of a training, and what it has reached so far.

    Attributes:
        history: The finished epochs.
        best_epoch: From 1; 0 before the first epoch has finished.
        interrupted: Whether Ctrl-C ended the training.
        epoch: The current epoch, from 1.
        step: Number of its steps that are done.
        loss: Sum of the loss over the texts of these steps.
        seconds: Duration of these steps.
        restarts: Number of earlier trainings that gave up (`restarts.train_with_restarts`).
        learned: Whether the predictions after any epoch were better than chance.
        memorized: Whether those for training texts were, but not those for validation texts.
        tried: Whether it had enough steps to learn something.
        gave_up: Whether the training ended because it had not learned anything.
    """

    history: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    interrupted: bool = False
    epoch: int = 1
    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    restarts: int = 0
    learned: bool = False
    memorized: bool = False
    tried: bool = False
    gave_up: bool = False

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> TrainingProgress:
        """From the result of `dataclasses.asdict`, of this version or an earlier one."""
        known = {item.name for item in dataclasses.fields(cls)}
        history = [Epoch(**record) for record in facts["history"]]
        facts = {"learned": bool(history), **facts}
        return cls(**{name: facts[name] for name in known & facts.keys()} | {"history": history})

    @property
    def best(self) -> Epoch | None:
        """The record of the best epoch; None before the first epoch has finished."""
        return self.history[self.best_epoch - 1] if self.best_epoch else None


def train(
    network: ICapsNet,
    training: Corpus,
    validation: Corpus,
    config: TrainConfig,
    callbacks: Sequence[Callback] = (),
    state_folder: StateFolder | None = None,
    as_model: Callable[[ICapsNet, Validation, TrainingProgress], Any] | None = None,
    restarts: int = 0,
    gives_up: bool = False,
) -> TrainingProgress:
    """Trains `network` in place; at the end it has the weights of the best epoch, in eval mode.

    The averaged weights are validated after each epoch. An epoch is better than another if its
    validation score (`config.epoch_score`) is higher, or equal with a lower validation loss.
    Training ends after `config.patience` epochs without a better one, or after the step in which
    Ctrl-C was pressed. The same seed, data, machine and number of processes give the same weights,
    also if the training was stopped and resumed.

    Args:
        network: Initialised with the seed.
        training: Texts to compute gradients from.
        validation: Texts to choose the best epoch by.
        config: Settings.
        callbacks: Called in process 0 only.
        state_folder: Where the state is saved after each epoch, every few minutes and at Ctrl-C,
            with the state to resume from.
        as_model: Returns the model to pass to `Callback.on_validation`; None passes the network.
        restarts: Number of earlier trainings that gave up.
        gives_up: Whether the training ends early if it has learned nothing after the warm-up,
            TRIAL_EPOCHS epochs and TRIAL_STEPS steps.

    Raises:
        CheckpointError: The state cannot be written.
        TrainingError: The loss is NaN or infinite.
    """
    distributed.broadcast(network.state_dict().values())
    trainer = Trainer(network, training, config, callbacks, state_folder, restarts, gives_up)
    progress, optimizer = trainer.progress, trainer.optimizer
    with trainer.interrupt:
        while not trainer.finished and not progress.interrupted:
            trainer.train_epoch()
            if not progress.interrupted:
                trainer.end_epoch(validation, as_model)
            trainer.save()
    network.load_state_dict(optimizer.best or optimizer.averaged_weights(), strict=False)
    network.eval()
    return progress


class Trainer:
    """One training: network, optimizer and progress, with methods for a step and an epoch."""

    def __init__(
        self,
        network: ICapsNet,
        corpus: Corpus,
        config: TrainConfig,
        callbacks: Sequence[Callback] = (),
        state_folder: StateFolder | None = None,
        restarts: int = 0,
        gives_up: bool = False,
    ) -> None:
        self.network, self.corpus, self.config = network, corpus, config
        self.steps = -(
            -len(corpus) // config.batch_size
        )  # per epoch; the last batch may be smaller
        self.optimizer = AveragedAdam(network, config, self.steps)
        self.class_weights: Tensor | None = None  # (J,)
        if config.class_weight == "balanced":
            weights = balanced_weights(corpus.class_numbers, network.num_classes)
            self.class_weights = torch.from_numpy(weights).to(network.fixed_embedding.device)
        self.progress = TrainingProgress(restarts=restarts)
        self._gives_up = gives_up
        self.interrupt = DeferredInterrupt()
        self._callbacks = callbacks if distributed.rank() == 0 else ()
        self._state_folder, self._saved = state_folder, time.perf_counter()
        if state_folder is not None and state_folder.state is not None:
            self.progress = TrainingProgress.from_facts(state_folder.state.facts)
            self.progress.interrupted = False
            self.optimizer.restore(state_folder.state.tensors)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, the last `patience` were not better, or it gave up."""
        done = self.progress.epoch - 1
        late = done - self.progress.best_epoch >= self.config.patience
        return done == self.config.epochs or late or self.progress.gave_up

    def train_epoch(self) -> None:
        """Takes the remaining steps of the epoch, up to Ctrl-C."""
        progress, config = self.progress, self.config
        self.network.train()
        # A function of seed and epoch only, so that an epoch can be resumed in the middle.
        order = np.random.default_rng([config.seed, progress.epoch]).permutation(len(self.corpus))
        started = time.perf_counter() - progress.seconds
        while progress.step < self.steps and not progress.interrupted:
            first = progress.step * config.batch_size
            batch = self.corpus.select(order[first : first + config.batch_size])
            progress.loss += self.train_step(batch) * len(batch)
            progress.step += 1
            progress.seconds = time.perf_counter() - started
            self._report_step(first + len(batch))
            progress.interrupted = self._interrupted()
            if time.perf_counter() - self._saved > SAVE_EVERY and progress.step < self.steps:
                self.save()

    def train_step(self, batch: Corpus) -> float:
        """Updates the weights on a batch, and returns the mean loss of its texts.

        Raises:
            TrainingError: The loss is NaN or infinite.
        """
        progress = self.progress
        # Dropout is a function of the seed, step and process only, so no random state is saved.
        seeds = [self.config.seed, progress.epoch, progress.step, distributed.rank()]
        torch.manual_seed(int(np.random.SeedSequence(seeds).generate_state(1)[0]))
        steps = (progress.epoch - 1) * self.steps + progress.step
        done = steps / (self.steps * self.config.epochs)
        loss = backward(self.network, batch, self.config, self.class_weights, done)
        if not math.isfinite(loss):
            raise TrainingError(
                f"The loss is NaN or infinite in step {progress.step + 1} of epoch "
                f"{progress.epoch}. Try a lower learning_rate, or a lower clip_norm above 0."
            )
        self.optimizer.step()
        return loss

    def end_epoch(
        self,
        validation_corpus: Corpus,
        as_model: Callable[[ICapsNet, Validation, TrainingProgress], Any] | None = None,
    ) -> None:
        """Validates the averaged weights, records the epoch, and starts the next."""
        progress, started = self.progress, time.perf_counter()
        average = self.optimizer.average
        validation = validate(average, validation_corpus)
        record = Epoch(
            epoch=progress.epoch,
            loss=progress.loss / len(self.corpus),
            validation_accuracy=validation.accuracy,
            seconds=progress.seconds + time.perf_counter() - started,
            validation_macro_f1=validation.macro_f1,
            validation_loss=self._validation_loss(validation),
        )
        best = progress.best
        progress.history.append(record)
        if best is None or record.is_better(best, self.config.epoch_score):
            progress.best_epoch = progress.epoch
            self.optimizer.store_best()
        self._check_learning(validation)
        progress.epoch, progress.step, progress.loss, progress.seconds = (
            progress.epoch + 1,
            0,
            0.0,
            0.0,
        )
        with self.interrupt.catching():
            for callback in self._callbacks:
                callback.on_epoch(record)
            if self._callbacks:
                model = as_model(average, validation, progress) if as_model else average
                for callback in self._callbacks:
                    callback.on_validation(model, validation)
        progress.interrupted = self._interrupted()

    def save(self) -> None:
        """Saves the state to resume from."""
        if self._state_folder is not None:
            facts = dataclasses.asdict(self.progress)
            self._state_folder.save(State(self.optimizer.state_tensors(), facts))
            self._saved = time.perf_counter()

    def _validation_loss(self, validation: Validation) -> float:
        """The mean loss of the validation texts, with the class weights of the training."""
        labels = torch.from_numpy(validation.corpus.targets)
        class_weights = None if self.class_weights is None else self.class_weights.cpu()
        weights = loss_weights(class_weights, labels)
        return classification_loss(validation.class_norms, labels, self.config, weights).item()

    def _check_learning(self, validation: Validation) -> None:
        """Updates whether the training has learned anything, and whether it gives up, if not.

        A few validation texts cannot show that little was learned, so training texts are predicted
        as well, if nothing was learned so far.
        """
        progress, done = self.progress, self.progress.epoch
        warmup = self.config.warmup_share * self.config.epochs * self.steps
        progress.tried = done * self.steps >= warmup + TRIAL_STEPS
        progress.learned = progress.learned or learns(validation)
        if progress.tried and not progress.learned:
            size = min(len(self.corpus), TRIAL_TEXTS)
            random = np.random.default_rng(self.config.seed)
            sample = self.corpus.select(random.choice(len(self.corpus), size, replace=False))
            progress.memorized = learns(validate(self.optimizer.average, sample))
        enough = progress.tried and done >= min(TRIAL_EPOCHS, self.config.epochs)
        learned = progress.learned or progress.memorized
        progress.gave_up = self._gives_up and enough and not learned

    def _report_step(self, seen: int) -> None:
        progress = self.progress
        step = Step(
            epoch=progress.epoch,
            epochs=self.config.epochs,
            step=progress.step,
            steps=self.steps,
            loss=progress.loss / seen,
            texts_per_second=seen / progress.seconds,
            learning_rate=self.optimizer.learning_rate,
            restarts=progress.restarts,
        )
        with self.interrupt.catching():
            for callback in self._callbacks:
                callback.on_step(step)

    def _interrupted(self) -> bool:
        """Whether any process received Ctrl-C, so that all stop after the same step."""
        return distributed.total(self.interrupt.requested) > 0


def backward(
    network: ICapsNet,
    batch: Corpus,
    config: TrainConfig,
    class_weights: Tensor | None = None,
    done: float = 1.0,
) -> float:
    """Forward and backward pass of a batch: accumulates gradients and returns the mean loss.

    Under torchrun each process takes its share of the texts, and `AveragedAdam.step` sums the
    gradients. The share is split into `config.accumulate` parts. The loss of a part is weighted by
    its share of the batch, so that losses and gradients add up to the mean over the batch.

    Args:
        network, batch, config: What is trained, on which texts and how.
        class_weights: (J,), factors of the classification loss of a text, by its class.
        done: As in `specialisation_loss`.
    """
    device, loss = network.fixed_embedding.device, 0.0
    texts = np.arange(len(batch))[distributed.share()]
    for numbers in np.array_split(texts, config.accumulate):
        if not len(numbers):
            continue
        part = batch.select(numbers)
        activity = network(part.tokens())
        labels = torch.from_numpy(part.targets).to(device)
        weights = loss_weights(class_weights, labels)
        part_loss = classification_loss(activity.class_norms, labels, config, weights)
        if config.purity_weight or config.spread_weight:
            part_loss = part_loss + specialisation_loss(activity.routing, labels, config, done)
        weighted = part_loss * (len(part) / len(batch))
        weighted.backward()
        loss += weighted.item()
    return distributed.total(loss)


def loss_weights(class_weights: Tensor | None, labels: Tensor) -> Tensor | None:
    """The `weights` of `model.margin_loss` by class: those of a text's class, or of its classes.

    Args:
        class_weights: (J,); None: all are 1.
        labels: (B,), class numbers; or (B, J), 1 for each class of a text and else 0, which keeps
            the weight 1.
    """
    if class_weights is None:
        return None
    if labels.ndim == 2:
        return torch.where(labels > 0, class_weights, 1.0)  # (B, J)
    return class_weights[labels]


def learns(validation: Validation) -> bool:
    """Whether the predictions follow the labels, rather than being as good as in random order.

    With unbalanced classes, all texts may get the most frequent class for some epochs although the
    network learns. So the classes by norm above the mean norm of the class are tested as well.
    """
    norms = validation.class_norms.numpy()  # (texts, J)
    if validation.corpus.label_sets is not None:
        targets = validation.corpus.targets
        return any(
            sets_above_chance(targets, scores.argmax(1), _SURE)
            for scores in (norms, norms - norms.mean(0))
        )
    labels = validation.corpus.labels
    candidates = [norms]
    if np.bincount(labels).max() >= UNBALANCED * len(labels):
        candidates.append(norms - norms.mean(0))
    classes = range(norms.shape[1])
    return any(
        above_chance(confusion_matrix(labels, scores.argmax(1), labels=classes), _SURE)
        for scores in candidates
    )


def validate(network: ICapsNet, corpus: Corpus) -> Validation:
    """The predictions of a network in eval mode for a corpus.

    Under torchrun each process computes its share, and all processes get the whole.
    """
    share = np.arange(len(corpus))[distributed.share()]
    norms = torch.zeros(len(corpus), network.num_classes)  # (texts, J)
    shape = (len(corpus), network.num_classes) if corpus.label_sets is not None else (len(corpus),)
    capsules = torch.zeros(shape, dtype=torch.int64)
    known = torch.zeros(len(corpus), dtype=torch.int64)
    with torch.inference_mode():
        for start in range(0, len(share), VALIDATION_BATCH):
            texts = share[start : start + VALIDATION_BATCH]
            tokens = corpus.select(texts).tokens()
            activity = network(tokens)
            norms[texts] = activity.class_norms.cpu()
            routing = activity.routing.cpu().numpy()  # (B, I, J)
            if corpus.label_sets is None:
                predicted = norms[texts].numpy().argmax(1)
                routing = routing[np.arange(len(texts)), :, predicted]  # (B, I)
            capsules[texts] = torch.from_numpy(routing.argmax(1))
            known[texts] = torch.from_numpy(tokens.known_per_text)
    for values in (norms, capsules, known):
        distributed.all_reduce(values)  # a text's row is zero in all processes but one
    return Validation(corpus, norms, capsules.numpy(), known.numpy() > 0)
