"""Self-training: texts without labels get predicted classes, and train the network as well.

The steps, as in pseudo-labelling (Lee 2013):

1. A network is trained on the labelled texts.
2. A teacher predicts classes for the texts without labels: this network or a logistic regression,
   whichever is better on the validation texts (`teachers`). Its probabilities are calibrated on
   them. A prediction is accepted if it is more likely right than wrong.
3. A new network is trained on the labelled and the accepted texts. Its vocabulary and the vectors
   that are trained on the texts are of both.
4. The network that is better on the validation texts, which all have true labels, is returned.

Nothing is stored between the steps but the states of both trainings: the predictions follow from
the first network, so a training that was stopped and resumed gives the same network.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from icaps.config import ACCURACY, LAST, MACRO_F1, SCORE_NAMES, ModelConfig, TrainConfig
from icaps.data.sample import Reservoir
from icaps.errors import DataError
from icaps.nn import distributed
from icaps.text.vectors import Sources
from icaps.train.callbacks import Callback, Epoch, Step, Validation
from icaps.train.checkpoint import Checkpoint
from icaps.train.checkpoint_files import STATE
from icaps.train.dataset import ExtraTexts, TrainingData
from icaps.train.fit import fit_checkpoint, logger
from icaps.train.resume import delete_state
from icaps.train.teachers import best_teacher, encode_unlabelled

MAX_TEXTS = 50_000  # texts without labels that are used at most; of more, a random sample
MAX_CHARACTERS = 20_000  # of such a text that are used, which bounds memory
MIN_PROBABILITY = 0.5  # of a prediction that is accepted
LABELLED_SHARE = 0.1  # labelled texts are repeated until they are this share of an epoch, at most
MAX_REPEATS = 10
MIN_EPOCHS = 3  # of the second training; else it takes about as many steps as the first
_LISTED = 20  # classes that the log lists
_SECOND = "self_training"  # subfolder of the state folder, for the state of the second training


@dataclass(frozen=True)
class UnlabelledSample:
    """A sample of texts without labels, without blank and repeated texts.

    Attributes:
        texts: The texts, each cut to `MAX_CHARACTERS`.
        total: Number of all texts that were read.
    """

    texts: list[str]
    total: int

    def without(self, labelled: Iterable[str]) -> UnlabelledSample:
        """The sample without texts that are labelled as well, such as those of the validation."""
        rest = dict.fromkeys(self.texts)
        for text in labelled:
            rest.pop(text[:MAX_CHARACTERS], None)
        return UnlabelledSample(list(rest), self.total)


def sample_texts(texts: Iterable[str]) -> UnlabelledSample:
    """Draws at most `MAX_TEXTS` texts from a stream, which is read once.

    Raises:
        DataError: `texts` is one string, or holds something that is not a string.
    """
    if isinstance(texts, str):
        raise DataError("Give a list of texts without labels; for a single one, [text].")
    reservoir = Reservoir[str](MAX_TEXTS, seed=0)
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"Text {n} without a label is {type(text).__name__}, not a string.")
        reservoir.add(text[:MAX_CHARACTERS])
    used = dict.fromkeys(text for text in reservoir.items if text.strip())
    return UnlabelledSample(list(used), reservoir.seen)


def fit_self_training(
    unlabelled: UnlabelledSample,
    prepare: Callable[[ModelConfig, TrainConfig, ExtraTexts], TrainingData],
    data: TrainingData,
    model: ModelConfig,
    config: TrainConfig,
    vectors: Sources = None,
    device: str = "auto",
    callbacks: Sequence[Callback] = (),
    state_folder: str | Path | None = None,
    resume: bool = False,
    as_model: Callable[[Checkpoint], Any] = lambda checkpoint: checkpoint,
) -> Checkpoint:
    """Trains a network on labelled texts and on texts without labels.

    Args:
        unlabelled: The texts without labels.
        prepare: Prepares the labelled texts again, with extra texts in the training part.
        data: The labelled texts.
        model, config, vectors, device, callbacks, state_folder, resume, as_model: See
            `fit.fit_checkpoint`, which lists errors as well. The state of the second training is
            in a folder inside `state_folder`.
    """

    log = logger(callbacks)
    second_folder = None if state_folder is None else Path(state_folder) / _SECOND
    if second_folder is not None and not resume and distributed.rank() == 0:
        delete_state(second_folder)  # of an earlier training
    first = fit_checkpoint(
        data, model, config, vectors, device, callbacks, state_folder, resume, as_model
    )
    if first.metrics["interrupted"]:
        return first
    log(
        f"self-training: {len(unlabelled.texts):,} of {unlabelled.total:,} texts without labels "
        f"are used: at most {MAX_TEXTS:,}, neither blank, repeated nor among the labelled texts"
    )
    corpus = encode_unlabelled(first, unlabelled.texts)
    teacher, other = best_teacher(first, data, corpus)
    probabilities = teacher.probabilities(corpus)  # (texts, J)
    predicted, confidence = probabilities.argmax(1), probabilities.max(1)
    accepted = np.flatnonzero(confidence >= MIN_PROBABILITY)
    names = list(map(str, data.classes))
    counts = np.bincount(predicted[accepted], minlength=len(names)).tolist()
    facts: dict[str, Any] = {
        "texts": unlabelled.total,
        "used": len(unlabelled.texts),
        "teacher": teacher.name,
        "teacher_accuracy": teacher.accuracy,
        "min_probability": MIN_PROBABILITY,
        "accepted": len(accepted),
        "accepted_classes": dict(zip(names, counts, strict=True)),
    }
    log(
        f"self-training: {teacher.name} predicts their classes, which is right for "
        f"{teacher.accuracy:.2%} of the validation texts ({other.name}: {other.accuracy:.2%}); "
        f"{len(accepted):,} predictions of a probability of at least {MIN_PROBABILITY:.0%}, "
        f"calibrated on the validation texts, are accepted{_listed(names, counts)}"
    )
    if not len(accepted):
        log("self-training: the model without these texts is returned")
        return _with_metrics(first, {"unlabelled": facts | {"kept": False}})
    extra = ExtraTexts([unlabelled.texts[n] for n in accepted], predicted[accepted])
    epochs = _second_epochs(config.epochs, len(data.training), len(extra.texts))
    second_config = dataclasses.replace(config, epochs=epochs)
    second = fit_checkpoint(
        _repeat_labelled(prepare(model, second_config, extra), len(extra.texts)),
        model,
        second_config,
        vectors,
        device,
        [_LaterEpochs(callback, len(first.history)) for callback in callbacks],
        second_folder,
        resume and second_folder is not None and (second_folder / STATE).is_file(),
        lambda checkpoint: as_model(_after(first, checkpoint)),
    )
    interrupted = second.metrics["interrupted"]
    if not second.history:
        return _with_metrics(first, {"interrupted": interrupted})
    score, before, after = _score(config), _best_epoch(first), _best_epoch(second)
    kept = after.is_better(before, score)
    facts |= {
        "kept": kept,
        "score": score,
        "validation_before": before.score(score),
        "validation_after": after.score(score),
    }
    log(
        f"self-training: validation {SCORE_NAMES[score]} {before.score(score):.2%} before, "
        f"{after.score(score):.2%} after: "
        + ("better" if kept else "no better, so the model without these texts is returned")
    )
    chosen = _after(first, second) if kept else first
    return _with_metrics(chosen, {"unlabelled": facts, "interrupted": interrupted})


def _repeat_labelled(data: TrainingData, accepted: int) -> TrainingData:
    """The data with labelled training texts repeated, so that they count more than predictions."""
    texts = data.training.texts  # the accepted ones are the last
    labelled, predicted = texts[:-accepted], texts[-accepted:]
    both = np.concatenate([*[labelled] * _repeats(len(labelled), accepted), predicted])
    return dataclasses.replace(data, training=dataclasses.replace(data.training, texts=both))


def _second_epochs(epochs: int, labelled: int, accepted: int) -> int:
    """Epochs of the second training: each has more texts, so fewer have as many steps."""
    as_many_steps = -(-epochs * labelled // (labelled + accepted))
    return min(epochs, max(as_many_steps, MIN_EPOCHS))


def _repeats(labelled: int, accepted: int) -> int:
    """How often the second training has each labelled text in an epoch."""
    wanted = LABELLED_SHARE / (1 - LABELLED_SHARE) * accepted / labelled
    return min(max(round(wanted), 1), MAX_REPEATS)


def second_training_seconds(per_epoch: float, epochs: int, labelled: int, unlabelled: int) -> float:
    """The duration of the second training if all predictions are accepted.

    Args:
        per_epoch: Seconds per epoch of the first training.
        epochs: Maximum epochs of the first training.
        labelled: Number of labelled texts.
        unlabelled: Number of texts without labels, of which at most `MAX_TEXTS` are used.
    """
    accepted = min(unlabelled, MAX_TEXTS)
    texts = _repeats(labelled, accepted) * labelled + accepted
    return per_epoch * texts / labelled * _second_epochs(epochs, labelled, accepted)


def _score(config: TrainConfig) -> str:
    """The validation score that compares both networks: ACCURACY or MACRO_F1."""
    if config.epoch_score != LAST:
        return config.epoch_score
    return MACRO_F1 if config.class_weight == "balanced" else ACCURACY


def _best_epoch(checkpoint: Checkpoint) -> Epoch:
    """The record of the best epoch of a training."""
    return Epoch(**checkpoint.history[checkpoint.metrics["best_epoch"] - 1])


def _after(first: Checkpoint, second: Checkpoint) -> Checkpoint:
    """The second checkpoint, with the history of both: its epochs follow those of the first.

    Its `best_epoch` is the best of all, and the training texts in its metrics are the labelled
    ones.
    """
    offset, best = len(first.history), first.metrics["best_epoch"]
    if _best_epoch(second).is_better(_best_epoch(first), _score(first.train_config)):
        best = second.metrics["best_epoch"] + offset
    later = [record | {"epoch": record["epoch"] + offset} for record in second.history]
    labelled = {name: first.metrics[name] for name in ("training_texts", "training_classes")}
    return dataclasses.replace(
        second,
        train_config=first.train_config,
        history=[*first.history, *later],
        metrics={**second.metrics, **labelled, "best_epoch": best},
    )


def _with_metrics(checkpoint: Checkpoint, metrics: dict[str, Any]) -> Checkpoint:
    return dataclasses.replace(checkpoint, metrics={**checkpoint.metrics, **metrics})


def _listed(names: Sequence[str], counts: Sequence[int]) -> str:
    """The accepted texts per class, for the log; of many classes, only the range."""
    if len(names) > _LISTED:
        return f": {min(counts):,} to {max(counts):,} per class"
    return ": " + ", ".join(f"{count:,} {name}" for name, count in zip(names, counts, strict=True))


class _LaterEpochs(Callback):
    """Passes on to a callback, with the epochs of the second training after those of the first."""

    def __init__(self, callback: Callback, offset: int) -> None:
        self._callback, self._offset = callback, offset

    def on_log(self, line: str) -> None:
        self._callback.on_log(line)

    def on_restart(self, restarts: int) -> None:
        self._callback.on_restart(restarts)

    def on_step(self, step: Step) -> None:
        later = {"epoch": step.epoch + self._offset, "epochs": step.epochs + self._offset}
        self._callback.on_step(dataclasses.replace(step, **later))

    def on_validation(self, model: Any, validation: Validation) -> None:
        self._callback.on_validation(model, validation)

    def on_epoch(self, epoch: Epoch) -> None:
        later = dataclasses.replace(epoch, epoch=epoch.epoch + self._offset)
        self._callback.on_epoch(later)
