"""Training of a baseline on labelled texts, with model selection on held-out texts."""

from __future__ import annotations

import copy
import math
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from icaps.baselines.base import BASELINES, FASTTEXT, LINEAR, Baseline
from icaps.baselines.fasttext import fit_fasttext
from icaps.baselines.linear import fit_linear
from icaps.baselines.networks import (
    MAX_WORDS,
    Network,
    NetworkBaseline,
    make_network,
    padded,
    predict_scores,
)
from icaps.baselines.several_labels import fit_label_thresholds
from icaps.config import ModelConfig, TrainConfig
from icaps.errors import ConfigError, TrainingError
from icaps.model import margin_loss
from icaps.stats import macro_f1
from icaps.train.calibration import fit_inverse_temperature
from icaps.train.callbacks import Callback, Epoch, Step
from icaps.train.dataset import Corpus, prepare_stream
from icaps.train.labels import Labelled, number_labels
from icaps.train.split import split_as
from icaps.train.text_hashes import TextHashes, as_array, hashing

SETTINGS = TrainConfig(learning_rate=1e-3, epochs=10, patience=2)
_CHUNK = 4_096  # validation texts in memory at a time


def fit_baseline(
    kind: str,
    records: Iterable[Labelled],
    settings: TrainConfig = SETTINGS,
    callbacks: Sequence[Callback] = (),
    workers: int = 1,
    held_out: TextHashes | None = None,
) -> Baseline:
    """Fits a baseline; the held-out texts are those of `ICapsClassifier` with the same settings.

    Args:
        kind: A key of BASELINES.
        records: Labelled texts, the same each time they are iterated over.
        settings: For all kinds, the seed and the held-out share; for the neural ones, also the
            settings of `train_network` and the minimum word frequency.
        callbacks: Notified of log lines, and of the steps and epochs of a network.
        workers: Number of processes that encode the texts for a network.
        held_out: Of a model that was trained on the same texts: those that were held out of its
            training are held out here as well; without any, the split is random.

    Raises:
        ConfigError: There is no such kind, or the library that it needs is missing.
        DataError: The texts cannot be read, are too few, or have one class.
        TrainingError: The loss of a network is NaN or infinite.
    """
    if kind not in BASELINES:
        raise ConfigError(f"Unknown baseline {kind!r}; choose one of {', '.join(BASELINES)}.")

    def say(line: str) -> None:
        for callback in callbacks:
            callback.on_log(line)

    started = time.perf_counter()
    if kind in (LINEAR, FASTTEXT):
        fitted = _fit_on_texts(kind, records, settings, say, held_out)
    else:
        fitted = _fit_network(kind, records, settings, callbacks, say, workers, held_out)
    fitted.metrics_ |= {"seed": settings.seed, "seconds": time.perf_counter() - started}
    return fitted


def _fit_on_texts(
    kind: str,
    records: Iterable[Labelled],
    settings: TrainConfig,
    say: Callable[[str], None],
    other: TextHashes | None,
) -> Baseline:
    """Fits a baseline that reads texts, not word ids."""
    hashes = array("Q")
    (classes, labels, label_sets), _ = number_labels(hashing(records, hashes))
    training, held_out = split_as(
        other, as_array(hashes), labels, len(classes), settings, label_sets
    )
    _say_sizes(training, held_out, say)
    training, held_out = np.sort(training), np.sort(held_out)
    targets = [
        labels[part] if label_sets is None else label_sets[labels[part]]  # (texts,) or (texts, J)
        for part in (training, held_out)
    ]
    training_part = _texts(records, training, len(labels)), targets[0]
    validation_part = list(_texts(records, held_out, len(labels))), targets[1]
    fit: Callable[..., Baseline] = fit_linear if kind == LINEAR else fit_fasttext
    fitted = fit(classes, training_part, validation_part, settings.seed, say)
    fitted.metrics_ |= _sizes(training, held_out)
    fitted.text_hashes_ = TextHashes.of(as_array(hashes), training, held_out)
    return fitted


def _fit_network(
    kind: str,
    records: Iterable[Labelled],
    settings: TrainConfig,
    callbacks: Sequence[Callback],
    say: Callable[[str], None],
    workers: int,
    other: TextHashes | None,
) -> Baseline:
    prepared = prepare_stream(
        records,
        ModelConfig(max_words=MAX_WORDS),
        settings,
        workers=workers,
        held_out=other,
    )
    training, validation = prepared.training, prepared.validation
    _say_sizes(training, validation, say)
    torch.manual_seed(settings.seed)
    network = make_network(kind, len(prepared.vocabulary), len(prepared.classes))
    best = train_network(network, training, validation, settings, callbacks)
    factor, rule = 1.0, None
    if prepared.multilabel:
        rule = fit_label_thresholds(best.scores.numpy(), validation.targets)
    else:
        factor = fit_inverse_temperature(best.scores, validation.labels)
    fitted = NetworkBaseline(kind, prepared.classes, prepared.vocabulary, network.eval(), factor)
    fitted.metrics_ = {
        **_sizes(training, validation),
        "vocabulary_size": len(prepared.vocabulary),
        "best_epoch": best.number,
        "validation_accuracy": best.accuracy,
    }
    if rule is not None:
        fitted.label_thresholds = rule.thresholds
        fitted.metrics_ |= rule.metrics()
    fitted.text_hashes_ = prepared.hashes
    return fitted


