"""Callbacks: hooks that are called during training.

Nothing here imports torch when it is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from icaps.config import ACCURACY, LAST

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from icaps.train.dataset import Corpus


@dataclass(frozen=True)
class Step:
    """The position of a training after a step.

    Attributes:
        epoch, epochs, step, steps: From 1; `steps` are those of an epoch.
        loss: Mean over the texts of the epoch so far.
        texts_per_second: In this epoch.
        learning_rate: Of this step.
        restarts: How many times the training was restarted before (`restarts.train_with_restarts`).
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    texts_per_second: float
    learning_rate: float
    restarts: int = 0


class RecentLoss:
    """The mean loss since the last mark, from the means since the start of the epoch."""

    def __init__(self) -> None:
        self._mark = (0, 0, 0.0)  # epoch, step, mean loss of the epoch so far

    def at(self, step: Step) -> float:
        """The mean loss of the steps since the mark, or of the epoch if the mark is of another."""
        epoch, before, loss = self._mark
        if epoch != step.epoch or before >= step.step:
            return step.loss
        return (step.loss * step.step - loss * before) / (step.step - before)

    def mark(self, step: Step) -> None:
        """Sets the mark after a step."""
        self._mark = step.epoch, step.step, step.loss


@dataclass(frozen=True)
class Epoch:
    """A record of the history: an epoch (from 1), its mean loss, and its validation.

    The macro F1 and the loss of the validation are None in records of earlier versions.
    """

    epoch: int
    loss: float
    validation_accuracy: float
    seconds: float
    validation_macro_f1: float | None = None
    validation_loss: float | None = None

    def score(self, name: str) -> float:
        """ACCURACY or MACRO_F1 of the validation; 0 if it was not recorded."""
        return self.validation_accuracy if name == ACCURACY else self.validation_macro_f1 or 0.0

    def is_better(self, other: Epoch, score: str) -> bool:
        """Whether the score is higher than an earlier epoch's, or equal with a lower loss.

        With the score LAST, it always is.
        """
        if score == LAST:
            return True
        own, others = self.score(score), other.score(score)
        losses = self.validation_loss, other.validation_loss
        if own != others or losses[0] is None or losses[1] is None:
            return own > others
        return losses[0] < losses[1]


class Validation(NamedTuple):
    """Predictions of a network for the validation texts.

    Attributes:
        corpus: The texts.
        class_norms: (texts, J), on the CPU.
        capsules: (texts,), the primary capsule with the largest routing weight for the predicted
            class (section 2.6 with k1 = 1). With several labels per text (texts, J), for each
            class.
        known: (texts,), whether any word of the text is in the vocabulary.
    """

    corpus: Corpus
    class_norms: Tensor
    capsules: NDArray[np.int64]
    known: NDArray[np.bool_]

    @property
    def accuracy(self) -> float:
        """Share of the texts whose true class has the largest norm.

        With several labels per text: whose predicted labels are exactly the true ones.
        """
        if self.corpus.label_sets is not None:
            right: NDArray[np.bool_] = (self.predicted_sets() == (self.corpus.targets > 0)).all(1)
            return float(right.mean())
        predicted = self.class_norms.argmax(1).numpy()
        return float((predicted == self.corpus.labels).mean())

    @property
    def macro_f1(self) -> float:
        """Mean over all classes of the F1 score (`stats.macro_f1`)."""
        from icaps.stats import (
            macro_f1,  # imports numpy, which the command line should not wait for
            macro_f1_of_sets,
        )

        if self.corpus.label_sets is not None:
            return macro_f1_of_sets(self.corpus.targets > 0, self.predicted_sets())
        predicted = self.class_norms.argmax(1).numpy()
        return macro_f1(self.corpus.labels, predicted, self.class_norms.shape[1])

    def predicted_sets(self) -> NDArray[np.bool_]:
        """The predicted labels (texts, J), by thresholds that are chosen on the same texts."""
        from icaps.train.label_thresholds import fit_thresholds  # imports scipy

        norms = self.class_norms.numpy()
        return fit_thresholds(norms, self.corpus.targets).predicted(norms)


class Callback:
    """Base class of callbacks. Override the hooks that you need.

    Under torchrun only process 0 calls them.
    """

    def on_start(self, settings: Mapping[str, Any]) -> None:
        """Called by `ICapsClassifier.fit` before the training, when the data is read.

        Args:
            settings: Those of `ModelConfig` and `TrainConfig` by their names, and `classes`,
                `training_texts` and `validation_texts`, their numbers.
        """

    def on_end(self, metrics: Mapping[str, Any]) -> None:
        """Called at the end of `fit`, also if Ctrl-C ended the training.

        Args:
            metrics: `ICapsClassifier.metrics_`.
        """

    def on_failure(self, error: BaseException) -> None:
        """Called if `fit` raises an error after `on_start`."""

    def on_test(self, scores: Mapping[str, Any]) -> None:
        """Called by `icaps train` with the scores of the test part, if there is one.

        Args:
            scores: As `evaluate.scores.evaluate` returns them.
        """

    def on_log(self, line: str) -> None:
        """Called with each log message."""

    def on_restart(self, restarts: int) -> None:
        """Called when a training that learned nothing starts again from epoch 1.

        Args:
            restarts: The number of restarts so far, from 1.
        """

    def on_step(self, step: Step) -> None:
        """Called after each step."""

    def on_validation(self, model: Any, validation: Validation) -> None:
        """Called after each epoch, with the averaged weights and their predictions.

        Args:
            model: `ICapsClassifier.fit` passes a fitted classifier with these weights, and
                `loop.train` the network. Its weights change with the next step.
            validation: Its predictions for the validation texts.
        """

    def on_epoch(self, epoch: Epoch) -> None:
        """Called at the end of each epoch, before `on_validation`."""
