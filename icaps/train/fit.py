"""The steps of a fit: word vectors, network, training loop, `<unk>`, calibration."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from icaps.config import ACCURACY, LAST, SCORE_NAMES, ModelConfig, TrainConfig
from icaps.errors import DataError
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.nn.device import choose_device
from icaps.text.vectors import (
    TEXTS,
    FrozenVectors,
    Sources,
    list_sources,
    source_names,
    text_vectors,
)
from icaps.train.calibration import fit_inverse_temperature
from icaps.train.callbacks import Callback, Validation
from icaps.train.checkpoint import Checkpoint, label_type
from icaps.train.class_weights import describe_imbalance
from icaps.train.dataset import KnownWords, TrainingData
from icaps.train.label_thresholds import fit_thresholds
from icaps.train.loop import TrainingProgress, validate
from icaps.train.restarts import describe_changes, train_with_restarts
from icaps.train.result_warnings import METRIC, validation_warnings, warnings_of
from icaps.train.resume import StateFolder, fingerprint
from icaps.train.unk import fit_unk


def fit_checkpoint(
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
    """Trains a network on a data set and calibrates it on the validation texts.

    Args:
        data: Encoded texts in a training and a validation part, with the loaded vectors.
        model: Settings of the network. `fixed_dim` is the size of vectors that are trained on the
            texts; in the network it is the total size of all vectors.
        config: Settings of the training.
        vectors: The sources of vectors, see `ICapsClassifier`.
        device: "auto", or a torch device.
        callbacks: Called during training.
        state_folder: Where the state is saved; None: not saved.
        resume: Whether to continue from the state in `state_folder`.
        as_model: Converts the checkpoint of an epoch to the model for `Callback.on_validation`.

    Raises:
        CheckpointError: The state cannot be written, or does not fit this training.
        DataError: Processes under torchrun have different data.
        TrainingError: The loss is NaN or infinite.
        VectorsError: Word vectors cannot be trained.
    """

    log = logger(callbacks)
    training, validation = data.training, data.validation
    log(f"{len(training)} training and {len(validation)} validation texts")
    for line in data.recipe.lines:
        log(line)
    counts = training.class_counts(len(data.classes)).tolist()
    class_counts = dict(zip(map(str, data.classes), counts, strict=True))
    if imbalance := describe_imbalance(class_counts):
        balanced = config.class_weight == "balanced"
        effect = "lets" if balanced else "would let"
        log(
            f"the classes are unbalanced: {imbalance}; class_weight=balanced {effect} each class "
            "count the same in the loss"
        )
    identity = {
        "settings": dataclasses.asdict(model) | dataclasses.asdict(config),
        "data": data.content,
        "vocabulary": fingerprint(data.vocabulary.words),
        "vectors": source_names(vectors),
    }
    # Before vectors are trained, which takes time: a state that does not fit raises at once.
    states = _open_states(state_folder, identity, resume)
    frozen = _add_text_vectors(data, vectors, model.fixed_dim, config, log)
    model = dataclasses.replace(model, fixed_dim=frozen.trained.shape[1])

    def new_network(seed: int) -> ICapsNet:
        torch.manual_seed(seed)
        network = ICapsNet(
            model,
            data.vocabulary.trained_words,
            len(data.classes),
            torch.from_numpy(frozen.trained),
            torch.from_numpy(frozen.others),
            torch.from_numpy(data.vocabulary.trained_rows()),
        )
        return network.to(choose_device(device))

    facts: dict[str, Any] = {
        "vectors": source_names(vectors, data.vectors.low),
        "vector_coverage": frozen.coverage,
        "seed": config.seed,
        "training_texts": len(training),
        "validation_texts": len(validation),
        "training_classes": class_counts,
        "vocabulary_size": data.vocabulary.trained_words,
        "vector_words": data.vocabulary.vector_words,
        "recipe": list(data.recipe.reasons),
    }

    def checkpoint_of(
        network: ICapsNet, validation: Validation, progress: TrainingProgress
    ) -> Checkpoint:
        corpus, classes = validation.corpus, tuple(map(str, data.classes))
        inverse_temperature = 1.0
        if data.multilabel:
            norms = validation.class_norms.numpy()
            network.thresholds = fit_thresholds(norms, corpus.targets)
        else:
            inverse_temperature = fit_inverse_temperature(validation.class_norms, corpus.labels)
        found = validation_warnings(
            validation,
            model.num_capsules,
            classes,
            memorized=progress.memorized,
            short=not progress.tried,
        )
        return Checkpoint(
            network=network,
            vocabulary=data.vocabulary,
            classes=classes,
            train_config=config,
            inverse_temperature=inverse_temperature,
            metrics={
                **facts,
                "best_epoch": progress.best_epoch,
                "validation_accuracy": validation.accuracy,
                "validation_macro_f1": validation.macro_f1,
                "interrupted": progress.interrupted,
                "restarts": progress.restarts,
                "restart_settings": describe_changes(config, progress.restarts),
                METRIC: [warning.to_dict() for warning in found],
            },
            history=[dataclasses.asdict(record) for record in progress.history],
            label_type=label_type(data.classes),
            hashes=data.hashes,
        )

    network, progress = train_with_restarts(
        new_network,
        training,
        validation,
        config,
        callbacks,
        states,
        as_model=lambda *epoch: as_model(checkpoint_of(*epoch)),
        log=log,
    )
    best, score = progress.best, config.epoch_score
    if best is not None:
        if score == LAST:
            log(f"epoch {best.epoch}, the last, has validation accuracy {best.score(ACCURACY):.2%}")
        else:
            name, value = SCORE_NAMES[score], best.score(score)
            log(f"epoch {best.epoch} chosen by validation {name} {value:.2%}")
    if config.unk_steps and not progress.interrupted:
        log("fitting <unk> so that it has no effect")
        fit_unk(network, training, config)
    checkpoint = checkpoint_of(network, validate(network, validation), progress)
    for warning in warnings_of(checkpoint.metrics):
        log(f"{'WARNING' if warning.serious else 'note'}: {warning}")
    return checkpoint


def logger(callbacks: Sequence[Callback]) -> Callable[[str], None]:
    """Calls `Callback.on_log` of all callbacks, in the first process only."""

    def log(line: str) -> None:
        if distributed.rank() == 0:
            for callback in callbacks:
                callback.on_log(line)

    return log


@contextmanager
def reported(callbacks: Sequence[Callback], data: TrainingData) -> Iterator[None]:
    """Calls `Callback.on_start` before a fit, and `on_failure` if it raises; as `logger`."""
    callbacks = () if distributed.rank() else callbacks
    settings = {
        **dataclasses.asdict(data.recipe.model),
        **dataclasses.asdict(data.recipe.train),
        "classes": len(data.classes),
        "training_texts": len(data.training),
        "validation_texts": len(data.validation),
    }
    for callback in callbacks:
        callback.on_start(settings)
    try:
        yield
    except BaseException as error:
        for callback in callbacks:
            callback.on_failure(error)
        raise


def _add_text_vectors(
    data: TrainingData,
    vectors: Sources,
    dim: int,
    config: TrainConfig,
    log: Callable[[str], None],
) -> FrozenVectors:
    """The loaded vectors, then those that are trained on the texts if they are a source."""
    times = list_sources(vectors, data.vectors.low).count(TEXTS) if dim else 0
    if not times:
        return data.vectors
    own = text_vectors(
        KnownWords(data.training, data.vocabulary),
        data.vocabulary,
        dim,
        epochs=config.vector_epochs,
        seed=config.seed,
        log=log,
    )
    return FrozenVectors.join([data.vectors, *[own] * times], data.vocabulary)


def _open_states(
    folder: str | Path | None, identity: dict[str, Any], resume: bool
) -> StateFolder | None:
    """Opens the folder of the state; raises DataError if processes under torchrun differ."""
    states = None if folder is None else StateFolder.open(Path(folder), identity, resume)
    facts = None if states is None or states.state is None else states.state.facts
    if not distributed.same_everywhere(json.dumps([identity, facts])):
        raise DataError(
            "The processes have different data, settings or states to resume; give each the "
            "same command, and each machine the same files."
        )
    return states