def _texts(
    records: Iterable[Labelled], numbers: NDArray[np.integer[Any]], count: int
) -> Iterator[str]:
    """A stream of the texts with these numbers among `count` records."""
    mask = np.zeros(count, dtype=bool)
    mask[numbers] = True
    return compress((record.text for record in records), mask)


def _sizes(training: Sized, held_out: Sized) -> dict[str, Any]:
    return {"training_texts": len(training), "validation_texts": len(held_out)}


def _say_sizes(training: Sized, held_out: Sized, say: Callable[[str], None]) -> None:
    say(f"{len(training)} training and {len(held_out)} validation texts")


@dataclass(frozen=True)
class BestEpoch:
    """The best epoch of a training, from 1, with the scores (texts, J) of the validation texts.

    With several labels per text, `accuracy` is the share of texts whose labels are all right.
    """

    number: int
    accuracy: float
    scores: Tensor


def train_network(
    network: Network,
    training: Corpus,
    validation: Corpus,
    config: TrainConfig,
    callbacks: Sequence[Callback] = (),
) -> BestEpoch:
    """Trains a network in place with Adam, up to the weights of the best epoch.

    The best epoch has the largest accuracy on `validation`, with several labels per text the
    largest macro F1. The loss is the margin loss for a capsule network and cross-entropy for the
    others; with several labels per text, binary cross-entropy per class. Of `config`, the learning
    rate, batch size, epochs, patience, seed and margins are used.

    Raises:
        TrainingError: The loss is NaN or infinite.
    """
    torch.manual_seed(config.seed)
    optimizers = _optimizers(network, config.learning_rate)
    best: BestEpoch | None = None
    best_score = -1.0
    best_weights: dict[str, Any] = {}
    for epoch in range(1, config.epochs + 1):
        started = time.perf_counter()
        loss = _train_epoch(network, training, config, optimizers, epoch, callbacks)
        scores = _predict_corpus(network.eval(), validation)
        if validation.label_sets is not None:
            rule = fit_label_thresholds(scores.numpy(), validation.targets)
            accuracy, f1 = rule.accuracy, rule.macro_f1
        else:
            predicted = scores.argmax(1).numpy()
            accuracy = float((predicted == validation.labels).mean())
            f1 = macro_f1(validation.labels, predicted, scores.shape[1])
        score = accuracy if validation.label_sets is None else f1
        if best is None or score > best_score:
            best, best_score = BestEpoch(epoch, accuracy, scores), score
            best_weights = copy.deepcopy(network.state_dict())
        for callback in callbacks:
            seconds = time.perf_counter() - started
            callback.on_epoch(Epoch(epoch, loss, accuracy, seconds, f1))
        if epoch - best.number >= config.patience:
            break
    assert best is not None
    network.load_state_dict(best_weights)
    return best


def _train_epoch(
    network: Network,
    training: Corpus,
    config: TrainConfig,
    optimizers: Sequence[torch.optim.Optimizer],
    epoch: int,
    callbacks: Sequence[Callback],
) -> float:
    """Trains for an epoch; returns its mean loss. Seed and epoch give the order of the texts."""
    network.train()
    order = np.random.default_rng([config.seed, epoch]).permutation(len(training))
    steps = -(-len(order) // config.batch_size)
    total, started = 0.0, time.perf_counter()
    for step in range(1, steps + 1):
        done = (step - 1) * config.batch_size
        batch = training.select(order[done : done + config.batch_size])
        loss = _loss(network, batch, config)
        if not math.isfinite(loss.item()):
            raise TrainingError(f"The loss is NaN or infinite in step {step} of epoch {epoch}.")
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        done += len(batch)
        total += loss.item() * len(batch)
        rate = done / (time.perf_counter() - started)
        progress = Step(epoch, config.epochs, step, steps, total / done, rate, config.learning_rate)
        for callback in callbacks:
            callback.on_step(progress)
    return total / len(order)


def _loss(network: Network, batch: Corpus, config: TrainConfig) -> Tensor:
    scores, targets = network(padded(_word_ids(batch))), torch.from_numpy(batch.targets)
    if network.margin_loss:
        return margin_loss(scores, targets, config)
    if batch.label_sets is not None:
        return F.binary_cross_entropy_with_logits(scores, targets)
    return F.cross_entropy(scores, targets)


def _word_ids(corpus: Corpus) -> list[Tensor]:
    """The ids (words,) of each text of a corpus that is not split into sentences."""
    return [torch.from_numpy(text.ids).long() for text in corpus.tokens()]


def _predict_corpus(network: Network, corpus: Corpus) -> Tensor:
    """Scores (texts, J), with _CHUNK texts in memory at a time."""
    parts = np.array_split(np.arange(len(corpus)), 1 + len(corpus) // _CHUNK)
    classes = int(corpus.all_labels.max()) + 1
    if corpus.label_sets is not None:
        classes = corpus.label_sets.shape[1]
    return torch.cat(
        [predict_scores(network, _word_ids(corpus.select(part)), classes) for part in parts]
    )


def _optimizers(network: nn.Module, rate: float) -> list[torch.optim.Optimizer]:
    """Adam, and SparseAdam for the word tables, which updates only the rows of a batch's words."""
    tables = [
        module.weight
        for module in network.modules()
        if isinstance(module, nn.Embedding) and module.sparse
    ]
    sparse = {id(table) for table in tables}
    others = [weight for weight in network.parameters() if id(weight) not in sparse]
    return [torch.optim.Adam(others, lr=rate), torch.optim.SparseAdam(tables, lr=rate)]
