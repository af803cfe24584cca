"""A baseline fitted to labelled texts, what is chosen chosen on a part that is held out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import compress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from icaps.baselines.base import Baseline
from icaps.baselines.fasttext import fit_fasttext
from icaps.baselines.kinds import FASTTEXT, KINDS, LINEAR
from icaps.baselines.linear import fit_linear
from icaps.baselines.neural import MAX_WORDS, NetworkBaseline, make_network
from icaps.baselines.training import train_network
from icaps.config import ModelConfig, TrainConfig
from icaps.data.cache import data_folder, make_ready
from icaps.errors import ConfigError
from icaps.train.calibration import fit_inverse_temperature
from icaps.train.callbacks import Callback
from icaps.train.dataset import Labelled, prepare_stream, read_labels, split

SETTINGS = TrainConfig(learning_rate=1e-3, epochs=10, patience=2)  # of the networks


def fit_baseline(
    kind: str,
    records: Iterable[Labelled],
    settings: TrainConfig = SETTINGS,
    callbacks: Sequence[Callback] = (),
    workers: int = 1,
) -> Baseline:
    """Fits a baseline; the held-out part is that of `ICapsClassifier` with the same settings.

    Args:
        kind: Of `kinds.KINDS`.
        records: Labelled texts, the same each time they are read.
        settings: The seed and the held-out share of all kinds; of the networks see
            `training.train_network`, and how often a word must be seen.
        callbacks: Called with lines for a log, and after the steps and epochs of a network.
        workers: Processes that encode the texts for a network.

    Raises:
        ConfigError: There is no such kind, or the library that it needs is missing.
        DataError: The texts can't be read, are too few, or of one class.
        TrainingError: A network's loss is no number any more.
    """
    if kind not in KINDS:
        raise ConfigError(f"There is no baseline {kind!r}; take one of {', '.join(KINDS)}.")

    def say(line: str) -> None:
        for callback in callbacks:
            callback.on_log(line)

    started = time.perf_counter()
    if kind in (LINEAR, FASTTEXT):
        fitted = _fit_counts(kind, records, settings, say)
    else:
        fitted = _fit_network(kind, records, settings, callbacks, say, workers)
    fitted.metrics_ |= {"seed": settings.seed, "seconds": time.perf_counter() - started}
    return fitted


def _fit_counts(
    kind: str, records: Iterable[Labelled], settings: TrainConfig, say: Callable[[str], None]
) -> Baseline:
    """The two kinds that read texts and no encoded corpus."""
    classes, labels, _ = read_labels(records)
    training, held_out = split(labels, len(classes), settings)
    _say_sizes(training, held_out, say)
    parts = _texts(records, _mask(labels, training)), labels[np.sort(training)]
    checked = list(_texts(records, _mask(labels, held_out))), labels[np.sort(held_out)]
    fitted: Baseline
    if kind == LINEAR:
        fitted = fit_linear(classes, parts, checked, settings.seed, say)
    else:
        fitted = fit_fasttext(classes, parts, checked, settings.seed, say)
    fitted.metrics_ |= _sizes(training, held_out)
    return fitted


def _fit_network(
    kind: str,
    records: Iterable[Labelled],
    settings: TrainConfig,
    callbacks: Sequence[Callback],
    say: Callable[[str], None],
    workers: int,
) -> Baseline:
    prepared = prepare_stream(
        records,
        ModelConfig(max_words=MAX_WORDS),
        settings,
        lambda key, fill: make_ready(data_folder() / "encoded" / key, fill),
        workers=workers,
    )
    training, validation = prepared.training, prepared.validation
    _say_sizes(training, validation, say)
    torch.manual_seed(settings.seed)
    network = make_network(kind, len(prepared.vocabulary), len(prepared.classes))
    course = train_network(network, training, validation, settings, callbacks)
    factor = fit_inverse_temperature(course.scores, validation.labels)
    fitted = NetworkBaseline(kind, prepared.classes, prepared.vocabulary, network.eval(), factor)
    fitted.metrics_ = {
        **_sizes(training, validation),
        "vocabulary_size": len(prepared.vocabulary),
        "best_epoch": course.best_epoch,
        "validation_accuracy": course.validation_accuracy,
    }
    return fitted


def _texts(records: Iterable[Labelled], wanted: NDArray[np.bool_]) -> Iterator[str]:
    return compress((record.text for record in records), wanted)


def _mask(labels: NDArray[Any], positions: NDArray[Any]) -> NDArray[np.bool_]:
    mask = np.zeros(len(labels), dtype=bool)
    mask[positions] = True
    return mask


def _sizes(training: Sized, held_out: Sized) -> dict[str, Any]:
    return {"training_texts": len(training), "validation_texts": len(held_out)}


def _say_sizes(training: Sized, held_out: Sized, say: Callable[[str], None]) -> None:
    say(f"{len(training)} training and {len(held_out)} validation texts")
