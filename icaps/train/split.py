"""Splits texts into a training and a validation part, stratified or as another training did."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from icaps.config import TrainConfig
from icaps.errors import DataError
from icaps.train.labels import Numbers
from icaps.train.text_hashes import TextHashes


def split(
    labels: Numbers,
    classes: int,
    train: TrainConfig,
    label_sets: NDArray[np.bool_] | None = None,
) -> tuple[Numbers, Numbers]:
    """Splits texts at random, stratified by class: positions of training and validation texts.

    Texts with several labels are stratified by the rarest of their classes.

    Raises:
        DataError: There are too few texts.
    """
    if label_sets is not None:
        return _split_sets(labels, label_sets, train)
    share = math.ceil(train.validation_share * len(labels))
    try:
        training, validation = train_test_split(
            np.arange(len(labels)),
            test_size=max(share, classes),  # at least one per class, also in small data
            stratify=labels,
            random_state=train.seed,
        )
    except ValueError as error:
        raise DataError(
            f"{len(labels)} texts of {classes} classes cannot be split into a training and a "
            f"validation part ({error}). Give at least two texts per class."
        ) from error
    return training.astype(np.int32), validation.astype(np.int32)  # half of the memory of int64


def _split_sets(
    labels: Numbers, label_sets: NDArray[np.bool_], train: TrainConfig
) -> tuple[Numbers, Numbers]:
    """`split` of texts with several labels.

    The strata are the rarest class of each text, and the texts without a label. A text that is
    alone in its stratum is a training text.
    """
    classes = label_sets.shape[1]
    counts = np.bincount(labels, minlength=len(label_sets)) @ label_sets  # texts per class (J,)
    rarest = np.where(label_sets, counts, len(labels) + 1).argmin(1)
    strata = np.where(label_sets.any(1), rarest, classes)[labels]
    sizes = np.bincount(strata, minlength=classes + 1)
    alone = sizes[strata] == 1
    several = np.flatnonzero(~alone)
    share = max(math.ceil(train.validation_share * len(labels)), int((sizes > 1).sum()))
    try:
        training, validation = train_test_split(
            several, test_size=share, stratify=strata[several], random_state=train.seed
        )
    except ValueError as error:
        raise DataError(
            f"{len(labels)} texts of {classes} classes cannot be split into a training and a "
            f"validation part ({error}). Give at least two texts per class."
        ) from error
    training = np.concatenate([training, np.flatnonzero(alone)])
    return training.astype(np.int32), validation.astype(np.int32)


def split_as(
    other: TextHashes | None,
    hashes: NDArray[np.uint64],
    labels: Numbers,
    classes: int,
    train: TrainConfig,
    label_sets: NDArray[np.bool_] | None = None,
) -> tuple[Numbers, Numbers]:
    """As `split`, but holds out the texts that were held out of another training, if there are any.

    Args:
        other: Of the other training; None splits at random.
        hashes: (texts,), of the texts.
        labels, classes, train, label_sets: See `split`.

    Raises:
        DataError: There are too few texts.
    """
    if other is not None:
        mask = other.in_held_out(hashes)
        if label_sets is None:
            present = len(np.unique(labels[~mask]))
        else:
            present = int(label_sets[np.unique(labels[~mask])].any(0).sum())
        if mask.any() and present == classes:
            return np.flatnonzero(~mask).astype(np.int32), np.flatnonzero(mask).astype(np.int32)
    return split(labels, classes, train, label_sets)
